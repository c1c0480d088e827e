# SPDX-License-Identifier: Apache-2.0
"""tests/attack/session.py - a command of a session against its holder and later commands"""

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
        # The control: who may join stays connected while the next one is served
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


@test
def process_1_is_closed_to_the_commands(t):
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
def nothing_of_one_command_is_left_for_the_next(t):
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
def a_protected_file_as_output_cannot_be_cut(t):
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
def an_exit_status_is_not_for_others_to_choose(t):
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


main()
