/* SPDX-License-Identifier: Apache-2.0 */
/* watch/later.h - connections made for somebody who waits for them
 *
 * One descriptor stands for the questions and for all connections that are
 * under way, so that whoever has a loop waits for one thing.
 */

#ifndef WATCH_LATER_H
#define WATCH_LATER_H

#include <stdint.h>

struct later;

enum { LATER_MAX = 256 };	/* Connections under way */

/* @questions: where the questions come from; @listener: what they are asked by.
 * Neither is taken. 0 or a negative errno.
 */
int later_new(int questions, int listener, struct later **ret);
void later_free(struct later *later);

/* Readable when there is something to do */
int later_fd(const struct later *later);

/* The answer to @id depends on what becomes of @fd, which is taken: 0, or
 * -EBUSY if there are too many
 */
int later_add(struct later *later, uint64_t id, int fd);

/* The same for the Unix socket @fd, which is to be connected to @inode as soon as
 * the queue there has room: the kernel tells nobody when that is, so it is tried
 * again and again. Both are taken.
 */
int later_try(struct later *later, uint64_t id, int fd, int inode);

/* Tell @answer, with @arg, about those that are through. Returns the events of
 * the questions; never waits.
 */
uint32_t later_turn(struct later *later,
		    void (*answer)(void *arg, uint64_t id, int error),
		    void *arg);

#endif /* WATCH_LATER_H */
