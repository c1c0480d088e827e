# SPDX-License-Identifier: Apache-2.0
"""tests/cli/trust.py - cloche trust: review, approval and the note of a run"""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *
from terminal import Terminal

NOTE = "review: cloche trust"


def asks(t, *hosts, path=".cloche.json", **more):
    return t.write(path, json.dumps({"network": {"allowedDomains": hosts},
                                     **more}))


def note_of(t, **more):
    """What a run says of the repository's settings"""
    return [line for line in t.inside("true", **more).ok().err.splitlines()
            if NOTE in line]


def approved(t):
    return json.loads(t.run("trust", "--list", "--json").ok().out)["approved"]


@test
def a_run_prints_unapproved_requests_in_one_line(t):
    equal(note_of(t), [])
    asks(t, "a.example", "b.example", filesystem={"allowWrite": [t.away]})
    equal(note_of(t), ["cloche: note: .cloche.json asks for 2 hosts and 1 path; "
                       + NOTE])
    with Terminal([CLOCHE, "run", "true"], cwd=t.dir) as term:  # No question
        equal(term.wait(60), 0)
    t.run("trust").ended(1)                     # No terminal: nothing is approved
    t.run("trust", "--show").ended(1)
    equal(len(note_of(t)), 1)
    t.trust()
    equal(note_of(t), [])
    t.run("trust", "--show").ok()


@test
def an_approval_covers_requests_not_the_file_text(t):
    asks(t, "a.example", "b.example")
    t.trust()
    t.write(".cloche.json", '{ "network":\n{"allowedDomains" : ["B.example"],'
            '"deniedDomains": ["x.example"]}}')
    equal(note_of(t), [], "reordered, less, and a denial")
    asks(t, "a.example", "c.example")
    contains("".join(note_of(t)), "asks for 1 host;")
    equal(t.run("policy", "why", "host", "a.example").code, 0)
    equal(t.run("policy", "why", "host", "c.example").code, 1)


@test
def trust_prompts_on_a_terminal_only(t):
    os.makedirs(t.away + "/dir/neighbour")
    asks(t, "a.example\u202e\x1b[2J", filesystem={"allowRead": [t.away + "/dir"]},
         excludedCommands=["docker *"])
    for answer in ("n", "y"):
        with Terminal([CLOCHE, "trust"], cwd=t.dir) as term:
            term.expect("[y/N]")
            term.send(answer + "\n")
            equal(term.wait(60), 0 if answer == "y" else 1)
            contains(term.text, "/dir: neighbour")
            contains(term.text, "refused: would run 'docker *'")
            lacks(term.text, "\x1b[2J")
        equal(len(approved(t)), int(answer == "y"))
    lines = approved(t)[0]["asks"]
    check(not any(line.startswith("command") for line in lines), lines)


@test
def approvals_are_listed_forgotten_and_pruned(t):
    need("git")
    for name in ("one", "two"):
        t.outside("git", "init", "-q", name).ok()
        asks(t, "a.example", path=name + "/.cloche.json")
        t.trust("--cwd", t.dir + "/" + name)
    ids = lambda: sorted(record["id"] for record in approved(t))
    equal(ids(), [f"{t.dir}/{name}/.git" for name in ("one", "two")])
    contains(t.run("trust", "--list").ok().out, "  host a.example")
    contains(t.run("trust", "--prune").ok().out, "0 approvals")
    shutil.rmtree("two")
    contains(t.run("trust", "--prune").ok().out, "1 approval ")
    equal(ids(), [t.dir + "/one/.git"])
    contains(t.run("trust", "--forget", "--cwd", t.dir + "/one").ok().out, "1 ")
    equal(ids(), [])
    equal(len(note_of(t, cwd=t.dir + "/one")), 1)
    t.run("trust", "--list", "--forget").ended(2)


@test
def trust_with_a_pin_approves_that_digest_only(t):
    asks(t, "a.example")
    digest = json.loads(t.run("trust", "--show", "--json").out)[
        "sources"][0]["digest"]
    check(digest.startswith("sha256:"), digest)
    why = lambda pin: t.run("policy", "why", "host", "a.example",
                            env={"CLOCHE_TRUST": pin}).code
    equal(why(digest), 0)
    equal(note_of(t, env={"CLOCHE_TRUST": digest}), [])
    for pin in ("", "sha256:", digest[:-1], digest[:-1] + "x", "*",
                digest.replace("sha256:", "")):
        equal(why(pin), 1, pin)
    asks(t, "a.example", "b.example")           # It pins all of them or nothing
    equal(why(digest), 1)
    equal(approved(t), [])
    asks(t, "a.example", excludedCommands=["docker *"])
    digest = json.loads(t.run("trust", "--show", "--json").out)[
        "sources"][0]["digest"]
    equal(why(digest), 0)
    r = t.run("run", "--allow-unsandboxed", "-c", "docker ps; echo x > /etc/x",
              env={"CLOCHE_TRUST": digest})
    check(r.code and not os.path.exists("/etc/x"), r)


@test
def diff_accepts_files_directories_and_pipes(t):
    asks(t, "a.example", path="old.json")
    asks(t, "a.example", "b.example")
    reach = "+ can send anything it reads to b.example\n"
    for old, new, code, out in (
            ("old.json", ".cloche.json", 1, reach), ("old.json", ".", 1, reach),
            (".", "old.json", 0, reach.replace("+", "-")), (".", ".", 0, "")):
        equal(t.run("policy", "diff", old, new).ended(code).out, out)
    r = subprocess.run(["bash", "-c", f'"{CLOCHE}" policy diff <(cat old.json) .'],
                       capture_output=True, text=True, cwd=t.dir)
    equal((r.returncode, r.stdout), (1, reach), r.stderr)
    os.mkfifo("fifo")
    t.run("policy", "diff", "fifo", ".").ended(2)


main()
