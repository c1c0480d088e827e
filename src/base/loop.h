/* SPDX-License-Identifier: Apache-2.0 */
/* base/loop.h - one epoll loop: every wait is for an event, nothing polls */

#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>

struct err;
struct loop;

/* Called with the EPOLL* events that are ready. A negative return ends
 * loop_run() with that value; what went wrong is the handler's to remember.
 */
typedef int (*loop_fn)(void *arg, uint32_t events);

/**
 * struct loop_source - A descriptor to wait for; the caller owns both
 * @fd:		Stays open while it is added
 * @fn:		Called when it is ready
 * @arg:	Handed to @fn
 */
struct loop_source {
	int fd;
	loop_fn fn;
	void *arg;
};

int loop_new(struct loop **ret, struct err *err);
void loop_free(struct loop *loop);

/* 0 or a negative errno. @source must stay where it is until removed. */
int loop_add(struct loop *loop, struct loop_source *source, uint32_t events);
int loop_change(struct loop *loop, struct loop_source *source,
		uint32_t events);
/* Safe from within any handler: a removed source is not called again */
void loop_remove(struct loop *loop, struct loop_source *source);

/* Dispatch until loop_stop() (returns its value) or a handler's error */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop, int value);

#endif /* BASE_LOOP_H */
