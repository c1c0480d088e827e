# SPDX-License-Identifier: Apache-2.0
"""tests/live/transparency.py - exit codes, signals, pipes and arguments as without cloche"""

import glob
import os
import resource
import signal
import socket
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

SIGNALS = ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2")
ARGUMENT_MAX = 131071		# MAX_ARG_STRLEN without its NUL


@test
def the_exit_code_of_the_command_is_returned(t):
    for code in (0, 1, 2, 42, 124, 125, 126, 127, 128, 200, 255):
        equal(t.shell(f"exit {code}").code, code)


@test
def a_command_killed_by_a_signal_exits_with_128_plus_its_number(t):
    for name in SIGNALS + ("KILL", "SEGV", "ABRT", "PIPE"):
        number = getattr(signal, "SIG" + name)
        r = t.shell(f"ulimit -c 0; kill -{name} $$")
        equal(r.code, 128 + number, name)


@test
def missing_and_non_executable_commands_exit_with_127_and_126(t):
    r = t.inside("no-such-program-here").ended(127)
    contains(r.err, "cloche: ")
    contains(r.err, "no-such-program-here")
    equal(len(r.err.splitlines()), 1, "lines of the message")
    t.write("text", "just text", 0o644)
    t.inside("./text").ended(126)
    t.inside("./missing").ended(127)
    t.inside(t.dir).ended(126)


@test
def a_program_hidden_by_a_rule_names_the_rule(t):
    """The program, the interpreter in its first line, or its loader"""
    tool = t.write("tool", "#!" + t.write("own", "#!/bin/sh\n", mode=0o755) +
                   "\n", mode=0o755)
    loader = os.path.realpath((glob.glob("/lib64/ld-linux*") or
                               glob.glob("/lib/ld-linux*"))[0])
    for command, hidden, named in (
            ("true", "/usr", "'/usr/bin/true' is hidden by '/usr' "),
            ("true", "/usr/bin", "'/usr/bin/true' is hidden by '/usr/bin' "),
            (tool, tool, f"'{tool}' is hidden by '{tool}' "),
            (tool, "own", f"'{t.dir}/own', which it starts with, is hidden by "
             "'own' "),
            ("true", loader, f", which it starts with, is hidden by '{loader}' ")):
        r = t.inside(command, options=["--deny-read", hidden])
        check(r.code in (126, 127), repr(r))
        contains(r.err, named + "(--deny-read): deny less, or give it back "
                 "with --read")
    r = t.inside("true", options=["--deny-read", "."]).ended(125)
    contains(r.err, f"'{t.dir}' is hidden by '.' (--deny-read); ")
    # What is shown in it again can be worked with
    t.write("shown/file", "x\n")
    t.write("other", "y\n")
    r = t.shell("ls; cat shown/file; cat other", options=["--deny-read", ".",
                                                        "--read", "shown"])
    equal(r.out, "shown\nx\n", repr(r))
    t.inside(tool).ok("the control")
    lacks(t.inside("./nothing", options=["--deny-read", "own"]).ended(127).err,
          "hidden")


@test
def signals_reach_the_command(t):
    for name in SIGNALS:
        p = t.start("run", "--", "sh", "-c",
                    f"trap 'echo got; exit 3' {name}; echo ready; "
                    "sleep 1000 & wait; wait")
        equal(p.stdout.readline(), b"ready\n", name)
        p.send_signal(getattr(signal, "SIG" + name))
        equal(p.stdout.readline(), b"got\n", name)
        equal(p.wait(RUN_SECONDS), 3, name)
        p.communicate()


@test
def an_uncaught_signal_ends_the_command(t):
    for name in ("TERM", "INT", "HUP", "QUIT", "USR1"):
        number = getattr(signal, "SIG" + name)
        p = t.start("run", "--", "sh", "-c",
                    "ulimit -c 0; echo ready; exec sleep 1000")
        equal(p.stdout.readline(), b"ready\n")
        p.send_signal(number)
        code = p.wait(RUN_SECONDS)
        p.communicate()
        check(code in (128 + number, -number), name, code)


@test
def stop_and_continue_reach_the_command(t):
    p = t.start("run", "--", "sh", "-c",
                "trap 'echo continued' CONT; echo ready; "
                "while :; do sleep 1000 & wait; done")
    equal(p.stdout.readline(), b"ready\n")
    p.send_signal(signal.SIGCONT)
    equal(p.stdout.readline(), b"continued\n")
    p.send_signal(signal.SIGTERM)
    p.wait(RUN_SECONDS)
    p.communicate()


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def comm(pid):
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()


@test
def killing_cloche_ends_all_processes_in_the_sandbox(t):
    p = t.start("run", "--", "sh", "-c",
                "setsid sleep 1000 & (sleep 1000 &) ; echo ready; sleep 1000")
    equal(p.stdout.readline(), b"ready\n")
    check(running(), "the control sees no process")
    p.kill()
    p.communicate()
    wait_until(lambda: not running(), "the end of the sandbox")


@as_root		# Only root may read /proc/1/fd
def process_1_has_no_pipe_open(t):
    """Else a reader of the command's output would wait for process 1"""
    for options in ([], ["--tier", "landlock"]):
        with t.start("run", *options, "--", "sh", "-c",
                     "echo ready; exec cat") as p:
            equal(p.stdout.readline(), b"ready\n")
            init, = [pid for pid in children_of(p.pid)
                     if comm(pid) == "cloche-init"]
            command, = children_of(init)
            ends = {os.readlink(f"/proc/{command}/fd/{i}") for i in range(3)}
            wait_until(lambda: not ends & {
                os.readlink(f"/proc/{init}/fd/{fd}")
                for fd in os.listdir(f"/proc/{init}/fd")}, "let go", 10)


@test
def background_children_end_with_the_command(t):
    r = t.shell("sleep 1000 & setsid sleep 1000 & echo done")
    equal(r.ok().out, "done\n")


@test
def no_process_writes_after_the_run_has_ended(t):
    """A reader of the result reads all of it"""
    path = os.path.join(t.dir, "log")
    for _ in range(8):
        t.shell("for i in 1 2 3 4 5 6 7 8; do (while :; do echo x; done) >> log"
                " 2>/dev/null & done; until [ -s log ]; do :; done").ok()
        seen = os.stat(path).st_size
        time.sleep(0.05)		# For something that must not happen
        check(seen > 0, "the control wrote nothing")
        equal(os.stat(path).st_size, seen)
        os.unlink(path)


@test
def pipes_carry_bytes_unchanged(t):
    data = os.urandom(1 << 20) * 8
    r = t.inside("cat", stdin=data, timeout=120)
    check(r.ok().raw_out == data, "the bytes differ")
    r = t.shell("cat >&2; exit 4", stdin=b"to stderr\0\xff")
    equal(r.raw_err, b"to stderr\0\xff")
    equal(r.code, 4)


@test
def a_closed_reader_ends_the_command_with_SIGPIPE(t):
    r = t.outside("sh", "-c", '"$0" run -- yes | head -n 1', CLOCHE)
    equal(r.ok().out, "y\n")


@test
def closed_standard_descriptors_are_closed_in_the_sandbox(t):
    for redirect in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        r = t.outside("sh", "-c", f'"$0" run -- sh -c "exit 6" {redirect}',
                      CLOCHE)
        equal(r.code, 6, redirect)
    # And stay closed: none of our own descriptors takes the number
    for number, redirect in enumerate(("<&-", ">&-", "2>&-")):
        r = t.outside("sh", "-c", f'"$0" run -- sh -c "[ -e /proc/\\$\\$/fd/'
                      f'{number} ] && exit 5; exit 6" {redirect}', CLOCHE)
        equal(r.code, 6, redirect)
    r = t.outside("sh", "-c", '"$0" run -- sh -c "echo lost" >&- && : || echo '
                  'failed', CLOCHE)
    equal(t.exists("lost"), False)


@test
def regular_files_work_as_standard_descriptors(t):
    t.write(t.away + "/in", "input")
    with open(t.away + "/in") as feed, open(t.away + "/out", "w") as out, \
            open(t.away + "/err", "w") as err:
        t.shell("cat; echo more; echo bad >&2", stdin_file=feed, stdout=out,
                stderr=err).ok()
    equal(t.read(t.away + "/out"), "inputmore\n")
    equal(t.read(t.away + "/err"), "bad\n")
    t.outside("sh", "-c", f'"$0" run -- echo second >> {t.away}/out',
              CLOCHE).ok()
    equal(t.read(t.away + "/out"), "inputmore\nsecond\n")


@test
def the_offset_of_standard_input_is_shared(t):
    """The descriptor is another one inside, and must not seem to be"""
    t.write(t.away + "/in", "one\ntwo\nthree\n")
    t.write("here", "one\ntwo\nthree\n")
    read = "read x; echo $x"
    for path in (t.away + "/in", "here"):
        r = t.outside("sh", "-c", f'read x; "$0" run -- sh -c "$1"; cat', CLOCHE,
                      read.replace("echo", "cat /dev/stdin | wc -l; echo"),
                      stdin_file=open(os.path.join(t.dir, path)))
        equal(r.ok().out, "3\ntwo\nthree\n", path)
    name = t.write(t.away + "/gone", "one\ntwo\n")
    with open(name) as feed:
        os.unlink(name)
        equal(t.inside("cat", stdin_file=feed).ok().out, "one\ntwo\n")


@test
def standard_input_may_be_open_for_writing(t):
    """As Python's TemporaryFile and memfd_create() are, and what `<>` opens"""
    named = t.write(t.away + "/in", "one\ntwo\n")
    inner = t.write("in", "one\ntwo\n")
    feeds = [lambda: open(named, "r+b", buffering=0),
             lambda: open(inner, "r+b", buffering=0),
             lambda: tempfile.TemporaryFile(buffering=0),
             lambda: open(os.memfd_create("feed"), "r+b", buffering=0)]
    for make in feeds:
        for words in (["cat"], ["sh", "-c", "cat /dev/stdin"]):
            with make() as feed:
                if not feed.read():
                    feed.write(b"one\ntwo\n")
                for start, want in ((0, "one\ntwo\n"), (4, "two\n")):
                    feed.seek(start)
                    if start and len(words) > 1:
                        continue    # Opened again, it starts at the start
                    equal(t.inside(*words, stdin_file=feed).ok().out, want)
    # One file for both: what is printed is not read again
    with tempfile.TemporaryFile(buffering=0) as both:
        t.shell("cat; echo printed", stdin_file=both, stdout=both).ok()
        both.seek(0)
        equal(both.read(), b"printed\n")
    equal(t.outside("sh", "-c", '"$0" run -- cat <> "$1"', CLOCHE,
                    named).ok().out, "one\ntwo\n")


@test
def arguments_are_preserved(t):
    words = ["", " ", "--", "-c", "--write", "a b", "'\"", "$HOME", "\n",
             b"\xff\xfe", "é", "-" * 1000]
    r = t.inside("sh", "-c", 'printf "%s\\0" "$@"', "sh", *words)
    want = b"".join((w if isinstance(w, bytes) else w.encode()) + b"\0"
                    for w in words)
    equal(r.ok().raw_out, want)


@test
def large_arguments_pass(t):
    r = t.inside("sh", "-c", "echo ${#1}", "sh", "x" * (ARGUMENT_MAX - 10))
    equal(r.ok().out, f"{ARGUMENT_MAX - 10}\n")
    many = ["y" * 90] * 10000
    equal(t.inside("sh", "-c", "echo $#", "sh", *many).ok().out, "10000\n")


@test
def a_command_may_be_named_like_an_option(t):
    t.write("bin/--x", "#!/bin/sh\necho ran --x \"$@\"\n", 0o755)
    t.write("bin/run", "#!/bin/sh\necho ran run\n", 0o755)
    path = {"PATH": t.dir + "/bin:" + os.environ["PATH"]}
    equal(t.inside("--x", "--", "-y", env=path).ok().out, "ran --x -- -y\n")
    equal(t.inside("run", env=path).ok().out, "ran run\n")
    equal(t.inside("./bin/--x").ok().out, "ran --x\n")


@test
def without_the_dashes_options_end_at_the_command(t):
    r = t.run("run", "echo", "--timeout", "-s", "x")
    equal(r.ok().out, "--timeout -s x\n")


@test
def a_shell_string_runs_in_a_shell(t):
    r = t.run("run", "-c", "echo one; echo two | tr a-z A-Z; exit 5")
    equal((r.code, r.out), (5, "one\nTWO\n"))
    r = t.run("run", "--shell", "/bin/bash", "-c", "echo ${BASH_VERSION:+bash}")
    equal(r.ok().out, "bash\n")


@test
def cwd_can_be_another_directory(t):
    os.mkdir(t.dir + "/sub")
    r = t.inside("pwd", options=["--cwd", "sub"])
    equal(r.ok().out, t.dir + "/sub\n")


@test
def PWD_keeps_the_name_with_symlinks(t):
    os.mkdir(t.dir + "/real")
    link = t.away + "/link"
    os.symlink(t.dir + "/real", link)
    show = 'cd "$1" && shift && "$@" sh -c \'echo $PWD; pwd; pwd -P\''
    def shown(where, *options):
        outside = t.outside("sh", "-c", show, "sh", where).ok().out
        inside = t.outside("sh", "-c", show, "sh", where, CLOCHE, "run",
                           *options, "--").ok().out
        return inside.split(), outside.split()
    equal(*shown(link))
    equal(*shown(t.dir + "/real"))
    check(link in shown(link)[0], "the control")
    # Where the link is not to be seen, its name would lead nowhere
    inside, _ = shown(link, "--deny-read", t.away)
    equal(set(inside), {t.dir + "/real"})
    r = t.outside(CLOCHE, "run", "--", "sh", "-c", "echo $PWD",
                  env={"PWD": t.away}).ok()
    equal(r.out.strip(), t.dir, "somebody else's $PWD")


def program_of_32_bits():
    """The smallest one: it exits with 5"""
    code = b"\xb8\1\0\0\0\xbb\5\0\0\0\xcd\x80"
    base, head = 0x08048000, 0x34 + 0x20
    size = head + len(code)
    return (b"\x7fELF\1\1\1" + bytes(9) +
            struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + head, 0x34, 0, 0,
                        0x34, 0x20, 1, 0, 0, 0) +
            struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 4096) +
            code)


@test
def a_program_of_32_bits_gets_a_message(t):
    if os.uname().machine != "x86_64":
        skip("a thing of x86-64")
    t.write("old", program_of_32_bits(), 0o755)
    t.outside("./old").ended(5, "the control")
    r = t.inside("./old")
    check(r.code not in (0, 5), "it ran:", repr(r))
    contains(r.err, "cloche: ")
    contains(r.err, "32-bit")


@test
def cloche_prints_nothing_on_standard_output(t):
    r = t.shell("echo only", options=["--debug"])
    equal(r.ok().out, "only\n")
    equal(t.shell("true").ok().out, "")
    equal(t.shell("true").ok().err, "")


@test
def an_ignored_SIGCHLD_of_the_caller_is_harmless(t):
    r = t.inside("sh", "-c", "true; echo $?", options=["--tier", "full"],
                 preexec_fn=lambda: signal.signal(signal.SIGCHLD,
                                                  signal.SIG_IGN)).ok()
    equal((r.out, r.err), ("0\n", ""))


@test
def a_low_descriptor_limit_ends_the_run_with_an_error(t):
    """Somewhere between nothing works and everything does"""
    codes = set()
    modes = (["--observe", "off", "--net", "none"], ["--tier", "landlock"],
             ["--deny-read", t.write("secret")])
    for count in range(4 if SANITIZED else 3, 48):     # The loader needs one
        for options in [], modes[count % len(modes)]:
            r = t.inside("true", options=options,
                         preexec_fn=lambda: resource.setrlimit(
                             resource.RLIMIT_NOFILE, (count, count)))
            check(r.code in (0, 125), count, repr(r))
            lacks(r.err, "did not hand over", "no reason")
            lacks(r.err, "before the command did", "no reason")
            lacks(r.err, "cloche: tier landlock:",
                  "a moment is not the machine")
            codes.add(r.code)
    equal(codes, {0, 125})


@test
def too_many_descriptors_in_flight_end_the_run_with_an_error(t):
    """All of a user's programs count, against the limit of each"""
    here, there = socket.socketpair()
    with here, there:
        for i in range(4):
            socket.send_fds(here, [b"x"], [0] * 16)
        for options in ([], ["--observe", "off", "--net", "none"],
                        ["--tier", "landlock"]):
            r = t.inside("true", options=options,
                         preexec_fn=lambda: resource.setrlimit(
                             resource.RLIMIT_NOFILE, (48, 48)))
            r.ended(125, *options)
            contains(r.err, "ulimit -n")
    t.inside("true", preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_NOFILE, (48, 48))).ok("the control")


@test
def a_file_size_limit_of_the_caller_does_not_end_the_command(t):
    """What we write ourselves may become too large: that is not its affair"""
    many = "; ".join(f"echo x >> /etc/cloche-no-such-{i}" for i in range(20))
    r = t.shell(f"{many}; exit 7", preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_FSIZE, (4096, 4096))).ended(7)
    contains(r.err, "refused 20 things")
    contains(r.err, "could not be stored")


@test
def a_run_works_with_a_small_stack(t):
    """Also where its streams have to be copied, from and to files elsewhere"""
    if SANITIZED:
        return          # Frames are larger then
    data = os.urandom(300000)
    t.write(t.away + "/in", data)
    with open(t.away + "/in") as read, open(t.away + "/out", "wb") as write:
        t.inside("sh", "-c", "echo x 2>/dev/null >/etc/x; cat", stdin_file=read,
                 stdout=write, preexec_fn=lambda: resource.setrlimit(
                     resource.RLIMIT_STACK, (64 << 10, 64 << 10))).ok()
    with open(t.away + "/out", "rb") as file:
        equal(file.read(), data)


def threads_of_ours():
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{pid}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{pid}/task"))
        except OSError:
            pass        # It has just ended
    return count


@as_user        # Root has as many as there are
def a_low_process_limit_does_not_weaken_the_sandbox(t):
    for count in [1] + [threads_of_ours() + more for more in range(-1, 9)]:
        r = t.inside("true", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NPROC, (count, count)))
        check(r.code in (0, 125), count, repr(r))
        lacks(r.err, "tier landlock")
        check(count > 1 or "ulimit -u" in r.err, repr(r))


main()
