/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/passable.c - directories of others, closed to root without capabilities
 *
 * Everybody else finds out by looking: what they cannot look at is not in the
 * view. Root can look at all of it out here. In the sandbox it is a user whose
 * capabilities count for its own files only, so that nothing can be mounted in
 * there, and nobody in there can be reached. Somebody else's home as $HOME is
 * such a place.
 */

#include "plan/passable.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/own.h"
#include "base/path.h"

/* When in doubt, true: then the mount fails, and nothing runs */
static bool may_pass(const char *dir, const struct stat *st)
{
	if (st->st_uid == 0 || (st->st_mode & S_IXOTH))
		return true;
	/* The group's bit is also what an access list can grant at most */
	if (!(st->st_mode & S_IXGRP))
		return false;
	return st->st_gid == getegid() || group_member(st->st_gid) ||
	       lgetxattr(dir, "system.posix_acl_access", NULL, 0) >= 0;
}

bool passable(const char *path)
{
	auto_free char *dir = path_parent(path);
	struct stat st;

	while (geteuid() == 0 && dir[1]) {
		char *above = path_parent(dir);
		const bool closed = lstat(dir, &st) == 0 && !may_pass(dir, &st);

		free(dir);
		dir = above;
		if (closed)
			return false;
	}
	return true;
}
