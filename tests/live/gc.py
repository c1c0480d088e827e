# SPDX-License-Identifier: Apache-2.0
"""tests/live/gc.py - cloche gc: removal of the private /tmp of old projects"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

DAY = 24 * 3600


def kept(t):
    """{project: its directory in the state directory}"""
    top = t.home + "/.local/state/cloche/tmp"
    names = os.listdir(top) if os.path.isdir(top) else []
    return {open(f"{top}/{n}/project").read(): f"{top}/{n}" for n in names}


def used_before(t, project, days):
    then = time.time() - days * DAY - 60
    os.utime(kept(t)[project] + "/project", (then, then))


def make(t, *names):
    """Projects that have a file in their /tmp"""
    for name in names:
        os.makedirs(t.home + "/" + name)
        t.shell("mkdir /tmp/d && echo x > /tmp/d/f && chmod 0 /tmp/d",
                cwd=t.home + "/" + name).ok()
    return [t.home + "/" + name for name in names]


def listing(t, *options):
    rows = json.loads(t.run("gc", "--json", *options).ok().out)
    equal(rows["version"], 1)
    return {row["project"]: row["state"] for row in rows["directories"]}


@test
def gc_list_removes_nothing(t):
    new, old = make(t, "new", "old")
    used_before(t, old, 40)
    equal(listing(t, "--list"), {new: "kept", old: "old"})
    equal(sorted(kept(t)), [new, old])
    out = t.run("gc", "--list").ok().out
    contains(out, " 40 d  " + old)


@test
def gc_removes_trees_of_any_depth(t):
    """As deep as paths can be, which is deeper than recursion goes"""
    project, = make(t, "deep")
    t.inside("/usr/bin/python3", "-c", """
import os
os.chdir("/tmp")
for i in range(%d):
    os.mkdir("deeper")
    os.chdir("deeper")
""" % (os.pathconf("/", "PC_PATH_MAX") // 8), cwd=project).ok()
    equal(listing(t, "--all"), {project: "removed"})
    equal(kept(t), {})


@test
def gc_removes_old_and_orphaned_directories(t):
    new, old, gone, almost = make(t, "new", "old", "gone", "almost")
    used_before(t, old, 30)
    used_before(t, almost, 29)
    os.rmdir(gone)
    equal(listing(t), {new: "kept", old: "removed", gone: "removed",
                       almost: "kept"})
    equal(sorted(kept(t)), [almost, new])
    equal(listing(t, "--older-than", "28d"), {new: "kept", almost: "removed"})
    equal(listing(t, "--all"), {new: "removed"})
    equal(kept(t), {})
    # The next run has a new one
    t.shell("test ! -e /tmp/d", cwd=new).ok()


@test
def gc_keeps_directories_in_use(t):
    path, = make(t, "busy")
    with t.start("run", "--cwd", path, "--", "sh", "-c",
                 "echo ready; read x") as run:
        equal(run.stdout.readline(), b"ready\n")
        equal(listing(t, "--all"), {path: "in use"})
        check(os.path.isdir(kept(t)[path]))
        run.kill()
    wait_until(lambda: listing(t, "--all")[path] == "removed", "it goes after it")


@test
def gc_does_not_follow_symlinks(t):
    """The command made what is removed"""
    path, = make(t, "evil")
    mine = t.write(t.home + "/mine/file", "mine")
    t.shell(f"ln -s {t.home}/mine /tmp/l; ln -s {t.home}/mine /tmp/d2",
            cwd=path).ok()
    equal(listing(t, "--all"), {path: "removed"})
    equal(t.read(mine), "mine")


@test
def wrong_usage_is_refused(t):
    make(t, "p")
    for words in (["x"], ["--older-than", "soon"], ["--older-than"]):
        t.run("gc", *words).ended(2)
    equal(len(kept(t)), 1)


main()
