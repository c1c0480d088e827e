/* SPDX-License-Identifier: Apache-2.0 */
/* lib/keep.h - masks and read-only files of a running sandbox, kept and changed
 *
 * The keeper (watch/keeper.h) is a process; there is none until a mount has gone,
 * a new one is wanted, or a run has lasted a while.
 */

#ifndef LIB_KEEP_H
#define LIB_KEEP_H

#include <stdbool.h>

#include "base/loop.h"
#include "watch/keeper.h"

struct born;
struct options;
struct session;
struct timespec;
struct view;

/**
 * struct keep - Zero-initialise it
 * @own:	The descriptors that came with CAGE_READY, or NULL: nothing to keep
 * @edited:	Called with @arg when keep_view() is to be called again
 * @list:	What is to be kept; empty before the first keeper
 * @ended:	How many keepers ended by themselves
 * @busy:	The keeper has not begun; @again if there is more to do then
 */
struct keep {
	const struct session *session;
	const struct options *options;
	struct loop *loop;
	const int *own;
	void (*edited)(void *arg);
	void *arg;
	struct keeper keeper;
	struct loop_source mounts, covered;
	struct keeper_list list;
	unsigned int ended;
	bool busy, again;
};

/* Begin, with all up to @arg filled in */
void keep_start(struct keep *keep);
void keep_done(struct keep *keep);

/* This run is not a short one: a keeper should be there before the first file that
 * is masked or read-only is replaced, or the first that is hidden is made
 */
void keep_early(struct keep *keep);

/* Settings were edited: also close what the plan for @view closes, but for what was
 * made after @since and is not the user's by @born, which may be NULL. What @view
 * shows is shown from the next run on.
 */
void keep_view(struct keep *keep, const struct view *view,
	       const struct timespec *since, const struct born *born);

#endif /* LIB_KEEP_H */
