# SPDX-License-Identifier: Apache-2.0
"""bench/measure.py - the measurements of bench/startup, as Markdown

Runs in the room that tools/as makes, as an ordinary user: ./bin holds cloche,
the timer and, if it could be had, srt. Every table is one interleaved run.
"""

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time

BIN = os.path.dirname(os.path.abspath(__file__))
CLOCHE = os.environ["CLOCHE"]
ROUNDS = int(os.environ.get("CLOCHE_BENCH_ROUNDS", "200"))
SLOW = int(os.environ.get("CLOCHE_BENCH_SLOW", "20"))
SRT = BIN + "/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js"
OUR_BWRAP = BIN + "/bwrap"
FLOOR = BIN + "/floor"
HOME = os.environ["HOME"]

# What srt protects in a project, and so do we: both get the same ten
PROTECTED = (".git/hooks/", ".git/config", ".vscode/", ".idea/",
             ".claude/commands/", ".claude/agents/", ".bashrc", ".gitconfig",
             ".mcp.json", ".gitmodules")
TREE_FILES = 100000


def make(path):
    """A file, or a directory if @path ends in a slash"""
    os.makedirs(path if path.endswith("/") else os.path.dirname(path),
                exist_ok=True)
    if not path.endswith("/"):
        open(path, "w").close()


def project(name):
    path = f"{HOME}/{name}"
    os.makedirs(path)
    for part in PROTECTED:
        make(f"{path}/{part}")
    return path


def measure(variants, cwd):
    """variants: {name: (rounds, argv)}; {name: [microseconds]}"""
    feed = "".join("\t".join([name, str(rounds), *argv]) + "\n"
                   for name, (rounds, argv) in variants.items())
    out = subprocess.run([BIN + "/timer"], input=feed, text=True, cwd=cwd,
                         stdout=subprocess.PIPE, check=True).stdout
    times = {name: [] for name in variants}
    for line in out.splitlines():
        name, wall, _, code = line.split("\t")
        if code != "0":
            sys.exit(f"bench: '{name}' ended with {code}")
        times[name].append(int(wall))
    return times


def median(times):
    return statistics.median(times)


def p95(times):
    return sorted(times)[math.ceil(len(times) * 0.95) - 1]


def tenth(times):
    """The mean of the fastest tenth, which a busy machine changes least"""
    return statistics.mean(sorted(times)[:max(1, len(times) // 10)])


def table(times, bases):
    """Rows of medians, and their ratios to each of the bases"""
    print("| command | runs | median ms | p95 ms |" +
          "".join(f" x {b} |" for b in bases))
    print("|---|--:|--:|--:|" + "--:|" * len(bases))
    for name, values in times.items():
        ratios = "".join(f" {median(values) / median(times[b]):.2f} |"
                         for b in bases)
        print(f"| {name} | {len(values)} | {median(values) / 1000:.2f} | "
              f"{p95(values) / 1000:.2f} |{ratios}")
    print()


def goal(words, value, limit):
    mark = "met" if value <= limit else "MISSED"
    print(f"* {words}: {value:.4g} (at most {limit:.4g}: {mark})")


def floor(words, value):
    """What the kernel alone takes for the same (bench/floor.c)"""
    print(f"* {words}, the kernel alone: {value:.4g}")


def bwrap(program, cwd, *command, protected=PROTECTED):
    """srt's argument list, and the isolation that it leaves out"""
    words = [program, "--new-session", "--die-with-parent", "--unshare-net",
             "--ro-bind", "/", "/", "--bind", cwd, cwd]
    for part in protected:
        path = f"{cwd}/{part}".rstrip("/")
        words += ["--ro-bind", path, path]
    return words + ["--dev", "/dev", "--unshare-pid", "--unshare-user",
                    "--cap-drop", "ALL", "--proc", "/proc", "--unshare-ipc",
                    "--unshare-uts", "--", *command]


# A home after some years: keys, tokens, a browser's profile, dotfiles
SECRET_DIRS = (".ssh", ".gnupg", ".aws", ".kube", ".docker", ".mozilla",
               ".config/google-chrome", ".config/gcloud", ".local/share/keyrings")
SECRET_FILES = (".netrc", ".git-credentials", ".pypirc", ".vault-token", ".pgpass")
SECRETS = (*SECRET_FILES, ".ssh/id_ed25519", ".ssh/id_rsa", ".ssh/known_hosts",
           ".gnupg/private-keys-v1.d/k", ".aws/credentials", ".kube/config",
           ".docker/config.json", ".mozilla/firefox/p/logins.json",
           ".config/google-chrome/Default/Cookies", ".config/gcloud/credentials.db",
           ".local/share/keyrings/login.keyring")
DOTFILES = (*(f".tool{i}rc" for i in range(20)), ".bashrc", ".profile", ".zshrc",
            ".vimrc", ".tmux.conf", ".inputrc", ".gitconfig", ".wgetrc", ".psqlrc",
            ".bash_history")
NESTED = ("", "vendor/one/", "vendor/two/", "packages/three/")


def realistic():
    """The first row: what a user waits for, in a home that is one"""
    # The account's own: with $HOME elsewhere, what both homes have would be hidden
    home = HOME
    cwd = f"{home}/src/project"
    for part in (*SECRETS, *DOTFILES):
        make(f"{home}/{part}")
    for repository in NESTED:
        os.makedirs(f"{cwd}/{repository}", exist_ok=True)
        subprocess.run(["git", "init", "-q", f"{cwd}/{repository}"], check=True)
        make(f"{cwd}/{repository}src/main.c")
    variants = {
        "cloche true": (ROUNDS, [CLOCHE, "run", "--", "true"]),
        "cloche --no-record true": (ROUNDS, [CLOCHE, "run", "--no-record", "--", "true"]),
        "cloche --net none true": (ROUNDS, [CLOCHE, "run", "--net", "none", "--", "true"]),
        "cloche --observe off true": (ROUNDS, [CLOCHE, "run", "--observe", "off", "--",
                                               "true"]),
    }
    if shutil.which("bwrap"):
        words = ["--tmpfs", "/tmp"]
        for path in SECRET_DIRS:
            words += ["--tmpfs", f"{home}/{path}"]
        for path in SECRET_FILES:
            words += ["--ro-bind", "/dev/null", f"{home}/{path}"]
        for repository in NESTED:
            for part in (".git/hooks", ".git/config", ".git/info"):
                words += ["--ro-bind", *[f"{cwd}/{repository}{part}"] * 2]
        # The kernel alone: the same mounts, and what Landlock must know of the files
        # beside hidden ones
        options = [w for path in (*SECRET_DIRS, *SECRET_FILES) for w in ("-h", f"{home}/{path}")]
        options += [w for repository in NESTED for part in (".git/hooks", ".git/config", ".git/info")
                    for w in ("-r", f"{cwd}/{repository}{part}")]
        beside = {os.path.dirname(f"{home}/{path}") for path in (*SECRET_DIRS, *SECRET_FILES)}
        options += [w for top in sorted(beside) for entry in os.scandir(top)
                    if entry.path[len(home) + 1:] not in (*SECRET_DIRS, *SECRET_FILES)
                    for w in ("-a", entry.path)]
        variants["floor true"] = (ROUNDS, [FLOOR, "-o", *options, "true"])
        plain = bwrap("bwrap", cwd, "true", protected=())
        at = plain.index("--dev")
        variants["bwrap true"] = (ROUNDS, [*plain[:at], *words, *plain[at:]])
    times = measure(variants, cwd)
    print("## A command in a home of years\n")
    print("16 secrets, 30 dotfiles, a repository with 3 others in it. bubblewrap has the "
          "same isolation: what cloche hides is hidden, what it protects is read-only.\n")
    table(times, ["cloche true"])
    goal("cloche true / cloche --no-record true, their fastest tenths",
         tenth(times["cloche true"]) / tenth(times["cloche --no-record true"]), 1.02)
    if "bwrap true" in times:
        goal("cloche true / bwrap true",
             median(times["cloche true"]) / median(times["bwrap true"]), 0.55)
        floor("true / bwrap true",
              median(times["floor true"]) / median(times["bwrap true"]))
    print("* Without an observer nothing tells whether a protected name was made, so "
          "all of them are looked for before and after the command\n")


def start_up():
    cwd = project("start")
    run = [CLOCHE, "run", "--"]
    none = [CLOCHE, "run", "--net", "none", "--"]
    variants = {
        "true": (ROUNDS, ["true"]),
        "bash -c true": (ROUNDS, ["bash", "-c", "true"]),
        "cloche true": (ROUNDS, [*run, "true"]),
        "cloche --net none true": (ROUNDS, [*none, "true"]),
        "cloche bash": (ROUNDS, [*run, "bash", "-c", "true"]),
        "cloche --net none bash": (ROUNDS, [*none, "bash", "-c", "true"]),
        "floor true": (ROUNDS, [FLOOR, "-o", "true"]),
        "floor bash": (ROUNDS, [FLOOR, "-o", "bash", "-c", "true"]),
    }
    if shutil.which("bwrap"):
        variants["bwrap true"] = (ROUNDS, bwrap("bwrap", cwd, "true"))
        variants["bwrap bash"] = (ROUNDS, bwrap("bwrap", cwd, "bash", "-c",
                                                "true"))
        variants["cloche's bwrap true"] = (ROUNDS, bwrap(OUR_BWRAP, cwd,
                                                         "true"))
        variants["bwrap --ro-bind / / true"] = (ROUNDS, [
            "bwrap", "--ro-bind", "/", "/", "true"])
        variants["cloche's bwrap --ro-bind / / true"] = (ROUNDS, [
            OUR_BWRAP, "--ro-bind", "/", "/", "true"])
    if shutil.which("firejail"):
        variants["firejail true"] = (SLOW, [
            "firejail", "--quiet", "--noprofile", "--net=none", "true"])
    if os.path.exists(SRT):
        variants["srt true"] = (SLOW, ["node", SRT, "true"])
    times = measure(variants, cwd)
    print("## One command\n")
    table(times, ["true", "bash -c true"])
    m = {name: median(values) for name, values in times.items()}
    if "bwrap true" in m:
        goal("cloche --net none true / bwrap with the same isolation, true",
             m["cloche --net none true"] / m["bwrap true"], 0.6)
        goal("cloche true (filtered network) / bwrap true",
             m["cloche true"] / m["bwrap true"], 0.6)
        goal("cloche's bwrap / bwrap, the same arguments",
             m["cloche's bwrap true"] / m["bwrap true"], 0.6)
        goal("the same with --ro-bind / / alone",
             m["cloche's bwrap --ro-bind / / true"] /
             m["bwrap --ro-bind / / true"], 0.8)
    goal("cloche --net none bash / plain bash",
         m["cloche --net none bash"] / m["bash -c true"], 2.5)
    floor("bash / plain bash", m["floor bash"] / m["bash -c true"])
    if "srt true" in m:
        goal("cloche true / srt true", m["cloche true"] / m["srt true"], 1 / 80)
    print()


def joins():
    """A command in a living session, beside one that builds its sandbox"""
    cwd = project("joins")
    run = [CLOCHE, "run", "--session", "bench", "--"]
    variants = {
        "true": (ROUNDS, ["true"]),
        "bash -c true": (ROUNDS, ["bash", "-c", "true"]),
        "joined true": (ROUNDS, [*run, "true"]),
        "joined bash": (ROUNDS, [*run, "bash", "-c", "true"]),
        "cloche --version": (ROUNDS, [CLOCHE, "--version"]),
        "cloche true": (ROUNDS, [CLOCHE, "run", "--", "true"]),
    }
    subprocess.run([*run, "true"], cwd=cwd, check=True)
    try:
        times = measure(variants, cwd)
    finally:
        subprocess.run([CLOCHE, "session", "stop", "bench"], check=True)
    print("## A command in a living session\n")
    table(times, ["true", "bash -c true"])
    m = {name: median(values) for name, values in times.items()}
    goal("joined true / plain true", m["joined true"] / m["true"], 2.5)
    goal("joined bash / plain bash", m["joined bash"] / m["bash -c true"], 2)
    # Our own program, then the command, one after the other
    floor("joined true / plain true", (m["cloche --version"] + m["true"]) / m["true"])
    floor("joined bash / plain bash",
          (m["cloche --version"] + m["bash -c true"]) / m["bash -c true"])
    print()


# What a home has of the things that profile home gives back
LIVED_IN = (".config/gh/hosts.yml", ".local/share/uv/x", ".local/share/keyrings/x",
            ".cache/pip/x", ".cache/uv/x", ".npm/_cacache/x",
            ".cargo/registry/x", ".local/bin/uv", ".ssh/id", ".aws/credentials",
            ".bash_history", ".gitconfig")


def homes():
    """Profile home against the default, in a home with keys and dotfiles"""
    home = f"{HOME}/lived-in"
    cwd = f"{home}/project"
    os.makedirs(cwd)
    for part in LIVED_IN:
        make(f"{home}/{part}")
    variants = {}
    for net in ("none", "filtered"):
        for profile in ("default", "home"):
            variants[f"--profile {profile} --net {net}"] = (ROUNDS, [
                "env", f"HOME={home}", CLOCHE, "run", "--profile", profile,
                "--net", net, "--", "true"])
    times = measure(variants, cwd)
    print("## Profiles\n")
    base = "--profile default --net none"
    table(times, [base])
    for net in ("none", "filtered"):
        goal(f"profile home / default, --net {net}",
             median(times[f"--profile home --net {net}"]) /
             median(times[f"--profile default --net {net}"]), 1.5)
    print()


def rules():
    """More rules: of paths that are there, and of paths that are not"""
    cwd = project("rules")
    variants = {}
    for kind in ("missing", "existing"):
        for count in (1, 100, 1000):
            paths = [f"{HOME}/{kind}-{i}" for i in range(count)]
            if kind == "existing":
                for path in paths:
                    make(path)
            file = f"{HOME}/{kind}-{count}.json"
            with open(file, "w") as out:
                json.dump({"filesystem": {"denyRead": paths,
                                          "allowWrite": ["."]}}, out)
            variants[f"{count} rules, {kind} paths"] = (
                ROUNDS, [CLOCHE, "run", "--quiet", "--net", "none", "-s", file,
                         "--", "true"])
    times = measure(variants, cwd)
    print("## Rules\n")
    table(times, ["1 rules, missing paths", "1 rules, existing paths"])
    for kind in ("missing", "existing"):
        goal(f"1000 rules / 1 rule, {kind} paths",
             median(times[f"1000 rules, {kind} paths"]) /
             median(times[f"1 rules, {kind} paths"]), 2)
    print()


def large_tree():
    """The search for protected names, against srt's ripgrep call"""
    small, large = project("small"), project("large")
    for i in range(TREE_FILES):
        path = f"{large}/d{i % 100}/e{i % 1000 // 100}/f{i}"
        if i < 1000:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").close()
    run = [CLOCHE, "run", "--net", "none", "--cwd"]
    rounds = max(10, ROUNDS // 4)
    variants = {"cloche, 12 files": (rounds, [*run, small, "--", "true"]),
                f"cloche, {TREE_FILES} files": (rounds, [*run, large, "--", "true"])}
    if shutil.which("rg"):
        variants["ripgrep as srt calls it"] = (rounds, [
            "rg", "--files", "--hidden", "--no-ignore", "--no-config",
            "--max-depth", "4", "--iglob", ".bashrc", "--iglob", ".gitconfig",
            "--iglob", ".mcp.json", "--iglob", "**/.vscode/**", "--iglob",
            "**/.git/hooks/**", "-g", "!**/node_modules/**", large])
    times = measure(variants, small)
    print(f"## A project of {TREE_FILES} files\n")
    table(times, ["cloche, 12 files"])
    names = list(variants)
    if len(names) == 3:
        walk = median(times[names[1]]) - median(times[names[0]])
        goal("our walk / ripgrep's", walk / median(times[names[2]]), 0.4)
    print()


def processes(top):
    """(pid, resident KiB, name) of @top and all below it"""
    found = []
    with open(f"/proc/{top}/status") as file:
        fields = dict(line.split(":\t", 1) for line in file if ":\t" in line)
    found.append((top, int(fields.get("VmRSS", "0 kB").split()[0]),
                  fields["Name"].strip()))
    with open(f"/proc/{top}/task/{top}/children") as file:
        for pid in file.read().split():
            found += processes(int(pid))
    return found


def footprint():
    cwd = project("memory")
    p = subprocess.Popen([CLOCHE, "run", "--", "sh", "-c",
                          "echo up; exec sleep 1000"], cwd=cwd,
                         stdout=subprocess.PIPE)
    p.stdout.readline()
    found = processes(p.pid)
    p.terminate()
    p.wait()
    print("## While a command runs\n")
    for _, resident, name in found:
        print(f"* {name}: {resident} KiB resident")
    print(f"* processes, the command's included: {len(found)}")
    goal("resident MiB of the supervisor", found[0][1] / 1024, 4)
    print()


def work():
    """Whole jobs, outside and inside, taking turns. The short ones are done
    several times in a row: what starting costs is in the first table.
    """
    cwd = project("work")
    shutil.rmtree(cwd + "/.git")
    subprocess.run(["git", "init", "-q", cwd], check=True)
    for i in range(60):
        with open(f"{cwd}/f{i}.c", "w") as file:
            file.write("#include <stdio.h>\n#include <stdlib.h>\n"
                       f"int f{i}(int x) {{ return printf(\"%d\", x + {i}); }}\n")
    with open(cwd + "/Makefile", "w") as file:
        file.write("all: $(patsubst %.c,%.o,$(wildcard *.c))\n")
    make(cwd + "/dep/index.js")
    with open(cwd + "/dep/package.json", "w") as file:
        file.write('{"name": "dep", "version": "1.0.0"}')
    jobs = {
        "make -j2": "rm -f *.o; make -s -j2",
        "20 x git commit": "for i in {1..20}; do echo x >> notes; git add -A; "
                           "git -c user.name=a -c user.email=a@x -c gc.auto=0 "
                           "commit -qm x; done",
        "npm install": "rm -rf node_modules package-lock.json; npm install "
                       "--silent --no-audit --no-fund ./dep",
        "5 x python3 -m venv": "for i in {1..5}; do rm -rf v; /usr/bin/python3 "
                               "-m venv --without-pip v; done",
    }
    if not shutil.which("npm"):
        del jobs["npm install"]
    variants = {}
    for name, script in jobs.items():
        variants[name] = (SLOW, ["bash", "-c", script])
        variants[name + ", inside"] = (
            SLOW, [CLOCHE, "run", "--quiet", "--", "bash", "-c", script])
        variants[name + ", floor"] = (SLOW, [FLOOR, "-o", "bash", "-c", script])
    times = measure(variants, cwd)
    print("## Whole jobs\n")
    table(times, ["make -j2"])
    for name in jobs:
        goal(f"{name}: inside / outside",
             median(times[name + ", inside"]) / median(times[name]), 1.05)
        floor(name, median(times[name + ", floor"]) / median(times[name]))
    print()


def main(parts):
    start = time.monotonic()
    for name in (".cache", ".config", ".local/state"):  # As every home has
        os.makedirs(os.path.join(os.environ["HOME"], name), exist_ok=True)
    for part in parts:
        print(f"bench: {part.__name__}, {time.monotonic() - start:.0f} s",
              file=sys.stderr)
        part()
    if realistic not in parts:
        print(f"All of it took {time.monotonic() - start:.0f} s.")


# The first table has a home to itself
main([realistic] if "--home" in sys.argv else
     [start_up, joins, homes, rules, large_tree, footprint, work])
