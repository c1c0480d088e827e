/* SPDX-License-Identifier: Apache-2.0 */
/* cage/tree-fd.c - trees of mounts by their descriptors */

#include <fcntl.h>
#include <linux/mount.h>
#include <stdint.h>
#include <sys/mount.h>

#include "base/err.h"
#include "base/sys.h"
#include "cage/box.h"

enum {
	CLONE_TREE = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
		     AT_EMPTY_PATH,
};

int tree_clone(int fd, struct err *err, const char *path)
{
	const int tree = sys_open_tree(fd, "", CLONE_TREE);

	if (tree < 0)
		return fail_errno(err, "cannot clone the mount at '%s'", path);
	return tree;
}

int tree_attach(int tree, int at, struct err *err, const char *path)
{
	if (sys_move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH |
					     MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return fail_errno(err, "cannot mount on '%s'", path);
	return 0;
}

int tree_set(int tree, uint64_t set, uint64_t clear, struct err *err,
	     const char *path)
{
	const struct mount_attr attr = {
		.attr_set = set | MOUNT_ATTR_NOSUID,
		.attr_clr = clear,
		.propagation = MS_PRIVATE,
	};

	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE,
			      &attr) < 0)
		return fail_errno(err, "cannot restrict the mount at '%s'",
				  path);
	return 0;
}

int tree_open(const char *path, struct err *err)
{
	const int fd = sys_open_nofollow(AT_FDCWD, path, O_PATH | O_NOFOLLOW,
					 0);

	if (fd < 0)
		return fail_errno(err, "cannot open '%s'", path);
	return fd;
}
