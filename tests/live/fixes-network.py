# SPDX-License-Identifier: Apache-2.0
"""tests/live/fixes-network.py - the suggested command for a refused host works as printed"""

import http.server
import json
import os
import shutil
import socketserver
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tls_origin import *

BIN = os.path.dirname(os.path.abspath(CLOCHE))
CONNECT = ("python3 -c 'import socket; "
           "print(socket.create_connection((\"%s\", %d), 60).recv(9))'")


class Greeting(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"hello")


class Registry(http.server.BaseHTTPRequestHandler):
    """Has one package, as npm asks for it"""

    def do_GET(self):
        text = json.dumps({"name": "is-odd", "dist-tags": {"latest": "3.0.1"}, "versions": {
            "3.0.1": {"name": "is-odd", "version": "3.0.1", "dist": {}}}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def lines(r):
    return [line.strip() for line in r.err.split("\n")
            if line.startswith("            cloche ")]


# What is run, and the value that is allowed
HOSTS = {
    "https": ("curl -sS -m 60 https://good.test/", "good.test"),
    "http": ("curl -sSf -m 60 http://plain.test/", "plain.test"),
    "another port": ("curl -sSf -m 60 http://plain.test:8080/", "plain.test:8080"),
    "an address": (f"curl -sSf -m 60 http://{PLAIN}/", PLAIN),
    "a socket by name": (CONNECT % ("other.test", 7), "other.test"),
    "a socket by address": (CONNECT % (OTHER, 7), OTHER + ":7"),
    "npm": ("npm view is-odd version --fetch-retries=0 --registry=http://plain.test:8081/",
            "plain.test:8081"),
    "a name that is looked up": ("getent hosts other.test", "other.test"),
}


@test
def the_suggested_host_rule_works_for_http_and_tcp(t):
    """Also where no settings file counts, and with the rules of another project"""
    origins()
    for server in (http.server.ThreadingHTTPServer((PLAIN, 8080), Origin),
                   http.server.ThreadingHTTPServer((PLAIN, 8081), Registry),
                   socketserver.ThreadingTCPServer((OTHER, 7), Greeting)):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    other = os.path.join(t.away, "web")
    os.makedirs(other)
    path = {"PATH": BIN + ":" + os.environ["PATH"]}
    for name, (script, value) in HOSTS.items():
        if not shutil.which(script.split()[0]):
            note("not here:", script.split()[0])
            continue
        for options in ([], ["--no-settings"], ["--cwd", other]):
            r = t.shell(script, options=options)
            check(r.code != 0, name, repr(r))
            found = lines(r)
            check(any(value in line for line in found), value, repr(r))
            equal(len(found), 1, repr(r))
            t.outside("bash", "-c", found[0], env=path).ok(name)
            if options != ["--no-settings"]:
                t.shell(script, options=options).ok("after", *found)
            else:
                contains(found[0], f"cloche run --no-settings --allow {value} -- ")
        t.run("policy", "remove", "host", value).ok()
        t.run("policy", "remove", "--cwd", other, "host", value).ok()


own_host(NAMES)
make_certificates()
main()
