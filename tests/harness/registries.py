# SPDX-License-Identifier: Apache-2.0
"""tests/harness/registries.py - a host of our own with the registries of several tools

    from registries import *
    own_host(NAMES)			# before main()
    serve_registries()			# in each test, which is a process of its own
"""

import base64
import hashlib
import http.server
import io
import json
import os
import shutil
import tarfile
import threading
import urllib.parse
import zipfile

from host import *

ADDRESS = "93.184.216.34"
NAMES = {name + ".test": ADDRESS for name in (
    "npm", "pip", "go", "mvn", "gems", "git", "files", "more", "telemetry")}


def tar_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def zip_of(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


# npm's registry
DEP = tar_of({"package/package.json": '{"name":"dep","version":"1.0.0","main":"i.js"}',
              "package/i.js": "module.exports = 42"})
INTEGRITY = "sha512-" + base64.b64encode(hashlib.sha512(DEP).digest()).decode()
# pip's index
WHEEL = zip_of({
    "dep.py": "value = 42\n",
    "dep-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: dep\nVersion: 1.0\n",
    "dep-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\n"
                               "Root-Is-Purelib: true\nTag: py3-none-any\n",
    "dep-1.0.dist-info/RECORD": "dep.py,,\n"})
GO_MOD = "module go.test/dep\n\ngo 1.19\n"

PAGES = {
    "npm.test/dep": json.dumps({"name": "dep", "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {"name": "dep", "version": "1.0.0", "dist": {
            "integrity": INTEGRITY,
            "tarball": "http://npm.test/dep/-/dep-1.0.0.tgz"}}}}).encode(),
    "npm.test/dep/-/dep-1.0.0.tgz": DEP,
    "pip.test/simple/dep/": b'<a href="/f/dep-1.0-py3-none-any.whl">dep</a>',
    "pip.test/f/dep-1.0-py3-none-any.whl": WHEEL,
    "go.test/go.test/dep/@v/list": b"v1.0.0\n",
    "go.test/go.test/dep/@v/v1.0.0.info": b'{"Version":"v1.0.0"}',
    "go.test/go.test/dep/@v/v1.0.0.mod": GO_MOD.encode(),
    "go.test/go.test/dep/@v/v1.0.0.zip": zip_of({
        "go.test/dep@v1.0.0/go.mod": GO_MOD,
        "go.test/dep@v1.0.0/dep.go": "package dep\n\nconst Value = 42\n"}),
    "mvn.test/test/parent/1/parent-1.pom":
        b"<project><modelVersion>4.0.0</modelVersion><groupId>test</groupId>"
        b"<artifactId>parent</artifactId><version>1</version>"
        b"<packaging>pom</packaging></project>",
    "files.test/a": b"from files\n",
    "more.test/b": b"from more\n",
}
TREES = {}		# Directories, by host


class Handler(http.server.BaseHTTPRequestHandler):
    """All hosts of this network: fixed pages and trees of files"""
    protocol_version = "HTTP/1.1"

    def find(self):
        host, path = self.headers["Host"].split(":")[0], self.path.split("?")[0]
        tree = TREES.get(host)
        if host + path in PAGES or not tree:
            return PAGES.get(host + path)
        try:
            with open(os.path.realpath(tree + path), "rb") as file:
                return file.read()
        except OSError:
            return None

    def do_GET(self):
        body = self.find()
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "text/html" if self.path[-1] == "/" else
                         "application/octet-stream")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body or b"")

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def serve_registries():
    server = http.server.ThreadingHTTPServer((ADDRESS, 80), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def publish(*packages):
    """Put npm packages without any code into its registry: "NAME@VERSION" """
    for name, version in (package.rsplit("@", 1) for package in packages):
        package = tar_of({"package/package.json": json.dumps({
            "name": name, "version": version, "main": "i.js"}), "package/i.js": ""})
        place = f"{urllib.parse.quote(name, '@')}/-/x-{version}.tgz"
        PAGES["npm.test/" + place] = package
        page = json.dumps({"name": name, "dist-tags": {"latest": version}, "versions": {
            version: {"name": name, "version": version, "dist": {
                "tarball": "http://npm.test/" + place, "integrity": "sha512-" +
                base64.b64encode(hashlib.sha512(package).digest()).decode()}}}}).encode()
        PAGES["npm.test/" + name] = PAGES["npm.test/" + name.replace("/", "%2f")] = page


def remove_tree(path):
    """go's modules are read-only"""
    call("chmod", "-R", "u+rwX", path)
    shutil.rmtree(path)


def empty(where, *kept):
    for name in set(os.listdir(where) if os.path.isdir(where) else ()) - set(kept):
        path = os.path.join(where, name)
        if os.path.isdir(path):
            remove_tree(path)
        else:
            os.remove(path)


def git_repository(t):
    """A repository that a web server can serve as files"""
    seed = t.away + "/seed"
    t.outside("git", "init", "-q", "-b", "main", seed).ok()
    t.write(seed + "/file", "content\n")
    t.outside("git", "-C", seed, "add", ".").ok()
    t.outside("git", "-C", seed, "-c", "user.name=a", "-c", "user.email=a@b", "commit",
              "-qm", "one").ok()
    t.outside("git", "clone", "-q", "--bare", seed, t.away + "/repo.git").ok()
    t.outside("git", "-C", t.away + "/repo.git", "update-server-info").ok()
    TREES["git.test"] = t.away


def gem_source(t):
    t.write(t.away + "/g/lib/dep.rb", "V = 42\n")
    t.write(t.away + "/g/dep.gemspec", """Gem::Specification.new do |s|
  s.name = "dep"; s.version = "1.0"; s.summary = "x"; s.authors = ["x"]
  s.files = ["lib/dep.rb"]
end
""")
    os.makedirs(t.away + "/gems/gems")
    t.outside("gem", "build", "-q", "--silent", "-o", "../gems/gems/dep-1.0.gem",
              "dep.gemspec", cwd=t.away + "/g").ok()
    t.outside("gem", "generate_index", "-q", "--silent", "-d", t.away + "/gems").ok()
    TREES["gems.test"] = t.away + "/gems"
