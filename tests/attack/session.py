# SPDX-License-Identifier: Apache-2.0
"""tests/attack/session.py - a command of a session against its holder and later commands"""

import json
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

OPTIONS = ["--session", "web"]


def stop(t):
    t.run("session", "stop", "web")


def path(t):
    return f"{t.home}/.local/state/cloche/sessions/web"


CONNECT = ("import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); "
           "s.connect(sys.argv[1])")


@test
def the_holder_cannot_be_reached_from_inside(t):
    t.inside("true", options=OPTIONS).ok()
    try:
        t.outside("python3", "-c", CONNECT, path(t)).ok()	# The control
        check(t.inside("python3", "-c", CONNECT, path(t), options=OPTIONS).code != 0)
        check(t.inside("python3", "-c", CONNECT, path(t)).code != 0)
        check(t.inside("ls", path(t), options=OPTIONS).code != 0)
    finally:
        stop(t)


@test
def a_peer_in_another_user_namespace_is_not_answered(t):
    """As if a process of a sandbox had got to the socket after all"""
    t.inside("true", options=OPTIONS).ok()
    try:
        # The control: a permitted client stays connected while the next one is served
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.connect(path(t))
            t.run("session", "list").ok()
            try:
                s.recv(1, socket.MSG_DONTWAIT)
                check(False, "the holder closed the connection")
            except BlockingIOError:
                pass
        r = t.outside(need("unshare"), "-r", "python3", "-c",
                      CONNECT + "; print(s.recv(1))", path(t)).ok()
        equal(r.out, "b''\n")
    finally:
        stop(t)


ASK = CONNECT + "; print(s.recv(1))"


@test
def a_socket_rule_does_not_allow_joining_a_session(t):
    """Of another sandbox: the peer would be its supervisor, or has the holder's namespace"""
    t.inside("true", options=OPTIONS).ok()
    other = t.home + "/other"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(other)
            s.listen()
            for where, code in ((other, 0), (path(t), 1)):	# The control first
                rule = json.dumps({"network": {"allowUnixSockets": [where]}})
                r = t.inside("python3", "-c", CONNECT, where, options=("-s", rule)).ended(code)
            contains(r.err, "is cloche's own, so nothing is allowed there")
            lacks(r.err, "policy allow")
        if t.outside(CLOCHE, "run", "--tier", "landlock", "true").code:
            return
        rule = json.dumps({"network": {"allowAllUnixSockets": True}})
        options = ("--tier", "landlock", "-s", rule)
        r = t.inside("python3", "-c", ASK, path(t), options=options)
        check(r.code or r.out == "b''\n", repr(r))
        t.run("session", "list").ok()
    finally:
        stop(t)


@test
def process_1_of_a_session_cannot_be_read_or_killed(t):
    t.inside("true", options=OPTIONS).ok()
    script = ("readlink /proc/1/fd/3; cat /proc/1/fd/3; cat /proc/1/environ; "
              "kill -KILL 1; kill -STOP 1; kill -TERM 1; true")
    try:
        r = t.shell(script, OPTIONS)
        equal(r.out, "")
        # It still serves
        t.inside("true", options=OPTIONS).ok()
        # The control: a command's own are open to it
        contains(t.shell("readlink /proc/$$/fd/1", OPTIONS).ok().out, "pipe:")
    finally:
        stop(t)


@test
def descriptors_and_variables_of_one_command_are_not_inherited(t):
    t.write("secret", "x")
    try:
        with open(f"{t.dir}/secret") as file:
            t.inside("true", options=OPTIONS, stdin_file=file,
                     env={"MINE": "hunter2"}).ok()
        r = t.inside("python3", "-c", "import os; print(sorted(os.listdir('/proc/self/fd'))); "
                     "print(dict(os.environ), [os.readlink(f'/proc/self/fd/{i}') for i in range(3)])",
                     options=OPTIONS).ok()
        equal(r.out.splitlines()[0], "['0', '1', '2', '3']")	# 3 is the listed directory
        lacks(r.out, "hunter2")
        lacks(r.out, "secret")
    finally:
        stop(t)


@test
def a_protected_file_as_output_cannot_be_truncated(t):
    """Its name is found only by a search of the project, which a join leaves out elsewhere"""
    t.outside(need("git"), "init", "-q", "sub/other").ok()
    cut = "import os; os.ftruncate(1, 0)"
    try:
        t.inside("true", options=OPTIONS).ok()
        for name, kept in (("sub/other/.git/config", True), ("sub/plain", False)):
            t.write(name, "[a]\n")
            with open(f"{t.dir}/{name}", "a") as file:
                t.outside(CLOCHE, "run", *OPTIONS, "--", "python3", "-c", cut, stdout=file)
            equal(t.read(name) == "[a]\n", kept, name)
    finally:
        stop(t)


FORGE = """
import os, signal, sys
victim = int(sys.argv[1])
os.getpgid(victim)		# It is there
if not os.fork():
    # An orphan, whose end process 1 sees as it sees the victim's
    if not os.fork():
        while os.getppid() != 1:
            pass
        os._exit(0)
    os._exit(0)
os.wait()
for sig in (signal.SIGCHLD, signal.SIGCONT):
    try:
        os.kill(1, sig)		# Wakes process 1: what it reads is the kernel's
    except PermissionError:
        pass
for path in ("/proc/1/mem", "/proc/1/fd/3"):
    try:
        os.open(path, os.O_RDONLY)
        print("opened", path)
    except OSError:
        pass
os.close(os.open("/proc/self/mem", os.O_RDONLY))	# The control
print("done")
"""


@test
def a_command_cannot_forge_anothers_exit_status(t):
    t.write("forge.py", FORGE)
    try:
        with t.start("run", *OPTIONS, "--", "sh", "-c", "echo $$; read x; exit 7") as p:
            pid = p.stdout.readline().decode().strip()
            for _ in range(3):
                r = t.inside("python3", "forge.py", pid, options=OPTIONS).ok()
                equal(r.out, "done\n")
            t.run("session", "list").ok()
            equal(p.poll(), None)	# None of the ends was taken for its
            p.communicate(b"\n")
            equal(p.returncode, 7)
        # The control: all that another has is a signal, which is reported as that
        with t.start("run", *OPTIONS, "--", "sh", "-c", "echo $$; read x; exit 7") as p:
            pid = p.stdout.readline().decode().strip()
            t.inside("sh", "-c", f"kill -USR1 {pid}", options=OPTIONS).ok()
            equal(p.wait(RUN_SECONDS), 128 + 10)
    finally:
        stop(t)


# Left behind by the first command: waits for a later one, takes what it can of it
SPY = """
import ctypes, fcntl, json, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

def attempt(function):
    try:
        return repr(function())
    except OSError as error:
        return error.strerror

def victim():
    while True:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ") as file:
                    environ = file.read()
                if "VICTIM=1" in environ and os.path.exists("ready") and os.getpgid(int(pid)) == int(pid):
                    return int(pid), environ
            except OSError:
                pass

def seize():
    if libc.ptrace(0x4206, pid, None, None) < 0:	# PTRACE_SEIZE
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return 0

open("waits", "w").close()
pid, environ = victim()
links = [os.readlink(f"/proc/{pid}/fd/{i}") for i in range(3)]
fds = sorted(os.listdir(f"/proc/{pid}/fd"))
found = {"environ": environ, "links": links, "fds": fds,
         "input": attempt(lambda: os.read(os.open(f"/proc/{pid}/fd/0",
                                                  os.O_RDONLY | os.O_NONBLOCK), 100)),
         "write": attempt(lambda: os.open(f"/proc/{pid}/fd/0", os.O_WRONLY | os.O_TRUNC)),
         "ptrace": attempt(seize),
         "take": attempt(lambda: libc.syscall(438, os.pidfd_open(pid), 0, 0))}
for name in ("/dev/tty", "/dev/pts/0", sys.argv[1]):
    found[name] = attempt(lambda: os.open(name, os.O_RDWR | os.O_NOCTTY))
with open("found.new", "w") as file:
    json.dump(found, file)
os.rename("found.new", "found")
os.kill(pid, signal.SIGUSR1)
"""


def spied(t, victim):
    """What a process that is left in the background finds out of a later command"""
    t.write("spy.py", SPY)
    t.shell(f"python3 spy.py {t.home}/.ssh/key </dev/null >/dev/null 2>&1 &", OPTIONS).ok()
    wait_until(lambda: t.exists("waits"), "the spy")
    victim()
    return json.loads(t.read("found"))


VICTIM_ENV = {"VICTIM": "1", "SSH_AUTH_SOCK": "/run/agent",
              "GITHUB_TOKEN": "ghp_0123456789012345678901234567"}


@test
def commands_of_one_session_share_a_trust_domain(t):
    """cloche-session(1), ONE TRUST DOMAIN: environment, memory, descriptors, signals; and
    nothing that the later command itself has not got
    """
    t.write(t.home + "/.ssh/key", "of the host\n")

    def victim():
        with open(t.home + "/.ssh/key") as file:
            r = t.inside("python3", "-c", "import os, signal; os.mkdir('ready'); "
                         "signal.pause()", options=OPTIONS, env=VICTIM_ENV, stdin_file=file,
                         timeout=60)
        equal(r.code, 128 + 10)		# The spy's signal, seen as that
    try:
        found = spied(t, victim)
        contains(found["environ"], "VICTIM=1")
        contains(found["input"], "of the host")		# It was given to the session
        equal(found["ptrace"], "0")
        # Its caller's secrets are not in it, and the file is not, only a copy of its text
        lacks(found["environ"], "ghp_")
        lacks(found["environ"], "/run/agent")
        equal([link.split(":")[0] for link in found["links"]], ["pipe"] * 3)
        equal(found["fds"], ["0", "1", "2"])
        equal(t.read(t.home + "/.ssh/key"), "of the host\n")
        check(not found[t.home + "/.ssh/key"].isdigit(), found)
        equal(found["take"], "-1")
    finally:
        stop(t)


@test
def bound_secrets_are_refused_in_a_session(t):
    """Every command of it could use them: neither by an option nor by settings"""
    contains(t.inside("true", options=[*OPTIONS, "--secret", "TOKEN@registry.example.org"])
             .ended(125).err, "for one run")
    t.write(f"{t.home}/.config/cloche/policy.json", json.dumps(
        {"secrets": ["TOKEN@registry.example.org"], "network": {"tlsTerminate": {}}}))
    contains(t.inside("true", options=OPTIONS).ended(125).err, "the settings bind secrets")
    equal(json.loads(t.run("session", "list", "--json").ok().out)["sessions"], [])


FIND = """
import os, sys
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{pid}/environ") as file:
            if "VICTIM=1" in file.read():
                print("found", pid)
    except OSError:
        pass
"""


@test
def other_sessions_and_runs_cannot_be_reached(t):
    """Of another name, and with the same policy"""
    t.write("find.py", FIND)
    server = ("import os, signal, socket; "
              "a = socket.create_server(('127.0.0.1', 0)); "
              "b = socket.socket(socket.AF_UNIX); b.bind('\\0web'); b.listen(); "
              "print(a.getsockname()[1], flush=True); signal.pause()")
    connect = ("import socket, sys; s = socket.socket(socket.AF_UNIX if sys.argv[1] == '-' "
               "else socket.AF_INET); s.connect('\\0web' if sys.argv[1] == '-' else "
               "('127.0.0.1', int(sys.argv[1]))); print('connected')")
    try:
        with t.start("run", *OPTIONS, "--", "python3", "-c", server,
                     env={**os.environ, "VICTIM": "1"}) as p:
            port = p.stdout.readline().decode().strip()
            for options, reached in ((OPTIONS, True), (["--session", "other"], False),
                                     ([], False)):
                found = t.inside("python3", "find.py", options=options).ok().out
                equal("found" in found, reached, options)
                for to in (port, "-"):
                    r = t.inside("python3", "-c", connect, to, options=options)
                    equal("connected" in r.out, reached, options, to)
            p.kill()
    finally:
        stop(t)
        t.run("session", "stop", "other")


@test
def a_later_commands_terminal_cannot_be_opened(t):
    from terminal import Terminal
    t.write(t.home + "/.ssh/key", "of the host\n")

    def victim():
        with Terminal([CLOCHE, "run", *OPTIONS, "--", "python3", "-c",
                       "import os, signal; os.mkdir('ready'); signal.pause()"],
                      env={**os.environ, "VICTIM": "1"}, cwd=t.dir) as term:
            name = os.readlink(f"/proc/{term.pid}/fd/0")
            before = os.stat(name)
            equal(term.wait(RUN_SECONDS), 128 + 10, term.text)
            after = os.stat(name)
            equal((after.st_mode, after.st_uid), (before.st_mode, before.st_uid))
    try:
        found = spied(t, victim)
        # What it finds is the sandbox's own
        equal(found["links"], ["/dev/pts/0"] * 3)
        check(found["/dev/pts/0"].isdigit(), found)
        check(not found["/dev/tty"].isdigit(), found)
        contains(found["environ"], "VICTIM=1")		# The control
    finally:
        stop(t)


main()
