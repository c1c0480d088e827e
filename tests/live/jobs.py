# SPDX-License-Identifier: Apache-2.0
"""tests/live/jobs.py - job control on a real terminal"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *
from terminal import Terminal

PROMPT = "PROMPT> "


def shell(t):
    """An interactive bash with job control, as a person has it"""
    need("bash")
    env = {**os.environ, "PS1": PROMPT, "TERM": "xterm", "CLOCHE": CLOCHE}
    term = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"],
                    env=env, cwd=t.dir)
    term.expect(PROMPT)		# Before that, the terminal would echo
    term.line("stty -echo; echo u''p")
    term.expect("up\r\n" + PROMPT)
    return term


def children(pid):
    """The names of all processes below one"""
    names = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            for child in file.read().split():
                try:
                    with open(f"/proc/{child}/comm") as comm:
                        names.append(comm.read().strip())
                    names += children(child)
                except OSError:
                    pass        # Gone meanwhile
    return names


def status(term):
    """$? of the last command"""
    term.line("echo status=$?")
    code = int(term.expect(r"status=(\d+)").group(1))
    term.expect(PROMPT)
    return code


@test
def the_terminal_is_a_terminal(t):
    with shell(t) as term:
        term.line('$CLOCHE run -- sh -c "test -t 0 && test -t 1 && test -t 2'
                  ' && echo all three; echo x > /dev/tty; stty size"')
        term.expect("all three\r\nx\r\n24 80\r\n")
        term.expect(PROMPT)
        term.line("$CLOCHE run -- tty; $CLOCHE run -- ps -o tty= -p 2")
        term.expect("/dev/")
        term.expect(PROMPT)


@test
def control_c_interrupts_the_command(t):
    with shell(t) as term:
        term.line("$CLOCHE run -- sh -c 'echo ready; exec sleep 1000'")
        term.expect("ready")
        term.send("\x03")
        term.expect(PROMPT)
        equal(status(term), 130)


@test
def control_c_before_the_command_runs_ends_cloche(t):
    """Whenever it comes: before that, nobody else gets it"""
    with shell(t) as term:
        for i in range(30):
            term.line("echo started; $CLOCHE run -- sleep 1000")
            term.expect("started")
            wait_until(lambda: os.path.basename(CLOCHE) in children(term.pid),
                       "a process")
            time.sleep(i / 1000)
            term.send("\x03")
            term.expect(PROMPT)
            equal(status(term), 130, i)


@test
def control_c_ends_a_loop_in_a_script(t):
    """A shell goes on after a command that exits with 130, whatever it was"""
    inner = "while :; do echo ready; sleep 1000; done"
    t.write("inner", inner + "\n")
    t.write("outer", f"while :; do {CLOCHE} run -- sh -c 'echo ready; "
            "sleep 1000'; done\n")
    for line in ("bash inner",      # The control
                 "$CLOCHE run -- bash inner", "$CLOCHE run -- sh inner",
                 f"$CLOCHE run -c '{inner}'", "bash outer", "sh outer"):
        with shell(t) as term:
            term.line(line)
            term.expect("ready")
            # Between two commands a shell may miss it: as it does outside
            wait_until(lambda: "sleep" in children(term.pid), "the sleep")
            term.send("\x03")
            term.expect(PROMPT)
            equal(status(term), 130, line)


@test
def a_command_that_handles_control_c_continues(t):
    with shell(t) as term:
        term.line("$CLOCHE run -- sh -c 'trap \"echo caught\" INT; echo ready; "
                  "read line; echo after; exit 9'")
        term.expect("ready")
        term.send("\x03")
        term.expect("caught")
        term.line("")		# Some shells go on reading after a trap
        term.expect("after")
        term.expect(PROMPT)
        equal(status(term), 9)


@test
def control_backslash_quits_the_command(t):
    with shell(t) as term:
        term.line("ulimit -c 0; $CLOCHE run -- sh -c 'echo ready; exec sleep 1000'")
        term.expect("ready")
        term.send("\x1c")
        term.expect(PROMPT)
        equal(status(term), 131)


@test
def control_z_stops_and_fg_continues(t):
    with shell(t) as term:
        # A caught signal can end a read: try again
        term.line("$CLOCHE run -- sh -c 'trap \"echo again\" CONT; echo ready; "
                  "until read line; do :; done; echo got $line; exit 3'")
        term.expect("ready")
        term.send("\x1a")
        term.expect("Stopped")
        term.expect(PROMPT)
        equal(status(term), 148, "status of a stopped job")
        term.line("jobs")
        term.expect(r"\[1\]\+\s+Stopped")
        term.expect(PROMPT)
        term.line("fg")
        term.expect("again")
        term.line("word")
        term.expect("got word")
        term.expect(PROMPT)
        equal(status(term), 3)


@test
def a_command_that_stops_and_continues_itself_runs_on(t):
    """cloche is stopped with it, and gets no signal when the command continues"""
    script = ("(until grep -q '^State:.T' /proc/$$/status; do :; done; "
              "kill -{} $$) & kill -STOP $$; echo x >f; cat f")
    for _ in range(long(5, 100)):
        equal(t.shell(script.format("CONT")).ok().out, "x\n")
        t.shell(script.format("KILL")).ended(137)


@test
def a_background_run_stops_when_it_reads_the_terminal(t):
    with shell(t) as term:
        term.line("$CLOCHE run -- cat &")
        term.expect(PROMPT)
        term.line("")
        term.expect(PROMPT)
        wait_jobs = "until jobs | grep -q Stopped; do sleep 0.02; done; jobs"
        term.line(wait_jobs)
        term.expect("Stopped")
        term.expect(PROMPT)
        term.line("fg")
        term.line("hello")
        term.expect("hello\r\n")
        term.send("\x04")
        term.expect(PROMPT)
        equal(status(term), 0)


@test
def a_shell_inside_has_job_control_of_its_own(t):
    with shell(t) as term:
        term.line("$CLOCHE run --env PS1 -- bash --norc --noprofile "
                  "--noediting -i")
        term.expect(PROMPT)
        term.line("PS1='INNER> '")
        term.expect("INNER> ")
        lacks(term.text, "no job control")
        term.line("sh -c 'echo ready; exec sleep 1000'")
        term.expect("ready")
        term.send("\x1a")
        term.expect("Stopped")
        term.expect("INNER> ")
        term.line("jobs")
        term.expect("sleep 1000")
        shell_group = term.foreground()
        term.line("fg")
        wait_until(lambda: term.foreground() != shell_group, "fg's job")
        term.send("\x03")
        term.expect("INNER> ")
        term.line("exit 12")
        term.expect(PROMPT)
        equal(status(term), 12)


@test
def vi_works(t):
    need("vi")
    with shell(t) as term:
        before = term.settings()
        term.line("$CLOCHE run -- vi -u NONE -N note.txt")
        term.expect("note.txt")
        term.send("ihello from vi\x1b")
        term.send(":wq\r")
        term.expect(PROMPT)
        equal(term.settings(), before, "terminal modes")
    equal(t.read("note.txt"), "hello from vi\n")


@test
def less_works(t):
    need("less")
    t.write("long.txt", "".join(f"line {i}\n" for i in range(200)))
    with shell(t) as term:
        term.line("$CLOCHE run -- less long.txt")
        term.expect("line 5")
        term.send(" ")
        term.expect("line 40")
        term.send("q")
        term.expect(PROMPT)
        equal(status(term), 0)


@test
def a_new_window_size_arrives(t):
    t.write("size.py", """
import os, signal, sys
# Blocked and waited for: a handler could run just before the wait begins
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print("ready", flush=True)
signal.sigwait([signal.SIGWINCH])
print(*os.get_terminal_size(), flush=True)
sys.exit(4)
""")
    with shell(t) as term:
        term.line("$CLOCHE run -- /usr/bin/python3 size.py")
        term.expect("ready")
        term.resize(33, 99)
        term.expect("99 33")
        term.expect(PROMPT)
        equal(status(term), 4)


@test
def a_hangup_ends_the_run(t):
    term = Terminal([CLOCHE, "run", "--", "sh", "-c",
                     "echo ready; sleep 1000"], cwd=t.dir)
    term.expect("ready")
    os.close(term.fd)
    os.waitpid(term.pid, 0)


@test
def output_in_a_pipeline_is_complete(t):
    with shell(t) as term:
        term.line("$CLOCHE run -- seq 1 5000 | $CLOCHE run -- tail -n 1 | "
                  "$CLOCHE run -- cat; echo ${PIPESTATUS[*]}")
        term.expect("5000\r\n0 0 0")


main()
