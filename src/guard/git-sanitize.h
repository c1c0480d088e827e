/* SPDX-License-Identifier: Apache-2.0 */
/* guard/git-sanitize.h - disarm hooks and settings of repositories made in a run */

#ifndef GUARD_GIT_SANITIZE_H
#define GUARD_GIT_SANITIZE_H

#include "guard/quarantine.h"

struct timespec;
struct view;

enum {
	GIT_SANITIZE_HOOKS_MAX = 1024,	/* Names looked at in one hooks/ */
	GIT_SANITIZE_MODULES_MAX = 1 << 16,	/* Directories below modules/ */
	GIT_SANITIZE_DEPTH_MAX = 16,
};

/* Move active hooks (all but *.sample) of the git directory @path to
 * quarantine, take settings that are not in gitconfig.c out of its configuration, and
 * do so for the submodules and worktrees inside it. Each one is reported.
 */
void git_sanitize_disarm(const struct quarantine_config *config, const char *path);

/* Remove commands that were added after @since from the todo lists of unfinished
 * rebases, in the git directories that @now found. A changed list loses every command
 * that it did not have in @before, which may be NULL.
 */
void git_sanitize_check_todos(const struct quarantine_config *config,
			 const struct view *now, const struct view *before,
			 const struct timespec *since);

/* True if the ".git" at @path, a file, names the git directory of a submodule or
 * of a linked working tree: those are protected, or disarmed, with the one that
 * they lie in
 */
bool git_sanitize_is_pointer(const char *path);

/* True if @path is the "commondir" of a linked working tree and says "../..", as
 * git writes it: the repository that it lies in. Any other is a planted file.
 */
bool git_sanitize_is_common(const char *path);

/* True if @path is a .gitmodules that names submodules and has no other settings:
 * `git submodule add` makes it. Any other that appears is a planted file.
 */
bool git_sanitize_is_modules(const char *path);

#endif /* GUARD_GIT_SANITIZE_H */
