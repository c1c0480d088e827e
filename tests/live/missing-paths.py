# SPDX-License-Identifier: Apache-2.0
"""tests/live/missing-paths.py - what may be written and does not exist yet

A mount cannot allow it: the observer makes it for the command.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import *


def allows(*paths):
    return ("-s", json.dumps({"filesystem": {"allowWrite": list(paths)}}))


@test
def the_suggestion_for_a_new_file_of_the_home_is_enough(t):
    script = "echo first > ~/new; echo second >> ~/new; cat ~/new"
    check(t.shell(script).code != 0, "nothing was refused")
    line = records(t)[0]["suggest"]["command"]
    contains(line, "cloche policy allow write")
    path = os.path.dirname(CLOCHE) + ":" + os.environ["PATH"]
    r = t.outside("sh", "-c", line, env={"PATH": path}).ok()
    lacks(r.err, "still denied")
    t.run("policy", "why", "write", t.home + "/new").ok()
    equal(t.shell(script).ok().out, "first\nsecond\n")
    equal(t.read(t.home + "/new"), "first\nsecond\n")
    equal(t.shell(script).ok().out, "first\nsecond\n")	# There by now


@test
def a_rule_for_a_missing_path_allows_nothing_else(t):
    r = t.shell("""echo x > ~/new.old; mkdir ~/newer; echo x > ~/new
ln -s /etc ~/link; mv ~/new ~/moved; rm ~/new && echo gone""",
                options=allows("~/new"))
    lacks(r.err, "note: ")
    equal(r.out, "gone\n")
    equal([n for n in t.in_home() if n[0] != "."], [])
    found = sorted(os.path.basename(p) for p in
                   targets(records(t), "fs-write") +
                   targets(records(t), "fs-rename"))
    equal(found, ["link", "moved", "new.old", "newer"], r.err)


@test
def a_created_directory_behaves_like_any_writable_one(t):
    git = need("git")
    r = t.shell(f"""mkdir ~/new && cd ~/new && {git} init -q . && echo a > a
{git} add a && {git} -c user.name=a -c user.email=b commit -qm 1
mkdir -p d/e; mv a b; ln b c; sed -i s/a/z/ b; cat b; chmod 600 b
echo x > .git/hooks/pre-commit; echo x > .bashrc; mkdir d/.vscode
{git} config core.fsmonitor ./x""", options=allows("~/new"))
    equal(r.out, "z\n", r.err)
    new = t.home + "/new"
    check(t.exists(new + "/d/e") and not t.exists(new + "/a"))
    equal(os.stat(new + "/b").st_mode & 0o777, 0o600)
    for name in (".bashrc", "d/.vscode", ".git/hooks/pre-commit"):
        check(not t.exists(f"{new}/{name}"), name)
    lacks(t.read(new + "/.git/config"), "fsmonitor")
    contains(r.err, "quarantine")


@test
def a_created_directory_becomes_a_mount(t):
    """access() and what is done to open files ask for that"""
    for what in (t.away, "~/new"):
        r = t.inside("/usr/bin/python3", "-c", """
import os, time
new, end = os.path.expanduser("~/new"), time.monotonic() + 30
os.mkdir(new)
while not os.access(new, os.W_OK) and time.monotonic() < end:
    time.sleep(0.001)
open(new + "/a", "w").close()
os.fchmod(os.open(new + "/a", os.O_RDONLY), 0o600)
print(oct(os.stat(new + "/a").st_mode & 0o777), os.access(new + "/a", os.W_OK))
os.unlink(new + "/a")
os.rmdir(new)
os.mkdir(new)
open(new + "/b", "w").close()
""", options=allows(what))
        if what == "~/new":
            equal(r.ok().out, "0o600 True\n")
            equal(os.listdir(t.home + "/new"), ["b"])
        else:
            contains(r.err, "Read-only file system", "the control")


@test
def a_trailing_slash_after_a_file_fails_as_usual(t):
    """Such calls are made by us, on names"""
    r = t.inside("/usr/bin/python3", "-c", """
import errno, os
os.chdir(os.path.expanduser("~"))
os.mkdir("new")
open("new/a", "w").close()
for name, call in (
        ("unlink", lambda: os.unlink("new/a/")),
        ("link", lambda: os.link("new/a/", "new/b")),
        ("rename", lambda: os.rename("new/a/", "new/b")),
        ("truncate", lambda: os.truncate("new/a/", 0)),
        ("chmod", lambda: os.chmod("new/a/", 0o600))):
    try:
        call()
        print(name, "done")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
os.rename("new/a", "new/c")""", options=allows("~/new"))
    equal(set(r.out.split()[1::2]), {"ENOTDIR"}, repr(r))
    equal(os.listdir(t.home + "/new"), ["c"])


@test
def paths_that_match_an_allow_pattern_can_be_created(t):
    os.mkdir(t.home + "/out-old")
    r = t.shell("""echo a > ~/out-old/a; echo b > ~/out-file; mkdir ~/out-new
mkdir ~/out-new/d && echo c > ~/out-new/d/c; echo x > ~/out-new/.bashrc
echo x > ~/other; mv ~/out-file ~/other; cat ~/out-*/a ~/out-file""",
                options=allows("~/out-*"))
    equal(r.out, "a\nb\n", r.err)
    equal(t.read(t.home + "/out-new/d/c"), "c\n")
    for name in ("other", "out-new/.bashrc"):
        check(not t.exists(f"{t.home}/{name}"), name)
    equal(sorted({os.path.basename(v["target"]) for v in records(t)}),
          [".bashrc", "other"])
    t.shell("mkdir ~/out-x ~/out-x/y", options=(
        "--profile", "home", *allows("~/out-*"))).ok()
    check(not t.exists(t.home + "/out-x"), "made outside")


@test
def renames_from_a_created_directory_respect_protected_names(t):
    """Both ends of a rename are judged, whatever mounts they are on"""
    git, python = need("git"), need("python3")
    t.outside(git, "init", "-q", ".").ok()
    os.mkdir(t.dir + "/.claude")
    t.write(t.dir + "/.claude/settings.json", "{}")
    old = t.read(t.dir + "/.git/config")
    script = """
import os, sys
def attempt(fn, *args):
    try:
        fn(*args)
    except OSError:
        pass
new = os.environ["HOME"] + "/new/"
os.mkdir(new)
for name in (".git/hooks/pre-commit", ".git/config", ".claude/settings.json",
             ".mcp.json", new + ".mcp.json"):
    for fn in os.link, os.rename:
        open(new + "x", "w").write("planted")
        attempt(fn, new + "x", name)
open("y", "w").write("planted")
attempt(os.rename, "y", new + ".vscode")
attempt(os.open, new + ".bashrc", os.O_PATH | os.O_CREAT | os.O_WRONLY)
for name in (".git/config", ".git/hooks", ".git", ".claude"):
    attempt(os.rename, name, new + "stolen")
os.rename(new + "x", new + "z")
print(open(new + "z").read())
"""
    r = t.inside(python, "-c", script, options=allows("~/new", "."))
    equal(r.out, "planted\n", r.err)
    equal(t.read(t.dir + "/.git/config"), old)
    equal(t.read(t.dir + "/.claude/settings.json"), "{}")
    for name in (t.dir + "/.git/hooks/pre-commit", t.dir + "/.mcp.json",
                 t.home + "/new/stolen", t.home + "/new/.vscode",
                 t.home + "/new/.mcp.json", t.home + "/new/.bashrc"):
        check(not os.path.lexists(name), name)
    lacks(r.err, "quarantine")


@test
def a_rule_through_a_planted_symlink_is_dropped(t):
    os.symlink(t.home, "out")
    r = t.shell("echo x > out/new; echo x > ~/new", options=allows("./out/new"))
    contains(r.err, "nothing is allowed there")
    check(not t.exists(t.home + "/new"), "made through a link")
    os.unlink("out")
    os.mkdir("out")		# In the project anyway: not worth a word
    equal(t.shell("echo x > out/new", options=allows("./out/new")).ok().err, "")


@test
def a_command_that_only_creates_files_is_observed(t):
    """No call of this one goes on by itself"""
    python, new = need("python3"), t.home + "/new"
    t.inside(python, "-c", f"""
import os
os.mkdir("{new}")
for name in ("", "/hooks", "/objects", "/refs"):
    os.mkdir("{new}/.git" + name)
for name in ("HEAD", "hooks/pre-commit", "config"):
    os.write(os.open("{new}/.git/" + name, os.O_WRONLY | os.O_CREAT),
             b"[core]\\nfsmonitor=x\\n")
""", options=allows("~/new")).ok()
    check(t.exists(new + "/.git/HEAD"), "the control")
    check(not t.exists(new + "/.git/hooks/pre-commit"), "a hook")
    lacks(t.read(new + "/.git/config"), "fsmonitor")


@test
def missing_paths_are_staged_in_an_ephemeral_run(t):
    script = "echo x > ~/new; echo x > inside; mkdir ~/out-d"
    r = t.shell(script, options=("--ephemeral", *allows("~/new", "~/out-*")))
    for name in ("new", "out-d", "project/inside"):
        check(not t.exists(f"{t.home}/{name}"), name)
    contains(r.err, "--ephemeral cannot stage it")
    t.run("discard").ok()
    # An edit opens what an overlay cannot cover any more
    log = t.root + "/events"
    old = t.write(t.away + "/old")
    os.utime(old, (1, 1))
    p = t.start("run", "--ephemeral", "--events", log, "--", "sh", "-c",
                f"until test -e {t.home}/end; do > {t.away}/$((n += 1));"
                f"sleep 0.05; done; touch -c {old}")
    wait_until(lambda: os.path.exists(log) and t.read(log), "a refusal")
    t.run("policy", "allow", "write", t.away).ok()
    wait_until(lambda: os.path.exists(log) and "cannot stage it" in t.read(log),
               "the edit")
    t.write(t.home + "/end")	# An overlay may not show it
    p.communicate()
    equal(os.listdir(t.away), ["old"])
    equal(os.stat(old).st_mtime, 1)


@test
def missing_paths_in_hidden_or_private_directories_are_not_created(t):
    t.write(t.home + "/.ssh/id", "key")
    r = t.shell("echo x > ~/.ssh/new", options=allows("~/.ssh/new"))
    check(r.code and not t.exists(t.home + "/.ssh/new"), repr(r))
    name = f"/tmp/cloche-test-unmade-{os.getpid()}"
    t.shell(f"mkdir {name}", options=allows(name)).ok()
    check(not os.path.exists(name), "made in the host's /tmp")
    t.shell("mkdir ~/new", options=("--profile", "home", *allows("~/new"))).ok()
    r = t.shell("mkdir ~/new", options=("--profile", "srt", *allows("~/new")),
                env={"CLAUDE_TMPDIR": "/var/tmp"})
    check(r.code != 0, "srt makes nothing")
    r = t.shell("mkdir ~/new", options=("--observe", "off", *allows("~/new")))
    check(r.code != 0, "nobody could make it")
    contains(r.err, "note: '~/new' does not exist yet")
    check(not t.exists(t.home + "/new"), "made")


@test
def a_root_granted_after_the_start_is_swept(t):
    git, new = need("git"), t.home + "/new"
    p = t.start("run", "--", "sh", "-c", f"""echo ready
until mkdir ~/new 2>/dev/null; do sleep 0.05; done
cd ~/new && {git} init -q . && echo x > .git/hooks/pre-commit
{git} config core.fsmonitor ./x && echo done""")
    equal(p.stdout.readline(), b"ready\n")
    t.run("policy", "allow", "write", new).ok()
    out, err = p.communicate()
    equal(out, b"done\n", err)
    check(not t.exists(new + "/.git/hooks/pre-commit"), err)
    lacks(t.read(new + "/.git/config"), "fsmonitor")


@test
def a_repository_being_created_survives_an_edit(t):
    git = need("git")
    p = t.start("run", "--", "sh", "-c", f"""{git} init -q new; echo ready
until echo x 2>/dev/null > ~/late; do sleep 0.05; done
echo x > new/.git/hooks/x.sample && {git} -C new config a.b c && echo done
mkdir .vscode || echo refused""")
    equal(p.stdout.readline(), b"ready\n")
    t.run("policy", "allow", "write", t.home + "/late").ok()
    out, err = p.communicate()
    equal(out, b"done\nrefused\n", err)
    contains(t.read("new/.git/config"), "[a]")


CHANGES = """
import os, sys
os.mkdir(sys.argv[1]); os.chdir(sys.argv[1])
os.mkdir("dir", 0o1770)
for name in ("file", "shut"):
    open(name, "w")
os.mkfifo("fifo")
os.open("nobodys", os.O_WRONLY | os.O_CREAT, 0)
print(oct(os.stat("nobodys").st_mode))
def said(name, call, *args):
    try:
        print(name, call(*args))
    except OSError as e:
        print(name, "failed:", e.errno)
def opened(name):
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    os.fchmod(fd, 0o3751 if name == "dir" else 0o1751)
    os.fchown(fd, os.getuid(), -1)
    os.utime(fd, (1, 2))
    if name != "fifo":
        os.setxattr(fd, "user.open", b"x" * 99)
        os.setxattr(fd, "user.gone", b"")
        os.removexattr(fd, "user.gone")
    st = os.stat(name)
    return oct(st.st_mode), st.st_mtime, os.listxattr(name)
def named(name):
    os.utime(name)
    os.utime(name, (3, 4))
    os.chmod(name, 0o711)
    if name != "fifo":
        os.setxattr(name, "user.named", b"y", os.XATTR_CREATE)
        os.removexattr(name, "user.open")
    st = os.stat(name)
    return oct(st.st_mode), st.st_mtime, os.listxattr(name)
for name in ("dir", "file", "fifo"):
    said(name, opened, name)
    said(name, named, name)
    said(name, os.access, name, os.W_OK)
os.chmod("shut", 0o444)
for name in ("shut", "missing", ".", "/etc/passwd"):
    said(name, os.access, name, os.W_OK)
said("exists", os.setxattr, "file", "user.named", b"z", os.XATTR_CREATE)
said("no such", os.removexattr, "file", "user.other")
"""


@test
def metadata_changes_in_a_created_directory_work(t):
    """By a descriptor that was opened to read, as rsync and mkdir -m do"""
    run = ("/usr/bin/python3", "-c", CHANGES)
    inside = t.inside(*run, t.dir + "/plain").ok().out
    late = t.inside(*run, t.away + "/new",
                    options=allows(t.away + "/new")).ok().out
    equal(late, inside)
    for name in ("dir", "file", "fifo"):
        equal(os.stat(f"{t.away}/new/{name}").st_mtime, 4, late)
        equal(os.stat(f"{t.away}/new/{name}").st_mode & 0o777, 0o711, late)


main()
