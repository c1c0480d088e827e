/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/pin.c - what leads to a path that an edit closes stays in place
 *
 * Theory of operation: a directory cannot be renamed while it is a mount point in
 * the mount namespace of whoever tries; the kernel asks for the directory, not for
 * the way to it. At the start of a run pins are mounted onto themselves. Later that
 * would leave behind who works in them: he would be below the new mount, where no
 * later mask or read-only bind is seen. So the directory becomes a mount point
 * elsewhere: a clone of it, and on its root, which is the same directory, a mask.
 *
 * All of that is in a directory of our own, mounted on one of the kernel's that
 * is always empty. Nobody but us gets into it, or a clone without its masks
 * could be seen for a moment. A point in there is called after what it holds.
 *
 * Names can be swapped while we work: what is held is compared with what has the
 * name then, from the top down, so that the next name is looked up in what stays.
 */

#include "watch/pin.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "plan/change.h"
#include "watch/cover.h"

#define PLACE	"/proc/tty/ldisc"

enum {
	TRIES = 64,	/* Somebody may replace it while we hold it */
	POINT_SIZE = 64,
};

/**
 * struct pins - What pins_set() works on
 * @place:	Our directory, or -1
 * @points:	Of what is wanted: the names in there
 */
struct pins {
	struct cover_own *own;
	int proc, place;
	struct pins_seen seen;
	struct { char (*v)[POINT_SIZE]; size_t len, cap; } points;
};

static int open_pin(const char *path)
{
	return sys_open_nofollow(AT_FDCWD, path, O_PATH | O_NOFOLLOW |
				 O_CLOEXEC, 0);
}

/* Ours, if it is there already; else made, if @make */
static int open_place(struct cover_own *own, bool make)
{
	auto_close int at = cover_open(PLACE), tree = -1;

	if (at < 0 || cover_is_mask(own, at))
		return take_fd(&at);
	tree = make ? cover_make_tmpfs(own, "0") : -1;
	if (tree < 0 || cover_attach(tree, at) < 0)
		return -1;
	return cover_open(PLACE);
}

/* What stands at a point of our directory */
static int open_point(const struct pins *p, const char *point)
{
	return sys_open_nofollow(p->place, point, O_PATH | O_NOFOLLOW |
				 O_CLOEXEC, 0);
}

/* The directory is read-only: it is made in a clone that is not */
static int make_point(const struct pins *p, const char *point, bool is_dir)
{
	auto_close int top = sys_open_tree(p->place, "", OPEN_TREE_CLONE |
					   OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	int r;

	if (top < 0 || cover_set_writable(top) < 0)
		return -1;
	r = is_dir ? mkdirat(top, point, 0) : mknodat(top, point, S_IFREG, 0);
	return r < 0 && errno != EEXIST ? -1 : open_point(p, point);
}

static void clear_point(const struct pins *p, const char *point)
{
	for (int i = 0; i < TRIES; i++) {
		auto_close int at = open_point(p, point);

		if (at < 0 || !cover_is_mount(at) ||
		    cover_remove(p->proc, at) < 0)
			break;
	}
}

/* Without what is mounted in it; but the host's mounts do not come off */
static int clone_pin(int at)
{
	const unsigned int flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
				   AT_EMPTY_PATH;
	auto_close int tree = sys_open_tree(at, "", flags);

	if (tree < 0)
		tree = sys_open_tree(at, "", flags | AT_RECURSIVE);
	return tree < 0 || cover_set_read_only(tree) < 0 ? -1 : take_fd(&tree);
}

/* Make @at a mount point. It is one if a mask is at its @point: that comes last. */
static int hold(struct pins *p, int at, const struct stat *st,
		const char *point)
{
	auto_close int there = open_point(p, point), tree = -1, mask = -1;

	if (there >= 0 && cover_is_mask(p->own, there))
		return 0;
	p->seen.held = true;
	clear_point(p, point);
	close_fd(&there);
	there = make_point(p, point, S_ISDIR(st->st_mode));
	tree = there < 0 ? -1 : clone_pin(at);
	mask = tree < 0 ? -1 : cover_make(p->own, MOUNT_MASK_DIR, tree);
	return mask < 0 || cover_attach(tree, there) < 0 ? -1 :
	       cover_attach(mask, tree);
}

static bool is_same(const char *path, const struct stat *st)
{
	auto_close int at = open_pin(path);
	struct stat now;

	return at >= 0 && fstat(at, &now) == 0 && now.st_ino == st->st_ino &&
	       now.st_dev == st->st_dev;
}

/* False if it may be renamed all the same */
static bool pin(struct pins *p, const char *path)
{
	for (int i = 0; i < TRIES; i++) {
		auto_close int at = open_pin(path);
		char point[POINT_SIZE];
		struct stat st;

		/* What is not there leads nowhere */
		p->seen.missing |= at < 0;
		if (at < 0 || fstat(at, &st) < 0 || cover_is_mount(at))
			return true;
		if (p->place < 0)
			p->place = open_place(p->own, true);
		snprintf(point, sizeof(point), "%llx-%llx",
			 (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino);
		if (p->place < 0 || hold(p, at, &st, point) < 0)
			return false;
		if (!is_same(path, &st))
			continue;
		memcpy(*vec_push(&p->points), point, sizeof(point));
		return true;
	}
	return false;
}

/* Sorted by path, what is in it comes behind it */
static bool leads_somewhere(const struct mounted_list *next, size_t i)
{
	const char *path = next->v[i].path;
	const size_t n = strlen(path);

	for (; i < next->len && !strncmp(next->v[i].path, path, n); i++) {
		const struct mounted *m = &next->v[i];

		if ((mounted_is_mask(m) || m->kind == MOUNT_BIND_RO) &&
		    path_is_within(path, m->path))
			return true;
	}
	return false;
}

static bool is_wanted(const struct pins *p, const char *point)
{
	for (size_t i = 0; i < p->points.len; i++) {
		if (!strcmp(p->points.v[i], point))
			return true;
	}
	return false;
}

static void let_go(const struct pins *p)
{
	auto_close int fd = openat(p->place, ".", O_RDONLY | O_DIRECTORY |
				   O_CLOEXEC);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;

	while (fd >= 0 && dir_next(&dir, &entry) > 0) {
		if (!is_wanted(p, entry.name))
			clear_point(p, entry.name);
	}
}

struct pins_seen pins_set(const struct mounted_list *next,
			  struct cover_own *own, int proc)
{
	struct pins p = { .own = own, .proc = proc,
			  .place = open_place(own, false) };

	for (size_t i = 0; i < next->len; i++) {
		if (next->v[i].kind == MOUNT_PIN && leads_somewhere(next, i))
			p.seen.loose += p.points.len >= PINS_MAX ||
					!pin(&p, next->v[i].path);
	}
	if (p.place >= 0)
		let_go(&p);
	free(p.points.v);
	close_fd(&p.place);
	return p.seen;
}
