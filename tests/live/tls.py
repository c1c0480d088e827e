# SPDX-License-Identifier: Apache-2.0
"""tests/live/tls.py - requests with secrets that the command never holds

The origin is ours, with real TLS on port 443 of a network namespace; its authority is
in the store of that namespace.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tls_origin import *


@test
def clients_send_the_value_and_receive_the_placeholder(t):
    origins()
    r = run(t, """echo $TOKEN
curl -sS -m 20 -H "Authorization: Bearer $TOKEN" https://good.test/curl
curl -sS -m 20 -u "me:$TOKEN" https://good.test/basic
wget -T 20 -qO- --header "Authorization: token $TOKEN" https://good.test/wget
/usr/bin/python3 -c 'import os, urllib.request as u
print(u.urlopen(u.Request("https://good.test/python", headers={
    "Authorization": "Bearer " + os.environ["TOKEN"]})).read())'
NO_PROXY=* no_proxy=* node -e 'fetch("https://good.test/node", {headers: {
    authorization: "Bearer " + process.env.TOKEN}}).then(r => r.text()).then(console.log)'
""").ok()
    fake = r.out.splitlines()[0]
    check(fake.startswith("ghp_") and len(fake) == len(VALUE) and fake != VALUE, fake)
    lacks(r.out + r.err, VALUE)
    basic = base64.b64encode(f"me:{VALUE}".encode()).decode()
    equal(authorizations(), [f"Bearer {VALUE}", f"Basic {basic}", f"token {VALUE}",
                             f"Bearer {VALUE}", f"Bearer {VALUE}"])
    # What the origin echoed came back as the placeholder
    for name in ("curl", "wget", "python", "node"):
        check(any(name in line and fake in line for line in r.out.splitlines()), name,
              r.out)


@test
def npm_sends_the_token_of_a_registry(t):
    origins()
    t.write(".npmrc", "registry=https://good.test/\nfetch-retries=0\n"
            "//good.test/:_authToken=${TOKEN}\n")
    run(t, "npm view something", env={"npm_config_cache": t.dir + "/cache"})
    check(authorizations() and set(authorizations()) == {f"Bearer {VALUE}"},
          authorizations())


JAVA = """public class Get {
    public static void main(String[] a) throws Exception {
        var c = new java.net.URL("https://good.test/java").openConnection();
        c.setRequestProperty("Authorization", "Bearer " + System.getenv("TOKEN"));
        System.out.println(new String(c.getInputStream().readAllBytes()));
    }
}
"""


def has_java(t):
    modules = subprocess.run(["java", "--list-modules"], capture_output=True, text=True)
    if "jdk.compiler" not in modules.stdout or not os.path.exists(STORE + "/java/cacerts"):
        skip("no Java compiler, or no key store of the system's")
    origins()
    t.write("Get.java", JAVA)


@test
def java_trusts_the_key_store_that_is_shown(t):
    has_java(t)
    r = run(t, "java Get.java; keytool -list -cacerts -storepass changeit -alias cloche").ok()
    contains(r.out, "/java Bearer ghp_")
    contains(r.out, "trustedCertEntry")
    equal(authorizations(), [f"Bearer {VALUE}"])
    # All that is in the system's is still there
    script = "keytool -list -cacerts -storepass changeit | grep -c trustedCertEntry"
    equal(int(run(t, script).ok().out), int(t.shell(script).ok().out) + 1)


@test
def java_with_its_own_trust_store_is_reported(t):
    has_java(t)
    r = run(t, """openssl x509 -in /etc/ssl/certs/ca-certificates.crt > one.pem
keytool -importcert -noprompt -keystore own.jks -storepass changeit -file one.pem 2>&1
java -Djavax.net.ssl.trustStore=own.jks -Djavax.net.ssl.trustStorePassword=changeit Get.java""")
    check(r.code != 0, r)
    contains(r.err, "does not trust the run's certificate authority")
    equal(Origin.seen, [])


@test
def git_over_https_authenticates(t):
    origins()
    run(t, f"git -c credential.helper= ls-remote https://me:$TOKEN@good.test/repo.git",
        env={"GIT_TERMINAL_PROMPT": "0"})
    basic = base64.b64encode(f"me:{VALUE}".encode()).decode()
    check(Origin.seen and all(a in (None, f"Basic {basic}") for a in authorizations()),
          authorizations())


@test
def the_value_appears_nowhere_in_the_sandbox(t):
    origins()
    r = run(t, """cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; env
for f in /proc/self/fd/*; do readlink $f; done
grep -rs TheReal''Value . /tmp /dev/shm $HOME /etc/ssl && echo found
ls ~/.local/state/cloche; ps -ef 2>/dev/null || true""")
    lacks(r.out + r.err, "TheRealValue")
    # The control: a variable that is passed
    r = t.shell("env", options=("--env", "TOKEN"), env={**os.environ, **ENV})
    contains(r.ok().out, VALUE)


@test
def a_placeholder_for_another_host_is_refused_with_the_binding_command(t):
    origins()
    r = run(t, """curl -sS -m 20 -i -H "Authorization: Bearer $TOKEN" https://other.test/
curl -sS -m 20 -H "X-Api-Key: $SECOND" https://other.test/second""",
            secrets=("TOKEN@good.test", "SECOND@other.test"))
    contains(r.out, "HTTP/1.1 403 the placeholder of a secret that is not bound")
    contains(r.out, "cloche secret bind TOKEN other.test")
    contains(r.err, "other.test")
    equal([path for _, path, _, _ in Origin.seen], ["/second"])
    equal(Origin.seen[0][2]["X-Api-Key"], SECOND)


@test
def a_placeholder_in_plain_http_is_refused(t):
    origins()
    r = run(t, """curl -sS -m 20 -i -H "Authorization: Bearer $TOKEN" http://good.test/
curl -sS -m 20 http://good.test/without""")
    contains(r.out, "HTTP/1.1 403 a secret's placeholder in a request without TLS")
    equal([path for _, path, _, _ in Origin.seen], ["/without"])


@test
def placeholders_outside_credential_fields_are_kept(t):
    origins()
    r = run(t, """echo $TOKEN
curl -sS -m 20 -A "$TOKEN" -e "http://x/$TOKEN" -b "c=$TOKEN" \
    -d "text=$TOKEN" "https://good.test/?q=$TOKEN" """).ok()
    fake = r.out.splitlines()[0]
    _, path, headers, body = Origin.seen[0]
    for text in (path, headers["User-Agent"], headers["Referer"], headers["Cookie"],
                 body.decode()):
        contains(text, fake)
    lacks(repr([(path, str(headers), body)]), VALUE)


@test
def tls_to_other_hosts_is_end_to_end(t):
    origins()
    script = """for h in good.test other.test; do openssl s_client -connect $h:443 \
        -servername $h -proxy 127.0.0.1:3128 </dev/null 2>/dev/null |
        openssl x509 -noout -issuer; done"""
    r = run(t, script, "--allow", "other.test").ok()
    lines = r.out.splitlines()
    contains(lines[0], "this run only")
    contains(lines[1], "test authority")


@test
def nothing_is_sent_to_an_unverified_certificate(t):
    origins()
    for host, why in (("expired.test", "expired"), ("wrong.test", "mismatch"),
                      ("selfsigned.test", "self-signed")):
        r = run(t, f'curl -sS -m 20 -i -H "Authorization: Bearer $TOKEN" https://{host}/',
                secrets=(f"TOKEN@{host}",))
        contains(r.out, "HTTP/1.1 502", host, r.err)
        contains(r.out, why, host)
        contains(r.err, host)
    equal(Origin.seen, [])


@test
def bodies_and_websockets_pass_unchanged(t):
    origins()
    size = 3 << 20
    r = run(t, f"""head -c {size} /dev/zero | tr '\\0' x > body
for h in 'X-A: b' 'Transfer-Encoding: chunked'; do
    curl -sS -m 30 -H "Authorization: Bearer $TOKEN" -H "$h" -T body https://good.test/put
done
curl -sS -m 30 -H "Authorization: Bearer $TOKEN" https://good.test/big | sha256sum
/usr/bin/python3 -c 'import os, socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(("good.test", 443)),
                                             server_hostname="good.test")
s.sendall(b"GET /ws HTTP/1.1\\r\\nHost: good.test\\r\\nUpgrade: websocket\\r\\n"
          b"Connection: Upgrade\\r\\nSec-WebSocket-Key: x\\r\\nSec-WebSocket-Version: 13\\r\\n"
          b"Authorization: Bearer " + os.environ["TOKEN"].encode() + b"\\r\\n\\r\\nabcd")
data = b""
while piece := s.recv(100):
    data += piece
print(data[-4:])'
""").ok()
    digest = hashlib.sha256(b"x" * size).hexdigest()[:8]
    equal(r.out.count(digest), 2, r.out)
    contains(r.out, hashlib.sha256(bytes(range(256)) * 8192).hexdigest())
    contains(r.out, "b'dcba'")
    equal(set(authorizations()), {f"Bearer {VALUE}"})


@test
def each_request_of_a_connection_is_decided(t):
    origins()
    r = run(t, """curl -sS -m 20 -H "Authorization: Bearer $TOKEN" https://good.test/1 \
    --next -sS -m 20 https://good.test/2 \
    --next -sS -m 20 -H "X-Api-Key: $SECOND" https://good.test/3""",
            secrets=("TOKEN@good.test", "SECOND@other.test"))
    contains(r.out, "secret bind SECOND good.test")
    equal([(path, headers.get("Authorization")) for _, path, headers, _ in Origin.seen],
          [("/1", f"Bearer {VALUE}"), ("/2", None)])


@test
def denying_a_host_closes_its_connections(t):
    origins()
    t.write(t.home + "/.claude/settings.json", "{}")
    t.run("secret", "bind", "TOKEN", "good.test").ok()
    p = t.start("run", "--", "/usr/bin/python3", "-c", """
import os, socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(("good.test", 443)),
                                             server_hostname="good.test")
request = b"GET /1 HTTP/1.1\\r\\nHost: good.test\\r\\nAuthorization: Bearer " + \\
          os.environ["TOKEN"].encode() + b"\\r\\n\\r\\n"
for _ in range(2):
    s.sendall(request)
    answer = b""
    while b"Bearer" not in answer and (piece := s.recv(4096)):
        answer += piece
    print(answer[:12], flush=True)
try: print(s.recv(1), flush=True)
except OSError: print("cut", flush=True)
""", env={**os.environ, **ENV})
    for _ in range(2):
        equal(p.stdout.readline(), b"b'HTTP/1.1 200'\n")
    path = t.home + "/.claude/settings.json"
    with open(path + ".new", "w") as file:
        json.dump({"sandbox": {"network": {"deniedDomains": ["good.test"]}}}, file)
    os.rename(path + ".new", path)
    check(p.stdout.readline() in (b"b''\n", b"cut\n"))
    p.communicate()
    equal(authorizations(), [f"Bearer {VALUE}"] * 2)


@test
def after_cloche_tls_dies_nothing_is_sent(t):
    origins()
    p = t.start("run", "--secret", "TOKEN@good.test", "--", "sh", "-c",
                'echo ready; read x; curl -sS -m 20 -H "Authorization: Bearer $TOKEN" '
                "https://good.test/", env={**os.environ, **ENV})
    equal(p.stdout.readline(), b"ready\n")
    pids = subprocess.run(["pgrep", "-P", str(p.pid), "-x", "cloche-tls"],
                          capture_output=True, text=True).stdout.split()
    equal(len(pids), 1)
    os.kill(int(pids[0]), signal.SIGKILL)
    _, err = p.communicate(b"\n")
    check(p.returncode != 0, err)
    contains(err.decode(), "good.test")
    equal(Origin.seen, [])


@test
def an_unreadable_secret_ends_the_run_at_the_start(t):
    t.write("secret", "short")
    for options, words in (
            (("--secret", "MISSING@good.test"), "MISSING"),
            (("--secret", "TOKEN=value@good.test"), "a value in an argument"),
            (("--secret", "TOKEN@127.0.0.1"), "not to addresses"),
            (("--secret", "TOKEN"), "which hosts"),
            (("--secret", "T-K@good.test"), "not the name of a variable"),
            (("--secret", "T@good.test", "--secret-from", f"T=file:{t.dir}/secret"),
             "5 bytes"),
            (("--secret", "T@good.test", "--secret-from", "T=command:exit 3"),
             "no value"),
            (("--secret", "T@good.test", "--secret-from", "T=nonsense"), "env:"),
            (("--secret", "TOKEN@good.test", "--net", "none"), "filtered")):
        r = t.inside("touch", "ran", options=options, env={**os.environ, **ENV})
        r.ended(125)
        contains(r.err, words)
        lacks(r.err, VALUE)
        check(not t.exists("ran"), options)


@test
def a_hanging_value_source_times_out_and_is_killed(t):
    r = t.inside("touch", "ran", options=("--secret", "T@good.test", "--secret-from",
                                          "T=command:exec sleep 1000"))
    contains(r.ended(125).err, "no value was received within 10 s")
    check(not t.exists("ran"))		# The harness finds a sleep that is left


@test
def a_missing_cloche_tls_is_refused(t):
    shutil.copy(CLOCHE, t.away + "/cloche")
    r = t.outside(t.away + "/cloche", "run", "--secret", "TOKEN@good.test", "--", "touch",
                  "ran", env=ENV)
    contains(r.ended(125).err, "is it installed beside cloche?")
    check(not t.exists("ran"))
    t.outside(t.away + "/cloche", "run", "--", "touch", "ran").ok()
    check(t.exists("ran"))


@test
def an_unusable_openssl_configuration_ends_the_run(t):
    """Its settings ask for algorithms that no provider has"""
    t.write(t.away + "/openssl.cnf", "openssl_conf = a\n[a]\nalg_section = b\n"
            "[b]\ndefault_properties = fips=yes\n")
    call("mount", "--bind", t.away + "/openssl.cnf", "/etc/ssl/openssl.cnf")
    try:
        r = run(t, "touch ran")
    finally:
        call("umount", "/etc/ssl/openssl.cnf")
    r.ended(125)
    contains(r.err, "secret 'TOKEN'")
    contains(r.err, "OpenSSL")
    check(not t.exists("ran"))
    run(t, "touch ran").ok()


@test
def old_tls_versions_and_early_data_are_refused(t):
    origins()
    client = """openssl s_client -connect good.test:443 -servername good.test \
    -proxy 127.0.0.1:3128 """
    r = run(t, client + "-tls1_1 -cipher ALL:@SECLEVEL=0 </dev/null 2>&1")
    contains(r.out, "alert protocol version")
    contains(r.err, "offers no TLS 1.2")
    r = run(t, client + "-tls1_2 </dev/null; " + client + "-tls1_3 </dev/null").ok()
    equal(r.out.count("Verify return code: 0 (ok)"), 2, r.out)
    # No ticket: nothing to send early data with
    lacks(r.out, "session ticket")


@test
def a_wildcard_binding_covers_subdomains(t):
    origins()
    script = 'curl -sS -m 20 -i -H "X-Api-Key: $TOKEN" https://{}/'
    run(t, script.format("sub.good.test"), secrets=("TOKEN@*.good.test",)).ok()
    equal([h["X-Api-Key"] for _, _, h, _ in Origin.seen], [VALUE])
    r = run(t, script.format("good.test"), "--allow", "good.test",
            secrets=("TOKEN@*.good.test",)).ok()
    lacks(repr([str(h) for _, _, h, _ in Origin.seen[1:]]), VALUE)


@test
def killing_cloche_tls_truncates_the_response(t):
    origins()
    p = t.start("run", "--secret", "TOKEN@good.test", "--", "sh", "-c",
                'curl -sSN -m 60 -H "X-Api-Key: $TOKEN" https://good.test/half | '
                "{ head -c 1; echo; cat >/dev/null; }; echo ended",
                env={**os.environ, **ENV})
    equal(p.stdout.readline(), b"/\n")
    pids = subprocess.run(["pgrep", "-P", str(p.pid), "-x", "cloche-tls"],
                          capture_output=True, text=True).stdout.split()
    os.kill(int(pids[0]), signal.SIGKILL)
    out, err = p.communicate()
    equal(out, b"ended\n")
    contains(err.decode(), "curl: (")


@test
def the_suggested_command_binds_the_secret(t):
    origins()
    script = 'curl -sS -m 20 -H "Authorization: Bearer $TOKEN" https://other.test/x'
    r = run(t, script, secrets=("TOKEN@good.test", "SECOND@other.test"))
    line = [l for l in r.out.splitlines() if l.startswith("to allow it: ")][0]
    words = line.removeprefix("to allow it: ").split()
    equal(words[:3], ["cloche", "secret", "bind"])
    t.run(*words[1:]).ok()
    run(t, script, secrets=("SECOND@other.test",)).ok()
    equal(authorizations(), [f"Bearer {VALUE}"])
    # Where there is no value, settings that bind one end nothing
    r = t.shell("env").ok()
    lacks(r.out, "TOKEN=")


@test
def a_masked_variable_of_srts_settings_is_injected(t):
    origins()
    t.write(t.away + "/srt.json", json.dumps({
        "network": {"allowedDomains": ["good.test"], "deniedDomains": [],
                    "tlsTerminate": {}},
        "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []},
        "credentials": {"envVars": [{"name": "TOKEN", "mode": "mask",
                                     "injectHosts": ["good.test"]}]}}))
    r = run(t, 'echo $TOKEN; curl -sS -m 20 -H "X-Api-Key: $TOKEN" https://good.test/',
            "-s", t.away + "/srt.json", secrets=()).ok()
    check(r.out.startswith("ghp_") and VALUE not in r.out, r.out)
    equal([headers["X-Api-Key"] for _, _, headers, _ in Origin.seen], [VALUE])


@test
def an_authority_of_the_users_own_verifies_a_bound_host(t):
    origins()
    for authority, works in (("self.pem", True), ("good.key", False), ("no", False)):
        t.write(t.away + "/own.json", json.dumps({
            "secrets": ["TOKEN@selfsigned.test"], "network": {"tlsTerminate": {
                "extraCaCertPaths": [f"{CERTIFICATES}/{authority}"]}}}))
        r = run(t, 'curl -sS -m 20 -H "X-Api-Key: $TOKEN" https://selfsigned.test/',
                "-s", t.away + "/own.json", secrets=())
        if works:
            r.ok()
        else:
            contains(r.ended(125).err, "no certificate authority that can be read")
    equal([headers["X-Api-Key"] for _, _, headers, _ in Origin.seen], [VALUE])


@test
def bindings_of_a_repository_are_ignored(t):
    origins()
    t.outside("git", "init", "-q").ok()
    t.write(".cloche.json", json.dumps({
        "secrets": ["TOKEN@other.test"], "network": {"tlsTerminate": {}},
        "credentials": {"envVars": [{"name": "TOKEN", "mode": "mask",
                                     "injectHosts": ["other.test"]}]}}))
    script = 'curl -sS -m 20 -H "Authorization: Bearer $TOKEN" https://other.test/x'
    run(t, script, secrets=())
    t.run("trust", "--yes")
    r = run(t, "env; " + script, secrets=())
    check(r.code != 0, r)
    lacks(r.out, "TOKEN=")
    equal(Origin.seen, [])


@test
def values_are_read_from_files_and_commands(t):
    origins()
    path = t.away + "/value"
    with open(path, "w") as file:
        file.write("value-in-a-file-1\n")
    r = run(t, """for v in "$A" "$B" "$C"; do
    curl -sS -m 20 -H "X-Api-Key: $v" https://good.test/; done""",
            "--secret-from", f"A=file:{path}", "--secret-from",
            "B=command:echo value-of-a-command", "--secret-from", "C=env:TOKEN",
            secrets=("A@good.test", "B@good.test", "C@*.good.test,good.test")).ok()
    equal([headers["X-Api-Key"] for _, _, headers, _ in Origin.seen],
          ["value-in-a-file-1", "value-of-a-command", VALUE])


@test
def settings_limit_a_secret_to_requests(t):
    origins()
    t.write(t.home + "/.token", "value-in-a-file-1\n")
    t.write(t.away + "/own.json", json.dumps({"secrets": {
        "A": {"hosts": ["good.test"], "from": "file:~/.token", "header": "X-Acme",
              "path": "/v1"},
        "TOKEN": {"hosts": ["good.test", "sub.good.test"], "method": "POST"}}}))
    r = run(t, """get() { curl -sS -m 20 -o /dev/null -w '%{http_code} ' "$@"; }
get -H "X-Acme: $A" https://good.test/v1/x
get -H "X-Acme: $A" https://good.test/v2
get -H "X-Api-Key: $TOKEN" https://sub.good.test/
get -d x -H "X-Api-Key: $TOKEN" https://sub.good.test/""", "-s", t.away + "/own.json",
            secrets=()).ok()
    equal(r.out.split(), ["200", "403", "403", "200"], r.err)
    equal([(path, headers["X-Acme"], headers["X-Api-Key"])
           for _, path, headers, _ in Origin.seen],
          [("/v1/x", "value-in-a-file-1", None), ("/", None, VALUE)])
    for wrong, words in (({"A": {}}, "hosts"), ({"A": {"hosts": ["x.test"], "ttl": "soon"}}, "ttl"),
                         ({"A": {"hosts": ["x.test"], "from": "/x"}}, "env:"),
                         ({"A": {"hosts": ["x.test"], "path": "x"}}, "begin with /"),
                         ({"A": "x.test"}, "hosts")):
        t.write(t.away + "/own.json", json.dumps({"secrets": wrong}))
        r = run(t, "touch ran", "-s", t.away + "/own.json", secrets=())
        contains(r.ended(125).err, words)
        check(not t.exists("ran"), wrong)


@test
def records_name_the_secrets_that_were_sent(t):
    origins()
    run(t, """for i in 1 2; do curl -sS -m 20 -H "X-Api-Key: $TOKEN" https://good.test/; done
curl -sS -m 20 https://other.test/""",
        secrets=("TOKEN@good.test", "SECOND@other.test")).ok()
    page = t.run("report").ok().out
    equal(page.count('"secrets":'), 1)
    contains(page, '"secrets":"TOKEN@good.test"')
    # What cloche-tls has moved is counted as well
    [row] = re.findall(r'good\.test:443=(\d+)/(\d+)/(\d+)', page)
    check(int(row[0]) == 2 and int(row[1]) > 500 and int(row[2]) > 500, row)
    lacks(page, VALUE)
    r = t.run("explain", "--secret", "TOKEN@good.test", "--", "true",
              env={**os.environ, **ENV}).ok()
    contains(r.out, "TOKEN@good.test")
    lacks(r.out, VALUE)


@test
def a_placeholder_is_stable_across_runs_of_a_project(t):
    origins()
    first, second = (run(t, "echo $TOKEN").ok().out for _ in range(2))
    equal(first, second)
    os.mkdir(t.dir + "/sub")
    t.outside("git", "init", "-q", "elsewhere", cwd=t.away).ok()
    third = run(t, "echo $TOKEN", "--cwd", t.away + "/elsewhere").ok().out
    check(third != first, "another project")


@test
def incompatible_clients_are_reported(t):
    origins()
    r = run(t, """openssl s_client -connect good.test:443 -servername good.test -alpn h2 \
    -proxy 127.0.0.1:3128 </dev/null >/dev/null 2>&1
curl -sS -m 20 --cacert /dev/null https://good.test/
curl -sS -m 20 --capath /nonexistent --cacert ~/own.pem https://good.test/""")
    contains(r.err, "offers no HTTP/1.1")
    equal(Origin.seen, [])


@test_if(LONG)
def ten_thousand_connections_use_bounded_memory(t):
    """The gate takes some at a time and refuses the rest; nothing hangs, and the next works"""
    origins()
    r = run(t, r'''/usr/bin/python3 -c '
import resource, socket, ssl
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
context = ssl.create_default_context()
kept = []
for i in range(10000):
    s = socket.create_connection(("good.test", 443))
    out = ssl.MemoryBIO()
    try: context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="good.test").do_handshake()
    except ssl.SSLWantReadError: pass
    try: s.sendall(out.read())
    except OSError: continue
    kept.append(s)
    if len(kept) > 4000:
        kept.pop(0).close()
print("sent")
'
curl -sS -m 60 -H "X-Api-Key: $TOKEN" https://good.test/after''').ok()
    contains(r.out, "sent")
    equal([h["X-Api-Key"] for _, path, h, _ in Origin.seen if path == "/after"], [VALUE])


own_host(NAMES)
make_certificates()
main()
