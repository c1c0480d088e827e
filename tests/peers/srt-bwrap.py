# SPDX-License-Identifier: Apache-2.0
"""tests/peers/srt-bwrap.py - the real srt, on the real bwrap and on ours

sandbox-runtime runs `bwrap` from the PATH. With ours first on it, the same
commands under the same settings must do the same.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

BIN = os.path.dirname(CLOCHE)
SRT = BIN + "/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js"

SETTINGS = {
    "nothing": {},
    "a place to write": {"allowWrite": ["."]},
    "and one in it that is not": {"allowWrite": ["."], "denyWrite": ["a"]},
    "a hidden directory": {"allowWrite": ["."], "denyRead": ["secret"]},
    "a hidden file, shown in part": {"allowWrite": ["."],
                                     "denyRead": ["secret", "a/file"],
                                     "allowRead": ["secret/open"]},
}
SCRIPT = """
for f in file a/file secret/file secret/open/file .bashrc .git/config; do
    cat $f 2>/dev/null && echo "read $f"
    (echo x >> $f) 2>/dev/null && echo "write $f"
done
(: > new) 2>/dev/null && echo new
id -u; ps -e | wc -l; ls /dev | tr '\\n' ' '; grep -E 'Cap|NoNew|Seccomp:' /proc/self/status
echo "$HTTP_PROXY" | sed 's/:[^:@]*@/@/; s/[0-9]*$//'
curl -s -o /dev/null -w '%{http_code}\\n' http://refused.example/
exit 7
"""


def srt(t, settings, bwrap):
    """Run srt with this bwrap first on PATH, and say that it was used"""
    for name in ("file", "a/file", "secret/file", "secret/open/file",
                 ".bashrc", ".git/config"):
        t.write(name, name + "\n")
    if t.exists("new"):
        os.unlink("new")
    here = t.away + "/path"
    shutil.rmtree(here, ignore_errors=True)
    t.write(here + "/bwrap", f"#!/bin/sh\necho used >> {t.away}/used\n"
                             f'exec {bwrap} "$@"\n', 0o755)
    file = t.write(t.away + "/srt.json", json.dumps({
        "network": {"allowedDomains": ["example.org"], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": [],
                       **settings}}))
    r = t.outside("node", SRT, "-s", file, "-c", SCRIPT, timeout=RUN_SECONDS,
                  env={"PATH": here + ":" + os.environ["PATH"]})
    contains(t.read(t.away + "/used"), "used")
    os.unlink(t.away + "/used")
    return r


def compare(t, name):
    if not os.path.exists(SRT):
        skip("needs srt, which tests/peers/run gets from npm")
    for program in ("node", "socat", "rg", "curl"):
        need(program)
    want = srt(t, SETTINGS[name], need("bwrap"))
    got = srt(t, SETTINGS[name], BIN + "/bwrap")
    contains(want.out, "read file", "the control", repr(want))
    equal((got.code, got.out), (want.code, want.out), name, got.err)


def declare(name):
    def compared(t):
        compare(t, name)
    compared.__name__ = "srt_is_the_same_with_" + name.replace(" ", "_") \
        .replace(",", "")
    test(compared)


for setting in SETTINGS:
    declare(setting)

main()
