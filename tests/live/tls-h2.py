# SPDX-License-Identifier: Apache-2.0
"""tests/live/tls-h2.py - requests with secrets in HTTP/2, by real clients

The origin is Node's, which speaks both versions; each request that it saw is a line.
"""

import base64
import hashlib
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tls_origin import *

ORIGIN = r"""
const http2 = require("http2"), fs = require("fs"), crypto = require("crypto");
const [address, where, versions, raw] = process.argv.slice(1);
const options = {
    cert: fs.readFileSync(where + "/good.pem"), key: fs.readFileSync(where + "/good.key"),
    allowHTTP1: versions != "h2", settings: {maxHeaderListSize: 1 << 20}};
const server = versions == "http/1.1" ? require("https").createServer(options) :
                                        http2.createSecureServer(options);
server.on("request", (q, r) => {
    const hash = crypto.createHash("sha256");
    let n = 0;
    q.on("data", d => { hash.update(d); n += d.length; });
    q.on("end", () => {
        if (q.url == "/raw") {
            const fields = [];
            for (let i = 0; i < q.rawHeaders.length; i += 2)
                fields.push(q.rawHeaders.slice(i, i + 2));
            fs.appendFileSync(raw, JSON.stringify(fields) + "\n");
            return r.end();
        }
        fs.writeSync(1, JSON.stringify({
            version: q.httpVersion, path: q.url, trailers: q.trailers,
            headers: Object.fromEntries(Object.entries(q.headers).filter(
                ([name]) => !name.startsWith("x-long"))),	// Less than the pipe takes
            authority: q.headers[":authority"] || q.headers.host, n,
            hash: hash.digest("hex")}) + "\n");
        if (q.url == "/trailers") {
            r.setHeader("content-type", "application/grpc");
            r.addTrailers({"grpc-status": "0",
                           "grpc-message": "for " + q.headers.authorization});
            r.end("message");
        } else if (q.url == "/big") {
            r.end(Buffer.alloc(5 << 20, "x"));
        } else if (q.url == "/early") {
            r.writeEarlyHints({link: "</style.css>; rel=preload; as=style"});
            r.end("late\n");
        } else if (q.url == "/reset") {
            r.stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
        } else if (q.url == "/die") {
            process.exit();
        } else {
            r.setHeader("x-echo", String(q.headers.authorization));
            r.end(`${q.url} ${q.headers.authorization} ${n}\n`);
        }
    });
});
server.listen(443, address, () => fs.writeSync(1, "{}\n"));
"""
BEARER = f"Bearer {VALUE}"


class Node:
    """The origin; what it has seen so far in @seen"""
    def __init__(self, versions="both", address=GOOD, more=""):
        need("node")
        self.process = subprocess.Popen(["node", "--max-http-header-size=131072", "-e", ORIGIN, address,
                                         CERTIFICATES, versions, more], stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def seen(self):
        """To its end"""
        self.process.kill()
        return [json.loads(line) for line in self.process.communicate()[0].splitlines()]


@test
def curl_sends_the_value_and_receives_the_placeholder(t):
    with Node() as origin:
        r = run(t, """echo $TOKEN
curl -sS -m 60 --http2 -D - -H "Authorization: Bearer $TOKEN" https://good.test/curl
curl -sS -m 60 --http2 -u "me:$TOKEN" https://good.test/basic
curl -sS -m 60 --http2 -H "X-Api-Key: $TOKEN" -A "$TOKEN" -d "$TOKEN" https://good.test/body
curl -sS -m 60 --http1.1 -H "Authorization: Bearer $TOKEN" https://good.test/old""").ok()
        seen = origin.seen()
    fake = r.out.splitlines()[0]
    contains(r.out, "HTTP/2 200")
    contains(r.out, f"x-echo: Bearer {fake}")
    contains(r.out, f"/curl Bearer {fake}")
    lacks(r.out + r.err, VALUE)
    equal([(q["path"], q["version"], q["authority"]) for q in seen],
          [("/curl", "2.0", "good.test"), ("/basic", "2.0", "good.test"),
           ("/body", "2.0", "good.test"), ("/old", "1.1", "good.test")])
    basic = base64.b64encode(f"me:{VALUE}".encode()).decode()
    equal([q["headers"].get("authorization") for q in seen],
          [BEARER, f"Basic {basic}", None, BEARER])
    equal((seen[2]["headers"]["x-api-key"], seen[2]["headers"]["user-agent"], seen[2]["hash"]),
          (VALUE, fake, hashlib.sha256(fake.encode()).hexdigest()))


CLIENTS = {
    "node": ("node", r"""node -e '
const c = require("http2").connect("https://good.test");
let left = 20;
for (let i = 0; i < 20; i++) {
    const q = c.request({":path": "/node" + i, authorization: "Bearer " + process.env.TOKEN});
    let text = "";
    q.on("data", d => text += d).on("end", () => { console.log(text); --left || c.close(); });
    q.end();
}'"""),
    "httpx": ("httpx", r"""/usr/bin/python3 -c 'import httpx, os
with httpx.Client(http2=True) as c:
    for i in range(20):
        r = c.get(f"https://good.test/httpx{i}", headers={
            "Authorization": "Bearer " + os.environ["TOKEN"]})
        assert r.http_version == "HTTP/2", r.http_version
        print(r.text)'"""),
    "nghttp": ("nghttp", r"""for i in $(seq 20); do echo https://good.test/nghttp$i; done |
    xargs nghttp -H "Authorization: Bearer $TOKEN" """),
}


def client(name, program, script):
    def sends_the_value(t):
        if name == "httpx":
            if subprocess.run(["/usr/bin/python3", "-c", "import httpx, h2"],
                              capture_output=True).returncode:
                skip("no httpx with HTTP/2")
        else:
            need(program)
        with Node("h2") as origin:
            r = run(t, "echo $TOKEN\n" + script).ok()
            seen = origin.seen()
        fake = r.out.splitlines()[0]
        equal(sorted((q["version"], q["headers"].get("authorization")) for q in seen),
              [("2.0", BEARER)] * 20, r)
        equal(r.out.count(f"Bearer {fake}"), 20, r.out)
        lacks(r.out + r.err, VALUE)
    sends_the_value.__name__ = f"{name}_sends_the_value_in_many_requests"
    return sends_the_value


for _name, _words in CLIENTS.items():
    test(client(_name, *_words))


@test
def the_client_gets_the_servers_http_version(t):
    """Each version that the origin has, and the client's offers"""
    for versions, options, spoken in (("http/1.1", "--http2", "1.1"), ("h2", "--http2", "2.0"),
                                      ("both", "--http1.1", "1.1"), ("both", "--http2", "2.0")):
        with Node(versions) as origin:
            run(t, f'curl -sS -m 60 {options} -H "Authorization: Bearer $TOKEN" '
                "https://good.test/").ok()
            seen = origin.seen()
        equal([(q["version"], q["headers"]["authorization"]) for q in seen],
              [(spoken, BEARER)], versions)
    # A client without HTTP/1.1, and a server without HTTP/2: there is no translation
    with Node("http/1.1") as origin:
        r = run(t, """openssl s_client -connect good.test:443 -servername good.test -alpn h2 \
    -proxy 127.0.0.1:3128 </dev/null >/dev/null 2>&1""")
        contains(r.err, "the program offers no HTTP/1.1, and the host no HTTP/2")


@test
def a_placeholder_for_another_host_is_refused_with_the_binding_command(t):
    with Node() as origin, Node(address=OTHER) as other:
        r = run(t, """curl -sS -m 60 --http2 -i -H "Authorization: Bearer $TOKEN" https://other.test/
curl -sS -m 60 --http2 -I -H "Authorization: Bearer $TOKEN" https://other.test/
curl -sS -m 60 --http2 -H "X-Api-Key: $SECOND" https://other.test/second""",
                secrets=("TOKEN@good.test", "SECOND@other.test")).ok()
        seen = other.seen()
        equal(origin.seen(), [])
    equal(r.out.count("HTTP/2 403"), 2, r.out)
    contains(r.out, "cloche secret bind TOKEN other.test")
    contains(r.err, "other.test")
    equal([(q["path"], q["headers"]["x-api-key"]) for q in seen], [("/second", SECOND)])


@test
def a_request_for_another_authority_gets_421(t):
    with Node() as origin:
        r = run(t, r"""node -e '
const c = require("http2").connect("https://good.test");
const authorities = ["other.test", "good.test:444", "good.test"];
function next() {
    if (!authorities.length) return c.close();
    const q = c.request({":authority": authorities.shift(), ":path": "/",
                         authorization: "Bearer " + process.env.TOKEN});
    q.on("response", h => { console.log(h[":status"]); });
    q.on("data", d => process.stderr.write(d)).on("close", next);
    q.end();
}
next();'""", secrets=("TOKEN@good.test", "SECOND@other.test")).ok()
        seen = origin.seen()
    equal(r.out.split(), ["421", "421", "200"], r.err)
    contains(r.err, "another host")
    equal([q["authority"] for q in seen], ["good.test"])


@test
def nothing_is_sent_to_an_unverified_certificate(t):
    origins()
    r = run(t, 'nghttp -v -H "Authorization: Bearer $TOKEN" https://selfsigned.test/;'
            'curl -sS -m 60 --http2 -H "Authorization: Bearer $TOKEN" https://selfsigned.test/',
            secrets=("TOKEN@selfsigned.test",))
    contains(r.out, ":status: 502")
    equal(r.out.count("the host's certificate does not verify: self-signed"), 2, r.out)
    equal(Origin.seen, [])


@test
def bodies_trailers_and_interim_responses_pass(t):
    with Node() as origin:
        r = run(t, r"""head -c 5242880 /dev/zero | tr '\0' y > body
curl -sS -m 60 --http2 -H "Authorization: Bearer $TOKEN" -T body https://good.test/put
curl -sS -m 60 --http2 -H "Authorization: Bearer $TOKEN" https://good.test/big | sha256sum
curl -sS -m 60 --http2 -D - -H "Authorization: Bearer $TOKEN" https://good.test/early
echo "$TOKEN"
node -e '
const c = require("http2").connect("https://good.test");
const q = c.request({":method": "POST", ":path": "/trailers", te: "trailers",
                     authorization: "Bearer " + process.env.TOKEN}, {waitForTrailers: true});
q.on("wantTrailers", () => q.sendTrailers({"x-last": "of " + process.env.TOKEN}));
q.on("trailers", h => console.log("trailers", h["grpc-status"], h["grpc-message"]));
q.on("data", () => {}).on("end", () => c.close());
q.end("hello");' """).ok()
        seen = origin.seen()
    contains(r.out, hashlib.sha256(b"x" * (5 << 20)).hexdigest())
    contains(r.out, "HTTP/2 103")
    fake = [line for line in r.out.splitlines() if line.startswith("ghp_")][0]
    contains(r.out, f"trailers 0 for Bearer {fake}")
    equal(seen[0]["hash"], hashlib.sha256(b"y" * (5 << 20)).hexdigest())
    equal((seen[3]["n"], seen[3]["headers"]["te"], seen[3]["headers"]["authorization"]),
          (5, "trailers", BEARER))
    equal(seen[3]["trailers"], {"x-last": f"of {fake}"})
    lacks(r.out + r.err, VALUE)


@test
def heads_larger_than_64_KiB_are_refused(t):
    with Node() as origin:
        r = run(t, """/usr/bin/python3 - <<'END'
import os
for name, n in (("fits", 60000), ("large", 66000)):
    with open(name, "w") as file:
        for i in range(10):
            file.write(f"x-long-{i}: " + "v" * (n // 10) + "\\n")
        file.write("Authorization: Bearer " + os.environ["TOKEN"])
END
curl -sS -m 60 --http2 -H @fits -w '%{http_code}\\n' -o /dev/null https://good.test/
for name in fits large; do
    curl -sS -m 60 --http1.1 -H @$name -w '%{http_code}\\n' -o body https://good.test/
done; cat body
node -e '
const c = require("http2").connect("https://good.test", {maxSendHeaderBlockLength: 1 << 20});
const q = c.request({"x-long": "v".repeat(66000)});
q.on("response", h => console.log(h[":status"]));
q.on("data", d => process.stdout.write(d)).on("end", () => c.close());
q.end();' """).ok()
        seen = origin.seen()
    equal(r.out.split()[:3], ["200", "200", "431"], r)
    equal(r.out.count("send fewer or shorter header fields"), 2, r)
    equal([q["headers"]["authorization"] for q in seen], [BEARER] * 2)


@test
def a_reset_stream_and_a_dead_server_are_reported_to_the_client(t):
    with Node() as origin:
        r = run(t, """for path in reset die; do
    curl -sS -m 60 --http2 -i -H "Authorization: Bearer $TOKEN" https://good.test/$path
done""")
        equal([q["path"] for q in origin.seen()], ["/reset", "/die"])
    contains(r.err, "ENHANCE_YOUR_CALM")
    contains(r.out, "the host closed the connection")


@test
def the_relay_works_with_nghttpd(t):
    need("nghttpd")
    t.write(t.away + "/file", "x" * 300000)
    p = subprocess.Popen(["nghttpd", "-v", "-a", GOOD, "-d", t.away, "443",
                          f"{CERTIFICATES}/good.key", f"{CERTIFICATES}/good.pem"],
                         stdout=subprocess.PIPE, text=True)
    try:
        wait_for_port(p, (GOOD, 443))
        r = run(t, """nghttp -H "Authorization: Bearer $TOKEN" https://good.test/file | sha256sum""").ok()
    finally:
        p.kill()
        log = p.communicate()[0]
    contains(r.out, hashlib.sha256(b"x" * 300000).hexdigest())
    contains(log, f"authorization: {BEARER}")


def replaced(value, fake):
    """What mitmproxy's rule in tls-clients.py does, in a few lines"""
    scheme, blank, rest = value.partition(" ")
    if value == fake:
        return VALUE
    if blank and rest.lstrip(" ") == fake:
        return value[:-len(fake)] + VALUE
    if scheme.lower() == "basic":
        try:
            user, colon, password = base64.b64decode(rest, validate=True).decode().partition(":")
        except ValueError:
            return value
        if colon and fake in (user, password):
            both = ":".join(VALUE if word == fake else word for word in (user, password))
            return scheme + blank + base64.b64encode(both.encode()).decode()
    return value


def some_fields(rng, fake):
    """Fields in which the placeholder may be anywhere"""
    def word():
        return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789-_")
                       for _ in range(rng.randint(1, 30)))

    def basic(*both):
        return "Basic " + base64.b64encode(":".join(both).encode()).decode()

    fields = {"x-number": word()}
    for _ in range(rng.randint(0, 3)):
        fields[rng.choice(FIELDS)] = rng.choice((
            fake, "Bearer " + fake, "token  " + fake, basic(word(), fake), basic(fake, word()),
            basic(fake, fake), "Basic " + fake, "Bearer " + fake + "x", word()))
    for _ in range(rng.randint(0, 8)):
        fields[rng.choice(("user-agent", "referer", "cookie", "accept", "x-" + word()))] = \
            rng.choice((fake, fake + word(), word(), f"a={fake}; b"))
    return fields


FIELDS = ("authorization", "x-api-key", "x-goog-api-key", "private-token", "api-key",
          "x-auth-token")


@test_if(LONG)
def only_credentials_of_1500_requests_change(t):
    fake = run(t, "printf %s $TOKEN").ok().out
    seed = int(os.environ.get("CLOCHE_SEED", random.randrange(1 << 32)))
    note("CLOCHE_SEED", seed)
    rng = random.Random(seed)
    sent = [some_fields(rng, fake) for _ in range(1500)]
    t.write("requests.json", json.dumps(sent))
    path = t.away + "/seen"
    with Node("h2", more=path) as origin:
        run(t, r"""node -e '
const c = require("http2").connect("https://good.test");
const left = JSON.parse(require("fs").readFileSync("requests.json"));
function next() {
    if (!left.length) return c.close();
    const q = c.request({":path": "/raw", ...left.shift()});
    q.on("data", () => {}).on("end", next);
    q.end();
}
next();'""").ok()
        origin.seen()
    with open(path) as file:
        seen = [json.loads(line) for line in file]
    equal(len(seen), 1500)
    for one, other in zip(sent, seen):
        equal([[k, v] for k, v in other if not k.startswith(":")],
              [[k, replaced(v, fake) if k in FIELDS else v] for k, v in one.items()])
    check(sum(VALUE in json.dumps(fields) for fields in seen) > 150)


own_host(NAMES)
make_certificates()
main()
