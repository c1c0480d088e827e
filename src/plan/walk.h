/* SPDX-License-Identifier: Apache-2.0 */
/* plan/walk.h - what already exists: protected names and matches of patterns */

#ifndef PLAN_WALK_H
#define PLAN_WALK_H

struct err;
struct view;

enum {
	WALK_DEPTH = 3,			/* Below a writable root, by default */
	WALK_DEEP = 64,			/* When nobody watched the run */
	WALK_GLOB_DEPTH = 16,		/* Below a pattern's fixed part */
	WALK_ENTRIES_MAX = 1 << 21,	/* Names looked at in one run */
	WALK_LINKED_MAX = 1 << 13,	/* Of them behind links to directories */
	WALK_LINKS_MAX = 1 << 10,	/* Such links */
};

/* Add to @view what protect.def names below its writable roots, and what its
 * patterns match. 0, or a negative errno with words for a pattern that cannot
 * be enforced.
 */
int walk_roots(struct view *view, struct err *err);

#endif /* PLAN_WALK_H */
