# SPDX-License-Identifier: Apache-2.0
"""tests/attack/walk.py - what is protected before the command starts

Without the observer, so that only the mounts hold it: at any depth, however many
names lie around it, and by whichever name.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

DEEP = "/".join("abcdefghijklmnop")
BLIND = ("--observe", "off")


def writes(t, *paths, options=BLIND, cwd=None):
    """Which of @paths, existing files, a command can change"""
    before = [t.read(os.path.join(cwd or t.dir, p)) for p in paths]
    t.shell("for i in " + " ".join(f"'{p}'" for p in paths) +
            "; do echo changed >> $i; done 2>/dev/null; true", options=options,
            cwd=cwd)
    return [p for p, old in zip(paths, before)
            if t.read(os.path.join(cwd or t.dir, p)) != old]


@test
def protected_names_at_any_depth_are_read_only(t):
    t.outside("git", "init", "-q", DEEP + "/repo").ok()
    held = [f"{DEEP}/repo/.git/config", f"{DEEP}/.envrc",
            f"{DEEP}/.hg/hgrc", f"{DEEP}/x.code-workspace",
            f"{DEEP}/opencode.json", f"{DEEP}/.vscode/tasks.json"]
    for path in held[1:]:
        t.write(path, "mine\n")
    free = [t.write(f"{DEEP}/plain", "mine\n"),
            t.write(f"{DEEP}/.cargo/config.toml", "mine\n")]
    equal(writes(t, *held, *free), free)
    r = t.shell(f"mv a/b a/z; echo x > {DEEP}/repo/.git/hooks/pre-commit",
                options=BLIND)
    check(r.code and not t.exists("a/z"), repr(r))
    check(not t.exists(f"{DEEP}/repo/.git/hooks/pre-commit"))


@test
def a_directory_with_too_many_names_becomes_read_only(t):
    """The directory with too many is read-only, others are looked into; too
    many altogether is no run
    """
    t.write("many/deep/.envrc", "mine\n")
    t.write("z/y/x/.envrc", "mine\n")
    for i in range(300):
        t.write(f"many/{i}")
    limit = ("--search-limit", "1000")
    equal(writes(t, "many/deep/.envrc", "z/y/x/.envrc", "many/1"), ["many/1"])
    equal(writes(t, "many/deep/.envrc", "z/y/x/.envrc", "many/1",
                 options=(*BLIND, *limit)), [])
    r = t.shell("echo x > new", options=(*BLIND, *limit)).ok()
    contains(r.err, f"'{t.dir}/many' is read-only")
    contains(r.err, "--search-limit")
    for i in range(300):
        t.write(f"some/{i % 10}/{i}")
    for top in (t.dir + "/some", t.dir + "/many"):
        r = t.shell("echo ran", options=(*BLIND, "--search-limit", "200"),
                    cwd=top).ended(125)
        contains(r.err, top)
        contains(r.err, "--search-limit")
        equal(r.out, "")


@test
def protected_names_below_an_overlong_path_are_protected(t):
    script = """
import os
top = os.getcwd()
os.makedirs("long"); os.chdir("long")
for i in range(25):
    os.mkdir("n" * 200); os.chdir("n" * 200)
open(".envrc", "w").write("mine")
"""
    t.outside("/usr/bin/python3", "-c", script).ok()
    change = """
import os
os.chdir("long")
try:
    for i in range(25):
        os.chdir("n" * 200)
    open(".envrc", "a").write("changed")
    print("changed")
except OSError as e:
    print(e.errno)
"""
    lacks(t.inside("/usr/bin/python3", "-c", change, options=BLIND).out,
          "changed")
    contains(t.outside("/usr/bin/python3", "-c", change).out, "changed")
    t.outside("rm", "-rf", "long").ok()


@test
def a_hard_link_to_a_denied_file_is_denied(t):
    """A hard link that was made before the run"""
    t.write("secret", "key\n")
    t.write("a/b/c/d/.envrc", "mine\n")
    os.link("secret", "a/b/other")
    os.link("a/b/c/d/.envrc", "a/early")
    os.link("a/b/c/d/.envrc", "a/b/c/d/e")
    options = (*BLIND, "--deny-read", t.dir + "/secret")
    equal(t.shell("cat a/b/other", options=BLIND).ok().out, "key\n")
    for name in ("secret", "a/b/other"):
        r = t.shell(f"cat {name}", options=options)
        check(r.code and "key" not in r.out, name, repr(r))
    t.write("control", "mine\n")
    equal(writes(t, "a/early", "a/b/c/d/e", "control"), ["control"])


@test
def a_symlink_of_an_earlier_run_is_refused_as_start_directory(t):
    """The first run replaces a directory of the project by a link; the second
    would have been started where it leads, which is all that is needed to write
    there
    """
    away = os.path.join(t.home, "away")
    t.write(away + "/file", "mine\n")
    t.outside("git", "init", "-q", "repo").ok()
    os.makedirs("repo/sub/real")
    t.shell(f"rmdir sub/real && ln -s {away} sub/real && ln -s sub nested",
            cwd="repo").ok()
    change = f"echo changed > {away}/file; echo ran"
    top = os.path.join(t.dir, "repo")
    for env, options, cwd in (
            ({"PWD": top + "/sub/real"}, (), away),
            ({}, ("--cwd", top + "/sub/real"), t.dir),
            ({}, ("--cwd", "repo/sub/real"), t.dir),
            ({}, ("--cwd", "repo/sub/../sub/real/"), t.dir),
            ({}, ("--write", top + "/sub/real"), top)):
        r = t.shell(change, options=options, cwd=cwd, env=env).ended(125)
        contains(r.err, f"'{top}/sub/real'")
        equal(t.read(away + "/file"), "mine\n", options)
    # A link in the home is the user's, and so is one beside his projects
    os.symlink(away, t.home + "/link")
    os.makedirs(t.home + "/src")
    os.symlink(t.dir + "/repo", t.home + "/src/repo")
    for path in (t.home + "/link", t.home + "/src/repo"):
        t.shell("echo x > new", cwd=os.path.realpath(path),
                env={"PWD": path}).ok()
        t.shell("echo x > new", options=("--cwd", path)).ok()
    t.shell(change, options=("--write", away)).ok()
    equal(t.read(away + "/file"), "changed\n", "the control")


@as_root
def another_mount_of_a_hidden_directory_is_hidden(t):
    """The home at a second place, and a hidden directory alone at a third"""
    t.write(t.home + "/.ssh/id_x", "key\n")
    t.write(t.home + "/.ssh/more/id_y", "key\n")
    t.write(t.home + "/plain", "plain\n")
    for name in ("home", "ssh", "more"):
        os.mkdir(os.path.join(t.dir, name))
    bind = (f"mount --bind {t.home} {t.dir}/home && "
            f"mount --bind {t.home}/.ssh {t.dir}/ssh && "
            f"mount --bind {t.home}/.ssh/more {t.dir}/more && ")
    read = (f"cat {t.dir}/home/plain {t.dir}/home/.ssh/id_x {t.dir}/ssh/id_x "
            f"{t.dir}/more/id_y")
    for options in ((), BLIND):
        command = " ".join((CLOCHE, "run", *options, "--", *read.split()))
        equal(t.outside("unshare", "-m", "sh", "-c", bind + read).out,
              "plain\nkey\nkey\nkey\n")
        equal(t.outside("unshare", "-m", "sh", "-c", bind + command).out,
              "plain\n")


main()
