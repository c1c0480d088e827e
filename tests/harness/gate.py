# SPDX-License-Identifier: Apache-2.0
"""tests/harness/gate.py - the network by itself: gate-driver and an origin

    g = Gate(t, ["http:80", "echo:7000"], allow=["good.test"])
    r = g.run("curl", "-s", "http://good.test/")
    g.requests()

Names: good.test and other.test are at public addresses of the origin. The
"host" is a namespace of the driver, so ports are the test's own.
"""

import json
import os
import sys

from tap import *

TESTS = os.environ.get("CLOCHE_TESTS", "tests")
DRIVER = os.path.join(os.path.dirname(TESTS), "bin", "gate-driver")
NAMES = {
    "good.test": "93.184.216.34", "other.test": "93.184.216.35",
    "bad.test": "93.184.216.36", "below.good.test": "93.184.216.34",
}
PROXY = "http://127.0.0.1:3128"
BARE = {name: None for name in (
    "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
    "all_proxy")}
PROXIED = {"http_proxy": PROXY, "https_proxy": PROXY}

CLIENT = r'''
import os, socket, ssl, struct, sys, time
def connect(host="127.0.0.1", port=3128):
    return socket.create_connection((host, port), timeout=120)
def everything(s):
    out = b""
    try:
        while True:
            got = s.recv(65536)
            if not got:
                return out
            out += got
    except ConnectionResetError:
        return out + b"<reset>"
def until(s, end):
    out = b""
    while not out.endswith(end):
        got = s.recv(1)
        if not got:
            break
        out += got
    return out
def say(raw, host="127.0.0.1", port=3128):
    s = connect(host, port)
    s.sendall(raw)
    try:
        s.shutdown(socket.SHUT_WR)
    except OSError:    # Reset by then: everything() says so
        pass
    return everything(s)
def tunnel(where):
    s = connect()
    s.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (where, where))
    return s, until(s, b"\r\n\r\n")
def hello(name):
    i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname = False
    c.verify_mode = ssl.CERT_NONE
    b = c.wrap_bio(i, o, server_hostname=name)
    try:
        b.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return o.read()
'''


class Gate:
    def __init__(self, t, origin=(), allow=("good.test",), deny=(), names=None,
                 options=()):
        self.t = t
        self.log = os.path.join(t.dir, "log")
        self.events_file = os.path.join(t.dir, "events")
        os.makedirs(self.log, exist_ok=True)
        if any(kind.startswith(("https", "git")) for kind in origin):
            self.certificate()
        self.argv = [DRIVER, "--events", self.events_file]
        if origin:
            self.argv += ["--origin", " ".join(
                ["exec", "/usr/bin/python3", os.path.join(TESTS, "live/origin.py"),
                 self.log, *origin])]
        for host in allow:
            self.argv += ["--allow", host]
        for host in deny:
            self.argv += ["--deny", host]
        for name, addresses in {**NAMES, **(names or {})}.items():
            self.argv += ["--name", f"{name}={addresses}"]
        self.argv += list(options)

    def certificate(self):
        pem = os.path.join(self.log, "server.pem")
        if os.path.exists(pem):
            return
        self.t.outside(
            need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=good.test", "-addext",
            "subjectAltName=DNS:good.test,DNS:other.test",
            "-keyout", pem + ".key", "-out", pem + ".crt").ok()
        with open(pem, "w") as out:
            for part in (".key", ".crt"):
                with open(pem + part) as file:
                    out.write(file.read())

    def run(self, *client, **more):
        """Run a client inside"""
        r = self.t.outside(*self.argv, "--", *client, **more)
        if r.code == 77:
            skip("no user namespaces here")
        return r

    def start(self, *client, **more):
        return subprocess.Popen([*self.argv, "--", *client],
                                stdout=subprocess.PIPE, stdin=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def python(self, code, **more):
        """Run Python inside, with the helpers above; what it printed"""
        r = self.run("/usr/bin/python3", "-c", CLIENT + code, **more)
        check(r.code == 0, "client ended with", repr(r))
        return r.out

    def _lines(self, name):
        try:
            with open(os.path.join(self.log, name)) as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def requests(self):
        return self._lines("requests")

    def connections(self):
        return self._lines("connections")

    def received(self, kind):
        """All that connections of a kind ("http-80") sent, in their order"""
        names = [n for n in os.listdir(self.log) if n.startswith(kind + "-")]
        names.sort(key=lambda n: int(n.rsplit("-", 1)[1]))
        found = []
        for name in names:
            with open(os.path.join(self.log, name), "rb") as file:
                found.append(file.read())
        return found

    def events(self):
        with open(self.events_file) as file:
            return [json.loads(line) for line in file]

    def refused(self):
        return [(e["kind"], e["target"]) for e in self.events() if "kind" in e]
