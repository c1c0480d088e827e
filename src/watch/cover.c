/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/cover.c - what the keeper mounts: masks and read-only binds, one by one
 *
 * The unreadable file is the null device, mounted so that devices do not
 * open: reading and writing it are EACCES. It needs no file of ours that the
 * sandbox could find.
 */

#include "watch/cover.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/own.h"
#include "base/sys.h"

int cover_look(const char *path, struct statx *x)
{
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
		  AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, x) < 0)
		return -ENOENT;
	return x->stx_attributes & STATX_ATTR_MOUNT_ROOT ? 1 : 0;
}

int cover_make_tmpfs(void)
{
	auto_close int fs = sys_fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0555", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY |
			   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

int cover_set_read_only(int tree)
{
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV,
		.propagation = MS_PRIVATE,
	};

	return sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);
}

int cover_make(enum mount_kind kind, int at, bool dir)
{
	auto_close int tree = -1;

	if (kind != MOUNT_BIND_RO && dir)
		return cover_make_tmpfs();
	tree = kind == MOUNT_BIND_RO ?
	       sys_open_tree(at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			     AT_EMPTY_PATH | AT_RECURSIVE) :
	       sys_open_tree(AT_FDCWD, "/dev/null", OPEN_TREE_CLONE |
			     OPEN_TREE_CLOEXEC);
	if (tree < 0 || cover_set_read_only(tree) < 0)
		return -1;
	return take_fd(&tree);
}

int cover_attach(int tree, int at)
{
	return sys_move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH |
			      MOVE_MOUNT_T_EMPTY_PATH);
}
