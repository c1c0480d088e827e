/* SPDX-License-Identifier: Apache-2.0 */
/* tests/attack/probe-ns.c - attempts on namespaces and mounts */

#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Not <sys/mount.h>: it and <linux/mount.h> do not go together */
enum { BIND = 4096, REMOUNT = 32, DETACH = 2 };

int ns_setns(char **argv)
{
	const int fd = open(argv[0], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : probe_result(setns(fd, 0));
}

int ns_chroot(char **argv)
{
	return probe_result(chroot(argv[0]));
}

int ns_pivot_root(char **argv)
{
	return probe_result(syscall(SYS_pivot_root, argv[0], argv[1]));
}

int ns_mount_tmpfs(char **argv)
{
	return probe_result(syscall(SYS_mount, "none", argv[0], "tmpfs", 0L,
				    NULL));
}

int ns_bind(char **argv)
{
	return probe_result(syscall(SYS_mount, argv[0], argv[1], NULL,
				    (long)BIND, NULL));
}

int ns_remount_rw(char **argv)
{
	return probe_result(syscall(SYS_mount, NULL, argv[0], NULL,
				    (long)(BIND | REMOUNT), NULL));
}

int ns_umount(char **argv)
{
	return probe_result(syscall(SYS_umount2, argv[0], (long)DETACH));
}

int ns_open_tree(char **argv)
{
	return probe_result(syscall(SYS_open_tree, AT_FDCWD, argv[0],
				    OPEN_TREE_CLONE));
}

int ns_move_mount(char **argv)
{
	return probe_result(syscall(SYS_move_mount, AT_FDCWD, argv[0],
				    AT_FDCWD, argv[1], 0));
}

int ns_fsopen(char **argv)
{
	return probe_result(syscall(SYS_fsopen, argv[0], 0));
}

int ns_setattr(char **argv)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	return probe_result(syscall(SYS_mount_setattr, AT_FDCWD, argv[0], 0,
				    &attr, sizeof(attr)));
}
