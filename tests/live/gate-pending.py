# SPDX-License-Identifier: Apache-2.0
"""tests/live/gate-pending.py - what becomes of a connection that is not there yet

Who is dialled takes nobody (origin.py's "full"), so the connection stays on its
way for as long as a test wants it to.
"""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from gate import *

CLIENTS = r'''
def ask(where):
    s = connect()
    s.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (where, where))
    return s
def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
def told(*words):
    print(*words, flush=True)
    return sys.stdin.readline().strip()
'''


class Pending:
    """A gate, and a host on which port 7999 takes nobody yet"""

    def __init__(self, t, *options, **more):
        self.t = t
        self.fifo = os.path.join(t.dir, "reload")
        os.mkfifo(self.fifo)
        self.gate = Gate(t, ["full:7999", *more.pop("origin", ())], options=[
            "--pid", os.path.join(t.dir, "pid"), "--reload", self.fifo,
            *options], **more)

    def start(self, code):
        self.p = self.gate.start("/usr/bin/python3", "-c",
                                 CLIENT + CLIENTS + code)
        self.control = open(self.fifo, "w")

    def line(self):
        return self.p.stdout.readline().decode().rstrip("\n")

    def go(self, word=""):
        self.p.stdin.write(word.encode() + b"\n")
        self.p.stdin.flush()

    def dials(self, port=7999):
        """How many are on their way there, by the word of the host's kernel"""
        with open(f"/proc/{self.p.pid}/net/tcp") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        return sum(row[2].endswith(f":{port:04X}") and row[3] == "02"
                   for row in rows) - 1		# The origin's own is first

    def wait_for_dials(self, n):
        wait_until(lambda: self.gate._lines("full"), "no place is left")
        wait_until(lambda: self.dials() == n, f"{n} on their way")

    def signal(self, which):
        os.kill(int(self.t.read("pid")), which)

    def reload(self, line):
        self.control.write(line + "\n")
        self.control.flush()

    def make_room(self):
        self.t.write("log/room", "")

    def end(self):
        out, err = self.p.communicate(b"\n", RUN_SECONDS)
        equal(err, b"")
        equal(self.p.returncode, 0)
        return out.decode()


@test
def nobody_is_missed_who_left_on_the_way_to_a_port_of_the_host(t):
    w = Pending(t, "--host-port", "7999", "--ms", "DIAL=2000")
    w.start('''
told("ready")
s = connect("127.0.0.1", 7999)
told("connected")
reset(s)
for i in range(3): print(everything(connect("127.0.0.1", 7999)))
print(say(b"CONNECT bad.test:443 HTTP/1.1\\r\\nHost: bad.test\\r\\n\\r\\n")[:12])
''')
    equal(w.line(), "ready")
    wait_until(lambda: w.gate._lines("full"), "no place is left")
    w.go()
    equal(w.line(), "connected")
    w.wait_for_dials(1)
    w.go()
    equal(w.end(), "b'<reset>'\n" * 3 + "b'HTTP/1.1 403'\n")


@test
def who_left_asks_no_parent_proxy_for_a_tunnel(t):
    w = Pending(t, "--parent", "http://127.0.0.1:7999")
    w.start('''
told("ready")
s = ask(b"good.test:443")
told("asked")
reset(s)
told("left")
for i in range(2): print(until(ask(b"good.test:443"), b"\\r\\n\\r\\n")[:12])
''')
    equal(w.line(), "ready")
    wait_until(lambda: w.gate._lines("full"), "no place is left")
    w.go()
    equal(w.line(), "asked")
    w.wait_for_dials(1)
    w.signal(signal.SIGSTOP)
    w.go()
    equal(w.line(), "left")
    w.make_room()
    wait_until(lambda: not w.dials() + 1, "it is connected")
    w.signal(signal.SIGCONT)
    w.go()
    equal(w.end(), "b'HTTP/1.1 200'\n" * 2)
    equal(w.gate.requests(), ["CONNECT good.test:443 HTTP/1.1"] * 2)


@test
def a_parent_proxy_that_does_not_come_to_the_point_is_left(t):
    g = Gate(t, ["parent:7998"], allow=["chatty.test", "good.test"],
             options=["--parent", "http://127.0.0.1:7998"])
    out = g.python('''
for host in b"chatty.test:443", b"good.test:443": print(tunnel(host)[1][:12])
''')
    equal(out, "b'HTTP/1.1 502'\nb'HTTP/1.1 200'\n")


main()
