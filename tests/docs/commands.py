# SPDX-License-Identifier: Apache-2.0
"""tests/docs/commands.py - commands and settings of README, docs and manual pages, as printed

Each command of a block runs in a project that has what the documents speak of; programs
that are not on every machine (agents, gh) are stand-ins that say that they ran.
exceptions.txt has the commands that end with another status, or cannot run here, and why.
"""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

BIN = os.path.dirname(os.path.abspath(CLOCHE))
HERE = os.path.dirname(os.path.abspath(__file__))
STAND_INS = ("chromium", "claude", "codex", "gemini", "aider", "goose", "agent", "gh",
             "your-program")
STARTS = re.compile(r"(?:\(|[A-Z_]+=\S+ |sudo )*(cloche|srt|bwrap|make|printf|curl|"
                    r"docker|flatpak|ln|cd|git|umask|%s)\b(?!:)" % "|".join(STAND_INS))


def unroff(text):
    """The text of a manual page's example"""
    text = re.sub(r"^\..*\n", "", text, flags=re.M)
    return text.replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")


def blocks():
    """(file, language or "", text) of each block"""
    for path in ["README.md"] + sorted(glob.glob(BIN + "/docs/*.md")):
        path = os.path.join(BIN, path)
        with open(path) as file:
            text = file.read()
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```\n", text, re.M | re.S):
            yield os.path.relpath(path, BIN), language, block
    for path in sorted(glob.glob(BIN + "/man/*")):
        with open(path) as file:
            found = re.search(r"^\.SH EXAMPLES\n(.*?)(?=^\.SH )", file.read(),
                              re.M | re.S)
        if found:
            for block in re.findall(r"^\.(?:EX|nf)\n(.*?)^\.(?:EE|fi)",
                                    found.group(1), re.M | re.S):
                yield os.path.relpath(path, BIN), "json" if block[0] == "{" else "", \
                    unroff(block)


def commands():
    """(file, command) in order; a line that begins with blanks goes on"""
    for path, language, block in blocks():
        if language not in ("", "sh") or block.startswith("#!"):
            continue
        lines = block.replace("\\\n", "").splitlines()
        prompt = any(line.startswith("$ ") for line in lines)
        for line in lines:
            if prompt and not line.startswith("$ "):
                continue
            line = re.sub(r"\s+#\s.*$", "", line[2:] if prompt else line).strip()
            if STARTS.match(line):
                yield path, line


def exceptions():
    with open(HERE + "/exceptions.txt") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


def furnish(t):
    """What the documents speak of"""
    for name in STAND_INS:
        t.write(f"{t.home}/bin/{name}", f"#!/bin/sh\necho {name} ran\n", 0o755)
    t.write("package.json", '{"name":"p","version":"1.0.0","scripts":{"test":"true"}}')
    t.write("Makefile", "all:\ncheck:\n")
    t.write("configure", "#!/bin/sh\n", 0o755)
    t.write("build.py", "")
    t.write(".env", "KEY=1\n")
    t.write("policy.json", "{}")
    t.write("strict.json", '{"network":{"allowedDomains":[],"deniedDomains":[]},'
            '"filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]}}')
    t.write("old.json", "{}")
    t.write("new.json", '{"network":{"allowedDomains":["registry.example.org"]}}')
    t.write(t.home + "/.ssh/id_ed25519", "key")
    for path in ("out", "src/app", ".config/agent", ".local/state/agent",
                 ".local/bin", "project/my-project"):
        os.makedirs(f"{t.home}/{path}", exist_ok=True)
    t.outside("git", "init", "-q", ".").ok()


def run(t, command):
    """As printed, but for where the package puts its stand-ins"""
    shells, drop_in = t.root + "/shells", t.root + "/drop-in"
    for directory, names in ((shells, ("bash", "sh")), (drop_in, ("srt",))):
        os.makedirs(directory, exist_ok=True)
        for name in names:
            if not os.path.islink(f"{directory}/{name}"):
                os.symlink(CLOCHE, f"{directory}/{name}")
    if not os.path.islink(drop_in + "/bwrap"):
        os.symlink(BIN + "/bwrap", drop_in + "/bwrap")
    command = command.replace("/usr/libexec/cloche/shells", shells)
    command = command.replace("/usr/libexec/cloche/drop-in", drop_in)
    return t.outside("bash", "-c", command, env={
        "PATH": f"{t.home}/bin:{t.home}/.local/bin:{BIN}:{drop_in}:/usr/bin:/bin",
        "AGENT_KEY": "key", "token": "word"})


def rule(rows, path, command):
    """(what, status, row) of exceptions.txt"""
    for row in rows:
        if row[0] == path and command.startswith(row[1]):
            return row[2].split()[0], int((row[2].split() + ["0"])[1]), row
    return "status", 0, None


def tests_of(path, lines):
    def each(t):
        furnish(t)
        rows, wrong = list(exceptions()), []
        for command in lines:
            what, status, _ = rule(rows, path, command)
            r = run(t, command) if what == "status" else None
            if r and r.code != status:
                wrong.append(f"{command} ended with {r!r}, not {status}")
        check(not wrong, "\n".join(wrong))
    each.__name__ = "as_printed_" + re.sub(r"\W", "_", path)
    return each


FILES = {}
for name, line in commands():
    FILES.setdefault(name, []).append(line)
for name, lines in FILES.items():
    test(tests_of(name, lines))


@test
def every_file_with_commands_was_found(t):
    for path in ("README.md", "docs/running-an-agent.md", "man/cloche-run.1.in",
                 "man/cloche-gc.1"):
        check(FILES.get(path), path)
    check(sum(len(v) for v in FILES.values()) > 40, FILES)


@test
def printed_settings_are_valid(t):
    found = [(path, block) for path, language, block in blocks()
             if language == "json" and '"sandbox"' in block]
    check(len(found) >= 6, found)
    for path, block in found:
        t.write("printed.json", block)
        r = t.run("policy", "check", "printed.json").ok()
        # One of them is for an administrator; a file by name is checked as the user's
        lacks(r.out.replace("ignored: for managed files only", ""), "ignored", path, block)
    t.write("printed.json", '{"sandbox": {"enabled": "yes"}}')
    check(t.run("policy", "check", "printed.json").code == 1)


@test
def every_exception_has_its_command(t):
    rows = list(exceptions())
    used = [rule(rows, path, line)[2] for path, line in commands()]
    for row in rows:
        equal(len(row), 4, row)
        check(row in used, "no such command:", row)


@test
def a_wrong_command_fails(t):
    """The control of all the others"""
    furnish(t)
    check(run(t, "cloche run --no-such-option -- true").code)
    check(run(t, "cloche no-such-verb").code)


main()
