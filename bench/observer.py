# SPDX-License-Identifier: Apache-2.0
"""bench/observer.py - the measurements of bench/observer, as Markdown

Runs in the room that tools/as makes. One interleaved run: each workload without
a sandbox, in cloche, in cloche without its observer, in what the kernel alone
takes for both (bench/floor.c), and once under strace -f.
A ratio is the median of the rounds' own ratios, so that a slow minute counts
for both sides.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CLOCHE = os.environ["CLOCHE"]
FLOOR = os.path.dirname(os.path.abspath(__file__)) + "/floor"
FILES = int(os.environ.get("CLOCHE_BENCH_FILES", "5000"))
GIT_FILES = 8000
ROUNDS = int(os.environ.get("CLOCHE_BENCH_ROUNDS", "5"))
WORK_SECONDS = 45	# For one workload: no round begins after that
STRACE_SECONDS = 15
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
         "stderr": subprocess.DEVNULL}


def run(*argv, cwd):
    subprocess.run(argv, cwd=cwd, check=True, **QUIET)


def make_files(root, count):
    for i in range(count):
        path = f"{root}/d{i // 200}/s{i // 20 % 10}"
        os.makedirs(path, exist_ok=True)
        with open(f"{path}/f{i}", "w") as file:
            file.write(f"{i}\n" * 8)


def prepare_tar(room):
    make_files(room + "/tree", FILES)
    run("tar", "cf", "tree.tar", "tree", cwd=room)
    shutil.rmtree(room + "/tree")
    return ["tar", "xf", "tree.tar"], ["rm", "-rf", "tree"]


def prepare_git(room):
    """Between two branches: all the files, and none of them"""
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@x"]
    make_files(room, GIT_FILES)
    run(*git, "init", "-q", cwd=room)
    run(*git, "add", "-A", cwd=room)
    run(*git, "commit", "-qm", "all", cwd=room)
    run(*git, "checkout", "-q", "--orphan", "none", cwd=room)
    run(*git, "rm", "-rfq", ".", cwd=room)
    run(*git, "commit", "-q", "--allow-empty", "-m", "none", cwd=room)
    names = subprocess.run(["git", "branch", "--format=%(refname:short)"],
                           cwd=room, check=True, stdout=subprocess.PIPE,
                           text=True).stdout.split()
    full = [name for name in names if name != "none"][0]
    return ["git", "checkout", "-q", full], ["git", "checkout", "-q", "none"]


def prepare_build(room):
    for i in range(40):
        with open(f"{room}/m{i}.c", "w") as file:
            file.write("#include <stdio.h>\n#include <stdlib.h>\n" + "".join(
                f"int f{i}_{k}(int x) {{ return x * {k} + rand(); }}\n"
                for k in range(200)))
    with open(room + "/Makefile", "w") as file:
        file.write("all: $(patsubst %.c,%.o,$(wildcard *.c))\n")
    return ["make", "-s", "-j2"], ["sh", "-c", "rm -f *.o"]


def prepare_npm(room):
    for i in range(60):
        path = f"{room}/packages/p{i}"
        make_files(path + "/lib", 20)
        with open(path + "/package.json", "w") as file:
            file.write(f'{{"name": "p{i}", "version": "1.0.0"}}')
    names = ", ".join(f'"p{i}": "file:packages/p{i}"' for i in range(60))
    with open(room + "/package.json", "w") as file:
        file.write(f'{{"name": "x", "version": "1.0.0", '
                   f'"dependencies": {{{names}}}}}')
    return (["npm", "install", "--offline", "--no-audit", "--no-fund",
             "--install-links", "--cache", ".cache"],
            ["rm", "-rf", "node_modules", "package-lock.json"])


# Title: how to prepare it, what the observer may cost, and what we want
WORK = {
    f"tar x of {FILES} files": (prepare_tar, 1.8, 1.4),
    f"git checkout of {GIT_FILES} files": (prepare_git, 1.3, 1.3),
    "make -j2, 40 C files": (prepare_build, 1.05, 1.05),
    "npm install, 60 local packages": (prepare_npm, 1.05, 1.05),
}
SANDBOX_MAX = 1.05	# Without the observer, against no sandbox
BARE, OFF, ON, STRACE = ("no sandbox", "cloche --observe off", "cloche",
                         "strace -f")
FLOOR_OFF, FLOOR_ON = "floor, not observed", "floor, observed"
WRAP = {
    BARE: [],
    OFF: [CLOCHE, "run", "--quiet", "--observe", "off", "--"],
    ON: [CLOCHE, "run", "--quiet", "--"],
    FLOOR_OFF: [FLOOR],
    FLOOR_ON: [FLOOR, "-o"],
    STRACE: ["strace", "-f", "-o", "/dev/null"],
}


def seconds(name, command, undo, room):
    start = time.perf_counter()
    try:
        subprocess.run(WRAP[name] + command, cwd=room, check=True,
                       timeout=STRACE_SECONDS if name == STRACE else None,
                       **QUIET)
    except (subprocess.TimeoutExpired, FileNotFoundError):
        if name != STRACE:
            raise
        return None
    finally:
        took = time.perf_counter() - start
        run(*undo, cwd=room)
    return took


def measure(title, room, prepare):
    """{variant: [seconds]}, after a round that counts only if there is no time for
    others
    """
    began = time.monotonic()
    command, undo = prepare(room)
    times = {name: [] for name in WRAP}
    for i in range(ROUNDS + 1):
        passed = time.monotonic() - began
        if i and passed > WORK_SECONDS:
            break
        print(f"bench: {title}: round {i} of {ROUNDS}, {passed:.0f} s",
              file=sys.stderr)
        for name in (BARE, OFF, ON, FLOOR_OFF, FLOOR_ON):
            times[name].append(seconds(name, command, undo, room))
    for values in times.values():
        if len(values) > 1:
            del values[0]
    times[STRACE].append(seconds(STRACE, command, undo, room))
    return times


def ratio(times, name, base):
    return statistics.median(a / b for a, b in zip(times[name], times[base]))


def judge(what, value, most):
    return (f"* {what}: {value:.2f} (at most {most}: "
            f"{'met' if value <= most else 'MISSED'})")


def main():
    began = time.monotonic()
    verdicts = []
    print("| workload | " + " | ".join(f"{name}, ms" for name in WRAP) + " |")
    print("|---|" + "--:|" * len(WRAP))
    for title, (prepare, most, goal) in WORK.items():
        room = tempfile.mkdtemp(prefix="work-", dir=os.environ["HOME"])
        try:
            times = measure(title, room, prepare)
        finally:
            shutil.rmtree(room, ignore_errors=True)
        print(f"| {title} | " + " | ".join(
            "-" if None in values else f"{statistics.median(values) * 1000:.0f}"
            for values in times.values()) + " |")
        sys.stdout.flush()
        cost = ratio(times, ON, OFF)
        verdicts.append(judge(f"{title}: observer on / off", cost, most) +
                        ("" if goal == most else f"; goal {goal}"))
        verdicts.append(judge(f"{title}: sandbox / none",
                              ratio(times, OFF, BARE), SANDBOX_MAX))
        verdicts.append(f"* {title}, the kernel alone: "
                        f"{ratio(times, FLOOR_ON, FLOOR_OFF):.2f} and "
                        f"{ratio(times, FLOOR_OFF, BARE):.2f}")
    print()
    print("\n".join(verdicts))
    print(f"\nAt most {ROUNDS} rounds; all of it took "
          f"{time.monotonic() - began:.0f} s.")


main()
