/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/mount-fd.c - mounts by their descriptors: clone, restrict, attach, make */

#include "sandbox/mount-fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "view/view.h"

enum {
	CLONE_TREE = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE,
	OPTION_MAX = 255,	/* Bytes of a value of fsconfig() */
};

int tree_open(const char *path, struct err *err)
{
	const int fd = sys_open_nofollow(AT_FDCWD, path, O_PATH | O_NOFOLLOW,
					 0);

	if (fd < 0)
		return fail_errno(err, "cannot open '%s'", path);
	return fd;
}

int tree_clone(int fd, struct err *err, const char *path)
{
	const int tree = open_tree(fd, "", CLONE_TREE | AT_EMPTY_PATH);

	if (tree < 0)
		return fail_errno(err, "cannot clone the mount at '%s'", path);
	return tree;
}

int tree_attach(int tree, int at, struct err *err, const char *path)
{
	if (move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH |
					     MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return fail_errno(err, "cannot mount on '%s'", path);
	return 0;
}

int tree_attr(int dir, const char *name, unsigned int flags, uint64_t set,
	      uint64_t clear)
{
	const struct mount_attr attr = {
		.attr_set = set, .attr_clr = clear, .propagation = MS_PRIVATE,
	};

	return sys_mount_setattr(dir, name, flags | (*name ? 0 : AT_EMPTY_PATH),
				 &attr);
}

int tree_set(int tree, uint64_t set, uint64_t clear, struct err *err,
	     const char *path)
{
	if (tree_attr(tree, "", AT_RECURSIVE, set | MOUNT_ATTR_NOSUID,
		      clear) < 0)
		return fail_errno(err, "cannot restrict the mount at '%s'",
				  path);
	return 0;
}

int tree_seal(int dir, const char *name)
{
	auto_close int tree = open_tree(dir, name, CLONE_TREE |
					    AT_SYMLINK_NOFOLLOW);

	return tree < 0 ||
	       tree_attr(tree, "", AT_RECURSIVE, MOUNT_ATTR_RDONLY |
			 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0) < 0 ||
	       move_mount(tree, "", dir, name,
			      MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

/* @r is 0 if all options were taken */
static int mount_create(int fs, int r, unsigned int attr)
{
	if (r == 0)
		r = fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (r == 0)
		r = fsmount(fs, FSMOUNT_CLOEXEC, attr);
	return r < 0 ? -errno : r;
}

int mount_new(const char *type, const char *const (*options)[2],
	      unsigned int attr)
{
	auto_close int fs = fsopen(type, FSOPEN_CLOEXEC);
	int r = fs < 0 ? -1 : 0;

	for (; r == 0 && options && (*options)[0]; options++)
		r = fsconfig(fs, (*options)[1] ? FSCONFIG_SET_STRING
						   : FSCONFIG_SET_FLAG,
				 (*options)[0], (*options)[1], 0);
	return mount_create(fs, r, attr);
}

int mount_new_devpts(void)
{
	static const char *const options[][2] = {
		{ "source", "devpts" }, { "newinstance", NULL },
		{ "ptmxmode", "0666" }, { "mode", "620" }, { NULL },
	};

	return mount_new("devpts", options,
			 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}

static int set_dir(int fs, const char *key, const char *fds, int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "%s%d", fds, fd);
	return fsconfig(fs, FSCONFIG_SET_STRING, key, path, 0);
}

static int set_lower(int fs, const char *fds, const int *lower, size_t n)
{
	auto_buf struct buf list = { 0 };
	int r = 0;

	for (size_t i = 0; i < n; i++)
		buf_addf(&list, "%s%s%d", i ? ":" : "", fds, lower[i]);
	if (list.len <= OPTION_MAX)
		return fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir",
				    buf_str(&list), 0);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = set_dir(fs, "lowerdir+", fds, lower[i]);
	return r;
}

int mount_new_overlay(const char *fds, const int *lower, size_t n, int upper,
		      int work)
{
	auto_close int fs = fsopen("overlay", FSOPEN_CLOEXEC);
	int r = fs < 0 ? -1 : set_lower(fs, fds, lower, n);

	if (r == 0 && upper >= 0)
		r = set_dir(fs, "upperdir", fds, upper);
	if (r == 0 && upper >= 0)
		r = set_dir(fs, "workdir", fds, work);
	if (r == 0)
		r = fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0);
	if (r == 0)
		r = fsconfig(fs, FSCONFIG_SET_STRING, "source", "overlay",
				 0);
	return mount_create(fs, r, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

int dev_furnish(int dev, mode_t shm, struct err *err)
{
	static const char *const links[][2] = {
		{ "/proc/self/fd", "fd" }, { "/proc/self/fd/0", "stdin" },
		{ "/proc/self/fd/1", "stdout" },
		{ "/proc/self/fd/2", "stderr" }, { "pts/ptmx", "ptmx" },
	};

	if (mkdirat(dev, "shm", shm) < 0 || mkdirat(dev, "pts", 0755) < 0)
		return fail_errno(err, "cannot make a directory in /dev");
	for (size_t i = 0; i < VIEW_DEVICES; i++) {
		if (mknodat(dev, view_devices[i], S_IFREG | 0444, 0) < 0)
			return fail_errno(err, "cannot make '/dev/%s'",
					  view_devices[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		if (symlinkat(links[i][0], dev, links[i][1]) < 0)
			return fail_errno(err, "cannot link '/dev/%s'",
					  links[i][1]);
	}
	return 0;
}
