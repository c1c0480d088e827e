# SPDX-License-Identifier: Apache-2.0
"""tests/secret/store.py - the encrypted file: keys, damaged files, full disks"""

import errno
import json

from common import *
from terminal import Terminal


def passphrase(t, words="correct horse\n", name="words"):
    path = os.path.join(t.away, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
              "w") as f:
        f.write(words)
    return path


@test
def a_passphrase_file_opens_the_encrypted_store(t):
    options = ("--backend", "file", "--passphrase-file", passphrase(t))
    equal(put(t, "A", "s3cret", *options).ok().err, "")
    equal(get(t, "A", *options), "s3cret")
    with open(store_file(t, "credentials.enc"), "rb") as f:
        lacks(f.read(), b"s3cret")
    check(not os.path.exists(store_file(t)))


@test
def a_passphrase_is_read_from_environment_or_pipe(t):
    env = {"CLOCHE_PASSPHRASE_FILE": passphrase(t)}
    equal(put(t, "A", "1", env=env).ok().err, "")
    equal(get(t, "A", env=env), "1")
    r = t.outside("bash", "-c", '"$0" secret get A --passphrase-file '
                  "<(echo 'correct horse')", CLOCHE).ok()
    equal(r.out, "1\n")


@test
def a_wrong_passphrase_prints_one_line_and_changes_nothing(t):
    right = ("--passphrase-file", passphrase(t))
    wrong = ("--passphrase-file", passphrase(t, "wrong\n", "wrong"))
    put(t, "A", "old", *right).ok()
    before = tree(store_dir(t))
    for r in (secret(t, "get", "A", *wrong), put(t, "A", "new", *wrong),
              secret(t, "delete", "A", *wrong), secret(t, "list", *wrong),
              put(t, "A", "new", "--backend", "file", *wrong)):
        refused(r, 1, "wrong passphrase")
    equal(tree(store_dir(t)), before)
    equal(get(t, "A", *right), "old")


@test
def an_encrypted_store_without_its_key_is_never_replaced_by_plaintext(t):
    put(t, "A", "old", "--key-file", key_file(t)).ok()
    for r in (secret(t, "get", "A"), put(t, "A", "new"), secret(t, "list")):
        refused(r, 1, "--key-file")
    check(not os.path.exists(store_file(t)))
    equal(get(t, "A", "--key-file", key_file(t)), "old")


@test
def a_store_is_moved_on_request_only(t):
    equal(put(t, "A", "1").ok().err, PLAIN_WARNING)
    options = ("--key-file", key_file(t))
    equal(put(t, "B", "2", *options).ok().err, PLAIN_WARNING)
    equal(names(t, *options), ["A", "B"])
    refused(put(t, "C", "3", "--backend", "file", *options), 1,
            "kept in plaintext", "secret move --backend file")
    refused(secret(t, "move", "--backend", "secret-service"), 1,
            "no session bus")
    equal(names(t), ["A", "B"])
    equal(secret(t, "move", "--backend", "file", *options).ok().err, "")
    equal(names(t, *options), ["A", "B"])
    check(not os.path.exists(store_file(t)), "the plaintext was left")
    equal(json.loads(secret(t, "status", "--json", *options).ok().out)
          ["keptIn"], "file")
    refused(put(t, "C", "3"), 1, "--key-file")
    check(not os.path.exists(store_file(t)), "a second copy")
    equal(secret(t, "move", "--backend", "plaintext", *options).ok().err,
          PLAIN_WARNING)
    equal(names(t), ["A", "B"])
    check(not os.path.exists(store_file(t, "credentials.enc")))
    refused(secret(t, "move", "--backend", "file", "--service", "none"), 1,
            "nothing to move")
    refused(secret(t, "move"), 2, "--backend")
    refused(secret(t, "move", "--backend", "floppy"), 2, "floppy")


@test
def a_store_of_an_older_version_is_found(t):
    put(t, "A", "1", "--key-file", key_file(t)).ok()
    os.unlink(store_file(t, "credentials.backend"))
    equal(get(t, "A", "--key-file", key_file(t)), "1")
    refused(put(t, "B", "2"), 1, "--key-file")
    put(t, "B", "2", "--key-file", key_file(t)).ok()
    equal(t.read(store_file(t, "credentials.backend")), "file\n")


@test
def a_record_that_is_damaged_is_refused(t):
    put(t, "A", "1").ok()
    with open(store_file(t, "credentials.backend"), "w") as f:
        f.write("floppy\n")
    refused(secret(t, "get", "A"), 1, "credentials.backend")
    refused(put(t, "A", "2"), 1, "credentials.backend")


@test
def a_passphrase_is_asked_for_twice_when_it_is_new(t):
    os.environ.pop("DBUS_SESSION_BUS_ADDRESS", None)
    value = t.write("value", "s3cret")
    command = f"{CLOCHE} secret %s --backend file %s"
    with Terminal(["sh", "-c", command % ("set A", f"<{value}")]) as term:
        term.expect("New passphrase of the store: ")
        term.line("correct horse")
        term.expect("Once more: ")
        term.line("correct horse")
        equal(term.wait(), 0)
        lacks(term.text, "horse")
    with Terminal(["sh", "-c", command % ("get A", "--print")]) as term:
        term.expect("Passphrase of the store: ")
        term.line("correct horse")
        term.expect("s3cret")
        equal(term.wait(), 0)
    with Terminal(["sh", "-c", command % ("get A", "--print")]) as term:
        term.expect("Passphrase of the store: ")
        term.line("battery staple")
        term.expect("wrong passphrase")
        equal(term.wait(), 1)


@test
def two_different_new_passphrases_make_no_store(t):
    os.environ.pop("DBUS_SESSION_BUS_ADDRESS", None)
    value = t.write("value", "s3cret")
    with Terminal(["sh", "-c", f"{CLOCHE} secret set A --backend file "
                   f"<{value}"]) as term:
        term.expect("New passphrase of the store: ")
        term.line("one")
        term.expect("Once more: ")
        term.line("two")
        equal(term.wait(), 1)
    check(not os.path.exists(store_file(t, "credentials.enc")))


@test
def the_kernel_keyring_can_hold_the_key(t):
    keyctl = need("keyctl")
    script = (f"{keyctl} padd user cloche-key @s <{key_file(t)} >/dev/null; "
              "printf v | $0 secret set A --backend file --keyring cloche-key;"
              "$0 secret get A --backend file --keyring cloche-key;"
              "$0 secret get A --backend file --keyring other")
    need_keys()
    r = t.outside(keyctl, "session", "-", "sh", "-c", script, CLOCHE)
    if any(os.strerror(e) in r.err for e in (errno.EPERM, errno.ENOSYS)):
        skip("the kernel was built without key rings, or forbids them here")
    equal(r.out, "v\n")
    contains(r.err, "keyctl padd user other @u")
    equal(r.code, 1)


@test
def a_key_in_the_user_keyring_works_in_any_session(t):
    """A new session keyring has no link to the user's, as in a service"""
    keyctl = need("keyctl")
    name = "cloche-test-" + os.urandom(8).hex()
    script = (f"id=$({keyctl} padd user {name} @u <{key_file(t)}) || exit 77; "
              f"printf v | $0 secret set A --backend file --keyring {name}; "
              f"$0 secret get A --backend file --keyring {name}; "
              f"{keyctl} unlink $id @u >/dev/null")
    need_keys()
    r = t.outside(keyctl, "session", "-", "sh", "-c", script, CLOCHE)
    if r.code == 77 or os.strerror(errno.ENOSYS) in r.err:
        skip("the kernel was built without key rings, or forbids them here")
    equal(r.out, "v\n", r.err)


@as_user
def a_directory_that_cannot_be_created_is_named(t):
    os.makedirs(t.home + "/.local")
    for path in (t.home + "/.local", t.home):
        os.chmod(path, 0o500)
        r = refused(put(t, "A", "1"), 1, f"'{path}", "Permission denied")
        lacks(r.err, "lock")
        os.chmod(path, 0o700)
        if path != t.home:
            os.rmdir(path)


def spoil_link(path, t):
    os.rename(path, t.home + "/moved")
    os.symlink(t.home + "/moved", path)


def spoil_hard_link(path, t):
    os.link(path, t.home + "/second")


def spoil_mode(path, t):
    os.chmod(path, 0o640)


def spoil_fifo(path, t):
    os.unlink(path)
    os.mkfifo(path, 0o600)


def spoil_directory(path, t):
    os.unlink(path)
    os.mkdir(path)


def spoil_truncate(path, t):
    os.truncate(path, os.path.getsize(path) - 1)


def spoil_empty(path, t):
    os.truncate(path, 0)


def spoil_garbage(path, t):
    with open(path, "wb") as f:
        f.write(os.urandom(300))


def spoil_size(path, t):
    with open(path, "ab") as f:
        f.write(b" " * (1 << 20))


SPOILERS = (spoil_link, spoil_hard_link, spoil_mode, spoil_fifo,
            spoil_directory, spoil_truncate, spoil_empty, spoil_garbage,
            spoil_size)


def check_spoiled(t, name, options, spoil):
    """Everything is refused with one line, and nothing is changed"""
    put(t, "A", "old", *options).ok()
    path = store_file(t, name)
    spoil(path, t)
    before = tree(store_dir(t)), tree(t.away)
    for r in (secret(t, "get", "A", *options), put(t, "A", "new", *options),
              secret(t, "list", *options), secret(t, "delete", "A", *options),
              secret(t, "export", *options)):
        refused(r, 1)
        contains(r.err, name)
    equal((tree(store_dir(t)), tree(t.away)), before)


for _spoil in SPOILERS:
    for _name in ("credentials.json", "credentials.enc"):
        def _one(t, spoil=_spoil, name=_name):
            options = () if name.endswith("json") else ("--key-file",
                                                        key_file(t))
            check_spoiled(t, name, options, spoil)
        _one.__name__ = (_spoil.__name__.replace("spoil_", "a_bad_file_") +
                         "_" + _name.replace(".", "_") + "_is_refused")
        test(_one)


@test
def a_directory_that_others_can_change_is_refused(t):
    put(t, "A", "old").ok()
    for mode in (0o770, 0o707, 0o777):
        os.chmod(store_dir(t), mode)
        refused(secret(t, "get", "A"), 1, "chmod 700")
        refused(put(t, "A", "new"), 1, "chmod 700")
    os.chmod(store_dir(t), 0o700)
    equal(get(t, "A"), "old")
    os.rename(store_dir(t), t.home + "/real")
    os.symlink(t.home + "/real", store_dir(t))
    refused(secret(t, "get", "A"), 1, "link")
    refused(put(t, "A", "new"), 1, "link")


@as_root
def files_of_another_owner_are_refused(t):
    put(t, "A", "old").ok()
    os.chown(store_file(t), 1, 1)
    refused(secret(t, "get", "A"), 1, "belongs to another user")
    refused(put(t, "A", "new"), 1, "belongs to another user")
    os.chown(store_dir(t), 1, 1)
    refused(secret(t, "get", "A"), 1, "belongs to uid 1")


@as_root
def a_full_disk_prints_one_line_and_keeps_the_old_data(t):
    script = """mount -t tmpfs -o size=64k,mode=700 none "$HOME/.local/state/cloche/secrets"
        printf old | $0 secret set A 2>/dev/null
        dd if=/dev/zero of="$HOME/.local/state/cloche/secrets/fill" 2>/dev/null
        head -c 30000 /dev/zero | tr '\\0' x | $0 secret set B; echo "rc $?"
        $0 secret get A; ls "$HOME/.local/state/cloche/secrets"
        mount -o remount,ro "$HOME/.local/state/cloche/secrets"
        printf new | $0 secret set A; echo "rc $?"; $0 secret get A"""
    os.makedirs(store_dir(t))
    r = t.outside("unshare", "-m", "sh", "-c", script, CLOCHE,
                  env={"DBUS_SESSION_BUS_ADDRESS": None})
    equal(r.out, "rc 1\nold\ncredentials.backend\ncredentials.json\n"
          "credentials.lock\nfill\nrc 1\nold\n")
    contains(r.err, "No space left on device")
    contains(r.err, "Read-only file system")
    equal(r.err.count("\n"), 2)


@test
def a_key_that_others_can_write_is_refused(t):
    path = key_file(t)
    os.chmod(path, 0o666)
    refused(put(t, "A", "1", "--backend", "file", "--key-file", path), 1,
            "chmod 600")
    os.chmod(path, 0o644)
    contains(put(t, "A", "1", "--backend", "file", "--key-file", path).ok().err,
             "Warning: Others can read")


@test
def a_restored_older_file_is_detected(t):
    options = ("--key-file", key_file(t))
    path = store_file(t, "credentials.enc")
    put(t, "A", "1", *options).ok()
    with open(path, "rb") as f:
        old = f.read()
    put(t, "A", "2", *options).ok()
    with open(path, "wb") as f:
        f.write(old)
    r = secret(t, "get", "A", *options).ok()
    equal(r.out, "1\n")
    contains(r.err, "Warning: The store is older")


@test
def concurrent_writers_lose_no_value(t):
    writers = [t.start("secret", "set", f"N{i}", "--key-file", key_file(t),
                       stderr=subprocess.DEVNULL) for i in range(20)]
    for i, writer in enumerate(writers):
        writer.communicate(f"v{i}".encode())
        equal(writer.returncode, 0)
    equal(len(names(t, "--key-file", key_file(t))), 20)


@test
def deleting_a_missing_value_creates_nothing(t):
    for backend in ((), ("--backend", "plaintext"), ("--backend", "file",
                    "--key-file", key_file(t))):
        check(secret(t, "delete", "A", *backend).code == 1)
    equal(t.in_home(), [])
    os.makedirs(store_dir(t), 0o700)
    secret(t, "delete", "A").ended(1)
    equal(os.listdir(store_dir(t)), [])
    put(t, "A", "1").ok()
    os.unlink(store_file(t, "credentials.lock"))
    before = os.listdir(store_dir(t))
    secret(t, "delete", "B").ended(1)
    equal(os.listdir(store_dir(t)), before)
    secret(t, "delete", "A").ok()		# The control
    equal(get(t, "A"), None)


main()
