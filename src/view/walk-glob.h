/* SPDX-License-Identifier: Apache-2.0 */
/* view/walk-glob.h - patterns that one walk looks for */

#ifndef VIEW_WALK_GLOB_H
#define VIEW_WALK_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct view;

enum {
	WALK_GLOB_DEPTH = 16,		/* Below a pattern's fixed part */
	WALK_LINKS_MAX = 1 << 10,	/* Links to directories in which one may match */
};

/**
 * struct glob_link - A link to a directory in which a denial may match
 * @path:	Its own
 * @real:	Where it leads
 * @at:		How far each pattern is there
 */
struct glob_link {
	char *path, *real;
	uint64_t *at;
};

/**
 * struct glob_set - Patterns with the same prefix, one after the other in the view
 * @first, @n:	By their numbers there
 * @at:		How far each is in the directory at that depth of the walk
 * @links:	That the walk met and did not follow
 * @linked:	How many of them were walked since
 * @many:	There are more of them
 */
struct glob_set {
	struct view *view;
	size_t first, n;
	uint64_t *at[WALK_GLOB_DEPTH];
	struct { struct glob_link *v; size_t len, cap; } links;
	size_t linked;
	bool many;
};

/* The pattern number @first of @view, and those behind it that can be looked for
 * together with it; @alone if it is to be the only one
 */
void glob_set_init(struct glob_set *set, struct view *view, size_t first,
		   bool alone);
void glob_set_done(struct glob_set *set);

/* Where all of them begin */
const char *glob_set_prefix(const struct glob_set *set);

/* Add to the view what matches of @name in the directory @dir at @depth */
void glob_set_check(struct glob_set *set, const char *dir, const char *name,
		    unsigned int depth);

/* True if something may match in the directory @path, which is @name in the one
 * at @depth: it will be the one at @depth + 1
 */
bool glob_set_enter(struct glob_set *set, const char *path, const char *name,
		    unsigned int depth);

/* Record @name in the directory @dir at @depth, which may be a link, if a
 * denial could match where it leads and not by the names there themselves
 */
void glob_set_link(struct glob_set *set, const char *dir, const char *name,
		   unsigned int depth);

/* Begin with the next recorded link; NULL at the end */
const struct glob_link *glob_set_next(struct glob_set *set);

/* True if a denial is among those that may match in the directory at @depth */
bool glob_set_denies(const struct glob_set *set, unsigned int depth);

/* @path exists and cannot be read: add that to the view */
void glob_set_close(struct glob_set *set, const char *path, unsigned int depth);

#endif /* VIEW_WALK_GLOB_H */
