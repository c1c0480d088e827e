# SPDX-License-Identifier: Apache-2.0
"""tests/live/hidden-parent.py - a project below a hidden directory"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import *

HIDES = {"denyRead": ["~/"], "allowRead": ["."]}


def move_home(t, rules):
    """The project is deep in the home, all of which is hidden"""
    t.dir = os.path.join(t.home, "src", "project")
    os.makedirs(t.dir, exist_ok=True)
    t.write(".claude/settings.json",
            json.dumps({"sandbox": {"filesystem": rules}}))


@test
def a_read_beside_the_project_is_reported_with_a_suggestion(t):
    need_fuse()
    move_home(t, HIDES)
    npmrc = t.write(t.home + "/.npmrc", "registry")
    r = t.shell("cat ~/.npmrc ~/.none; echo x > kept")
    equal(r.err.count("No such file"), 2, r.err)
    equal(t.read("kept"), "x\n")
    found = records(t)
    equal([(v["kind"], v["target"], v["errno"], v["count"],
            os.path.basename(v["exe"])) for v in found],
          [("fs-read", npmrc, "ENOENT", 1, "cat")])
    contains(found[0]["rule"]["file"], ".claude/settings.json")
    fix = found[0]["suggest"]["command"]
    equal(fix, "cloche policy allow read " + npmrc)
    contains(r.err, f" {fix}\n")


@test
def a_stat_of_a_hidden_path_is_reported_after_a_failure(t):
    need_fuse()
    move_home(t, HIDES)
    t.write(t.home + "/.npmrc", "registry")
    r = t.shell("test -e ~/.npmrc || echo none")
    equal((r.out, r.err), ("none\n", ""))
    equal([v["errno"] for v in records(t)], ["ENOENT"])
    contains(t.shell("test -e ~/.npmrc").err, "refused 1 thing")
    # To open it is to miss it
    contains(t.shell("cat ~/.npmrc; true").err, "refused 1 thing")


# Everything by its whole name, by a short one, up and down, and by links
WORK = r"""
import os, sys
home, here = os.path.expanduser("~"), os.getcwd()
def attempt(call, *args):
    try: call(*args); print("done", *args)
    except OSError as e: print(e.errno, *args)
def put(path):
    with open(path, "w") as file: file.write("x")
os.mkdir("dir"); os.mkdir("shut"); put("shut/in"); os.chmod("shut", 0)
os.symlink(here + "/dir", "whole"); os.symlink("../..", "up")
os.symlink("/etc", "etc"); os.symlink(here + "/dir/loop", "dir/loop")
for path in ("new", "dir/new", "dir/../more", "../project/again",
             "../../src/project/far", "whole/there", "up/src/project/by",
             "dir/../../project/./dir//odd", "whole/../../project/both",
             "etc/no", "dir/none/new", "dir/new/new", "shut/new", "dir/loop",
             ".mcp.json", "dir/.mcp.json", "whole/.vscode/tasks.json",
             ".git/hooks/pre-commit"):
    attempt(put, path)
    attempt(put, here + "/" + path)
for path in (home, home + "/src", here, here + "/..", here + "/dir",
             here + "/made", "up", "up/src"):
    attempt(os.mkdir, path)
attempt(os.rmdir, here + "/made")
attempt(os.rename, here + "/new", here + "/newer")
attempt(os.rename, "dir", "whole/../dir2")
attempt(os.link, here + "/more", "second")
attempt(os.chmod, here, 0o755)
attempt(os.truncate, here + "/../project/far", 0)
attempt(os.unlink, here + "/../../src/project/by")
os.chmod("shut", 0o700)
"""


@test
def file_operations_below_a_hidden_directory_behave_normally(t):
    if os.getuid() == 0:
        global WORK     # A directory that is shut is not shut to root
        WORK = WORK.replace('"shut/new", ', "")
    found = []
    for rules in (HIDES, {}):
        t.outside("rm", "-rf", t.dir)
        move_home(t, rules)
        t.write("work.py", WORK)
        t.outside("git", "init", "-q").ok()
        t.run("violations", "clear").ok()
        r = t.inside("python3", "work.py").ok()
        os.unlink(os.path.join(t.dir, ".claude/settings.json"))
        found.append((r.out.splitlines(), tree(t.dir), sorted(
            (v["kind"], v["target"], v["errno"], v["op"])
            for v in records(t))))
    for hidden, plain in zip(*found):
        equal(hidden, plain)


if __name__ == "__main__":
    main()
