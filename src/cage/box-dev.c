/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/box-dev.c - the sandbox's own /dev
 *
 * It is put together in the box, before there is a plan, and moved to its place
 * when all else stands: from then on the box itself is out of sight.
 */

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
#include "cage/box.h"
#include "cage/cage.h"

static const char *const nodes[] = {
	"null", "zero", "full", "random", "urandom", "tty",
};

static const struct {
	const char *target, *name;
} links[] = {
	{ "/proc/self/fd", "dev/fd" },
	{ "/proc/self/fd/0", "dev/stdin" },
	{ "/proc/self/fd/1", "dev/stdout" },
	{ "/proc/self/fd/2", "dev/stderr" },
	{ "pts/ptmx", "dev/ptmx" },
};

static const struct {
	const char *name;
	mode_t mode;
} dirs[] = {
	{ "dev", 0755 }, { "dev/shm", 01777 }, { "dev/pts", 0755 },
};

/* The caller's terminal, to be /dev/console: a private devpts has no name for
 * it, and ttyname() looks in /dev. Read-only, like all devices, and for the same
 * reason. Nothing depends on it.
 */
static int clone_terminal(int host, const char *name)
{
	static const struct mount_attr closed = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
	};
	auto_close int tree = sys_open_tree(host, name, OPEN_TREE_CLONE |
					    OPEN_TREE_CLOEXEC);

	if (tree < 0 ||
	    sys_mount_setattr(tree, "", AT_EMPTY_PATH, &closed) < 0)
		return -1;
	return take_fd(&tree);
}

int box_terminal(const struct box *box, const struct cage_request *request)
{
	for (size_t i = 0; i < ARRAY_SIZE(request->stdio); i++) {
		char link[32], path[64];
		struct stat st, named;
		ssize_t n;

		if (request->stdio[i] < 0 || !isatty(request->stdio[i]))
			continue;
		snprintf(link, sizeof(link), "/proc/self/fd/%d",
			 request->stdio[i]);
		n = readlink(link, path, sizeof(path) - 1);
		path[n > 0 ? n : 0] = '\0';
		if (!strncmp(path, "/dev/", 5) &&
		    fstat(request->stdio[i], &st) == 0 &&
		    fstatat(box->host, path + 5, &named,
			    AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_rdev == named.st_rdev && st.st_ino == named.st_ino)
			return clone_terminal(box->host, path + 5);
	}
	return -1;
}

int box_furnish_dev(int box, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(dirs); i++)
		r = box_make_dir(box, dirs[i].name, dirs[i].mode, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(nodes); i++) {
		char path[32];

		snprintf(path, sizeof(path), "dev/%s", nodes[i]);
		r = box_make_file(box, path, 0644, err);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(links); i++) {
		if (symlinkat(links[i].target, box, links[i].name) < 0)
			r = fail_errno(err, "cannot link '%s'", links[i].name);
	}
	return r;
}

int box_make_pts(struct err *err)
{
	auto_close int fs = sys_fsopen("devpts", FSOPEN_CLOEXEC);
	int tree;

	if (fs < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_FLAG, "newinstance", NULL, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "ptmxmode", "0666", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "620", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fail_errno(err, "cannot make a private devpts");
	tree = sys_fsmount(fs, FSMOUNT_CLOEXEC,
			   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (tree < 0)
		return fail_errno(err, "cannot mount a private devpts");
	return tree;
}

/* The host's devices, each by itself */
static int bind_nodes(const struct box *box, struct err *err)
{
	if (fchdir(box->host) < 0)
		return fail_errno(err, "cannot enter the host's /dev");
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		char path[32];

		snprintf(path, sizeof(path), BOX_AT "/dev/%s", nodes[i]);
		if (mount(nodes[i], path, NULL, MS_BIND, NULL) < 0)
			return fail_errno(err, "cannot mount on '/dev/%s'",
					  nodes[i]);
	}
	return 0;
}

int box_begin_dev(struct box *box, struct err *err)
{
	if (mount(BOX_AT "/dev", BOX_AT "/dev", NULL, MS_BIND, NULL) < 0)
		return fail_errno(err, "cannot mount a new /dev");
	box->dev = tree_open(BOX_AT "/dev", err);
	if (box->dev < 0)
		return box->dev;
	box->shm = box_part(box, "dev/shm", MOUNT_ATTR_RDONLY |
			    MOUNT_ATTR_NOEXEC, err);
	return box->shm < 0 ? box->shm : bind_nodes(box, err);
}

int box_open_dev(const struct box *box, struct err *err)
{
	/* Read-only keeps root from changing the modes of the host's */
	static const struct mount_attr open = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
		.attr_clr = MOUNT_ATTR_NODEV,
	};
	static const struct mount_attr closed = {
		.attr_set = MOUNT_ATTR_NODEV,
	};

	if (sys_mount_setattr(box->dev, "", AT_EMPTY_PATH | AT_RECURSIVE,
			      &open) < 0 ||
	    sys_mount_setattr(box->dev, "", AT_EMPTY_PATH, &closed) < 0)
		return fail_errno(err, "cannot open the devices in /dev");
	return 0;
}

/* The new /dev is mounted read-only by then, over the box's own directory */
int box_make_console(const struct box *box, struct err *err)
{
	static const struct mount_attr open = {
		.attr_clr = MOUNT_ATTR_RDONLY,
	};
	static const struct mount_attr closed = {
		.attr_set = MOUNT_ATTR_RDONLY,
	};
	int r;

	if (sys_mount_setattr(box->dev, "", AT_EMPTY_PATH, &open) < 0)
		return fail_errno(err, "cannot write to our own /dev");
	r = box_make_file(box->dev, "console", 0644, err);
	if (r == 0 && sys_mount_setattr(box->dev, "", AT_EMPTY_PATH,
					&closed) < 0)
		r = fail_errno(err, "cannot close our own /dev");
	return r;
}

static int attach_in(const struct box *box, int tree, const char *name,
		     struct err *err)
{
	if (sys_move_mount(tree, "", box->dev, name,
			   MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return fail_errno(err, "cannot mount on '/dev/%s'", name);
	return 0;
}

int box_mount_dev(struct box *box, struct err *err)
{
	int r = attach_in(box, box->shm, "shm", err);

	if (r == 0)
		r = attach_in(box, box->pts, "pts", err);
	if (r == 0 && box->console >= 0)
		r = attach_in(box, box->console, "console", err);
	return r < 0 ? r : box_attach(box->dev, "/dev", err);
}
