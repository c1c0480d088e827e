# SPDX-License-Identifier: Apache-2.0
"""tests/cli/hook-install.py - cloche hook install, uninstall and status"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

SETTINGS = ".claude/settings.json"

# Each agent's file below the home, and the event that comes before a tool
FILES = {
    "claude": ".claude/settings.json", "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json", "cursor": ".cursor/hooks.json",
}
EVENTS = {"claude": "PreToolUse", "codex": "PreToolUse",
          "gemini": "BeforeTool", "cursor": "preToolUse"}
CALL = {"cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "ls"}}


def originals(agent):
    """Texts that a file may hold before, each with its own habits"""
    event = EVENTS[agent]
    yield None
    yield ""
    yield "{}"
    yield "{}\n"
    yield '{"hooks": {}}'
    yield '{\n    "a": 1,\n    "hooks": {}\n}\n'
    yield '{\n\t"hooks": {\n\t\t"%s": []\n\t},\n\t"z": "\u00e9"\n}' % event
    yield ('{\r\n  "env": {"T": "x"},\r\n  "hooks": {"%s": [ {"command":'
           ' "mine", "matcher": "X"} ]}\r\n}\r\n' % event)
    yield '{"hooks":null,"version":1}'


@test
def every_tool_that_runs_commands_is_hooked(t):
    # Claude Code asks the hooks of Bash about Monitor, and then runs what was
    # there before: it must be asked about by its own name
    def hook(tool, **values):
        return t.run("hook", "claude", "pre-tool-use", stdin=json.dumps(
            {**CALL, "cwd": t.dir, "tool_name": tool, "tool_input": values}))

    equal(json.loads(t.run("hook", "print", "claude").ok().out)["hooks"][
        "PreToolUse"][0]["matcher"], "Bash|Monitor|PowerShell")
    t.write(SETTINGS, '{"permissions": {"deny": ["Bash(curl *)"]}}')
    answer = json.loads(hook("Monitor", command="ls", timeout_ms=3).ok().out)[
        "hookSpecificOutput"]["updatedInput"]
    contains(answer["command"], " run ")
    equal(answer["timeout_ms"], 3)
    contains(hook("Monitor", command="curl x").ok().out, '"deny"')
    for tool in ("Read", "Moni", "Bash|Monitor", "", "Monitor"):
        equal(hook(tool, ws={"url": "wss://example.com"}).ok().out, "", tool)
    for tool, command in (("Monitor", 7), ("Bash", None), ("PowerShell", "ls")):
        equal(hook(tool, command=command).code, 2)


@test
def installing_and_uninstalling_leaves_every_byte(t):
    for agent, name in FILES.items():
        for text in originals(agent):
            path = os.path.join(t.home, name)
            if text is not None:
                t.write(path, text, mode=0o640)
            t.run("hook", "install", agent).ok(repr(text))
            with open(path, newline="") as file:
                now = file.read()
            event = EVENTS[agent]
            equal(json.dumps(json.loads(now)).count(f"hook\", \"{agent}\"")
                  + now.count(f" hook {agent} "),
                  len(json.loads(t.run("hook", "print", agent).ok().out)
                      ["hooks"]), agent, repr(text))
            check(any("cloche" in json.dumps(entry) for entry in
                      json.loads(now)["hooks"][event]), now)
            before = os.stat(path).st_ino
            contains(t.run("hook", "install", agent).ok().out, "already")
            equal(os.stat(path).st_ino, before)
            t.run("hook", "uninstall", agent).ok()
            if text is None:
                check(not os.path.exists(os.path.dirname(path)), agent)
                continue
            with open(path, newline="") as file:
                equal(file.read(), text, agent)
            equal(os.stat(path).st_mode & 0o777, 0o640)
            contains(t.run("hook", "uninstall", agent).ok().out, "no hooks")
            with open(path, newline="") as file:
                equal(file.read(), text, agent)
            os.unlink(path)
            os.rmdir(os.path.dirname(path))


@test
def an_option_that_is_not_utf_8_is_refused(t):
    """JSON cannot hold it, and a hook without it would have another policy"""
    for agent, name in FILES.items():
        for options in ((b"--env", b"A=\xff"), (b"--read", b"/\xfe")):
            r = t.run("hook", "install", agent, *options).ended(2)
            equal(r.err, f"cloche: an option is not UTF-8, and the settings of {agent} cannot "
                  "hold it; nothing was installed\n")
            check(not os.path.exists(os.path.join(t.home, name)), agent)
    equal([*tree(t.home + "/.config/cloche")], [])
    t.write(t.home + "/.claude.json", '{"mcpServers": {"one": {"command": "ls"}}}')
    contains(t.run("mcp", "wrap", "claude", "one", b"--env", b"A=\xff").ended(2).err,
             "an option is not UTF-8")
    t.run("mcp", "wrap", "claude", "one", "--env", "A=\xe9").ok()


@test
def install_follows_a_moved_agent_home(t):
    for agent, variable, name in (("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
                                  ("codex", "CODEX_HOME", "hooks.json"),
                                  ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json")):
        env = {variable: t.away + "/" + agent}
        path = t.write(f"{t.away}/{agent}/{name}", '{  "a" :1 }')
        t.run("hook", "install", agent, env=env).ok()
        contains(t.read(path), "cloche")
        check(not os.path.exists(t.home + "/" + FILES[agent]), agent)
        t.run("hook", "uninstall", agent, env=env).ok()
        equal(t.read(path), '{  "a" :1 }')
        # The control: without it, or with one that names no place, the usual home counts
        for env in ({}, {variable: "relative"}):
            t.run("hook", "install", agent, env=env).ok()
            contains(t.read(t.home + "/" + FILES[agent]), "cloche")
            t.run("hook", "uninstall", agent, env=env).ok()
        equal(t.read(path), '{  "a" :1 }')
    path = t.write(t.away + "/gemini/.gemini/settings.json",
                   '{"mcpServers": {"one": {"command": "true"}}}')
    t.run("mcp", "wrap", "gemini", "one", env={"GEMINI_CLI_HOME": t.away + "/gemini"}).ok()
    contains(t.read(path), '"run"')


@test
def uninstall_keeps_later_changes_of_others(t):
    path = t.write(t.home + "/" + SETTINGS, '{\n  "a": 1\n}\n')
    t.run("hook", "install", "claude").ok()
    with open(path) as file:
        text = file.read()
    t.write(path, text.replace('"a": 1', '"a": 2, "b": [1]'))
    t.run("hook", "uninstall", "claude").ok()
    with open(path) as file:
        equal(file.read(), '{\n  "a": 2, "b": [1]\n}\n')
    # Reformatted, nothing can be put back: our entries go all the same
    t.run("hook", "install", "claude").ok()
    with open(path) as file:
        now = json.load(file)
    now["hooks"]["PreToolUse"].insert(0, {"matcher": "X", "hooks": [
        {"type": "command", "command": "mine"}]})
    t.write(path, json.dumps(now, indent=7))
    t.run("hook", "uninstall", "claude").ok()
    with open(path) as file:
        left = json.load(file)
    equal(left, {"a": 2, "b": [1], "env": {}, "hooks": {
        "PreToolUse": now["hooks"]["PreToolUse"][:1], "SessionStart": []}})


@test
def install_with_a_session_adds_the_session_end_hook(t):
    """Its end is an event of its own, which goes with the rest"""
    for agent, end in (("claude", "SessionEnd"), ("gemini", "SessionEnd"),
                       ("cursor", "sessionEnd"), ("codex", None)):
        path = t.home + "/" + FILES[agent]
        t.run("hook", "install", agent).ok()
        check(end not in json.loads(t.read(path))["hooks"])
        t.run("hook", "install", agent, "--session").ok()
        now = t.read(path)
        contains(now, "--session")
        equal(end is None or end in json.loads(now)["hooks"], True, agent)
        contains(t.run("hook", "install", agent, "--session").ok().out, "already")
        t.run("hook", "install", agent).ok()
        lacks(t.read(path), "--session")
        t.run("hook", "install", agent, "--session").ok()
        t.run("hook", "uninstall", agent).ok()
        check(not os.path.exists(path) or "cloche" not in t.read(path), agent)
    contains(t.run("hook", "install", "claude", "--session=web").ended(2).err,
             "takes no value")


@test
def install_does_not_replace_the_users_prefix(t):
    text = '{"env": {"A": "b", "CLAUDE_CODE_SHELL_PREFIX": "/mine"}}'
    path = t.write(t.home + "/" + SETTINGS, text)
    contains(t.run("hook", "install", "claude").ended(2).err, "/mine")
    equal(t.read(path), text)
    check(not os.path.exists(t.home + "/.config/cloche"))
    # One of ours that was moved about by hand goes, and only that
    for before, after in (
            ('{"env": {%s}}', '{"env": {}}'),
            ('{"env": {"A": "b", %s}}', '{"env": {"A": "b"}}'),
            ('{"env": {%s, "Z": "y"}}', '{"env": {"Z": "y"}}')):
        t.write(path, "{}")
        t.run("hook", "install", "claude").ok()
        pair = '"CLAUDE_CODE_SHELL_PREFIX": "%s/.config/cloche/agents/claude-shell"'
        t.write(path, before % (pair % t.home))
        t.run("hook", "uninstall", "claude").ok()
        equal(t.read(path), after)


@test
def a_second_install_replaces_the_first(t):
    t.run("hook", "install", "codex", "--net", "none").ok()
    t.run("hook", "install", "codex", "--net", "host").ok()
    with open(t.home + "/.codex/hooks.json") as file:
        text = file.read()
    lacks(text, "--net none")
    equal(text.count("--net host"), 2)
    t.run("hook", "uninstall", "codex").ok()
    check(not os.path.exists(t.home + "/.codex"))


@test
def the_installed_hook_command_works(t):
    t.run("hook", "install", "claude", "--scope", "project", "--net",
          "none").ok()
    settings = json.loads(t.read(SETTINGS))
    hook = settings["hooks"]["PreToolUse"][0]["hooks"][0]
    check(hook["timeout"] > 15, hook)
    for env, part in (({}, "not in force"), (settings["env"], "")):
        r = t.outside(hook["command"], *hook["args"],
                      stdin=json.dumps(CALL), env=env).ok()
        contains(r.out, part)
    equal(r.out, "")
    [prefix] = settings["env"].values()
    contains(t.read(prefix), "--net none")
    t.outside(prefix, "true", cwd=t.dir).ok()
    t.run("hook", "uninstall", "claude", "--scope", "project").ok()
    check(not os.path.exists(prefix) and not t.exists(SETTINGS))
    for agent in ("codex", "gemini", "cursor"):
        printed = json.loads(t.run("hook", "print", agent).ok().out)
        event = EVENTS[agent]
        entry = printed["hooks"][event][0]
        line = entry.get("hooks", [entry])[0]["command"]
        t.outside("sh", "-c", line, stdin='{"cwd": "/", "tool_name": "x"}').ok()


@test
def concurrent_installs_add_one_hook(t):
    path = t.write(t.home + "/" + SETTINGS, '{"a": 1}\n')
    all = [t.start("hook", "install", "claude") for _ in range(16)]
    for one in all:
        one.communicate(timeout=RUN_SECONDS)
        equal(one.returncode, 0)
    with open(path) as file:
        text = file.read()
    equal(text.count("pre-tool-use"), 1)
    equal(json.loads(text)["a"], 1)
    t.run("hook", "uninstall", "claude").ok()
    with open(path) as file:
        equal(file.read(), '{"a": 1}\n')


@test
def install_with_scope_managed_applies_to_all_users(t):
    tested = os.path.join(os.path.dirname(CLOCHE), "cloche-test")
    env = {"CLOCHE_ROOT_ETC": t.away + "/etc"}
    file = t.away + "/etc/claude-code/managed-settings.d/50-cloche.json"
    t.outside(tested, "hook", "install", "claude", "--scope", "managed",
              env=env).ok()
    with open(file) as text:
        check("PreToolUse" in json.load(text)["hooks"])
    # A file of hooks is no policy: commands run as before
    t.outside(tested, "run", "true", env=env).ok()
    t.outside(tested, "hook", "uninstall", "claude", "--scope", "managed",
              env=env).ok()
    check(not os.path.exists(file))


@test
def install_keeps_a_symlinked_settings_file(t):
    os.makedirs(t.home + "/.claude")
    real = t.write(t.away + "/dotfiles.json", '{"a": 1}\n')
    os.symlink(real, t.home + "/" + SETTINGS)
    t.run("hook", "install", "claude").ok()
    check(os.path.islink(t.home + "/" + SETTINGS))
    contains(open(real).read(), "pre-tool-use")
    t.run("hook", "uninstall", "claude").ok()
    equal(open(real).read(), '{"a": 1}\n')


@test
def install_does_not_follow_a_projects_symlink(t):
    """A clone brings links: install writes where they lead, uninstall takes the hook away"""
    for agent in FILES:
        t.run("hook", "install", agent).ok()
    servers = '{"mcpServers": {"one": {"command": "/bin/true", "args": []}}}'
    t.write(t.home + "/.claude.json", servers)
    t.run("mcp", "wrap", "claude").ok()
    os.symlink(t.home + "/.claude.json", t.dir + "/.mcp.json")
    for name in (".claude", ".codex", ".gemini", ".cursor"):
        os.symlink(t.home + "/" + name, t.dir + "/" + name)
    before = tree(t.home)
    scopes = [(agent, "project") for agent in FILES] + [("claude", "local")]
    for command in [("hook", verb, agent, "--scope", scope) for agent, scope in scopes
                    for verb in ("install", "uninstall")] + [
                        ("mcp", verb, "claude", "--scope", "project")
                        for verb in ("wrap", "unwrap")]:
        contains(t.run(*command).ended(2).err, "is a symbolic link out of the project")
        equal(tree(t.home), before, command)
    # The control: within the project, where the link is one of the repository's
    for name in (".claude", ".codex", ".gemini", ".cursor"):
        os.unlink(t.dir + "/" + name)
        os.makedirs(t.dir + "/agents" + name)
        os.symlink("agents" + name, t.dir + "/" + name)
    for agent in FILES:
        t.run("hook", "install", agent, "--scope", "project").ok()
        t.run("hook", "uninstall", agent, "--scope", "project").ok()


@test
def install_leaves_invalid_json_unchanged(t):
    path = t.write(t.home + "/" + SETTINGS, "{ broken")
    t.run("hook", "install", "claude").ended(2)
    equal(open(path).read(), "{ broken")
    t.write(path, '{"hooks": 3}')
    t.run("hook", "install", "claude").ended(2)
    equal(open(path).read(), '{"hooks": 3}')


@test
def status_without_an_agent_is_about_all_that_are_here(t):
    equal(t.run("hook", "status").ok().out,
          "There are no settings of claude, codex, gemini, cursor.\n")
    for agent in ("claude", "cursor"):
        t.run("hook", "install", agent).ok()
    lines = t.run("hook", "status").ok().out.splitlines()
    equal([line.split(":")[0] for line in lines], ["claude", "cursor"])
    lacks(lines[1], "commands run in the sandbox")	# Nobody has seen that
    t.run("hook", "uninstall", "claude").ok()
    os.makedirs(t.home + "/.claude", exist_ok=True)
    contains(t.run("hook", "status").ended(1).out, "claude: not installed")
    t.run("hook", "status", "--scope", "project").ended(2)


@test
def status_runs_the_hook_and_names_what_disables_it(t):
    def status(agent, code):
        r = t.run("hook", "status", agent).ended(code)
        found = json.loads(t.run("hook", "status", agent, "--json").ended(code).out)
        equal((found["version"], found["agent"], found["sandboxed"]),
              (1, agent, code == 0))
        contains(r.out, found["detail"].splitlines()[0])
        return r.out

    for agent in FILES:
        contains(status(agent, 1), "not installed")
        t.run("hook", "install", agent).ok()
    contains(status("claude", 0), "commands run in the sandbox")
    contains(status("gemini", 0), "tried with one")
    contains(status("cursor", 0), "whether Cursor calls the hook was never tried")
    contains(status("codex", 1), "not reviewed")
    t.write(t.home + "/.codex/config.toml", '[hooks.state."%s/.codex/hooks.json:'
            'pre_tool_use:0:0"]\ntrusted_hash = "sha256:x"\n' % t.home)
    contains(status("codex", 0), "tried with one")
    for name in (SETTINGS, ".claude/settings.local.json"):
        for text in ('{"disableAllHooks": true}',
                     '{"env": {"CLAUDE_CODE_SHELL_PREFIX": ""}}'):
            t.write(name, text)
            contains(status("claude", 1), f"claude: {name} ")
        t.write(name, "{}")
    status("claude", 0)
    script = t.home + "/.config/cloche/agents/claude-shell"
    t.write(script, "#!/bin/sh\nexec bash -c \"$1\"\n", mode=0o755)
    contains(status("claude", 1), "does not run in the sandbox")


@test
def install_mentions_the_agents_own_confirmations(t):
    contains(t.run("hook", "install", "codex").ok().err, "until you trust it")
    for agent in ("codex", "gemini"):
        contains(t.run("hook", "install", agent).ok().err,
                 f"'cloche shim install {agent} --hook' leaves the command as it is")
    contains(t.run("hook", "install", "cursor").ok().err, "not tried with Cursor itself")
    contains(t.run("hook", "install", "claude").ok().err, "repository")


main()
