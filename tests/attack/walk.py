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
def protected_names_at_any_depth_are_held_by_mounts(t):
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
def many_names_hide_nothing(t):
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
def a_path_that_is_too_long_is_not_passed_over(t):
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
def another_name_of_a_denied_file_is_denied(t):
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


main()
