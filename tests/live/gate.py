# SPDX-License-Identifier: Apache-2.0
"""tests/live/gate.py - real programs reach allowed hosts and no others"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from gate import *


@test
def curl_reaches_allowed_hosts_with_and_without_proxy_variables(t):
    g = Gate(t, ["http:80", "https:443"])
    for env in (BARE, PROXIED, {**BARE, "ALL_PROXY": "socks5h://127.0.0.1:1080"}):
        for url in ("http://good.test/a", "https://good.test/a"):
            r = g.run(need("curl"), "-sS", "-k", "-m", "10", url, env=env).ok()
            equal(r.out, "path /a host good.test body 0", url, env)
            r = g.run("curl", "-sS", "-k", "-m", "10",
                      url.replace("good", "bad"), env=env)
            check(r.code != 0 or "not on the allow list" in r.out, repr(r))
            contains([e[1].split(":")[0] for e in g.refused()], "bad.test")
    lacks("".join(g.connections()), "93.184.216.36")


@test
def the_refusal_reason_appears_in_the_clients_error(t):
    g = Gate(t, deny=["evil.test"])
    r = g.run(need("curl"), "-sS", "-m", "10", "-x", PROXY, "https://bad.test/")
    contains(r.err, "403")
    r = g.run("curl", "-sS", "-m", "10", "-i", "-x", PROXY, "http://evil.test/")
    contains(r.out, "HTTP/1.1 403 host is on the deny list")
    contains(r.out, "X-Proxy-Error: blocked-by-allowlist")
    contains(r.out, "evil.test")
    contains(r.out, "--deny")
    r = g.run("curl", "-sS", "-m", "10", "-x", "socks5h://127.0.0.1:1080",
              "http://bad.test/")
    contains(r.err, "(2)")
    r = g.run("curl", "-sS", "-m", "10", "http://bad.test/")
    contains(r.err, "Could not resolve host")
    r = g.run("curl", "-sS", "-m", "10", "-i", "http://93.184.216.36/")
    contains(r.out, "403 host is not on the allow list")
    r = g.run("curl", "-sS", "-m", "10", "https://93.184.216.36/")
    contains(r.err.lower(), "access denied")
    # As a shell takes it, which would look for files otherwise
    r = g.run("curl", "-sS", "-m", "10", "-g", "-x", PROXY, "http://[2001:db8::7]/")
    contains(r.out, "cloche policy allow host '[2001:db8::7]'\n")


@test
def node_and_python_without_proxy_settings_reach_allowed_hosts(t):
    g = Gate(t, ["http:80"])
    r = g.run(need("node"), "-e", "fetch('http://good.test/n').then(r => "
              "r.text()).then(console.log)", env=BARE).ok()
    equal(r.out, "path /n host good.test body 0\n")
    r = g.run("node", "-e", "fetch('http://bad.test/n')", env=BARE)
    check(r.code != 0 and "ENOTFOUND" in r.err, repr(r))
    fetch = "import urllib.request as u; print(u.urlopen('%s').read())"
    r = g.run("/usr/bin/python3", "-c", fetch % "http://good.test/p", env=BARE)
    equal(r.ok().out, "b'path /p host good.test body 0'\n")
    g.run("/usr/bin/python3", "-c", fetch % "http://bad.test/", env=BARE).ended(1)


@test
def git_clones_over_https(t):
    g = Gate(t, ["git:443"])
    git = need("git")
    base = os.path.join(t.dir, "seed")
    t.write("seed/file", "content\n")
    for words in (("init", "-q", "-b", "main"), ("add", "."),
                  ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm",
                   "one")):
        t.outside(git, "-C", base, *words).ok()
    bare = os.path.join(g.log, "www", "repo.git")
    t.outside(git, "clone", "-q", "--bare", base, bare).ok()
    t.outside(git, "-C", bare, "update-server-info").ok()
    for i, env in enumerate((BARE, PROXIED)):
        g.run(git, "-c", "http.sslVerify=false", "clone", "-q",
              "https://good.test/repo.git", f"copy{i}", env=env).ok()
        equal(t.read(f"copy{i}/file"), "content\n")
    r = g.run(git, "-c", "http.sslVerify=false", "clone", "-q",
              "https://bad.test/repo.git", "never", env=BARE)
    check(r.code != 0 and "resolve" in r.err, repr(r))


@test
def java_reaches_the_allowed_name(t):
    g = Gate(t, ["http:80"])
    t.write("C.java", 'public class C { public static void main(String[] a) '
            'throws Exception { System.out.println(new String(new java.net.URL('
            'a[0]).openStream().readAllBytes())); } }')
    r = g.run(need("java"), "-Xshare:auto", "C.java", "http://good.test/j",
              env=BARE, timeout=90).ok()
    equal(r.out, "path /j host good.test body 0\n")


@test
def a_raw_client_reaches_an_allowed_host_on_a_captured_port(t):
    g = Gate(t, ["echo:7000", "banner:7001"],
             options=["--capture", "7000", "--capture", "7001"])
    out = g.python('''
s = connect("good.test", 7000); s.sendall(b"ping"); s.shutdown(socket.SHUT_WR)
print(everything(s))
s = connect("good.test", 7001); print(until(s, b"\\n"))
s.sendall(b"x"); s.shutdown(socket.SHUT_WR); print(everything(s))
try: connect("93.184.216.36", 7000).recv(1)
except ConnectionResetError: print("reset")
try: connect("good.test", 7002)
except ConnectionRefusedError: print("refused")
''')
    equal(out, "b'ping<end>'\nb'220 hello\\n'\nb'x<end>'\nreset\nrefused\n")
    equal(g.refused(), [("net-connect", "93.184.216.36:7000")])


@test
def no_packet_leaves_for_a_denied_name(t):
    g = Gate(t, ["http:80", "echo:443"])
    g.python('''
for raw in (b"GET http://bad.test/ HTTP/1.1\\r\\nHost: bad.test\\r\\n\\r\\n",
            b"CONNECT bad.test:443 HTTP/1.1\\r\\nHost: bad.test\\r\\n\\r\\n"):
    print(say(raw)[:12])
try: socket.getaddrinfo("bad.test", 80)
except socket.gaierror: pass
for port in (80, 443):
    try: connect("93.184.216.36", port).recv(100)
    except ConnectionResetError: pass
s, head = tunnel(b"good.test:80")
''')
    equal(g.connections(), ["http:80 ::ffff:93.184.216.34"])
    equal(sorted(set(g.refused())), [
        ("net-connect", "93.184.216.36:443"), ("net-connect", "bad.test:443"),
        ("net-connect", "bad.test:80"), ("net-dns", "bad.test")])


@test
def each_request_is_decided_by_itself(t):
    g = Gate(t, ["http:80"], allow=["good.test", "other.test"])
    out = g.python('''
def get(host, path=b"/"):
    return b"GET http://%s%s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (host, path, host)
print(say(get(b"good.test", b"/1") + get(b"other.test", b"/2") +
          get(b"good.test", b"/3") + get(b"bad.test", b"/4") +
          get(b"good.test", b"/5")).decode())
''')
    for part in ("path /1 host good.test", "path /2 host other.test",
                 "path /3 host good.test", "403 host is not"):
        contains(out, part)
    equal(g.requests(), ["GET /1 HTTP/1.1", "GET /2 HTTP/1.1",
                         "GET /3 HTTP/1.1"])


@test
def connections_to_the_origin_are_reused(t):
    g = Gate(t, ["http:80"])
    out = g.python('''
s = connect()
for i in range(5):
    s.sendall(b"GET http://good.test/%d HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n" % i)
    print(until(s, b"body 0")[-30:])
s.sendall(b"GET http://good.test/bye HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")
print(until(s, b"bye"))
s.sendall(b"GET http://good.test/after HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")
print(until(s, b"body 0")[-40:])
''')
    contains(out, "path /after")
    equal(len(g.connections()), 2)


@test
def websockets_pass_through_the_proxy_and_captured(t):
    g = Gate(t, ["http:80"])
    out = g.python('''
head = (b"Host: good.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n"
        b"Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n")
for first, host, port in ((b"GET http://good.test/ws HTTP/1.1\\r\\n", "127.0.0.1", 3128),
                          (b"GET /ws HTTP/1.1\\r\\n", "good.test", 80)):
    s = connect(host, port); s.sendall(first + head)
    r = until(s, b"welcome"); print(b"101" in r, b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in r)
    s.sendall(b"\\x81\\x02hi"); print(until(s, b"hi"))
''')
    equal(out, "True True\nb'\\x81\\x02hi'\n" * 2)


@test
def rsync_uses_its_proxy_variable(t):
    """$RSYNC_PROXY names that port, and rsync knows CONNECT only"""
    g = Gate(t, ["echo:7000"])
    out = g.python('''
def ask(host, slow=False):
    s = connect(port=1080)
    head = b"CONNECT %s:7000 HTTP/1.0\\r\\n\\r\\n" % host
    for i in range(0, len(head), 1 if slow else len(head)): s.sendall(head[i:i + (1 if slow else len(head))])
    words = until(s, b"\\r\\n\\r\\n")[9:12]
    if words != b"200": return words, b""    # It may be closed by now
    s.sendall(b"ping"); s.shutdown(socket.SHUT_WR)
    return words, everything(s)[:9]
print(ask(b"good.test"), ask(b"good.test", True), ask(b"bad.test")[0], ask(b"127.0.0.1")[0])
''')
    equal(out, "(b'200', b'ping<end>') (b'200', b'ping<end>') b'403' b'403'\n")
    equal({e[0] for e in g.refused()}, {"net-connect"})
    equal(set(g.connections()), {"echo:7000 ::ffff:93.184.216.34"})


@test
def half_closed_tunnels_carry_the_remaining_bytes(t):
    g = Gate(t, ["sink:7000", "echo:7001"])
    out = g.python('''
s, head = tunnel(b"good.test:7000"); s.sendall(bytes(3 << 20)); s.shutdown(1)
print(everything(s))
s, head = tunnel(b"good.test:7001"); s.sendall(b"early"); s.shutdown(1)
print(everything(s))
s = connect(); s.sendall(b"CONNECT good.test:7001 HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\nat once")
s.shutdown(1); print(everything(s)[-12:])
''')
    equal(out, "b'3145728'\nb'early<end>'\nb'at once<end>'\n")


@test
def dns_answers_from_the_pool_without_forwarding(t):
    g = Gate(t, ["echo:53"], allow=["good.test", "*.wide.test", "port.test:99"])
    out = g.python('''
def ask(name, kind, server="8.8.8.8", tcp=False):
    q = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + b"".join(
        bytes([len(l)]) + l for l in name.split(b".")) + b"\\0" + struct.pack(">2H", kind, 1)
    if tcp:
        s = connect(server, 53); s.sendall(struct.pack(">H", len(q)) + q)
        n = struct.unpack(">H", s.recv(2))[0]; r = s.recv(n)
    else:
        s = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(60); s.connect((server, 53)); s.send(q); r = s.recv(2000)
    return r[3] & 15, struct.unpack(">H", r[6:8])[0], r[-4:]
a = ask(b"good.test", 1); print(a[:2], a[2][:2] in (b"\\xc6\\x12", b"\\xc6\\x13"))
print(ask(b"good.test", 1) == a, ask(b"GOOD.TEST", 1)[2] == a[2])
print(ask(b"good.test", 1, "2001:4860:4860::8888")[2] == a[2], ask(b"good.test", 1, tcp=True)[2] == a[2])
print(ask(b"good.test", 28)[:2], ask(b"good.test", 65)[:2], ask(b"good.test", 16)[:2])
print(ask(b"bad.test", 1)[:2], ask(b"bad.test", 65)[:2], ask(b"x.bad.test", 28)[:2])
print(ask(b"a.wide.test", 1)[:2], ask(b"wide.test", 1)[:2], ask(b"port.test", 1)[:2])
print(ask(b"localhost", 1)[2], ask(b"4.3.2.1.in-addr.arpa", 12)[:2])
''')
    equal(out.splitlines(), [
        "(0, 1) True", "True True", "True True", "(0, 1) (0, 0) (0, 0)",
        "(3, 0) (3, 0) (3, 0)", "(0, 1) (3, 0) (0, 1)",
        "b'\\x7f\\x00\\x00\\x01' (3, 0)"])
    equal(g.connections(), [])
    equal(set(g.refused()), {("net-dns", "bad.test"), ("net-dns", "x.bad.test"),
                             ("net-dns", "wide.test")})


@test
def host_ports_and_published_ports_are_reachable(t):
    g = Gate(t, ["echo:5432"], options=["--host-port", "5432"])
    out = g.python('''
for host in ("127.0.0.1", "::1", "localhost"):
    s = connect(host, 5432); s.sendall(b"q"); s.shutdown(1); print(everything(s))
try: connect("127.0.0.1", 5433)
except ConnectionRefusedError: print("refused")
''')
    equal(out, "b'q<end>'\n" * 3 + "refused\n")
    g = Gate(t, options=["--publish", "3000", "--publish", "3001"])
    g.argv += ["--origin", "echo READY; exec /usr/bin/python3 " +
               t.write("outer.py", PUBLISHED_CLIENT) + " " + t.dir]
    out = g.python('''
import threading
def serve(family, host, port):
    l = socket.socket(family); l.bind((host, port)); l.listen(); print(port, flush=True)
    for i in range(3):
        s, a = l.accept(); s.sendall(b"inside " + s.recv(100)); s.close()
ts = [threading.Thread(target=serve, args=a) for a in (
    (socket.AF_INET, "127.0.0.1", 3000), (socket.AF_INET6, "::1", 3001))]
for x in ts: x.start()
open(%r + "/up", "w").close()
for x in ts: x.join()
while not os.path.exists(%r + "/done"): time.sleep(0.01)
''' % (t.dir, t.dir))
    equal(t.read("answers"), "inside hello\n" * 6)


PUBLISHED_CLIENT = '''
import os, socket, sys, time
while not os.path.exists(sys.argv[1] + "/up"):
    time.sleep(0.01)
out = open(sys.argv[1] + "/answers", "w", 1)
for port in (3000, 3001):
    for i in range(3):
        while True:
            try:
                s = socket.create_connection(("127.0.0.1", port))
                s.sendall(b"hello")
                got = s.recv(100)
            except OSError:
                got = b""
            if got:
                break
            time.sleep(0.01)
        print(got.decode(), file=out)
open(sys.argv[1] + "/done", "w").close()
time.sleep(1000)
'''


@test
def user_and_parent_proxies_are_used(t):
    g = Gate(t, ["http:8888", "parent:8080"],
             options=["--http-proxy-port", "8888"])
    out = g.python('print(say(b"GET http://anything/ HTTP/1.1\\r\\n\\r\\n"))')
    contains(out, "path http://anything/")
    g = Gate(t, ["parent:8080"], allow=["good.test", "refused.test",
                                        "secret.test"],
             options=["--parent", "http://me:p%40ss@127.0.0.1:8080"])
    out = g.python('''
s = connect()	# Two requests on one connection, to ours and to the parent
for i in range(2):
    s.sendall(b"GET http://good.test/x HTTP/1.1\\r\\nHost: good.test\\r\\nProxy-Authorization: mine\\r\\n\\r\\n")
    print(until(s, b"body 0")[-45:])
s.sendall(b"GET http://good.test/ws HTTP/1.1\\r\\nHost: good.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n")
print(until(s, b"welcome")[:12])
print(say(b"GET http://secret.test/ HTTP/1.1\\r\\nHost: secret.test\\r\\n\\r\\n").split(b"\\r\\n")[0])
print(say(b"GET http://bad.test/ HTTP/1.1\\r\\nHost: bad.test\\r\\n\\r\\n").split(b"\\r\\n")[0])
s, head = tunnel(b"good.test:443"); print(head)
for name in (b"refused.test:443", b"secret.test:443"):
    s, head = tunnel(name); print(head.split(b"\\r\\n")[0])
s, head = tunnel(b"bad.test:443"); print(head.split(b"\\r\\n")[0])
''')
    equal(out.count("path http://good.test/x host good.test"), 2, out)
    contains(out, "b'HTTP/1.1 101")
    equal(out.count("502 the parent proxy wants other credentials"), 2, out)
    contains(out, "200 Connection Established")
    contains(out, "502 the parent proxy refused")
    equal(out.count("403 host is not on the allow list"), 2, out)
    equal(g.requests()[1:], [
        "GET http://good.test/x HTTP/1.1", "GET http://good.test/x HTTP/1.1",
        "CONNECT good.test:80 HTTP/1.1", "GET /ws HTTP/1.1",
        "CONNECT good.test:443 HTTP/1.1", "CONNECT refused.test:443 HTTP/1.1"])
    got = g.received("parent-8080")
    equal(got[0].count(b"Proxy-Authorization: Basic bWU6cEBzcw==\r\n"), 2)
    lacks(got[0], b"mine")
    # What is said inside the tunnel is for the origin
    equal(got[1].count(b"Proxy-Authorization"), 1)
    for where, why in (("127.0.0.1:9", "Connection refused"),
                       ("none.test:9", "the name could not be resolved")):
        g = Gate(t, options=["--parent", "http://" + where])
        contains(g.python('print(tunnel(b"good.test:443")[1])'),
                 "502 the parent proxy: " + why)


@test
def the_user_is_asked_once_for_each_host_and_port(t):
    for answer, want in (("no", "403"), ("session", "200"), ("yes", "200")):
        g = Gate(t, ["http:80", "echo:81"], options=["--ask", answer])
        out = g.python('''
ss = [connect() for i in range(5)]
for s in ss: s.sendall(b"CONNECT bad.test:81 HTTP/1.1\\r\\nHost: bad.test\\r\\n\\r\\n")
for s in ss: print(until(s, b"\\r\\n").split()[1].decode())
s, head = tunnel(b"bad.test:80"); print(head.split()[1].decode())
''')
        equal(set(out.split()), {want}, answer)
        asked = [(e["ask"], e["port"]) for e in g.events() if "ask" in e]
        contains(asked, ("bad.test", 81))
        contains(asked, ("bad.test", 80))
        if answer == "session":
            equal(len(asked), 2)
    # An answer is for one host and one port, however they are spelled
    g = Gate(t, ["echo:81", "echo:82"], options=["--ask", "session"],
             names={"a.bad.test": "93.184.216.36"})
    g.python('''
for where in (b"bad.test:81", b"BAD.test.:81", b"bad.test:82", b"a.bad.test:81"): tunnel(where)
''')
    equal([(e["ask"], e["port"]) for e in g.events() if "ask" in e],
          [("bad.test", 81), ("bad.test", 82), ("a.bad.test", 81)])
    g = Gate(t, deny=["bad.test"], options=["--ask", "yes"])
    contains(g.python('print(tunnel(b"bad.test:81")[1])'), "403")
    equal([e for e in g.events() if "ask" in e], [])
    g = Gate(t, options=["--ask", "never", "--ms", "ASK=300"])
    contains(g.python('print(tunnel(b"bad.test:81")[1])'), "403")


@test
def connections_are_refused_after_the_gate_dies(t):
    pid = os.path.join(t.dir, "pid")
    g = Gate(t, ["echo:7000"], options=["--pid", pid])
    p = g.start("/usr/bin/python3", "-c", CLIENT + '''
s, head = tunnel(b"good.test:7000"); s.sendall(b"a"); print(s.recv(10))
print("now", flush=True); sys.stdin.readline()
print(everything(s) in (b"", b"<reset>"))
for port in (3128, 1080, 443):
    while True:		# The kernel closes its sockets one after the other
        try: connect("127.0.0.1", port)
        except ConnectionRefusedError: break
        except ConnectionResetError: pass
    print("refused")
''')
    equal(p.stdout.readline(), b"b'a'\n")
    equal(p.stdout.readline(), b"now\n")
    os.kill(int(t.read("pid")), signal.SIGKILL)
    out, err = p.communicate(b"\n", RUN_SECONDS)
    equal(out, b"True\n" + b"refused\n" * 3)
    equal(err.count(b"\n"), 1, err)
    contains(err, b"the network gate ended")


def check_confined(pid):
    with open(f"/proc/{pid}/status") as file:
        status = dict(l.split(":\t", 1) for l in file.read().splitlines())
    equal(status["NoNewPrivs"], "1")
    equal(status["Seccomp"], "2")
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        equal(int(status[name], 16), 0, name)
    if IS_ROOT:
        with open(f"/proc/{pid}/environ", "rb") as file:
            lacks(file.read(), b"do-not-tell")
        for fd in "0", "1", "2":
            equal(os.readlink(f"/proc/{pid}/fd/{fd}"), "/dev/null")
        return
    try:
        os.listdir(f"/proc/{pid}/fd")
        check(False, "it can be looked into")
    except PermissionError:
        pass


@test
def the_gate_is_confined(t):
    pid = os.path.join(t.dir, "pid")
    g = Gate(t, ["http:80"], options=["--pid", pid])
    p = g.start("/usr/bin/python3", "-c", CLIENT + '''
print(say(b"GET http://good.test/ HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n")[:15], flush=True)
sys.stdin.readline()
''', env={**os.environ, "SECRET": "do-not-tell"})
    equal(p.stdout.readline(), b"b'HTTP/1.1 200 OK'\n")
    gate = int(t.read("pid"))
    helpers = [gate]
    for one in os.listdir("/proc"):
        try:
            with open(f"/proc/{one}/stat") as file:
                name, rest = file.read().rsplit(")", 1)
            if "(cloche-resolve" in name:
                helpers.append(int(one))
        except (OSError, ValueError):
            pass
    check(len(helpers) >= 2, "no resolver")
    for one in helpers:
        try:
            check_confined(one)
        except (FileNotFoundError, ProcessLookupError):
            check(one != gate, "the gate is gone")  # A resolver that was done
    p.communicate(b"\n", RUN_SECONDS)


main()
