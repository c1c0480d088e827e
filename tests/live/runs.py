# SPDX-License-Identifier: Apache-2.0
"""tests/live/runs.py - run records, and no secret in them"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *
from terminal import Terminal

STORE = ".local/state/cloche/violations.jsonl"


def lines(t):
    """The store as text; "" if there is none"""
    path = os.path.join(t.home, STORE)
    return t.read(path) if os.path.exists(path) else ""


def runs(t, kind="run"):
    found = [json.loads(line) for line in lines(t).splitlines()]
    return [r for r in found if r.get("record") == kind]


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
def refusals_are_counted_per_run(t):
    t.shell(f"echo x > {t.away}/a; echo x > {t.away}/b; echo x > {t.away}/a; exit 2").ended(2)
    [r] = runs(t)
    equal(sum(r["refused"].values()), 3)
    found = json.loads(t.run("violations", "list", "--json").ok().out)["violations"]
    equal({v["run"] for v in found}, {r["run"]})
    out = t.run("violations", "list").ok().out
    contains(out, f"run {r['run']}  sh -c ")
    contains(out, " (exit status 2, ")


@test
def a_killed_run_is_recorded_as_killed(t):
    p = t.start("run", "--", "sh", "-c", f"echo x > {t.away}/a; echo ready; read x",
                stdin=subprocess.PIPE)
    equal(p.stdout.readline(), b"ready\n")
    wait_until(lambda: runs(t, "start"), "the line of a run that lasts")
    [r] = runs(t, "start")
    equal((r["pid"], r["tier"], r["project"]), (p.pid, "full", t.dir))
    contains(t.run("violations", "list").ok().out, " (running)\n")
    p.kill()
    p.wait()
    equal(runs(t), [])
    contains(t.run("violations", "list").ok().out, " (killed)\n")
    page = t.run("report", r["run"]).ok().out
    contains(page, '"running":false')
    # One that ends has both lines, with one id
    p = t.start("run", "--", "sh", "-c", "read x; exit 3")
    wait_until(lambda: len(runs(t, "start")) == 2, "the line of the other run")
    p.communicate(b"\n")
    equal(p.returncode, 3)
    [end] = runs(t)
    check(end["run"] in [s["run"] for s in runs(t, "start")])
    # And without records neither
    t.run("violations", "clear").ok()
    t.inside("sleep", "0.3", options=["--no-record"]).ok()
    equal(lines(t), "")


@as_root
def a_run_works_on_a_full_disk(t):
    state = os.path.join(t.home, os.path.dirname(STORE))
    os.makedirs(state, 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "tmpfs", state], check=True)
    try:
        t.inside("true").ok()
        with open(os.path.join(state, "fill"), "wb") as file:
            try:
                file.write(b"x" * 8192)
            except OSError:
                pass
        r = t.shell(f"sleep 0.1; echo x > {t.away}/a; echo done").ok()
        equal(r.out, "done\n")
        check(not os.path.exists(t.away + "/a"))
        t.run("report").ok()
        t.run("violations", "list").ok()
    finally:
        subprocess.run(["umount", state], check=True)


@test
def policy_show_digest_prints_the_recorded_digest(t):
    options = ["--allow", "registry.example.org"]
    t.inside("true", options=options).ok()
    [r] = runs(t)
    equal(t.run("policy", "show", "--digest", *options).ok().out, r["policy"] + "\n")
    check(t.run("policy", "show", "--digest").ok().out != r["policy"] + "\n")


@test
def a_policy_in_a_config_map_directory_is_read(t):
    """Names are links into ..data, which is replaced by rename"""
    tested = os.path.join(os.path.dirname(CLOCHE), "cloche-test")
    etc = os.path.join(t.away, "etc")
    drop = os.path.join(etc, "cloche", "policy.d")

    def publish(generation, policy):
        t.write(os.path.join(drop, f"..{generation}", "fleet.json"), json.dumps(policy))
        os.symlink(f"..{generation}", os.path.join(drop, "..data_tmp"))
        os.rename(os.path.join(drop, "..data_tmp"), os.path.join(drop, "..data"))

    publish(1, {"filesystem": {"denyRead": [t.away + "/a"]}})
    os.symlink("..data/fleet.json", os.path.join(drop, "fleet.json"))
    for name in "ab":
        t.write(os.path.join(t.away, name), name)
    env = {"CLOCHE_ROOT_ETC": etc}
    first = t.outside(tested, "policy", "show", "--digest", env=env).ok().out
    p = Started(["env", f"CLOCHE_ROOT_ETC={etc}", tested, "run", "--", "sh", "-c", f"""
        cat {t.away}/a && exit 1
        cat {t.away}/b && echo
        while cat {t.away}/b >/dev/null 2>&1; do sleep 0.02; done
        echo denied"""], cwd=t.dir, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    equal(p.stdout.readline(), b"b\n")
    publish(2, {"filesystem": {"denyRead": [t.away + "/a", t.away + "/b"]}})
    equal(p.stdout.readline(), b"denied\n")
    out, err = p.communicate()
    equal(p.returncode, 0, err)
    check(t.outside(tested, "policy", "show", "--digest", env=env).ok().out != first)


@test
def top_lists_running_sandboxes(t):
    equal(t.run("top").ok().out, "no sandbox runs\n")
    check(not os.path.exists(os.path.join(t.home, ".local")))
    p = t.start("run", "--", "sh", "-c", f"echo x > {t.away}/a; sleep 1000 & echo ready; read x",
                stdin=subprocess.PIPE)
    equal(p.stdout.readline(), b"ready\n")
    wait_until(lambda: runs(t, "start"), "the line of a run that lasts")
    wait_until(lambda: "fs-write" in lines(t), "the refusal")
    [row] = json.loads(t.run("top", "--json").ok().out)["sandboxes"]
    equal((row["pid"], row["tier"], row["project"], row["refusals"]), (p.pid, "full", t.dir, 1))
    check(row["processes"] >= 4, row)		# Supervisor, process 1, sh, sleep
    check(row["memory"] > 1 << 20 and row["age_ms"] > 0, row)
    equal(row["connections"], 0)
    with t.start("run", "--", "python3", "-c", """
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
a = s.accept()
print("ready", flush=True)
input()""") as other:
        equal(other.stdout.readline(), b"ready\n")
        wait_until(lambda: len(runs(t, "start")) == 2, "the line of the other run")
        found = {r["pid"]: r["connections"] for r in json.loads(
            t.run("top", "--json").ok().out)["sandboxes"]}
        equal(found, {p.pid: 0, other.pid: 1})
        other.stdin.close()
    r = t.run("top").ok()
    contains(r.out, str(p.pid))
    contains(r.out, "sh -c ")
    lacks(r.out, "\x1b")
    # One line for each, as wide as the terminal
    with Terminal([CLOCHE, "top"], rows=24, columns=80) as term:
        line = term.expect(f"\r\n *{p.pid} [^\r]*\r\n")[0]
        equal(len(line), 80 + len("\r\n") * 2)
    p.stdin.close()
    p.wait()
    equal(json.loads(t.run("top", "--json").ok().out)["sandboxes"], [])
    t.inside("sleep", "0.2", options=["--no-record"]).ok()
    t.run("top", "now").ended(2)


@test
def secrets_in_a_command_line_are_not_recorded(t):
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
def run_records_can_be_disabled(t):
    t.inside("true", options=["--no-record"]).ok()
    equal(runs(t), [])
    t.write(t.home + "/.config/cloche/policy.json", '{"noRunRecords": true}')
    t.shell(f"echo > {t.away}/x")
    equal(runs(t), [])
    contains(lines(t), t.away + "/x")		# Refusals stay
    os.remove(t.home + "/.config/cloche/policy.json")
    # Not by an unapproved repository
    t.write(".cloche.json", '{"noRunRecords": true}')
    t.inside("true")
    equal(len(runs(t)), 1)


@test
def a_run_works_with_an_unwritable_store(t):
    os.makedirs(os.path.join(t.home, os.path.dirname(STORE)), 0o700)
    os.mkdir(os.path.join(t.home, STORE))	# Not a file
    r = t.shell("echo done").ok()
    equal((r.out, r.err), ("done\n", ""))


@test
def one_hundred_concurrent_runs_are_all_recorded(t):
    started = [subprocess.Popen([CLOCHE, "run", "true", str(i)]) for i in range(100)]
    for p in started:
        equal(p.wait(), 0)
    equal({r["command"] for r in runs(t)}, {f"true {i}" for i in range(100)})
    with open(os.path.join(t.home, STORE), "ab") as file:
        file.write(b'{"v":1,"record":"run","sta\n{"v":7,"record":"run"}\n\xff\n')
    t.shell(f"echo > {t.away}/x")
    contains(t.run("violations", "list").ok().out, t.away + "/x")
    # A store that something else made huge
    os.truncate(os.path.join(t.home, STORE), 1 << 30)
    t.shell(f"echo > {t.away}/y")
    contains(t.run("violations", "list").ok().out, t.away + "/y")
    check(len(t.run("report").ok().out) < 1 << 20)
    t.run("violations", "clear").ok()
    equal(lines(t), "")


main()
