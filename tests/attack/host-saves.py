# SPDX-License-Identifier: Apache-2.0
"""tests/attack/host-saves.py - a loop inside reads what is hidden while the host saves it

A rename over a masked file takes the mask away until the keeper has put it back.
"""

import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import *

LOOP = r"""
import os, sys
paths, stop = sys.argv[2:], sys.argv[1]
print("ready", flush=True)
tries = 0
while not tries or not os.path.exists(stop):
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


@test
def a_host_file_beside_a_hidden_one_is_reported_when_unreadable(t):
    """Landlock has no rule for it, so a command that needs it fails"""
    for hidden in (False, True):
        if hidden:
            t.write(t.home + "/.netrc", "SECRET")
        p = t.start("run", "--", "sh", "-c", "echo ready; read x; cat ~/new")
        equal(p.stdout.readline(), b"ready\n")
        by_rename(t.home + "/new", "new")
        out, err = p.communicate(b"\n")
        equal((out, p.returncode), (b"", 1) if hidden else (b"new", 0))
        equal(b"could not: ~/new\n" in err, hidden, err)
        os.unlink(t.home + "/new")


@test
def a_hidden_file_of_the_project_that_the_host_saves_is_not_read_by_name(t):
    """Landlock cannot tell it from what the command makes: the observer can"""
    need("git")
    paths = [t.dir + "/.env", t.dir + "/sub/.env"]
    hide = ("--deny-read", paths[0], "--deny-read", paths[1])
    for way in (by_rename, by_truncation, by_backup, by_git):
        equal(saved(t, paths, long(25, 250), way, *hide), 0, way.__name__)
    check(saved(t, paths, 25, by_rename, "--observe", "off", *hide),
          "the control")


def by_making(path, text):
    os.unlink(path)
    by_truncation(path, text)


@test
def editor_copies_of_a_hidden_file_are_not_readable(t):
    """Under these names its content is before a save, during it, or after it"""
    names = (".env~", ".env.swp", "#.env#", ".env.lock", ".env.tmp")
    copies = [f"{t.dir}/{name}" for name in names]
    others = [t.home + "/.netrc~", t.home + "/..netrc.swp"]
    hide = ("--deny-read", t.write(t.dir + "/.env", "SECRET"))
    for path in others:
        t.write(path, "SECRET")
    script = "for i; do cat $i >/dev/null 2>&1 && echo $i; done; :"
    for hidden in (False, True):
        if hidden:
            t.write(t.home + "/.netrc", "SECRET")
        for path in copies:
            t.write(path, "SECRET")
        r = t.inside("sh", "-c", script, "sh", *copies, *others,
                     options=hide if hidden else ())
        equal(r.out.split(), [] if hidden else copies + others)
    for path in copies:         # New ones have no mount yet
        os.unlink(path)
    r = t.inside("sh", "-c", f"for i; do echo x > $i; done; {script}", "sh", *copies,
                 options=hide)
    equal(r.out, "")
    for way in (by_making, by_rename):
        equal(saved(t, copies, long(25, 250), way, *hide), 0, way.__name__)


OTHERWISE = r"""
import os, stat, sys
stop, path = sys.argv[1:]
top, name = os.path.split(path)
os.symlink(path, "link")
deep = "x" * 250
at = os.open(top, os.O_RDONLY)
for _ in range(17):
    os.mkdir(deep, dir_fd=at)
    at = os.open(deep, os.O_RDONLY, dir_fd=at)
found, kept = set(), []
def look(way, *args, **more):
    try: fd = os.open(*args, **more)
    except OSError: return
    text = b""
    if not args[1] & os.O_PATH: text = os.read(fd, 100)
    elif stat.S_ISREG(os.fstat(fd).st_mode): kept.append(fd)
    if b"SECRET" in text: found.add(way)
    if not kept or kept[-1] != fd: os.close(fd)
print("ready", flush=True)
while not os.path.exists(stop):
    for _ in range(100):
        look("", path, os.O_PATH)
        look("", f"/proc/{os.getpid()}/cwd/{name}", os.O_PATH)
        look("another process's link", f"/proc/{os.getpid()}/cwd/link", os.O_RDONLY)
        look("a thread's link", f"/proc/self/task/{os.getpid()}/cwd/{name}", os.O_RDONLY)
        look("up from /proc", f"/proc/self/../..{path}", os.O_RDONLY)
        look("too long", "../" * 17 + name, os.O_RDONLY, dir_fd=at)
        if not kept: continue
        fd = kept.pop(0)
        look("what it was, by its number", f"/proc/self/fd/{fd}", os.O_RDONLY)
        kept.append(fd) if len(kept) < 50 else os.close(fd)
print("tries", sorted(found))
"""


@test
def a_hidden_project_file_is_not_readable_by_unusual_opens(t):
    """What the observer cannot look up does not go on, nor a descriptor of a path"""
    path = t.write(t.dir + "/.env", "SECRET")
    for options in ((), ("--observe", "full"), ("--observe", "off")):
        stop = t.dir + "/stop"
        p = t.start("run", "--quiet", *options, "--deny-read", path, "--",
                    "/usr/bin/python3", "-c", OTHERWISE, stop, path)
        equal(p.stdout.readline(), b"ready\n")
        for i in range(long(50, 1000)):
            by_rename(path, f"SECRET {i}")
        t.write(stop)
        out, err = p.communicate()
        contains(out, b"tries", err)
        if "off" in options:
            contains(out, b"number", "the control")
        else:
            equal(out, b"tries []\n", options)
        t.outside("sh", "-c", "rm -rf x* link stop").ok()


LOCK = r"""
import os, sys
stop, evil = sys.argv[1], b"[core]\n\tfsmonitor = EVIL\n"
lock, tries = ".git/config.lock", 0
def write(flags):
    fd = os.open(lock, flags)
    os.write(fd, evil)
    os.close(fd)
def replace():
    with open("evil", "wb") as file: file.write(evil)
    os.rename("evil", lock)
def remove():
    if os.stat(lock): os.unlink(lock)
    write(os.O_WRONLY | os.O_CREAT)
ways = (lambda: write(os.O_WRONLY | os.O_APPEND),
        lambda: write(os.O_WRONLY | os.O_APPEND | os.O_CREAT), replace, remove,
        lambda: os.link(lock, "name"), lambda: os.unlink(lock))
print("ready", flush=True)
while not tries or not os.path.exists(stop):
    for way in ways[:int(sys.argv[2])] * 20:
        tries += 1
        try: way()
        except OSError: pass
print("tries", tries)
"""


@test
def git_lock_files_of_the_host_cannot_be_written(t):
    """The new .git/config is .git/config.lock first, which no mount holds"""
    need("git")
    for ways, options in ((1, ()), (6, ()), (6, ("--tier", "landlock")),
                          (1, ("--observe", "off"))):
        t.outside("sh", "-c", "rm -rf .git evil name stop; git init -q .").ok()
        stop = t.dir + "/stop"
        p = t.start("run", "--quiet", *options, "--", "/usr/bin/python3", "-c",
                    LOCK, stop, str(ways))
        equal(p.stdout.readline(), b"ready\n")
        worked, evil, saves = 0, False, 0
        # The control: a save succeeds; without an observer the lock is used
        while saves < long(60, 600) or saves < 3000 and (
                not worked or "off" in options and not evil):
            saves += 1
            # A lock of the command's stops git, which advises the user to remove it
            worked += subprocess.run(
                f"git config a.b {saves} || {{ rm -f .git/config.lock; false; }}",
                shell=True, stderr=subprocess.DEVNULL).returncode == 0
            evil = evil or "EVIL" in t.read(".git/config")
        t.write(stop)
        out, err = p.communicate()
        contains(out, b"tries", err)
        equal(evil, "off" in options, options, "after", worked, "saves")
        check(worked, "none was saved")
    # The command's own
    t.outside("sh", "-c", "rm -rf .git stop; git init -q .").ok()
    r = t.inside("sh", "-c", "git config branch.x.remote origin; git config a.b c; "
                 "git config branch.x.remote").ok()
    equal(r.out, "origin\n")
    check(not t.exists(".git/config.lock"))


OPEN = r"""
import os, sys
path = sys.argv[1]
print("ready", flush=True)
while True:
    try: fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    except OSError: continue
    break
print(os.fstat(fd).st_ino, flush=True)
sys.stdin.readline()
os.write(fd, b"OWNED")
print("written", flush=True)
sys.stdin.readline()
while True:
    try: os.close(os.open(path, os.O_WRONLY))
    except OSError: break
"""


def opened(t, path, events):
    """Save @path until a loop inside has it open for writing; and what it holds"""
    t.write(events, "")
    p = t.start("run", "--observe", "off", "--events", events, "--", "/usr/bin/python3", "-c",
                OPEN, path)
    equal(p.stdout.readline(), b"ready\n")
    lines, saves = [], 0
    reader = threading.Thread(target=lambda: lines.append(p.stdout.readline()))
    reader.start()
    while not lines:
        saves += 1
        by_rename(path, f"mine {saves}")
    reader.join()
    if int(lines[0]) == os.stat(path).st_ino:
        return p, f"mine {saves}"
    p.communicate(b"\n")	# It was too late to stop, and was saved once more
    return opened(t, path, events)


@test
def an_open_descriptor_cannot_change_a_saved_file(t):
    """The host's rename takes the mount away; until it is back the file opens"""
    path = t.write(t.dir + "/.envrc", "mine")
    events = t.away + "/events"
    p, text = opened(t, path, events)
    wait_until(lambda: path in t.read(events), "it is reported")
    _, err = p.communicate(b"\n")
    equal(t.read(".envrc"), text, err)
    contains(err, b"compare it with what you saved")
    contains(err, b"by a command that had it open")
    fix = [v["suggest"]["command"] for v in records(t, "--kind", "quarantine")]
    t.run(*fix[-1].split()[1:]).ok()
    equal(t.read(".envrc"), text + "OWNED", "the control: that is what it wrote")


@test
def a_second_save_does_not_legitimise_a_planted_one(t):
    """Of two saves the first may get its mount after the second, and the command have
    written to that meanwhile"""
    path, events = t.write(t.dir + "/.envrc", "mine"), t.away + "/events"
    p, text = opened(t, path, events)
    wait_until(lambda: path in t.read(events), "it is reported")
    p.stdin.write(b"\n")
    p.stdin.flush()
    equal(p.stdout.readline(), b"written\n")
    equal(t.read(".envrc"), text + "OWNED", "the control")
    os.link(path, path + "~")           # Another name of the same file
    os.unlink(path)
    os.rename(path + "~", path)
    _, err = p.communicate(b"\n")
    equal(t.read(".envrc"), text, err)


@test
def a_slow_save_by_the_host_is_not_quarantined(t):
    """An editor makes the file anew, and has it open itself when the mount comes"""
    path = t.write(t.dir + "/.envrc", "mine")
    p = t.start("run", "--", "sh", "-c", "echo ready; while test ! -e stop; do "
                "(: >> .envrc) 2>/dev/null || echo refused; done")
    equal(p.stdout.readline(), b"ready\n")
    os.rename(path, path + "~")
    with open(path, "w") as file:
        for part in "one ", "two":
            file.write(part)
            file.flush()
            for _ in range(20):		# Also of the new file
                equal(p.stdout.readline(), b"refused\n")
    t.write("stop")
    _, err = p.communicate()
    equal(t.read(".envrc"), "one two", err)
    lacks(err, b"compare it")
    lacks(err, b"quarantine")


if __name__ == "__main__":
    main()
