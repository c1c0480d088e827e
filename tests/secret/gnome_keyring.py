# SPDX-License-Identifier: Apache-2.0
"""tests/secret/gnome_keyring.py - a real gnome-keyring on a bus of its own"""

import json

from common import *

COLLECTION = "/org/freedesktop/secrets/collection/login"
MASTER = b"m4ster"


class Keyring:
    """A session bus and, when started, a keyring daemon on it"""

    def __init__(self, t):
        self.t = t
        self.daemon = None
        self.runtime = os.path.join(t.away, "run")
        os.mkdir(self.runtime, 0o700)
        if not os.path.exists(os.path.join(BIN, "cloche-secret-service")):
            skip("built without libsecret")
        need("gnome-keyring-daemon")
        need("gdbus")
        config = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                              "bus.conf")
        self.bus = subprocess.Popen(
            [need("dbus-daemon"), "--config-file", config, "--nofork",
             f"--address=unix:dir={self.runtime}",
             "--print-address=1"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        address = self.bus.stdout.readline().decode().strip()
        self.env = {"DBUS_SESSION_BUS_ADDRESS": address,
                    "XDG_RUNTIME_DIR": self.runtime}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.bus.kill()
        self.bus.communicate()

    def start(self, unlock=True):
        """Start it and unlock it, as logging in does; or not, as the bus does"""
        self.daemon = subprocess.Popen(
            ["gnome-keyring-daemon", "--foreground", "--components=secrets",
             *(["--unlock"] if unlock else [])],
            env={**os.environ, **self.env},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.daemon.stdin.write(MASTER if unlock else b"")
        self.daemon.stdin.close()
        self.call("wait", "--timeout", "60", "org.freedesktop.secrets")
        return self

    def stop(self):
        if self.daemon:
            self.daemon.kill()
            self.daemon.wait()
            self.daemon = None

    def call(self, verb, *argv):
        return self.t.outside("gdbus", verb, "--session", *argv,
                              env=self.env).ok()

    def lock(self):
        self.call("call", "--dest", "org.freedesktop.secrets", "--object-path",
                  "/org/freedesktop/secrets", "--method",
                  "org.freedesktop.Secret.Service.Lock",
                  f"[objectpath '{COLLECTION}']")

    def start_locked(self):
        self.stop()
        self.start(unlock=False)

    def log_in_again(self):
        self.stop()
        self.start()

    def put(self, name, value, *options):
        return put(self.t, name, value, *options, env=self.env)

    def get(self, name, *options):
        return get(self.t, name, *options, env=self.env)

    def run(self, *argv):
        return secret(self.t, *argv, env=self.env)

    def state(self, number=0):
        info = json.loads(self.run("status", "--json").out)
        return info["backends"][number]["state"]
