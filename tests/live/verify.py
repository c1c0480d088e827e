# SPDX-License-Identifier: Apache-2.0
"""tests/live/verify.py - cloche verify on this machine"""

import glob
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

FULL_SECONDS = 600 * PATIENCE	# So that what hangs ends
PROBES_MIN = 100
GROUPS = {"launch", "hidden", "protected", "process", "descriptors",
          "syscalls", "network", "proxy", "secrets", "lifecycle"}
VERDICTS = {"PASS", "FAIL", "INCONCLUSIVE", "CHOICE", "SKIP"}

# The critical probes of the catalogue and those that most sandboxes fail; "?"
# may have nothing to test on a machine. Missing: P217, which takes a server with TLS
# (live/tls); what P221 and P222 say of a store that was led astray
# already is tested beside it (src/secret).
MUST_PASS = """P001 P002 P003 P004 P005 P006 P007 P009 P015 P016 P017 P018 P019
    P023 P027? P035 P036 P037 P038 P039 P040 P041 P042 P043 P044 P048 P059 P060
    P061 P062 P064 P070 P071 P072 P073 P074 P075? P077? P096 P098 P101 P102?
    P103? P108? P113 P114 P115 P116 P117? P120 P139 P140 P143 P151 P152 P153
    P154 P155 P156 P157 P158 P159 P160? P161? P164 P166 P167 P170 P173 P179
    P180 P215 P216 P221 P222""".split()


# Both builds share this code: one of them runs the test
once = test_if(not SANITIZED or LONG)
# And nothing in it depends on who runs it
once_as_user = test_if(not SANITIZED and not IS_ROOT or LONG)


def verify(t, *options, code=None, **more):
    """The report as JSON"""
    r = t.run("verify", "--json", *options, timeout=FULL_SECONDS, **more)
    report = json.loads(r.out)
    bad = [p for p in report["probes"]
           if p["verdict"] in ("FAIL", "INCONCLUSIVE")]
    if code is not None:
        equal(r.code, code, bad[:5])
    return report


def scratch():
    """The places of our own attempts; what is elsewhere may be a neighbour's"""
    return set(glob.glob(os.environ["TMPDIR"] + "/cloche-verify-*"))


def own_files(t):
    return tree(t.home), tree(t.away)


def traces():
    """Whatever could be left over"""
    found = scratch()
    for name in ("/tmp", "/dev/shm", "/dev/mqueue"):
        if os.path.isdir(name):
            found |= {name + "/" + n for n in os.listdir(name)
                      if re.fullmatch("[0-9a-f]{32}", n)}
    return found


def no_traces(before):
    """What a test beside us has made will go by itself"""
    for path in traces() - before:
        wait_until(lambda: not os.path.lexists(path), path + " is gone")


def tree(*roots):
    return {os.path.join(place, name) for root in roots
            for place, dirs, files in os.walk(root) for name in dirs + files
            if not is_record(place, name)}


def critical_probes_pass(report):
    for probe in MUST_PASS:
        rows = [p for p in report["probes"] if p["id"] == probe.rstrip("?")]
        check(rows, "not in the table:", probe)
        passed = [p for p in rows if p["verdict"] == "PASS"]
        check(passed or probe.endswith("?"), probe, rows)
        for p in passed:
            check(p["control"], "no control:", p)


def has_its_shape(report):
    equal(report["version"], 1)
    equal(report["tier"], "full")
    equal(report["kernel"], os.uname().release)
    check(re.fullmatch("[0-9a-f]{64}", report["policy"]), report["policy"])
    check(isinstance(report["landlockAbi"], int))
    check(report["facts"], "no facts")
    equal({p["group"] for p in report["probes"]}, GROUPS)
    for p in report["probes"]:
        check(p["verdict"] in VERDICTS, p)
        check(re.fullmatch(r"P\d{3}", p["id"]), p)
        check(p["severity"] in "CHML", p)
        check(p["layer"] if p["verdict"] == "PASS" else p["why"], p)
    equal(sum(report["summary"].values()), len(report["probes"]))


@test
def verify_passes_with_the_default_policy(t):
    before, mine = traces(), own_files(t)
    report = verify(t, code=0)
    check(len(report["probes"]) >= PROBES_MIN, len(report["probes"]))
    equal((report["mode"], report["summary"]["fail"]), ("quick", 0))
    note("quick:", report["ms"], "ms")
    equal(own_files(t), mine, "the user's own files")
    no_traces(before)
    critical_probes_pass(report)
    has_its_shape(report)


@once_as_user
def verify_leaves_a_shared_tmp_unchanged(t):
    """With the names in use, and without"""
    for options, before in (("--profile srt", ["claude", "claude/mine"]),
                            ("--write /tmp", [])):
        made = "mkdir -m 700 claude && touch claude/mine" if before else ":"
        r = t.outside("unshare", "-Urm", "sh", "-c",
                      f"mount -t tmpfs none /tmp && cd /tmp && {made} && cd - "
                      f"&& {CLOCHE} verify --quick --no-settings {options} "
                      ">/dev/null; cd /tmp && find -printf '%P '",
                      timeout=FULL_SECONDS)
        equal(r.out.splitlines()[-1].split(), before, options, repr(r))


@once_as_user
def verify_full_passes(t):
    report = verify(t, "--full", code=0)
    equal((report["mode"], report["summary"]["fail"]), ("full", 0))
    note("full:", report["ms"], "ms")
    longer = [p for p in report["probes"] if "for longer" in p["title"]]
    equal({p["verdict"] for p in longer}, {"PASS"}, longer)
    has_its_shape(report)


@once
def verify_passes_with_profile_srt(t):
    report = verify(t, "--profile", "srt", code=0,
                    env={"CLAUDE_TMPDIR": t.away})	# Not in /tmp
    choices = [p for p in report["probes"] if p["verdict"] == "CHOICE"]
    check(choices and all("profile srt" in p["why"] for p in choices), choices)
    check(any(p["id"] == "P059" and p["verdict"] == "PASS"
              for p in report["probes"]))


@once
def verify_passes_with_profile_home(t):
    report = verify(t, "--profile", "home", code=0)
    choices = {p["title"]: p["why"] for p in report["probes"]
               if p["verdict"] == "CHOICE"}
    check(all("profile home" in why for why in choices.values()), choices)
    equal(set(choices), {"~/.config/gh/hosts.yml"}, "what its table gives back")


@once
def verify_reports_weakened_settings_as_choices(t):
    os.mkdir(t.home + "/.ssh")
    report = verify(t, "--write", t.home, "--read", t.home + "/.ssh", code=0)
    found = {p["title"]: p for p in report["probes"]}
    key, rc = found["~/.ssh/id_ed25519"], found["a new file in $HOME"]
    equal((key["verdict"], rc["verdict"]), ("CHOICE", "CHOICE"))
    contains(key["why"], "allowed by your policy: " + t.home + "/.ssh")
    contains(rc["why"], "--write")
    equal(found["~/.netrc"]["verdict"], "PASS", "what was not given away")
    # Where a command may write, a run keeps cloche's own policy frozen
    equal(sorted(tree(t.home) - tree(t.dir) - {t.dir}),
          [t.home + name for name in ("/.config", "/.config/cloche", "/.ssh")])


@once_as_user
def verify_names_choices_and_tests_user_rules(t):
    t.write(t.home + "/.claude/settings.json", json.dumps(
        {"sandbox": {"filesystem": {"allowRead": ["~/.aws"]}}}))
    os.mkdir(t.home + "/.aws")
    t.write("sub/secret", "S3CRET")
    t.write("sub/kept", "as it is")
    t.write("sub/dir/file", "as it is")
    before = own_files(t)
    report = verify(t, "--deny-read", "sub/secret", "--deny-write", "sub/kept",
                    "--deny-write", t.dir + "/sub/dir", "--net", "host", code=0)
    found = {p["title"]: p for p in report["probes"]}
    for title, by in (("~/.aws/credentials", "settings.json"),
                      ("TCP to the host's loopback", "--net")):
        equal(found[title]["verdict"], "CHOICE", title)
        contains(found[title]["why"], by)
    own = [p for p in report["probes"] if "your rules" in p["title"]]
    equal([p["verdict"] for p in own], ["PASS", "PASS"], own)
    equal(own_files(t), before, "the user's own files")
    equal(t.read("sub/kept"), "as it is")


@once_as_user
def verify_names_allowed_hosts(t):
    """This machine among them; what no rule says is still refused"""
    hosts = json.dumps({"sandbox": {"network": {"allowedDomains": [
        "localhost", "127.0.0.1"]}}})
    for options in (("-s", t.write(t.away + "/given.json", hosts)), ()):
        if not options:
            t.write(t.home + "/.claude/settings.json", hosts)
        report = verify(t, *options, code=0)
        found = {p["title"]: p for p in report["probes"]}
        for title in ("CONNECT localhost", "CONNECT 127.0.0.1",
                      "SOCKS5 to localhost", "GET http://127.0.0.1/"):
            equal(found[title]["verdict"], "CHOICE", title)
            contains(found[title]["why"], "allowed by your policy: localhost")
        for title in ("CONNECT 2130706433", "CONNECT with a NUL in the name",
                      "TCP to the host's loopback", "UDP to the host",
                      "requests that can be read in two ways"):
            equal(found[title]["verdict"], "PASS", title)
        equal((report["summary"]["fail"], report["summary"]["inconclusive"]),
              (0, 0))


@once
def verify_passes_with_net_none_and_prints_a_summary(t):
    r = t.run("verify", "--net", "none", timeout=FULL_SECONDS).ok()
    for words in ("launch, fail closed: ", "facts\n", "tier full, kernel ",
                  " passed, 0 failed, 0 inconclusive"):
        contains(r.out, words)
    equal(r.err, "")


@once_as_user
def concurrent_verifications_do_not_disturb_each_other(t):
    """Their processes hold canaries too, more than an attempt can bring back"""
    others = [subprocess.Popen(["sleep", "1000"], env={"X": "cloche-canary-"
                                                       + "0" * 200})
              for _ in range(12)]
    try:
        equal(verify(t, code=0)["summary"]["inconclusive"], 0)
    finally:
        for other in others:
            other.kill()
            other.wait()


@once_as_user
def verify_works_without_home_and_with_many_hosts(t):
    nowhere = {"HOME": None, "TMPDIR": "/nonexistent"}
    report = verify(t, env=nowhere, code=0)
    other = verify(t, *(f"--allow=h{i}.example.com" for i in range(70)),
                   env=nowhere, code=0)
    check(other["policy"] != report["policy"], "the hash names the policy")
    verify(t, env={"HOME": "/nonexistent"}, cwd="/", code=0)
    os.chmod(t.home, 0o500)
    verify(t, code=0)


@once
def verify_tests_bound_secrets_with_a_canary(t):
    """The user's own bindings count, their values are not read"""
    source = f"command:touch {t.away}/read; echo value-of-the-users-own"
    t.write(t.home + "/.config/cloche/policy.json", json.dumps({"secrets": {
        "SECOND": {"hosts": ["api.example.org"], "from": source}}}))
    report = verify(t, "--secret", "FIRST@api.example.org", "--secret-from",
                    "FIRST=" + source, code=0)
    rows = [p for p in report["probes"] if "bound secret" in p["title"]]
    equal({p["id"] for p in rows}, {"P215", "P216"})
    equal({(p["verdict"], p["control"]) for p in rows}, {("PASS", True)}, rows)
    check(not os.path.exists(t.away + "/read"), "a value was read")


@test
def verify_lists_what_the_landlock_tier_lacks(t):
    report = verify(t, "--tier", "landlock", code=3)
    only_what_is_not_promised(report)
    equal(report["summary"]["fail"], 0)
    for p in report["probes"]:
        if p["group"] in ("network", "proxy", "syscalls"):
            check(p["verdict"] in ("PASS", "SKIP"), p)


def only_what_is_not_promised(report):
    """What tier landlock leaves open: its table names each"""
    unsure = [p for p in report["probes"] if p["verdict"] == "INCONCLUSIVE"]
    check(unsure and all("tier landlock does not promise" in p["why"]
                         for p in unsure), unsure)
    equal({p["id"] for p in unsure} - {"P023", "P028", "P070", "P071"}, set())


@once
def verify_fails_when_a_layer_is_missing(t):
    refuse = os.environ.get("REFUSE") or skip("needs the refuse tool")
    r = t.outside(refuse, "landlock,keeper", CLOCHE, "verify", "--json",
                  timeout=FULL_SECONDS)
    report = json.loads(r.out)
    equal(report["landlockAbi"], 0)
    failed = {p["title"] for p in report["probes"] if p["verdict"] == "FAIL"}
    equal((r.code, failed), (1, {"a hidden file that the host "
                                   "replaces meanwhile"}))


@once
def verify_tests_the_weaker_tier_in_a_container(t):
    refuse = os.environ.get("REFUSE") or skip("needs the refuse tool")
    r = t.outside(refuse, "docker", CLOCHE, "verify", "--json",
                  timeout=FULL_SECONDS).ended(3)
    report = json.loads(r.out)
    equal((report["tier"], report["summary"]["fail"]), ("landlock", 0))
    only_what_is_not_promised(report)


@once_as_user
def verify_skips_ipv6_probes_without_ipv6(t):
    refuse = os.environ.get("REFUSE") or skip("needs the refuse tool")
    r = t.outside(refuse, "ipv6", CLOCHE, "verify", "--json",
                  timeout=FULL_SECONDS)
    report = json.loads(r.out)
    equal((r.code, report["tier"]), (0, "full"), report["summary"])
    check(all("fails outside" in p["why"] for p in report["probes"]
              if p["id"] == "P161"), "IPv6 was tested")


@once_as_user
def verify_in_a_sandbox_is_inconclusive(t):
    r = t.inside(CLOCHE, "verify", "--json", options=["--quiet"],
                 timeout=FULL_SECONDS)
    report = json.loads(r.out)
    equal((r.code, report["summary"]["fail"]), (3, 0))
    check(report["summary"]["pass"] >= PROBES_MIN, report["summary"])
    check(all(p["why"] for p in report["probes"] if p["verdict"] != "PASS"))


@once_as_user
def verify_is_inconclusive_when_the_sandbox_does_not_start(t):
    report = verify(t, "--pids", "1", code=3)
    equal(report["summary"]["fail"], 0)
    check(report["summary"]["inconclusive"] > PROBES_MIN, report["summary"])


@test
def wrong_usage_exits_with_2(t):
    for words in (["--no-such"], ["--", "true"], ["--profile", "nonsense"]):
        equal(t.run("verify", *words).code, 2, words)


@test
def an_interrupted_verify_leaves_nothing(t):
    before = traces()
    for sig in (signal.SIGINT, signal.SIGTERM):
        p = subprocess.Popen([CLOCHE, "verify"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        wait_until(scratch, "the scratch place")
        p.send_signal(sig)
        p.communicate(timeout=RUN_SECONDS)
        equal(p.returncode, 130)
        no_traces(before)


main()
