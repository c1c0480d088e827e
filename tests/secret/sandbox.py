# SPDX-License-Identifier: Apache-2.0
"""tests/secret/sandbox.py - a sandbox sees no store, no lock, no bus, no key

Every look from inside has its control from outside.
"""

import fcntl

from common import *
from gnome_keyring import *

PROFILES = ("default", "home", "srt")
os.environ["CLAUDE_TMPDIR"] = "/var/tmp"	# Else srt leaves one in /tmp
CONNECT = """import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
print("connected")"""


def everywhere(t, *command, **more):
    """The same command in a sandbox of every profile"""
    for profile in PROFILES:
        yield t.inside(*command, options=("--profile", profile), **more)


@test
def files_of_a_store_are_hidden(t):
    put(t, "A", "s3cret-value").ok()
    put(t, "B", "x", "--service", "s", "--backend", "file", "--key-file",
        key_file(t)).ok()
    files = [store_file(t, name) for name in
             ("credentials.json", "credentials-s.enc", "credentials.lock",
              "credentials.backend")]
    script = "for f; do cat \"$f\" && echo seen; done; ls -A \"$0\""
    contains(t.outside("sh", "-c", script, store_dir(t), *files).out, "seen")
    for r in everywhere(t, "sh", "-c", script, store_dir(t), *files):
        lacks(r.out, "seen")
        lacks(r.out, "s3cret-value")
        lacks(r.out, "credentials")


@test
def generation_files_are_hidden(t):
    put(t, "A", "x", "--backend", "file", "--key-file", key_file(t)).ok()
    state = os.path.join(t.home, ".local/state/cloche/secret")
    script = "find \"$0\" -type f"
    contains(t.outside("sh", "-c", script, state).out, "generation")
    for r in everywhere(t, "sh", "-c", script, state):
        lacks(r.out, "generation")


@test
def read_and_write_options_do_not_show_a_store(t):
    put(t, "A", "s3cret-value").ok()
    r = t.inside("cat", store_file(t), options=("--read", store_dir(t)))
    lacks(r.out, "s3cret-value")
    r = t.inside("cat", store_file(t), options=("--write", t.home))
    lacks(r.out, "s3cret-value")
    contains(t.outside("cat", store_file(t)).out, "s3cret-value")
    for name in (store_file(t), store_dir(t) + "/*", store_dir(t) + "/**"):
        for profile in PROFILES:
            r = t.inside("cat", store_file(t), options=(
                "--profile", profile, "--read", name))
            lacks(r.out, "s3cret-value", profile, name)
            check("*" in name or "stays hidden" in r.err, repr(r))
            lacks(r.err, "policy allow")
    r = t.run("run", "--tier", "landlock", "--read", store_file(t), "cat",
              store_file(t))
    lacks(r.out, "s3cret-value")


@test
def a_start_directory_in_a_store_is_refused(t):
    put(t, "A", "s3cret-value").ok()
    below = os.path.join(store_dir(t), "below")
    os.mkdir(below)
    contains(t.run("run", "cat", "../credentials.json",
                   cwd=below).ended(125).err, "hidden")


@test
def cloche_secret_in_the_sandbox_finds_no_value(t):
    put(t, "A", "s3cret-value").ok()
    bin_dir = os.path.join(t.dir, "bin")
    os.mkdir(bin_dir)
    for name in ("cloche", "cloche-secret"):
        shutil.copy(os.path.join(BIN, name), bin_dir)
    own = os.path.join(bin_dir, "cloche")
    equal(t.outside(own, "secret", "get", "A").out, "s3cret-value\n")
    for r in everywhere(t, own, "secret", "get", "A"):
        lacks(r.out, "s3cret-value")
        check(r.code != 0, repr(r))


def not_seen_by_a_run(t, meanwhile, profile="default"):
    """Nothing of a store that changes under the eyes of a running sandbox"""
    script = f"echo ready; cat; cat '{store_file(t)}'; ls '{store_dir(t)}'"
    with t.start("run", "--profile", profile, "--", "sh", "-c",
                 script) as inside:
        equal(inside.stdout.readline(), b"ready\n")
        meanwhile()
        out, _ = inside.communicate()	# Whose input ends
        lacks(out, b"s3cret", profile)
        lacks(out, b"credentials", profile)


@test
def a_store_created_during_a_run_is_hidden(t):
    for profile in PROFILES:
        not_seen_by_a_run(t, lambda: put(t, "A", "s3cret-value").ok(), profile)


@test
def waiting_for_a_locked_directory_times_out(t):
    """A stopped process keeps its lock"""
    put(t, "A", "s3cret-value").ok()
    t.inside("touch", "/tmp/kept").ok()
    private = [os.path.join(base, name)
               for base, names, _ in os.walk(t.home + "/.local")
               for name in names]
    locks = [os.open(path, os.O_RDONLY) for path in private]
    check(store_dir(t) in private, private)
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)
    r = t.inside("cat", store_file(t), timeout=60)
    lacks(r.out, "s3cret-value")
    check(r.code != 125, repr(r))
    for lock in locks:
        os.close(lock)
    t.inside("ls", "/tmp/kept").ok("the control")


@test
def settings_edits_do_not_wait_for_a_running_command(t):
    settings = t.write(".claude/settings.local.json", "{}")
    script = ("import fcntl, os\n"
              "lock = os.open('.claude', os.O_RDONLY)\n"
              "fcntl.flock(lock, fcntl.LOCK_SH)\n"
              "print('ready', flush=True)\nos.read(0, 1)\n")
    with t.start("run", "--", "/usr/bin/python3", "-c", script) as inside:
        equal(inside.stdout.readline(), b"ready\n")
        r = t.run("policy", "allow", "--scope", "claude", "write", "/srv/x",
                  timeout=60)
        check(r.code != 0, repr(r))
        contains(r.err, "a command in a sandbox; end that first")
    t.run("policy", "allow", "--scope", "claude", "write",
          "/srv/x").ok("the control")
    contains(t.read(settings), "/srv/x")


@test
def a_run_creates_nothing_in_the_configuration_directory(t):
    t.inside("true").ok()
    check(not os.path.exists(t.home + "/.config"), "it was made")
    os.mkdir(t.home + "/.config")
    t.inside("true").ok()
    equal(os.listdir(t.home + "/.config"), [])


@test
def the_first_of_two_runs_to_end_does_not_unmask_the_other(t):
    def meanwhile():
        t.inside("true").ok()
        put(t, "A", "s3cret-value").ok()

    not_seen_by_a_run(t, meanwhile)


@test
def a_store_changed_during_a_run_is_hidden(t):
    """A rename lifts a mask from a file: it has to be the directory's"""
    put(t, "A", "s3cret-1").ok()
    for profile in PROFILES:
        not_seen_by_a_run(t, lambda: put(t, "A", "s3cret-2").ok(), profile)


@test
def the_session_bus_is_unreachable(t):
    with Keyring(t).start() as ring:
        ring.put("A", "s3cret-value").ok()
        address = ring.env["DBUS_SESSION_BUS_ADDRESS"]
        path = re.search(r"path=([^,]*)", address).group(1)
        python = need("python3")
        contains(t.outside(python, "-c", CONNECT, path).out, "connected")
        for r in everywhere(t, python, "-c", CONNECT, path, env=ring.env):
            lacks(r.out, "connected")
        equal(t.shell("echo $DBUS_SESSION_BUS_ADDRESS", env=ring.env).out, "\n")


@test
def keys_of_the_kernel_keyring_are_unreachable(t):
    keyctl = need("keyctl")
    script = (f"{keyctl} padd user cloche-key @s <{key_file(t)} >/dev/null; "
              f'look="{keyctl} search @s user cloche-key"; '
              '$look && echo outside; '
              'for p in default home srt; do '
              '"$0" run --profile $p -- $look && echo inside; done; :')
    need_keys()
    r = t.outside(keyctl, "session", "-", "sh", "-c", script, CLOCHE)
    contains(r.out, "outside")
    lacks(r.out, "inside")


main()
