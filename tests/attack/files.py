# SPDX-License-Identifier: Apache-2.0
"""tests/attack/files.py - a command tries to reach hidden and read-only files"""

import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

REFUSED = ("EACCES", "EPERM", "EROFS", "EBUSY", "ENOENT", "EXDEV", "ENOSYS",
           "ENXIO", "EOPNOTSUPP", "EINVAL", "SIGSYS")


def all_refused(found, lines):
    for line in lines:
        check(found[line] in REFUSED, line, "gave", found[line])


def repository(t):
    """A project with something protected three directories down"""
    t.write("a/b/.git/hooks/pre-commit", "old")
    t.write("a/b/.git/config", "old")
    t.write("a/b/.git/HEAD", "ref: refs/heads/m\n")
    os.makedirs(t.dir + "/a/b/.git/objects")
    os.makedirs(t.dir + "/a/b/.git/refs")
    t.write("free/x", "free")
    os.mkdir(t.dir + "/spare")


ANCESTORS = ("a", "a/b", "a/b/.git", "a/b/.git/hooks")


@test
def a_deny_rule_for_the_root_hides_everything(t):
    """A rule for "/" is one for all that is in it; "/**" is the same"""
    t.write("mine", "mine\n")
    seen = t.write(t.away + "/seen", "seen\n")
    system = ("--read", "/usr", "--read", "/lib64", "--read", "/lib")
    system = [w for i in range(0, 6, 2) if os.path.exists(system[i + 1])
              for w in system[i:i + 2]]
    script = (f"cat mine; cat {seen}; cat /etc/passwd; ls /home /root; "
              "echo x > made; own=${TMPDIR:-/tmp}/own; echo y > $own; cat $own")
    contains(t.shell(script).out, "seen")		# The control
    for root in ("/", "/**"):
        for options in ((), ("--observe", "off")):
            options = (*options, "--deny-read", root, *system)
            r = t.shell(script, options=options)
            # What leads to the project is there, and nothing beside it
            way = t.dir.split("/")
            equal(sorted(w for w in r.out.split()
                         if w[-1] != ":" and w not in way),
                  ["mine", "y"], repr(r))
            t.outside("rm", "made").ok()
        r = t.inside("cat", seen, options=("--deny-read", root))
        # Not even the program; a mask that does not talk has no names
        check(r.code in (126, 127) and not r.out, repr(r))
    r = t.shell(script, options=("--deny-read", "/", *system, "--read", seen))
    contains(r.out, "seen")


@test
def parents_of_protected_names_cannot_be_moved(t):
    repository(t)
    lines = []
    for path in ANCESTORS:
        lines += [f"rename {path} moved", f"exchange {path} spare",
                  f"exchange spare {path}", f"rmdir {path}"]
    for observe in ("on", "off"):	# The pins hold by themselves
        found, _ = t.attempts(lines, options=("--observe", observe))
        for line in lines:
            check(found[line] in REFUSED + ("ENOTEMPTY",), observe, line,
                  found[line])
        equal(t.read("a/b/.git/hooks/pre-commit"), "old")
    control = ["rename free moved", "rename moved free",
               "exchange free spare", "exchange free spare"]
    found, _ = t.attempts(control)
    for line in control:
        equal(found[line], "OK", "the control", line)


@test
def the_project_directory_cannot_be_moved(t):
    repository(t)
    found, _ = t.attempts([f"rename {t.dir} {t.root}/other",
                            f"exchange {t.dir} {t.away}", f"rmdir {t.dir}"],
                        cwd=t.dir)
    check("OK" not in found.values(), found)


@test
def a_protected_directory_takes_no_new_files(t):
    repository(t)
    hook = "a/b/.git/hooks/"
    lines = [f"create {hook}post-commit", f"write {hook}pre-commit",
             f"truncate {hook}pre-commit", f"unlink {hook}pre-commit",
             f"chmod {hook}pre-commit", f"utime {hook}pre-commit",
             f"setxattr {hook}pre-commit", f"link free/x {hook}linked",
             f"symlink x {hook}sym", f"mkdir {hook}d", f"mkfifo {hook}f",
             f"rename free/x {hook}moved", f"tmpfile {hook}.",
             "write a/b/.git/config", "rename free/x a/b/.git/config",
             "unlink a/b/.git/config", "truncate a/b/.git/config"]
    found, _ = t.attempts(lines)
    all_refused(found, lines)
    equal(os.listdir(t.dir + "/a/b/.git/hooks"), ["pre-commit"])
    outside, _ = t.attempts([f"create {hook}post-commit",
                              f"chmod {hook}pre-commit"], inside=False)
    equal(set(outside.values()), {"OK"}, "the control")


@test
def metadata_of_read_only_files_cannot_be_changed(t):
    t.write(t.away + "/file", "x")
    lines = [f"{what} {t.away}/file"
             for what in ("chmod", "utime", "setxattr", "truncate", "write",
                          "unlink")]
    found, _ = t.attempts(lines)
    all_refused(found, lines)
    found, _ = t.attempts(lines[:2], inside=False)
    equal(set(found.values()), {"OK"}, "the control")


@test
def metadata_of_host_devices_cannot_be_changed(t):
    """Root inside owns them, and needs no capability for that"""
    before = os.stat("/dev/full")
    lines = ["chmod /dev/full", "utime /dev/full"]
    try:
        found, _ = t.attempts(lines)
        all_refused(found, lines)
        after = os.stat("/dev/full")
        equal((after.st_mode, after.st_mtime), (before.st_mode, before.st_mtime))
    finally:
        if os.geteuid() == 0:
            os.chmod("/dev/full", before.st_mode & 0o7777)
    t.write("free", "")
    found, _ = t.attempts(["chmod free", "utime free"])
    equal(set(found.values()), {"OK"}, "the control")


@test
def hard_links_do_not_bypass_rules(t):
    t.write(t.away + "/file", "old")
    t.write("keep", "old")
    t.write("secret", "SECRET")
    options = ["--deny-write", "keep", "--deny-read", "secret"]
    lines = [f"link {t.away}/file mine", "link keep mine2",
             "link secret mine3", "rename secret mine4", "rename keep mine5"]
    found, out = t.attempts(lines, options=options)
    all_refused(found, lines)
    lacks(t.shell("cat mine* 2>/dev/null", options=options).out, "SECRET")
    found, _ = t.attempts(["link free linked"] if t.write("free", "") else [])
    equal(found["link free linked"], "OK", "the control")


@test
def symlinks_planted_in_one_run_grant_nothing_in_the_next(t):
    t.write(t.away + "/target", "old")
    t.write(t.home + "/.ssh/id_x", "SECRET")
    t.write("dir/x", "x")
    t.shell(f"ln -s {t.away} out; ln -s ~/.ssh keys; rm -r dir; "
            f"ln -s {t.away} dir; ln -s {t.away}/target .bashrc; "
            "mkdir -p .git; ln -s ../dir .git/hooks")
    r = t.shell("echo new > out/target; echo new > dir/target; cat keys/id_x; "
                "echo new > .bashrc; echo x > .git/hooks/new",
                options=["--deny-write", "dir"])
    equal(t.read(t.away + "/target"), "old")
    equal(os.listdir(t.away), ["target"])
    lacks(r.out, "SECRET")
    r = t.shell("echo new > dir/target", options=["--write", "dir"])
    equal(t.read(t.away + "/target"), "old", "a planted link was followed")


@test
def a_file_as_standard_output_cannot_be_reopened_for_reading(t):
    t.write(t.away + "/log", "old content\n")
    probe = t.probe()
    for run, wanted in ((t.outside, "rewritten"), (t.inside, "old content")):
        t.write(t.away + "/log", "old content\n")
        with open(t.away + "/log", "a") as out:
            run(probe, "reopen-write", "1", stdout=out)
        content = t.read(t.away + "/log")
        check(content.startswith(wanted), run.__name__, content)


@test
def a_directory_as_standard_input_is_refused(t):
    """From one of the host's, ".." leads past every mask"""
    t.write(t.away + "/hidden/key", "SECRET")
    os.mkdir(t.away + "/hidden/open")
    steal = ("cat", "/proc/self/fd/0/../key")
    hide = ("--deny-read", t.away + "/hidden")
    for flags in (os.O_RDONLY, os.O_PATH):
        fd = os.open(t.away + "/hidden/open", flags | os.O_DIRECTORY)
        equal(t.outside(*steal, stdin_file=fd).ok().out, "SECRET", "the control")
        r = t.inside(*steal, options=hide, stdin_file=fd).ended(125)
        contains(r.err, "descriptor 0 is a directory")
        equal(r.out, "")
        os.close(fd)


@test
def a_file_as_standard_input_cannot_be_written(t):
    t.write(t.away + "/in", "old content\n")
    probe = t.probe()
    with open(t.away + "/in") as feed:
        t.outside(probe, "reopen-write", "0", stdin_file=feed)
    contains(t.read(t.away + "/in"), "rewritten", "the control")
    t.write(t.away + "/in", "old content\n")
    for mode in ("r", "r+"):
        with open(t.away + "/in", mode) as feed:
            t.inside(probe, "reopen-write", "0", stdin_file=feed)
            t.shell("echo more >&0", stdin_file=feed)
        equal(t.read(t.away + "/in"), "old content\n", mode)


@test
def a_hidden_file_as_output_cannot_be_read(t):
    t.write("secret", "SECRET\n")
    probe = t.probe()
    with open(t.dir + "/secret", "a") as out:
        r = t.inside(probe, "reopen-read", "1", stdout=out,
                     options=["--deny-read", "secret"])
    lacks(r.err, "SECRET")
    content = t.read("secret")
    equal(content.count("SECRET"), 1, "what was read was written:", content)


@test
def a_hidden_file_is_hidden_under_every_name(t):
    secret = t.write("dir/secret", "SECRET")
    t.write("dir/plain", "PLAIN")
    names = [secret, f"/proc/self/root{secret}", "/proc/self/cwd/dir/secret",
             f"/proc/1/root{secret}", "/proc/1/cwd/dir/secret",
             f"/proc/thread-self/root{secret}", f"/.//{secret}",
             "dir/../dir/secret", "./dir//secret"]
    lines = [f"read {name}" for name in names] + ["by-handle dir/secret"]
    for options in (["--deny-read", "dir/secret"], ["--deny-read", "dir/secret/"],
                    ["--deny-read", "./dir/../dir/secret"],
                    ["--deny-read", "dir//secret"], ["--deny-read", "dir"]):
        found, out = t.attempts(lines, options=options)
        lacks(out, "SECRET", options)
        all_refused(found, lines)
    found, out = t.attempts(lines[:3])
    contains(out, "SECRET", "the control")


@test
def a_mask_cannot_be_unmounted_or_remounted(t):
    t.write("dir/secret", "SECRET")
    t.write("file", "SECRET")
    lines = ["umount dir", "umount file", "umount /proc", "umount /tmp",
             "remount-rw /", "remount-rw dir", "mount-setattr /",
             "mount-tmpfs free", "bind free dir", "move-mount dir free",
             "open-tree /", "fsopen tmpfs", "chroot free",
             "pivot-root free free"]
    os.mkdir(t.dir + "/free")
    found, _ = t.attempts(lines, options=["--deny-read", "dir", "--deny-read",
                                           "file"])
    all_refused(found, lines)
    control = ["mount-tmpfs free", "umount free", "fsopen tmpfs", "chroot free"]
    found, _ = t.attempts(control, inside=False, wrap=("unshare", "-Urm"))
    for line in control[:3]:
        equal(found[line], "OK", "the control", line)


@test
def device_nodes_cannot_be_created(t):
    lines = ["mknod-char null", "mknod-block disk", "mknod-whiteout white"]
    found, _ = t.attempts(lines)
    all_refused(found, lines)
    for name in ("null", "disk", "white"):
        check(not t.exists(name), name)
    found, _ = t.attempts(lines[2:], inside=False)
    equal(found[lines[2]], "OK", "the control")
    if IS_ROOT:
        found, _ = t.attempts(["mknod-char null"], inside=False)
        equal(found["mknod-char null"], "OK", "the control")


@test
def only_expected_mounts_are_writable(t):
    found, out = t.attempts(["mounts"])
    writable = {line for line in out.splitlines() if line.startswith("/")}
    allowed = ("/tmp", "/var/tmp", "/dev/shm", t.dir)
    devices = re.compile(r"/dev/(null|zero|full|random|urandom|tty|console|"
                         r"pts(/\w+)?|ptmx|mqueue)$")
    strange = {p for p in writable if not p.startswith(allowed)
               and not devices.match(p)}
    equal(strange, set(), "writable mounts")
    check(any(p.startswith(t.dir) for p in writable), "the control:", out)


@test
def proc_sys_and_dev_cannot_be_written(t):
    found, out = t.attempts(["writable /proc/sys", "writable /sys",
                              "writable /proc/fs", "writable /proc/irq",
                              "writable /proc/bus", "writable /dev"])
    devices = re.compile(r"/dev/(null|zero|full|random|urandom|tty|console|"
                         r"ptmx|pts/\w+|shm/.*|mqueue/.*|std\w+|fd/.*)$")
    strange = [line for line in out.splitlines() if line.startswith("/")
               and not devices.match(line)]
    equal(strange, [], "opened for writing")
    contains(out, "/dev/null\n", "the control")


@test
def sensitive_files_of_proc_are_empty(t):
    names = ("keys", "key-users", "kcore", "kmsg", "sysrq-trigger",
             "timer_list", "sched_debug", "latency_stats")
    script = "; ".join(f"head -c 64 /proc/{n} 2>/dev/null | wc -c" for n in names)
    counts = t.shell(script).ok().out.split()
    for name, count in zip(names, counts):
        equal(count, "0", "/proc/" + name)
    r = t.shell("grep -v '^0* ' /proc/kallsyms | head -n 1")
    equal(r.out, "", "an address of the kernel")
    r = t.shell("echo h > /proc/sysrq-trigger")
    check(r.code != 0, "sysrq-trigger took a write")


@test
def fifos_outside_the_roots_cannot_be_written(t):
    fifo = t.away + "/fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    found, _ = t.attempts([f"fifo-write {fifo}"])
    check(found[f"fifo-write {fifo}"] in ("EACCES", "EPERM", "EROFS", "ENOENT"),
          "a FIFO of the host was written:", found)
    found, _ = t.attempts([f"fifo-write {fifo}"], inside=False)
    equal(found[f"fifo-write {fifo}"], "OK", "the control")
    equal(os.read(reader, 10), b"x")


@test
def readable_fifos_cannot_be_written(t):
    """A read-only mount does not stop writes to a FIFO, and Landlock allows the private /tmp"""
    with tempfile.TemporaryDirectory(dir="/tmp") as shown:
        for top, option in ((shown, "--read"), (t.dir + "/d", "--deny-write")):
            fifo = top + "/fifo"
            os.makedirs(top, exist_ok=True)
            os.mkfifo(fifo)
            reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            found, _ = t.attempts([f"fifo-write {fifo}"], options=(option, top))
            check(found[f"fifo-write {fifo}"] in ("EROFS", "EACCES"), option, found)
            equal(os.read(reader, 10), b"")
            found, _ = t.attempts([f"fifo-write {fifo}"],
                                  options=("--write", top))
            equal(found[f"fifo-write {fifo}"], "OK", "the control")
            equal(os.read(reader, 10), b"x")
            os.close(reader)


@test
def O_CREAT_on_a_protected_name_creates_nothing(t):
    """What is there is read, as without O_CREAT; what is not is refused"""
    t.write(".mcp.json", "mine")
    r = t.inside("/usr/bin/python3", "-c", """
import os
for name in ".mcp.json", ".envrc", "plain":
    try: print(os.read(os.open(name, os.O_RDONLY | os.O_CREAT), 10))
    except OSError as error: print(error.strerror)
""").ok()
    equal(r.out, "b'mine'\nPermission denied\nb''\n")
    equal([t.exists(name) for name in (".envrc", "plain")], [False, True])
    equal(t.read(".mcp.json"), "mine")


@test
def proc_sys_as_project_stays_read_only(t):
    """Root needs no capability to open them"""
    here = "/sys/kernel/mm"
    script = ("for f in $(find /sys/kernel /sys/module -maxdepth 3 -type f "
              "-perm -u=w 2>/dev/null | head -200); do "
              "(exec 3>>$f) 2>/dev/null && echo $f; done; true")
    equal(t.shell(script, cwd=here).ok().out, "")
    equal(t.shell(script, options=["--write", "/sys"]).ok().out, "")
    if IS_ROOT:
        check(t.outside("sh", "-c", script).out, "the control opened none")


@test
def fchmod_on_inherited_descriptors_is_refused(t):
    """They are the mount's business that a descriptor came from"""
    change = ["python3", "-c", "import os, sys; "
              "[os.fchmod(0, int(m, 8)) for m in sys.argv[1:]]"]

    def mode(fd):
        return oct(os.fstat(fd).st_mode & 0o7777)

    path = t.write(t.away + "/in", "text")
    inner = t.write("inner", "text")
    master, slave = os.openpty()
    cases = [(os.open(path, os.O_RDONLY), ()), (slave, ()),
             (os.open(path, os.O_RDWR), ()),
             (os.open(inner, os.O_RDONLY), ("--ephemeral",))]
    for fd, options in cases:
        t.outside(*change, "640", stdin_file=fd).ok()	# The control
        equal(mode(fd), "0o640")
        r = t.inside(*change, "666", options=options, stdin_file=fd)
        contains(r.ended(1).err, "Read-only")
        for name in ("/proc/self/fd/0", "/dev/console"):
            t.inside("chmod", "666", name, options=options, stdin_file=fd)
        equal(mode(fd), "0o640")
        os.close(fd)
    os.close(master)


@as_root
def fchmod_on_devices_changes_nothing(t):
    """What root may do to /dev/null would be felt by all; so, its own mode"""
    change = ["python3", "-c", "import os; [os.fchmod(fd, 0o666) for fd in "
              "(0, 1)]"]
    with open("/dev/null", "r+b", buffering=0) as null:
        t.outside(*change, stdin_file=null, stdout=null).ok()
        for observe in ("on", "off"):
            r = t.inside(*change, options=("--observe", observe),
                         stdin_file=null, stdout=null)
            contains(r.ended(1).err, "Read-only")


SET_ID = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
how = struct.pack("3Q", os.O_WRONLY | os.O_CREAT, 0o4755, 0)
def file(name):
    return os.open(name, os.O_WRONLY | os.O_CREAT, 0o755)
def temporary(name):
    fd = os.open(".", os.O_WRONLY | os.O_TMPFILE, 0o4755)
    libc.linkat(-100, f"/proc/self/fd/{fd}".encode(), -100, name.encode(), 0x400)
ways = {
    "chmod": lambda n: (file(n), os.chmod(n, 0o4755)),
    "fchmod": lambda n: os.fchmod(file(n), 0o4711),
    "fchmodat2": lambda n: (file(n), libc.syscall(452, -100, n.encode(), 0o6755,
                                                  0)),
    "high": lambda n: libc.syscall(91 if os.uname().machine == "x86_64" else 52,
                                   file(n), ctypes.c_ulong(0x100000000 | 0o4755)),
    "open": lambda n: os.open(n, os.O_WRONLY | os.O_CREAT, 0o4755),
    "openat2": lambda n: libc.syscall(437, -100, n.encode(), how, len(how)),
    "mknod": lambda n: os.mknod(n, 0o104755),
    "temporary": temporary,
}
os.umask(0)
for name, way in ways.items():
    try:
        way(name)
    except OSError:
        pass
    print(name, os.path.exists(name) and bool(os.stat(name).st_mode & 0o4000))
"""


@test
def setuid_and_setgid_bits_cannot_be_set(t):
    """Any other user of the machine could run it outside"""
    r = t.outside("/usr/bin/python3", "-c", SET_ID).ok()
    # An older kernel has no fchmodat2()
    equal({w for w in r.out.splitlines() if w.endswith("False")} -
          {"fchmodat2 False"}, set(), "the control:", r.out)
    for name in os.listdir(t.dir):
        os.unlink(f"{t.dir}/{name}")
    for options in ((), ("--observe", "off")):
        r = t.inside("/usr/bin/python3", "-c", SET_ID, options=options).ok()
        lacks(r.out, "True")
        equal([n for n in os.listdir(t.dir)
               if os.stat(f"{t.dir}/{n}").st_mode & 0o4000], [])
    # What the bit is not asked for goes on, and so does that of groups
    t.shell("touch f; chmod 755 f; mkdir d; chmod 2775 d").ok()
    equal(oct(os.stat(t.dir + "/d").st_mode & 0o7777), "0o2775")


@test
def arguments_are_read_from_the_calling_thread(t):
    """The observer looks at its own descriptor then, and at its own number, which
    the caller's was once taken for: it wrote the supervisor's memory into a file"""
    script = """
import os
fd = os.open("mark", os.O_RDWR | os.O_CREAT)
seen = set()
while len(seen) < 64:
    child = os.fork()
    if not child:
        os.utime(fd, (os.getpid(), 1))
        os._exit(int(os.fstat(fd).st_atime) != os.getpid())
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        print("another's arguments", child)
    seen.add(child % 64)
"""
    equal(t.inside("/usr/bin/python3", "-c", script,
                   options=["--tier", "landlock"]).ok().out, "")


@as_root
def file_systems_of_the_kernel_are_hidden(t):
    """Root needs no capability to read its own: addresses, traces of all processes"""
    script = """
for dir in /sys/kernel/debug /sys/kernel/tracing; do
    test -d $dir || continue
    mount -t tmpfs none $dir && echo canary > $dir/file && cat $dir/file || exit 1
    for tier in full landlock; do
        "$CLOCHE" run --tier $tier -- sh -c "cat $dir/file; echo ran"
        "$CLOCHE" run --tier $tier --read $dir -- cat $dir/file
    done
done"""
    r = t.outside("unshare", "-m", "sh", "-c", script).ok()
    seen = ["canary", "ran", "canary", "ran", "canary"]
    check(r.out.split() in (seen, seen * 2), r.out)


main()
