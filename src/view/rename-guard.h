/* SPDX-License-Identifier: Apache-2.0 */
/* view/rename-guard.h - rules about what is in a directory that is to be moved */

#ifndef VIEW_RENAME_GUARD_H
#define VIEW_RENAME_GUARD_H

struct path_rule;
struct view;

enum {
	RENAME_GUARD_NAMES_MAX = 1 << 16,	/* Looked at; more may hold anything */
	RENAME_GUARD_DEPTH_MAX = 64,
};

/* The rule that denies something in the directory @from, as it is now, and would
 * not if that were called @to; or NULL. What the mounts hold stays where it is:
 * this is about what came later. @at: where it stands (plan/overlay-path.h).
 */
const struct path_rule *rename_guard_find(const struct view *view, const char *from,
				    const char *at, const char *to);

#endif /* VIEW_RENAME_GUARD_H */
