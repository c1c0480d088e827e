# SPDX-License-Identifier: Apache-2.0
"""tests/attack/edits.py - ways around what an edit closes while a command runs"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from edited import *

WAYS = ([], ["--observe", "off"])


def moves(inside, path, to):
    """And back"""
    return inside.ask("move", path, to) == "moved" and \
        equal(inside.ask("move", to, path), "moved") is None


@test
def what_leads_to_a_path_that_is_closed_stays_in_place(t):
    """Or the command could put something else where it was"""
    for options in WAYS:
        t.write("a/b/file", "text")
        t.write("free/file", "text")
        edit(t)
        inside = Inside(t, *options)
        for way in ("a moved", "moved a", "a/b away", "away a/b"):
            equal(inside.ask("move", *way.split()), "moved", "the control")
        edit(t, denyWrite=[t.dir + "/a/b/file"])
        equal(inside.ask("refused", "a/b/file"), "refused")
        for way in ("a moved", "a/b away", "a free/a"):
            check(inside.ask("move", *way.split()) != "moved", way, options)
        equal(inside.ask("move", "free", "free2"), "moved", "the control")
        edit(t)
        wait_until(lambda: moves(inside, "a", "moved"), "a is free again")
        inside.end()
        os.rename(t.dir + "/free2", t.dir + "/free")


@test
def who_works_there_is_not_left_behind(t):
    """By what holds a directory in place: the next edit counts for him as well"""
    for options in WAYS:
        t.write("a/b/file", "text")
        t.write("a/b/other", "text")
        edit(t)
        inside = Inside(t, *options)
        equal(inside.ask("go", "a"), "there")
        rules = dict(denyWrite=[t.dir + "/a/b/file"])
        edit(t, **rules)
        equal(inside.ask("refused", "b/file"), "refused")
        equal(inside.ask("get", "b/other"), "text", "the control")
        edit(t, denyRead=[t.dir + "/a/b/other"], **rules)
        equal(inside.ask("until", "b/other", "hidden"), "hidden")
        inside.end()


if __name__ == "__main__":
    main()
