# SPDX-License-Identifier: Apache-2.0
"""tests/live/tls-clients.py - real programs that send a secret they do not hold

Each asks an origin for /CLIENT. While it waits for the answer, the origin looks for the
value in the environment, the arguments and the memory of all processes inside.
"""

import base64
import hashlib
import json
import os
import random
import re
import socket
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tls_origin import *

MAPPING_MAX = 256 << 20		# Bytes; larger ones are address space kept by a runtime


def writable(pid):
    """The memory that a process can have put something into"""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            first, last = (int(n, 16) for n in line.split()[0].split("-"))
            if line.split()[1][1] != "w" or last - first > MAPPING_MAX:
                continue
            try:
                memory.seek(first)
                yield memory.read(last - first)
            except OSError:
                pass


def parent(pid):
    with open(f"/proc/{pid}/status") as status:
        return re.search(r"^PPid:\s+(\d+)", status.read(), re.M)[1]


def inside():
    """Our descendants in other pid namespaces: those of tests beside us are not ours"""
    own = os.readlink("/proc/self/ns/pid")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            above = pid
            while above not in ("0", str(os.getpid())):
                above = parent(above)
            if above != "0" and os.readlink(f"/proc/{pid}/ns/pid") != own:
                yield pid
        except OSError:
            pass


def holders(text):
    """What of the sandbox has @text: pid and where"""
    found = []
    for pid in inside():
        for name in ("environ", "cmdline"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    found += [(pid, name)] if text in file.read() else []
            except OSError:
                pass
        try:
            found += [(pid, "memory") for piece in writable(pid) if text in piece][:1]
        except OSError:
            pass
    return found


def core_limit(pid):
    """Bytes of a core dump: soft and hard"""
    try:
        with open(f"/proc/{pid}/limits") as file:
            return [tuple(line.split()[4:6]) for line in file if "core file" in line][0]
    except (OSError, IndexError):		# It has ended
        return ("0", "0")


class Watching(Origin):
    """Looks around before it answers"""
    def do_GET(self):
        Origin.held += holders(VALUE.encode())
        Origin.placed += holders(Origin.fake.encode()) if Origin.fake else []
        Origin.cores |= set(map(core_limit, inside()))
        if self.path == "/websocket":
            self.echo()
        else:
            super().do_GET()

    def echo(self):
        """One short text, as RFC 6455 has it"""
        self.seen.append((self.headers["Host"], self.path, self.headers, b""))
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                         b"Connection: Upgrade\r\nSec-WebSocket-Accept: " +
                         accept.encode() + b"\r\n\r\n")
        for _ in range(2):		# The text, and the end
            kind, length = self.rfile.read(2)
            mask = self.rfile.read(4)
            text = bytes(c ^ mask[i % 4] for i, c in enumerate(self.rfile.read(length & 127)))
            self.wfile.write(bytes((kind, len(text))) + text)
        self.close_connection = True

    do_POST = do_PUT = do_GET


Origin.held, Origin.placed, Origin.cores, Origin.fake = [], [], set(), None
BEARER = f"Bearer {VALUE}"
GO = r"""package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
	q, _ := http.NewRequest("GET", "https://good.test/go", nil)
	q.Header.Set("Authorization", "Bearer " + os.Getenv("TOKEN"))
	r, err := http.DefaultClient.Do(q)
	if err != nil { fmt.Println(err); os.Exit(1) }
	b, _ := io.ReadAll(r.Body)
	fmt.Print(string(b))
}
"""
# What shows that it is installed, and the script; HEAVY ones are for check-long
CLIENTS = {
    "curl": ("curl -V", 'curl -sS -H "Authorization: Bearer $TOKEN" https://good.test/curl'),
    "wget": ("wget -V", 'wget -qO- --header "Authorization: Bearer $TOKEN" https://good.test/wget'),
    "urllib": ("true", """/usr/bin/python3 -c 'import os, urllib.request as u
print(u.urlopen(u.Request("https://good.test/urllib", headers={
    "Authorization": "Bearer " + os.environ["TOKEN"]})).read().decode())'"""),
    "fetch": ("node -v", """NO_PROXY=* no_proxy=* node -e 'fetch("https://good.test/fetch", {headers: {
    authorization: "Bearer " + process.env.TOKEN}}).then(r => r.text()).then(console.log)'"""),
    "https": ("node -v", """node -e 'require("https").get("https://good.test/https", {headers: {
    authorization: "Bearer " + process.env.TOKEN}}, r => r.pipe(process.stdout))'"""),
    "requests": ("/usr/bin/python3 -c 'import requests'", """/usr/bin/python3 -c 'import os, requests
print(requests.get("https://good.test/requests",
                   headers={"Authorization": "Bearer " + os.environ["TOKEN"]}).text)'"""),
    "httpx": ("/usr/bin/python3 -c 'import httpx'", """/usr/bin/python3 -c 'import os, httpx
print(httpx.get("https://good.test/httpx",
                headers={"Authorization": "Bearer " + os.environ["TOKEN"]}).text)'"""),
    "ruby": ("ruby -v", """ruby -ropen-uri -e 'puts URI.open("https://good.test/ruby",
    "Authorization" => "Bearer " + ENV["TOKEN"]).read'"""),
    "php": ("php -v", """php -r 'echo file_get_contents("https://good.test/php", false,
    stream_context_create(["http" => ["header" => "Authorization: Bearer ".getenv("TOKEN")]]));'"""),
    "perl": ("perl -MLWP::Protocol::https -e 1", """perl -MLWP::UserAgent -e 'print LWP::UserAgent->new->get(
    "https://good.test/perl", Authorization => "Bearer $ENV{TOKEN}")->content'"""),
    "websocket": ("/usr/bin/python3 -c 'import websockets'", """/usr/bin/python3 -c 'import asyncio, os, websockets
async def main():
    async with websockets.connect("wss://good.test/websocket", extra_headers={
            "Authorization": "Bearer " + os.environ["TOKEN"]}) as s:
        await s.send("hello")
        print(await s.recv())
asyncio.run(main())'"""),
    "s_client": ("openssl version", """{ printf 'GET /s_client HTTP/1.1\\r\\nHost: good.test\\r\\n'
printf 'Authorization: Bearer %s\\r\\nConnection: close\\r\\n\\r\\n' "$TOKEN"; } |
openssl s_client -quiet -verify_return_error -connect good.test:443 -servername good.test 2>/dev/null"""),
}
HEAVY = {
    "go": ("go version", "GOCACHE=$PWD/cache GOFLAGS=-mod=mod go run go.go"),
    "gh": ("gh --version", "GH_TOKEN=$TOKEN GH_HOST=good.test GH_ENTERPRISE_TOKEN=$TOKEN "
           "GH_CONFIG_DIR=$PWD/gh gh api --hostname good.test /gh || true"),
    "pip": ("pip3 --version", "pip3 download --no-cache-dir --disable-pip-version-check "
            "--index-url https://x:$TOKEN@good.test/pip thing || true"),
    "cargo": ("cargo --version", """git init -q index; echo '{"dl": "https://good.test/dl",
"api": "https://good.test/cargo"}' > index/config.json
git -C index add .; git -C index -c user.name=x -c user.email=x@x commit -qm x
CARGO_HOME=$PWD/cargo CARGO_REGISTRIES_T_INDEX=file://$PWD/index \\
    cargo owner --list thing --registry t --token "$TOKEN" || true"""),
}


def client(name, installed, script):
    def sends_the_value(t):
        if subprocess.run(installed, shell=True, capture_output=True).returncode:
            skip(f"{name} is not installed")
        origins(Watching)
        t.write("go.go", GO)
        Origin.fake = run(t, "printf %s $TOKEN").ok().out
        r = run(t, script).ok()
        sent = [a for a in authorizations() if a]
        basic = "Basic " + base64.b64encode(f"x:{VALUE}".encode()).decode()
        check(sent and set(sent) <= {BEARER, f"token {VALUE}", VALUE, basic}, sent, r.out, r.err)
        lacks(r.out + r.err, VALUE)
        equal(Origin.held, [])
        check(Origin.cores and Origin.cores <= {("0", "0"), ("1", "1")}, Origin.cores)
        check(Origin.placed, "the control: the placeholder was found in no process")
        found = subprocess.run(["grep", "-rlsF", VALUE, t.dir, t.home],
                               capture_output=True, text=True).stdout
        equal(found, "")
    sends_the_value.__name__ = f"{name}_sends_the_value"
    return sends_the_value


for arguments in {**CLIENTS, **(HEAVY if LONG else {})}.items():
    test(client(arguments[0], *arguments[1]))


# mitmproxy as a second implementation: its own parser and writer, and a rule in Python
ADDON = r'''
import base64
FAKE, REAL = FAKE_AND_REAL
NAMES = b"authorization x-api-key x-goog-api-key private-token api-key x-auth-token".split()

def replaced(value):
    if value == FAKE:
        return REAL
    scheme, blank, rest = value.partition(b" ")
    stripped = rest.lstrip(b" ")
    blank += rest[:len(rest) - len(stripped)]
    if blank and stripped == FAKE:
        return scheme + blank + REAL
    if scheme.lower() == b"basic":
        try:
            user, colon, password = base64.b64decode(stripped, validate=True).partition(b":")
        except ValueError:
            return value
        if colon and FAKE in (user, password):
            both = [REAL if x == FAKE else x for x in (user, password)]
            return scheme + blank + base64.b64encode(b":".join(both))
    return value

def request(flow):
    flow.request.headers.fields = tuple(
        (k, replaced(v) if k.lower() in NAMES else v) for k, v in flow.request.headers.fields)
'''
SENDER = r'''
import json, socket, ssl, sys
context = ssl.create_default_context(cafile=sys.argv[3] if len(sys.argv) > 3 else None)
s = None
for request in json.load(open("requests.json")):
    s = s or context.wrap_socket(socket.create_connection((sys.argv[1], int(sys.argv[2]))),
                                 server_hostname="good.test")
    s.sendall(request.encode("latin-1"))
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = s.recv(4096)
        if not piece:
            sys.exit("no answer to " + request)
        answer += piece
    if not answer.startswith(b"HTTP/1.1 200"):
        sys.exit(request + answer.decode())
'''


def raw_origin(seen):
    """Remembers heads and bodies byte for byte"""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{CERTIFICATES}/good.pem", f"{CERTIFICATES}/good.key")
    listener = socket.create_server((GOOD, 443))

    def serve_one(s):
        file = context.wrap_socket(s, server_side=True).makefile("rwb")
        while line := file.readline():
            head = line
            while line.strip():
                head += (line := file.readline())
            body = b""
            if match := re.search(rb"\r\ncontent-length: (\d+)", head, re.I):
                body = file.read(int(match[1]))
            elif b"chunked" in head:
                while size := int(file.readline(), 16):
                    body += file.read(size)
                    file.readline()
                file.readline()
            seen.append((head, body))
            file.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            file.flush()

    def accept():
        while True:
            threading.Thread(target=serve_one, args=(listener.accept()[0],),
                             daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


def some_request(rng, fake):
    """A valid request; the placeholder may be anywhere"""
    def word(n=12, letters="abcdefghijklmnopqrstuvwxyz0123456789-_"):
        return "".join(rng.choice(letters) for _ in range(rng.randint(1, n)))

    def cased(name):
        return "".join(rng.choice((c.lower(), c.upper())) for c in name)

    def text():
        return rng.choice((fake, fake + word(), word() + fake, word(), f"a={fake}; b",
                           f"{word()} {word()}", '"' + word() + '"', "\xe9" + word()))

    def basic(user, password):
        return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    names = ("Authorization", "X-Api-Key", "X-Goog-Api-Key", "Private-Token", "Api-Key",
             "X-Auth-Token")
    headers = []
    for _ in range(rng.randint(0, 2)):
        credential = rng.choice((fake, "Bearer " + fake, "token  " + fake, "bEARER " + fake,
                                 basic(word(), fake), basic(fake, word()),
                                 basic(fake, fake), basic(word(), word()), "Basic " + fake,
                                 "Basic *" + word(), "Bearer " + fake + "x", word()))
        headers.append((cased(rng.choice(names)), credential))
    for _ in range(rng.randint(0, 8)):
        name = rng.choice(("User-Agent", "Referer", "Cookie", "Accept", "X-" + word(),
                           "Origin", "If-None-Match", "X-Request-Id"))
        headers.append((cased(name), text()))
    method = rng.choice(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
    body = ""
    if method in ("POST", "PUT", "PATCH"):
        data = rng.choice((fake, "", word(2000, "x\0\r\n\xff" + fake)))
        if rng.randint(0, 1):
            headers.append(("Transfer-Encoding", "chunked"))
            body = (f"{len(data):x}\r\n{data}\r\n" if data else "") + "0\r\n\r\n"
        else:
            headers.append(("Content-Length", str(len(data))))
            body = data
    headers.insert(rng.randint(0, len(headers)), ("Host", "good.test"))
    target = "/" + "/".join(word() for _ in range(rng.randint(0, 3)))
    target += rng.choice(("", "?", f"?q={fake}", "?a=%20&b=" + word()))
    return f"{method} {target} HTTP/1.1\r\n" + \
        "".join(f"{k}: {v}\r\n" for k, v in headers) + "\r\n" + body


def mitmproxy_forwards_the_same_bytes(t):
    seen = []
    raw_origin(seen)
    fake = run(t, "printf %s $TOKEN").ok().out
    seed = int(os.environ.get("CLOCHE_SEED", random.randrange(1 << 32)))
    note("CLOCHE_SEED", seed)
    rng = random.Random(seed)
    t.write("requests.json", json.dumps([some_request(rng, fake) for _ in range(REQUESTS)]))
    t.write("sender.py", SENDER)
    run(t, "/usr/bin/python3 sender.py good.test 443").ok()
    ours, seen[:] = list(seen), []
    t.write(t.away + "/addon.py",
            ADDON.replace("FAKE_AND_REAL", repr((fake.encode(), VALUE.encode()))))
    proxy = subprocess.Popen(
        ["mitmdump", "-q", "--mode", "reverse:https://good.test", "--listen-host",
         "127.0.0.1", "--listen-port", "8443", "-s", t.away + "/addon.py", "--set",
         "confdir=" + t.away, "--set", "keep_host_header=true", "--set", "http2=false",
         "--set", f"ssl_verify_upstream_trusted_ca={CERTIFICATES}/ca.pem", "--set",
         "validate_inbound_headers=false"],
        env={**os.environ, "no_proxy": "*"})
    try:
        wait_for_port(proxy, ("127.0.0.1", 8443))
        t.outside("/usr/bin/python3", "sender.py", "127.0.0.1", "8443",
                  t.away + "/mitmproxy-ca-cert.pem", timeout=300).ok()
    finally:
        proxy.kill()
        proxy.wait()
    equal(len(ours), REQUESTS)
    equal(len(seen), REQUESTS)
    for one, other in zip(ours, seen):
        equal(one, other)
    check(sum(VALUE.encode() in head for head, _ in ours) > REQUESTS // 10)


REQUESTS = 1500
if LONG:
    test(mitmproxy_forwards_the_same_bytes)

own_host(NAMES)
make_certificates()
main()
