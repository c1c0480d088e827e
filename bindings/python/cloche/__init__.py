# SPDX-License-Identifier: Apache-2.0
"""Run commands in a sandbox that the Linux kernel enforces

    box = Sandbox({"network": {"allowedDomains": ["registry.example.org"]}},
                  on_violation=lambda v: print("refused:", v["target"]))
    done = box.run(["make", "test"])
    print(done.status, done.stdout, done.violations)
"""

from ._native import ClocheError, version
from ._run import Question, Result, Run
from ._sandbox import Sandbox, Session
from ._settings import (add_to_excluded_commands, convert_to_runtime_config,
                        delete_secret, get_excluded_commands, get_mode,
                        get_violations, is_supported_platform, list_secrets,
                        remove_violation_tags, set_mode, set_secret)

__all__ = ["ClocheError", "Question", "Result", "Run", "Sandbox",
           "Session", "version",
           "add_to_excluded_commands", "convert_to_runtime_config",
           "delete_secret", "get_excluded_commands", "get_mode", "get_violations",
           "is_supported_platform", "list_secrets", "remove_violation_tags",
           "set_mode", "set_secret"]
