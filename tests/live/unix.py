# SPDX-License-Identifier: Apache-2.0
"""tests/live/unix.py - Unix sockets: by path, and no other"""

import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

CLIENT = """
import socket, sys
for name in sys.argv[1:]:
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect("\\0" + name[1:] if name[0] == "@" else name)
        print(s.recv(5).decode())
    except OSError as e:
        print(e.errno)
"""


def serve(address):
    s = socket.socket(socket.AF_UNIX)
    s.bind(address)
    s.listen(16)

    def answer():
        while True:
            s.accept()[0].sendall(b"hello")
    threading.Thread(target=answer, daemon=True).start()


def attempts(t, names, options=()):
    r = t.inside("/usr/bin/python3", "-c", CLIENT, *names, options=options)
    return r.out.split()


def outside(t, name):
    path = f"{os.path.dirname(t.dir)}/{name}-{os.path.basename(t.dir)}"
    os.mkdir(path)
    return path


@test
def none_by_default(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    s = socket.socket(socket.AF_UNIX)
    s.connect(f"{there}/a")                 # The control
    equal(attempts(t, [f"{there}/a"]), ["1"])


@test
def the_one_that_is_named_and_not_its_neighbour(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{there}/b")
    os.symlink(f"{there}/b", t.dir + "/link")
    os.symlink(f"{there}/a", t.dir + "/good")
    relative = os.path.relpath(there, t.dir)
    got = attempts(t, [f"{there}/a", f"{there}/b", "link", "good",
                       f"{relative}/a", f"{relative}/b"],
                   ["--unix-socket", f"{there}/a"])
    equal(got, ["hello", "13", "13", "hello", "hello", "13"])


@test
def abstract_ones_never(t):
    name = f"cloche-test-{os.getpid()}"
    there = outside(t, "s")
    serve(f"{there}/a")
    serve("\0" + name)
    s = socket.socket(socket.AF_UNIX)
    s.connect("\0" + name)                  # The control
    got = attempts(t, ["@" + name], ["--unix-socket", f"{there}/a"])
    check(got and got[0] != "hello", got)


@test
def one_in_a_hidden_directory(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{there}/b")
    got = attempts(t, [f"{there}/a", f"{there}/b"],
                   ["--deny-read", there, "--unix-socket", f"{there}/a"])
    equal(got, ["hello", "2"])


@test
def without_the_observer_too(t):
    there = outside(t, "s")
    serve(f"{there}/a")
    serve(f"{there}/b")
    got = attempts(t, [f"{there}/a", f"{there}/b"],
                   ["--observe", "off", "--unix-socket", f"{there}/a"])
    equal(got, ["hello", "13"])


@test
def the_agent_is_named_to_the_command_if_it_is_allowed(t):
    there = outside(t, "s")
    serve(f"{there}/agent")
    env = {"SSH_AUTH_SOCK": f"{there}/agent"}
    show = ["sh", "-c", "echo ${SSH_AUTH_SOCK-none}"]
    equal(t.inside(*show, env=env).ok().out, "none\n")
    equal(t.inside(*show, env=env,
                   options=["--unix-socket", f"{there}/agent"]).ok().out,
          f"{there}/agent\n")


main()
