# SPDX-License-Identifier: Apache-2.0
"""tests/live/git.py - git in the sandbox: work trees, submodules, separate directories"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}


def git(t, *argv, cwd=None):
    """git outside of the sandbox, which must work"""
    return t.outside("git", "-c", "protocol.file.allow=always", *argv,
                     env=WHO, cwd=cwd).ok()


def repository(t, path):
    path = os.path.join(t.dir, path)
    os.makedirs(path)
    git(t, "init", "-q", "-b", "main", path)
    t.write(path + "/file", "1\n")
    git(t, "add", "file", cwd=path)
    git(t, "commit", "-q", "-m", "first", cwd=path)
    return path


def commit(t, cwd):
    """A commit inside, seen from outside"""
    t.shell("echo more >> file && git add file && git commit -q -m inside",
            cwd=cwd, env=WHO).ok()
    contains(git(t, "log", "-1", "--format=%s", cwd=cwd).out, "inside")


def refused(t, cwd, *paths):
    """None of the paths can be written inside, and all are as before"""
    for path in paths:
        before = open(path).read() if os.path.exists(path) else None
        t.inside("sh", "-c", 'echo x >> "$1"', "sh", path, cwd=cwd)
        after = open(path).read() if os.path.exists(path) else None
        equal(after, before, path)


@test
def commits_work_and_hooks_are_protected_in_a_repository(t):
    need("git")
    top = repository(t, "repo")
    commit(t, top)
    t.shell("git checkout -q -b other && git tag x && git gc -q", cwd=top,
            env=WHO).ok()
    refused(t, top, top + "/.git/hooks/pre-commit", top + "/.git/config")


def tree(top):
    """Everything in the work tree: name, mode, time of change, content"""
    found = {}
    for at, dirs, files in os.walk(top):
        dirs[:] = [name for name in dirs if os.path.join(at, name) != top + "/.git"]
        for name in dirs + files:
            path = os.path.join(at, name)
            st = os.lstat(path)
            found[path] = (st.st_mode, os.readlink(path) if os.path.islink(path)
                           else None if os.path.isdir(path)
                           else (st.st_mtime_ns, open(path, "rb").read()))
    return found


# Two protected files that are there, one that is not, in the middle of others
CHANGED = ("a/deep/x", "mid/.npmrc", "mid/.vscode/settings.json", "mid/new/.envrc",
           "file", "z/z")


@test
def a_branch_that_changes_protected_files_is_refused_as_a_whole(t):
    need("git")
    top = repository(t, "repo")
    write = lambda name, text: t.write(os.path.join(top, name), text)
    for name in (*CHANGED[:3], "gone/a/b", "run"):
        write(name, "own")
    os.chmod(top + "/run", 0o755)
    os.symlink("run", top + "/link")
    os.symlink("gone", top + "/b-link")
    git(t, "add", ".", cwd=top)
    git(t, "commit", "-q", "-m", "own", cwd=top)
    git(t, "checkout", "-q", "-b", "editor", cwd=top)
    for name in CHANGED:
        write(name, "editor")
    git(t, "rm", "-q", "-r", "gone", "run", "link", "b-link", cwd=top)
    os.symlink("/nowhere", top + "/b-link")
    write("gone", "now a file")
    git(t, "add", ".", cwd=top)
    git(t, "commit", "-q", "-m", "editor", cwd=top)
    git(t, "checkout", "-q", "-b", "plain", "main", cwd=top)
    write("file", "plain")
    git(t, "commit", "-q", "-a", "-m", "plain", cwd=top)
    git(t, "checkout", "-q", "-b", "side", "main", cwd=top)
    write("other", "side")
    git(t, "add", ".", cwd=top)
    git(t, "commit", "-q", "-m", "side", cwd=top)
    git(t, "checkout", "-q", "editor~0", cwd=top)
    write("file", "stashed")
    write("mid/.npmrc", "stashed")
    git(t, "stash", "-q", cwd=top)
    git(t, "checkout", "-q", "side", cwd=top)
    write("run", "not committed")
    before, head = tree(top), git(t, "rev-parse", "HEAD", cwd=top).out
    status = git(t, "status", "--porcelain", cwd=top).out
    for command in (("checkout", "-f", "-q"), ("switch", "-f", "-q"),
                    ("reset", "--hard"), ("checkout", "editor", "--", "."),
                    ("rm", "-rf", "a", "mid", "run")):
        last = () if command[-1] in (".", "run") else ("editor",)
        for options in ((), ("--tier", "landlock")):
            r = t.inside("git", *command, *last, cwd=top, env=WHO, options=options)
            check(r.code != 0, command, repr(r))
            contains(r.err, "git was ended, and the work tree is as before")
            for name in ("/mid/.npmrc", "/mid/.vscode/settings.json"):
                contains(r.err, name + " (")
            equal(tree(top), before, command, options)
            equal(git(t, "status", "--porcelain", cwd=top).out, status, command)
            equal(git(t, "rev-parse", "HEAD", cwd=top).out, head, command)
            check(not os.path.exists(top + "/.git/index.lock"), command)
    git(t, "checkout", "--", "run", cwd=top)
    before = tree(top)
    for command in (("merge", "editor"), ("cherry-pick", "editor"), ("stash", "apply"),
                    ("pull", "-q", "--no-rebase", ".", "editor"),
                    ("rebase", "-q", "editor")):
        r = t.inside("git", *command, cwd=top, env=WHO)
        check(r.code != 0, command, repr(r))
        equal(tree(top), before, command)
        equal(git(t, "status", "--porcelain", cwd=top).out, "", command)
        equal(git(t, "rev-parse", "HEAD", cwd=top).out, head, command)
    # The control: a branch that changes no such file
    t.inside("git", "checkout", "-q", "plain", cwd=top, env=WHO).ok()
    equal(t.read(os.path.join(top, "file")), "plain")
    contains(git(t, "branch", "--show-current", cwd=top).out, "plain")


@test
def commits_work_in_a_linked_work_tree(t):
    need("git")
    top = repository(t, "main")
    tree_ = os.path.join(t.dir, "linked")
    git(t, "worktree", "add", "-q", tree_, cwd=top)
    commit(t, tree_)
    refused(t, tree_, top + "/.git/hooks/pre-commit", top + "/.git/config",
            tree_ + "/.git", top + "/.git/worktrees/linked/commondir",
            top + "/file")


@test
def paths_named_by_repository_settings_are_protected(t):
    """Hooks and settings in the working tree are obeyed like the others"""
    need("git")
    top = repository(t, "repo")
    linked = os.path.join(t.dir, "linked")
    for key, value in (("core.hooksPath", ".githooks"),
                       ("include.path", "../team/settings"),
                       ("includeIf.gitdir:/.path", "../team/later"),
                       ("core.attributesFile", "team/attributes")):
        git(t, "config", key, value, cwd=top)
    t.write(top + "/.githooks/pre-commit", "")
    t.write(top + "/team/settings", "[core]\n\tsshCommand = ssh\n"
            "[include]\n\tpath = more\n")
    t.write(top + "/team/more", "")
    git(t, "worktree", "add", "-q", linked, cwd=top)
    t.write(linked + "/.githooks/pre-push", "")
    commit(t, top)
    names = (".githooks/pre-commit", ".githooks/post-commit", "team/settings",
             "team/later", "team/attributes", "team/more")
    refused(t, top, *(f"{top}/{name}" for name in names))
    refused(t, linked, linked + "/.githooks/pre-push")
    t.shell("mv .githooks hooks; mv team other; echo x > .githooks/new;"
            "echo x > team/later; echo x > team/free", cwd=top,
            options=("--observe", "off"))
    for name in ("hooks", "other", ".githooks/new", "team/later"):
        check(not t.exists(f"{top}/{name}"), name)
    equal(t.read(top + "/team/free"), "x\n", "the control")
    unprotect = '{"filesystem": {"unprotect": ["hooks"]}}'
    t.shell("echo x > .githooks/new", cwd=top, options=("-s", unprotect)).ok()
    git(t, "config", "core.hooksPath", ".", cwd=top)
    commit(t, top)


@test
def paths_named_by_user_settings_are_protected(t):
    """A relative path is one in every working tree"""
    need("git")
    library, top = repository(t, "library"), repository(t, "repo")
    git(t, "submodule", "--quiet", "add", library, "sub", cwd=top)
    t.write(t.home + "/.gitconfig", "[core]\n\thooksPath = .githooks\n"
            f"[include]\n\tpath = more\n\tpath = {top}/team\n")
    t.write(t.home + "/.config/git/config", "[core]\n\tattributesFile = attr\n")
    t.write(t.home + "/more", "[core]\n\thooksPath = .\n")
    t.write(top + "/.githooks/pre-commit", "")
    for where in (top, t.dir):
        refused(t, where, top + "/.githooks/pre-commit", top + "/.githooks/x",
                top + "/sub/.githooks", top + "/team", top + "/attr")
    commit(t, top)
    # A submodule's own, and what the environment names instead of the user's
    git(t, "config", "core.hooksPath", ".own", cwd=top + "/sub")
    refused(t, top, top + "/sub/.own")
    t.write(t.home + "/third", "[core]\n\thooksPath = .third\n")
    t.write(top + "/.third/pre-push", "old")
    t.shell("echo new > .third/pre-push", cwd=top,
            env={"GIT_CONFIG_GLOBAL": t.home + "/third"})
    equal(t.read(top + "/.third/pre-push"), "old")
    t.shell("mkdir other .githooks other/.githooks", cwd=t.dir).ok()


@test
def a_work_tree_added_in_the_sandbox_works(t):
    need("git")
    top = repository(t, "main")
    t.shell("git worktree add -q sub/tree && cd sub/tree && "
            "echo x >> file && git commit -q -a -m inside", cwd=top,
            env=WHO).ok()
    contains(git(t, "log", "-1", "--format=%s", "tree", cwd=top).out, "inside")
    # As good when the run is over, unless it leads elsewhere
    equal(git(t, "status", "--short", cwd=top + "/sub/tree").out, "")
    refused(t, top, top + "/.git/worktrees/tree/commondir")
    r = t.shell("git worktree add -q led && echo ../../../sub > "
                ".git/worktrees/led/commondir", cwd=top, env=WHO).ok()
    check(not t.exists(top + "/.git/worktrees/led/commondir"), repr(r))
    r = t.shell("git worktree add -q sub/two && git worktree remove sub/two",
                cwd=top, env=WHO).ok()
    equal(r.err, "")


@test
def a_planted_commondir_is_quarantined(t):
    """commondir says which that is, and its settings are obeyed"""
    need("git")
    script = """
mkdir -p evil/objects evil/refs evil/x/w tree; cd evil
echo ref: refs/heads/main > HEAD; cp HEAD x/w
printf '[core]\nfsmonitor = echo PWNED >&2; false\n' > config; cd ../n/.git
%s
echo gitdir: ../n/.git/worktrees/w > ../../tree/.git; echo done"""

    def leads(run, how, **more):
        t.outside("sh", "-c", "rm -rf n evil tree; git init -q n").ok()
        contains(run("sh", "-c", script % how, **more).out, "done")
        return "PWNED" in t.outside("git", "-C", "tree", "status").err
    for how in ("mkdir worktrees; cp -R ../../evil/x/w worktrees; "
                "echo ../../../../evil > worktrees/w/commondir",
                "ln -s ../../evil/x worktrees; echo ../.. > worktrees/w/commondir"):
        check(not leads(t.inside, how), how)
        check(not leads(t.inside, how, options=["--observe", "off"]), how)
        check(leads(t.outside, how), "the control")


@test
def commits_work_in_a_submodule_and_its_hooks_are_protected(t):
    need("git")
    library = repository(t, "library")
    top = repository(t, "main")
    git(t, "submodule", "--quiet", "add", library, "library", cwd=top)
    git(t, "commit", "-q", "-m", "submodule", cwd=top)
    commit(t, top + "/library")
    refused(t, top + "/library", top + "/.git/modules/library/hooks/x",
            top + "/.git/modules/library/config", top + "/library/.git",
            top + "/.git/config")


@test
def a_separate_git_directory_is_writable_with_protected_hooks(t):
    need("git")
    top = os.path.join(t.dir, "tree")
    apart = os.path.join(t.dir, "apart")
    git(t, "init", "-q", "-b", "main", f"--separate-git-dir={apart}", top)
    t.write(top + "/file", "1\n")
    git(t, "add", "file", cwd=top)
    git(t, "commit", "-q", "-m", "first", cwd=top)
    commit(t, top)
    refused(t, top, apart + "/hooks/pre-commit", apart + "/config",
            top + "/.git")


@test
def a_planted_gitdir_pointer_grants_nothing(t):
    need("git")
    victim = repository(t, "victim")
    os.mkdir("project")
    t.write("project/.git", f"gitdir: {victim}/.git\n")
    refused(t, t.dir + "/project", victim + "/.git/HEAD",
            victim + "/.git/refs/heads/main")
    # The same with a linked tree's shape, whose way back leads elsewhere
    git(t, "worktree", "add", "-q", t.dir + "/linked", cwd=victim)
    t.write("project/.git", f"gitdir: {victim}/.git/worktrees/linked\n")
    refused(t, t.dir + "/project", victim + "/.git/HEAD",
            victim + "/.git/worktrees/linked/HEAD")


CONFIG = """[core]
    repositoryformatversion = 0
    bare = false
    worktree = .
    fsmonitor = "echo PWNED >&2;:"
"""
BARE = f"""bare() {{
    mkdir -p $1/objects $1/refs $1/hooks
    echo '{CONFIG}' > $1/config
    printf '#!/bin/sh\\necho PWNED\\n' > $1/hooks/pre-commit
    chmod 755 $1/hooks/pre-commit
    echo ref: refs/heads/main > $1/HEAD
}}
"""


def is_obeyed(t, where):
    """git, called by the user in a directory that is a repository by its shape"""
    r = t.outside("sh", "-c", """git -c user.name=x -c user.email=x \\
commit --allow-empty -m x; git config core.fsmonitor""", cwd=where)
    return "PWNED" in r.out + r.err


@test
def git_uses_no_planted_bare_repository(t):
    need("git")
    deep = "a/b/c/d/e/deep"
    made = ("new", "new.git", "old/new", "common")
    script = BARE + """
bare new; bare old/new; mkdir -p new.git
bare tmp; mv tmp/* new.git
bare common; mkdir led; mv common/HEAD led; echo ../common > led/commondir
cp led/HEAD old; mkdir -p old/objects old/refs
mkdir tree; echo gitdir: ../new > tree/.git
echo done"""
    for options in ((), ("--observe", "off")):
        t.write("old/config", CONFIG)
        t.write("old/hooks/use.ts", "mine")
        r = t.shell(script, options=options)
        equal(r.out, "done\n", r.err)
        for place in (*made, "led", "old", "tree"):
            check(not is_obeyed(t, place), place, options, r.err)
        contains(t.read("old/config"), "PWNED", "the user's own")
        check(t.exists("old/hooks/use.ts"), r.err)
        for place in made[:3]:
            check(t.exists(place + "/HEAD"), place, "works on")
        t.outside("sh", "-c", "rm -rf *").ok()
    # What was there before the run that was killed is the user's, too
    t.write("old/config", CONFIG)
    p = t.start("run", "--", "sh", "-c", "mkdir old/objects old/refs; echo ref: "
                "refs/heads/main > old/HEAD; echo done; exec sleep 1000")
    equal(p.stdout.readline(), b"done\n")
    check(is_obeyed(t, "old"), "the control: before the end")
    p.kill()
    p.communicate()
    r = t.inside("true").ok()
    check(not is_obeyed(t, "old"), "after a kill", r.err)
    contains(t.read("old/config"), "PWNED", "the user's own")
    # Alone: nothing else causes a search there
    t.shell(BARE + f"bare {deep}").ok()
    check(not is_obeyed(t, deep), deep)
    t.outside("sh", "-c", "rm -rf *").ok()
    t.write("old/config", CONFIG)
    t.outside("sh", "-c", script + f"; bare {deep}").ok()
    for place in (*made[:3], "led", "old", "tree", deep):
        check(is_obeyed(t, place), "the control:", place)


@test
def bare_repositories_are_recognised_by_their_layout(t):
    """None of these is called .git, and all are as old as the project"""
    need("git")
    t.outside("sh", "-ec", """git init -q --bare .bare
echo gitdir: ./.bare > .git
mkdir gits deep deep/er deep/er/still deep/er/still/there
git init -q sub --separate-git-dir gits/sub
git init -q far --separate-git-dir deep/er/still/there/far
git init -q --bare store.git""").ok()
    places = (".bare", "gits/sub", "deep/er/still/there/far", "store.git")
    for place in places:
        for name in ("hooks/pre-commit", "config", "config.worktree",
                     "commondir", "info/attributes"):
            before = t.exists(f"{place}/{name}") and t.read(f"{place}/{name}")
            r = t.shell(f"echo x >> {place}/{name}")
            check(r.code != 0, place, name, "was written")
            equal(t.exists(f"{place}/{name}") and t.read(f"{place}/{name}"),
                  before, place, name)
        r = t.shell(f"mv {place} {place}2; echo x > {place}/refs/heads/x")
        check(t.exists(place + "/refs/heads/x"), place, repr(r))


@test
def a_separate_git_directory_can_be_created(t):
    """Its pointer stays, and it works; what git would run does not stay"""
    need("git")
    evil = "[core]\n\tfsmonitor = touch OWNED;false\n"
    t.shell("mkdir gits; git init -q --separate-git-dir gits/here .; "
            "git init -q sub --separate-git-dir gits/sub; "
            f"printf '{evil}' >> gits/here/config; "
            "echo x > gits/sub/hooks/pre-commit").ok()
    for top, place in ((".", "gits/here"), ("sub", "gits/sub")):
        contains(t.read(top + "/.git"), place)
        t.outside("git", "-C", top, "status").ok()
        lacks(t.read(place + "/config"), "fsmonitor")
        check(not t.exists(place + "/hooks/pre-commit"), place)
    check(not t.exists("OWNED"), "git ran it")
    r = t.shell("echo x >> gits/here/config; echo x > .git")
    contains(r.err, "gits/here/config")
    contains(t.read(".git"), "gits/here")
    # Nor by way of a link, which can be another tomorrow
    t.shell("mkdir l1 l2; git init -q --bare l1/g; git init -q --bare l2/g; "
            "ln -s $PWD/l1 link; echo gitdir: $PWD/link/g > l1/.git; "
            "echo gitdir: g > pointer; ln -s ../pointer l2/.git",
            options=("--observe", "off")).ok()
    equal([os.path.lexists(t.dir + "/" + name) for name in
           ("l1/g/HEAD", "l2/g/HEAD", "l1/.git", "l2/.git")],
          [True, True, False, False])
    # What is as old as the project is not pointed at from inside
    t.outside("sh", "-c", "mv .git gits/pointer").ok()
    t.shell("cp gits/pointer .git")
    check(not t.exists(".git"), "it points at an old directory")


@test
def setgid_directories_keep_their_group(t):
    """Their directories have the set-group-id bit, which the filter lets pass"""
    script = ("mkdir d && chmod g+s d && mkdir d/e && stat -c %A d d/e && "
              "git init -q --shared=group r && stat -c %A r/.git/objects")
    for run in (t.shell, lambda text: t.outside("sh", "-c", text)):
        lines = run(script).ok().out.split()
        check(all(line[6] in "sS" for line in lines), lines)
        t.outside("rm", "-r", "d", "r").ok()



@test
def deleting_a_branch_removes_its_upstream_settings(t):
    """git removes the branch first: refused settings would leave half of it"""
    git(t, "init", "-q", "--bare", t.root + "/remote", cwd=t.root)
    git(t, "init", "-q", "-b", "main", t.dir)
    git(t, "commit", "-q", "--allow-empty", "-m", "1", cwd=t.dir)
    git(t, "remote", "add", "origin", t.root + "/remote", cwd=t.dir)
    for name in ("old", "gone"):
        git(t, "checkout", "-q", "-b", name, cwd=t.dir)
        git(t, "push", "-q", "-u", "origin", name, cwd=t.dir)
    r = t.shell("git branch -m old new && git checkout -q new && "
                "git branch -q -D gone").ok()
    equal(r.err, "")
    text = t.read(".git/config")
    contains(text, '[branch "new"]')
    lacks(text, '"old"')
    lacks(text, '"gone"')
    # It may go, but what is there leads nowhere else
    t.shell("git remote add fork ../fork && git config branch.new.remote fork")
    equal(git(t, "config", "branch.new.remote", cwd=t.dir).out, "origin\n")


@test
def a_submodule_is_fetched_into_the_users_repository(t):
    """Its git directory is new, and is cleaned like a clone's"""
    library = repository(t, t.root + "/library")
    top = repository(t, t.root + "/top")
    git(t, "submodule", "--quiet", "add", library, "sub", cwd=top)
    git(t, "commit", "-q", "-m", "submodule", cwd=top)
    git(t, "clone", "-q", top, "clone", cwd=t.dir)
    clone = t.dir + "/clone"
    update = "git -c protocol.file.allow=always submodule --quiet update --init"
    r = t.shell(update, cwd=clone).ok()
    lacks(r.err, "quarantine")
    contains(git(t, "submodule", "status", cwd=clone).out, "sub (")
    equal(git(t, "status", "--porcelain", cwd=clone).out, "")
    # What it brought from inside: no hooks, no settings that run programs
    module = clone + "/.git/modules/sub"
    t.outside("rm", "-rf", module, clone + "/sub").ok()
    r = t.shell(f"{update}; echo x > {module}/hooks/post-checkout; "
                f"git -C sub config core.fsmonitor x; "
                f"ls {module}/hooks/post-checkout", cwd=clone).ok()
    check(not os.path.exists(module + "/hooks/post-checkout"))
    lacks(t.read(module + "/config"), "fsmonitor")
    # In the next run it is the user's
    t.shell(f"echo x > {module}/hooks/post-checkout", cwd=clone)
    check(not os.path.exists(module + "/hooks/post-checkout"))


ADD = "git -c protocol.file.allow=always submodule --quiet add "


@test
def adding_a_submodule_is_atomic(t):
    """To the user's repository, without and with a .gitmodules; as outside"""
    library = repository(t, t.root + "/library")
    os.symlink("file", library + "/link")
    git(t, "add", "link", cwd=library)
    git(t, "commit", "-q", "-m", "link", cwd=library)
    scripts = (f"{ADD}{library} sub && git commit -q -m sub",
               f"{ADD}{library} a/b && git commit -q -m two && {ADD}{library} c")
    states = []
    for name, run in (("outside", lambda *words, **more: t.outside(*words, **more)),
                      ("inside", lambda *words, **more: t.inside(*words, **more))):
        top = repository(t, name + "/top")
        r = [run("sh", "-ec", script, cwd=top, env=WHO).ok(name) for script in scripts]
        states.append([git(t, *words, cwd=top).out.replace("/outside/", "/inside/")
                       for words in (("submodule", "status"), ("log", "--format=%s"),
                                     ("config", "--list", "-f", ".gitmodules"),
                                     ("config", "--list", "--local"), ("status", "--porcelain"),
                                     ("config", "--list", "-f", ".git/modules/a/b/config"))] +
                      [os.readlink(top + "/a/b/link")])
    equal(states[1], states[0])
    lacks(r[0].err + r[1].err, "refused")
    contains(r[0].err, ".gitmodules (git uses submodule.sub.url = ")


@test
def removing_a_submodule_is_atomic(t):
    """Its .git leads git to a repository and stays; then all stays"""
    library = repository(t, t.root + "/library")
    for number in range(30):	# git removes them in the order of the directory
        t.write(f"{library}/file{number}", "")
    git(t, "add", ".", cwd=library)
    git(t, "commit", "-q", "-m", "files", cwd=library)
    top = repository(t, "top")
    git(t, "submodule", "--quiet", "add", library, "sub", cwd=top)
    git(t, "commit", "-q", "-m", "sub", cwd=top)
    settings = lambda: [t.read(top + name) for name in
                        ("/.git/config", "/.git/modules/sub/config", "/.gitmodules")]
    before = tree(top), settings()
    unprotect = '{"filesystem": {"unprotect": ["config"]}}'
    for command in (("rm", "-q", "sub"), ("submodule", "--quiet", "deinit", "-f", "sub")):
        for options in ((), ("--ephemeral",), ("-s", unprotect)):
            r = t.inside("git", *command, cwd=top, env=WHO, options=options)
            check(r.code != 0, command, options, repr(r))
            contains(r.err, "git was ended, and the work tree is as before")
            equal((tree(top), settings()), before, command, options)
            equal(git(t, "status", "--porcelain", cwd=top).out, "", command)
        t.run("discard", cwd=top)
    r = t.inside("sh", "-c", f"{ADD}{library} two", cwd=top, options=("--ephemeral",))
    check(r.code != 0, repr(r))
    contains(r.err, "modules/two/hooks (git runs them)")
    git(t, "rm", "-q", "sub", cwd=top)
    check(not os.path.exists(top + "/sub"), "the control")


@test
def commits_work_in_a_nested_sandbox(t):
    """The inner one has no observer; the outer one's mounts protect what git obeys"""
    top = repository(t, "top")
    os.makedirs(top + "/.git/hooks", exist_ok=True)
    r = t.inside(CLOCHE, "run", "--", "sh", "-c", """
mkdir new && echo 2 > new/file && git add new && git commit -qm nested
echo x > .git/hooks/pre-commit; echo x >> .git/config; mv .git other; mv .git/hooks h
true""", cwd=top, env=WHO).ok()
    equal(git(t, "log", "-1", "--format=%s", cwd=top).out, "nested\n", repr(r))
    equal(git(t, "status", "--porcelain", cwd=top).out, "")
    check(not os.path.exists(top + "/.git/hooks/pre-commit"), "a hook was made")
    lacks(t.read(top + "/.git/config"), "x\n")


@test
def mounts_protect_only_what_no_command_can_move(t):
    """In the landlock tier without an observer, in a namespace with mounts of our own"""
    need("unshare")
    t.write("top/way/locked/open/file", "")
    top = t.dir + "/top"
    mounts = ["mount --bind . .", 'cd "$PWD"', "mount --bind way way",
              "mount --bind way/locked way/locked",
              "mount -o remount,bind,ro way/locked"]

    def attempt(script, *before):
        r = t.outside("unshare", "-Urm", "sh", "-ec", "; ".join([*before, 'exec "$@"']),
                      "sh", os.environ["REFUSE"], "notify", CLOCHE, "run", "--tier",
                      "landlock", "--deny-write", "way/locked", "--", "sh", "-c", script,
                      cwd=top)
        check(r.code in (0, 1, 2), repr(r))
        return r.code == 0

    for script in ("touch new", "touch way/new"):
        check(not attempt(script), script, "without mounts")
        check(attempt(script, *mounts), script)
    for script in ("touch way/locked/new", "mv way/locked way/other", "mv way other",
                   "echo x > way/locked/open/file"):
        check(not attempt(script, *mounts), script)
    inner = "mount --bind way/locked/open way/locked/open"
    for ending in ("true", "mount -o remount,bind,rw way/locked/open"):
        check(not attempt("echo x > way/locked/open/file", *mounts, inner, ending), ending)
    unpinned = [m for m in mounts if m != "mount --bind way way"]
    check(not attempt("mv way other", *unpinned), "a directory that is no mount was moved")
    equal(t.read("top/way/locked/open/file"), "")


@test
def removing_a_work_tree_is_atomic(t):
    """Its .git leads git to a repository and stays; then all stays"""
    top = repository(t, "top")
    for number in range(30):	# git removes them in the order of the directory
        t.write(f"{top}/file{number}", str(number))
    git(t, "add", ".", cwd=top)
    git(t, "commit", "-q", "-m", "files", cwd=top)
    git(t, "worktree", "add", "-q", "tree", cwd=top)
    before = tree(top), git(t, "worktree", "list", cwd=top).out
    for options in ((), ("--ephemeral",)):
        r = t.inside("git", "worktree", "remove", "tree", cwd=top, env=WHO,
                     options=options)
        check(r.code != 0, repr(r))
        contains(r.err, "git was ended, and the work tree is as before")
        equal((tree(top), git(t, "worktree", "list", cwd=top).out), before, options)
        equal(git(t, "status", "--porcelain", cwd=top + "/tree").out, "", options)
        t.run("discard", cwd=top)
    t.inside("sh", "-ec", "git worktree add -q new; git worktree remove new",
             cwd=top, env=WHO).ok("one of the same run")
    git(t, "worktree", "remove", "tree", cwd=top)
    check(not os.path.exists(top + "/tree"), "the control")


@test
def a_gitmodules_with_unsafe_settings_is_removed(t):
    library = repository(t, t.root + "/library")
    top = repository(t, "top")
    good = f'[submodule "s"]\n\tpath = s\n\turl = {library}\n'
    # As git does it: mv tries RENAME_NOREPLACE first
    how = ("printf '%s' \"$1\" > .gitmodules.lock; python3 -c "
           "'import os; os.rename(\".gitmodules.lock\", \".gitmodules\")'")
    for text in (good + "\tupdate = !touch x\n", good.replace(library, "ext::sh"),
                 good.replace("path = s", "path = ../s"), good.replace('"s"', '"../s"'),
                 good.replace("path = s", "path = -s"), "[core]\n\tbare\n", "x", ""):
        for options in ((), ("--observe", "off")):
            t.inside("sh", "-c", how, "sh", text, cwd=top, options=options)
            check(not os.path.lexists(top + "/.gitmodules"), text, options)
            t.outside("rm", "-f", top + "/.gitmodules.lock")
    # The control; and other names by which it could be written later
    for options in ((), ("--observe", "off")):
        t.inside("sh", "-c", how, "sh", good, cwd=top, options=options)
        equal(t.read(top + "/.gitmodules"), good, options)
        os.unlink(top + "/.gitmodules")
    t.inside("sh", "-c", how.replace("; py", "; ln .gitmodules.lock other; py"), "sh", good, cwd=top, options=options)
    check(not os.path.lexists(top + "/.gitmodules"), "has two names")
    t.inside("sh", "-c", "printf '%s' \"$1\" > other; ln -s other .gitmodules", "sh", good,
             cwd=top, options=options)
    check(not os.path.lexists(top + "/.gitmodules"), "is a link")
    # Nor is the lock of a git outside, which becomes that file, written inside
    for name, code in ((".gitmodules.lock", 2), ("x.lock", 0)):
        t.write(f"{top}/{name}", "")
        equal(t.shell(f"echo x >> {name}", cwd=top).code, code, name)
        os.unlink(f"{top}/{name}")
    # No link in modules/ leads git elsewhere, but git may try whether links work
    for target, name, made in (("../../../file", "tAbCdEf", False), ("testing", "hooks", False),
                               ("testing", "config", False), ("testing", "tAbCdEf", True)):
        r = t.shell(f"mkdir -p .git/modules/n; ln -s {target} .git/modules/n/{name}", cwd=top)
        equal(r.code == 0, made, target, name, repr(r))
        t.outside("rm", "-rf", top + "/.git/modules/n")
    # Where it leads stays, and what is there can be removed
    t.write(top + "/.gitmodules", good)
    for old, new, stays in (("url = ", "url = /x", True), ('"s"', '"t"', False)):
        change = good.replace(old, new)
        t.inside("sh", "-c", how, "sh", change, cwd=top)
        equal(t.read(top + "/.gitmodules"), good if stays else change)
        t.outside("rm", "-f", top + "/.gitmodules.lock")


main()
