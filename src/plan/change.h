/* SPDX-License-Identifier: Apache-2.0 */
/* plan/change.h - what edited settings change in the mounts of a running sandbox
 *
 * Pure: what was ever mounted, what should be, and what is to be seen to. The
 * keeper (watch/keeper.h) looks what stands, and does the rest.
 */

#ifndef PLAN_CHANGE_H
#define PLAN_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "plan/plan.h"

/**
 * struct mounted - A mount that may stand, or should
 * @path:	Where
 * @is_dir:	What it hides, or is
 * @ours:	For a reason of our own: no settings take it off
 * @dev, @ino:	What was seen there; 0 if nothing was
 */
struct mounted {
	enum mount_kind kind;
	char *path;
	bool is_dir, ours;
	dev_t dev;
	ino_t ino;
};

/**
 * struct mounted_list - All of them, sorted by path once mounted_sort() was called
 */
struct mounted_list {
	struct mounted *v;
	size_t len, cap;
};

/* Append the mounts of @plan */
void mounted_add(struct mounted_list *list, const struct plan *plan);
/* Add what @list, sorted, does not have of @other; what is ours stays so */
void mounted_merge(struct mounted_list *list, const struct mounted_list *other);
void mounted_sort(struct mounted_list *list);
void mounted_done(struct mounted_list *list);

static inline bool mounted_is_mask(const struct mounted *m)
{
	return m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE;
}

/* True of what closes a path: it is kept in place for the whole run */
static inline bool mounted_is_kept(const struct mounted *m)
{
	return mounted_is_mask(m) || m->kind == MOUNT_BIND_RO;
}

/* True of what a command may work in: it does not go with what is around it */
bool mounted_is_work(const struct mounted *m);

enum change_kind {
	CHANGE_SHOW,		/* It may be seen, whatever hides it */
	CHANGE_HIDE,		/* It was put into a mask, and goes */
	CHANGE_CLOSE,		/* It must not be written */
	CHANGE_OPEN,		/* It may be written */
};

/**
 * struct change - Something to be seen to; mostly it is so already
 * @mount:	What it is about
 * @mask:	Of CHANGE_SHOW: what hides all around it, or NULL
 * @plain:	Of CHANGE_SHOW: nothing in it stays closed
 * @read_only:	Nobody may write what is shown
 * @writable:	It can be written, as far as the mount says
 * @late:	In a mask it cannot, whatever the mount says
 */
struct change {
	enum change_kind kind;
	const struct mounted *mount, *mask;
	bool plain, read_only, writable, late;
};

/**
 * struct changes - All of them, sorted by path
 */
struct changes {
	struct change *v;
	size_t len, cap;
};

/* What is to be seen to, besides that all in @next is covered that hides or is
 * read-only, when that is what @view wants kept; @known has what was mounted at
 * some time, and @next. It points into both lists. Free only @ret->v.
 */
void changes_build(const struct mounted_list *known,
		   const struct mounted_list *next, const struct view *view,
		   struct changes *ret);

#endif /* PLAN_CHANGE_H */
