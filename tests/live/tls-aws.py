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
def what_a_placeholder_signed_is_signed_again(t):
    origins(Amazon)
    t.write("calls.py", SIGNER + r'''
send("GET", "/", "Action=GetCallerIdentity&Version=2011-06-15")
send("POST", "/", body=b"Action=AssumeRole" * 10000)
send("PUT", "/bucket/a%20b~c", "x-id=PutObject", "s3", b"data", "UNSIGNED-PAYLOAD")
send("PUT", "/bucket/b", "", "s3", b"data", hashlib.sha256(b"data").hexdigest())
send("GET", "/a%20b", "z=1&a=%2F&a=", "dynamodb", token=False)
''')
    r = signed(t, "env | grep ^AWS_; /usr/bin/python3 calls.py").ok()
    equal(r.out.splitlines()[-5:], ["200"] * 5, r.err)
    contains(r.out, "AWS_ACCESS_KEY_ID=AKIA")
    equal(len(Origin.seen), 5)
    for method, (_, path, headers, body) in zip(Amazon.methods, Origin.seen):
        check(verifies(path, headers, body, method), path, str(headers))
    equal([h.get("x-amz-security-token") for _, _, h, _ in Origin.seen],
          [KEYS["AWS_SESSION_TOKEN"]] * 4 + [None])
    for value in KEYS.values():
        lacks(r.out + r.err, value)


@test
def what_cannot_be_signed_again_is_refused_with_the_reason(t):
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
    equal(len(Origin.seen), 1)


@test
def a_key_for_another_host_signs_nothing(t):
    origins(Amazon)
    t.write("calls.py", SIGNER + 'send("GET", "/")\n')
    r = signed(t, "/usr/bin/python3 calls.py", "--secret", "SECOND@good.test", hosts="other.test")
    contains(r.out, "403 the placeholder of a secret that is not bound")
    equal(Origin.seen, [])


@test
def keys_that_are_not_ours_pass(t):
    origins(Amazon)
    t.write("calls.py", SIGNER + 'send("GET", "/")\n')
    own = {"AWS_ACCESS_KEY_ID": "AKIDOFTHECOMMAND", "AWS_SECRET_ACCESS_KEY": "its own",
           "AWS_SESSION_TOKEN": ""}
    run(t, "env " + " ".join(f"'{k}={v}'" for k, v in own.items()) + " /usr/bin/python3 calls.py").ok()
    equal(spoken(Origin.seen[0][2])[0], "AKIDOFTHECOMMAND")


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


if LONG:
    test(amazons_own_program_works)
own_host(NAMES)
make_certificates()
main()
