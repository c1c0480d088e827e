/* SPDX-License-Identifier: Apache-2.0 */
/* cage/twin.h - a second copy of the world, which binds are taken from */

#ifndef CAGE_TWIN_H
#define CAGE_TWIN_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct plan;
struct plan_mount;

/* A copy is worth its time (to drop it takes some tenths of a millisecond) when
 * the binds from it are worth so much: what is shown or can be written saves
 * calls, what is mounted on itself a look at its neighbours
 */
enum { TWIN_WORTH = 192, TWIN_SHOWN = 3, TWIN_SELF = 1 };

/**
 * struct twin - The copy
 * @fd:		Its root; -1 if there is none
 * @attached:	To a place in our own tmpfs
 */
struct twin {
	int fd;
	bool attached;
};

/* While the world is as the host has it: copy it, if @plan has enough binds. Where
 * it cannot be copied, there is none.
 */
void twin_begin(struct twin *twin, const struct plan *plan);

/* True if @m will be a bind from the copy */
bool twin_has(const struct twin *twin, const struct plan_mount *m);

/* Once the world is read-only: the copy is not */
int twin_attach(struct twin *twin, struct err *err);

/* What @m shows, by its name in the copy, in @room; NULL if it is not from there
 */
const char *twin_source(const struct twin *twin, const struct plan_mount *m,
			char *room, size_t size);

/* The copy shows all that is hidden, and can be written: it goes */
int twin_end(struct twin *twin, struct err *err);

#endif /* CAGE_TWIN_H */
