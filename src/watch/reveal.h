/* SPDX-License-Identifier: Apache-2.0 */
/* watch/reveal.h - masks of a running sandbox come off, or show something
 *
 * For the keeper, in the sandbox's user and mount namespaces.
 */

#ifndef WATCH_REVEAL_H
#define WATCH_REVEAL_H

#include <stdbool.h>
#include <stddef.h>

struct changes;
struct mounted_list;

/* Take the steps of @changes that open or close something; new masks are the
 * keeper's. @next is what stands then, @mnt the mount namespace we are in, @proc
 * our own directory in /proc; @shown[i] becomes true if step i has shown
 * something. How many paths stay hidden that should not.
 */
size_t reveal(const struct changes *changes, const struct mounted_list *next,
	      int mnt, int proc, bool *shown);

#endif /* WATCH_REVEAL_H */
