# SPDX-License-Identifier: Apache-2.0
"""tests/live/odd-starts.py - runs in unusual start directories, and starts that fail"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

REFUSE = os.environ.get("REFUSE", "")
UNSEEN = ("--observe", "off")


def opens(path):
    """Settings that let a command write there"""
    return json.dumps({"sandbox": {"enabled": True, "filesystem": {
        "allowWrite": [path]}}})


@test
def settings_files_cannot_be_written_in_any_profile(t):
    """What the first run writes must not be what the second obeys"""
    script = 'mkdir -p .claude; printf %s "$1" >"$2"; echo x >"$3"'
    for profile in ("default", "srt"):
        for name in (".claude/settings.json", ".claude/settings.local.json",
                     ".cloche.json"):
            for observe in ("on", "off"):
                options = ("--profile", profile, "--observe", observe,
                           "--write", ".")
                for _ in range(2):
                    t.inside("sh", "-c", script, "sh", opens(t.away), name,
                             t.away + "/escaped", options=options)
                check(not os.path.exists(t.away + "/escaped"), profile, name,
                      observe)
                check(not t.exists(name), profile, name, observe)
    # Also by one who reads none of them: the next run may
    t.inside("sh", "-c", script + "; echo x >control", "sh", opens(t.away),
             ".claude/settings.json", t.away + "/escaped",
             options=("--profile", "srt", "--write", ".", "--no-settings"))
    check(not t.exists(".claude/settings.json") and t.exists("control"))


@test
def an_unobserved_denied_path_is_quarantined_afterwards(t):
    """By its name, as a pattern's match is"""
    r = t.shell("echo x >no; mkdir d; echo x >d/no; mkdir -p e/no/f; "
                "echo x >yes; echo x >d/yes",
                options=(*UNSEEN, "--deny-write", "no", "--deny-write", "d/no",
                         "--deny-write", "e/no")).ok()
    for name in ("no", "d/no", "e/no"):
        check(not t.exists(name), name, repr(r))
        contains(r.err, f"quarantine {t.dir}/{name} ")
    check(t.exists("yes") and t.exists("d/yes"), "the control")
    # What was there before is somebody's, whatever now leads to it
    t.write("mine", "mine\n")
    t.shell("ln -s mine no", options=(*UNSEEN, "--deny-write", "no")).ok()
    check(not t.exists("no"))
    equal(t.read("mine"), "mine\n")


@test
def agents_settings_in_a_writable_home_are_quarantined(t):
    t.freeze()
    names = (".claude.json", ".claude/skills")
    r = t.shell(f"echo '{{}}' | tee {' '.join(names)} >plain", cwd=t.home,
                options=(*UNSEEN, "--write", t.home)).ok()
    for name in names:
        check(not os.path.exists(f"{t.home}/{name}"), name, repr(r))
    check(os.path.exists(t.home + "/plain"), "the control")


@test
def startup_files_in_a_writable_home_are_protected(t):
    there = (".bashrc", ".config/git/config", ".config/fish/config.fish",
             ".vim/plugin/x.vim", ".xprofile")
    missing = (".profile", ".config/autostart/x.desktop", ".bash_aliases",
               ".config/systemd/user/x.service", ".pam_environment", ".emacs",
               ".local/share/dbus-1/services/x.service")
    for name in there:
        t.write(f"{t.home}/{name}", "mine\n")
    t.freeze()
    for options in ((), UNSEEN):
        t.shell(f"""mkdir -p .config; echo x > .config/plain
for name in {" ".join(there + missing)}; do
    mkdir -p $(dirname $name); echo x > $name
done""", cwd=t.home, options=(*options, "--write", t.home))
        equal(t.read(t.home + "/.config/plain"), "x\n", "the control")
        os.unlink(t.home + "/.config/plain")
        for name in there:
            equal(t.read(f"{t.home}/{name}"), "mine\n", name)
        for name in missing:
            check(not os.path.exists(f"{t.home}/{name}"), name)


@test
def installed_hooks_of_agents_cannot_be_changed(t):
    for agent in ("claude", "codex", "gemini", "cursor"):
        t.run("hook", "install", agent, "--scope", "project").ok()
    names = (".claude/settings.json", ".codex/hooks.json",
             ".gemini/settings.json", ".cursor/hooks.json")
    before = [t.read(name) for name in names]
    t.shell(f"""for name in {" ".join(names)} .codex/config.toml .cursor/mcp.json
do echo '{{}}' > $name; done; mv .gemini .old; mkdir .gemini; > plain""")
    equal([t.read(name) for name in names], before)
    check(not t.exists(".codex/config.toml") and not t.exists(".cursor/mcp.json"))
    check(t.exists("plain"), "the control")


@test
def a_failed_start_prints_a_reason_and_leaves_no_journal(t):
    """A journal says that a run was killed: the next one would clean up after
    it, and what the user has made meanwhile is what it would find
    """
    said = set()
    for _ in range(long(30, 300)):
        said.add(t.outside(REFUSE, "mounts", CLOCHE, "run", "--tier", "full",
                           *UNSEEN, "--net", "none", "--", "true")
                 .ended(125).err)
        left = [n for n in tree(t.home) if n.endswith(".json")]
        equal(left, [])
    equal(len(said), 1, said)


@test
def a_bad_start_directory_is_reported(t):
    t.write("file")
    t.write("closed/in/x")
    os.chmod("closed", 0o600)
    rows = [("/proc/self", "of which the sandbox has its own"),
            ("/dev/shm", "of which the sandbox has its own"),
            (t.dir + "/file", "is not a directory")]
    if not IS_ROOT:
        rows.append((t.dir + "/closed", "cannot enter"))
    for path, words in rows:
        for tier in ("full", "landlock"):
            r = t.shell("echo ran >&2; touch ran", options=(
                "--tier", tier, "--cwd", path)).ended(125, path)
            contains(r.err, words, path)
            equal(r.err.count("\n"), 1, repr(r))
    os.chmod("closed", 0o700)
    deep = ("import os\n"
            "for _ in range(30):\n"
            "    os.mkdir('d' * 200); os.chdir('d' * 200)\n"
            f"os.execv('{CLOCHE}', ['cloche', 'run', '--', 'true'])\n")
    r = t.outside("/usr/bin/python3", "-c", deep).ended(125)
    contains(r.err, "is too long")


def started(t, script, *options, cwd=None):
    """A run that has printed a line, and waits for its input to end"""
    p = t.start("run", *options, "--", "sh", "-c", script, cwd=cwd or t.dir)
    check(p.stdout.readline(), "it did not start")
    return p


@test
def empty_directories_of_the_user_are_kept(t):
    """However short the time since it was made"""
    ours = (".config", ".cache", ".local/state")
    for options in ((), UNSEEN):
        for _ in range(2):
            for name in ours:
                os.makedirs(os.path.join(t.home, name), exist_ok=True)
            for name in (*ours, ".local"):
                os.chmod(os.path.join(t.home, name), 0o700)	# As ours are
            t.shell("echo x >made", options=options).ok()
            for name in ours:
                check(os.path.isdir(os.path.join(t.home, name)), name)


@test
def files_from_before_a_killed_run_are_kept(t):
    """In a profile, or with a setting, that does not protect it, nobody notes it;
    whoever cleans up afterwards protects all
    """
    need("git")
    t.outside("git", "init", "-q", ".").ok()
    t.write(".git/modules/m/HEAD", "ref: refs/heads/main\n")
    t.write(".git/modules/m/config", "[core]\n")
    t.write(".git/modules/m/hooks/pre-commit", "x\n")
    t.write("deep/.idea/mine")
    t.write(t.home + "/.claude/settings.json", json.dumps(
        {"sandbox": {"filesystem": {"unprotect": [".idea"]}}}))
    for options in ((), ("--profile", "srt", "--write", ".")):
        for observe in ("on", "off"):
            before = tree(t.dir)
            p = started(t, "echo x >new; mkdir -p deep/.vscode; echo ready; "
                        "read x", "--observe", observe, *options)
            p.kill()
            p.communicate()
            t.inside("true").ok()
            after = tree(t.dir)
            check(after.pop("new", None), "the control")
            equal(after, before, options, observe)
            os.unlink("new")


@test
def a_writable_symlinked_home_is_protected(t):
    """The user's own policy is not the command's to make"""
    os.symlink(t.home, t.away + "/home")
    policy = {"filesystem": {"allowWrite": [t.away]}}
    script = ('mkdir -p .config/cloche; echo "$1" >.config/cloche/policy.json; '
              'echo x >"$2/escaped"; echo x >new; cat /proc/self/mountinfo')
    for nth in (1, 2):
        r = t.inside("sh", "-c", script, "sh", json.dumps(policy), t.away,
                     options=("--write", t.home), cwd=t.home,
                     env={"HOME": t.away + "/home"})
        contains(r.out, f" {t.home}/.config/cloche ro,")
        check(not os.path.exists(t.home + "/.config/cloche/policy.json"), nth)
        check(not os.path.exists(t.away + "/escaped"), nth)
    check(os.path.exists(t.home + "/new"), "the control")


@test
def a_symlink_on_the_path_to_tmp_works(t):
    os.symlink(t.home, t.away + "/home")
    os.makedirs(t.away + "/other")
    os.symlink(t.away, t.away + "/other/.cache")
    for home in ("home", "other"):
        for nth in (1, 2):
            r = t.shell("echo $$ >$TMPDIR/x && cat $TMPDIR/x", env={
                "HOME": f"{t.away}/{home}"}, options=("--tier", "landlock"))
            check(r.ok(home, nth).out, repr(r))


@test
def the_end_of_one_run_unmasks_nothing_in_another(t):
    """Both in a bare home, one of them may write the home"""
    p = started(t, "echo ready; read x; echo x >.local/state/cloche/new; "
                "ls -A .local/state/cloche; echo end", "--write", t.home,
                cwd=t.home)
    state = t.home + "/.local/state/cloche"
    check(os.path.isdir(state), "there is nothing to uncover")
    t.shell("echo x >file").ok()
    check(os.path.isdir(state), "what the other has covered was removed")
    out, err = p.communicate(b"\n")
    equal(out, b"end\n", err)
    check(not os.path.exists(state + "/new"))


main()
