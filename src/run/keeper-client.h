/* SPDX-License-Identifier: Apache-2.0 */
/* run/keeper-client.h - masks and read-only files of a running sandbox, kept and changed
 *
 * The keeper (guard/keeper.h) is a process; there is none until a mount has gone,
 * a new one is wanted, or a run has lasted a while.
 */

#ifndef RUN_KEEPER_CLIENT_H
#define RUN_KEEPER_CLIENT_H

#include <stdbool.h>

#include "base/loop.h"
#include "base/proc.h"
#include "guard/keeper.h"

struct planted;
struct run;
struct timespec;
struct view;

/**
 * struct keeper_client - Zero-initialise it
 * @run:	The run whose mounts are kept, or NULL: nothing to keep
 * @list:	What is to be kept; empty before the first keeper
 * @ended:	How many keepers ended by themselves
 * @busy:	The keeper has not begun; @again if there is more to do then
 */
struct keeper_client {
	struct run *run;
	struct proc keeper;
	struct loop_source mounts, covered;
	struct keeper_list list;
	unsigned int ended;
	bool busy, again;
};

/* Begin, with @run filled in, which has the sandbox's own descriptors */
void keeper_client_start(struct keeper_client *keep);
void keeper_client_done(struct keeper_client *keep);

/* This run is not a short one: a keeper should be there before the first file that
 * is masked or read-only is replaced, or the first that is hidden is made
 */
void keeper_client_early(struct keeper_client *keep);

/* Settings were edited: also close what the plan for @view closes, but for what was
 * made after @since and is not the user's by @planted, which may be NULL. What @view
 * shows is shown from the next run on.
 */
void keeper_client_view(struct keeper_client *keep, const struct view *view,
	       const struct timespec *since, const struct planted *planted);

#endif /* RUN_KEEPER_CLIENT_H */
