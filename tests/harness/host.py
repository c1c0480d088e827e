# SPDX-License-Identifier: Apache-2.0
"""tests/harness/host.py - a host of our own for the whole script

    from host import *
    own_host({"good.test": "93.184.216.34"})	# before main()
    own_host({"a.test": ["93.184.216.34", "127.0.0.1"], "b.test": "servfail"})
    own_host({"c.test": lambda query: b"bytes"})	# any answer
    asked()					# names that a DNS server heard of

The script starts anew in a network and a mount namespace: the addresses are
local to it, a DNS server knows them, no other process uses its ports. As an ordinary
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
A, CNAME, AAAA = b"\0\1", b"\0\5", b"\0\x1c"
ANSWER = b"\xc0\x0c"		# "The name asked for"
SERVFAIL, NXDOMAIN = 2, 3


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
    """The answer of our DNS server; None: it does not answer"""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    name, kind = ".".join(labels).lower(), query[at + 1:at + 3]
    with open(os.path.join(os.environ["TMPDIR"], "asked"), "a") as file:
        file.write(name + "\n")
    known, record = names.get(name), b""
    if callable(known):
        return known(query)
    if isinstance(known, list):		# In turns
        if kind == A:
            known.append(known.pop(0))
        known = known[-1]
    code = 0 if known else NXDOMAIN
    if known == "silent":
        return None
    if known == "servfail":
        code = SERVFAIL
    elif known == "loop":		# An alias of itself
        record = ANSWER + CNAME + b"\0\1\0\0\0\0\0\2\xc0\x0c"
    elif known and kind == A and ":" not in known:
        record = ANSWER + A + b"\0\1\0\0\0\0\0\4" + socket.inet_aton(known)
    elif known and kind == AAAA and ":" in known:
        record = ANSWER + AAAA + b"\0\1\0\0\0\0\0\x10" + socket.inet_pton(
            socket.AF_INET6, known)
    return query[:2] + bytes([0x81, 0x80 | code]) + b"\0\1" + \
        (b"\0\1" if record else b"\0\0") + b"\0\0\0\0" + \
        query[12:at + 5] + record


def _serve(sock, names):
    while True:
        query, peer = sock.recvfrom(4096)
        answer = _answer(query, names)
        if answer:
            sock.sendto(answer, peer)


def asked():
    """The names that our DNS server was asked for, in their order"""
    try:
        with open(os.path.join(os.environ["TMPDIR"], "asked")) as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def own_host(names, search=""):
    """@search: domains that the host's resolver tries for names without one"""
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
    for address in {a for value in names.values() for a in
                    (value if isinstance(value, list) else [value])}:
        if isinstance(address, str) and "." in address and address[0].isdigit() and \
                not address.startswith("127."):
            call("ip", "route", "add", "local", address, "dev", "lo")
    if IS_ROOT:
        call("mount", "-t", "tmpfs", "none", "/run")
        os.mkdir("/run/sshd", 0o755)
    _cover("/etc/hosts", f"127.0.0.1 localhost {socket.gethostname()}\n")
    _cover("/etc/resolv.conf", "nameserver 127.0.0.1\n" +
           (f"search {search}\n" if search else ""))
    # nobody has no shell, and sshd wants one
    me = pwd.getpwuid(os.getuid())
    with open("/etc/passwd") as file:
        others = [line for line in file if line.split(":")[0] != me.pw_name]
    _cover("/etc/passwd", "".join(others) + f"{me.pw_name}:x:{me.pw_uid}:"
           f"{me.pw_gid}::{me.pw_dir}:/bin/sh\n")
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 53))
    threading.Thread(target=_serve, args=(sock, names), daemon=True).start()
