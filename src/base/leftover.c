/* SPDX-License-Identifier: Apache-2.0 */
/* base/leftover.c - empty directories that a killed run left in a bare home */

#include "base/leftover.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"

enum { TOGETHER_NS = 100000000 };	/* Two mkdir() in a row, at any load */

bool leftover_is_alone(const char *path)
{
	auto_free char *above = path_parent(path);
	auto_close int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t room[64];
	struct dir dir = {
		.fd = fd, .room = (char *)room, .size = sizeof(room),
	};
	struct dir_entry entry;

	while (fd >= 0 && dir_next(&dir, &entry) > 0) {
		if (strcmp(entry.name, path_base(path)) != 0)
			return false;
	}
	return true;
}

/* In nanoseconds, or 0 */
static int64_t birth(const char *path)
{
	struct statx x;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &x) < 0 ||
	    !(x.stx_mask & STATX_BTIME) || !S_ISDIR(x.stx_mode))
		return 0;
	return (int64_t)x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec;
}

bool leftover_is(const char *path)
{
	auto_free char *above = path_parent(path);
	auto_free char *home = fs_home();
	const int64_t first = birth(above), second = birth(path);

	return first && second >= first && second - first < TOGETHER_NS &&
	       (!home || strcmp(above, home) != 0) && leftover_is_alone(path);
}

bool leftover_rmdir(const char *path)
{
	auto_free char *above = path_parent(path);

	return access(above, W_OK) == 0 && rmdir(path) == 0;
}

void leftover_remove(const char *path)
{
	auto_free char *above = path_parent(path);
	const bool more = leftover_is(path);

	if (leftover_rmdir(path) && more)
		leftover_remove(above);
}
