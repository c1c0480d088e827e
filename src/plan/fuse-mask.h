/* SPDX-License-Identifier: Apache-2.0 */
/* plan/fuse-mask.h - FUSE masks: the replies of a mount over hidden paths
 *
 * One FUSE file system holds a node for every mask of a plan. This is the pure
 * half: which nodes there are, and the reply to each request of the kernel. The
 * sandbox mounts the nodes (sandbox/fuse-mount.h), the supervisor answers and reports
 * (observe/fuse-mask-server.h).
 */

#ifndef PLAN_FUSE_MASK_H
#define PLAN_FUSE_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"

struct plan;

#define FUSE_MASK_SOURCE "cloche"	/* What file systems of masks are called */

enum {
	FUSE_MASK_NODES_MAX = 256,		/* More masks stay silent */
	FUSE_MASK_WAYS_MAX = 24,		/* Past these, masks with more are silent */
	FUSE_MASK_REQUEST_MAX = 8192,	/* The least that the kernel asks for */
	FUSE_MASK_REPLY_MAX = 8192,
	FUSE_MASK_TOP = -1,			/* In the root, which has no name in the sandbox */
};

/**
 * struct fuse_mask_node - A file or directory of the masks
 * @parent:	Index of the directory it is in, or FUSE_MASK_TOP
 * @name:	In @parent; of a mask itself: @mount
 * @path:	What it stands for, on the host
 * @is_dir:	Looks empty, but for the nodes in it; a file cannot be opened
 * @mount:	Of a mask itself: the index of its mount in the plan
 * @refuses:	Names in it are refused (EACCES); else they are not there (ENOENT)
 */
struct fuse_mask_node {
	int parent;
	char *name, *path;
	size_t mount;
	bool is_dir, refuses;
};

/**
 * struct fuse_mask_tree - All of them
 * @ways:	Directories that are shown in them, real paths. They cannot be reached by
 *		name from outside the sandbox (observe/mask-fds.h).
 * @silent:	Masks that are none of them because there are too many, or because too
 *		much is shown in them
 * @uid, @gid:	Whose they are
 */
struct fuse_mask_tree {
	struct fuse_mask_node *v;
	size_t len, cap, silent;
	struct strings ways;
	uid_t uid;
	gid_t gid;
};

/* The nodes for the masks of @plan; none if it does not ask for them */
void fuse_mask_tree_build(const struct plan *plan, struct fuse_mask_tree *ret);
void fuse_mask_tree_done(struct fuse_mask_tree *tree);

/* True if the mask of mount number @mount is a node: *@ret is its number.
 * *@next starts as 0, and @mount only grows.
 */
bool fuse_mask_tree_find(const struct fuse_mask_tree *tree, size_t mount,
		    size_t *next, uint64_t *ret);

enum fuse_mask_part {
	FUSE_MASK_NO_PART,
	FUSE_MASK_DIR,		/* A hidden directory itself */
	FUSE_MASK_FILE,		/* A hidden file itself */
	FUSE_MASK_INSIDE,		/* In a hidden directory */
	FUSE_MASK_SHOWN_DIR,		/* A directory that is shown there, or leads to
				 * what is
				 */
	FUSE_MASK_SHOWN_FILE,
};

/* What of @plan's masks @path is */
enum fuse_mask_part fuse_mask_part(const struct plan *plan, const char *path);

enum fuse_mask_attempt {
	FUSE_MASK_NOTHING,		/* Nothing to report */
	FUSE_MASK_OPENED,		/* A tracee tried to open the node, a file */
	FUSE_MASK_LISTED,		/* ... read the names in it */
	FUSE_MASK_SOUGHT,		/* ... reach @name in it */
};

/**
 * struct fuse_mask_event - What was attempted
 * @node:	Index of the node
 * @name:	In the request; only of FUSE_MASK_SOUGHT
 * @tid:	The thread, in the pid namespace that mounted the masks
 * @error:	What it got, 0 if it got nothing to see
 */
struct fuse_mask_event {
	enum fuse_mask_attempt what;
	size_t node;
	const char *name;
	pid_t tid;
	int error;
};

/* The reply to a request of the kernel: its length, 0 where none is expected,
 * or -EPROTO if the request is none. @reply has FUSE_MASK_REPLY_MAX bytes and is
 * aligned for 8-byte members, as is @request.
 */
ssize_t fuse_mask_answer(const struct fuse_mask_tree *tree, const void *request,
		    size_t n, void *reply, struct fuse_mask_event *event);

#endif /* PLAN_FUSE_MASK_H */
