# SPDX-License-Identifier: Apache-2.0
"""tests/live/session.py - sandboxes that outlive one command"""

import contextlib
import fcntl
import json
import os
import random
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

SEED = int(os.environ.get("CLOCHE_SEED", "0")) or random.randrange(1 << 30)
JOURNAL = ".local/state/cloche/journal"
SPREAD = 0.060 * (10 if SANITIZED else 1)	# A start lies well inside

SERVER = """
import http.server, os, sys
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
with open("port.new", "w") as file:
    file.write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
"""


@contextlib.contextmanager
def session(t, name="web"):
    """End it, whatever happens"""
    try:
        yield ["--session", name]
    finally:
        t.run("session", "stop", name)


def listed(t):
    return {s["name"]: s for s in
            json.loads(t.run("session", "list", "--json").ok().out)["sessions"]}


def holder(t, name="web"):
    return listed(t)[name]["holder"]


def sockets(t):
    path = f"{t.home}/.local/state/cloche/sessions"
    return os.listdir(path) if os.path.exists(path) else []


# It forks as long as it lives, which is a minute at most
BOMB = """
import os, time
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        os.fork()
    except OSError:
        open("full", "w").close()
"""


def _proc_children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return file.read().split()


def _comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def start_server(t, options):
    t.write("server.py", SERVER)
    t.shell("python3 server.py </dev/null >/dev/null 2>&1 &", options).ok()
    return wait_until(lambda: t.exists("port") and t.read("port"), "a port")


FETCH = ("import sys, urllib.request as u; "
         "print(u.build_opener(u.ProxyHandler({})).open(sys.argv[1]).read().decode())")


@test
def a_server_started_by_one_command_answers_the_next(t):
    t.write("page", "from inside")
    with session(t) as options:
        port = start_server(t, options)
        url = f"http://127.0.0.1:{port}/page"
        r = t.inside("python3", "-c", FETCH, url, options=options).ok()
        equal(r.out.strip(), "from inside")
        s = listed(t)["web"]
        equal((s["ports"], s["processes"], s["project"]), ([int(port)], 1, t.dir))
        # In a run of its own nothing is there, and on the host nothing yet
        check(t.inside("python3", "-c", FETCH, url).code != 0)
        check(t.outside("python3", "-c", FETCH, url).code != 0)
        t.run("session", "publish", "web", port).ok()
        equal(t.outside("python3", "-c", FETCH, url).ok().out.strip(), "from inside")
    equal(listed(t), {})
    check(t.outside("python3", "-c", FETCH, url).code != 0)


@test
def a_command_in_a_session_runs_like_a_plain_run(t):
    os.mkdir(f"{t.dir}/sub")
    t.outside(need("git"), "init", "-q").ok()	# One project, wherever it starts
    with session(t) as options:
        t.inside("true", options=options).ok()
        equal(t.shell("exit 7", options).code, 7)
        equal(t.shell("kill -TERM $$", options).code, 128 + signal.SIGTERM)
        equal(t.inside("no-such-program", options=options).code, 127)
        equal(t.inside(t.dir, options=options).code, 126)
        r = t.shell("cat; echo err >&2", options, stdin="text").ok()
        equal((r.out, r.err), ("text", "err\n"))
        r = t.shell("pwd; umask; echo $MINE$OTHER", options, cwd=f"{t.dir}/sub",
                    env={"MINE": "first"}, umask=0o27).ok()
        equal(r.out, f"{t.dir}/sub\n0027\nfirst\n")
        # What one command had is not the next one's
        r = t.shell("pwd; echo $MINE$OTHER", options, env={"OTHER": "second"}).ok()
        equal(r.out, f"{t.dir}\nsecond\n")
        # Standard input that is a file is read on from where the command stopped
        t.write("lines", "1\n2\n3\n")
        with open(f"{t.dir}/lines") as file:
            os.lseek(file.fileno(), 2, os.SEEK_SET)
            equal(t.inside("sh", "-c", "read line; echo $line", options=options,
                           stdin_file=file).ok().out, "2\n")
        for fd in (0, 1, 2):
            equal(t.outside("sh", "-c", f'"$@" {fd}>&-', "sh", CLOCHE, "run", *options, "--",
                            "sh", "-c", f"test ! -e /proc/self/fd/{fd}").code, 0, fd)


@test
def a_session_has_its_own_devices(t):
    """Opened on its mounts, so that modes of the host's cannot be changed; and silently"""
    script = ("import os, re, sys; mounts = [l.split()[0] for l in open('/proc/self/mountinfo')]; "
              "ids = [re.search(r'mnt_id:\\s*(\\d+)', open(f'/proc/self/fdinfo/{i}').read()).group(1) "
              "for i in range(3)]; "
              "open('out', 'a').write(f'{[i in mounts for i in ids]} {os.read(0, 1)}\\n')")
    t.write("script.py", script)
    with session(t) as options:
        for name in ("null", "zero"):
            with open(f"/dev/{name}", "r+b", buffering=0) as device:
                equal(subprocess.run([CLOCHE, "run", *options, "--", "python3", "script.py"],
                                     stdin=device, stdout=device, stderr=device,
                                     cwd=t.dir, timeout=RUN_SECONDS).returncode, 0)
        t.inside("python3", "script.py", options=options).ok()	# The control: pipes
        equal(t.read("out").splitlines(), ["[True, True, True] b''",
                                           "[True, True, True] b'\\x00'",
                                           "[False, False, False] b''"])
        equal(json.loads(t.run("violations", "list", "--json").ok().out)["violations"], [])


@test
def every_command_has_all_layers_of_the_first(t):
    script = ("grep -E '^(NoNewPrivs|Seccomp|Cap|Uid|Gid|Groups)' /proc/self/status; "
              "readlink /proc/self/ns/*; cat /proc/self/mountinfo")
    with session(t) as options:
        first = t.shell(script, options).ok().out
        contains(first, "NoNewPrivs:\t1")
        equal(t.shell(script, options).ok().out, first)
        later = t.shell(f"echo x > {t.away}/file", options)
        check(later.code != 0 and not os.path.exists(f"{t.away}/file"), later)
        contains(later.err, "refused 1 thing")


@test
def signals_and_exit_status_are_forwarded(t):
    t.write("wait.py", "import os, signal, sys\n"
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
            "print('ready', flush=True)\nsignal.pause()\n")
    with session(t) as options:
        with t.start("run", *options, "--", "python3", "wait.py") as p:
            equal(p.stdout.readline(), b"ready\n")
            p.send_signal(signal.SIGTERM)
            equal(p.wait(RUN_SECONDS), 9)
        # A client that is killed takes its command along, and nothing else
        with t.start("run", *options, "--", "python3", "wait.py") as stays, \
                t.start("run", *options, "--", "python3", "wait.py") as p:
            stays.stdout.readline()
            p.stdout.readline()
            equal(len(listed(t)["web"]["commands"]), 2)
            p.kill()
            p.wait()
            wait_until(lambda: listed(t)["web"]["processes"] == 1, "the end of one command")
            stays.send_signal(signal.SIGTERM)
            equal(stays.wait(RUN_SECONDS), 9)


@test
def ctrl_c_reaches_the_command(t):
    from terminal import Terminal
    with session(t) as options:
        t.inside("true", options=options).ok()
        with Terminal([CLOCHE, "run", *options, "--", "sh", "-c",
                       "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.1; done"],
                      env=dict(os.environ), cwd=t.dir) as term:
            term.expect("ready")
            term.send(b"\x03")
            equal(term.wait(RUN_SECONDS), 3)
            contains(term.text, "caught")


@test
def a_command_gets_its_own_terminal(t):
    from terminal import Terminal
    script = ("import os, sys; print('typed', input()); "
              "print([os.ttyname(n) for n in range(3)], os.get_terminal_size(), file=sys.stderr); "
              "open('/dev/tty', 'w').write('direct\\n'); "
              "print('leads', os.tcgetpgrp(0) == os.getpid() == os.getsid(0)); "
              "[os.fchmod(n, 0o666) for n in range(3)]")
    with session(t) as options:
        t.inside("true", options=options).ok()
        with Terminal([CLOCHE, "run", *options, "--", "python3", "-c", script],
                      env=dict(os.environ), cwd=t.dir) as term:
            name = os.readlink(f"/proc/{term.pid}/fd/0")
            before = os.stat(name).st_mode
            term.send(b"words\n")
            equal(term.wait(RUN_SECONDS), 0, term.text)
            contains(term.text, "typed words")
            contains(term.text, "['/dev/pts/0', '/dev/pts/0', '/dev/pts/0'] "
                     "os.terminal_size(columns=80, lines=24)")
            contains(term.text, "direct\r\n")
            contains(term.text, "leads True")
            equal(os.stat(name).st_mode, before)


@test
def a_shell_has_job_control_and_the_terminals_size(t):
    from terminal import Terminal
    with session(t) as options:
        with Terminal([CLOCHE, "run", *options, "--", "bash", "--norc", "-i"],
                      env={**os.environ, "PS1": "READY>"}, cwd=t.dir) as term:
            term.expect("READY>")
            term.send(b"python3 -c 'import signal; print(\"wait\" + \"ing\"); signal.pause()'\n")
            term.expect("waiting")
            term.send(b"\x1a")
            term.expect("Stopped")
            # While bash takes it for stopped, it does not exit
            term.send(b"jobs; kill %1; while jobs -s | grep -q .; do sleep 0.02; done; "
                      b"echo a-$((1+1))-b\n")
            term.expect("a-2-b")
            # Before its prompt readline reads the size and sets it again
            term.expect("READY>")
            fcntl.ioctl(term.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
            term.send(b"until [ \"$(stty size)\" = '33 77' ]; do :; done; echo c-$((2+2))-d\n")
            term.expect("c-4-d")
            term.send(b"exit 5\n")
            equal(term.wait(RUN_SECONDS), 5, term.text)


def _modes_after(t, options, *command, send=b"", code=0):
    """What a shell's terminal shows of a command, after which its modes must be as before"""
    from terminal import Terminal
    script = 'trap : INT; stty -g > before; "$@"; code=$?; stty -g > after; exit $code'
    with Terminal(["sh", "-c", script, "sh", CLOCHE, "run", *options, "--", *command],
                  env=dict(os.environ), cwd=t.dir) as term:
        if send:
            term.expect("ready")
            term.send(send)
        equal(term.wait(RUN_SECONDS), code, term.text)
    equal(t.read("after"), t.read("before"), command)
    return term.text


@test
def the_callers_terminal_is_restored_after_a_command(t):
    with session(t) as options:
        _modes_after(t, options, "stty", "raw")
        _modes_after(t, options, "python3", "-c", "import signal; "
                     "signal.signal(signal.SIGINT, signal.SIG_DFL); "
                     "print('ready', flush=True); signal.pause()", send=b"\x03", code=130)
        _modes_after(t, [*options, "--timeout", "100ms"], "sleep", "1000", code=124)
        _modes_after(t, options, "no-such-program", code=127)
        text = _modes_after(t, options, "sh", "-c", f"seq 20000; echo x > {t.away}/file", code=2)
        contains(text, "\r\n19999\r\n20000\r\n")		# All of it, and then the footer
        contains(text, "refused 1 thing")
        lacks(text.replace("\r\n", ""), "\n")


@test
def ctrl_c_ends_a_loop_of_the_callers_shell(t):
    from terminal import Terminal
    wait = ("import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); "
            "print('ready', flush=True); signal.pause()")
    with session(t) as options:
        with Terminal([need("bash"), "-c", 'for i in 1 2; do "$@"; done; echo late', "bash",
                       CLOCHE, "run", *options, "--", "python3", "-c", wait],
                      env=dict(os.environ), cwd=t.dir) as term:
            term.expect("ready")
            term.send(b"\x03")
            equal(term.wait(RUN_SECONDS), -signal.SIGINT, term.text)
            lacks(term.text, "late")


@test
def background_jobs_on_a_terminal_keep_printing(t):
    from terminal import Terminal
    with session(t) as options:
        with Terminal(["sh", "-c", '"$@"; echo over; read line', "sh", CLOCHE, "run", *options,
                       "--", "sh", "-c", "trap '' HUP; "
                       "(until [ -e go ]; do sleep 0.1; done; echo later) & echo first"],
                      env=dict(os.environ), cwd=t.dir) as term:
            term.expect("over")
            contains(term.text, "first")
            t.write("go", "")
            term.expect("later")
            term.send(b"\n")
            equal(term.wait(RUN_SECONDS), 0)


@test
def a_different_policy_is_refused_with_the_difference(t):
    with session(t) as options:
        t.inside("true", options=options).ok()
        r = t.inside("touch", "ran", options=[*options, "--allow", "registry.example.org",
                                              "--write", t.away])
        r.ended(125)
        contains(r.err, "only this command:     allow registry.example.org")
        contains(r.err, f"only this command:     write {t.away}")
        check(not t.exists("ran"))
        # Of another project, too; and the session is unharmed
        other = f"{t.home}/other"
        os.mkdir(other)
        r = t.inside("true", options=options, cwd=other).ended(125)
        contains(r.err, f"only the session:      project {t.dir}")
        contains(r.err, f"only this command:     project {other}")
        t.inside("touch", "ran", options=options).ok()
        check(t.exists("ran"))
        for option in (["--secret", "A@registry.example.org"], ["--ephemeral"],
                       ["--tier", "landlock"]):
            t.inside("true", options=[*options, *option]).ended(125)


@test
def a_settings_edit_applies_to_every_command(t):
    t.write(f"{t.home}/.config/cloche/policy.json", "{}")
    script = f"until echo x > {t.away}/$0; do :; done 2>/dev/null"
    with session(t) as options:
        t.inside("true", options=options).ok()
        check(t.shell(f"echo x > {t.away}/early", options).code != 0)
        with t.start("run", *options, "--", "sh", "-c", f"echo ready; {script}", "a") as a, \
                t.start("run", *options, "--", "sh", "-c", f"echo ready; {script}", "b") as b:
            a.stdout.readline()
            b.stdout.readline()
            t.write(f"{t.home}/.config/cloche/policy.json",
                    json.dumps({"filesystem": {"allowWrite": [t.away]}}))
            equal((a.wait(RUN_SECONDS), b.wait(RUN_SECONDS)), (0, 0))
        # One that joins later has the edited policy, and is not refused for it
        t.inside("touch", f"{t.away}/c", options=options).ok()
    equal(sorted(os.listdir(t.away)), ["a", "b", "c"])


@test
def a_rule_added_by_policy_allow_applies_to_the_session(t):
    write = f"echo x > {t.away}/file"
    with session(t) as options:
        check(t.shell(write, options).code != 0)
        t.run("policy", "allow", "--scope", "user", "write", t.away).ok()
        t.shell(write, options).ok()
        t.run("policy", "remove", "--scope", "user", "write", t.away).ok()
        check(t.shell(write, options).code != 0)
        equal(list(listed(t)), ["web"])


@test
def time_and_file_size_limits_apply_to_each_command(t):
    with session(t) as options:
        t.inside("sleep", "1000", options=[*options, "--timeout", "100ms"]).ended(124)
        big = "head -c 100000 /dev/zero > big"
        equal(t.shell(big, [*options, "--file-size", "50K"]).code, 128 + signal.SIGXFSZ)
        t.shell(big, options).ok()


@test
def a_client_stops_and_continues_with_its_command(t):
    """Another process of the session continues the command: the client gets no signal"""
    script = ("trap 'echo again' CONT; (until test -e on; do :; done; kill -CONT $$) & "
              "kill -STOP $$; wait; until test -e go; do :; done")

    def is_stopped(p):
        with open(f"/proc/{p.pid}/status") as file:
            return "\nState:\tT" in file.read()

    with session(t) as options:
        with t.start("run", *options, "--", "sh", "-c", script, text=True,
                     stdout=subprocess.PIPE) as p:
            wait_until(lambda: is_stopped(p), "the client is stopped")
            t.write("on", "")
            wait_until(lambda: not is_stopped(p), "the client runs again")
            t.write("go", "")
            equal(p.communicate()[0], "again\n")
            equal(p.returncode, 0)


@test
def a_session_at_its_process_limit_can_be_stopped(t):
    with session(t) as options:
        options = [*options, "--pids", "30"]
        t.inside("true", options=options).ok()
        t.write("bomb.py", BOMB)
        t.shell("python3 bomb.py </dev/null >/dev/null 2>&1 &", options).ok()
        wait_until(lambda: t.exists("full"), "the limit")
        check(listed(t)["web"]["processes"] > 20)
        # It goes on while the session is stopped
        began = time.monotonic()
        t.run("session", "stop", "web").ok()
        note(f"stopped in {time.monotonic() - began:.2f} s")
        wait_until(lambda: not running(), "the end of all processes")
    equal(listed(t), {})


@test
def the_process_limit_counts_all_commands(t):
    leave = "for i in 1 2 3 4 5 6; do sleep 1000 </dev/null >/dev/null 2>&1 & done"

    def count(options):
        """How many commands could leave their processes"""
        left = 0
        while left < 20 and t.shell(leave, options).code == 0:
            left += 1
        return left
    with session(t) as options:
        check(count([*options, "--pids", "30"]) < 6)
        r = t.shell(leave, [*options, "--pids", "30"])
        check(r.code != 0)
        # It is the session's: another one's commands do not count
        with session(t, "other") as more:
            t.shell(leave, [*more, "--pids", "30"]).ok()
        # A command with another limit would have another policy
        contains(t.inside("true", options=[*options, "--pids", "40"]).ended(125).err,
                 "only this command:     pids 40")


@test
def a_session_whose_process_1_is_stopped_can_be_stopped(t):
    with session(t) as options:
        t.shell("sleep 1000 </dev/null >/dev/null 2>&1 &", options).ok()
        init = next(int(pid) for pid in _proc_children(holder(t))
                    if _comm(pid) == "cloche-init")
        os.kill(init, signal.SIGSTOP)
        equal(list(listed(t)), ["web"])
        t.run("session", "stop", "web").ok()
        wait_until(lambda: not running(), "the end of all processes")
    equal(listed(t), {})


@as_root
def a_session_whose_tmp_is_full_can_be_stopped(t):
    state = f"{t.home}/.local/state"
    os.makedirs(state)
    t.outside("mount", "-t", "tmpfs", "-o", "size=1M,mode=700", "tmpfs", state).ok()
    try:
        with session(t) as options:
            r = t.shell("sleep 1000 </dev/null >/dev/null 2>&1 & "
                        "head -c 2M /dev/zero > /tmp/all", options)
            check(r.code != 0)
            contains(r.err, "No space left on device")
            equal(listed(t)["web"]["processes"], 1)
            t.inside("true", options=options).ok()
            t.run("session", "stop", "web").ok()
            wait_until(lambda: not running(), "the end of all processes")
        equal(listed(t), {})
    finally:
        t.outside("umount", state).ok()


@test
def an_idle_session_ends_but_not_during_a_command(t):
    with session(t) as options:
        options = [*options, "--session-idle", "1ms"]
        with t.start("run", *options, "--", "sh", "-c",
                     "sleep 1000 </dev/null >/dev/null 2>&1 & echo ready; read line") as p:
            equal(p.stdout.readline(), b"ready\n")
            equal(list(listed(t)), ["web"])
            p.communicate(b"\n")
            equal(p.returncode, 0)
        wait_until(lambda: not sockets(t), "the end of the session")
        wait_until(lambda: not running(), "the end of what was in the background")


@test
def a_session_ends_with_its_owner(t):
    owner = subprocess.Popen(["sleep", "1000"])
    try:
        with session(t) as options:
            options = [*options, "--session-owner", str(owner.pid)]
            t.shell("sleep 1000 </dev/null >/dev/null 2>&1 &", options).ok()
            equal(list(listed(t)), ["web"])
            owner.kill()
            owner.wait()
            wait_until(lambda: not sockets(t), "the end of the session")
            wait_until(lambda: not running(), "the end of all processes")
            # One that has ended cannot own another
            r = t.inside("true", options=options).ended(125)
            contains(r.err, "--session-owner")
            contains(t.inside("true", options=[*options[:3], "x"]).ended(125).err,
                     "not the number of a process")
    finally:
        owner.kill()
        owner.wait()


@test
def background_jobs_keep_printing(t):
    """Its output is copied by the client, which has ended: to a file of which the sandbox
    sees nothing"""
    hidden = t.home + "/.ssh/log"
    t.write(hidden, "")
    with session(t) as options:
        with open(hidden, "a") as file:
            equal(subprocess.run(
                [CLOCHE, "run", *options, "--", "sh", "-c",
                 "(until [ -e go ]; do sleep 0.1; done; echo one; echo two >&2; "
                 "touch said; until [ -e end ]; do sleep 0.1; done; echo three) & "
                 "echo zero"],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=t.dir,
                timeout=RUN_SECONDS).returncode, 0)
        equal(t.read(hidden), "zero\n")
        t.write("go", "")
        wait_until(lambda: t.read(hidden) == "zero\none\ntwo\n", "more output")
        t.write("end", "")
        wait_until(lambda: t.read(hidden).endswith("three\n"), "the last output")
        check(running())	# The holder; the copy has ended, or ends now
    wait_until(lambda: not running(), "the end of the copy")


@test(timeout=long(240, 3600))
def many_joins_do_not_grow_the_holder(t):
    with session(t) as options:
        started = [t.start("run", *options, "--", "sh", "-c", f"exit {i % 100}",
                           stdin=subprocess.DEVNULL) for i in range(long(40, 200))]
        for i, p in enumerate(started):
            p.communicate()
            equal(p.returncode, i % 100)
        equal(list(listed(t)), ["web"])

        def use():
            pid = holder(t)
            rss = int(re.search(r"VmRSS:\s*(\d+)", _status(pid)).group(1))
            return len(os.listdir(f"/proc/{pid}/fd")), rss
        mounts = t.shell("wc -l < /proc/self/mountinfo", options).ok().out
        fds, rss = use()
        for _ in range(long(200, 10000)):
            t.inside("true", options=options).ok()
        later_fds, later_rss = use()
        note(f"descriptors {fds}, then {later_fds}; memory {rss} kB, then {later_rss}")
        # A connection that has just ended may still be counted
        check(later_fds < fds + 10, fds, later_fds)
        # A sanitizer keeps what was freed
        check(SANITIZED or later_rss < rss + 2048, rss, later_rss)
        equal(t.shell("wc -l < /proc/self/mountinfo", options).ok().out, mounts)


def _status(pid):
    with open(f"/proc/{pid}/status") as file:
        return file.read()


def _mounts():
    with open("/proc/self/mountinfo") as file:
        return set(file)


def _host(t):
    """All that a session could leave on it: mounts, and files where we make any"""
    return {"mounts": _mounts(), "project": tree(t.dir), "home": tree(t.home),
            "away": tree(t.away), "TMPDIR": tree(os.environ.get("TMPDIR", "/tmp")),
            "tmp": ours_in_tmp()}


def _holders(clients):
    """Orphans are ours to reap: what is not a client's process is a holder"""
    return set(running()) - {p.pid for p in clients}


def _kill_holders():
    """True when nothing runs any more"""
    for pid in running():
        if _comm(pid) == "cloche-session":
            os.kill(pid, signal.SIGKILL)
    return not running()


@test(timeout=long(240, 3600))
def a_killed_holder_leaves_nothing(t):
    print(f"# CLOCHE_SEED={SEED}")
    dice = random.Random(SEED)
    t.write(".git/hooks/x", "")
    t.write("secret", "S")
    options = ["--session", "web", "--deny-read", "secret", "--memory", "1G"]
    with session(t):
        t.shell("touch $TMPDIR/kept", options).ok()
    equal(listed(t), {})
    before, moments = _host(t), {}
    for i in range(long(20, 200)):
        clients = [t.start("run", *options, "--", "sh", "-c",
                           "sleep 1000 & setsid sleep 1000 & exec sleep 1000",
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL) for _ in range(3)]
        if i % 2:	# When all run, or at any moment
            wait_until(lambda: listed(t).get("web", {}).get("processes") == 9, "nine processes")
        else:
            time.sleep(dice.random() * SPREAD)	# The moment is the test
        holders = _holders(clients)
        moment = "listening" if sockets(t) else "starting" if holders else "not there"
        moments[moment] = moments.get(moment, 0) + 1
        for pid in holders:
            os.kill(pid, signal.SIGKILL)
        for p in clients:	# It may have started the next one
            p.kill()
            p.wait()
        wait_until(_kill_holders, "the end of all processes")
        # All that may be left is a name, which the list does not show but removes, and
        # the journal, from which the next start learns what to look for
        equal(listed(t), {})
        equal(sockets(t), [])
        after = _host(t)
        for name in before:
            left = {x for x in set(after[name]) ^ set(before[name])
                    if not x.startswith(JOURNAL + "/")}
            equal(left, set(), name, "after", i)
            if name == "home":
                check(len(after[name]) < len(before[name]) + 3, after[name])
    note("killed while", moments)
    with session(t):
        t.inside("true", options=options).ok()
    equal(listed(t), {})
    equal(_host(t), before)


@test
def the_name_of_a_killed_holder_can_be_reused(t):
    def kill():
        t.inside("true", options=["--session", "web"]).ok()
        os.kill(holder(t), signal.SIGKILL)
        wait_until(lambda: not running(), "the end of all processes")
        equal(sockets(t), ["web"])	# The control: it is left
    kill()
    r = t.run("session", "list").ok()
    equal((r.out, r.err, sockets(t)), ("", "", []))
    kill()
    contains(t.run("session", "stop", "web").ended(2).err, "there is no session 'web'")
    contains(t.run("session", "publish", "web", "80").ended(2).err, "there is no session 'web'")
    # A command takes the name over
    with session(t) as options:
        t.inside("true", options=options).ok()
        equal(list(listed(t)), ["web"])
    equal(listed(t), {})


@test
def an_unresponsive_holder_can_be_stopped(t):
    with session(t) as options:
        t.shell("sleep 1000 </dev/null >/dev/null 2>&1 &", options).ok()
        os.kill(holder(t), signal.SIGSTOP)
        contains(t.run("session", "list").ok().out, "does not answer")
        t.run("session", "stop", "web").ok()
        wait_until(lambda: not running(), "the end of all processes")
        equal(listed(t), {})


@test
def every_command_has_a_record_that_names_the_session(t):
    with session(t) as options:
        t.shell(f"echo x > {t.away}/a; exit 2", options).ended(2)
        t.shell("exit 3", options).ended(3)
    with open(f"{t.home}/.local/state/cloche/violations.jsonl") as file:
        records = [json.loads(line) for line in file]
    runs = [r for r in records if r.get("record") == "run"]
    equal([(r["session"], r["status"], sum(r["refused"].values())) for r in runs],
          [("web", 2, 1), ("web", 3, 0)])
    equal({r["run"] for r in records if "kind" in r}, {runs[0]["run"]})


@test
def violations_are_listed_by_session(t):
    def refused(*options):
        listed = t.run("violations", "list", "--json", *options).ok().out
        return sorted(os.path.basename(v["target"]) for v in json.loads(listed)["violations"])
    with session(t) as options, session(t, "other") as more:
        t.shell(f"echo x > {t.away}/a", options)
        t.shell(f"(until [ -e go ]; do sleep 0.1; done; echo x > {t.away}/b; touch gone) "
                "</dev/null >/dev/null 2>&1 &", options).ok()
        t.shell(f"echo x > {t.away}/c", more)
        t.shell(f"echo x > {t.away}/d")
        t.write("go", "")
        wait_until(lambda: t.exists("gone"), "a refusal in the background")
    equal(refused(), ["a", "b", "c", "d"])
    equal(refused("--session", "web"), ["a", "b"])
    equal(refused("--session", "other"), ["c"])
    equal(refused("--session", "none"), [])


@test
def invalid_session_names_are_refused(t):
    for name in ("", "../x", ".x", "-x", "a/b", "x" * 65, "a b"):
        t.inside("true", options=[f"--session={name}"]).ended(125, name)
        check(t.run("session", "stop", "--", name).code != 0, name)
    r = t.run("session", "stop", "none")
    check(r.code != 0)
    contains(r.err, "there is no session 'none'")


main()
