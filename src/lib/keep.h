/* SPDX-License-Identifier: Apache-2.0 */
/* lib/keep.h - masks and read-only files of a running sandbox, kept and added to
 *
 * The keeper (watch/keeper.h) is a process; there is none until a mount has gone,
 * a new one is wanted, or a run has lasted a while.
 */

#ifndef LIB_KEEP_H
#define LIB_KEEP_H

#include "base/loop.h"
#include "watch/keeper.h"

struct born;
struct session;
struct timespec;
struct view;

/**
 * struct keep - Zero-initialise it
 * @own:	The descriptors that came with CAGE_READY, or NULL: nothing to keep
 * @lost:	Called with @arg if something cannot be kept
 */
struct keep {
	const struct session *session;
	struct loop *loop;
	const int *own;
	void (*lost)(void *arg);
	void *arg;
	struct keeper keeper;
	struct loop_source mounts, covered;
};

/* Begin, with session, loop, own, lost and arg filled in */
void keep_start(struct keep *keep);
void keep_done(struct keep *keep);

/* This run is not a short one: a keeper should be there before the first file that
 * is masked or read-only is replaced, or the first that is hidden is made
 */
void keep_early(struct keep *keep);

/* If the directory of the secrets was made just now: cover it, then
 * held_masked()
 */
void keep_held(struct keep *keep);

/* Settings were edited: keep what the plan for @view says, but for what was made
 * after @since and is not the user's by @born, which may be NULL
 */
void keep_view(struct keep *keep, const struct view *view,
	       const struct timespec *since, const struct born *born);

#endif /* LIB_KEEP_H */
