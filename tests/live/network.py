# SPDX-License-Identifier: Apache-2.0
"""tests/live/network.py - cloche run and the network of this machine

Servers are on the host's loopback and on ports that the kernel chose.
"""

import json
import os
import shlex
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from hello import *
from tap import *
from terminal import Terminal


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def python(t, code, *options, **more):
    return t.inside("/usr/bin/python3", "-c", FETCH + code, options=options,
                    **more)


@test
def no_host_is_reached_by_default_and_each_attempt_is_reported(t):
    server = Server()
    events = os.path.join(t.away, "events")
    r = python(t, f'''
print(tunnel(b"127.0.0.1:{server.port}")[1])
try: socket.getaddrinfo("example.test", 80)
except OSError: print("no such name")
try: socket.create_connection(("192.0.2.77", 8123), 60).recv(1)
except OSError as e: print(type(e).__name__)
try: socket.create_connection(("127.0.0.1", {server.port}), 60)
except OSError as e: print(type(e).__name__)
''', "--events", events).ok()
    equal(r.out.splitlines(), [
        "HTTP/1.1 403 host is not on the allow list", "no such name",
        "PermissionError", "ConnectionRefusedError"])
    equal(server.count, 0)
    with open(events) as file:
        rows = [json.loads(line) for line in file]
    equal({(row["kind"], row["target"]) for row in rows}, {
        ("net-connect", f"127.0.0.1:{server.port}"),
        ("net-dns", "example.test"), ("net-connect", "192.0.2.77:8123")})
    for row in rows:
        check(row["suggest"]["command"].startswith("cloche policy allow host "),
              row)
    contains(r.err, "192.0.2.77:8123")


@test
def an_allowed_address_is_reached_through_the_proxy_variables(t):
    server = Server()
    r = python(t, f'''
import os
print(os.environ["HTTPS_PROXY"], os.environ["ALL_PROXY"])
s, head = tunnel(b"127.0.0.1:{server.port}"); print(head, s.recv(9))
''', "--allow", f"127.0.0.1:{server.port}").ok()
    equal(r.out.splitlines(), [
        "http://localhost:3128 socks5h://localhost:1080",
        "HTTP/1.1 200 Connection Established b'hello'"])
    equal(r.err, "")
    r = python(t, f'print(tunnel(b"127.0.0.1:{server.port}")[1])', "--allow",
               f"127.0.0.1:{server.port}", "--deny", "127.0.0.1").ok()
    contains(r.out, "403 host is on the deny list")


@test
def a_refusal_names_its_process(t):
    events = os.path.join(t.away, "events")
    kinds = {
        "proxy": 'tunnel(b"bad.test:443")',
        "captured": 'socket.create_connection(("192.0.2.77", 443), 9).recv(9)',
        "reset": 'socket.create_connection(("192.0.2.77", 8123), 9).recv(9)',
        "dns": 'socket.getaddrinfo("bad.test", 80)',
        "dns over tcp": 's = socket.create_connection(("192.0.2.53", 53), 9); '
            's.sendall(b"\\0\\x1ahi\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" '
            'b"\\3bad\\4test\\0\\0\\1\\0\\1"); s.recv(9)',
    }
    for kind, code in kinds.items():
        # It is gone as soon as it hears of it; its parent holds the host's view
        for i in range(long(3, 100)):
            if os.path.exists(events):
                os.unlink(events)
            python(t, f"""
import os, sys
pid = os.fork()
if not pid:
    try: {code}
    except OSError: pass
    os._exit(0)
os.wait()
""", "--events", events).ok()
            with open(events) as file:
                rows = [json.loads(line) for line in file]
            check(rows, kind)
            for row in rows:
                check(row["pid"] and row["pid"] > 1, kind, row)
                contains(row["exe"] or "", "python3")
            equal(len({row["pid"] for row in rows}), 1)


@test
def a_childs_refusal_is_not_attributed_to_its_parent(t):
    events = os.path.join(t.away, "events")
    p = t.start("run", "--events", events, "--", "/usr/bin/python3", "-c", FETCH + """
import os
r, w = os.pipe()
pid = os.fork()
if not pid:
    s, head = tunnel(b"bad.test:443")
    os.read(r, 1)
    os._exit(0)
print(pid, flush=True)
sys.stdin.readline()
os.write(w, b"x")
os.wait()
""")
    child = int(p.stdout.readline())
    wait_until(lambda: os.path.exists(events) and os.path.getsize(events) > 0,
               "the refusal is told")
    with open(events) as file:
        row = json.loads(file.readline())
    with open(f"/proc/{row['pid']}/status") as file:
        status = dict(l.split(":\t", 1) for l in file.read().splitlines())
    inside = [int(n) for n in status["NSpid"].split()]
    equal((inside[0], inside[-1]), (row["pid"], child))
    p.communicate(b"\n", RUN_SECONDS)


class ParentProxy:
    """Writes down the first line of each request, and refuses them all"""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = "http://me:pw@127.0.0.1:%d" % self.socket.getsockname()[1]
        self.lines = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            s, _ = self.socket.accept()
            got = s.recv(4096)
            self.lines.append(got.split(b"\r\n")[0].decode())
            s.sendall(b"HTTP/1.1 404 Seen\r\nContent-Length: 0\r\n"
                      b"Connection: close\r\n\r\n")
            s.close()


@test
def the_callers_proxy_becomes_the_parent_proxy(t):
    proxy = ParentProxy()
    code = """
import os
print(tunnel(b"good.test:443")[1])
s = socket.create_connection(("127.0.0.1", 3128), 20)
s.sendall(b"GET http://good.test/ HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")
print(s.recv(17))
print(tunnel(b"bad.test:443")[1])
print([v for v in os.environ.values() if "pw" in v])
"""
    allow = ["--allow", "good.test"]
    for env in ({"http_proxy": proxy.url, "HTTPS_PROXY": proxy.url},
                {"HTTP_PROXY": proxy.url}):
        proxy.lines.clear()
        r = python(t, code, *allow, env=env).ok()
        equal(r.out.splitlines(), [
            "HTTP/1.1 502 the parent proxy refused", "b'HTTP/1.1 404 Seen'",
            "HTTP/1.1 403 host is not on the allow list", "[]"])
        equal(proxy.lines, ["CONNECT good.test:443 HTTP/1.1",
                            "GET http://good.test/ HTTP/1.1"])
        lacks(t.run("explain", *allow, "true", env=env).ok().out, "pw")
    proxy.lines.clear()
    python(t, code, *allow, env={"HTTPS_PROXY": proxy.url,
                                 "NO_PROXY": "good.test"})
    python(t, code, *allow, env={"HTTPS_PROXY": "socks5://127.0.0.1:9"})
    equal(proxy.lines, [])


@test
def data_sent_right_before_exit_arrives(t):
    address = own_address()
    total, done = [], threading.Semaphore(0)
    listener = socket.create_server((address, 0))
    port = listener.getsockname()[1]

    def serve():
        while True:
            s, _ = listener.accept()
            n = 0
            while got := s.recv(1 << 16):
                n += len(got)
            total.append(n)
            done.release()
    threading.Thread(target=serve, daemon=True).start()
    for i in range(long(10, 200)):
        # Captured, and by the proxy; exits before the data can have been read
        python(t, f"""
import os
s = {("socket.create_connection(('%s', %d))" % (address, port),
      "tunnel(b'%s:%d')[0]" % (address.encode().decode(), port))[i % 2]}
s.sendall(b"x" * 100000)
os._exit(0)
""", "--allow", address).ok()
        check(done.acquire(timeout=RUN_SECONDS), "nobody connected")
        equal(total[-1], 100000, i)


@test
def a_port_without_a_rule_is_captured_on_demand(t):
    address = own_address()
    server = Server(address)
    code = f'''
s = socket.create_connection(("{address}", {server.port}), 60); print(s.recv(9))
'''
    r = python(t, code, "--allow", address).ok()
    equal(r.out, "b'hello'\n")
    r = python(t, code, "--allow", f"{address}:{server.port}", "--observe",
               "off").ok()
    equal(r.out, "b'hello'\n")
    r = python(t, code, "--allow", address, "--observe", "off").ok()
    equal(r.out, "b'hello'\n")
    r = python(t, code)
    contains(r.err, "refused")
    equal(server.count, 3)


@test
def a_refused_address_is_refused_in_connect(t):
    """Refused in connect(), not accepted and reset: some clients only test connect()"""
    code = """
import errno, select
for address in (("192.0.2.77", 443), ("192.0.2.77", 80), ("192.0.2.77", 8123), ("2001:db8::7", 443)):
    for blocking in (True, False):
        s = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        s.setblocking(blocking)
        print(errno.errorcode.get(s.connect_ex(address)))
"""
    for options in ((), ("--observe", "off"), ("--deny", "192.0.2.77"),
                    ("--profile", "srt")):
        r = python(t, code, *options).ok()
        equal(r.out.split(), ["EACCES"] * 8, options)
        contains(r.err, "192.0.2.77:443 (host is ")
        contains(r.err, "[2001:db8::7]:443 (host is not on the allow list")
    # The control: an allowed port is captured, and the gate finds no server there
    file = t.write(t.away + "/s.json", '{"network": {"deniedResolvedAddresses": ["192.0.2.0/24"]}}')
    r = python(t, code, "--allow", "192.0.2.77", "-s", file).ok()
    equal(r.out.split()[:6], ["None", "EINPROGRESS"] * 3)


@test
def an_idle_connection_has_keepalive(t):
    server = Server()
    p = t.start("run", "--allow", f"127.0.0.1:{server.port}", "--",
                "/usr/bin/python3", "-c", FETCH + f"""
import sys
s = tunnel(b"127.0.0.1:{server.port}")[0]
print("up", flush=True)
sys.stdin.readline()
""")
    equal(p.stdout.readline(), b"up\n")
    # The kernel's timer of the gate's socket: 2 is keep-alive. A connection of another
    # test to the same port may still be in TIME_WAIT (6).
    with open("/proc/net/tcp") as table:
        timers = [row.split()[5] for row in table
                  if row.split()[2].endswith(f":{server.port:04X}") and
                  row.split()[3] != "06"]
    p.communicate(b"\n", RUN_SECONDS)
    check(timers and all(timer.startswith("02:") for timer in timers), timers)


@as_root
def a_run_leaves_no_zombie_for_process_1(t):
    script = t.write("first.py", """
import glob, subprocess, sys
for i in range(3):
    subprocess.run([sys.argv[1], "run", "--quiet", "--allow", "name.test", "--", "/usr/bin/python3", "-c",
        "import socket\\ntry: socket.create_connection(('name.test', 443), 9)\\nexcept OSError: pass"])
states = [open(f).read().rsplit(")", 1)[1].split()[0] for f in glob.glob("/proc/[0-9]*/stat")]
print(states)
""")
    r = t.outside("unshare", "--pid", "--fork", "--mount-proc", "/usr/bin/python3",
                  script, CLOCHE).ok()
    equal(r.out, "['R']\n", r.err)


SERVE = """
import socket, sys
l = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(l.getsockname()[1], flush=True)
sys.stdin.readline()
"""


def serve_inside(t, port, *options):
    """A server in a sandbox of the project; its process"""
    p = t.start("run", *options, "--", "/usr/bin/python3", "-c", SERVE, str(port))
    return p, int(p.stdout.readline() or check(False, "it serves nothing"))


def low_port():
    """A free port below the ephemeral range"""
    for port in range(20000 + os.getpid() % 5000, 32000):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)):
                return port


@test
def a_server_without_publish_prints_a_hint(t):
    port = low_port()
    line = f"--publish {port} makes it reachable from the host\n".encode()
    # Not without -v or a terminal, not of a port that nobody chose or that is
    # published: they serve earlier than one that prints it, and as long
    silent = {options: serve_inside(t, where, *options)[0] for options, where in
              (((), port), (("-v",), 0), (("-v", "--publish", str(port)), port))}
    p, _ = serve_inside(t, port, "-v")
    contains(p.stderr.readline(), line)
    _, rest = p.communicate(b"\n", RUN_SECONDS)
    lacks(rest, line)
    for options, p in silent.items():
        lacks(p.communicate(b"\n", RUN_SECONDS)[1], b"--publish", options)


@test
def the_publish_hint_is_printed_on_the_terminal(t):
    port = low_port()
    t.write("serve.py", SERVE)
    with Terminal(["sh", "-c", f"{CLOCHE} run -- python3 serve.py {port} >log 2>&1"],
                  cwd=t.dir) as term:
        term.expect(f"--publish {port} makes it reachable from the host\r")
        term.send("\n")
        equal(term.wait(), 0)
    equal(t.read("log"), f"{port}\n")


@test
def a_server_in_another_sandbox_of_the_project_is_named(t):
    p, port = serve_inside(t, 0)
    code = f"socket.create_connection(('127.0.0.1', {port}))"
    r = python(t, code)
    contains(r.ended(1).err, f"localhost:{port} (another sandbox of this project")
    contains(r.err, f"--publish {port}, and this with --host-port {port}")
    other = os.path.join(t.away, "other")
    os.mkdir(other)
    lacks(python(t, code, cwd=other).ended(1).err, "another sandbox")
    p.communicate(b"\n", RUN_SECONDS)
    # As it says
    port = low_port()
    p, _ = serve_inside(t, port, "--publish", str(port))
    python(t, f"socket.create_connection(('127.0.0.1', {port}))", "--host-port",
           str(port)).ok()
    p.communicate(b"\n", RUN_SECONDS)


def fix(r, start):
    [line] = [line.strip() for line in r.err.split("\n")
              if line.startswith("            " + start)]
    return line


@test
def a_server_in_another_sandbox_has_a_line_to_start_it_again(t):
    port = low_port()
    path = {"PATH": os.path.dirname(os.path.abspath(CLOCHE)) + ":" + os.environ["PATH"]}
    there = os.path.join(t.dir, "a server")
    client = f"import socket; socket.create_connection(('127.0.0.1', {port}))"
    t.write(there + "/serve.py", SERVE)
    words = ("run", "--deny", "x.example", "--", "python3", "serve.py", str(port))
    p = t.start(*words, cwd=there)
    equal(int(p.stdout.readline()), port)
    r = t.inside("python3", "-c", client).ended(1)
    contains(r.err, "end that server and start it so:")
    line = fix(r, "cd ")
    equal(line, f"cd '{there}' && cloche run --publish={port} {shlex.join(words[1:])}")
    p.communicate(b"\n", 60)
    p = Started(["bash", "-c", line], cwd=t.away, env={**os.environ, **path},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(int(p.stdout.readline()), port)
    t.outside("bash", "-c", fix(t.inside("python3", "-c", client).ended(1), "cloche policy "),
              env=path).ok()
    t.inside("python3", "-c", client).ok()
    p.communicate(b"\n", 60)


@test
def a_server_in_a_session_has_a_line_that_joins_it(t):
    path = {"PATH": os.path.dirname(os.path.abspath(CLOCHE)) + ":" + os.environ["PATH"]}
    t.write("serve.py", SERVE)
    p = t.start("run", "--session", "web", "--", "python3", "serve.py", "0")
    port = int(p.stdout.readline())
    client = f"import socket; socket.create_connection(('127.0.0.1', {port}))"
    r = t.inside("python3", "-c", client).ended(1)
    line = fix(r, "cloche run ")
    contains(line, "cloche run --session web -- python3 -c ")
    t.outside("bash", "-c", line, env=path).ok()
    p.communicate(b"\n", 60)
    t.run("session", "stop", "web").ok()


@test
def the_command_of_a_cloche_in_other_namespaces_is_not_suggested(t):
    """A command of another sandbox could have chosen its options"""
    t.write("serve.py", SERVE)
    p = t.start("run", "--", "python3", "serve.py", "0",
                program=("unshare", "--user", "--map-current-user"))
    port = int(p.stdout.readline())
    r = t.inside("python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}))")
    contains(r.ended(1).err, f"--publish {port}, and this with --host-port {port}")
    lacks(r.err, "serve.py")
    p.communicate(b"\n", 60)


@test
def attempts_under_net_none_are_reported(t):
    code = """
import errno
print(errno.errorcode[socket.socket().connect_ex(("192.0.2.77", 443))])
try: socket.getaddrinfo("example.test", 80)
except OSError: print("no such name")
"""
    r = python(t, code, "--net", "none").ok()
    equal(r.out, "ENETUNREACH\nno such name\n")
    contains(r.err, "192.0.2.77:443 (the run has no network; leave out --net none)")
    contains(r.err, ":53 (names cannot be looked up: the run has no network")
    # A client that would retry for minutes does not
    r = t.inside(need("npm"), "view", "x", "--registry", "http://example.test/",
                 options=("--net", "none"))
    check(r.code not in (0, 124), repr(r))
    contains(r.err, "EAI_AGAIN")


@test
def destinations_captured_on_demand_are_released(t):
    # Allowed, and then not: the gate resets them
    file = t.write(t.away + "/s.json", '{"network": {"deniedResolvedAddresses": ["192.0.2.0/24"]}}')
    r = python(t, """
def attempt(i):
    try: socket.create_connection((f"192.0.2.{i % 250 + 1}", 8000 + i), 20).recv(1)
    except OSError as e: return type(e).__name__
seen = {attempt(i) for i in [*range(400), 0, 399]}
with open("/proc/net/tcp") as f: listening = sum(" 0A " in line for line in f)
print(seen, listening <= 260)
for i in range(20):     # A server of its own that wants the port has it at once
    socket.create_server(("::", 8399 - i), family=10, dualstack_ipv6=True)
""", "--allow", "192.0.2.0/24", "-s", file).ok()
    # A reset is the gate's; the kernel would refuse
    equal(r.out, "{'ConnectionResetError'} True\n")


def own_address():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        s.connect(("192.0.2.1", 9))
    except OSError:
        skip("no address but loopback")
    return s.getsockname()[0]


@test
def host_port_makes_a_host_port_reachable(t):
    server = Server()
    code = f'''
s = socket.create_connection(("localhost", {server.port}), 60); print(s.recv(9))
'''
    equal(python(t, code, "--host-port", server.port).ok().out, "b'hello'\n")
    contains(python(t, code).err, "refused")
    equal(server.count, 1)


@test
def publish_makes_a_port_reachable_from_the_host(t):
    port = free_port()
    p = t.start("run", "--publish", str(port), "--", "/usr/bin/python3", "-c", f'''
import socket
l = socket.create_server(("127.0.0.1", {port})); print("up", flush=True)
s, a = l.accept(); s.sendall(b"from inside"); s.close()
''')
    equal(p.stdout.readline(), b"up\n")
    with socket.create_connection(("127.0.0.1", port), 60) as s:
        equal(s.recv(99), b"from inside")
    try:
        socket.create_connection((own_address(), port), 2)
        check(False, "reachable on another interface")
    except OSError:
        pass
    p.communicate(timeout=RUN_SECONDS)
    equal(p.returncode, 0)


@test
def impossible_network_options_are_refused_at_the_start(t):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for options in (["--publish", taken.getsockname()[1]],
                        ["--control-fd", 99]):
            for _ in range(12):     # It was a race
                r = t.inside("echo", "ran", options=options)
                equal((r.code, r.out), (125, ""), r.err)
    equal(t.inside("echo", "ran", options=["--publish", free_port()]).ok().out,
          "ran\n")


@test
def allowLocalBinding_publishes_every_listening_port(t):
    settings = t.write("local.json", json.dumps(
        {"network": {"allowLocalBinding": True}}))
    code = """
import socket, sys, threading
ls = [socket.create_server(("127.0.0.1", 0)),
      socket.create_server(("::1", 0), family=socket.AF_INET6)]
def serve(l):
    while True:
        s, a = l.accept()
        try: s.sendall(b"from inside"); s.close()
        except OSError: pass
for l in ls: threading.Thread(target=serve, args=[l], daemon=True).start()
print(*[l.getsockname()[1] for l in ls], flush=True)
sys.stdin.readline()
"""

    def start(*options):
        p = t.start("run", *options, "--", "/usr/bin/python3", "-c", code)
        return p, [int(w) for w in p.stdout.readline().split()]

    p, ports = start("--settings", settings)
    while not all(is_open("127.0.0.1", port) for port in ports):
        p.kill()    # Another process had that port on the host
        contains(p.communicate()[1], b"is not reachable from the host")
        p, ports = start("--settings", settings)
    for port in ports:
        with socket.create_connection(("127.0.0.1", port), 60) as s:
            equal(s.recv(99), b"from inside")
        check(not is_open("::1", port) and not is_open(own_address(), port))
    out, err = p.communicate(b"\n", timeout=RUN_SECONDS)
    equal((p.returncode, err), (0, b""))
    p, ports = start()
    check(not any(is_open("127.0.0.1", port) for port in ports))
    p.kill()
    p.communicate()


def is_open(host, port):
    try:
        socket.create_connection((host, port), 10).close()
        return True
    except OSError:
        return False


@test
def a_port_in_use_on_the_host_is_reported(t):
    server = Server()
    settings = t.write("local.json", json.dumps(
        {"network": {"allowLocalBinding": True}}))
    r = python(t, f"""
l = socket.create_server(("127.0.0.1", {server.port})); print("up")
""", "--settings", settings).ok()
    equal(r.out, "up\n")
    contains(r.err, f"port {server.port} is not reachable from the host")
    contains(python(t, f"""
l = socket.create_server(("127.0.0.1", {server.port})); print("up")
""").ok().out, "up")


def knock(server):
    return FETCH + f'print(tunnel(b"127.0.0.1:{server.port}")[1], flush=True)'


def start_asking(t, code):
    """A run that asks on a control descriptor, and our end of that"""
    ours, theirs = socket.socketpair()
    with theirs:
        p = t.start("run", "--ask", "--control-fd", str(theirs.fileno()), "--",
                    "/usr/bin/python3", "-c", code,
                    pass_fds=[theirs.fileno()])
    return p, ours


@test
def a_closed_control_socket_refuses_the_request(t):
    server = Server()
    p, ours = start_asking(t, knock(server))
    with ours:
        contains(ours.recv(4096), b'"ask"')
    contains(p.communicate(timeout=RUN_SECONDS)[0], b"HTTP/1.1 403")


def written_down(t, server):
    contains(t.read(t.home + "/.config/cloche/policy.json"),
             f'"127.0.0.1:{server.port}"')
    contains(t.inside("/usr/bin/python3", "-c", knock(server)).out,
             "HTTP/1.1 200")


@test
def the_answer_always_from_a_program_is_stored(t):
    server = Server()
    p, ours = start_asking(t, knock(server))
    lines = ours.makefile("rw")
    ask = json.loads(lines.readline())["ask"]
    lines.write(json.dumps({"answer": {"id": ask["id"], "allow": True,
                                       "scope": "always"}}) + "\n")
    lines.flush()
    contains(p.communicate()[0], b"HTTP/1.1 200")
    written_down(t, server)


@test
def a_program_answers_and_updates_through_control_fd(t):
    server = Server()
    p, ours = start_asking(t, FETCH + f'''
print(tunnel(b"127.0.0.1:{server.port}")[1], flush=True)
print(tunnel(b"127.0.0.1:{server.port}")[1], flush=True)
sys.stdin.readline()
s, head = tunnel(b"127.0.0.1:{server.port}"); print(head, s.recv(9), flush=True)
sys.stdin.readline()
print(tunnel(b"127.0.0.1:{server.port}")[1], flush=True)
''')
    lines = ours.makefile("rw")

    def say(value):
        lines.write(json.dumps(value) + "\n")
        lines.flush()

    for allow, want in ((False, b"403"), (True, b"200")):
        ask = json.loads(lines.readline())["ask"]
        equal((ask["host"], ask["port"]), ("127.0.0.1", server.port))
        contains(ask["exe"], "/python3")
        say({"answer": {"id": ask["id"], "allow": allow, "scope": "once"}})
        contains(p.stdout.readline(), want)
    # The next line is refused, so the one before it was taken
    say({"network": {"allowedDomains": [f"127.0.0.1:{server.port}"]}})
    lines.write("this is no JSON\n")
    lines.flush()
    contains(p.stderr.readline(), b"Invalid config on control fd")
    p.stdin.write(b"\n")
    p.stdin.flush()
    contains(p.stdout.readline(), b"200 Connection Established b'hello'")
    say({"network": {"allowedDomains": [], "deniedDomains": ["127.0.0.1"]}})
    lines.write("nor is this\n")
    lines.flush()
    contains(p.stderr.readline(), b"Invalid config on control fd")
    p.stdin.write(b"\n")
    p.stdin.flush()
    contains(p.stdout.readline(), b"403 host is on the deny list")
    p.communicate(timeout=RUN_SECONDS)
    equal(p.returncode, 0)


main()
