# SPDX-License-Identifier: Apache-2.0
"""tests/live/ssh.py - git over ssh, with a real sshd on a host of our own"""

import json
import os
import shutil
import pwd
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from host import *

GOOD, BAD = "93.184.216.34", "93.184.216.36"
QUIET = ("-o BatchMode=yes -o StrictHostKeyChecking=no "
         "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -i key")


class Sshd:
    """A server for ourselves, with a repository to clone"""

    def __init__(self, t, *ports):
        self.t = t
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.dir = os.path.join(t.away, "sshd")
        self.log = os.path.join(self.dir, "log")
        os.mkdir(self.dir, 0o700)
        keygen = [need("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f"]
        t.outside(*keygen, os.path.join(self.dir, "host")).ok()
        t.outside(*keygen, os.path.join(t.dir, "key")).ok()
        shutil.move(os.path.join(t.dir, "key.pub"),
                  os.path.join(self.dir, "authorized"))
        config = os.path.join(self.dir, "config")
        with open(config, "w") as file:
            file.write(f"""
HostKey {self.dir}/host
AuthorizedKeysFile {self.dir}/authorized
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
LogLevel VERBOSE
""" + "".join(f"Port {port}\n" for port in ports or (22,)))
        self.p = subprocess.Popen([need("/usr/sbin/sshd"), "-D", "-f", config,
                                   "-E", self.log])
        wait_until(lambda: "Server listening" in self.said(), "sshd listens")
        self.repository()

    def said(self):
        try:
            with open(self.log) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def repository(self):
        seed = os.path.join(self.dir, "seed")
        self.repo = os.path.join(self.dir, "repo.git")
        git = need("git")
        self.t.outside(git, "init", "-q", "-b", "main", seed).ok()
        with open(os.path.join(seed, "file"), "w") as file:
            file.write("content\n")
        self.t.outside(git, "-C", seed, "add", ".").ok()
        self.t.outside(git, "-C", seed, "-c", "user.name=a", "-c",
                       "user.email=a@b", "commit", "-qm", "one").ok()
        self.t.outside(git, "clone", "-q", "--bare", seed, self.repo).ok()

    def url(self, name, port=22):
        return f"ssh://{self.user}@{name}:{port}{self.repo}"

    def stop(self):
        self.p.kill()
        self.p.wait()


def clone(t, sshd, url, where, how="$GIT_SSH_COMMAND", options=()):
    """git clone inside, through @how, with the options of a test"""
    return t.inside("/bin/sh", "-c", f'GIT_SSH_COMMAND="{how} {QUIET}" exec git '
                    f'clone -q {url} {where}', options=[
                        "--events", os.path.join(t.away, "events"), *options])


def refusals(t):
    with open(os.path.join(t.away, "events")) as file:
        return [json.loads(line) for line in file]


@test
def git_clones_from_an_allowed_name(t):
    sshd = Sshd(t)
    try:
        for i, how in enumerate(("$GIT_SSH_COMMAND", "ssh")):
            clone(t, sshd, sshd.url("good.test"), f"copy{i}", how,
                  ["--allow", "good.test:22"]).ok()
            equal(t.read(f"copy{i}/file"), "content\n", how)
        contains(sshd.said(), f"on {GOOD} port 22")
        equal(refusals(t), [])
    finally:
        sshd.stop()


@test
def a_denied_name_is_refused_with_the_reason(t):
    sshd = Sshd(t)
    try:
        r = clone(t, sshd, sshd.url("bad.test"), "never", options=[
            "--allow", "good.test:22"])
        check(r.code != 0 and not t.exists("never/file"), repr(r))
        contains(r.err, "bad.test:22: host is not on the allow list")
        r = clone(t, sshd, sshd.url("bad.test"), "never", options=[
            "--allow", "good.test:22", "--deny", "bad.test"])
        contains(r.err, "bad.test:22: host is on the deny list")
        r = clone(t, sshd, sshd.url("bad.test"), "never", "ssh", options=[
            "--allow", "good.test:22"])
        contains(r.err, "Could not resolve hostname bad.test")
        equal({(e["kind"], e["target"]) for e in refusals(t)}, {
            ("net-connect", "bad.test:22"), ("net-dns", "bad.test")})
        lacks(sshd.said(), f"on {BAD} port")
        lacks(asked(), "bad.test")
        # The same name, allowed, is reached
        clone(t, sshd, sshd.url("bad.test"), "copy",
              options=["--allow", "bad.test:22"]).ok()
        contains(asked(), "bad.test")
        contains(sshd.said(), f"on {BAD} port")
    finally:
        sshd.stop()


@test
def GIT_SSH_COMMAND_reaches_another_port_without_an_observer(t):
    sshd = Sshd(t, 2222)
    try:
        for i, options in enumerate(([], ["--observe", "off"])):
            clone(t, sshd, sshd.url("good.test", 2222), f"copy{i}", options=[
                "--allow", "good.test:2222", *options]).ok()
            equal(t.read(f"copy{i}/file"), "content\n")
    finally:
        sshd.stop()


@test
def GIT_SSH_COMMAND_reaches_a_port_of_the_hosts_loopback(t):
    sshd = Sshd(t, 2222)
    try:
        for name in ("localhost", "127.0.0.1"):
            r = clone(t, sshd, sshd.url(name, 2222), name)
            check(r.code != 0, "the control", repr(r))
            contains(r.err, name + ":2222: host is not on the allow list")
            clone(t, sshd, sshd.url(name, 2222), name, options=["--host-port", "2222"]).ok()
            equal(t.read(name + "/file"), "content\n")
    finally:
        sshd.stop()


@test
def GIT_SSH_COMMAND_disables_shared_connections(t):
    # It would have to be the command's own
    sshd = Sshd(t)
    try:
        t.write("config", f"ControlMaster auto\nControlPath {t.dir}/shared\n")
        for i, how in enumerate(("ssh -F config", "$GIT_SSH_COMMAND -F config")):
            clone(t, sshd, sshd.url("good.test"), f"copy{i}", how,
                  ["--allow", "good.test:22"]).ended(0)
            equal(t.read(f"copy{i}/file"), "content\n")
    finally:
        sshd.stop()


@test
def GIT_SSH_COMMAND_does_not_update_known_hosts(t):
    """They are read-only, and ssh complains of what it cannot look for beside them"""
    sshd = Sshd(t)
    try:
        with open(sshd.dir + "/host.pub") as file:
            t.write(t.home + "/.ssh/known_hosts",
                    "good.test " + " ".join(file.read().split()[:2]) + "\n")
        r = t.shell(f'GIT_SSH_COMMAND="$GIT_SSH_COMMAND -o BatchMode=yes -i key" '
                    f'git clone -q {sshd.url("good.test")} copy',
                    options=["--allow", "good.test:22"]).ok()
        equal(t.read("copy/file"), "content\n")
        lacks(r.err, "known_hosts")
    finally:
        sshd.stop()


@test
def the_users_GIT_SSH_COMMAND_is_kept(t):
    r = t.inside("/bin/sh", "-c", "echo $GIT_SSH_COMMAND",
                 env={"GIT_SSH_COMMAND": "mine"},
                 options=["--env", "GIT_SSH_COMMAND"]).ok()
    equal(r.out, "mine\n")
    r = t.inside("/bin/sh", "-c", "echo $GIT_SSH_COMMAND",
                 options=["--net", "none"]).ok()
    equal(r.out, "\n")


own_host({"good.test": GOOD, "bad.test": BAD})
@test
def a_refused_ssh_key_suggests_the_agent(t):
    sshd = Sshd(t)
    os.makedirs(t.home + "/.ssh", 0o700)
    key = t.home + "/.ssh/id_ed25519"
    shutil.move(os.path.join(t.dir, "key"), key)
    path = os.path.join(t.away, "agent")
    agent = subprocess.Popen([need("ssh-agent"), "-D", "-a", path],
                             stdout=subprocess.DEVNULL)
    env = {"SSH_AUTH_SOCK": path,
           "PATH": os.path.dirname(os.path.abspath(CLOCHE)) + ":" + os.environ["PATH"]}
    try:
        # Its status is 2 until the agent listens, 1 while it has no key
        wait_until(lambda: t.outside("ssh-add", "-l", env=env).code == 1, "the agent")
        t.outside("ssh-add", "-q", key, env=env).ok()
        t.run("policy", "allow", "host", "good.test:22").ok()
        call = ["ssh", *QUIET.replace(" -i key", "").split(),
                f"{sshd.user}@good.test", "echo", "reached"]
        r = t.inside(*call, options=["--observe", "full"], env=env)
        check(r.code != 0, repr(r))
        lacks(r.err, "allow read")
        line, = {word.strip() for word in r.err.split("\n")
                 if word.startswith("            cloche ")}
        equal(line, "cloche policy allow socket " + path)
        t.outside("bash", "-c", line, env=env).ok()
        r = t.inside(*call, env=env).ok()
        equal(r.out, "reached\n")
        lacks(r.err, "cloche:")
    finally:
        agent.kill()
        agent.wait()
        sshd.stop()


main()
