# SPDX-License-Identifier: Apache-2.0
"""tests/live/limits.py - time, memory, processes, file size, output"""

import fcntl
import json
import os
import socket
import struct
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *
from terminal import Terminal


@test
def timeout_ends_the_command_with_124(t):
    r = t.inside("sleep", "1000", options=["--timeout", "300ms"])
    r.ended(124)
    contains(r.err, "cloche: ")
    contains(r.err, "timeout")
    equal(t.inside("sh", "-c", "exit 3", options=["--timeout", "1m"]).code, 3)


@test
def a_stopped_terminal_does_not_delay_the_timeout(t):
    """A message is printed meanwhile, which the terminal takes only after Ctrl-Q"""
    taken = socket.create_server(("127.0.0.1", 0))
    options = ["-s", json.dumps({"sandbox": {"network": {"allowLocalBinding": True}}})]
    start = time.monotonic()	# The limit is to be met long after the message
    t.inside("/usr/bin/python3", "-c", "import os, socket, time", options=options).ok()
    limit = 5 + round(20 * (time.monotonic() - start))
    with Terminal([CLOCHE, "run", "--timeout", f"{limit}s", *options,
                   "--", "/usr/bin/python3", "-c", f"""
import os, socket, time
print("ready", flush=True)
while not os.path.exists("go"): time.sleep(0.01)
s = socket.socket(); s.bind(("127.0.0.1", {taken.getsockname()[1]})); s.listen()
while True: time.sleep(60)
"""], cwd=t.dir) as term:
        term.expect("ready")
        term.send("\x13")
        t.write("go", "")
        init, = children_of(term.pid, "cloche-init")
        wait_until(lambda: not children_of(init), "the end of the command")
        term.send("\x11")
        term.expect("is not reachable from the host")
        term.expect("time limit")
        equal(term.wait(), 124)


def children_of(pid, name=""):
    found = []
    for child in _children(pid):
        try:
            with open(f"/proc/{child}/comm") as file:
                if file.read().startswith(name):
                    found.append(int(child))
        except OSError:
            pass		# It has just ended
    return found


def _children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return file.read().split()
    except OSError:
        return []


@test
def a_command_cannot_stop_terminal_output(t):
    code = """
import os, termios
fd = os.open("/dev/tty", os.O_RDWR)
try: termios.tcflow(fd, termios.TCOOFF)
except termios.error as e: print(e.args[1], flush=True)
else: termios.tcflow(fd, termios.TCOON); print("stopped", flush=True)
"""
    for words, want in (([CLOCHE, "run", "--"], "not permitted"), ([], "stopped")):
        with Terminal([*words, "/usr/bin/python3", "-c", code]) as term:
            term.expect(want)
            equal(term.wait(), 0)


@test
def a_command_that_ignores_SIGTERM_is_killed(t):
    r = t.shell("trap '' TERM INT HUP; sleep 1000 & sleep 1000; sleep 1000",
                options=["--timeout", "1s"])
    r.ended(124)


@test
def durations_are_parsed_or_refused(t):
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
def memory_limits_the_command(t):
    attempt(t, "memory 256").ok("the control")
    attempt(t, "memory 16", "--memory", "512M").ok()
    r = attempt(t, "memory 256", "--memory", "64M")
    check(r.code != 0, "256 MiB within 64")
    contains(r.err, "cloche: ")
    contains(r.err, "memory")


@test
def pids_limits_the_command(t):
    attempt(t, "processes 80").ok("the control")
    attempt(t, "processes 10", "--pids", "40").ok()
    r = attempt(t, "processes 80", "--pids", "40")
    check(r.code != 0, "80 processes within 40")
    contains(r.err, "cloche: ")
    contains(r.err, "--pids")


@test
def pids_counts_only_the_commands_processes(t):
    """Where a control group counts; otherwise each process does for itself"""
    if "count for the whole sandbox" not in t.run("doctor").out:
        return
    t.inside("true", options=["--pids", "1"]).ok()
    t.shell("sh -c true; true", options=["--pids", "2"]).ok()
    check(t.shell("sh -c true; true", options=["--pids", "1"]).code, "two")


@test
def file_size_limits_the_command(t):
    attempt(t, "fill 8 control").ok("the control")
    attempt(t, "fill 2 small", "--file-size", "4M").ok()
    r = t.shell("head -c 8M /dev/zero > large", options=["--file-size", "4M"])
    check(r.code != 0, "8 MiB within 4")
    equal(os.path.getsize(t.dir + "/large"), 4 << 20, "the file's size")
    contains(r.err, "cloche: ")
    contains(r.err, "cloche: file size limit: a file reached 4194304 bytes")


@test
def sizes_are_parsed_or_refused(t):
    for good in ("64M", "1G", "134217728", "2GiB"):
        t.inside("true", options=["--memory", good]).ok(good)
    for option in ("--memory", "--pids", "--file-size"):
        for bad in ("", "x", "-1", "1Q", "99999999999999999999999"):
            r = t.inside("true", options=[option, bad])
            check(r.code == 125, option, repr(bad), repr(r))


@test
def a_limit_above_the_callers_keeps_the_callers(t):
    """Where there is no control group, it is the kernel's for each process"""
    show = "ulimit -f; ulimit -u"
    wide = ["--pids", "4194304", "--file-size", "1T"]
    r = t.outside("sh", "-c", f'ulimit -f 64; exec "$0" run {" ".join(wide)} '
                  f'-- bash -c "{show}"', CLOCHE).ok()
    equal(r.out.split()[0], "32", "KiB; sh counts half of them")
    equal(r.err, "")
    contains(t.inside("true", options=["--pids", "4194305"]).ended(125).err,
             "1 to 4194304")


def records(t):
    """Those of the last run"""
    with open(t.away + "/events") as file:
        found = [json.loads(line) for line in file]
    os.unlink(t.away + "/events")
    return found


@test
def an_exceeded_limit_is_recorded(t):
    events = ["--events", t.away + "/events"]
    r = t.inside("sleep", "1000", options=[*events, "--timeout", "300ms"])
    equal(r.err.count("\n"), 1, "told once", r.err)
    [v] = records(t)
    equal([v[k] for k in ("kind", "op", "target", "errno", "reason")],
          ["limit", "limit", "time", None, "the command was ended after 0.300 s"])
    equal(v["rule"], {"file": None, "path": "--timeout"})
    rules = t.write("r", json.dumps({"sandbox": {"limits": {"fileSize": "1M"}}}))
    r = t.shell("head -c 8M /dev/zero > large", options=[
        *events, "--annotate", "tags", "-s", rules])
    contains(r.err, "\ndeny limit file-size (a file reached 1048576 bytes; ")
    [v] = records(t)
    equal(v["rule"], {"file": rules + ":1", "path": "sandbox.limits.fileSize"})
    if "count for the whole sandbox" in t.run("doctor").out:
        attempt(t, "processes 80", "--pids", "40", *events)
        equal([v["target"] for v in records(t)], ["pids"])
    t.inside("sh", "-c", "exit 3", options=[*events, "--memory", "1G"])
    equal(records(t), [], "a failure is no hit")


@test
def output_is_cut_at_its_limit(t):
    rules = t.write("r", json.dumps({"sandbox": {"limits": {"output": 1000}}}))

    def prints(script, **more):
        return t.shell(script, options=["-s", rules, "--events",
                                        t.away + "/events"], **more)
    for script in ("yes", "yes & wait", "head -c 1001 /dev/zero"):
        r = prints(script)
        equal((len(r.out), r.err), (1000, "cloche: output limit: the command "
              "printed more than 1000 bytes (limits.output)\n"), script)
        equal([v["target"] for v in records(t)], ["output"])
    prints("yes").ended(141)
    records(t)
    r = prints("head -c 1000 /dev/zero; exit 7").ended(7, "not more")
    equal((len(r.out), r.err, records(t)), (1000, "", []))
    r = prints("head -c 600 /dev/zero; head -c 600 /dev/zero >&2")
    equal((len(r.out), len(r.err.split("cloche: ")[0])), (600, 400), "of both")
    with open(t.away + "/both", "wb+") as file:
        prints("echo a; echo b >&2; echo c", stdout=file, stderr=file).ok()
        file.seek(0)
        equal(file.read(), b"a\nb\nc\n", "in order")


@test
def a_slow_reader_does_not_block_the_supervisor(t):
    """The supervisor copies what is counted, and has others to serve"""
    rules = t.write("r", json.dumps({"sandbox": {"limits": {"output": "9M"}}}))
    p = t.start("run", "-s", rules, "--", "sh", "-c",
                "head -c 1M /dev/zero & read go; echo x > /etc/no; "
                "echo x > seen; wait")
    size = fcntl.fcntl(p.stdout, fcntl.F_GETPIPE_SZ)

    def held():
        n = fcntl.ioctl(p.stdout, termios.FIONREAD, struct.pack("i", 0))
        return struct.unpack("i", n)[0] == size
    wait_until(held, "the pipe is full")
    p.stdin.write(b"go\n")
    p.stdin.flush()
    wait_until(lambda: t.exists("seen"), "who asks the observer is served")
    equal((len(p.stdout.read()), p.wait(RUN_SECONDS)), (1 << 20, 0))
    p.communicate()


@test
def a_timeout_reports_no_other_limit(t):
    r = t.inside("sleep", "1000", options=["--timeout", "300ms", "--memory",
                                           "1G", "--pids", "500"]).ended(124)
    equal(len(r.err.splitlines()), 1, r.err)


@test
def an_unreached_limit_prints_nothing(t):
    r = t.inside("true", options=["--timeout", "1m", "--memory", "1G",
                                  "--pids", "500", "--file-size", "1G"]).ok()
    equal(r.err, "")


main()
