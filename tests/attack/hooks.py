# SPDX-License-Identifier: Apache-2.0
"""tests/attack/hooks.py - shell lines that try to evade the hook of an agent"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

SETTINGS = ".claude/settings.json"


def hook(t, command, *options, agent="claude", env=None, cwd=None, **fields):
    """What the hook says about a command"""
    names = {"claude": ("PreToolUse", "Bash"), "codex": ("PreToolUse", "Bash"),
             "gemini": ("BeforeTool", "run_shell_command")}
    event, tool = names[agent]
    what = {"cwd": cwd or t.dir, "permission_mode": "default",
            "hook_event_name": event, "tool_name": tool,
            "tool_input": {"command": command, **fields}}
    r = t.run("hook", agent, "pre-tool-use", *options, stdin=json.dumps(what),
              env=env).ok()
    said = json.loads(r.out) if r.out else {}
    return said.get("hookSpecificOutput", said)


def user_settings(t, **values):
    t.write(t.home + "/" + SETTINGS, json.dumps(values))


@test
def shell_syntax_does_not_bypass_a_deny_rule(t):
    user_settings(t, permissions={"allow": ["Bash"], "deny": ["Bash(rm *)"]})
    for line in ("ls", "env A=b make", "bash -c 'ls rm'", "xargs grep x",
                 "find . -name rm", "nice make"):
        equal(hook(t, line).get("permissionDecision"), "allow", line)
    for line in ("env rm x", "exec rm x", "eval 'rm x'", "bash -c 'rm x'",
                 "setsid rm x", "sudo rm x", "busybox rm x", "nice rm x",
                 "trap 'rm x' EXIT", "ls | xargs -0 rm", "nohup rm x",
                 "find . -exec rm {} +", "timeout 5 env rm x",
                 "command -p rm x", "builtin eval rm x"):
        equal(hook(t, line).get("permissionDecision"), "deny", line)
    for line in (". ./f", "source f", "coproc rm x", "bash <<E\nrm x\nE\n",
                 "echo rm x | sh", "eval $x", "case x in x) rm x;; esac",
                 "f() { rm x; }; f", "env -Srm x", "x $((1))"):
        equal(hook(t, line).get("permissionDecision"), "ask", line)


@test
def a_link_to_a_secret_tells_nothing_of_it(t):
    """A clone may have a settings file that leads to a token: errors go to the model"""
    secret = "hvs" + "".join(chr(ord("a") + b % 26) for b in os.urandom(16))
    t.write(t.home + "/.vault-token", secret, 0o600)
    what = {"cwd": t.dir, "tool_name": "Bash", "tool_input": {"command": "ls"}}
    for name in (".cloche.json", SETTINGS):
        os.makedirs(os.path.dirname(t.dir + "/" + name), exist_ok=True)
        os.symlink(t.home + "/.vault-token", t.dir + "/" + name)
        for event, *words in ((None, "run", "--", "true"), (None, "policy", "check"),
                              ("PreToolUse", "hook", "claude", "pre-tool-use"),
                              ("SessionStart", "hook", "claude", "session-start")):
            r = t.run(*words, stdin=json.dumps({**what, "hook_event_name": event}))
            contains(r.out + r.err, name + ":1:")   # Control: it was read
            lacks(r.out + r.err, secret)
        os.unlink(t.dir + "/" + name)


@test
def an_excluded_command_in_another_directory_stays_sandboxed(t):
    """... where the sandbox may have written what it obeys"""
    user_settings(t, sandbox={"excludedCommands": ["git *", "make *"]})
    t.run("run", "-c", "git init -q evil; mkdir -p /tmp/evil; echo x > /tmp/evil/Makefile").ok()
    cache = t.home + "/.cache/cloche/tmp"
    kept = [os.path.join(cache, name, "evil") for name in os.listdir(cache)] \
        if os.path.isdir(cache) else []
    os.symlink(".", t.dir + "/same")
    for agent, field, env in (
            ("claude", "workdir", {"CLAUDE_PROJECT_DIR": t.dir}),
            ("codex", "workdir", {}),
            ("gemini", "dir_path", {"GEMINI_PROJECT_DIR": t.dir})):
        ask = lambda command, **more: hook(t, command, agent=agent, env=env,
                                           **more)
        is_inside = lambda said: " run " in json.dumps(said)
        for command in ("git status", "make all"):
            check(not is_inside(ask(command)), agent, "the control")
            check(not is_inside(ask(command, **{field: t.dir + "/same"})))
            for place in [t.dir + "/evil", "evil", "/tmp", t.away, *kept]:
                check(is_inside(ask(command, **{field: place})), agent, place)
            check(is_inside(ask(command, cwd=t.dir + "/evil")), agent)
            env = {}
            check(is_inside(ask(command, cwd=t.dir + "/evil")), agent)


@test
def a_rewritten_command_stays_sandboxed_under_any_settings(t):
    """What a hook puts into the sandbox stays there, whatever a clone says"""
    option = "--allow-unsandboxed"
    for values in ({"enabled": False}, {"enabledPlatforms": ["macos"]},
                   {"excludedCommands": ["ls *", "cat *"]}):
        t.write(SETTINGS, json.dumps({"sandbox": values}))
        t.write(t.home + "/.ssh/id_rsa", "secret\n")
        # In a home without agent state, and in one with it
        for state in (None, "{}", json.dumps(
                {"projects": {t.dir: {"hasTrustDialogAccepted": True}}})):
            if state:
                t.write(t.home + "/.claude.json", state)
            said = hook(t, "cat ~/.ssh/id_rsa", option)
            line = said.get("updatedInput", {}).get("command")
            check(line and option not in line, values, state, said)
            lacks(t.outside("sh", "-c", line).out, "secret", values)
        os.unlink(t.home + "/.claude.json")
        os.unlink(t.dir + "/" + SETTINGS)
    # The control: the user's own word counts
    user_settings(t, sandbox={"enabled": False})
    check("updatedInput" not in hook(t, "ls", option))
    contains(hook(t, "ls")["updatedInput"]["command"], " run ")


main()
