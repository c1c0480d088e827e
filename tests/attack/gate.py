# SPDX-License-Identifier: Apache-2.0
"""tests/attack/gate.py - ways around the names: each with its control

Every attempt goes to an origin that would answer. What it saw is what counts.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from gate import *

# Spellings of hosts that are not allowed, most of them of allowed ones
SPELLINGS = [
    b"evil.test\\0.good.test", b"good.test\\0", b"good.test%00", b"good.test%2e",
    b"good.test\\t", b"good.test ", b"evil@good.test", b"good.test@evil.test",
    b"evil.test#good.test", b"evil.test/.good.test", b"evil.test\\\\.good.test",
    b"evil.test;good.test", b"evil.test,good.test", b"evil.test|good.test",
    b"good..test", b".good.test", b"good.test..", b"\\xe3\\x80\\x82good.test",
    b"127\\xe3\\x80\\x820\\xe3\\x80\\x820\\xe3\\x80\\x821", b"2130706433",
    b"0x7f000001", b"0177.0.0.1", b"127.1", b"0x7f.1", b"0", b"127.0.0.01",
    b"0x17f000001", b"4294967297", b"0.0.0.0", b"127.0.0.1", b"localhost",
    b"[::]", b"[::1]", b"[::ffff:127.0.0.1]", b"[::ffff:7f00:1]",
    b"[::127.0.0.1]", b"[64:ff9b::7f00:1]", b"[2002:7f00:1::]", b"[fe80::1%25lo]",
    b"[::1%lo]", b"169.254.169.254", b"[fd00:ec2::254]", b"wild.test",
    b"evilwild.test", b"a..wild.test", b"xgood.test", b"good.test.evil.test",
]


@test
def no_spelling_of_a_name_reaches_a_denied_host(t):
    g = Gate(t, ["http:80", "echo:443"], allow=["good.test", "*.wild.test"],
             names={"a.wild.test": "93.184.216.34", "evil.test": "93.184.216.36",
                    "evilwild.test": "93.184.216.36", "wild.test": "93.184.216.36",
                    "xgood.test": "93.184.216.36", "localhost": "127.0.0.1",
                    "good.test.evil.test": "93.184.216.36"})
    hosts = "[%s]" % ", ".join('b"%s"' % h.decode() for h in SPELLINGS)
    out = g.python('''
bad = 0
for h in %s:
    for raw in (b"CONNECT %%s:443 HTTP/1.1\\r\\nHost: %%s:443\\r\\n\\r\\n" %% (h, h),
                b"GET http://%%s/ HTTP/1.1\\r\\nHost: %%s\\r\\n\\r\\n" %% (h, h)):
        r = say(raw)
        if r.split(b" ")[1:2] not in ([b"400"], [b"403"]): print("HTTP", h, r[:60])
    s = connect(port=1080); s.sendall(b"\\5\\1\\0"); s.recv(2)
    s.sendall(b"\\5\\1\\0\\3" + bytes([len(h)]) + h + b"\\1\\xbb"); s.shutdown(1)
    r = everything(s)
    if r[1:2] not in (b"\\1", b"\\2"): print("SOCKS", h, r)
for h in (b"good.test", b"GOOD.Test", b"good.test.", b"a.wild.test"):
    s, head = tunnel(h + b":443"); print(head.split(b" ")[1], h)
''' % hosts)
    equal(out, "b'200' b'good.test'\nb'200' b'GOOD.Test'\n"
          "b'200' b'good.test.'\nb'200' b'a.wild.test'\n")
    equal(set(g.connections()), {"echo:443 ::ffff:93.184.216.34"})


REBINDING = {
    "loop.test": "127.0.0.1", "loop6.test": "::1", "zero.test": "0.0.0.0",
    "lan.test": "10.1.2.3", "lan2.test": "192.168.1.1", "cgn.test": "100.64.0.1",
    "meta.test": "169.254.169.254", "meta6.test": "fd00:ec2::254",
    "mapped.test": "::ffff:10.0.0.1", "nat64.test": "64:ff9b::7f00:1",
    "sixto4.test": "2002:7f00:1::", "multi.test": "224.0.0.1",
    "pool.test": "198.18.0.5", "ula.test": "fd63:6c6f:6368:6500::5",
}


@test
def allowed_names_do_not_resolve_to_private_addresses(t):
    names = {**REBINDING, "both.test": "127.0.0.1,93.184.216.34,10.0.0.1"}
    g = Gate(t, ["echo:7000", "http:80"], allow=[*names, "good.test"],
             names=names)
    out = g.python('''
for n in %r:
    s, head = tunnel(n.encode() + b":7000"); print(n, head.split(b" ")[1].decode())
    r = say(b"GET http://%%s/ HTTP/1.1\\r\\nHost: %%s\\r\\n\\r\\n" %% (n.encode(), n.encode()))
    print(n, r.split(b" ")[1].decode())
s, head = tunnel(b"both.test:7000"); print(head.split(b" ")[1])
s, head = tunnel(b"good.test:7000"); print(head.split(b" ")[1])
''' % list(REBINDING))
    for name in REBINDING:
        contains(out, f"{name} 403\n{name} 403\n")
    check(out.endswith("b'200'\nb'200'\n"), out)
    equal(set(g.connections()), {"echo:7000 ::ffff:93.184.216.34"})
    g = Gate(t, ["echo:7000"], allow=["lan.test", "10.1.2.3"],
             names=REBINDING)
    contains(g.python('print(tunnel(b"lan.test:7000")[1])'), "200")
    # What denies an address is what is told, not the list that allows its name
    for more, told in (
            ({"options": ["--denied-address", "93.184.216.34"]},
             ("sandbox.network.deniedResolvedAddresses", None)),
            ({"deny": ["93.184.216.0/24"]}, ("93.184.216.0/24", "--deny"))):
        g = Gate(t, ["echo:7000"], **more)
        contains(g.python('print(tunnel(b"good.test:7000")[1])'), "403")
        rule = g.events()[0]["rule"]
        equal((rule["path"], rule["file"]), told)


@test
def dns_rebinding_does_not_reach_private_addresses(t):
    public, own = "93.184.216.34", "127.0.0.1,10.0.0.1"
    n = long(20, 500)
    names = {f"n{i}.test": (f"{public}|{own}", f"{own}|{public}")[i % 2]
             for i in range(20)}
    g = Gate(t, ["echo:7000"], allow=list(names), names=names)
    out = g.python('''
seen = set()
for i in range(%d):
    for n in %r:
        seen.add(tunnel(n.encode() + b":7000")[1].split(b" ")[1].decode())
print(*sorted(seen))
''' % (n, list(names)), timeout=600)
    equal(out, "200 403\n")    # Both came up, and only one was dialled
    equal(set(g.connections()), {f"echo:7000 ::ffff:{public}"})


@test
def every_method_and_port_is_decided_alike(t):
    g = Gate(t, ["http:80", "echo:443"], allow=["good.test:80"])
    out = g.python('''
for method in (b"GET", b"POST", b"HEAD", b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"PROPFIND", b"X"):
    print(say(method + b" http://bad.test/ HTTP/1.1\\r\\nHost: bad.test\\r\\n\\r\\n")[9:12].decode(), end=" ")
print(say(b"OPTIONS http://bad.test HTTP/1.1\\r\\nHost: bad.test\\r\\n\\r\\n")[9:12].decode())
for port in (b"80", b"443", b"22", b"0", b"65536", b"4294967376", b"+80", b"080", b"80 ", b""):
    print(tunnel(b"good.test:" + port)[1][9:12].decode(), end=" ")
print()
''')
    equal(out, "403 " * 9 + "403\n200 403 403" + " 400" * 7 + " \n")
    equal(set(g.connections()), {"http:80 ::ffff:93.184.216.34"})


@test
def non_idempotent_requests_are_not_repeated(t):
    g = Gate(t, ["http:80"])
    out = g.python('''
for method in (b"HEAD", b"DELETE"):
    s = connect()
    for m in (b"GET", method):
        s.sendall(m + b" http://good.test/keep-then-cut HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")
        print(m.decode(), until(s, b"\\r\\n\\r\\n")[9:12].decode())
        if m == b"GET": until(s, b"ok")
''')
    equal(out.split("\n"), ["GET 200", "HEAD 502", "GET 200", "DELETE 502", ""])
    equal([r.split()[0] for r in g.requests()],
          ["GET", "HEAD", "HEAD", "GET", "DELETE"])


@test
def redirects_are_not_followed_by_the_gate(t):
    g = Gate(t, ["http:80"])
    curl = [need("curl"), "-sS", "-m", "10", "-i", "-x", PROXY]
    contains(g.run(*curl, "http://good.test/redirect").ok().out, "302 Found")
    contains(g.run(*curl, "-L", "http://good.test/redirect").out,
             "403 host is not on the allow list")
    equal(g.requests(), ["GET /redirect HTTP/1.1"] * 2)


@test
def the_gate_does_not_connect_to_itself(t):
    g = Gate(t, ["http:80"], allow=["good.test", "self.test"],
             names={"self.test": "198.18.0.1,127.0.0.1"})
    out = g.python('''
for h in (b"127.0.0.1", b"localhost", b"198.18.0.1", b"self.test", b"[fd63:6c6f:6368:6500::1]"):
    for port in (b"3128", b"1080", b"53"):
        print(tunnel(h + b":" + port)[1][9:12].decode(), end=" ")
print(tunnel(b"good.test:80")[1][9:12].decode())
''')
    equal(out, "403 " * 15 + "200\n")


RELAY = '''
import threading
def copy(a, b):
    try:
        while True:
            got = a.recv(65536)
            if not got: break
            b.sendall(got)
        b.shutdown(socket.SHUT_WR)
    except OSError: pass
def relay(to):
    l = socket.create_server(("127.0.0.1", 0))
    def serve():
        while True:
            a = l.accept()[0]; b = connect(port=to)
            for x, y in ((a, b), (b, a)):
                threading.Thread(target=copy, args=(x, y), daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()
    return l.getsockname()[1]
'''


@test
def a_relay_in_front_of_the_gate_changes_no_decision(t):
    g = Gate(t, ["http:80", "echo:7000"])
    out = g.python(RELAY + '''
def http(port, name): return say(b"GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (name, name), port=port)[9:12]
def tcp(port, name): return say(b"CONNECT %s:7000 HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (name, name), port=port)[9:12]
def socks(port, name): return say(b"\\5\\1\\0\\5\\1\\0\\3" + bytes([len(name)]) + name + struct.pack(">H", 7000), port=port)[3:4]
one, sone = relay(3128), relay(1080)
for h, s in ((3128, 1080), (one, sone), (relay(one), relay(sone))):
    print([(http(h, n), tcp(h, n), socks(s, n)) for n in (b"good.test", b"bad.test")])
''')
    want = "[(b'200', b'200', b'\\x00'), (b'403', b'403', b'\\x02')]\n"
    equal(out, want * 3)
    lacks("".join(g.connections()), "93.184.216.36")


HELLOS = '''
def attempt(where, data, slow=False):
    s, head = tunnel(where)
    for part in ([data[i:i+1] for i in range(len(data))] if slow else [data]):
        try: s.sendall(part)
        except OSError: break
    got = b""
    try:
        while len(got) < len(data):
            more = s.recv(65536)
            if not more: break
            got += more
    except OSError: pass
    return "passed" if got == data else "closed"
good, bad, none = hello("good.test"), hello("bad.test"), hello(None)
'''


@test
def an_incomplete_client_hello_is_not_forwarded(t):
    g = Gate(t, ["echo:443", "echo:8443"],
             options=["--capture", "8443", "--ms", "HELLO=300"])
    out = g.python(HELLOS + '''
print(attempt(b"good.test:443", good[:50]), attempt(b"good.test:8443", good[:50]))
s, head = tunnel(b"good.test:443"); print(everything(s)[:1])
''')
    equal(out, "closed closed\nb'\\x15'\n")
    equal([e["reason"] for e in g.events() if e["kind"] == "net-sni"],
          ["TLS ClientHello took too long"] * 2 + ["no TLS ClientHello came"])
    equal(set(g.received("echo-443") + g.received("echo-8443")), {b""})


@test
def the_SNI_must_match_the_decided_name(t):
    g = Gate(t, ["echo:443", "echo:8443", "echo:9443"],
             allow=["good.test", "93.184.216.35", "*.wide.test",
                    "ssh.wide.test:443"],
             names={"ssh.wide.test": "93.184.216.34"},
             options=["--capture", "8443", "--ms", "HELLO=600000"])
    out = g.python(HELLOS + '''
print(1, attempt(b"good.test:443", good), attempt(b"good.test:8443", good))
print(2, attempt(b"good.test:443", good, True), attempt(b"good.test:443", hello("GOOD.TEST")))
print(3, attempt(b"good.test:443", bad), attempt(b"good.test:8443", bad), attempt(b"good.test:443", bad, True))
print(4, attempt(b"good.test:443", none), attempt(b"93.184.216.35:443", none))
print(5, attempt(b"good.test:443", b"plain text\\r\\n"), attempt(b"good.test:443", b"SSH-2.0-x\\r\\n"),
      attempt(b"good.test:8443", b"plain text\\r\\n"), attempt(b"ssh.wide.test:443", b"SSH-2.0-x\\r\\n"))
print(7, attempt(b"good.test:443", b"\\x16\\x03\\x01\\x00\\x05\\x01\\xff\\xff\\xff\\xff" + bytes(100)))
# Captured, and behind SOCKS
s = connect("good.test", 443); s.sendall(good); print(8, s.recv(9999) == good)
s = connect("good.test", 8443); s.sendall(bad); print(9, everything(s)[:1] in (b"\\x15", b"<"))
s = connect(port=1080); s.sendall(b"\\5\\1\\0"); s.recv(2)
s.sendall(b"\\5\\1\\0\\3\\x09good.test\\1\\xbb"); s.recv(10); s.sendall(bad); print(10, everything(s)[:1] in (b"\\x15", b"<"))
''')
    equal(out.splitlines(), [
        "1 passed passed", "2 passed passed", "3 closed closed closed",
        "4 closed passed", "5 closed closed passed passed",
        "7 closed", "8 True", "9 True", "10 True"])
    equal(len([e for e in g.refused() if e[0] == "net-sni"]), 9)
    told = {e["reason"]: e["suggest"] for e in g.events()}
    equal(told["not TLS on port 443"]["command"],
          "cloche policy allow host good.test:443")
    contains(told["the TLS hello names no host"]["edit"], "SNI")
    for data in g.received("echo-443") + g.received("echo-8443"):
        lacks(data, b"bad.test")


# What a strict parser refuses; each is one attempt on a fresh connection
SMUGGLING = [
    "Content-Length: 5\\r\\nTransfer-Encoding: chunked",
    "Content-Length: 5\\r\\nContent-Length: 6", "Content-Length: 5,5",
    "Content-Length: +5", "Content-Length: 0x5", "Content-Length: 5 5",
    "Content-Length: -1", "Content-Length: 99999999999999999999",
    "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: identity", "Transfer-Encoding: chunked\\r\\nTransfer-Encoding: chunked",
    "Transfer-Encoding : chunked", "Transfer-Encoding:\\x0bchunked",
    "X: y\\r\\n folded", "X: a\\nSmuggled: b", "X: a\\rSmuggled: b", "X: a\\0b",
    "Host: bad.test", ": empty", "X y: z", "\\tX: y",
]


@test
def request_smuggling_is_refused(t):
    g = Gate(t, ["http:80"], allow=["good.test"])
    rows = "[%s]" % ", ".join('b"%s"' % row for row in SMUGGLING)
    out = g.python('''
tail = b"\\r\\n\\r\\n0\\r\\n\\r\\nGET http://bad.test/smuggled HTTP/1.1\\r\\nHost: bad.test\\r\\n\\r\\n"
for row in %s:
    for first, host, port in ((b"POST http://good.test/ HTTP/1.1", "127.0.0.1", 3128),
                              (b"POST / HTTP/1.1", "good.test", 80)):
        r = say(first + b"\\r\\nHost: good.test\\r\\n" + row + tail, host, port)
        if r.count(b"HTTP/1.1 ") != 1 or not r.startswith(b"HTTP/1.1 400"): print(row, r)
for line in (b"GET  http://good.test/ HTTP/1.1", b"GET http://good.test/ HTTP/2.0",
             b"PRI * HTTP/2.0", b"GET http://good.test/", b"GET /only HTTP/1.1",
             b"GET https://good.test/ HTTP/1.1", b"GET ftp://good.test/ HTTP/1.1",
             b"GET http:///x HTTP/1.1", b"GET http://bad.test@good.test/ HTTP/1.1",
             b"GET http://good.test:0/ HTTP/1.1", b"GET http://good.test:65536/ HTTP/1.1",
             b"GET http://good.test:4294967739/ HTTP/1.1", b"GET http://good.test:+80/ HTTP/1.1",
             b"CONNECT good.test HTTP/1.1", b"CONNECT good.test:443/x HTTP/1.1",
             b"G\\0T http://good.test/ HTTP/1.1"):
    r = say(line + b"\\r\\nHost: good.test\\r\\n\\r\\n")
    if not r.startswith(b"HTTP/1.1 4"): print(line, r)
print(say(b"TRACE http://good.test/ HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")[:12])
print(say(b"GET http://good.test/" + b"a" * 9000 + b" HTTP/1.1\\r\\n\\r\\n")[:12])
print(say(b"GET http://good.test/ HTTP/1.1\\r\\n" + b"X: y\\r\\n" * 101 + b"\\r\\n")[:12])
print(say(b"POST http://good.test/control HTTP/1.1\\r\\nHost: good.test\\r\\nContent-Length: 2\\r\\n\\r\\nok")[-35:])
''' % rows)
    equal(out.splitlines(), [
        "b'HTTP/1.1 405'", "b'HTTP/1.1 431'", "b'HTTP/1.1 431'",
        "b'path /control host good.test body 2'"])
    equal(g.requests(), ["POST /control HTTP/1.1"])


@test
def hop_by_hop_headers_are_not_forwarded(t):
    g = Gate(t, ["http:80"])
    g.python('''
say(b"GET http://good.test/ HTTP/1.1\\r\\nHost: good.test\\r\\nProxy-Authorization: Basic c2VjcmV0\\r\\n"
    b"Proxy-Connection: keep-alive\\r\\nConnection: X-Mine, close\\r\\nX-Mine: 1\\r\\nTE: trailers\\r\\n"
    b"Upgrade: h2c\\r\\nHTTP2-Settings: AAA\\r\\nX-Unix-Socket: /run/docker.sock\\r\\nKept: yes\\r\\n\\r\\n")
''')
    sent = g.received("http-80")[0].lower()
    for name in (b"proxy-", b"x-mine", b"te:", b"upgrade", b"http2-settings"):
        lacks(sent, name)
    contains(sent, b"kept: yes")


@test
def socks_supports_CONNECT_only(t):
    g = Gate(t, ["echo:7000"], allow=["good.test", "93.184.216.34"])
    out = g.python('''
def socks(request, greeting=b"\\5\\1\\0", slow=False):
    s = connect(port=1080)
    try:
        for part in ([bytes([b]) for b in greeting + request] if slow else [greeting + request]):
            s.sendall(part)
        s.shutdown(1)
    except OSError: pass
    return everything(s)
name = b"\\5\\1\\0\\3\\x09good.test" + struct.pack(">H", 7000)
print(socks(name), socks(name + b"data"), socks(name, slow=True))
print(socks(b"\\5\\1\\0\\1\\x5d\\xb8\\xd8\\x22" + struct.pack(">H", 7000)))
print(socks(b"\\5\\1\\0\\1\\x5d\\xb8\\xd8\\x24" + struct.pack(">H", 7000)))
for command in (0, 2, 3, 255): print(socks(b"\\5%c\\0\\3\\x09good.test\\0\\x50" % command))
print(socks(b"\\5\\1\\0\\7xxxx\\0\\x50"), socks(b"\\5\\1\\0\\3\\0\\0\\x50"), socks(b"\\5\\1\\1\\3\\x09good.test\\0\\x50"))
print(socks(b"", b"\\4\\1\\0\\x50\\0\\0\\0\\1x\\0good.test\\0"), socks(name, b"\\5\\0"), socks(name, b"\\5\\1\\2"))
''')
    ok = "\\x05\\x00\\x05\\x00\\x00\\x01" + "\\x00" * 6
    no = "b'\\x05\\x00\\x05\\x%02x\\x00\\x01" + "\\x00" * 6 + "'"
    lines = out.splitlines()
    equal(lines[0], f"b'{ok}<end>' b'{ok}data<end>' b'{ok}<end>'")
    equal(lines[1], f"b'{ok}<end>'")
    equal(lines[2], no % 2)
    equal(lines[3:7], [no % 7] * 4)
    equal(lines[7], f"{no % 8} {no % 1} b'\\x05\\x00'")
    equal(lines[8], "b'' b'\\x05\\xff' b'\\x05\\xff'")


@test
def socks_requests_for_addresses_need_address_rules(t):
    g = Gate(t, ["echo:7000"], allow=["good.test", "93.184.216.34"],
             names={"localhost": "127.0.0.1"})
    out = g.python('''
def sockets():
    return [sorted(l.split()[1] for l in open("/proc/net/" + k).readlines()[1:] if k[0] == "u" or l.split()[3] == "0A")
            for k in ("udp", "udp6", "tcp", "tcp6")]
before = sockets()
def socks(address, command=1):
    kind, raw = (4, socket.inet_pton(socket.AF_INET6, address)) if ":" in address else (1, socket.inet_aton(address))
    return say(b"\\5\\1\\0\\5%c\\0%c" % (command, kind) + raw + struct.pack(">H", 7000), port=1080)[3]
print([socks(a) for a in ("93.184.216.34", "::ffff:93.184.216.34")])
print([socks(a) for a in ("93.184.216.36", "::ffff:93.184.216.36", "127.0.0.1", "::1", "::", "::ffff:127.0.0.1",
       "64:ff9b::7f00:1", "64:ff9b::93.184.216.34", "2002:5db8:d822::", "::93.184.216.34", "198.18.0.1", "169.254.169.254")])
print([socks(a, c) for a in ("93.184.216.34", "::1") for c in (2, 3)])
print(sockets() == before)
''')
    equal(out.splitlines(), ["[0, 0]", str([2] * 12), str([7] * 4), "True"])
    equal(set(g.connections()), {"echo:7000 ::ffff:93.184.216.34"})


@test
def each_proxy_port_refuses_the_other_protocol(t):
    g = Gate(t, ["http:80", "echo:7000"])
    out = g.python('''
socks = b"\\5\\1\\0\\5\\1\\0\\3\\x09good.test" + struct.pack(">H", 7000)
http = b"GET http://good.test/ HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n"
connect_ = b"CONNECT good.test:7000 HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n"
dns = b"\\0\\x1bab\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\4good\\4test\\0\\0\\1\\0\\1"
for port, good, others in ((3128, http, (socks, b"\\4" + socks[1:], hello("good.test"), dns)),
                           (1080, socks, (http, b"\\4" + socks[1:], hello("good.test"), dns)),
                           (53, dns, (socks, http, connect_, hello("good.test")))):
    print(port, len(say(good, port=port)) > 11, [say(x, port=port)[:12] for x in others])
''')
    lines = out.splitlines()
    equal(lines[0], "3128 True " + str([b"HTTP/1.1 400"] * 4))
    for line in lines[1:]:
        contains(line, " True ")
        lacks(line, "HTTP/1.1 2")
    equal([c.split()[0] for c in g.connections()], ["http:80", "echo:7000"])


@test
def the_hosts_loopback_is_unreachable(t):
    g = Gate(t, ["http:80", "echo:7000"], allow=["good.test"],
             names={"localhost": "127.0.0.1"}, options=["--capture", "7000"])
    out = g.python('''
for h in (b"127.0.0.1", b"localhost", b"[::1]", b"0.0.0.0"):
    print(tunnel(h + b":7000")[1].split(b" ")[1])
for h in ("127.0.0.1", "::1", "198.18.0.1"):
    try: print(connect(h, 7000).recv(1))
    except OSError as e: print(type(e).__name__)
''')
    equal(out, "b'403'\n" * 4 + "ConnectionResetError\n" * 3)
    equal(g.connections(), [])


@test
def an_unassigned_address_of_the_pool_is_refused(t):
    g = Gate(t, ["http:80", "echo:443"], allow=["good.test", "198.18.0.0/15"])
    out = g.python('''
for port in (80, 443):
    try: print(connect("198.18.77.77", port).recv(1))
    except OSError as e: print(type(e).__name__)
''')
    equal(out, "ConnectionResetError\n" * 2)
    equal(g.connections(), [])


@test
def two_sandboxes_do_not_share_a_gate(t):
    first = Gate(t, ["http:80"], allow=["good.test"])
    p = first.start("/usr/bin/python3", "-c", CLIENT +
                    'print(tunnel(b"good.test:80")[1][:12], flush=True); '
                    'sys.stdin.readline()')
    equal(p.stdout.readline(), b"b'HTTP/1.1 200'\n")
    second = Gate(t, ["http:80"], allow=["other.test"])
    out = second.python('print(tunnel(b"good.test:80")[1][:12], '
                        'tunnel(b"other.test:80")[1][:12])')
    equal(out, "b'HTTP/1.1 403' b'HTTP/1.1 200'\n")
    # Nor is there anything on the host's own loopback
    for port in (3128, 1080):
        with open("/proc/net/tcp") as file:
            lacks(file.read(), f"0100007F:{port:04X} 00000000:0000 0A")
    p.communicate(b"\n", RUN_SECONDS)


@test
def a_reload_closes_connections_it_forbids(t):
    fifo = os.path.join(t.dir, "fifo")
    os.mkfifo(fifo)
    g = Gate(t, ["echo:7000"], allow=["good.test", "other.test"],
             options=["--reload", fifo])
    out = g.python('''
a, head = tunnel(b"good.test:7000"); a.sendall(b"1"); print(a.recv(9))
b, head = tunnel(b"other.test:7000"); b.sendall(b"2"); print(b.recv(9))
open(%r, "w").write("allow other.test\\n")
print(everything(a))
b.sendall(b"3"); print(b.recv(9))
print(tunnel(b"good.test:7000")[1][:12])
''' % fifo)
    equal(out, "b'1'\nb'2'\nb'<reset>'\nb'3'\nb'HTTP/1.1 403'\n")


@test
def concurrent_reloads_never_allow_a_denied_host(t):
    fifo = os.path.join(t.dir, "fifo")
    os.mkfifo(fifo)
    g = Gate(t, ["echo:7000"], allow=["good.test"], options=["--reload", fifo])
    out = g.python('''
import threading
stop, counts = [], {}
def load(name, want):
    while not stop:
        try: head = tunnel(name + b":7000")[1][9:12]
        except OSError: head = b"cut"
        counts[name, head] = counts.get((name, head), 0) + 1
ts = [threading.Thread(target=load, args=(n, w)) for n, w in ((b"good.test", b"200"), (b"bad.test", b"403"))]
for x in ts: x.start()
i = 0
while i < %d or counts.get((b"bad.test", b"403"), 0) <= 50:
    open(%r, "w").write(("allow good.test", "allow other.test")[i %% 2] + "\\n")
    time.sleep(0.001)
    i += 1
stop.append(1)
for x in ts: x.join()
print(sorted(counts.items()))
print(all(counts.get((b"bad.test", h), 0) == 0 for h in (b"200", b"502")), counts.get((b"bad.test", b"403"), 0) > 50)
''' % (long(200, 1000), fifo))
    print("#", out.splitlines()[0])
    check(out.endswith("True True\n"), out)
    lacks("".join(g.connections()), "93.184.216.36")


main()
