# SPDX-License-Identifier: Apache-2.0
"""tests/live/kill.py - SIGKILL to cloche at any moment leaves nothing behind"""

import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

MOMENTS = long(20, 200)
MASKS = 400
MASK_MOMENTS = long(60, 400)
SPREAD = 0.030 * (10 if SANITIZED else 1)	# Start-up lies well inside
SEED = int(os.environ.get("CLOCHE_SEED", "0")) or random.randrange(1 << 30)


# What else a run may have to take down; the first is a run as usual
KINDS = ([], ["--ephemeral"], ["--profile", "home"], ["--net", "none"],
         ["--tier", "landlock"], ["--observe", "off"], ["--net", "host"],
         ["--memory", "1G", "--pids", "100"])


def mounts():
    with open("/proc/self/mountinfo") as file:
        return file.read()


@test(timeout=30 + MOMENTS * 10)
def killing_cloche_at_random_moments_leaves_nothing(t):
    print(f"# CLOCHE_SEED={SEED}")
    dice = random.Random(SEED)
    t.write(".git/hooks/x", "")
    t.write(".vscode/x", "")
    t.write("secret", "S")
    os.mkdir(t.home + "/.config")	# As every home has one
    for kind in KINDS:		# The project's own /tmp is there now
        t.shell("touch $TMPDIR/kept", options=kind).ok()
    before = tree(t.dir), tree(t.home), mounts(), ours_in_tmp()
    for number in range(MOMENTS):
        kind = KINDS[number % len(KINDS)]
        p = subprocess.Popen(
            [CLOCHE, "run", *kind, "--deny-read", "secret", "--", "sh", "-c",
             "sleep 1000 & setsid sleep 1000 & sleep 1000"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        time.sleep(dice.random() * SPREAD)	# The moment is the test
        p.kill()
        p.wait()
        wait_until(lambda: not running(),
                   f"nothing running, after {number}, {kind}")
        equal(tree(t.dir), before[0], "the project", kind)
        equal(mounts(), before[2], "mounts", kind)
    equal(ours_in_tmp() - before[3], set(), "/tmp")
    for kind in KINDS:		# The next run tidies up what is our own
        t.shell("true", options=kind).ok()
    home = {k for k in tree(t.home) if k not in before[1]}
    home.discard(".local/state/cloche")	# Ours, and empty: it may stay
    equal(home, set(), "the home")


@test(timeout=60 + MASK_MOMENTS * 10)
def killing_cloche_while_masks_are_made_leaves_nothing(t):
    """With many masks, so that cloche is killed while it requests one"""
    for number in range(MASKS):
        t.write(f"secrets/{number}", "S")
    options = ["--deny-read", t.dir + "/secrets/*"]
    begin = time.monotonic()
    t.inside("true", options=options).ok()
    whole = time.monotonic() - begin
    dice = random.Random(SEED)
    for number in range(MASK_MOMENTS):
        p = subprocess.Popen([CLOCHE, "run", *options, "--", "true"],
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        time.sleep(dice.random() * whole)	# The moment is the test
        p.kill()
        p.wait()
        wait_until(lambda: not running(), f"nothing running, after {number}")


ADOPTER = """import os, subprocess, sys
for number in range(int(sys.argv[1])):
    subprocess.run(sys.argv[2:], check=True)
left = [pid for pid in os.listdir("/proc") if pid.isdigit() and pid != "1"
        and not os.path.exists(f"/proc/{pid}/exe")]
print([open(f"/proc/{pid}/comm").read() for pid in left])
"""


ORPHAN = """import os
told, tell = os.pipe()
wait, hold = os.pipe()
if not os.fork():
    if not os.fork():
        os.write(tell, b"%d" % os.getpid())
        os.close(hold)
        os.read(wait, 1)	# Until process 1 is its parent
    os._exit(0)
os.wait()
os.close(hold)
status = f"/proc/{int(os.read(told, 9))}/status"
while "zombie" not in open(status).read():
    pass
"""


@test
def a_container_without_a_reaping_process_1_is_not_filled(t):
    """As with `docker run image sleep infinity`"""
    r = t.outside("unshare", "-Urmpf", "--mount-proc", "/usr/bin/python3", "-c",
                  ADOPTER, "10", CLOCHE, "run", "--", "true")
    equal(r.ok().out, "[]\n")
    r = t.outside("unshare", "-Urmpf", "--mount-proc", "/usr/bin/python3", "-c",
                  ADOPTER, "1", "/usr/bin/python3", "-c", ORPHAN)
    check(r.ok().out != "[]\n", "the control")


@test
def a_run_after_a_killed_one_works(t):
    p = t.start("run", "--", "sh", "-c", "echo ready; sleep 1000")
    equal(p.stdout.readline(), b"ready\n")
    p.kill()
    p.communicate()
    r = t.shell("echo fine")
    equal(r.ok().out, "fine\n")


main()
