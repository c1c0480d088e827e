# SPDX-License-Identifier: Apache-2.0
"""tests/live/kept.py - masks and read-only files, when the host changes them"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import *


@test
def a_mask_added_later_hides(t):
    t.write(".claude/settings.local.json", "{}")
    secret = os.path.join(t.away, "secret")
    with open(secret, "w") as file:
        file.write("secret")
    p = t.start("run", "--", "sh", "-c",
                f"cat {secret} && echo; while cat {secret} >&- 2>&-; do "
                f"sleep 0.02; done; while test -r {secret} && "
                f"head -c1 {secret} | grep -q s; do sleep 0.02; done; echo hidden")
    equal(p.stdout.readline(), b"secret\n")
    t.write(".claude/settings.local.json", json.dumps(
        {"sandbox": {"filesystem": {"denyRead": [secret]}}}))
    equal(p.stdout.readline(), b"hidden\n")
    p.communicate()


def has_keeper(pid):
    """True once it has begun: it leaves our session when it is inside"""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        children = file.read().split()
    for child in children:
        try:
            with open(f"/proc/{child}/comm") as file:
                if file.read() == "cloche-keeper\n" and \
                        os.getsid(int(child)) == int(child):
                    return True
        except OSError:
            pass
    return False


@test
def a_mask_talks_again_when_the_host_has_replaced_the_file(t):
    need_fuse()
    os.makedirs(t.home + "/.config")	# Else there is a keeper anyway
    secret = os.path.join(t.away, "secret")
    t.write(secret, "old")
    p = t.start("run", "--deny-read", secret, "--", "sh", "-c",
                f"echo ready; read line; cat {secret}; echo done")
    equal(p.stdout.readline(), b"ready\n")
    wait_until(lambda: has_keeper(p.pid), "the keeper")
    time.sleep(0.1)		# Its first look at everything
    for i in range(50):
        t.write(secret + ".new", f"new {i}")
        os.rename(secret + ".new", secret)
    time.sleep(0.3)		# Its window, which nobody tells the end of
    out, err = p.communicate(b"go\n")
    equal(out, b"done\n")
    contains(err.decode(), "Permission denied")
    equal(targets(records(t), "fs-read"), [secret])


@test
def a_protected_file_that_the_host_replaces_stays_protected(t):
    os.makedirs(t.home + "/.config")	# Else there is a keeper anyway
    t.write(".bashrc", "old")
    p = t.start("run", "--observe", "off", "--", "sh", "-c",
                "echo ready; read line; echo evil > .bashrc; echo done")
    equal(p.stdout.readline(), b"ready\n")
    for i in range(50):
        t.write("new", str(i))
        os.rename(os.path.join(t.dir, "new"), os.path.join(t.dir, ".bashrc"))
    time.sleep(0.3)		# The keeper's window, which nobody tells the end of
    p.communicate(b"go\n")
    equal(t.read(".bashrc"), "49")


main()
