# SPDX-License-Identifier: Apache-2.0
"""tests/live/agent.py - a whole agent inside: the recipe of
docs/running-an-agent.md, with a stand-in for the agent
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *
from lan import *
from terminal import Terminal

STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "stand-in-agent.py")


def recipe(t):
    """As the document has it"""
    return (CLOCHE, "run", "--profile", "home", "--net", "jail",
            "--read", t.home + "/.config/agent",
            "--write", t.home + "/.local/state/agent",
            "--env", "AGENT_KEY", "--", "agent")


def move_in(t):
    """A user with an agent, a project, secrets, and a planted program"""
    home = t.home
    project = os.path.join(home, "src/app")
    os.makedirs(project)
    t.write(home + "/.config/agent/config.json", json.dumps(
        {"model": "stand-in", "api": [INTERNET, PORT], "lan": NEIGHBOUR}))
    t.write(home + "/.local/share/agent/versions/1/agent",
            open(STAND_IN, "rb").read(), 0o755)
    os.makedirs(home + "/.local/bin")
    os.symlink("../share/agent/versions/1/agent", home + "/.local/bin/agent")
    t.write(home + "/.local/bin/uv", "#!/bin/sh\necho uv 1\n", 0o755)
    t.write(home + "/.local/bin/git", "#!/bin/sh\necho EVIL\n", 0o755)
    os.makedirs(home + "/.local/state/agent")
    for path in (".ssh/id_ed25519", ".config/other/token", ".bash_history"):
        t.write(f"{home}/{path}", "canary")
    t.write(home + "/.gitconfig", "[user]\n\tname = Me\n\temail = me@x.example\n")
    t.outside("/usr/bin/git", "init", "-q", project).ok()
    t.write(project + "/main.c", "old\n")
    return project


ENV = {"AGENT_KEY": "k3y", "OTHER_TOKEN": "canary"}


def check_result(t, project, says, answer):
    equal(says, {
        "model": "stand-in", "key": "k3y", "answer": answer, "api": INTERNET,
        "edit": "done", "children": 8, "compiled": "8",
        "commit": "Me: By an agent", "memory": "done", "cache": "done",
        "tool": "uv 1", "keys": "failed: FileNotFoundError",
        "other tool": "failed: FileNotFoundError", "lan": "failed: OSError",
        "metadata": "failed: OSError", "hook": "failed: OSError",
        "profile": "done", "config": "failed: OSError",
        "shadow": "git version"})
    equal(t.read(project + "/main.c"), "int main;\n")
    equal(t.read(t.home + "/.local/state/agent/notes"), "learned\n")
    for path in (".bashrc", ".cache/agent/x"):
        check(not t.exists(f"{t.home}/{path}"), path, "got out")
    check(not t.exists(project + "/.git/hooks/post-commit"), "a hook got in")
    equal(t.outside("/usr/bin/git", "-C", project, "log", "--format=%an %s").out,
          "Me By an agent\n")


@test
def the_documented_agent_setup_works(t):
    project = move_in(t)
    machine = Lan(t)
    try:
        env = {**ENV, "PATH": f"{t.home}/.local/bin:{os.environ['PATH']}"}
        t.dir = project
        r = machine.run(*recipe(t), env=env)
        check(r.out, repr(r))
        check_result(t, project, json.loads(r.ok().out), "no terminal")
        lacks(r.out + r.err, "canary")
    finally:
        machine.close()


@test
def the_documented_agent_setup_works_on_a_terminal(t):
    project = move_in(t)
    machine = Lan(t)
    try:
        env = dict(os.environ, **ENV)
        env["PATH"] = f"{t.home}/.local/bin:{env['PATH']}"
        t.dir = project
        with Terminal([*machine.enter(), *recipe(t)], env=env,
                      cwd=project) as term:
            term.expect(r"Edit main\.c\? ")
            term.send("yes\n")
            equal(term.wait(RUN_SECONDS), 0, term.text)
            found = re.search(r"\{.*\}", term.text.replace("\r\n", "\n"))
            check(found, term.text)
            check_result(t, project, json.loads(found.group()), "yes")
    finally:
        machine.close()


main()
