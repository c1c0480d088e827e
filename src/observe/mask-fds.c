/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/mask-fds.c - descriptors of directories that a FUSE mask shows
 *
 * Theory of operation: openat2() resolves as usual; only where a mask refuses with
 * EACCES is the start of the path replaced by a descriptor. A descriptor whose mount is
 * detached by now has no path that is below the directory's name, and is not used.
 */

#include "observe/mask-fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "plan/fuse-mask.h"

enum { TRIES = 10000 };

struct mask_fds {
	struct mask_fd {
		char *path;
		int fd;
	} v[FUSE_MASK_WAYS_MAX];
	size_t len;
};

struct mask_fds *mask_fds_new(const struct plan *plan, const int *given, size_t n)
{
	struct mask_fds *fds = n ? mem_zalloc(sizeof(*fds)) : NULL;
	struct fuse_mask_tree tree = { 0 };

	if (!fds)
		return NULL;
	fuse_mask_tree_build(plan, &tree);
	for (size_t i = 0; i < n; i++) {
		int fd = given[i];

		if (i < tree.ways.len && i < FUSE_MASK_WAYS_MAX)
			fds->v[fds->len++] = (struct mask_fd){
				take_ptr(tree.ways.v[i]), fd,
			};
		else
			close_fd(&fd);
	}
	fuse_mask_tree_done(&tree);
	return fds;
}

void mask_fds_free(struct mask_fds *fds)
{
	for (size_t i = 0; fds && i < fds->len; i++) {
		free(fds->v[i].path);
		close_fd(&fds->v[i].fd);
	}
	free(fds);
}

/* The innermost directory that @path is in, or NULL */
static const struct mask_fd *find(const struct mask_fds *fds, const char *path)
{
	const struct mask_fd *best = NULL;

	for (size_t i = 0; fds && i < fds->len; i++) {
		if (path_is_within(fds->v[i].path, path) &&
		    (!best || path_is_below(best->path, fds->v[i].path)))
			best = &fds->v[i];
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

size_t mask_fds_length(const struct mask_fds *fds, const char *path)
{
	size_t longest = 0;

	for (size_t i = 0; fds && i < fds->len; i++) {
		const size_t n = common(fds->v[i].path, path);

		longest = n > longest ? n : longest;
	}
	return longest;
}

static const char *rest_of(const struct mask_fd *shown, const char *path)
{
	path += strlen(shown->path);
	return path + strspn(path, "/");
}

static int open_dir(int at, const char *path, uint64_t resolve)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = resolve,
	};
	int fd = -1;

	/* EAGAIN: a rename interfered. Renames without end must not block us. */
	errno = EAGAIN;
	for (int i = 0; i < TRIES && fd < 0 && errno == EAGAIN; i++)
		fd = sys_openat2(at, path, &how);
	return fd < 0 ? -errno : fd;
}

int mask_fds_open(const struct mask_fds *fds, int root, const char *path,
	      uint64_t resolve)
{
	int fd = open_dir(root, *path ? path : "/", RESOLVE_IN_ROOT | resolve);
	const struct mask_fd *shown = fd == -EACCES ? find(fds, path) : NULL;
	char now[PATH_MAX] = "";
	const char *rest;

	if (!shown)
		return fd;
	rest = rest_of(shown, path);
	fd = open_dir(shown->fd, *rest ? rest : ".", RESOLVE_BENEATH | resolve);
	if (fd >= 0)
		(void)fs_fd_link(fd, now, sizeof(now));
	if (fd >= 0 && !path_is_within(shown->path, now)) {
		close_fd(&fd);
		fd = -EACCES;
	}
	return fd == -EXDEV ? -EACCES : fd;
}

int mask_fds_stat(const struct mask_fds *fds, int root, const char *path,
	      struct stat *ret)
{
	int r = fstatat(root, path + 1, ret, AT_SYMLINK_NOFOLLOW);
	const struct mask_fd *shown = r < 0 && errno == EACCES ? find(fds, path)
							 : NULL;

	if (shown)
		r = fstatat(shown->fd, rest_of(shown, path), ret,
			    AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
	return r < 0 ? -errno : 0;
}
