/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard/tree-copy.c - move a tree to another file system, by descriptors
 *
 * The tree was made by the command: names, bytes and levels are limited, and a
 * mode that denies its owner access is changed for the time of the copy.
 */

#include "guard/tree-copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/own.h"

enum {
	CHUNK = 1 << 20,
	SECTOR = 512,
	LIFTED_MAX = 1 << 16,	/* Names that a tree's deep parts get */
};

static int copy_any(struct tree_copy *c, int from, const char *name, int to,
		    const char *to_name);

/* Make the file @name readable for its owner: true if its mode was changed */
static bool make_readable(int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       !(st.st_mode & S_IRUSR) && fs_chmod(fd, st.st_mode | S_IRUSR) == 0;
}

int tree_copy_data(int in, int out, uint64_t *bytes)
{
	off_t at = 0, end = lseek(in, 0, SEEK_END);

	if (end < 0 || ftruncate(out, end) < 0)
		return -errno;
	while ((at = lseek(in, at, SEEK_DATA)) >= 0) {
		const off_t hole = lseek(in, at, SEEK_HOLE);
		ssize_t n = 1;

		if (hole < 0 || lseek(out, at, SEEK_SET) < 0)
			return -errno;
		while (at < hole && n) {
			const off_t left = hole - at;

			n = sendfile(out, in, &at,
				     left < CHUNK ? (size_t)left : CHUNK);
			if (n < 0 && errno != EINTR)
				return -errno;
			if (n > 0 && (uint64_t)n > *bytes)
				return -EFBIG;
			*bytes -= n > 0 ? (uint64_t)n : 0;
		}
	}
	return errno == ENXIO ? 0 : -errno;
}

static int copy_file(struct tree_copy *c, int from, const char *name, int to,
		     const char *to_name, const struct stat *st)
{
	const bool changed = make_readable(from, name);
	auto_close int in = openat(from, name, O_RDONLY | O_NOFOLLOW |
				   O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	auto_close int out = -1;
	int r;

	if (in < 0)
		return -errno;
	if (changed)
		(void)fchmod(in, st->st_mode & 07777);
	out = openat(to, to_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
		     O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	r = tree_copy_data(in, out, &c->bytes);
	if (r == 0 && fchmod(out, st->st_mode & 0777) < 0)
		r = -errno;
	return r;
}

static int copy_link(int from, const char *name, int to, const char *to_name)
{
	char target[PATH_MAX];
	const ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = 0;
	return symlinkat(target, to, to_name) < 0 ? -errno : 0;
}

static int copy_dir(struct tree_copy *c, int from, const char *name, int to,
		    const char *to_name)
{
	mode_t was = 0;
	auto_close int fd = c->depth ? tree_copy_open(from, name, &was) : -ELOOP;
	auto_close int below = -1;
	auto_dir struct dir names = dir_of(fd);
	struct dir_entry entry;
	int r = 0;

	if (fd < 0)
		return fd;
	if (mkdirat(to, to_name, 0700) < 0)
		return -errno;
	below = openat(to, to_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		       O_CLOEXEC);
	if (below < 0)
		return -errno;
	c->depth--;
	while (!r && (r = dir_next(&names, &entry)) > 0)
		r = copy_any(c, fd, entry.name, below, entry.name);
	c->depth++;
	(void)fchmod(fd, was & 07777);
	return r < 0 ? r : fchmod(below, was & 0777) < 0 ? -errno : 0;
}

static int copy_any(struct tree_copy *c, int from, const char *name, int to,
		    const char *to_name)
{
	struct stat st;

	if (!c->entries)
		return -E2BIG;
	c->entries--;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return copy_dir(c, from, name, to, to_name);
	if (S_ISLNK(st.st_mode))
		return copy_link(from, name, to, to_name);
	/* Not even begun, if it is too large anyway */
	if ((uint64_t)st.st_blocks > c->bytes / SECTOR + 8)
		return -EFBIG;
	return S_ISREG(st.st_mode) ?
	       copy_file(c, from, name, to, to_name, &st) : 0;
}

int tree_copy_tree(struct tree_copy *copy, int from_dir, const char *from_name,
	      int to_dir, const char *to_name)
{
	const unsigned int depth = copy->depth;
	int r;

	r = copy_any(copy, from_dir, from_name, to_dir, to_name);
	if (r < 0 && r != -EEXIST)
		(void)tree_copy_remove(to_dir, to_name, depth + 1, -1);
	return r;
}

int tree_copy_open(int dir, const char *name, mode_t *was)
{
	auto_close int held = openat(dir, name, O_PATH | O_DIRECTORY |
				     O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int fd;

	if (held < 0 || fstat(held, &st) < 0)
		return -errno;
	*was = st.st_mode;
	if ((st.st_mode & S_IRWXU) != S_IRWXU)
		(void)fs_chmod(held, st.st_mode | S_IRWXU);
	fd = openat(held, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Too deep to be removed where it is: into @attic, by a name that is free */
static int lift(int dir, const char *name, int attic)
{
	char to[32];
	int r = -1;

	for (unsigned int i = 0; r < 0 && i < LIFTED_MAX; i++) {
		snprintf(to, sizeof(to), "deep-%u", i);
		r = renameat(dir, name, attic, to);
		if (r < 0 && errno != EEXIST && errno != ENOTEMPTY)
			break;
	}
	return r < 0 ? -errno : 0;
}

int tree_copy_remove(int dir, const char *name, unsigned int depth_max, int attic)
{
	auto_dir struct dir names = dir_of(-1);
	auto_close int fd = -1;
	struct dir_entry entry;
	bool found = true;
	mode_t was;
	int r = 0;

	if (!unlinkat(dir, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = tree_copy_open(dir, name, &was);
	if (fd < 0)
		return fd;
	if (!depth_max && attic >= 0)
		return lift(dir, name, attic);
	names = dir_of(fd);
	/* Again until nothing is found: names may come in, or be passed over */
	while (r == 0 && found && depth_max) {
		found = false;
		(void)lseek(fd, 0, SEEK_SET);
		while (r == 0 && dir_next(&names, &entry) > 0) {
			r = tree_copy_remove(fd, entry.name, depth_max - 1, attic);
			found = true;
		}
	}
	return r == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : r;
}

int tree_copy_move(int from_dir, const char *from_name, int to_dir,
	      const char *to_name, struct tree_copy limits)
{
	const unsigned int depth = limits.depth;
	int r;

	if (!syscall(SYS_renameat2, from_dir, from_name, to_dir, to_name,
		     RENAME_NOREPLACE))
		return 0;
	if (errno != EXDEV && errno != EINVAL)
		return -errno;
	r = tree_copy_tree(&limits, from_dir, from_name, to_dir, to_name);
	return r < 0 ? r : tree_copy_remove(from_dir, from_name, depth + 1,
						-1);
}
