# SPDX-License-Identifier: Apache-2.0
"""tests/live/nsswitch.py - host names as /etc/nsswitch.conf has them

cloche is linked statically and knows the modules "files" and "dns"; for others
the resolver becomes a program with the system's library.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from tap import *

NAME = "named.cloche.test"

# Both files are this test's in a mount namespace of its own. Which program the
# resolver is, is looked up from outside the sandbox while it waits.
ROOM = """
mount --bind "$1/hosts" /etc/hosts && mount --bind "$1/nsswitch" \
/etc/nsswitch.conf && mkfifo asked seen || exit 99
{ "$2" run --no-settings --allow NAME -- sh -c '
  curl -sS -o /dev/null http://NAME/ >&2; echo > asked; cat seen' || echo >> asked; } &
read _ < asked
for exe in /proc/[0-9]*/exe; do
  comm=$(cat "${exe%/exe}/comm" 2>/dev/null)
  [ "$comm" = cloche-resolve ] && basename "$(readlink "$exe")"
done
echo > seen
wait
rm asked seen
""".replace("NAME", NAME)


def resolver_for(t, line):
    """Run curl with that nsswitch.conf: (the resolvers' programs, stderr)"""
    need("curl")
    need("unshare")
    os.makedirs(t.root + "/etc", exist_ok=True)
    t.write(t.root + "/etc/hosts", f"127.0.0.1 localhost\n127.7.7.7 {NAME}\n")
    t.write(t.root + "/etc/nsswitch", f"passwd: files\nhosts: {line}\n")
    r = t.outside("unshare", "--user", "--map-root-user", "--mount", "--pid",
                  "--fork", "--mount-proc", "bash", "-c", ROOM, "bash",
                  t.root + "/etc", os.environ["CLOCHE"])
    r.ended(0)
    return set(r.out.split()), r.err


def is_static():
    with open(os.environ["CLOCHE"], "rb") as program:
        return b"ld-linux" not in program.read(4096)


@test
def nsswitch_with_files_and_dns_uses_the_built_in_resolver(t):
    programs, err = resolver_for(t, "files dns")
    equal(programs, {os.path.basename(os.environ["CLOCHE"])})
    # The name is allowed: what is missing is the address
    contains(err, "(resolved to a loopback address; run it again with --allow 127.7.7.7)\n")


@test
def other_nsswitch_modules_use_the_systems_resolver(t):
    programs, err = resolver_for(t, "files myhostname")
    equal(programs, {"cloche-resolve" if is_static()
                     else os.path.basename(os.environ["CLOCHE"])})
    contains(err, "resolved to a loopback address")


main()
