# SPDX-License-Identifier: Apache-2.0
"""tests/live/many-rules.py - policies with hundreds of rules"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *


def many(t, **lists):
    """Rules for so many paths that they are bound from a copy of the world"""
    for i in range(200):
        t.write(f"{t.dir}/d/{i}", "old\n")
        t.write(f"{t.away}/d/{i}/f", "old\n")
    for path in ("d/free", "d/hidden", "z/free", "z/denied"):
        t.write(f"{t.dir}/{path}", "old\n")
    return t.write(t.away + "/settings.json", json.dumps({
        "filesystem": lists, "network": {"allowedDomains": []}}))


def mounts(r):
    """{where: "ro" or "rw"} of the mountinfo in what a command printed; the copy
    is not there
    """
    lines = [line.split() for line in r.out.splitlines() if " - " in line]
    found = {line[4]: line[5].split(",")[0] for line in lines}
    check("/proc" in found, r)
    lacks(r.out, "/twin")
    return found


@test
def two_hundred_denied_files_cannot_be_changed(t):
    names = [f"{t.dir}/d/{i}" for i in range(200)]
    os.symlink("d/0", t.dir + "/link")
    file = many(t, allowWrite=[t.dir], denyRead=[t.dir + "/d/hidden"],
                denyWrite=[*names, t.dir + "/z/denied", t.dir + "/link"])
    r = t.shell("for f in d/* z/* link; do echo new > $f; done; mv d e; mv z y; "
                "rm link; exec cat d/hidden /proc/self/mountinfo",
                options=["-s", file])
    lacks(r.out, "old\n")
    found = mounts(r)
    for path in names:
        equal(found[path], "ro", path)
    equal(found[t.dir + "/d"], "rw")
    for path in (*names, t.dir + "/z/denied"):
        equal(t.read(path), "old\n", path)
    for path in (t.dir + "/d/free", t.dir + "/z/free"):
        equal(t.read(path), "new\n", path)
    check(os.path.islink(t.dir + "/link"))


@test
def many_roots_and_shown_paths_in_a_hidden_directory_work(t):
    roots = [f"{t.away}/d/{i}" for i in range(0, 80)]
    shown = [f"{t.away}/d/{i}" for i in range(80, 160)]
    file = many(t, allowWrite=[t.dir, *roots], denyRead=[t.away + "/d"],
                allowRead=shown)
    r = t.shell(f"for f in {t.away}/d/*/f; do echo new > $f; done; "
                f"cat {t.away}/d/*/f; cat {t.away}/d/170/f /proc/self/mountinfo; "
                f"echo x > {t.away}/x", options=["-s", file])
    found = mounts(r)
    for path in roots:
        equal(found[path], "rw", path)
    for path in shown:		# Landlock alone would hold, too
        equal(found[path], "ro", path)
    equal(r.out.count("new\n"), 80)
    equal(r.out.count("old\n"), 80)
    for i in range(200):
        equal(t.read(f"{t.away}/d/{i}/f"), "new\n" if i < 80 else "old\n", i)
    check(not t.exists(t.away + "/x"))


@test
def a_directory_with_too_many_names_is_not_moved_away_from_a_pattern(t):
    """Any of them may be what it denies"""
    limit = 1 << 16
    os.makedirs("in/conf")
    for i in range(limit - 1):
        os.mknod(f"in/conf/{i}")
    rule = json.dumps({"filesystem": {"denyWrite": ["**/conf/**/x.ini"]}})
    t.inside("mv", "in/conf", "in/other", options=("-s", rule)).ok()
    os.rename("in/other", "in/conf")
    os.mknod("in/conf/last")
    t.inside("mv", "in/conf", "in/other", options=("-s", rule)).ended(1)
    equal(os.listdir("in"), ["conf"])


main()
