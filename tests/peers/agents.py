# SPDX-License-Identifier: Apache-2.0
"""tests/peers/agents.py - our hooks in Claude Code, Codex and Gemini CLI

A server on the loopback plays the model: it asks for the commands of a test,
one after the other, and keeps what the agent says came of them. tests/peers/
agents starts this where there is no other network.
"""

import http.server
import json
import os
import re
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *
from terminal import Terminal

BIN = sys.argv[1] if len(sys.argv) > 1 else ""
AGENT_SECONDS = 100


class Model(http.server.BaseHTTPRequestHandler):
    """What all three protocols share"""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, text, kind="application/json"):
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.send('{"models": [], "data": []}')

    do_HEAD = do_GET

    def do_POST(self):
        size = int(self.headers.get("content-length") or 0)
        self.answer(json.loads(self.rfile.read(size) or b"{}"))

    def next(self):
        """The next command, or None. What is a function is called in between."""
        while self.server.commands and callable(self.server.commands[0]):
            self.server.commands.pop(0)()
        return self.server.commands.pop(0) if self.server.commands else None

    def keep(self, result):
        self.server.results.append(
            result if isinstance(result, str) else json.dumps(result))


def events(*all):
    return "".join(f"event: {name}\ndata: {json.dumps({'type': name, **data})}"
                   "\n\n" for name, data in all)


class Claude(Model):
    def answer(self, request):
        if "count_tokens" in self.path or "messages" not in request:
            return self.send('{"input_tokens": 1}')
        tools = [tool.get("name") for tool in request.get("tools", [])]
        command = None
        if "Bash" in tools:	# Each request has the whole conversation
            self.server.results[:] = []
            for said in request["messages"]:
                for part in said["content"]:
                    if isinstance(part, dict) and \
                            part.get("type") == "tool_result":
                        self.keep(part["content"])
            command = self.next()
        message = {"id": "m", "type": "message", "role": "assistant",
                   "model": request["model"], "content": [], "stop_reason": None,
                   "stop_sequence": None,
                   "usage": {"input_tokens": 1, "output_tokens": 1}}
        block, delta = {"type": "text", "text": ""}, {
            "type": "text_delta", "text": "done"}
        if command:
            name, values = command if isinstance(command, tuple) else (
                "Bash", {"command": command, "description": "a test"})
            block = {"type": "tool_use", "id": f"t{len(self.server.results)}",
                     "name": name, "input": {}}
            delta = {"type": "input_json_delta",
                     "partial_json": json.dumps(values)}
        stop = "tool_use" if command else "end_turn"
        if not request.get("stream"):
            return self.send(json.dumps({**message, "stop_reason": stop,
                                         "content": [{**block, "text": "done"}]}))
        self.send(events(
            ("message_start", {"message": message}),
            ("content_block_start", {"index": 0, "content_block": block}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": stop},
                               "usage": {"output_tokens": 1}}),
            ("message_stop", {})), "text/event-stream")


class Codex(Model):
    def answer(self, request):
        outputs = [item["output"] for item in request.get("input", [])
                   if item.get("type") == "function_call_output" and
                   item["call_id"] != "wait"]
        tools = json.dumps(request.get("tools", []))
        if '"exec_command"' not in tools:	# For the title of the conversation
            return self.say(self.done)
        self.server.results[:] = []
        for output in outputs:
            self.keep(output)
        command = self.next()
        if isinstance(command, tuple) and f'"{command[0].rsplit("__", 1)[-1]}"' not in tools:
            # A server that has not started yet has no tools
            self.server.commands.insert(0, command)
            return self.say(self.call("exec_command", {"cmd": "true"}, "wait"))
        item = self.done
        if command:
            name, values = command if isinstance(command, tuple) else (
                "exec_command", command if isinstance(command, dict) else
                {"cmd": command})
            item = self.call(name, values, f"c{len(outputs)}")
            if name.startswith("mcp__"):
                item["namespace"], item["name"] = name.rsplit("__", 1)
        self.say(item)

    done = {"type": "message", "id": "m", "role": "assistant",
            "content": [{"type": "output_text", "text": "done"}]}

    @staticmethod
    def call(name, values, id):
        return {"type": "function_call", "id": "f", "name": name, "call_id": id,
                "arguments": json.dumps(values)}

    def say(self, item):
        self.send(events(
            ("response.created", {"response": {"id": "r"}}),
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": {"id": "r", "usage": {
                "input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})),
            "text/event-stream")


class Gemini(Model):
    def answer(self, request):
        tools = [f.get("name") for tool in request.get("tools", [])
                 for f in tool.get("functionDeclarations", [])]
        for part in request.get("contents", [{}])[-1].get("parts", []):
            if "functionResponse" in part:
                self.keep(part["functionResponse"]["response"])
        command = self.next() if "run_shell_command" in tools else None
        part = {"text": "done"}
        if command:
            name, values = command if isinstance(command, tuple) else (
                "run_shell_command", {"command": command})
            part = {"functionCall": {"name": name, "args": values}}
        elif "responseMimeType" in request.get("generationConfig", {}):
            part = {"text": json.dumps({"next_speaker": "user", "reasoning": "x",
                                        "model_choice": "flash"})}
        data = json.dumps({"candidates": [{"index": 0, "finishReason": "STOP",
                                           "content": {"role": "model",
                                                       "parts": [part]}}],
                           "usageMetadata": {"totalTokenCount": 1}})
        if "stream" in self.path:
            self.send(f"data: {data}\r\n\r\n", "text/event-stream")
        else:
            self.send(data)


def serve(protocol, commands):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), protocol)
    server.commands, server.results = list(commands), []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


def start_claude(t, url):
    return ([BIN + "/claude", "-p", "go", "--dangerously-skip-permissions",
             "--setting-sources", "user,project"],
            {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x",
             "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
             "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
             **({"IS_SANDBOX": "1"} if IS_ROOT else {})})	# It asks root for that


def start_codex(t, url):
    path = t.home + "/.codex/config.toml"
    tables = t.read(path) if os.path.exists(path) else ""
    t.write(path, f"""
model_provider = "ours"
model = "gpt-5"
[model_providers.ours]
name = "ours"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"

""" + tables)
    return ([BIN + "/codex", "exec", "--skip-git-repo-check",
             "--dangerously-bypass-hook-trust",
             "--dangerously-bypass-approvals-and-sandbox", "go"],
            {"MODEL_KEY": "x"})


def start_gemini(t, url):
    path = t.home + "/.gemini/settings.json"
    settings = json.loads(t.read(path))
    if "security" not in settings:
        settings["security"] = {"auth": {"selectedType": "gemini-api-key"},
                                "folderTrust": {"enabled": False}}
        t.write(path, json.dumps(settings))
    return ([BIN + "/gemini", "-p", "go", "--yolo"],
            {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "x"})


AGENTS = {"claude": (Claude, start_claude), "codex": (Codex, start_codex),
          "gemini": (Gemini, start_gemini)}


def results(t, agent, *commands, options=()):
    """What came of each command, in the agent's own words"""
    if not os.path.exists(f"{BIN}/{agent}"):
        skip("needs the agents, which tests/peers/agents gets from npm")
    protocol, start = AGENTS[agent]
    t.run("hook", "install", agent, *options).ok()
    server, url = serve(protocol, commands)
    argv, env = start(t, url)
    r = t.outside(*argv, env=env, timeout=AGENT_SECONDS)
    equal(len(server.results), sum(not callable(c) for c in commands), r)
    return server.results


def for_each(function, agents=None):
    """A test for each of the agents"""
    for agent in agents or AGENTS:
        def one(t, agent=agent):
            function(t, agent)
        one.__name__ = f"{function.__name__}_{agent}"
        test(one)


def for_each_that_rewrites(function):
    """Claude Code's commands are not rewritten: such a one runs in the sandbox"""
    for_each(function, [agent for agent in AGENTS if agent != "claude"])


@for_each
def its_commands_run_in_the_sandbox(t, agent):
    t.write(t.home + "/.ssh/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
    [said] = results(t, agent, "cat ~/.ssh/id_rsa; echo in=$SANDBOX_RUNTIME; "
                     f"echo x > made; echo x > {t.home}/not-made")
    contains(said, "in=1")
    lacks(said, "BEGIN")
    check(t.exists("made") and not os.path.exists(t.home + "/not-made"), said)


def in_bwraps_place(t, agent, settings, argv, env):
    """Their own sandboxes call bwrap, here ours: what it is asked for is enforced"""
    if not os.path.exists(f"{BIN}/{agent}"):
        skip("needs the agents, which tests/peers/agents gets from npm")
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
def codex_calls_our_bwrap(t):
    in_bwraps_place(t, "codex", lambda url: start_codex(t, url),
                    ["exec", "--skip-git-repo-check", "-s", "workspace-write", "go"], lambda url: {"MODEL_KEY": "x"})


@test
def gemini_calls_our_bwrap(t):
    def settings(url):
        t.write(t.home + "/.gemini/settings.json", json.dumps({"security": {
            "auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}, "toolSandboxing": True}}))
    in_bwraps_place(t, "gemini", settings, ["-p", "go", "--yolo"],
                    lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "x"})


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
def what_a_rule_denies_is_not_run(t, agent):
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
def the_model_of_codex_does_not_move_the_project(t):
    [said] = results(t, "codex", {"cmd": "touch here; pwd", "workdir": t.home})
    contains(said, t.home)
    check(not os.path.exists(t.home + "/here"), said)


@test
def claude_has_another_tool_for_commands(t):
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
def claude_remembers_where_it_went(t):
    os.makedirs("sub dir")
    _, inside, _, failed, still = results(
        t, "claude", "cd 'sub dir'", "pwd; touch here", "cd /usr",
        "cd ..; (exit 7)", "pwd")
    contains(inside, t.dir + "/sub dir")
    check(t.exists("sub dir/here"), inside)
    contains(failed, "7")
    contains(still, t.dir)		# Claude Code leaves a directory that is not the project's
    equal([n for n in os.listdir("/tmp") if n.endswith("-cwd") and
           os.stat("/tmp/" + n).st_uid == os.getuid()], [])


@test
def claude_shares_the_tmp_of_its_file_tools(t):
    name = f"/tmp/cloche-peers-{os.getpid()}"
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
    base = f"/tmp/claude-{os.getuid()}/cloche-peers-{os.getpid()}"
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
def a_project_cannot_take_the_prefix_of_claude_away(t):
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
def a_project_switches_nothing_off_behind_a_shim(t):
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
def claude_hears_what_was_refused(t):
    [said] = results(t, "claude", "echo x > /etc/hosts")
    contains(said, "<sandbox_violations>")



def shim_results(t, agent, *commands):
    """As results(), by a shim that puts the agent's own commands into the sandbox"""
    if not os.path.exists(f"{BIN}/{agent}"):
        skip("needs the agents, which tests/peers/agents gets from npm")
    path = BIN + ":" + os.environ["PATH"]
    settings = {"gemini": "settings.json", "codex": "config.toml"}[agent]
    if agent == "gemini" and not os.path.exists(f"{t.home}/.gemini/{settings}"):
        t.write(f"{t.home}/.gemini/{settings}", "{}")
    t.run("shim", "install", agent, "--hook", env={"PATH": path}).ok()
    protocol, start = AGENTS[agent]
    server, url = serve(protocol, commands)
    argv, env = start(t, url)
    shims = t.home + "/.config/cloche/shims"
    if agent == "codex":	# Its own sandbox is the shim's business
        argv = [a for a in argv if not a.startswith("--dangerously")]
    contains(t.run("hook", "status", agent, env={"PATH": f"{shims}:{path}"}).ok().out,
             "commands run in the sandbox, tried")
    r = t.outside(f"{shims}/{agent}", *argv[1:], env=env, timeout=AGENT_SECONDS)
    equal(len(server.results), sum(not callable(c) for c in commands), r)
    return server.results


@lambda function: for_each(function, ["codex", "gemini"])
def behind_a_shim_commands_are_not_rewritten_and_run_in_one_sandbox(t, agent):
    t.write(t.home + "/.ssh/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
    t.write("page", "from inside")
    said, up, first, second = shim_results(
        t, agent, "cat ~/.ssh/id_rsa; echo in=$SANDBOX_RUNTIME; ps -o args= -p $$; "
        f"echo x > made; echo x > {t.home}/not-made; echo y > /tmp/cloche-peers-kept",
        SERVER % ">log 2>&1", FETCH, "cat /tmp/cloche-peers-kept; rm /tmp/cloche-peers-kept")
    contains(said, "in=1")
    lacks(said, "BEGIN")
    lacks(said, "cloche run")
    lacks(said, "bgpids.tmp: No such file")
    contains(said, "Read-only file system")
    check(t.exists("made") and not os.path.exists(t.home + "/not-made"), said)
    contains(up, "up")
    contains(first, "from inside")
    contains(second, "y")


@test
def gemini_without_its_shim_runs_no_command(t):
    if not os.path.exists(f"{BIN}/gemini"):
        skip("needs the agents, which tests/peers/agents gets from npm")
    t.write(t.home + "/.gemini/settings.json", "{}")
    t.run("shim", "install", "gemini", "--hook",
          env={"PATH": BIN + ":" + os.environ["PATH"]}).ok()
    server, url = serve(Gemini, ["touch made"])
    argv, env = start_gemini(t, url)
    r = t.outside(*argv, env=env, timeout=AGENT_SECONDS)
    contains(server.results[0], "start gemini by its shim", r)
    check(not t.exists("made"), r)


@test
def codex_does_not_start_where_nothing_would_hold_its_commands(t):
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
def its_mcp_server_runs_in_a_sandbox_of_its_own(t, agent):
    """The server itself would write all of the home"""
    name, tool = SERVERS[agent]
    program = os.path.join(os.path.dirname(BIN), "@modelcontextprotocol",
                           "server-filesystem", "dist", "index.js")
    if not os.path.exists(program):
        skip("needs the agents, which tests/peers/agents gets from npm")
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
def a_server_of_one_call_answers_the_next_and_ends_with_the_agent(t, agent):
    # Codex closes the other end of a command's output when it has ended, and Gemini CLI
    # waits for all that have it open
    start = SERVER % ("" if agent == "claude" else ">log 2>&1")
    seen = []
    t.write("page", "from inside")
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
def an_agent_that_is_killed_takes_its_session_along(t, agent):
    if not os.path.exists(f"{BIN}/{agent}"):
        skip("needs the agents, which tests/peers/agents gets from npm")
    seen = []

    def kill():
        seen.extend(sessions(t))
        os.killpg(process.pid, signal.SIGKILL)
    protocol, start = AGENTS[agent]
    t.run("hook", "install", agent, "--session").ok()
    server, url = serve(protocol, [SERVER % ">log 2>&1", kill])
    argv, env = start(t, url)
    process = subprocess.Popen(argv, env={**os.environ, **env}, cwd=t.dir,
                               start_new_session=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process.wait(AGENT_SECONDS)
    equal(len(seen), 1)
    wait_until(lambda: not sessions(t), "the end of the session", AGENT_SECONDS)


def screen(term):
    """All that was drawn, as words: cursor movements are blanks"""
    text = re.sub(r"\x1b\][^\x07\x1b]*(\x07|\x1b\\\\)", "", term.text)
    return re.sub(r"\s+", " ", re.sub(r"\x1b[\[(][0-9;?<>=]*[ -/]*[@-~]", " ", text))


@test
def the_prompt_of_claude_is_about_the_command_and_remembers_only_that(t):
    if not os.path.exists(f"{BIN}/claude"):
        skip("needs the agents, which tests/peers/agents gets from npm")
    key = "sk-ant-test-00000000000000000000"
    t.write(t.home + "/.claude.json", json.dumps({
        "hasCompletedOnboarding": True, "theme": "dark",
        "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
        "projects": {t.dir: {"hasTrustDialogAccepted": True}}}))
    t.run("hook", "install", "claude").ok()
    server, url = serve(Claude, ["make -v; echo x > ../outside"])
    env = {**os.environ, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": key,
           "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
           "DISABLE_AUTOUPDATER": "1", "TERM": "xterm-256color"}
    with Terminal([BIN + "/claude", "--permission-mode", "default", "go"], env=env, cwd=t.dir, rows=50,
                  columns=120) as term:
        def shows(words):
            return lambda: term._read(0.1) and words in screen(term)
        wait_until(shows("Do you want to proceed?"), "a question", AGENT_SECONDS)
        wait_until(shows("2. Yes, and don't ask again for make -v and echo x"),
                   "its answers", AGENT_SECONDS)
        wait_until(shows(". No"), "all of its answers", AGENT_SECONDS)
        asked = screen(term)
        contains(asked, "make -v; echo x > ../outside")
        lacks(asked, "cloche")
        lacks(asked, "pwd -P")
        term.send("2")
        wait_until(lambda: term._read(0.1) and server.results, "the result",
                   AGENT_SECONDS)
        [said] = server.results
    contains(said, "outside")
    check(not os.path.exists(t.home + "/outside"), said)
    rules = json.loads(t.read(".claude/settings.local.json"))["permissions"]["allow"]
    equal(sorted(rules), ["Bash(echo x *)", "Bash(make -v)"])


@test
def the_prompt_of_gemini_is_about_the_command_and_remembers_only_that(t):
    if not os.path.exists(f"{BIN}/gemini"):
        skip("needs the agents, which tests/peers/agents gets from npm")
    path = BIN + ":" + os.environ["PATH"]
    t.write(t.home + "/.gemini/settings.json", "{}")
    t.run("shim", "install", "gemini", "--hook", env={"PATH": path}).ok()
    server, url = serve(Gemini, ["touch first", "touch second", "rm -f first"])
    _, env = start_gemini(t, url)
    with Terminal([t.home + "/.config/cloche/shims/gemini", "--skip-trust", "-i", "go"],
                  env={**os.environ, **env, "PATH": path, "TERM": "xterm-256color"},
                  cwd=t.dir, rows=50, columns=120) as term:
        def wait_for(condition, what):
            wait_until(lambda: term._read(0.1) and condition(), what, AGENT_SECONDS)
        wait_for(lambda: "llow for this session" in screen(term), "a question")
        asked = screen(term)
        contains(asked, "Shell touch first")
        lacks(asked, "cloche run")
        term.send("2")
        wait_for(lambda: len(server.results) == 2, "the second, unasked")
        wait_for(lambda: "Allow execution of" in screen(term)[len(asked):] and
                 "Shell rm -f first" in screen(term), "a question about another")
    check(t.exists("first") and t.exists("second"), server.results)


@test
def codex_asks_behind_its_shim_where_a_rule_says_so(t):
    """Without its own sandbox it asks before no other command"""
    if not os.path.exists(f"{BIN}/codex"):
        skip("needs the agents, which tests/peers/agents gets from npm")
    path = BIN + ":" + os.environ["PATH"]
    t.run("shim", "install", "codex", "--hook", env={"PATH": path}).ok()
    server, url = serve(Codex, ["echo x > unasked", "touch first"])
    _, env = start_codex(t, url)
    config = t.home + "/.codex/config.toml"
    t.write(config, t.read(config) + f'\n[projects."{t.dir}"]\ntrust_level = "trusted"\n')
    t.write(t.home + "/.codex/rules/default.rules",
            'prefix_rule(pattern=["touch"], decision="prompt")\n')
    with Terminal([t.home + "/.config/cloche/shims/codex", "go"],
                  env={**os.environ, **env, "PATH": path, "TERM": "xterm-256color"},
                  cwd=t.dir, rows=50, columns=120) as term:
        def wait_for(condition, what):
            wait_until(lambda: term._read(0.1) and condition(), what, AGENT_SECONDS)
        wait_for(lambda: "Yes, proceed" in screen(term), "a question")
        contains(screen(term), "Environment: cloche")
        contains(screen(term), "$ touch first")
        lacks(screen(term), "cloche run")
        check(t.exists("unasked") and not t.exists("first"), server.results)
        # A key that is pressed as soon as the question is there is not taken
        wait_for(lambda: t.exists("first") or term.send("\r"), "the file")


@lambda function: for_each(function, ["codex", "gemini"])
def an_agent_whose_home_was_moved(t, agent):
    """Its hooks are there, and its commands in the sandbox"""
    variable, start = {"codex": ("CODEX_HOME", ".codex"),
                       "gemini": ("GEMINI_CLI_HOME", "")}[agent]
    if not os.path.exists(f"{BIN}/{agent}"):
        skip("needs the agents, which tests/peers/agents gets from npm")
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
    if not os.path.exists(f"{BIN}/{agent}"):
        skip("needs the agents, which tests/peers/agents gets from npm")
    key, base, words = PRESETS[agent]
    server, url = serve(AGENTS[agent][0], commands)
    options = ["--for", agent + shared, "--host-port", str(server.server_port)]
    if base:
        options += ["--env", f"{base}={url}"]
    else:
        words = ("-c", f"model_providers.ours.base_url={url}/v1",
                 *(("-s", "danger-full-access", "--disable", "daemon_auto_start")
                   if shared else ()), *words)
    r = t.run("run", *options, "--", agent, *words, timeout=AGENT_SECONDS,
              env={key: "sk-test", "PATH": BIN + ":" + os.environ["PATH"]})
    equal(len(server.results), len(commands), r)
    return server.results


@for_each
def a_whole_agent_keeps_its_key_and_a_home_of_its_own(t, agent):
    t.write(t.home + "/.ssh/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
    before = t.in_home()
    serve_it = ("setsid python3 -c 'import http.server, sys; s = http.server.HTTPServer(("
                "\"127.0.0.1\", 0), http.server.SimpleHTTPRequestHandler); "
                "open(\"port\", \"w\").write(str(s.server_port)); "
                "s.serve_forever()' >/dev/null 2>&1 & "
                "while ! [ -s port ]; do sleep 0.1; done; echo up")
    said, up, reached = whole(
        t, agent, "cat ~/.ssh/id_rsa; echo in=$SANDBOX_RUNTIME; echo x > made; "
        "echo y > /tmp/kept", serve_it,
        f"python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:"
        f"\" + open(\"port\").read()).status)'; cat /tmp/kept")
    contains(said, "in=1")
    lacks(said, "BEGIN")
    contains(up, "up")
    contains(reached, "200")
    contains(reached, "y")
    check(t.exists("made"), said)
    equal(t.in_home(), sorted({*before, ".local"}))


@for_each
def a_whole_agent_shares_its_usual_home(t, agent):
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
