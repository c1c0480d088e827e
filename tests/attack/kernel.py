# SPDX-License-Identifier: Apache-2.0
"""tests/attack/kernel.py - system calls, other processes and inherited state"""

import ctypes
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time")
BLOCKED = ("EPERM", "ENOSYS", "EACCES", "SIGSYS", "EAFNOSUPPORT")
IPC_CREAT = 0o1000


def all_blocked(found, lines):
    for line in lines:
        check(found[line] in BLOCKED, line, "gave", found[line])


@test
def namespaces_cannot_be_created_or_joined(t):
    lines = [f"{how} {name}" for name in NAMESPACES
             for how in ("unshare", "clone", "clone3")
             if (how, name) != ("clone", "time")]
    found, _ = t.attempts(lines)
    all_blocked(found, lines)
    equal(found["clone3 user"], "ENOSYS", "clone3, so that libc falls back")
    joins = [f"setns /proc/{pid}/ns/{name}" for pid in ("1", "self")
             for name in NAMESPACES[:7]]
    found, _ = t.attempts(joins)
    all_blocked(found, joins)
    found, _ = t.attempts(["unshare user", "clone user"], inside=False)
    equal(set(found.values()), {"OK"}, "the control")


@test
def system_calls_of_other_ABIs_are_refused(t):
    if os.uname().machine != "x86_64":
        skip("gates of x86-64")
    lines = ["int80", "int80-socket", "x32"]
    found, _ = t.attempts(lines)
    all_blocked(found, lines)
    found, _ = t.attempts(["int80"], inside=False)
    equal(found["int80"], "OK", "the control")


@test
def dangerous_calls_do_not_reach_the_kernel(t):
    lines = ["io-uring", "bpf", "userfaultfd", "perf", "add-key",
             "request-key x", "join-keyring x", "swapon", "reboot", "kexec",
             "init-module", "sethostname", "settime", "acct", "syslog",
             "modify-ldt", "capset"]
    found, _ = t.attempts(lines)
    all_blocked(found, lines)
    control = ["io-uring", "userfaultfd", "add-key"]
    need_keys()
    found, _ = t.attempts(control, inside=False)
    for line in control:
        equal(found[line], "OK", "the control", line)
    found, _ = t.attempts(["bpf"], inside=False)
    equal(found["bpf"], "EFAULT", "the control reaches the kernel")


@test
def a_command_cannot_take_leases(t):
    t.write("file", "")
    t.write(t.home + "/.bashrc", "")
    lines = ["lease file", f"lease {t.home}/.bashrc"]
    found, _ = t.attempts(lines)
    all_blocked(found, lines)
    found, _ = t.attempts(lines, inside=False)
    equal(set(found.values()), {"OK"}, "the control")


@test
def file_system_snapshots_cannot_be_created(t):
    """btrfs: SNAP_CREATE, SUBVOL_CREATE and their second versions; bcachefs"""
    lines = [f"dir-ioctl . {request}" for request in
             (0x50009401, 0x5000940e, 0x50009417, 0x50009418, 0x4018bc10)]
    found, _ = t.attempts(lines)
    equal(set(found.values()), {"EPERM"}, found)
    found, _ = t.attempts(lines, inside=False)
    lacks(found.values(), "EPERM", "the control reaches the file system")


@test
def unknown_system_calls_fail_with_ENOSYS(t):
    lines = [f"unknown-call {n}" for n in
             list(range(480, 560)) + [600, 999, 1023, 4096, 0x3fffffff]]
    found, _ = t.attempts(lines)
    for line in lines:
        equal(found[line], "ENOSYS", line)


@test
def the_session_keyring_is_fresh(t):
    libc = ctypes.CDLL(None, use_errno=True)
    add_key, keyctl, session = 248, 250, -3
    if os.uname().machine != "x86_64":
        add_key, keyctl = 217, 219
    need_keys()
    libc.syscall(keyctl, 1, None)	# A session keyring of this test's own
    key = libc.syscall(add_key, b"user", b"cloche-canary", b"S3CRET", 6, session)
    check(key > 0, "cannot add a key", ctypes.get_errno())
    found, out = t.attempts(["keyring-search cloche-canary"], inside=False)
    contains(out, "S3CRET", "the control")
    found, out = t.attempts(["keyring-search cloche-canary",
                              "request-key cloche-canary"])
    lacks(out, "S3CRET")
    check("OK" not in found.values(), found)
    lacks(t.shell("cat /proc/keys").out, "cloche-canary")


@test
def shared_memory_of_the_host_is_not_visible(t):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    key = 0x43000000 | os.getpid()
    segment = libc.shmget(key, 4096, IPC_CREAT | 0o600)
    check(segment >= 0, "cannot make a segment")
    try:
        where = libc.shmat(segment, None, 0)
        ctypes.memmove(where, b"S3CRET\0", 7)
        found, out = t.attempts([f"shm {key}"], inside=False)
        contains(out, "S3CRET", "the control")
        found, out = t.attempts([f"shm {key}"])
        equal(found[f"shm {key}"], "ENOENT")
    finally:
        libc.shmctl(segment, 0, None)


@test
def input_cannot_be_pushed_into_the_terminal(t):
    lines = ["tiocsti", "tiocsti-high", "tioclinux"]
    found, _ = t.attempts(lines)
    for line in lines:
        equal(found[line], "EPERM", line)
    with open("/proc/sys/dev/tty/legacy_tiocsti") as file:
        legacy = file.read().strip() == "1"
    found, _ = t.attempts(["tiocsti"], inside=False)
    equal(found["tiocsti"], "OK" if legacy else "EIO", "the control")


@test
def a_setuid_program_gains_no_privileges(t):
    program = "/bin/su"
    if IS_ROOT:
        program = t.write(t.away + "/cat-as-nobody", "")
        shutil.copy("/bin/cat", program)
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o4755)
    line = f"setuid-exec {program}"
    found, out = t.attempts([line], inside=False)
    equal(found[line], "OK", "the control", out)
    found, out = t.attempts([line])
    equal(found[line], "EPERM", out)
    found, _ = t.attempts(["setuid 0", "setuid 1", "setuid 12345"])
    for uid in {0, 1, 12345} - {os.getuid()}:
        check(found[f"setuid {uid}"] != "OK", "became", uid)


@test
def core_dumps_are_not_piped_to_the_host(t):
    found, out = t.attempts(["core-limit"])
    equal(out.splitlines()[0], "1 1", "soft and hard limit")
    equal(found["core-limit"], "EPERM")
    r = t.shell("echo '|/bin/false' > /proc/sys/kernel/core_pattern")
    check(r.code != 0, "core_pattern was written")


@test
def process_1_cannot_be_traced_or_signalled(t):
    lines = ["ptrace 1", "vm-read 1", "pidfd-getfd 1 0", "pidfd-getfd 1 3",
             "write /proc/1/mem", "read /proc/1/mem"]
    found, _ = t.attempts(lines)
    for line in lines:
        check(found[line] in BLOCKED + ("EROFS",), line, "gave", found[line])
    r = t.shell("kill -9 1; kill -TERM 1; echo alive")
    contains(r.out, "alive")


@test
def processes_of_the_host_cannot_be_reached(t):
    other = subprocess.Popen(["sleep", "1000"])
    try:
        control, _ = t.attempts([f"kill {other.pid}"], inside=False)
        equal(control[f"kill {other.pid}"], "OK", "the control")
        found, _ = t.attempts([f"kill {other.pid}"])
        check(found[f"kill {other.pid}"] in ("ESRCH",), found)
    finally:
        other.kill()
        other.wait()


@test
def a_debugger_works_on_its_own_children(t):
    need("strace")
    r = t.inside("strace", "-f", "-o", "trace", "true")
    r.ok()
    contains(t.read("trace"), "execve")


main()
