# SPDX-License-Identifier: Apache-2.0
"""tests/live/gate-bodies.py - bodies of requests and responses, byte by byte"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from gate import *
from tap import *


@test
def responses_of_every_framing_are_forwarded(t):
    g = Gate(t, ["http:80"])
    out = g.python('''
def ask(path, method=b"GET", more=b""):
    raw = b"%s http://good.test%s HTTP/1.1\\r\\nHost: good.test\\r\\nConnection: close\\r\\n%s\\r\\n" % (method, path, more)
    return say(raw)
print(1, ask(b"/chunked"))
print(2, ask(b"/close"))
print(3, ask(b"/empty"))
print(4, ask(b"/hints"))
print(5, ask(b"/x", b"HEAD"))
print(6, ask(b"/cut"))
print(7, ask(b"/split")[:40])
s = connect()
s.sendall(b"POST http://good.test/early HTTP/1.1\\r\\nHost: good.test\\r\\nContent-Length: 5\\r\\n\\r\\nab")
print(8, everything(s))
r = ask(b"/big?3000000"); print(9, len(r), r[-256:] == bytes(range(192)) + bytes(range(64)) or r[-4:])
''')
    lines = dict(l.split(" ", 1) for l in out.splitlines())
    contains(lines["1"], "5\\r\\nhello\\r\\n6\\r\\n world\\r\\n0\\r\\n\\r\\n")
    contains(lines["2"], "until the end")
    contains(lines["3"], "204")
    contains(lines["4"], "103 Early Hints")
    contains(lines["4"], "\\r\\n\\r\\nok")
    lacks(lines["5"], "body")
    contains(lines["6"], "short<reset>")
    contains(lines["7"], "502")
    contains(lines["8"], "413")
    check(int(lines["9"].split()[0]) > 3000000, lines["9"])


@test
def requests_of_every_framing_are_forwarded(t):
    g = Gate(t, ["http:80"])
    out = g.python('''
head = b"POST http://good.test/p HTTP/1.1\\r\\nHost: good.test\\r\\n"
print(say(head + b"Content-Length: 4\\r\\n\\r\\nbody")[-30:])
print(say(head + b"Transfer-Encoding: chunked\\r\\n\\r\\n3\\r\\nabc\\r\\n2;x\\r\\nde\\r\\n0\\r\\nA: b\\r\\n\\r\\n")[-30:])
n = 5 << 20
s = connect(); s.sendall(head + b"Content-Length: %d\\r\\n\\r\\n" % n + bytes(n))
print(until(s, b"body %d" % n)[-30:])
s.sendall(head + b"Expect: 100-continue\\r\\nContent-Length: 2\\r\\n\\r\\n")
print(until(s, b"\\r\\n\\r\\n")); s.sendall(b"ok"); print(until(s, b"body 2")[-20:])
''')
    for part in ("body 4", "body 5", "body 5242880", "100 Continue", "body 2"):
        contains(out, part)
    sent = g.received("http-80")
    contains(sent[1], b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    lacks(sent[1], b";x")


@test
def a_head_and_its_body_are_sent_in_one_packet(t):
    """One packet each, not two, for small requests on a kept connection"""
    g = Gate(t, ["http:80"])
    out = g.python('''
def packets():    # struct tcp_info: tcpi_data_segs_in
    return struct.unpack_from("I", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160), 152)[0]
s = connect()
for i in range(3):
    s.sendall(b"GET http://good.test/x HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")
    until(s, b"body 0"); print(packets())
''')
    equal(out.split(), ["1", "2", "3"])


@test
def long_chunks_keep_their_order_with_a_slow_reader(t):
    """What is spliced and what is written around it wait in different places"""
    g = Gate(t, ["http:80"])
    n = long(24, 400)
    out = g.python(f'''
import hashlib, http.client
def sum_of(blocks):
    h = hashlib.sha256()
    for b in blocks: h.update(b)
    return h.hexdigest()
def blocks():
    for i in range({n}): yield bytes([i % 256]) * (1 << 20)
for host, port, path in (("127.0.0.1", 3128, "http://good.test"), ("good.test", 80, "")):
    c = http.client.HTTPConnection(host, port, timeout=120)
    c.request("GET", path + "/blocks?{n}", headers={{"Host": "good.test"}})
    r = c.getresponse()
    got = iter(lambda: r.read(100001), b"")
    print(sum_of(got) == sum_of(blocks()))
    c.request("POST", path + "/sum", blocks(), {{"Host": "good.test"}}, encode_chunked=True)
    print(c.getresponse().read().decode() == sum_of(blocks()))
''')
    equal(out.split(), ["True"] * 4)


@test
def a_tunnel_after_long_bodies_carries_all_bytes(t):
    g = Gate(t, ["http:80", "echo:7000"])
    out = g.python('''
import http.client
n = 1 << 20
c = http.client.HTTPConnection("127.0.0.1", 3128, timeout=60)
c.request("POST", "http://good.test/p", bytes(n), {"Host": "good.test"})
print(c.getresponse().read().endswith(b"body %d" % n))
c.request("GET", "http://good.test/big?%d" % n, headers={"Host": "good.test"})
print(len(c.getresponse().read()) == n)
s = c.sock
s.sendall(b"CONNECT good.test:7000 HTTP/1.1\\r\\nHost: good.test:7000\\r\\n\\r\\n")
print(b" 200 " in until(s, b"\\r\\n\\r\\n"))
for i in range(3):
    s.sendall(b"%d" % i); print(s.recv(1))
''')
    equal(out.split(), ["True"] * 3 + ["b'0'", "b'1'", "b'2'"])


main()
