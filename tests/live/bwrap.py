# SPDX-License-Identifier: Apache-2.0
"""tests/live/bwrap.py - the same call, to the real bwrap and to ours

Each shape is a list of options. Both programs run the same report with it: who
am I, what is mounted how, what may I, what is there. The two must be the same
text. What Debian's bubblewrap is too old for is in tests/live/bwrap-more.py.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from bwrapped import REPORT, REPORT_HOST, facts, give
from tap import *

OURS = os.path.join(os.path.dirname(CLOCHE), "bwrap")
USR = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
       "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]
PROC = ["--proc", "/proc"]
DEV = ["--dev", "/dev"]
ALL = ["--unshare-all"]
HOST = ["--ro-bind", "/", "/"]

# Of a thumbnailer of GNOME's desktop library
THUMBNAILER = [
    "--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/ld.so.cache",
    "/etc/ld.so.cache", "--ro-bind-try", "/etc/alternatives",
    "/etc/alternatives", "--symlink", "usr/bin", "/bin", "--symlink",
    "usr/lib64", "/lib64", "--symlink", "usr/lib", "/lib", "--symlink",
    "usr/sbin", "/sbin", "--proc", "/proc", "--dev", "/dev", "--chdir", "/",
    "--setenv", "GIO_USE_VFS", "local", "--unshare-all", "--die-with-parent",
    "--bind", "{dir}/out", "/tmp", "--ro-bind", "{dir}/file",
    "/tmp/gnome-desktop-file-to-thumbnail.png"]
# Of glycin, which decodes images
GLYCIN = [
    "--unshare-all", "--die-with-parent", "--chdir", "/", "--ro-bind", "/usr",
    "/usr", "--dev", "/dev", "--ro-bind-try", "/etc/ld.so.cache",
    "/etc/ld.so.cache", "--ro-bind-try", "/nix/store", "/nix/store",
    "--tmpfs", "/tmp-home", "--tmpfs", "/tmp-run", "--clearenv", "--setenv",
    "HOME", "/tmp-home", "--setenv", "XDG_RUNTIME_DIR", "/tmp-run",
    "--setenv", "PATH", "/usr/bin", "--symlink", "/usr/lib", "/lib",
    "--symlink", "/usr/lib64", "/lib64", "--symlink", "/usr/bin", "/bin"]
# Of mini-swe-agent, by MSWEA_BUBBLEWRAP_EXECUTABLE
MINI_SWE_AGENT = [
    "--unshare-user-try", "--ro-bind", "/usr", "/usr", "--ro-bind", "/bin", "/bin",
    "--ro-bind", "/lib", "/lib", "--ro-bind", "/lib64", "/lib64", "--ro-bind", "/etc", "/etc",
    "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "--new-session", "--setenv", "PATH",
    "/usr/local/bin:/usr/sbin:/usr/bin:/bin", "--bind", "{dir}/out", "{dir}/out",
    "--chdir", "{dir}/out", "--setenv", "PAGER", "cat"]
# Of flatpak run
FLATPAK = [
    "--args", "11", "--ro-bind", "{dir}/file", "/.flatpak-info",
    "--symlink", "/usr/lib/os-release", "/etc/os-release", "--bind-data",
    "12", "/run/user/1000/app", "--ro-bind-data", "13", "/etc/passwd",
    "--perms", "0600", "--file", "14", "/run/secret", "--lock-file",
    "/.flatpak-info", "--die-with-parent", "--new-session"]
FLATPAK_ARGS = "".join(w + "\0" for w in [
    "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev",
    "--unshare-pid", "--unshare-ipc", "--dir", "/tmp", "--dir", "/var/tmp",
    "--dir", "/run/host", "--symlink", "../run", "/var/run", "--symlink",
    "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--symlink",
    "usr/bin", "/bin", "--tmpfs", "/dev/shm", "--bind", "{dir}/out",
    "/var/data", "--unsetenv", "LD_LIBRARY_PATH", "--setenv", "XDG_DATA_HOME",
    "/var/data"])
# Of Steam's pressure-vessel
PRESSURE_VESSEL = [
    "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--bind", "/sys", "/sys",
    *USR, "--tmpfs", "/run", "--tmpfs", "/tmp", "--dir", "/run/host",
    "--ro-bind", "/usr", "/run/host/usr", "--bind", "{dir}", "{dir}",
    "--symlink", "/run/host/usr/share", "/overrides", "--chdir", "{dir}",
    "--bind-try", "/nowhere", "/nowhere", "--setenv", "PRESSURE", "1"]
# Of sandbox-runtime, with the project as the only place to write
SRT = ["--new-session", "--die-with-parent", "--unshare-net", "--ro-bind",
       "/", "/", "--bind", "{dir}", "{dir}", "--ro-bind", "{dir}/file",
       "{dir}/file", "--ro-bind", "/dev/null", "{dir}/out/masked", "--tmpfs",
       "{dir}/hidden", "--dev", "/dev", "--unshare-pid", "--proc", "/proc"]

SHAPES = {
    "the host read-only": HOST,
    "the host": ["--bind", "/", "/"],
    "the host with devices": ["--dev-bind", "/", "/"],
    "the host, everything new": HOST + DEV + ALL + PROC,
    "the host, and its proc": HOST + PROC,
    "the host, a new proc first": HOST + ["--unshare-pid"] + PROC + DEV,
    "a writable place": HOST + PROC + ["--bind", "{dir}", "{dir}"],
    "read-only in writable": HOST + PROC + [
        "--bind", "{dir}", "{dir}", "--ro-bind", "{dir}/a", "{dir}/a"],
    "writable in hidden": HOST + PROC + [
        "--tmpfs", "{dir}", "--bind", "{dir}/a", "{dir}/a"],
    "another root": ["--bind", "{dir}/root", "/"] + USR + PROC,
    "another root, read-only": ["--ro-bind", "{dir}/full", "/", "--ro-bind",
                                "/usr", "/usr", "--proc", "/proc"],
    "the host over something": ["--tmpfs", "/gone"] + HOST + PROC,
    "a tmpfs over the host": HOST + ["--tmpfs", "/"] + USR + PROC,
    "the host twice": HOST + ["--bind", "/", "/"] + PROC,
    "nothing but programs": USR + PROC,
    "devices": USR + PROC + DEV,
    "two sets of devices": USR + PROC + DEV + ["--dev", "/dev2"],
    "all namespaces": USR + PROC + DEV + ALL,
    "all but the network": USR + PROC + ALL + ["--share-net"],
    "no network": USR + PROC + ["--unshare-net"],
    "no processes": USR + ["--unshare-pid"] + PROC,
    "no ipc": USR + PROC + ["--unshare-ipc"],
    "no host name": USR + PROC + ["--unshare-uts", "--hostname", "other"],
    "no cgroup": USR + PROC + ["--unshare-cgroup"],
    "cgroup if there": USR + PROC + ["--unshare-cgroup-try"],
    "user if there": USR + PROC + ["--unshare-user-try"],
    "root inside": USR + PROC + ["--unshare-user", "--uid", "0", "--gid", "0"],
    "another user": USR + PROC + DEV + ["--unshare-user", "--uid", "12",
                                        "--gid", "34"],
    "all capabilities": USR + PROC + ["--unshare-user", "--cap-add", "ALL"],
    "one capability": USR + PROC + ["--unshare-user", "--cap-drop", "ALL",
                                    "--cap-add", "CAP_NET_ADMIN"],
    "all that there are": USR + PROC + ["--cap-drop", "CAP_CHOWN", "--cap-add",
                                        "ALL"],
    "less one capability": USR + PROC + [
        "--unshare-user", "--cap-add", "all", "--cap-drop", "cap_sys_admin"],
    "a capability to come": USR + PROC + ["--unshare-user", "--cap-add", "41",
                                          "--cap-drop", "63"],
    "no capability": USR + PROC + ["--cap-drop", "ALL"],
    "tmpfs": USR + PROC + ["--tmpfs", "/tmp", "--perms", "1777", "--tmpfs",
                           "/var/tmp", "--size", "65536", "--tmpfs", "/small"],
    "directories": USR + PROC + [
        "--dir", "/a/b/c", "--perms", "0700", "--dir", "/p/q/r", "--perms",
        "0750", "--dir", "/s/t", "--dir", "/a/b", "--dir", "relative/x"],
    "modes": USR + PROC + ["--dir", "/a", "--chmod", "1700", "/a",
                           "--chmod", "0755", "/"],
    "links": USR + PROC + ["--symlink", "/usr/share", "/deep/er/link",
                           "--symlink", "nowhere", "/dangling"],
    "through links": USR + PROC + [
        "--dir", "/real", "--symlink", "real", "/link", "--bind", "{dir}/a",
        "/link/a", "--tmpfs", "/link/new/place"],
    "on a link": USR + PROC + ["--dir", "/real", "--symlink", "real", "/link",
                               "--tmpfs", "/link"],
    "files": USR + PROC + ["--ro-bind", "{dir}/file", "/etc/one", "--bind",
                           "{dir}/file", "/two"],
    "a link as the source": USR + PROC + ["--ro-bind", "{dir}/link", "/one"],
    "relative sources": USR + PROC + ["--bind", "a", "/a", "--ro-bind", ".",
                                      "/all"],
    "tried": USR + PROC + ["--bind-try", "/nowhere", "/x", "--ro-bind-try",
                           "{dir}/a", "/a", "--dev-bind-try", "/nope", "/y"],
    "device binds": USR + PROC + ["--dev-bind", "/dev", "/dev"],
    "one device": USR + PROC + ["--dev-bind", "/dev/null", "/dev/null"],
    "made read-only": USR + PROC + ["--tmpfs", "/t", "--remount-ro", "/t"],
    "the root made read-only": USR + PROC + ["--remount-ro", "/"],
    "the host made read-only": ["--bind", "/", "/", "--remount-ro", "/"] + PROC,
    "message queues": USR + PROC + ["--unshare-ipc", "--mqueue",
                                    "/dev/mqueue"],
    "a bound place twice": USR + PROC + ["--bind", "{dir}/a", "/x",
                                         "--tmpfs", "/x", "--bind",
                                         "{dir}/a", "/x/a"],
    "environment": USR + PROC + ["--clearenv", "--setenv", "PATH", "/usr/bin",
                                 "--setenv", "A", "1", "--setenv", "A", "2",
                                 "--setenv", "B", "", "--unsetenv", "C"],
    "unset": USR + PROC + ["--unsetenv", "HOME", "--unsetenv", "NOT_THERE"],
    "where": USR + PROC + ["--dir", "/w", "--chdir", "/w"],
    "where, from the root": HOST + ["--chdir", "usr/share/.."],
    "where, through a link": USR + PROC + [
        "--dir", "/w", "--symlink", "w", "/v", "--chdir", "/v"],
    "where the home is": USR + PROC + ["--dir", "/hh", "--setenv", "HOME",
                                       "/hh"],
    "a new session": HOST + PROC + ["--new-session"],
    "ends with its parent": HOST + PROC + ["--die-with-parent"],
    "process 1": HOST + ["--unshare-pid", "--as-pid-1"] + PROC,
    "copied": USR + PROC + ["--file", "12", "/f", "--perms", "0640", "--file",
                            "13", "/d/g", "--bind-data", "14", "/h"],
    "copied read-only": HOST + PROC + [
        "--tmpfs", "/tmp", "--ro-bind-data", "12", "/tmp/f", "--perms",
        "0444", "--bind-data", "13", "/tmp/g"],
    "arguments by descriptor": ["--args", "11", "--setenv", "LAST", "1"],
    "a place by descriptor": USR + PROC + ["--bind-fd", "21", "/a",
                                           "--ro-bind-fd", "22", "/b"],
    "with others' descriptors": USR + PROC + ["--sync-fd", "12"],
    "thumbnailer": THUMBNAILER,
    "glycin": GLYCIN,
    "mini-swe-agent": MINI_SWE_AGENT,
    "flatpak": FLATPAK,
    "pressure-vessel": PRESSURE_VESSEL,
    "srt": SRT,
}

# Calls that fail, in the same words
WRONG = {
    "no such source": HOST + ["--bind", "/nowhere", "/x", "true"],
    "no such option": ["--nonsense", "true"],
    "no such program": HOST + ["no-such-program-here"],
    "not a program": HOST + ["/etc/passwd"],
    "a directory as program": HOST + ["/"],
    "few words": ["--bind", "/a"],
    "fewer words": ["--tmpfs"],
    "not a descriptor": ["--args", "x"],
    "closed descriptor": ["--args", "77", "true"],
    "not octal": ["--perms", "9", "--dir", "/x", "true"],
    "large mode": ["--perms", "10000", "--dir", "/x", "true"],
    "mode twice": ["--perms", "1", "--perms", "1", "--dir", "/x", "true"],
    "mode for nothing": ["--perms", "1", "--bind", "/", "/", "true"],
    "size zero": ["--size", "0", "--tmpfs", "/x", "true"],
    "size for nothing": ["--size", "1", "--dir", "/x", "true"],
    "size negative": ["--size", "-1", "--tmpfs", "/x", "true"],
    "host name alone": HOST + ["--hostname", "x", "true"],
    "process 1 alone": HOST + ["--as-pid-1", "true"],
    "lock and process 1": HOST + ["--unshare-pid", "--as-pid-1", "--lock-file",
                                  "/etc/passwd", "true"],
    "no such capability": ["--cap-add", "CAP_NONSENSE", "true"],
    "no such directory": HOST + ["--chdir", "/no/such/place", "true"],
    "block without user": HOST + ["--userns-block-fd", "12", "true"],
    "disable without user": HOST + ["--disable-userns", "true"],
    "two kinds of filter": HOST + ["--seccomp", "12", "--add-seccomp-fd", "13",
                                   "true"],
    "an empty filter": HOST + ["--seccomp", "14", "true"],
    "an empty filter in a pid namespace": HOST + ["--unshare-pid", "--seccomp",
                                                  "14", "true"],
    "a name that no variable can have": HOST + ["--setenv", "A=B", "c",
                                                "true"],
    "no name of a variable": HOST + ["--unsetenv", "", "true"],
    "nothing to bind by descriptor": HOST + ["--bind-fd", "77", "/x", "true"],
    "a filter of odd length": HOST + ["--seccomp", "12", "true"],
    "a file where a directory is": USR + ["--dir", "/d", "--ro-bind",
                                          "{dir}/file", "/d", "true"],
    "a directory where a file is": USR + ["--file", "12", "/f", "--bind",
                                          "{dir}/a", "/f", "true"],
    "a read-only place": HOST + ["--tmpfs", "/no/such/place", "true"],
    "nothing to lock": HOST + ["--lock-file", "/no/such/file", "true"],
    "nothing to chmod": USR + ["--chmod", "0755", "/not-there", "true"],
}
# These only fail alike: the words have changed since, or name internals
OTHER_WORDS = {"block without user", "nothing to chmod",
               "an empty filter in a pid namespace"}	# It says so once or twice


def fill(t, words):
    return [w.replace("{dir}", t.dir) for w in words]


def prepare(t):
    """The tree that the shapes speak of"""
    t.write("file", "file\n")
    t.write("a/in-a", "a\n", 0o640)
    for name in ("out", "hidden", "root", "full/usr", "full/proc"):
        os.makedirs(os.path.join(t.dir, name), exist_ok=True)
    t.write("out/masked")
    for target, name in (("file", "link"), ("usr/bin", "full/bin"),
                         ("usr/lib", "full/lib"), ("usr/lib64", "full/lib64")):
        if not t.exists(name):
            os.symlink(target, name)


def call(t, program, words):
    """Run @program with descriptors 11 to 14, 21 and 22"""
    fds = [give(11, FLATPAK_ARGS.replace("{dir}", t.dir).encode()),
           give(12, b"twelve\n"), give(13, b"thirteen\n"), give(14, b"")]
    for number, path in ((21, "a"), (22, "file")):
        fd = os.open(path, os.O_PATH)
        os.dup2(fd, number)
        os.close(fd)
        fds.append(number)
    try:
        return t.outside(program, *fill(t, words), pass_fds=fds,
                         env={"CLOCHE": None, "C": "c"})
    finally:
        for fd in fds:
            os.close(fd)


def same(t, name, words):
    real = need("bwrap")
    prepare(t)
    is_host = "/ /" in " ".join(words) and name != "a tmpfs over the host"
    command = ["sh", "-c", REPORT_HOST if is_host else REPORT]
    want, got = (call(t, p, [*words, *command]) for p in (real, OURS))
    equal(got.code, want.code, name, repr(got), "for", repr(want))
    contains(want.out, "@mounts", name, repr(want))
    for section, lines in facts(want).items():
        equal(facts(got).get(section), lines, name, section)


def define_shape(name, words):
    def body(t):
        same(t, name, words)
    body.__name__ = "as_bwrap_" + re.sub(r"\W+", "_", name)
    test(body)


for shape in SHAPES.items():
    define_shape(*shape)


@test
def wrong_usage_fails_with_the_real_bwraps_message(t):
    real = need("bwrap")
    prepare(t)
    for name, words in WRONG.items():
        want, got = (call(t, p, words) for p in (real, OURS))
        equal(got.code, want.code, name, repr(got), "for", repr(want))
        check(want.code != 0, name, "is not wrong")
        equal(got.out, want.out, name)
        if name not in OTHER_WORDS:
            equal(got.err.replace("/newroot", ""),
                  want.err.replace("/newroot", ""), name)


@test
def exit_statuses_equal_the_real_bwraps(t):
    real = need("bwrap")
    prepare(t)
    for options in (HOST, HOST + ["--unshare-pid"],
                    HOST + ["--unshare-pid", "--as-pid-1"],
                    HOST + ["--sync-fd", "12"]):
        for script in ("exit 0", "exit 3", "exit 255", "kill -TERM $$; :",
                       "kill -KILL $$; :", "kill -SEGV $$; :"):
            want, got = (call(t, p, [*options, "sh", "-c", script])
                         for p in (real, OURS))
            equal(got.code, want.code, *options, script)


@test
def files_made_on_the_host_equal_the_real_bwraps(t):
    real = need("bwrap")
    prepare(t)
    found = []
    for program in (real, OURS):
        os.mkdir("there")
        call(t, program, [
            "--bind", "/", "/", "--dir", "{dir}/there/a/b", "--perms", "0700",
            "--dir", "{dir}/there/p/q", "--file", "12", "{dir}/there/f",
            "--perms", "0604", "--file", "13", "{dir}/there/g", "--tmpfs",
            "{dir}/there/mount", "--symlink", "x", "{dir}/there/l",
            "--ro-bind", "/etc/passwd", "{dir}/there/point", "true"]).ok()
        found.append(tree("there"))
        shutil.rmtree("there")
    check(len(found[0]) == 9, found[0])
    equal(found[1], found[0])


@test
def terminal_setup_equals_the_real_bwraps(t):
    real = need("bwrap")
    script = "tty; ls -l /dev/console | cut -c1; readlink /proc/self/fd/0"
    want, got = (t.outside(p, *USR, *PROC, *DEV, "sh", "-c", script, tty=True)
                 for p in (real, OURS))
    contains(want.out, "/dev/console")
    mask = lambda r: re.sub(r"pts/\d+", "pts/N", r.out)
    equal(mask(got), mask(want))


main()
