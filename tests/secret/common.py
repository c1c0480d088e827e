# SPDX-License-Identifier: Apache-2.0
"""tests/secret/common.py - what the tests of cloche secret share"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

BIN = os.path.dirname(CLOCHE)
PLAIN_WARNING = "Warning: Storing credentials in plaintext.\n"


def store_dir(t):
    return os.path.join(t.home, ".local/state/cloche/secrets")


def store_file(t, name="credentials.json"):
    return os.path.join(store_dir(t), name)


def secret(t, *argv, **more):
    """cloche secret ARGV..., without a bus and without the tester's keys"""
    env = {"XDG_CONFIG_HOME": None, "XDG_STATE_HOME": None,
           "XDG_RUNTIME_DIR": None, "DBUS_SESSION_BUS_ADDRESS": None,
           "CLOCHE_PASSPHRASE_FILE": None, "CLOCHE_KEY_FILE": None,
           "CLAUDE_CONFIG_DIR": None}
    env.update(more.pop("env", {}))
    return t.run("secret", *argv, env=env, **more)


def put(t, name, value, *options, **more):
    return secret(t, "set", name, *options, stdin=value, **more)


def get(t, name, *options, **more):
    """The value, or None if there is none"""
    r = secret(t, "get", name, *options, **more)
    check(r.code in (0, 1), repr(r))
    return r.out.removesuffix("\n") if r.code == 0 else None


def names(t, *options, **more):
    return secret(t, "list", *options, **more).ok().out.split()


def refused(r, code, *words):
    """One line on standard error that says all of @words; nothing printed"""
    check(r.code == code, "not", code, repr(r))
    equal(r.out, "", "standard output")
    check(r.err.startswith("cloche: ") and r.err.count("\n") == 1, repr(r))
    for word in words:
        contains(r.err, word)
    return r


def key_file(t):
    """A key file of our own, and the options that use it"""
    path = os.path.join(t.away, "key")
    if not os.path.exists(path):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(32))
    return path


def programs_with(t, service):
    """A directory with our programs in which the keyring's helper is the shell
    script @service; returns cloche's path there
    """
    path = os.path.join(t.away, "bin")
    os.makedirs(path, exist_ok=True)
    for name in ("cloche", "cloche-secret"):
        shutil.copy(os.path.join(BIN, name), path)
    helper = os.path.join(path, "cloche-secret-service")
    with open(helper, "w") as f:
        f.write("#!/bin/sh\n" + service + "\n")
    os.chmod(helper, 0o755)
    return os.path.join(path, "cloche")
