/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/tree.c - the file system as the command sees it
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
 * One tmpfs ("the box") serves everything we make ourselves: the empty
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
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "cage/bind.h"
#include "cage/box.h"
#include "cage/cage.h"
#include "cage/mask.h"
#include "cage/stages.h"
#include "cage/twin.h"
#include "plan/plan.h"

/* Open @m's path; it must be what the plan saw, or somebody moved it since */
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

/* Writable roots and carve-outs, from the tree as the host has it. Of layers,
 * only where they are missing: a clone that nobody mounts is slow to drop.
 */
static int clone_pristine(const struct plan *plan, const struct twin *twin,
			  int *trees, struct err *err)
{
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (!m->pristine || m->kind == MOUNT_LAYER ||
		    m->kind == MOUNT_SPARE || m->kind == MOUNT_ASIDE ||
		    is_replaced(m) || twin_has(twin, m))
			continue;
		trees[i] = clone_planned(m, err);
		if (trees[i] < 0)
			return trees[i];
	}
	return 0;
}

/* The world, read-only: one call for every mount there is */
static int restrict_world(const struct plan *plan, struct err *err)
{
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    (plan->root_writable ? 0 : MOUNT_ATTR_RDONLY),
		.propagation = MS_PRIVATE,
	};

	if (sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr) < 0)
		return fail_errno(err, "cannot make the file system read-only");
	return plan->root_writable ? box_close_sys(err) : 0;
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

/* While the host's directories can still be seen, and written. 1 if one could
 * not be made.
 */
static int make_layers(const struct plan *plan, struct box *box,
		       struct trees *trees, struct err *err)
{
	int missing = 0;

	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];
		auto_close int lower = -1;
		struct err why = { 0 };
		int r;

		if (m->kind != MOUNT_LAYER || is_replaced(m))
			continue;
		lower = open_planned(m, err);
		if (lower < 0)
			return lower;
		trees->v[i] = box_layer(box, m->mask, lower, &why);
		if (trees->v[i] >= 0)
			continue;
		missing = 1;
		r = stand_in(plan, m->mask, trees, err);
		if (r < 0)
			return r;
	}
	return missing;
}

/* Roots whose changes are kept aside: there is nothing instead */
static int make_asides(const struct cage_request *request,
		       struct trees *trees, struct err *err)
{
	const struct plan *plan = request->plan;

	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];
		auto_close int lower = -1;

		if (m->kind != MOUNT_ASIDE || is_replaced(m))
			continue;
		lower = open_planned(m, err);
		if (lower < 0)
			return lower;
		trees->v[i] = box_aside(request->aside, m->mask, lower, err);
		if (trees->v[i] < 0)
			return trees->v[i];
	}
	return 0;
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

/* A mask shows a directory or file of the box; a bind shows its own path */
static int source_of(const struct plan_mount *m, int at, int pristine,
		     const struct box *box, struct err *err)
{
	int tree, r;

	if (pristine >= 0)
		return pristine;
	if (m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE)
		return box_mask(box, m->kind == MOUNT_MASK_DIR, m->mask, err);
	if (m->kind == MOUNT_MADE)
		return box_file(box, m->mask, err);
	if (m->kind == MOUNT_PRIVATE)
		return box_private(box, m->mask, err);
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
	const struct box *box;
	struct masks *masks;
	struct trees *trees;
	const struct twin *twin;
	struct bind_dir dir;
};

static int make_mount(struct builder *b, size_t i, struct err *err)
{
	const struct plan_mount *m = &b->plan->mounts.v[i];
	auto_close int at = open_target(m, err);
	auto_close int tree = -1;

	if (at < 0)
		return at;
	tree = source_of(m, at, take_fd(&b->trees->v[i]), b->box, err);
	if (tree < 0)
		return tree;
	return tree_attach(tree, at, err, m->path);
}

/* The quick way, for what needs nothing but a bind */
static bool is_bind(const struct builder *b, const struct plan_mount *m)
{
	return twin_has(b->twin, m) ||
	       (!m->is_link &&
		(m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE ||
		 m->kind == MOUNT_BIND_RO || m->kind == MOUNT_PIN));
}

/* A mask that shows something */
static int bind_skeleton(struct builder *b, const struct plan_mount *m,
			 struct err *err)
{
	char name[64] = BOX_AT "/";
	const size_t n = strlen(name);
	struct stat st;

	box_mask_name(m->mask, name + n, sizeof(name) - n);
	if (fstatat(b->box->fd, name + n, &st, 0) < 0)
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

	if (masks_source(b->masks, i, name, sizeof(name), &st)) {
		r = bind_cover(&b->dir, name, &st, m->path, err);
		if (r == 0 || r == -ESTALE)
			return r;	/* Else it is silent */
	}
	return dir && m->mask != MASK_EMPTY ? bind_skeleton(b, m, err) :
	       box_cover(b->box, &b->dir, dir, m->path, err);
}

static int make_bind(struct builder *b, size_t i, struct err *err)
{
	const struct plan_mount *m = &b->plan->mounts.v[i];
	const struct stat seen = { .st_dev = m->dev, .st_ino = m->ino };
	char room[PATH_MAX];

	if (m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE)
		return bind_mask(b, i, err);
	return bind_self(&b->dir, twin_source(b->twin, m, room, sizeof(room)),
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
		       struct twin *twin, const struct box *box,
		       struct masks *masks, struct mask_ends *ends,
		       struct err *err)
{
	struct builder b = {
		.plan = plan, .box = box, .masks = masks, .trees = trees,
		.twin = twin, .dir = BIND_NOWHERE,
	};
	int r = twin_attach(twin, err), ended;

	masks_start(masks, box->fd);
	for (size_t i = 0; r == 0 && i < plan->mounts.len; i++)
		r = make_one(&b, i, err);
	bind_forget(&b.dir);
	if (r == 0)
		r = twin_end(twin, err);
	ended = masks_finish(masks, ends, r < 0 ? NULL : err);
	return r < 0 ? r : ended;
}

/* In the sandbox's own /proc, and its /dev on the way there: what has a name that
 * is to be hidden. Most of the host's is not in there at all.
 */
static int mask_own(const struct plan *plan, const struct box *box,
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
		at = dev ? sys_open_nofollow(box->dev,
					     m->path + strlen("/dev/"), O_PATH,
					     0) :
			   sys_open_nofollow(AT_FDCWD, m->path, O_PATH, 0);
		if (at < 0 && errno == ENOENT)
			continue;
		if (at < 0 || fstat(at, &st) < 0)
			return fail_errno(err, "cannot open '%s'", m->path);
		tree = box_mask(box, S_ISDIR(st.st_mode), MASK_EMPTY, err);
		r = tree < 0 ? tree : tree_attach(tree, at, err, m->path);
		if (r < 0)
			return r;
	}
	return 0;
}

static int build(struct cage_request *request, struct box *box,
		 struct trees *trees, struct mask_ends *ends, struct err *err)
{
	const struct plan *plan = request->plan;
	int old_proc = 0, no_layer = 0, r;
	struct masks masks;
	struct twin twin;

	twin_begin(&twin, plan);
	masks_prepare(&masks, plan, box->host);
	r = box_prepare(box, request, err);
	if (r == 0)
		r = clone_pristine(plan, &twin, trees->v, err);
	if (r == 0)
		r = make_asides(request, trees, err);
	if (r == 0)
		r = box_open(box, plan, err);
	if (r == 0)
		no_layer = r = make_layers(plan, box, trees, err);
	if (r >= 0)
		r = restrict_world(plan, err);
	if (r == 0)
		r = reopen_file(request, err);
	if (r == 0)
		r = box_open_dev(box, err);
	if (r == 0)
		r = box_mount_tmp(box, plan, err);
	if (r == 0)
		r = make_mounts(plan, trees, &twin, box, &masks, ends, err);
	if (r == 0)
		old_proc = r = box_mount_proc(box, plan, err);
	if (r >= 0)
		r = mask_own(plan, box, err);
	if (r == 0)
		r = box_mount_dev(box, err);
	box_done(box);
	return r < 0 ? r : (old_proc ? CAGE_HOST_PROC : 0) |
			   (no_layer ? CAGE_NO_LAYER : 0);
}

int stage_tree(struct cage_request *request, struct box *box,
	       struct mask_ends *masks, struct err *err)
{
	const size_t n = request->plan->mounts.len;
	auto_free int *v = mem_zalloc((n + 1) * sizeof(*v));
	auto_free bool *bare = mem_zalloc(request->plan->masks + 1);
	struct trees trees = { v, bare };
	int r;

	for (size_t i = 0; i < n; i++)
		v[i] = -1;
	*masks = (struct mask_ends){ .len = 0 };
	r = build(request, box, &trees, masks, err);
	for (size_t i = 0; i < n; i++)
		close_fd(&v[i]);
	return r;
}
