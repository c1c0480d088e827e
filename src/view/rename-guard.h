/* SPDX-License-Identifier: Apache-2.0 */
/* view/rename-guard.h - find a deny rule that a directory rename would escape */

#ifndef VIEW_RENAME_GUARD_H
#define VIEW_RENAME_GUARD_H

struct path_rule;
struct view;

enum {
	RENAME_GUARD_NAMES_MAX = 1 << 16,	/* Looked at; more may hold anything */
	RENAME_GUARD_DEPTH_MAX = 64,
};

/**
 * rename_guard_find - Find a rule that stops applying when a directory is renamed
 * @view:	The policy on this file system
 * @from:	Current path of the directory
 * @at:		Where its content lies; differs from @from with --ephemeral
 *		(plan/overlay-path.h)
 * @to:		New path
 *
 * Mounts already pin names that existed at the start, so only names created since then
 * matter.
 *
 * Return: a rule that denies something below @from but not below @to, or NULL. A
 * directory too large to search counts as containing one.
 */
const struct path_rule *rename_guard_find(const struct view *view, const char *from,
				    const char *at, const char *to);

#endif /* VIEW_RENAME_GUARD_H */
