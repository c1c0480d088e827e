# SPDX-License-Identifier: Apache-2.0
"""tests/attack/fuzz.py - random paths and descriptors against the observer

One thread or four inside make random calls (probe-fuzz.c); the host looks at what is
left: nothing protected was changed or moved from its name, nothing under a
protected name is new, nothing stands where a call was refused. A few seconds, or
ten minutes for one thread and ten for four with CLOCHE_LONG=1. CLOCHE_SEED=N repeats
the calls of a run, though not the order in which the threads make them. Where there
is one, nothing can have got past the observer by a race, so nothing is found in the
end either.
"""

import glob
import json
import os
import random
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

SEED = int(os.environ.get("CLOCHE_SEED") or random.SystemRandom().getrandbits(31))
FILES = {".envrc", ".mcp.json", ".bashrc", ".gitmodules"}
DIRS = {".vscode", ".idea"}
# What was there before: held by mounts, or by Landlock
KEPT = ("fz1/.git/config", "fz1/.git/hooks/pre-commit", "fz1/.envrc", ".mcp.json",
        ".vscode/tasks.json", "fz2/.claude/settings.json", "fzdeep/a/b/c/.envrc",
        "fzdeep/a/b/c/.git/config", "fzdeep/a/b/c/.vscode/tasks.json")
ABOVE = {path[:i] for path in KEPT for i, c in enumerate(path) if c == "/"}
OUTSIDE = ("file", ".envrc", "fz1/file")
UNPROTECT = sorted(FILES | DIRS | {".claude/settings.json"})


def is_protected(path):
    parts = path.split("/")
    return (parts[-1] in FILES or not DIRS.isdisjoint(parts) or
            parts[-2:] == [".claude", "settings.json"])


def snapshot(top):
    """{(device, inode): (path, mode, content)} of all below @top; of directories, which
    the command may change the mode of, only that they are some"""
    found = {}
    for base, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(base, name)
            st = os.lstat(path)
            text = None
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    text = file.read()
            found.setdefault((st.st_dev, st.st_ino), []).append(
                (os.path.relpath(path, top), stat.S_ISDIR(st.st_mode) or st.st_mode,
                 text))
    return found


def lay_out(t):
    top = os.path.join(t.dir, "top")
    for path in KEPT:
        t.write(f"top/{path}", f"the user's {path}\n", 0o644)
    for where in "fz1", "fzdeep/a/b/c":
        t.write(f"top/{where}/.git/HEAD", "ref: refs/heads/main\n")
        for name in "objects", "refs":
            os.makedirs(f"{top}/{where}/.git/{name}", exist_ok=True)
    for name in "hooks", "config":      # As a bare repository has them
        os.makedirs(f"{top}/{name}/fz1")
    for path in OUTSIDE:
        t.write(f"{t.away}/{path}", "outside\n", 0o640)
    return top


def texts(t, kind):
    """The files of cloche's state directory that @kind matches, one line each"""
    found = []
    for path in glob.glob(os.path.join(t.home, ".local/state/cloche", kind)):
        try:
            with open(path) as file:
                found.append(f"{path}: {' '.join(file.read().split())}")
        except FileNotFoundError:       # Of a run that has just ended
            pass
    return found


def times(path):
    """When what stands at @path and what it lies in was made, changed and moved"""
    r = subprocess.run(["stat", "-c", "%n: %F %A birth %w, modified %y, changed %z",
                        path, os.path.dirname(path)], capture_output=True, text=True)
    return (r.stdout + r.stderr).splitlines()


def fuzz(t, top, seed, ms, threads, options):
    """What a run left that it should not have, its events, and what explains it"""
    probe = t.probe()
    events = os.path.join(t.home, "events")
    open(events, "w").close()
    away = snapshot(t.away)
    before = snapshot(top)
    ours = {key: found for key, found in before.items()
            if any(path in KEPT or path in ABOVE for path, _, _ in found)}
    argv = ("run", *options, "--events", events, "--", probe, "fuzz", str(seed),
            str(ms), str(threads), top)
    with t.start(*argv, cwd=top, stdin=subprocess.DEVNULL) as p:
        # It is gone when the run has ended
        journal = wait_until(lambda: texts(t, "journal/*.json") or
                             ["ended"] * (p.poll() is not None), "the journal")
        out, err = p.communicate(timeout=ms // 1000 + 300)
    r = Result(argv, p.returncode, out, err)
    contains(r.out, " calls, ", repr(r))
    note(f"CLOCHE_SEED={seed}, {threads} threads: {r.out.splitlines()[0]}")
    left, wrong = snapshot(top), []
    for key, found in ours.items():
        if left.get(key) != found:
            wrong.append(f"was {found}, is {left.get(key)}")
    for key, found in left.items():
        wrong += [f"new: {path}" for path, _, _ in found
                  if key not in ours and is_protected(path) and
                  "/.git/" not in path]     # No tool of the user runs there
    if snapshot(t.away) != away:
        wrong.append("outside")
    old = {path for found in ours.values() for path, _, _ in found}
    with open(events) as file:
        refused = [json.loads(line) for line in file]
    for event in refused:
        target = event["target"]
        # A link is refused the name ".claude" as well, which a directory may have
        if (event["kind"] == "fs-create" and is_protected(target) and
                os.path.lexists(target) and
                os.path.realpath(os.path.dirname(target)) ==
                os.path.dirname(target) and     # No link to another came there
                os.path.relpath(target, top) not in old):
            wrong.append(f"refused: {target}")
        # A directory that was made in this run may be moved to ".claude": what is
        # in it is found in the end (docs/decisions/visibility.md)
        if (event["kind"] == "quarantine" and threads == 1 and
                "/.claude/" not in target):
            wrong.append(f"found in the end: {target}: {event['reason']}")
    told = [f"{event['kind']}: {event['target']}: {event['reason']}"
            for event in refused if event["kind"] == "quarantine"]
    told += [f"stderr: {line}" for line in r.err.splitlines()]
    if wrong:
        told += journal + texts(t, "quarantine/*/meta.json") + texts(t, "journal/*.json")
        told += [f"{when}: {path} {key[1]}"
                 for when, all in (("before", before), ("there", left))
                 for key, found in all.items() for path, _, _ in found]
        told += [line for words in wrong if words.startswith("new: ")
                 for line in times(os.path.join(top, words[5:]))]
    return wrong, refused, told


def many(t, options):
    top = lay_out(t)
    left, seed = long(4, 1200), SEED     # Half of it with each number of threads
    while left > 0:
        seconds = long(2, 10)
        threads = 1 + seed % 2 * 3
        wrong, refused, told = fuzz(t, top, seed, seconds * 1000, threads,
                                    options)
        for line in told if wrong else ():      # A failure shows only a few lines
            note(line)
        check(not wrong, f"CLOCHE_SEED={seed}, {threads} threads:", "\n".join(wrong))
        check(refused, "nothing was refused")
        left -= seconds
        seed += 1
        # Full trees are slow, and all paths lead into them
        t.outside("sh", "-c", "find . -depth -name 'fz*' ! -path './fz1' "
                  "! -path './fz2' ! -path './fzdeep' -exec rm -rf {} +; :",
                  cwd=top)


@test(timeout=4800)
def random_calls_change_nothing_protected_under_mounts(t):
    many(t, ("--net", "none"))


@test(timeout=4800)
def random_calls_change_nothing_protected_under_landlock(t):
    many(t, ("--net", "none", "--tier", "landlock"))


@test
def random_calls_change_files_without_protection(t):
    """The same calls reach what nothing protects"""
    top = os.path.join(t.dir, "top")
    os.makedirs(f"{top}/fzdeep/a/b/c")
    rules = t.write(t.away + "/s", json.dumps({"sandbox": {"filesystem": {
        "unprotect": UNPROTECT}}}))
    wrong, *_ = fuzz(t, top, SEED, 2000, 4, ("--net", "none", "-s", rules))
    check(any(text.startswith("new: ") for text in wrong), "nothing was made")


main()
