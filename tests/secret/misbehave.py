# SPDX-License-Identifier: Apache-2.0
"""tests/secret/misbehave.py - helper programs that hang, crash or talk nonsense

The program for the keyring is replaced by a shell script.
"""

from common import *

BUS = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}


def with_helper(t, script, *argv, **more):
    cloche = programs_with(t, script)
    env = {"XDG_CONFIG_HOME": None, "XDG_STATE_HOME": None,
           "CLOCHE_PASSPHRASE_FILE": None, "CLOCHE_KEY_FILE": None, **BUS,
           **more.pop("env", {})}
    return t.outside(cloche, "secret", *argv, env=env, **more)


NONSENSE = {
    "crash": "kill -9 $$",
    "exit_status": "exit 3",
    "silence": "exit 0",
    "garbage": r"printf '\001\377{no json'",
    "megabyte": "head -c 1048576 /dev/zero | tr '\\0' a",
    "flood": "exec yes",
    "another_shape": "echo '[1]'",
    "a_document_and_a_failure": "echo '{}'; exit 99",
    "two_documents": "echo '{}{}'",
}


for _name, _script in NONSENSE.items():
    def _one(t, script=_script):
        # One line; plaintext only where the user chooses it
        refused(with_helper(t, script, "get", "A", "--backend",
                            "secret-service"), 1, "cloche-secret-service")
        refused(with_helper(t, script, "set", "A", "--backend",
                            "secret-service", stdin="v"), 1)
        refused(with_helper(t, script, "set", "A", stdin="v"), 1,
                "cloche-secret-service", "--backend")
        check(not os.path.exists(store_file(t)), "it was stored in plaintext")
        equal(with_helper(t, script, "set", "A", "--backend", "plaintext",
                          stdin="v").ok().err, PLAIN_WARNING)
        equal(with_helper(t, script, "get", "A").ok().out, "v\n")
    _one.__name__ = f"a_helper_with_{_name}_is_a_failure_and_no_more"
    test(_one)


@test
def a_missing_helper_is_reported_with_its_package(t):
    cloche = programs_with(t, "")
    os.unlink(os.path.join(os.path.dirname(cloche), "cloche-secret-service"))
    r = t.outside(cloche, "secret", "status", env=BUS)
    contains(r.out, "secret-service  unavailable: there is no '")
    contains(r.out, "package cloche-keyring")
    equal(t.outside(cloche, "secret", "set", "A", stdin="v", env=BUS).ok().err,
          PLAIN_WARNING)


@test
def an_invalid_document_of_the_helper_is_an_error(t):
    answer = "echo nonsense"
    refused(with_helper(t, answer, "get", "A"), 1, "not valid JSON")
    refused(with_helper(t, answer, "set", "A", stdin="v"), 1)


@test
def a_hanging_helper_is_killed_with_its_children(t):
    r = with_helper(t, "sleep 1000 & exec sleep 1000", "get", "A", "--backend",
                    "secret-service", timeout=60)
    equal((r.code, r.out), (1, ""))
    said = r.err.splitlines()
    equal(said[:-1],
          ["cloche: waiting for the keyring (secret-service), 4 s at most"])
    contains(said[-1], "did not answer in time")


@test
def a_hanging_helper_is_waited_for_once(t):
    """To store asks it to read first, and to write"""
    mark = os.path.join(t.root, "asked")
    r = with_helper(t, f"echo >> {mark}; exec sleep 1000", "set", "A",
                    "--backend", "plaintext", stdin="v").ok()
    lacks(r.err, "did not answer")
    os.unlink(store_file(t, "credentials.backend"))
    os.unlink(store_file(t))
    os.unlink(mark)
    r = with_helper(t, f"echo >> {mark}; exec sleep 1000", "set", "A",
                    stdin="v").ended(1)
    contains(r.err, "did not answer in time")
    equal(t.read(mark), "\n")
    equal(r.err.count("waiting for the keyring"), 1)
    os.unlink(mark)
    contains(with_helper(t, f"echo >> {mark}; exec sleep 1000",
                         "status").ended(1).out, "secret-service  failed")
    equal(t.read(mark), "\n")


@test
def control_characters_in_helper_output_are_escaped(t):
    r = with_helper(t, r"printf '\033[2Jevil\n\007' >&2; exit 1", "get", "A",
                    "--backend", "secret-service")
    refused(r, 1, "evil")
    lacks(r.err, "\033")


@test
def a_helper_finds_no_value_in_its_arguments_or_environment(t):
    log = os.path.join(t.away, "log")
    script = (f"cat >{log}; tr '\\0' '\\n' </proc/$$/cmdline >>{log}.argv; "
              f"env >>{log}.env; [ $1 = write ] || exit 10")
    with_helper(t, script, "set", "A", stdin="s3cret",
                env={"MY_TOKEN": "t0ken"})
    contains(t.read(log), "s3cret")	# The control: on standard input it is
    lacks(t.read(log + ".argv"), "s3cret")
    lacks(t.read(log + ".env"), "s3cret")
    lacks(t.read(log + ".env"), "t0ken")


main()
