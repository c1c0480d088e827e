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
def an_exit_status_is_not_for_others_to_choose(t):
    try:
        with t.start("run", *OPTIONS, "--", "sh", "-c", "echo ready; read x; exit 7") as p:
            equal(p.stdout.readline(), b"ready\n")
            # All that another command has: it can end it, which is reported as that
            t.shell("for fd in 3 4 5 6 7 8 9; do echo x >&$fd; done 2>/dev/null; true",
                    OPTIONS).ok()
            p.communicate(b"\n")
            equal(p.returncode, 7)
    finally:
        stop(t)


main()
