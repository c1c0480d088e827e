# SPDX-License-Identifier: Apache-2.0
"""tests/live/report.py - cloche report and cloche status"""

import base64
import hashlib
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from hello import *
from tap import *
from terminal import Terminal

STORE = ".local/state/cloche/violations.jsonl"
DATA = '<script type="application/json" id="data">'
HOSTILE = [
    "</script><script>alert(1)</script>", "<!--<script>", "<img src=x onerror=alert(1)>",
    "a&amp;b", "\x1b]0;title\x07\x1b[31m", "\u202egnp.exe", "line\u2028end\u2029",
    "a" * 4000,
]


def data_of(page):
    """The text of the page's data"""
    equal(page.count(DATA), 1)
    return page.split(DATA)[1].split("</script>")[0]


def runs_of(data):
    """The last line of each run: one that lasted has a line of its start as well"""
    return list({r["run"]: r for r in data["runs"]}.values())


def refusals_of(data):
    """As the script of the page reads them: [time, times, texts...]"""
    left, time, row, found = list(reversed(data["refusals"])), 0, [None] * 11, []
    recent, seen = [[None] * 8 for _ in row], [0] * 11
    while left:
        time += left.pop()
        times, changed = left.pop(), left.pop()
        for i in range(11):
            if not changed >> i & 1:
                continue
            kept = left.pop()
            if kept < 0:
                row[i] = recent[i][-kept - 1]
                continue
            rest = left.pop()
            row[i] = row[i][:kept] + rest if kept else rest
            recent[i][seen[i] % 8] = row[i]
            seen[i] += 1
        found.append([time, times, *row])
    return found


def refusal(target, **more):
    return json.dumps({"v": 1, "time": "2026-01-31T12:34:56.789Z", "run": "R" + target,
                       "command": target, "kind": "fs-write", "op": "openat", "exe": target,
                       "target": target, "reason": target, "count": 2, **more}) + "\n"


@test
def the_page_contains_runs_and_refusals(t):
    t.shell(f"echo x > {t.away}/a; exit 4").ended(4)
    t.inside("true", "second").ok()
    page = t.run("report").ok().out
    data = json.loads(data_of(page))
    runs = runs_of(data)
    equal([(r["command"].split()[0], r["status"]) for r in runs],
          [("sh", 4), ("true", 0)])
    [v] = refusals_of(data)
    equal((v[6], v[2]), (t.away + "/a", runs[0]["run"]))
    contains(v[12], "cloche policy allow write")
    contains(data["tiers"]["landlock"][0]["promise"], "hidden")
    # One run
    r = t.run("report", runs[1]["run"], "-o", "page.html").ok()
    equal(r.out, "")
    equal(os.stat("page.html").st_mode & 0o777, 0o600)
    one = json.loads(data_of(t.read("page.html")))
    equal((len(runs_of(one)), one["refusals"]), (1, []))
    contains(t.run("report", "NONE").ended(2).err, "no record of a run 'NONE'")
    t.run("report", "--since", "soon").ended(2)
    page = t.run("report", "--since", "1h").ok().out
    equal(len(runs_of(json.loads(data_of(page)))), 2)


@test
def texts_of_the_page_survive_compression(t):
    """Texts that are repeated, that begin alike, and that have other lengths in the script"""
    seed = random.randrange(1 << 30)
    chance, parts = random.Random(seed), ["/a", "b", "\u00e9", "\U0001f600", "\u2028", "\\", '"', "<&>", "\x1b", "\u202e"]
    note("seed", seed)
    texts = ["".join(chance.choice(parts) for _ in range(chance.randrange(1, 6))) for _ in range(30)]
    lines, rows = [], []
    for i in range(2000):
        v = {"time": f"2026-01-31T12:{i // 60 % 60:02}:{i % 60:02}.789Z", "run": chance.choice(texts), "command": chance.choice(texts),
             "exe": chance.choice(texts[:5]), "kind": chance.choice(["fs-write", "fs-read"]), "target": chance.choice(texts),
             "reason": chance.choice(texts[:3]), "rule": chance.choice([None, {"file": texts[0], "path": texts[1]}]), "count": i + 1}
        rule = v["rule"] or {"file": None, "path": None}
        rows.append([i + 1, v["run"], v["command"], v["exe"], v["kind"], v["target"], v["reason"], rule["file"], rule["path"]])
        lines.append(refusal(v.pop("target"), **v))
    t.write(os.path.join(t.home, STORE), "".join(lines), 0o600)
    equal([v[1:10] for v in refusals_of(json.loads(data_of(t.run("report").ok().out)))], rows)


@test
def the_page_contains_reached_hosts_and_refused_processes(t):
    server = Server()
    t.inside("/usr/bin/python3", "-c", FETCH + f'''
import ctypes, subprocess
for i in range(3):
    s, _ = tunnel(b"127.0.0.1:{server.port}")
    s.sendall(b"x" * 1000)
    s.shutdown(socket.SHUT_WR)
    print(s.recv(100))
    s.close()
ctypes.CDLL(None).prctl(15, b"a/1 b")
subprocess.run(["/bin/touch", "/usr/lib/x"])
''', options=["--allow", f"127.0.0.1:{server.port}", "--timeout", "1h"]).ok()
    data = json.loads(data_of(t.run("report").ok().out))
    [run] = runs_of(data)
    [host, counts] = run["hosts"].split("=")
    equal(host, f"127.0.0.1:{server.port}")
    connections, sent, received = map(int, counts.split("/"))
    equal((connections, sent), (3, 3000))
    check(3 * len("hello") <= received < 1000, received)
    [used] = re.findall(r"time=(\d+)/3600000", run["limits"])
    check(0 < int(used) < 3600000, used)
    # The process, below what started it, whatever that calls itself
    [v] = refusals_of(data)
    check(re.fullmatch(r"\d+ a\?1 b/\d+", v[11]), v[11])
    # The control: nothing is there that did not happen
    t.inside("true").ok()
    check(not {"hosts", "limits"} & set(runs_of(json.loads(data_of(t.run("report").ok().out)))[1]))


@test
def the_page_contains_staged_changes(t):
    t.write("old", "one\ntwo\n")
    t.write("gone", "x\n")
    t.shell("printf 'one\\n<b>three\\n' > old; rm gone; echo y > 'new <file>'", options=["--ephemeral"]).ok()
    text = data_of(t.run("report").ok().out)
    lacks(text, "<")
    [staged] = json.loads(text)["staged"]
    equal(staged["project"], t.dir)
    rows = {os.path.basename(path): (kind, lines) for kind, path, _, lines, _ in staged["changes"]}
    equal(rows["old"][0], "modified")
    equal(rows["old"][1][1:], [" one", "-two", "+<b>three"])
    equal((rows["gone"][0], rows["new <file>"][0]), ("deleted", "added"))
    # The store is another's while it is used, and a long patch is not in the page
    with t.start("run", "--ephemeral", "--", "sh", "-c", "seq 300000 > big; echo ready; read x") as p:
        equal(p.stdout.readline(), b"ready\n")
        contains(json.loads(data_of(t.run("report").ok().out))["staged"][0]["why"], "another run")
        p.communicate(b"\n")
    [staged] = json.loads(data_of(t.run("report").ok().out))["staged"]
    [big] = [c for c in staged["changes"] if c[1].endswith("/big")]
    equal(big[3], [])
    contains(big[4], "cloche diff -p")
    t.run("discard").ok()
    equal(json.loads(data_of(t.run("report").ok().out))["staged"], [])


@test
def the_page_references_no_other_resource(t):
    page = t.run("report").ok().out
    check(len(page) < 60 << 10, len(page))
    check(not re.search(r"(src|href|url|import)\s*[=(]", page), "a reference")
    lacks(page, "http://")
    lacks(page, "https://")
    lacks(page, "innerHTML")
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    check(policy.startswith("default-src 'none'; "), policy)
    lacks(policy, "unsafe")
    for tag in "script", "style":
        [text] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        contains(policy, f"{tag}-src 'sha256-{digest}'")
    # Nothing was made for it
    check(not os.path.exists(os.path.join(t.home, ".local")))


@test
def names_with_markup_are_embedded_as_data(t):
    t.write(os.path.join(t.home, STORE), "".join(map(refusal, HOSTILE)) +
            '{"v":1,"torn\n{"v":8,"record":"run"}\n', 0o600)
    text = data_of(t.run("report").ok().out)
    for bad in "<", ">", "&", "\u2028", "\u2029", "\u202e", "\x1b":
        lacks(text, bad)
    equal([v[6] for v in refusals_of(json.loads(text))], HOSTILE)


@test
def report_on_a_terminal_prints_lines(t):
    with Terminal([CLOCHE, "report"]) as term:
        term.expect("nothing is recorded yet")
        equal(term.wait(), 2)
    t.shell(f"echo x > {t.away}/a; true").ok()
    path = os.path.join(t.home, ".local/state/cloche/report.html")
    with Terminal([CLOCHE, "report"]) as term:
        term.expect(re.escape(f"file://{path} (--open shows it"))
        equal(term.wait(), 0)
    equal(len(runs_of(json.loads(data_of(t.read(path))))), 1)
    # Colours are for terminals that want them
    for more, wanted in ({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False):
        env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        with Terminal([CLOCHE, "violations", "list"], env={**env, **more}, columns=500) as term:
            equal(term.wait(), 0)
            contains(term.text, f"    cloche policy allow write {t.away}")
            equal("\x1b[" in term.text, wanted)


@test
def the_page_of_a_session_contains_only_its_runs(t):
    run = {"v": 1, "record": "run", "start": "2026-01-31T12:34:56.789Z", "end": "2026-01-31T12:34:57.789Z",
           "run": "RA", "command": "make", "project": "/p", "policy": "0", "tier": "full", "status": 0}
    t.write(os.path.join(t.home, STORE), json.dumps({**run, "session": "work"}) + "\n" +
            json.dumps({**run, "run": "RB", "session": "other"}) + "\n" +
            json.dumps({**run, "run": "RC"}) + "\n" + refusal("A", suggest={"edit": None, "command": "allow A"}) + refusal("B") + refusal("C"), 0o600)
    data = json.loads(data_of(t.run("report", "--session", "work").ok().out))
    equal([r["run"] for r in data["runs"]], ["RA"])
    equal([(v[6], v[12]) for v in refusals_of(data)], [("A", "allow \0")])
    equal(len(refusals_of(json.loads(data_of(t.run("report").ok().out)))), 3)
    contains(t.run("report", "--session", "none").ended(2).err, "no record of a session 'none'")


@test
def report_open_starts_the_browser(t):
    t.inside("true").ok()
    t.write(t.away + "/xdg-open", f'#!/bin/sh\necho "$@" > {t.away}/opened\n', 0o755)
    path = os.path.join(t.home, ".local/state/cloche/report.html")
    t.run("report", "--open", env={"PATH": f"{t.away}:{os.environ['PATH']}"}).ok()
    equal(t.read(t.away + "/opened"), path + "\n")
    equal(os.stat(path).st_mode & 0o777, 0o600)
    contains(t.read(path), "cloche report")
    t.run("report", "--open", "-o", "page.html", env={"PATH": f"{t.away}:{os.environ['PATH']}"}).ok()
    equal(t.read(t.away + "/opened"), t.dir + "/page.html\n")
    r = t.run("report", "--open", env={"PATH": "/nowhere"}).ended(2)
    contains(r.err, f"open file://{path} in a browser")
    # A command in the sandbox reads none of it
    check(t.inside("cat", path).code != 0)


@test
def status_reports_sandbox_tier_and_network(t):
    equal(t.run("status").ended(1).out, "not sandboxed\n")
    equal(json.loads(t.run("status", "--json").ended(1).out),
          {"version": 1, "sandboxed": False, "tier": None, "network": None})
    # A variable alone is no sandbox
    fake = {"SANDBOX_RUNTIME": "1", "CLOCHE_SANDBOX": "full, 3 hosts"}
    equal(t.outside(CLOCHE, "status", env=fake).ended(1).out, "not sandboxed\n")
    for options, text in (([], "full, 0 hosts"), (["--net", "none"], "full, no network"),
                          (["--allow", "registry.example.org"], "full, 1 host")):
        equal(t.inside(CLOCHE, "status", options=options).ok().out, f"sandboxed: {text}\n")
    equal(json.loads(t.inside(CLOCHE, "status", "--json").ok().out),
          {"version": 1, "sandboxed": True, "tier": "full", "network": "0 hosts"})
    r = t.inside("env", "CLOCHE_SANDBOX=\x1b[31m, x", CLOCHE, "status").ok()
    lacks(r.out, "\x1b")
    t.run("status", "now").ended(2)


main()
