# SPDX-License-Identifier: Apache-2.0
"""tests/fallback/network.py - the landlock tier's network: the gate, or nothing

Servers are on the host's loopback, which the gate reaches only because a test
allows it; the command must not reach them by any other way.
"""

import json
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from hello import *
from tap import *

LANDLOCK = ("--tier", "landlock")

# What programs inside have to say: the proxies' ports, a request by each way
INSIDE = r"""
import os, select, socket, struct, sys
HTTP = int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1])
SOCKS = int(os.environ["ALL_PROXY"].rsplit(":", 1)[1])
def connect(port, family=socket.AF_INET, host="127.0.0.1", wait=True):
    s = socket.socket(family)
    s.settimeout(20)
    if not wait:
        s.setblocking(False)
        s.connect_ex((host, port))
        select.select([], [s], [], 20)
        error = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error: raise OSError(error, os.strerror(error))
        s.settimeout(20)
    else:
        s.connect((host, port))
    return s
def all_of(s):
    got = b""
    while True:
        part = s.recv(4096)
        if not part: return got
        got += part
def fetch(s, where):
    s.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (where, where))
    text = all_of(s)
    return text.split(b"\r\n")[0].decode(), text.rpartition(b"\r\n\r\n")[2].decode()
def socks(s, host, port):
    s.sendall(b"\5\1\0")
    s.recv(2)
    s.sendall(b"\5\1\0\3" + bytes([len(host)]) + host + struct.pack("!H", port))
    answer = s.recv(10)
    return answer[1], all_of(s).decode()
"""


def allow(server):
    return ("--allow", f"127.0.0.1:{server.port}")


def python(t, code, *options, **more):
    return t.inside("/usr/bin/python3", "-c", INSIDE + code,
                    options=LANDLOCK + options, **more)


def children(pid, name=""):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()
                if open(f"/proc/{child}/comm").read().startswith(name)]


def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


@test
def an_allowed_host_is_reached_through_the_proxies(t):
    server = Server()
    where = f"127.0.0.1:{server.port}".encode()
    r = python(t, f"""
print(*fetch(connect(HTTP), {where}))
print(*fetch(connect(HTTP, wait=False), {where}))
print(*fetch(connect(HTTP, socket.AF_INET6, "::ffff:127.0.0.1"), {where}))
print(*socks(connect(SOCKS), b"127.0.0.1", {server.port}))
""", *allow(server)).ok()
    equal(r.out.splitlines(),
          ["HTTP/1.1 200 Connection Established hello"] * 3 + ["0 hello"])
    equal((server.count, r.err), (4, ""))


@test
def curl_uses_the_proxy_variables(t):
    need("curl")
    server = Server()
    where = f"http://127.0.0.1:{server.port}/"
    r = t.shell(f"curl -sS --http0.9 -m 20 -p {where};"
                f"curl -sS --http0.9 -m 20 --proxy $ALL_PROXY {where}",
                options=LANDLOCK + allow(server)).ok()
    equal(r.out, "hellohello", repr(r))


@test
def any_other_host_is_refused_and_reported(t):
    server = Server()
    events = os.path.join(t.away, "events")
    where = f"127.0.0.1:{server.port}"
    r = python(t, f"""
print(fetch(connect(HTTP), {where.encode()})[0])
print(socks(connect(SOCKS), b"127.0.0.1", {server.port})[0])
print(socks(connect(SOCKS), b"example.test", 443)[0])
try: connect({server.port})
except PermissionError: print("refused")
""", "--events", events).ok()
    equal(r.out.splitlines(), ["HTTP/1.1 403 host is not on the allow list",
                               "2", "2", "refused"])
    equal(server.count, 0)
    rows = [json.loads(line) for line in open(events)]
    equal({(row["kind"], row["target"]) for row in rows},
          {("net-connect", where), ("net-connect", "example.test:443")})


@test
def the_proxys_port_at_another_address_is_unreachable(t):
    """Landlock knows ports, not addresses: it is not what decides"""
    control = Server()
    r = python(t, f"""
tried = 0
for host in ("127.0.0.2", "0.0.0.0", "192.0.2.1", "::1", "::",
             "::ffff:127.0.0.2", "::ffff:192.0.2.1"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in (HTTP, SOCKS):
        try: connect(port, family, host)
        except PermissionError: tried += 1
print(tried)
print(fetch(connect(HTTP), b"127.0.0.1:{control.port}")[1])
""", *allow(control)).ok()
    equal(r.out, "14\nhello\n")


@test
def another_user_cannot_use_the_gate(t):
    """It listens where every user of this machine can knock"""
    server = Server()
    p = t.start("run", *LANDLOCK, *allow(server), "--", "/usr/bin/python3",
                "-c", INSIDE + f"""
print(fetch(connect(HTTP), b"127.0.0.1:{server.port}")[1])
print(HTTP, SOCKS, flush=True)
sys.stdin.readline()
print(fetch(connect(HTTP), b"127.0.0.1:{server.port}")[1])
""", text=True)
    equal(p.stdout.readline(), "hello\n")
    ports = [int(word) for word in p.stdout.readline().split()]
    for port in ports:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port), 20) as s:
                try:
                    s.sendall(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n"
                              "\r\n".encode())
                    equal(s.recv(100), b"", "an answer to a stranger")
                except ConnectionError:
                    pass
    equal(server.count, 1)
    out, err = p.communicate("\n", timeout=RUN_SECONDS)
    equal((out, p.returncode, server.count), ("hello\n", 0, 2), err)


@test
def changing_the_address_during_connect_reaches_nothing_else(t):
    """The supervisor connects to what it has read"""
    server, denied = Server(), Server()
    r = python(t, f"""
import ctypes, threading
libc = ctypes.CDLL(None, use_errno=True)
def address(port):
    return struct.pack("=HHI8x", socket.AF_INET, socket.htons(port),
                       socket.htonl(0x7f000001))
room = ctypes.create_string_buffer(16)
good, bad = address(HTTP), address({denied.port})
stop = False
def flip():
    while not stop:
        ctypes.memmove(room, good, 16)
        ctypes.memmove(room, bad, 16)
threading.Thread(target=flip, daemon=True).start()
tries = made = 0
while tries < {long(2000, 50000)} or not made:
    s = socket.socket()
    tries += 1
    made += libc.connect(s.fileno(), room, 16) == 0
    s.close()
stop = True
print(tries > made)
""", "--quiet", *allow(server)).ok()
    equal((r.out, denied.count), ("True\n", 0))


@test
def prepared_sockets_reach_no_other_address(t):
    """Fast open, a device, a second connect(), a disconnect"""
    server, denied = Server(), Server()
    r = python(t, f"""
where = b"127.0.0.1:{server.port}"
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, 30, 1)
s.connect(("127.0.0.1", HTTP))
print(fetch(s, where)[1])
s = connect(HTTP)
for port in (HTTP, {denied.port}):
    print(os.strerror(s.connect_ex(("127.0.0.1", port))))
print(fetch(s, where)[1])
s = connect(HTTP)
import ctypes
print(ctypes.CDLL(None).connect(s.fileno(), struct.pack("=H14x", 0), 16))
try: s.connect(("127.0.0.1", {denied.port}))
except OSError as e: print(e.strerror)
try: s.sendto(b"x", socket.MSG_FASTOPEN, ("127.0.0.1", {denied.port}))
except OSError as e: print(e.strerror)
try: socket.socket().bind(("127.0.0.1", 0))
except OSError as e: print(e.strerror)
""", *allow(server)).ok()
    refused = "Permission denied"
    equal(r.out.splitlines(), [
        "hello", "Success", refused, "hello",
        "0", refused, "Operation not supported", refused])
    equal(denied.count, 0)


@test
def without_an_observer_there_is_no_network(t):
    server = Server()
    options = LANDLOCK + allow(server) + ("--observe", "off")
    found, _ = t.attempts([f"tcp 127.0.0.1 {server.port}"], options=options)
    equal((set(found.values()), server.count), ({"EACCES"}, 0))
    r = t.shell("env | grep -i _proxy; true", options=options).ok()
    equal(r.out, "")
    r = t.run("explain", *options).ok()
    contains(r.out, "no network with --observe off")


@test
def a_killed_gate_ends_the_network(t):
    server = Server()
    p = t.start("run", *LANDLOCK, *allow(server), "--", "/usr/bin/python3",
                "-c", INSIDE + f"""
print(fetch(connect(HTTP), b"127.0.0.1:{server.port}")[1], flush=True)
sys.stdin.readline()
for _ in range(5):
    try: print(fetch(connect(HTTP), b"127.0.0.1:{server.port}")[1])
    except OSError: print("refused")
""", text=True)
    equal(p.stdout.readline(), "hello\n")
    gates = [child for child in children(p.pid)
             if open(f"/proc/{child}/comm").read() == "cloche-gate\n"]
    equal(len(gates), 1, "gates")
    os.kill(gates[0], signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{gates[0]}"), "its end")
    out, err = p.communicate("\n", timeout=RUN_SECONDS)
    equal((out.split(), server.count), (["refused"] * 5, 1), err)
    contains(err, "the network gate ended")


@test
def net_none_has_no_network(t):
    server = Server()
    r = t.shell("env | grep -i _proxy; true",
                options=LANDLOCK + ("--net", "none")).ok()
    equal(r.out, "")
    found, _ = t.attempts([f"tcp 127.0.0.1 {server.port}"],
                          options=LANDLOCK + ("--net", "none"))
    equal((set(found.values()), server.count), ({"EACCES"}, 0))


@test
def the_gate_ends_while_it_accepts_a_client(t):
    """The end of file follows the message about a client, which is all that ends the gate"""
    server = Server()
    p = t.start("run", *LANDLOCK, *allow(server), "--", "/usr/bin/python3", "-c",
                INSIDE + """
sys.stdin.readline()
connect(HTTP).sendall(b"x")
os._exit(0)
""")
    gate, = wait_until(lambda: children(p.pid, "cloche-gate"), "a gate")
    init, = children(p.pid, "cloche-init")
    wait_until(lambda: state(gate) == "S", "its wait")
    os.kill(gate, signal.SIGSTOP)
    p.stdin.write(b"\n")
    p.stdin.flush()
    wait_until(lambda: not children(init) and state(p.pid) == "S",
               "the command's end")
    os.kill(p.pid, signal.SIGSTOP)
    os.kill(gate, signal.SIGCONT)
    wait_until(lambda: state(gate) == "Z", "the gate's end")
    os.kill(p.pid, signal.SIGCONT)
    p.communicate(timeout=RUN_SECONDS)
    equal(p.returncode, 0)


class Parent(Server):
    """A proxy on the host, behind the outer gate: every tunnel ends in a hello"""

    def answer(self, s):
        s.settimeout(20)
        s.recv(4096)
        s.sendall(b"HTTP/1.1 200 Connection Established\r\n\r\n")
        Server.answer(s)


def behind(parent):
    return ("-s", json.dumps({"sandbox": {"network": {"parentProxy": {
        "http": f"http://127.0.0.1:{parent.port}"}}}}))


def nested(t, outer, inner, code, parent, *options):
    """Run @code in a sandbox that allows the hosts @inner, in one that allows @outer"""
    hosts = [[word for host in side for word in ("--allow", host)]
             for side in (outer, inner)]
    return t.inside(CLOCHE, "run", *hosts[1], "--", "/usr/bin/python3", "-c", INSIDE + code,
                    options=(*hosts[0], "--read", os.path.dirname(CLOCHE), *options,
                             *behind(parent)))


@test
def a_nested_sandbox_reaches_hosts_that_both_allow(t):
    """And reports nothing but its own refusals: the sandbox around it does the rest"""
    code = """
print(*fetch(connect(HTTP), b"name.test:81"))
print(*socks(connect(SOCKS), b"name.test", 81))
"""
    both, parent = ["name.test:81"], Parent()
    r = nested(t, both, both, code, parent).ok()
    equal(r.out.splitlines(),
          ["HTTP/1.1 200 Connection Established hello", "0 hello"], repr(r))
    equal((parent.count, r.err), (2, ""))
    r = nested(t, both, ["other.test"], code, parent)
    equal((r.out.splitlines()[0][:12], r.out.splitlines()[-1][0]), ("HTTP/1.1 403", "2"), repr(r))
    equal(r.err.count("cloche: refused"), 1, r.err)
    contains(r.err, "host name.test:81 (host is not on the allow list)")
    lacks(r.err, "note:", "tier landlock", "listener")
    r = nested(t, ["other.test"], both, code, parent)
    lacks(r.out, "hello")
    equal(parent.count, 2, "connections that one of them refuses")


@test
def a_nested_sandbox_connects_to_its_own_proxies_only(t):
    """Also a process that has lost its parent, and not by its ports to other addresses"""
    code = """
def attempt(port, host):
    try:
        return " ".join(fetch(connect(port, socket.AF_INET6 if ":" in host else
                                      socket.AF_INET, host), b"name.test:81"))
    except OSError as e:
        return os.strerror(e.errno)
def all():
    for where in (3128, "127.0.0.1"), (1080, "127.0.0.1"), (443, "127.0.0.1"), \\
                 (3128, "::ffff:127.0.0.1"), (81, "198.18.1.0"), (HTTP, "198.18.1.0"), \\
                 (HTTP, "192.0.2.1"), (HTTP, "::ffff:192.0.2.1"), (HTTP, "::1"):
        print(attempt(*where), flush=True)
all()
if not os.fork():               # A parent between it and the sandbox's init
    all()
    os._exit(0)
os.wait()
read, write = os.pipe()
if not os.fork():
    middle = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == middle:
        pass
    all()
    os._exit(0)
os.wait()
os.close(write)
os.read(read, 1)                # To the orphan's end
"""
    parent = Parent()
    r = nested(t, ["name.test"], [], code, parent)
    equal(r.out.splitlines(), ["Permission denied"] * 27, repr(r))
    r = t.inside("/usr/bin/python3", "-c", INSIDE +
                 "print(fetch(connect(3128), b'name.test:81')[1])",
                 options=("--allow", "name.test", *behind(parent)))
    equal((r.out, parent.count), ("hello\n", 1), "the control: " + repr(r))


@test
def a_nested_sandbox_under_net_host_uses_its_proxies(t):
    server = Server()
    code = f"""
print(fetch(connect(HTTP), b"127.0.0.1:{server.port}")[1])
try: connect({server.port})
except OSError as e: print(os.strerror(e.errno))
"""
    inner = CLOCHE, "run", *allow(server), "--", "/usr/bin/python3", "-c", INSIDE + code
    r = t.inside(*inner, options=("--net", "host", "--read", os.path.dirname(CLOCHE))).ok()
    equal((r.out, r.err, server.count), ("hello\nPermission denied\n", "", 1), repr(r))


main()
