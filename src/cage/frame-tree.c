/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/frame-tree.c - the root that a frame asks for
 *
 * Theory of operation: the new root is mounted on top of the old one, where
 * only its descriptor leads to it: a look-up that starts at "/" does not cross
 * what is mounted on "/". So sources keep their names while the new root grows,
 * and at the end it changes places with the old one, which is let go.
 *
 * A first operation that binds something on "/" needs no tmpfs below it. If
 * what it binds is "/" itself, nothing has to be copied at all: our mount
 * namespace is a copy already, so it is restricted in place. Whatever is to be
 * bound must then be cloned beforehand, as the host has it.
 *
 * Mounts stay slaves of the host's: what is mounted there later below a bound
 * directory appears here too, as callers of bubblewrap are used to.
 */

#include "cage/frame-tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/frame-ops.h"
#include "plan/frame.h"

enum {
	IN_PLACE_MAX = 256,	/* Mounts that are held open at once */
	SPARE_FDS = 64,		/* For us, beside the sources */
};

void frame_fd_path(int fd, char *ret, size_t size)
{
	snprintf(ret, size, "fd/%d", fd);
}

/* What is behind the caller's descriptor, in our mount namespace: the
 * descriptor itself belongs to the caller's, and cannot be bound
 */
static int open_by_fd(const struct frame_op *op, struct err *err)
{
	char link[32], path[PATH_MAX];
	struct stat ours, theirs;
	auto_close int fd = -1;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", op->fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return fail_errno(err, "Can't find source path %s", link);
	path[n] = '\0';
	fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return fail_errno(err, "Can't find source path %s", path);
	if (fstat(fd, &ours) < 0 || fstat(op->fd, &theirs) < 0)
		return fail_errno(err, "Can't stat fd %d", op->fd);
	if (ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev)
		return fail(err, -ESTALE, "Race condition binding dirfd");
	return take_fd(&fd);
}

static int open_source(const struct frame_tree *tree,
		       const struct frame_op *op, struct frame_source *ret,
		       struct err *err)
{
	const char *path = op->source;
	int fd;

	if (op->kind == FRAME_PROC && !frame_has_pidns(tree->frame))
		path = "/proc";
	else if (op->kind != FRAME_BIND && op->kind != FRAME_OVERLAY)
		return 0;
	if (op->kind == FRAME_BIND && op->fd >= 0) {
		fd = open_by_fd(op, err);
	} else if (!path) {
		return 0;	/* An overlay without an upper directory */
	} else {
		fd = open(path, O_PATH | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT && op->flags & FRAME_TRY)
			return 0;
		if (fd < 0)
			return fail_errno(err, "Can't find source path %s",
					  path);
	}
	ret->fd = fd;
	if (fd < 0)
		return fd;
	/* The root's mount is about to carry the new one, and a copy would, too */
	return op->kind == FRAME_BIND && frame_is_same(fd, tree->host) ?
	       frame_source_clone(ret, op, err) : 0;
}

int frame_open_source(const struct frame_tree *tree, size_t i,
		      struct err *err)
{
	struct frame_source *source = &tree->sources[i];

	if (!source->later)
		return 0;
	source->later = false;
	return open_source(tree, &tree->frame->ops.v[i], source, err);
}

/* Up to which descriptor sources may be kept open. If the soft limit has no room
 * for all, the hard one may; the command's is put back by the caller.
 */
static int make_room(size_t sources)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	if (limit.rlim_cur < sources + SPARE_FDS) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	return limit.rlim_cur > INT_MAX ? INT_MAX :
	       limit.rlim_cur > SPARE_FDS ? (int)limit.rlim_cur - SPARE_FDS : 0;
}

/* Is the first operation a bind of "/" on "/", and the rest of a kind that can
 * live with that?
 */
static bool fits_in_place(const struct frame_tree *tree)
{
	const struct frame *frame = tree->frame;
	const struct frame_op *first = frame->ops.v;
	size_t devs = 0;

	if (!frame->ops.len || first->kind != FRAME_BIND || first->fd >= 0 ||
	    strcmp(first->source, "/") != 0 || strcmp(first->dest, "/") != 0 ||
	    frame->ops.len > IN_PLACE_MAX ||
	    tree->self + (int)frame->ops.len > tree->room ||
	    frame->no_userns)	/* Writes to the host's /proc later */
		return false;
	for (size_t i = 0; i < frame->ops.len; i++) {
		if (frame->ops.v[i].kind == FRAME_OVERLAY)
			return false;	/* Its layers must stay as they are */
		devs += frame->ops.v[i].kind == FRAME_DEV;
	}
	return devs <= 1;
}

/* Whatever is not there is found before anything is done. A mount that is taken
 * already cannot be taken later; any other place can.
 */
static int open_sources(struct frame_tree *tree, struct err *err)
{
	const struct frame *frame = tree->frame;
	int r = 0;

	tree->room = make_room(frame->ops.len);
	for (size_t i = fits_in_place(tree); r == 0 && i < frame->ops.len; i++) {
		struct frame_source *source = &tree->sources[i];

		r = open_source(tree, &frame->ops.v[i], source, err);
		if (r == 0 && source->fd >= tree->room && !source->is_mount) {
			close_fd(&source->fd);
			source->later = true;
		}
	}
	return r;
}

static bool has_kind(const struct frame *frame, enum frame_kind kind)
{
	for (size_t i = 0; i < frame->ops.len; i++) {
		if (frame->ops.v[i].kind == kind)
			return true;
	}
	return false;
}

/* Take what will be bound while it is as the host has it, then restrict all */
static int root_in_place(struct frame_tree *tree, struct err *err)
{
	const struct frame_op *first = tree->frame->ops.v;
	const struct mount_attr attr = { .attr_set = frame_bind_attr(first) };
	int r = 0;

	tree->in_place = true;
	for (size_t i = 1; r == 0 && i < tree->frame->ops.len; i++) {
		if (tree->sources[i].fd >= 0 && !tree->sources[i].is_mount)
			r = frame_source_clone(&tree->sources[i],
					       &tree->frame->ops.v[i], err);
	}
	if (r == 0 && has_kind(tree->frame, FRAME_DEV))
		r = frame_take_nodes(tree, err);
	if (r == 0 && sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr) < 0)
		r = fail_errno(err, "Can't bind mount / on /");
	return r;
}

/* On top of the old root: a tmpfs, or what is bound there first. Returns how
 * many operations that did.
 */
static int root_new(struct frame_tree *tree, struct err *err)
{
	const struct frame *frame = tree->frame;
	const int r = frame_open_source(tree, 0, err);
	const bool bound = r == 0 && frame->ops.len &&
			   frame->ops.v[0].kind == FRAME_BIND &&
			   !strcmp(frame->ops.v[0].dest, "/") &&
			   tree->sources[0].fd >= 0;
	auto_close int root = r < 0 ? r : bound ?
		frame_take_mount(tree->sources, &frame->ops.v[0], err) :
		frame_new_tmpfs(0755, 0, err);

	if (root < 0)
		return root;
	if (sys_move_mount(root, "", tree->host, "", MOVE_MOUNT_F_EMPTY_PATH |
						     MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return fail_errno(err, "Can't mount a new root");
	tree->root = take_fd(&root);
	return bound;
}

/* Nobody sees it: on top of the old root, below the new one */
static int open_store(struct frame_tree *tree, struct err *err)
{
	bool needed = has_kind(tree->frame, FRAME_DATA);

	for (size_t i = 0; i < tree->frame->ops.len; i++)
		needed |= tree->frame->ops.v[i].flags & FRAME_SCRATCH;
	if (!needed)
		return 0;
	tree->store = frame_new_tmpfs(0755, 0, err);
	if (tree->store < 0)
		return tree->store;
	if (sys_move_mount(tree->store, "", tree->host, "",
			   MOVE_MOUNT_F_EMPTY_PATH |
			   MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return fail_errno(err, "Can't mount a tmpfs for data");
	return 0;
}

/* The old root goes, with what is stacked on it: each call takes the topmost.
 * A mount that is gone cannot be changed either; one that can is still there.
 */
static int leave(const struct frame_tree *tree, struct err *err)
{
	const struct mount_attr same = { .propagation = MS_PRIVATE };

	if (fchdir(tree->host) < 0)
		return fail_errno(err, "chdir to the old root");
	while (umount2(".", MNT_DETACH) == 0)
		;
	if (errno != EINVAL)
		return fail_errno(err, "unmount old root");
	if (sys_mount_setattr(tree->host, "", AT_EMPTY_PATH, &same) == 0)
		return fail(err, -EBUSY, "the old root is still there");
	if (chdir("/") < 0)
		return fail_errno(err, "chdir /");
	return 0;
}

/* The new root takes the old one's place, and the old one goes. Without a new
 * one, only the store has to.
 */
static int enter(struct frame_tree *tree, struct err *err)
{
	if (tree->root == tree->host) {
		if (tree->store >= 0 && (fchdir(tree->store) < 0 ||
					 umount2(".", MNT_DETACH) < 0))
			return fail_errno(err, "unmount the store");
		return 0;
	}
	if (fchdir(tree->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return fail_errno(err, "pivot_root");
	return leave(tree, err);
}

static int build(struct frame_tree *tree, struct err *err)
{
	const struct mount_attr slave = { .propagation = MS_SLAVE };
	int done, r = open_sources(tree, err);

	if (r == 0 &&
	    sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &slave) < 0)
		r = fail_errno(err, "Failed to make / slave");
	if (r < 0)
		return r;
	if (fits_in_place(tree)) {
		r = root_in_place(tree, err);
		if (r == 0)	/* Behind it: it must stay writable */
			r = open_store(tree, err);
		done = 1;
	} else {
		r = open_store(tree, err);
		done = r = r < 0 ? r : root_new(tree, err);
	}
	for (size_t i = (size_t)done; r >= 0 && i < tree->frame->ops.len; i++)
		r = frame_do(tree, i, err);
	return r < 0 ? r : enter(tree, err);
}

int frame_build(const struct frame *frame, struct err *err)
{
	auto_free struct frame_source *sources =
		mem_zalloc((frame->ops.len + 1) * sizeof(*sources));
	struct frame_tree tree = {
		.frame = frame, .store = -1, .sources = sources,
		.host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	struct rlimit limit;
	int r;

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	tree.root = tree.host;
	for (size_t i = 0; i < frame->ops.len; i++)
		sources[i].fd = -1;
	for (size_t i = 0; i < FRAME_NODES; i++)
		tree.nodes[i] = -1;
	if (tree.host < 0 || tree.self < 0)
		r = fail_errno(err, "Can't open /proc");
	else
		r = build(&tree, err);
	for (size_t i = 0; i < frame->ops.len; i++)
		close_fd(&sources[i].fd);
	for (size_t i = 0; i < FRAME_NODES; i++)
		close_fd(&tree.nodes[i]);
	if (tree.root != tree.host)
		close_fd(&tree.root);
	close_fd(&tree.host);
	close_fd(&tree.self);
	close_fd(&tree.store);
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	return r;
}
