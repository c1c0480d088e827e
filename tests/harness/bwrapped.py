# SPDX-License-Identifier: Apache-2.0
"""tests/harness/bwrapped.py - what a command sees in a bwrap's sandbox

REPORT is a script that prints it; facts() makes two such reports comparable.
"""

import os
import re

NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")

# One section for each kind of fact. Not every sandbox of the tests has a /proc.
REPORT = r"""
echo @id; id -u; id -g
echo @where; pwd; echo "$PWD"; umask
echo @env; env | sort | grep -v '^_='
echo @status; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status
echo @fds; ls /proc/$$/fd
echo @made; find / -xdev -path /proc -prune -o -printf '%p %y %m %U %G %l\n' | sort
echo @dev; find /dev -xdev -printf '%p %y %m %l\n' | grep -v ^/dev/pts | sort
echo @net; tail -n +3 /proc/net/dev | sed 's/:.*//'
echo @host; uname -n
echo @namespaces; for n in user mnt pid net ipc uts cgroup; do
readlink /proc/self/ns/$n; done
echo @mounts; cat /proc/self/mountinfo
"""
# A whole disk is the same disk
REPORT_HOST = re.sub("echo @made.*\n", "", REPORT)


def give(number, text):
    """Make @text readable as that descriptor"""
    read, write = os.pipe()
    os.write(write, text)
    os.close(write)
    os.dup2(read, number)
    os.close(read)
    return number


def mount(line):
    """A line of mountinfo without what differs from one run to the next"""
    left, right = line.split(" - ")
    fields = left.split(" ")
    kind, source = right.split(" ")[:2]
    tags = [re.sub(r"\d+", "N", tag) for tag in fields[6:]]
    return (fields[4], kind, source, "*" if kind == "tmpfs" else fields[3],
            sorted(fields[5].split(",")), tags), fields[0], fields[1]


def mounts(lines):
    """Mounts that a path leads to, sorted, without covered ones"""
    found = [mount(line) for line in lines]
    numbers = {number for _, number, _ in found}
    roots = [m for m in found if m[2] not in numbers]

    def top(path):
        at = roots[-1]
        while True:
            below = [m for m in found if m[2] == at[1] and m[0][0] in
                     (path, "/") or m[2] == at[1] and
                     path.startswith(m[0][0] + "/")]
            if not below:
                return at
            at = min(below, key=lambda m: len(m[0][0]))

    return sorted(m[0] for m in found if top(m[0][0]) is m)


def facts(r):
    """The report by section, comparable"""
    found, name = {}, None
    for line in r.out.splitlines():
        if line.startswith("@"):
            name = line
            found[name] = []
        elif name:
            found[name].append(line)
    host = {os.readlink("/proc/self/ns/" + n) for n in NAMESPACES}
    found["@namespaces"] = [
        line if line in host else line.split(":")[0] + " new"
        for line in found.get("@namespaces", [])]
    found["@mounts"] = mounts(found.get("@mounts", []))
    return found
