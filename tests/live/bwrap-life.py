# SPDX-License-Identifier: Apache-2.0
"""tests/live/bwrap-life.py - cloche as bwrap: status, locks, signals and the end"""

import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

BWRAP = os.path.join(os.path.dirname(CLOCHE), "bwrap")
HOST = ["--ro-bind", "/", "/"]
USR = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
       "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]


def start(*words, **more):
    return subprocess.Popen([BWRAP, *words], **more)


@test
def json_status_reports_start_and_end(t):
    for options, code in ((["--unshare-all"], 42), ([], 7),
                          (["--unshare-pid", "--as-pid-1"], 0)):
        with open("info", "wb") as info, open("status", "wb") as status:
            r = t.outside(
                BWRAP, *HOST, *options, "--info-fd", str(info.fileno()),
                "--json-status-fd", str(status.fileno()), "sh", "-c",
                "for n in ipc mnt net pid uts cgroup; do "
                f"readlink /proc/self/ns/$n; done; exit {code}",
                pass_fds=(info.fileno(), status.fileno())).ended(code)
        info = json.loads(t.read("info"))
        first, last = map(json.loads, t.read("status").splitlines())
        equal(first, info)
        equal(last, {"exit-code": code})
        inside = dict(re.findall(r"^(\w+):\[(\d+)\]$", r.out, re.M))
        equal(info["mnt-namespace"], int(inside["mnt"]))
        if "--unshare-all" in options:
            for name in ("ipc", "net", "uts", "cgroup"):
                equal(info[name + "-namespace"], int(inside[name]), name)
        else:
            check("net-namespace" not in info, info)


@test
def an_exit_code_is_reported_only_if_the_command_ran(t):
    for options in ([], ["--unshare-pid"]):
        with open("status", "wb") as status:
            t.outside(BWRAP, *HOST, *options, "--json-status-fd",
                      str(status.fileno()), "/no/such",
                      pass_fds=(status.fileno(),)).ended(1)
        lacks(t.read("status"), "exit-code")
        contains(t.read("status"), "child-pid")


@test
def block_fd_delays_the_command_until_a_byte_arrives(t):
    read, write = os.pipe()
    p = start("--bind", "/", "/", "--block-fd", str(read), "touch",
              t.dir + "/done", pass_fds=(read,))
    os.close(read)
    info = wait_until(lambda: children(), "a child")
    check(info and not t.exists("done"))
    os.write(write, b"x")
    equal(p.wait(), 0)
    check(t.exists("done"))


@test
def userns_block_fd_lets_the_caller_map_users(t):
    go_read, go_write = os.pipe()
    info_read, info_write = os.pipe()
    p = start("--unshare-user", "--ro-bind", "/", "/", "--userns-block-fd",
              str(go_read), "--info-fd", str(info_write), "id", "-u",
              pass_fds=(go_read, info_write), stdout=subprocess.PIPE)
    os.close(info_write)
    with open(info_read) as file:
        pid = json.load(file)["child-pid"]
    for name, text in (("uid_map", f"77 {os.getuid()} 1"),
                       ("setgroups", "deny"),
                       ("gid_map", f"78 {os.getgid()} 1")):
        with open(f"/proc/{pid}/{name}", "w") as file:
            file.write(text)
    os.write(go_write, b"1")
    equal(p.communicate()[0], b"77\n")


@test
def sync_fd_stays_open_as_long_as_the_sandbox(t):
    for options in (["--unshare-pid", "--proc", "/proc"], []):
        pipes = [os.pipe(), os.pipe()]
        hold, hold_write = os.pipe()
        p = start(*HOST, *options,
                  *(w for _, end in pipes for w in ("--sync-fd", str(end))),
                  "sh", "-c", f"ls -l /proc/$$/fd; cat <&{hold}",
                  pass_fds=(*(end for _, end in pipes), hold),
                  stdout=subprocess.PIPE)
        os.close(hold)
        text = os.read(p.stdout.fileno(), 4096).decode()
        for read, write in pipes:
            os.close(write)
            os.set_blocking(read, False)
            try:
                os.read(read, 1)
                raise AssertionError("it was closed")
            except BlockingIOError:
                pass
            lacks(text, f" {write} -> ", "the command holds it")
        os.close(hold_write)
        equal(p.wait(), 0)
        p.stdout.close()
        for read, _ in pipes:
            os.set_blocking(read, True)
            equal(os.read(read, 1), b"")
            os.close(read)


def locked(path):
    """Would a writer have to wait?"""
    with open(path, "r+") as file:
        want = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
        got = fcntl.fcntl(file.fileno(), fcntl.F_GETLK, want)
        return struct.unpack("hhqqi4x", got)[0] != fcntl.F_UNLCK


@test
def lock_file_is_locked_while_the_sandbox_runs(t):
    t.write("lock")
    hold, write = os.pipe()
    p = start("--bind", "/", "/", "--lock-file", t.dir + "/lock", "cat",
              stdin=hold)
    os.close(hold)
    wait_until(lambda: locked("lock"), "the lock")
    os.close(write)
    equal(p.wait(), 0)
    check(not locked("lock"))


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def pid_of(mark):
    """A process that has @mark among its arguments and is not bwrap"""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0] == b"sleep" and mark in words:
            return int(pid)
    return None


@test
def die_with_parent_ends_the_sandbox_with_its_parent(t):
    for i, options in enumerate((["--die-with-parent"],
                                 ["--die-with-parent", "--unshare-pid"],
                                 ["--die-with-parent", "--unshare-pid",
                                  "--as-pid-1"])):
        mark = f"86{i}.{os.getpid()}"
        shell = subprocess.Popen(["sh", "-c", '"$@" & wait', "x", BWRAP, *HOST,
                                  *options, "sleep", mark])
        pid = wait_until(lambda: pid_of(mark.encode()), "the command")
        shell.kill()
        shell.wait()
        wait_until(lambda: not alive(pid), "its end")


@test
def the_command_survives_bwrap_without_die_with_parent(t):
    mark = f"870.{os.getpid()}"
    p = start(*HOST, "sleep", mark)
    pid = wait_until(lambda: pid_of(mark.encode()), "the command")
    p.kill()
    p.wait()
    check(alive(pid))
    os.kill(pid, signal.SIGKILL)


@test
def background_processes_survive_the_command(t):
    mark = f"880.{os.getpid()}"
    p = start(*HOST, "--dev", "/dev", "--unshare-pid", "sh", "-c",
              f"sleep {mark} & exit 5")
    equal(p.wait(), 5)
    pid = wait_until(lambda: pid_of(mark.encode()), "the process")
    os.kill(pid, signal.SIGKILL)


@as_root    # Only root can mount on the host
def later_mounts_of_the_host_propagate(t):
    script = f"""
    mount -t tmpfs x {t.dir} && mount --make-shared {t.dir} &&
    mkdir {t.dir}/in && mkfifo {t.away}/go {t.away}/up && {{
    {BWRAP} {' '.join(USR)} --bind {t.dir} /d --bind {t.away} /a sh -c \
        'echo up > /a/up; read x < /a/go; ls /d/in' &
    read x < {t.away}/up; mount -t tmpfs y {t.dir}/in && echo > {t.dir}/in/seen
    echo go > {t.away}/go; wait; }}"""
    r = t.outside("unshare", "-m", "sh", "-c", script).ok()
    equal(r.out, "seen\n")


main()
