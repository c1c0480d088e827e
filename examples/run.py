# SPDX-License-Identifier: Apache-2.0
"""examples/run.py - run a sandboxed command, receive refusals, change its policy

    pip install ./cloche-0.1.0-*.whl && python3 run.py

Does the same as run.c: a write that no rule allows, a host that no rule mentions;
the program then allows the write while the command runs.
"""

import os
import sys

from cloche import Sandbox

DIR = sys.argv[1] if len(sys.argv) > 1 else os.environ["HOME"]
HOST = sys.argv[2] if len(sys.argv) > 2 else "example.com"
SCRIPT = """
try() { (echo hi >"$1/file") 2>/dev/null && echo wrote || echo refused; }
get() { curl -s -o /dev/null -x http://127.0.0.1:3128 "http://$1/"; }
try "$1"
get "$2"
i=0; while [ $i -lt 200 ]; do
	[ "$(try "$1")" = wrote ] && { echo wrote; exit 0; }
	sleep 0.05; i=$((i + 1))
done; exit 1"""


def tell(*words):
    print(*words, file=sys.stderr)


def on_ask(question):
    tell(f"asked: {question.host}:{question.port}")
    for run in running:
        run.start_update({"filesystem": {"allowWrite": [DIR]}}) \
            .add_done_callback(lambda future: tell(
                "update 1:", future.exception() or "in force"))
    question.deny()


box = Sandbox({"filesystem": {"allowWrite": []}}, on_ask=on_ask,
              on_violation=lambda v: tell(
                  f"refused: {v['kind']} {v['target']} ({v['reason']})"))
running = [box.start(["sh", "-c", SCRIPT, "sh", DIR, HOST])]
sys.exit(running[0].wait().status)
