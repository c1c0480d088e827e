/* SPDX-License-Identifier: Apache-2.0 */
/* base/btime.c - when files were made, and which are newer than a moment */

#include "base/btime.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"

enum { MARK_TRIES = 4 };

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* File systems take their times from a clock that ticks in milliseconds.
 * Since Linux 6.13 a change that follows a read of the time gets the exact
 * time instead, and no later time anywhere is less than that: such a change
 * of a file of our own parts what was made before from what is made after it,
 * to the nanosecond. Older kernels have the tick, and what was made in it is
 * taken to be old: a wrong "new" would open an existing repository.
 */
struct timespec btime_now(void)
{
	auto_close int fd = memfd_create("birth", MFD_CLOEXEC);
	struct timespec tick = { 0 };
	struct stat st;

	for (int i = 0; i < MARK_TRIES; i++) {
		const bool seen = fd >= 0 && fstat(fd, &st) == 0 &&
				  fchmod(fd, i % 2 ? 0600 : 0700) == 0 &&
				  fstat(fd, &st) == 0;

		(void)clock_gettime(CLOCK_REALTIME_COARSE, &tick);
		if (!seen || !is_later(&st.st_ctim, &tick))
			continue;
		/* The mark's own time counts as after it */
		if (st.st_ctim.tv_nsec-- == 0) {
			st.st_ctim.tv_nsec = 999999999;
			st.st_ctim.tv_sec--;
		}
		return st.st_ctim;
	}
	return tick;
}

/* True if all of @mask is known of what stands at @path, which is not followed */
static bool look(const char *path, unsigned int mask, struct statx *ret)
{
	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, mask, ret) == 0 &&
	       (ret->stx_mask & mask) == mask;
}

static bool is_after(const struct statx_timestamp *t,
		     const struct timespec *since)
{
	return is_later(&(struct timespec){ t->tv_sec, t->tv_nsec }, since);
}

bool btime_is_after(const char *path, const struct timespec *since)
{
	struct statx x;

	return look(path, STATX_BTIME, &x) && is_after(&x.stx_btime, since);
}

int64_t btime_of(int fd)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &x) < 0 ||
	    !(x.stx_mask & STATX_BTIME))
		return 0;
	return (int64_t)x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec;
}

bool btime_changed_after(const char *path, const struct timespec *since)
{
	struct statx x;

	return look(path, STATX_CTIME, &x) && is_after(&x.stx_ctime, since);
}

bool btime_came_after(const char *path, const struct timespec *since)
{
	auto_free char *parent = path_parent(path);
	struct statx x, dir;

	if (btime_is_after(path, since))
		return true;
	/* Moved, not changed: and into this directory */
	return look(path, STATX_CTIME | STATX_MTIME, &x) &&
	       is_after(&x.stx_ctime, since) && !is_after(&x.stx_mtime, since) &&
	       statx(AT_FDCWD, parent, 0, STATX_MTIME, &dir) == 0 &&
	       is_after(&dir.stx_mtime, since);
}

bool btime_was_before(const char *path, const struct timespec *since)
{
	struct statx x;

	return look(path, STATX_BTIME, &x) && !btime_came_after(path, since);
}

bool btime_in_repository(const char *root, const char *path,
			 const struct timespec *since)
{
	const char *end = path + strlen(root);

	if (!path_is_below(root, path))
		return false;
	while ((end = strchr(end + 1, '/')) != NULL) {
		auto_free char *dir = mem_strndup(path, (size_t)(end - path));
		auto_free char *git = path_join(dir, ".git");
		struct stat st;

		if (btime_is_after(dir, since) && !lstat(git, &st))
			return true;
	}
	return false;
}
