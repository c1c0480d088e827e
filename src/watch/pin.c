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
 * What leads to a closed path is looked at, from the top down: all that is writable
 * and no mount itself. Names can be swapped while we work, so what is held is compared
 * with what has the name then; the next name is looked up in what stays. What lies
 * behind a mask is not let go: who has it open could swap names there while the mask
 * is about to come off.
 */

#include "watch/pin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

#define HASH_START	0xcbf29ce484222325	/* FNV-1a */

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

/* The hash of a path, one byte more */
static uint64_t add_byte(uint64_t hash, char c)
{
	return (hash ^ (unsigned char)c) * 0x100000001b3;
}

/* By what it is, and by its path: that is all we know while a mask is above it */
static void name_point(const char *path, const struct stat *st,
		       char point[POINT_SIZE])
{
	uint64_t hash = HASH_START;

	for (const char *p = path; *p; p++)
		hash = add_byte(hash, *p);
	snprintf(point, POINT_SIZE, "%016" PRIx64 "-%llx-%llx", hash,
		 (unsigned long long)st->st_dev,
		 (unsigned long long)st->st_ino);
}

/* Nobody inside can rename it now, or from now on. 0, or a negative errno: -ENOENT
 * if it is not there, -EROFS if what is in it stays anyway.
 */
static int pin(struct pins *p, const char *path)
{
	for (int i = 0; i < TRIES; i++) {
		auto_close int at = open_pin(path);
		char point[POINT_SIZE];
		struct stat st;

		if (at < 0 || fstat(at, &st) < 0)
			return -ENOENT;
		if (cover_is_mount(at))
			return cover_is_read_only(at) ? -EROFS : 0;
		if (cover_is_read_only(at))
			return -EROFS;
		if (p->place < 0)
			p->place = open_place(p->own, true);
		name_point(path, &st, point);
		if (p->place < 0 || hold(p, at, &st, point) < 0)
			return -EBUSY;
		cover_wait(path);
		if (!is_same(path, &st))
			continue;
		if (p->points.len < PINS_MAX)
			memcpy(*vec_push(&p->points), point, sizeof(point));
		return 0;
	}
	return -EBUSY;
}

/* All directories above @path; those above @last, too, are held */
static void pin_above(struct pins *p, const char *path, const char *last)
{
	int before = 0;

	for (const char *end = path; (end = strchr(end + 1, '/')) != NULL;) {
		const size_t n = (size_t)(end - path);
		auto_free char *dir = mem_strndup(path, n);
		int r;

		if (path_is_below(dir, last))
			continue;
		r = pin(p, dir);
		p->seen.loose += r == -EBUSY;
		/* Where nobody writes nothing comes */
		p->seen.missing |= r == -ENOENT && before != -EROFS;
		if (r < 0 && r != -EROFS)
			return;
		before = r;
	}
}

/* A link is held itself: it cannot be read-only */
static void pin_link(struct pins *p, const char *path)
{
	auto_close int at = open_pin(path);
	struct stat st;

	if (at >= 0 && fstat(at, &st) == 0 && S_ISLNK(st.st_mode))
		p->seen.loose += pin(p, path) == -EBUSY;
}

static bool is_wanted(const struct pins *p, const char *point)
{
	for (size_t i = 0; i < p->points.len; i++) {
		if (!strcmp(p->points.v[i], point))
			return true;
	}
	return false;
}

static bool is_hidden(const struct mounted_list *next, const char *path)
{
	for (size_t i = 0; i < next->len; i++) {
		if (mounted_is_mask(&next->v[i]) &&
		    path_is_within(next->v[i].path, path))
			return true;
	}
	return false;
}

/* True if @point was made for a directory that is behind a mask of @next */
static bool is_behind(const struct mounted_list *known,
		      const struct mounted_list *next, const char *point)
{
	const uint64_t wanted = strtoull(point, NULL, 16);

	for (size_t i = 0; i < known->len; i++) {
		const char *path = known->v[i].path;
		uint64_t hash = HASH_START;

		for (const char *p = path; *p; p++) {
			auto_free char *dir = *p == '/' && hash == wanted ?
				mem_strndup(path, (size_t)(p - path)) : NULL;

			if (dir && is_hidden(next, dir))
				return true;
			hash = add_byte(hash, *p);
		}
	}
	return false;
}

static void let_go(const struct pins *p, const struct mounted_list *known,
		   const struct mounted_list *next)
{
	auto_close int fd = openat(p->place, ".", O_RDONLY | O_DIRECTORY |
				   O_CLOEXEC);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;

	while (fd >= 0 && dir_next(&dir, &entry) > 0) {
		if (!is_wanted(p, entry.name) &&
		    !is_behind(known, next, entry.name))
			clear_point(p, entry.name);
	}
}

struct pins_seen pins_set(const struct mounted_list *known,
			  const struct mounted_list *next,
			  struct cover_own *own, int proc)
{
	struct pins p = { .own = own, .proc = proc,
			  .place = open_place(own, false) };
	const char *last = "";

	for (size_t i = 0; i < next->len; i++) {
		const struct mounted *m = &next->v[i];

		if (m->kind == MOUNT_PIN)
			pin_link(&p, m->path);
		if (!mounted_is_kept(m))
			continue;
		pin_above(&p, m->path, last);
		last = m->path;
	}
	if (p.place >= 0)
		let_go(&p, known, next);
	free(p.points.v);
	close_fd(&p.place);
	return p.seen;
}
