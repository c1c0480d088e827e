# SPDX-License-Identifier: Apache-2.0
"""tests/harness/world.py - a network of two namespaces for cloche firewall"""

import json
import os
import sys

from tap import *

HARNESS = os.path.dirname(os.path.abspath(__file__))
GOOD, BAD, DNS, OTHER_DNS = ("203.0.113.10", "203.0.113.20", "203.0.113.53",
                             "203.0.113.54")
GOOD6, BAD6 = "2001:db8:7::10", "2001:db8:7::20"
GATEWAY, GATEWAY6, NEIGHBOUR = "10.77.0.2", "fd77::2", "10.77.0.3"
ALL = (GOOD, BAD, DNS, OTHER_DNS, GOOD6, BAD6, GATEWAY, GATEWAY6, NEIGHBOUR)

# connect HOST PORT: what came, or the kind of error
CONNECT = """
import socket, sys
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)
    print(s.recv(100).decode().strip() or "end")
except OSError as e: print(type(e).__name__, e.errno or "")
"""
# ask RESOLVER NAME
ASK = """
import socket, struct, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(20)
q = b"".join(bytes([len(p)]) + p.encode() for p in sys.argv[2].split("."))
try:
    s.connect((sys.argv[1], 53))
    s.send(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + q + b"\\0\\0\\1\\0\\1")
    print("answer", len(s.recv(1000)) > 0)
except OSError as e: print(type(e).__name__, e.errno or "")
"""


class World:
    """Two network namespaces: here (self.run) and the rest (self.rest)"""

    def __init__(self, t, zone=None):
        for program in ("nft", "ip", "unshare", "nsenter"):
            need(program)
        self.t = t
        self.zone_file = t.write(os.path.join(t.away, "zone"))
        self.zone(zone or {})
        self.here = self.hold(["unshare", "-Urnm"])
        self.there = self.hold([*self.enter(self.here), "unshare", "-n"])
        resolv = t.write(os.path.join(t.away, "resolv.conf"),
                         f"nameserver {DNS}\n")
        hosts = t.write(os.path.join(t.away, "hosts"),
                        f"127.0.0.1 localhost\n{GOOD} filed.test\n")
        self.hosts = hosts
        peer = self.there.pid
        self.sh(f"""set -e
mount -t tmpfs run /run
mount --bind {resolv} "$(realpath /etc/resolv.conf)"
mount --bind {hosts} /etc/hosts
ip link set lo up
ip link add inner type veth peer name outer
ip link set outer netns {peer}
ip address add 10.77.0.1/24 dev inner
ip address add fd77::1/64 dev inner nodad
ip link set inner up""").ok()
        self.sh("set -e; ip link set lo up; ip link set outer up\n"
                "sysctl -qw net.ipv6.bindv6only=1 || true\n" + "".join(
                    f"ip address add {a}/{n} dev {dev} {more}\n"
                    for a, n, dev, more in (
                        (GATEWAY, 24, "outer", ""), (NEIGHBOUR, 24, "outer", ""),
                        (GATEWAY6, 64, "outer", "nodad"),
                        (GOOD, 32, "lo", ""), (BAD, 32, "lo", ""),
                        (DNS, 32, "lo", ""), (OTHER_DNS, 32, "lo", ""),
                        (GOOD6, 128, "lo", "nodad"), (BAD6, 128, "lo", "nodad"))),
                where=self.there).ok()
        self.sh(f"set -e; ip route add default via {GATEWAY}\n"
                f"ip -6 route add default via {GATEWAY6}").ok()
        self.server = self.popen(
            [sys.executable, os.path.join(HARNESS, "outside.py"),
             self.zone_file, *ALL], where=self.there)
        equal(self.server.stdout.readline(), b"ready\n")

    def zone(self, names):
        self.t.write(self.zone_file + ".new", json.dumps(names))
        os.rename(self.zone_file + ".new", self.zone_file)

    def hold(self, command):
        """A process that keeps a namespace, until the test ends"""
        held = subprocess.Popen([*command, "sh", "-c", "echo up; exec cat"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if held.stdout.readline() != b"up\n":
            skip("no namespaces here: " + " ".join(command))
        return held

    @staticmethod
    def enter(held):
        return ["nsenter", "--preserve-credentials", "-U", "-m", "-n", "-t",
                str(held.pid)]

    def popen(self, argv, where=None, stdin=subprocess.DEVNULL):
        return subprocess.Popen(
            [*self.enter(where or self.here), *argv], stdin=stdin,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *argv, where=None, **more):
        return self.t.outside(*self.enter(where or self.here), *argv, **more)

    def sh(self, script, where=None, **more):
        return self.run("sh", "-c", script, where=where, **more)

    def firewall(self, *words, **more):
        return self.run(CLOCHE, "firewall", *words, **more)

    def connect(self, host, port=443, where=None):
        return self.run(sys.executable, "-c", CONNECT, host, port,
                        where=where).ok().out.strip()

    def ask(self, resolver, name="good.test"):
        return self.run(sys.executable, "-c", ASK, resolver, name).ok() \
            .out.strip()

    def rules(self):
        return self.sh("nft list ruleset").ok().out

    def status(self):
        r = self.firewall("status", "--json")
        return json.loads(r.out)

    def drops(self, kind):
        return self.status()["drops"]["kinds"][kind]["packets"]

    def close(self):
        for p in (self.server, self.there, self.here):
            p.kill()
            p.communicate()


def world(zone=None):
    """A test with a world"""
    def wrap(function):
        def body(t):
            w = World(t, zone)
            try:
                function(t, w)
            finally:
                w.close()
        body.__name__ = function.__name__
        return test(body)
    return wrap
