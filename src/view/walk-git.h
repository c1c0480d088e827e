/* SPDX-License-Identifier: Apache-2.0 */
/* plan/walk-git.h - what git obeys in the repositories that exist */

#ifndef PLAN_WALK_GIT_H
#define PLAN_WALK_GIT_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct stat;
struct view;

enum {
	WALK_GIT_DEPTH = 16,		/* Below "modules" */
	WALK_POINTER_MAX = 8192,	/* "gitdir: " and a path */
	WALK_TODO_MAX = 1 << 20,	/* Bytes */
};

/* Below a git directory: what a rebase is still to do, "exec" lines among it */
#define WALK_GIT_TODO	"rebase-merge/git-rebase-todo"

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

/* Something could not be looked at because of @error: for want of descriptors or
 * memory @view is not built. Whatever else it is, nobody inside gets further.
 */
void walk_missed(struct view *view, int error);
/* 0 if all that was looked for could be looked at, else a negative errno and words */
int walk_check(const struct view *view, struct err *err);

/* What @name in @dir is, links not followed; false if nothing is there */
bool walk_sees(struct view *view, int dir, const char *name, struct stat *st);

/* @git_dir is a repository: hold on to what git obeys in it, and in those of its
 * submodules. *@left: names that may still be looked at.
 */
void walk_git(struct view *view, const char *git_dir, size_t *left);

/* True if git would take the directory @dir, a path without links, for a git
 * directory, whatever it is called: it need not say "bare"
 */
bool walk_git_is_dir(const char *dir);

/* True of the names that only such a directory is likely to have */
bool walk_git_is_part(const char *name);

/* walk_git(), and what is missing must not be made, if @dir has that shape: then
 * true
 */
bool walk_git_root(struct view *view, const char *dir, size_t *left);

/* The same for where the ".git" at @file points, if that can be written */
void walk_git_pointer(struct view *view, const char *file, size_t *left);

/* True if @path is below a writable root of @view */
bool walk_is_writable(const struct view *view, const char *path);

/* Where the ".git" at @file points, real; or NULL. *@ret_named, unless that is
 * NULL, is the same as it was written, if anything was. The caller frees both.
 */
char *walk_git_target(const char *file, char **ret_named);

#endif /* PLAN_WALK_GIT_H */
