# SPDX-License-Identifier: Apache-2.0
"""tests/attack/sockets.py - a command tries to communicate through sockets"""

import os
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from hello import Ears
from tap import *

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
NONE = ("--net", "none")
REFUSED = ("EACCES", "EPERM", "EAFNOSUPPORT", "ENOENT", "ECONNREFUSED",
           "ENETUNREACH", "EROFS", "ENOSYS")


@test
def only_listed_socket_families_open(t):
    _, out = t.attempts(["families"], options=NONE)
    pairs = {tuple(map(int, line.split())) for line in out.splitlines()
             if re.match(r"^\d+ \d+$", line)}
    for family, kind in pairs:
        check(family in (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK),
              "family", family, "opened")
        check(family not in (AF_INET, AF_INET6) or kind in (1, 2),
              "raw type", kind, "of", family)
    check((AF_INET, 1) in pairs, "the control: TCP did not open")
    _, control = t.attempts(["families"], inside=False)
    contains(control, f"\n{AF_NETLINK} 3\n", "the control")


@test
def only_NETLINK_ROUTE_opens(t):
    _, out = t.attempts(["netlinks"], options=NONE)
    opened = {line for line in out.splitlines() if line.isdigit()}
    check(opened <= {"0"}, "netlink protocols:", opened)
    _, control = t.attempts(["netlinks"], inside=False)
    contains(control, "\n9\n", "the control")


@test
def high_argument_bits_do_not_bypass_the_filter(t):
    for family, kind in ((AF_UNIX, 2), (38, 1), (40, 1), (17, 1)):
        line = f"socket-high {family} {kind}"
        low = f"socket {family} {kind} 0"
        found, _ = t.attempts([line, low], options=NONE)
        check(found[line] in REFUSED, line, found[line])
        equal(found[line], found[low], "high and low")
    found, _ = t.attempts(["socket-high 1 2"], inside=False)
    equal(found["socket-high 1 2"], "OK", "the control")


@test
def socketpairs_work(t):
    found, _ = t.attempts(["socketpair 1", "tcp-listen"], options=NONE)
    equal(found, {"socketpair 1": "OK", "tcp-listen": "OK"})


@test
def unix_sockets_of_the_host_are_unreachable(t):
    path = t.away + "/s"
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.chdir(t.away)
    stream.bind("s")
    datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagram.bind("d")
    os.chdir(t.dir)
    inside = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    inside.bind("in-the-project")
    abstract = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    name = f"cloche-canary-{os.getpid()}"
    abstract.bind("\0" + name)
    for server in (stream, abstract, inside):
        server.listen(5)
        server.setblocking(False)
    away = os.path.relpath(t.away)
    lines = [f"unix-connect {path}", f"unix-connect {away}/s",
             f"unix-send {away}/d", "unix-connect in-the-project",
             f"abstract {name}"]
    found, _ = t.attempts(lines, options=NONE)
    for line in lines:
        check(found[line] in REFUSED, line, "gave", found[line])
    for server in (stream, abstract, inside):
        try:
            server.accept()
            check(False, "somebody connected")
        except BlockingIOError:
            pass
    found, _ = t.attempts(lines[1:], inside=False)
    equal(set(found.values()), {"OK"}, "the control")


# Every call that takes an address, on every datagram socket that can be had
DATAGRAMS = r"""
import ctypes, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
path = sys.argv[1].encode()
address = struct.pack("H", 1) + path + bytes(1)
def message(data, to=address):
    global keep
    iov = struct.pack("QQ", ctypes.addressof(data), len(data.value))
    keep = [data, ctypes.create_string_buffer(to), ctypes.create_string_buffer(iov)]
    return struct.pack("QI4xQQQQI4x", ctypes.addressof(keep[1]), len(to),
                       ctypes.addressof(keep[2]), 1, 0, 0, 0)
def attempts(s):
    data = ctypes.create_string_buffer(b"sendto")
    libc.sendto(s.fileno(), data, 6, 64, address, len(address))
    data.value = b"sndmsg"
    libc.sendmsg(s.fileno(), message(data), 64)
    data.value = b"sndmmg"
    libc.sendmmsg(s.fileno(), ctypes.create_string_buffer(message(data) + bytes(8)), 1, 64)
    if libc.connect(s.fileno(), address, len(address)) == 0:
        libc.send(s.fileno(), b"cnnect", 6, 64)
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
    try: attempts(socket.socket(socket.AF_UNIX, kind))
    except OSError: pass
    try: pair = socket.socketpair(socket.AF_UNIX, kind)
    except OSError: continue
    attempts(pair[0])
"""


@test
def unix_datagrams_to_the_host_are_refused(t):
    want = {b"sendto", b"sndmsg", b"sndmmg", b"cnnect"}
    for place, options in ((t.away, ()), (t.dir, ()), (t.dir, ("--observe", "off")),
                           (t.dir, ("--net", "host")),
                           (t.dir, ("--tier", "landlock"))):
        for inside in (False, True):
            path = f"{place}/datagrams"
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
                server.bind(path)
                server.setblocking(False)
                words = ["/usr/bin/python3", "-c", DATAGRAMS, path]
                if inside:
                    t.inside(*words, options=options)
                else:
                    t.outside(*words).ok()
                heard = set()
                try:
                    while True:
                        heard.add(server.recv(16))
                except BlockingIOError:
                    pass
            os.unlink(path)
            equal(heard, set() if inside else want, options)


@test
def the_hosts_network_is_unreachable(t):
    ears = Ears()
    tcp_line = f"tcp 127.0.0.1 {ears.tcp_port}"
    udp_line = f"udp 127.0.0.1 {ears.udp_port}"
    found, _ = t.attempts([tcp_line, udp_line], options=NONE)
    check(found[tcp_line] in REFUSED, found)
    check(not ears.heard(), "something arrived from inside")
    found, _ = t.attempts([tcp_line, udp_line], inside=False)
    equal(set(found.values()), {"OK"}, "the control")
    ears.tcp.accept()
    equal(ears.udp.recv(1), b"x")


@test
def net_none_has_only_loopback(t):
    _, out = t.attempts(["interfaces"], options=NONE)
    names = [line for line in out.splitlines() if ":" not in line]
    equal(names, ["lo"])
    found, _ = t.attempts(["tcp 192.0.2.1 80", "udp 192.0.2.1 53"], options=NONE)
    check("OK" not in found.values(), found)


@test
def net_host_reaches_the_hosts_loopback(t):
    server = socket.create_server(("127.0.0.1", 0))
    line = f"tcp 127.0.0.1 {server.getsockname()[1]}"
    found, _ = t.attempts([line], options=("--net", "host"))
    equal(found[line], "OK")


# Descriptor 0 is a socket of the host: leave whom it is connected to
ELSEWHERE = r"""
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
sock = socket.socket(fileno=os.dup(int(sys.argv[1])))
where = eval(sys.argv[2])
libc.connect(sock.fileno(), bytes(16), 16)
try:
    if sock.type == socket.SOCK_DGRAM:
        sock.sendto(b"out", where)
    else:
        sock.connect(where)
        sock.sendall(b"out")
    print("out")
except OSError as error:
    print(error)
"""


def heard(server, kind):
    """The bytes that a server on the host received, if any"""
    server.settimeout(0.2)
    try:
        if kind == socket.SOCK_DGRAM:
            return server.recv(16)
        with server.accept()[0] as peer:
            return peer.recv(16)
    except TimeoutError:
        return b""


@test
def a_socket_as_standard_input_reaches_no_other_address(t):
    for family, kind, connected in (
            (socket.AF_INET, socket.SOCK_STREAM, True),
            (socket.AF_INET, socket.SOCK_STREAM, False),
            (socket.AF_INET6, socket.SOCK_STREAM, False),
            (socket.AF_INET, socket.SOCK_DGRAM, False),
            (socket.AF_UNIX, socket.SOCK_DGRAM, False),
            (socket.AF_UNIX, socket.SOCK_DGRAM, True),
            (socket.AF_UNIX, socket.SOCK_STREAM, False)):
        words = (family.name, kind.name, connected)
        path = f"{t.away}/{family}-{kind}-{connected}"
        with socket.socket(family, kind) as server:
            server.bind({socket.AF_UNIX: path, socket.AF_INET6: ("::1", 0),
                         socket.AF_INET: ("127.0.0.1", 0)}[family])
            if kind == socket.SOCK_STREAM:
                server.listen(8)
            name = repr(server.getsockname())
            for inside in (False, True):
                if connected and family == socket.AF_UNIX:
                    given, other = socket.socketpair(family, kind)
                else:
                    given, other = socket.socket(family, kind), server
                if connected and other is server:
                    given.connect(server.getsockname())
                    server.accept()[0].close()
                with given:
                    run = t.inside if inside else t.outside
                    r = run("/usr/bin/python3", "-c", ELSEWHERE, "0", name,
                            stdin_file=given)
                equal(heard(server, kind), b"" if inside else b"out", *words,
                      repr(r))
            r.ended(125, *words)
            contains(r.err, "descriptor 0 is a socket", *words)


@test
def a_datagram_socket_as_output_is_refused(t):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as given:
        t.inside("true", stderr=given).ended(125)
        t.inside("true", stdout=given).ended(125)
        t.inside("true", stdin_file=given, options=["--net", "host"]).ok()


@test
def a_stream_socketpair_as_standard_descriptor_is_accepted(t):
    ours, given = socket.socketpair()
    with ours, given:
        ours.sendall(b"to the command\n")
        t.inside("sh", "-c", "read line; echo $line >&0",
                 stdin_file=given).ok()
        equal(ours.recv(100), b"to the command\n")


main()
