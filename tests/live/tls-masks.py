# SPDX-License-Identifier: Apache-2.0
"""tests/live/tls-masks.py - files and variables in which placeholders stand for secrets

Settings as srt and Claude Code have them: credentials.files and credentials.envVars with
mode "mask", extract, decode and maskClaims.
"""

import base64
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tls_origin import *

THIRD = "glpat-AnotherReal_Value1"


def settings(t, **credentials):
    """srt's own file, which has all of it"""
    path = t.away + "/srt.json"
    with open(path, "w") as file:
        json.dump({"network": {"allowedDomains": ["good.test", "other.test"],
                               "deniedDomains": [], "tlsTerminate": {}},
                   "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []},
                   "credentials": credentials}, file)
    return "-s", path


def masked(t, path, **more):
    return settings(t, files=[{"path": path, "mode": "mask",
                               "injectHosts": ["good.test"], **more}])


@test
def a_masked_file_shows_placeholders_and_values_are_sent(t):
    origins()
    text = f"machine good.test\n  login me\n  password {VALUE}\nmachine x password {THIRD}\n"
    t.write(t.home + "/.netrc", text)
    r = run(t, "cat ~/.netrc; curl -sS -m 20 -n https://good.test/netrc",
            *masked(t, "~/.netrc", extract=r"password\s+(\S+)"), secrets=()).ok()
    lines = r.out.splitlines()
    equal(lines[:2], text.splitlines()[:2])
    check(lines[2].startswith("  password ghp_") and len(lines[2]) == len("  password " + VALUE))
    check(lines[3].startswith("machine x password glpat-"), lines)
    lacks(r.out + r.err, VALUE)
    lacks(r.out + r.err, THIRD)
    basic = base64.b64encode(f"me:{VALUE}".encode()).decode()
    equal(authorizations(), [f"Basic {basic}"])
    # The control: without the mask it is readable, by a rule
    r = t.shell("cat ~/.netrc", options=("--read", t.home + "/.netrc")).ok()
    contains(r.out, VALUE)


@test
def a_masked_file_in_a_hidden_directory_is_shown(t):
    origins()
    t.write(t.home + "/.aws/credentials", f"[default]\naws_secret_access_key = {THIRD}\n")
    t.write(t.home + "/.aws/config", "[default]\nregion = x\n")
    t.write(t.home + "/.config/gh/hosts.yml", f"good.test:\n    oauth_token: {VALUE}\n")
    options = settings(t, files=[
        {"path": "~/.aws/credentials", "mode": "mask", "extract": r"secret_access_key\s*=\s*(\S+)"},
        {"path": "~/.config/gh/hosts.yml", "mode": "mask", "extract": r"oauth_token:\s*(\S+)"}])
    for profile in ("default", "home"):
        r = run(t, """cat ~/.aws/credentials; cat ~/.config/gh/hosts.yml; cat ~/.aws/config
T=$(sed -n 's/.*token: //p' ~/.config/gh/hosts.yml)
curl -sS -m 20 -H "Authorization: token $T" https://good.test/x""", *options,
                *(("--profile", profile) if profile != "default" else ()), secrets=())
        contains(r.out, "aws_secret_access_key = glpat-", profile, r.err)
        contains(r.out, "oauth_token: ghp_", profile)
        lacks(r.out, "region = x")
        lacks(r.out + r.err, VALUE)
        lacks(r.out + r.err, THIRD)
    equal(authorizations(), [f"token {VALUE}"] * 2)


@test
def a_project_file_can_be_masked(t):
    origins()
    t.write(".env", f"A=1\nAPI_KEY={VALUE}\n# old: {VALUE}\n")
    r = run(t, """. ./.env; cat .env
curl -sS -m 20 -H "X-Api-Key: $API_KEY" https://good.test/
echo x > .env; echo "wrote $?"; grep -c . .env""",
            *masked(t, t.dir + "/.env", extract="API_KEY=(.+)"), secrets=())
    contains(r.out, "A=1\nAPI_KEY=ghp_")
    lacks(r.out + r.err, VALUE)
    lacks(r.out, "wrote 0")
    equal([h["X-Api-Key"] for _, _, h, _ in Origin.seen], [VALUE])
    with open(t.dir + "/.env") as file:
        contains(file.read(), VALUE)


@test
def a_file_without_extract_is_one_placeholder(t):
    origins()
    t.write(t.home + "/.token", VALUE + "\n")
    r = run(t, """cat ~/.token
curl -sS -m 20 -H "Authorization: Bearer $(cat ~/.token)" https://good.test/""",
            *masked(t, "~/.token"), secrets=()).ok()
    check(r.out.startswith("ghp_") and r.out.splitlines()[0] != VALUE, r.out)
    equal(authorizations(), [f"Bearer {VALUE}"])


@test
def a_variable_can_be_masked_partially_or_without_hosts(t):
    origins()
    url = f"https://me:{VALUE}@good.test/db"
    options = settings(t, envVars=[
        {"name": "DATABASE_URL", "mode": "mask", "extract": "://[^:]+:([^@]+)@",
         "injectHosts": ["good.test"]},
        {"name": "SECOND", "mode": "mask"}])
    r = run(t, """echo $DATABASE_URL; echo $SECOND; curl -sS -m 20 $DATABASE_URL
for h in good.test other.test; do curl -sS -m 20 -H "X-Api-Key: $SECOND" https://$h/; done""",
            *options, secrets=(), env={"DATABASE_URL": url}).ok()
    lines = r.out.splitlines()
    check(lines[0].startswith("https://me:ghp_") and lines[0].endswith("@good.test/db"), lines)
    check(lines[1] != SECOND and len(lines[1]) == len(SECOND), lines)
    lacks(r.out + r.err, VALUE)
    basic = base64.b64encode(f"me:{VALUE}".encode()).decode()
    equal(authorizations(), [f"Basic {basic}", None, None])
    equal([h["X-Api-Key"] for _, _, h, _ in Origin.seen[1:]], [SECOND] * 2)


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@test
def a_token_is_decoded_and_its_claims_masked(t):
    origins()
    token = f"{part({'alg': 'HS256'})}.{part({'iss': 'x', 'key': SECOND})}.{'s' * 43}"
    t.write(t.home + "/auth.json", json.dumps({"id": token, "not": "eyJub3Q.eyJhIjoxfQ.token"}))
    options = masked(t, "~/auth.json", decode="jwt", maskClaims=["key", "absent"])
    r = run(t, """cat ~/auth.json; /usr/bin/python3 -c 'import base64, json, os, urllib.request as u
token = json.load(open(os.environ["HOME"] + "/auth.json"))["id"]
claims = token.split(".")[1]
key = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["key"]
for name, value in (("Authorization", "Bearer " + token), ("X-Api-Key", key)):
    u.urlopen(u.Request("https://good.test/", headers={name: value})).read()'""",
            *options, secrets=()).ok()
    shown = json.loads(r.out)
    equal(shown["not"], "eyJub3Q.eyJhIjoxfQ.token")
    check(shown["id"] != token and len(shown["id"]) == len(token), shown)
    lacks(r.out, token.split(".")[1])
    equal(authorizations(), [f"Bearer {token}", None])
    equal(Origin.seen[1][2]["X-Api-Key"], SECOND)


@test
def a_mask_without_a_match_follows_the_settings(t):
    t.write(t.home + "/.netrc", f"nothing to see {VALUE}\n")
    for said, shown, words in ((None, False, "its mask found no secret"),
                               ("deny", False, "stays hidden"),
                               ("warn", True, "is shown as it is"), ("error", None, "onExtractNoMatch")):
        more = {"onExtractNoMatch": said} if said else {}
        r = run(t, "touch ran; cat ~/.netrc", *masked(t, "~/.netrc", extract="password (\\S+)", **more),
                secrets=())
        contains(r.err, words, said)
        equal(VALUE in r.out, bool(shown), said)
        equal(t.exists("ran"), shown is not None, said)
        if t.exists("ran"):
            os.unlink(t.dir + "/ran")


@test
def files_that_cannot_be_masked_are_hidden(t):
    for name, content, more, words in (
            ("many", "first line\nsecond\n", {}, "control character"),
            ("short", "key=abc", {"extract": "key=(\\w+)"}, "3 bytes"),
            ("binary", b"key=abcdefgh\xff\xfe", {"extract": "key=(\\w+)"}, "UTF-8"),
            ("slow", "a" * 60 + "b", {"extract": "((a+)+)+$"}, "too many steps"),
            ("large", "key=abcdefgh\n" * 5000, {"extract": "key=(\\w+)"}, "49152 bytes")):
        path = f"{t.home}/{name}"
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        r = run(t, f"cat {path}; echo went on", *masked(t, path, **more), secrets=())
        equal(r.out, "went on\n", name, r.err)
        contains(r.err, "stays hidden", name)
        contains(r.err, words, name)
    # A file that is not there is no matter
    run(t, "true", *masked(t, "~/absent"), secrets=()).ok()


@test
def a_files_placeholder_is_replaced_for_its_hosts_only(t):
    origins()
    t.write(t.home + "/.token", VALUE + "\n")
    r = run(t, 'curl -sS -m 20 -H "X-Api-Key: $(cat ~/.token)" https://other.test/',
            *settings(t, files=[{"path": "~/.token", "mode": "mask", "injectHosts": ["good.test"]}],
                      envVars=[{"name": "SECOND", "mode": "mask", "injectHosts": ["other.test"]}]),
            secrets=())
    contains(r.out, "add the host to injectHosts")
    equal(Origin.seen, [])


@test
def masks_of_a_repository_are_ignored(t):
    origins()
    t.outside("git", "init", "-q").ok()
    t.write(t.home + "/.token", VALUE + "\n")
    t.write(".cloche.json", json.dumps({
        "network": {"tlsTerminate": {}, "allowedDomains": ["good.test"]},
        "credentials": {"files": [{"path": "~/.token", "mode": "mask"}]}}))
    t.run("trust", "--yes")
    script = 'cat ~/.token; curl -sS -m 20 -H "X-Api-Key: $(cat ~/.token)" https://good.test/'
    options = settings(t, files=[{"path": "~/.token", "mode": "deny"}])
    r = run(t, script, *options, secrets=())
    lacks(r.out + r.err, "ghp_")
    lacks(str([str(h) for _, _, h, _ in Origin.seen]), VALUE)
    # The control: the user's own settings do
    run(t, script, *masked(t, "~/.token"), secrets=()).ok()
    equal(Origin.seen[-1][2]["X-Api-Key"], VALUE)


own_host(NAMES)
make_certificates()
main()
