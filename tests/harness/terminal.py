# SPDX-License-Identifier: Apache-2.0
"""tests/harness/terminal.py - a real terminal, for what behaves only there

Terminal(argv) starts a program as the leader of a new session on a new
pseudo-terminal, as a terminal emulator does. expect() waits for text, so that
nothing needs to sleep.
"""

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

SECONDS = 120 * (3 if "ASAN_OPTIONS" in os.environ else 1)	# As in tap.py
EMPTY_READS = 65536


class Terminal:
    """A program on a terminal of its own"""

    def __init__(self, argv, env=None, cwd=None, rows=24, columns=80):
        self.text = ""		# All of its output so far
        self.seen = 0		# Up to where expect() has consumed it
        self.code = None
        self.argv = argv
        self.pid, self.fd = pty.fork()
        if not self.pid:
            try:
                if cwd:
                    os.chdir(cwd)
                fcntl.ioctl(0, termios.TIOCSWINSZ,
                            struct.pack("HHHH", rows, columns, 0, 0))
                os.execvpe(argv[0], argv, env or os.environ)
            finally:
                os._exit(127)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def _read(self, seconds):
        """Add what arrives in time; False at the end of the output"""
        ready, _, _ = select.select([self.fd], [], [], max(0, seconds))
        if not ready:
            return True
        try:
            data = os.read(self.fd, EMPTY_READS)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            data = b""
        self.text += data.decode("utf-8", "surrogateescape")
        return bool(data)

    def expect(self, pattern, seconds=SECONDS):
        """Wait for @pattern after what was expected last; the match"""
        end = time.monotonic() + seconds
        more = True
        while True:
            match = re.compile(pattern).search(self.text, self.seen)
            if match:
                self.seen = match.end()
                return match
            if not more or time.monotonic() > end:
                raise AssertionError(
                    f"{self.argv}: no {pattern!r} in "
                    f"{self.text[self.seen:]!r} after {self.text[:self.seen][-400:]!r}")
            more = self._read(end - time.monotonic())

    def send(self, data):
        data = data if isinstance(data, bytes) else data.encode()
        while data:
            data = data[os.write(self.fd, data):]

    def line(self, text):
        self.send(text + "\n")

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def settings(self):
        """The terminal's modes, to compare"""
        return termios.tcgetattr(self.fd)

    def foreground(self):
        """The process group that Ctrl-C would reach"""
        return os.tcgetpgrp(self.fd)

    def wait(self, seconds=SECONDS):
        """Read to the end; the exit code, negative for a signal"""
        end = time.monotonic() + seconds
        while self.code is None:
            if time.monotonic() > end:
                raise AssertionError(f"{self.argv} still runs; its output is "
                                     f"{self.text[-2000:]!r}")
            if not self._read(min(0.05, end - time.monotonic())):
                _, status = os.waitpid(self.pid, 0)
            else:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if not pid:
                    continue
            self.code = os.waitstatus_to_exitcode(status)
        while select.select([self.fd], [], [], 0)[0] and self._read(0):
            pass
        return self.code
