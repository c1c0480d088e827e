# SPDX-License-Identifier: Apache-2.0
"""tests/live/limits.py - time, memory, processes, file size"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *


@test
def time_runs_out(t):
    start = time.monotonic()
    r = t.inside("sleep", "1000", options=["--timeout", "300ms"])
    r.ended(124)
    check(time.monotonic() - start < 20, "took too long")
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


@test
def memory_runs_out(t):
    probe = t.probe()
    t.inside(probe, "memory", "16", options=["--memory", "512M"]).ok()
    control = t.inside(probe, "memory", "256")
    contains(control.out, "memory 256: OK", "the control")
    r = t.inside(probe, "memory", "256", options=["--memory", "64M"])
    lacks(r.out, "memory 256: OK")
    contains(r.err, "cloche: ")
    contains(r.err, "memory")


@test
def processes_run_out(t):
    probe = t.probe()
    contains(t.inside(probe, "processes", "40").out, "processes 40: OK",
             "the control")
    contains(t.inside(probe, "processes", "10",
                      options=["--pids", "40"]).out, "processes 10: OK")
    r = t.inside(probe, "processes", "80", options=["--pids", "40"])
    contains(r.out, "processes 80: EAGAIN")
    contains(r.err, "cloche: ")
    contains(r.err, "pids")


@test
def files_grow_too_large(t):
    probe = t.probe()
    contains(t.inside(probe, "fill", "2", "small",
                      options=["--file-size", "4M"]).out, "small: OK")
    r = t.inside(probe, "fill", "8", "large", options=["--file-size", "4M"])
    lacks(r.out, "large: OK")
    check(os.path.getsize(t.dir + "/large") <= 4 << 20, "the file grew")
    contains(r.err, "cloche: ")
    contains(r.err, "file-size")


@test
def sizes_are_understood_or_refused(t):
    for good in ("64M", "1G", "134217728", "2GiB"):
        t.inside("true", options=["--memory", good]).ok(good)
    for option in ("--memory", "--pids", "--file-size"):
        for bad in ("", "x", "-1", "1Q", "99999999999999999999999"):
            r = t.inside("true", options=[option, bad])
            check(r.code == 125, option, repr(bad), repr(r))


@test
def an_untouched_limit_says_nothing(t):
    r = t.inside("true", options=["--timeout", "1m", "--memory", "1G",
                                  "--pids", "500", "--file-size", "1G"]).ok()
    equal(r.err, "")


main()
