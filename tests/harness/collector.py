# SPDX-License-Identifier: Apache-2.0
"""tests/harness/collector.py FD FILE [FAULTS SEED] - a collector of OpenTelemetry

Serves HTTP on the listening socket FD. What a request holds is added to FILE, one line of
JSON each, before it is answered. With FAULTS, that many requests go wrong first, each in
a way that SEED chooses: the process ends before or after it has stored the request, answers
429, 503 or something that is not HTTP, or closes the connection. "hold" as FAULTS stores
nothing and answers nothing.
"""

import json
import os
import random
import socket
import subprocess
import sys
import time


def read_request(conn):
    data = b""
    while b"\r\n\r\n" not in data:
        more = conn.recv(1 << 16)
        if not more:
            return None, None
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
    while len(body) < int(headers["content-length"]):
        more = conn.recv(1 << 20)
        if not more:
            return None, None
        body += more
    return [lines[0], headers], body


def answer(conn, status, text="{}", more=""):
    conn.sendall(f"HTTP/1.1 {status} x\r\nContent-Length: {len(text)}\r\n{more}\r\n{text}".encode())


def store(path, head, body):
    with open(path, "ab") as file:
        file.write(json.dumps({"head": head, "body": json.loads(body)}).encode() + b"\n")


def serve(listener, path, faults, seed):
    chance = random.Random(seed)
    while True:
        conn, _ = listener.accept()
        with conn:
            head, body = read_request(conn)
            if body is None:
                continue
            if faults == "hold":
                conn.recv(1)
                continue
            if faults:
                faults -= 1
                kind = chance.choice(["before", "after", "429", "503", "garbage", "close"])
                if kind == "before":
                    os._exit(faults)
                if kind == "after":
                    store(path, head, body)
                    os._exit(faults)
                if kind == "429":
                    answer(conn, 429, more="Retry-After: 1\r\n")
                if kind == "503":
                    answer(conn, 503)
                if kind == "garbage":
                    conn.sendall(b"\x00\xff" * 1000)
                continue
            store(path, head, body)
            answer(conn, 200)


class Collector:
    """Such a process for a test. It may be ended and started again; the port stays"""

    def __init__(self, t, *faults, port=0):
        self.path = os.path.join(t.away, "collected")
        self.listener = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.child = None
        self.start(*faults)

    def start(self, *faults):
        fd = self.listener.fileno()
        self.child = subprocess.Popen([sys.executable, os.path.abspath(__file__), str(fd), self.path, *map(str, faults)],
                                      pass_fds=[fd], stderr=subprocess.DEVNULL)

    def revive(self):
        """Start it again if a fault has ended it, with the faults that are left"""
        if self.child.poll() is not None:
            self.start(self.child.returncode, random.randrange(1 << 30))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        self.listener.close()

    def end(self):
        self.child.kill()
        self.child.wait()

    def requests(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path) as file:
            return [json.loads(line) for line in file]

    def records(self):
        """{id: attributes} and how many came"""
        found, count = {}, 0
        for request in self.requests():
            for one in request["body"]["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
                values = {a["key"]: list(a["value"].values())[0] for a in one["attributes"]}
                found[values["cloche.id"]] = values
                count += 1
        return found, count


def export_with_kills(t, options, kills, chance, meanwhile=lambda: None):
    """Kill that many exporters at random times, then export to the end; calls meanwhile()
    all the time. How many exports that took.
    """
    for _ in range(kills):
        p = t.start("events", "export", *options)
        end = time.monotonic() + chance.random() / 10
        while p.poll() is None and time.monotonic() < end:
            meanwhile()
        p.kill()
        p.communicate()
    tries = 1
    while True:
        p = t.start("events", "export", *options)
        while p.poll() is None:
            meanwhile()
            time.sleep(0.005)
        _, err = p.communicate()
        if p.returncode == 0:
            return tries
        tries += 1
        if tries > 10 * kills + 10:
            raise AssertionError(f"no export succeeded in {tries} tries: {err!r}")


def main():
    faults = sys.argv[3] if len(sys.argv) > 3 else 0
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2],
          faults if faults == "hold" else int(faults), sys.argv[4] if len(sys.argv) > 4 else 0)


if __name__ == "__main__":
    main()
