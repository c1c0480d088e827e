# SPDX-License-Identifier: Apache-2.0
"""tests/peers/agents-terminal.py - Claude Code, Codex and Gemini CLI on a terminal

What the user sees there: the question before a command, what "don't ask again"
stores, and lines of his own. The agents are started by their shims.
"""

import json
import os
import re
import threading
import time

from real_agents import *
from terminal import Terminal

KEY = "sk-ant-test-00000000000000000000"


class Screen(Terminal):
    def shown(self):
        """All that was drawn, as words: cursor movements are blanks"""
        text = re.sub(r"\x1b\][^\x07\x1b]*(\x07|\x1b\\\\)", "", self.text)
        return re.sub(r"\s+", " ", re.sub(r"\x1b[\[(][0-9;?<>=]*[ -/]*[@-~]", " ", text))

    def wait_for(self, condition, what):
        def holds():
            self._read(0.1)
            return condition()
        try:
            wait_until(holds, what, AGENT_SECONDS)
        except AssertionError as late:
            raise AssertionError(f"{late}; the screen: {self.shown()[-1500:]!r}")

    def wait_to_show(self, words):
        self.wait_for(lambda: words in self.shown(), words)

    def send_until(self, keys, condition, what):
        """Codex does not take keys while it draws a question, nor ones in quick succession.
        Afterwards, what was typed too much has arrived where it does no harm.
        """
        pause = 1
        while not condition():
            check(pause < AGENT_SECONDS, "not after many keys:", what, self.shown()[-1500:])
            self.send(keys)
            end = time.monotonic() + pause
            while time.monotonic() < end and not condition():
                self._read(0.1)
            pause *= 2
        if not self._read(0):
            return
        before = len(self.shown())
        self.send("zqzq")
        self.wait_for(lambda: "zqzq" in self.shown()[before:], "an echo")
        self.send("\x15")	# Ctrl-U removes the line


def start(t, agent, commands, *words):
    """The agent on a terminal, by its shim, and the server that plays its model"""
    need_agent(agent)
    path = BIN + ":" + os.environ["PATH"]
    t.run("shim", "install", agent, "--hook", env={"PATH": path}).ok()
    protocol, settings = AGENTS[agent]
    server, url = serve(protocol, commands)
    _, env = settings(t, url)
    if agent == "claude":
        env["ANTHROPIC_API_KEY"] = KEY
        t.write(t.home + "/.claude.json", json.dumps({
            "hasCompletedOnboarding": True, "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {t.dir: {"hasTrustDialogAccepted": True}}}))
    if agent == "codex":
        words = (*CODEX_ALONE, *words)
    return server, Screen(
        [f"{t.home}/.config/cloche/shims/{agent}", *words], cwd=t.dir, rows=50, columns=120,
        env={**os.environ, **env, "PATH": path, "TERM": "xterm-256color"})


def trust_codex(t, level):
    config = t.home + "/.codex/config.toml"
    t.write(config, f'[projects."{t.dir}"]\ntrust_level = "{level}"\n')


@test
def the_prompt_of_claude_is_about_the_command_and_remembers_only_that(t):
    server, term = start(t, "claude", ["make -v; echo x > ../outside"],
                         "--permission-mode", "default", "go")
    with term:
        term.wait_to_show("Do you want to proceed?")
        term.wait_to_show("2. Yes, and don't ask again for make -v and echo x")
        term.wait_to_show(". No")
        asked = term.shown()
        contains(asked, "make -v; echo x > ../outside")
        lacks(asked, "cloche")
        lacks(asked, "pwd -P")
        term.send("2")
        term.wait_for(lambda: server.results, "the result")
        [said] = server.results
    contains(said, "outside")
    check(not os.path.exists(t.home + "/outside"), said)
    rules = json.loads(t.read(".claude/settings.local.json"))["permissions"]["allow"]
    equal(sorted(rules), ["Bash(echo x *)", "Bash(make -v)"])


@test
def the_prompt_of_gemini_is_about_the_command_and_remembers_only_that(t):
    server, term = start(t, "gemini", ["touch first", "touch second", "rm -f first"],
                         "--skip-trust", "-i", "go")
    with term:
        term.wait_to_show("llow for this session")
        asked = term.shown()
        contains(asked, "Shell touch first")
        lacks(asked, "cloche run")
        term.send("2")
        term.wait_for(lambda: len(server.results) == 2, "the second, unasked")
        term.wait_for(lambda: "Allow execution of" in term.shown()[len(asked):] and
                      "Shell rm -f first" in term.shown(), "a question about another")
    check(t.exists("first") and t.exists("second"), server.results)


@test
def codex_asks_behind_its_shim_where_a_rule_says_so(t):
    """In a project that is trusted it asks before no other command"""
    trust_codex(t, "trusted")
    t.write(t.home + "/.codex/rules/default.rules",
            'prefix_rule(pattern=["touch"], decision="prompt")\n')
    server, term = start(t, "codex", ["echo x > unasked", "touch first"], "go")
    with term:
        term.wait_to_show("Yes, proceed")
        contains(term.shown(), "Environment: cloche")
        contains(term.shown(), "$ touch first")
        lacks(term.shown(), "cloche run")
        lacks(term.shown(), "don't ask again")
        check(t.exists("unasked") and not t.exists("first"), server.results)
        term.send_until("\r", lambda: t.exists("first"), "the file")


@test
def the_prompt_of_codex_is_about_the_command_and_remembers_only_that(t):
    """It asks before every command where the user has not trusted the project"""
    trust_codex(t, "untrusted")
    t.write("probe.sh", f"echo $SANDBOX_RUNTIME >> made; echo x > {t.home}/not-made\n")
    t.write("other.sh", "touch other\n")
    opened, remembered = threading.Event(), threading.Event()
    server, term = start(t, "codex", ["touch open", opened.wait, "sh probe.sh",
                                      remembered.wait, "sh probe.sh", "sh other.sh"], "go")
    rules = t.home + "/.codex/rules/default.rules"
    try:
        with term:
            term.send_until("\r", lambda: t.exists("open"), "the first command")
            check(not os.path.exists(rules))
            opened.set()
            term.wait_to_show("don't ask again for commands that start with `sh probe.sh`")
            contains(term.shown(), "Environment: cloche")
            contains(term.shown(), "$ sh probe.sh")
            lacks(term.shown(), "cloche run")
            check(not t.exists("made"))
            term.send_until("p", lambda: os.path.exists(rules), "the rule")
            equal(t.read(rules), 'prefix_rule(pattern=["sh", "probe.sh"], decision="allow")\n')
            remembered.set()
            term.wait_to_show("don't ask again for commands that start with `sh other.sh`")
    finally:
        opened.set()
        remembered.set()
    equal(t.read("made"), "1\n1\n")	# A rule that allows it does not take it out
    check(not t.exists("other") and not os.path.exists(t.home + "/not-made"), server.results)


# What each shows when it waits for input, and when the line is one for the shell
READY = {"claude": ("for shortcuts", "! for shell mode"),
         "gemini": ("Type your message", "hell mode"),
         "codex": ("for shortcuts", "")}


@for_each
def a_line_of_the_user_for_the_shell_stays_in_the_sandbox(t, agent):
    """Codex has none with an execution environment of ours, and runs nothing"""
    if agent == "codex":
        trust_codex(t, "trusted")
    words = {"claude": ("--permission-mode", "default"), "gemini": ("--skip-trust",),
             "codex": ()}[agent]
    server, term = start(t, agent, [], *words)
    line = f"touch made; echo x > {t.home}/outside; echo $((6 * 7))done > end"
    with term:
        term.wait_to_show(READY[agent][0])
        term.send("!")
        term.wait_to_show(READY[agent][1])
        term.send(line)
        term.wait_to_show("done > end")
        if agent == "codex":
            term.send_until("\r", lambda: "shellCommand failed" in term.shown(), "an error")
        else:
            term.wait_for(lambda: t.exists("end") or term.send("\r"), "the end of the line")
    equal(t.exists("made"), agent != "codex", term.shown()[-1500:])
    check(not os.path.exists(t.home + "/outside"), term.shown()[-1500:])


main()
