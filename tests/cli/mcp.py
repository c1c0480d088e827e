# SPDX-License-Identifier: Apache-2.0
"""tests/cli/mcp.py - cloche mcp: wrap and unwrap the servers of agents"""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

# Each agent's file below the home, and below a project
USER = {"claude": ".claude.json", "gemini": ".gemini/settings.json",
        "cursor": ".cursor/mcp.json", "vscode": ".config/Code/User/mcp.json",
        "codex": ".codex/config.toml"}
PROJECT = {"claude": ".mcp.json", "gemini": ".gemini/settings.json",
           "cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json",
           "codex": ".codex/config.toml"}
KEY = {"vscode": "servers"}

# What a server is tried with: it prints its arguments, two variables, and whether it
# can write its project and its user's home
SERVER = """#!/bin/sh
echo "args:$*"
echo "env:$GITHUB_TOKEN:$OTHER_TOKEN"
(echo x > written) 2>/dev/null && echo project
(echo x > "$PLACE/written") 2>/dev/null && echo home
cat "$PLACE/key" 2>/dev/null
exit 0
"""


def json_texts(key):
    """Texts with a server named 'one', each with its own habits"""
    yield '{"%s":{"one":{"command":"PROGRAM","args":["a","b c"]}}}' % key
    yield '{ "%s": { "one": { "args": [ "a", "b c" ], "command": "PROGRAM" } } }\n' % key
    yield ('{\n  "z": "\u00e9",\n  "%s": {\n    "one": {\n      "type": "stdio",\n'
           '      "command": "PROGRAM",\n      "args": [\n        "a",\n        "b c"\n'
           '      ],\n      "env": {\n        "GITHUB_TOKEN": "t"\n      }\n    }\n'
           '  }\n}\n' % key)
    yield ('{\r\n\t"%s": {\r\n\t\t"far": {"url": "https://x.example"},\r\n\t\t"one": {'
           '\r\n\t\t\t"command": "PROG\\u0052AM"\r\n\t\t}\r\n\t}\r\n}' % key)
    yield ('// mine\n{"%s": {\n  /* "one": {"command": "no"} */\n  "one": {"command": '
           '"PROGRAM", "args": ["a", "b c",], }, // "x"\n  "two": {"command": "u//v"},'
           '\n}}\n' % key)
    yield '{"%s": {"one": {"command": "PROGRAM", "args": []}}}' % key


def toml_texts(_):
    yield '[mcp_servers.one]\ncommand = "PROGRAM"\nargs = ["a", "b c"]\n'
    yield ('# mine\nmodel = "x" # y\n\n[mcp_servers."one"]\nargs = [\n  "a", # first\n'
           "  'b c',\n]\ncommand = 'PROGRAM' # it\n\n[mcp_servers.one.env]\n"
           'GITHUB_TOKEN = "t"\n\n[[other]]\nx = [[1, 2], {a = "]"}]\n')
    yield 'mcp_servers.one = { command = "PROG\\u0052AM", env = { GITHUB_TOKEN = "t" } }\n'
    yield '[mcp_servers]\none.command = "PROGRAM"\ntwo = { url = "https://x.example" }'
    yield 'x = """\n[mcp_servers.one]\ncommand = "no" """\n[mcp_servers.one]\r\ncommand = "PROGRAM"\r\n'
    yield "d = 1979-05-27T07:32:00Z\n[mcp_servers.one]\ncommand = \"PROGRAM\"\nargs = []\n"


def texts(agent):
    return toml_texts("") if agent == "codex" else json_texts(
        KEY.get(agent, "mcpServers"))


def make_server(t):
    t.write(t.home + "/secrets/key", "SECRET")
    return t.write(t.away + "/server", SERVER, 0o755)


def entry(t, path, agent, name="one"):
    """The command line of a server, as the agent would start it"""
    with open(path, newline="") as file:
        text = file.read()
    if agent == "codex":
        import tomllib
        return tomllib.loads(text)["mcp_servers"][name]
    text = re.sub(r'("(?:\\.|[^"])*")|//[^\n]*|/\*.*?\*/', r"\1", text, flags=re.S)
    text = re.sub(r",(\s*[\]}])", r"\1", text)
    return json.loads(text)[KEY.get(agent, "mcpServers")][name]


def launch(t, found, **env):
    return t.outside(found["command"], *found.get("args", []), env={
        **found.get("env", {}), "PLACE": t.home + "/secrets", **env})


def raw(path):
    with open(path, newline="") as file:
        return file.read()


@test
def unwrap_restores_every_file_byte_for_byte(t):
    server = make_server(t)
    for agent in USER:
        for scope, path in (("user", f"{t.home}/{USER[agent]}"),
                            ("project", f"{t.dir}/{PROJECT[agent]}")):
            for text in texts(agent):
                text = text.replace("PROGRAM", server).replace(
                    "PROG\\u0052AM", server.replace("e", "\\u0065"))
                t.write(path, text, mode=0o640)
                before = entry(t, path, agent)
                t.run("mcp", "wrap", agent, "one", "--scope", scope, "--net",
                      "none").ok(text)
                after = entry(t, path, agent)
                equal(after["command"], CLOCHE)
                equal(after["args"][after["args"].index("--") + 1:],
                      [before["command"], *before.get("args", [])])
                equal({**after, "args": 0, "command": 0},
                      {**before, "args": 0, "command": 0})
                tried = "env" in before	# Starting each of them takes long
                if tried:
                    r = launch(t, after, OTHER_TOKEN="ghp_" + "x" * 36).ok(text)
                    equal(r.out, f"args:{' '.join(before.get('args', []))}\n"
                          "env:t:\n", agent, text)
                now = os.stat(path)
                contains(t.run("mcp", "wrap", agent, "one", "--scope", scope,
                               "--net", "none").ok().out, "already")
                equal(os.stat(path).st_ino, now.st_ino)
                # Other options take the place of the first
                t.run("mcp", "wrap", agent, "one", "--scope", scope, "--net",
                      "none", "--write", ".").ok()
                if tried:
                    contains(launch(t, entry(t, path, agent)).ok().out, "project\n")
                    os.unlink(t.dir + "/written")
                # All of them: this one stays as it was said
                if "two" not in text:
                    contains(t.run("mcp", "wrap", agent, "--scope", scope).ok().out,
                             "one: starts in the sandbox already")
                t.run("mcp", "unwrap", agent, "--scope", scope).ok()
                equal(raw(path), text, agent, scope)
                equal(os.stat(path).st_mode & 0o777, 0o640)
                contains(t.run("mcp", "unwrap", agent, "one", "--scope",
                               scope).ok().out, "not wrapped")
                # Control: outside it reads and writes all of it
                if tried:
                    contains(launch(t, before).ok().out, "project\nhome\nSECRET")
                    os.unlink(t.dir + "/written")
                os.unlink(path)


@test
def the_old_command_line_is_found_without_a_record(t):
    server = make_server(t)
    for agent in USER:
        path = f"{t.home}/{USER[agent]}"
        for text in texts(agent):
            text = text.replace("PROGRAM", server).replace("PROG\\u0052AM", server)
            t.write(path, text)
            before = entry(t, path, agent)
            t.run("mcp", "wrap", agent, "one", "--net", "none").ok()
            shutil.rmtree(t.home + "/.local/state/cloche/hooks")
            t.run("mcp", "unwrap", agent).ok()
            after = entry(t, path, agent)
            equal(after, {"args": [], **before} if after.get("args") == [] else before)
            if before.get("args"):
                equal(raw(path), text, agent)


@test
def unwrap_keeps_later_changes_of_others(t):
    path = t.write(t.home + "/.cursor/mcp.json", json.dumps(
        {"mcpServers": {"one": {"command": "x"}, "two": {"command": "x"}}}))
    t.run("mcp", "wrap", "cursor").ok()
    text = raw(path)
    t.write(path, '{"new": [1, 2],' + text[1:])
    t.run("mcp", "unwrap", "cursor", "two").ok()
    t.run("mcp", "unwrap", "cursor", "one").ok()
    equal(json.loads(raw(path)), {"new": [1, 2], "mcpServers": {
        "one": {"command": "x"}, "two": {"command": "x"}}})


@test
def status_lists_servers_outside_the_sandbox(t):
    server = make_server(t)
    t.write(t.home + "/.gemini/settings.json", json.dumps({"mcpServers": {
        "one": {"command": server, "args": ["s3cret"]},
        "far": {"httpUrl": "https://x.example"}}}))
    t.write(".mcp.json", json.dumps({"mcpServers": {"p": {"command": server}}}))
    r = t.run("mcp", "status").ended(1)
    contains(r.out, "gemini one (user): OUTSIDE the sandbox\n")
    contains(r.out, "gemini far (user): not started by a command\n")
    contains(r.out, "claude p (project): OUTSIDE the sandbox\n")
    t.run("mcp", "wrap", "gemini", "--allow", "api.example.org", "--env",
          "K=s3cret").ok()
    r = t.run("mcp", "status", "gemini").ok()
    contains(r.out, "gemini one (user): in the sandbox: --quiet --profile home "
             "--read-only --allow api.example.org --env K\n")
    lacks(r.out, "s3cret")
    t.run("mcp", "status").ended(1)
    t.run("mcp", "wrap", "claude", "--scope", "project").ok()
    rows = json.loads(t.run("mcp", "status", "--json").ok().out)
    equal(rows["version"], 1)
    equal([(row["agent"], row["server"], row["state"]) for row in rows["servers"]],
          [("claude", "p", "sandbox"), ("gemini", "one", "sandbox"),
           ("gemini", "far", "remote")])
    t.run("mcp", "status", "emacs").ended(2)


@test
def wrap_without_an_agent_wraps_all_servers(t):
    contains(t.run("mcp", "wrap").ok().out, "no settings of")
    before = {}
    for agent, file in USER.items():
        path = f"{t.home}/{file}"
        t.write(path, next(iter(texts(agent))).replace("PROGRAM", "x"))
        before[path] = raw(path)
    broken = t.write(t.home + "/.cursor/mcp.json", "{ broken")
    project = t.write(".mcp.json", json.dumps({"mcpServers": {"p": {"command": "x"}}}))
    r = t.run("mcp", "wrap", "--net", "none").ended(1)
    equal(sorted(line.split(":")[0] for line in r.out.splitlines()),
          ["claude one", "codex one", "gemini one", "vscode one"])
    contains(r.err, broken)
    # Not what is the repository's
    equal(raw(project), json.dumps({"mcpServers": {"p": {"command": "x"}}}))
    t.write(broken, before[broken])
    contains(t.run("mcp", "wrap", "--net", "none").ok().out,
             "cursor one: starts in the sandbox from now on: --quiet")
    for agent, file in USER.items():
        equal(entry(t, f"{t.home}/{file}", agent)["command"], CLOCHE)
    t.run("mcp", "unwrap").ok()
    for path, text in before.items():
        equal(raw(path), text)
    t.run("mcp", "wrap", "--scope", "odd").ended(2)


@test
def a_wrapped_server_below_the_project_cannot_write_it(t):
    server = make_server(t)
    subprocess.run(["git", "init", "-q", t.dir], check=True)
    below = t.dir + "/src/deep"
    os.makedirs(below)
    script = "for d in . .. ../..; do (echo x > $d/new) 2>/dev/null && echo $d; done; true"
    path = t.write(t.home + "/.cursor/mcp.json", json.dumps({"mcpServers": {
        "one": {"command": "sh", "args": ["-c", script]}}}))
    start = entry(t, path, "cursor")
    t.run("mcp", "wrap", "cursor", "--net", "none").ok()
    found = entry(t, path, "cursor")
    equal(t.outside(found["command"], *found["args"], cwd=below).ok().out, "")
    # Control: without that option all of the work tree is writable
    words = [x for x in found["args"] if x != "--read-only"]
    equal(t.outside(found["command"], *words, cwd=below).ok().out, ".\n..\n../..\n")
    check(start["command"] == "sh" and server)


@test
def a_repository_does_not_choose_its_own_options(t):
    server = make_server(t)
    path = t.write(".mcp.json", json.dumps({"mcpServers": {
        "one": {"command": server, "env": {"GITHUB_TOKEN": "t"}}}}))

    def start(agent={}, **changes):
        found = entry(t, path, "claude")
        t.write(path, json.dumps({"mcpServers": {"one": {**found, **changes}}}))
        found = entry(t, path, "claude")
        # The agent, whose environment is the user's
        r = t.outside("python3", "-c", "import json, os, subprocess, sys\n"
                      "s = json.loads(sys.argv[1])\n"
                      "sys.exit(subprocess.run([s['command'], *s['args']],"
                      " env={**os.environ, **s['env']}).returncode)",
                      json.dumps(found), env={"PLACE": t.home + "/secrets", **agent})
        t.write(path, text)
        return r

    t.run("mcp", "wrap", "claude", "one", "--scope", "project", "--net", "none",
          "--read", t.home + "/secrets", "--write", ".").ok()
    text = raw(path)
    lacks(text, "secrets")
    # Control: the user's own options, which the file does not have
    equal(start().ok().out, "args:\nenv:t:\nproject\nSECRET")
    os.unlink("written")
    args = json.loads(text)["mcpServers"]["one"]["args"]
    # Another command line, or another name, has none of them
    r = start(args=args + ["more"]).ok()
    equal(r.out, "args:more\nenv::\n")
    contains(r.err, "no options of yours")
    equal(start(args=[*args[:2], "two", *args[3:]]).ok().out, "args:\nenv::\n")
    # Words in front of -- are no options
    for words in (["mcp", "start", "--net", "host", "one"],
                  ["mcp", "start", "one", "--read", t.home + "/secrets"]):
        lacks(start(args=words + args[3:]).out, "SECRET")
    # Variables of the entry decide nothing: these name a policy that opens it all
    for name, below in (("HOME", ".config/cloche"), ("XDG_CONFIG_HOME", "cloche"),
                        ("CLAUDE_CONFIG_DIR", "")):
        evil = f"{t.dir}/{name}"
        wide = {"filesystem": {"allowRead": [t.home + "/secrets"],
                               "allowWrite": [t.home + "/secrets"]}}
        t.write(os.path.join(evil, below, "policy.json"), json.dumps(wide))
        t.write(os.path.join(evil, below, "settings.json"),
                json.dumps({"sandbox": wide}))
        r = start(args=args + ["more"], env={"GITHUB_TOKEN": "t", name: evil})
        equal(r.ok().out, "args:more\nenv::\n", name)
    # Control: from the user's own environment, one of them opens it
    r = start(args=args + ["more"], agent={"CLAUDE_CONFIG_DIR": evil})
    contains(r.out, "SECRET")
    # Where the agent fills in a variable, the rest of the word stays
    t.run("mcp", "unwrap", "claude", "one", "--scope", "project").ok()
    t.write(path, json.dumps({"mcpServers": {"one": {
        "command": server, "args": ["--at=${PLACE}/x"], "env": {"GITHUB_TOKEN": "t"}}}}))
    t.run("mcp", "wrap", "claude", "one", "--scope", "project", "--net", "none",
          "--read", t.home + "/secrets", "--write", ".").ok()
    text = raw(path)
    for word, known in (("--at=/srv/x", True), ("--at=/x", True), ("--at=", False),
                        ("--at=/srv/y", False), ("--run=/srv/x", False), ("${PLACE}", False)):
        r = start(args=args + [word])
        equal("SECRET" in r.out, known, word, repr(r))


@test
def status_does_not_trust_wrappers_of_a_repository(t):
    server = make_server(t)
    t.write("cloche", "#!/bin/sh\n", 0o755)
    for found in (
            {"command": CLOCHE, "args": ["run", "--net", "host", "--", server]},
            {"command": "./cloche", "args": ["mcp", "start", "one", "--", server]},
            {"command": t.dir + "/cloche", "args": ["mcp", "start", "one", "--", "x"]},
            {"command": CLOCHE, "args": ["mcp", "start", "one", "--", server],
             "env": {"HOME": t.dir}},
            {"command": CLOCHE, "args": ["mcp", "start", "one", "--", server],
             "env": {"PATH": t.dir}},
            {"command": CLOCHE, "args": ["mcp", "start", "other", "--", server]},
            {"command": CLOCHE, "args": ["mcp", "start", "one", server]},
            {"command": CLOCHE, "args": "mcp start one -- x"}):
        t.write(".mcp.json", json.dumps({"mcpServers": {"one": found}}))
        contains(t.run("mcp", "status").ended(1).out, "OUTSIDE", found)
    t.write(".mcp.json", json.dumps({"mcpServers": {"one": {
        "command": CLOCHE, "args": ["mcp", "start", "one", "--", server]}}}))
    contains(t.run("mcp", "status").ok().out, "in the sandbox")
    # And wrap does not make such an entry
    text = json.dumps({"mcpServers": {"one": {"command": server,
                                              "env": {"HOME": t.dir}}}})
    t.write(".mcp.json", text)
    contains(t.run("mcp", "wrap", "claude", "--scope", "project").ended(2).err, "HOME")
    equal(t.read(".mcp.json"), text)


@test
def wrap_refuses_while_claude_runs(t):
    text = '{"mcpServers": {"one": {"command": "x"}}}'
    path = t.write(t.home + "/.claude.json", text)
    shutil.copy("/bin/sleep", t.home + "/claude")
    process = subprocess.Popen([t.home + "/claude", "1000"])
    try:
        wait_until(lambda: open(f"/proc/{process.pid}/comm").read() == "claude\n",
                   "its name")
        for word in ("wrap", "unwrap"):
            contains(t.run("mcp", word, "claude").ended(2).err,
                     f"process {process.pid}")
        equal(raw(path), text)
    finally:
        process.kill()
        process.wait()
    t.run("mcp", "wrap", "claude").ok()
    check(raw(path) != text)


@test
def wrap_handles_only_this_projects_local_servers(t):
    entries = {"mcpServers": {"one": {"command": "x"}}}
    path = t.write(t.home + "/.claude.json", json.dumps(
        {"projects": {t.dir: entries, "/elsewhere": entries}}, indent=2))
    t.run("mcp", "wrap", "claude", "--scope", "local").ok()
    projects = json.loads(raw(path))["projects"]
    equal(projects[t.dir]["mcpServers"]["one"]["command"], CLOCHE)
    equal(projects["/elsewhere"], entries)


@test
def wrap_leaves_malformed_files_unchanged(t):
    for agent, text in (("gemini", "{ broken"), ("codex", "[mcp_servers.one"),
                        ("codex", '[mcp_servers.one]\ncommand = "x'),
                        ("codex", '[mcp_servers.one]\ncommand = "x" y\n'),
                        ("codex", "a = " + "[" * 100 + "]" * 100),
                        ("codex", "a.b." * 100 + "c = 1")):
        path = t.write(f"{t.home}/{USER[agent]}", text)
        contains(t.run("mcp", "wrap", agent).ended(2).err, path)
        t.run("mcp", "status", agent).ended(2)
        equal(raw(path), text)
    for agent, text in (("gemini", '{"mcpServers": {"one": {"command": 7}}}'),
                        ("gemini", '{"mcpServers": {"one": {"command": "x", "args": [7]}}}'),
                        ("codex", '[mcp_servers.one]\ncommand = """x"""\n'),
                        ("codex", '[mcp_servers.one]\ncommand = "x"\nargs = [1]\n')):
        path = t.write(f"{t.home}/{USER[agent]}", text)
        t.run("mcp", "wrap", agent, "one").ended(2)
        contains(t.run("mcp", "status", agent).ended(1).out, "not understood")
        equal(raw(path), text)
    many = {f"s{i}": {"command": "x"} for i in range(256)}
    path = t.write(t.home + "/.gemini/settings.json", json.dumps({"mcpServers": many}))
    t.run("mcp", "status", "gemini").ended(1)
    t.write(path, json.dumps({"mcpServers": {**many, "more": {"command": "x"}}}))
    contains(t.run("mcp", "status", "gemini").ended(2).err, "256")


@test
def the_usage_names_agents_and_servers(t):
    contains(t.run("mcp", "wrap", "emacs").ended(2).err, "vscode")
    contains(t.run("mcp", "wrap", "codex", "--scope", "local").ended(2).err, "codex")
    contains(t.run("mcp", "wrap", "gemini").ok().out, "no MCP servers")
    t.write(t.home + "/.gemini/settings.json", '{"mcpServers": {}}')
    contains(t.run("mcp", "wrap", "gemini", "nope").ended(2).err, "'nope'")
    check(not os.path.exists(t.home + "/.cursor"))


main()
