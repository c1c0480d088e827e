# SPDX-License-Identifier: Apache-2.0
"""tests/live/gate-load.py - the gate under hostile and slow clients"""

import array
import errno
import fcntl
import os
import socket
import struct
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from gate import *

RSS_MAX_KIB = 48 << 10
# What stands shall stand until the test is over, however slow the machine is
PATIENT = [word for kind in ("HEAD", "DIAL", "ATTEMPT", "RESOLVE")
           for word in ("--ms", kind + "=600000")]

LOAD = r'''
import resource, select
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384), hard))
def get(host=b"good.test"):
    return b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (host, host)
def one_request():
    start = time.monotonic()
    r = say(get())
    return (time.monotonic() - start) * 1000, r[9:12]
def others(n):
    """The waits of a well-behaved client, and what it was answered"""
    rows = [one_request() for i in range(n)]
    waits = sorted(r[0] for r in rows)
    return waits[len(waits) * 99 // 100], set(r[1] for r in rows)
'''


class Watched:
    """A gate whose process can be looked at"""

    def __init__(self, t, **more):
        self.t = t
        self.pid_file = os.path.join(t.dir, "pid")
        options = [*more.pop("options", ()), "--pid", self.pid_file]
        self.gate = Gate(t, more.pop("origin", ["http:80", "echo:7000"]),
                         options=options, **more)

    def start(self, code):
        self.p = self.gate.start("/usr/bin/python3", "-c", CLIENT + LOAD + code)
        return self.p

    def line(self):
        line = self.p.stdout.readline().decode()
        if not line:
            self.gone()
        return line.rstrip("\n")

    def gone(self):
        """Client or gate, which say why"""
        self.p.terminate()
        _, err = self.p.communicate()
        check(False, "it ended:", err.decode()[-2000:])

    def pid(self):
        return int(self.t.read("pid"))

    def rss(self):
        with open(f"/proc/{self.pid()}/statm") as file:
            return int(file.read().split()[1]) * 4

    def fds(self):
        if not IS_ROOT:		# Only root may read the gate's /proc
            return 0
        return len(os.listdir(f"/proc/{self.pid()}/fd"))

    def ticks(self):
        try:
            with open(f"/proc/{self.pid()}/stat") as file:
                f = file.read().rsplit(")", 1)[1].split()
        except FileNotFoundError:
            self.gone()
        return int(f[11]) + int(f[12])

    def rests(self):
        """For a while it needs no processor, where a spinner takes all"""
        before = self.ticks()
        time.sleep(0.5)
        return self.ticks() == before

    def go(self):
        self.p.stdin.write(b"\n")
        self.p.stdin.flush()

    def end(self):
        out, err = self.p.communicate(b"\n", RUN_SECONDS)
        equal(err, b"")
        equal(self.p.returncode, 0)
        return out.decode()


# More than connections (512), but not by more than those that are told so (128):
# where all are young, further ones are closed without an answer
SLOW = 600


@test
def slow_heads_do_not_delay_other_clients(t):
    w = Watched(t, options=PATIENT)
    w.start('''
print(one_request()[1].decode(), flush=True); sys.stdin.readline()
ss = []
for i in range(%d):
    s = connect(); s.send(b"GET http://good.test/ HT"); ss.append(s)
wait, seen = others(%d)
ended = select.poll()
for s in ss: ended.register(s, select.POLLIN)
print(len(ss) - len(ended.poll(0)), wait, seen, flush=True); sys.stdin.readline()
for s in ss: s.close()
print(one_request()[1], flush=True); sys.stdin.readline()
''' % (long(SLOW, 2000), 100))
    equal(w.line(), "200")
    fds = w.fds()
    w.go()
    held, wait, seen = w.line().split(" ", 2)
    # At the limit the oldest is closed; if all are young, the new one is refused
    check(seen in ("{b'200'}", "{b'200', b'503'}", "{b'503', b'200'}"), seen)
    check(int(held) >= 512 - 100 - 1, "only", held, "still stand")
    note("slow heads:", held, "of", long(SLOW, 2000), "stand, p99 of others",
         wait, "ms, RSS", w.rss(), "KiB")
    check(SANITIZED or w.rss() < RSS_MAX_KIB, "rss", w.rss())
    w.go()
    equal(w.line(), "b'200'")
    wait_until(lambda: w.fds() <= fds, "descriptors are given back")
    w.end()


@test
def slow_heads_time_out(t):
    w = Watched(t, options=["--ms", "HEAD=1000"])
    w.start('''
print(flush=True); sys.stdin.readline()
ss = []
for i in range(300):
    s = connect(); s.send(b"GET http://good.test/ HT"); ss.append(s)
print(*sorted({everything(s)[:12] for s in ss}), flush=True); sys.stdin.readline()
''')
    equal(w.line(), "")
    fds = w.fds()
    w.go()
    # A client that sends after the response may not receive it
    check(w.line() in ("b'HTTP/1.1 408'", "b'<reset>' b'HTTP/1.1 408'"))
    wait_until(lambda: w.fds() <= fds, "descriptors are given back")
    w.end()


@test
def idle_tunnels_are_limited_in_number_and_memory(t):
    w = Watched(t)
    w.start('''
print(one_request()[1].decode(), flush=True); sys.stdin.readline()
keep, refused = [], 0
for i in range(%d):
    s, head = tunnel(b"good.test:7000")
    if head[9:12] == b"200": keep.append(s)
    else: refused += head[9:12] == b"503"
print(len(keep), refused, *others(100), flush=True); sys.stdin.readline()
for s in keep: s.close()
end = time.monotonic() + 60     # It hears of the closing one by one
while one_request()[1] != b"200" and time.monotonic() < end: time.sleep(0.05)
print(others(20)[1], flush=True); sys.stdin.readline()
''' % long(1500, 10000))
    equal(w.line(), "200")
    fds = w.fds()
    w.go()
    n, refused, wait, seen = w.line().split()	# They still stand
    equal((n, refused), ("512", str(long(1500, 10000) - 512)))
    equal(seen, "{b'503'}")		# All places are taken, and one hears so
    note("tunnels:", n, "kept,", refused, "refused, p99 of others", wait,
         "ms, RSS", w.rss(), "KiB")
    check(SANITIZED or w.rss() < RSS_MAX_KIB, "rss", w.rss())
    w.go()
    equal(w.line(), "{b'200'}")
    wait_until(lambda: w.fds() <= fds + 1, "descriptors are given back")
    contains(w.gate.refused(), ("limit", "connections"))
    w.end()


@test
def five_hundred_concurrent_clients_are_served(t):
    w = Watched(t, options=PATIENT)
    w.start('''
ss = [connect() for i in range(500)]
for s in ss: s.sendall(get())
print(sum(until(s, b"body 0")[9:12] == b"200" for s in ss), flush=True)
''')
    equal(w.line(), "500")
    w.end()


def fifo_is_read(file):
    return not struct.unpack("i", fcntl.ioctl(file, termios.FIONREAD,
                                              bytes(4)))[0]


@test
def the_gate_survives_without_free_descriptors(t):
    fifo = os.path.join(t.dir, "reload")
    os.mkfifo(fifo)
    w = Watched(t, options=["--nofile", "64", "--reload", fifo])
    w.start('''
ss = []
for i in range(100):
    s = connect(); ss.append(s)
    s.sendall(b"CONNECT good.test:7000 HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")
print("full", flush=True); sys.stdin.readline()
for s in ss: s.close()
def answer():
    try: return one_request()[1]
    except OSError: return b""
end = time.monotonic() + 60
last = answer()
while last != b"200" and time.monotonic() < end:
    time.sleep(0.05)
    last = answer()
print(last, flush=True)
''')
    equal(w.line(), "full")
    wait_until(lambda: w.rests(), "it comes to rest")
    # A listener is a descriptor, and there is none left: the second finds no
    # room, and the policy after it is heard all the same
    with open(fifo, "w", buffering=1) as file:
        for line in ("publish 7001", "publish 7002", "publish 7003",
                     "+deny other.test"):
            file.write(line + "\n")
            wait_until(lambda: fifo_is_read(file), "the driver")
    w.go()
    equal(w.line(), "b'200'")
    w.end()


SEND = r"""
import array, os, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
a, b = socket.socketpair()
try: a.sendmsg([b"x"], [(1, 1, array.array("i", [0]))])
except OSError as e: print(e.errno)
"""


@test
def the_gate_survives_the_limit_of_descriptors_in_flight(t):
    fifo = os.path.join(t.dir, "reload")
    os.mkfifo(fifo)
    ends = []
    for _ in range(4):      # A user may have as many of them as one process
        ends += socket.socketpair()
        ends[-1].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                   array.array("i", [0] * 50))])
    r = t.outside(need("unshare"), "-U", "/usr/bin/python3", "-c", SEND).ok()
    equal(r.out, f"{errno.ETOOMANYREFS}\n")    # The control
    w = Watched(t, options=["--nofile", "64", "--reload", fifo])
    w.start('''
print(say(get())[9:12], flush=True); sys.stdin.readline()
end = time.monotonic() + 60
while say(get(b"other.test"))[9:12] != b"200" and time.monotonic() < end:
    time.sleep(0.05)
print(say(get(b"other.test"))[9:12], flush=True)
''')
    equal(w.line(), "b'200'")
    with open(fifo, "w") as file:
        file.write("+allow other.test\n")
    w.go()
    equal(w.line(), "b'200'")
    w.end()


@test
def a_tunnel_reset_before_its_first_byte_is_released(t):
    w = Watched(t, options=["--conns", "1"])
    w.start('''
for i in range(20):
    s, head = tunnel(b"good.test:7000")
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
    end = time.monotonic() + 60
    while True:
        s, head = tunnel(b"good.test:7000")
        if head[9:12] == b"200" or time.monotonic() > end: break
        s.close(); time.sleep(0.01)
    print(head[9:12].decode(), flush=True)
    s.sendall(b"x"); s.recv(1); s.close()
    while one_request()[1] != b"200" and time.monotonic() < end: time.sleep(0.01)
''')
    for i in range(20):
        equal(w.line(), "200")
    w.end()


@test
def a_slow_reader_delays_only_its_own_connection(t):
    w = Watched(t, origin=["source:7001", "http:80"])
    w.start('''
s, head = tunnel(b"good.test:7001"); s.recv(1)
print("go", flush=True); sys.stdin.readline()
wait, seen = others(50); print(wait, seen, flush=True)
n = 0
while n < %d << 20: n += len(s.recv(1 << 20))
wait, seen = others(5); print(n > 0, seen, flush=True); sys.stdin.readline()
''' % long(256, 10240))
    equal(w.line(), "go")
    before = w.rss()
    w.go()
    wait, seen = w.line().split(" ", 1)
    equal(seen, "{b'200'}")
    equal(w.line(), "True {b'200'}")
    note("slow reader:", long(256, 10240), "MiB, p99 of others", wait,
         "ms, RSS", before, "to", w.rss(), "KiB")
    check(SANITIZED or w.rss() < before + 4096, "rss grew from", before, "to",
          w.rss())
    w.end()


@test
def endless_interim_responses_do_not_grow_memory(t):
    w = Watched(t)
    w.start('''
print(one_request()[1].decode(), flush=True); sys.stdin.readline()
s = connect(); s.sendall(b"GET http://good.test/chatter?%d HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")
print(others(50)[1], flush=True); sys.stdin.readline()
n, last = 0, b""
while not last.endswith(b"\\r\\n\\r\\nok"):
    got = s.recv(1 << 20); n += len(got); last = (last + got)[-100:]
    if not got: break
print(n // 12000, flush=True)
''' % long(8000, 80000))
    equal(w.line(), "200")
    w.go()
    equal(w.line(), "{b'200'}")
    note("hints:", long(8000, 80000) * 12 // 1000, "MB not read, RSS", w.rss(),
         "KiB")
    check(SANITIZED or w.rss() < RSS_MAX_KIB, "rss", w.rss())
    w.go()
    check(int(w.line()) >= long(8000, 80000), "some did not arrive")
    w.end()


@test
def connections_of_vanished_clients_are_released(t):
    w = Watched(t, names={"hang.test": "hang", "gone.test": "203.0.113.1"},
                allow=["good.test", "hang.test", "gone.test"],
                options=["--ms", "RESOLVE=600000"])
    w.start('''
print(one_request()[1], flush=True); sys.stdin.readline()
linger = struct.pack("ii", 1, 0)
for i in range(%d):
    s = connect(); kind = i %% 6
    if kind == 0: s.sendall(b"GET http://good.test/")
    if kind == 1: s.sendall(b"CONNECT hang.test:80 HTTP/1.1\\r\\nHost: hang.test\\r\\n\\r\\n")
    if kind == 2: s.sendall(get() * 3)
    if kind == 3: s.sendall(b"CONNECT good.test:7000 HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\nhello")
    if kind == 4: s.sendall(b"POST http://good.test/ HTTP/1.1\\r\\nHost: good.test\\r\\nContent-Length: 100\\r\\n\\r\\nx")
    if kind == 5: s.sendall(b"GET http://good.test/never HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")
    if i %% 2: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    s.close()
# It may not have heard of all of them yet, and have no place left
while (last := one_request()[1]) == b"503": pass
print(last, flush=True); sys.stdin.readline()
''' % long(600, 20000))
    equal(w.line(), "b'200'")
    fds = w.fds()
    w.go()
    equal(w.line(), "b'200'")
    # Nor do those whose name hangs; they have said that they are gone
    wait_until(lambda: w.fds() <= fds + 2, f"{w.fds()} descriptors, not {fds}")
    w.end()


@test
def a_hanging_lookup_does_not_delay_others(t):
    for ms, want in (600000, "{b'200'} False"), (300, "b'504'"):
        w = Watched(t, names={"hang.test": "hang"}, options=["--ms",
                    f"RESOLVE={ms}"], allow=["good.test", "hang.test"])
        w.start('''
s = connect(); s.sendall(b"CONNECT hang.test:80 HTTP/1.1\\r\\nHost: hang.test\\r\\n\\r\\n")
if %d: print(until(s, b"\\r\\n")[9:12], flush=True)
else: print(others(20)[1], bool(select.select([s], [], [], 0)[0]), flush=True)
''' % (ms < 600000))
        equal(w.line(), want)
        w.end()


@test
def hanging_lookup_helpers_are_replaced(t):
    names = {f"hang{i}.test": "hang" for i in range(8)}
    w = Watched(t, names=names, allow=["good.test", *names],
                options=["--ms", "RESOLVE=2000"])
    w.start('''
for i in range(8):
    s = connect(); s.sendall(b"CONNECT hang%d.test:80 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n".replace(b"x", b"hang%d.test") % (i, i))
end = time.monotonic() + 60
while one_request()[1] != b"200" and time.monotonic() < end: pass
print(one_request()[1], flush=True)
''')
    equal(w.line(), "b'200'")
    w.end()


class Reloaded:
    """A client inside, and a policy that changes meanwhile"""

    def __init__(self, t, code, **more):
        fifo = os.path.join(t.dir, "reload")
        os.mkfifo(fifo)
        self.gate = Gate(t, ["echo:7000", "http:80"], options=["--reload", fifo,
                         *more.pop("options", ())], **more)
        self.p = self.gate.start("/usr/bin/python3", "-c", CLIENT + code)
        self.fifo = open(fifo, "w", buffering=1)

    def line(self):
        return self.p.stdout.readline().decode().strip()

    def change(self, rule):
        self.fifo.write(rule + "\n")

    def end(self):
        self.p.communicate(b"\n", RUN_SECONDS)
        self.fifo.close()


WAITING = '''
s = connect()
s.sendall(b"CONNECT %s:7000 HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n")
tunnel(b"bad.test:1")      # A later client was served
print("sent", flush=True)
print(until(s, b"\\r\\n"), flush=True)
'''


@test
def requests_denied_by_a_reload_are_answered_at_once(t):
    for host, more in (
            ("hang.test", {"allow": ["hang.test"],
                           "names": {"hang.test": "hang"}}),
            ("other.test", {"options": ["--ask", "never"],
                            "deny": ["bad.test"]})):
        r = Reloaded(t, WAITING % (host, host), **more)
        equal(r.line(), "sent")
        r.change(f"+deny {host}")
        contains(r.line(), "403 host is on the deny list")
        r.end()
        os.unlink(os.path.join(t.dir, "reload"))


@test
def denying_an_address_closes_its_connections(t):
    r = Reloaded(t, '''
a, head = tunnel(b"good.test:7000"); a.sendall(b"x"); print(a.recv(1), flush=True)
b, head = tunnel(b"other.test:7000"); b.sendall(b"x"); print(b.recv(1), flush=True)
print(everything(a), flush=True)
b.sendall(b"y"); print(b.recv(1), flush=True)
''', allow=["good.test", "other.test"])
    equal([r.line(), r.line()], ["b'x'", "b'x'"])
    r.change("+deny 93.184.216.34")
    equal(r.line(), "b'<reset>'")
    equal(r.line(), "b'y'")      # The control: it is somewhere else
    r.end()
    contains(r.gate.refused(), ("net-connect", "good.test:7000"))


@test
def denying_a_name_closes_connections_to_its_address(t):
    r = Reloaded(t, '''
open = [tunnel(b"93.184.216.34:7000")[0] for _ in range(2)]
for s, name in zip(open, ("good.test", "other.test")):
    s.sendall(hello(name)); print(len(s.recv(9999)), flush=True)
s = connect("93.184.216.34", 80)
s.sendall(b"GET /never HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")
s.settimeout(20); open[0].settimeout(20)
print(everything(open[0]), everything(s), flush=True)
open[1].sendall(b"y"); print(open[1].recv(1), flush=True)
''', allow=["good.test", "other.test", "93.184.216.34"])
    check(int(r.line()) > 9 and int(r.line()) > 9)
    wait_until(lambda: "GET /never HTTP/1.1" in r.gate.requests(), "it came")
    r.change("+deny good.test")
    equal(r.line(), "b'<reset>' b'<reset>'")
    equal(r.line(), "b'y'")
    r.end()
    contains(r.gate.refused(), ("net-connect", "good.test:7000"))


main()
