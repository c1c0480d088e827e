# SPDX-License-Identifier: Apache-2.0
"""tests/attack/git.py - a command plants something that git would run later"""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

RUN = "touch OWNED;:"
ME = ("-c", "user.name=a", "-c", "user.email=a@example.org")
FILE = ("-c", "protocol.file.allow=always")


def git(t, *argv, cwd=None):
    return t.outside("git", *ME, *FILE, *argv, cwd=cwd)


def repository(t, path, *files):
    os.makedirs(os.path.join(t.dir, path), exist_ok=True)
    git(t, "init", "-q", "-b", "main", cwd=path).ok()
    for name in files:
        t.write(f"{path}/{name}", "mine\n")
    git(t, "add", "-A", cwd=path).ok()
    git(t, "commit", "-q", "--allow-empty", "-m", "x", cwd=path).ok()
    return os.path.join(t.dir, path)


@test
def unknown_settings_of_a_new_repository_are_removed(t):
    need("git")
    make = f"""git init -q $1 && cd $1 && git config alias.st \
"-c core.fsmonitor='{RUN}' status" && git config gc.recentObjectsHook '{RUN}' &&
git config lfs.customtransfer.x.path '{RUN}' && git config new.key x &&
git config user.name a && git remote add o https://example.org/a.git"""
    t.outside("sh", "-ec", make, "sh", "out").ok()
    t.outside("git", "-C", "out", "st").ok()
    check(t.exists("out/OWNED"), "the control")
    t.inside("sh", "-ec", make, "sh", "in").ok()
    t.outside("git", "-C", "in", "st")
    t.outside("git", "-C", "in", "gc", "-q").ok()
    check(not t.exists("in/OWNED"))
    text = t.read("in/.git/config")
    for key in ("alias", "recentObjectsHook", "customtransfer", "new"):
        contains(t.read("out/.git/config"), key)
        lacks(text.replace("[alias]", "").replace("[new]", "").replace(
            '[lfs "customtransfer.x"]', ""), key)
    contains(text, "https://example.org/a.git")
    contains(text, "name = a")


@test
def core_worktree_is_kept_only_if_it_points_back(t):
    """A submodule made inside raises no alarm; one that leads elsewhere does"""
    need("git")
    sub = repository(t, "sub", "f")
    add = (f"git init -q $1 && cd $1 && git {' '.join(FILE)} submodule --quiet "
           f"add {sub} lib/one && git {' '.join(ME)} commit -qm x && "
           "git submodule status")
    r = t.inside("sh", "-ec", add, "sh", "good").ok()
    lacks(r.err, "quarantine")
    git(t, "status", cwd="good/lib/one").ok()
    contains(t.read("good/.git/modules/lib/one/config"), "worktree")
    home = t.write(t.home + "/victim", "mine\n")
    r = t.inside("sh", "-ec", add + f"; git -C lib/one config core.worktree "
                 f"{os.path.dirname(home)}", "sh", "bad").ok()
    lacks(t.read("bad/.git/modules/lib/one/config"), "worktree")
    t.inside("sh", "-ec", add + "; mkdir other; git -C lib/one config "
             "core.worktree ../../../../other", "sh", "beside").ok()
    lacks(t.read("beside/.git/modules/lib/one/config"), "worktree")


def stopped(t, top):
    """A repository with a rebase that waits for the user, with a command of his"""
    repository(t, top, "f")
    for name in ("g", "h", "i"):
        t.write(f"{top}/{name}", "mine\n")
        git(t, "add", name, cwd=top).ok()
        git(t, "commit", "-q", "-m", name, cwd=top).ok()
    t.outside("git", *ME, "rebase", "-q", "-i", "HEAD~2", cwd=top,
              env={"GIT_SEQUENCE_EDITOR":
                   "sed -i '1s/^pick/edit/;$aexec touch MINE'"}).ok()
    check(t.exists(f"{top}/.git/rebase-merge/git-rebase-todo"))
    return f"{top}/.git/rebase-merge/git-rebase-todo"


@test
def commands_added_to_a_rebase_todo_are_refused(t):
    need("git")
    add = "echo 'exec touch OWNED' >> $1; printf '\\tx touch OWNED2\\n' >> $1"
    go_on = ("git", *ME, "rebase", "--continue")
    append = add.replace(">> $1", "| dd of=$1 conv=notrunc,nocreat oflag=append "
                         "status=none")     # Which makes no name
    for where, options in (("out", None), ("in", ()), ("quiet", ()),
                           ("blind", ("--observe", "off"))):
        todo = os.path.join(t.dir, stopped(t, where))
        if options is None:
            r = t.outside("sh", "-c", add, "sh", todo, cwd=where).ok()
        else:
            r = t.inside("sh", "-c", append if where == "quiet" else add, "sh",
                         todo, cwd=where, options=options).ok()
            contains(r.err, "on --continue")
        t.outside(*go_on, cwd=where, env={"GIT_EDITOR": "true"}).ok(repr(r))
        equal([t.exists(f"{where}/{name}") for name in
               ("MINE", "OWNED", "OWNED2", "i")],
              [True, options is None, options is None, True], where)
    # A rebase that was begun inside, with a command
    repository(t, "new", "f")
    t.write("new/g")
    git(t, "add", "g", cwd="new").ok()
    git(t, "commit", "-q", "-m", "g", cwd="new").ok()
    t.shell("GIT_SEQUENCE_EDITOR='sed -i 1s/^pick/edit/' git -c user.name=a "
            "-c user.email=a rebase -q -i -x 'touch OWNED' HEAD~1",
            cwd="new").ok()
    t.outside(*go_on, cwd="new", env={"GIT_EDITOR": "true"}).ok()
    check(not t.exists("new/OWNED"))


@test
def a_merge_strategy_cannot_be_a_program_of_the_work_tree(t):
    """git runs git-merge-STRATEGY, and a strategy with a slash is a path"""
    need("git")
    plant = ("mkdir -p git-merge-x; printf '#!/bin/sh\\ntouch OWNED\\nexit 1\\n' > "
             "git-merge-x/y; chmod +x git-merge-x/y; ")
    ways = (("rebase -s ort main", "rebase-merge/strategy", "x/y"),
            ("cherry-pick main~2..main", "sequencer/opts",
             "[options] strategy = x/y"))
    for i, (begin, file, text) in enumerate(ways):
        for inside in (False, True):
            top = repository(t, f"{i}{inside}", "f")
            for branch in ("main", "own"):
                git(t, "checkout", "-q", "-B", branch, "HEAD" if branch == "main"
                    else "HEAD~3", cwd=top)
                for n in range(3):
                    t.write(f"{top}/f", f"{branch} {n}")
                    git(t, "commit", "-qam", "x", cwd=top).ok()
            t.outside("git", *ME, *begin.split(), cwd=top)
            check(t.exists(f"{top}/.git/{os.path.dirname(file)}"), file)
            run = t.inside if inside else t.outside
            r = run("sh", "-ec", f"{plant} echo '{text}' > .git/{file}",
                    cwd=top).ok()
            t.write(f"{top}/f", "resolved")
            git(t, "add", "f", cwd=top).ok()
            t.outside("git", *ME, begin.split()[0], "--continue", cwd=top,
                      env={"GIT_EDITOR": "true"})
            equal(t.exists(f"{top}/OWNED"), not inside, file, r.err)


@test
def programs_named_by_git_settings_are_read_only(t):
    """Those of a repository, and of a submodule of another work tree"""
    need("git")
    top = repository(t, "repo", "tools/monitor", "tools/clean.py", "conv",
                     "go.sh", "plain")
    for key, value in (("core.fsmonitor", "./tools/monitor --fast"),
                       ("filter.a.clean", "python3 tools/clean.py %f"),
                       ("diff.b.textconv", "sh conv"),
                       ("alias.go", "!f() { ./go.sh; }; f"),
                       ("core.editor", "./later"),
                       ("core.sshCommand", "sub/none/ssh"),
                       ("user.name", "plain"), ("alias.x", "log")):
        git(t, "config", key, value, cwd=top).ok()
    for options in ((), ("--observe", "off")):
        t.shell("for i in tools/monitor tools/clean.py conv go.sh plain; do "
                "echo changed > $i; done; echo x > later; mv tools other; "
                "mkdir sub; rm -rf sub", cwd=top, options=options)
        for name in ("tools/monitor", "tools/clean.py", "conv", "go.sh"):
            equal(t.read(f"{top}/{name}"), "mine\n", name)
        check(not t.exists(top + "/later"), "later", options)
        equal(t.read(top + "/plain"), "changed\n", "the control")
        t.write(top + "/plain", "mine\n")


@test
def harmless_settings_of_the_users_repository_can_be_changed(t):
    """git replaces its settings as a whole: that is done for it, or refused"""
    need("git")
    top = repository(t, "repo", "f")
    git(t, "init", "-q", "--bare", "up.git", cwd=t.dir).ok()
    git(t, "remote", "add", "origin", "../up.git", cwd=top).ok()
    git(t, "config", "alias.mine", "!true", cwd=top).ok()
    os.rename(t.dir + "/up.git", top + "/up.git")
    git(t, "remote", "set-url", "origin", top + "/up.git", cwd=top).ok()
    inode = os.stat(top + "/.git/config").st_ino
    r = t.shell("""git config user.email c@example.org &&
        git remote add fork https://example.org/x.git &&
        git push -q -u origin HEAD && git checkout -q -b new &&
        git branch -q -u origin/main && git config pull.rebase true &&
        git config --unset pull.rebase && test ! -e .git/config.lock""",
                cwd=top).ok()
    contains(r.err, "remote.fork.url = https://example.org/x.git")
    contains(t.read(top + "/.git/config"), "email = c@example.org")
    contains(t.read(top + "/.git/config"), "[branch \"new\"]")
    equal(os.stat(top + "/.git/config").st_ino, inode)
    before = t.read(top + "/.git/config")
    for line in ("git config core.fsmonitor x", "git config alias.x '!x'",
                 "git config alias.mine '!other'", "git config --unset alias.mine",
                 "git remote set-url origin https://evil.example.org/",
                 "git remote set-url --add origin https://evil.example.org/",
                 "git config remote.origin.pushurl https://evil.example.org/",
                 "git config remote.origin.mirror true",
                 "git config branch.main.remote fork", "git remote remove fork",
                 "git config core.worktree /", "git config core.hooksPath x",
                 "git config remote.z.url ext::x", "git config include.path x",
                 "printf '[user]\\nname=x\\n' > .git/x; mv .git/x .git/config",
                 "ln -s f .git/config.lock; mv .git/config.lock .git/config",
                 "cp .git/config .git/config.lock; ln .git/config.lock l; "
                 "mv .git/config.lock .git/config; echo '[core]' >> l",
                 "echo x >> .git/config"):
        r = t.shell(line + "; rm -f .git/config.lock l .git/x", cwd=top)
        equal(t.read(top + "/.git/config"), before, line, repr(r))
    # Nor with changes that are staged
    t.shell("git config user.email d@example.org", cwd=top,
            options=("--ephemeral",))
    equal(t.read(top + "/.git/config"), before)


# Under the name of git: takes the lock, changes its own directory; another process,
# which is not recorded, puts another directory in its place before it is undone
SWAP = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.close(os.open(".git/index.lock", os.O_CREAT | os.O_EXCL))
os.mkdir("own")
os.system("cp swap.py own/old; touch theirs/old || echo refused; rm -f theirs/new")
os.unlink("own/old")
os.close(os.open("own/new", os.O_CREAT | os.O_EXCL))
os.system("mv own away; mv theirs own")
try:
    open(".npmrc", "w")
except OSError:
    print("refused .npmrc", flush=True)
try:
    os.unlink(".git/index.lock")
except OSError:
    pass
os.system("mv own theirs")
"""


@as_root
def undoing_git_respects_the_commands_permissions(t):
    """Those of root in the sandbox, without capabilities, not those of the supervisor"""
    need("git")
    git(t, "init", "-q").ok()
    shutil.copy(os.path.realpath(sys.executable), t.dir + "/git")
    t.write(".git/index")
    t.write("swap.py", SWAP)
    t.write("theirs/new", "theirs")
    os.chown(t.dir + "/theirs", 12345, 12345)
    os.chown(t.dir + "/theirs/new", 12345, 12345)
    r = t.inside("./git", "-u", "swap.py", env={"PYTHONHOME": sys.base_prefix}).ok()
    equal(r.out, "refused\nrefused .npmrc\n")
    contains(r.err, "git was ended")
    equal((os.listdir(t.dir + "/theirs"), t.read("theirs/new")), (["new"], "theirs"))


main()
