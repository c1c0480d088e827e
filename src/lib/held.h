/* SPDX-License-Identifier: Apache-2.0 */
/* lib/held.h - a directory of ours that must be there while a sandbox runs */

#ifndef LIB_HELD_H
#define LIB_HELD_H

#include <stdbool.h>

/**
 * struct held - The directory of the secrets; zero-initialise it
 * @path:	NULL if it is not held
 * @lock:	The directory, with a shared lock
 * @home:	The lock on $HOME that stands for it, if @waits
 */
struct held {
	char *path;
	int lock;
	bool waits;
	int home;
};

/* Make $XDG_CONFIG_HOME/cloche if it is not there, and keep it until
 * held_close(): a mask needs something to lie on, and a store that is first
 * made while a sandbox runs would be seen in it. In a bare home only see to it
 * that no store is made. $XDG_STATE_HOME/cloche is made as well, unless what
 * it would be in is missing, too. Where it cannot be made, there will be no
 * store either: nothing is held, and that is fine.
 */
void held_open(struct held *ret);

/* The run is not a short one: if only $HOME is locked, make the directory. It
 * has to be masked then; after that, held_masked().
 */
void held_settle(struct held *held);
void held_masked(struct held *held);

/* The command may write where our directories would be: make all of them, for a
 * plan to hide. Then held_masked().
 */
void held_insist(struct held *held);

/* Let go; the last one removes what is empty in a bare home, the record of
 * refusals as well. Safe if nothing is held.
 */
void held_close(struct held *held);

#endif /* LIB_HELD_H */
