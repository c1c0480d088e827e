# SPDX-License-Identifier: Apache-2.0
"""tests/live/identity.py - user, capabilities, descriptors and environment of the command"""

import fcntl
import json
import os
import re
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
LEAKED_FDS = (3, 255, 1024, 65535)


def status_of(text):
    """/proc/self/status as a dictionary"""
    return dict(re.findall(r"^(\w+):\t(.*)$", text, re.M))


@test
def the_first_example_of_the_readme_works(t):
    t.write(t.home + "/.ssh/id_x", "PRIVATE")
    r = t.shell("id -u; echo hi > ok; echo no > ~/no; cat ~/.ssh/id_x; exit 7")
    r.ended(7)
    equal(r.out, f"{os.getuid()}\n")
    equal(t.read("ok"), "hi\n")
    check(not os.path.exists(t.home + "/no"), "a file outside was written")
    lacks(r.out + r.err, "PRIVATE")


@test
def the_ids_and_groups_are_the_callers(t):
    script = "id -u; id -g; id -un; umask; pwd"
    equal(t.shell(script).ok().out, t.outside("sh", "-c", script).ok().out)


@as_root
def root_can_run_beside_another_users_home(t):
    """Nothing can be mounted in there, and the command cannot get in"""
    home = t.away + "/theirs"
    for name in (".ssh/id", ".ssh/known_hosts", "deep/key"):
        t.write(f"{home}/{name}", "SECRET")
    script = f"cat {home}/.ssh/* {home}/deep/key; echo ran"
    options = ["--deny-read", home + "/deep/key", "--deny-write", home + "/deep"]
    for path, _, names in os.walk(home):
        for name in [path] + [os.path.join(path, name) for name in names]:
            os.chown(name, 65534, 65534)
    for mode in (0o755, 0o700, 0o750, 0o710):
        os.chmod(home, mode)
        r = t.shell(script, env={"HOME": home}, options=options)
        equal(r.ok().out, "SECRETran\n" if mode == 0o755 else "ran\n",
              oct(mode))
    # A member of the group gets in, and must not find more there
    for group in (0, 7):
        os.chown(home, 65534, group)
        os.chmod(home, 0o750)
        r = t.outside("setpriv", "--groups", "7", CLOCHE, "run", *options,
                      "--", "sh", "-c", script, env={"HOME": home})
        equal(r.ok().out, "SECRETran\n", group)


@test
def the_command_keeps_the_callers_CPU_affinity(t):
    """Though init begins on another one than the supervisor's"""
    ask = ("/usr/bin/python3", "-c",
           "import os; print(sorted(os.sched_getaffinity(0)))")
    all_of_them = sorted(os.sched_getaffinity(0))
    for some in (all_of_them, all_of_them[:1], all_of_them[-1:]):
        os.sched_setaffinity(0, some)
        for _ in range(5):
            equal(t.inside(*ask).ok().out, f"{some}\n")
        os.sched_setaffinity(0, all_of_them)


@test
def the_command_has_no_capabilities(t):
    status = status_of(t.inside("cat", "/proc/self/status").ok().out)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        equal(int(status[name], 16), 0, name)
    outside = status_of(t.outside("cat", "/proc/self/status").out)
    check(int(outside["CapBnd"], 16), "the control has an empty bounding set")


@test
def no_new_privs_and_seccomp_are_set(t):
    status = status_of(t.inside("cat", "/proc/self/status").ok().out)
    equal(status["NoNewPrivs"], "1", "NoNewPrivs")
    equal(status["Seccomp"], "2", "Seccomp")
    init = status_of(t.inside("cat", "/proc/1/status").ok().out)
    equal(init["Seccomp"], "2", "Seccomp of the first process")
    equal(init["NoNewPrivs"], "1", "NoNewPrivs of the first process")
    equal(int(init["CapEff"], 16), 0, "CapEff of the first process")
    equal(int(init["CapBnd"], 16), 0, "CapBnd of the first process")
    equal(init["Threads"], "1", "threads of the first process")


@test
def seven_namespaces_are_new(t):
    script = "for n in %s; do readlink /proc/self/ns/$n; done" % " ".join(NAMESPACES)
    inside = t.shell(script).ok().out.split()
    outside = t.outside("sh", "-c", script).ok().out.split()
    equal(len(inside), len(NAMESPACES))
    for name, ours, theirs in zip(NAMESPACES, inside, outside):
        check(ours != theirs, "same namespace:", name)


@test_if(not SANITIZED)     # That needs all the room there is for itself
def the_network_is_isolated_when_threads_cannot_start(t):
    """Which would make it; a thread's stack is as large as the limit says"""
    limits = ("prlimit", "--as=1000000000", "--stack=4000000000")
    link = ("readlink", "/proc/self/ns/net")
    outside = t.outside(*limits, *link).ok().out
    for net in ("none", "filtered"):
        inside = t.outside(*limits, CLOCHE, "run", "--net", net, "--",
                           *link).ok().out
        check(inside.startswith("net:") and inside != outside,
              "the host's network:", inside)


@test
def only_three_descriptors_are_open(t):
    secret = t.write(t.away + "/secret", "SECRET")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    top = hard - 1 if hard != resource.RLIM_INFINITY else LEAKED_FDS[-1]
    numbers = sorted({min(n, top) for n in LEAKED_FDS})
    source = os.open(secret, os.O_RDWR)
    source = fcntl.fcntl(source, fcntl.F_DUPFD, 10)
    for number in numbers:
        os.dup2(source, number, inheritable=True)
    probe = t.probe()
    control = t.outside(probe, "fds", close_fds=False).ok().out
    for number in numbers:
        contains(control, f"\n{number} ", "the control")
    inside = t.inside(probe, "fds", close_fds=False).ok().out
    equal([line.split()[0] for line in inside.splitlines()[:-1]],
          ["0", "1", "2"], "open descriptors")


@test
def process_1_shows_nothing_of_the_callers_environment(t):
    r = t.shell("tr '\\0' '\\n' </proc/1/environ; tr '\\0' ' ' </proc/1/cmdline",
                env={"PLANTED_SECRET": "hunter2"})
    lacks(r.out, "hunter2")
    r = t.shell("cat /proc/*/environ | tr '\\0' '\\n'",
                env={"PLANTED_SECRET": "hunter2"})
    lacks(r.out, "hunter2")
    control = t.shell("cat /proc/*/environ | tr '\\0' '\\n'",
                      options=["--env", "PLANTED_SECRET"],
                      env={"PLANTED_SECRET": "hunter2"})
    contains(control.out, "hunter2", "the control")


# libc replaces the pointer to this variable by one to a copy
@test
def GLIBC_TUNABLES_does_not_leave_the_callers_environment(t):
    words = ["GLIBC_TUNABLES=glibc.malloc.check=0", "PLANTED_SECRET=hunter2", "HOME=" + t.home]
    for order in (words, words[::-1]):
        r = t.outside("env", "-i", *order, CLOCHE, "run", "-c",
                      "cat /proc/1/environ /proc/1/cmdline; echo read").ok()
        contains(r.out, "read")
        lacks(r.out + r.err, "hunter2")


@test
def proc_lists_only_processes_of_the_sandbox(t):
    r = t.shell("ls /proc | grep '^[0-9]' | wc -l; cat /proc/[0-9]*/comm")
    count = int(r.ok().out.split()[0])
    check(count < 8, "processes seen inside:", r.out)


SECRETS = {"AWS_SECRET_ACCESS_KEY": "s1", "GITHUB_TOKEN": "s2", "PGPASSWORD": "s3",
           "DB": "postgres://u:s4@h/db", "NOTE": "see ghp_0123456789abcdefghij"}
SESSION = {"SSH_AUTH_SOCK": "/s5", "LD_PRELOAD": "", "DISPLAY": ":5",
           "DBUS_SESSION_BUS_ADDRESS": "unix:path=/s5"}


@test
def secret_variables_are_withheld(t):
    plain = {"LANG": "C.UTF-8", "TERM": "vt100", "PORT": "4000", "MY_OWN": "m",
             "DATABASE_URL": "postgres://localhost/db", "MAX_TOKENS": "100"}
    r = t.inside("env", env={**SECRETS, **SESSION, **plain}).ok()
    for name in (*SECRETS, *SESSION):
        lacks(r.out, "\n" + name + "=")
    for name, value in plain.items():
        contains(r.out, f"{name}={value}\n")
    contains(r.out, f"HOME={t.home}\n")
    contains(r.out, "PATH=")
    equal(r.err, "")


@test
def withheld_variables_are_named_after_a_failure(t):
    env = {**SECRETS, **SESSION}
    r = t.inside("false", env=env).ended(1)
    equal(r.err.count("\n"), 1, r)
    for name in SECRETS:
        contains(r.err, name)
    for name in SESSION:
        lacks(r.err, name)
    contains(r.err, "--env NAME")
    lacks(r.err, "s1")
    r = t.inside("true", options=["-v"], env=env).ok()
    for name in env:
        contains(r.err, name)
    equal(t.inside("false", options=["--quiet"], env=env).ended(1).err, "")
    equal(t.inside("false").ended(1).err, "")


@test
def env_options_pass_and_set(t):
    out = t.inside("env", options=["--env", "GITHUB_TOKEN", "--env", "NEW=a=b c"],
                   env={"GITHUB_TOKEN": "kept", "GITLAB_TOKEN": "not"}).ok().out
    contains(out, "GITHUB_TOKEN=kept\n")
    contains(out, "NEW=a=b c\n")
    lacks(out, "GITLAB_TOKEN=")
    out = t.inside("env", options=["--pass-env"], env=SECRETS).ok().out
    contains(out, "DB=postgres://u:s4@h/db\n")
    lacks(out, "GITHUB_TOKEN=")
    r = t.inside("true", options=["--env", "NOT_SET", "--env", "BAD-NAME=1"]).ok()
    contains(r.err, "--env NOT_SET: there is no such variable here")
    contains(r.err, "--env BAD-NAME: not a name that a shell accepts")


@test
def the_host_name_is_not_changed_for_the_host(t):
    before = os.uname().nodename
    t.shell("hostname other 2>/dev/null; true").ok()
    equal(os.uname().nodename, before)


@test
def signal_dispositions_and_masks_are_the_callers(t):
    script = ("sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status")
    ignore = """import ctypes, os, signal, sys
for number in map(int, sys.argv[1].split()):
    # The C library reserves two signals for itself
    ctypes.CDLL(None).syscall(13 if os.uname().machine == "x86_64" else 134,
        number, (ctypes.c_long * 4)(signal.SIG_IGN), None, 8)
os.execvp(sys.argv[2], sys.argv[2:])"""
    for ignored in ("", "1 10", "32 33"):
        start = ("/usr/bin/python3", "-c", ignore, ignored)
        outside = t.outside(*start, *script).ok().out
        inside = t.outside(*start, CLOCHE, "run", "--", *script).ok().out
        equal(inside, outside, "signals with", ignored)


@test
def denied_credentials_are_withheld_despite_env(t):
    show = ("run", "--net", "none", "--env", "TOKEN")
    command = ("--", "sh", "-c", "echo ${TOKEN-none}")
    env = {"TOKEN": "secret"}
    equal(t.run(*show, *command, env=env).ok().out, "secret\n")   # The control
    for mode in ({"mode": "deny"}, {"mode": "mask", "injectHosts": ["a.test"]}):
        policy = {"network": {"tlsTerminate": {}, "allowedDomains": ["a.test"]},
                  "credentials": {"envVars": [{"name": "TOKEN", **mode}]}}
        r = t.run(*show, "-s", json.dumps(policy), *command, env=env).ok()
        equal(r.out, "none\n", mode)
        contains(r.err, "'TOKEN' is not passed")
    # What is written out is no secret of the caller's
    equal(t.run("run", "--net", "none", "-s", json.dumps(policy), "--env",
                "TOKEN=own", *command, env=env).ok().out, "own\n")


main()
