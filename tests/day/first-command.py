# SPDX-License-Identifier: Apache-2.0
"""tests/day/first-command.py - after cloche init the first command of a project works

Skeletons of projects as their tools make them, on the machine of a company with mirrors of
its own: the user's configuration names them, as npm, pip, go, gem and Maven read it. After
`cloche init` the ordinary first command does inside what it does outside, and nothing is
open but the hosts that were expected. The heavy ones are in `make check-long`.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from registries import *

# What the company has put into each home
MIRRORS = {
    ".npmrc": "registry=http://npm.test/\naudit=false\nfund=false\n"
              "update-notifier=false\nfetch-retries=0\n",
    ".config/pip/pip.conf": "[global]\nindex-url = http://pip.test/simple\n"
                            "trusted-host = pip.test\nretries = 0\n",
    ".config/go/env": "GOPROXY=http://go.test\nGOSUMDB=off\n",
    ".gemrc": ":sources:\n- http://gems.test/\n",
    ".m2/settings.xml": "<settings><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf>"
                        "<url>http://mvn.test</url></mirror></mirrors></settings>",
    ".gitconfig": "[user]\n\tname = a\n\temail = a@example.org\n",
}


def package(name, dependencies=(), dev=(), **more):
    """package.json; each dependency is NAME@VERSION, and later ones will do"""
    def listed(packages):
        return {p.rsplit("@", 1)[0]: "^" + p.rsplit("@", 1)[1] for p in packages}
    return json.dumps({"name": name, "private": True, "version": "0.0.0",
                       "dependencies": listed(dependencies),
                       "devDependencies": listed(dev), **more})


def project(name, files, command, hosts, *tools, setup=(), publishes=(), heavy=False,
            review=False, fetches=True):
    """@hosts: what init writes; @review: the project names one of them; @fetches: the
    first command needs them"""
    def each(t):
        for tool in tools:
            need(tool)
        serve_registries()
        publish(*publishes)
        for function in setup:
            function(t)
        results = []
        for where in ("outside", "inside"):
            top = f"{t.home}/{where}/project"
            for path, text in MIRRORS.items():
                t.write(f"{t.home}/{path}", text)
            for path, text in files.items():
                t.write(f"{top}/{path}", text)
            if not os.path.exists(top + "/.git"):
                t.outside("git", "init", "-q", "-b", "main", ".", cwd=top).ok()
            if where == "inside":
                check_init(t, top, hosts, review)
            run = t.inside if where == "inside" else t.outside
            results.append(run("bash", "-ec", command, cwd=top, timeout=600))
        control, r = results
        control.ok("the control")
        check(control.out, "the control prints nothing")
        equal((r.code, r.out), (0, control.out), repr(r))
        lacks(r.err, "cloche: refused")

    def check_init(t, top, hosts, review):
        if hosts and fetches:
            check(t.inside("bash", "-ec", command, cwd=top, timeout=600).code,
                  "works without a rule")
            empty(t.home + "/.local/state/cloche/tmp")
        r = t.run("init", "--json", *(["--yes"] if review else []), cwd=top).ok()
        answer = json.loads(r.out)
        equal({h["host"] for h in answer["hosts"]}, hosts, answer)
        equal(answer["written"], bool(hosts), answer)
        check(all(h["approved"] and h["reason"] for h in answer["hosts"]), answer)
        if not hosts:
            return
        t.write(t.away + "/defaults.json", "{}")
        r = t.run("policy", "diff", t.away + "/defaults.json", top + "/.cloche.json")
        equal(set(r.out.splitlines()),
              {"+ can send anything it reads to " + host for host in hosts}, repr(r))

    each.__name__ = name
    if not heavy or LONG:
        test(timeout=1200)(each)


VITE = ("vite@7.1.2", "typescript@5.8.3", "@vitejs/plugin-react@5.0.0", "eslint@9.33.0")
REACT = ("react@19.1.1", "react-dom@19.1.1")
project("npm_create_vite", {
    "package.json": package("app", REACT, VITE, type="module",
                            scripts={"dev": "vite", "build": "vite build"}),
    "index.html": "<div id=root></div>", "vite.config.ts": "", "src/main.tsx": "",
    "tsconfig.json": "{}", "public/vite.svg": ""},
    "npm install --silent; ls node_modules | sort", {"npm.test"}, "npm",
    publishes=VITE + REACT)
NEXT = ("next@15.4.6", "eslint-config-next@15.4.6", "@types/node@20.0.0")
project("create_next_app", {
    "package.json": package("app", REACT + NEXT[:1], NEXT[1:]),
    "app/page.tsx": "", "next.config.ts": "", "next-env.d.ts": ""},
    "npm install --silent; ls node_modules | sort", {"npm.test"}, "npm",
    publishes=NEXT + REACT, heavy=True)
EXPRESS = ("express@4.16.1", "cookie-parser@1.4.4", "morgan@1.9.1")
project("express_generator", {
    "package.json": package("app", EXPRESS, scripts={"start": "node ./bin/www"}),
    "app.js": "", "bin/www": "console.log('started', !!require('express'))",
    "routes/index.js": "", "views/index.jade": ""},
    "npm install --silent; npm -s start", {"npm.test"}, "npm", publishes=EXPRESS)
project("a_monorepo_of_workspaces", {
    "package.json": package("all", workspaces=["packages/*"]),
    "packages/a/package.json": package("a", ("b@0.0.0", "left@1.0.0")),
    "packages/b/package.json": package("b"), "turbo.json": "{}"},
    "npm install --silent; ls node_modules | sort", {"npm.test"}, "npm",
    publishes=("left@1.0.0",))
project("npm_with_the_companys_registry_in_the_project", {
    "package.json": package("app", ("dep@1.0.0",)),
    ".npmrc": "registry=http://npm.test/\n"},
    "npm install --silent; node -p 'require(\"dep\")'", {"npm.test"}, "npm", heavy=True)
VENV = "python3 -m venv v; v/bin/pip install -q --disable-pip-version-check "
project("python_with_requirements", {"requirements.txt": "dep==1.0\n", "app.py": ""},
        VENV + "-r requirements.txt; v/bin/python -c 'import dep; print(dep.value)'",
        {"pip.test"}, "pip3")
project("python_with_pyproject", {
    "pyproject.toml": '[project]\nname = "app"\nversion = "0.1"\ndependencies = ["dep"]\n'
                      '[project.urls]\nHomepage = "https://no.example.org"\n',
    "src/app/__init__.py": ""},
    VENV + "dep; v/bin/python -c 'import dep; print(dep.value)'", {"pip.test"}, "pip3",
    heavy=True)
project("python_with_setup_py", {
    "setup.py": "from setuptools import setup\nsetup(name='app', py_modules=['app'])\n",
    "app.py": "print('app')"}, "pip3 -q download --no-deps -d d dep; ls d; python3 app.py",
    {"pip.test"}, "pip3", heavy=True)
project("npm_and_python_in_one_repository", {
    "web/package.json": package("web", ("dep@1.0.0",)),
    "api/requirements.txt": "dep\n"},
    "pip3 -q download --no-deps -d d dep; ls d; cd web; npm install --silent; "
    "ls node_modules", {"npm.test", "pip.test"}, "npm", "pip3")
project("like_rails", {
    "Gemfile": 'source "http://gems.test"\ngem "dep"\n', "config/routes.rb": "",
    "config/application.rb": "", "bin/rails": "", "app/models/a.rb": "",
    "package.json": package("app", ("dep@1.0.0",))},
    "gem install -q --silent --no-document -i gems -g Gemfile; ls gems/gems; "
    "npm install --silent; ls node_modules", {"gems.test", "npm.test"}, "gem", "npm",
    setup=(gem_source,))
project("c_with_a_makefile", {
    "Makefile": "prog: m.c\n\tcc -o $@ $<\n", "m.c": "int main(void) { return 0; }\n"},
    "make -s; ls prog", set(), "make", "cc")
project("a_submodule", {
    ".gitmodules": '[submodule "s"]\n\tpath = s\n\turl = http://git.test/repo.git\n'},
    "git clone -q http://git.test/repo.git s; cat s/file", {"git.test"}, "git",
    setup=(git_repository,), review=True)

# Heavy
project("go_mod_init", {"go.mod": "module app\n\ngo 1.19\n",
                        "main.go": 'package main\n\nimport "fmt"\n\n'
                                   "func main() { fmt.Println(1) }\n"},
        "go run .", {"go.test"}, "go", heavy=True, fetches=False)
project("go_with_a_dependency", {
    "go.mod": "module app\n\ngo 1.19\n\nrequire go.test/dep v1.0.0\n",
    "main.go": 'package main\n\nimport ("fmt"; "go.test/dep")\n\n'
               "func main() { fmt.Println(dep.Value) }\n"},
    "GOFLAGS=-mod=mod go run .", {"go.test"}, "go", heavy=True)
project("cargo_new", {
    "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/main.rs": 'fn main() { println!("hello") }\n'},
    "cargo run -q", set(), "cargo", heavy=True)
project("maven_quickstart", {
    "pom.xml": "<project><modelVersion>4.0.0</modelVersion><artifactId>p</artifactId>"
               "<parent><groupId>test</groupId><artifactId>parent</artifactId>"
               "<version>1</version><relativePath/></parent></project>",
    "src/main/java/App.java": "class App {}"},
    "mvn -q validate; echo valid", {"mvn.test"}, "mvn", heavy=True)

own_host(NAMES)
main()
