# SPDX-License-Identifier: Apache-2.0
"""tests/peers/clients.py - programs that call bwrap, on ours

flatpak runs an app that is made here; GNOME's desktop library makes a
thumbnail; and bubblewrap's own tests, from Debian's source package, run as they
are. tests/peers/clients gets what they need; only in the long run.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

BIN = os.path.dirname(CLOCHE)
BWRAP = BIN + "/bwrap"

THUMBNAIL = """
import gi, sys
gi.require_version('GnomeDesktop', '3.0')
from gi.repository import GnomeDesktop, GdkPixbuf
picture = GdkPixbuf.Pixbuf.new(GdkPixbuf.Colorspace.RGB, False, 8, 600, 300)
picture.fill(0x336699ff)
picture.savev(sys.argv[1], 'png', [], [])
factory = GnomeDesktop.DesktopThumbnailFactory.new(
    GnomeDesktop.DesktopThumbnailSize.NORMAL)
small = factory.generate_thumbnail('file://' + sys.argv[1], 'image/png')
print(small.get_width(), small.get_height(), small.get_pixels()[:3].hex())
"""


@test
def gdk_pixbuf_makes_a_thumbnail_through_bwrap(t):
    need("gdk-pixbuf-thumbnailer")
    t.write(t.away + "/bwrap", f"#!/bin/sh\necho used > {t.away}/used\n"
                               f'exec {BWRAP} "$@"\n', 0o755)
    r = t.outside("/usr/bin/python3", "-c", THUMBNAIL, t.home + "/in.png",
                  env={"PATH": t.away + ":" + os.environ["PATH"]})
    if "Namespace GnomeDesktop not available" in r.err or "No module" in r.err:
        skip("needs gir1.2-gnomedesktop-3.0 and python3-gi")
    equal(r.ok().out, "128 64 336699\n")
    equal(t.read(t.away + "/used"), "used\n")


METADATA = """[{kind}]
name={name}
runtime=org.test.Platform/{arch}/1
sdk=org.test.Platform/{arch}/1
command=hello
[Context]
filesystems={share};
"""
HELLO = """#!/bin/sh
echo hello; id -u; ls /; head -n 2 /.flatpak-info; ps | wc -l; ls %s; exit 9
"""


def flatpak(t, *words, **more):
    """On a bus of its own, which is the system's bus as well"""
    return t.outside("dbus-run-session", "--", "sh", "-c",
                     'DBUS_SYSTEM_BUS_ADDRESS=$DBUS_SESSION_BUS_ADDRESS; '
                     'export DBUS_SYSTEM_BUS_ADDRESS; exec flatpak "$@"', "x",
                     *words, timeout=RUN_SECONDS, **more)


def make_app(t, share):
    """A runtime that is one busybox, and an app that is one script"""
    arch = os.uname().machine
    os.makedirs("rt/usr/bin")
    os.makedirs("rt/usr/etc")
    os.makedirs("rt/files")
    shutil.copy(need("busybox"), "rt/usr/bin/busybox")
    for name in ("sh", "ls", "id", "head", "ps", "wc"):
        os.symlink("busybox", "rt/usr/bin/" + name)
    t.write("rt/metadata", METADATA.format(
        kind="Runtime", name="org.test.Platform", arch=arch, share=share))
    t.write("app/metadata", METADATA.format(
        kind="Application", name="org.test.Hello", arch=arch, share=share))
    t.write("app/files/bin/hello", HELLO % share, 0o755)
    os.mkdir("app/export")
    flatpak(t, "build-export", "--runtime", "repo", "rt", "1").ok()
    flatpak(t, "build-export", "repo", "app", "1").ok()
    flatpak(t, "--user", "remote-add", "--no-gpg-verify", "test",
            "file://" + t.dir + "/repo").ok()
    for name in ("org.test.Platform", "org.test.Hello"):
        flatpak(t, "--user", "install", "-y", "--noninteractive", "test",
                name + "//1").ok()


@test
def flatpak_runs_an_app(t):
    for program in ("flatpak", "dbus-run-session", "bwrap"):
        need(program)
    t.write(t.away + "/share/shared")
    os.environ["XDG_RUNTIME_DIR"] = t.away
    os.chmod(t.away, 0o700)
    make_app(t, t.away + "/share")
    want, got = (flatpak(t, "--user", "run", "org.test.Hello",
                         env={"FLATPAK_BWRAP": program})
                 for program in (need("bwrap"), BWRAP))
    contains(want.out, "hello\n", "the control", repr(want))
    contains(want.out, "shared\n")
    equal((got.code, got.out), (want.code, want.out), got.err)


def own_test(t, name):
    here = BIN + "/bubblewrap-tests"
    if not os.path.isdir(here):
        skip("needs bubblewrap's source, which tests/peers/clients gets")
    script = here + "/" + name
    r = t.outside("/usr/bin/python3" if name.endswith(".py") else "bash",
                  script, env={"BWRAP": BWRAP, "BWRAP_MUST_WORK": "1",
                               "G_TEST_BUILDDIR": BIN + "/bubblewrap-build",
                               "TMPDIR": "/var/tmp"}, timeout=RUN_SECONDS)
    if "SKIP cannot import seccomp" in r.out:
        skip("needs python3-seccomp")
    check(r.code == 0 and "\nok" in "\n" + r.out and "\nnot ok" not in r.out,
          name, repr(r))


for own in ("test-run.sh", "test-specifying-userns.sh",
            "test-specifying-pidns.sh", "test-seccomp.py"):
    def body(t, name=own):
        own_test(t, name)
    body.__name__ = "bubblewraps_own_" + re.sub(r"\W", "_", own)
    test(body)

main()
