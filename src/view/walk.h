/* SPDX-License-Identifier: Apache-2.0 */
/* view/walk.h - what already exists: protected names and matches of patterns */

#ifndef VIEW_WALK_H
#define VIEW_WALK_H

struct err;
struct view;

enum {
	WALK_SRT_DEPTH = 3,		/* Below a writable root, in profile srt */
	WALK_NAMES_MAX = 1 << 22,	/* In all writable roots: --search-limit */
	WALK_DIR_PART = 4,		/* A quarter of them in one directory */
	WALK_ENTRIES_MAX = 1 << 21,	/* Names looked at for a pattern */
	WALK_LINKED_MAX = 1 << 13,	/* Of them behind links to directories */
};

/* Add to @view what protected-names.def names below its writable roots, and what its
 * patterns match. 0, or a negative errno with a message: for a pattern that cannot be
 * enforced, or more names than are looked at.
 */
int walk_roots(struct view *view, struct err *err);

#endif /* VIEW_WALK_H */
