# SPDX-License-Identifier: Apache-2.0
"""tests/live/gnupg.py - gpg verifies signatures in the sandbox and cannot sign"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

SOCKET = """import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
print("connected to", s.recv(2))
"""


class Signer:
    """A user with a key, and a project with a signed commit and a signed file"""

    def __init__(self, t):
        need("gpg-agent")
        self.t, self.dir = t, t.home + "/.gnupg"
        os.mkdir(self.dir, 0o700)
        self.gpg("--pinentry-mode", "loopback", "--passphrase", "",
                 "--quick-gen-key", "Me <me@example.org>", "ed25519", "sign", "never")
        t.write("f", "x\n")
        self.gpg("--detach-sign", "f")
        for words in ("init -q .", "config user.name Me",
                      "config user.email me@example.org",
                      "config user.signingkey me@example.org", "add f",
                      "commit -q -S -m one"):
            t.outside("git", *words.split()).ok()
        self.verified = self.verify(t.outside)	# gpg checks its trust once
        self.verified = self.verify(t.outside)

    def gpg(self, *words):
        return self.t.outside("gpg", "--batch", "--quiet", *words).ok()

    def verify(self, how):
        log = how("git", "log", "--show-signature").ok()
        file = how("gpg", "--verify", "f.sig", "f").ok()
        return log.out, log.err, file.out, file.err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.t.outside("gpgconf", "--kill", "all").ok()
        wait_until(lambda: not running(), "the end of gpg-agent")


@test
def signatures_verify_as_on_the_host(t):
    with Signer(t) as signer:
        contains(signer.verified[0] + signer.verified[1], "Good signature")
        contains(signer.verified[3], "[ultimate]")
        equal(signer.verify(t.inside), signer.verified)


@test
def private_keys_and_the_agent_are_unreachable(t):
    with Signer(t) as signer:
        [key] = os.listdir(signer.dir + "/private-keys-v1.d")
        path = f"{signer.dir}/private-keys-v1.d/{key}"
        contains(t.outside("cat", path).ok().out, "key")
        check(t.inside("cat", path).code != 0)
        equal(t.inside("ls", "-A", signer.dir).ok().out,
              "pubring.kbx\ntrustdb.gpg\n")
        [agent] = t.outside("gpgconf", "--list-dirs", "agent-socket").ok().out.split()
        contains(t.outside("python3", "-c", SOCKET, agent).ok().out, "OK")
        lacks(t.inside("python3", "-c", SOCKET, agent).out, "connected")
        sign = ("gpg", "--batch", "--yes", "-o", "signed", "--sign", "f")
        check(t.inside(*sign).code != 0)
        check(not t.exists("signed"))
        t.outside(*sign).ok()
        # What comes later is not there either
        t.write(signer.dir + "/secring.gpg", "SECRET")
        lacks(t.inside("cat", signer.dir + "/secring.gpg").out, "SECRET")


@test
def writes_to_the_private_gnupg_home_stay_in_the_sandbox(t):
    with Signer(t) as signer:
        before = {name: open(f"{signer.dir}/{name}", "rb").read()
                  for name in ("pubring.kbx", "trustdb.gpg")}
        names = sorted(os.listdir(signer.dir))
        t.shell("echo evil > ~/.gnupg/gpg.conf; echo evil > ~/.gnupg/trustdb.gpg; "
                "echo evil > ~/.gnupg/pubring.kbx; rm -f ~/.gnupg/pubring.kbx; "
                "cat ~/.gnupg/gpg.conf")
        equal(sorted(os.listdir(signer.dir)), names)
        for name, data in before.items():
            equal(open(f"{signer.dir}/{name}", "rb").read(), data, name)
        equal(signer.verify(t.inside), signer.verified)


@test
def the_landlock_tier_hides_the_gnupg_home(t):
    """In the landlock tier it would be the host's own"""
    with Signer(t) as signer:
        names = sorted(os.listdir(signer.dir))
        [key] = os.listdir(signer.dir + "/private-keys-v1.d")
        r = t.shell(f"cat {signer.dir}/private-keys-v1.d/{key}; ls {signer.dir}; "
                    f"echo x > {signer.dir}/gpg-agent.conf; "
                    f"echo x >> {signer.dir}/trustdb.gpg; echo x > made",
                    options=("--tier", "landlock"))
        check(t.exists("made"), repr(r))	# Control: it ran, and could write
        equal(r.out, "")
        equal(sorted(os.listdir(signer.dir)), names)
        contains(signer.verify(t.outside)[3], "[ultimate]")


@test
def user_rules_override_the_private_gnupg_home(t):
    with Signer(t) as signer:
        for options in (("--deny-read", signer.dir + "/pubring.kbx"),
                        ("--profile", "home")):
            r = t.inside("sh", "-c", "cat ~/.gnupg/pubring.kbx || :",
                         options=options).ok()
            equal(r.out, "", options)
            lacks(r.err, "gpg knows no keys")
        [key] = os.listdir(signer.dir + "/private-keys-v1.d")
        path = f"{signer.dir}/private-keys-v1.d/{key}"
        contains(t.inside("cat", path, options=("--read", signer.dir)).ok().out,
                 "key")


@test
def a_symlinked_gnupg_home_works(t):
    with Signer(t) as signer:
        t.outside("gpgconf", "--kill", "all").ok()
        os.makedirs(t.home + "/dotfiles")
        os.rename(signer.dir, t.home + "/dotfiles/gnupg")
        os.symlink("dotfiles/gnupg", signer.dir)
        for where in (signer.dir, t.home + "/dotfiles/gnupg"):
            equal(t.inside("ls", "-A", where).ok().out, "pubring.kbx\ntrustdb.gpg\n")
        equal(signer.verify(t.inside), signer.verified)
        # But not the keyring, which could lead to any secret
        t.write(t.home + "/.ssh/id_rsa", "SECRET")
        real = t.home + "/dotfiles/gnupg/pubring.kbx"
        os.unlink(real)
        os.symlink("../../.ssh/id_rsa", real)
        for path in (signer.dir + "/pubring.kbx", t.home + "/.ssh/id_rsa"):
            equal(t.outside("cat", path).ok().out, "SECRET")	# The control
            lacks(t.inside("cat", path).out, "SECRET")


@test
def missing_public_keys_are_explained(t):
    with Signer(t) as signer:
        log = ("git", "log", "--show-signature")
        ring = signer.dir + "/pubring.kbx"
        r = t.inside(*log, options=("--profile", "home")).ok()
        lacks(r.out + r.err, "Good signature")
        contains(r.err, "gpg knows no keys: profile home has none (--read ~/.gnupg/pubring.kbx ")
        r = t.inside(*log, options=("--profile", "home", "--read", ring)).ok()
        contains(r.out + r.err, "Good signature")
        lacks(r.err, "gpg knows no keys")
        # As keyboxd of GnuPG 2.4 has them
        exported = t.outside("sh", "-c", "gpg --export > exported").ok()
        os.mkdir(signer.dir + "/public-keys.d")
        os.rename(ring, signer.dir + "/public-keys.d/pubring.db")
        r = t.inside(*log).ok()
        lacks(r.out + r.err, "Good signature", exported)
        contains(r.err, "gpg knows no keys: keyboxd has them")
        os.rename("exported", signer.dir + "/pubring.gpg")
        r = t.inside(*log).ok()
        contains(r.out + r.err, "Good signature")
        lacks(r.err, "gpg knows no keys")


@test
def where_the_host_has_none_making_one_is_refused_with_a_word(t):
    need("gpg")
    for command in (["mkdir", t.home + "/.gnupg"], ["gpg", "--list-keys"]):
        r = t.inside(*command)
        check(r.code != 0, repr(r))
        contains(r.err, f"write {t.home}/.gnupg (")
        contains(r.err, "cloche policy allow write" if command[0] == "mkdir" else
                 f"an empty one is enough)\n            mkdir -m 700 {t.home}/.gnupg\n")
    check(not t.exists(t.home + "/.gnupg"))


main()
