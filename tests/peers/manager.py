# SPDX-License-Identifier: Apache-2.0
"""tests/peers/manager.py - one embedder, with the real srt and with ours

manager.mjs is the embedder; what comes of each of its calls must be the same.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

BIN = os.path.dirname(CLOCHE)
SRT = f"{BIN}/node_modules/@anthropic-ai/sandbox-runtime/dist/index.js"
OURS = f"{BIN}/cloche-node/srt.js"


def story(t, module):
    """What the embedder found, in a fresh project; paths made comparable"""
    place = f"{t.away}/{os.path.basename(module)}"
    os.makedirs(f"{place}/project")
    os.mkdir(f"{place}/away")
    for name in ("away/secret", "project/kept"):
        with open(f"{place}/{name}", "w") as file:
            file.write("text\n")
    r = t.outside("node", f"{os.path.dirname(__file__)}/manager.mjs", module,
                  f"{place}/away", cwd=f"{place}/project", timeout=RUN_SECONDS).ok()
    return json.loads(r.out.replace(place, "PLACE"))


@test(timeout=300)
def srt_manager_and_cloche_behave_alike(t):
    if not os.path.exists(SRT):
        skip("needs npm, for the real srt")
    if not os.path.exists(OURS):
        skip("needs node's headers, for the addon")
    theirs, ours = story(t, SRT), story(t, OURS)
    equal({name: value for name, value in ours.items()
           if value != theirs[name]}, {},
          "not as", {name: value for name, value in theirs.items()
                     if value != ours[name]}, "but")
    # The story itself
    equal(ours["asked"], ["unknown.invalid:80"])
    equal(ours["refused write"]["out"], "refused\n")
    equal(ours["there"], [False, True])


main()
