# SPDX-License-Identifier: Apache-2.0
"""tests/day/mcp-server.py - a real MCP server, started as each agent's file says

The file system's server of the Model Context Protocol, from npm; in `make check-long`.
"""

import json
import os
import subprocess
import sys
import tomllib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

PROGRAM = os.path.join(os.path.dirname(CLOCHE), "day/node_modules",
                       "@modelcontextprotocol/server-filesystem/dist/index.js")
FILES = {"claude": ".claude.json", "gemini": ".gemini/settings.json",
         "cursor": ".cursor/mcp.json", "vscode": ".config/Code/User/mcp.json",
         "codex": ".codex/config.toml"}


def entry_text(agent, args):
    if agent == "codex":
        return f'# mine\n[mcp_servers.fs]\ncommand = "node" # it\nargs = {json.dumps(args)}\n'
    return '{\n\t"%s": {"fs": {"command": "node", "args": %s}}\n}' % (
        "servers" if agent == "vscode" else "mcpServers", json.dumps(args))


def entry_of(agent, text):
    if agent == "codex":
        return tomllib.loads(text)["mcp_servers"]["fs"]
    return json.loads(text)["servers" if agent == "vscode" else "mcpServers"]["fs"]


class Server:
    """Started by the command line of an entry, and asked over its standard streams"""

    def __init__(self, entry):
        self.process = subprocess.Popen([entry["command"], *entry["args"]], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.count = 0
        self.ask("initialize", protocolVersion="2025-03-26", capabilities={},
                 clientInfo={"name": "test", "version": "1"})
        self.send(method="notifications/initialized")

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.count += 1
        self.send(id=self.count, method=method, params=params)
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.count and "method" not in answer:
                return answer["result"]
        raise AssertionError(f"no answer to {method}")

    def write(self, path):
        """True if the server could write there"""
        return not self.ask("tools/call", name="write_file", arguments={
            "path": path, "content": "x\n"}).get("isError")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.read()
        equal(self.process.wait(), 0, "the server")


def each_agent(agent):
    def each(t):
        if not os.path.exists(PROGRAM):
            skip("needs packages from npm")
        text = entry_text(agent, [PROGRAM, t.home])
        path = t.write(f"{t.home}/{FILES[agent]}", text)
        inside, outside = t.dir + "/made", t.home + "/made"
        # Control: on its own the server writes all of the home
        with Server(entry_of(agent, text)) as server:
            check(server.write(inside) and server.write(outside))
        os.unlink(inside)
        os.unlink(outside)
        t.run("mcp", "wrap", agent, "fs", "--write", ".").ok()
        t.run("mcp", "status", agent).ok()
        with Server(entry_of(agent, t.read(path))) as server:
            names = {tool["name"] for tool in server.ask("tools/list")["tools"]}
            check({"read_text_file", "write_file"} <= names, names)
            check(server.write(inside), "the project")
            server.write(outside)
        equal((t.read(inside), os.path.exists(outside)), ("x\n", False))
        t.run("mcp", "unwrap", agent).ok()
        equal(t.read(path), text)
    each.__name__ = f"the_server_of_{agent}_writes_the_project_alone"
    test(each)


if LONG:
    for agent in FILES:
        each_agent(agent)


@test
def mcp_status_reads_every_agents_file(t):
    for agent, name in FILES.items():
        t.write(f"{t.home}/{name}", entry_text(agent, ["x.js"]))
        contains(t.run("mcp", "status", agent).ended(1).out,
                 f"{agent} fs (user): OUTSIDE the sandbox")


main()
