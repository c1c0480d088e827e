# SPDX-License-Identifier: Apache-2.0
"""tests/attack/secrets.py - a hostile command with a bound secret tries to get its value

It may send any bytes to the bound host, which shows what it was sent, and to another host
that is allowed. The value must reach the bound host only, in a credential field of a
request that can be read in one way, and nothing may come back.
"""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tls_origin import *

# In turns: what is checked must be what is dialled
ADDRESSES = {**NAMES, "sub.good.test": [GOOD, "127.0.0.1"]}
REQUEST = "POST /{} HTTP/1.1\r\nHost: good.test\r\n{}Connection: close\r\n\r\n{}"
BEARER = "Authorization: Bearer {P}\r\n"


class Recorder:
    """A server with TLS that keeps every byte of each connection, and answers heads"""
    def __init__(self, address=GOOD, accepted=None):
        self.seen, self.accepted = [], accepted
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(f"{CERTIFICATES}/good.pem", f"{CERTIFICATES}/good.key")
        self.listener = socket.create_server((address, 443))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            s = self.listener.accept()[0]
            if self.accepted:
                self.accepted()
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        try:
            s = self.context.wrap_socket(s, server_side=True)
        except OSError:
            return
        data = bytearray()
        self.seen.append(data)
        opened = False
        try:
            while piece := s.recv(65536):
                data += piece
                if b"websocket" in data and not opened:
                    s.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                              b"Connection: Upgrade\r\n\r\n")
                    opened = True
                elif opened and data.endswith(b"END"):
                    s.sendall(b"ok")
                elif not opened and self.is_whole(data):
                    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        except OSError:
            pass

    @staticmethod
    def is_whole(data):
        """A request, of those that are sent here, is there to its end"""
        if b"content-length" in data.lower():
            return data.endswith(b"END")
        return data.endswith(b"\r\n\r\n") and (b"chunked" not in data or b"\r\n0\r\n" in data) or \
            data.endswith(b"END")

    def text(self):
        return b"\n".join(map(bytes, self.seen)).decode("latin-1")


CLIENT = r'''import json, os, socket, ssl
context = ssl.create_default_context()
for text in json.load(open("cases.json")):
    text = text.replace("{P}", os.environ["TOKEN"]).replace("{S}", os.environ.get("SECOND", ""))
    s = context.wrap_socket(socket.create_connection(("good.test", 443)), server_hostname="good.test")
    answer = b""
    try:
        s.sendall(text.encode("latin-1"))
        while not answer.endswith(b"ok") and (piece := s.recv(65536)):
            answer += piece
    except OSError:
        pass
    s.close()
    print(json.dumps(answer.decode("latin-1").split("\r\n")[0]))
'''


def send(t, texts, *options, secrets=("TOKEN@good.test",)):
    """Each on a connection of its own; the first lines of the answers"""
    t.write("cases.json", json.dumps(texts))
    t.write("client.py", CLIENT)
    r = run(t, "/usr/bin/python3 client.py", *options, secrets=secrets).ok()
    lacks(r.out + r.err, VALUE)
    return [json.loads(line) for line in r.out.splitlines()], r


AMBIGUOUS = {
    "both framings": REQUEST.format("", BEARER + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "END"),
    "two lengths": REQUEST.format("", BEARER + "Content-Length: 3\r\nContent-Length: 4\r\n", "END"),
    "a list of lengths": REQUEST.format("", BEARER + "Content-Length: 3, 4\r\n", "END"),
    "a signed length": REQUEST.format("", BEARER + "Content-Length: +3\r\n", "END"),
    "another coding": REQUEST.format("", BEARER + "Transfer-Encoding: xchunked\r\n", "END"),
    "chunked, not last": REQUEST.format("", BEARER + "Transfer-Encoding: chunked, identity\r\n", "END"),
    "chunked twice": REQUEST.format("", BEARER + "Transfer-Encoding: chunked\r\n" * 2, "END"),
    "a blank before the colon": REQUEST.format("", BEARER + "Content-Length : 3\r\n", "END"),
    "a folded header": REQUEST.format("", "X-A: b\r\n " + BEARER, "END"),
    "a folded credential": REQUEST.format("", "Authorization: Bearer\r\n {P}\r\n", "END"),
    "a header without a name": REQUEST.format("", ": x\r\n" + BEARER, "END"),
    "a bare line feed": REQUEST.format("", "X-A: b\n" + BEARER, "END"),
    "a bare carriage return": REQUEST.format("", "X-A: b\r" + BEARER, "END"),
    "a NUL": REQUEST.format("", "X-A: \0\r\n" + BEARER, "END"),
    "two hosts": REQUEST.format("", "Host: other.test\r\n" + BEARER, "END"),
    "the same host twice": REQUEST.format("", "Host: good.test\r\n" + BEARER, "END"),
    "no host": "GET / HTTP/1.1\r\n" + BEARER + "\r\nEND",
    "another host": "GET / HTTP/1.1\r\nHost: other.test\r\n" + BEARER + "\r\nEND",
    "another port": "GET / HTTP/1.1\r\nHost: good.test:8443\r\n" + BEARER + "\r\nEND",
    "a host with a user": "GET / HTTP/1.1\r\nHost: x@good.test\r\n" + BEARER + "\r\nEND",
    "a target of another host": "GET https://other.test/ HTTP/1.1\r\nHost: good.test\r\n" + BEARER + "\r\nEND",
    "a target and another host": "GET https://good.test/ HTTP/1.1\r\nHost: other.test\r\n" + BEARER + "\r\nEND",
    "CONNECT": "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n" + BEARER + "\r\nEND",
    "CONNECT to itself": "CONNECT good.test:443 HTTP/1.1\r\nHost: good.test:443\r\n" + BEARER + "\r\nEND",
    "HTTP/2 without its name": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nEND",
    "HTTP/0.9": "GET /\r\n" + BEARER + "\r\nEND",
    "HTTP/1.2": "GET / HTTP/1.2\r\nHost: good.test\r\n" + BEARER + "\r\nEND",
    "chunks for HTTP/1.0": "POST / HTTP/1.0\r\nHost: good.test\r\nTransfer-Encoding: chunked\r\n" + BEARER + "\r\nEND",
    "a blank line first, then two methods": "\r\n\r\nGET GET / HTTP/1.1\r\nHost: good.test\r\n" + BEARER + "\r\nEND",
    "blanks in the target": "GET /a b HTTP/1.1\r\nHost: good.test\r\n" + BEARER + "\r\nEND",
}


@test
def ambiguous_requests_are_not_forwarded(t):
    origin, other = Recorder(), Recorder(OTHER)
    answers, r = send(t, list(AMBIGUOUS.values()) +
                      [REQUEST.format("control", BEARER + "Content-Length: 3\r\n", "END")])
    for name, answer in zip(AMBIGUOUS, answers):
        check(answer == "" or answer.split()[1] in ("400", "403", "421", "501", "505"), name, answer)
    contains(answers[-1], "200 OK")
    equal(other.seen, [])
    # Of all of them the server saw the control only
    equal(origin.text().count(VALUE), 1, origin.text())
    equal([bytes(d[:13]) for d in origin.seen if d], [b"POST /control"])


@test
def only_credential_fields_of_the_head_get_the_value(t):
    """In path, query, body, trailers, frames of a WebSocket and other fields it stays"""
    origin = Recorder()
    smuggled = "GET /steal HTTP/1.1\r\nHost: good.test\r\n" + BEARER + "\r\nEND"
    long = smuggled.replace("{P}", VALUE)	# As long
    answers, _ = send(t, [
        REQUEST.format("path-{P}?q={P}", "Content-Length: 3\r\n", "END"),
        REQUEST.format("body", f"Content-Length: {len(long)}\r\n", smuggled),
        REQUEST.format("trailer", "Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n",
                       "3\r\nabc\r\n0\r\n" + BEARER + "X: END\r\n\r\nEND"),
        REQUEST.format("chunk", "Transfer-Encoding: chunked\r\n",
                       "3;x={P}\r\nabc\r\n0\r\nX: END\r\n\r\nEND"),
        REQUEST.format("fields", "Cookie: {P}\r\nUser-Agent: {P}\r\nX-Forwarded-For: {P}\r\n"
                       "Proxy-Authorization: Bearer {P}\r\nX-{P}: x\r\nContent-Length: 3\r\n", "END"),
        "GET /socket HTTP/1.1\r\nHost: good.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\nAuthorization: Bearer {P}\r\n\r\nEND"])
    for answer in answers:
        check(answer == "" or answer.split()[1] in ("101", "200", "400"), answers)
    lacks(origin.text(), VALUE)
    for words in ("/path-", "/body", "/fields", "/socket", "Version: 13\r\n\r\nAuthorization: Bearer ghp_"):
        contains(origin.text(), words)


@test
def a_pipelined_request_is_decided_by_itself(t):
    origin = Recorder()
    first = "GET /first HTTP/1.1\r\nHost: good.test\r\nX: END\r\n\r\n"
    send(t, [first + f"GET /second HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {{P}}\r\n"
             "Connection: close\r\n\r\nEND" for host in ("other.test", "good.test:444", "")])
    lacks(origin.text(), "/second")
    lacks(origin.text(), VALUE)


@test
def each_secret_is_sent_to_its_own_hosts_only(t):
    """One of this host and one of another, in one field, or in one request"""
    origin = Recorder()
    texts = [REQUEST.format(i, fields + "Content-Length: 3\r\n", "END") for i, fields in enumerate((
        BEARER + "X-Api-Key: {S}\r\n", "Authorization: Bearer {S}\r\n",
        "Authorization: Bearer {P}, Bearer {S}\r\n", BEARER + "Authorization: Bearer {S}\r\n"))]
    answers, r = send(t, texts, secrets=("TOKEN@good.test", "SECOND@other.test"))
    equal([answers[i].split()[1] for i in (0, 1, 3)], ["403"] * 3, answers)
    lacks(origin.text() + r.out, SECOND)
    lacks(origin.text(), VALUE)


@test
def tunnel_SNI_and_host_header_must_name_one_host(t):
    """The tunnel, the hello and the request must name one host"""
    origin, other = Recorder(), Recorder(OTHER)
    t.write("front.py", r'''import os, socket, ssl, sys
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
for tunnel, hello, host in (("good.test", "other.test", "other.test"), ("other.test", "good.test", "good.test"),
                            ("good.test", "other.test", "good.test"), ("good.test", None, "good.test"),
                            ("other.test", None, "good.test"), ("good.test", "good.test", "other.test"),
                            ("good.test", "good.test", "good.test")):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(f"CONNECT {tunnel}:443 HTTP/1.1\r\nHost: {tunnel}:443\r\n\r\n".encode())
    try:
        s.recv(4096)
        s = context.wrap_socket(s, server_hostname=hello)
        s.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {os.environ['TOKEN']}\r\n\r\nEND".encode())
        print(tunnel, hello, host, s.recv(4096)[:12])
    except OSError as e:
        print(tunnel, hello, host, "refused")
''')
    r = run(t, "/usr/bin/python3 front.py", "--allow", "other.test").ok()
    lacks(other.text(), VALUE)
    equal(origin.text().count(VALUE), 1, r.out)
    contains(r.out.splitlines()[-1], "HTTP/1.1 200")


@test
def dns_rebinding_does_not_leak_a_secret(t):
    origin, inside = Recorder(), Recorder("127.0.0.1")
    r = run(t, """for i in 1 2 3 4 5 6 7 8; do
    curl -sS -m 60 -o /dev/null -w '%{http_code}\\n' -H "X-Api-Key: $TOKEN" -d END https://sub.good.test/
done""", secrets=("TOKEN@sub.good.test",))
    equal(inside.seen, [], "the host's loopback was reached")
    lacks(r.out + r.err, VALUE)
    # The control: the other address is a server like any other
    run(t, 'curl -sS -m 60 -H "X-Api-Key: $TOKEN" -d END https://good.test/').ok()
    contains(origin.text(), VALUE)


class Moved(Origin):
    """Redirects every request"""
    def do_GET(self):
        self.seen.append((self.headers["Host"], self.path, self.headers, self.body()))
        self.send_response(302 if self.path == "/start" else 200)
        self.send_header("Location", "https://other.test/end")
        self.send_header("Content-Length", "0")
        self.end_headers()


@test
def a_redirect_does_not_leak_a_secret(t):
    origins(Moved)
    for more in ((), ("--secret", "SECOND@other.test")):	# End to end, and opened
        Origin.seen.clear()
        r = run(t, """curl -sS -m 60 -L --location-trusted -H "Authorization: Bearer $TOKEN" \
https://good.test/start""", "--allow", "other.test", *more)
        equal([h["Authorization"] for host, _, h, _ in Origin.seen if host == "good.test"],
              [f"Bearer {VALUE}"])
        lacks(repr([str(h) for host, _, h, _ in Origin.seen if host != "good.test"]), VALUE)
        lacks(r.out + r.err, VALUE)


def kill_tls(supervisor):
    for pid in subprocess.run(["pgrep", "-P", str(supervisor), "-x", "cloche-tls"],
                              capture_output=True, text=True).stdout.split():
        os.kill(int(pid), signal.SIGKILL)


class Killing(Origin):
    """Ends cloche-tls before it answers request number @last"""
    last = supervisor = 0

    def do_GET(self):
        if len(self.seen) + 1 == self.last:
            kill_tls(self.supervisor)
        try:
            super().do_GET()
        except OSError:		# The client has left
            self.close_connection = True


def killed(when, last):
    def leaves_no_way_out(t):
        if last:
            origins(Killing)
        else:
            Recorder(accepted=lambda: kill_tls(Killing.supervisor))
        p = t.start("run", "--secret", "TOKEN@good.test", "--", "sh", "-c",
                    'read x; for i in $(seq 8); do curl -sS -m 60 -o /dev/null -w "%{http_code}\\n" '
                    '-H "Authorization: Bearer $TOKEN" https://good.test/ 2>&1; done; echo ended',
                    env={**os.environ, **ENV})
        Killing.supervisor, Killing.last = p.pid, last
        out, err = p.communicate(b"\n")
        contains(out.decode(), "ended")
        equal(out.decode().count("200\n"), max(last - 1, 0), out)
        lacks((out + err).decode(), VALUE)
        contains(err.decode(), "good.test")
        check(set(authorizations()) <= {f"Bearer {VALUE}"})
    leaves_no_way_out.__name__ = f"cloche_tls_killed_{when}_leaves_no_way_out"
    return leaves_no_way_out


for _when, _last in (("as_the_server_accepts", 0), ("at_the_first_head", 1), ("after_some_requests", 5)):
    test(killed(_when, _last))


own_host(ADDRESSES)
make_certificates()
main()
