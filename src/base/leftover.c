/* SPDX-License-Identifier: Apache-2.0 */
/* base/leftover.c - empty directories that a killed run left in a bare home */

#include "base/leftover.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"

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

/* The directory @above, if leftover_make() made it for another one; or -1 */
static int open_ours(const char *above)
{
	auto_close int fd = open(above, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				 O_CLOEXEC);
	auto_free char *home = fs_home();
	struct stat st;

	if (fd < 0 || (home && !strcmp(above, home)) || fstat(fd, &st) < 0 ||
	    !(st.st_mode & S_ISVTX) || st.st_uid != geteuid() ||
	    (st.st_mode & 077))
		return -1;
	return take_fd(&fd);
}

static void make_above(const char *path)
{
	auto_free char *above = path_parent(path);
	auto_free char *home = fs_home();

	if (access(above, F_OK) == 0 || !strcmp(above, path) ||
	    (home && !strcmp(above, home)))
		return;
	make_above(above);
	(void)mkdir(above, 0700 | S_ISVTX);
}

void leftover_make(const char *path)
{
	make_above(path);
	(void)mkdir(path, 0700);
}

bool leftover_rmdir(const char *path)
{
	auto_free char *above = path_parent(path);

	return access(above, W_OK) == 0 && rmdir(path) == 0;
}

void leftover_tidy(const char *path)
{
	auto_free char *above = path_parent(path);
	auto_close int fd = open_ours(above);

	if (fd < 0)
		return;
	if (!leftover_is_alone(path)) {
		(void)fchmod(fd, 0700);
	} else if (leftover_rmdir(path) || access(path, F_OK) < 0) {
		leftover_tidy(above);
		(void)leftover_rmdir(above);
	}
}
