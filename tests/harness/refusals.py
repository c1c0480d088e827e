# SPDX-License-Identifier: Apache-2.0
"""tests/harness/refusals.py - tap.py, and what a run has recorded"""

import json
import os

from tap import *


def records(t, *options):
    r = t.run("violations", "list", "--json", *options)
    check(r.code == 0, repr(r))
    found = json.loads(r.out)
    equal(found["version"], 1)
    return found["violations"]


def targets(found, kind):
    return [v["target"] for v in found if v["kind"] == kind]


def wait_for_rejected_edit(p, *parts):
    """Wait for the message that an edit does not count, which contains @parts"""
    while line := p.stderr.readline().decode():
        if "the old ones hold" in line:
            for part in parts:
                contains(line, part)
            return
    check(False, "the run ended without a message about the edit")


def need_fuse():
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        skip(f"/dev/fuse: {error}")


# Reads each file in its arguments until that is refused, and prints it
UNTIL_HIDDEN = """echo ready; read line
for f; do
    while cat $f 2>&-; do sleep 0.02; done
    cat $f && echo open $f
done; echo done"""


def check_hidden(p, secrets):
    """@p runs UNTIL_HIDDEN on @secrets: path, and what makes it"""
    equal(p.stdout.readline(), b"ready\n")
    for secret, make in secrets.items():
        make(secret)
    out, err = p.communicate(b"go\n", timeout=RUN_SECONDS)
    out = out.decode()
    lacks(out, "open", err)
    contains(out, "done")
