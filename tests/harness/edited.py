# SPDX-License-Identifier: Apache-2.0
"""tests/harness/edited.py - refusals.py, and a command that runs while settings
are edited
"""

import json
import os
import subprocess

from refusals import *

# Does what each line of its input says: reads, writes or moves a path, or waits
# until it can be read, or cannot
INSIDE = r'''
import errno, os, sys, time
def get(path):
    try:
        if os.path.isdir(path): return " ".join(sorted(os.listdir(path)))
        return open(path).read()
    except (FileNotFoundError, PermissionError): return "hidden"
def put(path):
    try: return str(open(path, "a").write("x"))
    except OSError as e: return "refused"
def move(path, to):
    try: os.rename(path, to); return "moved"
    except OSError as e: return errno.errorcode[e.errno]
def flood(path):	# Reads of what is hidden, refused writes, new names
    while True:
        for name, flags in ((path, 0), (path + "/new", os.O_CREAT | os.O_WRONLY),
                            (f"made{os.getpid()}", os.O_CREAT | os.O_WRONLY)):
            try: os.close(os.open(name, flags)); os.unlink(name)
            except OSError: pass
print("ready", flush=True)
for line in sys.stdin:
    what, path, *rest = line.rstrip("\n").split(" ", 2)
    if what == "get": print(get(path), flush=True)
    if what == "put": print(put(path), flush=True)
    if what == "mounts":
        with open("/proc/self/mountinfo") as file: lines = file.readlines()
        print(sum(line.split()[4].startswith(path) for line in lines), flush=True)
    if what == "move": print(move(path, *rest), flush=True)
    if what == "go": os.chdir(path); print("there", flush=True)
    if what == "flood":
        for _ in range(32): os.fork() or flood(path)
        print("flooding", flush=True)
    if what == "keep": held = open(path, "w"); print("kept", flush=True)
    if what == "refused":
        while put(path) != "refused": time.sleep(0.001)
        print(put(path), flush=True)
    if what == "until":
        while (now := get(path)) != rest[0]: time.sleep(0.001)
        print(now, flush=True)
    if what == "watch":     # Can @path be opened before or after @rest?
        seen = "hidden"
        print("watching", flush=True)
        while True:
            for _ in range(50):
                try: os.close(os.open(path, os.O_RDONLY)); seen = "SEEN"
                except OSError: pass
            if get(rest[0]) != "hidden": break
        print(get(rest[0]), get(path), seen, sep=",", flush=True)
'''


class Inside:
    """A command that runs while settings are edited"""

    def __init__(self, t, *options, **more):
        t.write("inside.py", INSIDE)
        self.p = t.start("run", *options, "--", "python3", "inside.py",
                         stdin=subprocess.PIPE, **more)
        equal(self.p.stdout.readline(), b"ready\n")

    def say(self, *words):
        self.p.stdin.write((" ".join(words) + "\n").encode())
        self.p.stdin.flush()

    def answer(self):
        return self.p.stdout.readline().decode().rstrip("\n")

    def ask(self, *words):
        self.say(*words)
        return self.answer()

    def end(self):
        out, err = self.p.communicate()
        equal(self.p.returncode, 0, err)
        return err.decode()


def edit(t, **filesystem):
    """The user's own settings, which no command can write"""
    path = t.write(t.home + "/.claude/settings.json.new", json.dumps(
        {"sandbox": {"filesystem": filesystem}}))
    os.rename(path, path[:-len(".new")])
