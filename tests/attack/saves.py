# SPDX-License-Identifier: Apache-2.0
"""tests/attack/saves.py - a loop inside reads what is hidden while the host saves it

A rename over a masked file takes the mask away until the keeper has put it back.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import *

LOOP = r"""
import os, sys
paths, stop = sys.argv[2:], sys.argv[1]
print("ready", flush=True)
tries = 0
while not os.path.exists(stop):
    for _ in range(200):
        for path in paths:
            tries += 1
            try: fd = os.open(path, os.O_RDONLY)
            except OSError: continue
            text = os.read(fd, 100)
            os.close(fd)
            if b"SECRET" in text: print("read", path, flush=True)
print("tries", tries)
"""


def by_rename(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def by_truncation(path, text):
    with open(path, "w") as file:
        file.write(text)


def by_backup(path, text):
    """As vim does it: the old file gets another name, a new one is made"""
    os.rename(path, path + "~")
    with open(path, "w") as file:
        file.write(text)
    os.unlink(path + "~")


def by_git(path, text):
    subprocess.run(["git", "config", "-f", path, "a.b", text], check=True)


def saved(t, paths, saves, way, *options):
    """How often a loop inside has read what was saved"""
    for path in paths:
        t.write(path, "SECRET")
    stop = t.dir + "/stop"
    p = t.start("run", "--quiet", *options, "--", "/usr/bin/python3", "-c",
                LOOP, stop, *paths)
    equal(p.stdout.readline(), b"ready\n")
    for i in range(saves):
        for path in paths:
            way(path, f"SECRET {i}")
    t.write(stop)
    out, err = p.communicate()
    os.unlink(stop)
    contains(out, b"tries", err)
    return out.count(b"read ")


@test
def a_hidden_file_that_the_host_saves_is_never_read(t):
    need("git")
    paths = [t.home + "/.netrc", t.home + "/.claude/.credentials.json"]
    for way in (by_rename, by_truncation, by_backup, by_git):
        equal(saved(t, paths, long(25, 250), way), 0, way.__name__)
    other = [t.away + "/other"]		# Nothing is hidden beside it
    check(saved(t, other, 3, by_rename), "the control")


if __name__ == "__main__":
    main()
