# SPDX-License-Identifier: Apache-2.0
"""tests/live/bwrap-more.py - our bwrap: newer options, and where it is stricter

What tests/live/bwrap.py cannot compare with Debian's bubblewrap.
"""

import os
import re
import resource
import signal
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

BWRAP = os.path.join(os.path.dirname(CLOCHE), "bwrap")
REFUSE = os.environ.get("REFUSE", "")
HOST = ["--ro-bind", "/", "/"]
USR = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
       "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]


def overlays(t):
    """Skip where the kernel has none for us"""
    for name in ("low", "high", "up", "work"):
        os.mkdir(name)
    t.write("low/a", "low a")
    t.write("low/b", "low b")
    t.write("high/b", "high b")
    r = t.outside(BWRAP, *HOST, "--overlay-src", "low", "--overlay", "up",
                  "work", "/mnt", "true")
    if "Can't make overlay mount" in r.err:
        skip("no overlays here: " + r.err)
    r.ok()


@test
def cloche_acts_as_bwrap_by_name_and_by_verb(t):
    os.symlink(CLOCHE, "bwrap")
    for words in ([CLOCHE, "as", "bwrap"], ["./bwrap"], [BWRAP]):
        equal(t.outside(*words, "--version").ok().out, "bubblewrap 0.11.0\n")
        equal(t.outside(*words, *HOST, "echo", "in").ok().out, "in\n")
        r = t.outside(*words, "--nonsense")
        equal((r.code, r.err), (1, "bwrap: Unknown option --nonsense\n"))
    r = t.run("as", "nobody-we-know")
    equal(r.code, 2)
    contains(r.err, "nobody-we-know")


@test
def help_lists_every_option(t):
    r = t.outside(BWRAP, "--help").ok()
    check(r.out.startswith(f"usage: {BWRAP} [OPTIONS...] [--] COMMAND"))
    for option in ("--bind", "--perms", "--argv0", "--ro-overlay",
                   "--json-status-fd", "--assert-userns-disabled"):
        contains(r.out, f"    {option} ")
    r = t.outside(BWRAP)
    equal(r.code, 1)
    contains(r.err, "usage: ")


@test
def bwrap_runs_nested_in_itself(t):
    r = t.outside(BWRAP, "--unshare-user", "--uid", "0", "--gid", "0",
                  "--cap-add", "ALL", "--bind", "/", "/", "/proc/self/exe",
                  "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev",
                  "echo", "twice").ok()
    equal(r.out, "twice\n")


@test
def selinux_label_options_are_refused(t):
    for option in ("--exec-label", "--file-label"):
        r = t.outside(BWRAP, *HOST, option, "x", "true")
        equal(r.code, 1)
        contains(r.err, option + " is not supported")


@test
def warnings_come_before_errors_and_with_levels(t):
    r = t.outside(BWRAP, "--level-prefix", *HOST, "--chdir", "/", "--chdir",
                  "/usr", "pwd").ok()
    equal((r.out, r.err),
          ("/usr\n", "<4>bwrap: Only the last --chdir option will take effect\n"))
    r = t.outside(BWRAP, "--level-prefix", *HOST, "/no/such")
    equal(r.err, "<3>bwrap: execvp /no/such: No such file or directory\n")


@test
def argv0_changes_the_commands_name(t):
    r = t.outside(BWRAP, *HOST, "--argv0", "other", "sh", "-c", "echo $0").ok()
    equal(r.out, "other\n")
    r = t.outside(BWRAP, *HOST, "--argv0", "a", "--argv0", "b", "true")
    equal(r.err, "bwrap: --argv0 used multiple times\n")


@test
def symlink_accepts_an_existing_equal_symlink(t):
    bind = ["--bind", "/", "/"]
    for _ in range(2):
        t.outside(BWRAP, *bind, "--symlink", "x", t.dir + "/l", "true").ok()
    equal(os.readlink("l"), "x")
    r = t.outside(BWRAP, *bind, "--symlink", "y", t.dir + "/l", "true")
    contains(r.err, "existing destination is x")
    t.write("f")
    r = t.outside(BWRAP, *bind, "--symlink", "y", t.dir + "/f", "true")
    contains(r.err, "destination exists and is not a symlink")


@test
def overlay_keeps_and_tmp_overlay_discards_writes(t):
    overlays(t)
    script = "cat /o/a /o/b; echo new > /o/b; cat /o/b"
    src = ["--overlay-src", "low", "--overlay-src", "high"]
    r = t.outside(BWRAP, *USR, *src, "--tmp-overlay", "/o", "sh", "-c", script)
    equal(r.ok().out, "low ahigh bnew\n")
    equal((t.read("low/b"), t.read("high/b"), os.listdir("up")),
          ("low b", "high b", []))
    r = t.outside(BWRAP, *USR, *src, "--overlay", "up", "work", "/o", "sh",
                  "-c", script)
    equal(r.ok().out, "low ahigh bnew\n")
    equal((t.read("up/b"), t.read("high/b")), ("new\n", "high b"))
    r = t.outside(BWRAP, *USR, *src, "--ro-overlay", "/o", "sh", "-c",
                  "cat /o/b; echo x > /o/b")
    equal((r.code, r.out), (2, "high b"))
    contains(r.err, "Read-only")


@test
def an_overlay_can_be_the_root(t):
    overlays(t)
    r = t.outside(BWRAP, "--overlay-src", "low", "--overlay-src", "high",
                  "--tmp-overlay", "/", *USR, "sh", "-c", "cat /a /b; ls /")
    equal(r.ok().out, "low ahigh ba\nb\nbin\nlib\nlib64\nusr\n")
    check("usr" not in os.listdir("low") + os.listdir("high"))


@test
def overlays_accept_60_layers_with_special_characters(t):
    overlays(t)
    words = []
    for i in range(60):
        t.write(f"l {i}:,\\\"/n{i}")
        words += ["--overlay-src", f"l {i}:,\\\""]
    r = t.outside(BWRAP, *USR, *words, "--tmp-overlay", "/o", "ls", "/o")
    if "Invalid argument" in r.err:
        skip("this kernel takes layers in one option only: " + r.err)
    equal(sorted(r.ok().out.split()), sorted(f"n{i}" for i in range(60)))


@test
def an_unused_overlay_src_is_refused(t):
    for words, error in (
            (["--overlay-src", "/usr", "true"], "must be followed by"),
            (["--overlay-src", "/usr", "--chdir", "/", "true"],
             "must be followed by"),
            (["--tmp-overlay", "/x", "true"], "at least one --overlay-src"),
            (["--overlay-src", "/usr", "--ro-overlay", "/x", "true"],
             "at least two --overlay-src")):
        r = t.outside(BWRAP, *HOST, *words)
        equal(r.code, 1)
        contains(r.err, error)


@test
def disable_userns_forbids_nested_user_namespaces(t):
    host = ["--bind", "/", "/"]
    again = ["--", BWRAP, "--unshare-user", *host, "true"]
    t.outside(BWRAP, "--unshare-user", *host, *again).ok()	# The control
    r = t.outside(BWRAP, "--unshare-user", "--disable-userns", *host, *again)
    equal(r.code, 1)
    contains(r.err, "namespace")
    r = t.outside(BWRAP, "--unshare-user", "--assert-userns-disabled", *HOST,
                  "true")
    equal(r.err, "bwrap: creation of new user namespaces was not disabled as "
                 "requested\n")
    t.outside(BWRAP, "--unshare-user", "--disable-userns",
              "--assert-userns-disabled", *HOST, "true").ok()


@test
def symlinks_do_not_lead_out_of_the_new_root(t):
    t.write("host/file", "host")
    os.makedirs("root/usr")
    for name, target in (("abs", t.dir + "/host"), ("up", "../../../../.."),
                         ("bin", "usr/bin"), ("lib", "usr/lib"),
                         ("lib64", "usr/lib64")):
        os.symlink(target, "root/" + name)
    before = tree("host")
    root = ["--bind", t.dir + "/root", "/", "--ro-bind", "/usr", "/usr"]
    t.outside(BWRAP, *root, "--dir", "/up/here", "true").ok()
    check(t.exists("root/here") and not os.path.exists("/here"))
    for words in (["--dir", "/abs/made"], ["--tmpfs", "/abs/file"],
                  ["--symlink", "x", "/abs/link"],
                  ["--ro-bind", "/etc/passwd", "/abs/file"]):
        t.outside(BWRAP, *root, *words, "true").ended(1)
        equal(tree("host"), before, *words)
    os.makedirs("root" + t.dir + "/host")
    t.outside(BWRAP, *root, "--dir", "/abs/made", "true").ok()
    check(t.exists("root" + t.dir + "/host/made"), "the control")
    equal(tree("host"), before)


@test
def inherited_descriptors_reach_the_command_and_internal_ones_do_not(t):
    a, b = socket.socketpair()
    b.send(b"hello")
    b.shutdown(socket.SHUT_WR)
    r = t.outside(BWRAP, *HOST, "--unshare-all", "sh", "-c",
                  "ls /proc/self/fd; cat <&$1", "x", str(a.fileno()),
                  pass_fds=(a.fileno(),))
    contains(r.ok().out, "hello")
    fds = set(r.out.split("hello")[0].split())
    check(str(a.fileno()) in fds and len(fds) == 5, fds)	# One is of ls


@test
def closed_descriptor_numbers_are_refused_or_ignored(t):
    for number in range(3, 10):
        for words, code in ((["--block-fd", number], 0),
                            (["--sync-fd", number], 0),
                            (["--json-status-fd", number], 1),
                            (["--bind-fd", number, "/mnt"], 1),
                            (["--seccomp", number], 1)):
            r = t.outside(BWRAP, *HOST, *words, "true")
            equal(r.code, code, *words, repr(r))


@test
def closed_standard_descriptors_are_closed_in_the_sandbox(t):
    real = need("bwrap")
    for closed in ("0", "1", "0 2", "0 1 2"):
        shut = " ".join(f"{n}>&-" for n in closed.split())
        for options in ("", "--unshare-pid"):
            got = []
            for program in (real, BWRAP):
                t.outside("sh", "-c", f"{program} --bind / / {options} sh -c "
                          f"'ls -l /proc/self/fd > {t.dir}/fds' {shut}")
                got.append(re.findall(r" (\d) -> (?!/proc|.*/fds)",
                                      t.read("fds")))
            equal(got[1], got[0], closed, options)


@test
def a_machine_without_user_namespaces_has_its_own_error(t):
    if IS_ROOT:	# Needs none
        t.outside(REFUSE, "userns", BWRAP, *HOST, "true").ok()
    r = t.outside(REFUSE, "userns", BWRAP, "--unshare-user", *HOST, "true")
    equal(r.code, 1)
    contains(r.err, "bwrap: No permissions to create new namespace, likely "
                    "because the kernel does not allow")


@test
def new_session_creates_a_session(t):
    script = "cut -d' ' -f6 /proc/self/stat"
    equal(int(t.outside(BWRAP, *HOST, "sh", "-c", script).ok().out),
          os.getsid(0))
    check(int(t.outside(BWRAP, *HOST, "--new-session", "sh", "-c",
                        script).ok().out) != os.getsid(0))


def seccomp_program(nr, errno):
    """A program that refuses one system call"""
    return b"".join(struct.pack("HBBI", *row) for row in (
        (0x20, 0, 0, 0), (0x15, 0, 1, nr), (0x06, 0, 0, 0x50000 | errno),
        (0x06, 0, 0, 0x7fff0000)))


@test
def filters_are_loaded_in_order(t):
    chdir = {"x86_64": 80, "aarch64": 49}[os.uname().machine]
    getcwd = {"x86_64": 79, "aarch64": 17}[os.uname().machine]
    for option, programs, both in (
            ("--seccomp", (chdir,), False),
            ("--add-seccomp-fd", (chdir, getcwd), True)):
        words, fds = [], []
        for number in programs:
            fd = os.memfd_create("filter", 0)
            os.write(fd, seccomp_program(number, 99))
            os.lseek(fd, 0, 0)
            words += [option, str(fd)]
            fds.append(fd)
        r = t.outside(BWRAP, *HOST, "--unshare-pid", *words, sys.executable,
                      "-c", "import os\n"
                      "for f in (lambda: os.chdir('/'), os.getcwd):\n"
                      "    try: f(); print(0)\n"
                      "    except OSError as e: print(e.errno)\n",
                      pass_fds=fds).ok()
        equal(r.out.split(), ["99", "99" if both else "0"], option)


@test
def a_filter_of_more_than_4096_instructions_is_refused(t):
    allow = struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000)
    for instructions, code in ((4096, 0), (4097, 1), (8192, 1)):
        fd = os.memfd_create("filter", 0)
        os.write(fd, allow * instructions)
        os.lseek(fd, 0, 0)
        equal(t.outside(BWRAP, *HOST, "--seccomp", str(fd), "true",
                        pass_fds=[fd]).code, code, instructions)
        os.close(fd)


@test
def blocked_signals_are_not_inherited_by_the_command(t):
    # A caller that waits for children through a signalfd blocks it
    r = t.outside(BWRAP, *HOST, "grep", "SigBlk", "/proc/self/status",
                  preexec_fn=lambda: signal.pthread_sigmask(
                      signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGUSR1]))
    equal(int(r.ok().out.split()[1], 16), 1 << signal.SIGUSR1 - 1)


@test
def every_failure_has_a_message(t):
    # Process 1 may end before its output is read
    for _ in range(60):
        contains(t.outside(BWRAP, "--bind", "/nowhere", "/x", "true").err,
                 "/nowhere")


@test
def bwrap_accepts_1500_binds(t):
    words = []
    for i in range(1500):
        words += ["--ro-bind", "/usr/share", f"/b/{i}"]
    data = "".join(w + "\0" for w in words).encode()
    fd = os.memfd_create("args", 0)
    os.write(fd, data)
    os.lseek(fd, 0, 0)
    r = t.outside(BWRAP, *USR, "--args", str(fd), "sh", "-c",
                  "ls /b | wc -l; ulimit -n", pass_fds=(fd,))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    equal(r.ok().out.split(), ["1500", str(soft)])


@test
def too_many_arguments_are_refused(t):
    def args(n):
        fd = os.memfd_create("args", 0)
        os.write(fd, b"--new-session\0" * n)
        os.lseek(fd, 0, 0)
        return t.outside(BWRAP, *HOST, "--args", str(fd), "true",
                         pass_fds=(fd,))
    args(9000 - 6).ok()
    r = args(9000 - 5)
    equal((r.code, r.err),
          (1, "bwrap: Exceeded maximum number of arguments 9000\n"))


main()
