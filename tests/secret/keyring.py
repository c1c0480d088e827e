# SPDX-License-Identifier: Apache-2.0
"""tests/secret/keyring.py - a real gnome-keyring on a bus of its own"""

from ring import *


@test
def the_keyring_is_preferred_and_nothing_is_on_the_disk(t):
    with Keyring(t).start() as ring:
        equal(ring.put("A", "s3cret-1").ok().err, "")
        equal(ring.get("A"), "s3cret-1")
        equal(ring.state(), "ok")
        equal(sorted(os.listdir(store_dir(t))), ["credentials.lock"])
        equal(ring.run("delete", "A").ok().err, "")
        equal(ring.get("A"), None)
        equal(ring.run("delete", "--all").code, 0)
        equal(ring.state(), "empty")


@test
def what_is_stored_survives_a_new_session(t):
    with Keyring(t).start() as ring:
        ring.put("A", "s3cret-1").ok()
        ring.log_in_again()
        equal(ring.get("A"), "s3cret-1")


@test
def every_kind_of_value_survives_the_bus(t):
    with Keyring(t).start() as ring:
        for value in ("caf\u00e9 \U0001f600", "x" * 60000, "\"\\"):
            ring.put("V", value).ok()
            equal(ring.get("V"), value)


@test
def a_locked_keyring_falls_back_and_moves_back(t):
    with Keyring(t).start() as ring:
        ring.put("OLD", "s3cret-1").ok()
        ring.put("CHANGED", "s3cret-2").ok()
        ring.lock()
        equal(ring.state(), "locked")
        refused(ring.run("get", "OLD"), 1, "locked")

        # Fallback: the new value is there, with a warning, and the old ones
        # are not lost
        r = ring.put("NEW", "s3cret-3").ok()
        contains(r.err, PLAIN_WARNING)
        contains(r.err, "the keyring is locked")
        ring.put("CHANGED", "s3cret-4").ok()
        equal(ring.get("NEW"), "s3cret-3")
        equal(ring.get("CHANGED"), "s3cret-4")

        # Unlocked: both are seen together, and the newer one wins
        ring.log_in_again()
        equal(ring.state(), "ok")
        equal(ring.get("OLD"), "s3cret-1")
        equal(ring.get("NEW"), "s3cret-3")
        equal(ring.get("CHANGED"), "s3cret-4")

        # Migration: the next write moves everything back
        equal(ring.put("LAST", "s3cret-5").ok().err, "")
        check(not os.path.exists(store_file(t)), "the plaintext was left")
        equal(sorted(os.listdir(store_dir(t))), ["credentials.lock"])
        equal(ring.run("list").out.split(), ["CHANGED", "LAST", "NEW", "OLD"])
        equal(ring.get("CHANGED"), "s3cret-4")


@test
def a_locked_keyring_falls_back_to_the_encrypted_file_if_it_can(t):
    with Keyring(t).start() as ring:
        ring.put("A", "s3cret-1").ok()
        ring.lock()
        options = ("--key-file", key_file(t))
        lacks(ring.put("B", "s3cret-2", *options).ok().err, "plaintext")
        equal(ring.get("B", *options), "s3cret-2")
        ring.log_in_again()
        equal(ring.run("list", *options).ok().out.split(), ["A", "B"])
        ring.put("C", "s3cret-3", *options).ok()
        check(not os.path.exists(store_file(t, "credentials.enc")))


@test
def a_keyring_that_was_never_unlocked_is_not_an_empty_one(t):
    with Keyring(t).start() as ring:
        ring.put("A", "old").ok()
        ring.put("B", "kept").ok()
        ring.start_locked()
        equal(ring.state(), "locked")
        refused(ring.run("get", "A"), 1, "locked")
        contains(ring.put("A", "new").ok().err, "the keyring is locked")
        equal(ring.get("A"), "new")
        ring.log_in_again()
        equal(ring.get("A"), "new")
        equal(ring.get("B"), "kept")


@test
def in_a_locked_keyring_nobody_knows_whether_there_is_something(t):
    with Keyring(t).start() as ring:
        ring.start_locked()
        refused(ring.run("get", "A"), 1, "locked")
        ring.put("A", "1").ok()
        equal(ring.get("A"), "1")
        ring.log_in_again()
        equal(ring.get("A"), "1")
        equal(ring.put("B", "2").ok().err, "")
        equal(sorted(os.listdir(store_dir(t))), ["credentials.lock"])
        equal(ring.run("list").ok().out.split(), ["A", "B"])


@test
def what_is_deleted_in_a_keyring_never_unlocked_stays_deleted(t):
    with Keyring(t).start() as ring:
        ring.put("A", "old").ok()
        ring.put("B", "kept").ok()
        ring.start_locked()
        ring.put("A", "new").ok()
        ring.run("delete", "A").ok()
        refused(ring.run("delete", "--all"), 1, "could not be deleted")
        ring.log_in_again()
        equal(ring.run("list").ok().out.split(), [])


@test
def what_is_deleted_while_locked_does_not_come_back(t):
    with Keyring(t).start() as ring:
        ring.put("A", "s3cret-1").ok()
        ring.put("B", "s3cret-1").ok()
        ring.lock()
        ring.put("A", "s3cret-2").ok()
        ring.run("delete", "A").ok()
        ring.log_in_again()
        equal(ring.run("list").out.split(), ["B"])


@test
def without_its_bus_the_keyring_does_not_come_back_either(t):
    with Keyring(t).start() as ring:
        ring.put("A", "old").ok()
        put(t, "A", "new").ok()		# As from a session without a bus
        equal(get(t, "A"), "new")
        equal(ring.get("A"), "new")
        ring.put("B", "x").ok()
        equal(ring.get("A"), "new")
        equal(names(t), [])		# All of it is in the keyring again


@test
def deleting_everything_in_a_locked_keyring_says_that_it_could_not(t):
    with Keyring(t).start() as ring:
        ring.put("A", "s3cret-1").ok()
        ring.lock()
        refused(ring.run("delete", "--all"), 1, "could not be deleted")
        ring.log_in_again()
        equal(ring.get("A"), None)	# No longer used, all the same


@test
def a_bus_without_a_keyring_is_as_no_bus(t):
    with Keyring(t) as ring:
        equal(ring.state(), "unavailable")
        equal(ring.put("A", "1").ok().err, PLAIN_WARNING)
        equal(ring.get("A"), "1")


@test
def asked_for_by_name_the_keyring_does_not_fall_back(t):
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
