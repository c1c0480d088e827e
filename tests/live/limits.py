# SPDX-License-Identifier: Apache-2.0
"""tests/live/limits.py - time, memory, processes, file size"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *


@test
def time_runs_out(t):
    r = t.inside("sleep", "1000", options=["--timeout", "300ms"])
    r.ended(124)
    contains(r.err, "cloche: ")
    contains(r.err, "timeout")
    equal(t.inside("sh", "-c", "exit 3", options=["--timeout", "1m"]).code, 3)


@test
def a_stubborn_command_is_ended_too(t):
    r = t.shell("trap '' TERM INT HUP; sleep 1000 & sleep 1000; sleep 1000",
                options=["--timeout", "1s"])
    r.ended(124)


@test
def durations_are_understood_or_refused(t):
    for good in ("1s", "2m", "1h", "500ms", "5"):
        t.inside("true", options=["--timeout", good]).ok(good)
    for bad in ("", "x", "-1s", "1y", "1e9h", "0x1s", "99999999999999999999s"):
        r = t.inside("true", options=["--timeout", bad])
        check(r.code == 125, repr(bad), repr(r))


def attempt(t, words, *options):
    """Run an attempt of the probe as a command that fails if it does"""
    t.probe()
    return t.shell(f"./probe {words} | grep -q OK", options=options)


@test
def memory_runs_out(t):
    attempt(t, "memory 256").ok("the control")
    attempt(t, "memory 16", "--memory", "512M").ok()
    r = attempt(t, "memory 256", "--memory", "64M")
    check(r.code != 0, "256 MiB within 64")
    contains(r.err, "cloche: ")
    contains(r.err, "memory")


@test
def processes_run_out(t):
    attempt(t, "processes 80").ok("the control")
    attempt(t, "processes 10", "--pids", "40").ok()
    r = attempt(t, "processes 80", "--pids", "40")
    check(r.code != 0, "80 processes within 40")
    contains(r.err, "cloche: ")
    contains(r.err, "--pids")


@test
def the_command_alone_is_counted(t):
    """Where a control group counts; otherwise each process does for itself"""
    if "count for the whole sandbox" not in t.run("doctor").out:
        return
    t.inside("true", options=["--pids", "1"]).ok()
    t.shell("sh -c true; true", options=["--pids", "2"]).ok()
    check(t.shell("sh -c true; true", options=["--pids", "1"]).code, "two")


@test
def files_grow_too_large(t):
    attempt(t, "fill 8 control").ok("the control")
    attempt(t, "fill 2 small", "--file-size", "4M").ok()
    r = t.shell("head -c 8M /dev/zero > large", options=["--file-size", "4M"])
    check(r.code != 0, "8 MiB within 4")
    equal(os.path.getsize(t.dir + "/large"), 4 << 20, "the file's size")
    contains(r.err, "cloche: ")
    contains(r.err, "cloche: file size limit: a file reached 4194304 bytes")


@test
def sizes_are_understood_or_refused(t):
    for good in ("64M", "1G", "134217728", "2GiB"):
        t.inside("true", options=["--memory", good]).ok(good)
    for option in ("--memory", "--pids", "--file-size"):
        for bad in ("", "x", "-1", "1Q", "99999999999999999999999"):
            r = t.inside("true", options=[option, bad])
            check(r.code == 125, option, repr(bad), repr(r))


@test
def a_limit_above_the_callers_own_leaves_that_in_force(t):
    """Where there is no control group, it is the kernel's for each process"""
    show = "ulimit -f; ulimit -u"
    wide = ["--pids", "4194304", "--file-size", "1T"]
    r = t.outside("sh", "-c", f'ulimit -f 64; exec "$0" run {" ".join(wide)} '
                  f'-- bash -c "{show}"', CLOCHE).ok()
    equal(r.out.split()[0], "32", "KiB; sh counts half of them")
    equal(r.err, "")
    contains(t.inside("true", options=["--pids", "4194305"]).ended(125).err,
             "1 to 4194304")


@test
def when_time_runs_out_no_other_limit_is_blamed(t):
    r = t.inside("sleep", "1000", options=["--timeout", "300ms", "--memory",
                                           "1G", "--pids", "500"]).ended(124)
    equal(len(r.err.splitlines()), 1, r.err)


@test
def an_untouched_limit_says_nothing(t):
    r = t.inside("true", options=["--timeout", "1m", "--memory", "1G",
                                  "--pids", "500", "--file-size", "1G"]).ok()
    equal(r.err, "")


main()
