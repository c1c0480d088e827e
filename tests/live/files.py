# SPDX-License-Identifier: Apache-2.0
"""tests/live/files.py - read and write access of a command"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

SECRETS = (".ssh/id_ed25519", ".aws/credentials", ".gnupg/private-keys-v1.d/k",
           ".netrc", ".git-credentials", ".config/gcloud/credentials.db",
           ".kube/config", ".pypirc", ".config/gh/hosts.yml", ".vault-token",
           ".password-store/x.gpg", ".local/share/keyrings/login.keyring",
           ".mozilla/firefox/p/logins.json", ".bash_history", ".zsh_history",
           ".cargo/credentials.toml", ".azure/accessTokens.json",
           ".terraform.d/credentials.tfrc.json")


def settings(t, **lists):
    """An srt-shaped settings file outside the project; its path"""
    return t.write(t.away + "/settings.json", json.dumps({
        "filesystem": {"allowWrite": [], "denyWrite": [], "denyRead": [],
                       **lists},
        "network": {"allowedDomains": [], "deniedDomains": []}}))


@test
def a_symlinked_cache_directory_works(t):
    """So may a directory above the home: both are kept elsewhere by many"""
    os.makedirs(t.away + "/cache")
    os.symlink(t.away + "/cache", t.home + "/.cache")
    equal(t.shell("echo x > /tmp/f && cat /tmp/f").ok().out, "x\n")
    parent, name = os.path.split(t.home)
    os.symlink(parent, t.away + "/homes")
    equal(t.shell("cat /tmp/f", env={"HOME": f"{t.away}/homes/{name}"}).ok().out,
          "x\n")


@test
def the_state_directory_is_masked_from_the_first_run(t):
    """What is in it says which directories need not be read again"""
    t.shell("echo x > ~/.local/state/x; mkdir -p ~/.local/state/cloche/walk; "
            "echo x > ~/.local/state/cloche/walk/x", options=[
                "--observe", "off", "--write", t.home + "/.local"])
    check(t.exists(t.home + "/.local/state/x"))
    check(not t.exists(t.home + "/.local/state/cloche/walk/x"))


@test
def a_command_cannot_create_cloches_own_directories(t):
    """Where the whole home may be written, by mounts: the observer can be raced"""
    for path in (".config/cloche/policy.json", ".local/state/cloche/walk/x",
                 ".local/state/cloche/x"):
        r = t.shell(f"echo x > ~/mine; mkdir -p $(dirname ~/{path}); "
                    f"echo '{{}}' > ~/{path}; cat /proc/self/mountinfo",
                    options=["--write", t.home])
        check(t.exists(t.home + "/mine"), repr(r))
        contains(r.out, f" {t.home}/{path.split('cloche')[0]}cloche ro,")
        check(not os.path.lexists(f"{t.home}/{path}"), path, repr(r))
        for part in (".config", ".cache", ".local", "mine"):
            t.outside("rm", "-rf", f"{t.home}/{part}").ok()


@test
def only_the_project_is_writable(t):
    t.write(t.away + "/file", "old")
    for place in (t.home, t.away, "/usr", "/etc", "/"):
        r = t.shell(f"echo x > {place}/cloche-was-here")
        check(r.code != 0, place, "was writable")
        check(not os.path.exists(place + "/cloche-was-here"), place)
    t.shell(f"echo new > {t.away}/file").ended(2)
    t.shell(f"rm {t.away}/file").ended(1)
    equal(t.read(t.away + "/file"), "old")
    t.shell("echo x > here && mkdir -p a/b && echo y > a/b/c && mv a d").ok()
    equal(t.read("d/b/c"), "y\n")


@test
def system_files_are_readable(t):
    equal(t.inside("cat", "/etc/passwd").ok().out, open("/etc/passwd").read())
    t.write(t.home + "/notes", "plain")
    equal(t.inside("cat", t.home + "/notes").ok().out, "plain")


@test
def secrets_of_the_home_are_hidden(t):
    t.write(t.home + "/plain", "CANARY-plain")
    for name in SECRETS:
        t.write(f"{t.home}/{name}", "CANARY-" + name)
    r = t.shell("grep -rs CANARY ~")
    equal([line for line in r.out.splitlines() if "plain" not in line], [],
          "secrets read")
    contains(r.out, "CANARY-plain", "the control")


# A file in each row of hidden-paths.def that is not in SECRETS, and a line as its program has it
STORES = {
    ".step/secrets/key": "k", ".config/borg/keys/k": "k", ".mc/config.json": "{}",
    ".cloudflared/cert.pem": "k", ".config/.wrangler/config/default.toml": "k",
    ".wrangler/config/default.toml": "k", ".local/share/com.vercel.cli/auth.json": "{}",
    ".config/netlify/config.json": "{}", ".railway/config.json": "{}",
    ".supabase/access-token": "k", ".config/configstore/firebase-tools.json": "{}",
    ".config/linode-cli": "k", ".config/stripe/config.toml": "k",
    ".config/ngrok/ngrok.yml": "k", ".ngrok2/ngrok.yml": "k", ".config/argocd/config": "k",
    ".sentryclirc": "token=k", ".expo/state.json": "{}", ".huggingface/token": "k",
    ".cache/huggingface/stored_tokens": "k", ".kaggle/kaggle.json": "{}",
    ".config/pypoetry/auth.toml": "k", ".local/share/uv/credentials/credentials.toml": "k",
    ".config/uv/uv.toml": 'index-url = "https://u:k@index.example.org"',
    ".config/helm/registry/config.json": "{}", ".sbt/.credentials": "k",
    ".ivy2/.credentials": "k", ".hex/hex.config": "k", ".wgetrc": "password=k",
    ".curlrc": "user = u:k", ".databrickscfg": "token = k", ".snowflake/config.toml": "k",
    ".local/share/DBeaverData/workspace6/General/.dbeaver/credentials-config.json": "k",
    ".config/github-copilot/apps.json": "{}", ".config/cursor/auth.json": "{}",
    ".config/goose/secrets.yaml": "k", ".qwen/oauth_creds.json": "{}",
    ".local/share/amp/secrets.json": "{}", ".config/1Password/settings/x": "k",
    ".config/filezilla/sitemanager.xml": "k", ".smbcredentials": "password=k",
    ".local/share/TelegramDesktop/tdata/key_datas": "k", ".purple/accounts.xml": "k",
    ".config/evolution/sources/x": "k", ".local/share/evolution/mail/x": "k",
    ".msmtprc": "password k", ".mbsyncrc": "Pass k", ".fetchmailrc": "k",
    ".local/share/atuin/key": "k", ".Xauthority": "k", ".vnc/passwd": "k",
}
# Without a secret in them these are settings
HARMLESS = {".curlrc": "user-agent = x", ".wgetrc": "tries = 3", ".sentryclirc": "[defaults]",
            ".config/uv/uv.toml": 'index-url = "https://index.example.org"'}


@test
def stores_of_other_programs_are_hidden(t):
    for profile in ("default", "home"):
        for name, line in STORES.items():
            t.write(f"{t.home}/{name}", f"{line}\nCANARY-{name}\n")
        t.write(t.home + "/.local/share/plain", "CANARY-plain")
        options = ["--profile", profile] if profile == "home" else []
        r = t.shell("grep -rhs CANARY ~", options=options)
        equal(r.out.strip(), "CANARY-plain", "secrets read")
    for name, line in HARMLESS.items():
        t.write(f"{t.home}/{name}", line)
        equal(t.inside("cat", f"{t.home}/{name}").ok().out, line)


@test
def known_hosts_is_readable(t):
    t.write(t.home + "/.ssh/known_hosts", "hosts")
    t.write(t.home + "/.ssh/id_rsa", "KEY")
    r = t.shell("cat ~/.ssh/known_hosts; cat ~/.ssh/id_rsa; ls ~/.ssh")
    contains(r.out, "hosts")
    lacks(r.out, "KEY")


@test
def allow_read_lifts_the_default_set(t):
    t.write(t.home + "/.ssh/id_x", "KEY")
    r = t.inside("cat", t.home + "/.ssh/id_x",
                 options=["--read", t.home + "/.ssh"])
    equal(r.ok().out, "KEY")


@test
def options_name_more_paths(t):
    t.write(t.away + "/w/file", "old")
    t.write("keep", "old")
    t.write("secret", "SECRET")
    t.write("hidden/file", "SECRET")
    t.write("hidden/shown/file", "shown")
    options = ["--write", t.away + "/w", "--deny-write", "keep",
               "--deny-read", "secret", "--deny-read", "hidden",
               "--read", "hidden/shown"]
    r = t.shell(f"echo new > {t.away}/w/file; echo new > keep; cat secret; "
                "cat hidden/file; cat hidden/shown/file", options=options)
    equal(t.read(t.away + "/w/file"), "new\n")
    equal(t.read("keep"), "old")
    equal(r.out, "shown")
    equal(t.read("secret"), "SECRET")


@test
def settings_have_the_effect_of_the_options(t):
    t.write(t.away + "/w/file", "old")
    t.write("keep", "old")
    t.write("secret", "SECRET")
    file = settings(t, allowWrite=[".", t.away + "/w"], denyWrite=["keep"],
                    denyRead=["secret"])
    r = t.shell(f"echo new > {t.away}/w/file; echo new > keep; cat secret",
                options=["-s", file])
    equal(t.read(t.away + "/w/file"), "new\n")
    equal(t.read("keep"), "old")
    equal(r.out, "")


@test
def a_hidden_file_is_refused_and_a_hidden_directory_is_empty(t):
    t.write("file", "SECRET")
    t.write("dir/file", "SECRET")
    options = ["--deny-read", "file", "--deny-read", "dir"]
    probe = t.probe()
    r = t.inside(probe, "-", options=options,
                 stdin="read file\nlist dir\nread dir/file\ncreate dir/new\n")
    # A mask that talks refuses names, a plain one has none
    equal(r.ok().out.replace("ENOENT", "EACCES").splitlines(),
          ["read file: EACCES", "list dir: OK", "read dir/file: EACCES",
           "create dir/new: EROFS"])
    check(not t.exists("dir/new"))


@test
def a_directory_without_read_permission_is_masked_in_the_next_run(t):
    """One run takes its mode away; the next must not see what was hidden"""
    t.write("conf/.env", "SECRET")
    t.write("conf/.git/hooks/pre-commit", "old")
    script = ("chmod 755 conf; cat conf/.env; "
              "echo new > conf/.git/hooks/pre-commit; chmod 300 conf; true")
    for rule in (None, "conf/.env", t.dir + "/**/.env", t.dir + "/conf/.e*"):
        options = ["--observe", "off"] + (["--deny-read", rule] if rule else [])
        for mode in ("755", "600", "300", "000"):
            os.chmod(t.dir + "/conf", int(mode, 8))
            r = t.shell(script, options=options).ok()
            if rule:
                equal(r.out, "", rule, mode)
            elif mode == "755":
                equal(r.out, "SECRET")
            os.chmod(t.dir + "/conf", 0o755)
            equal(t.read("conf/.git/hooks/pre-commit"), "old", rule, mode)


@test
def planted_files_in_unreadable_directories_are_quarantined(t):
    """Not even in one below another, nor in the project"""
    r = t.shell("mkdir -p a/b/.vscode && echo x > a/b/.vscode/tasks.json && "
                "echo x > a/file && chmod 0 a/b a .",
                options=["--observe", "off"])
    if os.getuid():
        equal(os.stat(t.dir).st_mode & 0o777, 0o700)
    os.chmod(t.dir, 0o755)
    os.chmod(t.dir + "/a", 0o755)
    os.chmod(t.dir + "/a/b", 0o755)
    check(t.exists("a/file"), r)
    check(not t.exists("a/b/.vscode"), r)


@test
def planted_files_are_quarantined_whatever_their_modes(t):
    for mode in ("755", "555"):
        r = t.shell("mkdir -p a/.vscode r/.git/hooks && "
                    "echo x > a/.vscode/tasks.json && "
                    "echo x > r/.git/hooks/pre-commit && "
                    f"chmod {mode} a/.vscode a r/.git/hooks r/.git r",
                    options=["--observe", "off"])
        equal(os.stat(t.dir + "/a").st_mode & 0o777, int(mode, 8), r)
        check(not t.exists("a/.vscode"), mode, r)
        check(not t.exists("r/.git/hooks/pre-commit"), mode, r)
        t.outside("chmod", "-R", "u+w", "a", "r").ok()
        t.outside("rm", "-r", "a", "r").ok()


@test
def an_unreadable_project_is_refused(t):
    t.write(".env", "SECRET")
    options = ["--deny-read", t.dir + "/**/.env"]
    t.inside("chmod", "300", ".", options=options).ok()
    r = t.shell("chmod 755 .; cat .env", options=options)
    os.chmod(t.dir, 0o755)
    equal(r.out, "")
    if os.getuid():
        r.ended(125)
        contains(r.err, "chmod u+rx")


@test
def rules_apply_across_mounts(t):
    """Another file system in the project: its names are looked at as well"""
    os.makedirs(t.dir + "/data")
    t.write("near.env", "NEAR")
    make = ("mount -t tmpfs none data && mkdir -p data/deep/.git/hooks && "
            "touch data/deep/.git/HEAD data/deep/.git/hooks/x && "
            "echo FAR >data/deep/far.env && echo FREE >data/deep/free && ")
    script = ("cat near.env data/deep/far.env data/deep/free; "
              "echo new >data/deep/.git/hooks/x && echo PLANTED; "
              "echo new >data/deep/free && echo WRITTEN")
    wrap = ("unshare", "-Urm", "sh", "-c")
    control = t.outside(*wrap, f"{make} {script}")
    for word in ("NEAR", "FAR", "FREE", "PLANTED", "WRITTEN"):
        contains(control.out, word, "the control", repr(control))
    for observe, pattern in (("on", "**/*.env"), ("off", "*/*/*.env")):
        r = t.outside(*wrap, f'{make} exec "$@"', "sh", CLOCHE, "run",
                      "--observe", observe,
                      "--deny-read", f"{t.dir}/*.env", "--deny-read",
                      f"{t.dir}/{pattern}", "--", "sh", "-c", script)
        contains(r.out, "FREE", repr(r))
        contains(r.out, "WRITTEN", repr(r))
        for word in ("NEAR", "FAR", "PLANTED"):
            lacks(r.out, word, pattern)


@test
def existing_protected_names_cannot_be_changed(t):
    names = (".bashrc", ".gitconfig", ".mcp.json", ".vscode/tasks.json",
             ".idea/workspace.xml", ".claude/settings.json",
             ".claude/commands/x.md", "sub/.envrc", "sub/deep/.zshrc",
             ".husky/pre-commit")
    for name in names:
        t.write(name, "{}")	# Some of them are read as settings
    t.write("plain", "old")
    script = "".join(f"echo new > {n}; rm -f {n}; mv {n} gone; " for n in names)
    t.shell(script + "echo new > plain", options=["--no-settings"])
    for name in names:
        equal(t.read(name), "{}", name)
    equal(t.read("plain"), "new\n")


@test
def git_hooks_and_config_are_protected_and_commits_work(t):
    need("git")
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@x"]
    t.outside("git", "init", "-q", ".").ok()
    config = t.read(".git/config")
    t.shell("echo '#!/bin/sh' > .git/hooks/pre-commit; echo '[a]' >> .git/config; "
            "mv .git/hooks .git/other; mv .git git-aside")
    check(not t.exists(".git/hooks/pre-commit"), "a hook was planted")
    equal(t.read(".git/config"), config)
    t.write("file", "1")
    t.inside(*git, "add", "file").ok()
    t.inside(*git, "commit", "-qm", "first").ok()
    contains(t.outside("git", "log", "--oneline").ok().out, "first")


@test
def a_private_tmp_is_kept_per_project(t):
    r = t.shell("echo kept > /tmp/mine; ls /tmp; stat -c %a /tmp; "
                "echo $TMPDIR; mktemp")
    check(r.code == 0, repr(r))
    check(not os.path.exists("/tmp/mine"), "the host's /tmp was written")
    for nth in ("second", "third"):
        equal(t.inside("cat", "/tmp/mine").ok().out, "kept\n", nth)
    other = os.path.join(t.root, "other")
    os.mkdir(other)
    check(t.inside("cat", "/tmp/mine", cwd=other).code != 0,
          "another project saw it")


@test
def var_tmp_is_private(t):
    name = f"/var/tmp/cloche-test-{os.getpid()}"
    t.write(name + "/host", "host's")
    try:
        r = t.shell(f"cat {name}/host; echo x > /var/tmp/new && cat /var/tmp/new").ok()
        equal(r.out, "x\n")
        check(not os.path.exists("/var/tmp/new"))
        t.run("policy", "why", "read", name + "/host").ended(1)
        t.run("policy", "why", "write", "/var/tmp/new").ok()
        for option in ("--read", "--write"):
            equal(t.shell(f"cat {name}/host", options=(option, name)).ok().out,
                  "host's")
        # As the project
        equal(t.shell("cat host; echo y > made", cwd=name).ok().out, "host's")
        check(os.path.exists(name + "/made"))
    finally:
        t.outside("rm", "-rf", name).ok()


@test
def a_planted_file_too_large_for_quarantine_is_renamed(t):
    """The home is on another file system, and a planted file can be large"""
    script = ("mkdir -p work && mount -t tmpfs none work && cd work && "
              f"{CLOCHE} run --observe off -- sh -c 'mkdir -p a b/d && "
              "echo x >a/tasks.json && echo x >b/d/x && chmod 0 b/d && "
              "head -c 257M /dev/zero >a/large; mv a .vscode; mv b .idea'; "
              "ls -A")
    r = t.outside("unshare", "-Urm", "sh", "-c", script)
    names = r.ok().out.split()
    check(".vscode" not in names and ".idea" not in names, repr(r))
    check([n for n in names if n.startswith(".vscode.quarantine-")], repr(r))
    contains(r.err, ".vscode.quarantine-")
    check(not [n for n in names if n.startswith(".idea")], repr(r))


@test
def the_hosts_tmp_is_hidden(t):
    path = f"/tmp/cloche-test-canary-{os.getpid()}"
    with open(path, "w") as file:
        file.write("CANARY")
    try:
        lacks(t.shell(f"cat {path}; ls /tmp").out, "CANARY")
    finally:
        os.unlink(path)


@test
def a_project_below_tmp_works(t):
    import tempfile
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="cloche-test-p") as project:
        t.shell("echo hi > ok; echo x > ../no", cwd=project)
        with open(project + "/ok") as file:
            equal(file.read(), "hi\n")
        check(not os.path.exists("/tmp/no"))


@test
def only_basic_devices_exist_and_work(t):
    r = t.shell("echo x > /dev/null; head -c4 /dev/zero | wc -c; "
                "head -c4 /dev/urandom | wc -c; echo y > /dev/shm/z && "
                "cat /dev/shm/z; ls /dev; echo o > /dev/stdout")
    r.ok()
    equal(r.out.splitlines()[:3], ["4", "4", "y"])
    for name in ("mem", "kmsg", "sda", "vda", "kvm", "fuse", "disk", "input"):
        check(name not in r.out.split(), "/dev has", name)


@test
def rules_about_dev_and_proc_apply_to_the_sandboxs_own(t):
    script = "head -c1 /proc/cpuinfo; head -c1 /dev/full; echo x > /dev/null"
    t.shell(script).ok()
    r = t.shell(script, options=["--deny-read", "/proc/cpuinfo",
                                 "--deny-read", "/dev/full",
                                 "--deny-read", "/dev/no-such",
                                 "--write", "/dev/null"])
    r.ok()
    equal(r.out, "")
    contains(r.err, "/proc/cpuinfo")
    contains(r.err, "/dev/full")
    # What is the host's is not in there anyway
    t.shell("cat /proc/self/comm; echo x > /dev/null",
            options=["--deny-read", "/proc", "--deny-read", "/dev"]).ok()


@test
def a_run_leaves_no_files_or_mounts_on_the_host(t):
    t.write("a/b/file", "x")
    before = tree(t.dir), set(os.listdir(t.home))
    temp = ours_in_tmp()
    mounts = open("/proc/self/mountinfo").read()
    for script in ("true", "false", "kill -9 $$", "exit 125"):
        t.shell(script)
    t.inside("no-such-program")
    equal(tree(t.dir), before[0], "the project")
    new = set(os.listdir(t.home)) - before[1]
    equal(new, {".local"}, "in the home")
    equal(os.listdir(t.home + "/.local"), ["state"], "in the home")
    equal(ours_in_tmp() - temp, set(), "in /tmp")
    equal(open("/proc/self/mountinfo").read(), mounts)


@test
def names_with_special_bytes_work(t):
    for name in ("a b", "new\nline", "-dash", "*", "quote'\"", "tab\t",
                 b"\xff\xfe".decode("utf-8", "surrogateescape")):
        os.mkdir(os.path.join(t.dir, name))
        path = os.path.join(t.dir, name)
        t.shell("echo x > inside", cwd=path).ok(repr(name))
        check(os.path.exists(path + "/inside"))
        t.shell("echo y > inside", cwd=t.dir,
                options=["--deny-write", path.replace("*", "[*]")])
    for name in ("a b", "new\nline"):
        path = os.path.join(t.dir, name)
        t.shell('echo z > "$1/inside"', options=["--deny-write", path])
        equal(open(path + "/inside").read(), "x\n", repr(name))


@test
def requests_of_a_clone_are_reported_until_approved(t):
    told = lambda *options: t.run("run", "--net", "none", *options, "--",
                                  "true").ok().err
    settings = ".claude/settings.json"
    t.write(settings, '{"sandbox": {"filesystem": {"allowWrite": [".", "%s"]}, '
            '"network": {"allowedDomains": ["evil.test"]}}}' % t.away)
    contains(told(), f"{settings} asks for 1 host and 1 path; review: cloche trust\n")
    equal(told("--no-settings"), "")
    t.write(t.home + "/.claude.json", '{"projects": {"%s": '
            '{"hasTrustDialogAccepted": true}}}' % t.dir)
    contains(told(), "review: cloche trust")
    t.trust()
    equal(told(), "")
    t.write(settings, '{"sandbox": {"filesystem": {"allowWrite": ["."]}}}')
    equal(told(), "")
    t.run("policy", "allow", "domain", "good.test").ok()
    equal(told(), "")


@test
def a_refused_protected_name_suggests_unprotect(t):
    t.write(".vscode/settings.json", "{}")
    line = "cloche policy allow unprotect .vscode"
    contains(t.shell("echo x > .vscode/settings.json").err, f" {line}\n")
    contains(t.run("violations", "list", "--json").ok().out, line)
    contains(t.run("policy", "why", "write", ".vscode/x").ended(1).out, line)
    hooks = "cloche policy allow unprotect hooks"
    contains(t.run("policy", "why", "write", ".git/hooks/x").ended(1).out, hooks)
    for path in (".git/hooks/", ".git/objects/", ".git/refs/"):
        os.makedirs(t.dir + "/" + path)
    t.write(".git/HEAD", "ref: refs/heads/main\n")
    contains(t.run("policy", "why", "write", ".git/hooks/x").ended(1).out, hooks)
    contains(t.shell("echo x > .git/hooks/x").err, f" {hooks}\n")
    t.shell("echo x > .git/hooks/x", options=(
        "-s", '{"filesystem": {"unprotect": ["hooks"]}}')).ok()
    t.shell("echo x > .vscode/settings.json", options=(
        "-s", '{"filesystem": {"unprotect": [".vscode"]}}')).ok()
    equal(t.read(".vscode/settings.json"), "x\n")


@test
def a_writable_file_can_be_written_through_a_symlink(t):
    t.write("hidden/shown", "old")
    t.write("hidden/other", "old")
    os.makedirs(t.dir + "/links")
    os.symlink("../hidden/shown", t.dir + "/links/relative")
    os.symlink(t.dir + "/hidden/shown", t.dir + "/links/absolute")
    os.symlink("../hidden/other", t.dir + "/links/other")
    for link in ("relative", "absolute"):
        t.shell(f"echo {link} > links/{link}", options=[
            "--deny-read", t.dir + "/hidden", "--write",
            t.dir + "/hidden/shown"]).ok()
        equal(t.read("hidden/shown"), link + "\n")
    r = t.shell("echo other > links/other", options=[
        "--deny-read", t.dir + "/hidden", "--write", t.dir + "/hidden/shown"])
    check(r.code != 0, repr(r))
    equal(t.read("hidden/other"), "old")


@as_user		# Nothing is closed to root
def a_directory_that_cannot_be_searched_is_not_moved_away_from_a_pattern(t):
    """It may contain files that the pattern denies"""
    deep = "/".join("d" * 70)
    os.makedirs(f"{t.dir}/deep/conf/{deep}")
    for name in ("free", "shut"):
        os.makedirs(f"{t.dir}/{name}/conf/in")
    rule = json.dumps({"filesystem": {"denyWrite": ["**/conf/**/x.ini"]}})
    t.shell("chmod 0 shut/conf/in; for i in free shut deep; do "
            "mv $i/conf $i/other; done; chmod 755 shut/*/in",
            options=("-s", rule))
    equal([os.listdir(f"{t.dir}/{name}") for name in ("free", "shut", "deep")],
          [["other"], ["conf"], ["conf"]])


main()
