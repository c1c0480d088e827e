# SPDX-License-Identifier: Apache-2.0
"""tests/live/tls-aws.py - requests to AWS that were signed with a placeholder

The origin verifies signatures with the real key: with signer.py, a second implementation,
and with check-long by botocore, which the aws program has brought along.
"""

import hashlib
import json
import os
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tls_origin import *

KEYS = {"AWS_ACCESS_KEY_ID": "AKIAREALREALREALREAL",
        "AWS_SECRET_ACCESS_KEY": "TheRealSecretKey/0123456789+abcdefghijkl",
        "AWS_SESSION_TOKEN": "TheRealSessionToken//" + "abcdEFGH0123" * 20}
SIGNER = r'''
import hashlib, hmac, os, sys, time, urllib.parse, urllib.request

def quote(text):
    return urllib.parse.quote(text, safe="-_.~")

def signature(secret, method, path, query, headers, names, payload, date, scope):
    """What AWS documents, for paths without dots and pairs without blanks"""
    if scope.split("/")[2] != "s3":
        path = "/".join(map(quote, path.split("/")))
    pairs = sorted(p.partition("=")[::2] for p in query.split("&")) if query else []
    text = "\n".join((method, path, "&".join(f"{k}={v}" for k, v in pairs),
                      "".join(f"{n}:{' '.join(headers[n].split())}\n" for n in names),
                      ";".join(names), payload))
    text = "\n".join(("AWS4-HMAC-SHA256", date, scope, hashlib.sha256(text.encode()).hexdigest()))
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()

def send(method, path, query="", service="sts", body=b"", payload=None, algorithm="AWS4-HMAC-SHA256",
         spoil=False, token=True):
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = f"{date[:8]}/eu-test-1/{service}/aws4_request"
    headers = {"host": "good.test", "x-amz-date": date, "content-type": "x/y"}
    if token and os.environ.get("AWS_SESSION_TOKEN"):
        headers["x-amz-security-token"] = os.environ["AWS_SESSION_TOKEN"]
    if payload:
        headers["x-amz-content-sha256"] = payload
    names = sorted(headers)
    made = signature(os.environ["AWS_SECRET_ACCESS_KEY"], method, path, query, headers, names,
                     payload or hashlib.sha256(body).hexdigest(), date, scope)
    if spoil:
        made = made[::-1]
    headers["authorization"] = f"{algorithm} Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}, " \
        f"SignedHeaders={';'.join(names)}, Signature={made}"
    url = "https://good.test" + path + ("?" + query if query else "")
    request = urllib.request.Request(url, body or None, headers, method=method)
    try:
        print(urllib.request.urlopen(request).status)
    except urllib.error.HTTPError as e:
        print(e.code, e.reason)
'''
exec(SIGNER)


def spoken(headers):
    """(access key, scope, names, signature) of an Authorization"""
    parts = dict(p.strip(" ,").split("=", 1)
                 for p in headers["Authorization"].split(" ", 1)[1].split(", "))
    key, _, scope = parts["Credential"].partition("/")
    return key, scope, parts["SignedHeaders"].split(";"), parts["Signature"]


def verifies(path, headers, body, method):
    key, scope, names, made = spoken(headers)
    path, _, query = path.partition("?")
    values = {n: headers[n] for n in names}
    payload = headers.get("x-amz-content-sha256") or hashlib.sha256(body).hexdigest()
    return key == KEYS["AWS_ACCESS_KEY_ID"] and made == signature(
        KEYS["AWS_SECRET_ACCESS_KEY"], method, path, query, values, names, payload,
        headers["x-amz-date"], scope)


class Amazon(Origin):
    methods = []

    def do_GET(self):
        Amazon.methods.append(self.command)
        super().do_GET()

    do_POST = do_PUT = do_HEAD = do_DELETE = do_GET


def signed(t, script, *options, hosts="good.test", **more):
    return run(t, script, *options, secrets=[f"{name}@{hosts}" for name in KEYS],
               env={**KEYS, **more.pop("env", {})}, **more)


@test
def requests_signed_with_a_placeholder_are_signed_again(t):
    origins(Amazon)
    t.write("calls.py", SIGNER + r'''
send("GET", "/", "Action=GetCallerIdentity&Version=2011-06-15")
send("POST", "/", body=b"Action=AssumeRole" * 10000)
send("PUT", "/bucket/a%20b~c", "x-id=PutObject", "s3", b"data", "UNSIGNED-PAYLOAD")
send("PUT", "/bucket/b", "", "s3", b"data", hashlib.sha256(b"data").hexdigest())
send("PUT", "/bucket/c", "", "s3", b"4\r\ndata\r\n0\r\nx-amz-checksum-crc32: x\r\n\r\n",
     "STREAMING-UNSIGNED-PAYLOAD-TRAILER")	# As later programs of AWS upload
send("GET", "/a%20b", "z=1&a=%2F&a=", "dynamodb", token=False)
''')
    r = signed(t, "env | grep ^AWS_; /usr/bin/python3 calls.py").ok()
    equal(r.out.splitlines()[-6:], ["200"] * 6, r.err)
    contains(r.out, "AWS_ACCESS_KEY_ID=AKIA")
    equal(len(Origin.seen), 6)
    for method, (_, path, headers, body) in zip(Amazon.methods, Origin.seen):
        check(verifies(path, headers, body, method), path, str(headers))
    # Also where the program did not send it: the key is worth nothing without
    equal([h.get("x-amz-security-token") for _, _, h, _ in Origin.seen],
          [KEYS["AWS_SESSION_TOKEN"]] * 6)
    contains(Origin.seen[-1][2]["Authorization"], ";x-amz-security-token")
    for value in KEYS.values():
        lacks(r.out + r.err, value)


@test
def the_token_is_replaced_once_where_settings_name_its_header(t):
    origins(Amazon)
    t.write("calls.py", SIGNER + 'send("GET", "/", "Action=GetCallerIdentity")\n')
    secrets = {name: {"hosts": ["good.test"]} for name in KEYS}
    secrets["AWS_SESSION_TOKEN"]["header"] = "X-Amz-Security-Token"
    path = t.write(t.away + "/own.json", json.dumps({"secrets": secrets}))
    r = run(t, "/usr/bin/python3 calls.py", "-s", path, secrets=(), env=KEYS).ok()
    (_, path, headers, body), = Origin.seen
    check(verifies(path, headers, body, "GET"), str(headers), repr(r))
    equal(headers["x-amz-security-token"], KEYS["AWS_SESSION_TOKEN"])


@test
def requests_that_cannot_be_signed_again_are_refused(t):
    origins(Amazon)
    t.write("calls.py", SIGNER + r'''
send("PUT", "/b/c", "", "s3", b"x", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
send("GET", "/", algorithm="AWS4-ECDSA-P256-SHA256")
send("GET", "/", spoil=True)
send("POST", "/", body=b"x" * ((8 << 20) + 1))
send("POST", "/", body=b"x" * (8 << 20))
''')
    r = signed(t, """/usr/bin/python3 calls.py
curl -sS -m 60 -i "https://good.test/?X-Amz-Algorithm=AWS4-HMAC-SHA256\
&X-Amz-Credential=$AWS_ACCESS_KEY_ID%2F20261117%2Fx%2Fs3%2Faws4_request&X-Amz-Signature=00" """)
    lines = r.out.splitlines()
    for line, words in zip(lines, ("signatures of its own", "SigV4a", "not the one", "8 MiB", "200")):
        check(words in line and (line.startswith("403") or words == "200"), lines, r.err)
    contains(r.out, "HTTP/1.1 403 AWS: a presigned URL")
    contains(r.err, "signatures of its own")	# One line a host
    contains(r.err, "turn the signatures of chunks off")
    lacks(r.err + r.out, "policy allow host")
    equal(len(Origin.seen), 1)


@test
def each_signing_refusal_suggests_a_fix(t):
    origins(Amazon)
    for call, fix in (('send("GET", "/", algorithm="AWS4-ECDSA-P256-SHA256")', "name one region"),
                      ('send("GET", "/", spoil=True)', "use both variables of the key"),
                      ('send("POST", "/", body=b"x" * ((8 << 20) + 1))', "X-Amz-Content-Sha256")):
        t.write("calls.py", SIGNER + call)
        r = signed(t, "/usr/bin/python3 calls.py")
        contains(r.err, fix, call)
        lacks(r.err, "policy allow host")
    equal(Origin.seen, [])


def settings(t, path=None, **credentials):
    """Masks for keys with names of their own, as srt's file has them"""
    masks = [{"name": name, "mode": "mask", "injectHosts": ["good.test"]}
             for name in ("MY_ID", "MY_KEY", "MY_TOKEN")]
    path = path or t.away + "/srt.json"
    pair = {"accessKeyIdVar": "MY_ID", "secretAccessKeyVar": "MY_KEY", "sessionTokenVar": "MY_TOKEN"}
    with open(path, "w") as file:
        json.dump({"network": {"allowedDomains": ["good.test", "other.test"], "deniedDomains": [],
                               "tlsTerminate": {}},
                   "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []},
                   "credentials": {"envVars": masks, "awsPairs": [pair], **credentials}}, file)
    return "-s", path


MINE = dict(zip(("MY_ID", "MY_KEY", "MY_TOKEN"), KEYS.values()))
AS_AWS = "export AWS_ACCESS_KEY_ID=$MY_ID AWS_SECRET_ACCESS_KEY=$MY_KEY AWS_SESSION_TOKEN=$MY_TOKEN;"


def paired(t, script, **more):
    return run(t, AS_AWS + script, *settings(t, **more), secrets=(), env=MINE)


@test
def awsPairs_pairs_variables_of_any_name(t):
    origins(Amazon)
    t.write("calls.py", SIGNER + '''
send("GET", "/", "Action=GetCallerIdentity&Version=2011-06-15")
send("PUT", "/bucket/b", "", "s3", b"data", "UNSIGNED-PAYLOAD", token=False)
''')
    r = paired(t, "env; /usr/bin/python3 calls.py").ok()
    equal(r.out.splitlines()[-2:], ["200"] * 2, r.err)
    for method, (_, path, headers, body) in zip(Amazon.methods, Origin.seen):
        check(verifies(path, headers, body, method), path, str(headers))
        equal(headers["x-amz-security-token"], KEYS["AWS_SESSION_TOKEN"])
    for value in KEYS.values():
        lacks(r.out + r.err, value)
    # The control: without the pair, nothing is signed again
    Origin.seen.clear()
    paired(t, "/usr/bin/python3 calls.py", awsPairs=[])
    check(all(spoken(h)[0] != KEYS["AWS_ACCESS_KEY_ID"] for _, _, h, _ in Origin.seen))


@test
def a_pair_uses_the_hosts_of_its_key_id(t):
    """As in srt: those of the key and the token are not looked at"""
    origins(Amazon)
    t.write("calls.py", SIGNER + 'send("GET", "/")\n')
    masks = [{"name": "MY_ID", "mode": "mask", "injectHosts": ["good.test"]},
             *({"name": name, "mode": "mask", "injectHosts": ["other.test"]}
               for name in ("MY_KEY", "MY_TOKEN"))]
    r = paired(t, "/usr/bin/python3 calls.py", envVars=masks)
    equal(r.out, "200\n", r.err)
    _, path, headers, body = Origin.seen[0]
    check(verifies(path, headers, body, "GET"), str(headers))
    masks[0]["injectHosts"], masks[1]["injectHosts"] = ["other.test"], ["good.test"]
    r = paired(t, "/usr/bin/python3 calls.py", envVars=masks)
    contains(r.out, "403 the placeholder of a secret that is not bound")
    equal(len(Origin.seen), 1)


@test
def settings_can_pass_unsignable_requests_unchanged(t):
    origins(Amazon)
    t.write("calls.py", SIGNER + '''
send("PUT", "/b/c", "", "s3", b"x", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
send("GET", "/", algorithm="AWS4-ECDSA-P256-SHA256")
''')
    script = """/usr/bin/python3 calls.py
curl -sS -m 60 -o /dev/null -w '%{http_code}' "https://good.test/?X-Amz-Algorithm=AWS4-HMAC-SHA256\
&X-Amz-Credential=$AWS_ACCESS_KEY_ID%2F20261117%2Fx%2Fs3%2Faws4_request&X-Amz-Signature=00" """
    for key, codes in (("streaming", ("200", "403", "403")), ("sigv4a", ("403", "200", "403")),
                       ("presigned", ("403", "403", "200"))):
        r = paired(t, script, sigv4={key: "passthrough"})
        equal(tuple(line[:3] for line in r.out.splitlines()), codes, key, r.err)
    equal(len(Origin.seen), 3)
    for _, path, headers, _ in Origin.seen:	# With placeholders, which are worth nothing
        for value in KEYS.values():
            lacks(path + str(headers), value)


@test
def a_partially_masked_variable_is_not_a_signing_key(t):
    """A file of cloche's own, which srt's checks do not see"""
    origins(Amazon)
    t.write("calls.py", SIGNER + 'send("GET", "/")\n')
    _, path = settings(t)
    with open(path) as file:
        given = json.load(file)
    given["credentials"]["envVars"][1] = {"name": "MY_KEY", "mode": "mask", "extract": "^(.*)$",
                                          "injectHosts": ["good.test"]}
    with open(t.away + "/cloche.json", "w") as file:
        json.dump({"sandbox": given}, file)
    r = run(t, AS_AWS + "/usr/bin/python3 calls.py", "-s", t.away + "/cloche.json", secrets=(), env=MINE)
    for _, _, headers, _ in Origin.seen:
        lacks(str(headers), KEYS["AWS_ACCESS_KEY_ID"])
    check(Origin.seen or "403" in r.out, r)


@test
def an_incomplete_key_pair_is_reported(t):
    r = run(t, "true", secrets=("AWS_SECRET_ACCESS_KEY@good.test",), env=KEYS).ok()
    contains(r.err, "'AWS_SECRET_ACCESS_KEY' has a placeholder and 'AWS_ACCESS_KEY_ID' has none")
    r = signed(t, "true").ok()
    lacks(r.err, "has none")


@test
def awsPairs_of_a_repository_are_ignored(t):
    origins(Amazon)
    t.write("calls.py", SIGNER + 'send("GET", "/")\n')
    _, path = settings(t, awsPairs=[])
    t.write(".claude/settings.json", json.dumps({"sandbox": {"credentials": {"awsPairs": [
        {"accessKeyIdVar": "MY_ID", "secretAccessKeyVar": "MY_KEY"}]}}}))
    run(t, AS_AWS + "/usr/bin/python3 calls.py", "-s", path, secrets=(), env=MINE)
    check(Origin.seen)
    for _, _, headers, _ in Origin.seen:
        lacks(str(headers), KEYS["AWS_ACCESS_KEY_ID"])


@test
def a_key_bound_to_another_host_signs_nothing(t):
    origins(Amazon)
    t.write("calls.py", SIGNER + 'send("GET", "/")\n')
    r = signed(t, "/usr/bin/python3 calls.py", "--secret", "SECOND@good.test", hosts="other.test")
    contains(r.out, "403 the placeholder of a secret that is not bound")
    equal(Origin.seen, [])


@test
def requests_with_other_keys_pass_unchanged(t):
    origins(Amazon)
    t.write("calls.py", SIGNER + 'send("GET", "/")\n')
    own = {"AWS_ACCESS_KEY_ID": "AKIDOFTHECOMMAND", "AWS_SECRET_ACCESS_KEY": "its own",
           "AWS_SESSION_TOKEN": ""}
    run(t, "env " + " ".join(f"'{k}={v}'" for k, v in own.items()) + " /usr/bin/python3 calls.py").ok()
    equal(spoken(Origin.seen[0][2])[0], "AKIDOFTHECOMMAND")


@test
def over_http2_a_signed_body_needs_its_digest(t):
    """The head is judged before the body is here: without a digest it is refused"""
    need("nghttpd")
    if subprocess.run(["/usr/bin/python3", "-c", "import httpx, h2"],
                      capture_output=True).returncode:
        skip("no httpx with HTTP/2")
    p = subprocess.Popen(["nghttpd", "-v", "-a", GOOD, "-d", t.away, "443",
                          f"{CERTIFICATES}/good.key", f"{CERTIFICATES}/good.pem"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    t.write("calls.py", SIGNER + r'''
import httpx
def post(service, body, payload):
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = f"{date[:8]}/eu-test-1/{service}/aws4_request"
    headers = {"host": "good.test", "x-amz-date": date}
    if payload:
        headers["x-amz-content-sha256"] = payload
    names = sorted(headers)
    made = signature(os.environ["AWS_SECRET_ACCESS_KEY"], "POST", "/", "", headers, names,
                     payload or hashlib.sha256(body).hexdigest(), date, scope)
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}, " \
        f"SignedHeaders={';'.join(names)}, Signature={made}"
    r = httpx.Client(http2=True).post("https://good.test/", content=body, headers=headers)
    print(r.http_version, r.status_code, r.text.splitlines()[:1])
post("s3", b"data", hashlib.sha256(b"data").hexdigest())
post("s3", b"data", "UNSIGNED-PAYLOAD")
post("sts", b"data", None)
''')
    try:
        wait_for_port(p, (GOOD, 443))
        r = signed(t, "/usr/bin/python3 calls.py").ok()
    finally:
        p.kill()
        log = p.communicate()[0]
    lines = r.out.splitlines()
    check(all(line.startswith("HTTP/2 ") for line in lines), r.out)
    check("403" not in lines[0] + lines[1], r.out)
    contains(lines[2], "403")
    contains(r.err, "over HTTP/2 needs its digest")
    contains(r.err, "or speak HTTP/1.1")
    lacks(r.out + r.err, "8 MiB")
    heads = [{}]
    for line in log.splitlines():
        name, colon, value = line.partition("recv (stream_id=")[2].partition(") ")[2].partition(": ")
        if name in heads[-1]:
            heads.append({})
        if colon:
            heads[-1][name] = value
    equal(len(heads), 2, log)
    for head in heads:
        values = {**head, "host": "good.test", "Authorization": head["authorization"]}
        check(verifies("/", values, b"data", "POST"), head)
    for value in KEYS.values():
        lacks(r.out + r.err, value)


def botocore_verifies(path, headers, body, method):
    sys.path.append("/usr/lib/python3/dist-packages")
    import awscli	# Brings botocore along
    from botocore.auth import S3SigV4Auth, SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
    key, scope, names, made = spoken(headers)
    _, region, service, _ = scope.split("/")
    auth = (S3SigV4Auth if service == "s3" else SigV4Auth)(
        Credentials(key, KEYS["AWS_SECRET_ACCESS_KEY"]), service, region)
    request = AWSRequest(method, f"https://{headers['Host']}{path}",
                         {n: headers[n] for n in names}, body)
    request.context["timestamp"] = headers["x-amz-date"]
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return key == KEYS["AWS_ACCESS_KEY_ID"] and made == auth.signature(text, request)


def amazons_own_program_works(t):
    if subprocess.run(["aws", "--version"], capture_output=True).returncode:
        skip("aws is not installed")
    origins(Amazon)
    r = signed(t, """aws() { /usr/bin/aws --endpoint-url https://good.test --no-cli-pager "$@" >>out 2>&1; }
aws sts get-caller-identity
aws dynamodb list-tables
echo data > file
aws s3 cp file "s3://bucket/some key+~"
aws s3api list-objects-v2 --bucket bucket --prefix 'a b/ü'
aws iam list-users --path-prefix /x/
cat out""", env={"AWS_DEFAULT_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "1",
                 "AWS_EC2_METADATA_DISABLED": "true"})
    check(len(Origin.seen) >= 5, r.out, r.err)
    for method, (_, path, headers, body) in zip(Amazon.methods, Origin.seen):
        check(botocore_verifies(path, headers, body, method), method, path, str(headers))
    for value in KEYS.values():
        lacks(r.out + r.err, value)


def amazons_own_program_works_with_a_pair(t):
    """Variables of other names, from srt's settings; its own are set inside"""
    if subprocess.run(["aws", "--version"], capture_output=True).returncode:
        skip("aws is not installed")
    origins(Amazon)
    r = run(t, AS_AWS + """export AWS_DEFAULT_REGION=us-east-1 AWS_MAX_ATTEMPTS=1
AWS_EC2_METADATA_DISABLED=true /usr/bin/aws --endpoint-url https://good.test --no-cli-pager \
    sts get-caller-identity""", *settings(t), secrets=(), env=MINE)
    check(Origin.seen, r.out, r.err)
    for method, (_, path, headers, body) in zip(Amazon.methods, Origin.seen):
        check(botocore_verifies(path, headers, body, method), method, path, str(headers))


if LONG:
    test(amazons_own_program_works)
    test(amazons_own_program_works_with_a_pair)
own_host(NAMES)
make_certificates()
main()
