# SPDX-License-Identifier: Apache-2.0
"""tests/live/inner-report.py - refusals for a program inside that reads what its commands print

An agent's model reads the output of commands, not the footer of the run.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

# agent.py HOW COMMAND: what a program inside reads of it, as JSON
AGENT = r"""
import json, os, pty, socket, subprocess, sys

def read_all(read):
    text = b""
    while True:
        try:
            more = read(4096)
        except OSError:
            more = b""
        if not more:
            return text.decode()
        text += more

def start(there):
    p = subprocess.Popen(["bash", "-c", sys.argv[2]], stdin=subprocess.DEVNULL,
                         stdout=there, stderr=there)
    return p

how = sys.argv[1]
if how == "file":
    with open("printed", "w+b") as f:
        start(f).wait()
    said = open("printed").read()
elif how == "input":		# It can only be read by the command
    r, w = os.pipe()
    start(r).wait()
    os.close(w)
    said = read_all(lambda n: os.read(r, n))
elif how == "named":
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    server.listen()
    ours = socket.socket(socket.AF_UNIX)
    ours.connect("socket")
    theirs = server.accept()[0]
    start(ours).wait()
    ours.close()
    said = read_all(theirs.recv)
else:
    a, b = {"pipe": os.pipe, "pty": pty.openpty,
            "pair": lambda: [s.detach() for s in socket.socketpair()]}[how]()
    p = start(b)
    os.close(b)
    said = read_all(lambda n: os.read(a, n))
    p.wait()
print(json.dumps(said))
"""


def read(t, how, command, *options):
    t.write("agent.py", AGENT)
    r = t.run("run", *(options or ("--annotate", "each")), "--", "python3", "agent.py", how,
              command).ok()
    return json.loads(r.out).replace("\r\n", "\n"), r.err


def line_of(t, path):
    return (f"cloche: refused: write {path} (outside the writable paths)\n"
            f"            cloche policy allow --cwd {t.dir} write {path}\n")


@test
def a_reader_inside_gets_the_refusal_and_the_line_that_allows_it(t):
    path = t.home + "/not-made"
    for how in ("pipe", "pty", "pair", "file"):
        said, footer = read(t, how, f"echo x > {path}; echo end")
        contains(said, line_of(t, path), how)
        contains(said, "end")
        contains(footer, "refused 1 thing")
    said, _ = read(t, "pipe", f"echo x > {path}", "--annotate", "auto")
    contains(said, "Read-only file system")
    lacks(said, "cloche")		# The control: only where it was asked for
    line = line_of(t, path).splitlines()[1].split()[1:]
    t.write(t.home + "/.config/cloche/policy.json", "{}")
    t.run(*line, cwd="/").ok()
    said, footer = read(t, "pipe", f"echo x > {path} && echo made")
    equal((said, footer), ("made\n", ""))


@test
def a_reader_inside_gets_refused_reads_and_hosts(t):
    t.write(t.home + "/.ssh/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
    said, _ = read(t, "pipe", "cat ~/.ssh/id_rsa; python3 -c 'import socket; "
                   "socket.create_connection((\"registry.example.org\", 443))'", "--observe",
                   "full", "--annotate", "each")
    contains(said, f"policy allow --cwd {t.dir} read {t.home}/.ssh/id_rsa\n")
    contains(said, f"policy allow --cwd {t.dir} host registry.example.org\n")


@test
def the_inner_command_is_the_one_whose_output_is_read(t):
    """What it redirects itself stays as it is, and each refusal is written once"""
    path = t.home + "/not-made"
    said, _ = read(t, "pipe", f"for i in 1 2 3; do sh -c 'echo x > {path}' 2>errors; done; "
                   "cat errors")
    equal(said.count("cloche: refused"), 1, said)
    lacks(t.read("errors"), "cloche")


@test
def a_command_gets_a_limited_number_of_refusals(t):
    for n, more in ((7, False), (8, True), (9, True)):
        said, _ = read(t, "pipe", f"for i in $(seq {n}); do echo x > ~/not-made-$i; done")
        equal(said.count("cloche: refused: write"), min(n, 8), said)
        equal("further refusals of this command: cloche violations list --run" in said, more, said)


@test
def nothing_is_written_to_an_input_or_a_named_socket(t):
    command = f"echo x > {t.home}/not-made; echo end >&2"
    said, footer = read(t, "input", command)
    equal(said, "")
    contains(footer, "refused 1 thing")
    said, footer = read(t, "named", command)
    contains(said, "end")
    lacks(said, "cloche")
    contains(footer, "refused 1 thing")
    said, _ = read(t, "pair", command)		# The control
    contains(said, "cloche: refused")


@test
def a_whole_agent_of_a_preset_gets_them(t):
    path = t.away + "/not-made"
    said, _ = read(t, "pipe", f"echo x > {path}; echo end", "--for", "aider")
    contains(said, f"cloche: refused: write {path}")
    said, _ = read(t, "pipe", f"echo x > {path}; echo end", "--for", "aider",
                   "--annotate", "text")
    lacks(said, "cloche")


main()
