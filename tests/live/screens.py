# SPDX-License-Identifier: Apache-2.0
"""tests/live/screens.py - output on a terminal: width and colours"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *
from terminal import Terminal

SECONDS = 300
XTERM = {"TERM": "xterm"}
COMMAND_AT = "            cloche "		# A line to copy
# Of the default colours, bold, red and green alone are readable on light and on dark
READABLE = {"0", "1", "31", "32"}
REFUSED = "echo x > {0}; echo x > .vscode; echo x > .mcp.json; cat ~/.ssh/id_test; false"


def on(columns, argv, cwd=None, env=None):
    """What @argv prints on a terminal of this width"""
    with Terminal(argv, cwd=cwd, env={**os.environ, **XTERM, **(env or {})},
                  columns=columns) as term:
        term.wait(SECONDS)
        return term.text.replace("\r\n", "\n")


def plain(text):
    return re.sub("\033\\[[0-9;]*m", "", text)


def ours(text):
    """The footer's lines"""
    text = plain(text)
    return text[text.index("cloche: refused"):].splitlines()


@test
def a_footer_is_broken_between_words_and_commands_are_not(t):
    t.write(t.home + "/.ssh/id_test", "K")
    path = f"{t.home}/{'long-name-' * 8}"
    script = REFUSED.format(path)
    whole = t.shell(script).ended(1).err
    for columns in (60, 80, 100):
        lines = ours(on(columns, [CLOCHE, "run", "--", "sh", "-c", script]))
        check(f"{COMMAND_AT}policy allow write {path}" in lines, lines)
        for line in lines:
            check(len(line) <= columns or line.startswith(COMMAND_AT) or
                  line.split()[-1] == path, columns, line)
            check(line.startswith(("cloche: ", COMMAND_AT)) or
                  re.match(" {10}[^ ]", line), line)
        # Nothing is lost: the same words, one after the other
        equal(" ".join(lines).split(), whole[whole.index("cloche: refused"):].split())
        check(any(re.match(" {10}[^ ]", line) for line in lines), lines)
    # Where it fits, and where there is no place, nothing is broken
    for columns in (1000, 30):
        lines = ours(on(columns, [CLOCHE, "run", "--", "sh", "-c", script]))
        equal(lines, ours(whole), columns)


@test
def doctor_and_lists_of_refusals_are_broken_between_words(t):
    """All but the lines to copy, and the line with the run's command"""
    t.write(t.home + "/.ssh/id_test", "K")
    t.shell(REFUSED.format("~/x"), options=["--observe", "full"]).ended(1)
    for words in (["doctor"], ["violations", "list"]):
        whole = plain(on(1000, [CLOCHE, *words])).split()
        for columns in (80, 40):
            shown = plain(on(columns, [CLOCHE, *words]))
            equal(shown.split(), whole)
            for line in shown.splitlines():
                check(len(line) <= columns or " run 01" in line or
                      re.match("    (fix: |cloche )", line), columns, line)


@test
def doctor_finds_the_same_where_sigpipe_is_ignored(t):
    """As it is in what Terminal starts; pasta does not start then"""
    need("pasta")
    for code in ("import os", "import os, signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)"):
        r = t.outside("python3", "-c", f"{code}; os.execv({CLOCHE!r}, ['cloche', 'doctor'])")
        contains(r.out, "--net jail can reach addresses")


@test
def a_message_is_broken_between_words(t):
    t.write(".cloche.json", '{"network": {"allowedDomains": ["a.example.org"]}}')
    whole = t.inside("true").ok().err
    shown = plain(on(34, [CLOCHE, "run", "--", "true"]))
    equal(shown.split(), whole.split())
    check("        cloche trust" in shown.splitlines(), shown)
    for line in shown.splitlines()[1:]:
        check(line.startswith("        ") and len(line) <= 34, line)


def screens(t):
    """Each with what is seen of it"""
    t.write(t.home + "/.ssh/id_test", "K")
    t.write("a.txt", "one\n")
    t.inside("sh", "-c", "echo two > a.txt; echo three > b.txt",
             options=["--ephemeral"]).ok()
    return {"refused": [CLOCHE, "run", "--", "sh", "-c", REFUSED.format("~/x")],
            "tier: ": [CLOCHE, "doctor"],
            "Daily": [CLOCHE, "help"],
            "Usage": [CLOCHE, "run", "--help"],
            "@@": [CLOCHE, "diff", "-p"],
            "M a.txt": [CLOCHE, "diff"],
            "write ": [CLOCHE, "violations", "list"]}


@test
def colours_are_readable_on_light_and_dark(t):
    for text, argv in screens(t).items():
        shown = on(80, argv)
        contains(plain(shown), text)
        codes = set(re.findall("\033\\[([^a-zA-Z]*)m", shown))
        check(codes and codes <= READABLE, argv, codes)


@test
def without_colours_there_are_none(t):
    for text, argv in screens(t).items():
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
            shown = on(80, argv, env=env)
            contains(shown, text)
            lacks(shown, "\033", argv, env)
        # To a file, from a terminal
        for line in on(80, ["sh", "-c", '"$@" > out 2>&1; cat out', "sh", *argv]).split("\n"):
            lacks(line, "\033", argv)
    # Only standard error is not the terminal
    shown = on(80, ["sh", "-c", '"$@" 2> out; cat out', "sh", CLOCHE, "run", "--", "sh", "-c",
                    REFUSED.format("~/x")])
    lacks(shown, "\033")
    equal(ours(shown), ours(t.shell(REFUSED.format("~/x")).err))


@test
def a_question_is_broken_between_words(t):
    path = f"{t.home}/notes/{'some-name-' * 5}"
    os.makedirs(path)
    for env, bold in (({}, "\033[1m"), ({"NO_COLOR": "1"}, "")):
        with Terminal([CLOCHE, "run", "--ask", "--", "sh", "-c", f"echo x > {path}/a"],
                      env={**os.environ, **XTERM, **env}) as term:
            term.expect("and Enter\r\n")
            lines = term.text[term.text.index("cloche: allow"):].split("\r\n")
            for line in lines:
                check(len(plain(line)) <= 80 or path in line, line)
            check(any(re.match(" {8}[^ ]", line) for line in lines), lines)
            contains(term.text, bold + "cloche: allow writing")
            if not bold:
                lacks(term.text.replace("\033[K", ""), "\033")
            term.send("n\n")
            check(term.wait(SECONDS) > 0)


main()
