# SPDX-License-Identifier: Apache-2.0
"""tests/fallback/landlock.py - the guarantees of the landlock tier"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from alone import alone
from hello import Ears
from tap import *

LANDLOCK = ("--tier", "landlock")
NONE = LANDLOCK + ("--net", "none")
CALLS = {"x86_64": {"ioprio_set": 251, "sched_setattr": 314},
         "aarch64": {"ioprio_set": 30, "sched_setattr": 274}}[os.uname().machine]
REFUSED = {"EACCES", "EPERM", "EROFS", "ENOSYS", "EXDEV", "EBUSY"}


def refused(t, lines, options=NONE, control=True):
    """Each line is refused inside and, as the control, works outside"""
    found, out = t.attempts(lines, options=options)
    for line in lines:
        check(found[line] in REFUSED, line, "gave", found[line], out)
    if control:
        found, _ = t.attempts(lines, inside=False)
        for line in lines:
            equal(found[line], "OK", "the control of", line)


def repository(t):
    """A project with what git makes, and something to work on"""
    t.write(".git/hooks/pre-commit", "#!/bin/sh\n", 0o755)
    t.write(".git/config", "[core]\n")
    t.write(".git/HEAD", "ref: refs/heads/main\n")
    t.write("src/main.c", "int main(void) { return 0; }\n")
    t.write("README", "text\n")


@test
def a_command_reads_and_writes_the_project(t):
    repository(t)
    r = t.shell("echo more >> README; echo new > src/new.c; mkdir src/d;"
                "mv src/new.c src/d/moved.c; rm src/main.c; cat README;"
                "echo t > $TMPDIR/file && cat $TMPDIR/file; exit 3",
                options=LANDLOCK).ended(3)
    equal(r.out, "text\nmore\nt\n")
    equal(sorted(os.listdir(t.dir + "/src")), ["d"])
    check(os.path.exists(t.dir + "/src/d/moved.c"), "not moved")


@test
def paths_unmasked_by_an_edit_wait_for_the_next_run(t):
    settings = t.write(t.home + "/.claude/settings.json", json.dumps(
        {"sandbox": {"filesystem": {"denyRead": [t.away]}}}))
    t.write(t.away + "/file", "text")
    host = f"/tmp/cloche-test-{os.getpid()}"
    p = t.start("run", *NONE, "--", "sh", "-c",
                f"echo ready; read x; cat {t.away}/file; echo $?;"
                f"echo x > {host}; mkdir {host}.d; echo x > $TMPDIR/own; echo $?")
    equal(p.stdout.readline(), b"ready\n")
    t.write(settings + ".new", "{}")
    os.rename(settings + ".new", settings)
    contains(p.stderr.readline().decode(), "applies to new runs only: "
             f"reading '{t.away}'")
    equal(p.communicate(b"\n")[0], b"1\n0\n")
    for path in (host, host + ".d"):
        check(not os.path.exists(path), "the host's", path)
        os.mkdir(path)
        os.rmdir(path)
    equal(t.inside("cat", t.away + "/file", options=NONE).ok().out, "text")


@test
def files_are_created_beside_protected_ones(t):
    """Landlock cannot allow it there; the observer does it instead"""
    repository(t)
    r = t.shell("umask 027; echo a > new; echo b >> new; cat new; mkdir build;"
                "echo c > build/x; mv build/x moved; ln -s moved link;"
                "ln README hard; rm README; chmod 700 new; : > new;"
                "mkfifo p; rmdir build; echo i > .git/index.lock;"
                "mv .git/index.lock .git/index; cat .git/index; true",
                options=LANDLOCK).ok()
    equal((r.out, r.err), ("a\nb\ni\n", ""))
    equal(sorted(n for n in os.listdir(t.dir)),
          [".git", "hard", "link", "moved", "new", "p", "src"])
    equal(os.stat(t.dir + "/new").st_size, 0)
    equal(os.stat(t.dir + "/new").st_mode & 0o777, 0o700)
    equal(os.stat(t.dir + "/moved").st_mode & 0o777, 0o640)
    r = t.shell("echo a > newer", options=LANDLOCK + ("--observe", "off"))
    check(r.code and not t.exists("newer"), "without the observer:", repr(r))


@test
def files_created_by_the_observer_have_the_commands_modes(t):
    """By the observer, as the kernel would have it; a group's rights are rights"""
    repository(t)
    script = """import os; os.umask(0o027)
os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o2777))
os.mkdir("dir", 0o777); os.mknod("node", 0o2666); os.mkfifo("pipe", 0o2666)
os.mknod("lent"); os.chmod("lent", 0o2711); os.chmod("dir", 0o2751)"""
    t.inside("/usr/bin/python3", "-c", script, options=LANDLOCK).ok()
    equal([oct(os.stat(name).st_mode & 0o7777)
           for name in ("file", "dir", "node", "pipe", "lent")],
          ["0o750", "0o2751", "0o640", "0o640", "0o711"])


@test
def a_writable_root_excludes_proc_sys(t):
    """What is in force is written again: nothing changes"""
    again = 'for f in /proc/self/oom_score_adj /sys/kernel/mm/ksm/run; do ' \
            'v=$(cat $f) && echo $v > $f && echo wrote $f; done'
    outside = t.outside("sh", "-c", again).out
    contains(outside, "wrote /proc/self/oom_score_adj", "the control")
    if os.getuid() == 0:
        contains(outside, "wrote /sys/kernel/mm/ksm/run", "the control")
    r = alone(t, CLOCHE, "run", *NONE, "--write", "/", "--", "sh", "-c",
              f"{again}; echo new > {t.away}/made")
    equal((r.out, t.read(t.away + "/made")), ("", "new\n"), repr(r))


@test
def git_works_beside_protected_files(t):
    need("git")
    git = ("git", "-c", "user.name=n", "-c", "user.email=e@x")
    t.outside("git", "init", "-q").ok()
    t.write("f", "text\n")
    script = ("git add f && git -c user.name=n -c user.email=e@x commit -qm one"
              " && git checkout -qb other && git log --format=%s")
    r = t.shell(script, options=NONE)
    equal((r.code, r.out), (0, "one\n"), repr(r))
    t.outside(*git, "fsck", "--strict").ok()


@test
def the_observer_creates_nothing_outside_the_policy(t):
    repository(t)
    t.write(t.away + "/f", "old")
    t.write("secret", "PRIVATE")
    before = tree(t.dir + "/.git")
    options = NONE + ("--deny-read", "secret")
    lines = [f"link {t.away}/f x", f"rename {t.away}/f x", "link secret x",
             "rename secret x", "rename .git x", "exchange .git src",
             "rename .git src/x", "rename src .git/hooks/x", "rename src .git",
             "link .git/config x", "rename .git/config x",
             "rename README .git/config", "rename README secret",
             "link README .git/hooks/x", "create .git/hooks/x",
             "mkdir .git/hooks/x", "unlink secret", "truncate secret",
             "chmod .git/config", "chmod secret", f"chmod {t.away}/f",
             f"rename {t.dir} {t.dir}x", f"rename {t.dir} {t.dir}/src/x",
             "rmdir .git", "rmdir ../project"]
    found, out = t.attempts(lines, options=options)
    for line in lines:
        check(found[line] in REFUSED | {"EBUSY", "EINVAL", "ENOTEMPTY"}, line, out)
    equal(tree(t.dir + "/.git"), before)
    equal(t.read("secret"), "PRIVATE")
    check(not t.exists("x") and t.exists("src/main.c"), os.listdir(t.dir))
    os.symlink(t.away + "/f", t.dir + "/out")
    found, out = t.attempts(["write out", "truncate out"], options=options)
    check(all(v in REFUSED for v in found.values()), out)
    equal(t.read(t.away + "/f"), "old")


@test
def a_project_without_protected_names_is_completely_writable(t):
    r = t.shell("echo a > new && mkdir d && echo b > d/f && mv new d/ && ls d",
                options=LANDLOCK).ok()
    equal(r.out, "f\nnew\n")


@test
def files_outside_the_project_cannot_be_changed(t):
    t.write(t.away + "/f", "old")
    os.mkdir(t.away + "/d")
    lines = [f"write {t.away}/f", f"truncate {t.away}/f",
             f"create {t.away}/new", f"mkdir {t.away}/newd",
             f"mkfifo {t.away}/fifo", f"symlink x {t.away}/link",
             f"rename {t.away}/f {t.away}/g", f"unlink {t.away}/g",
             f"rmdir {t.away}/d"]
    before = tree(t.away)
    found, out = t.attempts(lines, options=NONE)
    for line in lines:
        check(found[line] in REFUSED | {"ENOENT"}, line, found[line], out)
    equal(tree(t.away), before)
    found, _ = t.attempts(lines, inside=False)
    equal(set(found.values()), {"OK"}, "the control")


# What Landlock does not know: of a file elsewhere, by name, by a directory that
# was removed, and by what is open for reading
METADATA = """
import ctypes, errno, fcntl, os, struct, sys
other = sys.argv[1]
os.mkdir("x")
fd = os.open("x", os.O_RDONLY)
os.rmdir("x")
up = os.path.relpath(other, os.getcwd())
file = os.open(other, os.O_RDONLY)
for name in (other, f"/proc/self/fd/{fd}/../{up}", f"/dev/fd/{fd}/../{up}",
             f"/proc/thread-self/fd/{fd}/../{up}", f"/proc/self/fd/{file}", file):
    for call, *args in ((os.chmod, 0o666), (os.utime,), (os.utime, (1, 1)),
                        (os.chown, -1, os.getgid()),
                        (os.setxattr, "user.cloche", b"1")):
        try:
            call(name, *args)
            print("done")
        except OSError as error:
            print(errno.errorcode[error.errno])
try:
    fcntl.ioctl(file, 0x40086602, struct.pack("l", 0x80))
    print("done")
except OSError as error:
    print(errno.errorcode[error.errno])
libc = ctypes.CDLL(None, use_errno=True)
value = ctypes.create_string_buffer(b"1")
set_args = struct.pack("QII", ctypes.addressof(value), 1, 0)
for number, *args in ((463, b"user.at", set_args, ctypes.c_size_t(len(set_args))), (466, b"user.at")):
    print("done" if libc.syscall(number, -100, other.encode(), 0, *args) == 0
          else errno.errorcode[ctypes.get_errno()])
"""


@test
def metadata_outside_the_project_cannot_be_changed(t):
    other = t.write(t.away + "/other", "text", 0o600)
    os.utime(other, (7, 7))
    r = t.inside("/usr/bin/python3", "-c", METADATA, other, options=NONE).ok()
    lacks(r.out, "done", repr(r))
    equal(r.out.count("\n"), 33)
    st = os.stat(other)
    equal((st.st_mode & 0o777, st.st_mtime), (0o600, 7))
    equal(os.listxattr(other), [])
    r = t.outside("/usr/bin/python3", "-c", METADATA, other).ok("the control")
    check(set(r.out.split()) <= {"done", "ENOTTY", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"},
          repr(r))
    equal(os.stat(other).st_mode & 0o777, 0o666, "the control")


@test
def metadata_in_the_project_can_be_changed(t):
    """By name and by what is open, with and without a name"""
    t.write("file")
    r = t.inside("/usr/bin/python3", "-c", """
import os
for name in ("file", os.open("file", os.O_RDWR | os.O_CREAT)):
    os.chmod(name, 0o640)
    os.utime(name)
    os.utime(name, (5, 5))
    os.chown(name, os.getuid(), os.getgid())
    os.setxattr(name, "user.cloche", b"1")
os.symlink("file", "link")
os.utime("link", (3, 3), follow_symlinks=False)
for fd in (os.pipe()[0], os.memfd_create("x"),
           os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)):
    os.fchmod(fd, 0o644)
try:
    os.chmod("none", 0o600)
except FileNotFoundError:
    print("ok")
""", options=NONE).ok()
    equal(r.out, "ok\n")
    equal(r.err, "")
    st = os.stat("file")
    equal((st.st_mode & 0o777, st.st_mtime), (0o640, 5))
    equal(os.lstat("link").st_mtime, 3)
    equal(os.listxattr("file"), ["user.cloche"])


@test
def chmod_applies_to_the_file_that_was_decided_about(t):
    """Another thread changes the path while it is being decided about"""
    script = """
import ctypes, os, sys, threading
sys.setswitchinterval(1e-5)
libc = ctypes.CDLL(None, use_errno=True)
path = ctypes.create_string_buffer(b"a/file")
over = False
def flip():
    while not over:
        path[0] = b"b"
        path[0] = b"a"
thread = threading.Thread(target=flip)
thread.start()
for i in range(%d):
    libc.chmod(path, 0o604 + i %% 2)
over = True
thread.join()
print(oct(os.stat("a/file").st_mode))
""" % long(4000, 100000)
    other = t.write(t.away + "/file", "text", 0o600)
    t.write("a/file")
    os.symlink(t.away, t.dir + "/b")
    r = t.inside("/usr/bin/python3", "-c", script, options=NONE).ok()
    equal(os.stat(other).st_mode & 0o777, 0o600, repr(r))
    contains(r.out, "0o10060", "its own is changed")
    t.outside("chmod", "604", "b/file").ok("the control")
    equal(os.stat(other).st_mode & 0o777, 0o604, "the control")


@test
def devices_keep_their_mode(t):
    """chmod to the mode that it has: allowing it changes nothing"""
    script = "chmod 666 /dev/null && echo done; touch /dev/null && echo done"
    equal(t.shell(script, options=NONE).out, "")
    contains(t.outside("sh", "-c", script).out, "done", "the control")


@test
def files_cannot_be_moved_or_linked_across_the_boundary(t):
    t.write(t.home + "/f", "old")
    t.write("mine", "mine")
    refused(t, [f"link {t.home}/f {t.dir}/in", f"rename {t.dir}/mine {t.home}/out"])


@test
def hidden_files_and_directories_cannot_be_read(t):
    for path in (".ssh/id_x", ".aws/credentials", ".netrc"):
        t.write(f"{t.home}/{path}", "PRIVATE")
    t.write(t.home + "/notes", "plain")
    t.write(t.away + "/secret/deep/f", "PRIVATE")
    t.write(t.away + "/beside", "plain")
    options = NONE + ("--deny-read", t.away + "/secret")
    lines = [f"read {t.home}/.ssh/id_x", f"read {t.home}/.aws/credentials",
             f"read {t.home}/.netrc", f"list {t.home}/.ssh",
             f"read {t.away}/secret/deep/f", f"list {t.away}/secret",
             f"read /proc/self/root{t.home}/.ssh/id_x"]
    refused(t, lines, options)
    found, _ = t.attempts([f"read {t.home}/notes", f"read {t.away}/beside"],
                          options=options)
    equal(set(found.values()), {"OK"}, "what is beside it")


@test
def a_shown_path_inside_a_hidden_directory_is_readable(t):
    t.write(t.away + "/secret/f", "PRIVATE")
    t.write(t.away + "/secret/shown", "plain")
    options = NONE + ("--deny-read", t.away + "/secret",
                      "--read", t.away + "/secret/shown")
    found, _ = t.attempts([f"read {t.away}/secret/shown",
                           f"read {t.away}/secret/f"], options=options)
    equal(found[f"read {t.away}/secret/shown"], "OK")
    check(found[f"read {t.away}/secret/f"] in REFUSED, found)


@test
def protected_files_cannot_be_changed(t):
    repository(t)
    before = tree(t.dir + "/.git")
    lines = ["write .git/config", "truncate .git/config",
             "unlink .git/config", "rename .git/config .git/c",
             "create .git/hooks/post-commit", "unlink .git/hooks/pre-commit",
             "rename .git/hooks .git/h", "rename .git g",
             "exchange .git src", "rename src/main.c .git/config",
             "link src/main.c .git/hooks/x", "symlink x .git/hooks/l",
             "mkfifo .git/hooks/p", "tmpfile .git/hooks"]
    found, out = t.attempts(lines, options=NONE)
    for line in lines:
        check(found[line] in REFUSED | {"ENOENT"}, line, found[line], out)
    equal(tree(t.dir + "/.git"), before)


@test
def a_denied_directory_inside_a_writable_one_is_read_only(t):
    t.write("keep/f", "old")
    t.write("other/f", "old")
    options = NONE + ("--deny-write", "keep")
    found, out = t.attempts(["write keep/f", "create keep/g", "unlink keep/f",
                             "rename keep k", "write other/f",
                             "create other/g"], options=options)
    equal((found["write other/f"], found["create other/g"]), ("OK", "OK"))
    for line in ("write keep/f", "create keep/g", "unlink keep/f",
                 "rename keep k"):
        check(found[line] in REFUSED, line, found[line], out)


@test
def a_denied_directory_and_its_parents_cannot_be_renamed(t):
    script = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir("gone")
fd = os.open("gone", os.O_RDONLY)
os.rmdir("gone")
os.mkdir("a/free")
up = f"/proc/self/fd/{fd}/.."
for name in ("a/b/keep", "a/b", "a", os.getcwd() + "/a/b", up + "/a/b/keep",
             up + "/a/b", f"/dev/fd/{fd}/../a", "a/../a/b/./keep/"):
    for flags in (0, 1, 2):     # RENAME_NOREPLACE, RENAME_EXCHANGE
        other = b"a/free" if flags == 2 and name != "a" else b"new"
        r = libc.renameat2(-100, name.encode(), -100, other, flags)
        print("done" if r == 0 else "refused")
        if r == 0:
            libc.renameat2(-100, other, -100, name.encode(), flags)
    for call in (os.rmdir, os.unlink):
        try:
            call(name)
            print("done")
        except OSError:
            print("refused")
os.rename("a/free", "a/moved")
"""
    t.write("a/b/keep/f", "old")
    r = t.inside("/usr/bin/python3", "-c", script,
                 options=NONE + ("--deny-write", "a/b/keep")).ok()
    equal(set(r.out.split()), {"refused"}, repr(r))
    equal(t.read("a/b/keep/f"), "old")
    check(os.path.isdir(t.dir + "/a/moved"), "what is beside it moves")
    os.rmdir(t.dir + "/a/moved")
    r = t.outside("/usr/bin/python3", "-c", script).ok("the control")
    check(r.out.count("done") >= 16, repr(r))


@test
def a_protected_name_cannot_be_created(t):
    t.write("sub/f", "")
    r = t.shell("mkdir sub/.vscode; echo x > sub/.bashrc; echo x > .mcp.json;"
                "true", options=NONE)
    check(not t.exists("sub/.bashrc") and not t.exists(".mcp.json"), repr(r))
    check(not t.exists("sub/.vscode"), repr(r))
    contains(r.err, "refused")


@test
def O_PATH_with_O_CREAT_creates_no_protected_name(t):
    """O_PATH makes nothing, whatever other flags say"""
    repository(t)
    script = """
import os, sys
try:
    fd = os.open(sys.argv[1], os.O_PATH | os.O_CREAT | os.O_WRONLY)
    os.write(fd, b"planted")
except OSError:
    pass
"""
    t.write(".gitconfig", "mine")
    for name in (".bashrc", ".vscode", "plain"):
        r = t.inside(need("python3"), "-c", script, name, options=LANDLOCK)
        check(not t.exists(name), name)
        lacks(r.ok().err, "quarantine")
    t.inside("touch", "plain", options=LANDLOCK).ok()
    check(t.exists("plain"))


@test
def net_none_sends_nothing(t):
    ears = Ears()
    port = ears.tcp_port
    lines = [f"tcp 127.0.0.1 {port}",
             f"udp 127.0.0.1 {ears.udp_port}", "tcp-listen",
             "listen-any", f"tcp-fast 127.0.0.1 {port} sendto",
             f"tcp-fast 127.0.0.1 {port} sendmsg",
             f"tcp-fast 127.0.0.1 {port} sendmmsg",
             "socket 17 3 0", "socket 2 3 1", "socket 2 2 1"]
    for options in (NONE, LANDLOCK):
        found, out = t.attempts(lines, options=options)
        for line in lines:
            check(found[line] in REFUSED | {"EAFNOSUPPORT", "EOPNOTSUPP"},
                  line, out)
    check(not ears.heard(), "something arrived from inside")
    found, _ = t.attempts(lines[:7], inside=False)
    equal(set(found.values()), {"OK"}, "the control")
    check(ears.heard(), "the control heard nothing")


@test
def net_host_reaches_the_hosts_loopback(t):
    server = socket.create_server(("127.0.0.1", 0))
    line = f"tcp 127.0.0.1 {server.getsockname()[1]}"
    found, _ = t.attempts([line], options=LANDLOCK + ("--net", "host"))
    equal(found[line], "OK")


@test
def unix_sockets_of_the_host_are_unreachable(t):
    os.chdir(t.away)
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.bind("s")
    stream.listen(5)
    os.chdir(t.dir)
    name = f"cloche-canary-{os.getpid()}"
    abstract = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    abstract.bind("\0" + name)
    abstract.listen(5)
    away = os.path.relpath(t.away)
    refused(t, [f"unix-connect {away}/s", f"abstract {name}"])
    allow = json.dumps({"sandbox": {"network": {"allowAllUnixSockets": True}}})
    found, _ = t.attempts([f"abstract {name}"], options=NONE + ("-s", allow))
    check(found[f"abstract {name}"] in REFUSED, "Landlock alone:", found)


@test
def other_processes_cannot_be_killed_or_traced(t):
    victim = subprocess.Popen(["sleep", "60"])
    lines = [f"kill {victim.pid}", f"ptrace {victim.pid}",
             f"vm-read {victim.pid}", f"pidfd-getfd {victim.pid} 0",
             f"read /proc/{victim.pid}/environ"]
    found, out = t.attempts(lines, options=NONE)
    for line in lines:
        check(found[line] in REFUSED, line, found[line], out)
    found, _ = t.attempts([lines[0], lines[4]], inside=False)
    equal(set(found.values()), {"OK"}, "the control")
    victim.kill()
    victim.wait()


@test
def limits_and_priorities_of_other_processes_cannot_be_changed(t):
    victim = subprocess.Popen(["sleep", "60"])
    script = (f"import ctypes, os, resource, struct\n"
              f"libc = ctypes.CDLL(None, use_errno=True)\n"
              f"def call(*args):\n"
              f"    if libc.syscall(*args) < 0:\n"
              f"        raise OSError(ctypes.get_errno(), 'call')\n"
              f"def ioprio(which, who):\n"
              f"    call({CALLS['ioprio_set']}, which, who, 0)\n"
              f"def attr(pid):\n"
              f"    call({CALLS['sched_setattr']}, pid, struct.pack('IIQiIQQQ', 48, 5, 0, 0, 0, 0, 0, 0), 0)\n"
              f"for f in (lambda: resource.prlimit({victim.pid}, resource.RLIMIT_CPU, (1, 1)),\n"
              f"          lambda: os.setpriority(os.PRIO_PROCESS, {victim.pid}, 19),\n"
              f"          lambda: os.setpriority(os.PRIO_USER, 0, 19),\n"
              f"          lambda: os.setpriority(os.PRIO_PGRP, 0, 19),\n"
              f"          lambda: ioprio(3, 0), lambda: ioprio(2, 0),\n"
              f"          lambda: ioprio(1, {victim.pid}),\n"
              f"          lambda: os.sched_setscheduler({victim.pid}, os.SCHED_IDLE, os.sched_param(0)),\n"
              f"          lambda: os.sched_setparam({victim.pid}, os.sched_param(0)),\n"
              f"          lambda: os.sched_setaffinity({victim.pid}, {{0}}),\n"
              f"          lambda: attr({victim.pid})):\n"
              f"    try:\n        f()\n        print('done')\n"
              f"    except PermissionError:\n        print('refused')\n"
              f"os.setpriority(os.PRIO_PROCESS, 0, 19)\n"
              f"resource.setrlimit(resource.RLIMIT_CPU, (100, 100))\n"
              f"print('own')\n")
    r = t.inside("/usr/bin/python3", "-c", script, options=NONE).ok()
    equal(r.out, 11 * "refused\n" + "own\n")
    r = t.outside("/usr/bin/python3", "-c", script.replace(
        "PRIO_USER, 0", f"PRIO_PROCESS, {victim.pid}").replace(
        "ioprio(3, 0)", "ioprio(1, 0)"), start_new_session=True)
    equal(r.ok("the control").out, 11 * "done\n" + "own\n")
    victim.kill()
    victim.wait()


@test
def process_groups_of_the_session_are_not_joined(t):
    """Of the terminal's foreground group one could read what the user types"""
    victim = subprocess.Popen(["sleep", "60"], process_group=0)
    script = f"""
import os, time
first = os.fork() or time.sleep(60)
second = os.fork() or time.sleep(60)
os.setpgid(first, first)        # As a shell does with a pipeline
os.setpgid(second, first)
os.setpgid(second, 0)
os.kill(first, 9)
os.kill(second, 9)
for child in 0, os.fork() or time.sleep(60):
    try:
        os.setpgid(child, {victim.pid})
        print("joined")
    except PermissionError:
        print("refused")
os.kill(child, 9)
"""
    for inside, want in (True, "refused\n"), (False, "joined\n"):
        argv = ["/usr/bin/python3", "-c", script]
        r = t.inside(*argv, options=NONE) if inside else t.outside(*argv)
        equal(r.ok().out, 2 * want, repr(r))
    victim.kill()
    victim.wait()


@test
def shared_memory_of_the_host_cannot_be_attached(t):
    libc = ctypes.CDLL(None, use_errno=True)
    key = 0x10000000 + os.getpid()
    segment = libc.shmget(key, 4096, 0o1600)
    check(segment >= 0, "shmget")
    try:
        refused(t, [f"shm {key}"])
    finally:
        libc.shmctl(segment, 0, None)


@test
def a_command_cannot_gain_privileges(t):
    r = t.inside("cat", "/proc/self/status", options=NONE).ok()
    status = dict(line.split(":\t", 1) for line in r.out.splitlines()
                  if ":\t" in line)
    equal(status["NoNewPrivs"], "1")
    equal(status["Seccomp"], "2")
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        equal(int(status[name], 16), 0, name)
    refused(t, ["unshare user", "mount-tmpfs /mnt", "chroot /",
                "io-uring", "bpf", "setuid 0" if not IS_ROOT else "setuid 1",
                "sethostname"], control=False)


@test
def inherited_descriptors_are_closed(t):
    t.write(t.away + "/f", "SECRET")
    fd = os.open(t.away + "/f", os.O_RDWR)
    os.dup2(fd, 77)
    os.set_inheritable(77, True)
    _, out = t.attempts(["fds"], options=NONE, close_fds=False)
    equal([l for l in out.splitlines() if l.startswith("77 ")], [])
    contains(out, "0 ", "the control")


@test
def all_processes_end_with_the_command(t):
    marker = f"{30000 + os.getpid() % 10000}.{os.getpid()}"
    r = t.shell(f"setsid sleep {marker} >/dev/null 2>&1 & "
                f"(trap '' TERM HUP INT; sleep {marker} >/dev/null 2>&1 & "
                f"(sleep {marker} > /dev/null 2>&1 &) ) & sleep 0.1; exit 4",
                options=NONE)
    r.ended(4)
    equal(find(marker), [])


def find(marker):
    """Processes with @marker in their command line"""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                text = file.read()
        except OSError:
            continue
        if marker.encode() in text and b"sleep\0" in text:
            found.append(int(pid))
    return found


@test
def all_processes_end_with_a_killed_supervisor(t):
    marker = f"{40000 + os.getpid() % 10000}.{os.getpid()}"
    p = t.start("run", *NONE, "--", "sh", "-c",
                f"setsid sleep {marker} & sleep {marker}")
    wait_until(lambda: len(find(marker)) == 2, "both to run")
    p.kill()
    p.wait()
    wait_until(lambda: not find(marker), "the end of both")


@test
def the_command_cannot_kill_its_supervisor(t):
    marker = f"{50000 + os.getpid() % 10000}.{os.getpid()}"
    r = t.shell(f"(setsid sleep {marker} >/dev/null 2>&1 &) ; kill -9 $PPID; "
                f"echo alive", options=NONE)
    equal((r.code, r.out), (0, "alive\n"), repr(r))
    equal(find(marker), [])


@test
def signals_and_exit_codes_are_as_in_tier_full(t):
    t.shell("kill -TERM $$", options=NONE).ended(128 + signal.SIGTERM)
    t.inside("/no/such", options=NONE).ended(127)
    t.inside("/etc/passwd", options=NONE).ended(126)
    t.shell("sleep 60", options=NONE + ("--timeout", "200ms")).ended(124)


@test
def options_that_need_tier_full_are_refused_by_name(t):
    for options, words in ((("--net", "jail"), "--net jail"),
                           (("--ephemeral",), "--ephemeral"),
                           (("--host-port", "5432"), "--host-port"),
                           (("--publish", "8080"), "--publish"),
                           (("--unix-socket", "/s"), "--unix-socket")):
        r = t.shell("echo ran", options=LANDLOCK + options).ended(125)
        equal(r.out, "")
        contains(r.err, words)


@test
def too_many_siblings_of_a_hidden_file_are_an_error(t):
    for i in range(8300):
        os.mknod(f"{t.away}/{i}")
    t.write(t.away + "/secret", "PRIVATE")
    r = t.shell("echo ran", options=NONE + ("--deny-read", t.away + "/secret"))
    r.ended(125)
    equal(r.out, "")
    contains(r.err, "the landlock tier cannot express the rules")


@test
def explain_describes_the_landlock_tier(t):
    repository(t)
    r = t.run("explain", *LANDLOCK).ok()
    contains(r.out, "landlock  (")
    contains(r.out, "the host's /proc is visible")
    contains(r.out, f"{t.dir}  (its entries one by one, because of")
    plan = json.loads(t.run("explain", "--json", *LANDLOCK).ok().out)
    equal(plan["tier"], "landlock")
    check(any(g["path"] == t.dir + "/src" and g["right"] == "write"
              for g in plan["grants"]), plan["grants"])


main()
