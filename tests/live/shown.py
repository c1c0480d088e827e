# SPDX-License-Identifier: Apache-2.0
"""tests/live/shown.py - what an edit opens is open in the running sandbox"""

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
def a_suggestion_opens_a_file_for_the_command_that_runs(t):
    need_fuse()
    t.write(t.home + "/.netrc", "machine")
    inside = Inside(t)
    equal(inside.ask("get", t.home + "/.netrc"), "hidden")
    fix = wait_until(lambda: records(t), "a record")[0]["suggest"]["command"]
    contains(fix, "cloche policy allow read")
    t.outside("sh", "-c", fix.replace("cloche", os.environ["CLOCHE"], 1)).ok()
    equal(inside.ask("until", t.home + "/.netrc", "machine"), "machine")
    lacks(inside.end(), "next run")


@test
def what_is_opened_is_not_writable(t):
    t.write(t.away + "/hidden/file", "text")
    edit(t, denyRead=[t.away + "/hidden"])
    inside = Inside(t)
    equal(inside.ask("get", t.away + "/hidden/file"), "hidden")
    edit(t)
    equal(inside.ask("until", t.away + "/hidden/file", "text"), "text")
    equal(inside.ask("put", t.away + "/hidden/file"), "refused")
    inside.end()
    equal(t.read(t.away + "/hidden/file"), "text")


def shows_a_file_of_a_directory(t, *options):
    ssh = t.home + "/.ssh"
    t.write(ssh + "/config", "Host x")
    t.write(ssh + "/deep/er/file", "deep")
    t.write(ssh + "/id_rsa", "KEY")
    t.write(t.home + "/.aws/credentials", "KEY")
    edit(t)
    inside = Inside(t, *options)
    for name in ("config", "deep/er/file", "id_rsa"):
        equal(inside.ask("get", f"{ssh}/{name}"), "hidden", name)
    edit(t, allowRead=[ssh + "/config"])
    equal(inside.ask("until", ssh + "/config", "Host x"), "Host x")
    edit(t, allowRead=[ssh + "/config", ssh + "/deep"])
    equal(inside.ask("until", ssh + "/deep/er/file", "deep"), "deep")
    equal(inside.ask("get", ssh + "/config"), "Host x", "still")
    equal(inside.ask("get", ssh), "config deep")
    for path in (ssh + "/id_rsa", t.home + "/.aws/credentials"):
        equal(inside.ask("get", path), "hidden", path)
    equal(inside.ask("put", ssh + "/deep/er/file"), "refused")
    # And it is hidden again
    edit(t, allowRead=[ssh + "/config"])
    equal(inside.ask("until", ssh + "/deep/er/file", "hidden"), "hidden")
    equal(inside.ask("get", ssh + "/config"), "Host x")
    equal(inside.ask("get", t.home + "/.aws"), "", "another mask")
    lacks(inside.end(), "next run")


@test
def a_mask_that_talks_shows_a_file(t):
    need_fuse()
    shows_a_file_of_a_directory(t)
    contains(targets(records(t), "fs-read"), t.home + "/.ssh/id_rsa")


@test
def a_plain_mask_shows_a_file(t):
    shows_a_file_of_a_directory(t, "--observe", "off")


@test
def what_stays_hidden_behind_a_mask_is_never_seen(t):
    aws = t.home + "/.aws"
    t.write(aws + "/config", "region")
    hidden = [t.write(f"{aws}/a{i}", "KEY") for i in range(100)]
    hidden.append(t.write(aws + "/credentials", "KEY"))
    inside = Inside(t)
    for _ in range(long(10, 100)):
        equal(inside.ask("until", aws + "/config", "hidden"), "hidden")
        equal(inside.ask("watch", aws + "/credentials", aws + "/config"),
              "watching")
        edit(t, allowRead=[aws], denyRead=hidden)
        equal(inside.answer(), "region,hidden,hidden")
        edit(t)
    inside.end()


@test
def a_directory_that_is_a_mount_can_be_hidden_and_opened_again(t):
    """A root is one; what it holds, and may not be written, is kept so"""
    t.write(t.away + "/file", "text")
    repository(t.away)
    edit(t)
    inside = Inside(t, "--write", t.away)
    equal(inside.ask("put", t.away + "/file"), "1")
    edit(t, denyRead=[t.away])
    equal(inside.ask("until", t.away + "/file", "hidden"), "hidden")
    edit(t)
    equal(inside.ask("until", t.away + "/file", "textx"), "textx")
    equal(inside.ask("put", t.away + "/file"), "1")
    equal(inside.ask("put", t.away + "/.git/hooks/pre-commit"), "refused")
    inside.end()
    equal(t.read(t.away + "/.git/hooks/pre-commit"), "")


OPENED = r"""
import os, sys, time
root, end = sys.argv[1], time.monotonic() + 30
print("ready", flush=True)
while not os.access(root, os.W_OK) and time.monotonic() < end:
    time.sleep(0.001)
with open(root + "/new", "w") as file: file.write("text")
fd = os.open(root + "/new", os.O_RDONLY)
os.fchmod(fd, 0o640)
print(oct(os.fstat(fd).st_mode & 0o777))
for what in (root + "/new", fd):
    os.setxattr(what, "user.test", b"value")
    print(os.getxattr(what, "user.test"))
    os.removexattr(what, "user.test")
for call in (lambda: os.setxattr(root + "/.git/config", "user.test", b"x"),
             lambda: os.chmod(root + "/.git/hooks/pre-commit", 0o777),
             lambda: open(root + "/.git/hooks/pre-commit", "w")):
    try: call(); print("done")
    except OSError: print("refused")
print("closed?", flush=True)
while os.access(root, os.W_OK) and time.monotonic() < end:
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
def a_path_that_is_opened_for_writing_is_a_mount(t):
    """So that access() and what is done to open files are right"""
    repository(t.away)
    try:
        os.setxattr(t.away, "user.test", b"x")
    except OSError as error:
        skip(f"no attributes in {t.away}: {error}")
    edit(t)
    p = t.start("run", "--", "python3", "-c", OPENED, t.away)
    equal(p.stdout.readline(), b"ready\n")
    edit(t, allowWrite=[t.away])
    lines = []
    while (line := p.stdout.readline().decode().strip()) != "closed?":
        lines.append(line)
        check(line, p.stderr.read)
    equal(lines, ["0o640", "b'value'", "b'value'"] + ["refused"] * 3)
    edit(t)
    equal(p.communicate()[0], b"refused\n")


@test
def what_is_opened_for_writing_waits_without_an_observer(t):
    edit(t)
    inside = Inside(t, "--observe", "off")
    edit(t, allowWrite=[t.away])
    equal(inside.p.stderr.readline().decode(),
          "cloche: settings reloaded; this counts from the next run on: "
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
    contains(line, f"from the next run on: writing '{path}'\n")
    inside.end()


@test
def what_an_edit_takes_back_cannot_be_written(t):
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
def an_edit_does_not_hide_the_command_itself(t):
    tool = t.write(t.home + "/tool", "#!/bin/sh\necho ready; read x;"
                   f"until cat {t.away}/file 2>&-; do :; done;"
                   "cat $0 | wc -l\n", 0o755)
    t.write(t.away + "/file", "text\n")
    edit(t, denyRead=[t.away])
    p = t.start("run", "--profile", "home", "--", tool,
                stdin=subprocess.PIPE)
    equal(p.stdout.readline(), b"ready\n")
    edit(t)
    out, err = p.communicate(b"\n")
    equal(out, b"text\n2\n", err)
    lacks(err, b"readable", "what was tried in between")


@test
def edits_that_come_fast_all_count(t):
    path = t.write(t.home + "/.ssh/config", "Host x")
    marks = [t.write(t.home + "/.ssh/" + n, n) for n in ("first", "second")]
    inside = Inside(t)
    for i, mark in enumerate(marks):	# Readable with the last of them
        for k in range(20 + i):
            edit(t, allowRead=[path] if k % 2 else [])
        edit(t, allowRead=[mark] if i else [mark, path])
        name = os.path.basename(mark)
        equal(inside.ask("until", mark, name), name)
        equal(inside.ask("get", path), "hidden" if i else "Host x")
    inside.end()


@test
def edits_that_come_and_go_do_not_pile_up_mounts(t):
    """What was closed, opened and is closed again is so by the mount that it has"""
    mark, deep = t.write(t.away + "/mark", "text"), t.away + "/d/e/file"
    paths = [t.write(path, "text") for path in (t.dir + "/d/file", deep)]
    rules = (dict(denyWrite=[paths[0]], allowWrite=[t.away]),
             dict(denyRead=[os.path.dirname(path) for path in paths]),
             dict(denyRead=[t.away + "/d"], allowRead=[deep]))
    edit(t, allowWrite=[t.away])
    inside, counts = Inside(t), []
    for _ in range(long(12, 250)):
        for rule in rules:
            edit(t, **{**rule, "denyRead": rule.get("denyRead", []) + [mark]})
            equal(inside.ask("until", mark, "hidden"), "hidden")
            edit(t, allowWrite=[t.away])
            equal(inside.ask("until", mark, "text"), "text")
        counts.append(int(inside.ask("mounts", t.root)))
    note("mounts:", *counts)
    check(counts[-1] <= counts[2], counts)
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
    """A command that runs while settings are edited: what it may do is what a new
    run may, or less, and that is told
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
        wait_until(lambda: got() == want or "next run" in words,
                   f"hidden without a word: {want - got()} {why}", seconds=20)
        if "off" not in options:
            words = ""
    p.communicate()


@test
def edits_one_after_the_other_are_as_good_as_the_last(t):
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
def edits_at_random_are_as_good_as_the_last(t):
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


@test
def an_edit_in_the_middle_of_another_undoes_nothing(t):
    """The process that does the first is held up, if it can be caught"""
    path = t.home + "/.ssh/config"
    t.write(path, "Host x")
    t.write(t.away + "/file", "text")
    edit(t)
    inside = Inside(t)
    for _ in range(5):
        equal(inside.ask("until", path, "hidden"), "hidden")
        equal(inside.ask("until", t.away + "/file", "text"), "text")
        before = children(inside.p)
        edit(t, allowRead=[path])
        pid = wait_until(lambda: children(inside.p) - before, "a keeper").pop()
        try:
            os.kill(pid, signal.SIGSTOP)
            edit(t, allowRead=[path], denyRead=[t.away])
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            edit(t, allowRead=[path], denyRead=[t.away])
        equal(inside.ask("until", path, "Host x"), "Host x")
        equal(inside.ask("until", t.away + "/file", "hidden"), "hidden")
        edit(t)
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
def a_keeper_that_is_killed_is_replaced(t):
    """With what it had to do; and not for ever"""
    path = t.write(t.away + "/file", "text")
    edit(t)
    inside = Inside(t)
    for hidden in (True, False, True):
        os.kill(wait_until(lambda: keeper(inside.p), "a keeper"),
                signal.SIGKILL)
        edit(t, denyRead=[path] if hidden else [])
        want = "hidden" if hidden else "text"
        equal(inside.ask("until", path, want), want)
    while not select.select([inside.p.stderr], [], [], 0.02)[0]:
        if pid := keeper(inside.p):
            os.kill(pid, signal.SIGKILL)
    contains(inside.p.stderr.readline().decode(), "no longer kept closed")
    inside.end()


def ptrace(request, pid, options=0):
    PTRACE = ctypes.CDLL(None, use_errno=True).ptrace
    if PTRACE(request, pid, None, ctypes.c_void_p(options)) < 0:
        skip(f"ptrace: {os.strerror(ctypes.get_errno())}")


def is_waiting(pid):
    with open(f"/proc/{pid}/wchan") as file:
        return "poll" in file.read()


@as_root
def a_keeper_begins_when_the_one_before_has_ended(t):
    """Its end takes as long as a debugger likes, and it might do its work till then"""
    path = t.write(t.away + "/file", "text")
    edit(t, denyRead=[path])
    inside = Inside(t)
    first = wait_until(lambda: keeper(inside.p), "a keeper")
    ptrace(PTRACE_SEIZE, first, PTRACE_O_TRACEEXIT)
    edit(t)
    os.waitpid(first, WALL)	# It was killed, and stops
    second = wait_until(lambda: keeper(inside.p, first), "the next one")
    wait_until(lambda: is_waiting(second), "it waits")
    for pid, same in ((second, True), (first, False)):
        equal(os.readlink(f"/proc/{pid}/ns/mnt") ==
              os.readlink("/proc/self/ns/mnt"), same, "in the host's world")
    equal(inside.ask("get", path), "hidden")
    ptrace(PTRACE_DETACH, first)
    equal(inside.ask("until", path, "text"), "text")
    inside.end()


@as_root
def what_the_host_has_mounted_is_hidden_and_shown(t):
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
    for name in ("rw", "ro") * 2:
        file = path % name + "/file"
        equal(inside.ask("until", file, "text"), "text")
        edit(t, denyRead=[path % name])
        equal(inside.ask("until", file, "hidden"), "hidden")
        edit(t, denyRead=[path % name + "/other"])
        equal(inside.ask("until", file, "text"), "text")
        edit(t)
    inside.end()


@test
def what_cannot_be_opened_waits_and_is_told(t):
    """The project itself lies in what is hidden"""
    t.write(t.away + "/file", "text")
    t.write(t.away + "/other", "text")
    edit(t, denyRead=["/srv", t.home])
    inside = Inside(t)
    equal(inside.ask("get", t.away + "/file"), "hidden")
    edit(t, denyRead=["/srv", t.home], allowRead=[t.away + "/other"])
    equal(inside.ask("until", t.away + "/other", "text"), "text")
    edit(t)
    contains(inside.p.stderr.readline().decode(),
             "1 path is allowed now, but only from the next run on")
    equal(inside.ask("get", t.away + "/file"), "hidden")
    inside.end()


if __name__ == "__main__":
    main()
