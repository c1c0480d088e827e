/* SPDX-License-Identifier: Apache-2.0 */
/* cage/twin.h - a second copy of a writable root, which binds are taken from */

#ifndef CAGE_TWIN_H
#define CAGE_TWIN_H

#include <stddef.h>

struct err;
struct plan;
struct plan_mount;

enum { TWIN_MIN = 96 };	/* Binds in a root that are worth one */

/**
 * struct twin - The copy of one root
 * @root:	Its path, the plan's; NULL while there is no copy
 */
struct twin {
	const char *root;
};

/* Number @root of @plan's mounts has just been attached, and @tree is its
 * mount: copy it, if enough of what is in it will be mounted on itself
 */
int twin_begin(struct twin *twin, const struct plan *plan, size_t root,
	       int tree, struct err *err);

/* The name in the copy, in @room, of what @m mounts on itself; NULL if there is
 * none, and its own name must do
 */
const char *twin_source(const struct twin *twin, const struct plan_mount *m,
			char *room, size_t size);

/* The copy shows what is hidden in the root, and can be written: it goes */
int twin_end(struct twin *twin, struct err *err);

#endif /* CAGE_TWIN_H */
