# SPDX-License-Identifier: Apache-2.0
"""tests/cli/policy.py - cloche policy: show, check, why and the edits"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

TESTED = os.path.join(os.path.dirname(CLOCHE), "cloche-test")
OWN = "/.config/cloche/policy.json"
LOCAL = ".claude/settings.local.json"
PROJECT = ".claude/settings.json"


def settings(t, path, **sandbox):
    return t.write(path, json.dumps({"sandbox": sandbox}) + "\n")


def managed(t, *argv, **sandbox):
    """Run `cloche policy ARGV...` under a managed file: the test program"""
    t.write(t.away + "/etc/claude-code/managed-settings.json",
            json.dumps({"sandbox": sandbox}, indent=2))
    return t.outside(TESTED, "policy", *argv,
                     env={"CLOCHE_ROOT_ETC": t.away + "/etc"})


@test
def show_names_the_line_behind_each_value(t):
    t.write(PROJECT, '{\n "sandbox": {\n  "network": {\n'
                     '   "allowedDomains": [\n    "a.example",\n'
                     '    "b.example"]\n  }\n }\n}\n')
    t.trust()
    r = t.run("policy", "show", "-v").ok()
    contains(r.out, f"a.example  ({t.dir}/{PROJECT}:5: "
                    "sandbox.network.allowedDomains[0])")
    contains(r.out, f"b.example  ({t.dir}/{PROJECT}:6: ")
    contains(r.out, "SSH private keys")


@test
def show_prints_json(t):
    settings(t, LOCAL, enabled=True, filesystem={"denyRead": ["x*"]})
    all = json.loads(t.run("policy", "show", "--json").ok().out)
    equal(all["version"], 1)
    equal(all["mode"], "regular")
    equal(all["cwd"], t.dir)
    equal(all["settings"]["enabled"]["value"], True)
    origin = all["settings"]["enabled"]["origin"]
    equal((origin["scope"], origin["file"], origin["line"], origin["key"]),
          ("local", f"{t.dir}/{LOCAL}", 1, "sandbox.enabled"))
    patterns = [e.get("pattern") for e in
                all["settings"]["filesystem.denyRead"]["entries"]]
    check("x*" in patterns, patterns)
    check({"scope": "local", "path": f"{t.dir}/{LOCAL}", "state": "read"}
          in all["files"], all["files"])


@test
def show_prints_no_secrets(t):
    settings(t, t.home + "/.claude/settings.json", env=["TOKEN=hunter2"],
             network={"parentProxy": {"http": "http://me:hunter2@proxy:1"}})
    for more in ((), ("--json",)):
        r = t.run("policy", "show", *more).ok()
        lacks(r.out, "hunter2")
        contains(r.out, "TOKEN")
        contains(r.out, "@proxy:1")


@test
def show_escapes_non_UTF_8_paths(t):
    os.mkdir(os.fsencode(t.dir) + b"/\xff\n")
    cwd = os.fsencode(t.dir) + b"/\xff\n"
    r = t.run("policy", "show", cwd=cwd).ok()
    contains(r.out, "\\xff\\x0a")
    json.loads(t.run("policy", "show", "--json", cwd=cwd).ok().out)


@test
def why_answers_with_the_exit_status(t):
    settings(t, PROJECT, network={"allowedDomains": ["a.example"],
                                  "deniedDomains": ["b.example"]})
    t.trust()
    for target in ("x", "new/y", t.dir + "/z"):
        t.run("policy", "why", "write", target).ok()
    for target in (PROJECT, LOCAL, ".claude/skills/x", ".bashrc", "/etc/x",
                   "sub/.vscode/tasks.json", ".mcp.json", ".git/hooks/x"):
        r = t.run("policy", "why", "write", target).ended(1, target)
        contains(r.out, "denied: write ")
    t.run("policy", "why", "read", "/etc/passwd").ok()
    r = t.run("policy", "why", "read", t.home + "/.ssh/id_rsa").ended(1)
    contains(r.out, "SSH private keys")
    contains(r.out, "cloche policy allow read")
    t.run("policy", "why", "read", t.home + "/.ssh/known_hosts").ended(1)
    t.write(t.home + "/.ssh/known_hosts")
    t.run("policy", "why", "read", t.home + "/.ssh/known_hosts").ok()
    t.run("policy", "why", "connect", "a.example").ok()
    for target in ("localhost:3000", "127.0.0.1:3000", "[::1]:3000"):
        contains(t.run("policy", "why", "connect", target).ended(1).out,
                 "denied: port 3000 (")
    contains(t.run("policy", "why", "connect", "/run/some.sock").ended(1).out,
             "denied: socket /run/some.sock (")
    r = t.run("policy", "why", "connect", "b.example:80").ended(1)
    contains(r.out, f"{PROJECT}:1: sandbox.network.deniedDomains[0]")
    r = t.run("policy", "why", "connect", "c.example").ended(1)
    contains(r.out, "cloche policy allow host c.example\n")


@test
def why_expands_a_tilde(t):
    for target in ("~/.ssh/id_rsa", "~//.ssh", "~"):
        op = "write" if target == "~" else "read"
        r = t.run("policy", "why", op, target).ended(1, target)
        contains(r.out, f"denied: {op} {t.home}")
    r = t.run("policy", "deny", "read", "~/notes").ok()
    equal(r.err, "", "it is denied now")
    t.run("policy", "why", "read", t.home + "/notes").ended(1)
    t.run("policy", "why", "write", "~x/file").ok()


@test
def why_prints_json(t):
    r = t.run("policy", "why", "--json", "write", PROJECT).ended(1)
    answer = json.loads(r.out)
    equal((answer["version"], answer["allowed"], answer["op"],
           answer["target"]), (1, False, "write", f"{t.dir}/{PROJECT}"))
    check(answer["origin"]["reason"], answer)


@test
def why_checks_a_symlink_and_its_target(t):
    t.write("real", "")
    t.write("secret", "")
    os.symlink("secret", t.dir + "/alias")
    os.symlink("real", t.dir + "/harmless")
    os.symlink("/etc/hostname", t.dir + "/out")
    settings(t, PROJECT, filesystem={"denyRead": ["secret"]})
    t.run("policy", "why", "read", "harmless").ok()
    t.run("policy", "why", "read", "alias").ended(1)
    t.run("policy", "why", "write", "out").ended(1)
    t.run("policy", "why", "write", "harmless").ok()


@test
def a_settings_file_cannot_be_created_in_the_sandbox(t):
    t.run("policy", "why", "write", PROJECT).ended(1)
    t.shell("mkdir .claude; echo {} > .claude/settings.json;"
            "mkdir x; echo {} > x/settings.json; mv x .claude;"
            "echo {} > y; mv y .mcp.json; ln x/settings.json .cloche.json;"
            "touch made")
    check(t.exists("made"), "nothing was tried")
    for path in (".claude", PROJECT, ".mcp.json", ".cloche.json"):
        check(not t.exists(path), path)


@test
def an_npmrc_is_hidden_while_it_contains_a_token(t):
    t.write(t.home + "/.npmrc", "save-exact=true\n")
    t.run("policy", "why", "read", t.home + "/.npmrc").ok()
    t.write(t.home + "/.npmrc", "//r.example/:_authToken=x\n")
    t.run("policy", "why", "read", t.home + "/.npmrc").ended(1)
    t.run("policy", "allow", "read", t.home + "/.npmrc").ok()
    t.run("policy", "why", "read", t.home + "/.npmrc").ok()


@test
def check_exits_differently_for_errors_and_warnings(t):
    t.run("policy", "check").ok()
    settings(t, PROJECT, enable=True)
    r = t.run("policy", "check").ok()
    contains(r.out, "did you mean sandbox.enabled?")
    settings(t, PROJECT, enabled="x")
    settings(t, LOCAL, enabled="y")
    r = t.run("policy", "check").ended(1)
    contains(r.out, f"{PROJECT}:1:25: sandbox.enabled: must be true or false")
    contains(r.out, f"{LOCAL}:1:25: ")
    answer = json.loads(t.run("policy", "check", "--json").ended(1).out)
    equal((answer["version"], answer["ok"], len(answer["notes"])),
          (1, False, 2))


@test
def check_reads_one_file_if_given(t):
    t.write("bad.json", "{")
    t.write("good.json", '{"sandbox": {"enabled": true}}')
    t.write(".cloche.json", '{"filesystem": {"allowWrite": ["/x"]}}')
    contains(t.run("policy", "check", "bad.json").ended(1).out, "bad.json:1:")
    t.run("policy", "check", "good.json").ok()
    contains(t.run("policy", "check").ok().out, "not approved")
    t.run("policy", "check", "none.json").ended(2)
    t.write("large.json", " " * (1 << 20) + "{}")
    contains(t.run("policy", "check", "large.json").ended(1).out, "larger than")


@test
def an_invalid_settings_file_stops_the_run(t):
    settings(t, PROJECT, enabled="x")
    r = t.inside("touch", "ran").ended(125)
    contains(r.err, f"{t.dir}/{PROJECT}:1:25: sandbox.enabled: must be")
    check(not t.exists("ran"))
    t.inside("touch", "ran", options=("--no-settings",)).ok()
    check(t.exists("ran"))


@test
def why_host_localhost_suggests_its_port(t):
    for host in ("localhost", "127.0.0.1", "[::1]"):
        r = t.run("policy", "why", "host", host + ":3000").ended(1)
        contains(r.out, "cloche policy allow port 3000\n")
    t.run("policy", "allow", "port", "3000").ok()
    t.run("policy", "why", "host", "localhost:3000").ok()
    contains(t.run("policy", "why", "host", "a.test:3000").ended(1).out,
             "cloche policy allow host a.test:3000\n")


@test
def mode_edits_only_its_own_keys(t):
    before = ('{\n    "z": [1,  2],\n    "sandbox": {\n        '
              '"network": {"allowedDomains": []}\n    },\n    "a": null\n}\n')
    t.write(LOCAL, before, mode=0o600)
    equal(t.run("policy", "mode").ok().out, "disabled\n")
    t.run("policy", "mode", "--scope", "claude", "auto-allow").ok()
    equal(t.read(LOCAL), before.replace(
        '[]}\n', '[]},\n        "enabled": true,\n'
        '        "autoAllowBashIfSandboxed": true\n'))
    equal(os.stat(LOCAL).st_mode & 0o777, 0o600)
    equal(t.run("policy", "mode").ok().out, "auto-allow\n")
    t.run("policy", "mode", "--scope", "claude", "regular").ok()
    equal(t.run("policy", "mode").ok().out, "regular\n")
    equal(sorted(os.listdir(".claude")), ["settings.local.json"])
    contains(t.run("policy", "mode", "disabled").ended(2).err, "--scope user")
    os.unlink(LOCAL)
    t.run("policy", "mode", "disabled", "--scope", "user").ok()
    answer = json.loads(t.run("policy", "mode", "--json").ok().out)
    equal((answer["version"], answer["mode"], answer["locked"]),
          (1, "disabled", False))
    t.run("policy", "mode", "on").ended(2)
    os.unlink(t.home + OWN)
    settings(t, t.home + "/.claude/settings.json", enabled=True,
             enabledPlatforms=["macos"])
    answer = json.loads(t.run("policy", "mode", "--json").ok().out)
    equal((answer["mode"], answer["origin"]["key"]),
          ("disabled", "sandbox.enabledPlatforms[0]"))


@test
def mode_creates_cloche_json(t):
    for mode in ("auto-allow", "regular"):
        t.run("policy", "mode", mode).ok()
        equal(json.loads(t.read(".cloche.json")),
              {"enabled": True, "autoAllowBashIfSandboxed": mode == "auto-allow"})
        equal(t.run("policy", "mode").ok().out, mode + "\n")
    check(not t.exists(".claude") and not os.path.exists(t.home + "/.claude"))
    equal(t.inside("true").ok().err, "")
    os.unlink(".cloche.json")
    t.run("policy", "mode", "auto-allow", cwd=t.home).ok()
    equal(json.loads(t.read(t.home + OWN))["enabled"], True)


@test
def the_local_file_is_that_of_the_repository(t):
    t.outside("git", "init", "-q", ".").ok()
    os.makedirs("a/b")
    t.run("policy", "mode", "--scope", "claude", "regular", cwd=t.dir + "/a/b").ok()
    check(t.exists(LOCAL) and not t.exists("a/b/.claude"))
    equal(t.run("policy", "mode", cwd=t.dir + "/a/b").ok().out, "regular\n")
    t.run("policy", "deny", "--scope", "claude", "read", "../c",
          cwd=t.dir + "/a/b").ok()
    t.run("policy", "why", "read", "a/c").ended(1, "whoever asks")
    equal(json.loads(t.read(LOCAL))["sandbox"]["filesystem"]["denyRead"],
          [t.dir + "/a/c"])


@test
def exclude_removes_quotes(t):
    t.run("policy", "exclude", "'docker *'").ok()
    t.run("policy", "exclude", '"npm *"').ok()
    t.run("policy", "exclude", "docker *").ok()
    equal(json.loads(t.read(t.home + OWN))["excludedCommands"],
          ["docker *", "npm *"])
    t.run("policy", "exclude", "--scope", "local", "make *").ended(2)
    t.run("policy", "exclude", "''").ended(2)


@test
def allow_and_deny_change_the_answer_of_why(t):
    t.run("policy", "why", "connect", "a.example").ended(1)
    t.run("policy", "allow", "domain", "a.example").ok()
    t.run("policy", "why", "connect", "a.example").ok()
    t.write("keep", "")
    t.run("policy", "why", "write", "keep").ok()
    t.run("policy", "deny", "write", "keep").ok()
    t.run("policy", "why", "write", "keep").ended(1)
    t.run("policy", "deny", "read", "keep").ok()
    t.run("policy", "why", "read", "keep").ended(1)
    os.mkdir(t.away + "/w")
    t.run("policy", "allow", "write", t.away + "/w", "--scope", "user").ok()
    t.run("policy", "why", "write", t.away + "/w/x").ok()
    before = t.read(".cloche.json")
    r = t.run("policy", "allow", "write", "keep").ended(1)
    contains(r.err, f"stays denied: {t.dir}/.cloche.json")
    equal(t.read(".cloche.json"), before)
    check(not t.exists(".claude") and not t.exists(t.home + "/.claude"))


@test
def allow_writes_rules_of_a_project_to_one_file(t):
    """From a subdirectory too, as short as they can be; and they count at once"""
    t.outside("git", "init", "-q").ok()
    os.makedirs("sub")
    os.makedirs(t.home + "/out")
    t.run("policy", "allow", "write", t.home + "/out", cwd=t.dir + "/sub").ok()
    t.run("policy", "deny", "read", "secret", cwd=t.dir + "/sub").ok()
    own = json.loads(t.read(".cloche.json"))["filesystem"]
    equal(own, {"allowWrite": ["~/out"], "denyRead": ["sub/secret"]})
    r = t.shell("echo x > ~/out/f").ok()
    equal(r.err, "")
    t.run("policy", "remove", "write", t.home + "/out", cwd=t.dir + "/sub").ok()
    check(t.shell("echo x > ~/out/f").code)
    # Without a project it is the user's
    t.run("policy", "allow", "host", "a.example", cwd=t.home).ok()
    contains(t.read(t.home + OWN), "a.example")


@test
def every_kind_takes_several_values_and_can_be_removed(t):
    values = {"host": ("a.example", "b.example:8080"), "write": ("/srv/a", "sub"),
              "read": (t.home + "/.netrc", "/x"), "socket": ("/run/x.sock", "/run/y.sock"),
              "port": ("3000", "4000"), "variable": ("MY_TOKEN", "OTHER_KEY"),
              "unprotect": (".vscode", "hooks")}
    t.write(values["read"][0], "x")
    for kind, words in values.items():
        t.run("policy", "allow", kind, *words).ok()
        if kind != "unprotect":
            for word in words:
                t.run("policy", "why", kind, word).ok()
        equal(t.run("policy", "remove", kind, *words).ok().out.count(" -= "), 2)
        t.run("policy", "remove", kind, *words).ended(1)
    for kind in ("host", "write", "read", "variable"):
        word = values[kind][0]
        t.run("policy", "deny", kind, word).ok()
        t.run("policy", "why", kind, word).ended(1)
        t.run("policy", "remove", kind, word).ok()
    for file in (t.home + OWN, ".cloche.json"):
        equal([v for key in json.loads(t.read(file)).values()
               for v in (key.values() if isinstance(key, dict) else [key]) if v], [], file)
    # Old words, slips, and what was not meant
    t.run("policy", "allow", "domain", "c.example").ok()
    contains(t.run("policy", "allow", "hots", "x").ended(2).err, "did you mean host?")
    contains(t.run("policy", "allow", "unprotect", ".vscod").ended(2).err, "did you mean .vscode?")
    contains(t.run("policy", "deny", "port", "1").ended(2).err, "policy remove port")


@test
def allow_write_of_a_protected_name_suggests_unprotect(t):
    t.outside("git", "init", "-q").ok()
    r = t.run("policy", "allow", "write", ".git/config").ended(1)
    contains(r.err, "\n          cloche policy allow unprotect config\n")
    check(not t.exists(t.home + OWN))
    r = t.run("policy", "allow", "unprotect", "config").ok()
    contains(r.err, "git settings run programs")
    t.run("policy", "why", "write", ".git/config").ok()


@test
def an_invalid_value_is_refused_and_changes_nothing(t):
    own = ".cloche.json"
    t.run("policy", "allow", "domain", "ok.example").ok()
    before = t.read(own)
    for value in ("*", "http://x", "*.com", "a b", ""):
        t.run("policy", "allow", "domain", value).ended(2, value)
        equal(t.read(own), before)
    t.write(own, "{")
    t.run("policy", "allow", "domain", "b.example").ended(2)
    equal(t.read(own), "{")


@test
def allow_keeps_a_symlinked_settings_file(t):
    t.write(t.away + "/dotfiles/s.json", "{}\n")
    os.makedirs(t.home + "/.config/cloche")
    os.symlink(t.away + "/dotfiles/s.json", t.home + OWN)
    t.run("policy", "allow", "domain", "a.example", "--scope=user").ok()
    check(os.path.islink(t.home + OWN))
    contains(t.read(t.away + "/dotfiles/s.json"), "a.example")


@test
def unsandboxed_shows_and_sets_the_permission(t):
    own = os.path.join(t.home, ".config/cloche/policy.json")
    equal(t.run("policy", "unsandboxed").ok().out, "allow\n")
    t.run("policy", "unsandboxed", "deny").ok()
    equal(json.loads(t.read(own)), {"allowUnsandboxedCommands": False})
    equal(t.run("policy", "unsandboxed").ok().out, "deny\n")
    t.run("policy", "exclude", "true").ok()
    answer = json.loads(t.run("policy", "unsandboxed", "--json").ok().out)
    equal((answer["allowed"], answer["origin"]["key"]), (False, "allowUnsandboxedCommands"))
    t.run("policy", "unsandboxed", "allow").ok()
    equal(t.run("policy", "unsandboxed").ok().out, "allow\n")
    # A repository may forbid it, and cannot allow it
    contains(t.run("policy", "unsandboxed", "allow", "--scope", "project").ended(2).err,
             "--scope user")
    t.run("policy", "unsandboxed", "deny", "--scope", "project").ok()
    equal(t.run("policy", "unsandboxed").ok().out, "deny\n")
    check(not t.exists(".claude") and not t.exists(t.home + "/.claude"))
    contains(t.run("policy", "unsandboxed", "allow").ok().err, "still denied")
    contains(managed(t, "unsandboxed", "allow", allowUnsandboxedCommands=False).ended(1).err,
             "not changed")
    t.run("policy", "unsandboxed", "maybe").ended(2)


@test
def managed_settings_lock_the_mode(t):
    t.write(LOCAL, "{}\n")
    for verb in (("mode", "disabled"), ("exclude", "docker *")):
        r = managed(t, *verb, enabled=True).ended(1)
        contains(r.err, t.away + "/etc/claude-code/managed-settings.json:3: "
                 "sandbox.enabled")
        equal(t.read(LOCAL), "{}\n")
    answer = json.loads(managed(t, "mode", "--json", enabled=True).ok().out)
    equal((answer["mode"], answer["locked"]), ("regular", True))
    # Without the lock the same words work
    managed(t, "mode", "disabled", "--scope", "user").ok()
    contains(t.read(t.home + "/.config/cloche/policy.json"), '"enabled": false')


@test
def every_run_reports_a_bad_drop_in(t):
    need("curl")
    managed(t, "mode", network={"allowedDomains": ["a.test"],
                                "allowManagedDomainsOnly": True}).ok()
    file = t.write(t.away + "/etc/claude-code/managed-settings.d/1.json", "{,")
    env = {"CLOCHE_ROOT_ETC": t.away + "/etc"}
    r = t.outside(TESTED, "run", "--", "curl", "-s", "http://b.test/",
                  env=env).ok()
    contains(r.err, f"note: {file}:1:")
    contains(r.err, "the rest is enforced")
    # And nothing that the user could write would allow the host
    contains(r.out, "host is not on the allow list")
    lacks(r.out + r.err, "policy allow host")
    contains(r.err, "in a managed file")
    r = t.outside(TESTED, "policy", "why", "connect", "b.test", env=env)
    lacks(r.ended(1).out, "policy allow host")


@test
def the_installed_program_ignores_CLOCHE_ROOT_ETC(t):
    managed(t, "mode", enabled=True).ok()
    env = {"CLOCHE_ROOT_ETC": t.away + "/etc"}
    equal(t.run("policy", "mode", env=env).ok().out, "disabled\n")
    equal(t.outside(TESTED, "policy", "mode", env=env).ok().out, "regular\n")


def is_bare(r):
    return "WITHOUT a sandbox" in r.err


@test
def a_disabled_sandbox_is_used_unless_run_allows_unsandboxed(t):
    script = ("sh", "-c", "echo x > " + t.away + "/out")
    user = t.home + "/" + PROJECT
    settings(t, user, enabled=False)
    r = t.inside(*script)
    check(r.code != 0 and not is_bare(r), r)
    contains(r.err, f"{user}:1: sandbox.enabled")
    r = t.inside(*script, options=("--allow-unsandboxed",)).ok()
    check(is_bare(r), r)
    check(t.exists(t.away + "/out"))
    settings(t, user, enabledPlatforms=["macos"])
    r = t.inside("true", options=("--allow-unsandboxed",)).ok()
    contains(r.err, "sandbox.enabledPlatforms[0]")
    settings(t, user, enabled=True)
    r = t.inside("true", options=("--allow-unsandboxed",)).ok()
    check(not is_bare(r), r)


@test
def excluded_commands_run_unsandboxed_if_allowed(t):
    user = t.home + "/" + PROJECT
    settings(t, user, excludedCommands=["touch *"])
    out = t.away + "/out"
    r = t.inside("touch", out)
    check(r.code != 0 and "--allow-unsandboxed obeys them" in r.err, r)
    r = t.inside("touch", out, options=("--allow-unsandboxed",)).ok()
    check(is_bare(r) and t.exists(out), r)
    os.unlink(out)
    for line in (f"touch {out}; id", f"touch $(echo {out})", f"cd / && touch {out}"):
        r = t.run("run", "--allow-unsandboxed", "-c", line)
        check(not is_bare(r) and not t.exists(out), line, r)
    settings(t, user, excludedCommands=["touch *"],
             allowUnsandboxedCommands=False)
    r = t.inside("touch", out, options=("--allow-unsandboxed",)).ended(125)
    contains(r.err, "sandbox.allowUnsandboxedCommands")
    check(not t.exists(out))


@test
def unsandboxed_commands_keep_their_exit_status(t):
    settings(t, t.home + "/" + PROJECT, enabled=False)
    bare = ("--allow-unsandboxed",)
    t.inside("sh", "-c", "exit 7", options=bare).ended(7)
    t.inside("no-such-program", options=bare).ended(127)
    t.inside(t.write("plain", "x", mode=0o644), options=bare).ended(126)


@test
def wrong_usage_prints_the_correct_form(t):
    for argv in ((), ("nonsense",), ("why",), ("why", "read"),
                 ("why", "smell", "x"), ("show", "x"), ("mode", "a", "b"),
                 ("exclude",), ("allow", "read"), ("allow", "smell", "x"),
                 ("allow", "read", "x", "--scope", "managed"),
                 ("show", "--nonsense")):
        r = t.run("policy", *argv).ended(2, argv)
        equal(len(r.err.splitlines()), 1, argv, r.err)
        check(r.err.startswith("cloche: "), r.err)


@test
def a_new_settings_file_follows_the_umask(t):
    allow = ("policy", "allow", "domain", "a.example", "--scope", "user")
    file = t.home + OWN
    for mask, mode in ((0o077, 0o600), (0o022, 0o644)):
        old = os.umask(mask)
        t.run(*allow).ok()
        os.umask(old)
        equal(oct(os.stat(file).st_mode & 0o777), oct(mode))
        os.unlink(file)


@test
def allow_refuses_a_dangling_symlink(t):
    file = t.home + OWN
    os.makedirs(os.path.dirname(file))
    os.symlink("none.json", file)
    r = t.run("policy", "allow", "domain", "a.example", "--scope", "user").ended(2)
    contains(r.err, "remove the link")
    equal(os.readlink(file), "none.json")


@as_root
def a_file_edited_by_root_keeps_its_owner(t):
    t.write(t.home + OWN, "{}")
    os.chown(t.home + OWN, 1234, 1235)
    t.run("policy", "allow", "domain", "a.example", "--scope", "user").ok()
    st = os.stat(t.home + OWN)
    equal((st.st_uid, st.st_gid), (1234, 1235))


@test
def an_edit_for_the_project_does_not_follow_a_symlink_out_of_it(t):
    there = t.write(t.home + "/.claude/settings.json", "{}\n")
    local = t.dir + "/.claude/settings.local.json"
    os.makedirs(t.dir + "/.claude", exist_ok=True)
    os.symlink(there, local)
    contains(t.run("policy", "allow", "--scope", "claude", "host", "a.example").ended(2).err,
             "link out of the project")
    equal(t.read(there), "{}\n")
    os.unlink(local)
    os.symlink(t.write("mine.json", "{}\n"), local)      # The control
    t.run("policy", "allow", "--scope", "claude", "host", "a.example").ok()
    contains(t.read("mine.json"), "a.example")


@test
def diff_lists_added_grants(t):
    t.write("old/.cloche.json", '{"network": {"allowedDomains": ["*.x.example"]},'
            ' "filesystem": {"denyRead": ["secret"]}}')
    t.write("new/.cloche.json", '{"network": {"allowedDomains": ["a.x.example"]},'
            ' "filesystem": {"allowWrite": ["/srv"]}}')
    r = t.run("policy", "diff", "old", "new").ended(1)
    equal(r.out, "+ can read and change /srv and all below it\n"
          "+ no longer denied: can read ./secret\n"
          "- can send anything it reads to *.x.example\n")
    contains(t.run("policy", "diff", "new", "old").ended(1).out,
             "- now denied: can read ./secret\n")
    answer = json.loads(t.run("policy", "diff", "--json", "new",
                              "old/.cloche.json").ended(1).out)
    equal((answer["version"], answer["more"]), (1, ["host *.x.example"]))
    t.write("less/.cloche.json", '{"filesystem": {"denyRead": ["secret", "b"]}}')
    t.run("policy", "diff", "old", "less").ok()
    t.run("policy", "diff", "old", "old").ok()
    for words in ((), ("old",)):
        contains(t.run("policy", "diff", *words).ended(2).err,
                 "OLD NEW; for example: cloche policy diff old/.cloche.json .cloche.json\n")
    contains(t.run("policy", "diff", "old", "new", "x").ended(2).err, "unexpected argument 'x'")
    contains(t.run("policy", "diff", "--help").ok().out, "'cloche trust --show' compares with")
    t.run("policy", "diff", "old", "none").ended(2)


main()
