# SPDX-License-Identifier: Apache-2.0
"""tests/cli/hook-trust.py - cloche hook: what a repository's settings allow"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

SETTINGS = ".claude/settings.json"


def specific(t, command, mode="default", agent="claude"):
    """What the hook says about a command"""
    what = {"cwd": t.dir, "permission_mode": mode, "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": command}}
    r = t.run("hook", agent, "pre-tool-use", stdin=json.dumps(what))
    r.ok()
    return json.loads(r.out)["hookSpecificOutput"] if r.out else {}


def claude_trusts(t):
    """The agent's own word about the folder"""
    t.write(t.home + "/.claude.json", json.dumps({"numStartups": 1, "projects": {
        t.dir: {"hasTrustDialogAccepted": True}}}))


@test
def a_repository_allows_nothing_before_it_is_approved(t):
    t.write(SETTINGS, json.dumps({
        "permissions": {"allow": ["Bash"], "deny": ["Bash(curl *)"]},
        "sandbox": {"autoAllowBashIfSandboxed": True,
                    "excludedCommands": ["docker *"]}}))
    told = lambda command: specific(t, command)
    for agent in ("", "trusted"):
        if agent:
            claude_trusts(t)
        check("permissionDecision" not in told("make"))
        contains(told("docker ps")["updatedInput"]["command"], " run ")
        equal(told("curl x")["permissionDecision"], "deny")
    t.write(t.home + "/" + SETTINGS, '{"permissions": {"allow": ["Bash(ls *)"]}}')
    equal(told("ls -l")["permissionDecision"], "allow")
    t.trust()                               # The control
    equal(told("make")["permissionDecision"], "allow")
    # What no repository gets, approved or not
    contains(told("docker ps")["updatedInput"]["command"], " run ")


@test
def a_part_that_only_the_repository_allows_is_not_allowed(t):
    """... although another part of the line, the last, is by the user"""
    t.write(SETTINGS, '{"permissions": {"allow": ["Bash(make *)"]}}')
    t.write(t.home + "/" + SETTINGS, '{"permissions": {"allow": ["Bash(ls *)"]}}')
    told = lambda command: specific(t, command)
    equal(told("ls; ls")["permissionDecision"], "allow")
    check("permissionDecision" not in told("make; ls"))
    check("permissionDecision" not in told("ls; make; ls"))
    t.trust()                               # The control
    equal(told("make; ls")["permissionDecision"], "allow")


@test
def only_the_user_can_exclude_commands(t):
    excluded = json.dumps({"sandbox": {"excludedCommands": ["docker *"]}})
    t.write(SETTINGS, excluded)
    for agent in ("claude", "codex"):
        contains(specific(t, "docker ps", agent=agent)["updatedInput"]["command"],
                 " run ")
    t.run("policy", "exclude", "docker *").ok()         # The control
    for agent in ("claude", "codex"):
        check("updatedInput" not in specific(t, "docker ps", agent=agent))


main()
