# SPDX-License-Identifier: Apache-2.0
"""tests/live/unix.py - Unix sockets: the sandbox's own, and those allowed by path"""

import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

CLIENT = """
import socket, sys
for name in sys.argv[1:]:
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect("\\0" + name[1:] if name[0] == "@" else name)
        print(s.recv(5).decode())
    except OSError as e:
        print(e.errno)
"""


def serve(address, words=b"hello"):
    s = socket.socket(socket.AF_UNIX)
    s.bind(address)
    s.listen(16)

    def answer():
        while True:
            try:
                s.accept()[0].sendall(words)
            except OSError:
                pass    # A client that left
    threading.Thread(target=answer, daemon=True).start()


def attempts(t, names, options=()):
    r = t.inside("/usr/bin/python3", "-c", CLIENT, *names, options=options)
    return r.out.split()


def outside(t, name):
    path = f"{os.path.dirname(t.dir)}/{name}-{os.path.basename(t.dir)}"
    os.mkdir(path)
    return path


@test
def a_socket_rule_through_a_plantable_symlink_is_dropped(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    os.symlink(f"{there}/a", f"{t.dir}/mine")
    r = t.inside("/usr/bin/python3", "-c", CLIENT, f"{t.dir}/mine", f"{there}/a",
                 options=["--unix-socket", f"{t.dir}/mine"])
    equal(r.out.split(), ["13", "13"])
    contains(r.err, "name the socket itself")
    # The control: the socket's own name, reached through the same link
    equal(attempts(t, [f"{t.dir}/mine"], ["--unix-socket", f"{there}/a"]),
          ["hello"])


@test
def sockets_of_the_host_are_refused_by_default(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{t.dir}/here")
    os.symlink(f"{there}/a", f"{t.dir}/link")
    names = [f"{there}/a", "here", "link"]
    for path in (f"{there}/a", f"{t.dir}/here"):
        socket.socket(socket.AF_UNIX).connect(path)     # The control
    for options in ((), ("--observe", "off"), ("--net", "host"),
                    ("--net", "none")):
        r = t.inside("/usr/bin/python3", "-c", CLIENT, *names, options=options)
        equal(r.out.split(), ["13"] * 3, options)
        contains(r.err, f"socket {there}/a (a socket of the host")
        contains(r.err, f"cloche policy allow socket {there}/a")
    got = attempts(t, names, ("--tier", "landlock"))
    check("hello" not in got and len(got) == 3, got)


# What a program does with sockets of its own
OWN = r"""
import array, errno, multiprocessing, os, socket, stat, sys, tempfile, threading, time
def server(path, kind=socket.SOCK_STREAM, backlog=8):
    s = socket.socket(socket.AF_UNIX, kind); s.bind(path); s.listen(backlog)
    return s
def client(path, kind=socket.SOCK_STREAM):
    c = socket.socket(socket.AF_UNIX, kind); c.connect(path)
    return c
if __name__ == "__main__":
    place = sys.argv[1] + "/x"; os.mkdir(place); os.umask(0o027)
    for path in (place + "/s", os.path.relpath(place + "/r")):
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            s = server(path, kind)
            print(s.getsockname() == path, oct(os.lstat(path).st_mode))
            c = client(path, kind); a, _ = s.accept()
            print(c.getpeername() == path, c.send(b"hi"), a.recv(9))
            out, into = os.pipe(); socket.send_fds(c, [b"x"], [into])
            os.write(socket.recv_fds(a, 1, 1)[1][0], b"y"); print(os.read(out, 1))
            peer = array.array("i", c.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            print(peer[0] == os.getpid(), peer[1] == os.getuid())
            peer = array.array("i", a.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            print(peer[1] == os.getuid(), peer[2] == os.getgid())
            s.close()
            print(errno.errorcode[socket.socket(socket.AF_UNIX, kind).connect_ex(path)])
            try: server(path, kind)
            except OSError as e: print(errno.errorcode[e.errno])
            os.unlink(path)
            print(errno.errorcode[socket.socket(socket.AF_UNIX, kind).connect_ex(path)])
    if len(sys.argv) > 2:
        s = server("\0" + sys.argv[2]); c = client("\0" + sys.argv[2]); a, _ = s.accept(); c.send(b"abstract"); print(a.recv(9))
        print(errno.errorcode[socket.socket(socket.AF_UNIX).connect_ex("\0none")])
        manager = multiprocessing.Manager(); d = manager.dict(); d["a"] = 1; print(dict(d)); manager.shutdown()
    x, y = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    x.send(b"one"); x.send(b"two"); print(y.recv(9), y.recv(9), x.get_inheritable())
    s = server(place + "/full", backlog=0)
    many, error = [], 0
    while error != errno.EAGAIN:
        many.append(socket.socket(socket.AF_UNIX)); many[-1].setblocking(False)
        error = many[-1].connect_ex(place + "/full")
    def crowd():
        for i in range(8): many.append(client(place + "/full"))
    thread = threading.Thread(target=crowd); thread.start()
    time.sleep(0.05); s.settimeout(20)
    for i in range(len(many[:2]) + 7): s.accept()
    thread.join()
    print("crowd", len(many))
"""


@test
def sockets_of_the_sandbox_work_as_on_the_host(t):
    name = f"cloche-own-{os.getpid()}"
    script = t.write("own.py", OWN)
    for inside_tmp in (False, True):
        for options, more in (((), [name]), (("--observe", "off"), [name]),
                              (("--net", "none"), [name]), (("--net", "host"), [])):
            want = t.outside("sh", "-c", 'd=$(mktemp -d); /usr/bin/python3 "$0" $d "$@"',
                             script, *more).ok().out
            where = "d=$(mktemp -d)" if inside_tmp else "d=$PWD"
            r = t.inside("sh", "-c", where + '; /usr/bin/python3 "$0" $d "$@"; rm -r $d/x',
                         script, *more, options=options).ok()
            equal(r.out, want, options, r.err)
            lacks(r.err, "refused", options)


@test
def abstract_sockets_of_the_host_are_unreachable(t):
    name = f"cloche-host-{os.getpid()}"
    serve("\0" + name)
    socket.socket(socket.AF_UNIX).connect("\0" + name)     # The control
    equal(attempts(t, ["@" + name]), ["111"])   # There is no such name inside
    r = t.inside("/usr/bin/python3", "-c", CLIENT, "@" + name,
                 options=("--net", "host"))
    equal(r.out.split(), ["13"])
    contains(r.err, f"socket @{name} (an abstract name of the host's network")
    # Nor is one of the host's taken
    r = t.inside("/usr/bin/python3", "-c", "import socket; "
                 f"socket.socket(socket.AF_UNIX).bind('\\0{name}2')",
                 options=("--net", "host"))
    contains(r.err, "Permission denied")


# Its own socket at a name, and then the host's
REPLACED = r"""
import os, socket, sys
def attempt(name):
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(name); return "in"
    except OSError as e: return e.errno
own = socket.socket(socket.AF_UNIX); own.bind("own"); own.listen(8)
print(attempt("own"))
os.rename("own", "aside"); os.rename("host", "own")
print(attempt("own"), attempt("aside"))
os.link("own", "second"); os.symlink("own", "third")
print(attempt("second"), attempt("third"), attempt("/proc/self/cwd/own"))
os.rename("own", "host")
"""


@test
def a_host_socket_that_replaced_an_own_one_is_refused(t):
    serve(f"{t.dir}/host")
    words = ["/usr/bin/python3", "-c", REPLACED]
    equal(t.inside(*words).ok().out, "in\n13 in\n13 13 13\n")
    for name in ("aside", "second", "third"):
        os.unlink(f"{t.dir}/{name}")
    equal(t.outside(*words).ok().out, "in\nin in\nin in in\n")


@test
def a_stale_socket_can_be_replaced(t):
    """As tmux does: a client that is refused replaces the socket"""
    script = """
import errno, os, socket
path = "left-behind"
error = socket.socket(socket.AF_UNIX).connect_ex(path)
print(errno.errorcode.get(error))
if error == errno.ECONNREFUSED: os.unlink(path)
s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen()
print(socket.socket(socket.AF_UNIX).connect_ex(path))
"""
    for first in ("ENOENT", "ECONNREFUSED"):
        r = t.inside("/usr/bin/python3", "-c", script).ok()
        equal(r.out, f"{first}\n0\n")
        equal(r.err, "")


@test
def only_the_allowed_socket_is_reachable(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{there}/b")
    os.symlink(f"{there}/b", t.dir + "/link")
    os.symlink(f"{there}/a", t.dir + "/good")
    relative = os.path.relpath(there, t.dir)
    got = attempts(t, [f"{there}/a", f"{there}/b", "link", "good",
                       f"{relative}/a", f"{relative}/b"],
                   ["--unix-socket", f"{there}/a"])
    equal(got, ["hello", "13", "13", "hello", "hello", "13"])


@test
def abstract_sockets_cannot_be_allowed(t):
    name = f"cloche-test-{os.getpid()}"
    there = outside(t, "s")
    serve(f"{there}/a")
    serve("\0" + name)
    s = socket.socket(socket.AF_UNIX)
    s.connect("\0" + name)                  # The control
    got = attempts(t, ["@" + name], ["--unix-socket", f"{there}/a"])
    check(got and got[0] != "hello", got)


@test
def an_allowed_socket_in_a_hidden_directory_is_reachable(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{there}/b")
    got = attempts(t, [f"{there}/a", f"{there}/b"],
                   ["--deny-read", there, "--unix-socket", f"{there}/a"])
    check(got[0] == "hello" and got[1] in ("2", "13"), got)
    # One that is hidden is reported, and answers as if there were none
    r = t.inside("/usr/bin/python3", "-c", CLIENT, f"{there}/a", f"{there}/none",
                 options=["--deny-read", there])
    equal(len(set(r.out.split())), 1, r.out)
    contains(r.err, f"socket {there}/a (a socket of the host")
    contains(r.err, f"cloche policy allow socket {there}/a")
    lacks(r.err, "none")
    # So is one in a directory that is the sandbox's own
    name = f"/tmp/cloche-test-{os.getpid()}"
    try:
        serve(name)
        equal(attempts(t, [name], ["--unix-socket", name]), ["hello"])
        r = t.inside("/usr/bin/python3", "-c", CLIENT, name)
        equal(r.out, "2\n")
        contains(r.err, f"cloche policy allow socket {name}")
    finally:
        os.unlink(name)


@test
def an_allowed_socket_is_reachable_without_an_observer(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{there}/b")
    got = attempts(t, [f"{there}/a", f"{there}/b"],
                   ["--observe", "off", "--unix-socket", f"{there}/a"])
    equal(got, ["hello", "13"])


# One flips between two names, the other connects: whose "hello" comes?
RACE = r"""
import ctypes, mmap, os, signal, socket, struct, sys, time
kind, good, bad, count, flips = *sys.argv[1:4], *map(int, sys.argv[4:6])
want, end = sys.argv[6:], time.monotonic() + 100
libc = ctypes.CDLL(None, use_errno=True)
shared = mmap.mmap(-1, 4096)
def address(path): return struct.pack("H", socket.AF_UNIX) + path.encode() + b"\0"
def flip_bytes():
    a, b = (address(p).ljust(110, b"\0") for p in (good, bad))
    done = 0
    while True:
        shared[:110] = b; shared[:110] = a
        done += 2
        shared[200:208] = struct.pack("Q", done)
def flip_family():    # Of an address that is good for no Unix socket, or the bad one
    done = 0
    while True:
        shared[:2] = b"\2\0"; shared[:2] = b"\1\0"
        done += 2
        struct.pack_into("Q", shared, 200, done)
def flip_link():
    done = 0
    while libc.renameat2(-100, b"link", -100, b"other", 2) == 0:    # Exchanged
        done += 1
        struct.pack_into("Q", shared, 200, done)
    os._exit(1)
if not os.path.exists(good):    # One's own, which answers as the host's does
    l = socket.socket(socket.AF_UNIX); l.bind(good); l.listen(16)
    if not os.fork():
        libc.prctl(1, 9)
        while True: l.accept()[0].send(b"hello")
    l.close()
shared[:110] = address({"link": "link", "family": bad}.get(kind, good)).ljust(110, b"\0")
os.symlink(good, "link"); os.symlink(bad, "other")
pid = os.fork()
if not pid: globals()["flip_" + kind]()
where = ctypes.addressof(ctypes.c_char.from_buffer(shared))
seen, tries = {}, 0
while tries < count or struct.unpack("Q", shared[200:208])[0] < flips or (
        want and want[0] not in seen and time.monotonic() < end):
    s = socket.socket(socket.AF_UNIX)
    r = libc.connect(s.fileno(), ctypes.c_void_p(where), 110)
    got = s.recv(5).decode() if r == 0 else str(ctypes.get_errno())
    seen[got] = seen.get(got, 0) + 1
    tries += 1
    s.close()
os.kill(pid, signal.SIGKILL)
print(seen, struct.unpack("Q", shared[200:208])[0], "swaps", os.waitpid(pid, 0)[1])
"""


@test(timeout=long(600, 1800))
def swapping_the_path_never_reaches_another_socket(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{there}/b", b"WRONG")
    # An observer sees each exchange, and makes the racer a slow one
    for kind, flips, observe in (("bytes", long(50000, 1000000), "on"),
                                 ("family", long(50000, 1000000), "on"),
                                 ("link", long(500, 20000), "on"),
                                 ("link", long(50000, 1000000), "off")):
        where = os.path.join(t.dir, kind + observe)
        os.makedirs(where + "/inside")
        os.makedirs(where + "/mine")
        # The control: without the sandbox the race is won now and then
        r = t.outside("/usr/bin/python3", "-c", RACE, kind, f"{there}/a",
                      f"{there}/b", "300", "300", "WRONG", cwd=where).ok()
        contains(r.out, "'WRONG'", kind)
        r = t.inside("/usr/bin/python3", "-c", RACE, kind, f"{there}/a",
                     f"{there}/b", "300", str(flips), "13",
                     cwd=where + "/inside",
                     options=["--unix-socket", f"{there}/a", "--observe",
                              observe], timeout=800).ok()
        print("#", kind, "observer", observe, r.out.strip(), flush=True)
        if kind != "family":
            contains(r.out, "'hello'", kind)
        contains(r.out, "'13'", kind)
        contains(r.out, "swaps 9\n")     # It did not end by itself
        lacks(r.out, "WRONG", kind)
        # The same between a socket of its own and the host's
        r = t.inside("/usr/bin/python3", "-c", RACE, kind, "own" + observe,
                     f"{there}/b", "300", str(flips), "13", cwd=where + "/mine",
                     options=["--observe", observe], timeout=800).ok()
        print("#", kind, "own, observer", observe, r.out.strip(), flush=True)
        if kind != "family":
            contains(r.out, "'hello'", kind)
        contains(r.out, "'13'", kind)
        lacks(r.out, "WRONG", kind)


# One changes what a number stands for, the other connects it
NUMBERS = r"""
import ctypes, os, socket, struct, sys, threading, time
bad, seconds = sys.argv[1], float(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(110)
inet = struct.pack("=HH4s8x", 2, 9, b"\x7f\0\0\1").ljust(110, b"\0")
unix = (struct.pack("H", 1) + bad.encode()).ljust(110, b"\0")
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
us = socket.socket(socket.AF_UNIX)
number, stop = os.dup(udp.fileno()), []
def flip():
    while not stop:
        libc.dup2(us.fileno(), number); ctypes.memmove(room, unix, 110)
        libc.dup2(udp.fileno(), number); ctypes.memmove(room, inet, 110)
threading.Thread(target=flip).start()
end, tries, got = time.monotonic() + seconds, 0, ""
while time.monotonic() < end and not got:
    libc.connect(number, room, 110)
    tries += 1
    try: got = us.recv(5, socket.MSG_DONTWAIT).decode()
    except OSError: pass
stop.append(1)
print(tries, got or "none")
"""


@test
def swapping_a_descriptor_never_reaches_another_socket(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{there}/b", b"WRONG")
    words = ["/usr/bin/python3", "-c", NUMBERS, f"{there}/b"]
    contains(t.outside(*words, "100").ok().out, "WRONG")
    r = t.inside(*words, str(long(3, 30)),
                 options=["--unix-socket", f"{there}/a"]).ok()
    print("#", r.out.strip(), flush=True)
    contains(r.out, "none")


@test
def a_thread_with_its_own_descriptor_table_connects_its_own_socket(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    r = t.inside("/usr/bin/python3", "-c", """
import ctypes, os, socket, sys, threading
first = socket.socket()
def other():
    ctypes.CDLL(None).unshare(0x400)
    os.dup2(socket.socket(socket.AF_UNIX).detach(), first.fileno())
    s = socket.socket(socket.AF_UNIX, fileno=first.fileno())
    s.connect(sys.argv[1])
    print(s.recv(5).decode())
thread = threading.Thread(target=other)
thread.start()
thread.join()
""", f"{there}/a", options=["--unix-socket", f"{there}/a"]).ok()
    equal(r.out, "hello\n", r.err)


@test
def high_bits_of_the_address_length_are_ignored(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{there}/b")
    code = """
import ctypes, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
for path in sys.argv[1:]:
    for high in (0, 1 << 32, 1 << 63, -1 << 32):
        s = socket.socket(socket.AF_UNIX)
        raw = struct.pack("H", 1) + path.encode() + bytes(1)
        where = ctypes.create_string_buffer(raw)
        r = libc.syscall(CONNECT, s.fileno(), where,
                         ctypes.c_long(len(raw) | high))
        print(s.recv(5).decode() if r == 0 else ctypes.get_errno())
""".replace("CONNECT", {"x86_64": "42", "aarch64": "203"}[os.uname().machine])
    words = ["/usr/bin/python3", "-c", code, f"{there}/a", f"{there}/b"]
    equal(t.outside(*words).ok().out.split(), ["hello"] * 8)
    got = t.inside(*words, options=["--unix-socket", f"{there}/a"]).ok()
    equal(got.out.split(), ["hello"] * 4 + ["13"] * 4)


@test
def connects_of_other_families_work(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    code = """
import errno, select, socket, threading, time
l = socket.create_server(("127.0.0.1", 0)); port = l.getsockname()[1]
s = socket.create_connection(("127.0.0.1", port)); s.close()
print("blocking")
s = socket.socket(); s.setblocking(False)
print(errno.errorcode.get(s.connect_ex(("127.0.0.1", port)), "done"))
print(select.select([], [s], [], 20)[1] == [s], s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
print(socket.socket(socket.AF_INET6).connect_ex(("::1", port)) == errno.ECONNREFUSED)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.connect(("127.0.0.1", port)); print(u.getpeername()[1] == port)
full = socket.socket(); full.bind(("127.0.0.1", 0)); full.listen(0)
crowd = []
for i in range(2):
    c = socket.socket(); c.setblocking(False); c.connect_ex(full.getsockname()); crowd.append(c)
def make_room():
    time.sleep(0.3)
    while True: crowd.append(full.accept()[0])
threading.Thread(target=make_room, daemon=True).start()
start = time.monotonic(); s = socket.socket(); print(s.connect_ex(full.getsockname()), s.getpeername() == full.getsockname())
s = socket.socket(); s.settimeout(0.2); t = socket.socket(); t.bind(("127.0.0.1", 0)); t.listen(0)
for i in range(2):
    c = socket.socket(); c.setblocking(False); c.connect_ex(t.getsockname()); crowd.append(c)
try: s.connect(t.getsockname())
except TimeoutError: print("timeout")
"""
    want = t.outside("/usr/bin/python3", "-c", code).ok().out
    contains(want, "0 True\ntimeout")
    got = t.inside("/usr/bin/python3", "-c", code,
                   options=["--unix-socket", f"{there}/a"]).ok().out
    equal(got, want)


@test
def passed_descriptors_grant_no_socket(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{there}/b")
    code = """
import os, socket, sys
a, b = socket.socketpair()
def attempt(s, path):
    try:
        s.connect(path)
        return s.recv(5).decode()
    except OSError as e:
        return e.errno
pid = os.fork()
if not pid:    # Makes sockets and opens places; the other one connects
    keep = [socket.socket(socket.AF_UNIX) for i in range(2)]
    for s in keep: socket.send_fds(a, [b"s"], [s.fileno()])
    for path in sys.argv[1:3]:
        socket.send_fds(a, [b"p"], [os.open(path, os.O_PATH)])
    os._exit(0)
a.close()
for path in sys.argv[1:3]:
    fd = socket.recv_fds(b, 1, 1)[1][0]
    print(attempt(socket.socket(fileno=fd), path))
for i in range(2):
    fd = socket.recv_fds(b, 1, 1)[1][0]
    print(attempt(socket.socket(socket.AF_UNIX), f"/proc/self/fd/{fd}"))
os.wait()
"""
    words = ["/usr/bin/python3", "-c", code, f"{there}/a", f"{there}/b"]
    equal(t.outside(*words).ok().out.split(), ["hello"] * 4)
    got = t.inside(*words, options=["--unix-socket", f"{there}/a"]).ok()
    equal(got.out.split(), ["hello", "13", "hello", "13"])
    equal(t.inside(*words).ok().out.split(), ["13"] * 4)


@test
def only_the_allowed_ssh_agent_works(t):
    there = outside(t, "s")
    agents = []
    try:
        for name in ("mine", "other"):
            agents.append(subprocess.Popen(
                [need("ssh-agent"), "-D", "-a", f"{there}/{name}"],
                stdout=subprocess.DEVNULL))
            wait_until(lambda: os.path.exists(f"{there}/{name}"), "an agent")
            key = f"{there}/key-{name}"
            t.outside("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name,
                      "-f", key).ok()
            t.outside("ssh-add", "-q", key,
                      env={"SSH_AUTH_SOCK": f"{there}/{name}"}).ok()
        env = {"SSH_AUTH_SOCK": f"{there}/mine"}
        listed = ["--unix-socket", f"{there}/mine"]
        r = t.inside("ssh-add", "-l", env=env, options=listed).ok()
        contains(r.out, " mine ")
        r = t.inside("sh", "-c", f"SSH_AUTH_SOCK={there}/other ssh-add -l",
                     env=env, options=listed)
        check(r.code != 0 and " other " not in r.out, repr(r))
        r = t.inside("sh", "-c", f"SSH_AUTH_SOCK={there}/mine ssh-add -l")
        check(r.code != 0 and " mine " not in r.out, repr(r))
    finally:
        for agent in agents:
            agent.kill()
            agent.wait()


NODE = """
const net = require("net"), path = process.argv[1];
const server = net.createServer(c => c.end("pipe")).listen(path, () =>
    net.connect(path).on("data", d => { console.log("" + d); server.close(); }));
"""


@test
def node_and_tmux_use_their_own_sockets(t):
    """As tsx, nx and vite do it; then a terminal multiplexer"""
    for path in ("/tmp/own.pipe", t.dir + "/own.pipe"):
        equal(t.inside(need("node"), "-e", NODE, path).ok().out, "pipe\n")
    need("tmux")
    for i in range(2):      # The second finds what the first has left
        # A server whose last session has ended may lose who waits for it
        r = t.shell("tmux -f /dev/null new-session -d 'echo in tmux > out; "
                    "tmux wait -S done; exec cat'; tmux wait done; cat out; "
                    "tmux kill-server",
                    env={"TERM": "xterm"}).ok()
        equal(r.out, "in tmux\n")
        lacks(r.err, "refused")


@as_user
def a_database_started_in_the_sandbox_is_reachable(t):
    need("initdb")
    r = t.shell("""
initdb -D data -A peer -N > /dev/null &&
pg_ctl -D data -w -s -l log -o "-k $1 -c listen_addresses= -F" start &&
psql -h $1 -d postgres -Atc "select 6 * 7, inet_server_addr() is null"
pg_ctl -D data -s -m immediate stop
""".replace("$1", t.dir if long(0, 1) else "/tmp"), timeout=120).ok()
    equal(r.out, "42|t\n", r.err)


@test
def gpg_signs_with_the_agents_socket_only(t):
    need("gpg-agent")
    home = outside(t, "g")
    os.chmod(home, 0o700)
    env = {"GNUPGHOME": home}
    try:
        t.outside("gpg", "--batch", "-q", "--passphrase", "", "--quick-gen-key",
                  "me@example.test", "ed25519", "sign", "never", env=env).ok()
        t.write("text", "text")
        sign = ["gpg", "--batch", "--yes", "-u", "me@example.test", "--sign", "text"]
        name = t.outside("gpgconf", "--list-dirs", "agent-socket",
                         env=env).ok().out.strip()
        named = ["--env", "GNUPGHOME=" + home]
        r = t.inside(*sign, options=named)
        check(r.code != 0, repr(r))
        contains(r.err, f"socket {name} (a socket of the host")
        t.inside(*sign, options=[*named, "--unix-socket", name]).ok()
    finally:
        t.outside("gpgconf", "--kill", "all", env=env)


@test
def SSH_AUTH_SOCK_is_passed_if_its_socket_is_allowed(t):
    there = outside(t, "s")
    serve(f"{there}/agent")
    env = {"SSH_AUTH_SOCK": f"{there}/agent"}
    show = ["sh", "-c", "echo ${SSH_AUTH_SOCK-none}"]
    equal(t.inside(*show, env=env).ok().out, "none\n")
    equal(t.inside(*show, env=env,
                   options=["--unix-socket", f"{there}/agent"]).ok().out,
          f"{there}/agent\n")


# Sockets of one's own, gone again: what has their numbers now?
REUSE = r"""
import os, socket, sys
numbers = []
for i in range(300):
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(f"own{i}")
    numbers.append(os.lstat(f"own{i}").st_ino)
for i in range(300):
    os.unlink(f"own{i}")
print(*numbers, flush=True)
for path in sys.stdin.readline().split():
    with socket.socket(socket.AF_UNIX) as other:
        try:
            other.connect(path)
            print("WRONG", path)
        except OSError as error:
            print(error.errno)
"""


@test
def a_reused_descriptor_number_is_checked_again(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    p = t.start("run", "--quiet", "--unix-socket", f"{there}/a", "--",
                "/usr/bin/python3", "-c", REUSE, text=True)
    numbers = set(map(int, p.stdout.readline().split()))
    found = []
    for i in range(2000):
        path = f"{t.dir}/h{i}"
        serve(path)
        if os.lstat(path).st_ino in numbers:
            found.append(path)
        if len(found) == 3:
            break
    out, err = p.communicate(" ".join(found) + "\n", timeout=60)
    if not found:
        skip("this file system does not use numbers again at once")
    equal(out.split(), ["13"] * len(found), err)


main()
