/* SPDX-License-Identifier: Apache-2.0 */
/* watch/birth.c - what was made after a run began */

#include "watch/birth.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"

struct timespec birth_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now;
}

bool birth_is_after(const char *path, const struct timespec *since)
{
	struct statx x;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &x) < 0 ||
	    !(x.stx_mask & STATX_BTIME))
		return false;
	/* Both clocks tick in milliseconds. What was made in the very tick is
	 * taken to be older: a wrong yes would open an existing repository.
	 */
	return x.stx_btime.tv_sec > since->tv_sec ||
	       (x.stx_btime.tv_sec == since->tv_sec &&
		(long)x.stx_btime.tv_nsec > since->tv_nsec);
}

bool birth_in_repository(const char *root, const char *path,
			 const struct timespec *since)
{
	const char *end = path + strlen(root);

	if (!path_is_below(root, path))
		return false;
	while ((end = strchr(end + 1, '/')) != NULL) {
		auto_free char *dir = mem_strndup(path, (size_t)(end - path));
		auto_free char *git = path_join(dir, ".git");
		struct stat st;

		if (birth_is_after(dir, since) && !lstat(git, &st))
			return true;
	}
	return false;
}
