# SPDX-License-Identifier: Apache-2.0
"""tests/harness/alone.py - a machine on which nobody else makes or removes files

Where / may be written, all of it is searched: how much that is depends on the machine,
protected names that others make meanwhile are plants, and those that others remove make
a plan stale. So what is not the system's is covered, the rooms of other tests (tools/as)
among it, and nothing but a test's own directories can be written.
"""

import os

ALONE = """set -e
room=${CLOCHE_ROOM:-}
for place in /*; do
	case $place in
	/bin | /boot | /dev | /etc | /home | /lib* | /opt | /proc | /root | /run | /sbin | \\
		/srv | /sys | /tmp | /usr | /var) ;;
	*) [ ! -d "$place" ] || [ -L "$place" ] || mount -t tmpfs t "$place" ;;
	esac
done
if [ "${room%/*}" = /opt ]; then
	mount --rbind "$room" /mnt
	mount -t tmpfs t /opt
	mkdir "$room"
	mount -n --move /mnt "$room"
fi
mount -t tmpfs -o mode=1777 t /var/tmp
mount -o remount,bind,ro /
mount -t tmpfs -o mode=1777 t /tmp
exec setpriv --inh-caps=-all --ambient-caps=-all "$@"
"""


def alone(t, *argv, **more):
    """Run @argv there; a Result"""
    ways = ["-m"] if os.getuid() == 0 else ["-Um", "--map-current-user", "--keep-caps"]
    return t.outside("unshare", *ways, "sh", "-c", ALONE, "sh", *argv, **more)
