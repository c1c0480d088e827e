/* SPDX-License-Identifier: Apache-2.0 */
/* base/loop.h - one epoll loop: every wait is for an event, nothing polls */

#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct err;
struct loop;

/* A negative return ends loop_run() with that value; what went wrong is the handler's to
 * remember
 */
typedef int (*loop_fn)(void *arg);

/**
 * struct loop_source - A descriptor to wait for; the caller owns both
 * @fd:		Stays open while it is added
 * @fn:		Called when it is ready
 * @arg:	Handed to @fn
 * @events:	The EPOLL* events for which @fn is called
 */
struct loop_source {
	int fd;
	loop_fn fn;
	void *arg;
	uint32_t events;
};

/**
 * struct loop_task - Something to do after the current events; the caller owns
 * @fn:		Called once for each loop_defer()
 * @arg:	Handed to @fn
 * The rest is the loop's; zero-initialise it.
 */
struct loop_task {
	void (*fn)(void *arg);
	void *arg;
	TAILQ_ENTRY(loop_task) link;
	struct loop *loop;	/* NULL while it is not queued */
};

int loop_new(struct loop **ret, struct err *err);
void loop_free(struct loop *loop);

/* 0 or a negative errno. @source must stay where it is until removed. */
int loop_add(struct loop *loop, struct loop_source *source, uint32_t events);
int loop_change(struct loop *loop, struct loop_source *source,
		uint32_t events);
/* Safe from within any handler: a removed source is not called again */
void loop_remove(struct loop *loop, struct loop_source *source);
/* The same, and close its descriptor, which must be open nowhere else: the
 * kernel then forgets it without being asked to
 */
void loop_close(struct loop *loop, struct loop_source *source);

/* Have @source called after @ms milliseconds, and with @again every @ms; 0 stops that.
 * Its descriptor, -1 at first, becomes a timer that the caller closes. 0 or a negative
 * errno.
 */
int loop_set_timer(struct loop *loop, struct loop_source *source, uint64_t ms,
		   bool again);

/* Of all that is ready at once, handle @source first. NULL for none. */
void loop_prefer(struct loop *loop, const struct loop_source *source);

/* Call @task once every source that is ready now had its turn: how a handler
 * with much to do lets others in between. No effect if it is queued already.
 */
void loop_defer(struct loop *loop, struct loop_task *task);
/* Forget it; safe if it is not queued, and from within any handler */
void loop_cancel(struct loop_task *task);

/* For a caller with a loop of its own: a descriptor that is readable while a
 * source is ready here, and a turn that handles it and never waits. 0, or a
 * handler's error.
 */
int loop_fd(const struct loop *loop);
int loop_turn(struct loop *loop);

/* Dispatch until loop_stop() (returns its value) or a handler's error */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop, int value);

#endif /* BASE_LOOP_H */
