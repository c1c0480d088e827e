# SPDX-License-Identifier: Apache-2.0
"""tests/live/ephemeral.py - --ephemeral; cloche diff, apply, discard"""

import ctypes
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

PIDFD_GETFD = 438
EPHEMERAL = ("--net", "none", "--ephemeral")
CHANGES = ("echo new > added; mkdir -p d/e; echo x > d/e/f; echo more >> kept; "
           "rm gone; rm -r tree; ln -s added link; mkdir tree; echo y > tree/own; "
           "chmod 755 added")


def fill(t):
    t.write("kept", "old\n")
    t.write("gone", "old\n")
    t.write("tree/a", "old\n")
    t.write("tree/b/c", "old\n")
    t.write("same", "old\n")


def diff(t, *words):
    return sorted(t.run("diff", *words).ok().out.splitlines())


@test
def staging_works_with_a_symlinked_home_or_state_directory(t):
    os.symlink(t.home, t.away + "/home")
    for name in (".local", ".local/state"):
        home = t.away + "/h" + name.replace("/", "-")
        os.makedirs(os.path.dirname(f"{home}/{name}"))
        os.mkdir(home + "-real")
        os.symlink(home + "-real", f"{home}/{name}")
    for home in (t.away + "/home", t.away + "/h.local", t.away + "/h.local-state"):
        more = {"env": {"HOME": home}}
        t.shell("echo x >new", options=EPHEMERAL, **more).ok()
        equal(t.run("diff", **more).ok().out, "A new\n", home)
        t.run("apply", **more).ok()
        check(t.exists("new"), home)
        os.unlink("new")
    # Where there is no place, it is told what for, and nothing runs
    r = t.shell("echo x >new", options=EPHEMERAL,
                env={"HOME": "/proc"}).ended(125)
    contains(r.err, "XDG_STATE_HOME")
    check(not t.exists("new"))


@test
def apply_keeps_modes_and_times(t):
    os.mkdir("old", 0o755)
    os.umask(0)
    t.shell("""umask 0; mkdir -m 777 open; mkdir -m 1770 sticky; chmod 750 old
mkdir -p shut/in; echo x >shut/f; echo y >shut/in/g; echo z >none
echo l >lent; chmod 2755 lent
ln -s none link; touch -h -d @1000 link; touch -d @2000 open
chmod 0 none shut/in; chmod 555 shut; touch -d @3000 shut""",
            options=EPHEMERAL).ok()
    for _ in range(2):
        equal(diff(t), ["A lent", "A link -> none", "A none", "A open/", "A shut/",
                        "A shut/f", "A shut/in/", "A shut/in/g", "A sticky/",
                        "M old/"])
    r = t.shell("stat -c '%a %n' shut shut/in none old", options=EPHEMERAL)
    equal(r.ok().out, "555 shut\n0 shut/in\n0 none\n750 old\n")
    os.umask(0o077)
    t.run("apply").ok()
    equal({name: f"{os.lstat(name).st_mode & 0o7777:o}" for name in
           ("open", "sticky", "old", "shut", "shut/in", "none", "shut/f",
            "lent")},
          {"open": "777", "sticky": "1770", "old": "750", "shut": "555",
           "shut/in": "0", "none": "0", "shut/f": "666", "lent": "755"})
    equal([os.lstat(name).st_mtime for name in ("link", "open", "shut")],
          [1000, 2000, 3000])
    os.chmod("shut/in", 0o700)
    equal(t.read("shut/in/g"), "y\n")
    os.chmod("shut", 0o700)


@test
def apply_creates_protected_names_of_a_clone_only(t):
    """As in any run: only what the clone itself made is new"""
    git = need("git")
    t.outside("sh", "-ec", f"""git init -q from; cd from
mkdir .vscode; echo {{}} >.vscode/tasks.json; echo x >.gitmodules; git add .
git -c user.name=a -c user.email=b commit -qm 1; git clone -q . ../here
mkdir ../plain; rm ../here/.gitmodules; rm -r ../here/.vscode""").ok()
    script = f"""{git} clone -q from new/clone && cd new && mv clone moved
for i in ../here ../plain . ../fresh; do mkdir -p $i
echo x >$i/.gitmodules && echo made in $i; mkdir $i/.vscode && echo made in $i
done"""
    for options in ((), EPHEMERAL):
        r = t.shell(script, options=options)
        equal(r.out, "", repr(r))
        equal(t.exists("new/moved"), not options)
        if options:
            t.run("apply").ok()
        equal(t.read("new/moved/.vscode/tasks.json"), "{}\n", r.err)
        for name in ("here/.gitmodules", "plain/.vscode", "fresh/.vscode"):
            check(not t.exists(name), name)
        t.outside("sh", "-c", "rm -rf new fresh").ok()


@test
def the_project_is_unchanged_until_apply(t):
    fill(t)
    before = tree(t.dir)
    r = t.shell(CHANGES + "; cat kept; ls tree", options=EPHEMERAL).ok()
    equal(r.out, "old\nmore\nown\n")
    contains(r.err, "staged: cloche diff, cloche apply, cloche discard")
    equal(tree(t.dir), before)
    equal(diff(t), ["A added", "A d/", "A d/e/", "A d/e/f", "A link -> added",
                    "A tree/own", "D gone", "D tree/a", "D tree/b", "M kept"])
    contains(t.run("apply", "tree/own").ended(2).err, "was replaced")
    changes = json.loads(t.run("diff", "--json").out)
    equal(changes["version"], 1)
    check({"change": "deleted", "path": t.dir + "/gone", "stale": False,
           "linked": False} in changes["changes"], changes)


@test
def tmp_of_an_ephemeral_run_is_discarded_with_its_changes(t):
    """A cache there could hold anything, and the next run would trust it"""
    t.shell("echo kept > /tmp/plain").ok()
    t.shell("cat /tmp/plain && exit 1; echo x > new; echo x > /tmp/staged",
            options=EPHEMERAL).ok()
    t.shell("cat /tmp/staged", options=EPHEMERAL).ok()
    check(t.shell("cat /tmp/staged").code)
    t.run("discard").ok()
    check(t.shell("cat /tmp/staged", options=EPHEMERAL).code)
    equal(t.shell("cat /tmp/plain; ls /tmp/staged").out, "kept\n")


@test
def diff_shows_changed_lines(t):
    t.write("kept", "1\n2\n3\n4\n5\n")
    t.write("gone", "old\n")
    os.symlink("/dev/zero", "way")
    t.shell(r"""sed -i s/4/four/ kept; rm gone way; mkfifo pipe; ln -s /etc/passwd way
printf 'a\tb\033[31m\n' > new; printf 'x\0y' > binary; mkdir -p d/e; echo x > d/e/f
head -c 5M /dev/zero > large""", options=EPHEMERAL).ok()
    text = t.run("diff", "-p").ok().out
    equal(t.run("diff", "--patch").ok().out, text)
    contains(text, "M kept\n@@ -1,5 +1,5 @@\n 1\n 2\n 3\n-4\n+four\n 5\n")
    contains(text, "D gone\n@@ -1,1 +0,0 @@\n-old\n")
    contains(text, "A new\n@@ -0,0 +1,1 @@\n+a\tb\\x1b[31m\n")
    contains(text, "A binary\n  (binary)\n")
    contains(text, "A large\n  (too large to be compared)\n")
    contains(text, "M way -> /etc/passwd\n")
    lacks(text, "root:")
    equal(t.run("diff", "-p", "d").ok().out,
          "A d/\nA d/e/\nA d/e/f\n@@ -0,0 +1,1 @@\n+x\n")
    equal(t.run("diff", "--stat").ok().out, "d/      2 added\n"
          "./      5 added, 2 modified, 1 deleted\nin all  7 added, 2 modified, 1 deleted\n")
    # One column for all names but very long ones
    t.shell(f"mkdir lib-with-a-name {'l' * 60}; echo x > lib-with-a-name/y; echo x > {'l' * 60}/y",
            options=EPHEMERAL).ok()
    lines = t.run("diff", "--stat").ok().out.splitlines()
    equal([line.rindex("  ") if "  " in line else None for line in lines], [16, 16, 61, 16, 16],
          lines)


@test
def diff_apply_and_discard_report_what_they_did(t):
    for verb in ("diff", "apply", "discard"):
        contains(t.run(verb).ok().err, "no staged changes")
        equal(t.run(verb, "a", "b").ended(1).err, t.run(verb).err)	# Once, whatever is named
    t.shell("echo x > a; echo x > b; mkdir d; echo x > d/c", options=EPHEMERAL).ok()
    equal(t.run("apply", "a").ok().out, "1 change applied\n")
    equal(t.run("discard", "d").ok().out, "2 changes discarded\n")
    equal(t.run("discard").ok().out, "all changes discarded\n")
    equal((t.exists("a"), t.exists("b")), (True, False))


@test
def apply_writes_what_the_command_wrote(t):
    fill(t)
    t.shell(CHANGES, options=EPHEMERAL).ok()
    t.run("apply").ok()
    inside = tree(t.dir)
    equal((t.read("added"), t.read("kept"), t.read("d/e/f"), t.read("tree/own")),
          ("new\n", "old\nmore\n", "x\n", "y\n"))
    equal((t.exists("gone"), t.exists("tree/a"), t.exists("tree/b")),
          (False, False, False))
    equal(os.readlink(t.dir + "/link"), "added")
    equal(inside["added"][1], 0o755)
    equal(diff(t), [])
    check(not os.path.exists(t.home + "/.local/state/cloche/staged"), "left")


@test
def apply_of_some_paths_keeps_the_others_staged(t):
    fill(t)
    t.shell(CHANGES, options=EPHEMERAL).ok()
    t.run("apply", "kept", "d").ok()
    equal((t.read("kept"), t.read("d/e/f")), ("old\nmore\n", "x\n"))
    check(t.exists("gone") and not t.exists("added"))
    equal(diff(t), ["A added", "A link -> added", "A tree/own", "D gone", "D tree/a",
                    "D tree/b"])
    t.run("apply", "tree").ok()
    equal((os.listdir(t.dir + "/tree"), diff(t)),
          (["own"], ["A added", "A link -> added", "D gone"]))


@test
def hard_links_are_applied_as_hard_links(t):
    t.write("one", "old\n")
    os.link("one", "two")
    script = ("echo x >>one; echo n >a; ln a b; mkdir d; ln a d/c; ln one three;"
              "chmod 640 a")
    t.shell(script, options=EPHEMERAL).ok()
    equal(diff(t)[-1],
          "M one  (its other names on the host stay as they are)")
    check({"change": "modified", "path": t.dir + "/one", "stale": False,
           "linked": True} in json.loads(t.run("diff", "--json").out)["changes"])
    t.run("apply").ok()
    inodes = {name: os.stat(name).st_ino for name in
              ("a", "b", "d/c", "one", "three", "two")}
    equal(len({inodes[n] for n in ("a", "b", "d/c")}), 1, inodes)
    equal(inodes["one"], inodes["three"])
    equal((t.read("two"), t.read("three"), t.read("d/c")),
          ("old\n", "old\nx\n", "n\n"))
    equal(os.stat("b").st_mode & 0o7777, 0o640)
    equal(sorted(os.listdir()), ["a", "b", "d", "one", "three", "two"])
    # Applied one by one they are files of their own
    t.shell("echo y >e; ln e f", options=EPHEMERAL).ok()
    t.run("apply", "e").ok()
    t.run("apply", "f").ok()
    equal((t.read("e"), t.read("f"), os.stat("f").st_nlink), ("y\n", "y\n", 1))


@test
def apply_does_not_link_to_a_replaced_file(t):
    """A file of the host's is there by then: its content is not ours to lend"""
    t.shell("echo n >a; ln a b", options=EPHEMERAL).ok()
    t.run("apply", "a").ok()
    t.write("a", "the host's own\n")
    t.run("apply").ok()
    equal((t.read("a"), t.read("b")), ("the host's own\n", "n\n"))


@test
def apply_keeps_extended_attributes_and_holes(t):
    t.write("old", "old\n")
    try:
        os.setxattr("old", "user.kept", b"host")
    except OSError as error:
        skip(f"no attributes here: {error}")
    t.shell("""echo x >>old; echo n >new; truncate -s 1T huge; echo e >>huge
mkdir dir
/usr/bin/python3 -c '
import os
for name in "old", "new", "dir":
    os.setxattr(name, "user.mark", b"of " + name.encode())'""",
            options=EPHEMERAL).ok()
    t.run("apply").ok()
    equal(os.listxattr("dir"), ["user.mark"])
    equal({name: {a: os.getxattr(name, a) for a in os.listxattr(name)}
           for name in ("old", "new")},
          {"old": {"user.kept": b"host", "user.mark": b"of old"},
           "new": {"user.mark": b"of new"}})
    huge = os.stat("huge")
    equal(huge.st_size, (1 << 40) + 2)
    check(huge.st_blocks < 1000, "holes were filled:", huge)


@test
def discard_removes_staged_changes(t):
    fill(t)
    before = tree(t.dir)
    t.shell(CHANGES, options=EPHEMERAL).ok()
    t.run("discard", "added").ok()
    lacks(diff(t), "A added")
    t.run("discard").ok()
    equal((diff(t), tree(t.dir)), ([], before))
    t.run("apply").ok()
    equal(tree(t.dir), before)


@test
def discard_removes_changes_that_diff_cannot_show(t):
    for script in ("mkdir -p a/b; echo x > a/b/c; chmod 0 a/b a",
                   "i=0; while [ $i -lt 300 ]; do mkdir d; cd d; "
                   "i=$((i + 1)); done; echo x > x",
                   "mkdir many; cd many; touch 0 1; python3 -c 'import os\n"
                   "for i in range(2, 70000): os.link(str(i & 1), str(i))'"):
        t.shell(script, options=EPHEMERAL, timeout=120).ok()
        t.run("discard", timeout=120).ok()
        equal(diff(t), [])
        equal(os.listdir(t.dir), [])
        equal(tree(os.path.join(t.home, ".local/state/cloche/staged"))
              if os.path.exists(t.home + "/.local/state/cloche/staged")
              else {}, {})


@test
def apply_does_not_follow_a_symlink_in_the_project(t):
    """Not even one that stays in the project: what it leads to was not asked"""
    t.write("d/sub/old", "old")
    t.write("kept/sub/file", "old")
    t.shell("echo new > d/sub/file", options=EPHEMERAL).ok()
    os.rename("d", "away")
    os.symlink("kept", "d")
    check(t.run("apply", "--force", "d/sub/file").code, "it was applied")
    equal(t.read("kept/sub/file"), "old")
    os.unlink("d")
    os.rename("away", "d")
    t.run("apply", "--force").ok("the control")
    equal(t.read("d/sub/file"), "new\n")


@test
def staged_changes_with_restrictive_modes_are_listed(t):
    script = ("for mode in 0 100 300 400 500; do mkdir -p d$mode; "
              "echo x > d$mode/f; chmod $mode d$mode; done")
    t.shell(script, options=EPHEMERAL).ok()
    names = sorted(f"d{m}" for m in (0, 100, 300, 400, 500))
    equal(diff(t), sorted([f"A {n}/" for n in names] +
                          [f"A {n}/f" for n in names]))
    t.run("apply").ok()
    for name in names:
        equal(f"d{os.stat(name).st_mode & 0o777:o}", name)
        os.chmod(name, 0o700)
        equal(t.read(name + "/f"), "x\n")


@test
def the_next_ephemeral_run_continues_from_staged_changes(t):
    t.shell("echo 1 > f", options=EPHEMERAL).ok()
    equal(t.shell("cat f; echo 2 >> f", options=EPHEMERAL).ok().out, "1\n")
    check(not t.exists("f"))
    t.run("apply").ok()
    equal(t.read("f"), "1\n2\n")


@test
def a_run_without_changes_leaves_nothing_staged(t):
    r = t.shell("true", options=EPHEMERAL).ok()
    equal(r.err, "")
    check(not os.path.exists(t.home + "/.local/state/cloche/staged"), "left")


@test
def protected_names_are_read_only_in_an_ephemeral_run(t):
    t.write(".git/config", "[core]\n")
    t.write(".git/HEAD", "ref: refs/heads/x\n")
    os.makedirs(t.dir + "/.git/hooks")
    t.write("locked/f", "old")
    for more in ((), ("--observe", "off")):
        t.shell("echo evil > .git/hooks/pre-commit; echo evil > .git/config; "
                "mv .git g; echo evil > locked/f; mv locked l; "
                f"echo evil > {t.away}/f; echo ok > fine",
                options=(*EPHEMERAL, *more, "--deny-write", "locked"))
        t.run("apply", "--deny-write", "locked")
        equal((t.read(".git/config"), t.read("locked/f"),
               os.listdir(t.dir + "/.git/hooks")), ("[core]\n", "old", []))
        check(not t.exists(t.away + "/f"), "it got out")
        equal(t.read("fine"), "ok\n")


@test
def apply_refuses_paths_denied_by_the_current_policy(t):
    t.write("locked/f", "old")
    t.shell("echo evil > locked/f; echo ok > fine", options=EPHEMERAL).ok()
    r = t.run("apply", "--deny-write", "locked").ended(1)
    contains(r.err, "is not applied")
    equal((t.read("locked/f"), t.read("fine")), ("old", "ok\n"))
    equal(diff(t), ["M locked/f"])


@test
def apply_does_not_overwrite_a_file_changed_by_the_host(t):
    fill(t)
    t.shell("echo inside > kept; echo x > other", options=EPHEMERAL).ok()
    t.write("kept", "outside\n")
    contains("".join(diff(t)), "the host's has changed since")
    r = t.run("apply").ended(1)
    contains(r.err, "has changed since")
    equal((t.read("kept"), t.read("other")), ("outside\n", "x\n"))
    t.run("apply", "--force").ok()
    equal(t.read("kept"), "inside\n")


@test
def apply_keeps_new_host_files_in_a_removed_directory(t):
    fill(t)
    t.write("was/deep/er/f", "old\n")
    t.shell("rm -r tree was; echo file > was", options=EPHEMERAL).ok()
    t.write("tree/b/new", "work of hours\n")
    t.write("was/deep/er/new", "work of hours\n")
    equal(len([x for x in diff(t) if "has changed since" in x]), 2)
    contains(t.run("apply").ended(1).err, "has changed since")
    equal((t.read("tree/b/new"), t.read("was/deep/er/new")),
          ("work of hours\n", "work of hours\n"))
    t.run("apply", "--force").ok()
    equal((t.exists("tree"), t.read("was")), (False, "file\n"))


@test
def apply_removes_no_directory_with_protected_names(t):
    fill(t)
    t.shell("rm -r tree", options=EPHEMERAL).ok()
    t.write("tree/b/.vscode/tasks.json", "{}\n")
    contains(t.run("apply", "--force").ended(1).err, "something protected")
    equal(t.read("tree/b/.vscode/tasks.json"), "{}\n")
    os.unlink(t.dir + "/tree/b/.vscode/tasks.json")     # The control
    os.rmdir(t.dir + "/tree/b/.vscode")
    t.run("apply", "--force").ok()
    check(not t.exists("tree"))


@test
def apply_without_an_observer_refuses_protected_names(t):
    t.shell("mkdir -p a/b/c/d/.vscode; echo {} > a/b/c/d/.vscode/tasks.json; "
            "echo x > .bashrc; echo x > HEAD; mkdir objects refs; echo x > f",
            options=EPHEMERAL + ("--observe", "off")).ok()
    r = t.run("apply").ended(1)
    contains(r.err, ".bashrc' is not applied")
    contains(r.err, "HEAD' went to quarantine")
    equal((t.read("f"), t.exists("a/b/c/d")), ("x\n", True))     # The control
    equal([t.exists(x) for x in ("a/b/c/d/.vscode", ".bashrc", "HEAD")],
          [False, False, False])


@test
def apply_disarms_a_new_repository(t):
    need("git")
    t.shell("git init -q r; echo x > r/f; echo '#!/bin/sh' > r/.git/hooks/pre-commit; "
            "git -C r config core.fsmonitor evil; git -C r config user.name me",
            options=EPHEMERAL).ok()
    contains(t.run("apply").ended(1).err, "went to quarantine")
    config = t.read("r/.git/config")
    contains(config, "name = me")
    lacks(config, "evil")
    equal((t.read("r/f"), t.exists("r/.git/hooks/pre-commit")), ("x\n", False))


@test
def apply_does_not_write_through_symlinks_of_the_host(t):
    t.write("d/f", "old")
    t.write(t.away + "/f", "old")
    t.shell("echo evil > d/f", options=EPHEMERAL).ok()
    os.rename(t.dir + "/d", t.dir + "/was")
    os.symlink(t.away, t.dir + "/d")
    t.run("apply").ended(1)
    t.run("apply", "--force").ok()
    equal((t.read(t.away + "/f"), t.read("d/f")), ("old", "evil\n"))
    check(not os.path.islink(t.dir + "/d"))


@test
def changes_in_other_writable_roots_are_staged(t):
    t.write(t.away + "/f", "old")
    t.shell(f"echo new > {t.away}/f; echo new > f",
            options=(*EPHEMERAL, "--write", t.away)).ok()
    equal((t.read(t.away + "/f"), t.exists("f")), ("old", False))
    r = t.shell("true", options=EPHEMERAL).ended(125)
    contains(r.err, "other writable directories")
    t.run("apply", "--write", t.away).ok()
    equal((t.read(t.away + "/f"), t.read("f")), ("new\n", "new\n"))


@test
def ephemeral_works_with_profile_home_and_git(t):
    t.outside("git", "init", "-q", ".").ok()
    t.write("f", "x\n")
    t.shell("git add -A && git -c user.name=a -c user.email=a@x commit -qm one && "
            "git log --format=%s", options=(*EPHEMERAL, "--profile", "home")).ok()
    check(t.outside("git", "log").code != 0, "committed outside")
    t.run("apply").ok()
    equal(t.outside("git", "log", "--format=%s").ok().out, "one\n")


@test
def ephemeral_refuses_unsupported_combinations(t):
    t.write(t.away + "/f")
    contains(t.inside("true", options=(*EPHEMERAL, "--write", t.away + "/f"))
             .ended(125).err, "is not a directory")
    t.inside("true", options=(*EPHEMERAL, "--tier", "landlock")).ended(125)
    os.makedirs(t.dir + "/mounted")
    r = t.outside(need("unshare"), "-Urm", "sh", "-c",
                  'mount -t tmpfs none mounted && exec "$@"', "sh", CLOCHE,
                  "run", *EPHEMERAL, "--", "touch", "ran").ended(125)
    contains(r.err, "--ephemeral does not work here")
    check(not t.exists("ran"), "it ran")


@as_root    # Only root may duplicate another process's descriptor
def an_inherited_lock_descriptor_does_not_prolong_a_run(t):
    """As the gate and the keeper have, which may end after it"""
    p = t.start("run", *EPHEMERAL, "--", "sh", "-c", "echo x > f; echo up; read x")
    equal(p.stdout.readline(), b"up\n")
    held = [int(fd) for fd in os.listdir(f"/proc/{p.pid}/fd")
            if "/cloche/staged/" in os.readlink(f"/proc/{p.pid}/fd/{fd}")]
    check(held, "nothing of the store is open")
    for fd in held:     # The lock, and /tmp
        check(ctypes.CDLL(None).syscall(PIDFD_GETFD, os.pidfd_open(p.pid), fd, 0) >= 0)
    p.communicate(b"\n", timeout=120)
    t.run("discard").ok()
    equal(diff(t), [])


@test
def a_killed_ephemeral_run_leaves_only_its_staged_changes(t):
    fill(t)
    before = tree(t.dir)
    with t.start("run", *EPHEMERAL, "--", "sh", "-c",
                 "echo x > added; echo ready; exec sleep 1000") as run:
        equal(run.stdout.readline(), b"ready\n")
        t.shell("true", options=EPHEMERAL).ended(125)
        run.kill()
        run.communicate()
    equal(tree(t.dir), before)
    wait_until(lambda: t.run("diff").code == 0 and diff(t) == ["A added"],
               "the changes are there")


@test
def apply_reports_a_path_without_changes(t):
    t.shell("echo a > a", options=("--ephemeral",)).ok()
    for verb in ("diff", "apply", "discard"):
        r = t.run(verb, "a", "nowhere").ended(1)
        contains(r.err, "/nowhere'")
        contains(t.run(verb, "").ended(2).err, "a PATH is empty")
    for words in (("discard", "--force"), ("apply", "--json"),
                  ("diff", "--force")):
        contains(t.run(*words).ended(2).err, "unknown option")
    check(not t.exists("a"), "applied with a name that is wrong")
    contains(t.run("diff").ok().out, "A a")
    equal(t.run("diff", "--json", "--json").ok().out,
          t.run("diff", "--json").ok().out)


main()
