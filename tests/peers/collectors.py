# SPDX-License-Identifier: Apache-2.0
"""tests/peers/collectors.py - every record to real collectors, while both ends are killed

tests/peers/collectors gets them and makes the namespaces in which they run.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from collector import Collector, export_with_kills
from tap import *

STORE = ".local/state/cloche/violations.jsonl"
MODULES = os.path.join(os.path.dirname(os.path.abspath(CLOCHE)), "node_modules")
SEED = int(os.environ.get("CLOCHE_SEED", "0")) or random.randrange(1 << 30)
MANY, KILLS, REMOTE_KILLS = 100000, 60, 8
JOURNALD = "/lib/systemd/systemd-journald"
REMOTE, UPLOAD = "/lib/systemd/systemd-journal-remote", "/lib/systemd/systemd-journal-upload"
JOURNAL = "/run/systemd/journal"


def run_end(i):
    return json.dumps({
        "v": 1, "record": "run", "start": "2026-01-31T12:34:56.789Z",
        "end": "2026-01-31T12:34:58.289Z", "run": f"R{i}", "command": f"make \u202e\n\x1b {i}",
        "project": "/p", "policy": "0" * 64, "tier": "full", "status": i % 2, "refused": {"fs-write": 3}}) + "\n"


def fill(t, many=MANY):
    """In several files: what one holds is rotated by runs only"""
    name = os.path.join(t.home, STORE)
    for i in range(4):
        t.write(name + (f".{3 - i}" if i < 3 else ""),
                "".join(run_end(n) for n in range(i * many // 4, (i + 1) * many // 4)))


class Daemon:
    """A program that is killed at random and started again"""

    def __init__(self, t, *argv):
        self.argv, self.log = argv, open(os.path.join(t.away, os.path.basename(argv[0]) + ".log"), "a")
        self.child = None
        self.start()

    def start(self):
        self.child = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def end(self, number=signal.SIGKILL):
        self.child.send_signal(number)
        self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        self.log.close()


PARSE = """
const root = require("@opentelemetry/otlp-transformer/build/src/generated/root.js");
const Request = root.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
const lines = require("readline").createInterface({ input: require("fs").createReadStream(process.argv[2]) });
lines.on("line", (line) => {
	const request = Request.decode(Request.encode(Request.fromObject(JSON.parse(line).body)).finish());
	for (const record of request.resourceLogs[0].scopeLogs[0].logRecords) {
		const values = Object.fromEntries(record.attributes.map((a) => [a.key, a.value[a.value.value]]));
		console.log(JSON.stringify([values["cloche.id"], values["cloche.run"], String(values["cloche.status"]),
			String(record.timeUnixNano), record.severityNumber, record.body.stringValue, values["process.command_line"]]));
	}
});
"""


@test
def an_otlp_parser_reads_every_record(t):
    if not os.path.isdir(MODULES):
        skip("needs npm and its registry")
    note("seed", SEED)
    fill(t)
    with Collector(t, KILLS, SEED) as collector:
        tries = export_with_kills(t, ["--format", "otlp", "--to", collector.url], KILLS,
                                  random.Random(SEED), collector.revive)
        t.write(t.away + "/parse.js", PARSE)
        lines = t.outside(need("node"), t.away + "/parse.js", collector.path,
                          env={"NODE_PATH": MODULES}).ok().out.splitlines()
    found = {record[0]: record for record in map(json.loads, lines)}
    equal(len(found), MANY)
    equal(len({record[1] for record in found.values()}), MANY)
    for record in found.values():
        number = int(record[1][1:])
        equal(record[2:5], [str(number % 2), "1769862898289000000", 9])
        equal(record[6], f"make \u202e\n\x1b {number}")
        lacks(record[5], "\x1b")
    note(len(lines) - MANY, "delivered twice,", tries, "exports after the kills")


@test
def node_exporter_serves_every_counter(t):
    exporter, promtool = need("prometheus-node-exporter"), need("promtool")
    texts = os.path.join(t.away, "texts")
    os.mkdir(texts)
    fill(t)
    options = ["--format", "prometheus", "-o", texts + "/cloche.prom"]
    with Daemon(t, exporter, "--web.listen-address=127.0.0.1:9100", "--collector.disable-defaults",
                "--collector.textfile", f"--collector.textfile.directory={texts}") as daemon:
        def scrape():
            try:
                with urllib.request.urlopen("http://127.0.0.1:9100/metrics") as answer:
                    return answer.read().decode()
            except (urllib.error.URLError, ConnectionError):
                return ""
        wait_until(scrape, "node_exporter")

        def meanwhile():
            if scrape():		# Never half a file
                equal(re.findall(r"^node_textfile_scrape_error (.*)", scrape(), re.M), ["0"])
        export_with_kills(t, options, KILLS, random.Random(SEED), meanwhile)
        daemon.end()
        daemon.start()
        text = wait_until(scrape, "node_exporter again")
    for line in (f'cloche_runs_total{{tier="full"}} {MANY}', f'cloche_runs_failed_total{{tier="full"}} {MANY // 2}',
                 f'cloche_refusals_total{{kind="fs-write"}} {3 * MANY}',
                 f'cloche_run_seconds_total{{tier="full"}} {MANY * 3 // 2}'):
        contains(text, line + "\n")
    with open(texts + "/cloche.prom") as file:
        r = t.outside(promtool, "check", "metrics", stdin=file.read())
    equal((r.code, r.err), (0, ""))
    equal(os.listdir(texts), ["cloche.prom"])


def journal(t, *argv):
    """The ids that a journal has, copies among them"""
    out = t.outside("journalctl", "-t", "cloche", "-o", "json", "--output-fields=CLOCHE_ID",
                    "--no-pager", "--quiet", *argv, timeout=RUN_SECONDS).out
    return [json.loads(line)["CLOCHE_ID"] for line in out.splitlines()]


class Chaos:
    """Ends daemons at random and starts them again, so many times"""

    def __init__(self, chance, times, *daemons):
        self.chance, self.left, self.daemons = chance, times, daemons
        self.next = time.monotonic()

    def __call__(self):
        if self.left and time.monotonic() > self.next:
            daemon = self.chance.choice(self.daemons)
            daemon.end()
            daemon.start()
            self.left -= 1
            self.next = time.monotonic() + self.chance.random() / 2


def need_journal(*programs):
    for program in programs:
        if not os.path.exists(program):
            skip("needs " + program)


@as_root
def journald_receives_every_record_across_kills(t):
    need_journal(JOURNALD)
    chance = random.Random(SEED)
    fill(t)
    with Daemon(t, JOURNALD) as daemon:
        wait_until(lambda: os.path.exists(JOURNAL + "/socket"), "journald")
        chaos = Chaos(chance, KILLS, daemon)
        export_with_kills(t, ["--format", "journal"], KILLS, chance, chaos)
        found = journal(t)
    equal(len(set(found)), MANY)
    note(len(found) - MANY, "delivered twice,", KILLS - chaos.left, "times killed")
    check(chaos.left < KILLS, "it was killed")


@as_root
def records_unread_by_a_killed_journald_are_lost(t):
    """So much for a collector that acknowledges nothing; where it answers, nothing is"""
    need_journal(JOURNALD)
    t.write(os.path.join(t.home, STORE), "".join(map(run_end, range(10))), 0o600)
    os.symlink(JOURNAL + "/socket", t.away + "/socket")
    with Daemon(t, JOURNALD) as daemon:
        wait_until(lambda: t.outside("journalctl", "--sync").code == 0, "journald")
        for cursor, to, code, lost in (("a", t.away + "/socket", 0, 10), ("b", JOURNAL + "/socket", 2, 0)):
            argv = ["events", "export", "--format", "journal", "--to", to, "--cursor", f"{t.away}/{cursor}"]
            before = len(journal(t))
            daemon.child.send_signal(signal.SIGSTOP)
            t.run(*argv).ended(code)
            daemon.end()
            daemon.start()
            wait_until(lambda: t.outside("journalctl", "--sync").code == 0, "journald again")
            t.run(*argv).ok()
            equal(len(journal(t)) - before, 10 - lost)


@as_root
def journal_remote_receives_every_record_across_kills(t):
    """From journald on: systemd-journal-upload has a cursor as well, and posts all that is
    behind it at once. It ends when its server does.
    """
    need_journal(JOURNALD, REMOTE, UPLOAD)
    chance = random.Random(SEED)
    remote, state = os.path.join(t.away, "remote"), os.path.join(t.away, "upload-state")
    os.mkdir(remote)
    fill(t)
    with Daemon(t, JOURNALD):
        wait_until(lambda: os.path.exists(JOURNAL + "/socket"), "journald")
        export_with_kills(t, ["--format", "journal"], 0, chance)
        with Daemon(t, REMOTE, "--listen-http=127.0.0.1:19532", "--split-mode=host", f"--output={remote}") as server, \
             Daemon(t, UPLOAD, "--url=http://127.0.0.1:19532", f"--save-state={state}") as client:
            def size():
                if client.child.poll() is not None:
                    client.start()
                return sum(entry.stat().st_size for entry in os.scandir(remote))

            for _ in range(REMOTE_KILLS):
                before = size()
                wait_until(lambda: size() > before, "more of the journal")
                chance.choice([server, client]).end()
                if server.child.poll() is not None:
                    server.start()
            wait_until(lambda: (size(), len(set(journal(t, "-D", remote))) == MANY)[1], "all records at the remote")
            note(len(journal(t, "-D", remote)) - MANY, "delivered twice to the remote")


@test
def journald_accepts_records_of_a_user(t):
    """Its answers are root's: of a daemon that is killed he knows nothing"""
    need_journal(JOURNALD)
    if IS_ROOT:
        skip("the same, with kills, is tested as root")
    fill(t)
    wait_until(lambda: os.path.exists(JOURNAL + "/socket"), "journald")
    export_with_kills(t, ["--format", "journal"], KILLS, random.Random(SEED))
    wait_until(lambda: len(set(journal(t))) == MANY, "all records")


main()
