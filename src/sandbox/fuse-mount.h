/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/fuse-mount.h - FUSE masks: build the mount behind them */

#ifndef SANDBOX_FUSE_MOUNT_H
#define SANDBOX_FUSE_MOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "plan/fuse-mask.h"

struct err;
struct plan;
struct server;
struct stat;

/**
 * struct fuse_mount - While the tree is built
 * @tree:	The nodes
 * @begun:	fuse_mount_begin() was called
 * @device:	/dev/fuse, of our own connection; or -1: masks are silent
 * @root:	The mount with all nodes, or -1; @dev is its number
 * @next:	Nodes before it were asked for
 */
struct fuse_mount {
	struct fuse_mask_tree tree;
	bool begun;
	int device, root;
	dev_t dev;
	size_t next;
	struct server *server;
};

/**
 * struct mask_ends - What the supervisor needs to answer: @v[0] is the FUSE
 *		connection, then come the directories that the masks show, O_PATH
 */
struct mask_ends {
	int v[1 + FUSE_MASK_WAYS_MAX];
	size_t len;
};

#define FUSE_MOUNT_NONE { .device = -1, .root = -1 }

/* Before all mounts are read-only and nodev, with a user to own files: make the file
 * system, with /dev/fuse of the host's /dev, @dev. That takes 80 µs, and can be done
 * before there is a plan. It never fails: without it masks are silent.
 */
void fuse_mount_begin(struct fuse_mount *masks, int dev, uid_t uid, gid_t gid);

/* The nodes of @plan; without any, what was begun is released. If nothing was, begin. */
void fuse_mount_prepare(struct fuse_mount *masks, const struct plan *plan, int dev);

/* Attach it to "masks" in the directory @tmpfs, which is attached to TMPFS_AT, and
 * answer for it from here
 */
void fuse_mount_start(struct fuse_mount *masks, int tmpfs);

/* The node for mount number @mount, which grows: its name, and what that is.
 * False if that mask is silent.
 */
bool fuse_mount_source(struct fuse_mount *masks, size_t mount, char *name,
		  size_t size, struct stat *st);

/* The tree is built: end the second thread. 0 and *@ret, which is empty
 * where masks are silent; or a negative errno with a message.
 */
int fuse_mount_finish(struct fuse_mount *masks, struct mask_ends *ret, struct err *err);
void mask_ends_close(struct mask_ends *ends);

#endif /* SANDBOX_FUSE_MOUNT_H */
