# SPDX-License-Identifier: Apache-2.0
"""tests/live/gate-life.py - the start, the messages and the end of a run's gate"""

import array
import json
import os
import resource
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from hello import *
from tap import *


def children(pid, name=""):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()
                if open(f"/proc/{child}/comm").read().startswith(name)]


@test
def the_gate_is_ready_before_the_first_connection(t):
    p = t.start("run", "--allow", "example.test", "--", "cat")
    wait_until(lambda: children(p.pid, "cloche-gate"), "a gate")
    equal(p.communicate(b"", RUN_SECONDS), (b"", b""))
    equal(p.returncode, 0)
    p = t.start("run", "--net", "none", "--", "cat")
    init = wait_until(lambda: children(p.pid, "cloche-init"), "the control")
    wait_until(lambda: children(init[0], "cat"), "its command")
    equal(children(p.pid, "cloche-gate"), [])
    p.communicate(b"", RUN_SECONDS)


@test
def data_pending_in_a_busy_gate_is_delivered(t):
    server = Server()
    p = t.start("run", "--allow", f"127.0.0.1:{server.port}", "--",
                "/usr/bin/python3", "-c", f'''
import os, socket, sys
sys.stdin.readline()
s = socket.create_connection(("127.0.0.1", 3128), 20)
s.sendall(b"GET http://127.0.0.1:{server.port}/ HTTP/1.1\\r\\n"
          b"Host: 127.0.0.1:{server.port}\\r\\n\\r\\n")
os._exit(0)
''')
    gate, = wait_until(lambda: children(p.pid, "cloche-gate"), "a gate")
    init, = children(p.pid, "cloche-init")
    wait_until(lambda: open(f"/proc/{gate}/stat").read().split()[2] == "S",
               "its wait")
    os.kill(gate, signal.SIGSTOP)
    p.stdin.write(b"\n")
    p.stdin.flush()
    wait_until(lambda: not children(init), "the command's end")
    equal(server.count, 0)
    os.kill(gate, signal.SIGCONT)
    p.communicate(timeout=RUN_SECONDS)
    equal(p.returncode, 0)
    wait_until(lambda: server.count == 1, "what it sent")


@test
def a_killed_gate_is_reported_once(t):
    server = Server()
    p = t.start("run", "--allow", f"127.0.0.1:{server.port}", "--",
                "/usr/bin/python3", "-c", FETCH + f'''
print(tunnel(b"127.0.0.1:{server.port}")[1], flush=True); sys.stdin.readline()
while True:
    try: socket.create_connection(("127.0.0.1", 3128), 60)
    except ConnectionRefusedError: break
    except ConnectionResetError: pass   # It was in the queue
print("refused", flush=True)
''')
    contains(p.stdout.readline(), b"200")
    gate, = children(p.pid, "cloche-gate")
    os.kill(gate, signal.SIGKILL)
    out, err = p.communicate(b"\n", RUN_SECONDS)
    equal(out, b"refused\n")
    equal(err, b"cloche: the network gate ended: connections are refused from "
          b"now on\n")
    equal(p.returncode, 0)


@test
def a_stalled_gate_does_not_block_the_run(t):
    server = Server()
    ours, theirs = socket.socketpair()
    p = t.start("run", "--allow", f"127.0.0.1:{server.port}", "--control-fd",
                str(theirs.fileno()), "--", "/usr/bin/python3", "-c", FETCH + f'''
print(tunnel(b"127.0.0.1:{server.port}")[1], flush=True); sys.stdin.readline()
''', pass_fds=[theirs.fileno()])
    theirs.close()
    contains(p.stdout.readline(), b"200")
    gate, = children(p.pid, "cloche-gate")
    os.kill(gate, signal.SIGSTOP)
    line = json.dumps({"network": {"allowedDomains": []}}).encode() + b"\n"
    ours.settimeout(RUN_SECONDS)
    for _ in range(2000):
        ours.sendall(line)
    contains(p.stderr.readline(), b"the network gate ended")
    out, _ = p.communicate(b"\n", RUN_SECONDS)
    equal((out, p.returncode), (b"", 0))


def start_fetching(t):
    """A run that prints whether a server of the host is refused or allowed, each time
    that changes; its control socket; the server"""
    server = Server()
    there = f"127.0.0.1:{server.port}"
    ours, theirs = socket.socketpair()
    p = t.start("run", "--control-fd", str(theirs.fileno()), "--",
                "/usr/bin/python3", "-c", FETCH + f'''
import time
for want in ("403", "200", "403", "200"):
    while want not in tunnel(b"{there}")[1]: time.sleep(0.05)
    print(want, flush=True); sys.stdin.readline()
''', pass_fds=[theirs.fileno()])
    theirs.close()
    return p, ours, there


@test
def a_long_policy_reaches_the_gate_completely(t):
    p, ours, there = start_fetching(t)
    equal(p.stdout.readline(), b"403\n")
    many = [f"host-{i}.a-long-name.example.test" for i in range(3000)]
    for domains, want in (([*many, there], b"200\n"), (many, b"403\n"),
                          ([there], b"200\n")):
        ours.sendall(json.dumps({"network": {"allowedDomains": domains}})
                     .encode() + b"\n")
        p.stdin.write(b"\n")
        p.stdin.flush()
        equal(p.stdout.readline(), want)
    p.communicate(b"\n", RUN_SECONDS)
    equal(p.returncode, 0)


@test
def an_overlong_control_line_is_reported_and_skipped(t):
    p, ours, there = start_fetching(t)
    ours.settimeout(RUN_SECONDS)

    def send(domains, size):
        line = json.dumps({"network": {"allowedDomains": domains}}).encode()
        ours.sendall(line.ljust(size) + b"\n")

    def sees(want):
        equal(p.stdout.readline(), want)
        p.stdin.write(b"\n")
        p.stdin.flush()

    limit = 1 << 20
    sees(b"403\n")
    send([there], limit)		# As long as a line may be
    sees(b"200\n")
    send([], 0)
    sees(b"403\n")
    send([there], limit + 1)
    contains(p.stderr.readline(), b"ignored, previous config still in force "
             b"(a line of more than 1 MiB)")
    send([there], 0)
    sees(b"200\n")
    _, err = p.communicate(b"\n", RUN_SECONDS)
    equal(p.returncode, 0)
    lacks(err, b"control fd")


@test
def a_new_policy_answers_an_open_prompt(t):
    server = Server()
    there = f"127.0.0.1:{server.port}"
    for lists, want in (({"allowedDomains": [there]}, b"200 Connection"),
                        ({"deniedDomains": [there]}, b"403 host is on the deny")):
        ours, theirs = socket.socketpair()
        p = t.start("run", "--ask", "--control-fd", str(theirs.fileno()), "--",
                    "/usr/bin/python3", "-c", FETCH +
                    f'print(tunnel(b"{there}")[1])', pass_fds=[theirs.fileno()])
        theirs.close()
        ours.settimeout(RUN_SECONDS)
        contains(ours.recv(4096), b'"ask"')
        ours.sendall(json.dumps({"network": lists}).encode() + b"\n")
        contains(p.communicate(b"", RUN_SECONDS)[0], want)


@test
def a_bad_parent_proxy_is_reported_before_anything_runs(t):
    for url in ("http://me:pw@", "http://me:pw@proxy.test:99999",
                "http://me:pw@proxy.test/path", "me:pw@"):
        r = t.inside("echo", "ran", env={"https_proxy": url}).ended(125)
        equal(r.out, "")
        contains(r.err, "cloche: $https_proxy: ")
        lacks(r.err, "pw")
        settings = {"sandbox": {"network": {"parentProxy": {"http": url}}}}
        r = t.inside("echo", "ran", options=("-s", json.dumps(settings))).ended(125)
        contains(r.err, "network.parentProxy.http: ")
        lacks(r.err, "pw")
    t.inside("echo", "ran", env={"https_proxy": "http://127.0.0.1:9/"}).ok()


@test
def an_edit_with_an_invalid_parent_proxy_changes_nothing(t):
    server = Server()
    there = f"127.0.0.1:{server.port}"
    path = os.path.join(t.home, ".claude/settings.json")

    def save(**network):
        t.write(path + ".new", json.dumps({"sandbox": {"network": network}}))
        os.rename(path + ".new", path)
    save(allowedDomains=[there])
    p = t.start("run", "--", "/usr/bin/python3", "-c", FETCH + f'''
for _ in sys.stdin: print(tunnel(b"{there}")[1], flush=True)
''')
    def get():
        p.stdin.write(b"\n")
        p.stdin.flush()
        return p.stdout.readline()
    contains(get(), b"200")
    save(allowedDomains=[there], parentProxy={"http": "socks5://127.0.0.1:9"})
    contains(p.stderr.readline(), b"network.parentProxy.http: ")
    contains(get(), b"200")
    save(allowedDomains=[])
    wait_until(lambda: b"403" in get(), "the next edit")
    p.communicate(b"", RUN_SECONDS)


@test
def a_port_that_cannot_be_captured_does_not_affect_others(t):
    server = Server()
    # Allowed, and then not: the gate resets them
    file = t.write(t.away + "/s.json", '{"network": {"deniedResolvedAddresses": ["192.0.2.0/24"]}}')
    p = t.start("run", "--allow", f"127.0.0.1:{server.port}", "--allow",
                "192.0.2.9", "-s", file, "--", "/usr/bin/python3", "-c", '''
import socket, sys
for port in (7001, 7002, 7003):
    try: print(socket.create_connection(("192.0.2.9", port), 60).recv(1), flush=True)
    except OSError as e: print(type(e).__name__, flush=True)
    sys.stdin.readline()
''', preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
    # The control: it is captured, and refused by the policy
    equal(p.stdout.readline(), b"ConnectionResetError\n")
    ends = []
    for _ in range(6):      # More than one of us may have on its way
        ends += socket.socketpair()
        ends[-1].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                   array.array("i", [0] * 50))])
    # A listener that was not passed on is closed, perhaps with a client in its backlog
    for want in ("ConnectionRefusedError ConnectionResetError",
                 "ConnectionResetError"):
        p.stdin.write(b"\n")
        p.stdin.flush()
        contains(want.split(), p.stdout.readline().decode().strip())
        for end in ends:
            end.close()
    p.communicate(b"\n", RUN_SECONDS)


main()
