# SPDX-License-Identifier: Apache-2.0
"""tests/harness/tls_origin.py - origins with real TLS, and runs with bound secrets

    from tls_origin import *
    own_host(NAMES)
    make_certificates()
    main()

The origins are on port 443 of a network namespace; their authority is in the store of
that namespace.
"""

import hashlib
import http.server
import os
import shutil
import socket
import ssl
import subprocess
import threading

from host import *

GOOD, OTHER, PLAIN = "93.184.216.34", "93.184.216.35", "93.184.216.36"
NAMES = {"good.test": GOOD, "sub.good.test": GOOD, "other.test": OTHER,
         "expired.test": "93.184.216.37", "wrong.test": "93.184.216.38",
         "selfsigned.test": "93.184.216.39", "plain.test": PLAIN}
VALUE = "ghp_TheRealValue0123456789abcdefghijklmn"
SECOND = "another-real-value-9876"
ENV = {"TOKEN": VALUE, "SECOND": SECOND}
STORE = "/etc/ssl/certs"
CERTIFICATES = os.path.join(os.environ["TMPDIR"], "certificates")


class Origin(http.server.BaseHTTPRequestHandler):
    """Says what it was sent, and remembers it"""
    protocol_version = "HTTP/1.1"
    seen = []

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def do_GET(self):
        body = self.body()
        self.seen.append((self.headers["Host"], self.path, self.headers, body))
        if self.headers.get("Upgrade") == "websocket":
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\n"
                             b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            self.wfile.write(self.rfile.read(4)[::-1])
            self.close_connection = True
            return
        out = f"{self.path} {self.headers.get('Authorization')} " \
              f"{hashlib.sha256(body).hexdigest()[:8]}\n".encode()
        if self.path == "/big":
            out = bytes(range(256)) * 8192
        self.send_response(200)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        if self.path == "/half":	# The rest never comes
            out = out[:len(out) // 2]
        self.wfile.write(out)
        if self.path == "/half":
            self.rfile.read(1)

    do_POST = do_PUT = do_GET

    def log_message(self, *_):
        pass


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def make_certificates(where=CERTIFICATES):
    """An authority in the store, certificates of it, and a self-signed one"""
    os.makedirs(where)
    os.chdir(where)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj",
            "/CN=test authority", "-days", "2")
    for name, alternatives, more in (
            ("good", "DNS:good.test,DNS:sub.good.test,DNS:other.test", ()),
            ("expired", "DNS:expired.test", ("-not_after", "20200101000000Z")),
            ("wrong", "DNS:elsewhere.test", ())):
        openssl("req", *key, "-keyout", name + ".key", "-out", name + ".csr", "-subj",
                "/CN=" + name)
        with open(name + ".ext", "w") as file:
            file.write("subjectAltName=" + alternatives)
        if more:		# x509 of OpenSSL 3.0 takes no dates, ca does
            for path, text in (("index.txt", ""), ("serial", "01"), ("ca.cnf", f"""
[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.
default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n""")):
                with open(path, "w") as file:
                    file.write(text)
            openssl("ca", "-batch", "-config", "ca.cnf", "-in", name + ".csr", "-cert",
                    "ca.pem", "-keyfile", "ca.key", "-out", name + ".pem", "-startdate",
                    "20190101000000Z", "-enddate", "20200101000000Z", "-extfile",
                    name + ".ext", "-notext")
        else:
            openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey",
                    "ca.key", "-CAcreateserial", "-out", name + ".pem", "-days", "2",
                    "-extfile", name + ".ext")
    openssl("req", "-x509", *key, "-keyout", "self.key", "-out", "self.pem", "-subj",
            "/CN=x", "-addext", "subjectAltName=DNS:selfsigned.test", "-days", "2")
    shutil.copytree(STORE, "store", symlinks=True)
    with open("ca.pem") as file:
        text = file.read()
    os.chmod("store/ca-certificates.crt", 0o644)
    with open("store/ca-certificates.crt", "a") as file:
        file.write(text)
    name = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", "ca.pem"],
                          check=True, capture_output=True, text=True).stdout.strip()
    shutil.copy("ca.pem", f"store/{name}.0")
    call("mount", "--bind", "store", STORE)
    os.chdir("/")


def serve(address, where, name=None, handler=Origin):
    server = http.server.ThreadingHTTPServer((address, 443 if name else 80), handler)
    if name:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{where}/{name}.pem", f"{where}/{name}.key")
        context.set_alpn_protocols(["http/1.1"])
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def origins(handler=Origin):
    """For each test, which is a process of its own"""
    for address, name in ((GOOD, "good"), (OTHER, "good"), ("93.184.216.37", "expired"),
                          ("93.184.216.38", "wrong"), ("93.184.216.39", "self"),
                          (PLAIN, None), (GOOD, None)):
        serve(address, CERTIFICATES, name, handler)


def wait_for_port(process, address):
    """Until something listens at @address, or @process has ended"""
    while process.poll() is None:
        try:
            socket.create_connection(address).close()
            return
        except ConnectionRefusedError:
            os.sched_yield()


def run(t, script, *options, secrets=("TOKEN@good.test",), **more):
    words = [w for s in secrets for w in ("--secret", s)]
    return t.inside("sh", "-c", script, options=(*words, *options),
                    env={**os.environ, **ENV, **more.pop("env", {})}, **more)


def authorizations():
    return [headers.get("Authorization") for _, _, headers, _ in Origin.seen]


