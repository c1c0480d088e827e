# SPDX-License-Identifier: Apache-2.0
"""tests/attack/hostile-servers.py - allowed hosts, and name servers, that are hostile

The hosts are allowed, so all that they may do is answer. No answer ends the gate, is taken for
a second one, leads to another address, or delays another connection of the sandbox.
"""

import os
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from host import *

GOOD, EVIL, INNER = "93.184.216.34", "93.184.216.35", "10.9.8.7"
CLIENT = '''
import socket, sys
def everything(s):
    out = b""
    try:
        while True:
            got = s.recv(65536)
            if not got: return out
            out += got
    except ConnectionResetError:
        return out + b"<reset>"
def connect():
    return socket.create_connection(("127.0.0.1", 3128), timeout=300)
def ask(host, path, method=b"GET", more=b"Connection: close\\r\\n", version=b"1.1"):
    s = connect()
    s.sendall(b"%s http://%s%s HTTP/%s\\r\\nHost: %s\\r\\n%s\\r\\n" % (method, host, path, version, host, more))
    return s
def status(host, path=b"/", **more):
    return everything(ask(host, path, **more))[9:12].decode()
def good():
    return status(b"good.test")
'''
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SMUGGLED = b"HTTP/1.1 200 EVIL\r\nContent-Length: 4\r\n\r\nEVIL"


def accept_each(address, port, talk):
    """talk(socket) for each connection; then it is closed"""
    listener = socket.create_server((address, port))

    def one(sock):
        try:
            talk(sock)
        except OSError:		# The gate has had enough
            pass
        finally:
            sock.close()

    def accept():
        while True:
            threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


def serve(address, answer):
    """answer(socket, path) for each request; then it is closed"""
    def talk(sock):
        head = b""
        while b"\r\n\r\n" not in head:
            got = sock.recv(65536)
            if not got:
                return
            head += got
        answer(sock, head.split(b" ")[1].decode())
    accept_each(address, 80, talk)


def python(t, code, *options, **more):
    r = t.inside("/usr/bin/python3", "-c", CLIENT + code, options=(
        "--allow", "good.test", "--allow", "*.evil.test", *options), **more)
    return r.ok().out


# Each is the whole of an answer that can be read in two ways, or in none
BROKEN = [
    b"HTTP/1.1 200 OK\r\nX\0Y: 1\r\n\r\nEVIL", b"HTTP/1.1 200 OK\r\nX: 1\0\r\n\r\nEVIL",
    b"HTTP/1.1 200 OK\r\nX: 1\rEvil: 2\r\n\r\nEVIL", b"HTTP/1.1 200 OK\nX: 1\n\nEVIL",
    b"HTTP/1.1 200 OK\r\nX: 1\r\n folded\r\n\r\nEVIL", b"HTTP/1.1 200 OK\r\nX : 1\r\n\r\nEVIL",
    b"HTTP/1.1 200 OK\r\n: 1\r\n\r\nEVIL", b"HTTP/1.1 200 OK\r\nX\r\n\r\nEVIL",
    b"HTTP/1.1 200 O\x1bK\r\n\r\nEVIL", b"HTTP/1.1 2000 OK\r\n\r\nEVIL",
    b"HTTP/2.0 200 OK\r\n\r\nEVIL", b"HTTP/1.1 20\r\n\r\nEVIL", b"ICY 200 OK\r\n\r\nEVIL",
    b"HTTP/1.1 099 OK\r\n\r\nEVIL", b"\r\nHTTP/1.1 200 OK\r\n\r\nEVIL",
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nEVIL",
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nEVIL",
    b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nEVIL",
    b"HTTP/1.1 200 OK\r\nContent-Length: +4\r\n\r\nEVIL",
    b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551620\r\n\r\nEVIL",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4\r\nEVIL\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n4\r\nEVIL\r\n0\r\n\r\n",
    b"HTTP/1.1 204 None\r\nContent-Length: 4\r\n\r\nEVIL",
    b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nEVIL",
    b"HTTP/1.1 100 Continue\r\nContent-Length: 4\r\n\r\nEVIL" + OK,
    b"X" * 70000, b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70000, b"",
]
# The head is good and was passed on: the connection is cut
CUT = [
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body for body in (
        b"2\r\nok\r\n1ffffffffffffffff\r\nEVIL", b"2\r\nok\r\n-4\r\nEVIL", b"2\r\nok\n4\nEVIL\n",
        b"2\r\nokEVIL", b"2\r\nok\r\n\r\nEVIL", b"2\r\nok\r\n4 \r\nEVIL",
        b"2\r\nok\r\n4;" + b"x" * 70000, b"2\r\nok\r\n0\r\nX\0: EVIL\r\n\r\n",
        b"2\r\nok\r\n0\r\nX: " + b"x" * 70000)
]


@test
def broken_answers_are_not_passed_on(t):
    def answer(sock, path):
        kind, i = path.strip("/").split("/")
        sock.sendall({"broken": BROKEN, "cut": CUT}[kind][int(i)])
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass
    serve(EVIL, answer)
    serve(GOOD, lambda sock, _: sock.sendall(OK))
    out = python(t, f'''
for i in range({len(BROKEN)}):
    got = everything(ask(b"a.evil.test", b"/broken/%d" % i, more=b""))
    if got[9:12] != b"502" or b"EVIL" in got or got.count(b"HTTP/1.1 ") != 1: print(i, got[:300])
for i in range({len(CUT)}):
    got = everything(ask(b"a.evil.test", b"/cut/%d" % i, more=b""))
    if got[9:12] != b"200" or b"EVIL" in got or not got.endswith(b"<reset>"): print("cut", i, got[:300])
print(good())
''')
    equal(out, "200\n")


@test
def bytes_after_an_answer_answer_no_request(t):
    """On a connection that the host would keep"""
    def answer(sock, path):
        sock.sendall({"/": OK, "/head": OK, "/304":
                      b"HTTP/1.1 304 Same\r\nContent-Length: 4\r\n\r\n"}[path] + SMUGGLED)
        while sock.recv(65536):	# A second request gets no other answer
            pass
    serve(EVIL, answer)
    serve(GOOD, lambda sock, _: sock.sendall(OK))
    out = python(t, '''
def until(s, end):
    got = b""
    while not got.endswith(end): got += s.recv(1)
    return got
for path, method, end in ((b"/", b"GET", b"\\r\\n\\r\\nok"), (b"/head", b"HEAD", b"\\r\\n\\r\\n"), (b"/304", b"GET", b"\\r\\n\\r\\n")):
    s = ask(b"a.evil.test", path, method, b"")
    got = until(s, end)
    print(got[9:12].decode(), b"EVIL" in got)
    s.sendall(b"GET http://good.test/ HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")
    got = until(s, b"ok")
    print(got[9:12].decode(), b"EVIL" in got)
''')
    equal(out.splitlines(), ["200 False"] * 4 + ["304 False", "200 False"])


HINT = b"HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n"
ENDLESS = {	# What it begins with, and what is repeated
    "/hints": (HINT, HINT * 1000), "/head": (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1000),
    "/body": (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1000),
    "/chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000),
}


@test
def endless_answers_delay_no_other_connection(t):
    """While they last; clients of HTTP/1.0, which get no interim responses, too"""
    enough = threading.Event()

    def answer(sock, path):
        begin, more = ENDLESS[path]
        sock.sendall(begin)
        while not enough.is_set():
            sock.sendall(more)
    serve(EVIL, answer)
    serve(GOOD, lambda sock, _: sock.sendall(OK))
    out = python(t, '''
open_ = []
for path in (b"/hints", b"/chunks", b"/body"):
    for version in (b"1.0", b"1.1"):
        for i in range(4): open_.append(ask(b"a.evil.test", path, version=version))
print(status(b"a.evil.test", b"/head"))
print({good() for i in range(50)})
import threading
def read(s):
    try:
        while s.recv(1 << 16): pass
    except OSError: pass
for s in open_[::2]: threading.Thread(target=read, args=(s,), daemon=True).start()
print({good() for i in range(50)})
for s in open_: s.close()
print(good())
''')
    enough.set()
    equal(out, "502\n{'200'}\n{'200'}\n200\n")


def records(query, *rows, names=None, flags=0x8180):
    """An answer to @query: (type, data) for the name asked for, or for that of @names"""
    at = 12
    while query[at]:
        at += 1 + query[at]
    out = query[:2] + struct.pack(">HHHHH", flags, 1, len(rows), 0, 0) + query[12:at + 5]
    for i, (kind, data) in enumerate(rows):
        out += (names[i] if names else b"\xc0\x0c") + struct.pack(">HHIH", kind, 1, 0, len(data)) + data
    return out


def kind_of(query):
    at = 12
    while query[at]:
        at += 1 + query[at]
    return struct.unpack(">H", query[at + 1:at + 3])[0]


def only_a(*rows, **more):
    return lambda query: records(query, *(rows if kind_of(query) == 1 else ()), **more)


def only_aaaa(text):
    return lambda query: records(query, *([(28, socket.inet_pton(socket.AF_INET6, text))]
                                          if kind_of(query) == 28 else []))


INSIDE, PUBLIC = (1, socket.inet_aton(INNER)), (1, socket.inet_aton(EVIL))
turns = {}


def rebind(query):
    """Public and private in turns, with a lifetime of 0"""
    if kind_of(query) != 1:
        return records(query)
    turns["n"] = turns.get("n", 0) + 1
    return records(query, PUBLIC if turns["n"] % 2 else INSIDE)


def encode(name):
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"


HOSTILE = {
    # Names that lead to themselves, to the middle of a label, past the end
    "self.evil.test": only_a(PUBLIC, names=[b"\xc0\x25"]),
    "loop.evil.test": only_a((5, b"\xc0\x0c")),
    "past.evil.test": only_a(PUBLIC, names=[b"\xff\xff"]),
    "cut.evil.test": lambda query: records(query, PUBLIC)[:-2],
    "count.evil.test": lambda query: query[:2] + b"\x81\x80\0\1\xff\xff\xff\xff\xff\xff" + query[12:],
    "short.evil.test": lambda query: query[:2] + b"\x81",
    "other.evil.test": only_a(INSIDE, names=[encode("elsewhere.test")]),
    "long.evil.test": only_a((1, b"\x0a\x09\x08\x07\x5d\xb8\xd8\x23")),
    # Addresses that are not the host's to give
    "private.evil.test": only_a(INSIDE), "many.evil.test": only_a(*[INSIDE] * 100),
    "chain.evil.test": only_a((5, encode("x.evil.test")), INSIDE,
                              names=[b"\xc0\x0c", encode("x.evil.test")]),
    "meta.evil.test": only_a((1, socket.inet_aton("169.254.169.254"))),
    "zero.evil.test": only_a((1, bytes(4))), "lo.evil.test": only_a((1, b"\x7f\0\0\1")),
    "mapped.evil.test": only_aaaa("::ffff:10.9.8.7"), "v6lo.evil.test": only_aaaa("::1"),
    "nat64.evil.test": only_aaaa("64:ff9b::10.9.8.7"), "link.evil.test": only_aaaa("fe80::1"),
    "sixto4.evil.test": only_aaaa("2002:a09:807::1"), "ula.evil.test": only_aaaa("fd00::1"),
    "compatible.evil.test": only_aaaa("::10.9.8.7"), "teredo.evil.test": only_aaaa("2001:0:a09:807::f5f6:f7f8"),
    "own.evil.test": only_a((1, socket.inet_aton("198.51.100.1"))),
}
NAMES = {"good.test": GOOD, "a.evil.test": EVIL, "inner.test": INNER, "flip.evil.test": rebind,
         **{f"slow{i}.evil.test": lambda query: records(query, flags=0x8380) for i in range(20)},
         "big.evil.test": lambda query: records(query, flags=0x8380), **HOSTILE}


def count(address, port=80):
    seen = []
    accept_each(address, port, lambda _: seen.append(address))
    return seen


@test
def hostile_dns_answers_lead_nowhere(t):
    serve(GOOD, lambda sock, _: sock.sendall(OK))
    serve(EVIL, lambda sock, _: sock.sendall(OK))
    inner = [count(a) for a in (INNER, "127.0.0.1", "198.51.100.1")]
    # The control: these are there
    socket.create_connection((INNER, 80)).close()
    wait_until(lambda: inner[0], "the control")
    inner[0].clear()
    out = python(t, f'''
for name in {sorted(HOSTILE)}:
    got = status(name.encode())
    if got not in ("403", "502", "504"): print(name, got)
print(good(), status(b"a.evil.test"))
''')
    equal(out, "200 200\n")
    equal(inner, [[], [], []])


@test
def rebinding_between_two_requests_leads_nowhere(t):
    serve(EVIL, lambda sock, _: sock.sendall(OK))
    inner = count(INNER)
    out = python(t, '''
seen = set()
while len(seen) < 2:		# Answers are kept for some seconds
    seen.add(status(b"flip.evil.test"))
print(*sorted(seen))
''')
    equal(out, "200 403\n")
    equal(inner, [])


@test
def slow_and_large_dns_answers_delay_no_other_name(t):
    """Over TCP, where a truncated answer leads: bytes one by one, and as many as there can be"""
    asked_by_tcp = threading.Event()

    def talk(sock):
        query = sock.recv(4096)[2:]
        name = query[13:13 + query[12]]
        big = records(query, *[INSIDE] * 4000)
        if name == b"big":
            sock.sendall(struct.pack(">H", len(big)) + big)
            return
        asked_by_tcp.set()
        sock.sendall(b"\xff")	# The rest never comes
        sock.recv(1)
    accept_each("127.0.0.1", 53, talk)
    serve(GOOD, lambda sock, _: sock.sendall(OK))
    inner = count(INNER)
    out = python(t, '''
print(good(), status(b"big.evil.test"))
failed = {"502", "504"}
slow = [ask(b"slow%d.evil.test" % i, b"/") for i in range(3)]	# One less than RESOLVE_HELPERS_MAX
print({good() for i in range(20)})
print({everything(s)[9:12].decode() for s in slow} <= failed)
slow = [ask(b"slow%d.evil.test" % i, b"/") for i in range(20)]
print({everything(s)[9:12].decode() for s in slow} <= failed)
while good() != "200": pass
''')
    equal(out, "200 403\n{'200'}\nTrue\nTrue\n")
    check(asked_by_tcp.is_set())
    equal(inner, [])


own_host(NAMES)
main()
