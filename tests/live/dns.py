# SPDX-License-Identifier: Apache-2.0
"""tests/live/dns.py - cloche run and a DNS server that is ours

Names are looked up as on any host, by the C library.
"""

import json
import os
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from as_srt import *
from host import *

DIAL_SECONDS = 10		# src/gate/conn-timers.def: how long a dial may take
GOOD, BAD, OWN = "93.184.216.34", "93.184.216.36", "93.184.216.40"
RESOLVERS_MAX = 8		# src/gate/gate-process.h
TUNNEL = '''
import socket, sys
def tunnel(where):
    s = socket.create_connection(("127.0.0.1", 3128), timeout=120)
    s.sendall(b"CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (where, where))
    return s.recv(12)[9:].decode()
'''


def count_connections(host, port):
    """A list that grows with every connection to host:port"""
    seen, s = [], socket.create_server((host, port))

    def serve():
        while True:
            seen.append(s.accept())
    threading.Thread(target=serve, daemon=True).start()
    return seen


def python(t, code, *options):
    return t.inside("/usr/bin/python3", "-c", TUNNEL + code,
                    options=options).ok().out


@test
def denied_names_are_not_resolved(t):
    good = count_connections(GOOD, 80)
    bad = count_connections(BAD, 80)
    out = python(t, '''
for name in ("good.test", "bad.test"):
    print(tunnel(name.encode() + b":80"))
    try: print(socket.create_connection((name, 80), 120) and "reached")
    except OSError as e: print(type(e).__name__)
''', "--allow", "good.test")
    equal(out.split(), ["200", "reached", "403", "gaierror"])
    wait_until(lambda: good, "a connection")
    check(not bad)
    contains(asked(), "good.test")
    lacks(asked(), "bad.test")
    # The control: the server would have told
    equal(socket.gethostbyname("bad.test"), BAD)


@test
def no_proxy_settings_are_needed_in_profile_srt(t):
    """What is allowed is reached by name and by address, what is not is not"""
    count_connections(GOOD, 7020)
    count_connections(BAD, 7020)
    out = srt(t, "-s", settings(t, config(network={"allowedDomains": ["good.test", GOOD]})),
              "/usr/bin/python3", "-c", f'''
import socket
for host in ("good.test", "{GOOD}", "bad.test", "{BAD}"):
    try: print(socket.create_connection((host, 7020), 60) and "reached")
    except OSError as e: print(type(e).__name__)
''').ok().out
    equal(out.split(), ["reached", "reached", "gaierror", "PermissionError"])


@test
def the_gate_connects_to_the_address_that_it_checked(t):
    public = count_connections(GOOD, 7000)
    own = count_connections("127.0.0.1", 7000)
    out = python(t, f'''
print(sorted({{tunnel(b"turn.test:7000") for i in range({long(100, 2000)})}}))
''', "--allow", "turn.test")
    contains(out, "200")
    wait_until(lambda: public, "a connection")
    check(not own, len(own))
    equal({socket.gethostbyname("turn.test") for _ in range(4)},
          {GOOD, "127.0.0.1"})


def children(p):
    """What the supervisor's own processes are called"""
    with open(f"/proc/{p.pid}/task/{p.pid}/children") as file:
        return {open(f"/proc/{pid}/comm").read().strip()
                for pid in file.read().split()}


@test
def the_resolver_process_starts_at_the_first_lookup(t):
    count_connections(GOOD, 7001)
    p = t.start("run", "--allow", "good.test", "--allow", GOOD, "--",
                "/usr/bin/python3", "-c", TUNNEL + f'''
for where in (b"{GOOD}:7001", b"bad.test:7001", b"good.test:7001"):
    print(tunnel(where), flush=True)
    sys.stdin.readline()
''')
    for code, there in ((b"200", False), (b"403", False), (b"200", True)):
        equal(p.stdout.readline().strip(), code)
        contains(children(p), "cloche-gate")
        equal("cloche-resolve" in children(p), there)
        p.stdin.write(b"\n")
        p.stdin.flush()
    p.communicate(timeout=RUN_SECONDS)
    equal(p.returncode, 0)


@test
def a_resolver_process_that_ends_is_replaced(t):
    """Only until the run ends, which reports it"""
    count_connections(GOOD, 7008)
    p = t.start("run", "--allow", "*.many.test", "--", "/usr/bin/python3", "-c",
                TUNNEL + f'''
for i in range({RESOLVERS_MAX + 2}):
    print(tunnel(b"n%d.many.test:7008" % i), flush=True)
    sys.stdin.readline()
''')

    def resolvers():
        with open(f"/proc/{p.pid}/task/{p.pid}/children") as file:
            rows = [open(f"/proc/{pid}/stat").read().split()[:3]
                    for pid in file.read().split()]
        return [int(pid) for pid, name, state in rows
                if name == "(cloche-resolve)" and state != "Z"]
    for i in range(RESOLVERS_MAX + 2):
        equal(p.stdout.readline().strip(),
              b"200" if i < RESOLVERS_MAX else b"502", i)
        for pid in resolvers():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not resolvers(), "its end")
        p.stdin.write(b"\n")
        p.stdin.flush()
    _, err = p.communicate(timeout=RUN_SECONDS)
    equal((p.returncode, err.count(b"no name is found from now on")), (0, 1), err)


@test
def data_sent_right_before_exit_to_a_name_arrives(t):
    listener = socket.create_server((GOOD, 7002))
    listener.settimeout(RUN_SECONDS)
    for i in range(long(5, 100)):
        # Exits before the name can have been resolved
        t.inside("/usr/bin/python3", "-c", '''
import os, socket
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"GET http://good.test:7002/ HTTP/1.1\\r\\nHost: good.test:7002\\r\\n\\r\\n")
os._exit(0)
''', options=["--allow", "good.test"]).ok()
        s, _ = listener.accept()
        s.settimeout(RUN_SECONDS)
        contains(s.recv(4096), b"GET / HTTP/1.1")
        s.close()


@test
def no_spelling_of_the_hosts_own_address_is_dialled(t):
    """It is public, so only the list of interfaces tells"""
    own = count_connections(OWN, 7003)
    public = count_connections(GOOD, 7003)
    names = ("own", "own-mapped", "own-nat64", "own-6to4", "good", "good-mapped")
    out = python(t, f'''
print(*[tunnel(name.encode() + b".test:7003") for name in {names!r}])
''', *[word for name in names for word in ("--allow", f"{name}.test")])
    equal(out.split(), ["403"] * 4 + ["200"] * 2)
    wait_until(lambda: len(public) == 2, "both connections")
    check(not own, len(own))
    socket.create_connection(("::ffff:" + OWN, 7003))    # The control
    wait_until(lambda: own, "our own address was not reached")


@test
def names_that_do_not_resolve_are_unreachable(t):
    out = python(t, '''
print(*[tunnel(name + b".test:80") for name in (b"fail", b"loop", b"none", b"silent")])
''', *[word for name in ("fail", "loop", "none", "silent")
          for word in ("--allow", f"{name}.test")])
    words = out.split()
    equal(words[:3], ["502"] * 3)
    check(words[3] in ("502", "504"), out)


@test
def a_run_ends_without_waiting_for_an_unresponsive_host(t):
    full = socket.create_server((GOOD, 7999), backlog=0)
    crowd = []
    for _ in range(4):    # The backlog is full: the next one gets no answer
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((GOOD, 7999))
        crowd.append(s)
    for code in ('s = socket.create_connection(("127.0.0.1", 3128)); s.sendall('
                 'b"CONNECT good.test:7999 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"'
                 '.replace(b"x", b"good.test"))',
                 'socket.create_connection(("good.test", 7999))'):
        took = []
        while not took or took[-1] > DIAL_SECONDS and len(took) < 5:
            p = t.start("run", "--allow", "good.test", "--", "/usr/bin/python3", "-c",
                        "import socket, time\n" + code + "\ntime.sleep(0.3); print()")
            p.stdout.readline()		# The command is about to end
            start = time.monotonic()
            p.communicate()
            equal(p.returncode, 0)
            took.append(time.monotonic() - start)
        check(took[-1] < DIAL_SECONDS, "each waited:", took)
    full.close()


@test
def allowed_names_are_not_resolved_in_the_hosts_search_domains(t):
    wrong = count_connections(BAD, 7007)
    count_connections(GOOD, 7007)
    out = python(t, 'print(tunnel(b"ghost.test:7007"), tunnel(b"short:7007"))',
                 "--allow", "ghost.test", "--allow", "short")
    equal(out.split(), ["502", "200"])
    contains(asked(), "ghost.test")
    contains(asked(), "short.search.test")
    lacks(asked(), "ghost.test.search.test")
    check(not wrong)
    equal(socket.gethostbyname("ghost.test"), BAD)      # The control


@test
def a_name_from_the_search_list_is_refused_without_a_record(t):
    events = os.path.join(t.away, "events")
    python(t, '''
for name in ("bad.test", "good.test.search.test.", "db.bad.search.test"):
    try: socket.getaddrinfo(name, 80); print("found", name)
    except OSError: pass
''', "--allow", "good.test", "--events", events)
    with open(events) as file:
        told = {json.loads(line)["target"] for line in file}
    # The last one may be meant: no shorter name was asked for
    equal(told, {"bad.test", "db.bad.search.test"})
    lacks(asked(), "bad.test.search.test")


@test
def a_client_that_resolves_before_using_a_proxy_reaches_the_host(t):
    """As Java's SOCKS client does, and curl with socks5://"""
    reached = count_connections(GOOD, 7006)
    out = python(t, '''
import struct
def socks(address):
    s = socket.create_connection(("127.0.0.1", 1080), timeout=120)
    kind = 4 if ":" in address else 1
    raw = socket.inet_pton(socket.AF_INET6 if kind == 4 else socket.AF_INET, address)
    s.sendall(b"\\5\\1\\0\\5\\1\\0" + bytes([kind]) + raw + struct.pack("!H", 7006))
    return s.makefile("rb").read(12)[3]
for _, _, _, _, (address, *_) in socket.getaddrinfo("good.test", 7006, type=socket.SOCK_STREAM):
    bare = "[%s]" % address if ":" in address else address
    print(tunnel(bare.encode() + b":7006"), socks(address))
print(tunnel(b"198.18.77.77:7006"), socks("198.18.77.77"))
''', "--allow", "good.test")
    equal(out.splitlines(), ["200 0", "200 0", "403 2"])
    wait_until(lambda: len(reached) == 4, "all four connections")


@test
def clients_with_proxy_support_get_the_refusal_text(t):
    """Python and curl take the "*" that is meant for others for a host"""
    code = '''
import os, urllib.request
assert os.environ["no_proxy"].endswith(",*"), os.environ["no_proxy"]
try: urllib.request.urlopen("http://bad.test/")
except OSError as e: print(e, flush=True)
os.execvp("curl", ["curl", "-sS", "http://bad.test/"])
'''
    need("curl")
    out = python(t, code, "--allow", "good.test")
    equal(out.count("host is not on the allow list"), 2, out)
    out = python(t, '''
import os
assert "*" not in os.environ["no_proxy"].split(","), os.environ["no_proxy"]
''', "--allow", "good.test", "--observe", "off")


@test
def a_datagram_to_an_unused_port_is_reported(t):
    events = os.path.join(t.away, "events")
    want = {"192.0.2.77:443", "[2001:db8::77]:123", "good.test:443"}

    def rows():
        with open(events) as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    for options in ((), ("--observe", "off")):
        t.write(events)
        p = t.start("run", "--allow", "good.test", "--events", events, *options,
                    "--", "/usr/bin/python3", "-c", '''
import errno, socket, sys
kept = []
for family, host, port in ((socket.AF_INET, "127.0.0.1", 4433),
                           (socket.AF_INET, "192.0.2.77", 443),
                           (socket.AF_INET, "192.0.2.77", 443),
                           (socket.AF_INET6, "2001:db8::77", 123),
                           (socket.AF_INET, "good.test", 443)):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(60)
    s.connect((host, port))
    s.send(b"x")
    try: s.recv(1)
    except OSError as e: print(errno.errorcode[e.errno], flush=True)
    kept.append(s)
sys.stdin.readline()
''')
        for _ in range(5):		# At once, not after a timeout
            equal(p.stdout.readline(), b"ECONNREFUSED\n")
        wait_until(lambda: len(rows()) == len(want), "the records")
        p.communicate(b"\n", RUN_SECONDS)
        equal({row["target"] for row in rows()}, want, options)
        for row in rows():
            equal((row["kind"], row["op"]), ("net-connect", "UDP"))
            contains(row["exe"], "/python3")


@test
def a_port_that_a_rule_names_can_be_listened_on(t):
    count_connections(GOOD, 7005)
    code = '''
import errno
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"),
                     (socket.AF_INET6, "::")):
    try: socket.create_server((host, 7005), family=family).close()
    except OSError as e: print(e.errno == errno.EADDRINUSE and "taken")
    else: print("listens")
print(socket.create_connection(("good.test", 7005), 20) and "reached")
try: own = socket.create_server(("127.0.0.1", 7005))
except OSError: own = None
print(own and socket.create_connection(("127.0.0.1", 7005), 20) and "own")
'''
    rule = ("--allow", "good.test:7005")
    equal(python(t, code, *rule).split(),
          ["listens"] * 3 + ["reached", "own"])
    # No rule is decided before a connection: the port is captured from the start
    equal(python(t, code, *rule, "--observe", "off").split(),
          ["taken"] * 3 + ["reached", "None"])


@test
def port_80_of_the_sandbox_has_no_listener(t):
    count_connections(GOOD, 80)
    code = '''
import errno
def ask(host, port, kind=socket.SOCK_STREAM):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)
    return errno.errorcode.get(s.connect_ex((host, port)), "reached")
for host in ("127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::ffff:127.0.0.1"):
    print(*[ask(host, port) for port in (22, 80, 443)])
print(ask("127.0.0.1", 3128), ask("127.0.0.1", 53), ask("127.0.0.1", 80, socket.SOCK_DGRAM),
      socket.create_connection(("good.test", 80), 20) and "reached")
'''
    equal(python(t, code, "--allow", "good.test").split(),
          ["ECONNREFUSED"] * 15 + ["reached"] * 4)
    # It is the host's, if that was asked for. Nobody listens there, so the gate
    # resets the connection, perhaps before connect() has returned.
    got = python(t, code, "--allow", "good.test", "--host-port", "443").split()
    got = [w.replace("ECONNRESET", "reached") for w in got]
    equal(got, ["ECONNREFUSED", "ECONNREFUSED", "reached"] * 5 +
          ["reached"] * 4)


own_host({**{f"n{i}.many.test": GOOD for i in range(RESOLVERS_MAX + 2)},
          "good.test": GOOD, "bad.test": BAD, "turn.test": [GOOD, "127.0.0.1"],
          "fail.test": "servfail", "loop.test": "loop", "silent.test": "silent",
          "own.test": OWN, "own-mapped.test": "::ffff:" + OWN,
          "own-nat64.test": "64:ff9b::" + OWN, "own-6to4.test": "2002:5db8:d828::",
          "good-mapped.test": "::ffff:" + GOOD,
          "ghost.test.search.test": BAD, "short.search.test": GOOD},
         search="search.test")
# An interface has it, and IPv6 is asked for
call("ip", "addr", "add", OWN + "/32", "dev", "lo")
call("ip", "addr", "add", "2001:db8::1/128", "dev", "lo")
main()
