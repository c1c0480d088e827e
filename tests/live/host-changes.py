# SPDX-License-Identifier: Apache-2.0
"""tests/live/host-changes.py - what stays protected when the host changes it, or nobody
watches"""

import json
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import *


@test
def a_mask_added_by_an_edit_hides_the_file(t):
    t.write(t.home + "/.claude/settings.json", "{}")
    secret = os.path.join(t.away, "secret")
    with open(secret, "w") as file:
        file.write("secret")
    p = t.start("run", "--", "sh", "-c",
                f"cat {secret} && echo; while cat {secret} >&- 2>&-; do "
                f"sleep 0.02; done; while test -r {secret} && "
                f"head -c1 {secret} | grep -q s; do sleep 0.02; done; echo hidden")
    equal(p.stdout.readline(), b"secret\n")
    t.write(t.home + "/.claude/settings.json", json.dumps(
        {"sandbox": {"filesystem": {"denyRead": [secret]}}}))
    equal(p.stdout.readline(), b"hidden\n")
    p.communicate()


def has_keeper(pid):
    """True once it waits: it leaves our session when it is inside, then looks
    at everything, and has no other reason to sleep"""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        children = file.read().split()
    for child in children:
        try:
            with open(f"/proc/{child}/stat") as file:
                name, rest = file.read().rsplit(") ", 1)
            if name.endswith("(cloche-keeper") and rest[0] == "S" and \
                    os.getsid(int(child)) == int(child):
                return True
        except OSError:
            pass
    return False


# "$1" is a mount again
UNTIL_MOUNTED = """echo ready; read line
until grep -q " $1 " /proc/self/mountinfo; do sleep 0.02; done
"""


@test
def two_hundred_masks_report_their_readers(t):
    need_fuse()
    secrets = [os.path.join(t.away, f"s{i}") for i in range(200)]
    for secret in secrets:
        t.write(secret, "x")
    r = t.inside("cat", secrets[7], secrets[199], options=[
        word for secret in secrets for word in ("--deny-read", secret)])
    equal((r.code, r.out), (1, ""))
    equal(sorted(targets(records(t), "fs-read")), [secrets[199], secrets[7]])


@test
def a_mask_reports_after_the_host_replaces_the_file(t):
    need_fuse()
    os.makedirs(t.home + "/.config")	# Else there is a keeper anyway
    secret = os.path.join(t.away, "secret")
    t.write(secret, "old")
    p = t.start("run", "--deny-read", secret, "--", "sh", "-c",
                UNTIL_MOUNTED + "cat $1; echo done", "sh", secret)
    equal(p.stdout.readline(), b"ready\n")
    wait_until(lambda: has_keeper(p.pid), "the keeper")
    for i in range(50):
        t.write(secret + ".new", f"new {i}")
        os.rename(secret + ".new", secret)
    out, err = p.communicate(b"go\n")
    equal(out, b"done\n")
    contains(err.decode(), "Permission denied")
    equal(targets(records(t), "fs-read"), [secret])


@test
def a_protected_file_replaced_by_the_host_is_protected(t):
    os.makedirs(t.home + "/.config")	# Else there is a keeper anyway
    t.write(".bashrc", "old")
    p = t.start("run", "--observe", "off", "--", "sh", "-c",
                UNTIL_MOUNTED + "echo evil > .bashrc; echo done", "sh",
                os.path.join(t.dir, ".bashrc"))
    equal(p.stdout.readline(), b"ready\n")
    for i in range(50):
        t.write("new", str(i))
        os.rename(os.path.join(t.dir, "new"), os.path.join(t.dir, ".bashrc"))
    p.communicate(b"go\n")
    equal(t.read(".bashrc"), "49")


def save(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w") as file:
        file.write("secret")
    os.rename(path + ".new", path)


@test
def hidden_paths_created_during_a_run_are_hidden(t):
    secrets = [t.home + "/.aws/credentials", t.home + "/.netrc",
               t.home + "/.config/gh/hosts.yml", t.away + "/new/deep/secret",
               t.dir + "/.env"]
    p = t.start("run", "--deny-read", t.away + "/new/deep/secret",
                "--deny-read", ".env", "--", "sh", "-c", UNTIL_HIDDEN, "sh",
                *secrets)
    check_hidden(p, {secret: save for secret in secrets})
    control = t.inside("cat", t.away + "/new/other", stdin=b"")
    check(control.code != 0)
    save(t.away + "/new/other")
    equal(t.inside("cat", t.away + "/new/other").ok().out, "secret")


@test
def a_recreated_hidden_directory_is_hidden(t):
    """A mask moves with the directory that it hides"""
    keys, file = t.away + "/keys/id", t.home + "/.docker/config.json"
    for secret in keys, file:
        save(secret)
    t.write(file, '{"auth": "old"}')

    def again(path):
        above = os.path.dirname(path)
        os.rename(above, above + ".old")
        save(path)

    for secret in keys, file:
        p = t.start("run", "--deny-read", t.away + "/keys", "--", "sh", "-c",
                    UNTIL_HIDDEN, "sh", secret)
        wait_until(lambda: has_keeper(p.pid), "the keeper")
        check_hidden(p, {secret: again})


DEEP = "a/b/c/d/e"
PLANT = f"""mkdir -p {DEEP}/f z/y/x/w/v; echo x > {DEEP}/f/.envrc
mv old {DEEP}/.bashrc; echo x > z/y/x/w/v/.mcp.json; chmod 0 z/y/x/w
git init -q {DEEP}/n; echo x > {DEEP}/n/.git/hooks/pre-commit
echo x > {DEEP}/file; echo ready"""


def check_deep(t):
    found = {os.path.relpath(path, t.dir)
             for path in targets(records(t), "quarantine")}
    check({f"{DEEP}/f/.envrc", f"{DEEP}/.bashrc", "z/y/x/w/v/.mcp.json",
           f"{DEEP}/n/.git/hooks/pre-commit"} <= found, found)
    for path in found:
        check(not t.exists(path), path)
    equal(t.read(f"{DEEP}/.vscode/settings.json"), "{}")
    equal(t.read(f"{DEEP}/file"), "x\n")


@test
def deep_planted_files_are_quarantined_without_an_observer(t):
    need("git")
    t.write(f"{DEEP}/.vscode/settings.json", "{}")
    t.write("old", "x")
    t.shell(PLANT, options=("--observe", "off")).ok()
    check_deep(t)


def pidfds(pid):
    """How many it has open; it may close others while we look"""
    count = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += os.readlink(f"/proc/{pid}/fd/{fd}") == "anon_inode:[pidfd]"
        except FileNotFoundError:
            pass
    return count


@test
def planted_files_left_by_a_failed_sweep_are_removed_by_the_next_run(t):
    """We have no descriptors left to look with"""
    p = t.start("run", "--observe", "off", "--", "sh", "-c",
                "echo ready; read x; mkdir -p a && echo x > a/.bashrc")
    equal(p.stdout.readline(), b"ready\n")
    wait_until(lambda: pidfds(p.pid) > 1, "it knows the command")
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (3, 4096))
    _, err = p.communicate(b"\n")
    contains(err.decode(), "the next run looks for what was planted: ")
    contains(err.decode(), "ulimit -n")
    check(t.exists("a/.bashrc"), "the control")
    t.inside("true").ok()
    check(not t.exists("a/.bashrc"), "it stays")


@test
def a_run_creates_one_directory_in_an_empty_home(t):
    """Nothing else, and its parents have default modes"""
    t.shell("echo x > made").ok()
    t.inside("true", options=("--ephemeral",)).ok()
    equal(t.in_home(), [".local"])
    equal(os.listdir(t.home + "/.local"), ["state"])
    equal(os.listdir(t.home + "/.local/state"), ["cloche"])
    for path in (".local", ".local/state", ".local/state/cloche"):
        equal(os.stat(f"{t.home}/{path}").st_mode & 0o7777, 0o700, path)
    t.shell("echo x > made; echo x > /tmp/x", options=("--ephemeral",)).ok()
    t.outside("rm", "-rf", t.home + "/.local").ok()
    equal(t.in_home(), [])


@test
def a_failed_start_leaves_no_journal(t):
    """Or the next would take what the user makes meanwhile for planted"""
    for options in ((), ("--observe", "off")):
        t.inside("no-such-program", options=options).ended(127)
        t.write(".claude/settings.local.json", "{}")
        r = t.inside("true", options=options).ok()
        lacks(r.err, "quarantine")
        equal(t.read(".claude/settings.local.json"), "{}")
        t.outside("rm", "-r", ".claude").ok()


@test
def settings_that_appear_during_the_start_do_not_abort_it(t):
    """Also without an observer, and before there are mounts to keep"""
    t.outside("git", "init", "-q", "main").ok()
    t.outside("git", "-C", "main", "-c", "user.name=a", "-c", "user.email=b",
              "commit", "-q", "--allow-empty", "-m", "x").ok()
    t.outside("git", "-C", "main", "worktree", "add", "-q", "../tree").ok()
    t.inside("true", options=("--observe", "off"), cwd=t.dir + "/tree").ok()


@test
def deep_planted_files_of_a_killed_run_are_removed_by_the_next(t):
    need("git")
    t.write(f"{DEEP}/.vscode/settings.json", "{}")
    t.write("old", "x")
    p = t.start("run", "--observe", "off", "--", "sh", "-c",
                PLANT + "; sleep 1000")
    equal(p.stdout.readline(), b"ready\n")
    p.kill()
    p.communicate()
    check(t.exists(f"{DEEP}/f/.envrc"), "the control planted nothing")
    t.inside("true").ok()
    check_deep(t)


RACE = r"""
import ctypes, os, threading
try:
    open(".envrc", "w")                     # An honest try, which is refused
except OSError as e:
    print(e.errno, flush=True)
deep = b"a/b/c/d/e/"
texts = deep + b"xxxxxx\0", deep + b".envrc\0"
text = ctypes.create_string_buffer(texts[0])
libc = ctypes.CDLL(None)

def flip():
    while True:
        for t in texts:
            ctypes.memmove(text, t, len(t))

threading.Thread(target=flip, daemon=True).start()
while not os.path.exists(texts[1][:-1]):
    fd = libc.open(text, os.O_CREAT | os.O_WRONLY, 0o644)
    if fd >= 0:
        os.close(fd)
print("won")
"""


@test
def a_race_for_a_refused_deep_name_fails(t):
    os.makedirs(t.dir + "/a/b/c/d/e")
    t.write("a/b/c/d/.envrc", "the user's\n")
    r = t.inside("/usr/bin/python3", "-c", RACE, options=("--net", "none"))
    equal(r.out.split(), ["13", "won"], "the control")
    check(not t.exists("a/b/c/d/e/.envrc"), r)
    check(t.exists("a/b/c/d/.envrc"), r)


@test
def event_files_are_not_written_through_a_symlink(t):
    victim = t.write(t.home + "/.bashrc", "mine\n")
    options = ("--net", "none", "--events", "events.jsonl")
    t.shell("ln -s %s events.jsonl" % victim, options=("--net", "none")).ok()
    r = t.shell("touch /x", options=options).ended(125)
    contains(r.err, "symbolic link")
    equal(t.read(victim), "mine\n")
    os.unlink(t.dir + "/events.jsonl")                  # The control
    t.shell("touch /x", options=options)
    contains(t.read("events.jsonl"), '"target":"/x"')


@test
def the_run_record_cannot_be_written_by_the_command(t):
    script = t.write(t.away + "/script", """touch /x; echo forged >> d/events
true > d/events; rm -f d/events; mv d/events d/old; mv d d-2; mkdir -p d
echo forged >> d/events; touch /y""")
    os.mkdir(t.dir + "/d")
    for more in ((), ("--observe", "off"), ("--tier", "landlock")):
        for _ in "made", "there":
            t.inside("sh", script, options=("--events", "d/events", *more))
        text = t.read("d/events")
        lacks(text, "forged", more)
        if "off" not in more:
            equal([text.count(f'"target":"/{name}"') for name in "xy"], [2, 2],
                  more, text)
        equal(os.listdir(t.dir), ["d"], more)
        os.unlink(t.dir + "/d/events")
    t.shell("echo x > d/events").ok("the control")


HOLDS = r"""
import os, time
os.mkdir("v")
fd = os.open("v", os.O_RDONLY)
os.rename("v", ".vscode")
while os.path.lexists(".vscode"):
    time.sleep(0.005)
try:
    out = os.open("../meta.json", os.O_RDWR, dir_fd=fd)
    os.write(out, b"forged")
    print("forged")
except OSError as error:
    print(error.strerror)
"""


@test
def an_open_planted_directory_gives_no_access_to_the_store(t):
    """The store lies in the home, which may be written here; its mask is above
    what a moved directory would have as its parent
    """
    t.freeze()
    r = t.inside("/usr/bin/python3", "-c", HOLDS, cwd=t.home, options=[
        "--write", t.home, "--observe", "off"]).ok()
    store = t.home + "/.local/state/cloche/quarantine"
    found = [os.path.join(store, name, "meta.json")
             for name in os.listdir(store)]
    equal(len(found), 1, repr(r))
    equal(json.load(open(found[0]))["path"], t.home + "/.vscode")
    lacks(r.out, "forged")


main()
