/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/mount-tree.c - the file system as the command sees it
 *
 * Theory of operation: the mount namespace is our own copy of the host's, so
 * the world is made read-only in place with one recursive call; nothing is
 * walked, and an unreachable network mount is not touched. What must stay
 * writable or visible is cloned before that ("pristine"), and attached again
 * on top. No link is followed, and what is shown must still be what the plan
 * saw: a path is opened once and only its descriptor used from then on, or the
 * bind is looked at when it is there (bind.c). A mask hides whatever stands at
 * its path by then.
 *
 * One tmpfs serves everything we make ourselves: the empty
 * directory and the unreadable file that masks show, /dev, /dev/shm, a fresh
 * /tmp. It is attached below /dev while the masks are made, and /dev covers
 * it in the end.
 *
 * A private layer is an overlay whose lower directory is the host's. Where the
 * kernel refuses one, the host's directory is shown read-only instead, and the
 * caches that the plan lists for that case are writable.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "plan/plan.h"
#include "sandbox/bind.h"
#include "sandbox/fuse-mount.h"
#include "sandbox/mount-fd.h"
#include "sandbox/sandbox.h"
#include "sandbox/stages.h"
#include "sandbox/tmpfs.h"

/* A second copy of the world, which binds are taken from.
 *
 * What is shown or can be written is cloned before the
 * world is read-only, one by one: five calls, a descriptor and a namespace each.
 * And to bind a path on itself, the kernel looks at every mount that is there
 * already on the mount the path is in, whether it has to be copied too: the
 * thousandth bind in a root would look at a thousand. Where there are many,
 * the world is copied once, and each of them is one bind from that copy, on
 * which nothing is ever mounted. It is attached to our own tmpfs, where only we
 * get. The names in it can be swapped as all others can, so what was bound is
 * compared with what the plan saw (bind.c), and it is gone before anything runs.
 */
/* A copy is worth its time (to drop it takes some tenths of a millisecond) when
 * the binds from it are worth so much: what is shown or can be written saves
 * calls, what is mounted on itself a look at its neighbours
 */
enum { ROOT_CLONE_WORTH = 192, ROOT_CLONE_SHOWN = 3, ROOT_CLONE_SELF = 1 };

#define CLONE_AT	TMPFS_AT "/" TMPFS_CLONE

/**
 * struct root_clone - The copy
 * @fd:		Its root; -1 if there is none
 * @attached:	To a place in our own tmpfs
 */
struct root_clone {
	int fd;
	bool attached;
};

static bool is_shown(const struct plan_mount *m)
{
	return m->kind == MOUNT_BIND_RW || m->kind == MOUNT_SHOW;
}

/* Only what must be what the plan saw: that is how a swapped name is noticed.
 * The root of all has no name.
 */
static bool can_have(const struct plan_mount *m)
{
	return (is_shown(m) || ((m->kind == MOUNT_BIND_RO ||
				 m->kind == MOUNT_PIN) && !m->loose)) &&
	       !m->is_link && m->path[1];
}

static bool is_worth_it(const struct plan *plan)
{
	size_t worth = 0;

	for (size_t i = 0; worth < ROOT_CLONE_WORTH && i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (can_have(m))
			worth += is_shown(m) ? ROOT_CLONE_SHOWN : ROOT_CLONE_SELF;
	}
	return worth >= ROOT_CLONE_WORTH;
}

/* While the world is as the host has it: copy it, if @plan has enough binds. Where
 * it cannot be copied, there is no copy.
 */
static void root_clone_begin(struct root_clone *clone, const struct plan *plan)
{
	auto_close int world = -1;

	*clone = (struct root_clone){ .fd = -1 };
	if (is_worth_it(plan))
		world = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (world >= 0)
		clone->fd = tree_clone(world, NULL, "/");
	if (clone->fd >= 0 &&
	    tree_set(clone->fd, MOUNT_ATTR_NODEV, 0, NULL, "/") < 0)
		close_fd(&clone->fd);
}

/* True if @m will be a bind from the copy */
static bool root_clone_has(const struct root_clone *clone, const struct plan_mount *m)
{
	return clone->fd >= 0 && can_have(m);
}

/* Once the world is read-only: the copy is not */
static int root_clone_attach(struct root_clone *clone, struct err *err)
{
	int r = 0;

	if (clone->fd >= 0)
		r = tmpfs_attach(clone->fd, CLONE_AT, err);
	clone->attached = clone->fd >= 0 && r == 0;
	return r;
}

/* What @m shows, by its name in the copy; NULL if it is not from there */
static const char *root_clone_source(const struct root_clone *clone,
				     const struct plan_mount *m, char *path,
				     size_t size)
{
	int n;

	if (!root_clone_has(clone, m))
		return NULL;
	n = snprintf(path, size, CLONE_AT "%s", m->path);
	return n > 0 && (size_t)n < size ? path : NULL;
}

/* The copy shows all that is hidden, and can be written: it goes */
static int root_clone_end(struct root_clone *clone, struct err *err)
{
	int r = 0;

	if (clone->attached && umount2(CLONE_AT, MNT_DETACH) < 0)
		r = fail_errno(err, "cannot unmount the clone of the root");
	close_fd(&clone->fd);
	return r;
}

/* Open @m's path; it must be what the plan saw, or it was replaced since */
static int open_planned(const struct plan_mount *m, struct err *err)
{
	auto_close int fd = tree_open(m->path, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return fail_errno(err, "cannot look at '%s'", m->path);
	if (st.st_ino != m->ino || st.st_dev != m->dev)
		return fail(err, -ESTALE, "'%s' was replaced while the sandbox was being built; try again",
			    m->path);
	return take_fd(&fd);
}

/* Clone one of them, with the rights that it will have */
static int clone_planned(const struct plan_mount *m, struct err *err)
{
	const bool writable = m->kind == MOUNT_BIND_RW ||
			      m->kind == MOUNT_SPARE;
	auto_close int fd = open_planned(m, err), tree = -1;
	int r;

	if (fd < 0)
		return fd;
	tree = tree_clone(fd, err, m->path);
	if (tree < 0)
		return tree;
	r = tree_set(tree, MOUNT_ATTR_NODEV |
		     (writable ? 0 : MOUNT_ATTR_RDONLY), 0, err, m->path);
	return r < 0 ? r : take_fd(&tree);
}

/* The sandbox has its own */
static bool is_replaced(const struct plan_mount *m)
{
	return path_is_within("/dev", m->path) ||
	       path_is_within("/proc", m->path);
}

/* The world, read-only: one call for every mount there is */
static int restrict_world(const struct plan *plan, struct err *err)
{
	const uint64_t set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			     (plan->root_writable ? 0 : MOUNT_ATTR_RDONLY);

	if (tree_attr(AT_FDCWD, "/", AT_RECURSIVE, set, 0) < 0)
		return fail_errno(err, "cannot make the file system read-only");
	return plan->root_writable ? tmpfs_close_sys(err) : 0;
}

/**
 * struct trees - What will be mounted, as far as it had to be taken early
 * @v:		For each mount of the plan, or -1
 * @bare:	For each mask of the plan: it was to be a layer, and is none
 */
struct trees {
	int *v;
	bool *bare;
};

/* What stands in for a layer: the host's directory, read-only, and the caches
 * in it that may be written
 */
static int stand_in(const struct plan *plan, unsigned int mask,
		    struct trees *trees, struct err *err)
{
	trees->bare[mask] = true;
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if ((m->kind != MOUNT_LAYER && m->kind != MOUNT_SPARE) ||
		    m->mask != mask)
			continue;
		trees->v[i] = clone_planned(m, err);
		if (trees->v[i] < 0)
			return trees->v[i];
	}
	return 0;
}

/* A layer; 1 if it could not be made, and the host's directory stands in */
static int make_layer(const struct plan *plan, size_t i, struct tmpfs *tmpfs,
		      struct trees *trees, struct err *err)
{
	const struct plan_mount *m = &plan->mounts.v[i];
	auto_close int lower = open_planned(m, err);
	int r;

	if (lower < 0)
		return lower;
	trees->v[i] = tmpfs_layer(tmpfs, m->mask, lower, NULL);
	if (trees->v[i] >= 0)
		return 0;
	r = stand_in(plan, m->mask, trees, err);
	return r < 0 ? r : 1;
}

/* A root whose changes are staged: there is nothing instead */
static int make_staged(const struct sandbox_request *request,
		       const struct plan_mount *m, struct err *err)
{
	auto_close int lower = open_planned(m, err);

	return lower < 0 ? lower
			 : tmpfs_staged(request->staged, m->mask, lower, err);
}

/* Writable roots, carve-outs, layers and staged roots, from the tree as the host
 * has it, which can still be seen and written. What stands in for layers is cloned
 * only where they are missing: a clone that is never mounted is slow to drop. 1 if
 * a layer could not be made.
 */
static int take_trees(const struct sandbox_request *request,
		      const struct root_clone *clone, struct tmpfs *tmpfs,
		      struct trees *trees, struct err *err)
{
	const struct plan *plan = request->plan;
	int missing = 0;

	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];
		int r = 0;

		if (is_replaced(m) || m->kind == MOUNT_SPARE)
			continue;
		if (m->kind == MOUNT_LAYER)
			r = make_layer(plan, i, tmpfs, trees, err);
		else if (m->kind == MOUNT_STAGED)
			r = trees->v[i] = make_staged(request, m, err);
		else if (m->pristine && !root_clone_has(clone, m))
			r = trees->v[i] = clone_planned(m, err);
		if (r < 0)
			return r;
		missing |= m->kind == MOUNT_LAYER && r;
	}
	return missing;
}

/* Some mounts are for layers that stand, some for those that do not */
static bool is_wanted(const struct plan_mount *m, const struct trees *trees)
{
	if (is_replaced(m))
		return false;
	if (m->kind == MOUNT_SPARE)
		return trees->bare[m->mask];
	return !m->layer || !trees->bare[m->layer];
}

/* A mask shows a directory or file of the tmpfs; a bind shows its own path */
static int source_of(const struct plan_mount *m, int at, int pristine,
		     const struct tmpfs *tmpfs, struct err *err)
{
	int tree, r;

	if (pristine >= 0)
		return pristine;
	if (m->kind == MOUNT_MASK_FILE)
		return tmpfs_part(tmpfs, TMPFS_UNREADABLE, 0, err);
	if (m->kind == MOUNT_MASK_DIR)
		return tmpfs_mask(tmpfs, m->mask, "", 0, err);
	if (m->kind == MOUNT_MADE || m->kind == MOUNT_REDACTED)
		return tmpfs_mask(tmpfs, m->mask, "/file", 0, err);
	if (m->kind == MOUNT_PRIVATE)
		return tmpfs_mask(tmpfs, m->mask, "", MOUNT_ATTR_RDONLY |
				  MOUNT_ATTR_NOEXEC, err);
	tree = tree_clone(at, err, m->path);	/* Also of a link itself */
	if (tree >= 0 && m->kind == MOUNT_BIND_RO) {
		r = tree_set(tree, MOUNT_ATTR_RDONLY, 0, err, m->path);
		if (r < 0) {
			(void)close(tree);
			return r;
		}
	}
	return tree;
}

/* The path again, now through the mounts made so far. Inside a mask, a private
 * place or a layer it is ours, so the identity is not compared.
 */
static int open_target(const struct plan_mount *m, struct err *err)
{
	return m->pristine || m->loose ? tree_open(m->path, err)
				       : open_planned(m, err);
}

/**
 * struct builder - The plan's mounts being made
 * @dir:	Of the last bind
 */
struct builder {
	const struct plan *plan;
	const struct tmpfs *tmpfs;
	struct fuse_mount *masks;
	struct trees *trees;
	const struct root_clone *clone;
	struct bind_dir dir;
};

static int make_mount(struct builder *b, size_t i, struct err *err)
{
	const struct plan_mount *m = &b->plan->mounts.v[i];
	auto_close int at = open_target(m, err);
	auto_close int tree = -1;

	if (at < 0)
		return at;
	tree = source_of(m, at, take_fd(&b->trees->v[i]), b->tmpfs, err);
	if (tree < 0)
		return tree;
	return tree_attach(tree, at, err, m->path);
}

/* The quick way, for what needs nothing but a bind */
static bool is_bind(const struct builder *b, const struct plan_mount *m)
{
	return root_clone_has(b->clone, m) ||
	       (!m->is_link &&
		(m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE ||
		 m->kind == MOUNT_BIND_RO || m->kind == MOUNT_PIN));
}

/* A mask that shows something */
static int bind_skeleton(struct builder *b, const struct plan_mount *m,
			 struct err *err)
{
	char name[64] = TMPFS_AT "/";
	const size_t n = strlen(name);
	struct stat st;

	tmpfs_mask_name(m->mask, name + n, sizeof(name) - n);
	if (fstatat(b->tmpfs->fd, name + n, &st, 0) < 0)
		return fail_errno(err, "cannot look at our own '%s'", name);
	return bind_cover(&b->dir, name, &st, m->path, err);
}

static int bind_mask(struct builder *b, size_t i, struct err *err)
{
	const struct plan_mount *m = &b->plan->mounts.v[i];
	const bool dir = m->kind == MOUNT_MASK_DIR;
	char name[64];
	struct stat st;
	int r;

	if (fuse_mount_source(b->masks, i, name, sizeof(name), &st)) {
		r = bind_cover(&b->dir, name, &st, m->path, err);
		if (r == 0 || r == -ESTALE)
			return r;	/* Else it is silent */
	}
	return dir && m->mask != MASK_EMPTY ? bind_skeleton(b, m, err) :
	       tmpfs_cover(b->tmpfs, &b->dir, dir, m->path, err);
}

static int make_bind(struct builder *b, size_t i, struct err *err)
{
	const struct plan_mount *m = &b->plan->mounts.v[i];
	const struct stat seen = { .st_dev = m->dev, .st_ino = m->ino };
	char buffer[PATH_MAX];

	if (m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE)
		return bind_mask(b, i, err);
	return bind_self(&b->dir, root_clone_source(b->clone, m, buffer, sizeof(buffer)),
			 m->path, m->loose ? NULL : &seen,
			 m->kind == MOUNT_BIND_RO || m->kind == MOUNT_SHOW,
			 err);
}

static int make_one(struct builder *b, size_t i, struct err *err)
{
	if (!is_wanted(&b->plan->mounts.v[i], b->trees))
		return 0;
	if (is_bind(b, &b->plan->mounts.v[i]))
		return make_bind(b, i, err);
	bind_forget(&b->dir);
	return make_mount(b, i, err);
}

static int make_mounts(const struct plan *plan, struct trees *trees,
		       struct root_clone *clone, const struct tmpfs *tmpfs,
		       struct fuse_mount *masks, struct mask_ends *ends,
		       struct err *err)
{
	struct builder b = {
		.plan = plan, .tmpfs = tmpfs, .masks = masks, .trees = trees,
		.clone = clone, .dir = BIND_NOWHERE,
	};
	int r = root_clone_attach(clone, err), ended;

	fuse_mount_start(masks, tmpfs->fd);
	for (size_t i = 0; r == 0 && i < plan->mounts.len; i++)
		r = make_one(&b, i, err);
	bind_forget(&b.dir);
	if (r == 0)
		r = root_clone_end(clone, err);
	ended = fuse_mount_finish(masks, ends, r < 0 ? NULL : err);
	return r < 0 ? r : ended;
}

/* In the sandbox's own /proc, and its /dev on the way there: what has a name that
 * is to be hidden. Most of the host's is not in there at all.
 */
static int mask_own(const struct plan *plan, const struct tmpfs *tmpfs,
		    struct err *err)
{
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];
		const bool dev = path_is_below("/dev", m->path);
		auto_close int at = -1, tree = -1;
		struct stat st;
		int r;

		if ((m->kind != MOUNT_MASK_DIR && m->kind != MOUNT_MASK_FILE) ||
		    (!dev && !path_is_below("/proc", m->path)))
			continue;
		at = dev ? sys_open_nofollow(tmpfs->dev,
					     m->path + strlen("/dev/"), O_PATH,
					     0) :
			   sys_open_nofollow(AT_FDCWD, m->path, O_PATH, 0);
		if (at < 0 && errno == ENOENT)
			continue;
		if (at < 0 || fstat(at, &st) < 0)
			return fail_errno(err, "cannot open '%s'", m->path);
		tree = S_ISDIR(st.st_mode) ?
		       tmpfs_mask(tmpfs, MASK_EMPTY, "", 0, err) :
		       tmpfs_part(tmpfs, TMPFS_UNREADABLE, 0, err);
		r = tree < 0 ? tree : tree_attach(tree, at, err, m->path);
		if (r < 0)
			return r;
	}
	return 0;
}

static int build_tree(struct sandbox_request *request, struct tmpfs *tmpfs,
		 struct fuse_mount *masks, struct trees *trees,
		 struct mask_ends *ends, struct err *err)
{
	const struct plan *plan = request->plan;
	int old_proc = 0, no_layer = 0, r;
	struct root_clone clone;

	root_clone_begin(&clone, plan);
	fuse_mount_prepare(masks, plan, tmpfs->host);
	if ((r = tmpfs_prepare(tmpfs, request, err)) == 0 &&
	    (r = tmpfs_open(tmpfs, plan, err)) == 0)
		no_layer = r = take_trees(request, &clone, tmpfs, trees, err);
	if (r >= 0 && (r = restrict_world(plan, err)) == 0 &&
	    (r = reopen_file(request, err)) == 0 &&
	    (r = tmpfs_open_dev(tmpfs, err)) == 0 &&
	    (r = tmpfs_mount_tmp(tmpfs, plan, err)) == 0)
		r = make_mounts(plan, trees, &clone, tmpfs, masks, ends, err);
	if (r == 0)
		old_proc = r = tmpfs_mount_proc(tmpfs, plan, err);
	if (r >= 0 && (r = mask_own(plan, tmpfs, err)) == 0)
		r = tmpfs_mount_dev(tmpfs, err);
	tmpfs_done(tmpfs);
	return r < 0 ? r : (old_proc ? SANDBOX_HOST_PROC : 0) |
			   (no_layer ? SANDBOX_NO_LAYER : 0);
}

int stage_tree(struct sandbox_request *request, struct tmpfs *tmpfs,
	       struct fuse_mount *masks, struct mask_ends *ends, struct err *err)
{
	const size_t n = request->plan->mounts.len;
	auto_free int *v = mem_zalloc((n + 1) * sizeof(*v));
	auto_free bool *bare = mem_zalloc(request->plan->masks + 1);
	struct trees trees = { v, bare };
	int r;

	for (size_t i = 0; i < n; i++)
		v[i] = -1;
	*ends = (struct mask_ends){ .len = 0 };
	r = build_tree(request, tmpfs, masks, &trees, ends, err);
	for (size_t i = 0; i < n; i++)
		close_fd(&v[i]);
	return r;
}
