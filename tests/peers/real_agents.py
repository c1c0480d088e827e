# SPDX-License-Identifier: Apache-2.0
"""tests/peers/real_agents.py - Claude Code, Codex and Gemini CLI, with a model of ours

A server on the loopback plays the model: it asks for the commands of a test,
one after the other, and keeps what the agent says came of them. tests/peers/
agents starts the scripts that use this where there is no other network.
"""

import contextlib
import http.server
import json
import os
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
import tap
from tap import *

BIN = sys.argv[1] if len(sys.argv) > 1 else ""
AGENT_SECONDS = 400		# Several of them in one test; never a measure

# What an agent does besides, for nothing where there is no network: usage statistics,
# plugins, updates. The C library of Codex waits five seconds for a name server, and
# Gemini CLI starts itself again for a larger heap.
CODEX_ALONE = [word for setting in (
    "analytics.enabled=false", "check_for_update_on_startup=false",
    "features.plugins=false", "features.apps=false") for word in ("-c", setting)]
GEMINI_ALONE = {"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_MODEL": "gemini-2.5-flash"}


def test(function):
    return tap.test(function, timeout=4 * AGENT_SECONDS)


@contextlib.contextmanager
def host_tmp():
    """Claude Code's temporary files in /tmp, as users have them; removed afterwards"""
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        os.environ["CLAUDE_CODE_TMPDIR"] = path
        yield path


def need_agent(agent):
    if not os.path.exists(f"{BIN}/{agent}"):
        skip("needs the agents, which tests/peers/agents gets from npm")


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
    return ([BIN + "/codex", *CODEX_ALONE, "exec", "--skip-git-repo-check",
             "--dangerously-bypass-hook-trust",
             "--dangerously-bypass-approvals-and-sandbox", "go"],
            {"MODEL_KEY": "x"})


def start_gemini(t, url):
    path = t.home + "/.gemini/settings.json"
    settings = json.loads(t.read(path)) if os.path.exists(path) else {}
    if "security" not in settings:
        settings["security"] = {"auth": {"selectedType": "gemini-api-key"},
                                "folderTrust": {"enabled": False}}
        settings["privacy"] = {"usageStatisticsEnabled": False}
        t.write(path, json.dumps(settings))
    return ([BIN + "/gemini", "-p", "go", "--yolo"],
            {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "x", **GEMINI_ALONE})


AGENTS = {"claude": (Claude, start_claude), "codex": (Codex, start_codex),
          "gemini": (Gemini, start_gemini)}


def results(t, agent, *commands, options=()):
    """What came of each command, in the agent's own words"""
    need_agent(agent)
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
