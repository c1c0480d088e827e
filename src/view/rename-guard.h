/* SPDX-License-Identifier: Apache-2.0 */
/* lib/moved.h - rules about what is in a directory that is to be moved */

#ifndef LIB_MOVED_H
#define LIB_MOVED_H

struct path_rule;
struct view;

enum {
	MOVED_NAMES_MAX = 1 << 16,	/* Looked at; more may hold anything */
	MOVED_DEPTH_MAX = 64,
};

/* The rule that denies something in the directory @from, as it is now, and would
 * not if that were called @to; or NULL. What the mounts hold stays where it is:
 * this is about what came later. @at: where it stands (lib/upper.h).
 */
const struct path_rule *moved_lifts(const struct view *view, const char *from,
				    const char *at, const char *to);

#endif /* LIB_MOVED_H */
