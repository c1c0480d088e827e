# SPDX-License-Identifier: Apache-2.0
"""tests/harness/hello.py - a server on the host, for commands that try to reach it"""

import select
import socket
import threading


# For a command inside: a tunnel through the proxy, and the first line of the answer
FETCH = r'''
import socket, sys
def tunnel(where, port=3128):
    s = socket.create_connection(("127.0.0.1", port), timeout=30)
    s.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (where, where))
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        got = s.recv(1)
        if not got: break
        head += got
    return s, head.split(b"\r\n")[0].decode()
'''


class Ears:
    """TCP and UDP on the host's loopback: did a byte arrive?"""

    def __init__(self):
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.tcp_port = self.tcp.getsockname()[1]
        self.udp_port = self.udp.getsockname()[1]

    def heard(self):
        return bool(select.select([self.tcp, self.udp], [], [], 0)[0])


class Server:
    """Answers each connection with "hello" and counts them"""

    def __init__(self, host="127.0.0.1"):
        self.socket = socket.create_server((host, 0))
        self.port = self.socket.getsockname()[1]
        self.count = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                s, _ = self.socket.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self.answer, args=(s,), daemon=True).start()

    @staticmethod
    def answer(s):
        """To the end: a close with something unread would be a reset"""
        s.settimeout(20)
        try:
            s.sendall(b"hello")
            s.shutdown(socket.SHUT_WR)
            while s.recv(4096):
                pass
        except OSError:
            pass
        s.close()
