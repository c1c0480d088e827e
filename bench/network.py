# SPDX-License-Identifier: Apache-2.0
"""bench/network.py - the measurements of bench/network, as Markdown

Runs in the room that tools/as makes, as an ordinary user: ./bin holds cloche,
netload and, if it could be had, srt. Every round runs every path once; the
table has medians, and ratios to direct.
"""

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

BIN = os.path.dirname(os.path.abspath(__file__))
NETLOAD = BIN + "/netload"
FLOOR = BIN + "/floor"
CLOCHE = os.environ["CLOCHE"]
ROUNDS = int(os.environ.get("CLOCHE_BENCH_ROUNDS", "5"))
SRT = BIN + "/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js"
HOME = os.environ["HOME"]
PROJECT = HOME + "/project"
SECONDS = 20			# For one path in one mode
ALL_SECONDS = 180		# No round begins after that
PROXY = ["proxy", "127.0.0.1", "3128"]

# [mode, amount, result, better is more]
TESTS = [("down", "2000000000", "gib", True), ("up", "2000000000", "gib", True),
         ("connect", "500", "p50", False), ("connect", "500", "p99", False),
         ("keep", "20000", "rps", True), ("close", "1000", "rps", True),
         ("parallel", "500", "served", True)]
SLOW = {"srt": {"down": "200000000", "up": "200000000", "connect": "100",
                "keep": "2000", "close": "200"}}


def own_address():
    """An address of this machine that is not loopback, or None"""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        s.connect(("192.0.2.1", 9))	# Sends nothing
        return s.getsockname()[0]
    except OSError:
        return None


def paths(port, address):
    """{name: (argv in front, host, port, proxy words)}"""
    found = {"direct": ([], "127.0.0.1", port, [])}
    cloche = [CLOCHE, "run", "--no-settings", "--quiet"]
    found["cloche proxy"] = ([*cloche, "--allow", f"127.0.0.1:{port}", "--"],
                             "127.0.0.1", port, PROXY)
    if address:
        found["cloche capture"] = (
            [*cloche, "--allow", f"{address}:{port}", "--"], address, port, [])
    if os.path.exists(SRT) and shutil.which("node"):
        settings = HOME + "/srt.json"
        with open(settings, "w") as file:
            json.dump({"network": {"allowedDomains": ["127.0.0.1"],
                                   "deniedDomains": []},
                       "filesystem": {"denyRead": [], "allowWrite": ["."],
                                      "denyWrite": []}}, file)
        found["srt"] = (["node", SRT, "--settings", settings], "127.0.0.1",
                        port, PROXY)
    if shutil.which("socat"):
        script = (f'sock={HOME}/relay.sock; rm -f $sock; '
                  f'socat UNIX-LISTEN:$sock,fork TCP:127.0.0.1:{port} & outer=$!; '
                  'while [ ! -S $sock ]; do :; done; '
                  'unshare -rn sh -c \'ip link set lo up; '
                  f'socat TCP-LISTEN:{port},fork,reuseaddr,backlog=512 '
                  'UNIX-CONNECT:"$0" & inner=$!; sleep 0.3; "$@"; r=$?; '
                  'kill $inner; exit $r\' $sock "$@"; r=$?; kill $outer; exit $r')
        found["socat x2"] = (["sh", "-c", script, "sh"], "127.0.0.1", port, [])
    if shutil.which("pasta"):
        found["pasta"] = (["pasta", "-q", "-T", str(port), "--"], "127.0.0.1",
                          port, [])
    return found


def run(path, mode, amount):
    front, host, port, proxy = path
    p = subprocess.Popen([*front, NETLOAD, mode, amount, host, str(port), *proxy],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, cwd=HOME, start_new_session=True)
    try:
        out, err = p.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()
        return None, f"not done in {SECONDS} s"
    if p.returncode:
        return None, err.strip().splitlines()[-1:]
    return json.loads(out), None


def measure(found):
    results = {name: {} for name in found}
    failed = set()	# What did not end once is not waited for again
    began = time.monotonic()
    for i in range(ROUNDS):
        passed = time.monotonic() - began
        if i and passed > ALL_SECONDS:
            break
        print(f"bench: network: round {i + 1} of {ROUNDS}, {passed:.0f} s",
              file=sys.stderr)
        for mode in dict.fromkeys(t[0] for t in TESTS):
            for name, path in found.items():
                if (name, mode) in failed:
                    continue
                amount = SLOW.get(name, {}).get(
                    mode, next(t[1] for t in TESTS if t[0] == mode))
                got, error = run(path, mode, amount)
                if error is not None:
                    print(f"bench: {name} {mode}: {error}", file=sys.stderr)
                    if isinstance(error, str):
                        failed.add((name, mode))
                    continue
                for key, value in got.items():
                    results[name].setdefault((mode, key), []).append(value)
    return results


def milliseconds(argv):
    """Wall time of a command, in a project as in bench/startup"""
    start = time.monotonic()
    subprocess.run(argv, cwd=PROJECT, stdout=subprocess.DEVNULL, check=True)
    return (time.monotonic() - start) * 1000


def commands(port):
    """{name: milliseconds} of whole commands, in turns"""
    cloche = [CLOCHE, "run", "--no-settings", "--quiet"]
    allow = ["--allow", f"127.0.0.1:{port}"]
    rows = {"true, no network": [*cloche, "--net", "none", "--", "true"],
            "true, an allow-list": [*cloche, *allow, "--", "true"]}
    if shutil.which("curl"):
        curl = ["curl", "-sS", f"http://127.0.0.1:{port}/1024"]
        rows["curl, bare"] = curl
        rows["curl, sandboxed"] = [*cloche, *allow, "--", *curl, "--noproxy", "",
                                   "-x", "http://127.0.0.1:3128"]
        # No network in there: what the sandbox alone adds to this program
        rows["curl --version, bare"] = ["curl", "--version"]
        rows["curl --version, floor"] = [FLOOR, "-o", "curl", "--version"]
    taken = {name: [] for name in rows}
    print(f"bench: network: {20 * ROUNDS} times {len(rows)} commands",
          file=sys.stderr)
    for _ in range(20 * ROUNDS):
        for name, argv in rows.items():
            taken[name].append(milliseconds(argv))
    return {name: statistics.median(row) for name, row in taken.items()}


def gate_of(pid):
    """The gate of a run, once it is there"""
    while True:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            for child in file.read().split():
                with open(f"/proc/{child}/comm") as name:
                    if name.read().startswith("cloche-gate"):
                        return child


def memory(port, n=500):
    """KiB of the gate for each of n idle tunnels"""
    p = subprocess.Popen([CLOCHE, "run", "--no-settings", "--quiet", "--allow",
                          f"127.0.0.1:{port}", "--", NETLOAD, "hold", str(n),
                          "127.0.0.1", str(port), *PROXY], cwd=HOME, text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    resident = []
    for _ in range(2):	# One tunnel, then all
        p.stdout.readline()
        with open(f"/proc/{gate_of(p.pid)}/statm") as file:
            resident.append(int(file.read().split()[1]) * 4)
        p.stdin.write("\n")
        p.stdin.flush()
    p.communicate()
    return (resident[1] - resident[0]) / (n - 1)


def table(results):
    print("| path | " + " | ".join(f"{t[0]} {t[2]}" for t in TESTS) + " |")
    print("|---" * (len(TESTS) + 1) + "|")
    for name, row in results.items():
        cells = []
        for mode, _, key, _ in TESTS:
            mine = row.get((mode, key))
            base = results["direct"].get((mode, key))
            if not mine or not base:
                cells.append("-")
                continue
            a, b = statistics.median(mine), statistics.median(base)
            cells.append(f"{a:.4g} ({a / b:.2f}x)")
        print(f"| {name} | " + " | ".join(cells) + " |")


def goal(words, got, want, more=True):
    if got is None:
        print(f"- {words}: not measured")
        return
    held = got >= want if more else got <= want
    print(f"- {words}: {got:.2f} (goal {'>=' if more else '<='} {want}): "
          f"{'holds' if held else 'MISSED'}")


def ratio(results, a, b, key):
    x, y = results.get(a, {}).get(key), results.get(b, {}).get(key)
    return statistics.median(x) / statistics.median(y) if x and y else None


def main():
    os.makedirs(PROJECT + "/.git")
    server = subprocess.Popen([NETLOAD, "serve"], stdout=subprocess.PIPE,
                              text=True)
    try:
        port = int(server.stdout.readline())
        results = measure(paths(port, own_address()))
        whole = commands(port)
        kib = memory(port)
    finally:
        server.kill()
    rounds = len(results["direct"]["connect", "p50"])
    print(f"# Network, measured\n\n{rounds} rounds, medians; GiB/s, "
          "microseconds, requests per second, connections served.\n")
    table(results)
    print("\nWhole commands, milliseconds:\n")
    for name, ms in whole.items():
        print(f"- {name}: {ms:.2f}")
    print(f"\nMemory of the gate for an idle tunnel: {kib:.1f} KiB")
    print("\n## Goals\n")
    goal("start-up with an allow-list / without network",
         whole["true, an allow-list"] / whole["true, no network"], 1.2, False)
    if "curl, bare" in whole:
        goal("one sandboxed curl / bare",
             whole["curl, sandboxed"] / whole["curl, bare"], 1.4, False)
        least = (whole["curl, bare"] + whole["curl --version, floor"] -
                 whole["curl --version, bare"])
        print(f"  - the kernel alone, without a gate: {least / whole['curl, bare']:.2f} "
              "(bench/floor.c)")
    for path in ("cloche proxy", "cloche capture"):
        goal(f"{path}: bulk down / direct",
             ratio(results, path, "direct", ("down", "gib")), 0.4)
        goal(f"{path}: bulk up / direct",
             ratio(results, path, "direct", ("up", "gib")), 0.4)
        goal(f"{path}: bulk down / srt",
             ratio(results, path, "srt", ("down", "gib")), 4)
        goal(f"{path}: keep-alive requests / srt",
             ratio(results, path, "srt", ("keep", "rps")), 20)
        goal(f"{path}: connect / srt",
             ratio(results, path, "srt", ("connect", "p50")), 0.1, False)
        served = results.get(path, {}).get(("parallel", "served"))
        goal(f"{path}: of 500 at once", min(served) if served else None, 500)


main()
