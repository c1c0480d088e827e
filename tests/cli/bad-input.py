# SPDX-License-Identifier: Apache-2.0
"""tests/cli/bad-input.py - bad input: one line, exit 125, nothing runs, nothing is left"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

RUN = ("--", "touch", "ran")
MIB = 1 << 20


def refused(t, r, *parts):
    """@r was refused before anything ran, and says why in one line"""
    equal(r.code, 125, r.argv[1:], repr(r))
    equal(r.out, "", "standard output")
    lines = r.err.splitlines()
    equal(len(lines), 1, "lines:", r.err)
    check(lines[0].startswith("cloche: "), r.err)
    for part in parts:
        contains(r.err, part)
    check(not t.exists("ran"), "the command ran")


def unchanged(t, before):
    equal(tree(t.dir), before, "the project")


@test
def unknown_options_are_refused(t):
    before = tree(t.dir)
    for option in ("--no-such", "-Z", "--writ", "--write-all", "--timeoutx=1"):
        refused(t, t.run("run", option, *RUN), option.split("=")[0])
    unchanged(t, before)


@test
def options_without_their_value_are_refused(t):
    for option in ("--write", "--read", "--deny-write", "--deny-read", "-s",
                   "--settings", "--timeout", "--profile", "--net", "--env",
                   "--cwd", "--memory"):
        refused(t, t.run("run", option))


@test
def options_with_an_invalid_value_are_refused(t):
    for words in (("--profile", "nope"), ("--net", "nope"), ("--tier", "nope"),
                  ("--timeout", "soon"), ("--pids", "-3"), ("--pids", "0"),
                  ("--env", "=x"), ("--env", ""), ("--write", ""),
                  ("--annotate", "x"), ("--observe", "x"), ("--quiet=1",)):
        refused(t, t.run("run", *words, *RUN), words[0].split("=")[0])
    for words in (("--annotate", "x"), ("--observe", "x"), ("--net", "nope")):
        r = t.run("explain", *words, *RUN)
        check(r.code, repr(r))
        contains(r.err, words[0])


@test
def closed_descriptors_are_refused(t):
    """Descriptors that cloche opened itself are not the caller's"""
    before = tree(t.dir)
    read, write = os.pipe()
    for fd in (3, 5, 9, 77, 0, read):
        refused(t, t.run("run", "--events", str(fd), *RUN, pass_fds=[read]),
                f"--events: descriptor {fd} ")
    for fd in (3, 5, 9, 77):
        refused(t, t.run("run", "--control-fd", str(fd), *RUN),
                f"--control-fd: descriptor {fd} ")
    for name in ("-", "-1", "9" * 40):
        refused(t, t.run("run", "--events", name, *RUN), "./" + name)
    unchanged(t, before)
    t.run("run", "--events", str(write), *RUN, pass_fds=[write]).ok()
    t.run("run", "--events", "./-1", *RUN).ok()
    check(t.exists("-1"), "the control")


@test
def options_that_the_landlock_tier_lacks_are_refused(t):
    for words in (("--profile", "home"), ("--net", "jail"), ("--ephemeral",),
                  ("--publish", "8123"), ("--host-port", "8123"),
                  ("--unix-socket", "/run/x")):
        refused(t, t.run("run", "--tier", "landlock", *words, *RUN),
                words[-1] if words[0] in ("--profile", "--net") else words[0],
                "without --tier landlock")


@test
def run_without_a_command_is_refused(t):
    for words in ((), ("--",), ("--quiet",), ("-c",)):
        refused(t, t.run("run", *words))


@test
def a_missing_command_exits_with_127(t):
    r = t.run("nonsense")
    equal(r.code, 2, repr(r))
    contains(r.err, "nonsense")
    equal(t.run("--version").ok().err, "")
    contains(t.run("--version").out, "cloche")
    contains(t.run("help").ok().out, "run")


@test
def invalid_settings_are_refused(t):
    def with_text(text):
        file = t.write(t.away + "/s.json", text)
        return t.run("run", "-s", file, *RUN)
    refused(t, t.run("run", "-s", t.away + "/missing.json", *RUN), "missing.json")
    refused(t, t.run("run", "-s", t.away, *RUN), t.away)
    both = ("-s", t.write(t.away + "/one.json", "{}"),
            "-s", t.write(t.away + "/two.json", "{}"))
    refused(t, t.run("run", *both, *RUN), "--settings", "twice")
    refused(t, with_text(""), "s.json")
    refused(t, with_text("   \n"), "s.json")
    refused(t, with_text("{"), "s.json:1:")
    refused(t, with_text('{\n  "filesystem": {,}\n}'), "s.json:2:")
    refused(t, with_text('{"a":1,"a":2}'), "s.json:1:")
    refused(t, with_text(b"\xef\xbb\xbf{}"), "s.json")
    refused(t, with_text('{"filesystem":{"denyRead":["a\\u0000b"]}}'), "s.json:1:")
    refused(t, with_text('{"filesystem":{"denyRead":"notalist"}}'), "s.json:1:")
    refused(t, with_text('{"filesystem":{"denyRead":[7]}}'), "s.json:1:")
    refused(t, with_text("[]"), "s.json")
    refused(t, with_text("[" * 100 + "]" * 100), "s.json")
    refused(t, with_text('{"x":"' + "y" * MIB + '"}'), "s.json")


@test
def names_with_nul_in_settings_are_refused(t):
    file = t.write(t.away + "/s.json",
                   '{"filesystem": {"denyRead": ["a\\u0000b"]}}')
    r = t.run("run", "-s", file, *RUN)
    refused(t, r, "s.json:1:", "\\u0000")
    lacks(r.err, "JSON_")


@as_user	# Root may read them: there is nothing to refuse
def unreadable_settings_are_refused(t):
    file = t.write(t.away + "/s.json", "{}", 0o000)
    refused(t, t.run("run", "-s", file, *RUN), "s.json")


@test
def settings_of_the_largest_size_work(t):
    filler = "y" * (MIB - 100)
    file = t.write(t.away + "/s.json", json.dumps({"x": filler}))
    t.run("run", "-s", file, "--", "true").ok()


@test
def a_missing_writable_root_is_refused(t):
    before = tree(t.dir)
    refused(t, t.run("run", "--write", "missing", *RUN), "missing")
    refused(t, t.run("run", "--write", t.away + "/missing", *RUN), "missing")
    unchanged(t, before)
    file = t.write(t.away + "/s.json", json.dumps(
        {"filesystem": {"allowWrite": [".", t.away + "/missing"]}}))
    r = t.run("run", "-s", file, "--", "touch", "made").ok()
    check(t.exists("made"))
    check(not os.path.exists(t.away + "/missing"), "it was created")
    equal(r.err, "")
    contains(t.run("policy", "check", "-s", file).ok().out, "missing")


@test
def a_missing_start_directory_is_refused(t):
    refused(t, t.run("run", "--cwd", "missing", *RUN), "missing")
    t.write("file", "")
    refused(t, t.run("run", "--cwd", "file", *RUN), "file")
    script = 'mkdir gone && cd gone && rmdir ../gone && "$0" run -- touch ran'
    r = t.outside("sh", "-c", script, CLOCHE)
    refused(t, r, "removed", "--cwd")


@test
def a_hidden_start_directory_is_refused(t):
    os.mkdir(t.dir + "/hidden")
    refused(t, t.run("run", "--cwd", "hidden", "--deny-read",
                     t.dir + "/hidden", *RUN), "hidden")


@test
def a_start_directory_with_secrets_is_refused(t):
    t.write(t.home + "/.ssh/id_x", "SECRET\n")
    os.mkdir(t.home + "/.ssh/below")
    for where in (".ssh", ".ssh/below"):
        where = os.path.join(t.home, where)
        for how in ({"cwd": where}, {}):
            words = () if how else ("--cwd", where)
            refused(t, t.run("run", *words, *RUN, **how), where, "--read")
            check(not os.path.exists(where + "/ran"), "it ran")
    # The control: with the option it is allowed
    where = t.home + "/.ssh"
    r = t.run("run", "--read", where, "--", "cat", "id_x", cwd=where).ok()
    equal(r.out, "SECRET\n")
    t.run("run", "--write", where, *RUN, cwd=where).ok()
    check(os.path.exists(where + "/ran"))
    # Where nothing is a secret there is nothing to say
    t.run("run", "--profile", "srt", "--", "true", cwd=where).ok()


@test(timeout=180)
def too_many_rules_are_refused(t):
    rules = [f"/{i:05}" for i in range(100000)]
    text = json.dumps({"filesystem": {"denyRead": rules}}, separators=(",", ":"))
    check(len(text) < MIB)
    file = t.write(t.away + "/s.json", text)
    t.run("run", "-s", file, "--", "touch", "many", timeout=120).ok()
    check(t.exists("many"))


@test
def missing_user_namespaces_are_reported(t):
    need("unshare")
    script = ('echo 0 > /proc/sys/user/max_user_namespaces && '
              '"$0" run --tier full -- touch ran')
    r = t.outside("unshare", "-Ur", "sh", "-c", script, CLOCHE)
    refused(t, r)
    control = t.outside("unshare", "-Ur", CLOCHE, "run", "--tier", "full",
                        "--", "touch", "nested")
    check(control.code == 0, "the control:", repr(control))


@test
def a_rule_that_cannot_be_enforced_is_named(t):
    for rule in ("~nobody-such/x", "bad[glob"):
        file = t.write(t.away + "/s.json", json.dumps(
            {"filesystem": {"denyRead": [rule]}}))
        r = t.run("run", "-s", file, *RUN)
        if r.code == 125:
            contains(r.err, rule)
        else:
            r.ok()	# Read as a literal name: enforceable
            os.unlink(t.dir + "/ran")


main()
