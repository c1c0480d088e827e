# SPDX-License-Identifier: Apache-2.0
"""tests/live/tls-faults.py - secrets, and clients, stores and sources that misbehave"""

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
def a_placeholder_split_over_records_is_replaced(t):
    """A TLS record for each byte of the head"""
    origins()
    r = run(t, """/usr/bin/python3 -c 'import os, socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(("good.test", 443)),
                                             server_hostname="good.test")
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for c in ("GET / HTTP/1.1\\r\\nHost: good.test\\r\\nAuthorization: Bearer " +
          os.environ["TOKEN"] + "\\r\\nConnection: close\\r\\n\\r\\n").encode():
    s.sendall(bytes((c,)))
print(s.recv(12))'""").ok()
    contains(r.out, "HTTP/1.1 200")
    equal(authorizations(), [f"Bearer {VALUE}"])


@test
def a_second_handshake_is_refused(t):
    origins()
    client = """openssl s_client -tls1_2 -connect good.test:443 -servername good.test \
    -proxy 127.0.0.1:3128 2>&1"""
    r = run(t, f"echo R | {client}")
    contains(r.out, "no renegotiation")
    # The control: without that letter it is a session like any other
    r = run(t, f"echo Q | {client}").ok()
    contains(r.out, "Verify return code: 0 (ok)")
    lacks(r.out, "no renegotiation")
    equal(Origin.seen, [])


@test
def the_source_of_a_value_is_hidden(t):
    """Whatever the variable is called, and wherever the file is"""
    origins()
    value = "plain-words-of-a-value-77"
    t.write("token", value)
    t.write(t.home + "/elsewhere", value)
    os.symlink("token", t.dir + "/link")
    script = "env; cat token link ~/elsewhere; cat /proc/[0-9]*/environ; true"
    more = {"env": {"ACME_SETTING": value}}
    # The control: unbound, all of it is there
    check(run(t, script, secrets=(), **more).out.count(value) >= 5)
    r = run(t, script + '; for v in "$A" "$B" "$C"; do curl -sS -m 60 -H "X-Api-Key: $v" '
            "https://good.test/; done", "--secret-from", "A=file:link", "--secret-from",
            "B=file:~/elsewhere", "--secret-from", "C=env:ACME_SETTING",
            secrets=("A@good.test", "B@good.test", "C@good.test"), **more)
    lacks(r.out + r.err, value)
    equal([h["X-Api-Key"] for _, _, h, _ in Origin.seen], [value] * 3)


@test
def secret_from_overrides_settings(t):
    origins()
    t.write(t.home + "/.config/cloche/policy.json", json.dumps({"secrets": {
        "A": {"hosts": ["good.test"], "from": f"command:touch {t.away}/ran; echo value-of-settings"}}}))
    script = 'curl -sS -m 60 -H "X-Api-Key: $A" https://good.test/'
    run(t, script, "--secret-from", "A=env:TOKEN", secrets=()).ok()
    check(not os.path.exists(t.away + "/ran"))
    run(t, script, secrets=()).ok()
    equal([h["X-Api-Key"] for _, _, h, _ in Origin.seen], [VALUE, "value-of-settings"])


@test
def explain_names_placeholders_and_shows_no_value(t):
    more = {"env": {**os.environ, **ENV}}
    options = ("--secret", "TOKEN@good.test", "--secret", "SECOND@other.test")
    r = t.run("explain", *options, "--", "true", **more).ok()
    for name, host in (("TOKEN", "good.test"), ("SECOND", "other.test")):
        contains(r.out, f"{name}@{host}")
        check(any(line.startswith(f"  {name} ") and "(a placeholder for the value outside; --secret)"
                  in line for line in r.out.splitlines()), r.out)
        lacks(r.out, f"not passed     {name} ")
    document = json.loads(t.run("explain", "--json", *options, "--", "true", **more).ok().out)
    equal(document["secrets"], ["TOKEN@good.test", "SECOND@other.test"])
    check({"TOKEN", "SECOND"} <= set(document["environment"]))
    for value in ENV.values():
        lacks(r.out + json.dumps(document), value)
    # The control: unbound, one passes and one does not
    r = t.run("explain", "--", "true", **more).ok()
    contains(r.out, "not passed     TOKEN ")
    contains(r.out, "SECOND         (passes by default)")


@test
def a_failed_command_gets_no_advice_to_pass_the_value(t):
    r = run(t, "exit 3").ended(3)
    lacks(r.err, "TOKEN")
    lacks(t.run("violations").out, "TOKEN")
    contains(run(t, "exit 3", secrets=()).ended(3).err, "TOKEN")		# The control


def beside(t, store):
    """Our programs, with another one for the store"""
    for name in ("cloche", "cloche-tls"):
        # Once: the cloche-tls of the run before was killed and may still be ending
        if not os.path.exists(os.path.join(t.away, name)):
            shutil.copy(os.path.join(os.path.dirname(CLOCHE), name), t.away)
    t.write(t.away + "/cloche-secret", "#!/bin/sh\n" + store)
    os.chmod(t.away + "/cloche-secret", 0o755)
    return t.away + "/cloche", "run", "--secret", "NOWHERE@good.test", "--"


@test
def a_failing_secret_store_ends_the_run(t):
    r = t.outside(*beside(t, "echo 'cloche: the keyring is locked' >&2; exit 1\n"), "touch", "ran")
    contains(r.ended(125).err, "the keyring is locked")
    contains(r.err, "secret 'NOWHERE': there is no value")
    check(not t.exists("ran"))
    r = t.outside(*beside(t, "exec sleep 1000\n"), "touch", "ran")
    contains(r.ended(125).err, "secret 'NOWHERE': no value was received within 10 s")
    check(not t.exists("ran"))		# The harness finds a sleep that is left
    t.outside(*beside(t, "echo the-value-of-it\n"), "touch", "ran").ok()
    check(t.exists("ran"))


def count(path):
    return len(open(path).read().splitlines()) if os.path.exists(path) else 0


@test
def a_hanging_value_command_is_killed_with_its_children(t):
    """In sessions of their own, and orphans"""
    line = "setsid sleep 1001 & (setsid sleep 1002 & sleep 1003 &) ; sleep 1004"
    r = t.inside("touch", "ran", options=("--secret", "T@good.test", "--secret-from", "T=command:" + line))
    contains(r.ended(125).err, "no value was received within 10 s")
    check(not t.exists("ran"))		# The harness finds a sleep that is left


def refreshed(t, script, ttl, source, **more):
    path = t.away + "/settings.json"
    with open(path, "w") as file:
        json.dump({"sandbox": {"secrets": {"TOKEN": {"hosts": ["good.test"], "from": "command:" + source,
                                                     **({"ttl": ttl} if ttl else {})}}}}, file)
    if more.pop("start", False):
        return t.start("run", "-s", path, "--", "sh", "-c", script, **more)
    return run(t, script, "-s", path, secrets=(), **more)


GET = """get() { curl -sS -m 30 -o /dev/null -w '%{http_code} ' -H "Authorization: Bearer $TOKEN" \
    https://good.test/$1; }
"""


@test
def a_value_command_runs_again_after_its_ttl(t):
    """Each run appends a line; the value has the number of them"""
    origins()
    runs = t.away + "/runs"
    source = f"echo x >> {runs}; wc -l < {runs} | xargs printf 'the-value-number-%s'"
    # At the start, then once more for each request: 1 ms is over
    refreshed(t, GET + "get 1; get 2", "1ms", source).ok()
    equal(authorizations(), [f"Bearer the-value-number-{n}" for n in (2, 3)])
    equal(count(runs), 3)
    # The control: without a time, and with a long one, only at the start
    for ttl in (None, "1h"):
        Origin.seen.clear()
        before = count(runs)
        refreshed(t, GET + "get 1; get 2", ttl, source).ok()
        equal(authorizations(), [f"Bearer the-value-number-{before + 1}"] * 2)
        equal(count(runs), before + 1)


@test
def an_expired_value_is_not_sent_when_its_command_fails(t):
    origins()
    ran = t.away + "/ran"
    source = f"test -e {ran} || {{ touch {ran}; echo the-first-value; }}"
    r = refreshed(t, GET + 'get 1; curl -sS -m 30 -i -H "Authorization: Bearer $TOKEN" https://good.test/2;'
                  "curl -sS -m 30 https://good.test/without", "1ms", source)
    check(r.out.startswith("403"), r.out)
    contains(r.out, "HTTP/1.1 403 the value of a secret could not be read")
    contains(r.err, "see why its source gives none")
    equal([path for _, path, _, _ in Origin.seen], ["/without"])


HANGS_LATER = "test -e {0}/ran || {{ touch {0}/ran; echo the-first-value; exit; }}; "


@test
def a_hanging_value_source_is_killed_during_the_run(t):
    """The command goes on and makes no further request, which would end the source"""
    origins()
    source = HANGS_LATER.format(t.away) + f"echo $$ > {t.away}/pid; exec sleep 1005"
    r, done = os.pipe()
    with refreshed(t, GET + "get 1; echo; read line", "1ms", source, start=True, stdin=r) as p:
        equal(p.stdout.readline(), b"403 \n")
        pid = open(t.away + "/pid").read().strip()
        wait_until(lambda: not os.path.exists("/proc/" + pid), "the end of the source")
        check(p.poll() is None)
        os.close(done)
        p.communicate()


def stopped_source(t):
    """The source whose command writes its number into a pipe: that number, and its own. It is
    stopped, so that it does not end by itself, and shows the signals that it was sent."""
    with open(t.away + "/pid") as file:
        pid = file.read().strip()
    source = int(status(pid)["PPid"])
    os.kill(source, signal.SIGSTOP)
    wait_until(lambda: status(source)["State"] == "T", "the source is stopped")
    return pid, source


def status(pid):
    with open(f"/proc/{pid}/status") as file:
        return dict(re.findall(r"(\w+):\s*(\S+)", file.read()))


def is_told(source):
    return int(status(source)["ShdPnd"], 16) >> (signal.SIGTERM - 1) & 1


@test
def a_run_ends_after_its_value_sources(t):
    origins()
    os.mkfifo(t.away + "/pid")
    source = HANGS_LATER.format(t.away) + f"echo $$ > {t.away}/pid; exec sleep 1006"
    with refreshed(t, GET + "get 1 & read line", "1ms", source, start=True) as p:
        pid, source = stopped_source(t)
        p.stdin.close()		# The command ends
        try:
            wait_until(lambda: is_told(source), "a signal for the source")
            # Not from the end of the thread that has started it
            check(p.poll() is None and status(p.pid)["State"] != "Z", "the run has not waited")
        finally:
            os.kill(source, signal.SIGCONT)
        equal(p.wait(), 1)		# Of read
    check(not os.path.exists("/proc/" + pid))


@test
def a_value_source_ends_when_its_run_is_killed(t):
    os.mkfifo(t.away + "/pid")
    with t.start("run", "--secret", "T@good.test", "--secret-from",
                 f"T=command:echo $$ > {t.away}/pid; exec sleep 1007", "--", "true",
                 stderr=subprocess.DEVNULL) as p:
        pid, source = stopped_source(t)
        p.kill()
        p.wait()
        told = is_told(source)
        os.kill(source, signal.SIGCONT)
        wait_until(lambda: not os.path.exists("/proc/" + pid), "the end of what it started")
        check(told, "no signal came from the end of the run")


@test
def the_outer_name_of_an_encrypted_hello_is_used(t):
    """The extension is empty, as OpenSSL sends it; browsers fill it with noise"""
    origins()
    client = r"""printf 'GET / HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\nX-Api-Key: %%s\r\n\r\n' \
$TOKEN | openssl s_client -quiet -proxy 127.0.0.1:3128 -serverinfo 65037 -connect good.test:443 -servername %s"""
    contains(run(t, client % "good.test").out, "HTTP/1.1 200")
    equal([h["X-Api-Key"] for _, _, h, _ in Origin.seen], [VALUE])
    Origin.seen.clear()
    r = run(t, client % "other.test", "--allow", "other.test")
    contains(r.err, "the TLS hello names another host")
    equal(Origin.seen, [])


@test
def a_stored_value_is_read_on_first_use(t):
    """After a run that has seen its form"""
    origins()
    asked = t.away + "/asked"
    words = beside(t, f"echo x >> {asked}; echo {VALUE}\n")[:2]
    words += ("--secret", "NOWHERE@good.test", "--", "sh", "-c")
    use = 'echo $NOWHERE; curl -sS -m 30 -H "Authorization: Bearer $NOWHERE" https://good.test/'
    first = t.outside(*words, "echo $NOWHERE").ok().out
    equal(count(asked), 1)
    equal(t.outside(*words, "echo $NOWHERE").ok().out, first)
    equal(count(asked), 1)		# Not used, not read
    r = t.outside(*words, use).ok()
    equal(count(asked), 2)
    equal(r.out.splitlines()[0] + "\n", first)
    equal(authorizations(), [f"Bearer {VALUE}"])
    # What is kept has the form and nothing of the value
    with open(t.home + "/.local/state/cloche/placeholder-shapes") as file:
        equal(json.load(file), {"NOWHERE": "ghp_" + ("zZ0" * 20)[:len(VALUE) - 4]})
    # A store that has lost it: the request says so
    t.write(t.away + "/cloche-secret", "#!/bin/sh\nexit 1\n")
    r = t.outside(*words, use + "; true")
    contains(r.out, "the value of a secret could not be read")
    equal(len(Origin.seen), 1)


own_host(NAMES)
make_certificates()
main()
