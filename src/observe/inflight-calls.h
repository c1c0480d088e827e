/* SPDX-License-Identifier: Apache-2.0 */
/* watch/passed.h - calls that were let through, and whether they are over
 *
 * A call that may make a name goes on with whatever path is in the caller's memory
 * when the kernel reads it, and the caller may be kept off the processor for any
 * time before that. So it is over when its thread asks again, has exited, or is seen
 * in another call; never because time has passed.
 */

#ifndef WATCH_PASSED_H
#define WATCH_PASSED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct passed;
struct seccomp_notif;

enum { PASSED_MAX = 1024 };	/* Threads that are remembered */

struct passed *passed_new(void);
void passed_free(struct passed *passed);

/* From any thread, as the following: @tid asks, so its call before is over */
void passed_asks(struct passed *passed, pid_t tid);

/* Before the call in @notif is let through */
void passed_add(struct passed *passed, const struct seccomp_notif *notif);

/* How many were */
uint64_t passed_count(struct passed *passed);

/* True if all of them are over; then *@ret is how many that is. When more threads
 * were pending than can be remembered, never.
 */
bool passed_settled(struct passed *passed, uint64_t *ret);

#endif /* WATCH_PASSED_H */
