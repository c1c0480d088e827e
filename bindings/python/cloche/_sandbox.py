# SPDX-License-Identifier: Apache-2.0
"""A policy, and the commands that run under it"""

import asyncio
import json
import os
import select
import signal
import threading
import weakref

from . import _native as native
from ._run import Run
from ._settings import ask


def _value(name, value):
    """Text, a path or a number. Anything else would become some text, too, and
    what was to be denied would be called "{'/secret'}"
    """
    if isinstance(value, (str, bytes, os.PathLike)):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{name}: {value!r} is neither text, a path nor a number; "
                    "several go into a list")


def _pairs(options):
    """{"write": ["/a"], "no_settings": True} as (name, value)..."""
    for name, value in options.items():
        dashed = name.replace("_", "-")
        if value is True:
            yield dashed, None
        elif isinstance(value, (list, tuple)):
            for one in value:
                yield dashed, _value(name, one)
        elif value is not False and value is not None:
            yield dashed, _value(name, value)


def _text(policy):
    return policy if policy is None or isinstance(policy, str) \
        else json.dumps(policy)


class Sandbox:
    """A policy as in cloche-settings(5), and options of cloche-run(1) by name

    on_violation(record), on_message(line) and on_ask(question) are called
    while a command runs. Without on_ask, hosts that no rule mentions are
    refused; it answers by question.allow() or .deny(), or by what it returns.
    """

    def __init__(self, policy=None, *, program=None, on_violation=None,
                 on_ask=None, on_message=None, **options):
        self._policy = _text(policy)
        self._options = list(_pairs(options))
        if not native.PROGRAM:	# Else the program knows that it is in here
            self._options.append(("deny-write", os.path.dirname(
                os.path.abspath(__file__))))
        self._program = program or native.PROGRAM
        self._runs, self._lock = weakref.WeakSet(), threading.Lock()
        self.on_violation, self.on_ask = on_violation, on_ask
        self.on_message = on_message
        native.sandbox_free(self._box())	# Mistakes are reported at once

    def _box(self, *more):
        return native.sandbox_new(self._program, self._policy,
                                  self._options + list(more))

    def _words(self, command):
        """A list is a command and its arguments, a string is for the shell"""
        if isinstance(command, str):
            return self._box(("command", command)), []
        return self._box(), command

    def start(self, command, *, cwd=None, env=None, stdio=None):
        """Start a command. @stdio: three descriptors, -1 for /dev/null"""
        box, argv = self._words(command)
        try:
            run = Run(box, argv, cwd=cwd, env=env, stdio=stdio,
                      on_violation=self.on_violation, on_ask=self.on_ask,
                      on_message=self.on_message)
        finally:
            native.sandbox_free(box)
        with self._lock:
            self._runs.add(run)
        return run

    def _running(self):
        with self._lock:
            return list(self._runs)

    def run(self, command, *, cwd=None, env=None, input=None, text=True):
        """Run a command to its end: its output and a Result with all of it"""
        return self._run(command, lambda run: None, cwd, env, input, text)

    def _run(self, command, started, cwd, env, input, text):
        if isinstance(input, str):
            input = input.encode()
        data = memoryview(input or b"").cast("B")
        ends = [os.pipe() for _ in range(3)]
        theirs = [ends[0][0], ends[1][1], ends[2][1]]
        ours = [ends[0][1], ends[1][0], ends[2][0]]
        try:
            run = self.start(command, cwd=cwd, env=env, stdio=theirs)
        except BaseException:
            for fd in ours:
                os.close(fd)
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        with run:
            started(run)
            out, err = _exchange(run, ours, data)
            result = run.wait()
        result.stdout, result.stderr = (
            data.decode("utf-8", "replace") if text else data
            for data in (out, err))
        return result

    async def run_async(self, command, *, cwd=None, env=None, input=None,
                        text=True):
        """As run(), in a thread; so the functions are called there. The command
        ends if this is cancelled.
        """
        ending = _Ending()
        try:
            return await asyncio.to_thread(self._run, command, ending.started,
                                           cwd, env, input, text)
        except asyncio.CancelledError:
            ending.come()
            raise

    def wrap(self, command):
        """A line for a shell that runs the command in the sandbox, by itself"""
        box, argv = self._words(command)
        try:
            return native.wrap(box, argv)
        finally:
            native.sandbox_free(box)

    def session(self, name):
        """A sandbox with this policy, as it is now, that commands share: see Session"""
        return Session(self, name)

    def update(self, policy):
        """From now on @policy decides, also for the commands that run

        Raises, and changes nothing for later ones, if it has a mistake.
        """
        policy, asked = _text(policy), set()
        while rest := [run for run in self._running() if run not in asked]:
            for run in rest:	# Others may start meanwhile
                run.update(policy)
                asked.add(run)
        self._policy = policy

    def close(self):
        """End whatever runs, and wait for that"""
        for run in self._running():
            run.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Session(Sandbox):
    """A living sandbox: a server that one command leaves in the background answers the
    next. It ends by stop(), with this process, or when idle (cloche-session(1)).

    Refusals of what a command left in the background are in get_violations(). Hosts are
    not asked about.
    """

    def __init__(self, box, name):
        self.name = name
        super().__init__(box._policy, program=box._program, on_message=box.on_message,
                         on_violation=box.on_violation, session=name, session_owner=os.getpid())
        self._options = box._options + self._options

    def stop(self):
        """End everything in it; nothing if it does not live"""
        self.close()
        if any(one["name"] == self.name for one in
               json.loads(ask("session", "list", "--json"))["sessions"]):
            ask("session", "stop", self.name)

    def publish(self, port):
        """Make a port of a server in it reachable on the host's localhost"""
        ask("session", "publish", self.name, str(port))

    def __exit__(self, *_):
        self.stop()


class _Ending:
    """The end of a run that another thread starts, maybe later"""

    def __init__(self):
        self._lock, self._run, self._came = threading.Lock(), None, False

    def started(self, run):
        with self._lock:
            self._run = run
            if self._came:
                run.send_signal(signal.SIGKILL)

    def come(self):
        with self._lock:
            self._came = True
            if self._run:
                self._run.send_signal(signal.SIGKILL)


def _exchange(run, fds, data):
    """Feed standard input, read the two others, and handle the events"""
    into, out, err = fds
    found = {out: bytearray(), err: bytearray()}
    poll = select.poll()
    os.set_blocking(into, False)
    if data:
        poll.register(into, select.POLLOUT)
    else:
        os.close(into)
        into = -1
    for fd in found:
        poll.register(fd, select.POLLIN)
    open_fds = set(found)
    try:
        # Another thread may take the events, by update(); also the last one
        watched = run.poll_fd()
        going = watched >= 0
        if going:
            poll.register(watched, select.POLLIN)
        while going or open_fds:
            ready = poll.poll(1000)
            if going and (not ready or any(fd == watched for fd, _ in ready)):
                going = run.turn()
                if not going:
                    poll.unregister(watched)
            for fd, _ in ready:
                if fd == into:
                    data = _write(into, data)
                    if not data:
                        poll.unregister(into)
                        os.close(into)
                        into = -1
                elif fd in open_fds:
                    part = os.read(fd, 65536)
                    found[fd] += part
                    if not part:
                        poll.unregister(fd)
                        open_fds.discard(fd)
    finally:
        for fd in (into, out, err):
            if fd >= 0:
                os.close(fd)
    return bytes(found[out]), bytes(found[err])


def _write(fd, data):
    """What is left of @data; nothing if the reader has gone"""
    try:
        return data[os.write(fd, data):]
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return b""
