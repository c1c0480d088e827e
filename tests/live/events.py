# SPDX-License-Identifier: Apache-2.0
"""tests/live/events.py - cloche events export: every record to a collector, at least once"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from collector import Collector, export_with_kills
from tap import *

STATE = ".local/state/cloche"
SEED = int(os.environ.get("CLOCHE_SEED", "0")) or random.randrange(1 << 30)


def refusal(i, **more):
    return json.dumps({
        "v": 1, "time": "2026-01-31T12:34:56.789Z", "run": "01RUN", "command": "npm install",
        "pid": 4711, "exe": "/usr/bin/node", "kind": "fs-write", "op": "openat",
        "target": f"/usr/lib/{i}", "errno": "EACCES", "reason": "outside the writable paths",
        "rule": {"file": None, "path": "built-in"}, "count": 1, **more}) + "\n"


def run_end(i, **more):
    return json.dumps({
        "v": 1, "record": "run", "start": "2026-01-31T12:34:56.789Z",
        "end": "2026-01-31T12:34:58.289Z", "run": f"R{i}", "command": "make", "project": "/p",
        "policy": "0" * 64, "tier": "full", "status": i % 2, "refused": {"fs-write": 3}, **more}) + "\n"


def store(t, text, name="violations.jsonl"):
    path = os.path.join(t.home, STATE, name)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    with open(path, "a") as file:
        file.write(text)
    return path


def export(t, url, env=None, **more):
    return t.run("events", "export", "--format", "otlp", "--to", url, env=env, **more)


@test
def records_of_a_run_are_exported_once(t):
    t.shell(f"sleep 0.2; echo x > {t.away}/a; exit 3").ended(3)
    with Collector(t) as collector:
        r = t.run("events", "export", "--format", "otlp",
                  env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url + "/",
                       "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20hunter2,x-a=b"}).ok()
        equal((r.out, r.err), ("", ""))
        export(t, collector.url).ok()
        [request] = collector.requests()
        equal(request["head"][0], "POST /v1/logs HTTP/1.1")
        equal(request["head"][1]["authorization"], "Bearer hunter2")
        found, count = collector.records()
        equal(len(found), count)
        # The start of a run that seems short to a slow machine is not recorded
        kinds = [v.get("cloche.record", v.get("cloche.kind")) for v in found.values()]
        equal(sorted(set(kinds) - {"start"}), ["fs-write", "run"])
        # What comes later is later delivered
        t.inside("true").ok()
        export(t, collector.url).ok()
        found, count = collector.records()
        equal(len(found), count)
        equal([v.get("cloche.record") for v in found.values()].count("run"), 2)
        # The value of a header is in no message
        r = t.run("events", "export", "--format", "otlp", "--cursor", t.away + "/other",
                  "--to", "http://127.0.0.1:1", env={"OTEL_EXPORTER_OTLP_HEADERS": "a=hunter2"}).ended(2)
        lacks(r.err, "hunter2")
        r = t.run("events", "export", "--format", "otlp", "--cursor", t.away + "/other", "--to",
                  collector.url, env={"OTEL_EXPORTER_OTLP_HEADERS": "a=hunter2%0d%0ab: c"}).ended(2)
        lacks(r.err, "hunter2")


@test
def records_refused_by_a_collector_are_sent_later(t):
    store(t, "".join(refusal(i) for i in range(10)) + "torn\n" + run_end(1))
    refused = socket.socket()
    refused.bind(("127.0.0.1", 0))		# No server listens there
    with refused:
        r = export(t, f"http://127.0.0.1:{refused.getsockname()[1]}").ended(2)
    contains(r.err, "cannot be reached: Connection refused")
    equal(len(r.err.splitlines()), 1)
    with Collector(t, "hold") as slow:
        r = export(t, slow.url, {"OTEL_EXPORTER_OTLP_TIMEOUT": "100"}).ended(2)
        contains(r.err, "does not answer")
        equal(slow.requests(), [])
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    for text, words in ((b"HTTP/1.1 429 x\r\nRetry-After: 1\r\n\r\n", "HTTP status 429"),
                        (b"HTTP/1.1 503 x\r\n\r\n", "HTTP status 503"),
                        (b"HTTP/1.1 400 x\r\n\r\n", "HTTP status 400"),
                        (b"HTTP/1.1 999 x\r\n\r\n", "answer is not HTTP"),
                        (b"\x00\xff" * 100000, "answer is not HTTP"),
                        (b"HTTP/1.1 200 x", "answer is not HTTP"), (b"", "answer is not HTTP")):
        p = t.start("events", "export", "--format", "otlp", "--to", url)
        conn, _ = listener.accept()
        conn.recv(1 << 20)
        try:
            conn.sendall(text)
            conn.shutdown(socket.SHUT_WR)
        except OSError:		# It has read enough
            pass
        _, err = p.communicate()
        conn.close()
        equal(p.returncode, 2, err)
        check(words.encode() in err, err, words)
        equal(len(err.splitlines()), 1)
    listener.close()
    with Collector(t) as collector:
        export(t, collector.url).ok()
        found, count = collector.records()
        equal((len(found), count), (11, 11))
    contains(t.run("events", "export", "--format", "otlp", "--to", "https://127.0.0.1",
                   "--cursor", t.away + "/c").ended(2).err,
             "https is not supported")


@test
def export_follow_waits_for_its_collector(t):
    store(t, refusal(1))
    refused = socket.socket()
    refused.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{refused.getsockname()[1]}"
    p = t.start("events", "export", "--format", "otlp", "--to", url, "--follow")
    contains(p.stderr.readline().decode(), "cannot be reached")
    refused.listen()
    with Collector.__new__(Collector) as collector:
        collector.path, collector.listener = os.path.join(t.away, "collected"), refused
        collector.start()
        contains(p.stderr.readline().decode(), "delivered again")
        equal(collector.records()[1], 1)
        store(t, refusal(2))
        wait_until(lambda: collector.records()[1] == 2, "the second record")
        t.shell("exit 0").ok()		# A run beside it
        wait_until(lambda: collector.records()[1] >= 3, "the record of the run")
    p.terminate()
    p.communicate()
    equal(p.returncode, 0)


@test
def killing_exporter_and_collector_loses_no_record(t):
    many, kills = long(3000, 100000), long(6, 60)
    chance = random.Random(SEED)
    note("seed", SEED)
    store(t, "".join(refusal(i) for i in range(many)))
    with Collector(t, kills, SEED) as collector:
        tries = export_with_kills(t, ["--format", "otlp", "--to", collector.url], kills, chance,
                                  collector.revive)
        found, count = collector.records()
    equal(len(found), many)
    equal({v["cloche.target"] for v in found.values()}, {f"/usr/lib/{i}" for i in range(many)})
    note(count - many, "delivered twice,", tries, "more tries")


@test
def each_exporter_has_its_own_persistent_cursor(t):
    path = store(t, refusal(1))
    first = t.run("events", "export", "--format", "ocsf").ok().out
    equal(json.loads(first)["file"]["path"], "/usr/lib/1")
    equal(t.run("events", "export", "--format", "ocsf").ok().out, "")
    # Put aside, and another one in its place
    os.rename(path, path + ".1")
    store(t, refusal(2))
    second = t.run("events", "export", "--format", "ocsf").ok()
    equal((json.loads(second.out)["file"]["path"], second.err), ("/usr/lib/2", ""))
    check(json.loads(first)["metadata"]["uid"] != json.loads(second.out)["metadata"]["uid"])
    # Another cursor has everything
    equal(len(t.run("events", "export", "--format", "ocsf", "--cursor", t.away + "/c").ok().out.splitlines()), 2)
    # Dropped before it was exported
    t.run("violations", "clear").ok()
    store(t, refusal(3))
    r = t.run("events", "export", "--format", "ocsf").ok()
    contains(r.err, "records were dropped")
    equal(json.loads(r.out)["file"]["path"], "/usr/lib/3")
    # Two at once
    p = t.start("events", "export", "--format", "ocsf", "--follow")
    store(t, refusal(4))
    contains(p.stdout.readline().decode(), "/usr/lib/4")
    contains(t.run("events", "export", "--format", "ocsf").ended(2).err, "another export uses the cursor")
    p.kill()
    p.communicate()
    # A reader that is gone
    store(t, refusal(5))
    out, into = os.pipe()
    os.close(out)
    check(t.run("events", "export", "--format", "ocsf", stdout=into).code != 0)
    os.close(into)
    contains(t.run("events", "export", "--format", "ocsf").ok().out, "/usr/lib/5")
    t.write(os.path.join(t.home, STATE, "export-ocsf.json"), "{}")
    contains(t.run("events", "export", "--format", "ocsf").ended(2).err, "is not a cursor")


def exported(r):
    """What an export to standard output has printed: the targets"""
    return [json.loads(line)["file"]["path"] for line in r.out.splitlines()]


@test
def torn_huge_and_newer_stores_are_exported(t):
    path = store(t, refusal("old"))
    os.truncate(path, 1 << 30)		# A hole of a gigabyte: the end is read
    store(t, "\n" + refusal(1) + '{"v":1,"torn\n' + refusal("newer", v=9) + refusal("kind", kind="new") +
          "\0\xff\n" + refusal(2) + refusal("no end")[:-1])
    r = t.run("events", "export", "--format", "ocsf").ok()
    equal((exported(r), r.err), (["/usr/lib/1", "/usr/lib/2"], ""))
    store(t, "\n" + refusal(3))
    r = t.run("events", "export", "--format", "ocsf").ok()
    equal((exported(r), r.err), (["/usr/lib/no end", "/usr/lib/3"], ""))
    # A run goes on beside it, and puts the file aside
    t.inside("true").ok()
    check(os.path.getsize(path) < 1 << 20, os.path.getsize(path))


@as_root
def a_full_disk_repeats_records_but_loses_none(t):
    state = os.path.join(t.home, STATE)
    os.makedirs(state, 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", state], check=True)
    try:
        store(t, refusal(1))
        fill = os.path.join(state, "fill")
        with open(fill, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        r = t.run("events", "export", "--format", "ocsf").ended(2)
        equal((exported(r), len(r.err.splitlines())), (["/usr/lib/1"], 1))
        contains(r.err, "No space left on device")
        os.remove(fill)
        equal(exported(t.run("events", "export", "--format", "ocsf").ok()), ["/usr/lib/1"])
        equal(exported(t.run("events", "export", "--format", "ocsf").ok()), [])
    finally:
        subprocess.run(["umount", state], check=True)


@test
def records_of_100_writers_are_all_exported(t):
    path = store(t, "")
    with t.start("events", "export", "--format", "ocsf", "--follow", "-o", t.away + "/out") as p:
        writers = []
        for writer in range(100):
            pid = os.fork()
            if not pid:
                fd = os.open(path, os.O_WRONLY | os.O_APPEND)
                for i in range(10):
                    os.write(fd, refusal(f"{writer}-{i}").encode())
                os._exit(0)
            writers.append(pid)
        for pid in writers:
            os.waitpid(pid, 0)
        wait_until(lambda: os.path.exists(t.away + "/out") and t.read(t.away + "/out").count("\n") == 1000,
                   "all records")
        p.terminate()
    found = {json.loads(line)["file"]["path"] for line in t.read(t.away + "/out").splitlines()}
    equal(found, {f"/usr/lib/{writer}-{i}" for writer in range(100) for i in range(10)})


@test
def exported_counters_never_decrease(t):
    path = os.path.join(t.away, "cloche.prom")
    argv = ["events", "export", "--format", "prometheus", "-o", path]
    t.run(*argv).ok()
    store(t, run_end(1) + run_end(2) + refusal(1))
    t.run(*argv).ok()
    t.run(*argv).ok()
    for line in ('cloche_runs_total{tier="full"} 2', 'cloche_runs_failed_total{tier="full"} 1',
                 'cloche_run_seconds_total{tier="full"} 3.000', 'cloche_refusals_total{kind="fs-write"} 6'):
        contains(t.read(path), line + "\n")
    t.run("violations", "clear").ok()
    store(t, run_end(3, tier='x"} 1\nforged 1'))
    t.run(*argv).ok()
    contains(t.read(path), 'cloche_runs_total{tier="full"} 2\n')
    contains(t.read(path), 'cloche_runs_total{tier="other"} 1\n')
    lacks(t.read(path), "forged")
    equal(os.listdir(t.away), ["cloche.prom"])
    equal(os.stat(path).st_mode & 0o777, 0o644)
    contains(t.run("events", "export", "--format", "prometheus").ended(2).err, "-o FILE")
    # Relative to where it is called
    t.run("events", "export", "--format", "prometheus", "-o", "x.prom", "--cursor", "x.json").ok()
    os.mkdir("sub")
    t.run("events", "export", "--format", "prometheus", "-o", "sub/x.prom", "--cursor", "sub/x.json").ok()
    equal(t.read("x.prom"), t.read("sub/x.prom"))
    equal(sorted(os.listdir("sub")), ["x.json", "x.json.lock", "x.prom"])


@test
def the_journal_gets_one_datagram_per_record(t):
    path = os.path.join(t.away, "socket")
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    contains(t.run("events", "export", "--format", "journal", "--to", path).ok().err, "")
    store(t, refusal(1) + refusal(2, target="/a\nPRIORITY=0"))
    contains(t.run("events", "export", "--format", "journal", "--to", path).ended(2).err,
             "cannot reach the journal")
    journal.bind(path)
    t.run("events", "export", "--format", "journal", "--to", path).ok()
    first, second = journal.recv(1 << 16), journal.recv(1 << 16)
    check(b"\nCLOCHE_TARGET=/usr/lib/1\n" in first, first)
    equal(second.count(b"\nPRIORITY="), 2)		# One of them in a value
    check(b"\nCLOCHE_TARGET\n\x0d\0\0\0\0\0\0\0/a\nPRIORITY=0\n" in second, second)
    journal.close()


@test
def records_count_as_delivered_when_the_journal_has_written_them(t):
    store(t, refusal(1))
    argv = ["events", "export", "--format", "journal", "--to", t.away + "/socket"]
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind(t.away + "/socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(t.away + "/io.systemd.journal")
        contains(t.run(*argv).ended(2).err, "does not say that it has written")
        listener.listen()
        for answer, code in ((b"", 2), (b'{"error":"io.systemd.System"}\0', 2), (b'{"parameters":{}}\0', 0)):
            with t.start(*argv) as p:
                conn, _ = listener.accept()
                with conn:
                    equal(conn.recv(1000), b'{"method":"io.systemd.Journal.Synchronize"}\0')
                    equal(len(journal.recv(1 << 16).split(b"MESSAGE=")), 2)
                    conn.sendall(answer)
                p.communicate()
                equal(p.returncode, code, answer)
    journal.recv(1 << 16)		# Of the first call
    # Delivered: nothing is sent again
    t.run(*argv).ok()
    journal.setblocking(False)
    try:
        equal(journal.recv(1 << 16), b"nothing")
    except BlockingIOError:
        pass


@test
def wrong_arguments_are_refused(t):
    for argv in (["events"], ["events", "import"], ["events", "export"],
                 ["events", "export", "--format", "syslog"], ["events", "export", "--format"],
                 ["events", "export", "--format", "otlp", "--to", "ftp://x"],
                 ["events", "export", "--format", "otlp", "--to", "http://me:x@127.0.0.1"],
                 ["events", "export", "--format", "journal", "--to", "/" + "a" * 200]):
        store(t, refusal(1))
        t.run(*argv).ended(2)


main()
