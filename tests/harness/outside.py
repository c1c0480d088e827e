# SPDX-License-Identifier: Apache-2.0
"""tests/harness/outside.py - the rest of the world, for a network namespace

Run as: outside.py ZONE ADDRESS... On each address it answers every TCP
connection to ports 443 and 8443 with a line, echoes what comes, and serves DNS
on port 53 (UDP and TCP) from ZONE, a JSON file {name: [address...]} that is
read anew for each question. Says "ready" when all of it listens.
"""

import ipaddress
import json
import selectors
import socket
import struct
import sys

TCP_PORTS = (443, 8443)
picker = selectors.DefaultSelector()


def read_name(data):
    labels, at = [], 12
    while data[at]:
        labels.append(data[at + 1:at + 1 + data[at]].decode())
        at += data[at] + 1
    return ".".join(labels), at + 1


def answer(data, udp):
    name, end = read_name(data)
    kind = struct.unpack_from(">H", data, end)[0]
    question = data[12:end + 4]
    with open(sys.argv[1]) as file:
        zone = json.load(file)
    if name not in zone:
        return data[:2] + struct.pack(">5H", 0x8183, 1, 0, 0, 0) + question
    if udp and name.startswith("long."):
        return data[:2] + struct.pack(">5H", 0x8380, 1, 0, 0, 0) + question
    found = [ipaddress.ip_address(a) for a in zone[name]]
    found = [a.packed for a in found if a.version == {1: 4, 28: 6}.get(kind)]
    records = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 1, len(a)) +
                       a for a in found)
    return data[:2] + struct.pack(">5H", 0x8180, 1, len(found), 0, 0) + \
        question + records


def on_udp(sock):
    data, peer = sock.recvfrom(4096)
    sock.sendto(answer(data, True), peer)


def on_connection(sock):
    try:
        data = sock.recv(65536)
    except OSError:
        data = b""
    if not data:
        picker.unregister(sock)
        sock.close()
    elif sock.getsockname()[1] == 53:
        reply = answer(data[2:], False)
        sock.sendall(struct.pack(">H", len(reply)) + reply)
    else:
        sock.sendall(data)


def on_listener(sock):
    conn, _ = sock.accept()
    if sock.getsockname()[1] != 53:
        conn.sendall(b"hello\n")
    picker.register(conn, selectors.EVENT_READ, on_connection)


def listen(address, port, kind):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, port))
    if kind == socket.SOCK_STREAM:
        sock.listen()
    picker.register(sock, selectors.EVENT_READ,
                    on_listener if kind == socket.SOCK_STREAM else on_udp)


def main():
    for address in sys.argv[2:]:
        listen(address, 53, socket.SOCK_DGRAM)
        for port in (53,) + TCP_PORTS:
            listen(address, port, socket.SOCK_STREAM)
    print("ready", flush=True)
    while True:
        for key, _ in picker.select():
            key.data(key.fileobj)


main()
