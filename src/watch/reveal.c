/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/reveal.c - masks of a running sandbox come off, or show something
 *
 * Theory of operation: what a path is, is looked at and not remembered; and in the
 * end it is looked at again, so that what stays hidden, or open, is told. A mask
 * with nothing to hide or to keep read-only behind it is taken off. Else what is
 * behind it is taken from a copy of the mount namespace that only we are in: there
 * all that we ever put on it comes off, what stays hidden or read-only is covered,
 * and a clone of the result goes back with us. One call puts it into place, so
 * nobody sees anything half done.
 *
 * In the sandbox the clone needs something to be mounted on. A mask that goes is
 * there itself. In one that talks, the supervisor has added a node by now. In any
 * other, a directory of our own, we make it. The masks that show nothing have one
 * directory in common, so such a mask gets one of its own first.
 *
 * Names can be swapped while we work, so masks are known by what they are, and
 * taken off by descriptor. What the host has mounted cannot be taken off in here.
 */

#include "watch/reveal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "plan/change.h"
#include "watch/cover.h"

enum { STACK_MAX = 4096 };	/* Mounts on one path */

/* Take off what is mounted at @path; only masks, if @masks */
static void take_off(const struct reveal *r, const char *path, bool masks)
{
	for (int i = 0; i < STACK_MAX; i++) {
		auto_close int at = cover_open(path);

		if (at < 0 || !cover_is_mount(at) ||
		    (masks && !cover_is_mask(r->own, at)) ||
		    cover_remove(r->proc, at) < 0)
			break;
	}
}

/* Where files are open for writing a mount stays as it is: then it is covered by
 * one that is read-only, at least for those who come by its name
 */
static void close_root(const struct reveal *r, const char *path)
{
	static const struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	auto_close int at = cover_open(path), tree = -1;

	if (at < 0 || !cover_is_mount(at) || cover_is_read_only(at) ||
	    sys_mount_setattr(at, "", AT_EMPTY_PATH, &attr) == 0)
		return;
	tree = cover_make(r->own, MOUNT_BIND_RO, at);
	if (tree >= 0)
		(void)cover_attach(tree, at);
}

/* It stays a mount: what is mounted in it would go as well */
static void open_root(const struct reveal *r, const char *path)
{
	auto_close int at = cover_open(path);

	if (at >= 0 && cover_is_mount(at) && !cover_hides(r->own, at) &&
	    cover_is_read_only(at))
		(void)cover_set_writable(at);
}

/* All but what shows something */
static void take_steps(const struct reveal *r)
{
	for (size_t i = 0; i < r->changes->len; i++) {
		const struct change *c = &r->changes->v[i];

		if (c->kind == CHANGE_HIDE)
			take_off(r, c->mount->path, false);
		else if (c->kind == CHANGE_CLOSE)
			close_root(r, c->mount->path);
		else if (c->kind == CHANGE_OPEN)
			open_root(r, c->mount->path);
	}
}

/* True if a step that closes something has not */
static bool is_open(const struct reveal *r, const struct change *c)
{
	auto_close int at = cover_open(c->mount->path);

	if (at < 0 || cover_hides(r->own, at))
		return false;
	return c->kind == CHANGE_HIDE ||
	       (c->kind == CHANGE_CLOSE && cover_is_mount(at) &&
		!cover_is_read_only(at));
}

/* Where the mask is that @path, which cannot be found, would be in; or NULL. The
 * caller frees.
 */
static char *mask_of(const struct reveal *r, const char *path)
{
	char *dir = path_parent(path);

	while (dir[1]) {
		auto_close int at = cover_open(dir);
		char *above;

		if (at >= 0 && cover_is_mask(r->own, at))
			return dir;
		if (at >= 0 && !cover_hides(r->own, at))
			break;
		above = path_parent(dir);
		free(dir);
		dir = above;
	}
	free(dir);
	return NULL;
}

/* True if there is nothing to do for @c, also because nothing is there */
static bool is_shown(const struct reveal *r, const struct change *c)
{
	auto_close int at = cover_open(c->mount->path);
	auto_free char *mask = at < 0 ? mask_of(r, c->mount->path) : NULL;

	if (at < 0)
		return !mask;
	return !cover_hides(r->own, at) &&
	       (!c->writable || (!cover_is_read_only(at) &&
				 (!c->mount->is_dir || cover_is_mount(at))));
}

/* True if a mask is all around @path: who is asked to write there for the command
 * does not get through
 */
static bool is_inside(const struct reveal *r, const char *path)
{
	auto_free char *dir = path_parent(path);
	auto_close int at = cover_open(dir);

	return at >= 0 && cover_hides(r->own, at);
}

/* True if somebody may be at work in what is mounted in @path, a mask or in one: it
 * would go with that
 */
static bool has_work(const struct reveal *r, const char *path)
{
	auto_close int here = cover_open(path);

	if (here >= 0 && !cover_hides(r->own, here))
		return false;
	for (size_t i = 0; i < r->known->len; i++) {
		const struct mounted *m = &r->known->v[i];
		auto_close int at = mounted_is_work(m) &&
				    path_is_below(path, m->path) ?
				    cover_open(m->path) : -1;

		if (at >= 0 && cover_is_mount(at) && !cover_hides(r->own, at))
			return true;
	}
	return false;
}

/* Where nothing behind it stays closed */
static void lift(const struct reveal *r, const struct change *c)
{
	auto_close int at = cover_open(c->mount->path);

	if (c->plain && at >= 0 && cover_is_mask(r->own, at) &&
	    !has_work(r, c->mount->path))
		take_off(r, c->mount->path, true);
}

/* True if @path is, holds or is in something that is about to be shown */
static bool concerns(const struct reveal *r, const bool *wanted,
		     const char *path)
{
	for (size_t i = 0; i < r->changes->len; i++) {
		const char *shown = r->changes->v[i].mount->path;

		if (wanted[i] && (path_is_within(shown, path) ||
				  path_is_within(path, shown)))
			return true;
	}
	return false;
}

/* In the copy: what we put there goes, but for what may be worked in */
static void strip(const struct reveal *r, const bool *wanted)
{
	for (size_t i = 0; i < r->known->len; i++) {
		const struct mounted *m = &r->known->v[i];
		bool work = mounted_is_work(m);

		if (!concerns(r, wanted, m->path))
			continue;
		while (i + 1 < r->known->len &&
		       !strcmp(r->known->v[i + 1].path, m->path))
			work |= mounted_is_work(&r->known->v[++i]);
		take_off(r, m->path, work);
	}
}

static int cover_one(const struct reveal *r, const struct mounted *m)
{
	auto_close int at = cover_open(m->path), tree = -1;

	/* What is not there the keeper waits for */
	if (at < 0 || cover_holds(r->own, m->kind, at) ||
	    cover_close(r->own, m->kind, at))
		return 0;
	tree = cover_make(r->own, m->kind, at);
	return tree < 0 ? -1 : cover_attach(tree, at);
}

/* What stays closed below @path */
static int cover_below(const struct reveal *r, const char *path)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < r->next->len; i++) {
		const struct mounted *m = &r->next->v[i];

		if (mounted_is_kept(m) && path_is_below(path, m->path))
			ret = cover_one(r, m);
	}
	return ret;
}

/* True if @at is not what the settings were looked up for */
static bool is_other(int at, const struct mounted *m)
{
	struct stat st;

	return !mounted_is_mask(m) && m->ino &&
	       (fstat(at, &st) < 0 || st.st_ino != m->ino ||
		st.st_dev != m->dev);
}

/* A clone of what @c shows, with all that stays closed in it; -ENOENT if there is
 * nothing, or another error
 */
static int take_tree(const struct reveal *r, const struct change *c)
{
	auto_close int at = cover_open(c->mount->path), tree = -1;
	auto_free char *mask = at < 0 ? mask_of(r, c->mount->path) : NULL;

	if (at < 0)
		return mask ? -EBUSY : -ENOENT;
	if (cover_hides(r->own, at) || is_other(at, c->mount) ||
	    cover_below(r, c->mount->path) < 0)
		return -EBUSY;
	tree = sys_open_tree(at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			     AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0 || (c->read_only && cover_set_read_only(tree) < 0))
		return -EBUSY;
	if (c->writable)	/* What is mounted in it stays as it is */
		(void)cover_set_writable(tree);
	return take_fd(&tree);
}

/* In a copy of the namespace: @trees[i] for each change that is @wanted. What is
 * deeper comes first, for above it a mask may be put on again.
 */
static void take_trees(const struct reveal *r, const bool *wanted, int *trees)
{
	size_t left = REVEAL_MAX;

	/* Nothing may come back from it, whatever the mounts are */
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return;
	strip(r, wanted);
	for (size_t i = r->changes->len; i-- > 0;) {
		if (!wanted[i] || !left)
			continue;
		trees[i] = take_tree(r, &r->changes->v[i]);
		left -= trees[i] >= 0;
	}
	if (setns(r->mnt, CLONE_NEWNS) < 0)
		_exit(1);
}

/* Make @path, and what leads to it, in the directory @top: a file that nobody opens
 * when what is mounted on it has gone again
 */
static int make_point(int top, const char *path, bool is_dir)
{
	auto_close int dir = fcntl(top, F_DUPFD_CLOEXEC, 3);

	while (dir >= 0 && *path) {
		const size_t n = strcspn(path, "/");
		const bool last = !path[n];
		auto_free char *name = mem_strndup(path, n);
		const int r = last && !is_dir ?
			mknodat(dir, name, S_IFREG, 0) :
			mkdirat(dir, name, 0555);
		int next;

		if (r < 0 && errno != EEXIST)
			return -1;
		if (last)
			return 0;
		next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW |
			      O_CLOEXEC);
		close_fd(&dir);
		dir = next;
		path += n + 1;
	}
	return -1;
}

/* One that shows nothing may be that of others; one that talks is not for us */
static bool is_plain_and_empty(int mask, bool *ret_empty)
{
	auto_close int fd = openat(mask, ".", O_RDONLY | O_DIRECTORY |
				   O_CLOEXEC);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
		return false;
	*ret_empty = dir_next(&dir, &entry) == 0;
	return true;
}

/* Something to mount @path on, in the mask that it is in: a directory of our own */
static int furnish(const struct reveal *r, const char *path, bool is_dir)
{
	auto_free char *mask = mask_of(r, path);
	auto_close int at = mask ? cover_open(mask) : -1, top = -1;
	bool shared;

	if (at < 0 || !is_plain_and_empty(at, &shared))
		return -1;
	top = shared ? cover_make_tmpfs(r->own, "0555") :
	      sys_open_tree(at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			    AT_EMPTY_PATH);
	if (top < 0 || cover_set_writable(top) < 0 ||
	    make_point(top, path + strlen(mask) + 1, is_dir) < 0)
		return -1;
	if (!shared)
		return 0;
	return cover_set_read_only(top) < 0 ? -1 : cover_attach(top, at);
}

static void put(const struct reveal *r, const struct change *c, int tree)
{
	const char *path = c->mount->path;
	auto_close int at = cover_open(path);

	if (at < 0 && furnish(r, path, c->mount->is_dir) == 0)
		at = cover_open(path);
	if (at >= 0)
		(void)cover_attach(tree, at);
}

/* @before: it was seen before all this */
static bool stays_hidden(const struct reveal *r, const struct change *c,
			 bool before)
{
	return !is_shown(r, c) || (!before && c->late &&
				   is_inside(r, c->mount->path));
}

static void show_all(struct reveal *r, const bool *before)
{
	const size_t n = r->changes->len;
	auto_free int *trees = mem_alloc((n + 1) * sizeof(*trees));
	auto_free bool *wanted = mem_zalloc((n + 1) * sizeof(*wanted));
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const struct change *c = &r->changes->v[i];

		trees[i] = -1;
		if (c->kind != CHANGE_SHOW)
			continue;
		lift(r, c);
		wanted[i] = !is_shown(r, c) && !has_work(r, c->mount->path);
		any |= wanted[i];
	}
	if (any)
		take_trees(r, wanted, trees);
	for (size_t i = 0; i < n; i++) {
		/* Something above it may have brought it along */
		if (trees[i] >= 0 && !is_shown(r, &r->changes->v[i]))
			put(r, &r->changes->v[i], trees[i]);
	}
	for (size_t i = 0; i < n; i++) {
		const struct change *c = &r->changes->v[i];

		if (c->kind == CHANGE_SHOW && trees[i] != -ENOENT)
			r->hidden += stays_hidden(r, c, before[i]);
		close_fd(&trees[i]);
	}
}

void reveal(struct reveal *r)
{
	const size_t n = r->changes->len;
	auto_free bool *before = mem_zalloc((n + 1) * sizeof(*before));

	r->hidden = r->open = 0;
	for (size_t i = 0; i < n; i++)
		before[i] = is_shown(r, &r->changes->v[i]);
	take_steps(r);
	show_all(r, before);
	take_steps(r);		/* For what has come to light */
	for (size_t i = 0; i < n; i++)
		r->open += is_open(r, &r->changes->v[i]);
}
