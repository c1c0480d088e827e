/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view/rename-guard.c - find a deny rule that a directory rename would escape
 *
 * Theory of operation: a rule with a path matches nothing any more once a directory
 * above that path has another name. A pattern still matches all that it matched below
 * the directory if it has matched as many of its components at the new name as at the
 * old one, which is true of most patterns and names; otherwise the directory is
 * searched.
 */


#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "policy/glob.h"
#include "policy/policy.h"
#include "view/view.h"

/* True if something below @path, which is open as @fd, matches; or might */
static bool holds_match(const struct glob *glob, int fd, const char *path,
			unsigned int depth, unsigned int *left)
{
	uint64_t buffer[512];
	struct dir dir = { .fd = fd, .buffer = (char *)buffer,
			   .size = sizeof(buffer) };
	struct dir_entry entry;
	int r;

	if (!depth)
		return true;
	while ((r = dir_next(&dir, &entry)) > 0) {
		auto_free char *below = path_join(path, entry.name);
		auto_close int next = -1;

		if (!--*left || glob_match(glob, below))
			return true;
		if (!glob_may_match_below(glob, below))
			continue;
		next = openat(fd, entry.name, O_RDONLY | O_DIRECTORY |
			      O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		/* A directory that is closed now can be opened with chmod() later */
		if (next < 0 ? errno == EACCES :
		    holds_match(glob, next, below, depth - 1, left))
			return true;
	}
	return r < 0;
}

static bool pattern_lifts(const struct glob *glob, const char *from,
			  const char *at, const char *to)
{
	const uint64_t before = glob_at(glob, from), after = glob_at(glob, to);
	const uint64_t far = (before | after) & GLOB_FAR;
	unsigned int left = RENAME_GUARD_NAMES_MAX;
	auto_close int fd = -1;

	if (before == GLOB_NOWHERE || (!far && !(before & ~after)))
		return false;
	fd = sys_open_nofollow(AT_FDCWD, at, O_RDONLY | O_DIRECTORY |
			       O_CLOEXEC, 0);
	return fd < 0 || holds_match(glob, fd, from, RENAME_GUARD_DEPTH_MAX, &left);
}

const struct path_rule *rename_guard_find(const struct view *view, const char *from,
				    const char *at, const char *to)
{
	struct stat st;

	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (path_list_denies(r->list) && path_is_below(from, r->path) &&
		    lstat(r->path, &st) == 0)
			return r->rule;
	}
	for (size_t i = 0; i < view->globs.len; i++) {
		const struct glob_rule *g = &view->globs.v[i];

		if (path_list_denies(g->list) &&
		    pattern_lifts(g->glob, from, at, to))
			return g->rule;
	}
	return NULL;
}
