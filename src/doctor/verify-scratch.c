/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-scratch.c - scratch directories that nobody leaves behind */

#include "doctor/verify-scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"

enum {
	WALK_FDS = 16,
	STALE_SECONDS = 60,	/* A new one may not be locked yet */
};

int scratch_lock(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				       O_CLOEXEC);

	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ? -1 : take_fd(&fd);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st, (void)ftw;
	if (type == FTW_DNR)
		(void)chmod(path, 0700);
	(void)remove(path);
	return 0;
}

void scratch_remove(const char *path)
{
	(void)nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
}

static void sweep_one(const char *parent, const char *name)
{
	char path[PATH_MAX];
	auto_close int lock = -1;
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", parent, name) >=
	    (int)sizeof(path))
		return;
	lock = scratch_lock(path);
	if (lock < 0 || fstat(lock, &st) < 0 || st.st_uid != geteuid() ||
	    st.st_ctim.tv_sec > time(NULL) - STALE_SECONDS)
		return;
	scratch_remove(path);
}

void scratch_sweep(const char *parent)
{
	auto_closedir DIR *dir = opendir(parent);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		if (!strncmp(entry->d_name, SCRATCH_PREFIX,
			     sizeof(SCRATCH_PREFIX) - 1))
			sweep_one(parent, entry->d_name);
	}
}

void scratch_unlink(const char *root)
{
	static const char *const names[] = { SCRATCH_LINKS };
	const size_t n = strlen(root);
	char to[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (readlink(names[i], to, sizeof(to)) > (ssize_t)n &&
		    !strncmp(to, root, n))
			(void)unlink(names[i]);
	}
}
