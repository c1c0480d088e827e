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
def nothing_in_the_home_is_writable_when_started_there(t):
    says_no_project(t, t.home)
    t.run("policy", "why", "write", "x", cwd=t.home).ended(1)
    # The control: a directory in it is a project
    os.mkdir(os.path.join(t.home, "p"))
    r = t.shell("echo x > here", cwd=os.path.join(t.home, "p")).ok()
    lacks(r.err, "is writable")
    check(os.path.exists(os.path.join(t.home, "p/here")))


@test
def nor_in_what_holds_the_home(t):
    says_no_project(t, os.path.dirname(t.home))


@test
def nor_in_a_home_behind_a_link(t):
    link = os.path.join(t.away, "link")
    os.symlink(t.home, link)
    says_no_project(t, t.home, env={"HOME": link})


@test
def nor_in_the_home_of_the_password_database(t):
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
def what_is_named_in_the_home_is_writable_and_nothing_else(t):
    os.mkdir(os.path.join(t.home, "p"))
    r = t.shell("echo x > p/y; echo x > z; true", cwd=t.home,
                options=("--write", "p")).ok()
    lacks(r.err, "nothing in")
    check(os.path.exists(os.path.join(t.home, "p/y")))
    check(not os.path.exists(os.path.join(t.home, "z")))


@test
def a_linked_directory_of_an_agent_is_held_with_its_target(t):
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
def a_linked_directory_outside_changes_nothing(t):
    os.makedirs(os.path.join(t.away, "claude/commands"))
    os.symlink(os.path.join(t.away, "claude"), ".claude")
    r = t.shell("echo x > .claude/commands/a; rm .claude; echo ran > beside; true")
    r.ok()
    equal(t.read("beside"), "ran\n")
    check(os.path.islink(".claude"))
    equal(os.listdir(os.path.join(t.away, "claude/commands")), [])


@test
def a_link_to_the_project_itself_protects_the_names_there(t):
    os.symlink(".", ".claude")
    t.write("commands/a", "A")
    t.shell("echo B > commands/a; echo x > settings.json; echo ran > beside; true").ok()
    equal(t.read("beside"), "ran\n")
    equal(t.read("commands/a"), "A")
    check(not t.exists("settings.json"))


main()
