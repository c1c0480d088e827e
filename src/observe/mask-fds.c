/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/ways.c - to directories that are shown in a mask that talks
 *
 * Theory of operation: the kernel walks as usual, and only where it may not go
 * on is the start of the path replaced by a descriptor. So a mask that an edit
 * took off needs no word: from then on it is not in the way. What was shown in it
 * is mounted anew then, and the descriptor is of a mount that is nowhere any more,
 * whose directories have no name that we could believe.
 */

#include "watch/ways.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "plan/mask.h"

enum { TRIES = 10000 };

struct ways {
	struct way {
		char *path;
		int fd;
	} v[MASK_WAYS_MAX];
	size_t len;
};

struct ways *ways_new(const struct plan *plan, const int *fds, size_t n)
{
	struct ways *ways = n ? mem_zalloc(sizeof(*ways)) : NULL;
	struct mask_tree tree = { 0 };

	if (!ways)
		return NULL;
	mask_tree_build(plan, &tree);
	for (size_t i = 0; i < n; i++) {
		int fd = fds[i];

		if (i < tree.ways.len && i < MASK_WAYS_MAX)
			ways->v[ways->len++] = (struct way){
				take_ptr(tree.ways.v[i]), fd,
			};
		else
			close_fd(&fd);
	}
	mask_tree_done(&tree);
	return ways;
}

void ways_free(struct ways *ways)
{
	for (size_t i = 0; ways && i < ways->len; i++) {
		free(ways->v[i].path);
		close_fd(&ways->v[i].fd);
	}
	free(ways);
}

/* The way that is nearest to @path, or NULL */
static const struct way *find(const struct ways *ways, const char *path)
{
	const struct way *best = NULL;

	for (size_t i = 0; ways && i < ways->len; i++) {
		if (path_is_within(ways->v[i].path, path) &&
		    (!best || path_is_below(best->path, ways->v[i].path)))
			best = &ways->v[i];
	}
	return best;
}

/* Of two paths, up to the end of the last name that they share */
static size_t common(const char *a, const char *b)
{
	size_t last = 0, i = 0;

	for (;; i++) {
		const bool a_ends = a[i] == '/' || !a[i];

		if (a_ends && (b[i] == '/' || !b[i]))
			last = i;
		if (a[i] != b[i] || !a[i])
			return last;
	}
}

size_t ways_length(const struct ways *ways, const char *path)
{
	size_t longest = 0;

	for (size_t i = 0; ways && i < ways->len; i++) {
		const size_t n = common(ways->v[i].path, path);

		longest = n > longest ? n : longest;
	}
	return longest;
}

static const char *rest_of(const struct way *way, const char *path)
{
	path += strlen(way->path);
	return path + strspn(path, "/");
}

static int open_dir(int at, const char *path, uint64_t resolve)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = resolve,
	};
	int fd = -1;

	/* EAGAIN: a rename got in between. Renames without end must not stop us. */
	errno = EAGAIN;
	for (int i = 0; i < TRIES && fd < 0 && errno == EAGAIN; i++)
		fd = sys_openat2(at, path, &how);
	return fd < 0 ? -errno : fd;
}

/* True if @fd, which @way led to, is still where its name says */
static bool is_there(const struct way *way, int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return path_is_within(way->path, path);
}

int ways_open(const struct ways *ways, int root, const char *path,
	      uint64_t resolve)
{
	int fd = open_dir(root, *path ? path : "/", RESOLVE_IN_ROOT | resolve);
	const struct way *way = fd == -EACCES ? find(ways, path) : NULL;
	const char *rest;

	if (!way)
		return fd;
	rest = rest_of(way, path);
	fd = open_dir(way->fd, *rest ? rest : ".", RESOLVE_BENEATH | resolve);
	if (fd >= 0 && !is_there(way, fd)) {
		close_fd(&fd);
		fd = -EACCES;
	}
	return fd == -EXDEV ? -EACCES : fd;
}

int ways_stat(const struct ways *ways, int root, const char *path,
	      struct stat *ret)
{
	int r = fstatat(root, path + 1, ret, AT_SYMLINK_NOFOLLOW);
	const struct way *way = r < 0 && errno == EACCES ? find(ways, path)
							 : NULL;

	if (way)
		r = fstatat(way->fd, rest_of(way, path), ret,
			    AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
	return r < 0 ? -errno : 0;
}
