# SPDX-License-Identifier: Apache-2.0
"""tests/cli/usage.py - options, help and messages of the command line"""

import json
import os
import re
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from alone import alone
from tap import *

HIDES = json.dumps({"filesystem": {"denyRead": ["./secret"]}})
VERBS = ("run", "wrap", "explain", "policy", "doctor", "preflight", "verify",
         "diff", "apply", "discard", "violations", "as", "hook", "firewall",
         "shim", "completion", "help")


@test
def every_verb_has_help(t):
    for verb in VERBS:
        for word in ("--help", "-h"):
            r = t.run(verb, word).ok()
            contains(r.out, f"Usage: cloche {verb}")
            equal((r.out, r.err), (t.run("help", verb).ok().out, ""), verb)
    contains(t.run("policy", "why", "--help").ok().out, "Usage: cloche policy")
    # Behind the command it is the command's
    equal(t.run("run", "printf", "%s", "--help").ok().out, "--help")
    contains(t.run("as", "srt", "--help").ok().out, "Usage: srt")


@test
def a_failing_write_of_output_exits_with_an_error(t):
    for words in (("--version",), ("help",), ("wrap", "--", "true"),
                  ("explain", "--", "true"), ("policy", "show", "--json"),
                  ("doctor", "--json"), ("completion", "bash")):
        t.run(*words).ok()
        with open("/dev/full", "w") as full:
            r = t.run(*words, stdout=full)
        check(r.code != 0, words, repr(r))
        contains(r.err, "No space left", words)
        equal(r.err.count("\n"), 1, r.err)
    # What the command cannot write is its own affair
    with open("/dev/full", "w") as full:
        t.run("run", "--", "true", stdout=full).ok()


@test
def settings_are_read_from_standard_input(t):
    t.write("secret", "told\n")
    equal(t.run("run", "-s", "{}", "cat", "secret").ok().out, "told\n")
    for name in ("-", "/dev/stdin", "/dev/fd/0"):
        r = t.run("run", "-s", name, "cat", "secret", stdin=HIDES)
        check(r.code != 0, name, repr(r))
        lacks(r.out, "told", name)
    file = t.write(t.away + "/s.json", HIDES)
    with open(file, "rb") as stdin:
        r = t.run("run", "-s", "/dev/stdin", "cat", "secret", stdin_file=stdin)
    lacks(r.out, "told")
    r = t.outside("bash", "-c", f"{CLOCHE} run -s <(cat {file}) cat secret")
    lacks(r.out, "told")
    contains(t.run("policy", "why", "-s", "-", "read", "secret",
                   stdin=HIDES).ended(1).out, "denied")
    for text in ("", "[]", "x", "{}\0"):
        r = t.run("run", "-s", "-", "touch", "ran", stdin=text).ended(125)
        equal(r.err.count("\n"), 1, r.err)
    check(not t.exists("ran"), "it ran")


@test
def settings_are_not_read_from_a_fifo(t):
    os.mkfifo("pipe")
    contains(t.run("run", "-s", "pipe", "true").ended(125).err, "pipe")


@test
def two_settings_options_are_refused(t):
    t.write("secret", "told\n")
    r = t.run("run", "-s", HIDES, "-s", "{}", "cat", "secret").ended(125)
    contains(r.err, "twice")
    lacks(r.out, "told")


@test
def errors_of_numbers_print_the_valid_range(t):
    for option, value, right in (("--timeout", "soon", "30s"),
                                 ("--memory", "much", "512M"),
                                 ("--pids", "0", "from 1"),
                                 ("--host-port", "70000", "65535")):
        contains(t.run("run", option, value, "true").ended(125).err, right)


@test
def preflight_prints_json(t):
    equal(json.loads(t.run("preflight", "--json").ok().out),
          {"version": 1, "healthy": True, "advice": []})
    r = t.outside(os.environ["REFUSE"], "userns,landlock", CLOCHE, "preflight",
                  "--json", "-s", '{"sandbox": {"enabled": true}}').ok()
    said = json.loads(r.out)
    equal((said["version"], said["healthy"]), (1, False))
    contains(said["advice"][0], "not enforced")
    t.write("bad.json", "{")
    said = json.loads(t.run("preflight", "--json", "-s", "bad.json").ok().out)
    equal(said["healthy"], False, "nobody can tell")
    contains(said["advice"][0], "bad.json:1:")
    equal(t.run("preflight", "-s", "bad.json").ok().out, "", "a session")


@test
def a_missing_home_is_not_created(t):
    home = t.away + "/missing"
    env = {"HOME": home}
    r = t.run("run", "--", "sh", "-c", f"echo x > {t.away}/x; echo $HOME", env=env)
    equal(r.out, home + "\n")
    contains(r.err, "refused 1 thing")
    check(not os.path.exists(home), "made")
    contains(t.run("policy", "allow", "--scope", "user", "domain", "a.test",
                   env=env).ended(2).err, home)
    check(not os.path.exists(home), "made")


@as_user
def a_home_of_another_user_is_reported(t):
    """As `su` and `sudo -u` leave it"""
    os.mkdir(t.away + "/closed", 0)
    env = {"HOME": t.away + "/closed"}
    r = t.run("run", "true", env=env).ended(125)
    contains(r.err, "set HOME to your own")
    equal(len(r.err.splitlines()), 1, r.err)
    t.run("run", "--no-settings", "true", env=env).ok()


@test
def read_only_verbs_create_nothing_in_the_home(t):
    questions = (["violations", "list"], ["violations", "clear"],
                 ["violations", "restore", "0123456789ab"], ["policy", "show"],
                 ["policy", "check"], ["policy", "mode"], ["explain"],
                 ["policy", "why", "read", "x"], ["doctor"], ["preflight"],
                 ["diff"], ["apply"], ["discard"], ["shim", "list"],
                 ["hook", "print", "claude"], ["hook", "uninstall", "claude"])
    for words in questions:
        r = t.run(*words)
        check(r.code in (0, 2), words, repr(r))
        equal(t.in_home(), [], words)
    equal(json.loads(t.run("violations", "list", "--json").ok().out),
          {"version": 1, "violations": []})


@test
def the_root_as_start_directory_stays_read_only(t):
    script = f"echo x > {t.away}/x; echo x > /tmp/x && echo private"
    r = t.run("run", "sh", "-c", script, cwd="/").ok()
    equal(r.out, "private\n")
    contains(r.err, "note: nothing in '/' is writable")
    contains(r.err, f"write {t.away}/x (outside the writable paths")
    equal(os.listdir(t.away), [])
    t.run("policy", "why", "write", t.away, cwd="/").ended(1)
    equal(t.run("run", "--quiet", "true", cwd="/").ok().err, "")


@test
def allowWrite_of_the_root_directory_applies(t):
    t.write("kept/file", "old")
    t.write(t.home + "/.ssh/id", "key")
    settings = json.dumps({"filesystem": {"allowWrite": ["/"],
                                          "denyWrite": ["./kept"]}})
    script = f"""echo new > {t.away}/made; echo new > kept/file; mv kept moved
echo x > ~/.bashrc; cat ~/.ssh/id; echo x > /sys/kernel/x
echo x > /proc/sys/kernel/hostname"""
    for profile in ("default", "srt"):
        r = alone(t, CLOCHE, "run", "--profile", profile, "-s", settings, "sh", "-c",
                  script, env={"CLAUDE_TMPDIR": "/var/tmp"})
        check(t.exists(t.away + "/made"), repr(r))
        equal(t.read(t.away + "/made"), "new\n", repr(r))
        equal(t.read("kept/file"), "old")
        check(not t.exists("moved") and not t.exists(t.home + "/.bashrc"))
        contains(r.err, "/sys/kernel/x: Read-only file system")
        contains(r.err, "hostname: Read-only file system")
        equal(r.out, "" if profile == "default" else "key")
        os.unlink(t.away + "/made")
    contains(t.run("explain", "--write", "/").ok().out, "/  (--write)")
    contains(t.run("run", "--ephemeral", "--write", "/", "true").ended(125)
             .err, "--ephemeral")


@test
def no_command_is_suggested_for_kernel_files(t):
    script = "echo x > /sys/kernel/x; echo x > /dev/kmsg; echo x > ~/x"
    r = t.run("run", "sh", "-c", script, env={"CLAUDECODE": ""})
    contains(r.err, "write /sys/kernel/x (the kernel's switches, which no rule "
             "opens)\n")
    contains(r.err, "write /dev/kmsg (not a device of the sandbox, and no rule "
             "adds one)\n")
    contains(r.err, " cloche policy allow write " + t.home + "/x\n")
    r = t.run("policy", "why", "write", "/proc/sys/vm/swappiness").ended(1)
    check("policy allow" not in r.out, r.out)
    contains(t.run("policy", "why", "write", "/dev/null").ok().out, "allowed")
    contains(t.run("run", "--write", "/proc/sys", "true").ok().err,
             "nothing may be written there")


HOSTILE = b'a"b\\c\n\x1b[31m\xff\xe2\x80\xae'


@test
def names_of_any_bytes_are_printed_escaped(t):
    """In a project of such a name, with settings, and about such a file"""
    where = os.path.join(t.dir.encode(), HOSTILE)
    os.makedirs(where + b"/.claude")
    with open(where + b"/.claude/settings.json", "w") as file:
        json.dump({"sandbox": {"enabled": True, "surprise": 1, "filesystem":
                               {"denyRead": ["x"]}}}, file)
    for words in (["policy", "show"], ["policy", "check"], ["policy", "mode"],
                  ["policy", "why", "write", HOSTILE],
                  ["policy", "why", "read", "x"], ["explain"], ["diff"],
                  ["violations", "list"], ["shim", "list"], ["preflight"],
                  ["policy", "check", where + b"/.claude/settings.json"]):
        r = t.run(*words, cwd=where)
        check("\x1b" not in r.out + r.err, words, repr(r))
        if words[0] in ("diff", "explain", "preflight"):
            words[1:1] = ["--json"]
        else:
            words.append("--json")
        r = t.run(*words, cwd=where)
        equal(json.loads(r.out)["version"], 1, words, repr(r))


@test
def help_lists_the_arguments_of_a_verb(t):
    for verb, words in (("policy", "show check why allow deny remove mode exclude"),
                        ("shim", "install list remove"),
                        ("violations", "list follow strip clear restore"),
                        ("hook", "install print uninstall AGENT"),
                        ("secret", "set get delete list status bind move import export"),
                        ("firewall", "up down status verify")):
        out = t.run("help", verb).ok().out
        equal(t.run(verb, "--help").ok().out, out)
        for word in words.split():
            check(re.search(f"\n  {word}[ \n]", out), verb, word)
    contains(t.run("help", "policy").out, "why [--json] KIND TARGET")


@test
def doctor_wraps_lines_at_words(t):
    plain = t.run("doctor").out
    check(any(len(line) > 80 for line in plain.splitlines()), plain)
    shown = re.sub("\033\\[[0-9]*m", "", t.run("doctor", tty=True,
                                               env={"TERM": "xterm"}).out)
    contains(shown, "tier: ")
    for line in shown.splitlines():
        check(len(line) <= 80 or line.lstrip().startswith("fix: "), line)
    # Each guarantee is there with all its words
    check(set(plain.partition("tier: ")[2].split()) <= set(shown.split()), shown)


@test
def help_fits_80_columns_and_opens_with_an_example(t):
    verbs = re.findall(r"^  cloche (\w+) +[A-Z]", t.run("help").ok().out, re.M)
    check(set(VERBS) < set(verbs), verbs)
    for verb in verbs:
        out = t.run("help", verb).ok().out
        for line in out.splitlines():
            check(len(line) <= 80, verb, repr(line))
        if verb != "help":
            check(re.match(f".*\n\n  (source <\\()?cloche {verb}|.*\n\n  cloche run --(eph|session)", out),
                  verb, out)
        for word in re.findall(r"\n  (\w+)[^\n]*\n      ", out):
            text = t.run("help", verb, word).ok().out
            lacks(text, "\n\n\n", verb, word)
            check(max(map(len, text.splitlines())) <= 80, verb, word, text)
            if verb in ("policy", "violations", "shim", "hook", "firewall"):
                check(re.search(f"\n\n  cloche {verb} \\w", text), verb, word, text)
    out = t.run("help", "run").ok().out
    for title in ("Files", "Hosts, ports and sockets", "Variables and secrets",
                  "Limits"):
        contains(out, f"\n{title}\n")
    for verb in ("policy", "hook", "secret", "firewall"):
        equal(t.run(verb, "help").ok().out, t.run("help", verb).out)


@test
def mistyped_arguments_get_a_suggestion(t):
    for words, meant in ((("rnu", "ls"), "'cloche run'"),
                         (("hook", "instal", "claude"), "install"),
                         (("hook", "cluade"), "claude"),
                         (("hook", "install", "cluade"), "claude"),
                         (("policy", "why", "hots", "x"), "host"),
                         (("policy", "allow", "wirte", "x"), "write"),
                         (("policy", "alow", "write", "x"), "'cloche policy allow'"),
                         (("doctor", "--jsn"), "--json"),
                         (("--versoin",), "'cloche --version'"),
                         (("diff", "--patc"), "--patch")):
        contains(t.run(*words).ended(2).err, "did you mean " + meant, words)
    contains(t.run("policy", "why", "smell", "x").ended(2).err, "not one of host")
    for port in ("x", "0", "65536", "80x"):
        equal(t.run("policy", "why", "port", port).ended(2).err,
              f"cloche: '{port}' is not a port from 1 to 65535\n")
    contains(t.run("policy", "why", "port", "80").ended(1).out, "cloche policy allow port 80")
    for words in (["--allow", "a.test", "--", "echo", "it is"], ["--net=none", "-c", "ls"],
                  ["-c", "ls"]):
        equal(t.run(*words).ended(2).err, "cloche: the command of cloche comes before its "
              f"options: cloche run {shlex.join(words)}\n")
    contains(t.run("violations", "clear", "x").ended(2).err, "usage: cloche violations clear;")
    for kind in ("host", "domain", "connect"):
        contains(t.run("policy", "why", kind, "a.test").ended(1).out, "denied: host")
        t.run("policy", "allow", kind, kind + ".test").ok()


@test
def options_without_effect_are_reported(t):
    for words in (("--net", "none", "--host-port", "8123"),
                  ("--net", "none", "--publish", "8123"),
                  ("--net", "none", "--allow", "a.test"),
                  ("--allow-ip", "10.1.2.3"), ("--no-forge",)):
        idle = [w for w in words if w.startswith("--")][-1]
        said = f"note: {idle} has no effect"
        contains(t.run("run", *words, "--", "true").ok().err, said)
        equal(t.run("run", "--quiet", *words, "--", "true").ok().err, "")
    for words in (("--allow", "a.test"), ("--host-port", "8123")):
        equal(t.run("run", *words, "--", "true").ok().err, "")


@test
def host_rules_without_effect_are_reported(t):
    words = "1 rule about hosts has no effect"
    for rule in ("--allow", "--deny"):
        contains(t.run("run", "--net", "host", rule, "a.test", "true").ok()
                 .err, words)
        contains(t.run("explain", "--net", "jail", rule, "a.test").ok().out,
                 words)
    contains(t.run("run", "--net", "none", "--allow", "a.test", "true").ok().err,
             "--allow has no effect with --net none")
    equal(t.run("run", "--net", "filtered", "--allow", "a.test", "true").ok().err,
          "")


main()
