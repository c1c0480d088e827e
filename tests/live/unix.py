# SPDX-License-Identifier: Apache-2.0
"""tests/live/unix.py - Unix sockets: by path, and no other"""

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
def a_link_that_a_command_could_have_made_names_nothing(t):
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
def none_by_default(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    s = socket.socket(socket.AF_UNIX)
    s.connect(f"{there}/a")                 # The control
    equal(attempts(t, [f"{there}/a"]), ["1"])


@test
def the_one_that_is_named_and_not_its_neighbour(t):
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
def abstract_ones_never(t):
    name = f"cloche-test-{os.getpid()}"
    there = outside(t, "s")
    serve(f"{there}/a")
    serve("\0" + name)
    s = socket.socket(socket.AF_UNIX)
    s.connect("\0" + name)                  # The control
    got = attempts(t, ["@" + name], ["--unix-socket", f"{there}/a"])
    check(got and got[0] != "hello", got)


@test
def one_in_a_hidden_directory(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{there}/b")
    got = attempts(t, [f"{there}/a", f"{there}/b"],
                   ["--deny-read", there, "--unix-socket", f"{there}/a"])
    check(got[0] == "hello" and got[1] in ("2", "13"), got)


@test
def without_the_observer_too(t):
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
def a_race_never_reaches_the_neighbour(t):
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
def what_a_number_stands_for_is_looked_at_once(t):
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
def a_thread_with_files_of_its_own_connects_its_own(t):
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
def a_length_has_no_high_bits(t):
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
def other_sockets_connect_as_ever(t):
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
def descriptors_that_travel_open_nothing(t):
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


@test
def a_real_agent_works_and_no_other(t):
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


@test
def the_agent_is_named_to_the_command_if_it_is_allowed(t):
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
def a_number_that_is_used_again_is_another_socket(t):
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
