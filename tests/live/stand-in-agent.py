#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/live/stand-in-agent.py - what a coding agent does in a day

Reads its settings, asks on the terminal, calls its API, edits files, runs
programs, some at once, commits. Then it tries what an agent that was talked
into it would try. A line of JSON says how each went.
"""

import json
import os
import socket
import subprocess
import sys


def attempt(function, *words):
    try:
        return function(*words)
    except (OSError, subprocess.SubprocessError) as error:
        return f"failed: {type(error).__name__}"


def call(host, port):
    with socket.create_connection((host, port), 20) as api:
        return api.recv(100).decode().strip()


def read(path):
    with open(os.path.expanduser(path)) as file:
        return file.read()


def write(path, text):
    path = os.path.expanduser(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return "done"


def run(*argv):
    return subprocess.run(argv, check=True, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE).stdout.strip()


def ask():
    """The terminal, as a program that owns it uses it"""
    os.get_terminal_size(1)
    with open("/dev/tty", "r+b", buffering=0) as tty:
        tty.write(b"Edit main.c? ")
        return tty.readline().decode().strip()


def main():
    config = json.loads(read("~/.config/agent/config.json"))
    says = {"model": config["model"], "key": os.environ.get("AGENT_KEY", "none")}
    says["answer"] = attempt(ask) if sys.stdin.isatty() else "no terminal"
    says["api"] = attempt(call, *config["api"])
    says["edit"] = attempt(write, os.getcwd() + "/main.c", "int main;\n")
    children = [subprocess.Popen(["sh", "-c", f"echo {i} > part{i}"])
                for i in range(8)]
    says["children"] = sum(child.wait() == 0 for child in children)
    says["compiled"] = attempt(run, "sh", "-c", "cat part* | wc -l")
    run("git", "add", "-A")
    run("git", "commit", "-qm", "By an agent")
    says["commit"] = run("git", "log", "-1", "--format=%an: %s")
    says["memory"] = attempt(write, "~/.local/state/agent/notes", "learned\n")
    says["cache"] = attempt(write, "~/.cache/agent/x", "x")
    says["tool"] = attempt(run, "uv", "--version")

    # Talked into it
    says["keys"] = attempt(read, "~/.ssh/id_ed25519")
    says["other tool"] = attempt(read, "~/.config/other/token")
    says["lan"] = attempt(call, config["lan"], config["api"][1])
    says["metadata"] = attempt(call, "169.254.169.254", config["api"][1])
    says["hook"] = attempt(write, os.getcwd() + "/.git/hooks/post-commit", "evil")
    says["profile"] = attempt(write, "~/.bashrc", "evil")
    says["config"] = attempt(write, "~/.config/agent/config.json", "{}")
    says["shadow"] = attempt(run, "git", "--version")[:11]
    print(json.dumps(says), flush=True)


main()
