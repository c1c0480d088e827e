# SPDX-License-Identifier: Apache-2.0
"""tests/live/jail.py - --net jail: public addresses only"""

import contextlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *
from lan import *

JAIL = ("run", "--net", "jail")
PASTA = ("pasta", "passt")	# passt.avx2, where the processor has that

# connect HOST...: which of them answered, and with what
CONNECT = """
import socket, sys
for host in sys.argv[1:]:
    try:
        s = socket.create_connection((host, %d), 20)
        print(host, s.recv(100).decode().strip())
    except OSError as e:
        print(host, "error", e.errno)
""" % PORT

# Everything at once, and no exception: {host: what came}
def reached(r):
    return dict(line.split(" ", 1) for line in r.out.splitlines())


@contextlib.contextmanager
def lan(t, **more):
    made = Lan(t, **more)
    try:
        yield made
    finally:
        made.close()


def connect(machine, *hosts, options=JAIL, **more):
    return reached(machine.run(CLOCHE, *options, "--", sys.executable, "-c",
                               CONNECT, *hosts, **more).ok())


def parent_of(pid):
    """(name, state, parent) of a process, or nothing"""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat") as stat:
            name, state, parent = re.search(r"\((.*)\) (.) (\d+)",
                                            stat.read()).groups()
            return name, state, int(parent)


def is_below(pid):
    """Is it a descendant of ours? Orphans come to us"""
    while pid and pid != os.getpid():
        found = parent_of(pid)
        pid = found[2] if found else 0
    return bool(pid)


def pastas():
    """Our processes that are pasta or its holder"""
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        name, state, _ = parent_of(pid) or ("", "Z", 0)
        if (state != "Z" and name.startswith(PASTA + ("cloche-jail",))
                and is_below(pid)):
            found.append(pid)
    return found


@test
def public_addresses_are_reached_and_private_ones_not(t):
    with lan(t) as machine:
        outside = reached(machine.run(sys.executable, "-c", CONNECT, *NEAR,
                                      *FAR).ok())
        equal(outside, {h: h for h in NEAR + FAR}, "the control")
        inside = connect(machine, *NEAR, *FAR)
        for host in FAR:
            equal(inside[host], host)
        for host in NEAR:
            equal(inside[host], "error 22", host)


@test
def allowed_private_addresses_are_reached(t):
    with lan(t) as machine:
        named = (OFFICE, NEIGHBOUR, ULA, GATEWAY, GATEWAY6, RESOLVER)
        options = [w for h in named for w in ("--allow-ip", h)]
        got = connect(machine, *named, METADATA, INTERNET, INTERNET6,
                      options=(*JAIL, *options, "--allow-ip", "192.168.77.8/30"))
        for host in (*named, INTERNET, INTERNET6):
            equal(got[host], host)
        equal(got[METADATA], "error 22")
        settings = json.dumps({"sandbox": {"network": {
            "mode": "jail", "allowIps": ["10.0.0.0/8"]}}})
        got = connect(machine, OFFICE, PRIVATE, options=("run", "-s", settings))
        equal(got, {OFFICE: OFFICE, PRIVATE: "error 22"})


def pasted(machine, r):
    """Run the one line that the footer prints, as a person does"""
    [line] = [l.strip() for l in r.err.split("\n") if l.startswith("            cloche ")]
    path = os.path.dirname(os.path.abspath(CLOCHE)) + ":" + os.environ["PATH"]
    return machine.run("bash", "-c", line, env={"PATH": path}), line


@test
def the_suggested_command_reaches_a_private_address(t):
    with lan(t) as machine:
        script = (CLOCHE, *JAIL, "--", sys.executable, "-c", "import socket, sys; "
                  f"socket.create_connection((sys.argv[1], {PORT}), 60)", NEIGHBOUR)
        r = machine.run(*script)
        check(r.code != 0, repr(r))
        contains(r.err, f"host {NEIGHBOUR}:{PORT} (the jail has no route there: ")
        r, line = pasted(machine, r)
        contains(line, "cloche policy allow address " + NEIGHBOUR)
        r.ok()
        machine.run(*script).ok()


@test
def the_suggested_command_for_udp_works(t):
    with lan(t) as machine:
        send = (sys.executable, "-c",
                "import os, socket, sys; "
                "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(60); "
                f"s.connect((sys.argv[1], {PORT})); s.send(b'x'); print(s.recv(99)); "
                "open(os.environ['OUT'], 'w')", INTERNET)
        for options in ((), ("--profile", "home", "--cwd", t.dir, "--write", t.away)):
            out = os.path.join(t.away, f"out-{len(options)}")
            given = (*options, "--env", "OUT=" + out)
            r = machine.run(CLOCHE, "run", *given, "--", *send)
            check(r.code != 0, repr(r))
            r, line = pasted(machine, r)
            contains(line, f"cloche run {' '.join(given)} --net jail -- ")
            if options:		# Without --write it cannot make the file
                r.ok()
            check(os.path.exists(out) == bool(options), repr(r))


@test
def a_nested_sandbox_has_a_network_or_explains_why_not(t):
    by_proxy = f"""
import os, socket, sys
for host in sys.argv[1:]:
    s = socket.create_connection(("127.0.0.1", os.environ["HTTP_PROXY"].split(":")[-1]), 60)
    s.sendall(b"CONNECT %s:{PORT} HTTP/1.1\\r\\n\\r\\n" % host.encode())
    s = s.makefile("rb")
    code = s.readline().split()[1].decode()
    while s.readline().strip():
        pass
    print(host, code, s.read1(100).split()[0].decode())
"""
    with lan(t) as machine:
        for allowed, expected in ((INTERNET, {INTERNET: "200 " + INTERNET}), ("a.test", {})):
            got = reached(machine.run(CLOCHE, *JAIL, "--", CLOCHE, "run", "--allow", allowed,
                                      "--allow", OFFICE, "--", sys.executable, "-c", by_proxy,
                                      INTERNET, OFFICE).ok())
            for host in (INTERNET, OFFICE):	# By its own rules; by the jail's
                if host in expected:
                    equal(got[host], expected[host])
                else:
                    check(got[host][0] in "45", host, got)
        r = machine.run(CLOCHE, "run", "--", CLOCHE, *JAIL, "--", "true")
        equal(r.code, 125)
        contains(r.err, "--net jail needs tier full, which is not available in another sandbox")


@test
def the_hosts_loopback_and_services_are_unreachable(t):
    with lan(t) as machine:
        server = machine.start(sys.executable, "-c", f"""
import socket
a = socket.create_server(("127.0.0.1", {PORT + 1}))
b = socket.create_server(("{MACHINE}", {PORT + 1}))
c = socket.create_server(("{SECOND}", {PORT + 1}))
print("up", flush=True); input()""", stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
        server.stdout.readline()
        script = CONNECT.replace(str(PORT), str(PORT + 1))
        control = f"import socket; socket.create_connection(('127.0.0.1', {PORT + 1}))"
        machine.run(sys.executable, "-c", control).ok()
        got = reached(machine.run(CLOCHE, *JAIL, "--", sys.executable, "-c",
                                  script, "127.0.0.1", MACHINE, SECOND,
                                  GATEWAY).ok())
        for host in got:
            contains(got[host], "error", host)
        server.communicate(b"\n")


@test
def names_are_resolved(t):
    script = "import socket; print(socket.gethostbyname('internet.test'))"
    for names in (None, "127.0.0.1"):
        with lan(t, names=names) as machine:
            for command in ((), (CLOCHE, *JAIL, "--")):
                r = machine.run(*command, sys.executable, "-c", script).ok(names)
                equal(r.out.strip(), INTERNET)


@test
def a_private_resolver_is_usable_for_dns_only(t):
    """A metadata service, the router, one with IPv6: pasta asks them"""
    script = "import socket; print(socket.gethostbyname('internet.test'))"
    for resolver in (METADATA, GATEWAY, NEIGHBOUR6):
        with lan(t, resolv=resolver) as machine:
            for command in ((), (CLOCHE, *JAIL, "--")):
                r = machine.run(*command, sys.executable, "-c", script)
                equal(r.ok(resolver).out.strip(), INTERNET)
            equal(connect(machine, resolver, INTERNET),
                  {resolver: "error 22", INTERNET: INTERNET})


@test
def search_domains_are_kept(t):
    with lan(t) as machine:
        machine.run("sh", "-c", "echo search far.test >> /etc/resolv.conf").ok()
        r = machine.run(CLOCHE, *JAIL, "--", "cat", "/etc/resolv.conf").ok()
        contains(r.out, "search far.test")
        lacks(r.out, RESOLVER)


@test
def routes_and_devices_cannot_be_changed(t):
    attempts = (f"ip route add {OFFICE} via {GATEWAY} dev jail0",
                "ip route del blackhole 10.0.0.0/8", "ip route flush all",
                f"ip -6 route add {ULA} dev jail0", "ip link set jail0 down",
                "ip address add 10.0.0.1/8 dev jail0", "ip link add d0 type dummy",
                "ip rule add from all lookup local pref 1",
                "ip neigh add 192.168.77.9 lladdr 02:00:00:00:00:01 dev jail0")
    with lan(t) as machine:
        for options in (JAIL, (*JAIL, "-s", json.dumps(
                {"sandbox": {"allowNestedUserNamespaces": True}}))):
            for attempt in attempts:
                for command in (("sh", "-c", attempt),
                                ("unshare", "-Ur", "sh", "-c", attempt)):
                    r = machine.run(CLOCHE, *options, "--", *command)
                    check(r.code != 0, attempt, repr(r))
            r = machine.run(CLOCHE, *options, "--", "sh", "-c", attempts[0])
            contains(r.err, "Operation not permitted")
        equal(connect(machine, OFFICE, INTERNET),
              {OFFICE: "error 22", INTERNET: INTERNET})


@test
def raw_packets_cannot_be_sent(t):
    with lan(t) as machine:
        for family, kind in (("AF_PACKET", "SOCK_RAW"), ("AF_INET", "SOCK_RAW"),
                             ("AF_INET6", "SOCK_RAW")):
            r = machine.run(CLOCHE, *JAIL, "--", sys.executable, "-c",
                            f"import socket; socket.socket(socket.{family}, "
                            f"socket.{kind}, 1)")
            check(r.code != 0, family)


@test
def multicast_and_broadcast_are_unreachable(t):
    script = """
import socket, sys
for family, host in ((socket.AF_INET, "224.0.0.251"), (socket.AF_INET6, "ff02::fb"),
                     (socket.AF_INET, "255.255.255.255")):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    try:
        s.sendto(b"x", (host, 5353)); print("sent", host)
    except OSError: pass"""
    with lan(t) as machine:
        r = machine.run(CLOCHE, *JAIL, "--", sys.executable, "-c", script).ok()
        equal(r.out, "")


@test
def jail_and_domain_filter_both_apply(t):
    options = ("run", "--net", "jail,filtered", "--allow", INTERNET, "--allow",
               OFFICE, "--allow", "internet.test")
    with lan(t) as machine:
        plain = ("run", "--net", "filtered") + options[3:]
        got = connect(machine, INTERNET, OFFICE, METADATA, options=plain)
        equal({h: got[h] for h in (INTERNET, OFFICE)},
              {INTERNET: INTERNET, OFFICE: OFFICE}, "the control")
        got = connect(machine, INTERNET, OFFICE, INTERNET6, "internet.test",
                      options=options)
        equal((got[INTERNET], got["internet.test"]), (INTERNET, INTERNET))
        for host in (OFFICE, INTERNET6):
            check(got[host] != host, "reached", host)
        got = connect(machine, OFFICE, options=(*options, "--allow-ip", OFFICE))
        equal(got, {OFFICE: OFFICE})


@test
def pasta_ends_with_the_run(t):
    with lan(t) as machine:
        machine.run(CLOCHE, *JAIL, "--", "true").ok()
        equal(pastas(), [])
        machine.run(CLOCHE, *JAIL, "--", "sh", "-c", "exit 7").ended(7)
        machine.run(CLOCHE, *JAIL, "--timeout", "300ms", "--", "sleep",
                    "100").ended(124)
        equal(pastas(), [])


@test
def pasta_ends_when_cloche_is_killed(t):
    with lan(t) as machine:
        for _ in range(long(3, 30)):
            with machine.start(CLOCHE, *JAIL, "--", "sh", "-c",
                               "echo ready; exec sleep 1000",
                               stdout=subprocess.PIPE) as run:
                equal(run.stdout.readline(), b"ready\n")
                check(pastas(), "no pasta while it runs")
                run.kill()
                run.wait()
            wait_until(lambda: not pastas(), "pasta is gone")


@test
def killing_cloche_during_the_start_leaves_no_pasta(t):
    with lan(t) as machine:
        for i in range(long(8, 100)):
            with machine.start(CLOCHE, *JAIL, "--", "true") as run:
                time.sleep(0.02 * i)
                run.kill()
                run.wait()
            wait_until(lambda: not pastas(), "pasta is gone")


@test
def a_killed_pasta_ends_the_network_with_a_message(t):
    with lan(t) as machine:
        with machine.start(CLOCHE, *JAIL, "--", sys.executable, "-u", "-c",
                           "import socket, sys\n"
                           f"s = socket.create_connection(('{INTERNET}', {PORT}))\n"
                           "print(s.recv(100)); input(); s.settimeout(5)\n"
                           "try: s.sendall(b'x'); print('alive', s.recv(1))\n"
                           "except OSError: print('cut')\n"
                           + CONNECT.replace(", 20)", ", 5)"), INTERNET, OFFICE,
                           GATEWAY, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE) as run:
            run.stdout.readline()
            for pid in pastas():
                if (parent_of(pid) or ("",))[0].startswith(PASTA):
                    os.kill(pid, signal.SIGKILL)
            out, err = run.communicate(b"\n")
            contains(err, b"pasta ended: there is no network")
            lines = out.decode().splitlines()
            equal(lines[0], "cut")
            for line in lines[1:]:
                contains(line, "error")
            equal(len(lines), 4)


@test
def ignored_signals_of_the_caller_do_not_break_pasta(t):
    """pasta takes an ignored SIGPIPE for a failure"""
    with lan(t) as machine:
        machine.run("sh", "-c", 'trap "" PIPE CHLD QUIT; exec "$@"', "sh",
                    CLOCHE, *JAIL, "--", "true").ok()


def refused(r, words):
    r.ended(125)
    equal(r.err.count("\n"), 1, repr(r))
    contains(r.err, words)
    check(r.err.startswith("cloche: "), repr(r))


@test
def a_missing_pasta_is_refused(t):
    for net in ("jail", "jail,filtered"):
        with lan(t, without=("/usr/bin/pasta",)) as machine:
            r = machine.run(CLOCHE, "run", "--net", net, "--", "touch", "ran")
            refused(r, "install the package passt")
            contains(r.err, "--net host")
            check(not t.exists("ran"), "it ran")


@test
def a_missing_tun_device_is_refused(t):
    with lan(t, without=("/dev/net/tun",)) as machine:
        os.symlink("/dev/net", t.away + "/x")
        r = machine.run(CLOCHE, *JAIL, "--", "touch", "ran")
        check(r.code == 125, repr(r))
        equal(r.err.count("\n"), 1, repr(r))
        contains(r.err, "--net host")
        check(not t.exists("ran"), "it ran")


@test
def a_host_without_a_network_is_refused(t):
    r = t.outside("unshare", "-Urn", CLOCHE, *JAIL, "--", "touch", "ran")
    refused(r, "--net jail")
    check(not t.exists("ran"), "it ran")


@test
def bad_addresses_are_refused(t):
    for bad in ("10.0.0.0/33", "10.0.0.1/8", "::/0", "0.0.0.0/0", "nonsense",
                "1.2.3"):
        for net in ("jail", "filtered"):
            r = t.run("run", "--net", net, "--allow-ip", bad, "--", "touch", "ran")
            refused(r, bad)
    refused(t.run("run", "--net", "jail", "--host-port", "80", "--", "true"),
            "--host-port")
    refused(t.run("run", "--net", "jail", "--publish", "8000", "--", "true"),
            "--publish")
    refused(t.run("run", "--net", "jail,none", "--", "true"), "--net")
    check(not t.exists("ran"), "it ran")


@test
def explain_lists_the_jails_ranges(t):
    r = t.run("explain", "--net", "jail", "--allow-ip", "10.9.8.7", "--",
              "true").ok()
    for words in ("network\n  jail\n", "unreachable    10.0.0.0/8",
                  "unreachable    fe80::/10", "reachable      10.9.8.7",
                  "its gateway", "pasta, which asks the host's resolvers"):
        contains(r.out, words)
    plan = json.loads(t.run("explain", "--net", "filtered,jail", "--json", "--",
                            "true").out)
    equal(plan["net"], "jail,filtered")
    check({"range": "192.168.0.0/16", "reachable": False,
           "why": "a private address"} in plan["jail"], plan["jail"])
    settings = t.write(t.home + "/.claude/settings.json", json.dumps(
        {"sandbox": {"network": {"mode": "jail"}}}))
    check(settings)
    t.run("policy", "why", "connect", "example.com").ok()
    contains(t.run("policy", "why", "connect", "169.254.169.254").ended(1).out,
             "metadata")


@test
def verify_passes_in_a_jail(t):
    with lan(t) as machine:
        r = machine.run(CLOCHE, "verify", "--quick", "--profile", "home", "--net",
                        "jail", timeout=2 * RUN_SECONDS)
        check(r.code in (0, 3), repr(r))	# 3: the test machine lacks a control
        lacks(r.out, "FAIL")
        contains(r.out, "network is a jail")


@test
def jail_works_with_profile_home(t):
    t.write(t.home + "/.ssh/id", "canary")
    with lan(t) as machine:
        r = machine.run(CLOCHE, *JAIL, "--profile", "home", "--", "sh", "-c",
                        'cat ~/.ssh/id; exec "$@"', "sh", sys.executable, "-c",
                        CONNECT, INTERNET, OFFICE)
        equal(reached(r.ok()), {INTERNET: INTERNET, OFFICE: "error 22"})


main()
