# SPDX-License-Identifier: Apache-2.0
"""tests/live/revoke.py - what an edit closes is closed in the running sandbox; what it
shows applies to new runs only
"""

import ctypes
import json
import os
import random
import select
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from edited import *

PTRACE_SEIZE, PTRACE_DETACH, PTRACE_O_TRACEEXIT, WALL = 0x4206, 17, 0x40, 1 << 30


@test
def paths_unmasked_by_an_edit_apply_to_the_next_run(t):
    """And the reload says so in one line"""
    need_fuse()
    path = t.write(t.home + "/.netrc", "machine")
    inside = Inside(t)
    equal(inside.ask("get", path), "hidden")
    fix = wait_until(lambda: records(t), "a record")[0]["suggest"]["command"]
    contains(fix, "cloche policy allow read")
    t.outside("sh", "-c", fix.replace("cloche", os.environ["CLOCHE"], 1)).ok()
    equal(inside.p.stderr.readline().decode(),
          "cloche: settings reloaded; applies to new runs only: "
          f"reading '{path}'\n")
    equal(inside.ask("get", path), "hidden")
    inside.end()
    equal(t.inside("cat", path).ok().out, "machine")


@test
def paths_hidden_by_an_edit_are_hidden_at_once(t):
    """A file, a directory, one that is a mount; what was hidden before stays so"""
    paths = [t.write(name, "text") for name in
             (t.away + "/file", t.home + "/d/e/file", t.dir + "/sub/file")]
    hide = [paths[0], t.home + "/d", t.dir + "/sub"]
    for options in ([], ["--observe", "off"]):
        edit(t, denyRead=[t.home + "/other"])
        t.write(t.home + "/other", "text")
        inside = Inside(t, *options, "--write", t.home + "/d")
        for n, path in enumerate(paths):
            equal(inside.ask("get", path), "text", "the control")
            edit(t, denyRead=hide[n:n + 1])
            equal(inside.ask("until", path, "hidden"), "hidden", path)
        for path in paths + [t.home + "/other"]:
            equal(inside.ask("get", path), "hidden", path)
        contains(inside.end(), f"applies to new runs only: reading '{t.home}/other'")


@test
def shown_paths_stay_visible_when_an_edit_hides_their_parent(t):
    """The project lies in what an edit hides, and is as writable as before"""
    key = t.write(t.root + "/key", "text")
    shown = t.write(t.away + "/file", "text")
    t.write(t.dir + "/file", "text")
    for options in ([], ["--observe", "off"]):
        edit(t)
        inside = Inside(t, *options)
        equal(inside.ask("get", key), "text", "the control")
        edit(t, denyRead=[t.root], allowRead=[t.away])
        equal(inside.ask("until", key, "hidden"), "hidden")
        equal(inside.ask("get", shown), "text")
        equal(inside.ask("put", shown), "refused")
        equal(inside.ask("put", t.dir + "/file"), "1")
        inside.end()
    equal(t.read(t.dir + "/file"), "textxx")


OPENED = r"""
import os, sys, time
root, end = sys.argv[1], time.monotonic() + 30
print("ready", flush=True)
while True:
    try: open(root + "/new", "w").close(); break
    except OSError:
        if time.monotonic() > end: raise
        time.sleep(0.001)
fd = os.open(root + "/new", os.O_WRONLY)
os.fchmod(fd, 0o640)
os.mkdir(root + "/dir"); os.rename(root + "/new", root + "/dir/new")
print(oct(os.fstat(fd).st_mode & 0o777))
for call in (lambda: os.setxattr(root + "/.git/config", "user.test", b"x"),
             lambda: os.chmod(root + "/.git/hooks/pre-commit", 0o777),
             lambda: open(root + "/.git/hooks/pre-commit", "w")):
    try: call(); print("done")
    except OSError: print("refused")
print("closed?", flush=True)
sys.stdin.readline()
while time.monotonic() < end:
    try: open(root + "/other", "w")
    except OSError: break
    time.sleep(0.001)
try: open(root + "/other", "w"); print("made")
except OSError: print("refused")
"""


def repository(path):
    """What git would protect, if it were a working tree"""
    for name in ("objects", "refs", "hooks"):
        os.makedirs(f"{path}/.git/{name}")
    for name in ("HEAD", "config", "hooks/pre-commit"):
        with open(f"{path}/.git/{name}", "w") as file:
            file.write("ref: refs/heads/main\n" if name == "HEAD" else "")


@test
def a_path_granted_during_a_run_can_be_written(t):
    """But for the protected names in it; until it is taken back"""
    repository(t.away)
    edit(t)
    p = t.start("run", "--", "python3", "-c", OPENED, t.away,
                stdin=subprocess.PIPE)
    equal(p.stdout.readline(), b"ready\n")
    edit(t, allowWrite=[t.away])
    lines = []
    while (line := p.stdout.readline().decode().strip()) != "closed?":
        lines.append(line)
        check(line, p.stderr.read)
    equal(lines, ["0o640"] + ["refused"] * 3)
    edit(t)
    equal(p.communicate(b"\n")[0], b"refused\n")


@test
def write_grants_apply_to_the_next_run_without_an_observer(t):
    edit(t)
    inside = Inside(t, "--observe", "off")
    edit(t, allowWrite=[t.away])
    equal(inside.p.stderr.readline().decode(),
          "cloche: settings reloaded; applies to new runs only: "
          f"writing '{t.away}'\n")
    equal(inside.ask("put", t.away + "/file"), "refused")
    inside.end()
    # Also if the rule has been there, and another that denied it goes
    path = t.write(t.away + "/file", "text")
    edit(t, denyWrite=[path], allowWrite=[path])
    inside = Inside(t, "--observe", "off")
    edit(t, allowWrite=[path])
    while (line := inside.p.stderr.readline().decode()).find("note:") > 0:
        pass
    contains(line, f"applies to new runs only: writing '{path}'\n")
    inside.end()


@test
def revoked_write_grants_apply_at_once(t):
    """With an observer and without; even where a file is open for writing"""
    root, deep = t.away, t.away + "/kept/deep"
    t.write(deep + "/file", "text")
    for options in ([], ["--observe", "off"]):
        edit(t, allowWrite=[root], denyRead=[deep + "/key"])
        inside = Inside(t, *options)
        for path in (root + "/file", deep + "/file"):
            equal(inside.ask("put", path), "1", path)
        equal(inside.ask("keep", root + "/open"), "kept")
        edit(t, denyRead=[deep + "/key"])
        for path in (root + "/file", deep + "/file"):
            equal(inside.ask("refused", path), "refused", path)
        inside.end()


@test
def rapid_edits_all_apply(t):
    marks = [t.write(t.away + "/" + n, n) for n in ("first", "second")]
    other = t.write(t.away + "/other", "other")
    inside = Inside(t)
    for mark in marks:	# Hidden with the last of them
        for k in range(20):
            edit(t, denyRead=[other] if k % 2 else [])
        edit(t, denyRead=[mark])
        equal(inside.ask("until", mark, "hidden"), "hidden")
    # An edit that the next one overtook may never have been read
    check(inside.ask("get", other) in ("hidden", "other"), "neither")
    inside.end()


@test
def repeated_edits_do_not_accumulate_mounts(t):
    """What was closed stays so by the mount that it has"""
    deep = t.away + "/d/e/file"
    paths = [t.write(path, "text") for path in (t.dir + "/d/file", deep)]
    rules = (dict(denyWrite=[paths[0]], allowWrite=[t.away]),
             dict(denyRead=[os.path.dirname(path) for path in paths]),
             dict(denyRead=[t.away + "/d"], allowRead=[deep]))
    edit(t, allowWrite=[t.away])
    inside, counts = Inside(t), []
    closed = {paths[0], *map(os.path.dirname, paths), t.away + "/d"}
    for n in range(long(6, 100)):
        mark = t.write(f"{t.away}/mark{n % 3}", "text")
        closed.add(mark)
        for rule in rules:
            edit(t, **{**rule, "denyRead": rule.get("denyRead", []) + [mark]})
            equal(inside.ask("until", mark, "hidden"), "hidden")
            edit(t, allowWrite=[t.away])
        counts.append(int(inside.ask("mounts", t.root)))
    note("mounts:", *counts)
    check(counts[-1] <= len(closed), counts)
    inside.end()


WHAT_MAY_BE_DONE = r"""
import json, os, sys
def may(path, flags):
    try: os.close(os.open(path, flags)); return True
    except OSError: return False
for line in sys.stdin:
    print(json.dumps([w + p for p in json.loads(line) for w, flags in
                      (("read ", os.O_RDONLY), ("write ", os.O_APPEND |
                       os.O_WRONLY)) if may(p, flags)]), flush=True)
"""


def follow(t, options, edits, files):
    """A command that runs while settings are edited: what it may do is never more than
    what a new run may; and if it is less, that was told
    """
    asked = (json.dumps(files) + "\n").encode()
    t.write("ask.py", WHAT_MAY_BE_DONE)
    command = ("run", *options, "--", "python3", "ask.py")
    p, words = None, ""

    def got():
        nonlocal words
        p.stdin.write(asked)
        p.stdin.flush()
        answer = set(json.loads(p.stdout.readline()))
        words += (p.stderr.read() or b"").decode()
        return answer

    for number, rules in enumerate(edits):
        edit(t, **rules)
        if not p:
            p = t.start(*command, stdin=subprocess.PIPE)
            os.set_blocking(p.stderr.fileno(), False)
        want = set(json.loads(t.run(*command, stdin=asked).ok().out))
        why = f"{options} {edits[:number + 1]}"
        wait_until(lambda: got() <= want, f"open: {got() - want} {why}")
        wait_until(lambda: got() == want or "new runs" in words,
                   f"hidden without a word: {want - got()} {why}", seconds=20)
    p.communicate()


@test
def successive_edits_equal_the_last_one(t):
    d, one, two, deep = (f"{t.away}/d{n}" for n in
                         ("", "/1", "/2", "/e/3"))
    e = os.path.dirname(deep)
    files = [t.write(path, "text") for path in (one, two, deep)]
    for options in ([], ["--observe", "off"], ["--observe", "full"]):
        for edits in (
                # What is shown in a mask that stays for the sake of another
                [dict(denyRead=[d], allowWrite=[one]), dict(denyRead=[e]),
                 {}, dict(denyRead=[d])],
                [dict(denyRead=[d], allowWrite=[one]),
                 dict(denyRead=[one, deep]),
                 dict(denyRead=[e], allowRead=[deep]), dict(denyRead=[deep])],
                # A mount of its own, opened and closed again with the rest
                [dict(allowWrite=[d], denyWrite=[two]), dict(allowWrite=[d]),
                 {}],
                [dict(allowWrite=[d], denyWrite=[deep]),
                 dict(allowWrite=[d], denyRead=[e], denyWrite=[d]),
                 dict(allowWrite=[d])],
                # A file in what was taken back, and what no rule denies any more
                [dict(allowWrite=[d]), {}, dict(allowWrite=[one])],
                [dict(allowWrite=[one], denyWrite=[d]),
                 dict(allowWrite=[one])],
                # What a mask shows may be written, and the mask was a root
                [dict(allowWrite=[d]), {},
                 dict(denyRead=[d], allowWrite=[e])],
                [dict(allowWrite=[d], denyWrite=[e]),
                 dict(allowWrite=[d], denyRead=[e], allowRead=[deep])],
                [dict(denyRead=[d], allowRead=[one]),
                 dict(denyRead=[d], allowWrite=[one])]):
            follow(t, options, edits, files)


@test
def random_edits_equal_the_last_one(t):
    rng = random.Random(os.environ.get("CLOCHE_SEED", "7"))
    paths = [f"{top}{d}" for top in (t.away, t.dir)
             for d in ("/a", "/a/b", "/a/b/c", "/d")]
    files = [t.write(f"{path}/{n}", "text") for path in paths for n in (1, 2)]
    for _ in range(long(3, 50)):
        options = rng.choice(([], ["--observe", "off"], ["--observe", "full"]))
        follow(t, options, [
            {key: rng.sample(paths + files, rng.randint(0, 3)) for key in
             ("denyRead", "allowRead", "allowWrite", "denyWrite")}
            for _ in range(5)], files)


def children(p):
    with open(f"/proc/{p.pid}/task/{p.pid}/children") as file:
        return {int(pid) for pid in file.read().split()}


def keepers(p):
    """Those of its children that keep mounts; others come and go as well"""
    found = set()
    for pid in children(p):
        try:
            with open(f"/proc/{pid}/comm") as file:
                if file.read() == "cloche-keeper\n":
                    found.add(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


@test
def concurrent_edits_undo_nothing(t):
    """The process that does the first is held up, if it can be caught

    The second edit repeats the first: a reader who comes late sees only that one.
    """
    inside = Inside(t)
    for n in range(5):
        one, two = (t.write(f"{t.away}/{n}{i}/file", "text") for i in "ab")
        both = [one, os.path.dirname(two)]
        equal(inside.ask("get", two), "text")
        before = keepers(inside.p)
        edit(t, denyRead=[one])
        pid = wait_until(lambda: keepers(inside.p) - before, "a keeper").pop()
        try:
            os.kill(pid, signal.SIGSTOP)
            edit(t, denyRead=both)
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            edit(t, denyRead=both)
        for path in (one, two):
            equal(inside.ask("until", path, "hidden"), "hidden")
    inside.end()


def keeper(p, other=None):
    """Its pid; None if none is alive but @other"""
    for pid in children(p) - {other}:
        try:
            with open(f"/proc/{pid}/stat") as file:
                name, state = file.read().split(" ", 3)[1:3]
        except OSError:
            continue
        if name == "(cloche-keeper)" and state != "Z":
            return pid


@test
def a_killed_keeper_is_replaced(t):
    """With what it had to do; and not for ever"""
    edit(t)
    inside = Inside(t)
    for n in range(3):
        path = t.write(f"{t.away}/file{n}", "text")
        os.kill(wait_until(lambda: keeper(inside.p), "a keeper"),
                signal.SIGKILL)
        edit(t, denyRead=[path])
        equal(inside.ask("until", path, "hidden"), "hidden")
    said = ""		# Also what the edits show only in the next run
    while "that the host replaces" not in said:
        if select.select([inside.p.stderr], [], [], 0.02)[0]:
            part = os.read(inside.p.stderr.fileno(), 1 << 16).decode()
            check(part, said)
            said += part
        elif pid := keeper(inside.p):
            os.kill(pid, signal.SIGKILL)
    for line in said.splitlines():
        check("new runs" in line or "that the host replaces" in line, said)
    inside.end()


def ptrace(request, pid, options=0):
    PTRACE = ctypes.CDLL(None, use_errno=True).ptrace
    if PTRACE(request, pid, None, ctypes.c_void_p(options)) < 0:
        skip(f"ptrace: {os.strerror(ctypes.get_errno())}")


def is_waiting(pid):
    with open(f"/proc/{pid}/wchan") as file:
        return "poll" in file.read()


@as_root
def a_keeper_starts_after_the_previous_one_ended(t):
    """Its end takes as long as a debugger likes, and it might do its work till then"""
    path = t.write(t.away + "/file", "text")
    edit(t)
    inside = Inside(t)
    first = wait_until(lambda: keeper(inside.p), "a keeper")
    ptrace(PTRACE_SEIZE, first, PTRACE_O_TRACEEXIT)
    edit(t, denyRead=[path])
    os.waitpid(first, WALL)	# It was killed, and stops
    second = wait_until(lambda: keeper(inside.p, first), "the next one")
    wait_until(lambda: is_waiting(second), "it waits")
    for pid, same in ((second, True), (first, False)):
        equal(os.readlink(f"/proc/{pid}/ns/mnt") ==
              os.readlink("/proc/self/ns/mnt"), same, "in the host's world")
    equal(inside.ask("get", path), "text")
    ptrace(PTRACE_DETACH, first)
    equal(inside.ask("until", path, "hidden"), "hidden")
    inside.end()


@as_root
def mounts_of_the_host_are_hidden(t):
    """A tmpfs, which masks are, too; also one that is read-only"""
    path = t.away + "/%s"
    os.mkdir(path % "rw")
    os.mkdir(path % "ro")
    edit(t)
    inside = Inside(t, program=("unshare", "-m", "sh", "-ec", f"cd {t.away}; "
                                "for i in rw ro; do mount -t tmpfs x $i; "
                                "printf text > $i/file; done; "
                                "mount -o remount,ro ro; cd - >/dev/null; "
                                'exec "$@"', "sh"))
    for name in ("rw", "ro"):
        file = path % name + "/file"
        equal(inside.ask("until", file, "text"), "text")
        edit(t, denyRead=[path % name])
        equal(inside.ask("until", file, "hidden"), "hidden")
    inside.end()


if __name__ == "__main__":
    main()
