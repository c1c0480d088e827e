/* SPDX-License-Identifier: Apache-2.0 */
/* guard/git-sanitize.h - a repository made in a run, without what git would run */

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

/* Move active hooks (those that are no samples) of the git directory @path to
 * quarantine, take settings that are not in gitconfig.c out of its configuration, and
 * do so for the submodules and worktrees inside it. Every find is reported.
 */
void git_sanitize_disarm(const struct quarantine_config *config, const char *path);

/* Take out of what a rebase is still to do, in the git directories that @now has
 * met, the commands that were added after @since: all of a file that was changed,
 * but for what it was in @before, which may be NULL
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
 * git writes it: the repository that it lies in. No other has a word to say.
 */
bool git_sanitize_is_common(const char *path);

#endif /* GUARD_GIT_SANITIZE_H */
