# SPDX-License-Identifier: Apache-2.0
"""tests/live/firewall.py - cloche firewall, between namespaces of its own"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from world import *

PASS = ("up", "--allow", GOOD, "--verify-allowed", GOOD + ":443")


def refused(text):
    """The kinds of error that the firewall's rejection gives"""
    return text in ("OSError 113", "PermissionError 13", "PermissionError 1")


@world()
def allowed_addresses_are_reached_and_denied_ones_counted(t, w):
    for host in (GOOD, BAD, GOOD6, BAD6):		# The control
        equal(w.connect(host), "hello", host)
    r = w.firewall(*PASS, "--allow", GOOD6).ok()
    contains(r.out, "firewall: up")
    contains(r.out, "verified")
    for host in (GOOD, GOOD6):
        equal(w.connect(host), "hello", host)
        equal(w.connect(host, 8443), "hello", host)
    for host, kind in ((BAD, "ipv4"), (BAD6, "ipv6"), (GATEWAY, "ipv4"),
                       (NEIGHBOUR, "ipv4"), (GATEWAY6, "ipv6")):
        before = w.drops(kind)
        got = w.connect(host)
        check(refused(got), host, got)
        check(w.drops(kind) > before, host, "was not counted")


@world()
def loopback_is_reachable(t, w):
    w.firewall(*PASS).ok()
    w.sh(f"""{sys.executable} -c '
import socket
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"),
                     (socket.AF_INET, "10.77.0.1")):
    s = socket.socket(family); s.bind((host, 0)); s.listen()
    socket.create_connection(s.getsockname()[:2], 20)'""").ok()


@world({"good.test": [GOOD, GOOD6], "bad.test": [BAD], "long.good.test": [GOOD]})
def names_become_address_sets(t, w):
    w.firewall("up", "--allow", "good.test", "--verify-allowed",
               "good.test:443", "--verify-denied", "bad.test:443").ok()
    equal(w.connect("good.test"), "hello")
    check(refused(w.connect("bad.test")))
    rules = w.rules()
    contains(rules, f'{GOOD} comment "good.test"')
    contains(rules, f'{GOOD6} comment "good.test"')
    s = w.status()
    equal(s["state"], "up")
    check(s["sets"] >= 3 and s["elements"] >= 3, s)
    check(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", s["since"]), s)


@world({"good.test": [GOOD], "long.good.test": [GOOD6]})
def dns_goes_to_the_named_resolver_only(t, w):
    equal(w.ask(DNS), "answer True")
    equal(w.ask(OTHER_DNS), "answer True")
    w.firewall("up", "--resolver", OTHER_DNS, "--allow", "good.test",
               "--allow", "long.good.test", "--allow", "filed.test",
               "--allow", BAD).ok()
    equal(w.ask(OTHER_DNS), "answer True")
    before = w.drops("dns")
    for resolver in (DNS, BAD, GATEWAY):
        got = w.ask(resolver)
        check(refused(got), resolver, got)
    equal(w.drops("dns"), before + 3)
    got = w.connect(DNS, 53)
    check(refused(got), "over TCP", got)
    check(refused(w.connect(BAD, 853)), "DNS over TLS to an allowed address")
    equal(w.connect(BAD, 443), "hello")
    contains(w.rules(), f'{GOOD6} comment "long.good.test"')


@world({"ghost.test.search.test": [BAD], "short.search.test": [GOOD]})
def names_are_not_resolved_in_search_domains(t, w):
    with open(os.path.join(t.away, "resolv.conf"), "a") as file:
        file.write("search search.test\n")
    contains(w.sh("getent hosts ghost.test").ok().out, BAD)     # The control
    r = w.firewall("up", "--allow", "ghost.test").ended(2)
    contains(r.err, "'ghost.test' has no address")
    w.firewall("up", "--allow", "short").ok()
    contains(w.rules(), f'{GOOD} comment "short"')


@world({"good.test": [GOOD]})
def the_resolvers_of_resolv_conf_are_the_default(t, w):
    w.firewall("up", "--allow", "good.test").ok()
    equal(w.ask(DNS), "answer True")
    check(refused(w.ask(OTHER_DNS)))


@world()
def a_resolver_on_loopback_needs_its_upstream_named(t, w):
    with open(os.path.join(t.away, "resolv.conf"), "w") as file:
        file.write("nameserver 127.0.0.11\n")
    r = w.firewall("up", "--allow", GOOD).ok()
    contains(r.err, "--resolver")
    check(refused(w.ask(DNS)))
    with open(os.path.join(t.away, "resolv.conf"), "a") as file:
        file.write(f"# ExtServers: [{DNS} host({OTHER_DNS})]\n")
    lacks(w.firewall("up", "--allow", GOOD).ok().err, "--resolver")
    equal(w.ask(DNS), "answer True")
    check(refused(w.ask(OTHER_DNS)))


@world()
def networks_and_range_files_are_allowed(t, w):
    meta = t.write("meta.json", json.dumps({
        "verifiable_password_authentication": False, "ssh_keys": ["ssh-rsa A"],
        "hooks": [BAD + "/32"], "web": [GOOD + "/32"], "git": [GOOD6 + "/128"],
        "api": ["198.51.100.0/24"]}))
    w.firewall("up", "--ranges", meta, "--verify-allowed", GOOD + ":443").ok()
    equal(w.connect(GOOD), "hello")
    equal(w.connect(GOOD6), "hello")
    check(refused(w.connect(BAD)))
    w.firewall("up", "--allow", "203.0.113.0/24", "--allow", "203.0.113.0/27",
               "--allow", GOOD, "--verify-allowed", GOOD + ":443").ok()
    equal(w.connect(BAD), "hello")
    check(refused(w.connect(GOOD6)))


@world()
def the_lan_is_reachable_only_with_lan(t, w):
    w.firewall(*PASS, "--lan").ok()
    for host in (GATEWAY, NEIGHBOUR, GATEWAY6, GOOD):
        equal(w.connect(host), "hello", host)
    check(refused(w.connect(BAD)))


@world()
def replies_to_incoming_connections_pass(t, w):
    w.firewall(*PASS).ok()
    p = w.popen([sys.executable, os.path.join(HARNESS, "outside.py"),
                 w.zone_file, "10.77.0.1"])
    equal(p.stdout.readline(), b"ready\n")
    equal(w.connect("10.77.0.1", where=w.there), "hello")
    p.kill()
    p.communicate()


@world()
def forwarded_packets_are_filtered(t, w):
    inner = w.hold([*w.enter(w.here), "unshare", "-n"])
    w.sh(f"""set -e; ip link add up1 type veth peer name down1
ip link set down1 netns {inner.pid}; ip address add 10.78.0.1/24 dev up1
ip link set up1 up; sysctl -qw net.ipv4.ip_forward=1""").ok()
    w.sh("set -e; ip address add 10.78.0.2/24 dev down1; ip link set down1 up\n"
         "ip route add default via 10.78.0.1", where=inner).ok()
    w.sh("ip route add 10.78.0.0/24 via 10.77.0.1", where=w.there).ok()
    equal(w.connect(BAD, where=inner), "hello")
    w.firewall(*PASS).ok()
    equal(w.connect(GOOD, where=inner), "hello")
    got = w.connect(BAD, where=inner)
    check(got != "hello", got)
    inner.kill()
    inner.communicate()


@world()
def down_restores_the_previous_ruleset(t, w):
    w.sh("""nft -f - <<'EOF'
table inet filter {
	chain input {
		type filter hook input priority 0; policy accept;
		tcp dport 22 accept
	}
}
table ip nat {
	chain out {
		type nat hook postrouting priority 100;
	}
}
EOF""").ok()
    before = w.rules()
    w.firewall(*PASS, "--lan").ok()
    check(before != w.rules())
    check(w.sh("cat /run/cloche/firewall").ok())
    w.firewall("down").ok()
    equal(w.rules(), before)
    w.sh("test ! -e /run/cloche").ok()
    equal(w.connect(BAD), "hello")
    contains(w.firewall("down").ok().out, "not up")
    w.firewall("status").ended(1)
    w.firewall(*PASS).ok()
    w.firewall(*PASS, "--allow", BAD).ok()
    equal(w.connect(BAD), "hello")
    w.firewall(*PASS, "--allow", "203.0.113.0/28").ok()
    check(refused(w.connect(BAD)), "what is no longer allowed")
    w.sh("nft delete chain inet cloche forward").ok()
    w.firewall(*PASS).ok()
    contains(w.rules(), "hook forward")
    w.sh("nft insert rule inet cloche output accept").ok()
    w.firewall(*PASS).ok()
    check(refused(w.connect(BAD)), "behind our back")
    w.firewall("down").ok()
    equal(w.rules(), before)


@world()
def a_failed_verification_denies_everything(t, w):
    for words in (("--verify-allowed", BAD + ":443"),
                  ("--verify-allowed", GOOD + ":4"),
                  ("--verify-allowed", GOOD + ":443", "--verify-denied",
                   GOOD + ":8443"),
                  ("--verify-allowed", "nowhere.test:443")):
        r = w.firewall("up", "--allow", GOOD, *words)
        if "nowhere.test:443" in words:		# A wrong word: nothing changed
            r.ended(2)
            continue
        r.ended(1)
        contains(r.err, "FAILED")
        contains(r.err, "nothing is let out")
        for host in (GOOD, BAD, GOOD6, GATEWAY):
            check(refused(w.connect(host)), words, host)
        check(refused(w.ask(DNS)), words)
        equal(w.status()["state"], "deny-all")
        w.firewall("status").ended(1)
        w.firewall("verify").ended(1)
    w.firewall(*PASS).ok()
    equal(w.connect(GOOD), "hello")


@world({"good.test": [GOOD]})
def up_works_after_deny_all(t, w):
    w.firewall("up", "--allow", GOOD, "--verify-allowed", BAD + ":443").ended(1)
    w.firewall("up", "--allow", "nowhere.test").ended(2)
    check(refused(w.ask(DNS)), "closed again")
    equal(w.status()["state"], "deny-all")
    w.firewall("up", "--allow", "good.test", "--verify-allowed",
               "good.test:443").ok()
    equal(w.connect("good.test"), "hello")


@world()
def verify_repeats_the_checks(t, w):
    w.firewall(*PASS, "--verify-denied", BAD + ":443").ok()
    r = w.firewall("verify").ok()
    contains(r.out, GOOD + ":443 must be reachable, and is")
    contains(r.out, BAD + ":443 must not be reachable, and is not")
    r = w.firewall("verify", "--verify-denied", GOOD + ":443", "--json")
    equal(json.loads(r.ended(1).out)["ok"], False)
    w.firewall("verify", "--verify-allowed", "[" + GOOD6 + "]:443").ended(1)
    # Another program changes the rules
    w.sh("nft insert rule inet cloche output accept").ok()
    r = w.firewall("verify").ended(1)
    contains(r.err, BAD + ":443 must not be reachable, but is")


@world()
def up_without_targets_verifies_an_allowed_and_a_denied_address(t, w):
    r = w.firewall("up", "--allow", GOOD).ok()
    contains(r.out, "an allowed address answers")
    contains(r.out, "is not allowed, and was refused")
    w.sh("nft insert rule inet cloche output accept").ok()
    contains(w.firewall("verify").ended(1).err, "was let through")
    w.firewall("down").ok()
    w.firewall("up", "--allow", "10.99.0.1").ended(1)


@world()
def a_reload_is_atomic_under_traffic(t, w):
    w.firewall(*PASS).ok()
    # One connection that lives, new ones all the time, and denied ones that
    # must never get through
    p = w.popen([sys.executable, "-c", f"""
import socket, sys, select
alive = socket.create_connection(("{GOOD}", 443), 20)
alive.recv(100)
good = leaks = 0
print("go", flush=True)
while not select.select([0], [], [], 0)[0] and good < 100000:
    alive.sendall(b"x" * 100)
    if not alive.recv(4096): sys.exit("the connection died")
    socket.create_connection(("{GOOD}", 443), 20).close(); good += 1
    s = socket.socket(); s.settimeout(20)
    try: s.connect(("{BAD}", 443)); leaks += 1
    except OSError: pass
    s.close()
print(good, leaks)
"""], stdin=subprocess.PIPE)
    equal(p.stdout.readline(), b"go\n")
    for i in range(long(15, 200)):
        w.firewall("up", "--allow", GOOD, *(("--allow", GOOD6, "--lan")
                                            if i % 2 else ()),
                   "--no-verify").ok()
    out, err = p.communicate(b"end\n", timeout=RUN_SECONDS)
    equal(err, b"")
    good, leaks = map(int, out.split())
    check(good > 0, "no traffic meanwhile")
    equal(leaks, 0)


@world()
def up_cuts_open_connections_to_denied_addresses(t, w):
    # The kernel tracks it already, and would call it established
    w.sh("""nft -f - <<'EOF'
table inet tracked {
	chain output {
		type filter hook output priority 0; policy accept;
		ct state established accept
	}
}
EOF""").ok()
    p = w.popen([sys.executable, "-c", f"""
import socket
s = socket.create_connection(("{BAD}", 443), 20); s.recv(100)
print("open", flush=True); input()
s.settimeout(2); s.sendall(b"secret")
try: print("got", s.recv(100))
except TimeoutError: print("silence")
"""], stdin=subprocess.PIPE)
    equal(p.stdout.readline(), b"open\n")
    w.firewall(*PASS).ok()
    equal(p.communicate(b"\n", timeout=RUN_SECONDS)[0], b"silence\n")


@world({"good.test": [GOOD, NEIGHBOUR], "nas.local": [NEIGHBOUR]})
def a_public_name_allows_no_private_address(t, w):
    r = w.firewall("up", "--allow", "good.test").ended(2)
    contains(r.err, f"'good.test' leads to {NEIGHBOUR}, a private address")
    contains(r.err, f"--allow {NEIGHBOUR}")
    equal(w.rules(), "")
    for more in (("--allow", NEIGHBOUR), ("--lan",), ("--allow", "nas.local",
                                                      "--allow", NEIGHBOUR)):
        w.firewall("up", "--allow", "good.test", *more).ok()
        equal(w.connect("good.test"), "hello")
        equal(w.connect(NEIGHBOUR), "hello")
        w.firewall("down").ok()
    w.firewall("up", "--allow", "nas.local").ok()
    equal(w.connect("nas.local"), "hello")


@world({"good.test": [GOOD]})
def watch_updates_the_addresses_of_a_name(t, w):
    p = w.popen([CLOCHE, "firewall", "up", "--watch=200ms", "--allow",
                 "good.test", "--verify-allowed", "good.test:443"])
    while b"firewall: up" not in p.stdout.readline():
        check(p.poll() is None, "it ended")
    check(refused(w.connect(BAD)))
    drops = w.drops("ipv4")
    w.zone({"good.test": [BAD, BAD6]})
    wait_until(lambda: w.connect(BAD) == "hello", "the new address")
    wait_until(lambda: w.connect(BAD6) == "hello", "both of them")
    check(w.drops("ipv4") >= drops, "counters go on")
    wait_until(lambda: w.connect(GOOD) != "hello", "the old one goes")
    w.zone({})
    contains(p.stderr.readline().decode(), "no address")
    equal(w.connect(BAD), "hello")
    w.zone({"good.test": [GOOD]})
    wait_until(lambda: w.connect(GOOD) == "hello", "it is back")
    w.zone({"good.test": ["169.254.169.254", GOOD]})
    contains(p.stderr.readline().decode(), "metadata")
    lacks(w.rules(), "169.254.169.254")
    w.zone({"good.test": [GOOD6]})
    wait_until(lambda: w.connect(GOOD6) == "hello", "it is back once more")
    w.zone({"good.test": [NEIGHBOUR]})
    contains(p.stderr.readline().decode(), "a private address")
    check(refused(w.connect(NEIGHBOUR)))
    w.firewall("down").ok()
    equal(p.wait(RUN_SECONDS), 0)
    equal(w.rules(), "")
    p.communicate()


@world({"good.test": [GOOD], "meta.test": ["169.254.169.254"]})
def bad_input_changes_nothing(t, w):
    bad_json = t.write("bad.json", '{"web": ["10.0.0.1/8"]}')
    empty = t.write("empty.json", "{}")
    rows = (
        ("up",), ("up", "--allow", "nowhere.test"),
        ("up", "--allow", "10.0.0.1/8"), ("up", "--allow", "10.0.0.0/99"),
        ("up", "--allow", "*.good.test"), ("up", "--allow", "good.test:443"),
        ("up", "--allow", ""), ("up", "--allow"), ("up", "--nonsense"),
        ("up", "good.test"), ("up", "--allow", GOOD, "--lan=yes"),
        ("up", "--allow", "meta.test"), ("up", "--ranges", bad_json),
        ("up", "--ranges", empty), ("up", "--ranges", "/nowhere"),
        ("up", "--allow", GOOD, "--resolver", "good.test"),
        ("up", "--allow", GOOD, "--verify-allowed", GOOD),
        ("up", "--allow", GOOD, "--verify-denied", "nowhere.test:443"),
        ("up", "--allow", GOOD, "--watch=never"),
        ("down", "--allow", GOOD), ("status", "--lan"), ("sideways",), (),
    )
    for before in ("", "up"):
        if before:
            w.firewall(*PASS).ok()
        rules = w.rules()
        for words in rows:
            r = w.firewall(*words).ended(2, words)
            equal(len(r.err.splitlines()), 1, words, r.err)
            check(r.err.startswith("cloche: "), r.err)
            equal(r.out, "", words)
        equal(re.sub(r"packets \d+ bytes \d+", "", w.rules()),
              re.sub(r"packets \d+ bytes \d+", "", rules))


@world()
def a_foreign_table_is_left_alone(t, w):
    w.sh("nft add table inet cloche; "
         "nft add chain inet cloche allowed").ok()
    before = w.rules()
    for words in (PASS, ("down",)):
        r = w.firewall(*words).ended(2)
        contains(r.err, "not ours")
        equal(w.rules(), before)
    equal(w.status()["state"], "foreign")
    w.sh("nft delete table inet cloche; nft add table ip cloche").ok()
    w.firewall(*PASS).ok()
    w.firewall("down").ok()
    equal(w.rules(), "table ip cloche {\n}\n")


@world()
def missing_nft_or_capability_is_reported(t, w):
    r = w.run("env", "PATH=" + t.dir, CLOCHE, "firewall", *PASS).ended(2)
    contains(r.err, "nftables")
    r = w.run("setpriv", "--bounding-set", "-net_admin", CLOCHE, "firewall",
              *PASS).ended(2)
    contains(r.err, "CAP_NET_ADMIN")
    equal(w.rules(), "")
    # It is there, but not for this network
    r = t.outside("unshare", "-Ur", CLOCHE, "firewall", *PASS).ended(2)
    contains(r.err, "CAP_NET_ADMIN")
    equal(len(r.err.splitlines()), 1, r.err)


@world({"good.test": [GOOD]})
def a_dry_run_needs_no_privileges(t, w):
    r = w.run("setpriv", "--bounding-set", "-net_admin", CLOCHE, "firewall",
              "up", "--dry-run", "--allow", "good.test", "--lan").ok()
    equal(w.rules(), "")
    for part in (GOOD, "hook output", "hook forward", "policy drop", DNS,
                 "10.77.0.0/24", "fd77::/64"):
        contains(r.out, part)
    w.run("nft", "-f", "-", stdin=r.out).ok()
    equal(w.status()["state"], "up")


@world()
def an_unwritable_run_directory_is_reported(t, w):
    w.sh("mount -t tmpfs -o ro run /run").ok()
    r = w.firewall(*PASS).ok()
    contains(r.err, "preflight")
    equal(w.status()["state"], "up")
    w.firewall("down").ok()


@world()
def preflight_reports_the_firewall_of_this_network_namespace(t, w):
    t.write(t.home + "/.claude/settings.json", '{"sandbox": {"enabled": true}}')
    # A tier that no machine has, for a reason to speak
    words = "the egress firewall is active"
    refuse = os.environ.get("REFUSE", "")
    if not refuse:
        skip("needs the program refuse")
    preflight = (refuse, "userns,landlock", CLOCHE, "preflight")
    lacks(w.run(*preflight).ok().out, words)
    w.firewall(*PASS).ok()
    contains(w.run(*preflight).ok().out, words)
    lacks(w.run("unshare", "-n", *preflight).ok().out, words)
    w.firewall("down").ok()
    lacks(w.run(*preflight).ok().out, words)


META = """
import http.server, sys
class Meta(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = open(sys.argv[2]).read()
        self.send_response(200 if text else 503)
        self.end_headers()
        n = 0
        while text == "endless":
            try: n += self.wfile.write(b" " * 65536)
            except OSError: return print(n, flush=True)
        self.wfile.write(text.encode())
    def log_message(self, *_): pass
server = http.server.HTTPServer((sys.argv[1], 8088), Meta)
print("ready", flush=True)
server.serve_forever()
"""


@world()
def networks_are_fetched_from_an_allowed_host_and_stored(t, w):
    need("curl")
    w.sh("mount -t tmpfs none /var/lib").ok()
    document = t.write(os.path.join(t.away, "meta.json"), "")
    url = f"http://{GOOD}:8088/meta"
    up = ("up", "--allow", GOOD, "--verify-allowed", GOOD + ":443", "--fetch", url)
    server = w.popen([sys.executable, "-c", META, GOOD, document], where=w.there)
    try:
        equal(server.stdout.readline(), b"ready\n")
        # Nothing was ever fetched, and nothing can be: what is named is allowed
        contains(w.firewall(*up).ok().err, "only the addresses that the names have now")
        check(refused(w.connect(BAD)))
        t.write(document, json.dumps({"git": [BAD + "/32"], "actions": ["192.0.2.0/24"]}))
        contains(w.firewall(*up).ok().out, "2 networks")
        equal(w.connect(BAD), "hello")
        lacks(w.rules(), "192.0.2.0")
        # No answer, half an answer, and answers that would open too much
        for text in ("", '{"git": ["203.0.113', json.dumps({"git": ["0.0.0.0/0"]}),
                     json.dumps({"git": ["192.0.0.0/4"]}),
                     json.dumps({"git": [BAD + "/32", "10.0.0.0/8"]})):
            t.write(document, text)
            contains(w.firewall(*up).ok().err, "the last good list is used")
            equal(w.connect(BAD), "hello", text)
            check(refused(w.connect(NEIGHBOUR)), text)
        # More than a document may have, and than sockets hold
        t.write(document, "endless")
        contains(w.firewall(*up).ok().err, "the last good list is used")
        check(int(server.stdout.readline()) < 64 << 20)
        # A host that is not allowed is not asked
        r = w.firewall(*up[:-1], f"http://{BAD}:8088/meta").ok()
        contains(r.err, "only the addresses")
        check(refused(w.connect(BAD)))
    finally:
        server.kill()
        server.communicate()
    w.firewall(*up).ok()
    equal(w.connect(BAD), "hello")	# The last good list, while the server is down


main()
