/* SPDX-License-Identifier: Apache-2.0 */
/* plan/change.h - what edited settings change in the mounts of a running sandbox
 *
 * Pure: what stands now, what should, and the steps between. The keeper
 * (watch/keeper.h) takes them.
 */

#ifndef PLAN_CHANGE_H
#define PLAN_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "plan/plan.h"

enum { CHANGE_SHOWN_MAX = 64 };	/* Paths that one edit shows; each is a descriptor */

/**
 * struct mounted - A mount that stands, or should
 * @path:	Where
 * @is_dir:	What it hides, or is
 * @ours:	For a reason of our own: no settings take it off
 * @empty:	Of a mask: it shows nothing, so its directory may be that of others
 * @behind:	A mask was put on later, over it or above it
 * @closed:	It is writable by its kind, and was made read-only
 * @dev, @ino:	What was seen there; 0 if nothing was
 */
struct mounted {
	enum mount_kind kind;
	char *path;
	bool is_dir, ours, empty, behind, closed;
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
void mounted_sort(struct mounted_list *list);
void mounted_done(struct mounted_list *list);

static inline bool mounted_is_mask(const struct mounted *m)
{
	return m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE;
}

enum change_kind {
	CHANGE_COVER,		/* Hide it or make it read-only, whatever is
				 * mounted there */
	CHANGE_LIFT,		/* Take the mask off */
	CHANGE_SHOW,		/* Put what is there, behind @mask, onto it */
	CHANGE_HIDE,		/* Take off what was put into a mask */
	CHANGE_CLOSE,		/* Make a writable path read-only */
	CHANGE_OPEN,		/* Make a read-only path writable */
};

/**
 * struct change - One step
 * @mount:	What it is done to; of CHANGE_COVER and CHANGE_SHOW, as it will be
 * @mask:	Of CHANGE_SHOW: what hides it, or NULL
 * @shared:	The directory of @mask may be that of others
 * @read_only:	Nobody may write what is shown
 * @writable:	It can be written, as far as the mount says
 */
struct change {
	enum change_kind kind;
	const struct mounted *mount, *mask;
	bool shared, read_only, writable;
};

/**
 * struct changes - All of them; those that show something last, and sorted by path
 * @declined:	How many paths wait for the next run
 */
struct changes {
	struct change *v;
	size_t len, cap, declined;
};

/* What leads from @now, which is what stands, to @next, which is what @view wants
 * kept; it points into both lists. Free only @ret->v.
 */
void changes_build(const struct mounted_list *now,
		   const struct mounted_list *next, const struct view *view,
		   struct changes *ret);

/* What stands after that */
void changes_apply(const struct changes *changes, struct mounted_list *now);

#endif /* PLAN_CHANGE_H */
