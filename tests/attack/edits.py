# SPDX-License-Identifier: Apache-2.0
"""tests/attack/edits.py - a running command tries to evade an edit that revokes access"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from edited import *

WAYS = ([], ["--observe", "off"])


@test
def a_write_denial_is_reapplied_when_a_moved_file_returns(t):
    """A command could move it for the moment of an edit"""
    for options in WAYS:
        t.write("a/file", "text")
        mark = t.write(t.away + "/mark", "text")
        edit(t)
        inside = Inside(t, *options)
        equal(inside.ask("put", "a/file"), "1", "the control")
        for way in ("a/file kept", "kept a/file", "a/file kept"):
            equal(inside.ask("move", *way.split()), "moved")
        edit(t, denyWrite=[t.dir + "/a/file"], denyRead=[mark])
        equal(inside.ask("until", mark, "hidden"), "hidden")
        if inside.ask("move", "kept", "a/file") == "moved":
            equal(inside.ask("refused", "a/file"), "refused")
        else:
            equal(options, [], "the observer refuses the name")
        inside.end()


def swap_links(t, inside, rule, path):
    """While a link is where a directory was, @path in that is closed"""
    refused = ("until", "hidden") if rule == "denyRead" else ("refused",)
    shut = lambda name: inside.ask(refused[0], name, *refused[1:])
    equal(inside.ask("put", path), "1", "the control")
    for way in ("d kept", "link d"):
        equal(inside.ask("move", *way.split()), "moved")
    edit(t, **{rule: [t.dir + "/" + path]})
    equal(shut(path), refused[-1], "where the link leads")
    back = inside.ask("move", "d", "link") == "moved"
    if not back:
        os.rename(t.dir + "/d", t.dir + "/link")
    if not back or inside.ask("move", "kept", "d") != "moved":
        os.rename(t.dir + "/kept", t.dir + "/d")
    equal(shut(path), refused[-1], "back again")
    equal(inside.ask("put", "d/other"), "1", "the control")


@test
def a_symlink_swapped_in_during_an_edit_grants_nothing(t):
    """The rule is for where it leads; and for the name, when the link is gone"""
    for options in (*WAYS, ["--observe", "full"]):
        for rule in ("denyRead", "denyWrite"):
            for path in ("d/key", "d/deep/key"):
                for name in (path, "d/other", "elsewhere" + path[1:]):
                    t.write(name, "text")
                os.symlink("elsewhere", t.dir + "/link")
                edit(t)
                inside = Inside(t, *options)
                swap_links(t, inside, rule, path)
                inside.end()
                os.unlink(t.dir + "/link")


@test
def an_edit_applies_in_a_working_directory_below_a_pin(t):
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


@test
def a_flood_of_calls_does_not_delay_an_edit(t):
    """Hidden names that are read, refused names and new ones that are made"""
    ssh = t.home + "/.ssh"
    t.write(ssh + "/id_rsa", "KEY")
    for options in (*WAYS, ["--observe", "full"]):
        edit(t, allowWrite=[t.away])
        inside = Inside(t, *options)
        equal(inside.ask("flood", ssh), "flooding")
        for n in range(3):
            path = t.write(f"{t.away}/file{n}", "text")
            equal(inside.ask("get", path), "text", "the control")
            edit(t, denyRead=[path], allowWrite=[t.away])
            equal(inside.ask("until", path, "hidden"), "hidden")
        edit(t)
        equal(inside.ask("refused", t.away + "/other"), "refused")
        inside.end()


if __name__ == "__main__":
    main()
