# SPDX-License-Identifier: Apache-2.0
"""tests/cli/shim.py - cloche shim: install, list, and the programs behind shims"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

REAL = """#!/bin/sh
echo "real:$*:$CLOCHE_SHIM"
touch "$HOME/leak" 2>/dev/null && echo leaked
touch here && echo wrote
"""
SHIMS = ".config/cloche/shims"


def program(t, name="agent", text=REAL):
    """A program in a directory of its own, which is on $PATH"""
    path = t.write(os.path.join(t.away, "bin", name), text, 0o755)
    os.environ["PATH"] = os.path.dirname(path) + ":" + \
        "/usr/local/bin:/usr/bin:/bin"
    return path


def on_path(directory):
    os.environ["PATH"] = directory + ":" + os.environ["PATH"]


@test
def a_shim_runs_the_real_program_in_the_sandbox(t):
    real = program(t)
    contains(t.outside(real).ok().out, "leaked")	# The control
    os.remove(t.home + "/leak")
    os.remove(t.dir + "/here")
    r = t.run("shim", "install", "agent").ok()
    shim = os.path.join(t.home, SHIMS, "agent")
    contains(r.out, shim)
    contains(r.err, "PATH=")
    on_path(os.path.dirname(shim))
    r = t.outside("agent", "a", "b c").ok()
    equal(r.out, "real:a b c:agent\nwrote\n")
    check(not os.path.exists(t.home + "/leak"))
    equal(os.stat(shim).st_mode & 0o777, 0o755)
    # Its exit status is the program's
    t.write(real, "#!/bin/sh\nexit 7\n")
    t.outside("agent").ended(7)


@test
def a_shim_with_the_hook_cannot_be_disabled_by_a_project(t):
    real = program(t, "claude")
    t.run("shim", "install", "--hook", "claude", "--net", "none").ok()
    shim = os.path.join(t.home, SHIMS, "claude")
    contains(t.run("hook", "status", "claude").ended(1).out, "not installed")
    on_path(os.path.dirname(shim))
    settings = t.home + "/.config/cloche/agents/claude-shim.json"
    r = t.outside("claude", "a", "b c").ok()	# Outside: its commands are not
    equal(r.out, f"real:--settings {settings} a b c:claude\nleaked\nwrote\n")
    # A verb that Claude Code knows only in the first place
    contains(t.outside("claude", "logs", "b c").ok().out, "real:logs b c:claude\n")
    contains(t.outside("claude").ok().out, f"real:--settings {settings}:claude\n")
    passed = json.loads(t.read(settings))
    equal(passed["disableAllHooks"], False)
    prefix = passed["env"]["CLAUDE_CODE_SHELL_PREFIX"]
    contains(t.read(prefix), "--net none")
    [hook] = passed["hooks"]["PreToolUse"][0]["hooks"]
    contains(hook["args"], prefix)
    t.write(".claude/settings.json", '{"disableAllHooks": true}')
    contains(t.run("hook", "status", "claude").ok().out, settings)
    t.run("shim", "install", "--hook", "agent").ended(2)
    t.run("shim", "remove", "claude").ok()
    check(not os.path.exists(t.home + "/.config/cloche/agents"))
    equal(t.outside("which", "claude").ok().out, real + "\n")


# As Gemini CLI runs a command of the model, and a hook; it prints where it ran
GEMINI = """#!/bin/sh
if [ "$1" = --hook ]; then
	export GEMINI_PROJECT_DIR="$PWD"
	exec bash -c 'echo in=$SANDBOX_RUNTIME'
fi
file=$TMPDIR/gemini-shell-a1b2c3/bgpids.tmp
mkdir -p "${file%/*}"
(cd "${2:-.}" && exec bash -c "shopt -u promptvars nullglob; _bgpids_file=$file
(
  trap 'jobs -p > \\"\\$_bgpids_file\\"' EXIT
$1
)
__code=\\$?
exit \\$__code")
"""


@test
def the_gemini_shim_provides_a_sandboxed_bash(t):
    before = t.write(t.home + "/.gemini/settings.json", '{ "theme":  "x" }\n')
    program(t, "gemini", GEMINI)
    script = ("echo in=$SANDBOX_RUNTIME; touch here ~/leak 2>/dev/null; command -v bash; "
              "pwd; exit 3")
    contains(t.outside("gemini", script).ended(3).out, "in=\n")	# The control
    os.unlink(t.home + "/leak")
    r = t.run("shim", "install", "--hook", "gemini", "--net", "none").ok()
    contains(r.out, "its commands in the sandbox")
    on_path(os.path.join(t.home, SHIMS))
    os.mkdir("sub")
    r = t.outside("gemini", script, "sub").ended(3)
    equal(r.out, f"in=1\n/usr/bin/bash\n{t.dir}/sub\n")
    contains(r.err, f"cloche policy allow --cwd {t.dir} write {t.home}/leak\n")
    lacks(r.err, "bgpids")
    check(t.exists("sub/here") and not os.path.exists(t.home + "/leak"))
    # A variable alone does not take a command out
    contains(t.outside("gemini", script, env={"GEMINI_PROJECT_DIR": t.dir}).ended(3).out,
             "in=1\n")
    # The user's own hooks run as they do without us
    equal(t.outside("gemini", "--hook").ok().out, "in=\n")
    contains(t.run("hook", "status", "gemini").ok().out, "tried with one (by its shim)")
    # The hook refuses where the agent would run another bash
    call = json.dumps({"hook_event_name": "BeforeTool", "tool_name": "run_shell_command",
                       "tool_input": {"command": "true"}, "cwd": t.dir})
    bash = t.home + "/.config/cloche/agents/gemini-shell/bash"
    for path, words in ((os.path.dirname(bash) + ":/usr/bin", None),
                        ("/usr/bin", "start gemini by its shim")):
        r = t.run("hook", "gemini", "before-tool", "--prefix", bash, stdin=call.encode(),
                  env={"PATH": path, "GEMINI_PROJECT_DIR": t.dir}).ok()
        reply = json.loads(r.out)
        equal(reply.get("decision"), "deny" if words else None)
        contains(reply.get("reason", ""), words or "")
    t.run("shim", "remove", "gemini").ok()
    equal(t.read(before), '{ "theme":  "x" }\n')
    check(not os.path.exists(bash))


# As Codex starts its execution environment
CODEX = """#!/usr/bin/python3
import os, subprocess, sys, tomllib
if sys.argv[1:] == ["exec-server", "--listen", "stdio"]:
    print("in=" + os.environ.get("SANDBOX_RUNTIME", ""))
    sys.exit(0)
print(*sys.argv[1:], flush=True)
home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
with open(home + "/environments.toml", "rb") as file:
    settings = tomllib.load(file)
assert settings["default"] == "cloche" and settings["include_local"] is False
one, = settings["environments"]
sys.exit(subprocess.run([one["program"], *one["args"]]).returncode)
"""


@test
def the_codex_shim_provides_its_environments_file(t):
    program(t, "codex", CODEX)
    t.run("hook", "install", "codex").ok()
    r = t.run("shim", "install", "--hook", "codex", "--net", "none").ok()
    check(not os.path.exists(t.home + "/.codex/hooks.json"))	# Two would be one too many
    contains(r.err, "asks before commands only in projects that are not trusted")
    on_path(os.path.join(t.home, SHIMS))
    equal(t.outside("codex", "exec", "a b").ok().out,
          '-c sandbox_mode="danger-full-access" -c features.daemon_auto_start=false exec a b'
          "\nin=1\n")
    contains(t.run("hook", "status", "codex").ok().out, "tried with one (by its shim)")
    # Without our file Codex's commands would have no sandbox, so it does not start
    path = t.home + "/.codex/environments.toml"
    ours = t.read(path)
    for text in (ours.replace("false", "true"), ""):
        t.write(path, text)
        r = t.outside("codex").ended(1)
        equal(r.out, "")
        contains(r.err, "environments.toml is not cloche's")
        contains(t.run("hook", "status", "codex").ended(1).out, "is not cloche's")
        contains(t.run("shim", "install", "--hook", "codex").ended(2).err,
                 "there already and is not ours")
    t.write(path, ours)
    t.outside("codex").ok()
    t.run("shim", "remove", "codex").ok()
    check(not os.path.exists(path))
    program(t, "cursor")
    contains(t.run("shim", "install", "--hook", "cursor").ended(2).err,
             "--hook is for claude, codex and gemini")


@test
def a_shim_keeps_its_options_of_run(t):
    program(t, text="#!/bin/sh\necho $X:$Y; touch here && echo wrote\n")
    t.run("shim", "install", "--env", "X=a b", "agent", "--env=Y=it's",
          "--deny-write", ".").ok()
    r = t.outside(os.path.join(t.home, SHIMS, "agent"))
    equal(r.out, "a b:it's\n")
    r = t.run("shim", "install", "agent", "--no-such").ended(2)
    r = t.run("shim", "install", "agent", "other").ended(2)
    contains(r.err, "other")


@test
def install_uses_the_first_safe_directory_in_PATH(t):
    program(t)
    safe = os.path.join(t.away, "first")
    os.mkdir(safe, 0o755)
    inside = os.path.join(t.dir, "bin")		# The project: writable
    os.mkdir(inside)
    on_path(f"{inside}:{safe}")
    r = t.run("shim", "install", "agent").ok()
    contains(r.out, safe + "/agent: runs")
    equal(r.err, "")
    equal(t.outside("agent").ok().out.splitlines()[0], "real::agent")
    check(not os.path.exists(os.path.join(t.home, SHIMS)))


@test
def install_refuses_directories_writable_in_the_sandbox(t):
    program(t)
    tree = os.path.join(t.away, "repo/bin")
    os.makedirs(tree)
    os.mkdir(os.path.join(t.away, "repo/.git"))
    shared = os.path.join(t.away, "shared")
    os.mkdir(shared)
    os.chmod(shared, 0o777)
    os.mkdir(os.path.join(t.home, "bin"))
    os.mkdir(os.path.join(t.dir, "bin"))
    os.symlink(os.path.join(t.dir, "bin"), os.path.join(t.away, "link"))
    for bad in (t.dir, t.dir + "/bin", t.away + "/link", tree, shared, "/tmp", t.away + "/nowhere",
                t.away + "/bin/agent"):
        r = t.run("shim", "install", "--dir", bad, "agent").ended(2, bad)
        equal(len(r.err.splitlines()), 1, r.err)
        contains(r.err, bad)
    for good in (os.path.join(t.away, "good"), os.path.join(t.home, "bin")):
        os.makedirs(good, 0o755, exist_ok=True)
        t.run("shim", "install", "--dir=" + good, "agent").ok()
    # The place of last resort is closed even to a command that may write there
    t.run("shim", "install", "agent").ok()
    r = t.run("run", "--write", t.home, "--", "sh", "-c", f"echo x >> {SHIMS}/agent; "
              f"rm -f {SHIMS}/agent; mv {SHIMS} away; touch fine", cwd=t.home)
    check(os.path.exists(t.home + "/fine"), r)	# The control
    lacks(t.read(os.path.join(t.home, SHIMS, "agent")), "x\n\n")
    check(os.path.exists(os.path.join(t.home, SHIMS, "agent")))


@test
def install_overwrites_no_other_files(t):
    program(t)
    place = os.path.join(t.away, "place")
    os.mkdir(place, 0o755)
    for make in (lambda p: t.write(p, "#!/bin/sh\n# mine\n", 0o755),
                 lambda p: os.symlink("/bin/true", p), os.mkdir):
        make(place + "/agent")
        before = tree(place)
        r = t.run("shim", "install", "--dir", place, "agent").ended(2)
        contains(r.err, "left alone")
        equal(tree(place), before)
        os.rmdir(place + "/agent") if os.path.isdir(place + "/agent") and \
            not os.path.islink(place + "/agent") else os.remove(place + "/agent")
    t.run("shim", "install", "--dir", place, "agent").ok()
    t.run("shim", "install", "--dir", place, "agent").ok()	# Ours: renewed
    t.write(place + "/agent", "#!/bin/sh\n# changed\n")
    equal(json.loads(t.run("shim", "list", "--json").ended(1).out)["shims"][0]
          ["state"], "changed")
    t.run("shim", "remove", "agent").ended(2)
    contains(t.read(place + "/agent"), "changed")


@test
def list_reports_bypassed_shims(t):
    real = program(t)
    equal(t.run("shim", "list").ok().out, "")
    t.run("shim", "install", "agent").ok()
    shim = os.path.join(t.home, SHIMS, "agent")
    r = t.run("shim", "list").ended(1)
    contains(r.out, "BYPASSED")
    on_path(os.path.dirname(shim))
    r = t.run("shim", "list", "--json").ok()
    equal(json.loads(r.out), {"version": 1, "shims": [
        {"name": "agent", "path": shim, "real": real, "state": "ok"}]})
    os.remove(real)
    contains(t.run("shim", "list").ended(1).out, "program is gone")
    t.outside("agent").ended(127)
    os.remove(shim)
    contains(t.run("shim", "list").ended(1).out, "GONE")
    t.run("shim", "remove", "agent").ok()
    check(not os.path.exists(t.home + "/.config/cloche/shims.json"))
    check(not os.path.exists(os.path.join(t.home, SHIMS)))
    t.run("shim", "remove", "agent").ended(2)


@test
def preflight_reports_a_bypassed_shim(t):
    real = program(t, text=f"#!/bin/sh\n{CLOCHE} preflight; true\n")
    equal(t.outside(real).ok().out, "")
    t.run("shim", "install", "agent").ok()
    r = t.outside(real).ok()
    contains(r.out, "agent was started directly")
    equal(len(r.out.splitlines()), 1)
    equal(t.run("preflight").ok().out, "")		# Not below it
    r = t.outside(os.path.join(t.home, SHIMS, "agent")).ok()
    lacks(r.out, "directly")


@test
def wrong_arguments_are_refused(t):
    program(t)
    for words in ((), ("nonsense",), ("install",), ("install", "no-such-x"),
                  ("install", "../agent"), ("install", ""), ("install", "cloche"),
                  ("install", "a b"), ("install", ".x"), ("install", "--dir"),
                  ("install", "x" * 65), ("remove",), ("remove", "a", "b"),
                  ("remove", "agent"), ("list", "x")):
        r = t.run("shim", *words).ended(2, words)
        equal(len(r.err.splitlines()), 1, r.err)
        equal(r.out, "")
    check(not os.path.exists(t.home + "/.config/cloche/shims.json"))
    t.write(t.home + "/.config/cloche/shims.json", '{"shims": [1]}')
    contains(t.run("shim", "list").ended(2).err, "shims.json")


main()
