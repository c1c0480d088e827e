/* SPDX-License-Identifier: Apache-2.0 */
/* plan/walk-git.h - what git obeys in the repositories that exist */

#ifndef PLAN_WALK_GIT_H
#define PLAN_WALK_GIT_H

#include <stddef.h>

struct stat;
struct view;

enum {
	WALK_GIT_DEPTH = 16,		/* Below "modules" */
	WALK_POINTER_MAX = 8192,	/* "gitdir: " and a path */
};

/* Add to @view that @path, which is @st, must not be written. A link is held in
 * its place, and what it leads to stays as it is.
 */
void walk_protect(struct view *view, const char *path, const struct stat *st,
		  const char *name, const char *reason);

/* The directory @closed cannot be looked into. A command may have seen to that, so
 * that this run finds nothing in it, and open it again: all of it must not be
 * written.
 */
void walk_close(struct view *view, const char *closed);

/* @git_dir is a repository: hold on to what git obeys in it, and in those of its
 * submodules. *@left: names that may still be looked at.
 */
void walk_git(struct view *view, const char *git_dir, size_t *left);

/* The directory @dir is a git directory by its shape: the same */
void walk_git_root(struct view *view, const char *dir, size_t *left);

/* Where the ".git" at @file points, real; or NULL. The caller frees. */
char *walk_git_target(const char *file);

#endif /* PLAN_WALK_GIT_H */
