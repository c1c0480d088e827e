# SPDX-License-Identifier: Apache-2.0
"""tests/live/fixes.py - the suggested command of each refusal works as printed"""

import http.server
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

BIN = os.path.dirname(os.path.abspath(CLOCHE))
READS = [] if os.access("/dev/fuse", os.R_OK | os.W_OK) else ["--observe", "full"]


def lines(r):
    """The commands that the footer of @r prints, each on a line of its own"""
    return [line.strip() for line in r.err.split("\n")
            if line.startswith("            cloche ")]


def paste(t, line, cwd=None):
    """Run @line as a person does"""
    return t.outside("bash", "-c", line, cwd=cwd,
                     env={"PATH": BIN + ":" + os.environ["PATH"]})


def mended(t, script, expect=None, options=(), env=None, **more):
    """@script fails and prints a line; after that line it works"""
    first = t.shell(script, options=options, env=env, **more)
    check(first.code != 0, "succeeded at once:", script, repr(first))
    found = lines(first)
    check(found, "no line for", script, repr(first))
    if expect:
        contains(" ".join(found), expect, script)
    for line in dict.fromkeys(found):
        paste(t, line).ok(script)
    t.shell(script, options=options, env=env, **more).ok("after", *found)
    return found


def explained(t, script, words, options=(), **more):
    """@script fails, prints no line and says why there is none"""
    r = t.shell(script, options=options, **more)
    check(r.code != 0, "succeeded:", script, repr(r))
    equal(lines(r), [], script, repr(r))
    contains(r.err, words, script)


WRITES = {
    "a new file in the home": "echo x > ~/new",
    "a file that is there": "echo x >> ~/there",
    "a directory for settings": "mkdir -p ~/.config/newtool && echo x > ~/.config/newtool/c",
    "a directory for a cache": "mkdir -p ~/.cache/newtool/sub && echo x > ~/.cache/newtool/sub/c",
    "a temporary file": "f=$(mktemp ~/.cache/tool/XXXXXX) && echo x > $f",
    "a file moved out of the project": "echo x > here; mv here ~/sub/",
    "permissions": "chmod 700 ~/there",
    "sed -i": "sed -i s/a/b/ ~/sub/notes.txt",
    "a directory of a random name": "mktemp -d ~/sub/incoming-XXXXXX",
    "a file that is removed": "rm -f ~/sub/gone && ! test -e ~/sub/gone",
    "pnpm's store": "mkdir -p ~/.local/share/pnpm/store/v3 && echo x > ~/.local/share/pnpm/store/v3/f",
    "a temporary file that says so": "echo x > ~/sub/.conf.json.tmp.$$.7db83a8782da",
}


@test
def the_suggested_rule_allows_writes_in_the_home(t):
    for name, script in WRITES.items():
        for entry in ("sub", ".cache/tool", ".cache/newtool", ".config/newtool",
                      ".config/cloche", ".local/share/pnpm"):
            shutil.rmtree(os.path.join(t.home, entry), ignore_errors=True)
        if t.exists(".cloche.json"):
            os.unlink(".cloche.json")
        os.makedirs(t.home + "/sub/dir")
        os.makedirs(t.home + "/.cache/tool")
        for path in (".config", ".local/share"):
            os.makedirs(os.path.join(t.home, path), exist_ok=True)
        for path in ("there", "sub/notes.txt", "sub/gone"):
            t.write(os.path.join(t.home, path), "a\n")
        note(name, mended(t, script, "cloche policy allow write "))


READABLE = {".ssh/id_test": "K", ".aws/credentials": "K", ".netrc": "K",
            ".npmrc": "//r.example.org/:_authToken=x\n",
            ".config/gh/hosts.yml": "K", ".kube/config": "K"}


@test
def the_suggested_rule_allows_reads_of_secrets(t):
    for path, text in READABLE.items():
        full = os.path.join(t.home, path)
        t.write(full, text)
        mended(t, "cat " + shlex.quote(full), "cloche policy allow read " + full,
               options=READS)
        r = t.inside("cat", full, options=[*READS, "--no-settings"])
        contains(r.err, "allow it only if the command is to have it")


@test
def looks_at_secrets(t):
    """The directory is empty, and the file is not there"""
    t.write(t.home + "/.ssh/id_test", "K")
    t.write(t.home + "/.aws/credentials", "K")
    mended(t, 'test -n "$(ls ~/.aws)"', f"cloche policy allow read {t.home}/.aws",
           options=READS)
    mended(t, "test -f ~/.ssh/id_test", f"cloche policy allow read {t.home}/.ssh",
           options=READS)


@test
def git_in_a_subdirectory(t):
    """Its lock is in the repository above, which is the project"""
    t.outside("git", "init", "-q").ok()
    sub = os.path.dirname(t.write("packages/a/x.js", "1\n"))
    for script in ("git add x.js", "git status --short",
                   "git -c user.name=n -c user.email=e@x commit -qm one"):
        equal(t.shell(script, cwd=sub).ok().err, "", script)
    contains(t.outside("git", "log", "--format=%s").ok().out, "one")


PROTECTED = {
    ".git/hooks/pre-push": "hooks", ".vscode/tasks.json": ".vscode", ".bashrc": ".bashrc",
    ".envrc": ".envrc", ".npmrc": ".npmrc", ".gitmodules": ".gitmodules",
    ".husky/x": ".husky", ".idea/x": ".idea",
}


@test
def the_suggested_rule_unprotects_names(t):
    t.outside("git", "init", "-q").ok()
    for path, name in PROTECTED.items():
        script = f"mkdir -p $(dirname {path}) && echo x > {path}"
        mended(t, script, "cloche policy allow unprotect " + name)
        check(t.exists(path))
    mended(t, "git config a.b c && git config a.b", "cloche policy allow unprotect config")


@test
def settings_files_are_reported_as_not_allowable(t):
    t.write(os.path.join(t.home, "notes.txt"), "a\n")
    for path in (".claude/settings.json", ".cloche.json", ".mcp.json"):
        explained(t, f"mkdir -p $(dirname {path}) && echo x > {path}", "cannot be allowed")
    explained(t, "rm -f ~/notes.txt && ! test -e ~/notes.txt", "only with the whole home writable")
    explained(t, "sed -i s/a/b/ ~/notes.txt", "only with the whole home writable")


@test_if(not IS_ROOT)
def no_rule_is_suggested_for_files_of_root(t):
    explained(t, "echo x > /usr/local/x", "not yours to write")


@test
def the_suggested_rule_names_host_and_port(t):
    for target, value in (("https://a.example.org/", "a.example.org"),
                          ("http://b.example.org:8080/", "b.example.org:8080"),
                          ("http://203.0.113.7/", "203.0.113.7")):
        r = t.inside("curl", "-sS", "-m", "20", target)
        line = "cloche policy allow host " + value
        check(line in lines(r), line, repr(r))
        paste(t, line).ok()
        contains(t.run("policy", "why", "host", value).ok().out, "allowed")


@test
def the_suggested_rule_allows_a_port_of_the_host(t):
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_port
    mended(t, f"curl -sf -o /dev/null http://localhost:{port}/",
           f"cloche policy allow port {port}")
    server.shutdown()


@test
def the_suggested_rule_allows_git_push_to_a_directory(t):
    run = ("git", "-c", "user.name=n", "-c", "user.email=e@x")
    t.outside("git", "init", "-q", "--bare", t.home + "/remote.git").ok()
    t.outside("git", "init", "-q").ok()
    t.outside(*run, "commit", "-q", "--allow-empty", "-m", "m").ok()
    mended(t, "git push -q ~/remote.git HEAD:main", "cloche policy allow write ")


@test
def the_suggestion_for_a_file_of_the_hosts_tmp_works(t):
    with tempfile.NamedTemporaryFile("w", dir="/tmp", prefix="cloche-test-") as file:
        file.write("told")
        file.flush()
        line = "cloche policy allow read " + file.name
        r = t.inside("cat", file.name)
        check(r.code != 0, repr(r))
        equal(lines(r), [line], repr(r))
        contains(r.err, "/tmp is the sandbox's own")
        equal(t.inside("test", "!", "-e", file.name).ok().err, "")
        lacks(t.inside("cat", file.name + "-none").err, "cloche:")
        other = os.path.join(t.away, "web")
        os.makedirs(other)
        contains(" ".join(lines(t.inside("cat", file.name, options=["--cwd", other]))),
                 f"--cwd {other} read")
        equal(lines(t.shell("true; cat " + file.name)), [line])
        # In the text of a program, and behind an option's name
        for command in (["python3", "-c", f"open('{file.name}')"],
                        ["sh", "-c", f"""python3 -c 'open("{file.name}")'"""],
                        ["diff", "--to-file=" + file.name, "/dev/null"]):
            equal(lines(t.inside(*command)), [line], command)
        for command in (["python3", "-c", f"open('{file.name}-none')"],
                        ["python3", "-c", f"open('/usr{file.name}')"],
                        ["sh", "-c", "ls /tmp /tmp/ && false"]):
            lacks(t.inside(*command).err, "cloche:")
        paste(t, line).ok()
        equal(t.inside("cat", file.name).ok().out, "told")


@test
def the_suggested_rule_allows_a_unix_socket(t):
    path = os.path.join(t.home, "host.sock")
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    script = ("python3 -c 'import socket, sys; "
              f"socket.socket(socket.AF_UNIX).connect(\"{path}\")'")
    mended(t, script, "cloche policy allow socket " + path)
    server.close()


@test
def the_suggested_rule_allows_gpg_signing(t):
    need("gpg-agent")
    home = os.path.join(t.home, ".gnupg")
    os.mkdir(home, 0o700)
    t.outside("gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "",
              "--quick-gen-key", "n <e@x>", "default", "default").ok()
    t.write("text", "x\n")
    script = "gpg --batch --yes -o signed --sign text"
    r = t.shell(script, options=READS)
    check(r.code != 0, "signed at once", repr(r))
    lacks(r.err, "allow read")
    lacks(r.err, "allow write")
    found = [line for line in lines(r) if "S.gpg-agent" in line]
    check(found, repr(r))
    paste(t, found[0]).ok()
    t.shell(script, options=READS).ok()
    check(t.exists("signed"))
    t.outside("gpgconf", "--kill", "all")


@test
def suggestions_for_another_directory_include_cwd(t):
    other = os.path.join(t.away, "web")
    os.makedirs(other)
    script = "echo x > ~/out"
    r = t.shell(script, options=["--cwd", other])
    line = lines(r)[0]
    contains(line, "--cwd " + other)
    paste(t, line, cwd=t.home).ok()
    t.shell(script, options=["--cwd", other]).ok()


@test
def repeated_refusals_are_counted_once(t):
    r = t.shell("for i in 1 2 3 4; do echo x > ~/x; done; false")
    contains(r.err, "refused 1 thing\n")


@test
def refusals_by_a_user_deny_rule_are_not_reported(t):
    r = t.shell("curl -s -m 9 http://t.example.org/; true").ok()
    contains(r.err, "refused 1 thing")
    t.run("policy", "deny", "host", "t.example.org").ok()
    equal(t.shell("curl -s -m 9 http://t.example.org/; true").ok().err, "")
    contains(t.shell("curl -s -m 9 http://t.example.org/; false").err, "refused 1 thing")


@test
def violations_list_accepts_the_kinds_of_rules(t):
    for script, word, names in (
            ("echo x > ~/x", "write", ("fs-write", "file-write")),
            ("curl -sf -m 9 http://k.example.org/", "host", ("net-connect", "network-connect"))):
        t.run("violations", "clear").ok()
        t.shell(script)
        for kind in (word, *names):
            listed = t.run("violations", "list", "--kind", kind).ok().out
            contains(listed, f"\n  {word} ", kind)
            contains(listed, " run 0", kind)
            contains(listed, script.split()[0], kind)
    r = t.run("violations", "list", "--kind", "nothing").ended(2)
    for word in ("host", "read", "write", "socket", "port", "variable", "job"):
        contains(r.err, word)
        t.run("violations", "list", "--kind", word).ok()


@test
def gpg_without_its_directory_has_a_line_that_makes_it(t):
    need("gpg")
    path = t.home + "/.gnupg"
    line = f"mkdir -m 700 {path}"
    r = t.inside("gpg", "--list-keys").ended(2)
    contains(r.err, f"an empty one is enough)\n            {line}\n")
    t.outside("bash", "-c", line).ok()
    lacks(t.inside("gpg", "--list-keys").ok().err, "cloche")
    equal(os.listdir(path), [])


@test
def a_command_of_an_agent_is_not_offered_the_agents_key(t):
    keys = {"ANTHROPIC_API_KEY": "sk-a", "OPENAI_API_KEY": "sk-o", "GEMINI_API_KEY": "sk-g",
            "SOME_API_TOKEN": "t0k3n"}
    for marker in ("CLAUDECODE", "CODEX_CI", "GEMINI_CLI", "CURSOR_AGENT", None):
        r = t.shell("exit 3", env={**keys, **({marker: "1"} if marker else {})}).ended(3)
        contains(r.err, "SOME_API_TOKEN")
        for name in list(keys)[:3]:
            (lacks if marker else contains)(r.err, name)


@test
def the_suggested_rule_passes_a_withheld_variable(t):
    env = {"SOME_API_TOKEN": "tok-1234567890"}
    script = 'test -n "$SOME_API_TOKEN"'
    r = t.shell(script, env=env)
    contains(r.ended(1).err, "SOME_API_TOKEN (--env NAME passes one)")
    listed = t.run("violations", "list", "--kind", "variable").ok().out
    contains(listed, "variable SOME_API_TOKEN (looks like a secret")
    lacks(listed, "tok-1234567890")
    line = re.search(r"^ +(cloche policy allow variable .*)$", listed, re.M).group(1)
    paste(t, line).ok()
    t.shell(script, env=env).ok()
    equal(t.shell("true", env=env).ok().err, "")


@test
def an_ended_background_job_is_reported(t):
    r = t.shell("sleep 1000 & setsid sleep 1001 & exec sh -c 'echo over'").ok()
    contains(r.err, "note: still running in the background, so ended with the command: ")
    contains(t.run("violations", "list", "--kind", "job").ok().out,
             "a background job ends with the command that started it")
    equal(t.shell("sleep 1000 & exec true", options=["--quiet"]).ok().err, "")
    # The controls: a daemon has left the session, and a script that waits has no job left
    equal(t.shell("mkfifo up; setsid sh -c 'echo up > up; exec sleep 1001' & "
                  "read line < up").ok().err, "")
    equal(t.shell("true & wait").ok().err, "")


@test
def nested_runs_print_at_most_one_line(t):
    own = os.path.abspath(CLOCHE)
    r = t.shell(f"{own} run -- true; {own} run -- true; {own} run -- true").ok()
    check(r.err.count("cloche:") <= 1, r.err)
    # The control: what is refused inside is reported
    r = t.shell(f"{own} run -- sh -c 'echo x > ~/nested'")
    check(r.code != 0, repr(r))
    contains(r.err, "write " + t.home + "/nested")


@test
def suggestions_for_keys_and_logins_carry_a_warning(t):
    for name in (".ssh", ".config"):
        os.mkdir(os.path.join(t.home, name))
    contains(t.shell("echo k >> ~/.ssh/authorized_keys").err,
             "keys and logins are there: allow it only for a command that is to change them")
    for path in (".config/chromium/Default", ".mozilla/firefox"):
        explained(t, f"mkdir -p ~/{path}", "give the browser a profile of its own")


@test
def refused_udp_is_reported_as_udp(t):
    r = t.inside("python3", "-c", "import socket, sys; "
                 "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                 "s.connect(('203.0.113.9', 123)); s.send(b'x'); "
                 "s.settimeout(20); s.recv(1)")
    check(r.code != 0, repr(r))
    contains(r.err, "203.0.113.9:123")
    [line] = lines(r)	# Pasted in live/jail, where something answers
    contains(line, "cloche run --net jail -- python3 -c ")


QUERY = r"""
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(60)
name = b"".join(bytes([len(p)]) + p for p in b"u.example.org".split(b"."))
s.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0" + name + b"\0\0\1\0\1", ("203.0.113.53", 53))
sys.exit(s.recv(512)[3] & 15)	# The answer's code
"""
GARBAGE = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3): s.sendto(b"x", ("203.0.113.53", 53))
raise SystemExit(1)
"""


@test
def the_report_for_another_name_server_names_it(t):
    t.write("query.py", QUERY)
    mended(t, "python3 query.py", "cloche policy allow host u.example.org")
    t.write("garbage.py", GARBAGE)
    r = t.shell("python3 garbage.py").ended(1)
    contains(r.err, "host 203.0.113.53:53 (UDP is not passed on, only DNS queries are answered")
    contains(lines(r)[0], "cloche run --net jail -- ")


@test
def the_suggested_rule_allows_a_datagram_socket(t):
    """As a program has it that writes to the system's log, or to systemd"""
    path = os.path.join(t.home, "log")
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    server.bind(path)
    script = ("python3 -c 'import socket; socket.socket(socket.AF_UNIX, "
              f"socket.SOCK_DGRAM).sendto(b\"x\", \"{path}\")'")
    r = t.shell(script)
    contains(r.err, "allow it only for a command that may")
    mended(t, script, "cloche policy allow socket all")
    equal(server.recv(9), b"x")
    t.run("policy", "remove", "socket", "all").ok()
    check(t.shell(script).code != 0, "sent after the removal")


BROWSER = """#include <string.h>
#include <sys/stat.h>
int main(int c, char **v)
{
	return c > 1 && !strncmp(v[1], "--user-data-dir=", 16) ?
	       mkdir(v[1] + 16, 0700) != 0 : mkdir(v[c - 1], 0700) != 0;
}
"""


@test
def the_suggested_command_gives_a_browser_its_own_profile(t):
    need("cc")
    os.makedirs(t.home + "/.config")
    t.write("browser.c", BROWSER)
    t.outside("cc", "-o", "chromium", "browser.c").ok()
    r = t.inside("./chromium", t.home + "/.config/chromium")
    check(r.code != 0, repr(r))
    equal(lines(r), [f"cloche run -- ./chromium --user-data-dir=/tmp/profile "
                     f"{t.home}/.config/chromium"])
    paste(t, lines(r)[0]).ok()


NEEDS = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
int main(int c, char **v)
{
	const char *out = getenv("OUT");
	int ours = c > 1 && !strncmp(v[1], "--user-data-dir=", 16);

	if (!out || !fopen(out, "w") || !fopen("here", "w"))
		return 2;
	return mkdir(ours ? v[1] + 16 : v[c - 1], 0700) != 0;
}
"""


@test
def a_suggested_command_repeats_the_options_of_the_run(t):
    """Without any of them the command fails for another reason"""
    need("cc")
    other, out = os.path.join(t.away, "a project"), os.path.join(t.away, "out")
    for path in (other, out, t.home + "/.config"):
        os.makedirs(path, exist_ok=True)
    t.write(os.path.join(other, "browser.c"), NEEDS)
    t.outside("cc", "-o", "chromium", "browser.c", cwd=other).ok()
    options = ["--write", out, "--env", f"OUT={out}/a b", "--cwd", other,
               "--timeout", "90s", "--host-port", "9"]
    r = t.inside("./chromium", t.home + "/.config/chromium", options=options).ended(1)
    [line] = lines(r)
    contains(line, f"cloche run --write {out} --env 'OUT={out}/a b' --cwd '{other}' "
             "--timeout 90s --host-port 9 -- ./chromium --user-data-dir=/tmp/profile")
    paste(t, line, cwd=t.home).ok()
    for left_out in (f"--write {out} ", f"--env 'OUT={out}/a b' ", f"--cwd '{other}' "):
        check(paste(t, line.replace(left_out, ""), cwd=t.home).code != 0, left_out)
    # A secret is not printed, and then there is no line to paste
    r = t.inside("./chromium", t.home + "/.config/chromium",
                 options=[*options, "--env", "API_TOKEN=tok-1234567890"]).ended(1)
    equal(lines(r), [])
    lacks(r.err, "tok-1234567890")
    contains(t.inside("make it", options=["--profile", "home", "--env", "A=b"]).ended(127).err,
             "cloche run --profile home --env A=b -c 'make it'")


@test
def with_no_settings_an_option_is_suggested(t):
    """A rule would be stored, and not count in the second run"""
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    path = os.path.join(t.home, "host.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    os.makedirs(t.home + "/sub/dir")
    t.write(t.home + "/.netrc", "K")
    for script, option in (
            ("cat ~/.netrc", f"--read {t.home}/.netrc"),
            ("echo x > ~/sub/dir/new", f"--write {t.home}/sub/dir"),
            (f"curl -sf http://localhost:{server.server_port}/",
             f"--host-port {server.server_port}"),
            (f"python3 -c 'import socket; socket.socket(socket.AF_UNIX)"
             f".connect(\"{path}\")'", "--unix-socket " + path)):
        r = t.shell(script, options=[*READS, "--no-settings"])
        check(r.code != 0, script)
        [line] = lines(r)
        contains(line, f"cloche run {' '.join([*READS, '--no-settings'])} {option} -- ")
        paste(t, line).ok()
    explained(t, "echo x > .bashrc", "no option allows it", options=["--no-settings"])
    explained(t, "echo x > ~/new", f"make it, and run it again with --write {t.home}/new",
              options=["--no-settings"])
    check(not t.exists(".cloche.json") and
          not os.path.exists(t.home + "/.config/cloche/policy.json"))
    server.shutdown()


@test
def a_multi_line_command_is_not_printed(t):
    r = t.inside("python3", "-c", "import socket\ns = socket.socket(socket.AF_INET, "
                 "socket.SOCK_DGRAM)\ns.connect(('203.0.113.9', 123))\ns.send(b'x')\n"
                 "s.settimeout(20)\ns.recv(1)")
    check(r.code != 0, repr(r))
    equal(lines(r), [])
    contains(r.err, "UDP is not passed on, only TCP; run it again with --net jail)")


@test
def refusals_in_profile_home_suggest_a_working_rule(t):
    t.write(t.home + "/notes one", "told")
    t.write(t.home + "/.ssh/id_test", "K")
    home = ["--profile", "home"]
    for script in (f"cat '{t.home}/notes one'", "cat ~/.ssh/id_test"):
        command = shlex.split(script) if "one" in script else ["sh", "-c", script]
        r = t.inside(*command, options=home)
        check(r.code != 0, repr(r))
        contains(r.err, "the home is the sandbox's own: the host's ")
        contains(r.err, "allow it only if the command is to have it")
        [line] = lines(r)
        paste(t, line).ok()
        t.inside(*command, options=home).ok()
    lacks(t.inside("cat", t.home + "/none", options=home).err, "cloche:")
    contains(t.run("policy", "why", "read", t.home + "/other", *home).ended(1).out,
             "cloche policy allow read " + t.home + "/other")


@test
def a_refused_raw_socket_is_explained(t):
    script = "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'"
    explained(t, script, "syscall socket (a raw socket needs root's rights")
    # The control: a program that continues without it prints nothing
    equal(t.shell(script + " 2>&-; true").ok().err, "")


@test
def a_refused_device_is_explained(t):
    device = next(d for d in ("/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop-control",
                              "/dev/kmsg", "/dev/mem") if os.path.exists(d))
    script = f"python3 -c 'import os; os.open(\"{device}\", os.O_RDWR)'"
    explained(t, script, f"write {device} (not a device of the sandbox, and no rule adds one")
    equal(t.shell(script + " 2>&-; true").ok().err, "")
    lacks(t.shell(script.replace(device, "/dev/none")).err, "cloche:")


@test_if(not IS_ROOT)
def a_refused_setuid_program_is_explained(t):
    program = next(p for p in ("/usr/bin/su", "/bin/su", "/usr/bin/mount")
                   if os.path.exists(p) and os.stat(p).st_mode & 0o4000)
    for script in (program + " --none", "cd /; " + os.path.basename(program) + " --none"):
        explained(t, script, "by its set-user-id bit, which has no effect inside")
    lacks(t.shell("echo su; false").err, "cloche:")
    lacks(t.shell(program + " --version").ok().err, "cloche:")


@test
def the_suggested_rule_allows_the_ssh_agent(t):
    """Its keys are listed, and it signs, after the line; the key itself stays hidden"""
    need("ssh-agent")
    key = os.path.join(t.home, ".ssh/id_ed25519")
    os.makedirs(os.path.dirname(key), 0o700)
    t.outside("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "x", "-f", key).ok()
    started = t.outside("ssh-agent", "-s").ok().out
    env = dict(re.findall(r"(SSH_A\w+)=([^;]+);", started))
    try:
        t.outside("ssh-add", "-q", key, env=env).ok()
        r = t.inside("ssh", "-o", "BatchMode=yes", "git@g.example.org", env=env,
                     options=[*READS, "--allow", "g.example.org:22"])
        line = "cloche policy allow socket " + env["SSH_AUTH_SOCK"]
        contains(r.err, "its agent signs without handing out the key")
        equal(set(lines(r)) - {"cloche policy allow host g.example.org"}, {line}, repr(r))
        mended(t, "ssh-add -l", line, env=env)
        check(t.inside("cat", key, env=env).code != 0, "the key was read")
    finally:
        os.kill(int(env["SSH_AGENT_PID"]), 15)


@test
def the_suggested_rule_allows_the_docker_socket(t):
    """As docker is"""
    path = os.path.join(t.home, "docker.sock")
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()

    def serve():
        while True:
            client, _ = server.accept()
            client.recv(4096)
            client.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nOK")
            client.close()
    threading.Thread(target=serve, daemon=True).start()
    mended(t, f"curl -sf --unix-socket {path} http://localhost/_ping",
           "cloche policy allow socket " + path)


@test
def refusals_under_net_none_name_the_option(t):
    r = t.shell("curl -sf -m 20 http://n.example.org/", options=["--net", "none"])
    check(r.code != 0, repr(r))
    contains(r.err, "--net none")


main()
