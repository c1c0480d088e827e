# SPDX-License-Identifier: Apache-2.0
"""tests/peers/agents.py - our hooks in Claude Code, Codex and Gemini CLI"""

import json
import os
import re
import signal
import subprocess

from real_agents import *


def for_each_that_rewrites(function):
    """Claude Code's commands are not rewritten: such a one runs in the sandbox"""
    for_each(function, [agent for agent in AGENTS if agent != "claude"])


@for_each
def commands_of_the_agent_run_in_the_sandbox(t, agent):
    t.write(t.home + "/.ssh/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
    [said] = results(t, agent, "cat ~/.ssh/id_rsa; echo in=$SANDBOX_RUNTIME; "
                     f"echo x > made; echo x > {t.home}/not-made")
    contains(said, "in=1")
    lacks(said, "BEGIN")
    check(t.exists("made") and not os.path.exists(t.home + "/not-made"), said)


def in_bwraps_place(t, agent, settings, argv, env):
    """Their own sandboxes call bwrap, here ours: what it is asked for is enforced"""
    need_agent(agent)
    ours, calls = os.path.join(os.path.dirname(CLOCHE), "bwrap"), t.away + "/calls"
    t.write(t.home + "/bin/bwrap", f'#!/bin/sh\necho "$*" >> {calls}\nexec {ours} "$@"\n', 0o755)
    server, url = serve(AGENTS[agent][0], ["echo x > made; echo x > $HOME/not-made; echo status=$?"])
    settings(url)
    t.outside(f"{BIN}/{agent}", *argv, timeout=AGENT_SECONDS,
              env={**env(url), "PATH": f"{t.home}/bin:{os.environ['PATH']}"})
    [said] = server.results
    check(re.search("status=[12]", said), said)
    check(t.exists("made") and not os.path.exists(t.home + "/not-made"), said)
    check(re.search(r"^--(args|new-session|ro-bind|as-pid-1) .*bash", t.read(calls), re.M), t.read(calls))


@test
def codex_works_with_cloche_as_bwrap(t):
    in_bwraps_place(t, "codex", lambda url: start_codex(t, url),
                    [*CODEX_ALONE, "exec", "--skip-git-repo-check", "-s", "workspace-write", "go"],
                    lambda url: {"MODEL_KEY": "x"})


@test
def gemini_works_with_cloche_as_bwrap(t):
    def settings(url):
        t.write(t.home + "/.gemini/settings.json", json.dumps({"security": {
            "auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False},
            "toolSandboxing": True}, "privacy": {"usageStatisticsEnabled": False}}))
    in_bwraps_place(t, "gemini", settings, ["-p", "go", "--yolo"],
                    lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "x", **GEMINI_ALONE})


@for_each
def uninstalling_after_a_session_leaves_every_byte(t, agent):
    name, text = {
        "claude": (".claude/settings.json", '{ "cleanupPeriodDays":9,\n\n"env" : {} }'),
        "codex": (".codex/hooks.json", '{"hooks" : {}\n }\n\n'),
        "gemini": (".gemini/settings.json", '{"security": {"auth": {"selectedType":\t'
                   '"gemini-api-key"},  "folderTrust":{"enabled": false}} }\n'),
    }[agent]
    path = t.write(f"{t.home}/{name}", text)
    results(t, agent, "echo $SANDBOX_RUNTIME > made")
    equal(t.read("made"), "1\n")
    t.run("hook", "uninstall", agent).ok()
    equal(t.read(path), text)


@for_each
def a_command_denied_by_a_rule_is_not_run(t, agent):
    t.write(".claude/settings.json", json.dumps(
        {"permissions": {"deny": ["Bash(touch *)"]}}))
    denied, allowed = results(t, agent, "touch a", "echo x > b")
    contains(denied, "denied by a rule: Bash(touch *)")
    check(not t.exists("a") and t.exists("b"), denied, allowed)


@for_each
def a_hook_that_cannot_decide_stops_the_command(t, agent):
    t.write(".cloche.json", "{")
    [said] = results(t, agent, "touch made")
    contains(said, ".cloche.json")
    check(not t.exists("made"), said)


@for_each_that_rewrites
def a_forged_wrapper_is_not_run(t, agent):
    [said] = results(t, agent, f"{CLOCHE} run --write {t.home} touch made")
    contains(said, "sandbox of its own")
    check(not t.exists("made"), said)


@test
def a_codex_call_cannot_change_the_project(t):
    [said] = results(t, "codex", {"cmd": "touch here; pwd", "workdir": t.home})
    contains(said, t.home)
    check(not os.path.exists(t.home + "/here"), said)


@test
def claudes_monitor_tool_runs_in_the_sandbox(t):
    def watch(command):
        return ("Monitor", {"command": command, "description": "a test"})

    t.write(".claude/settings.json", json.dumps(
        {"permissions": {"deny": ["Bash(touch *)"]}}))
    denied, *_ = results(
        t, "claude", watch("touch denied"),
        watch(f"echo x > {t.home}/not-made; echo $SANDBOX_RUNTIME > made"),
        "for i in $(seq 300); do [ -s made ] && break; sleep 0.1; done")
    contains(denied, "denied by a rule: Bash(touch *)")
    equal(t.read("made"), "1\n")
    check(not t.exists("denied") and
          not os.path.exists(t.home + "/not-made"), denied)


@test
def claude_keeps_its_working_directory(t):
    os.makedirs("sub dir")
    with host_tmp() as tmp:
        _, inside, _, failed, still = results(
            t, "claude", "cd 'sub dir'", "pwd; touch here", "cd /usr",
            "cd ..; (exit 7)", "pwd")
        equal([n for n in os.listdir(tmp) if n.endswith("-cwd")], [])
    contains(inside, t.dir + "/sub dir")
    check(t.exists("sub dir/here"), inside)
    contains(failed, "7")
    contains(still, t.dir)		# Claude Code leaves a directory that is not the project's


@test
def claude_shares_tmp_with_its_file_tools(t):
    name = f"/tmp/cloche-test-peers-{os.getpid()}"
    try:
        _, read, _, back = results(
            t, "claude", ("Write", {"file_path": name, "content": "by Write\n"}),
            f"cat {name}", f"echo by Bash > {name}-2",
            ("Read", {"file_path": name + "-2"}))
        contains(read, "by Write")
        contains(back, "by Bash")
    finally:
        for path in (name, name + "-2"):
            if os.path.exists(path):
                os.unlink(path)


@test
def other_sessions_of_claude_are_hidden_in_tmp(t):
    base = f"/tmp/claude-{os.getuid()}/cloche-test-peers-{os.getpid()}"
    other = base + "/11111111-2222-3333-4444-555555555555"
    os.makedirs(other)
    t.write(other + "/tasks", "of another session\n")
    try:
        [said] = results(t, "claude", f"cat {other}/tasks; echo end")
        contains(said, "end")
        lacks(said, "of another session")
    finally:
        os.unlink(other + "/tasks")
        os.removedirs(other)


@test
def a_project_cannot_remove_claudes_shell_prefix(t):
    for name, value in (("CLAUDE_CODE_SHELL_PREFIX", ""),
                        ("CLAUDE_CODE_SHELL_PREFIX", "/usr/bin/env")):
        t.write(".claude/settings.json", json.dumps({"env": {name: value}}))
        [said] = results(t, "claude", "touch made")
        contains(said, name)
        check(not t.exists("made"), value, said)
    t.write(".claude/settings.json", "{}")
    results(t, "claude", "touch made")
    check(t.exists("made"))


@test
def a_project_cannot_disable_the_hooks_of_a_shim(t):
    """What it can do to hooks of the user's settings, it cannot to those of the shim"""
    hostile = json.dumps({"disableAllHooks": True,
                          "env": {"CLAUDE_CODE_SHELL_PREFIX": ""}})
    script = f"echo $SANDBOX_RUNTIME > made; echo x > {t.home}/not-made"
    t.write(".claude/settings.json", hostile)
    results(t, "claude", script)	# Control: with user settings alone
    check(os.path.exists(t.home + "/not-made"))
    os.unlink(t.home + "/not-made")
    path = {"PATH": BIN + ":" + os.environ["PATH"]}
    t.run("hook", "uninstall", "claude").ok()
    t.run("shim", "install", "claude", "--hook", env=path).ok()
    shims = t.home + "/.config/cloche/shims"
    server, url = serve(Claude, [script])
    argv, env = start_claude(t, url)
    t.outside(shims + "/claude", *argv[1:], env=env, timeout=AGENT_SECONDS).ok()
    equal(len(server.results), 1)
    equal(t.read("made"), "1\n")
    check(not os.path.exists(t.home + "/not-made"), server.results)
    t.run("hook", "status", "claude", env={
        "PATH": f"{shims}:{path['PATH']}"}).ok()
    # A verb of Claude Code is no prompt behind the shim either
    contains(t.outside(shims + "/claude", "logs", "0", env=env, timeout=AGENT_SECONDS).err,
             "No job matching '0'")


@test
def hooks_and_servers_of_the_user_run_as_before(t):
    """They come through the prefix as well, and are no commands of the model"""
    made = t.home + "/by-hook"
    t.write(t.home + "/.claude/settings.json", json.dumps({"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": f"echo 'x  y' > '{made}'"}]}]}}))
    results(t, "claude", "touch made")
    equal(t.read(made), "x  y\n")


@test
def claude_receives_the_refusals(t):
    [said] = results(t, "claude", "echo x > /etc/hosts")
    contains(said, "<sandbox_violations>")



def shim_results(t, agent, *commands):
    """As results(), by a shim that puts the agent's own commands into the sandbox"""
    need_agent(agent)
    path = BIN + ":" + os.environ["PATH"]
    t.run("shim", "install", agent, "--hook", env={"PATH": path}).ok()
    protocol, start = AGENTS[agent]
    server, url = serve(protocol, commands)
    argv, env = start(t, url)
    env.pop("GEMINI_CLI_NO_RELAUNCH", None)	# As users start it: two processes
    shims = t.home + "/.config/cloche/shims"
    if agent == "codex":	# Its own sandbox is the shim's business
        argv = [a for a in argv if not a.startswith("--dangerously")]
    contains(t.run("hook", "status", agent, env={"PATH": f"{shims}:{path}"}).ok().out,
             "commands run in the sandbox, tried")
    r = t.outside(f"{shims}/{agent}", *argv[1:], env=env, timeout=AGENT_SECONDS)
    equal(len(server.results), sum(not callable(c) for c in commands), r)
    return server.results


@for_each
def shim_commands_run_unrewritten_in_one_sandbox(t, agent):
    t.write(t.home + "/.ssh/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
    t.write("page", "from inside")
    kept = f"/tmp/cloche-test-peers-{os.getpid()}"
    with host_tmp():
        said, up, first, second = shim_results(
            t, agent, "cat ~/.ssh/id_rsa; echo in=$SANDBOX_RUNTIME; ps -o args= -p $$; "
            f"echo x > made; echo x > {t.home}/not-made; echo y > {kept}",
            SERVER % ">log 2>&1", FETCH, f"cat {kept}; rm {kept}")
    contains(said, "in=1")
    lacks(said, "BEGIN")
    lacks(said, "cloche run")
    lacks(said, "bgpids.tmp: No such file")
    contains(said.lower(), "read-only file system")
    contains(said, "outside the writable paths")
    contains(said, f"write {t.home}/not-made\\n" if said[0] in "[{" else
             f"write {t.home}/not-made\n")
    check(t.exists("made") and not os.path.exists(t.home + "/not-made"), said)
    contains(up, "up")
    contains(first, "from inside")
    contains(second, "y")


@test
def edits_of_codex_and_its_commands_have_one_tmp(t):
    patched = "/tmp/cloche-test-peers-patched"	# In the sandbox's own /tmp
    edit = ("apply_patch <<'END'\n*** Begin Patch\n*** Add File: %s\n+by the edit\n"
            "*** End Patch\nEND\n")
    done, read, refused = shim_results(t, "codex", edit % patched, f"cat {patched}",
                                       edit % (t.home + "/not-made"))
    contains(read, "by the edit", done)
    check(not os.path.exists(patched) and not os.path.exists(t.home + "/not-made"), refused)


@test
def file_tools_of_gemini_and_its_commands_have_one_directory(t):
    """They work in the project, and outside of it in a directory below ~/.gemini only"""
    shared = f"{t.home}/.gemini/tmp/{os.path.basename(t.dir)}"
    _, read, made, back = shim_results(
        t, "gemini", ("write_file", {"file_path": shared + "/a", "content": "by the tool"}),
        f"cat {shared}/a", f"echo by the command > {shared}/b; echo x > {shared}/../not-made",
        ("read_file", {"file_path": shared + "/b"}))
    contains(read, "by the tool")
    contains(back, "by the command", made)
    check(not os.path.exists(shared + "/../not-made"), made)


@for_each
def removing_a_shim_after_a_session_leaves_every_byte(t, agent):
    """Of the user's files; the agent's own state is left to it"""
    files = {
        "claude": {".claude/settings.json": '{ "cleanupPeriodDays":9,\n\n"env" : {} }'},
        "codex": {".codex/hooks.json": '{"hooks" : {}\n }\n\n', ".codex/rules/a.rules": "# x\n"},
        "gemini": {".gemini/settings.json": '{"security": {"auth": {"selectedType":\t'
                   '"gemini-api-key"},  "folderTrust":{"enabled": false}} }\n'},
    }[agent]
    for name, text in files.items():
        t.write(f"{t.home}/{name}", text)
    before = t.in_home()
    shim_results(t, agent, "echo $SANDBOX_RUNTIME > made")
    equal(t.read("made"), "1\n")
    t.run("shim", "remove", agent).ok()
    for name, text in files.items():
        equal(t.read(f"{t.home}/{name}"), text)
    check(not os.path.exists(t.home + "/.codex/environments.toml"))
    equal(tree(t.home + "/.config/cloche"), {})
    check(set(t.in_home()) <= {*before, ".config", ".local", ".claude.json", ".cache"}, t.in_home())


@test
def gemini_without_its_shim_runs_no_command(t):
    need_agent("gemini")
    t.write(t.home + "/.gemini/settings.json", "{}")
    t.run("shim", "install", "gemini", "--hook",
          env={"PATH": BIN + ":" + os.environ["PATH"]}).ok()
    server, url = serve(Gemini, ["touch made"])
    argv, env = start_gemini(t, url)
    r = t.outside(*argv, env=env, timeout=AGENT_SECONDS)
    contains(server.results[0], "start gemini by its shim", r)
    check(not t.exists("made"), r)


@test
def codex_refuses_to_start_without_its_environments_file(t):
    shim_results(t, "codex", "touch made")
    check(t.exists("made"))
    path = t.home + "/.codex/environments.toml"
    t.write(path, t.read(path).replace("include_local = false", "include_local = true"))
    contains(t.outside(t.home + "/.config/cloche/shims/codex", "--version").ended(1).err,
             "environments.toml is not cloche's")
    contains(t.run("hook", "status", "codex", env={
        "PATH": f"{t.home}/.config/cloche/shims:{BIN}:{os.environ['PATH']}"}).ended(1).out,
        "not cloche's")


# Where a server of the user's is, and what its tool for writing is called
SERVERS = {"claude": (".claude.json", "mcp__fs__write_file"),
           "codex": (".codex/config.toml", "mcp__fs__write_file"),
           "gemini": (".gemini/settings.json", "mcp_fs_write_file")}


@for_each
def an_mcp_server_runs_in_its_own_sandbox(t, agent):
    """The server itself would write all of the home"""
    name, tool = SERVERS[agent]
    program = os.path.join(os.path.dirname(BIN), "@modelcontextprotocol",
                           "server-filesystem", "dist", "index.js")
    if not os.path.exists(program):
        skip("needs its server, which tests/peers/agents gets from npm")
    args = json.dumps([program, t.home])
    t.write(f"{t.home}/{name}", f'[mcp_servers.fs]\ncommand = "node"\nargs = {args}\n'
            if agent == "codex" else
            '{"mcpServers": {"fs": {"command": "node", "args": %s}}}' % args)
    t.run("mcp", "wrap", agent, "fs", "--write", ".").ok()
    t.run("mcp", "status", agent).ok()
    said = results(t, agent, *[(tool, {"path": path, "content": "x\n"}) for path in
                               (t.dir + "/made", t.home + "/not-made")])
    check(t.exists("made") and not os.path.exists(t.home + "/not-made"), said)
    contains(said[0], "uccessfully wrote")


SERVER = ("python3 -c 'import http.server as h; s = h.HTTPServer((\"127.0.0.1\", 0), "
          "h.SimpleHTTPRequestHandler); open(\"port\", \"w\").write(str(s.server_port)); "
          "s.serve_forever()' %s & while ! [ -s port ]; do sleep 0.1; done; echo up")
FETCH = ("python3 -c 'import urllib.request as u; print(u.build_opener(u.ProxyHandler({}))"
         ".open(\"http://127.0.0.1:\" + open(\"port\").read() + \"/page\").read())'")


def sessions(t):
    return json.loads(t.run("session", "list", "--json").ok().out)["sessions"]


@for_each
def a_server_of_one_call_answers_the_next_until_the_agent_ends(t, agent):
    # Codex closes the other end of a command's output when it has ended, and Gemini CLI
    # waits for all that have it open
    start = SERVER % ("" if agent == "claude" else ">log 2>&1")
    seen = []
    t.write("page", "from inside")
    with host_tmp():
        up, first, second = results(
            t, agent, start, lambda: seen.extend(sessions(t)), FETCH, FETCH,
            options=("--session",))
    contains(up, "up")
    contains(first, "from inside")
    contains(second, "from inside")	# It has written to its log since, and lives
    equal([(s["name"].split("-")[0], s["ports"], s["project"]) for s in seen],
          [(agent, [int(t.read("port"))], t.dir)])
    wait_until(lambda: not sessions(t), "the end of the session", AGENT_SECONDS)
    # The control: without it each command is alone
    os.unlink("port")
    if agent == "codex":
        os.unlink(t.home + "/.codex/config.toml")	# start_codex() adds to it
    up, alone = results(t, agent, start, FETCH)
    contains(up, "up")
    lacks(alone, "from inside")


@for_each
def killing_an_agent_ends_its_session(t, agent):
    need_agent(agent)
    seen = []

    def kill():
        seen.extend(sessions(t))
        os.killpg(process.pid, signal.SIGKILL)
    protocol, start = AGENTS[agent]
    t.run("hook", "install", agent, "--session").ok()
    server, url = serve(protocol, [SERVER % ">log 2>&1", kill])
    argv, env = start(t, url)
    env.pop("GEMINI_CLI_NO_RELAUNCH", None)	# As users start it: two processes
    with host_tmp():
        process = subprocess.Popen(argv, env={**os.environ, **env}, cwd=t.dir,
                                   start_new_session=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.wait(AGENT_SECONDS)
    equal(len(seen), 1)
    wait_until(lambda: not sessions(t), "the end of the session", AGENT_SECONDS)

@lambda function: for_each(function, ["codex", "gemini"])
def an_agent_with_a_moved_home_is_sandboxed(t, agent):
    """Its hooks are there, and its commands in the sandbox"""
    variable, start = {"codex": ("CODEX_HOME", ".codex"),
                       "gemini": ("GEMINI_CLI_HOME", "")}[agent]
    need_agent(agent)
    moved = os.path.join(t.away, "moved")
    os.environ[variable] = os.path.join(moved, start)
    os.makedirs(os.environ[variable])
    t.run("hook", "install", agent).ok()
    server, url = serve(AGENTS[agent][0], [f"echo $SANDBOX_RUNTIME > made; echo x > {t.home}/not-made"])
    usual, t.home = t.home, moved		# Where the settings are written
    argv, env = AGENTS[agent][1](t, url)
    t.home = usual
    r = t.outside(*argv, env=env, timeout=AGENT_SECONDS)
    equal(len(server.results), 1, r)
    equal(t.read("made"), "1\n")
    check(not os.path.exists(t.home + "/not-made"), server.results)
    check(not os.path.exists(f"{t.home}/.{agent}/hooks.json") and
          not os.path.exists(f"{t.home}/.{agent}/settings.json"))


PRESETS = {
    "claude": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL",
               ("-p", "go", "--dangerously-skip-permissions")),
    "codex": ("OPENAI_API_KEY", None, (
        "-c", "model_provider=ours", "-c", "model=gpt-5",
        "-c", "model_providers.ours.name=ours",
        "-c", "model_providers.ours.wire_api=responses",
        "-c", "model_providers.ours.env_key=OPENAI_API_KEY",
        "exec", "--skip-git-repo-check", "go")),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL",
               ("--skip-trust", "-p", "go", "--yolo")),
}


def whole(t, agent, *commands, shared=""):
    """As results(), with the whole agent in the sandbox by --for"""
    need_agent(agent)
    key, base, words = PRESETS[agent]
    server, url = serve(AGENTS[agent][0], commands)
    options = ["--for", agent + shared, "--host-port", str(server.server_port)]
    if base:
        options += ["--env", f"{base}={url}"]
    if agent == "gemini":
        options += [w for pair in GEMINI_ALONE.items() for w in ("--env", "=".join(pair))]
    if agent == "claude" and IS_ROOT:
        options += ["--env", "IS_SANDBOX=1"]
    if agent == "codex":
        words = (*CODEX_ALONE, "-c", f"model_providers.ours.base_url={url}/v1",
                 *(("-s", "danger-full-access", "--disable", "daemon_auto_start")
                   if shared else ()), *words)
    r = t.run("run", *options, "--", agent, *words, timeout=AGENT_SECONDS,
              env={key: "sk-test", "PATH": BIN + ":" + os.environ["PATH"]})
    equal(len(server.results), len(commands), r)
    return server.results


@for_each
def a_sandboxed_agent_keeps_its_key_and_private_home(t, agent):
    t.write(t.home + "/.ssh/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
    before = t.in_home()
    serve_it = ("setsid python3 -c 'import http.server, sys; s = http.server.HTTPServer(("
                "\"127.0.0.1\", 0), http.server.SimpleHTTPRequestHandler); "
                "open(\"port\", \"w\").write(str(s.server_port)); "
                "s.serve_forever()' >/dev/null 2>&1 & "
                "while ! [ -s port ]; do sleep 0.1; done; echo up")
    said, up, reached = whole(
        t, agent, "cat ~/.ssh/id_rsa; echo in=$SANDBOX_RUNTIME; echo x > made; "
        "echo y > /tmp/kept; echo x > /usr/not-made", serve_it,
        f"python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:"
        f"\" + open(\"port\").read()).status)'; cat /tmp/kept")
    contains(said, "in=1")
    lacks(said, "BEGIN")
    contains(said, "cloche: refused: write /usr/not-made")
    contains(up, "up")
    contains(reached, "200")
    contains(reached, "y")
    check(t.exists("made"), said)
    equal(t.in_home(), sorted({*before, ".local"}))


@for_each
def a_sandboxed_agent_can_share_its_usual_home(t, agent):
    """Its history is there afterwards; what its next start obeys is as it was"""
    name, settings, text, history = {
        "claude": (".claude", "settings.json", '{"cleanupPeriodDays": 9}\n', "projects"),
        "codex": (".codex", "config.toml", "# of the user\n", "sessions"),
        "gemini": (".gemini", "settings.json", '{"security": {"auth": {"selectedType": '
                   '"gemini-api-key"}}}\n', "tmp"),
    }[agent]
    path = t.write(f"{t.home}/{name}/{settings}", text)
    [said] = whole(t, agent, f"echo in=$SANDBOX_RUNTIME; echo x >> {path}; echo x > made",
                   shared=",shared")
    contains(said, "in=1")
    check(t.exists("made"), said)
    equal(t.read(path), text)
    check(os.listdir(f"{t.home}/{name}/{history}"), os.listdir(f"{t.home}/{name}"))


main()
