# SPDX-License-Identifier: Apache-2.0
"""tests/fallback/attack.py - the attacks of tests/attack in the landlock tier

The same attempts, by the same scripts. What fails there is listed here with
the reason, and must keep failing for it: a promise that tier does not make, or
a refusal by another name.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

ATTACK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "attack")
SECONDS = 240

# Puts the option into every run
WRAPPER = """#!/bin/sh
if [ "$1" = run ]; then
    shift
    set -- run --tier landlock "$@"
fi
exec '{cloche}' "$@"
"""

# test: (what its failure must say, why)
FILES = {
    "fchmod_on_inherited_descriptors_is_refused":
        ("Permission denied", "refused by another name"),
    "only_expected_mounts_are_writable":
        ("the control", "there are no mounts of ours to write to"),
    "proc_sys_and_dev_cannot_be_written":
        ("the control .*without '/dev/null", "/dev cannot be listed"),
    "sensitive_files_of_proc_are_empty":
        ("/proc/keys is", "the host's /proc is visible"),
}
KERNEL = {
    "the_session_keyring_is_fresh":
        ("keyring ", "the host's /proc is visible: names of keys"),
    "shared_memory_of_the_host_is_not_visible":
        ("is 'EPERM', not 'ENOENT'", "refused instead of absent"),
    "processes_of_the_host_cannot_be_reached":
        ("'kill .*': 'EPERM'", "refused instead of absent"),
}
SOCKETS = {
    "socketpairs_work":
        ("'tcp-listen': 'EACCES'", "no server can listen"),
    "net_none_has_only_loopback":
        (r"is \['lo', ", "the host's interfaces have names"),
}


# The same for root as for a user, and it takes a while
for_all = test_if(not IS_ROOT or LONG)


def attack(t, script, exceptions):
    t.write(t.away + "/cloche", WRAPPER.format(cloche=CLOCHE), 0o755)
    env = {**os.environ, "CLOCHE": t.away + "/cloche", "TEST_FILTER": ""}
    r = subprocess.run(["/usr/bin/python3", f"{ATTACK}/{script}.py"], text=True,
                       capture_output=True, env=env, timeout=SECONDS)
    blocks = re.findall(r"((?:^#.*\n)*)^(not ok|ok) \d+ - (\w+)", r.stdout, re.M)
    check(len(blocks) > len(exceptions), script, r.stdout, r.stderr)
    failed = {name: words for words, result, name in blocks
              if result == "not ok"}
    equal(set(failed), set(exceptions), script, failed)
    for name, (words, why) in exceptions.items():
        check(re.search(words, failed[name]), name, why, failed[name])


@for_all
def file_attacks_fail_in_the_landlock_tier(t):
    attack(t, "files", FILES)


@test
def kernel_attacks_fail_in_the_landlock_tier(t):
    attack(t, "kernel", KERNEL)


@for_all
def socket_attacks_fail_in_the_landlock_tier(t):
    attack(t, "sockets", SOCKETS)


main()
