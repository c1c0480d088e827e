# SPDX-License-Identifier: Apache-2.0
"""tests/live/origin.py - servers that record exactly what arrived

origin.py DIRECTORY KIND:PORT...

Kinds: http (plain), https (the same behind TLS), echo, banner (speaks first),
sink (reads slowly when told), source (sends as fast as it can), parent (a
proxy: CONNECT, and http itself), full (one that takes nobody until
DIRECTORY/room is there). Each connection gets a number; its bytes go to
DIRECTORY/KIND-PORT-NUMBER, and where it came from to DIRECTORY/connections.
Prints READY when all listen. On SIGTERM it ends, when all that has connected by
then is written down.

The HTTP origin is lenient on purpose: bare LF ends a line, Content-Length
wins over nothing, so that whatever a strict proxy lets through by mistake
shows up as one more request in DIRECTORY/requests.
"""

import base64
import hashlib
import os
import resource
import select
import signal
import socket
import ssl
import sys
import threading
import time

lock, taking = threading.Lock(), threading.Lock()
count = 0
where = ""


def note(name, text):
    with lock, open(os.path.join(where, name), "a") as file:
        file.write(text + "\n")


class Recorder:
    """A socket whose input is written down"""

    def __init__(self, sock, name):
        self.sock, self.file = sock, open(os.path.join(where, name), "wb", 0)
        self.data = b""

    def more(self):
        got = self.sock.recv(65536)
        self.file.write(got)
        self.data += got
        return bool(got)

    def line(self):
        while b"\n" not in self.data:
            if not self.more():
                return None
        line, self.data = self.data.split(b"\n", 1)
        return line.rstrip(b"\r")

    def exactly(self, n):
        while len(self.data) < n:
            if not self.more():
                return None
        got, self.data = self.data[:n], self.data[n:]
        return got


def read_body(r, headers):
    if "chunked" in headers.get("transfer-encoding", ""):
        body = b""
        while True:
            size = int(r.line().split(b";")[0], 16)
            if not size:
                while r.line():
                    pass
                return body
            body += r.exactly(size)
            r.line()
    return r.exactly(int(headers.get("content-length", "0")))


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HINT = b"HTTP/1.1 103 Early Hints\r\nLink: <%s>\r\n\r\n"

# Path: what is sent, and whether the connection is kept
FIXED = {
    "/chunked": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nT: x\r\n\r\n", True),
    "/redirect": (b"HTTP/1.1 302 Found\r\nLocation: http://bad.test/\r\n"
                  b"Content-Length: 0\r\n\r\n", True),
    "/hints": (HINT % b"/x" + OK, True),
    "/empty": (b"HTTP/1.1 204 No Content\r\n\r\n", True),
    "/close": (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", False),
    "/cut": (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", False),
    "/split": (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
               b"Content-Length: 3\r\n\r\nabc", False),
    "/bye": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbye", False),
    "/early": (b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n"
               b"Connection: close\r\n\r\nno", False),
}


def wait_for_room():
    while not os.path.exists(os.path.join(where, "room")):
        time.sleep(0.01)


def websocket(sock, headers):
    """An echo behind the handshake"""
    key = headers["sec-websocket-key"].encode()
    accept = base64.b64encode(hashlib.sha1(
        key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket"
                 b"\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
                 accept + b"\r\n\r\nwelcome")
    while got := sock.recv(65536):
        sock.sendall(got)


def respond(sock, path, headers, body):
    """Returns False when the connection is over"""
    path, _, query = path.partition("?")
    if path in FIXED:
        answer, keep = FIXED[path]
        sock.sendall(answer)
        return keep
    if path == "/big":
        n = int(query)
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % n)
        block = bytes(range(256)) * 256
        while n > 0:
            sock.sendall(block[:n])
            n -= len(block)
    elif path == "/blocks":	# One chunk each, longer than any buffer
        sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for i in range(int(query)):
            sock.sendall(b"%x\r\n%b\r\n" % (1 << 20, bytes([i % 256]) * (1 << 20)))
        sock.sendall(b"0\r\n\r\n")
    elif path == "/sum":
        out = hashlib.sha256(body).hexdigest().encode()
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + out)
    elif path == "/chatter":	# Hints without end, nearly
        for _ in range(int(query)):
            sock.sendall(HINT % (b"x" * 12000))
        sock.sendall(OK)
    elif path.endswith("/keep-then-cut"):	# A kept connection ends without a word
        if headers["method"] != "GET":
            if query == "room":
                wait_for_room()
            return False
        sock.sendall(OK)
    elif path == "/never":
        time.sleep(1000)
    elif headers.get("upgrade", "").lower() == "websocket":
        websocket(sock, headers)
        return False
    else:
        out = b"path %s host %s body %d" % (
            path.encode(), headers.get("host", "-").encode(), len(body))
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" %
                     len(out) + (b"" if headers["method"] == "HEAD" else out))
    return True


def http(r, sock):
    while True:
        first = r.line()
        if first is None:
            return
        if not first:
            continue
        note("requests", first.decode("latin-1"))
        method, path = (first.split() + [b"", b""])[:2]
        headers = {"method": method.decode("latin-1")}
        while True:
            line = r.line()
            if not line:
                break
            name, _, value = line.partition(b":")
            headers[name.decode("latin-1").strip().lower()] = \
                value.decode("latin-1").strip()
        if path == b"/early":
            respond(sock, "/early", headers, b"")
            return
        body = read_body(r, headers)
        if body is None or not respond(sock, path.decode("latin-1"), headers,
                                       body):
            return


def files(r, sock):
    """Static files below the current directory, for git's plain protocol"""
    while True:
        first = r.line()
        if first is None:
            return
        while r.line():
            pass
        path = first.split()[1].split(b"?")[0].decode().lstrip("/")
        try:
            with open(os.path.join(where, "www", path), "rb") as file:
                body, status = file.read(), b"200 OK"
        except OSError:
            body, status = b"", b"404 Not Found"
        sock.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" %
                     (status, len(body)) + body)


def echo(r, sock):
    while r.more():
        sock.sendall(r.data)
        r.data = b""
    sock.sendall(b"<end>")


def banner(r, sock):
    sock.sendall(b"220 hello\n")
    echo(r, sock)


def source(r, sock):
    block = bytes(65536)
    while True:
        sock.sendall(block)


def sink(r, sock):
    total = 0
    while True:
        got = sock.recv(1 << 20)
        if not got:
            break
        total += len(got)
    sock.sendall(b"%d" % total)


def parent(r, sock):
    first = r.line()
    if b"secret.test" in first:
        sock.sendall(b"HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic\r\n"
                     b"Content-Length: 0\r\n\r\n")
        return
    if first and not first.startswith(b"CONNECT "):
        r.data = first + b"\r\n" + r.data
        http(r, sock)
        return
    while r.line():
        pass
    note("requests", first.decode())
    if b"chatty.test" in first:
        sock.sendall(b"HTTP/1.1 103 So\r\n\r\n" * 20000)
    if b"refused.test" in first:
        sock.sendall(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        return
    sock.sendall(b"HTTP/1.1 200 Fine\r\n\r\n")
    http(r, sock)


full = parent


def hold_all_places(port):
    """Connect until the backlog is full, then wait for a message"""
    held = []
    while not held or select.select([], held[-1:], [], 0.1)[1]:
        held.append(socket.socket())
        held[-1].setblocking(False)
        held[-1].connect_ex(("127.0.0.1", port))
    note("full", str(port))
    wait_for_room()
    for sock in held:
        sock.close()


def serve_one(kind, port, sock, number, context):
    try:
        if context:
            sock = context.wrap_socket(sock, server_side=True)
        handler = files if kind == "git" else \
            http if kind == "https" else globals()[kind]
        handler(Recorder(sock, f"{kind}-{port}-{number}"), sock)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        note("errors", f"{kind}:{port} {error}")
    try:
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    sock.close()


def serve(listener, kind, port, context):
    global count
    if kind == "full":
        hold_all_places(int(port))
    while select.select([listener], [], []):
        with taking:
            sock = listener.accept()[0]
            note("connections", f"{kind}:{port} {sock.getsockname()[0]}")
        with lock:
            count += 1
            number = count
        threading.Thread(target=serve_one, daemon=True, args=(
            kind, port, sock, number, context)).start()


def main():
    global where
    where = sys.argv[1]
    context, listeners = None, []
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    threading.stack_size(256 << 10)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    for spec in sys.argv[2:]:
        kind, port = spec.split(":")
        tls = kind in ("https", "git")
        if tls and not context:
            pem = os.path.join(where, "server.pem")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pem)
        listener = socket.create_server(
            ("::", int(port)), family=socket.AF_INET6,
            backlog=0 if kind == "full" else 4096, dualstack_ipv6=True)
        threading.Thread(target=serve, daemon=True, args=(
            listener, kind, port, context if tls else None)).start()
        if kind != "full":	# Who waits there is not waited for
            listeners.append(listener)
    print("READY", flush=True)
    signal.sigwait([signal.SIGTERM])
    while True:
        with taking:
            if not select.select(listeners, [], [], 0)[0]:
                os._exit(0)
        time.sleep(0.001)


main()
