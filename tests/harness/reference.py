# SPDX-License-Identifier: Apache-2.0
"""tests/harness/reference.py - what a policy means, implemented a second time

Written from the specification alone, for the property test to compare with:

* Reading: the deepest rule that covers a path decides. allowRead and
  allowWrite open, denyRead hides; at the same place denyRead wins, except
  that a file is shown again by an allowRead of that very file.
* Writing: an allowWrite covers the path, no denyWrite does at any depth, and
  it may be read.
* A denial through a symbolic link covers the link and what it leads to. An
  allowance through a link that a command could have planted gives nothing
  that the other rules do not give already.
* A hidden directory is empty except for paths that other rules show in it; a
  hidden file exists and cannot be opened.
* A protected path in a writable directory, and every directory above it, cannot
  be renamed.
"""

import os
import stat

LISTS = ("allowWrite", "denyWrite", "allowRead", "denyRead")


def covers(above, path):
    return path == above or path.startswith(above + "/")


def parents(path):
    """path, its parent, ... down to /"""
    while True:
        yield path
        if path == "/":
            return
        path = os.path.dirname(path)


class Reference:
    """A policy over a file system that does not change meanwhile"""

    def __init__(self, policy):
        self.rules = {name: set() for name in LISTS}
        for name in LISTS:
            for path in policy.get(name, ()):
                self._add(name, path)

    def _add(self, name, path):
        real = os.path.realpath(path)
        if name.startswith("deny"):
            above = os.path.realpath(os.path.dirname(path))
            spelled = os.path.join(above, os.path.basename(path))
            self.rules[name] |= {real, spelled}
        elif real == path and os.path.lexists(path):
            self.rules[name].add(path)

    def reads(self, path):
        """May the real @path be read? Whether it is there is not asked"""
        for place in parents(path):
            if place in self.rules["denyRead"]:
                file = os.path.lexists(place) and not os.path.isdir(place)
                return file and place in self.rules["allowRead"]
            if place in self.rules["allowRead"] | self.rules["allowWrite"]:
                return True
        return True

    def writes(self, path):
        return (self.reads(path) and
                any(covers(r, path) for r in self.rules["allowWrite"]) and
                not any(covers(r, path) for r in self.rules["denyWrite"]))

    def _shows_below(self, path):
        """Is something readable below the hidden directory @path?"""
        return any(covers(path, r) and r != path and self.reads(r)
                   for name in ("allowRead", "allowWrite")
                   for r in self.rules[name])

    def visible(self, path):
        """Is something there, at the real @path?"""
        if not os.path.lexists(path):
            return False
        if self.reads(path):
            return True
        above = os.path.dirname(path)
        return self.reads(above) or \
            (self._shows_below(path) and self.visible(above))

    def renames(self, path):
        """True, False, or None where either is fine"""
        if not self.visible(path) or not self.writes(os.path.dirname(path)):
            return False
        below = [r for name in LISTS for r in self.rules[name]
                 if covers(path, r) and os.path.lexists(r)]
        if any(not self.writes(r) for r in below):
            return False
        return None if below else True

    def answer(self, path):
        """The letters of `probe walk`; "?" where either is fine"""
        if not self.visible(path):
            return "------"
        mode = os.lstat(path).st_mode
        real = os.path.realpath(path)
        directory = stat.S_ISDIR(mode)
        if directory:
            opens = True	# A hidden one opens, and is empty
        elif os.path.isdir(real):
            opens = self.visible(real)
        else:
            opens = self.visible(real) and self.reads(real)
        file = os.path.isfile(real) and not directory
        write = file and self.visible(real) and self.writes(real)
        rename = self.renames(path)
        empty = stat.S_ISREG(mode) and not os.path.getsize(path)
        return ("s" + ("r" if opens else "-") + ("w" if write else "-") +
                ("c" if directory and self.writes(path) else "-") +
                ("?" if rename is None else "n" if rename else "-") +
                ("t" if write and empty else "-"))


def agrees(want, got):
    return len(want) == len(got) and all(
        w in ("?", g) for w, g in zip(want, got))
