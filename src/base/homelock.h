/* SPDX-License-Identifier: Apache-2.0 */
/* base/homelock.h - sandboxes that were started before there was a store
 *
 * A mask needs something to lie on. Where $HOME has no directory for settings,
 * none is made for a short run; instead the run holds a lock on $HOME, and
 * nobody stores a secret while one is held.
 *
 * No moment is missed: a run locks, then looks for the directory; who stores
 * something makes the directory, then looks for locks.
 */

#ifndef BASE_HOMELOCK_H
#define BASE_HOMELOCK_H

#include <stdbool.h>

/* A descriptor that holds the lock, or a negative errno: there is no home, or
 * its file system cannot do that
 */
int homelock_take(void);

enum { HOMELOCK_WAIT_MS = 3000 };	/* Much longer than a mask takes */

/* Wait until nobody holds it; false if somebody still does after @ms */
bool homelock_wait(unsigned int ms);

#endif /* BASE_HOMELOCK_H */
