# SPDX-License-Identifier: Apache-2.0
"""tests/fallback/run.py - run where something is missing: less, or refused

Never silently weaker: each absence either changes nothing that is promised,
or leads to the landlock tier and is said, or nothing runs at all.
"""

import ctypes
import fcntl
import json
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import *

REFUSE = os.environ.get("REFUSE", "")
SAID = "cloche: tier landlock: "

# What is taken away, and the tier that is left
TIERS = {
    "userns": "landlock",
    "max-userns": "landlock",
    "mounts": "landlock",
    "proc": "landlock",
    "landlock": "full",
    "notify": "full",
    "fuse": "full",
    "openat2": "none",
    "close_range": "none",
    "seccomp": "none",
    "userns,landlock": "none",
    "max-userns,landlock": "none",
    "mounts,landlock": "none",
    "proc,landlock": "none",
    "userns,notify": "landlock",
    "docker": "landlock",
    "ipv6": "full",
    "watch": "full",
    "keeper": "full",
}


def lacking(t, what, *command, options=(), **more):
    return t.outside(REFUSE, what, CLOCHE, "run", *options, "--", *command,
                     **more)


@test
def each_missing_mechanism_selects_the_tier_of_the_table(t):
    t.write(t.away + "/f", "old")
    t.write(t.home + "/.ssh/id_x", "PRIVATE")
    script = f"echo ran > ran; echo evil > {t.away}/f; cat ~/.ssh/id_x; true"
    for what, tier in TIERS.items():
        r = lacking(t, what, "sh", "-c", script)
        ran = t.exists("ran")
        if ran:
            os.unlink(t.dir + "/ran")
        equal(ran, tier != "none", what, repr(r))
        equal(r.code, 0 if ran else 125, what)
        equal(SAID in r.err, tier == "landlock", what, repr(r))
        equal(t.read(t.away + "/f"), "old", what)
        lacks(r.out + r.err, "PRIVATE", what)
        if tier == "none":
            contains(r.err, "no sandbox can be built", what)
            equal(r.err.count("\n"), 1, what)


@test
def a_command_that_cannot_be_handed_over_is_ended_and_not_started_again(t):
    """By process 1, which has no descriptor left, or may not send one"""
    for options in ((), ("--allow-unsandboxed",)):
        t.write("ran")
        r = lacking(t, "pidfd", "sh", "-c", "echo x >> ran", options=options).ended(125)
        equal(r.err, "cloche: cannot hand over the command: Too many open files\n")
        check(t.read("ran") in ("", "x\n"), "it ran twice")


@test
def quiet_still_reports_a_weaker_tier(t):
    contains(lacking(t, "userns", "true", options=("--quiet",)).ok().err, SAID)


@test
def tier_full_is_not_replaced_by_a_weaker_one(t):
    r = lacking(t, "userns", "sh", "-c", "echo ran > ran",
                options=("--tier", "full")).ended(125)
    contains(r.err, "tier full is not available here")
    check(not t.exists("ran"), "it ran")
    t.shell("echo ran > ran", options=("--tier", "full")).ok("the control")


@test
def minimumTier_full_refuses_a_weaker_tier(t):
    full = json.dumps({"sandbox": {"minimumTier": "full"}})
    r = lacking(t, "userns", "sh", "-c", "echo ran > ran",
                options=("-s", full)).ended(125)
    contains(r.err, "minimumTier is full")
    r = t.shell("echo ran > ran", options=("-s", full, "--tier", "landlock"))
    r.ended(125)
    contains(r.err, "less than the policy asks for")
    check(not t.exists("ran"), "it ran")
    t.shell("echo ran > ran", options=("-s", full)).ok("the control")


@test
def an_unknown_tier_is_an_error(t):
    for name in ("", "none", "FULL", "bwrap"):
        r = t.shell("echo ran", options=("--tier", name)).ended(125)
        equal(r.out, "")


@test
def without_a_listener_the_footer_says_what_is_missing(t):
    t.write(t.away + "/f", "old")
    r = lacking(t, "notify", "sh", "-c", f"echo x > {t.away}/f; true").ok()
    contains(r.err, "not reported")
    equal(t.read(t.away + "/f"), "old")


@as_root
def without_fuse_the_footer_says_what_is_missing(t):
    key = t.write(t.home + "/.ssh/id_rsa", "KEY")
    run = lambda *argv: t.outside("unshare", "-m", "sh", "-c", "mount --bind /dev/null "
                                  '/dev/fuse && exec "$@"', "sh", CLOCHE, "run", "--", *argv)
    r = run("sh", "-c", f"cat {key}; echo > {t.away}/x")
    equal((r.out, t.read(key)), ("", "KEY"))
    contains(r.err, "refused 1 thing")
    contains(r.err, "note: denied reads of hidden paths are not reported")
    for argv in (("cat", key), ("sh", "-c", "cat ~/.ssh/id_rsa")):
        r = run(*argv)
        contains(r.err, f"cloche: {key} is hidden from the command")
        contains(r.err, f"\n            cloche policy allow read {key}\n")
    lacks(run("sh", "-c", f": {key}").err, "cloche:")	# It did not fail
    lacks(t.inside("cat", key).err, "is hidden from")	# The control: it is reported


@test
def without_inotify_watches_hidden_paths_are_hidden(t):
    """A command may use up all that the user may watch"""
    old, new = t.away + "/old", t.away + "/new"
    t.write(old, "old")

    def again(path):
        if path == old:
            os.unlink(path)
            time.sleep(0.2)	# So that its absence is seen
        t.write(path, "secret")

    p = t.start("run", "--deny-read", old, "--deny-read", new, "--", "sh", "-c",
                UNTIL_HIDDEN, "sh", old, new, program=(REFUSE, "watch"))
    check_hidden(p, {old: again, new: again})


@test
def without_inotify_watches_an_edit_applies(t):
    secret = t.away + "/secret"
    t.write(secret, "secret")
    t.write(t.home + "/.claude/settings.json", "{}")
    p = t.start("run", "--", "sh", "-c", UNTIL_HIDDEN, "sh", secret,
                program=(REFUSE, "watch"))
    check_hidden(p, {secret: lambda _: t.write(
        t.home + "/.claude/settings.json", json.dumps(
            {"sandbox": {"filesystem": {"denyRead": [secret]}}}))})


@test
def without_a_listener_a_port_that_a_rule_names_is_captured_from_the_start(t):
    code = """
import errno, socket
try: socket.create_server(("127.0.0.1", 7005)).close()
except OSError as e: print(e.errno == errno.EADDRINUSE and "taken")
else: print("free")
"""
    command = ("/usr/bin/python3", "-c", code)
    rule = ("--allow", "192.0.2.1:7005")
    equal(lacking(t, "notify", *command, options=rule).ok().out, "taken\n")
    equal(t.inside(*command, options=rule).ok().out, "free\n")


@test
def policy_errors_do_not_select_a_weaker_tier(t):
    r = t.run("run", "--cwd", "/nowhere", "--", "true").ended(125)
    lacks(r.err, "tier landlock")
    t.inside("/no/such/command").ended(127)


@test
def enableWeakerNestedSandbox_accepts_a_covered_proc(t):
    weaker = json.dumps({"sandbox": {"enableWeakerNestedSandbox": True}})
    t.write(t.away + "/f", "old")
    script = (f"readlink /proc/self/ns/pid; echo evil > {t.away}/f;"
              "echo 1 > /proc/self/oom_score_adj; "
              "cat /proc/$OUTER/environ; true")
    r = lacking(t, "proc", "sh", "-c", script, env={"CANARY": "PRIVATE"},
                options=("-s", weaker, "--env", f"OUTER={os.getpid()}")).ok()
    contains(r.err, "cloche: weaker nested sandbox: ")
    lacks(r.err, SAID)
    check(r.out.strip() != os.readlink("/proc/self/ns/pid"), "the host's pids")
    lacks(r.out, "PRIVATE")
    equal(t.read(t.away + "/f"), "old")


@test
def no_warning_where_the_sandbox_is_not_weaker(t):
    weaker = json.dumps({"sandbox": {"enableWeakerNestedSandbox": True}})
    r = t.shell("ls /proc | grep -c '^[0-9]'", options=("-s", weaker)).ok()
    lacks(r.err, "weaker")
    check(int(r.out) < 10, "the host's processes are seen:", r.out)


@test
def a_nested_run_adds_its_own_rules(t):
    t.write("a/f", "old")
    t.write("b/f", "old")
    r = t.inside(CLOCHE, "run", "--net", "none", "--deny-write", "b", "--",
                 "sh", "-c", "echo new > a/f; echo new > b/f; echo t > /tmp/x;"
                 f"cat /tmp/x; echo evil > {t.away}/f; exit 5",
                 options=("--read", os.path.dirname(CLOCHE))).ended(5)
    lacks(r.err, "tier landlock", "listener")	# The outer one is as strong
    equal((t.read("a/f"), t.read("b/f"), r.out), ("new\n", "old", "t\n"))
    check(not os.path.exists(t.away + "/f"), "written outside")


@test
def a_nested_run_in_the_landlock_tier_prints_the_fix(t):
    outer = ("--tier", "landlock", "--read", os.path.dirname(CLOCHE))
    for options in (), ("--tier", "landlock"), ("--net", "none"):
        r = t.inside(CLOCHE, "run", *options, "--", "echo", "ran",
                     options=outer).ended(125)
        equal(r.out, "")
        equal([line for line in r.err.splitlines() if "refused" not in line and
               not line.startswith("cloche:  ")],
              ["cloche: this runs in a cloche sandbox of tier landlock, in "
               "which no other can be built; run the command as it is: the "
               "sandbox around it holds it"])
    r = t.inside(CLOCHE, "run", "--tier", "full", "--", "echo", "ran",
                 options=outer).ended(125)
    contains(r.err, "this runs in a cloche sandbox of tier landlock")
    r = t.inside(CLOCHE, "doctor", "--json", options=outer)
    equal(json.loads(r.out)["tier"], "none")
    t.inside("echo", "ran", options=outer).ok("as it is")


@test
def a_nested_bash_shim_in_the_landlock_tier_is_plain_bash(t):
    os.symlink(CLOCHE, t.dir + "/bash")
    r = t.inside(t.dir + "/bash", "-c", "echo $0 ran", options=(
        "--tier", "landlock", "--read", os.path.dirname(CLOCHE))).ok()
    contains(r.out, "ran\n")


@test
def too_many_landlock_domains_are_reported(t):
    def around(count):
        """Be in @count domains, each of which forbids next to nothing"""
        libc = ctypes.CDLL(None, use_errno=True)
        check(libc.prctl(38, 1, 0, 0, 0) == 0, "no_new_privs")
        for _ in range(count):
            scope = struct.pack("QQQ", 0, 0, 1)
            fd = libc.syscall(444, scope, len(scope), 0)
            check(libc.syscall(446, fd, 0) == 0, "restrict_self")
            os.close(fd)

    tried = {}
    for count in 12, 15, 16:
        r = tried[count] = t.inside("true", options=("--tier", "landlock"),
                                    preexec_fn=lambda: around(count))
    tried[12].ok("the control")
    contains(tried[15].ended(125).err, "a Landlock domain of its own")
    contains(tried[16].ended(125).err, "Landlock")


@test
def lookups_of_state_by_a_nested_run_are_not_reported(t):
    t.write(t.home + "/.ssh/id", "key")		# Worth masks that talk
    t.shell(f"echo x > {t.away}/x")		# Now there is a state
    state = t.home + "/.local/state/cloche"
    check(os.listdir(state), "nothing to look for")
    r = t.inside(CLOCHE, "run", "--", "echo", "ran").ok()
    equal(r.out, "ran\n")
    lacks(r.err, state)
    if os.access("/dev/fuse", os.R_OK | os.W_OK):
        contains(t.inside("cat", state + "/x").err, state)	# Others are told on


@test
def a_run_inside_bubblewrap_works(t):
    bwrap = need("bwrap")
    wrap = (bwrap, "--dev-bind", "/", "/", "--unshare-user", "--unshare-pid",
            "--proc", "/proc")
    if t.outside(*wrap, "true").code:
        skip("bwrap does not work here")
    t.write(t.away + "/f", "old")
    r = t.outside(*wrap, CLOCHE, "run", "--", "sh", "-c",
                  f"echo ran > ran; echo evil > {t.away}/f; true").ok()
    check(t.exists("ran"), repr(r))
    equal(t.read(t.away + "/f"), "old")
    contains(r.err, "running inside bubblewrap")
    r = t.outside(*wrap, CLOCHE, "doctor", env={"SANDBOX_RUNTIME": None})
    contains(r.out, "inside another sandbox")


@as_user    # Root's own id cannot be given on without a capability
def bubblewrap_works_with_allowNestedUserNamespaces(t):
    bwrap = need("bwrap")
    nested = json.dumps({"sandbox": {"allowNestedUserNamespaces": True}})
    t.write(t.home + "/.ssh/id_x", "PRIVATE")
    t.write(t.away + "/f", "old")
    script = (f"cat {t.home}/.ssh/id_x; umount {t.home}/.ssh;"
              f"cat {t.home}/.ssh/id_x; echo evil > {t.away}/f; echo ran")
    wrap = (bwrap, "--bind", "/", "/", "--unshare-user", "--cap-add", "ALL",
            "sh", "-c", script)
    r = t.inside(*wrap, options=("-s", nested)).ok()
    equal((r.out, t.read(t.away + "/f")), ("ran\n", "old"), repr(r))
    check(t.inside(*wrap).code, "without the setting it must fail")


@as_user    # As above
def a_tmpfs_mounted_in_a_nested_namespace_is_writable(t):
    nested = json.dumps({"sandbox": {"allowNestedUserNamespaces": True}})
    # The first questions come from outside of it
    script = ("mkdir d; echo 1 > f; unshare -rm sh -c 'mount -t tmpfs t d && "
              "mkdir d/x && echo hi > d/x/f && cat d/x/f'")
    r = t.inside("sh", "-c", script, options=("-s", nested)).ok()
    equal((r.out, os.listdir(t.dir + "/d")), ("hi\n", []), repr(r))


@test
def an_exhausted_key_quota_is_reported(t):
    r = lacking(t, "quota", "sh", "-c", "echo ran").ended(125)
    equal((r.out, r.err.count("\n")), ("", 1), repr(r))
    contains(r.err, "your quota of kernel keys is used up")


main()
