/* SPDX-License-Identifier: Apache-2.0 */
/* observe/inflight-calls.h - calls that were let through, and whether they are over
 *
 * A call that may make a name goes on with whatever path is in the caller's memory
 * when the kernel reads it, and the caller may be kept off the processor for any
 * time before that. So it is over when its thread makes another notified call, has exited, or is seen
 * in another call; never because time has passed.
 */

#ifndef OBSERVE_INFLIGHT_CALLS_H
#define OBSERVE_INFLIGHT_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct inflight;
struct seccomp_notif;

enum { INFLIGHT_MAX = 1024 };	/* Threads that are remembered */

struct inflight *inflight_new(void);
void inflight_free(struct inflight *passed);

/* From any thread, as the following: a call of @tid is notified, so its previous one
 * is over
 */
void inflight_note_call(struct inflight *passed, pid_t tid);

/* Before the call in @notif is let through */
void inflight_add(struct inflight *passed, const struct seccomp_notif *notif);

/* How many were */
uint64_t inflight_count(struct inflight *passed);

/* True if all of them are over; then *@ret is how many that is. When more threads
 * were pending than can be remembered, never.
 */
bool inflight_settled(struct inflight *passed, uint64_t *ret);

#endif /* OBSERVE_INFLIGHT_CALLS_H */
