# SPDX-License-Identifier: Apache-2.0
"""tests/cli/explain.py - the plan in words, the one-line wrapper"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *


@test
def explain_shows_the_rules_and_runs_nothing(t):
    t.write("keep", "")
    os.mkdir(t.dir + "/hidden")
    t.write(".git/config", "")
    t.write(".git/hooks/x", "")
    before = tree(t.dir)
    r = t.run("explain", "--deny-write", "keep", "--deny-read", "hidden", "--",
              "touch", "ran").ok()
    for part in (t.dir, t.dir + "/keep", t.dir + "/hidden", "--deny-write",
                 "--deny-read", ".git/hooks"):
        contains(r.out, part)
    equal(tree(t.dir), before)


@test
def explain_speaks_json(t):
    t.write("keep", "")
    plan = json.loads(t.run("explain", "--json", "--deny-write", "keep", "--",
                            "true").ok().out)
    equal(plan["version"], 1)
    check("mounts" in plan, sorted(plan))
    check(any(m.get("path") == t.dir + "/keep" for m in plan["mounts"]),
          plan["mounts"])


@test
def explain_knows_the_settings_line(t):
    t.write("keep", "")
    file = t.write(t.away + "/s.json",
                   '{\n  "filesystem": {\n    "denyWrite": ["keep"]\n  }\n}\n')
    contains(t.run("explain", "-s", file, "--", "true").ok().out,
             "s.json:3")


@test
def explain_tells_why_a_variable_is_there(t):
    r = t.run("explain", "--env", "MINE=secret", env={"LC_TIME": "C"}).ok()
    lacks(r.out, "secret")
    shown = r.out.split("environment\n")[1].split("command\n")[0]
    words = dict(line.split(None, 1) for line in shown.splitlines())
    equal(words["MINE"], "(--env)")
    equal(words["LC_TIME"], "(language)")
    equal(words["HTTPS_PROXY"], "(set for the sandbox)")


@test
def explain_without_a_command_is_fine(t):
    t.run("explain").ok()


@test
def wrap_prints_one_line_that_runs_it(t):
    r = t.run("wrap", "--env", "A=b c", "--", "sh", "-c",
              "echo \"it's $A\" > out").ok()
    equal(len(r.out.splitlines()), 1, r.out)
    check(not t.exists("out"), "wrap ran it")
    t.outside("sh", "-c", r.out).ok()
    equal(t.read("out"), "it's b c\n")


@test
def wrap_quotes_what_a_shell_would_eat(t):
    words = ["", "a b", "$HOME", "`id`", "'", '"', "\\", "\n", "*", "!", ";"]
    line = t.run("wrap", "--", "printf", "%s|", *words).ok().out
    equal(t.outside("sh", "-c", line).ok().out, "".join(w + "|" for w in words))
    equal(t.outside("bash", "-c", line).ok().out, "".join(w + "|" for w in words))


main()
