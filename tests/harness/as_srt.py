# SPDX-License-Identifier: Apache-2.0
"""tests/harness/as_srt.py - cloche called as srt, and settings for it"""

import json
import os

# Else each run would leave a directory in /tmp
os.environ["CLAUDE_TMPDIR"] = "/var/tmp"


def srt(t, *argv, **more):
    return t.run("as", "srt", *argv, **more)


def config(network=None, filesystem=None, **top):
    return {"network": {"allowedDomains": [], "deniedDomains": [],
                        **(network or {})},
            "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": [],
                           **(filesystem or {})}, **top}


def settings(t, what=None, **lists):
    """A settings file outside the project; lists are of the file system"""
    text = json.dumps(what if what is not None else config(filesystem=lists))
    return t.write(t.away + "/srt.json", text)


def shell(t, script, **lists):
    return srt(t, "-s", settings(t, **lists), "-c", script)
