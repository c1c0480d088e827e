# SPDX-License-Identifier: Apache-2.0
"""tests/harness/lan.py - a machine on a LAN behind a gateway, in namespaces

As a module: Lan(t) makes it, Lan.run() runs something on the machine. As a
program, in new user, mount and network namespaces: sets it up, serves the
rest of the world until its standard input ends. A server answers on PORT with
the address that was asked; the resolvers know INTERNET as "internet.test".
"""

import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

MACHINE, GATEWAY, NEIGHBOUR = "192.168.77.2", "192.168.77.1", "192.168.77.9"
RESOLVER, INTERNET, OFFICE = "192.168.77.53", "203.0.113.10", "10.1.2.3"
METADATA, CARRIER, PRIVATE = "169.254.169.254", "100.64.0.7", "172.16.5.5"
MACHINE6, GATEWAY6, NEIGHBOUR6 = ("2001:db8:77::2", "2001:db8:77::1",
                                  "2001:db8:77::9")
INTERNET6, ULA, LINK = "2001:db8:99::1", "fd00::1", "fe80::77"
# A second network, with addresses that look like the internet's
SECOND, BESIDE = "198.51.100.2", "198.51.100.9"
NEAR = (NEIGHBOUR, RESOLVER, OFFICE, METADATA, CARRIER, PRIVATE, NEIGHBOUR6, ULA,
        BESIDE, GATEWAY, GATEWAY6)
FAR = (INTERNET, INTERNET6)
PORT = 8080
CLONE_NEWNET, MS_BIND = 0x40000000, 4096
TUN = "/dev/net/tun"


def answer(query):
    """A for internet.test, else no such name"""
    name, at = [], 12
    while query[at]:
        name.append(query[at + 1:at + 1 + query[at]])
        at += 1 + query[at]
    kind = struct.unpack(">H", query[at + 1:at + 3])[0]
    known = b".".join(name) == b"internet.test"
    records = b""
    if known and kind == 1:
        records = (b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4)
                   + socket.inet_aton(INTERNET))
    return (query[:2] + struct.pack(">5H", 0x8180 if known else 0x8183, 1,
                                    1 if records else 0, 0, 0)
            + query[12:at + 5] + records)


def serve_names(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.bind((address, 53))
    while True:
        query, client = sock.recvfrom(2000)
        sock.sendto(answer(query), client)


def serve_datagrams(sock):
    while True:
        data, client = sock.recvfrom(2000)
        sock.sendto(data, client)


def serve_streams():
    server = socket.create_server(("::", PORT), family=socket.AF_INET6,
                                  dualstack_ipv6=True, backlog=100)
    while True:
        client, _ = server.accept()
        name = client.getsockname()[0].replace("::ffff:", "")
        client.sendall(name.encode() + b"\n")
        # Until the other end closes: a test may cut the network meanwhile
        threading.Thread(target=drain, args=(client,), daemon=True).start()


def drain(client):
    try:
        while data := client.recv(1000):
            client.sendall(data)
    except OSError:
        pass
    client.close()


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def rest_of_the_world(ready, start):
    """In a child: the other end of the wire"""
    ctypes.CDLL(None).unshare(CLONE_NEWNET)
    os.write(ready, b"1")
    os.read(start, 1)
    ip("link", "set", "lo", "up")
    ip("link", "set", "w0", "up")
    ip("link", "set", "w1", "up")
    ip("address", "add", BESIDE + "/24", "dev", "w1")
    for address in (GATEWAY, NEIGHBOUR, RESOLVER):
        ip("address", "add", address + "/24", "dev", "w0")
    for address in (INTERNET, OFFICE, METADATA, CARRIER, PRIVATE):
        ip("address", "add", address + "/32", "dev", "w0")
    for address in (GATEWAY6, NEIGHBOUR6, LINK):
        ip("address", "add", address + "/64", "dev", "w0", "nodad")
    for address in (INTERNET6, ULA):
        ip("address", "add", address + "/128", "dev", "w0", "nodad")
    for address in (RESOLVER, METADATA, NEIGHBOUR6, GATEWAY):
        threading.Thread(target=serve_names, args=(address,),
                         daemon=True).start()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((INTERNET, PORT))
    threading.Thread(target=serve_datagrams, args=(sock,), daemon=True).start()
    threading.Thread(target=serve_streams, daemon=True).start()
    while True:
        try:
            socket.create_connection((GATEWAY, PORT), 1).close()
            break
        except OSError:
            pass
    os.write(ready, b"2")
    signal.pause()


def machine(resolv, names):
    ready, start = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        rest_of_the_world(ready[1], start[0])
    os.read(ready[0], 1)
    ip("link", "set", "lo", "up")
    ip("link", "add", "eth0", "type", "veth", "peer", "name", "w0", "netns",
       str(pid))
    ip("address", "add", MACHINE + "/24", "dev", "eth0")
    ip("address", "add", MACHINE6 + "/64", "dev", "eth0", "nodad")
    ip("link", "set", "eth0", "up")
    ip("link", "add", "eth1", "type", "veth", "peer", "name", "w1", "netns",
       str(pid))
    ip("address", "add", SECOND + "/24", "dev", "eth1")
    ip("link", "set", "eth1", "up")
    os.write(start[1], b"x")
    os.read(ready[0], 1)
    ip("route", "add", "default", "via", GATEWAY)
    ip("-6", "route", "add", "default", "via", GATEWAY6)
    if names:
        threading.Thread(target=serve_names, args=(names,), daemon=True).start()
    libc = ctypes.CDLL(None, use_errno=True)
    real = os.path.realpath("/etc/resolv.conf")
    if libc.mount(resolv.encode(), real.encode(), None, MS_BIND, None) < 0:
        raise OSError(ctypes.get_errno(), "mount")
    for path in sys.argv[3:]:
        if libc.mount(b"/dev/null", path.encode(), None, MS_BIND, None) < 0:
            raise OSError(ctypes.get_errno(), path)
    print("up", flush=True)
    sys.stdin.read()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


class Lan:
    """The machine; @names: a resolver on its own loopback. @without: files
    that are not there. @resolv: the resolver, if it is another
    """

    def __init__(self, t, names=None, without=(), resolv=None):
        from tap import need, skip
        need("ip")
        unshare = need("unshare")
        need("nsenter")
        if not os.access(TUN, os.R_OK | os.W_OK):
            skip(f"{TUN} does not open")
        if not without:
            need("pasta")
        self.t = t
        resolv = t.write(os.path.join(t.away, "resolv.conf"),
                         f"nameserver {resolv or names or RESOLVER}\n")
        self.held = subprocess.Popen(
            [unshare, "--user", "--map-current-user", "--net", "--mount",
             "--keep-caps", sys.executable, os.path.abspath(__file__), resolv,
             names or "", *without],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.held.stdout.readline() != b"up\n":
            raise AssertionError("the namespaces of the LAN could not be set up")

    def enter(self):
        return ["nsenter", "--preserve-credentials", "-U", "-m", "-n",
                f"--wd={self.t.dir}", "-t", str(self.held.pid)]

    def run(self, *argv, **more):
        return self.t.outside(*self.enter(), *argv, **more)

    def start(self, *argv, **more):
        return subprocess.Popen([*self.enter(), *argv], **more)

    def close(self):
        self.held.communicate()


if __name__ == "__main__":
    machine(sys.argv[1], sys.argv[2])
