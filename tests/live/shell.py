# SPDX-License-Identifier: Apache-2.0
"""tests/live/shell.py - cloche as sh and bash: the real shell, in the sandbox"""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *
from terminal import Terminal


def shim(t, name="bash"):
    """A directory with a link of ours under the shell's name"""
    os.makedirs(t.away + "/bin", exist_ok=True)
    link = t.away + "/bin/" + name
    if not os.path.lexists(link):
        os.symlink(os.path.realpath(CLOCHE), link)
    return link


def hide(t):
    """A file that a shell outside reads and one inside does not"""
    t.write(t.home + "/.ssh/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
    return "cat ~/.ssh/id_rsa"


@test
def a_line_runs_in_the_sandbox(t):
    secret = hide(t)
    contains(t.outside("bash", "-c", secret).ok().out, "BEGIN")
    for name in ("sh", "bash"):
        for run in ([CLOCHE, "as", name], [shim(t, name)]):
            r = t.outside(*run, "-c", secret + "; echo x > f; echo $0 $1",
                          "zero", "one")
            lacks(r.out, "BEGIN", run)
            contains(r.out, "zero one")
            equal(t.read("f"), "x\n")
            r = t.outside(*run, "-c", f"echo x > {t.away}/f")
            check(r.code != 0 and not os.path.exists(t.away + "/f"), r)


@test
def exit_status_and_signals_of_the_shell_are_returned(t):
    for status in (0, 3, 126, 127):
        t.outside(shim(t), "-c", f"exit {status}").ended(status)
    t.outside(shim(t), "-c", "kill -KILL $$").ended(137)
    t.outside(shim(t), "-c", "no-such-command").ended(127)
    t.outside(shim(t), "-e", "-c", "false; echo no").ended(1)


@test
def all_arguments_reach_the_shell(t):
    script = t.write("script", "echo $#: $*\n")
    equal(t.outside(shim(t), script, "--net", "-s").ok().out, "2: --net -s\n")
    equal(t.outside(shim(t), "-s", "a", stdin="echo $1; cat\nrest\n").ok().out,
          "a\nrest\n")
    contains(t.outside(shim(t), "--version").ok().out, "GNU bash")
    equal(t.outside(shim(t), "-o", "pipefail", "-c", "false | true; echo $?")
          .ok().out, "1\n")


@test
def a_login_shell_reads_its_profile(t):
    t.write(t.home + "/.bash_profile", "export FROM_PROFILE=yes\n")
    line = "echo [$FROM_PROFILE]; shopt -q login_shell && echo login"
    equal(t.outside(shim(t), "-c", line).out, "[]\n")
    equal(t.outside(shim(t), "-lc", line).ok().out, "[yes]\nlogin\n")
    equal(t.outside(shim(t), "-l", "-c", line).ok().out, "[yes]\nlogin\n")
    r = t.outside("bash", "-c", f"exec -a -bash {shim(t)} -c '{line}'")
    equal(r.ok().out, "[yes]\nlogin\n")


@test
def an_interactive_shell_has_a_terminal(t):
    secret = hide(t)
    t.write(t.home + "/.bashrc", "PS1='ready> '\n")
    with Terminal([shim(t), "-i"], cwd=t.dir) as term:
        term.expect("ready> ")
        term.send("tty >/dev/null && echo is-a-$((1+1))-tty\n")
        term.expect("is-a-2-tty")
        term.expect("ready> ")
        term.send(secret + "; echo st=$?\n")
        term.expect("st=1")
        term.send("sh -c 'echo up-$((1+1)); exec sleep 1000'\n")
        term.expect("up-2")
        term.send("\x03")
        term.send("echo back-$((2+2))\n")
        term.expect("back-4")
        term.send("exit 9\n")
        equal(term.wait(RUN_SECONDS), 9)
    lacks(term.text, "BEGIN OPENSSH")


@test
def a_shim_first_in_PATH_finds_the_real_shell(t):
    path = os.path.dirname(shim(t)) + ":" + os.environ["PATH"]
    env = {"PATH": path, "SHELL": shim(t)}
    r = t.outside("bash", "-c", "readlink /proc/$$/exe", env=env).ok()
    lacks(r.out, "cloche")
    # Inside, the same link is just the shell: no sandbox in the sandbox
    r = t.outside("bash", "-c", 'bash -c "$SHELL -c \\"echo deep\\""; '
                  "env bash -c 'readlink /proc/$$/exe'", env=env).ok()
    contains(r.out, "deep\n")
    lacks(r.out, "cloche")
    equal(r.err, "")
    r = t.outside(shim(t), "-c", "true", env={"PATH": "/nowhere"})
    r.ok()
    os.symlink(os.path.realpath(CLOCHE), t.away + "/bin/zsh")
    if not os.path.exists("/usr/bin/zsh") and not os.path.exists("/bin/zsh"):
        t.outside(t.away + "/bin/zsh", "-c", "true").ended(127)


@test
def settings_apply_and_invalid_ones_run_nothing(t):
    t.write(".claude/settings.json",
            '{"sandbox": {"filesystem": {"denyRead": ["f"]}}}')
    t.write("f", "x\n")
    equal(t.outside(shim(t), "-c", "cat f").out, "")
    t.write(".claude/settings.json", "{")
    r = t.outside(shim(t), "-c", "echo ran").ended(125)
    equal(r.out, "")


def under_init(t, name, *argv):
    """Run argv in a pid namespace whose process 1 is called so"""
    first = ("import subprocess, sys\n"
             "open('/proc/self/comm', 'w').write(sys.argv[1])\n"
             "sys.exit(subprocess.run(sys.argv[2:]).returncode)\n")
    return t.outside("unshare", "--user", "--map-current-user", "--pid",
                     "--fork", "--mount-proc", sys.executable, "-c", first,
                     name, *argv)


@test
def a_forged_name_of_process_1_is_not_taken_for_a_sandbox(t):
    secret = hide(t)
    control = under_init(t, "cloche-init", "bash", "-c",
                         "cat /proc/1/comm; " + secret).ok()
    contains(control.out, "cloche-init\n")
    contains(control.out, "BEGIN")
    for env in ({}, {"SANDBOX_RUNTIME": "1"}):
        r = under_init(t, "cloche-init", "env", *(f"{k}={v}" for k, v in
                                                  env.items()),
                       shim(t), "-c", secret + "; echo ran")
        lacks(r.out, "BEGIN", r)


@as_root
def a_setuid_copy_of_cloche_refuses_to_run(t):
    for name, verbs in (("cloche", (["run", "true"], ["explain"], ["doctor"],
                                    ["policy", "show"], ["--version"],
                                    ["hook", "claude", "pre-tool-use"])),
                        ("bash", (["-c", "true"],))):
        copy = t.away + "/" + name
        shutil.copy(os.path.realpath(CLOCHE), copy)
        for words in verbs:
            os.chown(copy, 65534, 65534)
            os.chmod(copy, 0o755)
            control = t.outside(copy, *words)
            lacks(control.err, "set-user-id")
            os.chmod(copy, 0o4755)
            r = t.outside(copy, *words).ended(125)
            equal((r.out, len(r.err.splitlines())), ("", 1), words)
            contains(r.err, "set-user-id")


main()
