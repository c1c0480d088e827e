# SPDX-License-Identifier: Apache-2.0
"""tests/live/edits.py - settings are edited while a command runs

Servers are on the host's loopback and on ports that the kernel chose.
"""

import json
import os
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from hello import FETCH
from refusals import *

REWRITES = long(60, 1000)
RUNS = long(16, 64)

# Does what each line of its input says
INSIDE = FETCH + r'''
import os, time
def connect(port):
    s, line = tunnel(b"127.0.0.1:%d" % int(port))
    return s, line[9:12]
held = None
print("ready", flush=True)
for line in sys.stdin:
    what, port, *rest = line.split()
    if what == "get": print(connect(port)[1], flush=True)
    if what == "hold":
        held, code = connect(port); print(code, flush=True)
    if what == "ended":
        try: print(repr(held.recv(1)), flush=True)
        except OSError as e: print("b''", flush=True)
    if what == "until":
        while connect(port)[1] != rest[0]: pass
        print(time.time(), flush=True)
    if what == "flood":
        print("flooding", flush=True)
        codes = {}
        while not os.path.exists(rest[0]):
            code = connect(port)[1]; codes[code] = codes.get(code, 0) + 1
        print(*codes, *codes.values(), flush=True)
'''


class Server:
    """Takes connections and counts them; with @keep they stay open"""

    def __init__(self, keep=False):
        self.keep = keep
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.taken = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                taken = self.socket.accept()[0]
            except OSError:
                return
            self.taken.append(taken)
            if not self.keep:
                taken.close()


def save(t, text):
    """As an editor does: all of it, by rename"""
    path = t.home + "/.claude/settings.json"
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def allow(t, *ports, denied=()):
    save(t, json.dumps({"sandbox": {"network": {
        "allowedDomains": [f"127.0.0.1:{port}" for port in ports],
        "deniedDomains": [f"127.0.0.1:{port}" for port in denied]}}}))


def start(t, *options):
    p = t.start("run", *options, "--", "/usr/bin/python3", "-c", INSIDE)
    equal(p.stdout.readline(), b"ready\n")
    return p


def start_allowed(t, server):
    """A command that reaches @server by an edit of the settings"""
    t.write(t.home + "/.claude/settings.json", "{}")
    p = start(t)
    allow(t, server.port)
    ask(p, "until", server.port, "200")
    return p


def tell(p, *words):
    p.stdin.write(" ".join(str(w) for w in words).encode() + b"\n")
    p.stdin.flush()


def ask(p, *words):
    tell(p, *words)
    return p.stdout.readline().decode().strip()


def end(p):
    _, err = p.communicate(timeout=60)
    equal(p.returncode, 0, err)
    return err.decode()


@test
def an_added_host_is_reached_while_the_command_runs(t):
    server = Server()
    t.write(t.home + "/.claude/settings.json", "{}")
    p = start(t)
    equal(ask(p, "get", server.port), "403")
    delays = []
    for i in range(10):
        allow(t)
        ask(p, "until", server.port, "403")
        tell(p, "until", server.port, "200")
        saved = time.time()
        allow(t, server.port)
        delays.append(float(p.stdout.readline()) - saved)
    note(f"reached after {min(delays) * 1000:.0f} ms at best,",
         f"{max(delays) * 1000:.0f} ms at worst")
    end(p)


@test
def a_removed_host_is_refused_and_its_tunnels_are_closed(t):
    kept, gone = Server(), Server(keep=True)
    t.write(t.home + "/.claude/settings.json", "{}")
    allow(t, kept.port, gone.port)
    p = start(t)
    equal(ask(p, "hold", gone.port), "200")
    wait_until(lambda: gone.taken, "the tunnel is taken")
    allow(t, kept.port, denied=[gone.port])
    equal(ask(p, "ended", gone.port), "b''")
    equal(ask(p, "get", gone.port), "403")
    equal(ask(p, "get", kept.port), "200", "the control")
    equal(len(gone.taken), 1)
    end(p)


@test
def an_unparsable_edit_changes_nothing(t):
    server = Server()
    path = t.home + "/.claude/settings.json"
    p = start_allowed(t, server)
    good = t.read(path)

    def cut():
        t.write(path, good[:len(good) // 2])

    def damage():
        save(t, '{"sandbox": {"network": {"allowedDomains": 7}}}')

    def empty():
        t.write(path, "")

    def close():
        t.write(path + ".new", good, mode=0)
        os.rename(path + ".new", path)

    def delete():
        os.unlink(path)

    for step in (cut, damage, empty, close, delete):
        if step is close and os.geteuid() == 0:
            continue	# For root nothing is unreadable
        step()
        wait_for_rejected_edit(p, path)
        equal(ask(p, "get", server.port), "200", step.__name__)
        control = Server()
        allow(t, server.port, control.port)
        ask(p, "until", control.port, "200")
    end(p)


@test
def an_edit_followed_by_a_removal_changes_nothing(t):
    server = Server()
    path = t.home + "/.claude/settings.json"
    p = start_allowed(t, server)
    os.kill(p.pid, signal.SIGSTOP)	# So that it hears of both at once
    allow(t, server.port)
    os.unlink(path)
    os.kill(p.pid, signal.SIGCONT)
    wait_for_rejected_edit(p, path)
    equal(ask(p, "get", server.port), "200")
    end(p)


@test
def concurrent_rewrites_never_allow_a_denied_host(t):
    allowed, denied = Server(), Server()
    t.write(t.home + "/.claude/settings.json", "{}")
    allow(t, allowed.port, denied=[denied.port])
    p = start(t)
    equal(ask(p, "flood", denied.port, "stop"), "flooding")
    for i in range(REWRITES):
        if i % 3 == 2:
            save(t, '{"sandbox": {"network": {"allowedDomains": ["*"')
        else:
            allow(t, *[allowed.port] * (i % 2), denied=[denied.port])
        time.sleep(0.02)	# The pause lets both sides run
    t.write("stop", "")
    codes, times = p.stdout.readline().split()
    equal(codes, b"403")
    note(times.decode(), "attempts")
    equal(denied.taken, [])
    allow(t, allowed.port)
    ask(p, "until", allowed.port, "200")
    end(p)


def replace(path, times):
    """As editors and git do; the pause lets both sides run"""
    for i in range(times):
        with open(path + ".new", "w") as file:
            file.write(f"new {i}")
        os.rename(path + ".new", path)
        time.sleep(0.002)


@test
def a_replaced_secret_is_never_readable_with_full_observation(t):
    secret = os.path.join(t.away, "secret")
    t.write(secret, "old")
    loop = (f"echo ready; while ! test -e stop; do cat {secret} "
            f"{t.away}/other; done 2>&-")
    for options, never in ((("--observe", "full"), True), ((), False)):
        t.write(os.path.join(t.away, "other"), "control\n")
        p = t.start("run", *options, "--deny-read", secret, "--", "sh", "-c",
                    loop)
        equal(p.stdout.readline(), b"ready\n")
        replace(secret, REWRITES)
        t.write("stop", "")
        out, _ = p.communicate(timeout=120)
        contains(out.decode(), "control")
        if never:
            lacks(out.decode(), "new")
        os.unlink(os.path.join(t.dir, "stop"))


@test
def a_replaced_protected_file_is_never_writable(t):
    t.write(".bashrc", "old")
    p = t.start("run", "--", "sh", "-c", "echo ready; while ! test -e stop; do "
                "echo evil > .bashrc; echo evil >> .bashrc; done 2>&-")
    equal(p.stdout.readline(), b"ready\n")
    for i in range(REWRITES):
        replace(os.path.join(t.dir, ".bashrc"), 1)
        equal(t.read(".bashrc"), "new 0")
    t.write("stop", "")
    p.communicate(timeout=120)
    equal(t.read(".bashrc"), "new 0")


@test
def concurrent_runs_share_one_violation_store(t):
    outside = [os.path.join(t.away, f"f{i}") for i in range(RUNS)]
    runs = [t.start("run", "--", "sh", "-c", f"for i in 1 2 3; do echo x > "
                    f"{path}.$i; done 2>&-") for path in outside]
    for p in runs:
        p.communicate(timeout=240)
    r = t.run("violations", "list", "--json").ok()
    found = json.loads(r.out)["violations"]
    equal(sorted(v["target"] for v in found),
          sorted(f"{path}.{i}" for path in outside for i in (1, 2, 3)))
    equal(len({v["run"] for v in found}), RUNS)


main()
