# SPDX-License-Identifier: Apache-2.0
"""tests/live/records.py - refusals are recorded, and their suggestions work"""

import errno
import json
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import *

ATTEMPT = """
import os, sys
def attempt(call, *args, **more):
    try: call(*args, **more); print("done")
    except OSError as e: print(e.errno)
"""


def attempts(t, text, options=()):
    """What each line of Python came to: an errno, or "done" """
    t.write("attempts.py", ATTEMPT + text)
    return t.inside("python3", "attempts.py", t.away,
                    options=options).ok().out.split()


@test
def refused_metadata_changes_are_recorded(t):
    for name in "abcdef":
        t.write(os.path.join(t.away, name), "old")
    os.symlink("f", os.path.join(t.away, "l"))
    found = attempts(t, """
os.chdir(sys.argv[1])
attempt(os.utime, "a", (1, 2))
attempt(os.chown, "b", os.getuid(), os.getgid())
attempt(os.setxattr, "c", "user.x", b"y")
attempt(os.removexattr, "d", "user.x")
attempt(os.utime, "l", (1, 2), follow_symlinks=False)
attempt(os.lchown, "e", -1, -1)
""")
    equal(found, [str(errno.EROFS)] * 6)
    equal(sorted(targets(records(t), "fs-write")),
          [os.path.join(t.away, name) for name in "abcdel"])
    equal(attempts(t, """
open("own", "w").close()
attempt(os.utime, "own", (1, 2))
attempt(os.chown, "own", os.getuid(), os.getgid())
os.utime(os.open("own", os.O_RDONLY))
"""), ["done"] * 2, "the control")


@test
def refused_renames_across_roots_are_recorded(t):
    elsewhere = os.path.join(t.home, "elsewhere")	# On the same mount
    away = t.write(elsewhere + "/file", "old")
    t.write("own", "new")
    found = attempts(t, f"""
attempt(os.rename, "own", "{elsewhere}/moved")
attempt(os.rename, "{away}", "moved")
attempt(os.link, "own", "{elsewhere}/linked")
[os.unlink(name) for name in os.listdir(".")]
attempt(os.rmdir, "{t.dir}")
""")
    equal(found, [str(errno.EROFS)] * 4)
    equal(sorted((v["kind"], v["target"], v["count"]) for v in records(t)),
          [("fs-rename", away, 1), ("fs-rename", f"{elsewhere}/moved", 1),
           ("fs-write", f"{elsewhere}/linked", 1), ("fs-write", t.dir, 1)])
    equal(os.listdir(elsewhere), ["file"])


def obey(t):
    """Do what the last run's records suggest, and no more than that"""
    said = {v["suggest"]["command"] for v in records(t)}
    for line in said:
        words = line.split()
        equal(words[:2], ["cloche", "policy"], line)
        t.run(*words[1:]).ok()
    t.run("violations", "clear").ok()
    return said


@test
def the_suggested_rule_allows_removing_and_renaming(t):
    for command, gone in [("rm {0}/a", "a"), ("mv {0}/b {0}/c", "b"),
                          ("mv {0}/d here", "d"), ("rm -r {0}/dir", "dir"),
                          ("touch -hd @1 {0}/link", None)]:
        base = os.path.join(t.away, gone or "link")
        os.mkdir(base)
        for name in "abd":
            t.write(os.path.join(base, name), name)
        os.mkdir(os.path.join(base, "dir"))
        os.symlink("a", os.path.join(base, "link"))
        line = command.format(base)
        check(t.shell(line).code, line)
        equal(len(records(t)), 1, line)
        equal(obey(t), {f"cloche policy allow write {base}"})
        t.shell(line).ok()
        equal(records(t), [], line)
        check(not gone or not os.path.lexists(os.path.join(base, gone)), line)


@test
def a_refused_directory_is_suggested_itself(t):
    deep = t.away + "/cache/tool"
    os.mkdir(t.away + "/cache")
    r = t.shell(f"mkdir {deep}; echo x > {deep}x")
    contains(r.err, f" cloche policy allow write {deep}\n")
    contains(r.err, f" cloche policy allow write {t.away}/cache\n")
    t.shell(f"mkdir {deep} && echo x > {deep}/x", options=["-s", json.dumps(
        {"filesystem": {"allowWrite": [deep]}})]).ok()


@test
def the_suggested_rule_allows_writes_in_a_hidden_directory(t):
    """A directory is suggested for a name that varies"""
    t.write(t.home + "/.kube/config", "x")
    line = "echo > ~/.kube/.#lock"
    check(t.shell(line).code)
    equal(obey(t), {f"cloche policy allow write {t.home}/.kube"})
    t.shell(line).ok()
    # To allow the one would not be enough to replace the other
    t.write(t.home + "/.gitconfig", "")
    t.shell("echo > ~/.gitconfig.lock; echo > ~/yarn.lock")
    equal([v["suggest"] and v["suggest"]["command"] for v in records(t)],
          [None, f"cloche policy allow write {t.home}/yarn.lock"])


@test
def removing_a_writable_file_is_refused_and_recorded(t):
    path = os.path.join(t.away, "file")
    t.write(path, "old")
    r = t.inside("sh", "-c", f"echo new > {path} && ! rm {path}",
                 options=["--write", path]).ok()
    contains(r.err, "its directory is outside the writable paths")
    equal(targets(records(t), "fs-write"), [path])
    equal(t.read(path), "new\n")


@test
def a_directory_granted_after_the_start_can_be_copied_to(t):
    os.makedirs(os.path.join(t.dir, "from", "sub"))
    t.write("from/sub/file", "text")
    os.utime(os.path.join(t.dir, "from", "sub"), (1, 2))
    copy = os.path.join(t.away, "copy")
    p = t.start("run", "--", "python3", "-c", f"""
import os, shutil, time
print("ready", flush=True)
while True:
    try: os.mkdir("{copy}"); break
    except OSError: time.sleep(0.02)
shutil.copytree("from", "{copy}", dirs_exist_ok=True)
os.utime("{copy}/sub/file", ns=(3, 4))
os.chown("{copy}/sub", os.getuid(), os.getgid())
try: os.chown("{copy}/sub", os.getuid() + 1, -1)
except OSError as e: print(e.errno)
""")
    equal(p.stdout.readline(), b"ready\n")
    wait_until(lambda: records(t), "the first refusal")
    t.run("policy", "allow", "write", t.away).ok()
    out, err = p.communicate()
    equal((p.returncode, out), (0, f"{errno.EINVAL}\n".encode()), err)
    st = os.stat(os.path.join(copy, "sub"))
    equal(st.st_mtime, 2)
    equal(os.stat(os.path.join(copy, "sub", "file")).st_mtime_ns, 4)


@test
def an_edit_that_applies_to_the_next_run_is_reported(t):
    settings = t.home + "/.claude/settings.json"
    def edit(**sandbox):
        t.write(settings + ".new", json.dumps({"sandbox": sandbox}))
        os.rename(settings + ".new", settings)
    edit()
    p = t.start("run", "--", "sh", "-c",
                "echo ready; read x", stdin=subprocess.PIPE)
    equal(p.stdout.readline(), b"ready\n")
    words = "cloche: settings reloaded; applies to new runs only: "
    edit(network={"allowedDomains": ["example.com"]})
    edit(limits={"timeout": "1h"})
    equal(p.stderr.readline().decode(), words + "limits.timeout\n")
    edit(limits={"timeout": "1h"}, network={"publish": [8123]})
    equal(p.stderr.readline().decode(), words + "network.publish\n")
    p.communicate(b"\n")


@test
def removed_settings_still_apply_and_are_reported(t):
    settings = os.path.join(t.home, ".claude/settings.json")
    def edit(timeout):		# At once: an empty file would be reported, too
        t.write(settings + ".new", json.dumps({"sandbox": {
            "limits": {"timeout": timeout},
            "filesystem": {"allowWrite": [t.away]}}}))
        os.replace(settings + ".new", settings)
    edit("1h")
    p = t.start("run", "--", "sh", "-c", "echo ready; while read x; do "
                f"echo > {t.away}/$x && echo done; done")
    equal(p.stdout.readline(), b"ready\n")
    for i, lose in enumerate((
            lambda: os.unlink(settings),
            lambda: (os.unlink(settings), os.mkdir(settings)))):
        lose()
        contains(p.stderr.readline().decode(), "cloche: settings not reloaded, "
                 f"the old ones hold: '{settings}'")
        p.stdin.write(b"name\n")
        p.stdin.flush()
        equal(p.stdout.readline(), b"done\n")
        if i:
            os.rmdir(settings)
        edit("2h")
        contains(p.stderr.readline(), b"applies to new runs only: limits.timeout")
        # An editor's way: nothing is said of the loss
        os.rename(settings, settings + "~")
        edit("1h")
        contains(p.stderr.readline(), b"applies to new runs only: limits.timeout")
    equal(p.communicate()[1], b"")


@test
def a_lack_of_inotify_instances_is_reported(t):
    """A user namespace has a limit of its own"""
    def limited(*words):
        return t.outside("unshare", "-Ur", "sh", "-c",
                         "echo 0 > /proc/sys/user/max_inotify_instances && "
                         'exec "$@"', "sh", CLOCHE, *words)
    r = limited("run", "--", "sh", "-c", f"echo > new; echo > {t.away}/new")
    contains(r.err, "planted files are looked for only at the end: ")
    contains(r.err, "fs.inotify.max_user_instances")
    contains(limited("violations", "follow").ended(2).err,
             "fs.inotify.max_user_instances")


@test
def a_closed_events_pipe_does_not_end_the_command(t):
    read, write = os.pipe()
    os.close(read)
    p = t.start("run", "--events", str(write), "--", "sh", "-c",
                f"echo > {t.away}/new; echo done", pass_fds=[write])
    os.close(write)
    out, err = p.communicate()
    equal((p.returncode, out), (0, b"done\n"), err)
    contains(err, b"refused 1 thing")


@test
def a_closed_standard_error_does_not_end_the_command(t):
    """They are about an edit, part of which is for the next run"""
    t.write(t.home + "/.claude/settings.json", "{}")
    read, write = os.pipe()
    p = t.start("run", "--", "sh", "-c", "echo ready; until echo x > "
                f"{t.away}/new; do :; done 2>/dev/null; echo got; read x; "
                "echo done", stderr=write)
    os.close(write)
    equal(p.stdout.readline(), b"ready\n")
    os.close(read)
    t.write(t.home + "/.claude/settings.json", json.dumps({"sandbox": {
        "limits": {"timeout": "1h"}, "filesystem": {"allowWrite": [t.away]}}}))
    equal(p.stdout.readline(), b"got\n")
    equal(p.communicate(b"x\n")[0], b"done\n")
    equal(p.returncode, 0)


@test
def a_closed_reader_does_not_change_the_exit_status(t):
    """Every kind of message, at every time: the exit status is the command's"""
    refused = f"(echo > {t.away}/new) 2>/dev/null; "
    t.write("bad.json", "{")
    t.write("noted.json", json.dumps({"sandbox": {"enabled": False}}))
    for want, words in (
            (3, ["run", "--", "sh", "-c", refused + "exit 3"]),
            (141, ["run", "--", "sh", "-c", refused + "kill -PIPE $$"]),
            (5, ["run", "-s", "noted.json", "--", "sh", "-c", "exit 5"]),
            (6, ["run", "--debug", "--", "sh", "-c", "exit 6"]),
            (124, ["run", "--timeout", "0.1s", "--", "sleep", "60"]),
            (125, ["run", "-s", "bad.json", "--", "true"]),
            (127, ["run", "--", "no-such-program"])):
        read, write = os.pipe()
        os.close(read)
        p = t.start(*words, stderr=write)
        os.close(write)
        p.communicate()
        equal(p.returncode, want, *words)


@test
def refusals_can_be_followed(t):
    def refused(name):
        check(t.inside("touch", f"{t.away}/{name}").code)
        return f"{t.away}/{name}"
    first = refused("first")
    p = t.start("violations", "follow", "--json", "--since", "1h")
    equal(json.loads(p.stdout.readline())["target"], first)
    for name in ("second", "third"):
        target = refused(name)
        equal(json.loads(p.stdout.readline())["target"], target)
    p.kill()
    p.communicate()


@test
def denials_by_an_option_suggest_changing_the_option(t):
    t.write("hidden", "x")
    t.write("kept", "x")
    r = t.shell("cat hidden; echo > kept", options=[
        "--deny-read", "hidden", "--deny-write", "kept"])
    contains(r.err, "; remove kept from --deny-write)")
    need_fuse()
    contains(r.err, "; remove hidden from --deny-read)")


@test
def hidden_directories_with_many_shown_paths_are_reported_as_silent(t):
    need_fuse()
    for n, told in ((24, False), (25, True)):
        t.write(t.away + "/key", "x")
        options = ["--deny-read", t.away]
        for i in range(n):
            os.makedirs(f"{t.away}/d{i}", exist_ok=True)
            options += ["--read", f"{t.away}/d{i}"]
        r = t.shell(f"cat {t.away}/key; echo > {t.home}/no", options=options)
        equal("denied reads under 1 hidden path are not reported" in r.err, told, r.err)
        equal("read " + t.away in r.err, not told, r.err)


@test
def calls_that_need_a_privilege_are_reported_after_a_failure(t):
    """Not to who does without"""
    t.write("calls.py", """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
for call, *args in ((libc.mount, b"x", b"/", b"tmpfs", 0, None),
                    (libc.chroot, b"."), (libc.unshare, 0x200)):
    print(ctypes.get_errno() if call(*args) < 0 else "done")
sys.exit(int(sys.argv[1]))
""")
    for status in ("0", "3"):
        r = t.inside("python3", "calls.py", status)
        equal((r.code, r.out.split()), (int(status), ["1", "1", "done"]))
        found = [(v["kind"], v["op"], v["target"], v["errno"], v["count"])
                 for v in records(t)]
        equal(sorted(found), [("syscall", "chroot", "chroot", "EPERM", 1),
                              ("syscall", "mount", "mount", "EPERM", 1)])
        t.run("violations", "clear").ok()
        equal("refused 2 things" in r.err, status == "3", r.err)
    r = t.inside("python3", "calls.py", "3", options=["--observe", "off"])
    equal((r.out.split(), records(t)), (["1", "1", "done"], []))


@test
def a_refused_localhost_connection_suggests_host_port(t):
    """If the command fails, and no server inside has that port"""
    for family, address in ((socket.AF_INET, "127.0.0.1"),
                            (socket.AF_INET6, "::1"), (socket.AF_INET6, "::")):
        with socket.socket(family) as server:
            server.bind((address, 0))
            port = server.getsockname()[1]
            t.write("connect.py", f"""
import socket, sys
if "serve" in sys.argv: socket.create_server(("127.0.0.1", {port}))
try: socket.create_connection(("localhost", {port})); print("there")
except ConnectionRefusedError: sys.exit("fail" in sys.argv)
if "fail" in sys.argv: sys.exit(1)
""")
            command = ("python3", "connect.py")
            plain = family == socket.AF_INET
            if plain:
                t.inside(*command, "fail")
                equal(records(t), [], "nobody listens")
            server.listen()
            if plain:
                t.inside(*command).ok()
                t.inside(*command, "serve", "fail")
                equal(records(t), [], "none fails; one listens inside")
            r = t.inside(*command, "fail")
            found, = records(t)
            equal((found["kind"], found["target"], found["errno"]),
                  ("net-port", f"localhost:{port}", "ECONNREFUSED"))
            fix = f"cloche policy allow port {port}"
            equal(found["suggest"]["command"], fix)
            contains(r.err, f" {fix}\n")
            if plain:
                t.run(*fix.split()[1:]).ok()
                equal(t.inside(*command).out, "there\n")
                t.run("policy", "remove", "port", port).ok()
            t.run("violations", "clear").ok()


@test
def calls_that_fail_anyway_are_not_recorded(t):
    t.write(os.path.join(t.away, "file"), "old")
    os.symlink("file", os.path.join(t.away, "link"))
    r = t.shell(f"cd {t.away}; cp file none/; cp file file/; true > new/; "
                f"ln -s x new/; mkdir file; rm none; rmdir link/ .; rmdir $PWD; "
                f"dd of=link oflag=nofollow conv=notrunc </dev/null")
    check(r.code, "the last one fails")
    equal(records(t), [])
    check(t.shell(f": > {t.away}/new").code, "the control")
    equal(len(records(t)), 1)


@test
def a_missing_denied_file_fails_with_ENOENT(t):
    hidden = os.path.join(t.away, "hidden")
    t.write(os.path.join(hidden, "there"), "text")
    t.write("there.env", "text")
    for observe in "on", "full":
        r = t.inside("sh", "-c", f"cat none.env there.env {hidden}/none "
                     f"{hidden}/there", options=[
                         "--observe", observe, "--deny-read", hidden,
                         "--deny-read", os.path.join(t.dir, "*.env")])
        contains(r.err, "none.env: No such file")
        equal(r.err.count("there.env: Permission denied"), 1, r.err)
        check("text" not in r.out, r.out)
    found = targets(records(t), "fs-read")
    contains(found, os.path.join(t.dir, "there.env"))
    equal([path for path in found if "none" in path], [])


OPEN_IN_ROOT = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def open_in_root(dir, path, flags):
    how = struct.pack("QQQ", flags, 0o600 if flags & os.O_CREAT else 0, 0x10)
    at, fd = os.open(dir, os.O_PATH), -1
    while fd < 0:       # ".." fails where others mount or rename meanwhile
        fd = libc.syscall(437, at, path.encode(), how, 24)
        if fd < 0 and ctypes.get_errno() != 11: break
    if fd < 0:
        raise OSError(ctypes.get_errno(), path)
    os.close(fd)
"""


@test
def openat2_with_RESOLVE_IN_ROOT_is_observed(t):
    """Where openat2() is: with nested namespaces alone"""
    nested = '{"sandbox": {"allowNestedUserNamespaces": true}}'
    t.write("sub/file", "text")
    t.write(os.path.join(t.away, "file"), "text")
    os.symlink("/file", os.path.join(t.dir, "sub", "link"))
    found = attempts(t, OPEN_IN_ROOT + """
attempt(open_in_root, "sub", "/file", os.O_RDONLY)
attempt(open_in_root, "sub", "/link", os.O_WRONLY)
attempt(open_in_root, "sub", "/../new", os.O_WRONLY | os.O_CREAT)
attempt(open_in_root, sys.argv[1], "/file", os.O_RDONLY)
attempt(open_in_root, sys.argv[1], "/file", os.O_WRONLY)
attempt(open_in_root, ".", "/.mcp.json", os.O_WRONLY | os.O_CREAT)
""", options=("-s", nested))
    equal(found, ["done"] * 4 + [str(errno.EROFS), str(errno.EACCES)])
    equal(sorted((v["kind"], v["target"]) for v in records(t)),
          [("fs-create", os.path.join(t.dir, ".mcp.json")),
           ("fs-write", os.path.join(t.away, "file"))])
    check(os.path.exists(os.path.join(t.dir, "sub", "new")), "sub/new")


main()
