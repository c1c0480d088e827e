# SPDX-License-Identifier: Apache-2.0
"""Run commands in a sandbox that the Linux kernel enforces

    box = Sandbox({"network": {"allowedDomains": ["registry.example.org"]}},
                  on_violation=lambda v: print("refused:", v["target"]))
    done = box.run(["make", "test"])
    print(done.status, done.stdout, done.violations)
"""

from ._native import ClocheError, version
from ._run import Question, Result, Run
from ._sandbox import Sandbox

__all__ = ["ClocheError", "Question", "Result", "Run", "Sandbox", "version"]
