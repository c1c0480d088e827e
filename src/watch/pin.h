/* SPDX-License-Identifier: Apache-2.0 */
/* watch/pin.h - what leads to a path that an edit closes stays in place
 *
 * For the keeper, in the sandbox's user and mount namespaces.
 */

#ifndef WATCH_PIN_H
#define WATCH_PIN_H

#include <stdbool.h>
#include <stddef.h>

struct cover_own;
struct mounted_list;

enum { PINS_MAX = 4096 };	/* Held at once */

/**
 * struct pins_seen - What came of it
 * @loose:	How many could not be held
 * @held:	One is that was not
 * @missing:	One is not there: they are to be set again when something comes
 */
struct pins_seen {
	size_t loose;
	bool held, missing;
};

/* Hold what leads to something that is closed by @next, and let go of all else that
 * was held here before, unless a mask hides it; @known is what was ever mounted.
 * @proc is our own directory in /proc.
 */
struct pins_seen pins_set(const struct mounted_list *known,
			  const struct mounted_list *next,
			  struct cover_own *own, int proc);

#endif /* WATCH_PIN_H */
