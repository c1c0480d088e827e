/* SPDX-License-Identifier: Apache-2.0 */
/* cage/frame-dev.c - new file systems of a frame: tmpfs, and what fills /dev */

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/frame-tree.h"

static const char *const nodes[FRAME_NODES] = {
	"null", "zero", "full", "random", "urandom", "tty", "console",
};

static const struct {
	const char *target, *name;
} links[] = {
	{ "/proc/self/fd/0", "stdin" },
	{ "/proc/self/fd/1", "stdout" },
	{ "/proc/self/fd/2", "stderr" },
	{ "/proc/self/fd", "fd" },
	{ "/proc/kcore", "core" },
	{ "pts/ptmx", "ptmx" },
};

/* A mount of its own, not attached anywhere. @options end with NULL; one
 * without a value is a flag.
 */
int frame_new_fs(const char *type, const char *const (*options)[2],
		 uint64_t attr, struct err *err)
{
	auto_close int fs = sys_fsopen(type, FSOPEN_CLOEXEC);
	int fd = -1;

	if (fs >= 0)
		(void)sys_fsconfig(fs, FSCONFIG_SET_STRING, "source", type, 0);
	for (; fs >= 0 && options && (*options)[0]; options++) {
		if (sys_fsconfig(fs, (*options)[1] ? FSCONFIG_SET_STRING
						   : FSCONFIG_SET_FLAG,
				 (*options)[0], (*options)[1], 0) < 0)
			return fail_errno(err, "Can't configure %s", type);
	}
	if (fs >= 0 && sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = sys_fsmount(fs, FSMOUNT_CLOEXEC, (unsigned int)attr);
	if (fd < 0)
		return fail_errno(err, "Can't make a new %s", type);
	return fd;
}

int frame_new_tmpfs(mode_t mode, uint64_t size, struct err *err)
{
	char mode_text[16], size_text[32];
	const char *const options[][2] = {
		{ "mode", mode_text }, { size ? "size" : NULL, size_text },
		{ NULL },
	};

	snprintf(mode_text, sizeof(mode_text), "%o", mode);
	snprintf(size_text, sizeof(size_text), "%llu",
		 (unsigned long long)size);
	return frame_new_fs("tmpfs", options,
			    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
}

/* A device of the host by itself; -ENOENT for a terminal that there is not */
static int clone_node(size_t i)
{
	const struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID };
	char path[64];
	int fd;

	if (i == FRAME_CONSOLE) {
		if (!isatty(STDOUT_FILENO) ||
		    ttyname_r(STDOUT_FILENO, path, sizeof(path)) != 0)
			return -ENOENT;
	} else {
		snprintf(path, sizeof(path), "/dev/%s", nodes[i]);
	}
	fd = sys_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE |
					   OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (fd < 0 || sys_mount_setattr(fd, "", AT_EMPTY_PATH, &attr) < 0) {
		close_fd(&fd);
		return -errno;
	}
	return fd;
}

int frame_take_nodes(struct frame_tree *tree, struct err *err)
{
	for (size_t i = 0; i < FRAME_NODES; i++) {
		const int fd = clone_node(i);

		if (fd < 0 && i != FRAME_CONSOLE)
			return fail(err, fd, "Can't bind mount /dev/%s: %s",
				    nodes[i], strerror(-fd));
		tree->nodes[i] = fd < 0 ? -1 : fd;
	}
	return 0;
}

/* A file of that name with the device on it */
static int add_node(struct frame_tree *tree, int dev, size_t i,
		    struct err *err)
{
	auto_close int node = take_fd(&tree->nodes[i]);

	if (node < 0 && !tree->in_place)
		node = clone_node(i);
	if (node < 0 && i == FRAME_CONSOLE)
		return 0;
	if (node < 0 ||
	    mknodat(dev, nodes[i], S_IFREG | 0444, 0) < 0 ||
	    sys_move_mount(node, "", dev, nodes[i],
			   MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return fail_errno(err, "Can't bind mount /dev/%s", nodes[i]);
	return 0;
}

static int add_pts(int dev, struct err *err)
{
	static const char *const options[][2] = {
		{ "newinstance", NULL }, { "ptmxmode", "0666" },
		{ "mode", "620" }, { NULL },
	};
	auto_close int tree = frame_new_fs("devpts", options,
					   MOUNT_ATTR_NOSUID |
					   MOUNT_ATTR_NOEXEC, err);

	if (tree < 0)
		return tree;
	if (sys_move_mount(tree, "", dev, "pts", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return fail_errno(err, "Can't mount devpts");
	return 0;
}

int frame_fill_dev(struct frame_tree *tree, int dev, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < FRAME_NODES; i++)
		r = add_node(tree, dev, i, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(links); i++) {
		if (symlinkat(links[i].target, dev, links[i].name) < 0)
			r = fail_errno(err, "Can't create symlink %s",
				       links[i].name);
	}
	if (r == 0 && (mkdirat(dev, "shm", 0755) < 0 ||
		       mkdirat(dev, "pts", 0755) < 0))
		r = fail_errno(err, "Can't create a directory in /dev");
	return r < 0 ? r : add_pts(dev, err);
}

/* Where we could write to them, by whatever right, they become read-only */
int frame_cover_proc(int proc, struct err *err)
{
	static const char *const names[] = {
		"sys", "sysrq-trigger", "irq", "bus",
	};
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV,
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_close int tree = -1;

		if (faccessat(proc, names[i], W_OK, AT_EACCESS) < 0) {
			if (errno == EACCES || errno == ENOENT ||
			    errno == EROFS)
				continue;
			return fail_errno(err, "Can't access %s of proc",
					  names[i]);
		}
		tree = sys_open_tree(proc, names[i], OPEN_TREE_CLONE |
				     OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		if (tree < 0 ||
		    sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE,
				      &attr) < 0 ||
		    sys_move_mount(tree, "", proc, names[i],
				   MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return fail_errno(err, "Can't make %s of proc read-only",
					  names[i]);
	}
	return 0;
}
