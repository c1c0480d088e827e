# SPDX-License-Identifier: Apache-2.0
"""tests/attack/authority.py - settings that a command can write grant it nothing"""

import json
import os
import pwd
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from hello import *
from tap import *

TESTED = os.path.join(os.path.dirname(CLOCHE), "cloche-test")
PROJECT = ".claude/settings.json"
LOCAL = ".claude/settings.local.json"


def settings(t, path, **sandbox):
    return t.write(path, json.dumps({"sandbox": sandbox}))


def ssh(t):
    return t.write(t.home + "/.ssh/id", "SECRET")


# Tries until the file "denied" cannot be written any more: the edit has been read
WAITS = """
while echo x > denied; do sleep 0.05; done 2>/dev/null
echo x > {0}/one && echo opened || echo closed
while test ! -e go; do sleep 0.05; done
until echo x > {0}/two; do sleep 0.05; done 2>/dev/null
"""


def live(t, where):
    """A run in @where, whose settings are edited while it runs"""
    settings(t, where + "/" + PROJECT)
    p = t.start("run", "--", "sh", "-c", "touch ready; " + WAITS.format(t.away),
                cwd=where)
    wait_until(lambda: os.path.exists(where + "/ready"), "the command")
    settings(t, where + "/" + PROJECT, filesystem={
        "allowWrite": [t.away], "denyWrite": ["denied"],
        "allowRead": [t.home + "/.ssh"]})
    return p


@test
def a_settings_file_that_appears_grants_nothing_until_approved(t):
    p = live(t, t.dir)
    p.stdout.readline()
    check(not os.path.exists(t.away + "/one"), "the planted file was obeyed")
    t.trust()                               # The control: at once, in this run
    t.write("go")
    p.wait(RUN_SECONDS)
    check(os.path.exists(t.away + "/two"), "the approval does not count")


@test
def a_repository_made_by_a_command_grants_nothing(t):
    need("git")
    t.shell("git init -q app && mkdir -p app/.claude").ok()
    app = t.dir + "/app"
    p = live(t, app)
    p.stdout.readline()
    check(not os.path.exists(t.away + "/one"), "the planted file was obeyed")
    t.trust("--cwd", app)                   # The control
    t.write(app + "/go")
    p.wait(RUN_SECONDS)
    check(os.path.exists(t.away + "/two"), "the approval does not count")


def writes(t, where):
    """Whether a command that runs in @where can write outside of it"""
    t.shell(f"echo x > {t.away}/file", cwd=where)
    return t.exists(t.away + "/file")


@test
def settings_written_by_a_run_of_srt_grant_nothing(t):
    need("git")
    grant = json.dumps({"sandbox": {"filesystem": {"allowWrite": [t.away]}}})
    own = t.write(t.away + "/srt.json", json.dumps(
        {"network": {"allowedDomains": [], "deniedDomains": []},
         "filesystem": {"denyRead": [], "allowWrite": [t.dir],
                        "denyWrite": []}}))
    script = (f"git init -q app; for d in . app; do mkdir -p $d/.claude; "
              f"echo '{grant}' > $d/{PROJECT}; done; echo x > made")
    for argv in (("as", "srt", "-s", own, "-c", script),
                 ("run", "--profile", "srt", "-s", own, "--", "sh", "-c", script)):
        r = t.run(*argv)
        check(t.exists("made"), "the command wrote nothing", r)
        check(not t.exists(PROJECT), argv[:2], r)
        check(t.exists("app/" + PROJECT), "its own repository is its own", r)
        for where in (t.dir, t.dir + "/app"):
            check(not writes(t, where), argv[:2], where)
        t.trust("--cwd", t.dir + "/app")    # The control
        check(writes(t, t.dir + "/app"))
        t.run("trust", "--forget", "--cwd", t.dir + "/app").ok()
        t.outside("rm", "-rf", "app", "made", t.away + "/file").ok()


@test
def a_user_settings_file_made_by_a_live_run_grants_nothing(t):
    """Won against that run's observer it would stand there until quarantine"""
    key, own = ssh(t), t.home + "/" + PROJECT
    opens = {"filesystem": {"allowRead": [t.home + "/.ssh"]}}
    for exists in (False, True):
        if exists:                          # The control: mounts held it
            settings(t, own, **opens)
        p = t.start("run", "--write", t.home, "--", "sh", "-c",
                    "touch ready; while test ! -e go; do sleep 0.05; done")
        wait_until(lambda: t.exists("ready"), "the command")
        # Its supervisor decides nothing meanwhile, so that the file stays
        p.send_signal(signal.SIGSTOP)
        if not exists:
            settings(t, own, **opens)
        r = t.inside("cat", key)
        p.send_signal(signal.SIGCONT)
        if exists:
            equal(r.ok().out, "SECRET")
        else:
            contains(r.ended(125).err, "appeared during a run that goes on")
        t.write("go")
        p.wait(RUN_SECONDS)
        for name in (own, t.dir + "/ready", t.dir + "/go"):
            if os.path.exists(name):
                os.unlink(name)


@test
def an_approval_belongs_to_one_repository(t):
    need("git")
    one, two, far = (f"{t.dir}/{name}" for name in ("one", "two", "one-far"))
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@example.org")
    for where in (one, two):
        t.outside("git", "init", "-q", where).ok()
        settings(t, where + "/" + PROJECT, filesystem={"allowWrite": [t.away]})
        t.outside(*git, "add", ".", cwd=where).ok()
        t.outside(*git, "commit", "-qm", "x", cwd=where).ok()
    t.outside("git", "worktree", "add", "-q", far, cwd=one).ok()
    for where in (one, two, far):
        check(not writes(t, where), where)
    t.trust("--cwd", one)
    check(not writes(t, two), "equal asks, another repository")
    check(not writes(t, t.dir), "the directory around it")
    for where in (one, far):                # A work tree asks for the same
        check(writes(t, where), where)
        os.unlink(t.away + "/file")
    os.mkdir(t.root + "/more")              # ... and here for more
    settings(t, far + "/" + PROJECT, filesystem={
        "allowWrite": [t.away, t.root + "/more"]})
    check(t.shell(f"echo x > {t.root}/more/x", cwd=far).code)
    t.trust("--cwd", two)                   # The control
    check(writes(t, two))


@test
def a_clone_cannot_disable_the_sandbox(t):
    out = t.away + "/out"
    bare = ("--allow-unsandboxed",)
    for values in ({"enabled": False}, {"enabledPlatforms": ["macos"]},
                   {"excludedCommands": ["touch *"]}):
        for path in (PROJECT, LOCAL):
            settings(t, path, **values)
            t.run("trust", "--yes")
            r = t.inside("touch", out, options=bare)
            check(r.code and not t.exists(out), values, path, r)
            os.unlink(path)
    settings(t, t.home + "/" + PROJECT, enabled=False)      # The control
    t.inside("touch", out, options=bare).ok()


@test
def another_HOME_does_not_unmask_the_real_home(t):
    real = pwd.getpwuid(os.getuid()).pw_dir
    for home in ("/nonexistent", t.away):
        r = t.run("policy", "why", "read", real + "/.ssh/id", env={"HOME": home})
        contains(r.ended(1, home).out, "SSH private keys")
    t.run("policy", "why", "read", "/etc/passwd").ok()      # The control
    if os.path.realpath(real) != t.home:
        return note("no room: the files of the real home stay untouched")
    key, other = (t.write(f"{t.home}/{name}", "SECRET")
                  for name in (".ssh/id_rsa", "seen"))
    for home in (real, "/nonexistent", t.away):
        r = t.inside("cat", key, env={"HOME": home})
        check(r.code and "SECRET" not in r.out, home, r)
        # The control
        equal(t.inside("cat", other, env={"HOME": home}).ok().out, "SECRET")


@test
def managed_lock_applies_to_reads(t):
    ssh(t)
    settings(t, PROJECT, filesystem={"allowRead": [t.home + "/.ssh/id"]})
    t.run("trust", "--yes")
    lock = ("-s", '{"sandbox": {"allowUnsandboxedCommands": false}}')
    read = ("cat", t.home + "/.ssh/id")
    check("SECRET" not in t.inside(*read, options=lock).out)
    equal(t.inside(*read).ok().out, "SECRET")               # The control


@test
def grants_that_no_repository_gets_even_approved(t):
    t.write(".idea/x", "old")
    t.write("private/x", "SECRET")
    user = t.home + "/" + PROJECT
    settings(t, user, filesystem={"denyRead": ["./private", t.dir + "/private"]})
    # The same denial as the user's is not the repository's to lift
    asked = {"filesystem": {"unprotect": [".idea"], "allowRead": ["private/x"],
                            "denyRead": ["private"], "allowWrite": ["private/x"]},
             "network": {"httpProxyPort": 8888, "socksProxyPort": 8889},
             "ignoreViolations": {"*": ["."]}, "passEnv": True,
             "env": ["TOKEN"], "minimumTier": "landlock"}
    for path in (PROJECT, LOCAL):
        settings(t, path, **asked)
        t.run("trust", "--yes")
        r = t.shell("echo new > .idea/x; cat private/x; echo $TOKEN",
                    env={"TOKEN": "ghp_secret"})
        equal(t.read(".idea/x"), "old", path)
        lacks(r.out, "SECRET")
        lacks(r.out, "ghp_secret")
        contains(r.err, ".idea", "the report was hidden")
        shown = json.loads(t.run("policy", "show", "--json").ok().out)["settings"]
        for key in ("network.httpProxyPort", "network.socksProxyPort"):
            check(not shown.get(key) or shown[key].get("value") is None, key)
        os.unlink(path)
    settings(t, user, filesystem={"unprotect": [".idea"]})  # The control
    t.shell("echo new > .idea/x && cat private/x").ok()


CONNECT = """import socket
s = socket.socket(socket.AF_UNIX)
s.connect("host.sock")
print("connected")"""


@test
def a_socket_in_the_project_needs_approval(t):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("host.sock")
        server.listen(9)
        connect = lambda: t.inside("/usr/bin/python3", "-c", CONNECT)
        for path in (PROJECT, LOCAL):
            settings(t, path, network={"allowUnixSockets": ["host.sock"]})
            r = connect()
            check(r.code, "it was connected to", path)
            contains(r.err, path + " asks for 1 socket; review: cloche trust")
            t.trust()                       # The control
            contains(connect().ok().out, "connected")
            t.run("trust", "--forget").ok()
            os.unlink(path)


@test
def a_repository_cannot_show_tokens_by_choosing_a_profile(t):
    token = t.write(t.home + "/.config/gh/hosts.yml", "TOKEN")
    for path in (PROJECT, LOCAL):
        settings(t, path, profile="home")
        lacks(t.inside("cat", token).out, "TOKEN")
        t.trust()                           # The control
        equal(t.inside("cat", token).ok().out, "TOKEN")
        t.run("trust", "--forget").ok()
        os.unlink(path)


FLIP = """
while test ! -e stop; do
    echo '{"network": {"allowedDomains": ["b.example"]}}' > app/.cloche.json
    echo '{"filesystem": {"allowWrite": ["'$1'"]}}' > app/.claude/settings.json
    echo '{}' > app/.claude/settings.json
    echo > flips
done"""


@test
def settings_written_during_a_users_edit_are_not_approved(t):
    """It changes a repository that it made, while the user changes it as well"""
    need("git")
    p = t.start("run", "--", "sh", "-c", "git init -q app; mkdir app/.claude; " +
                FLIP, "sh", t.away)
    wait_until(lambda: t.exists("flips"), "the command")
    app = ("--cwd", t.dir + "/app")
    for nth in range(long(25, 200)):
        t.run("policy", "allow", *app, "host", f"h{nth}.example")
    t.write("stop")
    p.communicate()
    kept = json.loads(t.run("trust", "--list", "--json").ok().out)["approved"]
    lines = {line for record in kept for line in record["asks"]}
    equal({line for line in lines if not line.startswith("host h")}, set())
    # The control: of the user's own, and patterns and paths too
    for name in (".cloche.json", PROJECT):
        t.write("app/" + name, "{}")
    for words in (("host", "c.example"), ("write", "/srv/*.d"),
                  ("read", "~/.ssh/x"), ("write", t.away)):
        t.run("policy", "allow", *app, *words).ok()
        equal(t.run("trust", "--show", *app).code, 0, words)


@test
def a_writable_settings_file_is_read_once(t):
    def write(*paths):
        t.write("s.json", json.dumps({"filesystem": {"allowWrite": list(paths)}}))
    run = lambda name: t.shell(f"echo x > {t.away}/{name}/x",
                               options=("-s", "s.json"))
    for name in "ab":
        os.mkdir(f"{t.away}/{name}")
    write(t.away + "/a")
    run("a").ok()
    write(t.away + "/a", t.away + "/b")
    r = run("b")
    check(r.code, "the changed file was obeyed")
    contains(r.err, "s.json asks for 1 path; review: cloche trust -s ")
    run("a").ok()
    t.trust("-s", "s.json")
    run("b").ok()
    # Outside of what commands write, it is the invocation's own word
    t.write(t.away + "/s.json", json.dumps({"filesystem": {"allowWrite": []}}))
    t.shell("true", options=("-s", t.away + "/s.json")).ok()
    t.write(t.away + "/s.json", json.dumps(
        {"filesystem": {"allowWrite": [t.away + "/b"]}}))
    t.shell(f"echo y > {t.away}/b/y", options=("-s", t.away + "/s.json")).ok()


@test
def control_descriptors_writable_by_the_command_are_refused(t):
    os.mkfifo(t.dir + "/fifo")
    os.mkfifo(t.away + "/fifo")
    for path, code in ((t.dir + "/fifo", 125), (t.away + "/fifo", 0)):
        fd = os.open(path, os.O_RDWR)
        r = t.run("run", "--allow", "x.test", "--control-fd", str(fd), "--",
                  "true", pass_fds=[fd])
        os.close(fd)
        equal(r.code, code, r)


@test
def event_descriptors_writable_by_the_command_are_refused(t):
    os.mkfifo(t.dir + "/fifo")
    fd = os.open(t.dir + "/fifo", os.O_RDWR)
    contains(t.run("run", "--events", str(fd), "--", "true", pass_fds=[fd])
             .ended(125).err, "can write to descriptor")
    os.close(fd)
    r = t.outside("sh", "-c", f"{CLOCHE} run --events 3 -- true 3>&1")
    contains(r.ended(125).err, "can write to descriptor")
    fd = os.open(t.dir + "/events", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    r = t.run("run", "--events", str(fd), "--", "sh", "-c",
              "echo forged >> events; echo x > /usr/x", pass_fds=[fd])
    os.close(fd)
    check(r.code)
    lacks(t.read("events"), "forged\n")
    contains(t.read("events"), "/usr/x")                    # The control


@test
def key_files_named_by_variables_are_hidden(t):
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "KUBECONFIG",
                 "AWS_SHARED_CREDENTIALS_FILE"):
        key = t.write(t.away + "/key", "SECRET")
        equal(t.inside("cat", key).ok().out, "SECRET")      # The control
        env = {name: "/nonexistent:" + key if name == "KUBECONFIG" else key}
        check(t.inside("cat", key, env=env).code, name)
        equal(t.inside("cat", key, env=env, options=("--read", key)).ok().out,
              "SECRET")


@test_if(os.path.exists(TESTED))
def a_stricter_option_wins_over_a_managed_value(t):
    server = Server()
    where = f"127.0.0.1:{server.port}"
    t.write(t.away + "/etc/cloche/policy.json", json.dumps(
        {"network": {"mode": "filtered", "allowedDomains": [where]},
         "limits": {"timeout": "60s"}}))
    run = lambda *options: t.outside(
        TESTED, "run", *options, env={"CLOCHE_ROOT_ETC": t.away + "/etc"})
    run("--timeout", "300ms", "--", "sleep", "30").ended(124)
    fetch = ("--", "/usr/bin/python3", "-c", FETCH +
             f"print(tunnel(b'{where}')[0].recv(9))")
    check(run("--net", "none", *fetch).code)
    equal(server.count, 0, "connections")
    contains(run(*fetch).ok().out, "hello")                 # The control
    r = t.outside(TESTED, "policy", "show", "--net", "none", "--timeout", "5m",
                  env={"CLOCHE_ROOT_ETC": t.away + "/etc"}).ok()
    contains(r.out, "network.mode: none")
    contains(r.out, "limits.timeout: 60000")                # The control


@as_root
def root_stores_no_state_in_another_users_home(t):
    """sudo -E: that user could not remove it, and links there would be followed"""
    state, aim = t.home + "/.local/state/cloche", t.root + "/aim"
    for name in ("HOME", "XDG_STATE_HOME"):
        his = f"{t.root}/his-{name}"
        below = his if name == "XDG_STATE_HOME" else his + "/.local/state"
        shutil.rmtree(state, ignore_errors=True)
        os.makedirs(below)
        os.makedirs(aim, exist_ok=True)
        os.symlink(aim, below + "/cloche")
        for top, dirs, files in os.walk(his):
            os.chown(top, 1000, 1000)
        for owner in 1000, 0:
            os.chown(his, owner, owner)
            t.shell("echo x > /etc/no-such; true", env={name: his}).ok()
            equal(bool(os.listdir(aim)), owner == 0, name, "0 is the control")
            equal(os.path.exists(state + "/violations.jsonl"), True, name)
        shutil.rmtree(aim)


main()
