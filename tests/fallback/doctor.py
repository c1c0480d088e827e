# SPDX-License-Identifier: Apache-2.0
"""tests/fallback/doctor.py - doctor and preflight on machines that lack a mechanism"""

import ctypes
import json
import os
import shutil
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

REFUSE = os.environ.get("REFUSE", "")

# What is taken away: the tier then, a probe that says no, and its cause
LACKS = {
    "userns": ("landlock", "userns", "seccomp"),
    "max-userns": ("landlock", "userns", "max-user-namespaces"),
    "mounts": ("landlock", "mounts", ""),
    "proc": ("landlock", "proc", "masked-proc"),
    "landlock": ("full", "landlock", ""),
    "notify": ("full", "observer", "listener-busy"),
    "fuse": ("full", "fuse", None),
    "openat2": ("none", "calls", ""),
    "close_range": ("none", "calls", ""),
    "seccomp": ("none", "seccomp", ""),
    "userns,landlock": ("none", "userns", "seccomp"),
    "max-userns,landlock": ("none", "userns", "max-user-namespaces"),
}


def doctor(t, what=None):
    """The report as JSON, and the exit status"""
    argv = [CLOCHE, "doctor", "--json"]
    r = t.outside(*([REFUSE, what] if what else []), *argv)
    report = json.loads(r.out)
    equal(report["version"], 1)
    return report, r.code


def probes(report):
    return {p["id"]: p for p in report["probes"]}


def settings(t, **sandbox):
    os.makedirs(t.home + "/.claude", exist_ok=True)
    t.write(t.home + "/.claude/settings.json", json.dumps({"sandbox": sandbox}))


@test
def doctor_reports_tier_full_on_this_machine(t):
    report, code = doctor(t)
    equal((report["tier"], code), ("full", 0))
    found = probes(report)
    for name in ("userns", "uid-map", "mounts", "proc", "network", "seccomp"):
        check(found[name]["ok"], name, found[name])
    # The one thing that a race can win: docs/threat-model.md
    equal([g["id"] for g in report["guarantees"] if g["state"] != "holds"],
          ["planted"])
    text = t.run("doctor").ok().out
    contains(text, "✓ user namespaces")
    contains(text, "tier: full")


def can_open(path):
    try:
        os.close(os.open(path, os.O_RDWR))
        return True
    except OSError:
        return False


def can_bind_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


def landlock_abi():
    """landlock_create_ruleset() as a question; 0 without Landlock"""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(libc.syscall(444, None, ctypes.c_size_t(0), 1), 0)


@test
def doctor_agrees_with_independent_probes(t):
    """Asked of the machine by other means"""
    report, _ = doctor(t)
    found = {name: p["status"] == "ok" for name, p in probes(report).items()}
    unshare = need("unshare")
    wanted = {
        "userns": t.outside(unshare, "-U", "true").code == 0,
        "uid-map": t.outside(unshare, "-U", "--map-current-user",
                             "true").code == 0,
        "proc": t.outside(unshare, "-Urpf", "--mount-proc", "true").code == 0,
        "network": t.outside(unshare, "-Urn", "true").code == 0,
        "overlay": t.outside(
            unshare, "-Urm", "sh", "-c", "mount -t tmpfs t /mnt && cd /mnt && "
            "mkdir l u w m && mount -t overlay -o userxattr,lowerdir=l,"
            "upperdir=u,workdir=w o m").code == 0,
        "fuse": can_open("/dev/fuse"),
        "tun": can_open("/dev/net/tun"),
        "pasta": shutil.which("pasta") is not None,
        "ipv6": can_bind_ipv6(),
        "wsl": "microsoft" not in os.uname().release.lower(),
        "landlock": landlock_abi() > 0,
    }
    equal({name: found[name] for name in wanted}, wanted)
    equal(report["landlock"], landlock_abi())
    equal(report["kernel"], os.uname().release)


@test
def doctor_names_each_missing_mechanism_and_its_cause(t):
    for what, (tier, probe, cause) in LACKS.items():
        report, code = doctor(t, what)
        found = probes(report)[probe]
        equal(report["tier"], tier, what)
        equal(code, 0 if tier == "full" else 1, what)
        check(not found["ok"], what, found)
        check(found["meaning"] and found["fix"], what, found)
        if cause is not None:
            equal(found["cause"], cause, what)


@test
def guarantees_omit_missing_mechanisms(t):
    whole = doctor(t)[0]["guarantees"]
    for what, word in (("landlock", "Landlock"), ("notify", "observer")):
        contains(json.dumps(whole), word)
        lacks(json.dumps(doctor(t, what)[0]["guarantees"]), word)
    text = t.outside(REFUSE, "landlock", CLOCHE, "doctor").ok().out
    contains(text, "tier: full (")
    lacks(text[text.index("tier: full"):], ", Landlock,")
    report, _ = doctor(t, "userns,notify")
    lacks(json.dumps(report["guarantees"]), "observer")


@test
def an_untested_program_is_not_reported_missing(t):
    need("nft")
    found = probes(doctor(t, "userns")[0])["nft"]
    if IS_ROOT:
        equal(found["status"], "ok")
    else:
        lacks(found["fix"], "install")
        contains(found["detail"], "user namespaces are refused")


@test
def without_a_tier_every_guarantee_is_missing(t):
    report, _ = doctor(t, "userns,landlock")
    check(all(g["state"] == "missing" for g in report["guarantees"]), report)


@test
def each_probe_prints_a_mark_a_meaning_and_a_fix(t):
    r = t.outside(REFUSE, "max-userns", CLOCHE, "doctor").ended(1)
    contains(r.out, "✗ user namespaces")
    contains(r.out, "why: user.max_user_namespaces is 0")
    contains(r.out, "fix: sudo sysctl -w user.max_user_namespaces=")
    contains(r.out, "tier: landlock")


@test
def wrong_usage_exits_with_2(t):
    r = t.run("doctor", "--nonsense").ended(2)
    contains(r.err, "--nonsense")
    equal(r.out, "")


@test
def the_apparmor_profile_names_this_program(t):
    r = t.run("doctor", "--print-apparmor").ok()
    contains(r.out, f'profile cloche "{os.path.realpath(CLOCHE)}" flags=(unconfined)')
    contains(r.out, "userns,")
    contains(r.out, '/drop-in/bwrap" flags=(unconfined)')


@test
def safe_bare_repository_is_probed(t):
    need("git")
    check(not probes(doctor(t)[0])["git"]["ok"], "a fresh home is not safe")
    t.write(t.home + "/.gitconfig", "[safe]\n\tbareRepository = explicit\n")
    check(probes(doctor(t)[0])["git"]["ok"], "explicit is safe")


@test
def preflight_prints_nothing_on_a_healthy_machine(t):
    quiet = [("healthy", dict(enabled=True), None),
             ("disabled", dict(enabled=False), "userns,landlock"),
             ("unset", {}, "userns,landlock")]
    for words, sandbox, what in quiet:
        settings(t, **sandbox)
        r = t.outside(*([REFUSE, what] if what else []), CLOCHE, "preflight")
        r.ok(words)
        equal((r.out, r.err), ("", ""), words)


@test
def preflight_reports_a_weaker_tier(t):
    settings(t, enabled=True)
    r = t.outside(REFUSE, "userns", CLOCHE, "preflight").ok()
    contains(r.out, "only tier landlock works here: ")
    equal(r.out.count("\n"), 1)


@test
def preflight_prints_nothing_with_invalid_settings(t):
    os.makedirs(t.home + "/.claude")
    t.write(t.home + "/.claude/settings.json", '{"sandbox": {"enabled": tru')
    r = t.outside(REFUSE, "userns,landlock", CLOCHE, "preflight").ok()
    equal((r.out, r.err), ("", ""))


@test
def preflight_reports_settings_that_are_not_enforced(t):
    settings(t, enabled=True)
    r = t.outside(REFUSE, "userns,landlock", CLOCHE, "preflight").ok()
    contains(r.out, "configured on, but not enforced: ")
    equal(r.out.count("\n"), 1)
    settings(t, enabled=True, minimumTier="full")
    r = t.outside(REFUSE, "max-userns", CLOCHE, "preflight").ok()
    contains(r.out, "user.max_user_namespaces is 0")
    contains(r.out, "minimumTier asks for full")


@test
def preflight_always_exits_with_0(t):
    for words in (["--nonsense"], ["--settings", "/nowhere"], ["--settings"]):
        t.run("preflight", *words).ok()
    for where in (">/dev/full", ">&-"):
        t.outside("sh", "-c", f'exec "$0" preflight --json {where}',
                  CLOCHE).ok()


@test
def session_start_reports_that_commands_cannot_run(t):
    call = json.dumps({"cwd": t.dir, "hook_event_name": "SessionStart",
                       "source": "startup"})
    start = [CLOCHE, "hook", "claude", "session-start"]
    equal(t.outside(*start, stdin=call).ok().out, "")
    r = t.outside(REFUSE, "userns,landlock", *start, stdin=call).ok()
    answer = json.loads(r.out)
    contains(answer["systemMessage"], "not enforced: ")
    contains(answer["hookSpecificOutput"]["additionalContext"],
             "not enforced: ")
    # And they do not: the hook wraps all the same, and nothing runs
    call = json.dumps({"cwd": t.dir, "hook_event_name": "PreToolUse",
                       "tool_name": "Bash", "tool_input": {"command": "id > f"}})
    r = t.outside(REFUSE, "userns,landlock", CLOCHE, "hook", "claude",
                  "pre-tool-use", stdin=call).ok()
    line = json.loads(r.out)["hookSpecificOutput"]["updatedInput"]["command"]
    t.outside(REFUSE, "userns,landlock", "sh", "-c", line).ended(125)
    check(not t.exists("f"))


main()
