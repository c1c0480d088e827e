# SPDX-License-Identifier: Apache-2.0
"""tests/attack/git.py - what git would run later, left behind by a command"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

RUN = "touch OWNED;:"
ME = ("-c", "user.name=a", "-c", "user.email=a@example.org")
FILE = ("-c", "protocol.file.allow=always")


def git(t, *argv, cwd=None):
    return t.outside("git", *ME, *FILE, *argv, cwd=cwd)


def repository(t, path, *files):
    os.makedirs(os.path.join(t.dir, path), exist_ok=True)
    git(t, "init", "-q", "-b", "main", cwd=path).ok()
    for name in files:
        t.write(f"{path}/{name}", "mine\n")
    git(t, "add", "-A", cwd=path).ok()
    git(t, "commit", "-q", "--allow-empty", "-m", "x", cwd=path).ok()
    return os.path.join(t.dir, path)


@test
def settings_that_are_not_known_do_not_survive(t):
    need("git")
    make = f"""git init -q $1 && cd $1 && git config alias.st \
"-c core.fsmonitor='{RUN}' status" && git config gc.recentObjectsHook '{RUN}' &&
git config lfs.customtransfer.x.path '{RUN}' && git config new.key x &&
git config user.name a && git remote add o https://example.org/a.git"""
    t.outside("sh", "-ec", make, "sh", "out").ok()
    t.outside("git", "-C", "out", "st").ok()
    check(t.exists("out/OWNED"), "the control")
    t.inside("sh", "-ec", make, "sh", "in").ok()
    t.outside("git", "-C", "in", "st")
    t.outside("git", "-C", "in", "gc", "-q").ok()
    check(not t.exists("in/OWNED"))
    text = t.read("in/.git/config")
    for key in ("alias", "recentObjectsHook", "customtransfer", "new"):
        contains(t.read("out/.git/config"), key)
        lacks(text.replace("[alias]", "").replace("[new]", "").replace(
            '[lfs "customtransfer.x"]', ""), key)
    contains(text, "https://example.org/a.git")
    contains(text, "name = a")


@test
def core_worktree_stays_only_where_it_points_back(t):
    """A submodule made inside raises no alarm; one that leads elsewhere does"""
    need("git")
    sub = repository(t, "sub", "f")
    add = (f"git init -q $1 && cd $1 && git {' '.join(FILE)} submodule --quiet "
           f"add {sub} lib/one && git {' '.join(ME)} commit -qm x && "
           "git submodule status")
    r = t.inside("sh", "-ec", add, "sh", "good").ok()
    lacks(r.err, "quarantine")
    git(t, "status", cwd="good/lib/one").ok()
    contains(t.read("good/.git/modules/lib/one/config"), "worktree")
    home = t.write(t.home + "/victim", "mine\n")
    r = t.inside("sh", "-ec", add + f"; git -C lib/one config core.worktree "
                 f"{os.path.dirname(home)}", "sh", "bad").ok()
    lacks(t.read("bad/.git/modules/lib/one/config"), "worktree")


main()
