# SPDX-License-Identifier: Apache-2.0
"""tests/live/tls-exposure.py - cloche-tls, which has the values, as other processes see it"""

import ctypes
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

VALUE = "plain-words-of-a-value-77"
PTRACE_SEIZE = 0x4206
libc = ctypes.CDLL(None, use_errno=True)


def limits(pid):
    """The soft and the hard limit of core dumps"""
    with open(f"/proc/{pid}/limits") as file:
        return [line.split()[4:6] for line in file if line.startswith("Max core file size")][0]


def seizes(pid):
    if libc.ptrace(PTRACE_SEIZE, pid, None, None) < 0:
        return os.strerror(ctypes.get_errno())
    return "seized"


def opened(path):
    try:
        with open(path, "rb", 0) as file:
            return len(file.read(1))
    except OSError as e:
        return os.strerror(e.errno)


def start(t, command):
    p = t.start("run", "--secret", "A@api.example.org", "--", "sh", "-c", command,
                env={**os.environ, "A": VALUE})
    equal(p.stdout.readline(), b"ready\n")
    pid, = subprocess.run(["pgrep", "-P", str(p.pid), "-x", "cloche-tls"],
                          capture_output=True, text=True).stdout.split()
    return p, int(pid)


@test
def the_command_cannot_trace_cloche_tls(t):
    """Not even another process of the same user; root may do anything"""
    p, pid = start(t, "echo ready; read x")
    check(set(limits(pid)) <= {"0", "1"}, limits(pid))
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        lacks(file.read().decode("latin-1"), VALUE)
    if not IS_ROOT:
        for name in ("environ", "mem", "maps", "auxv"):
            equal(opened(f"/proc/{pid}/{name}"), "Permission denied", name)
        equal(seizes(pid), "Operation not permitted")
        check(os.stat(f"/proc/{pid}/mem").st_uid != os.getuid(), "it is dumpable")
    p.communicate(b"\n")
    # The control: a child of ours, which has the value too
    child = subprocess.Popen(["/bin/sh", "-c", "echo; read x"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, env={"A": VALUE})
    equal(child.stdout.readline(), b"\n")
    equal(opened(f"/proc/{child.pid}/environ"), 1)
    equal(seizes(child.pid), "seized")
    equal(os.stat(f"/proc/{child.pid}/mem").st_uid, os.getuid())
    child.kill()
    child.wait()


@test
def the_command_sees_neither_the_process_nor_a_core(t):
    p, pid = start(t, f"""echo ready; read x; ulimit -Hc; ulimit -c unlimited 2>&1 | head -c 1; echo
ls /proc | grep -c '^[0-9]'; for p in /proc/[0-9]*; do cat $p/comm; done
sh -c 'kill -SEGV $$'; ls; cat /proc/sys/kernel/core_pattern >/dev/null""")
    out, err = p.communicate(b"\n")
    equal(out.decode().splitlines()[0], "0")
    lacks(out.decode(), "cloche-tls")
    lacks(out.decode(), "core\n")
    lacks((out + err).decode(), VALUE)


main()
