# SPDX-License-Identifier: Apache-2.0
"""tests/secret/verbs.py - set, get, delete, list, status, import, export"""

import json
import termios

from common import *
from terminal import Terminal


@test
def a_value_is_set_read_listed_and_deleted(t):
    equal(put(t, "TOKEN", "hunter2\n").ok().err, PLAIN_WARNING)
    equal(secret(t, "get", "TOKEN").ok().out, "hunter2\n")
    put(t, "OTHER", "x y").ok()
    equal(secret(t, "list").ok().out, "OTHER\nTOKEN\n")
    equal(secret(t, "delete", "TOKEN").ok().out, "")
    equal(names(t), ["OTHER"])
    refused(secret(t, "get", "TOKEN"), 1,
            "there is no secret 'TOKEN'; to store it: cloche secret set TOKEN")
    refused(secret(t, "delete", "TOKEN"), 1, "there is no secret 'TOKEN'")


@test
def a_value_may_be_replaced(t):
    put(t, "A", "one").ok()
    put(t, "A", "two").ok()
    equal(get(t, "A"), "two")
    equal(names(t), ["A"])


@test
def every_write_in_plaintext_warns_and_no_read_does(t):
    equal(put(t, "A", "1").err, PLAIN_WARNING)
    equal(put(t, "A", "2").err, PLAIN_WARNING)
    equal(secret(t, "get", "A").err, "")
    equal(secret(t, "list").err, "")
    equal(secret(t, "delete", "A").err, PLAIN_WARNING)


@test
def values_are_read_back_unchanged(t):
    for value in ("a", "x" * 4096, "\"quotes\" and \\ and \t tab",
                  "caf\u00e9 \U0001f600", " blanks ", "x" * 65536, "{}", "null"):
        put(t, "V", value).ok()
        equal(get(t, "V"), value)


@test
def files_are_private_under_any_umask(t):
    r = t.outside("sh", "-c", 'umask 0; exec "$0" secret set A', CLOCHE,
                  stdin="v", env={"DBUS_SESSION_BUS_ADDRESS": None}).ok()
    equal(stat.S_IMODE(os.stat(store_dir(t)).st_mode), 0o700)
    for name in os.listdir(store_dir(t)):
        equal(stat.S_IMODE(os.stat(store_file(t, name)).st_mode), 0o600, name)
    check(os.path.exists(store_file(t)), repr(r))


@test
def the_plaintext_store_is_one_json_object(t):
    put(t, "A", "1").ok()
    put(t, "B", "2").ok()
    with open(store_file(t)) as f:
        equal(json.load(f), {"A": "1", "B": "2"})


@test
def xdg_state_home_is_honoured(t):
    env = {"XDG_STATE_HOME": t.away + "/conf"}
    put(t, "A", "1", env=env).ok()
    check(os.path.exists(t.away + "/conf/cloche/secrets/credentials.json"))
    equal(get(t, "A", env=env), "1")
    equal(get(t, "A"), None)


@test
def services_are_separate(t):
    put(t, "A", "1", "--service", "one").ok()
    put(t, "A", "2", "--service=two").ok()
    equal(get(t, "A", "--service", "one"), "1")
    equal(get(t, "A", "--service", "two"), "2")
    equal(get(t, "A"), None)
    for bad in ("a/b", "..", "", "x" * 65, "a b"):
        refused(secret(t, "list", "--service", bad), 2)


@test
def get_prints_to_a_terminal_only_with_print(t):
    put(t, "A", "s3cret-value").ok()
    r = secret(t, "get", "A", tty=True)
    equal(r.code, 2)
    contains(r.out, "--print")
    lacks(r.out, "s3cret-value")
    r = secret(t, "get", "A", "--print", tty=True)
    equal(r.code, 0)
    contains(r.out, "s3cret-value")
    equal(secret(t, "export", tty=True).code, 2)
    contains(secret(t, "export", "--print", tty=True).out, "s3cret-value")


@test
def a_value_is_prompted_without_echo(t):
    os.environ.pop("DBUS_SESSION_BUS_ADDRESS", None)
    with Terminal([CLOCHE, "secret", "set", "A"], cwd=t.dir) as term:
        term.expect("Value of A: ")
        term.line("s3cret-value")
        equal(term.wait(), 0)
        lacks(term.text, "s3cret")
    equal(get(t, "A"), "s3cret-value")


@test
def an_interrupted_prompt_restores_the_echo(t):
    os.environ.pop("DBUS_SESSION_BUS_ADDRESS", None)
    with Terminal(["sh"], cwd=t.dir) as term:
        term.line(f"{CLOCHE} secret set A")
        term.expect("Value of A: ")
        check(not term.settings()[3] & termios.ECHO, "there is an echo")
        term.send("\x03")
        term.expect(r"[$#] ")
        term.line("stty -a")
        term.expect(r"(?<!-)\becho\b ")
        term.line("exit")
        term.wait()
    equal(names(t), [])


@test
def a_prompt_continues_after_a_stop(t):
    os.environ.pop("DBUS_SESSION_BUS_ADDRESS", None)
    with Terminal([need("bash"), "--norc", "-i"], cwd=t.dir) as term:
        term.line(f"{CLOCHE} secret set A")
        term.expect("Value of A: ")
        term.send("lost\x1a")
        term.expect("Stopped")
        term.line("fg")
        term.expect("Value of A: ")
        check(not term.settings()[3] & termios.ECHO, "there is an echo")
        term.line("s3cret-value")
        term.expect("plaintext")
        term.line("exit")
        term.wait()
    equal(get(t, "A"), "s3cret-value")


@test
def a_line_cut_by_the_terminal_is_not_stored(t):
    os.environ.pop("DBUS_SESSION_BUS_ADDRESS", None)
    for n, code in ((4094, 0), (4095, 1), (5000, 1)):
        with Terminal([CLOCHE, "secret", "set", f"N{n}"], cwd=t.dir) as term:
            term.expect("Value of N")
            term.line("x" * n)
            equal(term.wait(), code)
            check(bool(code) == ("4094 bytes" in term.text), term.text)
    equal(names(t), ["N4094"])
    equal(len(get(t, "N4094")), 4094)


@test
def a_closed_descriptor_is_a_failure(t):
    put(t, "A", "s3cret").ok()
    for script in ('exec "$0" secret get A >&-', 'exec "$0" secret list >&-',
                   'exec "$0" secret export >&-',
                   'exec "$0" secret set B <&-'):
        r = t.outside("sh", "-c", script, CLOCHE)
        equal(r.code, 1, script)
        contains(r.err, "Bad file descriptor")
    equal(names(t), ["A"])
    for verb in ("get A", "list", "list --json", "export", "status",
                 "status --json"):
        r = t.outside("sh", "-c", f'"$0" secret {verb} >/dev/full', CLOCHE)
        refused(r, 1, "No space left")


@test
def a_value_in_the_command_line_is_refused(t):
    r = refused(secret(t, "set", "A", "s3cret"), 2, "standard input")
    lacks(r.err, "s3cret")
    equal(names(t), [])


@test
def wrong_usage_is_reported(t):
    for argv in (("set",), ("get",), ("get", "A", "B"), ("frobnicate",),
                 ("get", "--frobnicate", "A"), ("get", "-x", "A"), ("delete",),
                 ("delete", "A", "--all"), ("list", "A"), ("get", "--backend"),
                 ("get", "--backend", "floppy", "A"), ("import", "--move"),
                 ("import", "--claude", "file"), ("list", "--force"),
                 ("get", "--print=yes", "A"), ("git-credential",)):
        refused(secret(t, *argv), 2)
    equal(secret(t).code, 2)
    contains(secret(t, "get", "--help").ok().out, "--print")


@test
def unsafe_names_are_refused(t):
    for bad in ("", "a\nb", "a\rb", "a\x1b[2J", "..", "../x", "a/../b", " a",
                "x" * 513, b"\xff"):
        refused(secret(t, "set", "--", bad, stdin="v"), 2)
        refused(secret(t, "get", "--", bad), 2)
    equal(names(t), [])
    put(t, "x" * 512, "v").ok()
    secret(t, "set", "--", "-dash", stdin="v").ok()
    equal(get(t, "--", "-dash"), "v")


@test
def unsafe_values_are_refused(t):
    put(t, "A", "old").ok()
    for bad in ("", "\n", "a\nb", "a\n\n", "a\r\n", "a\rb", "a\0b", b"\xff\xfe"):
        r = refused(put(t, "A", bad), 2)
        lacks(r.err, "a\\")
    refused(put(t, "A", "x" * 65537), 1, "larger than")
    refused(put(t, "A", "x" * (1 << 20)), 1, "larger than")
    equal(get(t, "A"), "old")


@test
def options_may_stand_before_the_verb(t):
    t.run("secret", "--backend", "plaintext", "--service=s", "set", "A",
          stdin="1").ok()
    equal(secret(t, "get", "A", "--service", "s").ok().out.strip(), "1")
    equal(json.loads(t.run("secret", "--json", "--service", "s", "list").ok()
                     .out)["secrets"], ["A"])
    for words in (("--backend",), ("--backend", "plaintext"), ("--nope", "get"),
                  ("--", "get")):
        t.run("secret", *words).ended(2)


@test
def status_lists_the_back_ends(t):
    r = secret(t, "status").ok()
    for words in ("secret-service  unavailable", "file            empty\n",
                  "plaintext       empty\n"):
        contains(r.out, words)
    put(t, "A", "1").ok()
    contains(secret(t, "status").ok().out, "plaintext       ok: 1 secret\n")
    info = json.loads(secret(t, "status", "--json").ok().out)
    equal(info["version"], 1)
    equal(info["healthy"], True)
    equal([b["name"] for b in info["backends"]],
          ["secret-service", "file", "plaintext"])
    equal(info["backends"][2]["secrets"], 1)
    with open(store_file(t), "w") as f:
        f.write("garbage")
    info = json.loads(secret(t, "status", "--json").ended(1).out)
    equal(info["healthy"], False)
    equal(info["backends"][2]["state"], "failed")


@test
def list_get_and_status_print_json(t):
    put(t, "B", "2").ok()
    put(t, "A", "q\"\u00e9").ok()
    equal(json.loads(secret(t, "list", "--json").ok().out),
          {"version": 1, "secrets": ["A", "B"]})
    equal(json.loads(secret(t, "get", "A", "--json").ok().out),
          {"version": 1, "name": "A", "value": "q\"\u00e9"})


@test
def export_and_import_copy_all_values(t):
    put(t, "A", "1").ok()
    put(t, "B", "2").ok()
    everything = secret(t, "export").ok().out
    equal(json.loads(everything), {"A": "1", "B": "2"})
    options = ("--service", "other", "--backend", "file", "--key-file",
               key_file(t))
    equal(secret(t, "import", *options, stdin=everything).ok().out,
          "2 imported\n")
    equal(get(t, "B", *options), "2")
    refused(secret(t, "import", *options, stdin='{"C":"3","A":"9"}'), 1,
            "'A'", "--force")
    equal(names(t, *options), ["A", "B"])
    secret(t, "import", "--force", *options, stdin='{"C":"3","A":"9"}').ok()
    equal(get(t, "A", *options), "9")
    equal(names(t, *options), ["A", "B", "C"])


@test
def an_import_is_all_or_nothing(t):
    put(t, "A", "1").ok()
    for bad in ("", "[]", "{", '{"B":"2","B":"3"}', '{"B":"2","":"x"}',
                '{"B":"2","C":"a\\nb"}', '{"B":"2","C":""}', '{"B":null}',
                '{"B":"2","C\\u0000":"x"}', '{"B":"2"} x'):
        r = secret(t, "import", stdin=bad)
        check(r.code in (1, 2) and r.err.count("\n") == 1, bad, repr(r))
    equal(names(t), ["A"])


@test
def an_export_readable_by_others_draws_a_warning(t):
    put(t, "A", "1").ok()
    with open(os.open(t.away + "/out", os.O_WRONLY | os.O_CREAT, 0o644),
              "wb") as f:
        contains(secret(t, "export", stdout=f).ok().err, "chmod 600")
    with open(os.open(t.away + "/own", os.O_WRONLY | os.O_CREAT, 0o600),
              "wb") as f:
        equal(secret(t, "export", stdout=f).ok().err, "")


CLAUDE = {"claudeAiOauth": {"accessToken": "sk-ant-oat01-abc",
                            "refreshToken": "sk-ant-ort01-def",
                            "expiresAt": 1748658860401,
                            "scopes": ["user:inference", "user:profile"],
                            "subscriptionType": None}}


def write_claude(t, mode=0o600):
    path = os.path.join(t.home, ".claude/.credentials.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode),
              "w") as f:
        json.dump(CLAUDE, f)
    os.chmod(path, mode)
    return path


@test
def claudes_credentials_are_imported_on_request_only(t):
    path = write_claude(t)
    put(t, "A", "1").ok()
    equal(names(t), ["A"])
    secret(t, "import", "--claude").ok()
    equal(names(t), ["A", "claudeAiOauth"])
    equal(json.loads(get(t, "claudeAiOauth")), CLAUDE["claudeAiOauth"])
    check(os.path.exists(path), "it was moved without being asked")
    secret(t, "import", "--claude", "--force", "--move").ok()
    check(not os.path.exists(path), "it was not moved")
    equal(json.loads(get(t, "claudeAiOauth")), CLAUDE["claudeAiOauth"])


@test
def unsafe_credentials_of_claude_are_not_imported(t):
    path = write_claude(t, 0o644)
    refused(secret(t, "import", "--claude", "--move"), 1, "chmod 600")
    check(os.path.exists(path))
    os.unlink(path)
    refused(secret(t, "import", "--claude"), 1, "there is no", path)
    other = os.path.join(t.away, "claude")
    os.mkdir(other)
    refused(secret(t, "import", "--claude", env={"CLAUDE_CONFIG_DIR": other}),
            1, other)


@test
def a_plaintext_store_in_claudes_format_is_read(t):
    os.makedirs(store_dir(t), 0o700)
    os.rename(write_claude(t), store_file(t))
    equal(names(t), ["claudeAiOauth"])
    put(t, "A", "1").ok()
    with open(store_file(t)) as f:
        equal(json.load(f)["claudeAiOauth"], CLAUDE["claudeAiOauth"])


@test
def delete_all_removes_the_store(t):
    put(t, "A", "1").ok()
    put(t, "B", "2").ok()
    secret(t, "delete", "--all").ok()
    equal(names(t), [])
    check(not os.path.exists(store_file(t)))


main()
