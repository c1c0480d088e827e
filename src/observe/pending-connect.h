/* SPDX-License-Identifier: Apache-2.0 */
/* observe/pending-connect.h - emulated connect() calls that are not complete yet
 *
 * One descriptor is readable for notifications and for all connections under way, so
 * that the loop waits for one.
 */

#ifndef OBSERVE_PENDING_CONNECT_H
#define OBSERVE_PENDING_CONNECT_H

#include <stdint.h>

struct pending_connect;

enum { PENDING_CONNECT_MAX = 256 };	/* Connections under way */

/* @notifications: readable when one arrives; @listener: seccomp's. Neither is taken.
 * 0 or a negative errno.
 */
int pending_connect_new(int notifications, int listener, struct pending_connect **ret);
void pending_connect_free(struct pending_connect *later);

/* Readable when there is something to do */
int pending_connect_fd(const struct pending_connect *later);

/* The answer to @id depends on what becomes of @fd. Unless @inode is -1, @fd is a Unix
 * socket that is to be connected to it as soon as the queue there has room: the kernel
 * sends no event for that, so it is tried every few milliseconds. Both are taken. 0, or
 * a negative errno: -EBUSY if there are too many.
 */
int pending_connect_add(struct pending_connect *later, uint64_t id, int fd, int inode);

/* Tell @answer, with @arg, about those that are through. Returns the events of
 * notifications; never waits.
 */
uint32_t pending_connect_turn(struct pending_connect *later,
		    void (*answer)(void *arg, uint64_t id, int error),
		    void *arg);

#endif /* OBSERVE_PENDING_CONNECT_H */
