# SPDX-License-Identifier: Apache-2.0
"""tests/live/home.py - profile home: an empty home with selected paths"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

REFUSE = os.environ.get("REFUSE", "")
HOME = ("--profile", "home", "--net", "none")

# Where people and programs keep secrets, known to us by name or not
SECRETS = (
    ".ssh/id_ed25519", ".ssh/config", ".gnupg/private-keys-v1.d/k",
    ".aws/credentials", ".aws/sso/cache/t.json", ".azure/accessTokens.json",
    ".kube/config", ".docker/config.json", ".netrc", ".git-credentials",
    ".gitconfig", ".npmrc", ".pypirc", ".cargo/credentials",
    ".cargo/credentials.toml", ".terraform.d/credentials.tfrc.json",
    ".vault-token", ".password-store/x.gpg", ".mozilla/firefox/p/logins.json",
    ".bash_history", ".zsh_history", ".python_history", ".sui/keystore",
    ".pgpass", ".my.cnf", ".m2/settings.xml", ".gradle/gradle.properties",
    ".claude/.credentials.json", ".claude.json", ".codex/auth.json",
    ".unheard-of-tool/token", "Documents/taxes.txt",
    ".config/gcloud/credentials.db", ".config/git/credentials",
    ".config/google-chrome/Default/Cookies", ".config/hub",
    ".config/unheard-of-tool/token", ".config/cloche/policy.json",
    ".local/state/unheard-of-tool/session", ".local/share/keyrings/login.keyring",
    ".local/share/claude/versions/1", ".local/share/applications/x.desktop",
    ".local/share/opencode/auth.json", ".local/share/fish/fish_history",
    ".local/bin/unheard-of-tool", ".cache/huggingface/token",
)

# What work needs
SHOWN = (".config/gh/hosts.yml", ".config/glab-cli/config.yml",
         ".local/share/uv/python/x", ".cache/pip/http/x", ".cache/uv/x",
         ".npm/_cacache/index", ".cargo/registry/index/x", ".cargo/git/db/x",
         ".rustup/settings.toml", ".cargo/bin/cargo", "go/pkg/mod/x")


def plant(t):
    """A canary in every place: {path: its text}"""
    texts = {}
    for path in SECRETS + SHOWN:
        texts[path] = "{}" if path.endswith("policy.json") else "canary " + path
        t.write(f"{t.home}/{path}", texts[path])
    return texts


def kept(t):
    """The home as it is, but for what cloche always keeps there"""
    return {path: what for path, what in tree(t.home).items()
            if not re.match(r"\.local(/state(/cloche(/(journal|tmp|walk).*)?)?)?$",
                            path)}


def program(t, path, words):
    return t.write(path, f"#!/bin/sh\necho {words}\n", 0o755)


def project(t):
    """A project in the home; its path"""
    path = os.path.join(t.home, "src/project")
    os.makedirs(path)
    return path


@test
def no_secret_of_the_home_is_readable(t):
    plant(t)
    check(len(SECRETS) >= 40, len(SECRETS))
    paths = [f"{t.home}/{p}" for p in SECRETS]
    script = ('for f; do cat "$f" && echo "READ $f"; '
              'cat "/proc/self/root$f" && echo "READ $f"; done; '
              'grep -rl canary "$HOME" 2>/dev/null; true')
    equal(t.outside("sh", "-c", script, "sh", *paths).out.count("READ"),
          2 * len(paths), "the control")
    for options in (HOME, HOME + ("--observe", "off"),
                    HOME + ("--observe", "full")):
        out = t.inside("sh", "-c", script, "sh", *paths,
                       options=options).ok().out
        read = [p for p in SECRETS
                if f"{t.home}/{p}\n" in out and p != ".gitconfig"]
        equal(read, [])
        lacks(t.inside("cat", t.home + "/.gitconfig", options=options).ok().out,
              "canary")


@test
def mounts_alone_hide_the_secrets_of_the_home(t):
    """The mounts alone hold them: Landlock lets all be read"""
    plant(t)
    r = t.outside(REFUSE, "landlock", CLOCHE, "run", *HOME, "--", "sh", "-c",
                  "grep -rl canary ~/.ssh ~/.aws ~/.local/share/keyrings "
                  "~/Documents; ls -A ~/.local/share/keyrings; echo ran")
    equal(r.out, "ran\n", repr(r))


@test
def shown_paths_of_the_home_are_readable(t):
    texts = plant(t)
    for path in SHOWN:
        equal(t.inside("cat", f"{t.home}/{path}", options=HOME).ok().out,
              texts[path])


@test
def a_private_home_is_empty_and_discarded(t):
    before = kept(t)
    r = t.shell("find ~ -mindepth 1 -type d -o -type f | sort; "
                "mkdir ~/.new && echo x > ~/.new/f && echo y > ~/.profile && "
                "echo z > ~/.local/bin/p && echo z > ~/.config/c && cat ~/.new/f",
                options=HOME).ok()
    found = [os.path.relpath(p, t.home) for p in r.out.split()[:-1]]
    equal(found, [".cache", ".config", ".gitconfig", ".local", ".local/bin",
                  ".local/share", ".local/state", "project"])
    equal(r.err, "cloche: note: profile home: not kept: ~/.new ~/.profile "
          "~/.local/bin ~/.config/c (--write PATH keeps it)\n")
    equal(kept(t), before)


@test
def discarded_files_are_named_in_one_line(t):
    r = t.shell("for i in 1 2 3 4 5 6 7 8; do echo > ~/f$i; done; echo > ~/.cache/x; "
                "mkdir -p ~/.npm/x; echo > ~/.bash_history; echo > file",
                options=HOME).ok()
    equal(r.err, "cloche: note: profile home: not kept: ~/f1 ~/f2 "
          "~/f3 ~/f4 ~/f5 ~/f6 ... (--write PATH keeps it)\n")
    # With the option that it names, it is kept
    for name in ("f1", ".config/a"):
        os.makedirs(f"{t.home}/{name}")
        r = t.shell(f"echo x > ~/{name}/file",
                    options=HOME + ("--write", f"{t.home}/{name}")).ok()
        equal(r.err, "")
        equal(t.read(f"{t.home}/{name}/file"), "x\n")


@test
def files_created_in_a_private_home_are_readable(t):
    """Also where every read is looked at"""
    t.write(t.home + "/.ssh/id", "canary")
    r = t.shell("mkdir ~/.ssh && echo own > ~/.ssh/id && cat ~/.ssh/id",
                options=HOME + ("--observe", "full")).ok()
    equal(r.out, "own\n")


@test
def caches_are_writable_without_changing_the_hosts(t):
    plant(t)
    before = kept(t)
    r = t.shell("cd ~/.cache/pip/http && cat x && echo new > x && cat x && "
                "echo n > n && rm ~/.cache/uv/x && mkdir ~/.local/share/tool && "
                "echo a >> ~/.cargo/registry/index/x && "
                "mv ~/.npm/_cacache/index ~/.npm/_cacache/i2 && "
                "echo lock > ~/.cargo/.package-cache", options=HOME).ok()
    equal(r.out, "canary .cache/pip/http/xnew\n")
    equal(kept(t), before)


@test
def npm_reads_the_hosts_cache(t):
    npm = need("npm")
    t.write("pkg/package.json", '{"name": "some-pkg", "version": "1.0.0"}')
    t.write("pkg/index.js", "module.exports = 42\n")
    offline = {"npm_config_offline": "true", "npm_config_audit": "false",
               "npm_config_update_notifier": "false"}
    t.outside(npm, "pack", "./pkg", env=offline).ok()
    t.outside(npm, "cache", "add", "./some-pkg-1.0.0.tgz", env=offline).ok()
    count = t.outside(npm, "cache", "verify", env=offline).ok().out
    contains(count, "Content verified: 1")
    r = t.inside(npm, "cache", "verify", options=HOME, env=offline).ok()
    contains(r.out, "Content verified: 1")
    t.write("package.json", '{"name": "app", "version": "1.0.0"}')
    t.inside(npm, "install", "./some-pkg-1.0.0.tgz", options=HOME,
             env=offline).ok()
    equal(t.inside("node", "-p", "require('some-pkg')", options=HOME).out,
          "42\n")


@test
def push_credentials_are_read_only_and_optional(t):
    plant(t)
    script = "cat ~/.config/gh/hosts.yml; echo x > ~/.config/gh/hosts.yml"
    r = t.shell(script, options=HOME)
    contains(r.out, "canary")
    check(r.code != 0, "written")
    for options in (HOME + ("--no-forge",),
                    HOME + ("-s", json.dumps({"sandbox": {"noForge": True}}))):
        r = t.shell("cat ~/.config/gh/hosts.yml ~/.config/glab-cli/config.yml; "
                    "ls ~/.config; git config --global -l", options=options)
        equal(r.out, "safe.barerepository=explicit\n", repr(r))
    equal(t.read(t.home + "/.config/gh/hosts.yml"),
          "canary .config/gh/hosts.yml")


@test
def only_uv_and_the_command_are_in_local_bin(t):
    fake = program(t, t.home + "/.local/bin/git", "FAKE")
    program(t, t.home + "/.local/bin/uv", "uv works")
    program(t, t.home + "/.local/bin/other", "other")
    os.symlink("uv", t.home + "/.local/bin/uvx")
    env = {"PATH": f"{t.home}/.local/bin:{os.environ['PATH']}"}
    equal(t.outside("git", "--version", env=env).out, "FAKE\n")
    r = t.inside("git", "--version", options=HOME, env=env).ok()
    contains(r.out, "git version")
    r = t.shell("git --version; uv; uvx; ls ~/.local/bin; echo $PATH; other",
                options=HOME, env=env)
    lacks(r.out, "FAKE")
    equal(r.out.split("\n")[1:5], ["uv works", "uv works", "uv", "uvx"])
    equal(r.out.split("\n")[5].split(":")[-1], t.home + "/.local/bin")
    equal(r.code, 127, repr(r))
    check(os.path.exists(fake))


@test
def the_program_of_an_agent_is_executable(t):
    real = program(t, t.home + "/.local/share/claude/versions/2", "agent runs")
    t.write(t.home + "/.local/share/claude/state", "canary")
    os.makedirs(t.home + "/.local/bin")
    os.symlink(real, t.home + "/.local/bin/agent")
    env = {"PATH": f"{t.home}/.local/bin:{os.environ['PATH']}"}
    equal(t.inside("agent", options=HOME, env=env).ok().out, "agent runs\n")
    program(t, t.home + "/.local/bin/other", "$(cat ~/.local/share/claude/state)"
            "; ls ~/.local/share/claude ~/.local/bin")
    r = t.inside("other", options=HOME, env=env)
    lacks(r.out, "canary")
    lacks(r.out, "versions")


@test
def updates_of_an_agent_stay_in_the_sandbox(t):
    """Directories in a layer that are empty and the sandbox's own, existing or not"""
    share = t.home + "/.local/share"
    t.write(share + "/tool/x", "")
    for _ in "absent", "there":
        before = kept(t)
        r = t.shell("cd ~/.local/share; ls -A claude applications; "
                    "mkdir claude/versions && echo new > claude/versions/2 && "
                    "echo run > applications/a.desktop && cat claude/*/* applications/*",
                    options=HOME).ok()
        equal(r.out, "applications:\n\nclaude:\nnew\nrun\n", repr(r))
        contains(r.err, "not kept: ", "~/.local/share/claude")
        equal(kept(t), before)
        t.write(share + "/claude/versions/1", "canary")
        t.write(share + "/applications/x.desktop", "canary")
    r = t.shell("cat ~/.local/share/claude/versions/1",
                options=(*HOME, "--read", share + "/claude")).ok()
    equal(r.out, "canary", "shown when it is asked for")


@test
def a_denied_program_is_not_shown(t):
    path = program(t, t.home + "/.local/bin/agent", "runs")
    equal(t.inside(path, options=HOME).ok().out, "runs\n")
    t.inside(path, options=HOME + ("--deny-read", path)).ended(127)


@test
def git_gets_filtered_user_settings(t):
    t.write(t.home + "/.gitconfig",
            '[user]\n\tname = "A \\"B\\" C"\n\temail = a@b.example\n'
            "\tsigningkey = KEY\n[core]\n\tfsmonitor = /evil\n\tpager = evil\n"
            "[init]\n\tdefaultBranch = trunk\n[alias]\n\tst = !evil\n"
            "[include]\n\tpath = ~/more\n"
            '[url "https://token@x/"]\n\tinsteadOf = https://x/\n'
            '[http "https://x"]\n\textraheader = Authorization: canary\n')
    t.write(t.home + "/more", "[user]\n\tname = Included\n")
    t.write(t.home + "/.config/git/config", "[pull]\n\trebase = true\n")
    r = t.shell("git config --global -l; git init -q . && "
                "git commit -q --allow-empty -m x && git log --format='%an %ae' "
                "&& git branch --show-current && echo $GIT_CONFIG_SYSTEM "
                "$GIT_CONFIG_GLOBAL && test -r /etc/passwd",
                options=HOME + ("--no-forge",)).ok()
    equal(r.out.split("\n"), [
        "pull.rebase=true", 'user.name=A "B" C', "user.email=a@b.example",
        "init.defaultbranch=trunk", "safe.barerepository=explicit",
        'A "B" C a@b.example', "trunk", f"/dev/null {t.home}/.gitconfig", ""])


@test
def an_invalid_gitconfig_yields_no_settings(t):
    t.write(t.home + "/.gitconfig", "[user\nname = x\n")
    r = t.shell("git config --global -l", options=HOME + ("--no-forge",)).ok()
    equal(r.out, "safe.barerepository=explicit\n")


@test
def a_project_in_the_home_is_writable(t):
    path = project(t)
    t.write(t.home + "/src/other/f", "canary")
    t.write(path + "/.envrc", "old")
    r = t.shell("echo x > f && cat f; ls -A ~/src; echo y > .envrc; "
                "cat ~/src/other/f", options=HOME, cwd=path)
    equal(r.out, "x\nproject\n")
    equal((t.read(path + "/f"), t.read(path + "/.envrc")), ("x\n", "old"))


@test
def parents_of_a_project_in_the_home_cannot_be_renamed(t):
    """A directory above it that is renamed would hide it from the rules"""
    path = project(t)
    t.write(path + "/.git/config", "[core]\n")
    t.write(path + "/.git/HEAD", "ref: refs/heads/x\n")
    os.makedirs(path + "/.git/hooks")
    for options in (HOME, HOME + ("--observe", "off")):
        r = t.shell("mv ~/src ~/s || mv ~/.local ~/l || rmdir ~/src; "
                    "chmod 777 ~/src; mv ~/src/project ~/p; ls ~",
                    options=options, cwd=path)
        check("src" in r.out.split(), repr(r))
        t.shell("cd ~/src/project; echo evil > .git/hooks/pre-commit; "
                "echo evil > .git/config", options=options, cwd=path)
        equal(t.read(path + "/.git/config"), "[core]\n")
        equal(os.listdir(path + "/.git/hooks"), [])


@test
def rules_add_paths_to_the_private_home(t):
    t.write(t.home + "/.tool/f", "shown")
    t.write(t.home + "/.data/f", "old")
    t.write(t.home + "/.cache/mine/f", "canary")
    t.shell("cat ~/.tool/f && echo new > ~/.data/f && ! cat ~/.cache/mine/f",
            options=HOME + ("--read", t.home + "/.tool", "--write",
                            t.home + "/.data", "--deny-read",
                            t.home + "/.cache/mine")).ok()
    equal(t.read(t.home + "/.data/f"), "new\n")


@test
def symlinks_in_the_home_do_not_show_their_targets(t):
    t.write(t.away + "/cache/f", "canary")
    t.write(t.home + "/.ssh/id", "canary")
    t.write(t.home + "/.config/x")
    os.symlink(t.away + "/cache", t.home + "/.cache")
    os.symlink("../.ssh", t.home + "/.config/gh")
    os.makedirs(t.home + "/.local/bin")
    os.symlink("../../.ssh/id", t.home + "/.local/bin/uv")
    r = t.shell("cat ~/.cache/f ~/.config/gh/id ~/.local/bin/uv; echo ran",
                options=HOME)
    equal(r.out, "ran\n", repr(r))


@test
def a_symlink_above_the_home_works(t):
    plant(t)
    parent, name = os.path.split(t.home)
    os.symlink(parent, t.away + "/homes")
    home = t.away + "/homes/" + name
    for path in (home, t.home):
        r = t.shell(f"ls -A {path}/.local; cat {path}/.ssh/id_ed25519; "
                    f"touch {path}/.new && "
                    "git config --global safe.bareRepository",
                    options=HOME, env={"HOME": home}).ok()
        equal(r.out.split(), ["bin", "share", "state", "explicit"])


@test
def homes_of_other_users_are_hidden(t):
    """But for what leads to one's own. Root could read all; the home beside ours
    is open to all, but for its .ssh (tools/as)
    """
    look = ("ls -A /home /root; cat /home/other/open /home/other/.ssh/id_rsa; "
            "cat /root/.bashrc; true")
    r = t.shell(look, options=HOME).ok()
    own = {os.path.basename(t.home), "project", ".cache", ".config", ".local",
           ".gitconfig"}
    equal(set(r.out.split()) - own, {"/home:", "/root:"}, repr(r))
    if os.path.exists("/home/other/open"):
        contains(t.shell(look).out, "anybody's")	# The control
    for op in ("read", "write"):
        t.run("policy", "why", op, "/home/other/open", "--profile",
              "home").ended(1)
    t.run("policy", "why", "write", ".", "--profile", "home").ok()


@test
def a_start_directory_in_another_home_is_refused(t):
    if not os.path.isdir("/home/other"):
        skip("nobody else lives here")
    r = t.shell("true", options=HOME, cwd="/home/other").ended(125)
    contains(r.err, "the homes of others")
    contains(r.err, "--read '/home/other'")


@test
def directories_moved_by_XDG_variables_are_hidden(t):
    for name, path, hidden in (
            ("XDG_CONFIG_HOME", "config", True), ("XDG_STATE_HOME", "state", True),
            ("XDG_CACHE_HOME", "cache", False), ("XDG_DATA_HOME", "data", False)):
        where = f"{t.away}/{path}"
        t.write(where + "/tool/f", "canary")
        t.write(f"{where}/keyrings/f", "secret")
        r = t.shell(f"cat {where}/tool/f; echo new > {where}/f && cat {where}/f;"
                    f"cat {where}/keyrings/f", options=HOME, env={name: where})
        contains(r.out, "new")
        check(("canary" in r.out) != hidden, name, repr(r))
        if name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
            lacks(r.out, "secret")
        check(not os.path.exists(where + "/f"), "it got out")


@test
def a_keyring_created_during_the_run_is_hidden(t):
    go = os.path.join(t.dir, "go")
    os.mkfifo(go)
    t.write(t.home + "/.local/share/x")
    script = f"echo ready; cat {go}; cat ~/.local/share/keyrings/k"
    with t.start("run", *HOME, "--", "sh", "-c", script) as inside:
        equal(inside.stdout.readline(), b"ready\n")
        t.write(t.home + "/.local/share/keyrings/k", "canary")
        with open(go, "w"):
            pass
        lacks(inside.communicate()[0], b"canary")


@test
def without_overlays_only_listed_caches_are_writable(t):
    """A mount below it that may not be uncovered: the kernel refuses overlays"""
    plant(t)
    os.makedirs(t.home + "/.cache/mounted")
    script = ("cat ~/.cache/uv/x && echo new > ~/.cache/uv/x && "
              "! echo x > ~/.cache/other && ! cat ~/.cache/huggingface/token && "
              "echo x > ~/.local/share/x")
    outer = ('mount -t tmpfs none "$HOME/.cache/mounted" && exec "$0" "$@"')
    r = t.outside(need("unshare"), "-Urm", "sh", "-c", outer, CLOCHE, "run",
                  *HOME, "--", "sh", "-c", script).ok()
    contains(r.err, "no overlays")
    equal(t.read(t.home + "/.cache/uv/x"), "new\n")
    check(not t.exists(t.home + "/.local/share/x"), "it got out")
    lacks(t.inside("true", options=HOME).err, "overlays")


@test
def a_covered_proc_weakens_the_sandbox_with_a_warning(t):
    r = t.outside(REFUSE, "proc", CLOCHE, "run", *HOME, "--", "sh", "-c",
                  "readlink /proc/self/ns/pid; cat /proc/$OUTER/environ",
                  env={"OUTER": str(os.getpid()), "CANARY": "PRIVATE"})
    contains(r.err, "cloche: weaker nested sandbox: ")
    lacks(r.out, "PRIVATE")
    check(r.out.strip() != os.readlink("/proc/self/ns/pid"), "the host's pids")


def bad_home(t, home, words, cwd=None):
    r = t.inside("touch", t.dir + "/ran", options=HOME, env={"HOME": home},
                 cwd=cwd)
    r.ended(125, home)
    equal(r.err.count("\n"), 1, repr(r))
    contains(r.err, words)
    check(r.err.startswith("cloche: "), repr(r))
    check(not t.exists("ran"), "it ran")


@test
def a_home_that_cannot_be_hidden_is_refused(t):
    t.write(t.away + "/file")
    bad_home(t, "/", "cannot be hidden")
    bad_home(t, None, "not set")
    bad_home(t, "", "not an absolute path")
    bad_home(t, "here", "not an absolute path")
    bad_home(t, t.dir, "the project is $HOME itself")
    bad_home(t, t.home, "the project is $HOME itself", cwd=t.home)
    bad_home(t, t.away + "/file", "not a directory")


@test
def a_home_of_another_owner_is_refused(t):
    """Of root for a user; of a user for root"""
    other = "/usr"
    if IS_ROOT:
        other = t.away + "/theirs"
        os.mkdir(other)
        os.chown(other, 65534, 65534)
    bad_home(t, other, "belongs to another user")


@test
def a_rule_that_shows_the_whole_home_is_refused(t):
    for option in ("--read", "--write"):
        r = t.inside("true", options=HOME + (option, t.home)).ended(125)
        contains(r.err, "would show all of it")


@test
def why_and_explain_show_the_profile(t):
    plant(t)
    flag = ("-s", json.dumps({"sandbox": {"profile": "home"}}))
    t.run("policy", "why", *flag, "read", t.home + "/.unheard-of-tool/token") \
        .ended(1)
    t.run("policy", "why", *flag, "read", t.home + "/.cache/uv/x").ok()
    t.run("policy", "why", *flag, "write", t.home + "/.cache/uv/x").ok()
    t.run("policy", "why", *flag, "write", t.home + "/.config/gh/x").ended(1)
    r = t.run("explain", *HOME, "--", "true").ok()
    for words in ("private        " + t.home + " ",
                  "private layer  " + t.home + "/.cache ",
                  "hide directory " + t.home + "/.local/share/keyrings ",
                  "make           .gitconfig"):
        contains(r.out, words)
    plan = json.loads(t.run("explain", *HOME, "--json", "--", "true").out)
    equal(plan["profile"], "home")
    contains([m["kind"] for m in plan["mounts"]], "private")


@test
def profile_home_needs_tier_full(t):
    r = t.inside("true", options=HOME + ("--tier", "landlock")).ended(125)
    contains(r.err, "profile home needs tier full")


@test
def a_killed_run_leaves_nothing_in_the_home(t):
    plant(t)
    before = kept(t)
    for _ in range(long(3, 50)):
        with t.start("run", *HOME, "--", "sh", "-c",
                     "echo x > ~/.cache/uv/x; echo y > ~/.profile; echo ready; "
                     "exec sleep 1000") as inside:
            equal(inside.stdout.readline(), b"ready\n")
            inside.kill()
            inside.communicate()
    after = kept(t)
    for path in (".cache/uv/x", ".ssh/id_ed25519"):
        equal(after[path], before[path])
    check(".profile" not in after, "it got out")


main()
