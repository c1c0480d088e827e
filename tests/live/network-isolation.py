# SPDX-License-Identifier: Apache-2.0
"""tests/live/network-isolation.py - the network of a sandbox cannot be used from outside"""

import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from host import *

LAN, PEER = "10.77.0.1", "10.77.0.2"
TRY = """
import socket, sys
try: print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 60).recv(9))
except OSError as e: print(type(e).__name__)
"""


def listening():
    """Everything that can be connected or sent to on this host"""
    found = set()
    for name in ("tcp", "tcp6", "udp", "udp6", "raw", "udplite"):
        with open(f"/proc/net/{name}") as file:
            for line in file.readlines()[1:]:
                words = line.split()
                if name.startswith("udp") or words[3] == "0A":
                    found.add((name, words[1]))
    return found


def serve(host, port, words):
    s = socket.create_server((host, port))

    def answer():
        while True:
            c, _ = s.accept()
            c.sendall(words)
            c.close()
    threading.Thread(target=answer, daemon=True).start()
    return s


def hold(t, *options, code=""):
    """A run that has used its network and waits"""
    p = t.start("run", *options, "--", "/usr/bin/python3", "-c", f'''
import socket, sys
s = socket.create_connection(("127.0.0.1", 3128)); s.sendall(b"CONNECT good.test:80 HTTP/1.1\\r\\nHost: good.test:80\\r\\n\\r\\n")
print(s.recv(12).decode(), flush=True)
{code}
sys.stdin.readline()
''')
    return p, p.stdout.readline().decode().strip()


@test
def the_gate_listens_on_no_port_of_the_host(t):
    serve("93.184.216.34", 80, b"good")
    before = listening()
    p, head = hold(t, "--allow", "good.test")
    equal(head, "HTTP/1.1 200")
    equal(listening() - before, set())
    # Neither for ourselves nor for another user
    words = ["/usr/bin/python3", "-c", TRY]
    others = [words]
    if IS_ROOT:
        others.append(["setpriv", "--reuid", "65534", "--regid", "65534",
                       "--clear-groups", *words])
    for who in others:
        for host in ("127.0.0.1", "::1", "198.18.0.1", LAN):
            for port in ("3128", "1080", "53"):
                got = t.outside(*who, host, port).ok().out
                check("Error" in got or "Timeout" in got or "timed" in got,
                      host, port, got)
        # The control: a server of the host is there for both
        equal(t.outside(*who, "93.184.216.34", "80").ok().out, "b'good'\n")
    p.communicate(b"\n", RUN_SECONDS)
    equal(listening() - before, set())


@test
def a_sandbox_cannot_use_the_gate_of_another(t):
    serve("93.184.216.34", 80, b"good")
    p, head = hold(t, "--allow", "good.test")
    equal(head, "HTTP/1.1 200")
    q, head = hold(t)
    equal(head, "HTTP/1.1 403")
    for one in (p, q):
        one.communicate(b"\n", RUN_SECONDS)


@test
def a_published_port_is_unreachable_from_the_lan(t):
    # A neighbour on the LAN: another namespace, joined by a veth pair
    peer = subprocess.Popen(["unshare", "-n", "sleep", "1000"])
    try:
        own = os.readlink("/proc/self/ns/net")
        wait_until(lambda: os.readlink(f"/proc/{peer.pid}/ns/net") != own,
                   "another namespace")
        call("ip", "link", "add", "cable0", "type", "veth", "peer", "name",
             "cable1", "netns", str(peer.pid))
        call("ip", "addr", "add", f"{LAN}/24", "dev", "cable0")
        call("ip", "link", "set", "cable0", "up")
        inside = ["nsenter", "-t", str(peer.pid), "-n"]
        call(*inside, "ip", "addr", "add", f"{PEER}/24", "dev", "cable1")
        call(*inside, "ip", "link", "set", "cable1", "up")
        p, head = hold(t, "--publish", "3000", code='''
l = socket.create_server(("0.0.0.0", 3000)); print("up", flush=True)
c, a = l.accept(); c.sendall(b"inside"); c.close()
''')
        equal(p.stdout.readline(), b"up\n")
        serve("0.0.0.0", 3001, b"control")
        tried = [*inside, "/usr/bin/python3", "-c", TRY, LAN]
        equal(t.outside(*tried, "3001").ok().out, "b'control'\n")
        contains(t.outside(*tried, "3000").ok().out, "Refused")
        equal(t.outside("/usr/bin/python3", "-c", TRY, "127.0.0.1",
                        "3000").ok().out, "b'inside'\n")
        p.communicate(b"\n", RUN_SECONDS)
    finally:
        peer.kill()
        peer.wait()


own_host({"good.test": "93.184.216.34"})
main()
