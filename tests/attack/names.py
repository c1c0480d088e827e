# SPDX-License-Identifier: Apache-2.0
"""tests/attack/names.py - protected names, by ways that nobody thought of

Four directories down, where no mount holds what is not there yet: only the
observer, which must see through every spelling, and the look in the end. Each
script is run outside first, where it must leave what it makes.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

DEEP = "a/b/c/d"
PYTHON = r"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def put(path, text="planted\n"):
    with open(path, "w") as file:
        file.write(text)
def exchange(a, b):
    if libc.renameat2(-100, a.encode(), -100, b.encode(), 2) < 0:
        raise OSError(ctypes.get_errno(), "exchange")
"""
# A repository that runs something, under another name
EVIL = ("git init -q --bare g && git -C g config core.bare false && "
        "git -C g config core.fsmonitor evil && cp /bin/true "
        "g/hooks/pre-commit && ")


def stays(t, script, left, before="", python=False, options=()):
    """@script leaves @left outside, and not inside; @before is done first"""
    for where in ("out", "in"):
        top = os.path.join(t.dir, where)
        os.makedirs(f"{top}/{DEEP}")
        t.outside("sh", "-ec", before or ":", cwd=top).ok("before")
        argv = (["/usr/bin/python3", "-c", PYTHON + script] if python
                else ["sh", "-c", " ".join(script.split("\n"))])
        if where == "out":
            r = t.outside(*argv, cwd=top)
        else:
            r = t.inside(*argv, cwd=top, options=options)
        for path in left:
            equal(os.path.lexists(f"{top}/{path}"), where == "out", where,
                  path, repr(r))
    return r


@test
def planting_in_a_directory_named_deleted_fails(t):
    stays(t, f"""mkdir '{DEEP}/x (deleted)' && cd '{DEEP}/x (deleted)' &&
          mkdir .vscode; echo x > .vscode/tasks.json; echo y > y; cd .. &&
          mv 'x (deleted)' x""", [f"{DEEP}/x/.vscode"])
    equal(t.read(f"in/{DEEP}/x/y"), "y\n")      # It is a name like others


@test
def planting_below_a_path_longer_than_PATH_MAX_fails(t):
    r = stays(t, f"""
top = os.open("{DEEP}", os.O_RDONLY)
os.chdir("{DEEP}")
try:
    for i in range(22):
        os.mkdir("n" * 200)
        os.chdir("n" * 200)
    os.mkdir("p")
    os.mkdir("p/.vscode")
except OSError as error:
    print(error.errno)
try:
    os.rename("p", "p", dst_dir_fd=top)
except OSError as error:
    print(error.errno)
os.chdir(top)
os.system("rm -rf nnn*")
""", [f"{DEEP}/p/.vscode"], python=True)
    # Removed again, as the test's directory cannot be at that depth
    equal(os.listdir(f"{t.dir}/in/{DEEP}"), [], repr(r))


UPWARDS = ("/proc/self/../..", "/proc/1/../..", "/proc/net/../../..",
           "/proc/thread-self/../../../..", "/proc/self/net/../../..",
           "/proc/self/task/../../..", "/proc/self/fd/../../..",
           "/dev/fd/../../..", "/dev/shm/../..", "/proc/self/root",
           "/proc/self/task/../root", "/proc//self/./root/.")


@test
def planting_by_a_symlink_whose_path_exceeds_PATH_MAX_fails(t):
    """Its directory is not too long a path, but with its name it is one"""
    r = stays(t, f"""
top = os.getcwd()
while len(os.getcwd()) < 3880:
    os.mkdir("n" * 100)
    os.chdir("n" * 100)
try:
    os.symlink(top + "/{DEEP}/.envrc", "l" * 250)
    put("l" * 250)
except OSError as error:
    print(error.errno)
put("m" * 250)		# Whoever goes that deep may work there
os.remove("m" * 250)
os.chdir(top)
os.system("rm -rf nnn*")
""", [f"{DEEP}/.envrc"], python=True)
    equal(sorted(os.listdir(f"{t.dir}/in")), ["a"], repr(r))


# The directory that they start from is removed: ".." is still the one it was in
REMOVED = f"""
os.mkdir("{DEEP}/x")
fd = os.open("{DEEP}/x", os.O_RDONLY)
os.rmdir("{DEEP}/x")
os.mkdir("{DEEP}/y")
os.chdir("{DEEP}/y")
os.rmdir("../y")
pid = os.getpid()
ways = [f"/proc/self/fd/{{fd}}/..", f"/dev/fd/{{fd}}/..", "/proc/self/cwd/..",
        f"/proc/self/fd/{{fd}}/./..//", "/proc/thread-self/cwd/../../d",
        f"/proc/tty/../{{pid}}/cwd/..", f"/usr/../proc/{{pid}}/fd/{{fd}}/..",
        "/proc/../proc/self/cwd/..", ".."]
def attempt(call, *args, **more):
    try:
        call(*args, **more)
    except OSError as error:
        print(call.__name__, args, error.errno)
"""


@test
def planting_from_a_removed_working_directory_fails(t):
    names = [".envrc", ".bashrc", ".zshrc", ".profile", ".mcp.json",
             ".ripgreprc", ".gitmodules", ".zprofile", ".bash_profile"]
    r = stays(t, REMOVED + f"""
for way, name in zip(ways, {names}):
    attempt(put, way + "/" + name)
""", [f"{DEEP}/{name}" for name in names], python=True)
    equal(r.out.count("put ("), 9, repr(r))     # Refused, not only tidied up


@test
def renaming_from_a_removed_working_directory_fails(t):
    """Either name: what is protected is neither made nor taken away"""
    r = stays(t, "top = os.getcwd()\n" + REMOVED + """
for i, way in enumerate(ways):
    for name, call in ("r", os.rename), ("l", os.link):
        put(f"{top}/a/file")
        attempt(call, f"{top}/a/file", way + f"/{name}{i}/.envrc")
        attempt(os.unlink, f"{top}/a/file")
    attempt(os.symlink, "target", way + f"/s{i}/.envrc")
    attempt(os.link, way + "/kept/.envrc", f"{top}/a/linked{i}")
    attempt(os.rename, way + f"/gone{i}/.envrc", f"{top}/a/moved{i}")
    attempt(os.truncate, way + f"/kept/.envrc", i)
""", [f"{DEEP}/{kind}{i}/.envrc" for kind in "rls" for i in range(9)] +
              [f"a/{kind}{i}" for kind in ("linked", "moved") for i in range(9)],
              python=True, before=f"cd {DEEP}; mkdir kept; echo user > kept/.envrc;"
              "for i in 0 1 2 3 4 5 6 7 8; do mkdir r$i l$i s$i gone$i;"
              "echo user > gone$i/.envrc; done")
    equal(t.read(f"in/{DEEP}/kept/.envrc"), "user\n", repr(r))
    equal(t.read(f"in/{DEEP}/gone8/.envrc"), "user\n", repr(r))


@test
def planting_by_hard_linking_an_open_file_fails(t):
    second = f"""
fd = os.open("{DEEP}/.envrc", os.O_RDONLY)
if libc.linkat(fd, b"", -100, b"{DEEP}/second", 0x1000) < 0:
    print(ctypes.get_errno())
"""
    t.write(".envrc", "x\n")
    if "2\n" in t.outside("/usr/bin/python3", "-c", PYTHON + second.replace(
            f"{DEEP}/", "")).out:
        skip("this kernel gives what is open no names")
    stays(t, second, [f"{DEEP}/second"], python=True,
          before=f"echo x > {DEEP}/.envrc")


@test
def planting_by_hard_linking_a_file_open_on_another_mount_fails(t):
    """What descriptor is meant changes while the call is looked at"""
    r = stays(t, f"""
import threading
os.makedirs("{DEEP}/p", exist_ok=True)
here = os.open("{DEEP}/file", os.O_RDWR | os.O_CREAT)
there = os.open("{DEEP}/p/file", os.O_RDWR | os.O_CREAT)
fd = os.dup(here)
over = False
def turn():
    while not over:
        os.dup2(there, fd)
        os.dup2(here, fd)
thread = threading.Thread(target=turn)
thread.start()
for i in range(3000):
    if not libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100,
                       b"{DEEP}/.envrc", 0x400):
        print("made after", i)
        break
over = True
thread.join()
""", [f"{DEEP}/.envrc"], before=f"mkdir {DEEP}/p; : >{DEEP}/p/.envrc",
              python=True)
    lacks(r.out, "made")


@test
def planting_by_hard_linking_an_open_symlink_fails(t):
    """A second name of the link, which leads to another mount"""
    r = stays(t, f"""
os.symlink("p/file", "{DEEP}/link")
fd = os.open("{DEEP}/link", os.O_PATH | os.O_NOFOLLOW)
for name in b".envrc", b".claude", b"plain":
    if not libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100,
                       b"{DEEP}/" + name, 0x400):
        print("made", name)
    elif not libc.linkat(fd, b"", -100, b"{DEEP}/" + name, 0x1400):
        print("made", name)
""", [f"{DEEP}/.envrc", f"{DEEP}/.claude"], before=f"mkdir {DEEP}/p; "
              f": >{DEEP}/p/.envrc; : >{DEEP}/p/file", python=True)
    equal(r.out, "made b'plain'\n", repr(r))


@test
def the_target_of_a_planted_symlink_is_kept(t):
    """Only the link is taken away: the rest may be anything of the user's"""
    mine = ("p/file", "p/q/file", "file")
    for path in mine:
        t.write(path, "mine\n")
    r = t.shell("ln -s p/file .envrc && ln -s p .vscode && ln -s . .idea && "
                "ln -s ../file p/.envrc && ln -s q p/.idea && echo made",
                options=("--observe", "off"))
    contains(r.out, "made")
    for link in ".envrc", ".vscode", ".idea", "p/.envrc", "p/.idea":
        check(not t.exists(link), link, repr(r))
    for path in mine:
        equal(t.exists(path) and t.read(path), "mine\n", path, repr(r))


@test
def renaming_a_directory_above_a_rule_fails(t):
    """What a rule denies, and the user makes only while the command runs"""
    for name in ("conf", "late", "free"):
        os.mkdir(os.path.join(t.dir, name))
    rules = json.dumps({"sandbox": {"filesystem": {
        "denyWrite": ["**/conf/*.ini", "late/fixed"]}}})
    p = t.start("run", "--settings", t.write(os.path.join(t.away, "s"), rules),
                "--", "sh", "-c", "echo ready; until test -e go; do sleep 0.02;"
                "done; for i in conf late free; do mv $i $i-2; mv $i-2 $i-3; "
                "echo x > $i-3/a.ini; echo x > $i-3/fixed; done; exit 3")
    equal(p.stdout.readline(), b"ready\n")
    t.write("conf/a.ini", "user\n")
    t.write("late/fixed", "user\n")
    t.write("free/else")
    t.write("go")
    _, err = p.communicate()
    equal(sorted(os.listdir(t.dir)), ["conf", "free-3", "go", "late"], err)
    contains(err.decode(), "a rule denies something in it")
    equal(t.read("late/fixed"), "user\n")


@test
def planting_through_the_first_threads_proc_self_fails(t):
    """It is what "self" in /proc means, whatever this thread has there"""
    for where, flag in (("cwd", 0x200), ("fd/9", 0x400)):
        t.outside("rm", "-rf", "in", "out").ok()
        stays(t, f"""
import threading
def other():
    if libc.unshare({flag}) < 0: raise OSError(ctypes.get_errno(), "unshare")
    os.chdir(top)
    os.dup2(os.open("a", os.O_RDONLY), 9)
    try: put("/proc/self/{where}/settings.json")
    except OSError as error: print(error.errno)
top = os.getcwd()
os.chdir("{DEEP}/.claude")
os.dup2(os.open(".", os.O_RDONLY), 9)
thread = threading.Thread(target=other)
thread.start()
thread.join()
""", [f"{DEEP}/.claude/settings.json"], before=f"mkdir {DEEP}/.claude",
              python=True)


@test
def planting_through_dot_dot_in_proc_fails(t):
    """One run for each: a refusal makes the look in the end a thorough one"""
    for way in UPWARDS + ("/proc/net/../cwd", "/proc/self/net/../cwd",
                          "/proc/self/cwd/.", "/proc/tty/../$PPID/cwd",
                          "/usr/../proc/$PPID/cwd", "/proc/../proc/$PPID/cwd"):
        t.outside("rm", "-rf", "in", "out").ok()
        here = "" if way.endswith(("cwd", "cwd/.")) else "$PWD"
        stays(t, f"cd {DEEP}; sh -c 'mkdir {way}{here}/.vscode; :'",
              [f"{DEEP}/.vscode"])


@test
def planting_through_dot_dot_of_a_hidden_directory_fails(t):
    """A path through a FUSE mask cannot be resolved outside"""
    stays(t, f"""mkdir hidden/../{DEEP}/.vscode; cd {DEEP} && ln -s
          $PWD/../../../../hidden h && mkdir h/../{DEEP}/.idea""",
          [f"{DEEP}/.vscode", f"{DEEP}/.idea"], before="mkdir hidden",
          options=["--deny-read", f"{t.dir}/in/hidden"])


@test
def planting_through_40_symlinks_fails(t):
    stays(t, f"""
os.chdir("{DEEP}")
os.symlink(".mcp.json", "l1")
for i in range(1, 40):
    os.symlink(f"l{{i}}", f"l{{i + 1}}")
put("l40")
""", [f"{DEEP}/.mcp.json"], python=True)


@test
def planting_by_exchanging_a_directory_and_a_symlink_fails(t):
    stays(t, f"""
os.chdir("{DEEP}")
for i in range(50):
    put(f"file{{i}}")
os.mkdir("d")
os.symlink("repo/.git/hooks", "s")
put("d/x")
exchange("d", "s")
put("d/pre-commit")
""", [f"{DEEP}/repo/.git/hooks/pre-commit"], python=True,
          before=f"git init -q {DEEP}/repo")


@test
def planting_by_renaming_a_symlink_over_a_directory_fails(t):
    stays(t, f"""
os.chdir("{DEEP}")
for i in range(50):
    put(f"file{{i}}")
os.mkdir("d")
put("d/x")
os.unlink("d/x")
os.rmdir("d")
os.rename("s", "d")
put("d/pre-commit")
""", [f"{DEEP}/repo/.git/hooks/pre-commit"], python=True,
          before=f"git init -q {DEEP}/repo; ln -s repo/.git/hooks {DEEP}/s")


@test
def planting_after_chdir_fails(t):
    stays(t, f"""
os.chdir("{DEEP}")
os.mkdir("a")
hooks = os.open("repo/.git/hooks", os.O_RDONLY)
os.chdir("a")
for i in range(50):
    put(f"file{{i}}")
os.chdir("../repo/.git/hooks")
put("pre-commit")
os.chdir("../../../a")
for i in range(50):
    put(f"more{{i}}")
os.fchdir(hooks)
put("pre-push")
""", [f"{DEEP}/repo/.git/hooks/pre-commit", f"{DEEP}/repo/.git/hooks/pre-push"],
          python=True, before=f"git init -q {DEEP}/repo")


@test
def planting_after_chdir_in_another_thread_fails(t):
    stays(t, f"""
import threading
os.chdir("{DEEP}")
os.mkdir("a")
os.chdir("a")
for i in range(50):
    put(f"file{{i}}")
other = threading.Thread(target=os.chdir, args=("../repo/.git/hooks",))
other.start()
other.join()
put("pre-commit")
""", [f"{DEEP}/repo/.git/hooks/pre-commit"], python=True,
          before=f"git init -q {DEEP}/repo")


# A thread with a directory of its own becomes another program: it then has the
# number of the first thread, which has just made a file somewhere else
SPLIT = r"""
import signal, threading
os.chdir("%s")
here = os.getcwd()
ready, go = threading.Event(), threading.Event()
def other():
    try:
        if %s:
            raise OSError(ctypes.get_errno(), "apart")
        os.chdir("repo/.git/hooks")
        put(here + "/arrived")
    except OSError as e:
        print(e, flush=True)
        os._exit(1)
    ready.set()
    go.wait()
    os.execv("/bin/sh", ["sh", "-c", "echo planted > pre-commit"])
put("first")
threading.Thread(target=other).start()
ready.wait()
for i in range(50):
    put(f"file{i}")
go.set()
signal.pause()          # The other one becomes a shell, and we are gone
"""


@test
def planting_from_a_thread_with_its_own_working_directory_fails(t):
    """unshare(CLONE_FS)"""
    stays(t, SPLIT % (DEEP, "libc.unshare(0x200)"),
          [f"{DEEP}/repo/.git/hooks/pre-commit"], python=True,
          before=f"git init -q {DEEP}/repo")


@test
def planting_by_renaming_the_working_directory_fails(t):
    stays(t, f"""
os.chdir("{DEEP}")
os.makedirs("a/b")
os.chdir("a/b")
for i in range(50):
    put(f"file{{i}}")
os.rename("../../a", "../../.vscode")
put("tasks.json")
""", [f"{DEEP}/.vscode/b/tasks.json", f"{DEEP}/.vscode"], python=True)


@test
def planting_by_moving_a_directory_out_of_node_modules_fails(t):
    stays(t, f"""cd {DEEP} && mkdir -p node_modules/x/.vscode && echo x >
          node_modules/x/.vscode/tasks.json && mv node_modules/x x""",
          [f"{DEEP}/x/.vscode"])


@test
def planting_by_moving_a_directory_out_of_a_new_repository_fails(t):
    stays(t, f"""cd {DEEP} && git init -q r && mkdir -p r/s/.vscode && echo x >
          r/s/.vscode/tasks.json && mv r/s s""", [f"{DEEP}/s/.vscode"])


@test
def a_new_repository_is_disarmed_at_any_depth(t):
    stays(t, f"""cd {DEEP} && git init -q r && cp /bin/true
          r/.git/hooks/pre-commit; echo ../../elsewhere > r/.git/commondir""",
          [f"{DEEP}/r/.git/commondir"])
    stays_away = f"in/{DEEP}/r/.git/config"
    check(t.exists(stays_away), "the repository itself is gone")


@test
def planting_by_renaming_a_directory_to_a_protected_name_fails(t):
    for where in ("s", DEEP):
        for script, left in (
                ("mkdir c && echo {} > c/settings.json && mv c .claude",
                 ".claude/settings.json"),
                ("mkdir c && echo {} > c/settings.json && ln -s c .claude",
                 ".claude/settings.json"),
                (EVIL + "mv g .git", ".git/hooks/pre-commit"),
                (EVIL + "ln -s g .git", ".git/hooks/pre-commit"),
                (EVIL + "echo 'gitdir: g' > .git", "g/hooks/pre-commit")):
            t.outside("rm", "-rf", "in", "out").ok()
            stays(t, f"cd {where}; " + script, [f"{where}/{left}"],
                  before=f"mkdir -p {where}")


@test
def planting_with_a_directory_of_an_earlier_run_fails(t):
    """Nothing in it is new, so that birth times do not show it"""
    for script in ("mv c .claude", "ln -s c .claude"):
        t.outside("rm", "-rf", "in", "out").ok()
        stays(t, f"cd {DEEP}; {script}", [f"{DEEP}/.claude/settings.json"],
              before=f"mkdir {DEEP}/c; echo {{}} > {DEEP}/c/settings.json")


# What some program runs when a directory is entered or opened, or the program starts
# there
RUN = """
x.code-workspace opencode.json opencode.jsonc crush.json .crush.json .devcontainer.json
.devcontainer/x .opencode/x .zed/x .vscode/x .idea/x .fleet/x .helix/x .husky/x
.github/hooks/x .amazonq/x .kiro/x .roo/x .junie/x .windsurf/x .gemini/x .codex/x
.agents/x .cursor/x .continue/x .qwen/x .factory/x .kilocode/x .openhands/x
.claude/settings.json .claude/settings.local.json .claude/commands/x .claude/agents/x
.claude/skills/x .claude/output-styles/x .claude/hooks/x .mcp.json .aider.conf.yml .cloche.json
.Rprofile .Renviron .pdbrc .pryrc .irbrc .iex.exs .ghci .gdbinit .lldbinit .octaverc
.ocamlinit .psysh.php .perldb .byebugrc .rdbgrc .radian_profile .psqlrc .sqliterc
.inputrc .tmux.conf .screenrc .autoenv .autoenv.zsh .envrc .npmrc .ripgreprc
.dir-locals.el .dir-locals-2.el .nvim.lua .nvimrc .lvimrc .vimrc .exrc .vim/x .emacs
.emacs.d/x .gitconfig .gitmodules .bashrc .bash_profile .bash_login .bash_logout
.bash_aliases .profile .zshrc .zprofile .zshenv .zlogin .zlogout .kshrc .cshrc .tcshrc
.login .xprofile .xinitrc .xsession .xsessionrc .pam_environment .config/fish/x
.config/git/x .config/nvim/x .config/autostart/x .config/systemd/x
.config/environment.d/x .local/share/systemd/x .local/share/dbus-1/x
.hg/hgrc .hg/hgrc-not-shared .sl/config .jj/repo/config.toml .jj/workspace-config.toml
.bzr/branch/branch.conf
""".split()
# Ordinary work, which a later command runs: what that is
NOTED = {
    ".pre-commit-config.yaml": "pre-commit", ".lefthook.yml": "lefthook",
    "lefthook.yml": "lefthook", ".yarnrc.yml": "yarn", ".yarnrc": "yarn",
    ".pnpmfile.cjs": "pnpm", ".cargo/config.toml": "cargo", ".cargo/config": "cargo",
    ".mise.toml": "mise", "mise.toml": "mise", ".bazelrc": "bazel",
}
WRITE = """mkdir -p "$(dirname "$i")" 2>/dev/null; echo {} >> "$i"; """


@test
def files_that_programs_run_by_themselves_cannot_be_written(t):
    """Each name, new or there before; with an observer, and without"""
    script = "for i; do " + WRITE + "done 2>/dev/null; echo done"
    equal(t.outside("sh", "-c", script, "sh", *RUN).out, "done\n")
    equal([i for i in RUN if t.read(i) != "{}\n"], [], "the control")
    for options in ((), ("--observe", "off")):
        t.inside("sh", "-c", script, "sh", *RUN, options=options).ok()
        equal([i for i in RUN if t.read(i) != "{}\n"], [], options)
    t.outside("sh", "-c", "rm -rf .[a-zA-Z]* *.code-workspace *.json *.jsonc").ok()
    for options in ((), ("--observe", "off")):
        t.inside("sh", "-c", script, "sh", *RUN, options=options).ok()
        equal([i for i in RUN if t.exists(i)], [], options)


@test
def files_that_a_later_command_runs_are_reported(t):
    for name, program in NOTED.items():
        r = t.inside("sh", "-ec", f'i="{name}"; ' + WRITE).ok()
        equal(t.read(name), "{}\n")
        contains(r.err, f"{name} ({program} ", "it is not named")
    lacks(t.inside("sh", "-ec", 'i="plain.toml"; ' + WRITE).ok().err, "plain.toml")


@test
def planting_in_directories_named_like_a_bare_repository_fails(t):
    """Projects have a "config" or "hooks" of their own: no mount holds what is in it,
    and what is new there goes as elsewhere
    """
    for options in ((), ("--observe", "off"), ("--tier", "landlock")):
        for where in "hooks", "config", "objects", "refs":
            t.outside("rm", "-rf", "in", "out").ok()
            stays(t, f"""cd {where} && mkdir -p s/c && echo {{}} > s/c/settings.json
                  && mv s/c s/.claude; mkdir .vscode && echo x >
                  .vscode/tasks.json""",
                  [f"{where}/s/.claude/settings.json", f"{where}/.vscode"],
                  before=f"mkdir {where}; echo x > {where}/file", options=options)
            equal(t.read(f"in/{where}/file"), "x\n")


@test
def quarantine_removes_only_the_planted_hard_link(t):
    """The file itself is not protected: only the name that was planted goes"""
    for options in ((), ("--observe", "off"), ("--tier", "landlock")):
        t.outside("rm", "-rf", "in", "out").ok()
        stays(t, f"""cd {DEEP} && echo new > new && mkdir c d && ln old
              c/settings.json && ln new d/settings.json && mkdir e f && mv c
              e/.claude && mv d f/.claude""",
              [f"{DEEP}/f/.claude/settings.json", f"{DEEP}/e/.claude/settings.json"],
              before=f"echo old > {DEEP}/old", options=options)
        for name in "old", "new":
            equal(t.read(f"in/{DEEP}/{name}"), name + "\n", options)


@test
def planting_by_moving_a_git_directory_away_and_back_fails(t):
    left = [f"{DEEP}/r/.git/hooks/pre-commit"]
    stays(t, f"""cd {DEEP}/r; mv .git g; cp /bin/true g/hooks/pre-commit;
          mv g .git""", left, before=f"git init -q {DEEP}/r")
    t.outside("rm", "-rf", "in", "out").ok()
    stays(t, f"""
os.chdir("{DEEP}/r")
os.mkdir("g")
exchange("g", ".git")
os.system("cp /bin/true g/hooks/pre-commit")
exchange("g", ".git")
""", left, before=f"git init -q {DEEP}/r", python=True)


@test
def planting_by_a_gitdir_pointer_in_a_new_directory_fails(t):
    places = ("w", f"{DEEP}/w")
    stays(t, f"""for d in w {DEEP}/w; do (mkdir $d && cd $d && {EVIL}
          echo 'gitdir: g' > .git); done""",
          [f"{place}/g/hooks/pre-commit" for place in places])
    for place in places:
        lacks(t.read(f"in/{place}/g/config"), "fsmonitor")
        t.outside("git", "-C", f"in/{place}", "status").ok()
        for name in ("config", "hooks/pre-commit", "commondir"):
            r = t.shell(f"cd in; echo > a/new; echo x >> {place}/g/{name}")
            check(r.code, place, name, "was written")
            contains(r.err, f"{place}/g/{name}")
    t.outside("rm", "-rf", "in", "out").ok()
    stays(t, f"""for d in w {DEEP}/w; do (cd $d && echo 'gitdir: g' > .git;
          mkdir new; echo 'gitdir: ../g' > new/.git); done""",
          [f"{place}/{git}" for place in places for git in (".git", "new/.git")],
          before=f"for d in w {DEEP}/w; do (mkdir $d && cd $d && {EVIL} :); done")


SUBMODULE = (
    "git init -q sub; cd sub; git -c user.name=a -c user.email=a commit -q "
    "--allow-empty -m x; cd ..; git init -q; git -c protocol.file.allow=always "
    "submodule --quiet add ./sub lib/deep/one 2>&1")


@test
def a_submodule_with_slashes_in_its_name_is_protected(t):
    at = ".git/modules/lib/deep/one"
    stays(t, f"""cp /bin/true {at}/hooks/pre-commit; echo ../x > {at}/commondir;
          mkdir -p .git/modules/lib/new/hooks && cp /bin/true
          .git/modules/lib/new/hooks/pre-commit; echo >> {at}/config '#'""",
          [f"{at}/hooks/pre-commit", f"{at}/commondir",
           ".git/modules/lib/new/hooks/pre-commit"], before=SUBMODULE)
    contains(t.read(f"out/{at}/config"), "#")
    lacks(t.read(f"in/{at}/config"), "#")


@test
def a_submodule_nested_in_another_is_protected(t):
    """What looks like a git directory is not where the walk ends"""
    at = ".git/modules/lib/deep/one"
    stays(t, f"cp /bin/true {at}/hooks/pre-commit", [f"{at}/hooks/pre-commit"],
          before=SUBMODULE + "; touch .git/modules/lib/HEAD "
          ".git/modules/lib/config", options=["--observe", "off"])


@test
def submodules_can_be_worked_in(t):
    """A branch, and a submodule's branch, may be called as it likes"""
    t.outside("sh", "-ec", SUBMODULE).ok()
    r = t.shell("""git branch -q x 2>/dev/null; cd lib/deep/one && git branch
                hooks && git branch config && git -c user.name=a
                -c user.email=a commit -q --allow-empty -m y""".replace(
                    "\n", " "), options=["--net", "none"]).ok()
    equal(r.err, "")


@test
def clones_and_worktrees_still_work(t):
    t.outside("sh", "-ec", """git init -q sub && cd sub && git -c user.name=a
              -c user.email=a commit -q --allow-empty -m x""".replace(
                  "\n", " ")).ok()
    r = t.shell(f"""mkdir -p {DEEP} && git clone -q sub {DEEP}/r && cd {DEEP} &&
                git -C r worktree add -q ../w -b w && git -C w status &&
                mkdir t && git clone -q r t/c && mv t/c/.git . &&
                git status""".replace("\n", " ")).ok()
    t.outside("git", "-C", f"{DEEP}/w", "status").ok("the worktree")
    t.outside("git", "-C", DEEP, "log", "-1").ok("the moved one", repr(r))


@test
def an_existing_gitdir_pointer_cannot_be_changed(t):
    before = f"mkdir {DEEP}/w; echo 'gitdir: x' > {DEEP}/w/.git"
    for script in ("echo 'gitdir: g' > .git", "rm .git; echo > .git",
                   "echo > new && mv new .git", "ln -sf g .git"):
        t.outside("rm", "-rf", "in").ok()
        os.makedirs(f"{t.dir}/in/{DEEP}")
        t.outside("sh", "-ec", before, cwd=t.dir + "/in").ok()
        t.shell(f"cd {DEEP}/w; {script}", cwd=t.dir + "/in")
        equal(t.read(f"in/{DEEP}/w/.git"), "gitdir: x\n", script)


@test
def applying_staged_changes_plants_no_repository(t):
    """A pointer in a new directory, and a link that was put there unseen"""
    os.makedirs(f"{t.dir}/{DEEP}")
    t.shell(f"cd {DEEP} && mkdir w && cd w && {EVIL} echo 'gitdir: g' > .git; "
            "cd .. && mkdir c && echo x > c/settings.json && ln -s c .claude; "
            "echo plain > plain", options=["--ephemeral", "--observe", "off"])
    t.run("apply", "--force")
    equal(t.read(f"{DEEP}/plain"), "plain\n")
    for left in ("w/g/hooks/pre-commit", ".claude"):
        check(not t.exists(f"{DEEP}/{left}"), left, "was applied")
    lacks(t.read(f"{DEEP}/w/g/config"), "fsmonitor")


@as_user        # Without a capability the kernel does not map root
def planting_through_mounts_of_a_nested_namespace_fails(t):
    """Where a command may have namespaces, it has other names for everything:
    then all is looked at in the end
    """
    os.makedirs(f"{t.dir}/{DEEP}/old/.vscode")
    t.outside("git", "init", "-q", f"{DEEP}/repo").ok()
    settings = t.write(t.away + "/s.json",
                       '{"sandbox":{"allowNestedUserNamespaces":true}}')
    r = t.inside("unshare", "-rm", "sh", "-c", f"""
        mkdir /tmp/m && mount --rbind {DEEP} /tmp/m && cd /tmp/m || exit;
        mkdir .idea old/.vscode/new; echo x > repo/.git/hooks/pre-commit;
        echo x > old/.vscode/tasks.json; echo made > plain""",
        options=["-s", settings]).ok()
    equal(t.read(f"{DEEP}/plain"), "made\n", repr(r))
    for left in (".idea", "old/.vscode/new", "old/.vscode/tasks.json",
                 "repo/.git/hooks/pre-commit"):
        check(not t.exists(f"{DEEP}/{left}"), left, "stays", repr(r))
    check(t.exists(f"{DEEP}/repo/.git/hooks/pre-commit.sample"))


main()
