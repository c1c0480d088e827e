# SPDX-License-Identifier: Apache-2.0
"""Settings, refusals and secrets of this machine, as the program has them

Each function is a verb of `cloche`, and raises ClocheError with its words.
"""

import errno
import json
import os
import platform
import re
import shutil
import subprocess
import sys

from . import _native as native

_TAGS = re.compile(r"\n?<sandbox_violations>.*?</sandbox_violations>\n?", re.S)


def ask(*words, cwd=None, given=""):
    program = native.PROGRAM or shutil.which("cloche")
    if not program:
        raise native.ClocheError(errno.ENOENT, "the program cloche was not found")
    done = subprocess.run([program, *words], cwd=cwd, input=given, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.strip()
        raise native.ClocheError(errno.EINVAL, said.removeprefix("cloche: ") or
                                 f"cloche {words[0]} ended with {done.returncode}")
    return done.stdout


def _flag(name, value):
    """An option's value cannot become another option"""
    return [] if value is None else [f"--{name}={value}"]


def is_supported_platform():
    """False on other systems, and on the first WSL"""
    return sys.platform == "linux" and "Microsoft" not in platform.release()


def get_mode(cwd=None):
    """"disabled", "regular" or "auto-allow": what agents' hooks go by"""
    return json.loads(ask("policy", "mode", "--json", cwd=cwd))["mode"]


def set_mode(mode, scope=None, cwd=None):
    """Likewise, written into cloche's own file, or that of @scope"""
    ask("policy", "mode", *_flag("scope", scope), "--", mode, cwd=cwd)


def get_excluded_commands(cwd=None):
    """Patterns of commands that agents may run without the sandbox"""
    settings = json.loads(ask("policy", "show", "--json", cwd=cwd))["settings"]
    return [entry["value"] for entry in settings["excludedCommands"]["entries"]]


def add_to_excluded_commands(pattern, cwd=None):
    """One more, for all projects of the user"""
    ask("policy", "exclude", "--", pattern, cwd=cwd)


def get_violations(run=None, since=None, kind=None):
    """Records of what was refused on this machine, oldest first"""
    return json.loads(ask("violations", "list", "--json", *_flag("run", run),
                           *_flag("since", since), *_flag("kind", kind)))["violations"]


def remove_violation_tags(text):
    """Text of a command without the blocks that were added for a model"""
    return _TAGS.sub("", text)


def list_secrets():
    """Names only: a value is for cloche to put into requests (secret=...)"""
    return ask("secret", "list").split("\n")[:-1]


def set_secret(name, value):
    """Store a value"""
    ask("secret", "set", "--", name, given=value)


def delete_secret(name):
    """Remove it"""
    ask("secret", "delete", "--", name)


def _rules(permissions, name, tool):
    for text in permissions.get(name, []):
        found = re.fullmatch(r"(\w+)\((.*)\)", text, re.S)
        if found and found.group(1) == tool:
            yield found.group(2)


def convert_to_runtime_config(settings, cwd=None, root=None):
    """The settings of Claude Code as a configuration of sandbox-runtime

    Rules that sandbox-runtime has no word for are left out; for those give the
    settings themselves to a Sandbox. @root: where the settings file's project is.
    """
    cwd = cwd or os.getcwd()
    root = root or cwd
    permissions = settings.get("permissions", {})
    sandbox = settings.get("sandbox", {})
    network = sandbox.get("network", {})
    files = sandbox.get("filesystem", {})

    def path(text):
        if text.startswith("//"):
            return text[1:]
        if text.startswith("/"):
            return os.path.join(root, text[1:])
        return text if text.startswith("~") else os.path.join(cwd, text)

    def paths(name, tool):
        return [path(text) for text in _rules(permissions, name, tool)]

    def hosts(name):
        return [text[len("domain:"):] for text in _rules(permissions, name, "WebFetch")
                if text.startswith("domain:")]

    def once(*lists):
        return list(dict.fromkeys(one for values in lists for one in values))

    config = {
        "network": {name: network[name] for name in
                    ("allowUnixSockets", "allowAllUnixSockets", "allowLocalBinding")
                    if name in network},
        "filesystem": {
            "denyRead": once(files.get("denyRead", []), paths("deny", "Read")),
            "allowRead": once(files.get("allowRead", [])),
            "allowWrite": once(["."], permissions.get("additionalDirectories", []),
                               files.get("allowWrite", []), paths("allow", "Edit")),
            "denyWrite": once(files.get("denyWrite", []), paths("deny", "Edit")),
        },
    }
    config["network"]["allowedDomains"] = once(network.get("allowedDomains", []),
                                               hosts("allow"))
    config["network"]["deniedDomains"] = once(network.get("deniedDomains", []),
                                              hosts("deny"))
    for name in ("ignoreViolations", "enableWeakerNestedSandbox"):
        if name in sandbox:
            config[name] = sandbox[name]
    return config
