/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/reveal.c - masks of a running sandbox come off, or show something
 *
 * Theory of operation: what is behind a mask is taken from a copy of the mount
 * namespace that only we are in: there the mask comes off, what stays hidden or
 * read-only behind it is covered, and a clone of the result goes back with us.
 * One call puts it into place, so nobody sees anything half done.
 *
 * In the sandbox the clone needs something to be mounted on. A mask that goes is
 * there itself. In one that talks, the supervisor has added a node by now. In any
 * other, a directory of our own, we make it. The masks that show nothing have one
 * directory in common, so such a mask gets one of its own first.
 *
 * Names can be swapped while we work, so masks are known by what they are, and
 * taken off by descriptor.
 */

#include "watch/reveal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "plan/change.h"
#include "watch/cover.h"

enum { STACK_MAX = 16 };	/* Mounts on one path that come off at once */

static bool is_mount(int fd, struct statx *x)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE |
		     STATX_MODE | STATX_INO, x) == 0 &&
	       x->stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Of a file system that has nothing of the host's. One of the host's own can look
 * like it; but what was mounted there before the sandbox was made cannot be taken
 * off in it.
 */
static bool is_mask(int fd)
{
	struct statfs fs;
	struct statx x;

	if (!is_mount(fd, &x) || fstatfs(fd, &fs) < 0)
		return false;
	return S_ISCHR(x.stx_mode) ||
	       ((fs.f_type == FUSE_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC) &&
		fs.f_flags & ST_RDONLY);
}

static bool is_any_mount(int fd)
{
	struct statx x;

	return is_mount(fd, &x);
}

static int open_path(const char *path)
{
	return sys_open_nofollow(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
}

/* Take off what is mounted at @path, as long as it is @wanted; true if something
 * was
 */
static bool take_off(const char *path, bool (*wanted)(int fd), int proc)
{
	bool done = false;

	for (int i = 0; i < STACK_MAX; i++) {
		auto_close int at = open_path(path);
		char name[32];

		snprintf(name, sizeof(name), "fd/%d", at);
		if (at < 0 || !wanted(at) || fchdir(proc) < 0 ||
		    umount2(name, MNT_DETACH) < 0)
			break;
		done = true;
	}
	return done;
}

static int cover_one(const struct mounted *m)
{
	struct statx x;
	const int there = cover_look(m->path, &x);
	auto_close int at = -1, tree = -1;

	/* What is mounted there is read-only as it is, but hidden it is not */
	if (there < 0 || (there > 0 && m->kind == MOUNT_BIND_RO))
		return 0;
	at = open_path(m->path);
	tree = at < 0 ? -1 : cover_make(m->kind, at, S_ISDIR(x.stx_mode));
	return tree < 0 ? -1 : cover_attach(tree, at);
}

/* What stays closed below @path; what is not there the keeper waits for */
static int cover_below(const struct mounted_list *next, const char *path)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < next->len; i++) {
		const struct mounted *m = &next->v[i];

		if ((mounted_is_mask(m) || m->kind == MOUNT_BIND_RO) &&
		    path_is_below(path, m->path))
			r = cover_one(m);
	}
	return r;
}

/* True if @at is not what the settings were looked up for */
static bool is_other(int at, const struct mounted *m)
{
	struct statx x;

	if (mounted_is_mask(m) || !m->ino)
		return false;
	return statx(at, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO,
		     &x) < 0 || x.stx_ino != m->ino ||
	       makedev(x.stx_dev_major, x.stx_dev_minor) != m->dev;
}

/* The mount itself, and none in it */
static int set_writable(int tree)
{
	static const struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	return sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr);
}

/* Where files are open for writing a mount stays as it is: then it is covered by
 * one that is read-only, at least for those who come by its name
 */
static void close_root(const char *path)
{
	static const struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	auto_close int at = open_path(path), tree = -1;

	if (at < 0 || !is_any_mount(at) ||
	    sys_mount_setattr(at, "", AT_EMPTY_PATH, &attr) == 0)
		return;
	tree = cover_make(MOUNT_BIND_RO, at, true);
	if (tree >= 0)
		(void)cover_attach(tree, at);
}

/* It stays a mount: what is mounted in it would go as well */
static void open_root(const char *path)
{
	auto_close int at = open_path(path);

	if (at >= 0 && is_any_mount(at))
		(void)set_writable(at);
}

/* A clone of what @c shows, with all that stays closed in it, or -1 */
static int take_tree(const struct change *c, const struct mounted_list *next)
{
	auto_close int at = open_path(c->mount->path), tree = -1;

	if (at < 0 || is_other(at, c->mount) ||
	    cover_below(next, c->mount->path) < 0)
		return -1;
	tree = sys_open_tree(at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			     AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0 || (c->read_only && cover_set_read_only(tree) < 0))
		return -1;
	if (c->writable)	/* What is mounted in it stays as it is */
		(void)set_writable(tree);
	return take_fd(&tree);
}

/* All steps but those that show something */
static void take_steps(const struct changes *changes, int proc)
{
	for (size_t i = 0; i < changes->len; i++) {
		const struct change *c = &changes->v[i];
		const char *path = c->mount->path;

		if (c->kind == CHANGE_LIFT)
			(void)take_off(path, is_mask, proc);
		else if (c->kind == CHANGE_HIDE)
			(void)take_off(path, is_any_mount, proc);
		else if (c->kind == CHANGE_CLOSE)
			close_root(path);
		else if (c->kind == CHANGE_OPEN)
			open_root(path);
	}
}

/* In a copy of the namespace, one for each CHANGE_SHOW: @ret[i] for step i. What
 * is deeper comes first, for above it a mask may be put on again.
 */
static void take_trees(const struct changes *changes,
		       const struct mounted_list *next, int mnt, int proc,
		       int *ret)
{
	/* Nothing may come back from it, whatever the mounts are */
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return;
	for (size_t i = 0; i < changes->len; i++) {
		const struct change *c = &changes->v[i];

		if (c->kind == CHANGE_SHOW && c->mask)
			(void)take_off(c->mask->path, is_mask, proc);
		if (c->kind == CHANGE_SHOW)
			(void)take_off(c->mount->path, is_mask, proc);
	}
	take_steps(changes, proc);
	for (size_t i = changes->len; i-- > 0;) {
		if (changes->v[i].kind == CHANGE_SHOW)
			ret[i] = take_tree(&changes->v[i], next);
	}
	if (setns(mnt, CLONE_NEWNS) < 0)
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

/* Something to mount @c on, in its mask: a directory of our own */
static int furnish(const struct change *c)
{
	const char *path = c->mount->path + strlen(c->mask->path) + 1;
	auto_close int at = open_path(c->mask->path), top = -1;

	if (at < 0 || !is_mask(at))
		return -1;
	top = c->shared ? cover_make_tmpfs() :
	      sys_open_tree(at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			    AT_EMPTY_PATH);
	if (top < 0 || set_writable(top) < 0 ||
	    make_point(top, path, c->mount->is_dir) < 0)
		return -1;
	if (!c->shared)
		return 0;
	return cover_set_read_only(top) < 0 ? -1 : cover_attach(top, at);
}

static int put(const struct change *c, int tree)
{
	auto_close int at = open_path(c->mount->path);

	if (at < 0 && (!c->mask || furnish(c) < 0 || (at = open_path(c->mount->path)) < 0))
		return -1;
	return cover_attach(tree, at);
}

static bool is_masked(const char *path)
{
	auto_close int at = open_path(path);

	return at >= 0 && is_mask(at);
}

size_t reveal(const struct changes *changes, const struct mounted_list *next,
	      int mnt, int proc, bool *shown)
{
	auto_free int *trees = mem_alloc((changes->len + 1) * sizeof(*trees));
	bool any = false;
	size_t hidden = 0;

	for (size_t i = 0; i < changes->len; i++) {
		trees[i] = -1;
		any = any || changes->v[i].kind == CHANGE_SHOW;
	}
	if (any)
		take_trees(changes, next, mnt, proc, trees);
	take_steps(changes, proc);
	for (size_t i = 0; i < changes->len; i++) {
		const struct change *c = &changes->v[i];

		shown[i] = trees[i] >= 0 && put(c, trees[i]) == 0;
		if (c->kind == CHANGE_SHOW)
			hidden += !shown[i];
		close_fd(&trees[i]);
	}
	take_steps(changes, proc);	/* For what has come to light */
	for (size_t i = 0; i < changes->len; i++) {
		const struct change *c = &changes->v[i];

		hidden += c->kind == CHANGE_LIFT && is_masked(c->mount->path);
	}
	return hidden;
}
