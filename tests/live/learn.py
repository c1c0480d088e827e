# SPDX-License-Identifier: Apache-2.0
"""tests/live/learn.py - cloche learn: the fewest rules that a command needs, found
without opening anything
"""

import json
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

# Wants a file beside the project, a directory in the home and a host; two of them
# change its end, in different ways
JOB = """
cat {away}/in > /dev/null || exit 3
echo x > {away}/out/file 2> /dev/null || exit 4
mkdir -p {home}/made/by/job && echo x > {home}/made/file || exit 5
echo x > {away}/other/file 2> /dev/null
echo done > result
cat result
"""


def learn(t, *words):
    answer = json.loads(t.run("learn", "--json", *words).out)
    return answer, {f"{l['kind']} {l['value']}" for l in answer["lines"]}


def job(t, text=JOB):
    for name in ("out", "other"):
        os.makedirs(f"{t.away}/{name}", exist_ok=True)
    t.write(t.away + "/in", "in")
    t.write("job", text.format(away=t.away, home=t.home))


@test
def learn_proposes_exactly_the_needed_rules(t):
    job(t)
    equal(t.run("run", "--", "sh", "job").code, 4, "the control")
    answer, lines = learn(t, "--", "sh", "job")
    equal(lines, {f"write {t.away}/out", f"write {t.home}/made"}, answer)
    equal([l["value"] for l in answer["notNeeded"]], [t.away + "/other"], answer)
    equal((answer["status"], answer["complete"]), (0, True))
    check(answer["rounds"] <= 4, answer)
    # Nothing was changed, nothing was allowed
    for path in (t.away + "/out/file", t.away + "/other/file", t.home + "/made",
                 "result", ".cloche.json"):
        check(not t.exists(path), path)
    equal(t.run("run", "--", "sh", "job").code, 4)
    contains(t.run("diff").err, "no staged changes")
    # As printed
    for line in answer["lines"]:
        t.outside("sh", "-c", line["command"].replace(
            "cloche", os.environ["CLOCHE"], 1)).ok()
    equal(t.run("run", "--", "sh", "job").ok().out, "done\n")
    for line in answer["lines"]:
        t.run("policy", "remove", line["kind"], line["value"]).ok()
        check(t.run("run", "--", "sh", "job").code != 0, line)
        t.run("policy", "allow", line["kind"], line["value"]).ok()


@test
def learn_writes_rules_to_the_chosen_scope(t):
    job(t)
    r = t.run("learn", "--write", "project", "--", "sh", "job").ok()
    contains(r.out, "cloche policy allow write " + t.away + "/out")
    check(t.exists(".cloche.json"))
    equal(t.run("run", "--", "sh", "job").ok().out, "done\n")
    os.unlink(t.dir + "/.cloche.json")
    t.run("learn", "--write", "user", "--", "sh", "job").ok()
    check(not t.exists(".cloche.json"))
    check(t.exists(t.home + "/.config/cloche/policy.json"))
    equal(t.run("run", "--", "sh", "job").ok().out, "done\n")


@test
def learn_works_with_closed_standard_streams(t):
    # Only its output shows that the line is needed
    job(t, "echo x > {away}/out/file 2> /dev/null && cat {away}/out/file; true")
    t.outside("sh", "-c", '"$CLOCHE" learn --write project -- sh job <&- >&-')
    contains(t.read(".cloche.json"), t.away + "/out")


@test
def write_with_a_path_is_an_option_of_run(t):
    job(t)
    answer, lines = learn(t, "--write", t.away + "/out", "--", "sh", "job")
    equal(lines, {f"write {t.home}/made"}, answer)


@test
def learn_proposes_nothing_for_a_hostile_job(t):
    for name in (".ssh/id_rsa", ".netrc", ".aws/credentials"):
        t.write(f"{t.home}/{name}", "secret")
    t.outside("git", "init", "-q", t.dir).ok()
    t.write("job", f"""
code=0
for file in {t.home}/.ssh/id_rsa {t.home}/.netrc {t.home}/.aws/credentials \\
            /home/other/.ssh/id_rsa; do
    cat $file > /dev/null 2>&1 || code=1
done
for file in {t.home}/.bashrc {t.home}/.profile {t.home}/.ssh/authorized_keys \\
            .git/hooks/pre-commit .vscode/tasks.json; do
    mkdir -p $(dirname $file) 2> /dev/null
    echo x >> $file || code=1
done
python3 - << 'END' || code=1
import socket
socket.create_connection(("169.254.169.254", 80), 5)
END
exit $code
""")
    answer, lines = learn(t, "--", "sh", "job")
    equal(lines, set(), answer)
    equal(answer["notNeeded"], [])
    equal(answer["status"], 1)
    told = "\n".join(answer["refusedOnPurpose"])
    for word in (".ssh/id_rsa", ".netrc", ".aws/credentials", ".bashrc", ".profile",
                 "authorized_keys", "pre-commit", "169.254.169.254"):
        contains(told, word)
    # No rule refuses this one, but the permissions do
    if os.path.isdir("/home/other"):
        contains(told, "read /home/other/.ssh/id_rsa (the home of another user")
    for line in answer["refusedOnPurpose"]:
        check(line.endswith(")") and " (" in line, line)


@test
def learn_does_not_show_what_the_user_has_hidden(t):
    """By a path or by a pattern; a pattern may be about a directory above"""
    hidden = ("d/a.pem", "private/f", "x.vault/deep/f")
    for path in hidden:
        t.write(path, "hidden")
    t.write(t.home + "/.config/cloche/policy.json", json.dumps({"filesystem": {
        "denyRead": ["**/*.pem", t.dir + "/private", "**/*.vault"]}}))
    for path in hidden:
        equal(t.inside("cat", path).code, 1, "the control")
        answer, lines = learn(t, "--", "cat", path)
        equal((lines, answer["status"]), (set(), 1), answer)
        if path == hidden[0]:	# What is in a hidden directory is not there
            contains("\n".join(answer["refusedOnPurpose"]), "a.pem (hidden by a rule)")


@test
def learn_does_not_open_a_service_of_the_host(t):
    """Which may run what it is sent: an editor, a debugger"""
    seen = []

    def serve(server):
        while True:
            with server.accept()[0] as client:
                seen.append(client.recv(100))

    unix = socket.socket(socket.AF_UNIX)
    unix.bind(t.away + "/editor")
    unix.listen()
    tcp = socket.create_server(("127.0.0.1", 0))
    port = tcp.getsockname()[1]
    for server in unix, tcp:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
    t.write("job", f"""
import socket
for family, to in (socket.AF_UNIX, "{t.away}/editor"), (socket.AF_INET, ("127.0.0.1", {port})):
    s = socket.socket(family)
    s.connect(to)
    s.send(b"run this")
""")
    t.outside("/usr/bin/python3", "job").ok()
    wait_until(lambda: len(seen) == 2, "the control")
    answer, lines = learn(t, "--", "/usr/bin/python3", "job")
    equal(lines, set(), answer)
    equal(len(seen), 2)
    if not IS_ROOT:		# Root's are refused on purpose
        equal(answer["notTried"], [f"cloche policy allow socket {t.away}/editor"], answer)
    t.run("policy", "allow", "socket", t.away + "/editor").ok()
    answer, lines = learn(t, "--", "/usr/bin/python3", "job")
    equal((lines, answer["notTried"]), (set(), [f"cloche policy allow port {port}"]), answer)
    check(set(seen) == {b"run this"} and len(seen) > 2, seen)	# Only on the socket
    t.run("policy", "allow", "port", str(port)).ok()
    before = len(seen)
    t.run("run", "--", "/usr/bin/python3", "job").ok()
    wait_until(lambda: len(seen) == before + 2, "both were reached")


@test
def learn_proposes_the_directory_of_varying_names(t):
    job(t, "mkdir -p {away}/out/d$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')")
    answer, lines = learn(t, "--", "sh", "job")
    equal(lines, {f"write {t.away}/out"}, answer)
    equal(answer["status"], 0)


@test
def learn_proposes_the_directory_of_a_single_file(t):
    job(t, "echo x > {away}/out/file || exit 3; echo x > {home}/file")
    t.write(t.away + "/out/file", "as it was")
    t.write(t.home + "/file", "as it was")
    answer, lines = learn(t, "--", "sh", "job")
    equal(lines, {f"write {t.away}/out"}, answer)
    equal(answer["refusedOnPurpose"], [], answer)
    # As printed it helps
    command, = answer["notTried"]
    contains(t.run("learn", "--", "sh", "job").out,
             f"If the command may use it:\n  {command}\n")
    t.outside("sh", "-c", command.replace("cloche", os.environ["CLOCHE"], 1)).ok()
    t.shell(f"echo x > {t.home}/file").ok()
    t.write(t.home + "/file", "as it was")
    for path in (t.away + "/out/file", t.home + "/file"):
        equal(t.read(path), "as it was")


@test
def learn_reports_that_no_rule_is_needed(t):
    r = t.run("learn", "--", "true").ok()
    equal(r.out, "The command needs no rule.\n")
    r = t.run("learn", "--", "false")
    equal(r.code, 1)
    equal(r.out, "No rule was found that helps.\n")
    contains(r.err, "still ends with exit status 1")


@test
def learn_refuses_to_run_with_staged_changes(t):
    t.run("run", "--ephemeral", "-c", "echo x > mine").ok()
    r = t.run("learn", "--", "true")
    equal(r.code, 2)
    contains(r.err, "there are staged changes; 'cloche apply' or 'cloche discard' first")
    contains(t.run("diff").ok().out, "mine")
    t.run("discard").ok()
    t.run("learn", "--", "true").ok()


@test
def learn_reports_wrong_usage_in_one_line(t):
    for words, text in (
            (["--rounds", "0", "--", "true"], "--rounds is 1 to"),
            (["--rounds", "x", "--", "true"], "--rounds is 1 to"),
            (["--ask", "--", "true"], "--ask is not for trial runs"),
            (["--events", "2", "--", "true"], "--events is not for trial runs"),
            ([], "")):
        r = t.run("learn", *words)
        equal(r.code, 2, words, r)
        contains(r.err, text)
        equal(len(r.err.splitlines()), 1, r)
    r = t.run("learn", "--", "./not-there")
    equal(r.code, 1)
    contains(r.err, "still ends with exit status 127")


main()
