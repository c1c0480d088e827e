# SPDX-License-Identifier: Apache-2.0
"""tests/live/bwrap-random.py - random calls, to the real bwrap and to ours

Operations in any order on a few names that get in each other's way. Both must
fail, or both show the same world; and both leave the same on the host.
CLOCHE_SEED=N repeats a run.
"""

import os
import random
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from bwrapped import REPORT, REPORT_HOST, facts, give
from tap import *

OURS = os.path.join(os.path.dirname(CLOCHE), "bwrap")
BASE = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
        "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]

# Places of the new root: names below names, through links, with dots
PLACES = ["/a", "/a/b", "/a/b/c", "/d", "/d/e", "/l", "/l/x", "/up", "/up/y",
          "/host", "/host/sub", "/host/new", "/host/file", "/host/link",
          "/host/link/z", "rel", "/a//b/./f", "/t", "/t/u/v", "/f", "/f/g",
          "/proc", "/dev", "/tmp", "/d/../d/w"]
# Nothing of the machine's own: as root, both may write and change modes there
SOURCES = ["{dir}/h", "{dir}/h/sub", "{dir}/h/file", "{dir}/h/link",
           "{dir}/h/none", "{dir}/h/full", "{dir}/h/sub/.."]
# Only links that stay below the new root: the real one follows others out of it
TARGETS = ["a", "d", "b/../c", "host/sub", "nowhere/at/all"]
# The same on the host's own root, which is read-only then but for our place
HOST = ["--ro-bind", "/", "/", "--bind", "{dir}", "{dir}"]
HOST_PLACES = ["{dir}/h", "{dir}/h/sub", "{dir}/h/new", "{dir}/h/file",
               "{dir}/h/link", "{dir}/h/link/z", "{dir}/h/full/one", "{dir}",
               "{dir}/h/sub/inner", "{dir}/h/a//b", "/tmp", "/tmp/x", "/mnt"]
MODES = ["0700", "0755", "1777", "0000", "0640", "2750"]


def operation(chance, places=PLACES):
    """The words of one operation"""
    place = chance.choice(places)
    perms = ["--perms", chance.choice(MODES)] if chance.random() < 0.3 else []
    kind = chance.choice(("bind", "bind", "bind", "dir", "dir", "tmpfs",
                          "symlink", "symlink", "file", "data", "remount",
                          "chmod", "proc", "dev", "host"))
    if kind == "bind":
        return [chance.choice(("--bind", "--ro-bind", "--dev-bind",
                               "--bind-try", "--ro-bind-try")),
                chance.choice(SOURCES), place]
    if kind == "host":
        return ["--bind", "{dir}/h", "/host" if places is PLACES else place]
    if kind in ("dir", "tmpfs"):
        return [*perms, "--" + kind, place]
    if kind == "symlink":
        return ["--symlink", chance.choice(TARGETS), place]
    if kind == "file":
        return [*perms, "--file", "12", place]
    if kind == "data":
        return [*perms, chance.choice(("--bind-data", "--ro-bind-data")), "13",
                place]
    if kind == "remount":
        return ["--remount-ro", place]
    if kind == "chmod":
        return ["--chmod", chance.choice(MODES), place]
    if kind == "proc":	# Not at /dev, which is reported in full
        return ["--proc", chance.choice(("/proc", "/a", "/t/u")
                                        if places is PLACES else ("/proc",))]
    return ["--" + kind, place]


def words_of(chance, base, places):
    """A whole call: where it begins, what it does, what it leaves behind"""
    words = list(base)
    # A /proc of our own pid namespace is the machine's: root could close it
    if os.getuid() == 0:
        words += ["--unshare-pid"]
    if chance.random() < 0.2:
        words += ["--unshare-all"]
    for _ in range(chance.randint(1, 8 if places is PLACES else 4)):
        words += operation(chance, places)
    return words + ["--proc", "/proc"] * (chance.random() < 0.7)


def build(t):
    """The host's side, afresh; modes may have been changed"""
    os.chmod(t.dir, 0o755)
    if t.exists("h"):
        t.outside("chmod", "-R", "u+rwX", "h")
        shutil.rmtree("h")
    t.write("h/file", "text\n")
    t.write("h/sub/inner", "inner\n")
    t.write("h/full/one/two/three", "3\n")
    os.symlink("sub", "h/link")


def call(t, program, words, descriptors):
    build(t)
    os.chmod(t.dir + "/h", 0o755)
    report = REPORT if words[1] != "/" else REPORT_HOST.replace(
        "echo @dev", f"echo @made; find {t.dir} -printf '%p %y %m %l\n' | sort"
        "\necho @dev")
    fds = [give(12, b"twelve\n"), give(13, b"thirteen\n")]
    r = t.outside(program, *(w.replace("{dir}", t.dir) for w in words),
                  "sh", "-c", report, pass_fds=fds,
                  preexec_fn=lambda: resource.setrlimit(
                      resource.RLIMIT_NOFILE, (descriptors, descriptors)))
    for fd in fds:
        os.close(fd)
    left = [oct(os.stat(t.dir).st_mode)]
    os.chmod(t.dir, 0o755)	# Else the other user could not search it
    return r, left + sorted(t.outside("find", "h", "-printf", "%p %y %m %s %l\n")
                            .out.splitlines())


def known(words, want, got):
    """Why they differ on purpose, or None"""
    if "--symlink" in words and "Can't make symlink" in want.err:
        return "0.8 does not accept a link that is there already"
    if "(deleted)" in want.err:
        return "it does not find its own file again"
    return None


def compare(t, base, places):
    real = need("bwrap")
    seed = int(os.environ.get("CLOCHE_SEED", random.randrange(1 << 30)))
    chance = random.Random(seed)
    ran = failed = 0
    for _ in range(long(60, 3000)):
        words = words_of(chance, base, places)
        room = chance.choice((24, 1024))	# All sources at once, or not
        (want, left), (got, ours) = (call(t, p, words, room)
                                     for p in (real, OURS))
        about = [f"CLOCHE_SEED={seed}", room, *words]
        if known(words, want, got):
            continue
        equal((got.code == 1 and not got.out), (want.code == 1 and
              not want.out), *about, repr(got), "for", repr(want))
        equal(ours, left, *about, "on the host")
        if want.out:
            ran += 1
            equal(facts(got), facts(want), *about)
        else:
            failed += 1
            check(got.err.startswith("bwrap: "), *about, repr(got))
    check(ran > 5 and failed > 5, "too few of one kind:", ran, failed,
          repr(want))


@test
def random_options_have_the_effect_of_the_real_bwrap(t):
    compare(t, BASE, PLACES)


@test
def random_options_on_the_host_have_the_effect_of_the_real_bwrap(t):
    compare(t, HOST, HOST_PLACES)


@test
def more_sources_than_descriptors_are_bound(t):
    """All are there before anything is done, but not all are held"""
    words = list(BASE)
    for i in range(80):
        words += ["--ro-bind", t.write(f"many/{i}", f"{i}"), f"/m/{i}"]
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                    (32, 32))}
    for program in need("bwrap"), OURS:
        r = t.outside(program, *words, "sh", "-c",
                      "cat /m/0 /m/41 /m/79; ulimit -n", **few).ok()
        equal(r.out, "0417932\n")
        r = t.outside(program, *words, "--ro-bind", "/nowhere", "/n", "true",
                      **few).ended(1)
        contains(r.err, "Can't find source path /nowhere")


main()
