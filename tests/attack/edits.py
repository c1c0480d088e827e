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
def what_was_away_when_it_was_closed_is_closed_when_it_is_back(t):
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
            check(not moves(inside, "a", "moved"))
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
def a_link_that_stands_there_for_the_moment_of_an_edit_opens_nothing(t):
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


@test
def who_asks_without_end_does_not_keep_an_edit_from_counting(t):
    """Hidden names that are read, refused names and new ones that are made"""
    ssh = t.home + "/.ssh"
    t.write(ssh + "/id_rsa", "KEY")
    path = t.write(t.away + "/file", "text")
    for options in (*WAYS, ["--observe", "full"]):
        edit(t, allowWrite=[t.away])
        inside = Inside(t, *options)
        equal(inside.ask("flood", ssh), "flooding")
        for _ in range(3):
            equal(inside.ask("until", path, "text"), "text", "the control")
            edit(t, denyRead=[path], allowWrite=[t.away])
            equal(inside.ask("until", path, "hidden"), "hidden")
            edit(t, allowWrite=[t.away])
        equal(inside.ask("until", path, "text"), "text")
        edit(t)
        equal(inside.ask("refused", path), "refused")
        with open(path, "w") as file:
            file.write("text")
        inside.end()


# Swaps names for ever, tells what it reads, each new text once, and "closed" when all
# of the last are mounts. Given are what to swap, by pairs; what to read; and those
SWAPS = r"""
import ctypes, sys, threading
pairs, paths, closed = (words.split() for words in sys.argv[1:4])
libc = ctypes.CDLL(None)
def swap():
    while True:
        for a, b in zip(pairs[::2], pairs[1::2]):	# RENAME_EXCHANGE
            libc.renameat2(-100, a.encode(), -100, b.encode(), 2)
def mounts():
    with open("/proc/self/mountinfo") as file:
        return {line.split()[4] for line in file}
threading.Thread(target=swap, daemon=True).start()
print("ready", flush=True)
seen, was = set(), False
while True:
    now = mounts().issuperset(closed)
    if now and not was: print("closed", flush=True); seen = set()
    was = now
    for path in paths:
        try:
            with open(path) as file: text = path + "=" + file.read()
        except OSError: continue
        if text not in seen: print(text, flush=True); seen.add(text)
"""


def swapping(t, pairs, paths, closed, *options):
    """A command that does that"""
    t.write("swaps.py", SWAPS)
    p = t.start("run", *options, "--", "python3", "swaps.py", " ".join(pairs),
                " ".join(paths), " ".join(closed))
    equal(p.stdout.readline(), b"ready\n")
    return p


def hear(p, want):
    """What it says until it says @want"""
    heard = set()
    while (line := p.stdout.readline().decode().strip()) != want:
        check(line, "it ended", p.stderr.read)
        lacks(line, "SECRET")
        heard.add(line)
    return heard


@test
def directories_that_are_swapped_while_a_mask_comes_off_show_nothing(t):
    """Of two that are hidden one is shown; the other one is not, under no name"""
    paths = [f"{d}/key" for d in ("p", "q")]
    both = [f"{t.dir}/{d}/key" for d in ("p", "q")]
    for options in WAYS:
        for path in both:
            t.write(path, "old")
        edit(t)
        p = swapping(t, ("p", "q"), paths, both, *options)
        heard = set()
        for _ in range(long(20, 200)):
            edit(t, denyRead=both)
            heard |= hear(p, "closed")
            for path, text in zip(both, ("SECRET", "OPEN")):
                with open(path, "w") as file:
                    file.write(text)
            edit(t, denyRead=both[:1])
            heard |= hear(p, "q/key=OPEN")
        p.kill()
        heard |= set(p.communicate()[0].decode().split())
        check("p/key=old" in heard or "q/key=old" in heard, "the control", heard)
        check(not any("SECRET" in line for line in heard), heard)


if __name__ == "__main__":
    main()
