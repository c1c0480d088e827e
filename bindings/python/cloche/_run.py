# SPDX-License-Identifier: Apache-2.0
"""One command in the sandbox: its events, and how it ended"""

import ctypes
import errno
import json
import os
import select
import threading
import weakref
from concurrent.futures import Future
from dataclasses import dataclass, field

from . import _native as native
from ._native import ClocheError


@dataclass
class Result:
    """How a command ended; status is 128+N if signal N ended it"""
    status: int
    sandboxed: bool = True
    stdout: object = None
    stderr: object = None
    violations: list = field(default_factory=list)
    messages: list = field(default_factory=list)


class Question:
    """A host that no rule mentions: allow() or deny() it, within a minute"""

    def __init__(self, run, number, host, port, program):
        self.host, self.port, self.program = host, port, program
        self.answered = False
        self._run, self._number = run, number

    def allow(self, remember=True):
        self._answer(True, remember)

    def deny(self, remember=True):
        self._answer(False, remember)

    def _answer(self, allow, remember):
        if not self.answered:
            self.answered = True
            self._run._answer(self._number, allow, remember)


class Run:
    """A command that was started

    Events are calls from turn(), wait() and update(), in the thread that
    called these. Any thread may use a run.
    """

    def __init__(self, box, argv, *, cwd=None, env=None, stdio=None,
                 on_violation=None, on_ask=None, on_message=None):
        self.violations, self.messages = [], []
        self._on = (on_violation, on_ask, on_message)
        self._lock = threading.RLock()
        self._inside = False	# In a callback: turns do not nest
        self._updates, self._failure, self._ended = {}, None, None
        self._events = self._make_events(on_ask is not None)
        options = native.RunOptions(ctypes.sizeof(native.RunOptions),
                                    native.words(argv))
        if env is not None:
            options.env = native.words(os.fsencode(name) + b"=" +
                                       os.fsencode(value)
                                       for name, value in env.items())
        if cwd is not None:
            options.directory = native.word(cwd)
        if stdio is not None:
            into, out, err = stdio
            options.stdio = (ctypes.c_int * 3)(into, out, err)
        options.events = ctypes.pointer(self._events)
        self._run = None
        self._run = native.start(box, options)

    def _make_events(self, asks):
        return native.Events(
            ctypes.sizeof(native.Events), native.STARTED(),
            native.VIOLATION(self._guard(self._take_violation)),
            native.ASK(self._guard(self._take_ask)) if asks else native.ASK(),
            native.UPDATED(self._guard(self._take_updated)),
            native.TEXT(self._guard(self._take_message)), native.TEXT(),
            native.ENDED(self._guard(self._take_ended)))

    def _guard(self, function):
        """An exception cannot pass through C: it is raised after the turn.
        C holds no reference: a run without references must end.
        """
        weak = weakref.WeakMethod(function)

        def call(_arg, _run, *values):
            take = weak()
            try:
                take(*values)
            except BaseException as error:
                run = take.__self__
                run._failure = run._failure or error
        return call

    def _take_violation(self, struct):
        record = json.loads(native.text(struct.contents.json))
        same = [i for i, old in enumerate(self.violations)
                if all(old[k] == record[k] for k in ("kind", "op", "target"))]
        if same:	# It comes again with a larger count
            self.violations[same[0]] = record
            return
        self.violations.append(record)
        if self._on[0]:
            self._on[0](record)

    def _take_ask(self, struct):
        q = struct.contents
        question = Question(self, q.id, native.text(q.host), q.port,
                            native.text(q.program))
        answer = False
        try:
            answer = self._on[1](question)
        finally:
            # What it returns is the answer, if it gave none; None: later
            if answer is not None and not question.answered:
                question._answer(answer is True, True)

    def _take_updated(self, number, error, why):
        future = self._updates.pop(number, None)
        if future and error:
            future.set_exception(ClocheError(error, native.text(why)))
        elif future:
            future.set_result(None)

    def _take_message(self, line):
        self.messages.append(native.text(line))
        if self._on[2]:
            self._on[2](native.text(line))

    def _take_ended(self, struct):
        result = struct.contents
        if result.error:
            self._ended = ClocheError(result.error,
                                      native.text(result.message))
        else:
            self._ended = Result(result.status, bool(result.sandboxed),
                                 violations=self.violations,
                                 messages=self.messages)

    def poll_fd(self):
        """As fileno(), or -1"""
        with self._lock:
            return native.run_fd(self._run) if self._run else -1

    def fileno(self):
        """Readable when there is something for turn()"""
        fd = self.poll_fd()
        if fd < 0:
            raise ValueError("the run has ended")
        return fd

    def turn(self):
        """Handle what there is, without waiting; True while it goes on"""
        with self._lock:
            if self._inside or self._ended or not self._run:
                return self._ended is None
            self._inside = True
            try:
                native.run_turn(self._run)
            finally:
                self._inside = False
            if self._ended:
                self._finish()
            failure, self._failure = self._failure, None
        if failure:
            raise failure
        return self._ended is None

    def _finish(self):
        """What ends while a policy is on its way had no use for it"""
        run, self._run = self._run, None
        if run:
            native.run_free(run)
        for future in self._updates.values():
            future.set_result(None)
        self._updates.clear()

    def _turn_until(self, done):
        poll = select.poll()
        with self._lock:
            if self._run:
                poll.register(self.fileno(), select.POLLIN)
        while not done() and self.turn() and not done():
            poll.poll(1000)	# Another thread may have taken the event

    def wait(self):
        """Wait for the end: a Result, or ClocheError if nothing ran"""
        self._turn_until(lambda: self._ended is not None)
        if isinstance(self._ended, ClocheError):
            raise self._ended
        return self._ended

    def start_update(self, policy):
        """From now on @policy decides; a Future for when that is so"""
        future = Future()
        with self._lock:
            try:
                number = native.update(self._run, policy if isinstance(
                    policy, str) else json.dumps(policy)) if self._run else 0
            except ClocheError as error:	# Its end was not heard yet
                if error.errno != errno.ESRCH:
                    raise
                number = 0
            if number:
                self._updates[number] = future
            else:
                future.set_result(None)
        return future

    def update(self, policy):
        """As start_update(), and wait unless this is a callback"""
        future = self.start_update(policy)
        if not self._inside:
            self._turn_until(future.done)
            future.result(timeout=0)
        return future

    def _answer(self, number, allow, remember):
        """An answer may come after its question was withdrawn"""
        with self._lock:
            try:
                if self._run:
                    native.answer(self._run, number, allow, remember)
            except ClocheError as error:
                if error.errno != errno.ESRCH:
                    raise

    def send_signal(self, number):
        """Send a signal to the command; nothing happens if it has ended"""
        with self._lock:
            try:
                if self._run:
                    native.signal(self._run, number)
            except ClocheError as error:
                if error.errno != errno.ESRCH:
                    raise

    def close(self):
        """End it, and wait for that; from a callback, when that is over"""
        with self._lock:
            self._ended = self._ended or ClocheError(
                errno.ECANCELED, "the run was closed")
            if not self._inside:
                self._finish()

    def __del__(self):
        if getattr(self, "_run", None):
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
