# SPDX-License-Identifier: Apache-2.0
"""tests/live/start.py - where a run starts: the home, its parents, a project"""

import os
import pwd
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

PLANT = "mkdir -p .local/bin; echo x > .local/bin/ls; echo x > planted; true"


def says_no_project(t, where, **more):
    r = t.shell(PLANT, cwd=where, **more).ok()
    contains(r.err, f"note: nothing in '{os.path.realpath(where)}' is writable")
    contains(r.err, "--write DIR")
    for name in ("planted", ".local/bin/ls"):
        check(not os.path.lexists(os.path.join(where, name)), name)


@test
def the_home_as_start_directory_is_not_writable(t):
    says_no_project(t, t.home)
    t.run("policy", "why", "write", "x", cwd=t.home).ended(1)
    # The control: a directory in it is a project
    os.mkdir(os.path.join(t.home, "p"))
    r = t.shell("echo x > here", cwd=os.path.join(t.home, "p")).ok()
    lacks(r.err, "is writable")
    check(os.path.exists(os.path.join(t.home, "p/here")))


@test
def the_parent_of_the_home_as_start_directory_is_not_writable(t):
    says_no_project(t, os.path.dirname(t.home))


@test
def a_symlinked_home_as_start_directory_is_not_writable(t):
    link = os.path.join(t.away, "link")
    os.symlink(t.home, link)
    says_no_project(t, t.home, env={"HOME": link})


@test
def the_home_of_the_password_database_is_not_writable(t):
    """Whatever $HOME says"""
    account = pwd.getpwuid(os.getuid()).pw_dir
    if not os.access(account, os.W_OK):
        skip("the account has no home of its own")
    r = t.shell("echo x > cloche-test-planted; true", cwd=account).ok()
    planted = os.path.join(account, "cloche-test-planted")
    bad = os.path.exists(planted)
    if bad:
        os.remove(planted)
    check(not bad, repr(r))
    contains(r.err, f"nothing in '{os.path.realpath(account)}' is writable")


@test
def only_paths_named_in_the_home_are_writable(t):
    os.mkdir(os.path.join(t.home, "p"))
    r = t.shell("echo x > p/y; echo x > z; true", cwd=t.home,
                options=("--write", "p")).ok()
    lacks(r.err, "nothing in")
    check(os.path.exists(os.path.join(t.home, "p/y")))
    check(not os.path.exists(os.path.join(t.home, "z")))


@test
def a_symlinked_agent_directory_is_protected_with_its_target(t):
    """As dotfile managers make it"""
    t.write("dot/claude/commands/a", "A")
    os.symlink("dot/claude", ".claude")
    r = t.shell("""
        echo B > .claude/commands/a; rm .claude; mv .claude x; ln -sfn y .claude
        mv dot dot2; mv dot/claude dot/c2; rm -rf dot
        mkdir .claude/hooks; echo x > dot/claude/settings.json
        echo ran > beside""").ok()
    equal(t.read("beside"), "ran\n", repr(r))
    equal(os.readlink(".claude"), "dot/claude")
    equal(t.read(".claude/commands/a"), "A")
    equal(sorted(os.listdir("dot/claude")), ["commands"], repr(r))
    # The control: without the link the same directory is the command's own
    os.remove(".claude")
    t.shell("echo B > dot/claude/commands/a && mv dot dot2").ok()


@test
def a_symlink_to_an_agent_directory_outside_is_protected(t):
    os.makedirs(os.path.join(t.away, "claude/commands"))
    os.symlink(os.path.join(t.away, "claude"), ".claude")
    r = t.shell("echo x > .claude/commands/a; rm .claude; echo ran > beside; true")
    r.ok()
    equal(t.read("beside"), "ran\n")
    check(os.path.islink(".claude"))
    equal(os.listdir(os.path.join(t.away, "claude/commands")), [])


@test
def a_protected_symlink_to_the_project_protects_names_in_it(t):
    os.symlink(".", ".claude")
    t.write("commands/a", "A")
    t.shell("echo B > commands/a; echo x > settings.json; echo ran > beside; true").ok()
    equal(t.read("beside"), "ran\n")
    equal(t.read("commands/a"), "A")
    check(not t.exists("settings.json"))


def repository(t, top):
    os.makedirs(top, exist_ok=True)
    for words in (("init", "-q"), ("config", "user.email", "a@b"),
                  ("config", "user.name", "n")):
        t.outside("git", *words, cwd=top).ok()
    return top


@test
def git_works_from_a_subdirectory(t):
    """The project is the git work tree around the start directory"""
    need("git")
    top = repository(t, os.path.join(t.dir, "mono"))
    sub = os.path.join(top, "packages/a")
    os.makedirs(sub)
    r = t.shell("echo a > x && git add x && git commit -qm m && echo y > ../../top",
                cwd=sub).ok()
    lacks(r.err, "refused")
    equal(t.outside("git", "ls-files", cwd=top).ok().out, "packages/a/x\n")
    check(os.path.exists(os.path.join(top, "top")))
    equal(t.run("policy", "show", cwd=sub).ok().out.splitlines()[0],
          f"project: {top}")
    contains(t.run("explain", cwd=sub).ok().out, f"project {top} ")
    # What is protected is protected in all of it
    r = t.shell("echo x > ../../.git/hooks/post-commit; echo x > ../../.bashrc;"
                "echo x > ../../.claude/settings.json; git config alias.x '!sh';"
                "true", cwd=sub).ok()
    for name in (".git/hooks/post-commit", ".bashrc", ".claude/settings.json"):
        check(not os.path.exists(os.path.join(top, name)), name)
    lacks(open(os.path.join(top, ".git/config")).read(), "alias")


@test
def runs_of_a_project_share_their_tmp(t):
    need("git")
    top = repository(t, os.path.join(t.dir, "mono"))
    os.mkdir(os.path.join(top, "sub"))
    t.shell("echo x > /tmp/shared", cwd=top).ok()
    equal(t.shell("cat /tmp/shared", cwd=os.path.join(top, "sub")).ok().out,
          "x\n")


@test
def settings_of_a_project_apply_in_its_subdirectories(t):
    need("git")
    top = repository(t, os.path.join(t.dir, "mono"))
    sub = os.path.join(top, "sub")
    os.mkdir(sub)
    t.write("mono/.env", "S")
    equal(t.shell("cat ../.env", cwd=sub).ok().out, "S")
    t.write("mono/.cloche.json", '{"filesystem": {"denyRead": [".env"]}}')
    lacks(t.shell("cat ../.env", cwd=sub).out, "S")
    # A repository that a command makes below does not shake them off
    t.shell("git init -q sub", cwd=top).ok()
    lacks(t.shell("cat ../.env", cwd=sub).out, "S")
    check(not t.shell("echo x > ../y", cwd=sub).code == 0)


def stays_narrow(t, top, sub, **more):
    r = t.shell("echo x > ../widened; true", cwd=sub, **more).ok()
    check(not os.path.lexists(os.path.join(top, "widened")), repr(r))
    return r


@test
def a_repository_made_by_a_command_does_not_widen_the_project(t):
    """It does once a run was started in its top directory"""
    need("git")
    top = os.path.join(t.dir, "all")
    sub = os.path.join(top, "one")
    os.makedirs(sub)
    t.shell("git init -q .", cwd=top).ok()
    r = stays_narrow(t, top, sub)
    contains(r.err, f"the repository '{top}' was made by a sandboxed command")
    contains(r.err, f"start in '{top}' once")
    t.run("explain", cwd=top).ok()
    stays_narrow(t, top, sub)
    t.shell("true", cwd=top).ok()
    t.shell("echo x > ../widened", cwd=sub).ok()
    check(os.path.exists(os.path.join(top, "widened")))


@test
def a_clone_made_by_a_command_is_a_project(t):
    need("git")
    repository(t, os.path.join(t.dir, "from"))
    t.shell("git -C from commit -q --allow-empty -m m || true; git clone -q from to;"
            "mkdir to/sub").ok()
    r = t.shell("echo x > x && git add x",
                cwd=os.path.join(t.dir, "to/sub")).ok()
    lacks(r.err, "made by")


@test
def a_forged_work_tree_does_not_widen_the_project(t):
    need("git")
    sub = os.path.join(t.dir, "p/sub")
    top = os.path.dirname(sub)
    git = os.path.join(top, ".git")
    other = repository(t, os.path.join(t.dir, "other"))
    os.makedirs(sub)

    def gone():
        t.outside("rm", "-rf", git).ok()
    os.mkdir(git)				# Empty
    stays_narrow(t, top, sub)
    gone()
    t.write("p/.git", f"gitdir: {other}/.git\n")	# Another's
    stays_narrow(t, top, sub)
    gone()
    os.symlink(f"{other}/.git", git)
    stays_narrow(t, top, sub)
    gone()
    repository(t, top)
    t.outside("git", "config", "core.worktree", t.home, cwd=top).ok()
    stays_narrow(t, top, sub)
    gone()
    repository(t, top)
    os.chmod(top, 0o1777)			# Any user could have made it
    stays_narrow(t, top, sub)
    os.chmod(top, 0o755)			# The control
    t.shell("echo x > ../widened", cwd=sub).ok()


@test
def a_work_tree_that_contains_the_home_is_not_a_project(t):
    """A home that is itself a git work tree, for dotfiles"""
    need("git")
    repository(t, t.home)
    p = os.path.join(t.home, "p")
    os.mkdir(p)
    stays_narrow(t, t.home, p)
    t.shell("echo x > here", cwd=p).ok()


main()
