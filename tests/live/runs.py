# SPDX-License-Identifier: Apache-2.0
"""tests/live/runs.py - every run leaves a record, and no secret in it"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

STORE = ".local/state/cloche/violations.jsonl"


def lines(t):
    """The store as text; "" if there is none"""
    path = os.path.join(t.home, STORE)
    return t.read(path) if os.path.exists(path) else ""


def runs(t):
    found = [json.loads(line) for line in lines(t).splitlines()]
    return [r for r in found if r.get("record") == "run"]


@test
def a_run_is_recorded_when_it_has_ended(t):
    t.shell("exit 3").ended(3)
    [r] = runs(t)
    equal((r["status"], r["command"], r["project"], r["tier"], r["refused"]),
          (3, "sh -c 'exit 3'", t.dir, "full", {}))
    equal(len(r["policy"]), 64)
    check(r["start"] <= r["end"], r)
    # The same policy has the same digest, another one another
    t.shell("exit 0").ok()
    t.inside("true", options=["--allow", "registry.example.org"]).ok()
    first, second, third = (r["policy"] for r in runs(t))
    equal(first, second)
    check(first != third)


@test
def refusals_are_counted_and_have_the_run(t):
    t.shell(f"echo x > {t.away}/a; echo x > {t.away}/b; echo x > {t.away}/a; exit 2").ended(2)
    [r] = runs(t)
    equal(sum(r["refused"].values()), 3)
    found = json.loads(t.run("violations", "list", "--json").ok().out)["violations"]
    equal({v["run"] for v in found}, {r["run"]})
    out = t.run("violations", "list").ok().out
    contains(out, f"run {r['run']}  sh -c ")
    contains(out, " (exit status 2, ")


@test
def secrets_of_a_command_line_are_not_recorded(t):
    for argv in (["--token", "hunter2"], ["DEPLOY_KEY=hunter2"], ["-u", "me:hunter2"],
                 ["https://me:hunter2@registry.example.org/?x=hunter2"],
                 ["export API_TOKEN=hunter2; make"]):
        t.inside("true", *argv).ok()
    t.inside("true", "plain").ok()
    equal(len(runs(t)), 6)
    contains(lines(t), "true plain")		# The control
    lacks(lines(t), "hunter2")
    # Nor with a refusal
    t.inside("sh", "-c", f"echo > {t.away}/x", "--token", "hunter2")
    contains(lines(t), t.away + "/x")
    lacks(lines(t), "hunter2")


@test
def records_of_runs_can_be_switched_off(t):
    t.inside("true", options=["--no-record"]).ok()
    equal(runs(t), [])
    t.write(t.home + "/.config/cloche/policy.json", '{"noRunRecords": true}')
    t.shell(f"echo > {t.away}/x")
    equal(runs(t), [])
    contains(lines(t), t.away + "/x")		# Refusals stay
    os.remove(t.home + "/.config/cloche/policy.json")
    # Not by a repository that nobody has approved
    t.write(".cloche.json", '{"noRunRecords": true}')
    t.inside("true")
    equal(len(runs(t)), 1)


@test
def a_store_that_cannot_be_written_stops_no_run(t):
    os.makedirs(os.path.join(t.home, os.path.dirname(STORE)), 0o700)
    os.mkdir(os.path.join(t.home, STORE))	# Not a file
    r = t.shell("echo done").ok()
    equal((r.out, r.err), ("done\n", ""))


@test
def many_runs_at_once_are_all_recorded(t):
    started = [subprocess.Popen([CLOCHE, "run", "true", str(i)]) for i in range(24)]
    for p in started:
        equal(p.wait(), 0)
    equal({r["command"] for r in runs(t)}, {f"true {i}" for i in range(24)})
    with open(os.path.join(t.home, STORE), "ab") as file:
        file.write(b'{"v":1,"record":"run","sta\n{"v":7,"record":"run"}\n\xff\n')
    t.shell(f"echo > {t.away}/x")
    contains(t.run("violations", "list").ok().out, t.away + "/x")
    t.run("violations", "clear").ok()
    equal(lines(t), "")


main()
