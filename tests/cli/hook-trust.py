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


def trust(t, *projects):
    t.write(t.home + "/.claude.json", json.dumps({"numStartups": 1, "projects": {
        path: {"hasTrustDialogAccepted": True} for path in projects}}))


@test
def a_repository_allows_nothing_before_it_is_trusted(t):
    t.write(SETTINGS, json.dumps({
        "permissions": {"allow": ["Bash"], "deny": ["Bash(curl *)"]},
        "sandbox": {"autoAllowBashIfSandboxed": True,
                    "excludedCommands": ["docker *"]}}))
    told = lambda command: specific(t, command)
    for projects in [(), ("/elsewhere", t.dir + "/below")]:
        trust(t, *projects)
        check("permissionDecision" not in told("make"))
        contains(told("docker ps")["updatedInput"]["command"], " run ")
        equal(told("curl x")["permissionDecision"], "deny")
        equal(specific(t, "docker ps", mode="bypassPermissions")
              ["permissionDecision"], "allow")
    t.write(t.home + "/" + SETTINGS, '{"permissions": {"allow": ["Bash(ls *)"]}}')
    equal(told("ls -l")["permissionDecision"], "allow")
    t.write(t.home + "/.claude.json", "{ not json")
    check("permissionDecision" not in told("make"))
    os.unlink(t.home + "/.claude.json")
    equal(told("make")["permissionDecision"], "allow")	# There is no agent
    os.makedirs(t.home + "/.claude/projects")
    check("permissionDecision" not in told("make"))
    contains(told("docker ps")["updatedInput"]["command"], " run ")
    for projects in [(t.dir,), (t.home,)]:
        trust(t, *projects)
        equal(told("make")["permissionDecision"], "allow")
        equal(told("docker ps")["permissionDecision"], "allow")
        check("updatedInput" not in told("docker ps"))


@test
def a_part_that_only_the_repository_allows_is_not_allowed(t):
    """... although another part of the line, the last, is by the user"""
    t.write(SETTINGS, '{"permissions": {"allow": ["Bash(make *)"]}}')
    t.write(t.home + "/" + SETTINGS, '{"permissions": {"allow": ["Bash(ls *)"]}}')
    told = lambda command: specific(t, command)
    trust(t)
    equal(told("ls; ls")["permissionDecision"], "allow")
    check("permissionDecision" not in told("make; ls"))
    check("permissionDecision" not in told("ls; make; ls"))
    trust(t, t.dir)                         # The control
    equal(told("make; ls")["permissionDecision"], "allow")


@test
def other_agents_never_asked_about_the_repository(t):
    t.write(SETTINGS, json.dumps({"sandbox": {"excludedCommands": ["docker *"]}}))
    told = lambda: specific(t, "docker ps", agent="codex")
    contains(told()["updatedInput"]["command"], " run ")
    trust(t, t.dir)                         # The control
    equal(told(), {})
    os.unlink(t.home + "/.claude.json")
    os.unlink(t.dir + "/" + SETTINGS)
    # What the user said by our own tool is the user's word, until it changes
    t.run("policy", "exclude", "docker *").ok()
    equal(told(), {})
    local = ".claude/settings.local.json"
    t.write(local, t.read(local).replace("docker *", "docker  *"))
    contains(told()["updatedInput"]["command"], " run ")


main()
