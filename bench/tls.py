# SPDX-License-Identifier: Apache-2.0
"""bench/tls.py - the measurements of bench/tls

Client and server are Python and take part of the time on all ways, so the ratios
flatter: they show what a user of such a client notices. mitmproxy, where it is
installed, replaces the same field with a rule in Python.
"""

import atexit
import os
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "harness"))
from host import *

ADDRESS, NAME = "93.184.216.34", "good.test"
STORE = "/etc/ssl/certs"
CLOCHE = os.environ["CLOCHE"]
ROUNDS = int(os.environ.get("CLOCHE_BENCH_ROUNDS", "20"))
REQUESTS, BULK, IDLE = 4000, 256 << 20, 200
WHERE = os.path.join(os.environ["TMPDIR"], "bench")
ENV = {**os.environ, "TOKEN": "ghp_TheRealValue0123456789abcdefghijklmn"}

CLIENT = r"""
import os, socket, ssl, sys, time
context = ssl.create_default_context()
def connect():
    host, _, port = sys.argv[2].partition(":")
    return context.wrap_socket(socket.create_connection((host, int(port or 443))),
                               server_hostname="good.test")
def request(path):
    return (f"GET {path} HTTP/1.1\r\nHost: good.test\r\nAuthorization: Bearer "
            f"{os.environ['TOKEN']}\r\n\r\n").encode()
def answered(s):	# To its end, in however many records
    data = b""
    while not data.endswith(b"\r\n\r\nok"):
        data += s.recv(4096)
mode, n = sys.argv[1], int(sys.argv[3])
if mode == "idle":
    kept = []
    for _ in range(n):
        kept.append(connect())
        kept[-1].sendall(request("/"))
        answered(kept[-1])
    print("ready", flush=True)
    sys.stdin.read()
    sys.exit()
s = connect()
s.sendall(request("/"))
answered(s)
start = time.monotonic()
if mode == "keep":
    for _ in range(n):
        s.sendall(request("/"))
        answered(s)
else:
    s.sendall(request("/bulk"))
    room, left = bytearray(1 << 20), n
    while left > 0:
        left -= s.recv_into(room)
print(n / (time.monotonic() - start))
"""


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=WHERE)


def make_certificates():
    os.makedirs(WHERE)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj",
            "/CN=bench authority", "-days", "2")
    openssl("req", *key, "-keyout", "key", "-out", "csr", "-subj", "/CN=x")
    with open(WHERE + "/ext", "w") as file:
        file.write("subjectAltName=DNS:" + NAME)
    openssl("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", "pem", "-days", "2", "-extfile", "ext")
    shutil.copytree(STORE, WHERE + "/store", symlinks=True)
    bundle = WHERE + "/store/ca-certificates.crt"
    os.chmod(bundle, 0o644)
    with open(WHERE + "/ca.pem") as ca, open(bundle, "a") as file:
        file.write(ca.read())
    name = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", "ca.pem"],
                          check=True, capture_output=True, text=True, cwd=WHERE).stdout
    shutil.copy(WHERE + "/ca.pem", f"{WHERE}/store/{name.strip()}.0")
    call("mount", "--bind", WHERE + "/store", STORE)


def answer(s):
    piece = os.urandom(1 << 20)
    try:
        while request := s.recv(4096):
            if request.startswith(b"GET /bulk"):
                s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % BULK)
                for _ in range(BULK >> 20):
                    s.sendall(piece)
            else:
                s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    except OSError:
        pass


def serve():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(WHERE + "/pem", WHERE + "/key")
    listener = socket.create_server((ADDRESS, 443), backlog=IDLE)
    while True:
        s, _ = listener.accept()
        s = context.wrap_socket(s, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=answer, args=(s,), daemon=True).start()


# What it does for a request is what cloche-tls does: one field, one value for another
ADDON = """def request(flow):
    field = flow.request.headers.get("authorization", "")
    flow.request.headers["authorization"] = field.replace("placeholder", "%s")
""" % ENV["TOKEN"]


def mitmproxy():
    """Its address, or None where it is not installed"""
    if not shutil.which("mitmdump"):
        return None
    with open(WHERE + "/addon.py", "w") as file:
        file.write(ADDON)
    probe = socket.create_server(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    p = subprocess.Popen(
        ["mitmdump", "-q", "--mode", "reverse:https://" + NAME, "--listen-host", "127.0.0.1",
         "--listen-port", str(port), "-s", WHERE + "/addon.py", "--set", "confdir=" + WHERE,
         "--set", "http2=false", "--set", f"ssl_verify_upstream_trusted_ca={WHERE}/ca.pem"],
        env={**os.environ, "no_proxy": "*"})
    atexit.register(p.kill)
    while p.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return f"127.0.0.1:{port}"
        except ConnectionRefusedError:
            time.sleep(0.05)
    return None


def run(mode, n, *front, target=None):
    env = {**ENV, "SSL_CERT_FILE": WHERE + "/mitmproxy-ca-cert.pem",
           "TOKEN": "placeholder"} if target else ENV
    target = target or (NAME if front else ADDRESS)
    r = subprocess.run([*front, "/usr/bin/python3", "-c", CLIENT, mode, target, str(n)],
                       env=env, capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"bench: {mode}: {r.stderr}")
    return float(r.stdout)


def startup(way):
    start = time.monotonic()
    subprocess.run([CLOCHE, "run", "--no-settings", "--quiet", *way, "--", "true"],
                   env=ENV, check=True)
    return 1000 * (time.monotonic() - start)


def memory():
    """KiB of cloche-tls for each idle connection"""
    def size():
        pid = subprocess.run(["pgrep", "-P", str(p.pid), "-x", "cloche-tls"],
                             capture_output=True, text=True).stdout.split()[0]
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return int([l for l in file if l.startswith("Pss:")][0].split()[1])
    sizes = []
    for n in (1, IDLE):
        p = subprocess.Popen([*BOUND, "/usr/bin/python3", "-c", CLIENT, "idle", NAME, str(n)],
                             env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        p.stdout.readline()
        sizes.append(size())
        p.communicate()
    return (sizes[1] - sizes[0]) / (IDLE - 1)


BOUND = [CLOCHE, "run", "--no-settings", "--quiet", "--secret", "TOKEN@" + NAME, "--"]
OPEN = [CLOCHE, "run", "--no-settings", "--quiet", "--allow", NAME, "--env", "TOKEN", "--"]

own_host({NAME: ADDRESS})
make_certificates()
threading.Thread(target=serve, daemon=True).start()
bind = ("--secret", "TOKEN@" + NAME)
ways = {"no secret": ("--allow", NAME), "bound, store or variable": bind,
        "bound, env:": (*bind, "--secret-from", "TOKEN=env:TOKEN")}
times = {name: [] for name in ways}
for _ in range(ROUNDS):
    for name, way in ways.items():
        times[name].append(startup(way))
# On a busy machine the fastest tenth says more than the median
for name, tenths in ((name, statistics.quantiles(t, n=10)) for name, t in times.items()):
    print(f"start-up, {name}: {tenths[4]:.1f} ms, the fastest tenth below {tenths[0]:.1f} ms")
peer = mitmproxy()
for mode, n, unit, scale in (("keep", REQUESTS, "requests/s", 1),
                             ("bulk", BULK, "MiB/s", 1 << 20)):
    found = {"direct": [], "end to end": [], "bound": [], "mitmproxy": []}
    for _ in range(7):
        found["direct"].append(run(mode, n))
        found["end to end"].append(run(mode, n, *OPEN))
        found["bound"].append(run(mode, n, *BOUND))
        if peer and mode == "keep":		# It would keep a body in memory
            found["mitmproxy"].append(run(mode, n // 10, target=peer))
    best = {name: statistics.median(v) / scale for name, v in found.items() if v}
    print(f"{mode}: " + ", ".join(f"{name} {v:.0f} {unit} ({v / best['direct']:.2f})"
                                  for name, v in best.items()))
print(f"memory: {memory():.1f} KiB for each idle connection")
