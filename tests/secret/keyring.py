# SPDX-License-Identifier: Apache-2.0
"""tests/secret/keyring.py - a real gnome-keyring on a bus of its own"""

from gnome_keyring import *


@test
def the_keyring_is_preferred_and_no_value_is_on_disk(t):
    with Keyring(t).start() as ring:
        equal(ring.put("A", "s3cret-1").ok().err, "")
        equal(ring.get("A"), "s3cret-1")
        equal(ring.state(), "ok")
        equal(sorted(os.listdir(store_dir(t))), ["credentials.backend",
                                               "credentials.lock"])
        equal(ring.run("delete", "A").ok().err, "")
        equal(ring.get("A"), None)
        equal(ring.run("delete", "--all").code, 0)
        equal(ring.state(), "empty")


@test
def stored_values_survive_a_new_login(t):
    with Keyring(t).start() as ring:
        ring.put("A", "s3cret-1").ok()
        ring.log_in_again()
        equal(ring.get("A"), "s3cret-1")


@test
def every_kind_of_value_is_stored_in_the_keyring(t):
    with Keyring(t).start() as ring:
        for value in ("caf\u00e9 \U0001f600", "x" * 60000, "\"\\"):
            ring.put("V", value).ok()
            equal(ring.get("V"), value)


@test
def a_locked_keyring_is_an_error_and_makes_no_second_copy(t):
    with Keyring(t).start() as ring:
        ring.put("A", "s3cret-1").ok()
        for lock in (ring.lock, ring.start_locked):
            lock()
            equal(ring.state(), "locked")
            for r in (ring.run("get", "A"), ring.put("A", "s3cret-2"),
                      ring.run("delete", "A"), ring.run("delete", "--all"),
                      ring.run("move", "--backend", "plaintext")):
                refused(r, 1, "locked")
            check(not os.path.exists(store_file(t)), "a second copy")
            ring.log_in_again()
            equal(ring.get("A"), "s3cret-1")
            equal(ring.put("B", "s3cret-3").ok().err, "")


@test
def a_locked_keyring_refuses_reads_and_writes(t):
    with Keyring(t).start() as ring:
        ring.start_locked()
        refused(ring.run("get", "A"), 1, "locked", "--backend")
        refused(ring.put("A", "1"), 1, "locked", "--backend")
        equal(ring.put("A", "1", "--backend", "plaintext").ok().err,
              PLAIN_WARNING)
        equal(ring.get("A"), "1")


@test
def a_missing_session_bus_is_reported(t):
    with Keyring(t).start() as ring:
        ring.put("A", "old").ok()
        for r in (put(t, "A", "new"), secret(t, "get", "A")):
            refused(r, 1, "kept in secret-service", "no session bus")
        check(not os.path.exists(store_file(t)), "a second copy")
        equal(ring.get("A"), "old")


@test
def a_store_moves_out_of_the_keyring_and_back(t):
    with Keyring(t).start() as ring:
        ring.put("A", "s3cret-1").ok()
        options = ("--key-file", key_file(t))
        equal(ring.run("move", "--backend", "file", *options).ok().err, "")
        equal(ring.state(), "empty")
        equal(get(t, "A", *options), "s3cret-1")
        ring.run("move", "--backend", "secret-service", *options).ok()
        equal(ring.state(), "ok")
        check(not os.path.exists(store_file(t, "credentials.enc")))
        equal(ring.get("A"), "s3cret-1")


@test
def a_bus_without_a_keyring_counts_as_unavailable(t):
    with Keyring(t) as ring:
        equal(ring.state(), "unavailable")
        equal(ring.put("A", "1").ok().err, PLAIN_WARNING)
        equal(ring.get("A"), "1")


@test
def backend_secret_service_does_not_fall_back(t):
    with Keyring(t).start() as ring:
        only = ("--backend", "secret-service")
        ring.put("A", "1", *only).ok()
        equal(ring.get("A", *only), "1")
        ring.lock()
        refused(ring.put("A", "2", *only), 1, "locked")
        refused(ring.run("get", "A", *only), 1, "locked")
        ring.log_in_again()
        equal(ring.get("A", *only), "1")
    refused(put(t, "A", "1", *only), 1, "no session bus")


@test
def two_state_directories_do_not_share_an_entry(t):
    with Keyring(t).start() as ring:
        ring.put("A", "1").ok()
        other = {**ring.env, "XDG_STATE_HOME": t.away + "/state"}
        equal(get(t, "A", env=other), None)
        put(t, "A", "2", env=other).ok()
        equal(ring.get("A"), "1")


main()
