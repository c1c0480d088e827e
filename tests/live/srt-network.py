# SPDX-License-Identifier: Apache-2.0
"""tests/live/srt-network.py - cloche as srt: the network and its settings"""

import json
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from as_srt import *
from tap import *


FETCH = """/usr/bin/python3 -c '
import socket
s = socket.create_connection(("127.0.0.1", 3128), 20)
s.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n")
got = b""
while True:
    more = s.recv(999)
    if not more: break
    got += more
print(got.decode())'"""


class Server:
    """Says hello to each connection"""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            s, _ = self.socket.accept()
            s.sendall(b"hello")
            s.close()


@test
def denyRead_of_tmp_does_not_break_the_proxy(t):
    server = Server()
    what = config({"allowedDomains": [f"127.0.0.1:{server.port}"]},
                  {"denyRead": ["/tmp"]})
    r = srt(t, "-s", settings(t, what), "-c", FETCH % server.port)
    contains(r.out, "200")


@test
def the_proxy_refuses_with_srts_text(t):
    server = Server()
    entry = f"127.0.0.1:{server.port}"
    r = srt(t, "-c", FETCH % server.port).ok()
    check(r.out.startswith("HTTP/1.1 403 host is not on the allow list\r\n"), r)
    contains(r.out, "X-Proxy-Error: blocked-by-allowlist\r\n")
    contains(r.out, "Connection blocked by network allowlist")
    for network, words in [
            ({"deniedDomains": [entry]}, "host is on the deny list"),
            ({"deniedDomains": ["*"]}, "host is on the deny list"),
            ({"deniedDomains": [entry], "deniedDomainReasons": {entry: "ask me"}},
             "ask me")]:
        what = config({"allowedDomains": [entry], **network})
        r = srt(t, "-s", settings(t, what), "-c", FETCH % server.port).ok()
        contains(r.out, f"403 {words}\r\n")
    what = config({"allowedDomains": [entry]})
    r = srt(t, "-s", settings(t, what), "-c", FETCH % server.port).ok()
    contains(r.out, "200")
    contains(r.out, "hello")


@test
def control_fd_lines_replace_the_lists(t):
    server = Server()
    entry = f"127.0.0.1:{server.port}"
    read, write = os.pipe()
    script = ("while read line; do " + FETCH % server.port +
              " | head -n 1; done")
    run = t.start("as", "srt", "-s", settings(t, config(
        {"deniedDomains": [entry]})), "--control-fd", str(read), "-c", script,
        pass_fds=[read])
    os.close(read)

    def told():
        run.stdin.write(b"go\n")
        run.stdin.flush()
        return run.stdout.readline().decode()

    contains(told(), "403 host is on the deny list")
    for bad in ("{", "{}", '{"network": {"allowedDomains": ["%s"]}}' % entry,
                json.dumps(config({"allowedDomains": ["*"]}))):
        os.write(write, bad.encode() + b"\n")
        line = run.stderr.readline().decode()
        check(line.startswith(f"Invalid config on control fd {read}: ignored, "
                              "previous config still in force"), line)
    contains(told(), "403 host is on the deny list")
    os.write(write, b"\n" + json.dumps(
        config({"allowedDomains": [entry]})).encode() + b"\r\n")
    wait_until(lambda: "200" in told(), "the update")
    # A line without a word is no mistake: the next one is told of
    os.write(write, b"\r\n \t\n" + b'{"network": {}}\n')
    contains(run.stderr.readline().decode(), "previous config still in force")
    os.close(write)	# No end: the last settings stay
    contains(told(), "200")
    run.stdin.close()
    equal(run.wait(RUN_SECONDS), 0)


@test
def control_fd_may_be_a_file(t):
    server = Server()
    what = config({"allowedDomains": [f"127.0.0.1:{server.port}"]})
    lines = t.write(t.away + "/lines", "{\n" + json.dumps(what) + "\n")
    with open(lines) as file:
        r = srt(t, "--control-fd", file.fileno(), "-c",
                "while ! " + FETCH % server.port + " | grep 200; do :; done",
                pass_fds=[file.fileno()]).ok()
    contains(r.err, "ignored, previous config still in force")


@test
def inherited_descriptors_are_closed(t):
    read, write = os.pipe()
    os.set_inheritable(read, True)
    os.dup2(read, 251, True)
    r = srt(t, "--control-fd", read, "-c", "ls /proc/self/fd",
            pass_fds=[read, 251]).ok()
    check(set(r.out.split()) <= {"0", "1", "2", "3"}, r)
    os.close(write)


def talk(t, what, sent, port=3128):
    """What the proxy answers to @sent, bytes as a Python literal"""
    code = f"""
import socket
s = socket.create_connection(("127.0.0.1", {port}), 20)
for part in {sent!r}:
    s.sendall(part)
    if len({sent!r}) > 1: print(s.recv(99))
s.shutdown(1)
got = b""
while True:
    more = s.recv(999)
    if not more: break
    got += more
print(got.decode("latin-1"))"""
    return srt(t, "-s", settings(t, what), "/usr/bin/python3", "-c",
               code).ok().out


@test
def the_http_proxy_answers_like_srts(t):
    server = Server()
    entry = f"127.0.0.1:{server.port}"
    open_to = config({"allowedDomains": [entry]})
    head = b" HTTP/1.1\r\n\r\n"
    denied = talk(t, config(), [b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"])
    check(denied.startswith("HTTP/1.1 403 "), denied)
    contains(denied, "X-Proxy-Error: blocked-by-allowlist")
    contains(denied, "Connection blocked by network allowlist")
    contains(talk(t, open_to, [b"CONNECT nonsense" + head]), " 400 ")
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]	# No server listens there afterwards
    closed = config({"allowedDomains": [f"127.0.0.1:{port}"]})
    contains(talk(t, closed, [b"CONNECT 127.0.0.1:%d" % port + head]), " 502 ")


@test
def the_socks_proxy_answers_like_srts(t):
    server = Server()
    greeting = b"\x05\x01\x00"
    to = b"\x05\x01\x00\x01\x7f\x00\x00\x01" + server.port.to_bytes(2, "big")
    refused = talk(t, config(), [greeting, to], 1080)
    contains(refused, "b'\\x05\\x02", "not by the rules")
    allowed = config({"allowedDomains": [f"127.0.0.1:{server.port}"]})
    answer = talk(t, allowed, [greeting, to], 1080)
    contains(answer, "b'\\x05\\x00\\x00\\x01")


@test
def keys_that_srt_ignores_on_linux_are_ignored(t):
    path = t.away + "/socket"
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)
        s.listen()
        code = f"""
import socket
s = socket.socket(socket.AF_UNIX)
s.connect({path!r})
print("connected")"""
        for network, reached in [({"allowUnixSockets": [path]}, False),
                                 ({"allowAllUnixSockets": True}, True)]:
            r = srt(t, "-s", settings(t, config(network)), "/usr/bin/python3",
                    "-c", code)
            equal("connected" in r.out, reached, network, r)


@test
def a_host_of_mitm_proxy_is_refused(t):
    """srt asks a proxy for it; cloche has none, and reaches it in no other way"""
    network = {"allowedDomains": ["a.example.org", "b.example.org"],
               "mitmProxy": {"socketPath": t.away + "/s", "domains": ["a.example.org"]}}
    for host, refused in (("a.example.org", True), ("b.example.org", False)):
        r = srt(t, "-s", settings(t, config(network)), "curl", "-sS", "-m", "60",
                f"http://{host}/")
        equal("mitmProxy.domains[0]" in r.out, refused, host, repr(r))


main()
