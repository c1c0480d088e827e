# SPDX-License-Identifier: Apache-2.0
"""tests/harness/tap.py - live tests in Python: TAP, scratch places, terminals

A test script:

    from tap import *

    @test
    def a_sentence_that_is_true(t):
        r = t.inside("sh", "-c", "echo hi")
        equal(r.out, "hi\\n")

    main()

Each test runs in its own process with an empty $HOME (t.home), a fresh project
directory in it (t.dir, the current directory) and a time limit. Whatever it leaves
running is killed and is a failure. TEST_FILTER=substring runs some of them;
CLOCHE_LONG=1 makes long() return the larger number.
"""

import ctypes
import faulthandler
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback

CLOCHE = os.environ.get("CLOCHE", "build/cloche")
PROBE = os.environ.get("PROBE", "")
MUST_WORK = bool(os.environ.get("CLOCHE_MUST_WORK"))
LONG = bool(os.environ.get("CLOCHE_LONG"))
IS_ROOT = os.getuid() == 0
SANITIZED = "ASAN_OPTIONS" in os.environ

# So that what hangs ends, on the slowest machine: never a measure
PATIENCE = 3 if SANITIZED else 1
TEST_SECONDS = 240
RUN_SECONDS = 120 * PATIENCE
EXIT_SECONDS = 30		# For what is dying already
EXIT_SKIPPED = 77
PR_SET_CHILD_SUBREAPER = 36

_tests = []
_libc = ctypes.CDLL(None, use_errno=True)


class Skip(Exception):
    """Raised by skip()"""


def skip(reason):
    """Give up on this test for a reason; a failure under CLOCHE_MUST_WORK"""
    raise Skip(reason)


def need(program):
    """The path of @program, or a skip"""
    path = shutil.which(program)
    if not path:
        skip(f"needs {program}")
    return path


def need_keys():
    """Wait for room in the quota of kernel keys. All tests of a user share it, every run
    takes one, and the kernel gives those of ended runs back with a delay.
    """
    def has_room():
        try:
            with open("/proc/key-users") as file:
                mine = [row.split() for row in file if row.split()[0] == f"{os.getuid()}:"]
        except FileNotFoundError:
            return True		# A kernel without keys
        return all(2 * int(used) < int(limit) for row in mine
                   for used, limit in (part.split("/") for part in row[3:5]))
    wait_until(has_room, "half of the user's kernel keys")


def long(quick, patient):
    """How often: @quick in `make test`, @patient in `make check-long`"""
    return patient if LONG else quick


def note(*words):
    """Print a figure to the log; no test compares times with a limit"""
    print("#", *words, flush=True)


def check(condition, *words):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in words) or "the condition is false")


def equal(got, want, *words):
    if got != want:
        raise AssertionError(
            f"{' '.join(str(w) for w in words)} is {got!r}, not {want!r}".strip())


def contains(text, part, *words):
    if part not in text:
        raise AssertionError(
            f"{' '.join(str(w) for w in words)} is {text!r}, without {part!r}"
            .strip())


def lacks(text, part, *words):
    if part in text:
        raise AssertionError(
            f"{' '.join(str(w) for w in words)} is {text!r}, with {part!r}"
            .strip())


def wait_until(condition, what, seconds=RUN_SECONDS):
    """Wait for something that gives no event; returns what it returned"""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for: {what}")
        time.sleep(0.005)


class Result:
    """What a program did: code (128+N for signal N), out, err as text"""

    def __init__(self, argv, code, out, err):
        self.argv = argv
        self.code = code if code >= 0 else 128 - code
        self.signal = -code if code < 0 else 0
        self.raw_out, self.raw_err = out, err
        self.out = out.decode("utf-8", "surrogateescape")
        self.err = err.decode("utf-8", "surrogateescape")

    def __repr__(self):
        return (f"code {self.code}, out {self.out[-2000:]!r}, "
                f"err {self.err[-2000:]!r}")

    def ok(self, *words):
        """Fail unless it ended with 0; returns itself"""
        check(self.code == 0, *words, *self.argv, "ended with", repr(self))
        return self

    def ended(self, code, *words):
        check(self.code == code, *words, *self.argv, f"not {code}:", repr(self))
        return self


class Started(subprocess.Popen):
    """A running program. If the body of `with` fails, the program is killed instead of
    waited for: it may wait for what the test would have done next.
    """
    all = []

    def __init__(self, *argv, **more):
        super().__init__(*argv, **more)
        Started.all.append(self)

    def story(self):
        """Its remaining messages and its exit status, for the log of a failed test"""
        said = b""
        try:
            self.wait(1)	# What has closed its output is about to end
        except subprocess.TimeoutExpired:
            pass
        try:
            os.set_blocking(self.stderr.fileno(), False)
            said = getattr(self.stderr, "buffer", self.stderr).read() or b""
        except (AttributeError, OSError, ValueError):
            pass		# It has none, or that was read and closed
        return f"{str(self.args)[:200]}: {self.poll()}, err {said[-2000:]!r}"

    def __exit__(self, failure, value, trace):
        if failure:
            self.kill()
        return super().__exit__(failure, value, trace)


def _fresh_home(root):
    """The user's home, empty, as tools/as has made it; else one in @root. $HOME
    may be a link to it.
    """
    # Only in a room's own mount namespace is it ours to empty
    if not os.path.ismount(os.environ.get("CLOCHE_ROOM", "") + "/data"):
        os.environ["HOME"] = os.path.join(root, "home")
        os.mkdir(os.environ["HOME"])
    home = os.path.realpath(os.environ["HOME"])
    os.chmod(home, 0o755)
    for name in os.listdir(home):
        path = os.path.join(home, name)
        if os.path.isdir(path) and not os.path.islink(path):
            _remove(path)
        else:
            os.remove(path)
    return home


class Context:
    """The scratch place of one test, and ways to run things there"""

    def __init__(self, root):
        self.root = root
        self.last = None	# What the last program did
        self.home = _fresh_home(root)
        self.dir = os.path.join(self.home, "project")
        self.away = os.path.join(root, "away")		# Not in the home
        for path in (self.dir, self.away):
            os.mkdir(path)
        os.chdir(self.dir)

    def write(self, path, text="", mode=None):
        """A file with its parents; relative to the project"""
        path = os.path.join(self.dir, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        data = text if isinstance(text, bytes) else text.encode()
        with open(path, "wb") as file:
            file.write(data)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def read(self, path):
        with open(os.path.join(self.dir, path), "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")

    def in_home(self):
        """Names in the home, beside the project"""
        return sorted(set(os.listdir(self.home)) - {"project"})

    def exists(self, path):
        return os.path.lexists(os.path.join(self.dir, path))

    def freeze(self):
        """Make the protected files that have a mount without an observer, if they exist"""
        for name in (".claude/settings.json", ".claude/settings.local.json",
                     ".srt-settings.json"):
            self.write(f"{self.home}/{name}", "{}")
        for name in (".claude/hooks", ".config/cloche"):
            os.makedirs(f"{self.home}/{name}", exist_ok=True)

    def trust(self, *argv):
        """Approve what the settings here ask for"""
        return self.run("trust", "--yes", *argv).ok()

    def outside(self, *argv, env=None, cwd=None, stdin=b"", tty=False,
                timeout=RUN_SECONDS, **more):
        """Run argv as it is. @env adds to the environment (None removes)"""
        full = dict(os.environ)
        for name, value in (env or {}).items():
            full.pop(name, None)
            if value is not None:
                full[name] = value
        argv = [a if isinstance(a, bytes) else str(a) for a in argv]
        if tty:
            return _on_terminal(argv, full, cwd or self.dir, stdin, timeout)
        if isinstance(stdin, str):
            stdin = stdin.encode()
        if "stdin_file" in more:
            feed = {"stdin": more.pop("stdin_file")}
        else:
            feed = {"input": stdin}
        try:
            done = subprocess.run(
                argv, env=full, cwd=cwd or self.dir, timeout=timeout,
                stdout=more.pop("stdout", subprocess.PIPE),
                stderr=more.pop("stderr", subprocess.PIPE), **feed, **more)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"{argv} took over {timeout} s; out "
                                 f"{late.stdout!r}, err {late.stderr!r}")
        self.last = Result(argv, done.returncode, done.stdout or b"",
                           done.stderr or b"")
        return self.last

    def run(self, *argv, **more):
        """Run `cloche ARGV...`"""
        return self.outside(CLOCHE, *argv, **more)

    def inside(self, *command, options=(), **more):
        """Run a command in the sandbox: `cloche run OPTIONS -- COMMAND...`"""
        return self.run("run", *options, "--", *command, **more)

    def shell(self, script, options=(), **more):
        """Run a shell script in the sandbox"""
        return self.inside("sh", "-c", script, options=options, **more)

    def probe(self):
        """A copy of the attack tool in the project; its path"""
        path = os.path.join(self.dir, "probe")
        if not os.path.exists(path):
            shutil.copy(PROBE, path)
        return path

    def attempts(self, lines, inside=True, wrap=(), **more):
        """Let the attack tool try each line, in the sandbox or not: a
        dictionary of results, and all that it printed
        """
        feed = "".join(line + "\n" for line in lines)
        run = self.inside if inside else self.outside
        r = run(*wrap, self.probe(), "-", stdin=feed, **more)
        found = dict(re.findall(r"^(.*): (\w+)$", r.out, re.M))
        for line in lines:
            check(line in found, "no result for", line, repr(r))
        return found, r.out

    def start(self, *argv, **more):
        """Popen of `cloche ARGV...` with pipes, for tests that look meanwhile;
        program: what is to start it, and its first words"""
        more.setdefault("stdin", subprocess.PIPE)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        more.setdefault("cwd", self.dir)
        around = more.pop("program", ())
        return Started([*around, CLOCHE, *argv], **more)


def _on_terminal(argv, env, cwd, stdin, timeout):
    from terminal import Terminal
    with Terminal(argv, env=env, cwd=cwd) as term:
        if stdin:
            term.send(stdin)
        code = term.wait(timeout)
        return Result(argv, code, term.text.encode("utf-8", "surrogateescape"),
                      b"")


def is_record(base, name):
    """True if that is a file of the record store, to which every run adds"""
    return base.endswith("/state/cloche") and name.startswith("violations.")


def tree(path):
    """{relative path: (type, mode, size or link)} of all below @path, but for records"""
    found = {}
    for base, dirs, files in os.walk(path):
        for name in dirs + [f for f in files if not is_record(base, f)]:
            full = os.path.join(base, name)
            st = os.lstat(full)
            kind = stat.S_IFMT(st.st_mode)
            detail = os.readlink(full) if stat.S_ISLNK(st.st_mode) else (
                st.st_size if stat.S_ISREG(st.st_mode) else None)
            found[os.path.relpath(full, path)] = (
                kind, stat.S_IMODE(st.st_mode), detail)
    return found


def ours_in_tmp():
    """Names in /tmp that cloche may have made for this user. Other tests run at the same
    time, and what they make there is called cloche-test-*.
    """
    found = set()
    with os.scandir("/tmp") as entries:
        for entry in entries:
            try:
                if "cloche" in entry.name and not entry.name.startswith("cloche-test-") and \
                        entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    found.add(entry.name)
            except FileNotFoundError:
                pass
    return found


def children():
    """Pids of the living children of this process"""
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                found += [int(pid) for pid in file.read().split()]
        except OSError:
            pass
    return found


def _command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return "?"


def _proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}") as file:
            return file.read().strip()
    except OSError:
        return "?"


def _show_waiting(pid, depth=0):
    """Print the processes that hang, and where each of them waits"""
    state = re.search(r"State:\s*(\S+)", _proc(pid, "status"))
    print(f"# {'  ' * depth}{pid} {state and state.group(1)} "
          f"{_proc(pid, 'wchan')} call {_proc(pid, 'syscall').split(' ')[0]}: "
          f"{_command_line(pid)[:200]!r}")
    for child in _proc(pid, f"task/{pid}/children").split():
        if child.isdigit():
            _show_waiting(int(child), depth + 1)


def _reap():
    """Collect the dead; True when no child is left"""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def running():
    """Reap what died of our children and orphans; the pids of the rest"""
    return [] if _reap() else children()


def _reap_leftovers():
    """Wait for what is ending, kill the rest, return the command lines"""
    end = time.monotonic() + EXIT_SECONDS
    while not _reap() and time.monotonic() < end:
        time.sleep(0.005)
    left = [_command_line(pid) for pid in children()]
    while children():
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        _reap()
    return left


def _remove(path):
    def repair(function, name, _):
        os.chmod(os.path.dirname(name), 0o700)
        if os.path.isdir(name) and not os.path.islink(name):
            os.chmod(name, 0o700)
        if function in (os.open, os.scandir, os.lstat):
            shutil.rmtree(name, onerror=repair)
        else:
            function(name)
    shutil.rmtree(path, onerror=repair)


def _show_programs(t):
    """Print the messages of a failed test's programs: the cause may be among them"""
    if t and t.last:
        print(f"# the last program to end: {str(t.last.argv)[:200]}: {t.last!r}")
    for p in Started.all[-8:]:
        print("# started:", p.story())


def _in_child(function, root, seconds):
    """Run one test here; its exit status"""
    os.setpgid(0, 0)
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP,
                   signal.SIGTERM, signal.SIGTTOU, signal.SIGTTIN,
                   signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)
    faulthandler.dump_traceback_later(seconds - 1)
    t = None
    try:
        t = Context(root)
        function(t)
        faulthandler.cancel_dump_traceback_later()
        left = _reap_leftovers()
        check(not left, "left running:", left)
        return 0
    except Skip as reason:
        print(f"# skipped: {reason}")
        return EXIT_SKIPPED
    except BaseException:  # A test's fault of any kind is a failure
        _show_programs(t)
        for line in traceback.format_exc().splitlines()[-12:]:
            print("#", line)
        return 1


def _give_up(pid):
    """We are being ended: so is the test, and whatever it started"""
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    for orphan in children():
        os.kill(orphan, signal.SIGKILL)
    os._exit(1)


def _ends(pid, seconds):
    """True if that child ends in time"""
    fd = os.pidfd_open(pid)
    try:
        return bool(select.select([fd], [], [], seconds)[0])
    finally:
        os.close(fd)


def _run_one(function, seconds):
    root = tempfile.mkdtemp(prefix="t")
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        status = _in_child(function, root, seconds)
        sys.stdout.flush()
        os._exit(status)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: _give_up(pid))
    if _ends(pid, seconds):
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    else:
        print(f"# not done in {seconds} s")
        _show_waiting(pid)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        status = 1
    for orphan in children():
        try:
            os.kill(orphan, signal.SIGKILL)
        except OSError:
            pass
    wait_until(_reap, "end of killed processes")
    os.chdir("/")
    _remove(root)
    return status


def test(function=None, *, timeout=TEST_SECONDS):
    """Decorator: this function is a test; its name is the sentence"""
    if function is None:
        return lambda f: test(f, timeout=timeout)
    _tests.append((function, timeout))
    return function


def test_if(condition):
    """Decorator: a test only where @condition holds; elsewhere it would show
    nothing, and does not count
    """
    return test if condition else lambda function: function


as_root = test_if(IS_ROOT)
as_user = test_if(not IS_ROOT)


def main():
    """Run the tests of this script, print TAP, exit"""
    wanted = os.environ.get("TEST_FILTER", "")
    failed = number = 0
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for function, seconds in _tests:
        name = function.__name__
        if wanted not in name:
            continue
        number += 1
        began = time.monotonic()
        status = _run_one(function, seconds * PATIENCE)
        note(f"{time.monotonic() - began:.1f} s")
        skipped = status == EXIT_SKIPPED and not MUST_WORK
        good = status == 0 or skipped
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}"
              f"{' # SKIP' if skipped else ''}", flush=True)
    print(f"1..{number}")
    sys.exit(1 if failed else 0)
