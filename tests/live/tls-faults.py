# SPDX-License-Identifier: Apache-2.0
"""tests/live/tls-faults.py - secrets, and clients, stores and sources that misbehave"""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tls_origin import *


@test
def a_placeholder_in_pieces_is_found(t):
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
def where_a_value_comes_from_stays_outside(t):
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
def an_option_says_where_a_value_is_before_settings(t):
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
def a_command_that_fails_is_not_told_to_pass_the_value(t):
    r = run(t, "exit 3").ended(3)
    lacks(r.err, "TOKEN")
    lacks(t.run("violations").out, "TOKEN")
    contains(run(t, "exit 3", secrets=()).ended(3).err, "TOKEN")		# The control


def beside(t, store):
    """Our programs, with another one for the store"""
    for name in ("cloche", "cloche-tls"):
        shutil.copy(os.path.join(os.path.dirname(CLOCHE), name), t.away)
    t.write(t.away + "/cloche-secret", "#!/bin/sh\n" + store)
    os.chmod(t.away + "/cloche-secret", 0o755)
    return t.away + "/cloche", "run", "--secret", "NOWHERE@good.test", "--"


@test
def a_store_that_cannot_give_the_value_ends_the_run(t):
    r = t.outside(*beside(t, "echo 'cloche: the keyring is locked' >&2; exit 1\n"), "touch", "ran")
    contains(r.ended(125).err, "the keyring is locked")
    contains(r.err, "secret 'NOWHERE': there is no value")
    check(not t.exists("ran"))
    r = t.outside(*beside(t, "exec sleep 1000\n"), "touch", "ran")
    contains(r.ended(125).err, "secret 'NOWHERE': no value was received within 10 s")
    check(not t.exists("ran"))		# The harness finds a sleep that is left
    t.outside(*beside(t, "echo the-value-of-it\n"), "touch", "ran").ok()
    check(t.exists("ran"))


own_host(NAMES)
make_certificates()
main()
