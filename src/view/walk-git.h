/* SPDX-License-Identifier: Apache-2.0 */
/* view/walk-git.h - what git obeys in the repositories that exist */

#ifndef VIEW_WALK_GIT_H
#define VIEW_WALK_GIT_H

#include <stdbool.h>
#include <stddef.h>

struct view;

enum {
	WALK_GIT_DEPTH = 16,		/* Below "modules" */
	WALK_POINTER_MAX = 8192,	/* "gitdir: " and a path */
	WALK_TODO_MAX = 1 << 20,	/* Bytes */
};

/* What a rebase is still to do, merge strategies (maybe paths of programs), NULL */
extern const char *const walk_git_todos[];

/* @git_dir is a repository: add rules for the files that git obeys in it, and in those
 * of its submodules. *@left: names that may still be looked at.
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

/* Where the ".git" at @file points, real; or NULL. *@ret_named, unless that is
 * NULL, is the same as it was written, if anything was. The caller frees both.
 */
char *walk_git_target(const char *file, char **ret_named);

enum { WALK_INCLUDES_MAX = 32 };	/* Files that are read for one repository */

/* Protect the files that the user's own configuration names below writable roots,
 * existing or not: a relative path is one in every working tree of @view->tops
 */
void walk_config_user(struct view *view);

#endif /* VIEW_WALK_GIT_H */
