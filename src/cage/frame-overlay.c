/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/frame-overlay.c - overlays of a frame
 *
 * The layers are named by descriptor, relative to /proc/self: no character of a
 * path then needs a meaning of its own, and the names are short. An option
 * holds 255 bytes; who has more layers than that needs a kernel that takes them
 * one by one.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/frame-ops.h"
#include "cage/frame-tree.h"
#include "plan/frame.h"

enum { OPTION_MAX = 255 };	/* Of fsconfig() */

/**
 * struct layers - Descriptors that stay open until the mount is made
 */
struct layers {
	int *v;
	size_t len, cap;
};

static void layers_done(struct layers *layers)
{
	for (size_t i = 0; i < layers->len; i++)
		close_fd(&layers->v[i]);
	free(layers->v);
}

#define auto_layers	__attribute__((cleanup(layers_done)))

static int add_path(struct layers *layers, const char *path, struct err *err)
{
	const int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(err, "Can't find source path %s", path);
	*vec_push(layers) = fd;
	return 0;
}

/* A new directory in the store */
static int add_scratch(struct frame_tree *tree, struct layers *layers,
		       struct err *err)
{
	char name[32];
	int fd = -1;

	snprintf(name, sizeof(name), "layer%u", tree->stored++);
	if (mkdirat(tree->store, name, 0755) == 0)
		fd = openat(tree->store, name, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(err, "Can't make a directory for an overlay");
	*vec_push(layers) = fd;
	return 0;
}

/* Upper and work directory, if it has them, then the lower ones, topmost
 * first: that is the caller's last
 */
static int collect(struct frame_tree *tree, const struct frame_op *op,
		   struct frame_source *source, struct layers *layers, struct err *err)
{
	int r = 0;

	if (op->flags & FRAME_SCRATCH) {
		r = add_scratch(tree, layers, err);
		if (r == 0)
			r = add_scratch(tree, layers, err);
	} else if (op->source) {
		*vec_push(layers) = take_fd(&source->fd);
		r = add_path(layers, op->work, err);
	}
	for (size_t i = op->layers; r == 0 && i-- > 0;)
		r = add_path(layers, tree->frame->layers.v[op->layer + i],
			     err);
	return r;
}

static int set(int fs, const char *key, int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "fd/%d", fd);
	return sys_fsconfig(fs, FSCONFIG_SET_STRING, key, path, 0);
}

static int set_lower(int fs, const int *fds, size_t n)
{
	auto_buf struct buf list = { 0 };
	int r = 0;

	for (size_t i = 0; i < n; i++)
		buf_addf(&list, "%sfd/%d", i ? ":" : "", fds[i]);
	if (list.len <= OPTION_MAX)
		return sys_fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir",
				    buf_str(&list), 0);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = set(fs, "lowerdir+", fds[i]);
	return r;
}

/* The mount, not attached yet; the caller is in /proc/self */
static int make(const struct layers *layers, const struct frame_op *op,
		struct err *err)
{
	auto_close int fs = sys_fsopen("overlay", FSOPEN_CLOEXEC);
	const size_t upper = layers->len - op->layers;
	int fd = -1;

	if (fs >= 0 &&
	    (!upper || (set(fs, "upperdir", layers->v[0]) == 0 &&
			set(fs, "workdir", layers->v[1]) == 0)) &&
	    set_lower(fs, layers->v + upper, op->layers) == 0 &&
	    sys_fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) == 0 &&
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "source", "overlay", 0) == 0 &&
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID |
						      MOUNT_ATTR_NODEV);
	if (fd < 0 && errno == ELOOP)
		return fail(err, -ELOOP, "Can't make overlay mount on %s: Overlay directories may not overlap",
			    op->dest);
	if (fd < 0)
		return fail_errno(err, "Can't make overlay mount on %s",
				  op->dest);
	return fd;
}

int frame_overlay(struct frame_tree *tree, const struct frame_op *op,
		  struct frame_source *source, struct err *err)
{
	auto_close int at = place_dir(tree->root, op, 0755, err);
	auto_close int cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_layers struct layers layers = { 0 };
	int mount, r;

	if (at < 0)
		return at;
	r = collect(tree, op, source, &layers, err);
	if (r < 0)
		return r;
	if (cwd < 0 || fchdir(tree->self) < 0)
		return fail_errno(err, "chdir /proc/self");
	mount = make(&layers, op, err);
	if (fchdir(cwd) < 0)
		return fail_errno(err, "chdir back");
	return mount < 0 ? mount : frame_attach(tree, mount, at, op, err);
}
