# SPDX-License-Identifier: Apache-2.0
"""tests/live/tls-local.py - plain URLs inside that lead to the host of a secret over TLS

For programs that pin a certificate or bring their own authorities: nothing here trusts the
authority of the run.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tls_origin import *


def settings(t, **secrets):
    path = t.away + "/settings.json"
    with open(path, "w") as file:
        json.dump({"sandbox": {"secrets": secrets or {
            "TOKEN": {"hosts": ["good.test", "sub.good.test"], "url": "GOOD_URL/v1"}}}}, file)
    return "-s", path


def local(t, script, **secrets):
    return run(t, script, *settings(t, **secrets), secrets=())


@test
def a_plain_request_to_a_local_url_is_sent_over_tls_with_the_value(t):
    origins()
    r = local(t, """echo $GOOD_URL $TOKEN; unset SSL_CERT_FILE CURL_CA_BUNDLE
curl -sS -m 20 -H "Authorization: Bearer $TOKEN" "$GOOD_URL/models?q=1" --next -sS -m 20 \
    -H "X-Api-Key: $TOKEN" -d body "$GOOD_URL/chat"
/usr/bin/python3 -c 'import os, urllib.request as u
print(u.urlopen(u.Request(os.environ["GOOD_URL"], headers={
    "Authorization": "Bearer " + os.environ["TOKEN"]})).read())'
node -e 'fetch(process.env.GOOD_URL + "/node", {headers: {
    authorization: "Bearer " + process.env.TOKEN}}).then(r => r.text()).then(console.log)'
""").ok()
    first = r.out.splitlines()[0]
    contains(first, "http://localhost:3128/.cloche/TOKEN/v1 ghp_")
    lacks(r.out + r.err, VALUE)
    equal([(host, path) for host, path, _, _ in Origin.seen],
          [("good.test", "/v1/models?q=1"), ("good.test", "/v1/chat"), ("good.test", "/v1"),
           ("good.test", "/v1/node")])
    equal([h.get("X-Api-Key") or h["Authorization"] for _, _, h, _ in Origin.seen],
          [f"Bearer {VALUE}", VALUE, f"Bearer {VALUE}", f"Bearer {VALUE}"])
    equal(Origin.seen[1][3], b"body")
    # The echo of the origin came back with the placeholder
    contains(r.out, "/v1/models?q=1 Bearer ghp_")


@test
def a_local_url_refuses_other_names_and_secrets(t):
    """Another name, another secret's placeholder, a request through the proxy"""
    origins()
    r = local(t, """U=${GOOD_URL%/.cloche/*}
curl -sS -m 20 -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer $TOKEN" $U/.cloche/SECOND/x
curl -sS -m 20 -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer $TOKEN" $U/.cloche/TOKENS/x
curl -sS -m 20 -i -H "Authorization: Bearer $SECOND" $U/.cloche/TOKEN/x
curl -sS -m 20 -i -H "Host: other.test" -H "Authorization: Bearer $TOKEN" $U/.cloche/TOKEN/host
""", TOKEN={"hosts": ["good.test"], "url": "GOOD_URL"}, SECOND={"hosts": ["other.test"]})
    equal(r.out.splitlines()[:2], ["400"] * 2, r.out)
    contains(r.out, "HTTP/1.1 403 the placeholder of a secret that is not bound")
    contains(r.out, "cloche secret bind SECOND good.test")
    equal([(host, path) for host, path, _, _ in Origin.seen], [("good.test", "/host")])
    equal(authorizations(), [f"Bearer {VALUE}"])


@test
def two_local_urls_work_on_one_connection(t):
    origins()
    r = local(t, """/usr/bin/python3 -c 'import http.client, os
c = http.client.HTTPConnection("localhost", 3128)
for name in ("TOKEN", "SECOND", "TOKEN"):
    c.request("GET", f"/.cloche/{name}/{name}", headers={"X-Api-Key": os.environ[name]})
    r = c.getresponse()
    r.read()
    print(r.status)'""", TOKEN={"hosts": ["good.test"], "url": "A"},
              SECOND={"hosts": ["other.test"], "url": "B"}).ok()
    equal(r.out.split(), ["200"] * 3)
    equal([(host, h["X-Api-Key"]) for host, _, h, _ in Origin.seen],
          [("good.test", VALUE), ("other.test", SECOND), ("good.test", VALUE)])


@test
def a_local_url_verifies_the_certificate(t):
    origins()
    for host, why in (("expired.test", "expired"), ("wrong.test", "mismatch")):
        r = local(t, 'curl -sS -m 20 -i -H "Authorization: Bearer $TOKEN" $URL/',
                  TOKEN={"hosts": [host], "url": "URL"})
        contains(r.out, "HTTP/1.1 502", host, r.err)
        contains(r.out, why, host)
    equal(Origin.seen, [])


@test
def a_websocket_and_a_long_body_pass_a_local_url(t):
    origins()
    r = local(t, """head -c 3000000 /dev/zero | tr '\\0' x > body
curl -sS -m 30 -H "Authorization: Bearer $TOKEN" -T body $GOOD_URL/put
/usr/bin/python3 -c 'import os, socket
s = socket.create_connection(("localhost", 3128))
s.sendall(b"GET /.cloche/TOKEN/ws HTTP/1.1\\r\\nHost: localhost:3128\\r\\nUpgrade: websocket\\r\\n"
          b"Connection: Upgrade\\r\\nSec-WebSocket-Key: x\\r\\nSec-WebSocket-Version: 13\\r\\n"
          b"Authorization: Bearer " + os.environ["TOKEN"].encode() + b"\\r\\n\\r\\nabcd")
data = b""
while piece := s.recv(100):
    data += piece
print(data[-4:])'""").ok()
    contains(r.out, hashlib.sha256(b"x" * 3000000).hexdigest()[:8])
    contains(r.out, "b'dcba'")
    equal(set(authorizations()), {f"Bearer {VALUE}"})


@test
def a_denied_host_is_not_reached_by_its_local_url(t):
    origins()
    r = run(t, 'curl -sS -m 20 -i -H "Authorization: Bearer $TOKEN" $GOOD_URL/', *settings(t),
            "--deny", "good.test", secrets=())
    contains(r.out, "HTTP/1.1 403")
    equal(Origin.seen, [])


@test
def a_local_url_needs_one_exact_host(t):
    r = local(t, "true", TOKEN={"hosts": ["*.good.test"], "url": "URL"}).ended(125)
    contains(r.err, "\"url\" needs a first host without *")
    r = local(t, "true", TOKEN={"hosts": ["good.test"], "url": "not a name"}).ended(125)
    contains(r.err, "must be VARIABLE or VARIABLE/PATH")


own_host(NAMES)
make_certificates()
main()
