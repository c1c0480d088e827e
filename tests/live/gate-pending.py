# SPDX-License-Identifier: Apache-2.0
"""tests/live/gate-pending.py - connections that the gate is still dialling

The host that is dialled accepts no connection (origin.py's "full"), so the dial lasts
for as long as a test wants it to.
"""

import base64
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
    """A gate, and a host whose port 7999 accepts no connection yet"""

    def __init__(self, t, *options, **more):
        self.t = t
        self.fifo = os.path.join(t.dir, "reload")
        os.mkfifo(self.fifo)
        self.gate = Gate(t, ["full:7999", *more.pop("origin", ())], options=[
            "--pid", os.path.join(t.dir, "pid"), "--reload", self.fifo,
            *options], **more)

    def start(self, code):
        """Run the client once port 7999 accepts no connection"""
        self.p = self.gate.start("/usr/bin/python3", "-c",
                                 CLIENT + CLIENTS + 'told("ready")\n' + code)
        self.control = open(self.fifo, "w")
        equal(self.line(), "ready")
        wait_until(lambda: self.gate._lines("full"), "no place is left")
        self.go()

    def line(self):
        return self.p.stdout.readline().decode().rstrip("\n")

    def go(self, word=""):
        self.p.stdin.write(word.encode() + b"\n")
        self.p.stdin.flush()

    def dials(self, port=7999):
        """How many connections to @port are being made, as the host's kernel counts them"""
        with open(f"/proc/{self.p.pid}/net/tcp") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        return sum(row[2].endswith(f":{port:04X}") and row[3] == "02"
                   for row in rows) - 1		# The origin's own is first

    def wait_for_dials(self, n):
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
def a_client_that_leaves_during_the_dial_to_a_host_port_is_noticed(t):
    w = Pending(t, "--host-port", "7999", "--ms", "DIAL=2000")
    w.start('''
s = connect("127.0.0.1", 7999)
told("connected")
reset(s)
for i in range(3): print(everything(connect("127.0.0.1", 7999)))
print(say(b"CONNECT bad.test:443 HTTP/1.1\\r\\nHost: bad.test\\r\\n\\r\\n")[:12])
''')
    equal(w.line(), "connected")
    w.wait_for_dials(1)
    w.go()
    equal(w.end(), "b'<reset>'\n" * 3 + "b'HTTP/1.1 403'\n")


@test
def a_client_that_left_gets_no_tunnel_from_a_parent_proxy(t):
    w = Pending(t, "--parent", "http://127.0.0.1:7999")
    w.start('''
s = ask(b"good.test:443")
told("asked")
reset(s)
told("left")
for i in range(2): print(until(ask(b"good.test:443"), b"\\r\\n\\r\\n")[:12])
''')
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


AUTHORIZED = {user: b"Basic " + base64.b64encode(user.encode() + b":pw")
              for user in ("one", "two")}

IN_FORCE = r"""
def wait_for_the_edit():
    while say(b"CONNECT mark.test:1 HTTP/1.1\r\nHost: mark.test\r\n\r\n")[9:12] != b"403": pass
def get(s, path=b"/", method=b"GET"):
    s.sendall(b"%s http://good.test%s HTTP/1.1\r\nHost: good.test\r\n\r\n" % (method, path))
def status(s):
    try: return s.recv(12)[9:12].decode()
    except ConnectionResetError: return "reset"
def answer(s):
    head = until(s, b"\r\n\r\n")
    n = [int(l.split(b":")[1]) for l in head.split(b"\r\n") if l.startswith(b"Content-Length")]
    while n and n[0]: n[0] -= len(s.recv(n[0]))
    return head[9:12].decode()
"""


def edit(w, *lines):
    """New policies, the last of which the client will know by a name"""
    w.reload("\n".join([*lines, "+deny mark.test"]))
    w.go()


@test
def an_address_denied_during_the_dial_is_not_connected(t):
    w = Pending(t, allow=["good.test", "mark.test"])
    w.start(IN_FORCE + '''
s = ask(b"good.test:7999")
told("asked")
wait_for_the_edit()
told("edited")
print(status(s))
''')
    equal(w.line(), "asked")
    w.wait_for_dials(1)
    edit(w, "+deny " + NAMES["good.test"])
    equal(w.line(), "edited")
    w.make_room()
    w.go()
    equal(w.end(), "403\n")
    contains(w.gate.refused(), ("net-connect", "good.test:7999"))


@test
def connections_to_an_address_no_longer_allowed_are_closed(t):
    w = Pending(t, allow=["good.test", "10.0.0.5", "mark.test"],
                names={"good.test": "10.0.0.5"}, origin=["http:80", "echo:7000"])
    w.start(IN_FORCE + '''
s, kept = tunnel(b"good.test:7000")[0], connect()
s.sendall(b"a"); print(s.recv(1)); get(kept); print(answer(kept))
told("there")
wait_for_the_edit()
for c in s, kept: print(status(c))
s = connect(); get(s); print(status(s))
''')
    equal([w.line() for i in range(3)], ["b'a'", "200", "there"])
    edit(w, "allow good.test", "+allow mark.test")
    equal(w.end(), "reset\nreset\n403\n")
    equal(len(w.gate.requests()), 1)


@test
def a_new_parent_proxy_never_gets_the_old_ones_credentials(t):
    w = Pending(t, "--parent", "http://one:pw@127.0.0.1:7998",
                allow=["good.test", "mark.test"],
                origin=["parent:7998", "parent:7997"])
    w.start(IN_FORCE + '''
s = connect()
get(s); print(answer(s))
told("once")
wait_for_the_edit()
get(s); print(answer(s))
''')
    equal([w.line(), w.line()], ["200", "once"])
    edit(w, "parent http://two:pw@127.0.0.1:7997")
    equal(w.end(), "200\n")
    for port, (own, other) in ((7998, ("one", "two")), (7997, ("two", "one"))):
        got = b"".join(w.gate.received(f"parent-{port}"))
        contains(got, AUTHORIZED[own])
        lacks(got, AUTHORIZED[other])


@test
def a_pending_dial_never_sends_old_credentials_to_a_new_proxy(t):
    w = Pending(t, "--parent", "http://one:pw@127.0.0.1:7999",
                allow=["good.test", "mark.test"], origin=["parent:7998"])
    w.start(IN_FORCE + '''
s = ask(b"good.test:443")
told("asked")
wait_for_the_edit()
told("edited")
print(status(s))
''')
    equal(w.line(), "asked")
    w.wait_for_dials(1)
    edit(w, "parent http://two:pw@127.0.0.1:7998")
    equal(w.line(), "edited")
    w.make_room()
    w.go()
    equal(w.end(), "200\n")
    contains(b"".join(w.gate.received("parent-7998")), AUTHORIZED["two"])
    lacks(b"".join(w.gate.received("full-7999")), b"Basic")


@test
def a_repeated_request_sends_no_proxy_credentials_to_the_origin(t):
    w = Pending(t, "--parent", "http://one:pw@127.0.0.1:7998",
                allow=["good.test", "mark.test"],
                origin=["parent:7998", "http:80"])
    w.start(IN_FORCE + '''
s = connect()
get(s, b"/keep-then-cut"); print(answer(s))
get(s, b"/keep-then-cut?room", b"HEAD")
told("twice")
wait_for_the_edit()
told("edited")
print(status(s))
s = connect(); get(s); print(status(s))
''')
    equal([w.line(), w.line()], ["200", "twice"])
    wait_until(lambda: len(w.gate.requests()) == 2, "the second request")
    edit(w, "parent ")
    equal(w.line(), "edited")
    w.make_room()
    w.go()
    equal(w.end(), "502\n200\n")
    got = b"".join(w.gate.received("http-80"))
    contains(got, b"GET / ")
    lacks(got, b"Basic")


@test
def a_parent_proxy_with_an_endless_response_is_dropped(t):
    g = Gate(t, ["parent:7998"], allow=["chatty.test", "good.test"],
             options=["--parent", "http://127.0.0.1:7998"])
    out = g.python('''
for host in b"chatty.test:443", b"good.test:443": print(tunnel(host)[1][:12])
''')
    equal(out, "b'HTTP/1.1 502'\nb'HTTP/1.1 200'\n")


main()
