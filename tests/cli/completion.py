# SPDX-License-Identifier: Apache-2.0
"""tests/cli/completion.py - the completion scripts in bash, zsh and fish"""

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

# What bash offers for the last of the words: its function is called as bash
# calls it
BASH = """source ./script && [[ $(complete -p cloche) == *_cloche* ]] || exit 9
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_cloche
((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
exit 0"""

# What zsh makes of typed lines, with a TAB for each ^I in them: `cloche` is a
# function there that prints its words. One TAB takes the first match, two the
# second.
ZSH = """zmodload zsh/zpty
zpty z zsh -f
zpty -w z 'PS1= PS2= RPS1=; unsetopt zle_bracketed_paste prompt_sp; setopt menucomplete'
zpty -w z 'autoload -Uz compinit && compinit -D -u; source ./script; LISTMAX=0'
zpty -w z 'cloche() { print -r "<""GOT $*"">" }; print "REA""DY"'
zpty -r z text '*READY*'
for line; do
    zpty -w z "$line"
    zpty -r z text '*<GOT *>*'
    print -r -- ${${text##*<GOT }%%>*}
done
zpty -d z"""

# The options with fixed values
CHOICES = ("profile", "net", "annotate", "observe", "tier")


def script(t, shell):
    need(shell)
    text = t.run("completion", shell).ok().out
    t.write("script", text)
    return text


def bash(t, *words):
    r = t.outside("bash", "--norc", "-c", BASH, "bash", "cloche", *words)
    equal(r.err, "", words)
    return r.ok().out.split("\n")[:-1]


def zsh(t, *lines):
    """One zsh for all: it takes long to start"""
    r = t.outside("zsh", "-f", "-c", ZSH, "zsh", *lines)
    return r.ok().out.splitlines()


def fish(t, line):
    r = t.outside("fish", "--no-config", "-c",
                  "source ./script; complete -C $argv[1]", line)
    equal(r.err, "", line)
    return [row.split("\t")[0] for row in r.ok().out.splitlines()]


def allowed(t, option):
    """The values that @option takes, by its own complaint"""
    r = t.run("run", f"--{option}", "no-such", "--", "true").ended(125)
    return re.search(r"is not one of (.*)", r.err).group(1).split(", ")


def verbs_of(t):
    """Those that the help lists below its heads"""
    lists = t.run("help").ok().out.partition("\nDaily\n")[2]
    return re.findall(r"^  cloche (\S+)", lists, re.M)


@test
def an_unknown_shell_exits_with_2(t):
    for words in ((), ("tcsh",), ("",), ("bash", "zsh")):
        r = t.run("completion", *words).ended(2)
        equal(r.out, "", words)
        equal(len(r.err.splitlines()), 1, r.err)
        contains(r.err, "bash, zsh, fish")


@test
def bash_completes_verbs_and_their_arguments(t):
    script(t, "bash")
    equal(bash(t, "ru"), ["run"])
    equal(bash(t, "nonsense"), [])
    verbs = verbs_of(t)
    check("run" in verbs and "completion" in verbs, verbs)
    equal(sorted(bash(t, "")), sorted(verbs + ["--help", "--version"]))
    equal(sorted(bash(t, "help", "")), sorted(verbs))
    equal(bash(t, "completion", ""), ["bash", "zsh", "fish"])
    equal(bash(t, "policy", ""),
          ["show", "check", "why", "allow", "deny", "remove", "mode", "exclude",
           "unsandboxed", "diff"])
    equal(bash(t, "violations", ""),
          ["list", "follow", "strip", "clear", "restore"])
    equal(bash(t, "violations", "list", "--"),
          ["--run", "--since", "--kind", "--json", "--session"])
    check("set" in bash(t, "secret", "s"))
    equal(bash(t, "doctor", "--j"), ["--json"])


@test
def bash_completes_arguments_of_a_subcommand(t):
    script(t, "bash")
    t.write("one-file", "")
    os.mkdir(t.dir + "/one-dir")
    equal(bash(t, "policy", "why", ""), ["host", "read", "write", "socket",
          "port", "address", "variable", "secret", "unprotect"])
    equal(bash(t, "policy", "why", "--json", "w"), ["write"])
    equal(bash(t, "policy", "why", "--settings", "x", "write", "one-f"),
          ["one-file"])
    equal(bash(t, "policy", "why", "--tie"), ["--tier"])
    equal(bash(t, "policy", "why", "--tier", ""), allowed(t, "tier"))
    equal(bash(t, "policy", "allow", "--"), ["--scope"])
    equal(bash(t, "policy", "allow", "--scope", ""),
          ["user", "project", "claude"])
    equal(bash(t, "policy", "allow", "--scope", "=", "u"), ["user"])
    equal(bash(t, "policy", "allow", "--scope=c"), ["--scope=claude"])
    equal(bash(t, "policy", "check", "one-f"), ["one-file"])
    equal(bash(t, "violations", "list", "--kind", "s"), ["socket", "syscall"])
    equal(bash(t, "violations", "clear", "--"), [])
    equal(bash(t, "hook", "install", "c"), ["claude", "codex", "cursor"])
    equal(bash(t, "hook", "gemini", ""), ["before-tool", "session-start", "session-end"])
    equal(bash(t, "shim", "install", "--dir", "one"), ["one-dir"])
    check("bash" in bash(t, "shim", "install", "bas"), "a program")
    equal(bash(t, "shim", "install", "bash", "--dir"), ["--dir"])
    equal(bash(t, "secret", "get", "--pr"), ["--print"])
    equal(bash(t, "secret", "set", "--pr"), [])
    equal(bash(t, "firewall", "up", "--ranges", "one-f"), ["one-file"])
    equal(bash(t, "firewall", "down", "--"), ["--json"])
    equal(sorted(bash(t, "apply", "--force", "one-dir", "one")),
          ["one-dir", "one-file"])
    equal(bash(t, "as", "s"), ["srt", "sh"])


def words_of(t):
    """Every verb with the words behind it, by its own help"""
    for verb in verbs_of(t):
        if verb != "secret":	# A program of its own
            out = t.run("help", verb).ok().out
            yield verb, out, re.findall(r"^  ([a-z]\S*)(.*)\n      \S", out, re.M)


@test
def bash_completes_names_of_running_sessions(t):
    script(t, "bash")
    os.environ["PATH"] = os.path.dirname(CLOCHE) + ":" + os.environ["PATH"]
    equal(bash(t, "session", "stop", ""), [])
    try:
        t.inside("true", options=["--session", "web"]).ok()
        for words in (["session", "stop"], ["session", "publish"], ["run", "--session"],
                      ["report", "--session"], ["violations", "list", "--session"]):
            equal(bash(t, *words, "w"), ["web"], words)
    finally:
        t.run("session", "stop", "web")


@test
def help_and_completion_list_the_same_options(t):
    """Each option that a usage names is listed, and each listed one offered"""
    script(t, "bash")
    for verb, out, words in words_of(t):
        usage, _, listed = out.partition("\nOptions\n")
        for option in re.findall(r"\[(--[a-z-]+)", usage):
            contains(listed, f" {option} ", verb)
        own = listed.partition("\nThe options of run")[0]
        offered = bash(t, verb, "--")
        for word, _ in words:
            offered += bash(t, verb, word, "--")
        if verb == "hook":
            offered += bash(t, verb, "claude", "--")
        for option in re.findall(r"^ +(?:-., )?(--[a-z-]+)", own, re.M):
            check(option in offered, verb, option)


@test
def completed_words_are_accepted_by_the_program(t):
    script(t, "bash")
    for words in (["explain"], ["policy", "show"], ["policy", "check"],
                  ["policy", "mode"], ["policy", "why", "read", "x"],
                  ["policy", "exclude"], ["policy", "allow"], ["doctor"],
                  ["preflight"], ["diff"], ["apply"], ["violations", "list"],
                  ["shim", "list"], ["shim", "install"],
                  ["hook", "print", "claude"], ["verify"],
                  ["hook", "claude", "session-start"]):
        own = set(bash(t, *words, "--")) - set(bash(t, "run", "--"))
        for option in own:
            values = bash(t, *words, option, "")
            value = [values[0] if values else "2s"] if option in (
                "--scope", "--kind", "--since", "--watchdog", "--run",
                "--dir") else []
            r = t.run(*words, option, *value,
                      *(["no-such"] if words[0] == "verify" else []))
            check("unknown" not in r.err and f"'{option}'" not in r.err,
                  repr(r))
    for words in (["policy", "exclude", "--scope", "user", "make"],
                  ["policy", "exclude", "--json", "make"],
                  ["violations", "clear", "--json"], ["doctor", "--full"]):
        t.run(*words).ended(2)
    equal(t.in_home(), [])


@test
def bash_completes_every_option(t):
    script(t, "bash")
    known = re.findall(r"--[a-z-]+", "\n".join(
        line[:30] for line in t.run("help", "run").ok().out.splitlines()
        if re.match(r"  (-.,|   ) --", line)))
    check(len(known) > 20, known)
    for verb in ("run", "wrap", "explain"):
        equal(sorted(bash(t, verb, "--ti")), ["--tier", "--timeout"])
        got = bash(t, verb, "-")
        for option in known + ["-s", "-c"]:
            check(option in got, verb, "lacks", option)
    equal(bash(t, "explain", "--js"), ["--json"])
    equal(bash(t, "run", "--js"), [])


@test
def bash_completes_values(t):
    script(t, "bash")
    for option in CHOICES:
        values = allowed(t, option)
        equal(bash(t, "run", f"--{option}", ""), values)
        equal(bash(t, "run", "--quiet", f"--{option}", "=", values[0]),
              [values[0]])
        equal(bash(t, "run", f"--{option}", "="), values)
        equal(bash(t, "run", f"--{option}="),
              [f"--{option}={value}" for value in values])
    t.write("one file", "")
    os.mkdir(t.dir + "/one-dir")
    for option in ("-s", "--settings", "--write", "--read", "--deny-read",
                   "--deny-write", "--events", "--unix-socket", "--shell"):
        equal(sorted(bash(t, "run", option, "one")), ["one file", "one-dir"])
    equal(bash(t, "run", "--cwd", "one"), ["one-dir"])
    equal(bash(t, "run", "--allow", "one"), [])


@test
def bash_does_not_complete_options_after_the_command(t):
    script(t, "bash")
    t.write("--tin", "")
    check("bash" in bash(t, "run", "bas"), "a command")
    check("bash" in bash(t, "run", "--tier", "full", "--", "bas"), "behind --")
    for before in (("--",), ("ls",), ("--net", "none", "--", "ls"),
                   ("--quiet", "--net=none", "ls")):
        lacks(bash(t, "run", *before, "--ti"), "--tier", before)
    equal(bash(t, "run", "--net=none", "ls", "--ti"), ["--tin"])


@test
def zsh_completes_verbs_options_and_values(t):
    script(t, "zsh")
    t.write("settings-file", "")
    typed = [("cloche ru\t", "run"),
             ("cloche run --ti\t", "run --tier"),
             ("cloche run --ti\t\t", "run --timeout"),
             ("cloche explain --js\t", "explain --json"),
             ("cloche policy sh\t", "policy show"),
             ("cloche violations list --si\t", "violations list --since"),
             ("cloche violations list --kind qu\t",
              "violations list --kind quarantine"),
             ("cloche policy why wr\t", "policy why write"),
             ("cloche policy why write setti\t",
              "policy why write settings-file"),
             ("cloche policy why --tie\t", "policy why --tier"),
             ("cloche policy allow --scope us\t", "policy allow --scope user"),
             ("cloche hook claude pre\t", "hook claude pre-tool-use"),
             ("cloche diff setti\t", "diff settings-file"),
             ("cloche run -s setti\t", "run -s settings-file"),
             ("cloche run --write setti\t", "run --write settings-file"),
             ("cloche run -- cat --ti\t", "run -- cat --ti")]
    for option in CHOICES:
        typed += [(f"cloche run --{option} " + "\t" * (i + 1),
                   f"run --{option} {value}")
                  for i, value in enumerate(sorted(allowed(t, option)))]
    equal(zsh(t, *(line for line, _ in typed)), [made for _, made in typed])


# A stand-in for cloche, which the scripts ask for names
LISTING = """#!/bin/sh
case $* in
"violations list") printf '2026-11-17T06:40:03Z run 01AAA  make x (exit status 1, 0.0 s)\n'
	printf '  write /etc/x (why)\n    cloche policy allow write run 01ZZZ\n' ;;
"shim list") printf 'claude\t/a/claude\t/b/claude\tin use\nnpm\t/a/npm\t/b/npm\tin use\n' ;;
"secret list") printf 'GITHUB_TOKEN\nOTHER\n' ;;
esac
"""


def listing(t, shell):
    script(t, shell)
    t.write("bin/cloche", LISTING)
    os.chmod(os.path.join(t.dir, "bin/cloche"), 0o755)
    os.environ["PATH"] = os.path.join(t.dir, "bin") + ":" + os.environ["PATH"]


@test
def bash_completes_names_that_exist(t):
    listing(t, "bash")
    equal(bash(t, "violations", "list", "--run", ""), ["01AAA"])
    equal(bash(t, "report", "01"), ["01AAA"])
    equal(bash(t, "shim", "remove", ""), ["claude", "npm"])
    equal(bash(t, "secret", "get", "G"), ["GITHUB_TOKEN"])


@test
def zsh_completes_names_that_exist(t):
    listing(t, "zsh")
    # There, `cloche` prints its words at the end
    t.write("script", t.read("script").replace("$(cloche ", "$(command cloche "))
    equal(zsh(t, "cloche violations list --run 01\t", "cloche shim remove cl\t",
              "cloche secret delete OT\t", "cloche report \t"),
          ["violations list --run 01AAA", "shim remove claude", "secret delete OTHER",
           "report 01AAA"])


def fish_completes_names_that_exist(t):
    listing(t, "fish")
    equal(fish(t, "cloche violations list --run "), ["01AAA"])
    equal(fish(t, "cloche shim remove "), ["claude", "npm"])
    equal(fish(t, "cloche secret get G"), ["GITHUB_TOKEN"])


def fish_completes_verbs_options_and_values(t):
    script(t, "fish")
    equal(fish(t, "cloche ru"), ["run"])
    equal(sorted(fish(t, "cloche run --ti")), ["--tier", "--timeout"])
    equal(fish(t, "cloche explain --js"), ["--json"])
    equal(fish(t, "cloche policy sh"), ["show"])
    equal(fish(t, "cloche policy why wr"), ["write"])
    equal(fish(t, "cloche policy why --tie"), ["--tier"])
    equal(sorted(fish(t, "cloche policy allow --scope ")),
          ["claude", "project", "user"])
    equal(fish(t, "cloche violations list --kind qu"), ["quarantine"])
    equal(fish(t, "cloche hook claude pre"), ["pre-tool-use"])
    for option in CHOICES:
        equal(sorted(fish(t, f"cloche run --{option} ")),
              sorted(allowed(t, option)))
    t.write("settings-file", "")
    equal(fish(t, "cloche run -s setti"), ["settings-file"])
    lacks(fish(t, "cloche run -- cat --ti"), "--tier")
    lacks(fish(t, "cloche run --net none cat --ti"), "--tier")


if shutil.which("fish"):	# In no list of packages: tried where it is
    test(fish_completes_verbs_options_and_values)
    test(fish_completes_names_that_exist)
main()
