/* SPDX-License-Identifier: Apache-2.0 */
/* watch/reveal.h - masks of a running sandbox come off, or show something
 *
 * For the keeper, in the sandbox's user and mount namespaces.
 */

#ifndef WATCH_REVEAL_H
#define WATCH_REVEAL_H

#include <stddef.h>

struct changes;
struct cover_own;
struct mounted_list;

enum { REVEAL_MAX = 64 };	/* Paths that are shown at once; each is a descriptor */

/**
 * struct reveal - What is known, and what came of it
 * @changes:	What is to be seen to
 * @known:	What was ever mounted
 * @next:	What is to be kept
 * @own:	File systems of masks
 * @mnt:	The mount namespace we are in
 * @proc:	Our own directory in /proc
 * @hidden:	How many paths may be seen or written, and cannot
 * @open:	How many were to be closed, and are not
 */
struct reveal {
	const struct changes *changes;
	const struct mounted_list *known, *next;
	struct cover_own *own;
	int mnt, proc;
	size_t hidden, open;
};

/* Do it; new masks are the keeper's */
void reveal(struct reveal *r);

#endif /* WATCH_REVEAL_H */
