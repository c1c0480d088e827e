# SPDX-License-Identifier: Apache-2.0
"""tests/attack/hooks.py - an agent's hook against lines that mean to get around it"""

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
def a_deny_rule_is_not_gone_around(t):
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


main()
