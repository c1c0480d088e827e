/* SPDX-License-Identifier: Apache-2.0 */
/* watch/gitrepo.h - a repository made in a run, without what git would run */

#ifndef WATCH_GITREPO_H
#define WATCH_GITREPO_H

#include <stdbool.h>

struct timespec;
struct view;
struct violation_sink;

enum {
	GITREPO_HOOKS_MAX = 1024,	/* Names looked at in one hooks/ */
	GITREPO_MODULES_MAX = 1 << 16,	/* Directories below modules/ */
	GITREPO_DEPTH_MAX = 16,
};

/**
 * struct gitrepo_config - Where finds go
 * @state:	Our state directory
 * @run:	The run's id
 * @full:	Enough is in quarantine: the others go, and are not kept
 */
struct gitrepo_config {
	const char *state, *run;
	const struct violation_sink *sink;
	bool full;
};

/* Move active hooks (those that are no samples) of the git directory @path to
 * quarantine, take settings that are not in gitkeys.def out of its configuration, and
 * do so for the submodules and worktrees inside it. Every find is reported.
 */
void gitrepo_disarm(const struct gitrepo_config *config, const char *path);

/* Take out of what a rebase is still to do, in the git directories that @now has
 * met, the commands that were added after @since: all of a file that was changed,
 * but for what it was in @before, which may be NULL
 */
void gitrepo_check_todos(const struct gitrepo_config *config,
			 const struct view *now, const struct view *before,
			 const struct timespec *since);

/* True if the ".git" at @path, a file, names the git directory of a submodule or
 * of a linked working tree: those are protected, or disarmed, with the one that
 * they lie in
 */
bool gitrepo_is_pointer(const char *path);

/* True if @path is the "commondir" of a linked working tree and says "../..", as
 * git writes it: the repository that it lies in. No other has a word to say.
 */
bool gitrepo_is_common(const char *path);

#endif /* WATCH_GITREPO_H */
