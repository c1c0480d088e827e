# SPDX-License-Identifier: Apache-2.0
"""tests/harness/host.py - a host of our own for the whole script

    from host import *
    own_host({"good.test": "93.184.216.34"})	# before main()
    asked()					# names that a DNS server heard of

The script starts anew in a network and a mount namespace: the addresses are
local to it, a DNS server knows them, ports are nobody else's. As an ordinary
user that takes a user namespace; our own number stays what it is.
"""

import os
import pwd
import socket
import subprocess
import sys
import threading

from tap import *

MARK = "CLOCHE_OWN_HOST"


def call(*argv):
    """Run a program that must succeed"""
    subprocess.run(argv, check=True)


def _cover(path, text):
    """Put a file of our own over a file of the machine's"""
    real = os.path.realpath(path)	# Which may have been in the old /run
    os.makedirs(os.path.dirname(real), exist_ok=True)
    if not os.path.exists(real):
        open(real, "w").close()
    with open(os.path.join(os.environ["TMPDIR"], "cover"), "w") as file:
        file.write(text)
    call("mount", "--bind", file.name, real)
    os.unlink(file.name)


def _answer(query, names):
    """A DNS message about one name: A records, or none"""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    name, kind = ".".join(labels).lower(), query[at + 1:at + 3]
    with open(os.path.join(os.environ["TMPDIR"], "asked"), "a") as file:
        file.write(name + "\n")
    known = names.get(name)
    found = kind == b"\0\1" and known
    head = query[:2] + (b"\x81\x80" if known else b"\x81\x83") + \
        b"\0\1" + (b"\0\1" if found else b"\0\0") + b"\0\0\0\0"
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(known) \
        if found else b""
    return head + query[12:at + 5] + record


def _serve(sock, names):
    while True:
        query, peer = sock.recvfrom(4096)
        sock.sendto(_answer(query, names), peer)


def asked():
    """The names that our DNS server was asked for, in their order"""
    try:
        with open(os.path.join(os.environ["TMPDIR"], "asked")) as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def own_host(names):
    if MARK not in os.environ:
        how = ["-n", "-m"] if IS_ROOT else [
            "-U", "--map-current-user", "--keep-caps", "-n", "-m"]
        if subprocess.run(["unshare", *how, "true"],
                          stderr=subprocess.DEVNULL).returncode:
            print("not ok 1 - no user namespaces here" if MUST_WORK else
                  "1..0 # SKIP no user namespaces here")
            sys.exit(1 if MUST_WORK else 0)
        os.environ[MARK] = "1"
        os.execvp("unshare", ["unshare", *how, sys.executable, *sys.argv])
    call("ip", "link", "set", "lo", "up")
    call("ip", "addr", "add", "198.51.100.1/32", "dev", "lo")
    for address in set(names.values()):
        call("ip", "route", "add", "local", address, "dev", "lo")
    if IS_ROOT:
        call("mount", "-t", "tmpfs", "none", "/run")
        os.mkdir("/run/sshd", 0o755)
    _cover("/etc/hosts", f"127.0.0.1 localhost {socket.gethostname()}\n")
    _cover("/etc/resolv.conf", "nameserver 127.0.0.1\n")
    # nobody has no shell, and sshd wants one
    me = pwd.getpwuid(os.getuid())
    with open("/etc/passwd") as file:
        others = [line for line in file if line.split(":")[0] != me.pw_name]
    _cover("/etc/passwd", "".join(others) + f"{me.pw_name}:x:{me.pw_uid}:"
           f"{me.pw_gid}::{me.pw_dir}:/bin/sh\n")
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 53))
    threading.Thread(target=_serve, args=(sock, names), daemon=True).start()
