# SPDX-License-Identifier: Apache-2.0
"""tests/cli/init.py - cloche init: which hosts it writes for which project, and why"""

import json
import os
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

PIP = """case $1 in install) printf '  -i, --index-url <url>  Base URL of the index (default
 https://pip.example.org/simple). More.\\n';; esac"""
GO = """printf '%s\\n' 'https://goproxy.example.org,direct' 'sum.example.org' 'corp.example.org/*'"""
# What each tool says about itself; none of these is the tool's real default
TOOLS = {
    "npm": "echo https://npm.example.org/",
    "pip3": PIP,
    "go": GO,
    "gem": "printf '*** CURRENT SOURCES ***\\n\\nhttps://gems.example.org/\\n'",
    "composer": """echo '{"x":{"type":"composer","url":"https:\\/\\/php.example.org"}}'""",
}


def tools(t, *names, **scripts):
    """The PATH of a user who has installed just these tools"""
    path = t.away + "/bin"
    os.makedirs(path, exist_ok=True)
    for name, script in {**{n: TOOLS[n] for n in names}, **scripts}.items():
        t.write(f"{path}/{name}", "#!/bin/sh\n" + script + "\n", 0o755)
    return {"PATH": path, "CARGO_HOME": None, "npm_config_registry": None}


def project(t, files):
    for path, text in files.items():
        t.write(path, text if isinstance(text, (str, bytes)) else json.dumps(text))


def init(t, env, *options):
    """{host: approved}, and the whole answer. What opens is what was answered."""
    answer = json.loads(t.run("init", "--json", *options, env=env).ok().out)
    hosts = {h["host"]: h["approved"] for h in answer["hosts"]}
    equal(answer["written"], t.exists(".cloche.json"), answer)
    if not answer["written"]:
        return hosts, answer
    t.write(t.away + "/defaults.json", "{}")
    opened = t.run("policy", "diff", t.away + "/defaults.json", ".cloche.json")
    equal(sorted(opened.out.splitlines()),
          sorted("+ can send anything it reads to " + h for h in hosts), opened)
    for host, approved in hosts.items():
        equal(t.run("policy", "why", "host", host).code, 0 if approved else 1, host)
    check(all(h["reason"] for h in answer["hosts"]), answer)
    return hosts, answer


def found(t, env, files, *options):
    project(t, files)
    return init(t, env, *options)[0]


@test
def init_finds_the_registry_of_npms_configuration(t):
    equal(found(t, tools(t, "npm"), {
        "package.json": {"name": "x", "repository": "https://no.example",
                         "dependencies": {"@corp/a": "1"}},
        t.home + "/.npmrc": "@corp:registry=https://corp.example.org/\n"
                            "@other:registry=https://no.example/\n"
                            "//corp.example.org/:_authToken=sekret\n"}),
        {"npm.example.org": True, "corp.example.org": True})


@test
def init_asks_about_a_registry_named_by_the_project(t):
    files = {"package.json": {}, ".npmrc": "registry=https://reg.corp.example:8443/npm\n"}
    equal(found(t, tools(t, "npm"), files), {"reg.corp.example:8443": False})
    contains(t.run("trust", "--show").ended(1).out, "reg.corp.example:8443")
    equal(init(t, tools(t, "npm"), "--force", "--yes")[0],
          {"reg.corp.example:8443": True})
    t.run("trust", "--show").ok()


@test
def init_accepts_a_registry_that_user_and_project_name(t):
    equal(found(t, tools(t, "npm"), {
        "package.json": {}, ".npmrc": "registry=https://npm.example.org\n",
        "package-lock.json": {"packages": {"a": {
            "resolved": "https://tarballs.example/a.tgz"}}}}),
        {"npm.example.org": True, "tarballs.example": False})


@test
def init_finds_the_index_of_pip(t):
    equal(found(t, tools(t, "pip3"), {
        "pyproject.toml": '[project]\nname = "x"\n[project.urls]\n'
                          'Homepage = "https://no.example"\n',
        "requirements-dev.txt": "pytest\nx @ git+https://git.example.org/x@v1\n"}),
        {"git.example.org": False, "pip.example.org": True})


@test
def init_finds_go_proxy_and_private_modules(t):
    equal(found(t, tools(t, "go"), {
        "go.mod": "module x\nrequire (\n\tcorp.example.org/a v1.0.0\n"
                  "\tpublic.example/b v1.0.0\n)\n"}),
        {"goproxy.example.org": True, "sum.example.org": True,
         "corp.example.org": False})


@test
def init_finds_the_mirror_or_index_of_cargo(t):
    files = {"Cargo.toml": '[package]\nname = "x"\nrepository = "https://no.example"\n'}
    project(t, files)
    hosts, answer = init(t, tools(t))
    equal(hosts, {})
    contains(str(answer["notes"]), "has used none yet")
    index = t.home + "/.cargo/registry/index/"
    t.write(index + "index.example.org-0123456789abcdef/config.json",
            '{"dl": "https://crates.example.org/dl"}')
    equal(init(t, tools(t))[0],
          {"index.example.org": True, "crates.example.org": True})
    t.write(t.home + "/.cargo/config.toml", '[source.crates-io]\nreplace-with = "m"\n'
            '[source.m]\nregistry = "sparse+https://mirror.example.org/"\n')
    equal(init(t, tools(t), "--force")[0], {"mirror.example.org": True})


@test
def init_finds_the_source_of_a_gemfile(t):
    files = {"Gemfile": 'source "https://gems.example.org"\ngem "rails"\n',
             "config/routes.rb": "", "package.json": {}}
    equal(found(t, tools(t, "gem", "npm"), files),
          {"gems.example.org": True, "npm.example.org": True})
    t.write("Gemfile", 'source "https://gems.evil.example"\n')
    equal(init(t, tools(t, "gem", "npm"), "--force")[0],
          {"gems.evil.example": False, "npm.example.org": True})


@test
def init_finds_the_mirror_of_maven(t):
    pom = ("<project><url>https://no.example</url><repositories><repository><url>"
           "https://mvn.example.org/r</url></repository></repositories></project>")
    equal(found(t, tools(t), {"pom.xml": pom}), {"mvn.example.org": False})
    t.write(t.home + "/.m2/settings.xml", "<settings><mirrors><mirror><url>"
            "https://mirror.example.org</url></mirror></mirrors></settings>")
    equal(init(t, tools(t), "--force")[0],
          {"mvn.example.org": False, "mirror.example.org": True})


@test
def init_finds_the_host_of_gradles_wrapper(t):
    equal(found(t, tools(t), {
        "build.gradle": 'repositories { maven { url "https://mvn.example.org/r" } }\n',
        "gradle/wrapper/gradle-wrapper.properties":
            "distributionUrl=https\\://dist.example.org/g.zip\n"}),
        {"mvn.example.org": False, "dist.example.org": False})


@test
def init_finds_the_repository_of_composer(t):
    equal(found(t, tools(t, "composer"), {
        "composer.json": {"homepage": "https://no.example", "repositories":
                          [{"type": "vcs", "url": "https://git.example.org/x"}]}}),
        {"git.example.org": False, "php.example.org": True})


@test
def init_finds_remotes_and_submodules_of_git(t):
    need("git")
    t.outside("git", "init", "-q").ok()
    t.outside("git", "remote", "add", "origin", "git@git.example.org:a/b").ok()
    equal(found(t, tools(t), {
        ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = https://sub.example.org/x\n'
                       '[submodule "y"]\n\tpath = y\n\turl = ../y\n'}),
        {"git.example.org": False, "sub.example.org": False})


@test
def init_reads_a_monorepo_without_fetched_packages(t):
    equal(found(t, tools(t, "npm", "pip3"), {
        "package.json": {"workspaces": ["packages/*"]},
        "packages/a/package.json": {"dependencies":
                                    {"x": "git+https://a.example/x"}},
        "packages/b/.npmrc": "registry=https://b.example\n",
        "services/api/requirements.txt": "-i https://own.example/simple\n",
        "node_modules/z/package.json": {"dependencies":
                                        {"x": "git+https://no.example/x"}},
        "vendor/z/requirements.txt": "-i https://no.example\n"}),
        {"a.example": False, "b.example": False, "own.example": False,
         "npm.example.org": True, "pip.example.org": True})


@test
def init_proposes_nothing_for_a_project_without_tools(t):
    hosts, answer = init(t, tools(t, "npm", "pip3", "go"))
    equal((hosts, answer["notes"]), ({}, []))
    project(t, {"README.md": "https://no.example", "Dockerfile": "FROM no.example/x\n"})
    hosts, answer = init(t, tools(t))
    equal(hosts, {})
    contains(str(answer["notes"]), "Dockerfile: images are built by a daemon")


@test
def init_notes_a_missing_or_failing_tool(t):
    project(t, {"package.json": {}, "pyproject.toml": "", "go.mod": "module x\n",
                "composer.json": {}, "Gemfile": "gem 'x'\n"})
    hosts, answer = init(t, tools(t))
    equal(hosts, {})
    for name in ("npm", "pip", "go", "composer", "gem"):
        contains(str(answer["notes"]), name + " is not installed")
    hosts, answer = init(t, tools(t, npm="echo https://no.example; exit 1",
                                  go="yes https://no.example"))
    equal(hosts, {})
    contains(str(answer["notes"]), "'npm config' failed")
    contains(str(answer["notes"]), "'go env' failed")


@test
def init_overwrites_no_settings_and_print_writes_none(t):
    env = tools(t, "npm")
    project(t, {"package.json": {}})
    r = t.run("init", "--print", env=env).ok()
    equal(json.loads(r.out), {"network": {"allowedDomains": ["npm.example.org"]}})
    contains(r.err, "npm.example.org  (npm: npm config get registry)")
    check(not t.exists(".cloche.json"))
    equal(t.run("policy", "why", "host", "npm.example.org").code, 1)
    t.write(".cloche.json", '{"network": {"deniedDomains": ["x.example"]}}')
    contains(t.run("init", env=env).ended(2).err, "exists; to replace it: cloche init --force")
    contains(t.read(".cloche.json"), "x.example")
    equal(t.run("policy", "why", "host", "npm.example.org").code, 1)
    r = t.run("init", "--force", env=env).ok()
    contains(r.out, "  npm.example.org  (npm: npm config get registry)\n")
    equal(t.run("policy", "why", "host", "npm.example.org").code, 0)
    equal(t.inside("true").ok().err, "")        # Nothing waits


@test
def init_starts_no_program_of_the_project(t):
    """Nor does a tool of the user's start where the project could steer it"""
    project(t, {"package.json": {}})
    env = tools(t, npm=f"pwd > {t.away}/where; echo https://npm.example.org")
    for name in ("bin", "node_modules/.bin"):
        t.write(name + "/npm", f"#!/bin/sh\ntouch {t.away}/ran\n"
                               "echo https://evil.example\n", 0o755)
    os.symlink(t.dir + "/bin", t.away + "/link")
    os.mkdir(t.dir + "/out")
    os.symlink("/bin/echo", t.dir + "/out/npm")
    user = env["PATH"]
    env["PATH"] = ":".join((".", "bin", "", t.dir + "/bin", t.dir + "/out",
                            t.dir + "/node_modules/.bin", t.away + "/link", user))
    equal(init(t, env)[0], {"npm.example.org": True})
    equal(t.read(t.away + "/where"), "/\n")
    check(not os.path.exists(t.away + "/ran"))
    # Control: it is that PATH which would have started it
    t.outside("env", "npm", env={"PATH": env["PATH"] + ":" + os.environ["PATH"]})
    check(os.path.exists(t.away + "/ran"))


@test
def init_starts_no_interpreter_of_the_project(t):
    """A tool of the user's may be a script that starts its interpreter by name"""
    project(t, {"package.json": {}})
    env = tools(t, node="echo https://npm.example.org")
    t.write(t.away + "/bin/npm", "#!/usr/bin/env node\n", 0o755)
    t.write(".venv/bin/node", f"#!/bin/sh\n: > {t.away}/ran\necho https://evil.example\n",
            0o755)
    env["PATH"] = f"{t.dir}/.venv/bin:" + env["PATH"]
    equal(init(t, env)[0], {"npm.example.org": True})
    check(not os.path.exists(t.away + "/ran"))
    # Control: it is that PATH which would have started it
    equal(t.outside(t.away + "/bin/npm", env=env).ok().out, "https://evil.example\n")
    check(os.path.exists(t.away + "/ran"))


@test
def init_follows_no_symlink_out_of_the_project(t):
    for name in ("npmrc", "dir/.npmrc"):
        t.write(f"{t.away}/{name}", "registry=https://away.example\n")
    project(t, {"package.json": {}, "real/npmrc": "registry=https://inside.example\n"})
    os.symlink(t.away + "/npmrc", ".npmrc")
    os.symlink(t.away + "/dir", "dir")
    os.symlink("real", "loop")
    os.symlink("../../..", "real/up")
    hosts, answer = init(t, tools(t, "npm"))
    equal(hosts, {"npm.example.org": True})
    contains(str(answer["notes"]), ".npmrc: a symbolic link out of the project")
    os.remove(".npmrc")
    os.symlink("real/npmrc", ".npmrc")          # Control: inside it is read
    equal(init(t, tools(t, "npm"), "--force")[0], {"inside.example": False})


@test
def init_does_not_write_through_a_symlink(t):
    project(t, {"package.json": {}, t.away + "/victim": "{}"})
    os.symlink(t.away + "/victim", ".cloche.json")
    for options in ((), ("--force",)):
        contains(t.run("init", *options, env=tools(t, "npm")).ended(2).err,
                 "not a regular file")
    equal(t.read(t.away + "/victim"), "{}")
    check(stat.S_ISLNK(os.lstat(".cloche.json").st_mode))


@test
def init_handles_malformed_project_files(t):
    """Names and values do nothing to the terminal, and open nothing but names"""
    bad = ["https://*", "https://*.example.org", "https://169.254.169.254/x",
           "http://localhost:1", "https://[::1]/", "https://a.example\x1b[2J/",
           "https://user:sekret@10.0.0.1/", "$(touch /tmp/x)", "https://${X}/"]
    project(t, {
        "package.json": {"dependencies": {f"p{i}": "git+" + url
                                          for i, url in enumerate(bad)}},
        "requirements\x1b[2J\n.txt": "-i https://named.example\n",
        ".gitmodules": b"\xff\xfe[[[[\x00",
        "composer.json": "[" * 100000,
        "pom.xml": "<repository>" * 50000,
        "yarn.lock": "".join(f'resolved "https://h{i}.example/"\n'
                             for i in range(1000)),
        "a/Gemfile": b"source \x00'https://z.example\x00'\n" + b"A" * 100000})
    os.mkfifo("go.mod")
    with open("package-lock.json", "wb") as file:
        file.truncate((16 << 20) + 1)
    r = t.run("init", "--print", env=tools(t)).ok()
    for text in (r.out, r.err):
        lacks(text, "\x1b")
        lacks(text, "sekret")
    hosts = json.loads(r.out)["network"]["allowedDomains"]
    equal(len(hosts), 64)
    check(all(h.endswith(".example") and "*" not in h for h in hosts), hosts)
    contains(r.err, "more than 64 hosts")
    contains(r.err, "package-lock.json: more than 16777216 bytes")
    contains(r.err, "composer.json: composer could not read this")
    contains(r.err, "is an address, not the name of a host")


@test
def init_stops_at_its_limit_in_a_huge_tree(t):
    for i in range(600):
        os.makedirs(f"d{i:03}")
    for i in range(300):
        t.write(f"d{i:03}/Gemfile", f"source 'https://h{i % 3}.example'\n")
    t.write("deep/" * 8 + "Gemfile", "source 'https://deep.example'\n")
    hosts, answer = init(t, tools(t))
    equal(hosts, {f"h{i}.example": False for i in range(3)})
    for limit in ("more than 256 files", "more than 512 directories"):
        contains(str(answer["notes"]), limit)


@test
def init_reads_the_configuration_of_real_npm_and_go(t):
    need("npm")
    project(t, {"package.json": {}})
    t.write(t.home + "/.npmrc", "registry=https://user.example.org/npm/\n")
    equal(init(t, {})[0], {"user.example.org": True})
    need("go")
    os.remove("package.json")
    project(t, {"go.mod": "module x\n\ngo 99.1\n"})     # Asks for another go
    equal(init(t, {"GOPROXY": "https://goproxy.example.org", "GOSUMDB": "off"},
               "--force")[0], {"goproxy.example.org": True})


@test
def init_outside_a_project_is_refused(t):
    contains(t.run("init", cwd=t.home).ended(2).err, "no project")
    t.run("init", "x").ended(2)


main()
