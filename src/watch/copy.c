/* SPDX-License-Identifier: Apache-2.0 */
/* watch/copy.c - move a tree to another file system, by descriptors */

#include "watch/copy.h"

#include <dirent.h>
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

#include "base/own.h"

enum { CHUNK = 1 << 20 };

/**
 * struct copy - How much is left
 */
struct copy {
	size_t entries;
	unsigned int depth;
};

static int copy_any(struct copy *c, int from, const char *name, int to,
		    const char *to_name);

static DIR *open_dir(int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_DIRECTORY |
				   O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d)
		(void)take_fd(&fd);
	return d;
}

/* The next name that is not "." or "..", or NULL */
static const char *next_name(DIR *dir)
{
	struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(dir);
	} while (entry && (!strcmp(entry->d_name, ".") ||
			   !strcmp(entry->d_name, "..")));
	return entry ? entry->d_name : NULL;
}

/* Only what was written: a file may be huge and hold next to nothing */
static int copy_data(int in, int out)
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
		}
	}
	return errno == ENXIO ? 0 : -errno;
}

static int copy_file(int from, const char *name, int to, const char *to_name,
		     mode_t mode)
{
	auto_close int in = openat(from, name, O_RDONLY | O_NOFOLLOW |
				   O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	auto_close int out = -1;
	int r;

	if (in < 0)
		return -errno;
	out = openat(to, to_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
		     O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	r = copy_data(in, out);
	if (r == 0 && fchmod(out, mode & 0777) < 0)
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

static int copy_dir(struct copy *c, int from, const char *name, int to,
		    const char *to_name, mode_t mode)
{
	auto_closedir DIR *dir = open_dir(from, name);
	auto_close int below = -1;
	const char *entry;
	int r = 0;

	if (!dir || mkdirat(to, to_name, 0700) < 0)
		return -errno;
	below = openat(to, to_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		       O_CLOEXEC);
	if (below < 0)
		return -errno;
	if (!c->depth)
		return -ELOOP;
	c->depth--;
	while (!r && (entry = next_name(dir)) != NULL)
		r = copy_any(c, dirfd(dir), entry, below, entry);
	c->depth++;
	if (!r)
		r = -errno;
	if (!r && fchmod(below, mode & 0777) < 0)
		r = -errno;
	return r;
}

static int copy_any(struct copy *c, int from, const char *name, int to,
		    const char *to_name)
{
	struct stat st;

	if (!c->entries--) {
		c->entries = 0;
		return -E2BIG;
	}
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return copy_dir(c, from, name, to, to_name, st.st_mode);
	if (S_ISLNK(st.st_mode))
		return copy_link(from, name, to, to_name);
	if (S_ISREG(st.st_mode))
		return copy_file(from, name, to, to_name, st.st_mode);
	return 0;
}

int copy_remove(int dir, const char *name, unsigned int depth_max)
{
	auto_closedir DIR *d = NULL;
	const char *entry;
	int r = 0;

	if (!unlinkat(dir, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	d = open_dir(dir, name);
	if (!d)
		return -errno;
	while (!r && depth_max && (entry = next_name(d)) != NULL)
		r = copy_remove(dirfd(d), entry, depth_max - 1);
	if (!r && unlinkat(dir, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}

int copy_move(int from_dir, const char *from_name, int to_dir,
	      const char *to_name, size_t entries_max, unsigned int depth_max)
{
	struct copy c = { entries_max, depth_max };
	int r;

	if (!syscall(SYS_renameat2, from_dir, from_name, to_dir, to_name,
		     RENAME_NOREPLACE))
		return 0;
	if (errno != EXDEV && errno != EINVAL)
		return -errno;
	r = copy_any(&c, from_dir, from_name, to_dir, to_name);
	if (r < 0) {
		(void)copy_remove(to_dir, to_name, depth_max + 1);
		return r;
	}
	return copy_remove(from_dir, from_name, depth_max + 1);
}
