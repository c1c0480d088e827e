# SPDX-License-Identifier: Apache-2.0
"""tests/harness/hello.py - a server outside that somebody may try to reach"""

import socket
import threading


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
