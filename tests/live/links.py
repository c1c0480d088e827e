# SPDX-License-Identifier: Apache-2.0
"""tests/live/links.py - rules and symbolic links"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from refusals import need_fuse
from tap import *


@test
def rules_apply_to_the_target_of_a_symlink(t):
    t.write(t.away + "/target", "old")
    os.symlink(t.away + "/target", t.dir + "/link")
    t.shell("echo new > link")
    equal(t.read(t.away + "/target"), "old")
    t.write("secret", "SECRET")
    os.symlink("secret", t.dir + "/alias")
    r = t.shell("cat secret alias", options=["--deny-read", "alias"])
    equal(r.out, "", "both the link and its target")
    # As a pattern finds it, or where a pattern begins
    os.mkdir(t.away + "/far")
    t.write(t.away + "/far/x.key", "SECRET")
    os.symlink(t.away + "/far", t.dir + "/far")
    for rule in ("**/ali?s", "al*"):
        r = t.shell("cat secret alias; echo x >> alias; echo x >> secret",
                    options=["--deny-read", rule])
        equal(r.out, "", rule)
        t.shell("echo x >> alias; echo x >> secret",
                options=["--deny-write", rule])
        equal(t.read("secret"), "SECRET", rule)
    for rule in ("far/*.key", "**/*.key", "f*/x.key"):
        r = t.shell(f"cat far/x.key {t.away}/far/x.key",
                    options=["--deny-read", rule])
        equal(r.out, "", rule)
    equal(t.shell("cat alias far/x.key").ok().out, "SECRETSECRET")


@test
def a_symlinked_home_is_treated_as_the_home(t):
    """Hidden files there are reported, and the whole directory is never suggested"""
    need_fuse()
    t.write(t.home + "/.ssh/id_rsa", "SECRET")
    os.symlink(t.home, t.away + "/home")
    for home in (t.home, t.away + "/home"):
        r = t.shell("cat ~/.ssh/id_rsa; echo x > ~/x", env={"HOME": home})
        contains(r.err, f"read {t.home}/.ssh/id_rsa (SSH private keys")
        contains(r.err, f" cloche policy allow write {t.home}/x\n")


@test
def a_denied_symlink_hides_its_target_in_an_unreadable_directory(t):
    """In tier full the command cannot open the directory again either (view/walk.c)"""
    t.write("a/b/c/d/conf/.env", "SECRET")
    os.symlink("a/b/c/d/conf/.env", t.dir + "/link")
    os.symlink("other", t.dir + "/chain")
    os.symlink(t.dir + "/link", t.dir + "/other")
    os.symlink("a/b/c/d/conf", t.dir + "/linked")
    script = "chmod 755 a/b/c/d/conf; cat a/b/c/d/conf/.env"
    for tier in ("full", "landlock"):
        options = ["--observe", "off", "--tier", tier]
        for rule in ("link", "chain", "linked/.env", "**/lin?", "linked/.*v"):
            for mode in ("755", "600", "000"):
                os.chmod(t.dir + "/a/b/c/d/conf", int(mode, 8))
                r = t.shell(script, options=[*options, "--deny-read", rule])
                os.chmod(t.dir + "/a/b/c/d/conf", 0o755)
                lacks(r.out, "SECRET", tier, rule, mode)
        equal(t.shell(script, options=options).ok().out, "SECRET", tier)


@test
def symlinks_to_roots_outside_the_home_work(t):
    """Where a link may be anybody's: neither in the home nor among temporary
    files. What is made there may be a link; what is reached by one is a root
    like any other.
    """
    rules = '{"filesystem": {"allowWrite": ["/mnt/system/w", "/mnt/new"]}}'
    r = t.outside(need("unshare"), "-Urm", "sh", "-c", f"""
mount -t tmpfs none /mnt && mkdir -p /mnt/real/w /mnt/victim
ln -s real /mnt/system
inside() {{ {CLOCHE} run -s '{rules}' -- sh -c "$1"; }}
inside 'ln -s victim /mnt/new; cd /mnt/system/w; mkdir d; > f; echo x > .bashrc'
ls -A /mnt/real/w; readlink /mnt/new
inside 'echo x > /mnt/new/x; echo x > /mnt/victim/x'
ls -A /mnt/victim
""")
    equal(r.out, "d\nf\nvictim\n", r.err)
    contains(r.err, "write /mnt/real/w/.bashrc")
    contains(r.err, "symbolic link '/mnt/new'")


main()
