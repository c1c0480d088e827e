# SPDX-License-Identifier: Apache-2.0
"""tests/live/srt.py - cloche as srt: what a user of srt sees

The same words, the same settings, the same messages as sandbox-runtime 0.0.83.
Where it is plainly wrong we are not; docs/migrating-from-srt.md lists that.
"""

import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from as_srt import *
from tap import *


@test
def a_symlink_named_srt_acts_as_srt(t):
    os.symlink(os.path.realpath(CLOCHE), t.away + "/srt")
    equal(t.outside(t.away + "/srt", "--version").ok().out, "0.0.83\n")
    equal(t.outside(t.away + "/srt", "echo", "hi").ok().out, "hi\n")
    equal(srt(t, "-V").ok().out, "0.0.83\n")
    contains(srt(t, "--help").ok().out,
             "Usage: srt [options] [command] [command...]\n")


@test
def arguments_and_command_strings_are_parsed_like_srt(t):
    equal(srt(t, "printf", "<%s>", "a b", "", "$HOME", "it's", "*").ok().out,
          "<a b><><$HOME><it's><*>")
    equal(srt(t, "-c", "echo $((1 + 1)) | cat").ok().out, "2\n")
    r = srt(t, "echo one word")
    equal((r.code, r.err.split("bash: ")[1]),
          (127, "line 1: echo one word: command not found\n"))
    equal(srt(t, "-c", "echo [$1]", "x", "y").ok().out, "[]\n")
    equal(srt(t, "type", "cd").ok().out, "cd is a shell builtin\n")
    equal(srt(t, "A=1", "B=x/y", "printenv", "A", "B").ok().out, "1\nx/y\n")
    equal(srt(t, "A=1").ok().out, "")
    r = srt(t, "time", "A=1", "sh", "-c", "echo $A; exit 3")
    equal((r.code, r.out, r.err.split()[0]), (3, "1\n", "real"))


@test
def the_command_line_of_vs_code_works(t):
    """Of @vscode/sandbox-runtime 0.0.1: a file of settings with every list, one string"""
    os.symlink(os.path.realpath(CLOCHE), t.away + "/srt")
    t.write("hidden/file", "x\n")
    t.write("hidden/shown", "y\n")
    path = t.away + "/settings.json"
    t.write(path, json.dumps({
        "network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": [t.dir + "/hidden"], "allowRead": [t.dir + "/hidden/shown"],
                       "allowWrite": [t.dir], "denyWrite": [t.dir + "/kept"]}}))
    os.mkdir("kept")
    r = t.outside(t.away + "/srt", "--settings", path, "-c",
                  "cat hidden/shown; cat hidden/file; echo > kept/x; echo > made; exit 3", env={"TMPDIR": t.away})
    equal((r.code, r.out), (3, "y\n"))
    check(t.exists("made") and not os.listdir(t.dir + "/kept"), r)


@test
def settings_are_read_from_a_pipe(t):
    t.write("hidden", "x\n")
    text = json.dumps({
        "network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": ["hidden"], "allowWrite": ["."],
                       "denyWrite": []}})
    script = f'{CLOCHE} as srt -s <(echo "$1") sh -c "cat hidden; echo > made"'
    r = t.outside("bash", "-c", script, "bash", text)
    contains(r.err, "Permission denied")
    check(t.exists("made"), r)
    r = t.outside("bash", "-c", script, "bash", "{")
    check(r.err.startswith("Error: "), r)
    equal((r.code, r.out), (1, ""))
    r = t.outside("bash", "-c", script, "bash", "{}")
    contains(r.err, "does not hold a valid config")
    equal((r.code, r.out), (1, ""))


@test
def options_end_where_the_command_begins(t):
    for argv in [("echo", "-d", "-s", "x", "-c", "y"),
                 ("--", "echo", "-d", "-s", "x", "-c", "y")]:
        r = srt(t, *argv).ok()
        equal((r.out, r.err), ("-d -s x -c y\n", ""))
    contains(srt(t, "--unknown", "echo").ended(127).err,
             "--unknown: command not found")
    equal(srt(t, "--", "-x").ended(127).out, "")


@test
def no_command_is_an_error(t):
    for argv in [(), ("-c", ""), ("-d",)]:
        r = srt(t, *argv).ended(1)
        contains(r.err, "Error: No command specified. Use -c <command> or "
                        "provide command arguments.\n")


@test
def wrong_options_have_srts_message(t):
    equal(srt(t, "-s").ended(1).err,
          "error: option '-s, --settings <path>' argument missing\n")
    for fd in ("2", "x", "-1", "3e0", " 5"):
        equal(srt(t, "--control-fd=" + fd, "true").ended(1).err,
              f"error: option '--control-fd <fd>' argument '{fd}' is invalid. "
              "must be an integer file descriptor >= 3 (0-2 are stdin, stdout "
              "and stderr).\n")
    read, write = os.pipe()
    for fd in (77, write):
        equal(srt(t, "--control-fd", fd, "true", pass_fds=[write]).ended(1).err,
              f"Error: --control-fd {fd} is not usable: EBADF: bad file "
              "descriptor, read. Refusing to run the command without the "
              "control channel it asks for.\n")
    srt(t, "proxy").ended(2)
    srt(t, "windows-install").ended(1)
    srt(t, "--", "proxy").ended(127)


@test
def the_exit_status_of_the_command_is_returned(t):
    for status in (0, 1, 7, 125, 255):
        srt(t, "-c", f"exit {status}").ended(status)
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT,
                   signal.SIGSEGV):
        srt(t, "-c", f"kill -{int(number)} $$").ended(128 + number)
    srt(t, "/etc/passwd").ended(126)


@test
def a_signal_to_srt_never_exits_with_0(t):
    for number in (signal.SIGTERM, signal.SIGINT):
        run = t.start("as", "srt", "-c", "echo up; exec sleep 1000")
        equal(run.stdout.readline(), b"up\n")
        run.send_signal(number)
        code = run.wait(RUN_SECONDS)
        check(code in (128 + number, -number), code)
        run.stdin.close()


@test
def the_default_file_is_in_the_home(t):
    r = srt(t, "-c", "echo x > f")
    contains(r.err, "Read-only file system")
    t.write(t.home + "/.srt-settings.json",
            json.dumps(config(filesystem={"allowWrite": ["."]})))
    srt(t, "-c", "echo x > f").ok()
    equal(t.read("f"), "x\n")


@test
def unknown_keys_are_ignored_everywhere(t):
    what = config({"zzz": 1}, {"zzz": [], "allowWrite": ["."]}, zzz=1,
                  sandbox={"filesystem": {"denyWrite": ["."]}},
                  permissions={"deny": ["Edit(./**)"]}, enabled=False,
                  limits={"timeout": "1ms"})
    r = srt(t, "-s", settings(t, what), "-c", "echo x > f").ok()
    equal((t.read("f"), r.err), ("x\n", ""))


@test
def settings_files_of_agents_are_ignored(t):
    for path in (".claude/settings.json", t.home + "/.claude/settings.json",
                 ".cloche.json"):
        t.write(path, json.dumps({"sandbox": {"filesystem": {
            "denyRead": [t.dir + "/f"]}}, "filesystem": {"denyRead": ["f"]}}))
    t.write("f", "x\n")
    equal(srt(t, "cat", "f").ok().out, "x\n")


@test
def refused_calls_fail_with_srts_errno(t):
    t.write("secret/f", "x\n")
    t.write("hidden", "x\n")
    t.write("w/keep/f", "x\n")
    r = shell(t, """
exec 2>&1
echo x > out
cat secret/f
cat hidden
echo x > w/keep/f
mv w/keep w/gone
rmdir w/keep
echo x > w/new && cat w/new
""", denyRead=["secret", "hidden"], allowWrite=["w"], denyWrite=["w/keep"])
    lines = r.out.splitlines()
    for part, error in [("out:", "Read-only file system"),
                        ("secret/f:", "No such file or directory"),
                        ("hidden:", "Permission denied"),
                        ("w/keep/f:", "Read-only file system"),
                        ("mv:", "Device or resource busy"),
                        # srt says "busy"; as without a sandbox, so that npm goes on
                        ("rmdir:", "Directory not empty")]:
        check(any(part in line and error in line for line in lines), part,
              error, lines)
    equal(lines[-1], "x")


@test
def protected_names_cannot_be_created_and_leave_no_file(t):
    names = [".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc",
             ".zprofile", ".profile", ".ripgreprc", ".mcp.json"]
    script = "".join(f"(echo x > {n}) 2>/dev/null && echo {n}\n" for n in names)
    os.mkdir(t.dir + "/.claude")
    script += "".join(f"mkdir {d} 2>/dev/null && (echo x > {d}/f) "
                      f"2>/dev/null && echo {d}\n"
                      for d in (".vscode", ".idea", ".claude/commands",
                                ".claude/agents"))
    before = tree(t.dir)
    r = shell(t, script + "ls -A; true", allowWrite=["."])
    equal(r.out.split(), [".claude"], "written or seen")
    equal(tree(t.dir), before)
    # The control: another name is written, and so are these elsewhere
    shell(t, "echo x > .other", allowWrite=["."]).ok()
    check(t.exists(".other"))


@test
def git_init_works_and_hooks_are_protected(t):
    need("git")
    shell(t, "git init -q . && test -d .git", allowWrite=["."]).ok()
    equal(t.outside("git", "init", "-q", ".").code, 0)
    r = shell(t, "echo x > .git/hooks/pre-commit; echo x >> .git/config;"
                 "echo x > .git/other", allowWrite=["."])
    check(not t.exists(".git/hooks/pre-commit") and t.exists(".git/other"), r)
    lacks(t.read(".git/config"), "x\n")
    shell(t, "echo '#x' >> .git/config", allowWrite=["."],
          allowGitConfig=True).ok()
    contains(t.read(".git/config"), "#x")


@test
def read_rules_follow_srt(t):
    for path in ("d/f", "d/open/f", "d/open/shut/f", "d/w/f"):
        t.write(path, "x\n")
    r = shell(t, "for f in d/f d/open/f d/open/shut/f d/w/f; do "
                 "cat $f >/dev/null 2>&1 && echo $f; done; echo y > d/w/new",
              denyRead=["d", "d/open/shut"], allowRead=["d/open"],
              allowWrite=["d/w"])
    equal(r.out.split(), ["d/open/f", "d/w/f"])
    equal(t.read("d/w/new"), "y\n")
    r = shell(t, "ls / ; echo ok", denyRead=["/"],
              allowRead=["/usr", "/bin", "/lib", "/lib64", "/etc", t.root, t.dir])
    equal(r.out.splitlines()[-1], "ok")
    r = shell(t, "ls /home /root /var/tmp 2>&1; true", denyRead=["/"],
              allowRead=["/usr", "/bin", "/lib", "/lib64", t.root, t.dir])
    lacks(r.out, "backups")


@test
def a_start_directory_can_be_hidden_except_a_part(t):
    for path in ("secret", "open/f", "w/f"):
        t.write(path, "x\n")
    r = shell(t, "for f in secret open/f w/f; do cat $f >/dev/null 2>&1 && echo $f; done; "
                 "pwd; ls; echo y > w/new",
              denyRead=["."], allowRead=["open"], allowWrite=["w"]).ok()
    equal(r.out.split(), ["open/f", "w/f", t.dir, "open", "w"])
    equal(t.read("w/new"), "y\n")
    # As in srt: what may be written can be read
    r = shell(t, "cat secret", denyRead=["."], allowRead=["open"], allowWrite=["."])
    equal(r.out, "x\n")


@test
def ssh_reads_the_systems_configuration(t):
    """It demands that they are root's or its user's; the host's have another number
    in a user namespace"""
    r = shell(t, "ssh -G host.example.org 2>&1 </dev/null")
    lacks(r.out, "Bad owner")
    contains(r.out, "\nhostname host.example.org\n")


@test
def git_works_in_a_linked_work_tree(t):
    """If its git directory is writable, which srt wants to be said; the hooks stay"""
    top = t.dir + "/repo"
    run = lambda script, cwd: t.outside("sh", "-ec", script, cwd=cwd).ok()
    os.mkdir(top)
    run("git init -q; git config user.name n; git config user.email e@example.org; "
        "git commit -q --allow-empty -m 1; git worktree add -q ../tree", top)
    script = ("cd tree; echo 1 > f; git add f && git commit -q -m 2; "
              "echo x >> ../repo/.git/config; echo x > ../repo/.git/hooks/pre-commit")
    before = t.read(top + "/.git/config")
    contains(shell(t, script, allowWrite=["tree"]).err, "Read-only file system")
    shell(t, script, allowWrite=["tree", "repo/.git"])
    equal(run("git log --format=%s; git status --short", t.dir + "/tree").out, "2\n1\n")
    equal(t.read(top + "/.git/config"), before)
    check(not t.exists(top + "/.git/hooks/pre-commit"))


@test
def filesystem_disabled_leaves_the_file_system_unchanged(t):
    what = config(filesystem={"disabled": True, "denyRead": ["f"]})
    t.write("f", "x\n")
    r = srt(t, "-s", settings(t, what), "-c",
            f"cat f; echo y > .bashrc; echo $TMPDIR; echo y > {t.away}/out",
            env={"TMPDIR": "/of/mine"}).ok()
    equal(r.out, "x\n/of/mine\n")
    check(t.exists(".bashrc") and os.path.exists(t.away + "/out"))


@test
def the_environment_equals_srts(t):
    r = srt(t, "env", "-0", env={"SECRET_TOKEN": "x", "MY_THING": "y"}).ok()
    env = dict(line.split("=", 1) for line in r.out.split("\0") if line)
    equal(env["SANDBOX_RUNTIME"], "1")
    equal((env["SECRET_TOKEN"], env["MY_THING"]), ("x", "y"))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy",
                 "ALL_PROXY", "all_proxy", "GRPC_PROXY", "grpc_proxy",
                 "DOCKER_HTTP_PROXY", "DOCKER_HTTPS_PROXY"):
        equal((name, env[name]), (name, "http://localhost:3128"))
    for name in ("FTP_PROXY", "ftp_proxy", "RSYNC_PROXY", "GIT_SSH_COMMAND",
                 "CLAUDE_CODE_HOST_HTTP_PROXY_PORT",
                 "CLAUDE_CODE_HOST_SOCKS_PROXY_PORT"):
        check(name in env, name)
    equal((env["CLOUDSDK_PROXY_TYPE"], env["CLOUDSDK_PROXY_ADDRESS"],
           env["CLOUDSDK_PROXY_PORT"]), ("http", "localhost", "3128"))
    for part in ("localhost", "127.0.0.1", "::1", "169.254.0.0/16",
                 "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"):
        check(part in env["NO_PROXY"].split(","), part)
    equal(env["no_proxy"], env["NO_PROXY"])
    # And more than srt: these would break what the caller had
    check("GIT_CONFIG_PARAMETERS" not in env and "JAVA_TOOL_OPTIONS" not in env)


@test
def TMPDIR_exists_and_is_writable(t):
    places = ("/tmp/claude", f"/tmp/claude-{os.getuid()}")
    before = [os.path.exists(path) for path in places]
    r = srt(t, "-c", 'echo "$TMPDIR"; f=$(mktemp) && echo x > $f && rm $f',
            env={"CLAUDE_TMPDIR": None}).ok()
    check(r.out.strip() in places, r)
    for path, was in zip(places, before):	# It stays: a run beside us may use it
        if not was and os.path.exists(path):
            equal(os.stat(path).st_mode & 0o777, 0o700)
    for name in ("CLAUDE_TMPDIR", "CLAUDE_CODE_TMPDIR"):
        equal(srt(t, "printenv", "TMPDIR", env={name: "/x/y"}).ok().out,
              "/x/y\n")


@test
def bytes_and_long_lines_are_preserved(t):
    raw = bytes(range(1, 256)).replace(b"/", b"")
    r = srt(t, "printf", "%s", raw).ok()
    equal(r.raw_out, raw)
    words = ["x" * 1000] * 500	# Over 128 KiB, which is too much for one word
    r = srt(t, "sh", "-c", 'echo $#', "sh", *words).ok()
    equal(r.out, "500\n")


@test
def the_system_calls_of_srts_filters_are_refused(t):
    code = r"""
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, call):
    try:
        r = call()
    except OSError as e:
        print(name, e.errno)
        return
    print(name, "ok" if not isinstance(r, int) or r >= 0 else ctypes.get_errno())
tried("unix", lambda: socket.socket(socket.AF_UNIX))
tried("vsock", lambda: socket.socket(40))
tried("pair", lambda: socket.socketpair())
tried("inet", lambda: socket.socket())
tried("uring", lambda: libc.syscall(425, 1, 0))
tried("userns", lambda: libc.unshare(0x10000000))
tried("mount", lambda: libc.mount(b"x", b"/", b"tmpfs", 0, None))
"""
    r = srt(t, "/usr/bin/python3", "-c", code).ok()
    found = dict(line.split() for line in r.out.splitlines())
    for name in ("unix", "vsock", "uring", "userns", "mount"):
        check(found[name] != "ok", name, found)
    for name in ("pair", "inet"):
        equal(found[name], "ok", name)
    what = config({"allowAllUnixSockets": True})
    r = srt(t, "-s", settings(t, what), "/usr/bin/python3", "-c", code).ok()
    contains(r.out, "unix ok")


@test
def denied_credentials_are_withheld(t):
    t.write("token", "x\n")
    what = config(credentials={"envVars": [{"name": "MY_KEY", "mode": "deny"}],
                               "files": [{"path": "token", "mode": "deny"}]})
    r = srt(t, "-s", settings(t, what), "-c", "echo [$MY_KEY$MY_OTHER]; cat token",
            env={"MY_KEY": "a", "MY_OTHER": "b"})
    equal(r.out, "[b]\n")


@test
def git_trusts_the_configured_safe_directories(t):
    what = config(git={"safeDirectories": ["/a/", "/b c"]})
    line = "env | grep ^GIT_CONFIG_ | sort"
    pairs = ["/a", "/a/*", "/b c", "/b c/*"]
    want = lambda first: sorted(
        [f"GIT_CONFIG_COUNT={first + 4}"] +
        [f"GIT_CONFIG_KEY_{first + i}=safe.directory" for i in range(4)] +
        [f"GIT_CONFIG_VALUE_{first + i}={pairs[i]}" for i in range(4)])
    file = settings(t, what)
    equal(sorted(srt(t, "-s", file, "-c", line).ok().out.splitlines()), want(0))
    mine = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b",
            "GIT_CONFIG_VALUE_0": "c"}
    equal(sorted(srt(t, "-s", file, "-c", line, env=mine).ok().out.splitlines()),
          sorted(want(1) + ["GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c"]))
    equal(srt(t, "-s", file, "-c", line, env={"GIT_CONFIG_COUNT": "0"}).out,
          "GIT_CONFIG_COUNT=0\n")
    what["git"]["safeDirectories"] = [f"/{i}" for i in range(9)]
    contains(srt(t, "-s", settings(t, what), "-c", line).out,
             "GIT_CONFIG_VALUE_0=*\n")


@test
def srts_default_write_paths_are_writable_if_they_exist(t):
    paths = [t.home + "/.npm/_logs", t.home + "/.claude/debug"]
    line = "; ".join(f"echo x > {path}/f" for path in paths)
    srt(t, "-c", line)
    check(not any(os.path.exists(path) for path in paths))
    for path in paths:
        os.makedirs(path)
    srt(t, "-c", line).ok()
    for path in paths:
        equal(t.read(path + "/f"), "x\n")
        os.unlink(path + "/f")
    shell(t, line, denyRead=["~"])
    check(not any(os.path.exists(path + "/f") for path in paths))


@test
def debugging_is_marked_and_on_standard_error(t):
    for argv, env in [(("-d",), {}), ((), {"SRT_DEBUG": "true"})]:
        r = srt(t, *argv, "-c", "echo hi", env=env).ok()
        equal(r.out, "hi\n")
        check(r.err and all(line.startswith("[SandboxDebug] ")
                            for line in r.err.splitlines()), r)


@test
def refusals_are_recorded_without_a_footer(t):
    r = srt(t, "-c", "echo x > /etc/hosts; true").ok()
    equal(r.err.count("\n"), 1, r.err)
    contains(t.run("violations", "list").ok().out, "/etc/hosts")


@test
def settings_without_an_effect_are_reported(t):
    r = shell(t, "true", allowWrite=["build"]).ok()
    contains(r.err, "build")
    what = config({"mitmProxy": {"socketPath": "/x", "domains": ["a.b"]}})
    contains(srt(t, "-s", settings(t, what), "true").ok().err, "mitmProxy")


@test
def a_managed_policy_applies_to_srt(t):
    tested = os.path.join(os.path.dirname(CLOCHE), "cloche-test")
    t.write(t.away + "/etc/cloche/policy.json", json.dumps(
        {"filesystem": {"denyRead": [t.dir + "/f"]}}))
    t.write("f", "x\n")
    run = lambda env: t.outside(tested, "as", "srt", "cat", "f", env=env)
    equal(run({}).ok().out, "x\n")
    equal(run({"CLOCHE_ROOT_ETC": t.away + "/etc"}).out, "")


main()
