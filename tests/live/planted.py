# SPDX-License-Identifier: Apache-2.0
"""tests/live/planted.py - planted files are refused or quarantined"""

import json
import os
import select
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import *
from tap import tree

REFUSE = os.environ.get("REFUSE", "")


@test
def planted_names_are_refused_or_quarantined(t):
    need("git")
    script = ("mkdir -p .vscode && echo x > .vscode/tasks.json; "
              "echo x > .mcp.json; git init -q n && "
              "echo x > n/.git/hooks/pre-commit && "
              "git -C n config core.fsmonitor ./x")
    for options in ((), ("--observe", "off")):
        t.shell(script, options=options)
        check(not t.exists(".vscode") and not t.exists(".mcp.json"))
        check(not t.exists("n/.git/hooks/pre-commit"), "a hook is there")
        lacks(t.read("n/.git/config"), "fsmonitor")
        t.outside("git", "-C", "n", "status").ok()
        t.outside("rm", "-rf", "n").ok()
    found = records(t, "--kind", "quarantine")
    contains(" ".join(v["target"] for v in found), "/n/.git/config")
    # The last run was without an observer: its plants can come back
    command = [v["suggest"]["command"] for v in found
               if v["target"].endswith("/.mcp.json")][-1]
    t.run(*command.split()[1:]).ok()
    equal(t.read(".mcp.json"), "x\n")


@test
def planted_files_with_restrictive_modes_are_quarantined(t):
    """git runs a hook in a directory that nobody may list, and obeys settings
    in one that nobody may write
    """
    need("git")
    script = """
plant() { echo x > $1; chmod 755 $1; }
for mode in 0 0100 0300 0400 0500; do
    git init -q h$mode; plant h$mode/.git/hooks/pre-commit
    chmod $mode h$mode/.git/hooks
    git init -q c$mode; git -C c$mode config core.fsmonitor ./x
    plant c$mode/.git/hooks/pre-commit
    chmod $mode c$mode/.git
    git init -q m$mode; mkdir -p m$mode/.git/modules/s/hooks
    echo x > m$mode/.git/modules/s/HEAD; echo > m$mode/.git/modules/s/config
    plant m$mode/.git/modules/s/hooks/pre-commit
    chmod $mode m$mode/.git/modules
done
echo done"""
    look = ("chmod -R u+rwX .; find . -name pre-commit; "
            "grep -rl fsmonitor --include=config .")
    for options in ((), ("--observe", "off")):
        equal(t.shell(script, options=options).out, "done\n")
        equal(t.outside("sh", "-c", look).out, "")
        t.outside("sh", "-c", "rm -rf [hcm]0*").ok()
    # The control: outside they stay
    t.outside("sh", "-c", script).ok()
    equal(len(t.outside("sh", "-c", look).out.split()), 20)


PLACES = ("modules/plain", "modules/objects", "modules/refs/deep",
          "modules/logs", "modules/a/objects/b", "worktrees/w")


def commits_in(t, place, repository):
    """The user commits in a working tree whose .git names @place. True if
    that ran a hook.
    """
    name = os.path.join(repository, "tree-" + place.replace("/", "-"))
    r = t.outside("git", "-c", "user.name=x", "-c", "user.email=x", "-C", name,
                  "commit", "-q", "--allow-empty", "-m", "x")
    return "PWNED" in r.out + r.err


@test
def git_directories_of_any_name_are_protected(t):
    """All that git needs is HEAD, objects and refs; and a file .git that names
    the place
    """
    need("git")
    script = """
for place in $PLACES; do
    git=.git/$place
    mkdir -p $git/objects $git/refs $git/hooks
    echo ref: refs/heads/main > $git/HEAD
    printf '#!/bin/sh\necho PWNED\n' > $git/hooks/pre-commit
    chmod 755 $git/hooks/pre-commit
    tree=tree-$(echo $place | tr / -)
    mkdir $tree
    echo "gitdir: ../$git" > $tree/.git
done
echo done"""
    script = "PLACES='" + " ".join(PLACES) + "'" + script
    for options in ((), ("--observe", "off")):
        for born in (True, False):	# The repository around all that
            if not born:
                t.outside("git", "init", "-q", "n").ok()
            first = "git init -q n; cd n" if born else "cd n"
            contains(t.shell(first + "; " + script, options=options).out, "done")
            for place in PLACES:
                check(not commits_in(t, place, "n"), place, options, born)
            t.outside("rm", "-rf", "n").ok()
    # The control: outside all of them run
    t.outside("sh", "-c", "git init -q n; cd n; " + script).ok()
    for place in PLACES:
        check(commits_in(t, place, "n"), "the control:", place)


@test
def a_symlink_in_place_of_a_submodule_is_quarantined(t):
    """Without an observer: a symlink replaces a submodule's git directory"""
    need("git")
    script = """
mkdir -p evil/objects evil/refs evil/hooks
echo ref: refs/heads/main > evil/HEAD
printf '#!/bin/sh\necho PWNED\n' > evil/hooks/pre-commit
chmod 755 evil/hooks/pre-commit
rm -rf .git/modules/m; ln -s ../../evil .git/modules/m
rm -rf .git/worktrees; ln -s ../all .git/worktrees; mkdir all; cp -R evil all/w
echo done"""
    for where in ("modules/m", "worktrees/w"):
        place = f"n/.git/{where}"
        for name in ("objects", "refs"):
            os.makedirs(f"{place}/{name}", exist_ok=True)
        t.write(place + "/HEAD", "ref: refs/heads/main\n")
        t.write("n/tree-" + where.replace("/", "-") + "/.git",
                f"gitdir: ../.git/{where}\n")
    t.outside("git", "init", "-q", "n").ok()
    contains(t.shell("cd n;" + script, options=("--observe", "off")).out, "done")
    for where in ("modules/m", "worktrees/w"):
        check(not commits_in(t, where, "n"), where)
        check(not os.path.islink(f"n/.git/{where}"), where)
    t.outside("sh", "-c", "cd n; rm -rf evil all;" + script).ok()
    for where in ("modules/m", "worktrees/w"):
        check(commits_in(t, where, "n"), "the control:", where)


@test
def a_killed_run_is_cleaned_up_by_the_next(t):
    before = tree(t.dir)
    for i in range(8):		# What is cleaned up may just be built upon
        p = t.start("run", "--observe", "off", "--", "sh", "-c",
                    f"mkdir sub{i}; echo x > sub{i}/.envrc; echo ready; sleep 1000")
        equal(p.stdout.readline(), b"ready\n")
        p.send_signal(signal.SIGKILL)
        p.communicate()
        check(t.exists(f"sub{i}/.envrc"), "the control planted nothing")
        t.inside("true").ok()
        after = tree(t.dir)
        equal(set(after) - set(before), {f"sub{n}" for n in range(i + 1)})
        contains(str(records(t)), f"sub{i}/.envrc")


@test
def settings_planted_by_a_killed_run_grant_nothing(t):
    path = os.path.join(t.away, "never")
    t.write("grant", json.dumps(
        {"sandbox": {"filesystem": {"allowWrite": [t.away]}}}))
    p = t.start("run", "--observe", "off", "--", "sh", "-c", "mkdir -p "
                "sub/.claude; cp grant sub/.claude/settings.local.json; "
                "echo ready; sleep 1000")
    equal(p.stdout.readline(), b"ready\n")
    p.send_signal(signal.SIGKILL)
    p.communicate()
    check(t.exists("sub/.claude/settings.local.json"), "nothing was planted")
    sub = os.path.join(t.dir, "sub")
    t.inside("sh", "-c", f"echo x > {path}", cwd=sub)
    check(not os.path.exists(path), "the plant was obeyed")
    contains(str(records(t)), "sub/.claude/settings.local.json")
    # The control: it would have been, had the user put it there and approved it
    t.write("sub/.claude/settings.local.json", t.read("grant"))
    t.trust("--cwd", sub)
    t.inside("sh", "-c", f"echo x > {path}", cwd=sub).ok()


@test
def mount_points_never_appear_on_the_host(t):
    need("git")
    t.outside("git", "init", "-q").ok()
    before = tree(t.dir)
    p = t.start("run", "--", "sh", "-c", """
for i in 1 2 3 4 5 6 7 8 9 10; do echo x > f$i; done
mkdir .vscode .idea; echo x > .mcp.json; echo x > .gitmodules
git init -q n && echo x > n/.git/hooks/pre-commit
git -C n config core.fsmonitor ./x; echo ready; sleep 1000""")
    equal(p.stdout.readline(), b"ready\n")
    status = t.outside("git", "status", "--porcelain", "-uall").ok().out
    equal(sorted(line[3:] for line in status.splitlines()),
          sorted([f"f{i}" for i in range(1, 11)] + ["n/"]))
    p.send_signal(signal.SIGKILL)
    p.communicate()
    t.inside("true").ok()
    after = set(tree(t.dir)) - set(before)
    check(not [name for name in after if not name.startswith(("f", "n"))], after)
    check("n/.git/hooks/pre-commit" not in after, "the hook is there")
    lacks(t.read("n/.git/config"), "fsmonitor")
    t.outside("git", "-C", "n", "status").ok()


@test
def a_file_called_config_stays_unless_it_makes_a_repository(t):
    """git obeys it only where HEAD, objects and refs are, too"""
    for options in ((), ("--observe", "off")):
        r = t.shell("echo x > config; mkdir hooks", options=options).ok()
        lacks(r.err, "quarantine")
        equal(t.read("config"), "x\n")
        t.outside("rm", "-r", "config", "hooks").ok()
    t.shell("mkdir objects refs; echo x > config; echo x > HEAD",
            options=("--observe", "off"))
    check(not t.exists("HEAD") and not t.exists("config"))


@test
def startup_files_of_programs_cannot_be_created(t):
    names = ("crush.json", ".crush.json", ".qwen/x", ".factory/x", ".kilocode/x",
             ".openhands/x", ".helix/x", ".Renviron", ".octaverc", ".ocamlinit",
             ".psysh.php", ".perldb", ".byebugrc", ".rdbgrc")
    script = ('for f; do mkdir -p "$(dirname "sub/$f")"; '
              'echo x > "sub/$f" && echo "$f"; done 2>/dev/null; :')
    equal(t.inside("sh", "-c", script, "sh", *names).out, "")
    t.outside("rm", "-rf", "sub").ok()
    equal(tuple(t.outside("sh", "-c", script, "sh", *names).out.split()), names)


@test
def hooks_cannot_be_added_to_an_existing_repository(t):
    need("git")
    t.outside("git", "init", "-q", "deep/er/and/deep/er").ok()
    git = "deep/er/and/deep/er/.git"
    t.shell(f"echo x > {git}/hooks/post-checkout; echo x > {git}/commondir")
    check(not t.exists(f"{git}/hooks/post-checkout"), "a hook was planted")
    check(not t.exists(f"{git}/commondir"), "commondir was planted")


@test
def a_clone_may_contain_protected_names(t):
    need("git")
    t.write("origin/.vscode/settings.json", "{}")
    t.write("origin/file", "x")
    git = ["git", "-C", "origin", "-c", "user.name=n", "-c", "user.email=e@x"]
    t.outside("git", "init", "-q", "origin").ok()
    t.outside(*git, "add", ".").ok()
    t.outside(*git, "commit", "-qm", "x").ok()
    t.inside("git", "clone", "-q", "origin", "copy").ok()
    check(t.exists("copy/.vscode/settings.json"), "the clone is not whole")


@test
def planted_settings_grant_nothing(t):
    path = os.path.join(t.away, "never")
    grant = json.dumps({"sandbox": {"filesystem": {"allowWrite": [t.away]}}})
    t.write("grant", grant)
    file = ".claude/settings.local.json"
    for options in (("--observe", "off"), ()):
        r = t.shell(f"mkdir -p .claude; cp grant {file}; while test -e {file}; "
                    f"do sleep 0.02; done; echo x > {path}", options=options)
        check(not os.path.exists(path), "the plant was obeyed", repr(r))


@test
def repeated_plants_do_not_fill_the_quarantine(t):
    """And none of it stays: a program of the host may read it at any time"""
    r = t.run("run", "--observe", "off", "--", "/usr/bin/python3", "-c", """
import os, time
def is_gone(path):
    left = 20000	# Milliseconds
    while left and os.path.exists(path):
        left -= 1
        time.sleep(0.001)
    return bool(left)
count = 0
while count < 300:
    os.close(os.open(".mcp.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    if not is_gone(".mcp.json"): break
    count += 1
os.makedirs("v/w")
os.rename("v", ".vscode")
print(count, is_gone(".vscode"))
""").ok()
    equal(r.out, "300 True\n", r.err)
    contains(r.err, "instead of kept")
    check(not t.exists(".mcp.json") and not t.exists(".vscode"), "it stayed")
    state = os.path.join(t.home, ".local/state/cloche/quarantine")
    equal(len(os.listdir(state)), 256)


@test
def many_planted_repositories_are_synced_together(t):
    """Before the journal is removed: the next run looks again after a loss of power"""
    need("strace")
    t.inside("/usr/bin/python3", "-c", "").ok()  # What a first run makes
    plant = """
import os
for i in range(40):
    for name in ("objects", "refs"):
        os.makedirs(f"r{i}/.git/{name}")
    open(f"r{i}/.git/HEAD", "w").write("ref: refs/heads/main\\n")
    open(f"r{i}/.git/config", "w").write("[core]\\n\\tfsmonitor = ./x\\n")
"""
    trace = t.root + "/trace"
    r = t.outside("strace", "-qq", "-s", "200", "-o", trace,
                  "-e", "trace=fsync,syncfs,renameat,unlinkat",
                  CLOCHE, "run", "--", "/usr/bin/python3", "-c", plant).ok()
    contains(r.err, "and 35 more")
    lines = t.read(trace).splitlines()
    for i in range(40):
        lacks(t.read(f"r{i}/.git/config"), "fsmonitor")
    # Six for each of the first sixteen, which are synced one by one
    count = len([l for l in lines if l.startswith("fsync(")])
    check(96 <= count < 120, f"{count} calls of fsync()")
    syncs = [i for i, l in enumerate(lines) if l.startswith("syncfs(")]
    moves = [i for i, l in enumerate(lines) if '"config"' in l]
    removed = [i for i, l in enumerate(lines)
               if l.startswith("unlinkat(") and '.json"' in l]
    equal(len(moves), 40)
    check(moves[15] < syncs[0] < moves[16], "the journal is not on the disk first")
    check(moves[-1] < syncs[-1] < removed[-1], "the journal went before the sync")


@test
def a_directory_recreated_repeatedly_is_watched(t):
    r = t.inside("/usr/bin/python3", "-c", """
import os, time
def goes():
    open(".claude/settings.json", "w").close()
    left = 20000
    while left and os.path.exists(".claude/settings.json"):
        left -= 1
        time.sleep(0.001)
    return left > 0
count = 0
while count < 70:
    os.mkdir(".claude")
    if not goes() or not goes(): break	# It is looked into, then watched
    os.rmdir(".claude")
    count += 1
print(count)""", options=["--observe", "off", "--quiet"]).ok()
    equal(r.out, "70\n")


@test
def a_planted_file_is_removed_after_an_inotify_overflow(t):
    """The kernel tells of so many, and no more"""
    with open("/proc/sys/fs/inotify/max_queued_events") as file:
        limit = int(file.read())
    if limit > 1 << 17:
        skip("this machine tells of very many")
    p = t.start("run", "--observe", "off", "--", "/usr/bin/python3", "-c", f"""
import os, sys, time
os.mkdir(".claude")
print("ready", flush=True)
sys.stdin.readline()
open("n0", "w").close()
for i in range({limit} + 100):
    os.rename(f"n{{i & 1}}", f"n{{~i & 1}}")
open(".mcp.json", "w")
open(".claude/settings.json", "w")
print("made", flush=True)
left = 20000
while left and (os.path.exists(".mcp.json") or
                os.path.exists(".claude/settings.json")):
    left -= 1
    time.sleep(0.001)
print("gone" if left else "there")
""")
    equal(p.stdout.readline(), b"ready\n")
    os.kill(p.pid, signal.SIGSTOP)
    p.stdin.write(b"go\n")
    p.stdin.flush()
    try:
        equal(p.stdout.readline(), b"made\n")
    finally:
        os.kill(p.pid, signal.SIGCONT)
    equal(p.communicate(timeout=120)[0], b"gone\n")


# Change the settings that the user makes meanwhile: by name, by a text that is
# another one when the kernel reads it, and by putting a new directory there
CHANGE = r"""
import ctypes, os, sys, threading, time
file, away = ".claude/settings.local.json", sys.argv[1]
evil = b'{"sandbox":{"filesystem":{"allowWrite":["' + away.encode() + b'"]}}}'
libc = ctypes.CDLL(None)
text = ctypes.create_string_buffer(b"plain", 64)
def put(path, flags):
    fd = libc.open(path, flags, 0o644)
    if fd >= 0 and os.stat(fd).st_ino != os.stat("plain").st_ino:
        os.ftruncate(fd, 0)
        os.write(fd, evil)
    if fd >= 0:
        os.close(fd)
def flip():
    while not stop:
        text.value = b"plain"
        text.value = file.encode()
stop = False
open("plain", "w").close()
print("ready", flush=True)
while not os.path.exists(file):
    time.sleep(0.005)
put(file.encode(), os.O_WRONLY)
thread = threading.Thread(target=flip)
thread.start()
for i in range(1500):
    put(text, os.O_WRONLY)
stop = True
thread.join()
for call, name in ((os.rename, ("x",)), (os.mkdir, ())):
    try: call(".claude", *name)
    except OSError as error: print(error.errno)
put(file.encode(), os.O_WRONLY | os.O_CREAT)
for i in range(10):		# An edit is heard of within 20 ms
    time.sleep(0.02)
    try: open(away + "/never", "w").close()
    except OSError: pass
"""


@test
def settings_created_by_the_host_during_a_run_are_read_only(t):
    file = ".claude/settings.local.json"
    for options in (("--observe", "off"), ()):
        away = os.path.join(t.away, options[-1] if options else "on")
        os.mkdir(away)
        p = t.start("run", *options, "--", "/usr/bin/python3", "-c", CHANGE,
                    away)
        equal(p.stdout.readline(), b"ready\n")
        t.run("policy", "allow", "--scope", "local", "domain",
              "good.test").ok()
        _, err = p.communicate()
        check(not os.path.exists(away + "/never"), "the change was obeyed",
              err)
        if t.exists(file):
            lacks(t.read(file), "allowWrite", err)
            contains(t.read(file), "good.test")
        t.outside("rm", "-rf", ".claude", "x").ok()


@test
def settings_under_other_names_made_by_the_command_grant_nothing(t):
    """No row protects them by their name: they are not read, or quarantined"""
    os.mkdir("mine")
    never = os.path.join(t.away, "never")
    grant = json.dumps({"sandbox": {"filesystem": {"allowWrite": [t.away]}}})
    t.write("grant", grant)
    env = {**os.environ, "CLAUDE_CONFIG_DIR": t.dir + "/mine"}
    script = ("(cp grant mine/settings.json) 2>/dev/null || echo refused; "
              f"until (echo x >{never}) 2>/dev/null || test -e stop; "
              "do sleep 0.02; done")
    with t.start("run", "--", "sh", "-c", script, env=env) as p:
        equal(p.stdout.readline(), b"refused\n")
        t.write("mine/settings.json", grant)	# As a command that won a race could
        wait_until(lambda: os.path.exists(never) or
                   not os.path.exists("mine/settings.json") or
                   select.select([p.stderr], [], [], 0)[0], "a look at it")
        check(not os.path.exists(never), "it was obeyed")
        t.write("stop")
    t.write("mine/settings.json", grant)
    t.inside("touch", never, env=env).ok("the user's own")


@test
def runs_that_need_an_observer_are_refused_without_one(t):
    """A name that the next run obeys has no mount before it exists"""
    bin, tried = t.dir + "/bin", t.away + "/tried"
    os.makedirs(bin)
    for env, path in (({"CLAUDE_CONFIG_DIR": t.dir + "/mine"},
                       "mine/settings.json"),
                      ({"PATH": bin + ":" + os.environ["PATH"]}, "bin/cloche")):
        for options in (("--observe", "off"),
                        ("--observe", "off", "--profile", "srt"),
                        ("--observe", "off", "--tier", "landlock"), ()):
            lacks_it = () if options else (REFUSE, "notify")
            r = t.outside(*lacks_it, CLOCHE, "run", *options, "--write", t.dir,
                          "--write", t.away, "--", "touch", tried, env=env)
            contains(r.ended(125, options).err, "the next run would obey")
            check(not os.path.exists(tried), options)
            r = t.outside(CLOCHE, "run", *options[2:], "--write", t.dir, "--",
                          "sh", "-c", f"touch made; mkdir -p $(dirname {path}); "
                          f"touch {path}", env=env)
            check(r.code and t.exists("made") and not t.exists(path), r)


main()
