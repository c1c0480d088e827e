/* SPDX-License-Identifier: Apache-2.0 */
/* base/loop.h - one epoll loop: every wait is for an event, nothing polls */

#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct loop;
struct loop_tasks;

enum {
	LOOP_IDLE_MAX = 32,	/* Tasks that wait until there is time for them */
	LOOP_IDLE_ROUNDS = 4,	/* At most, until one of them gets its turn */
};

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

/**
 * struct loop_task - Something to do after the events at hand; the caller owns
 * @fn:		Called once for each loop_defer()
 * @arg:	Handed to @fn
 * @prev, @next, @in: The loop's; zero-initialise them
 */
struct loop_task {
	void (*fn)(void *arg);
	void *arg;
	struct loop_task *prev, *next;
	struct loop_tasks *in;
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

/* Of all that is ready at once, handle @source first: what it says counts for
 * the others. NULL for none.
 */
void loop_prefer(struct loop *loop, const struct loop_source *source);

/* From now on *@waits is true while loop_run() has nothing to do but to wait,
 * and false before what it waited for is handled: for who shares that memory
 */
void loop_show(struct loop *loop, atomic_bool *waits);

/* Call @task once every source that is ready now had its turn: how a handler
 * with much to do lets others in between. No effect if it is queued already.
 */
void loop_defer(struct loop *loop, struct loop_task *task);
/* The same for what nobody waits for: when nothing is ready, one after the other,
 * with a look in between; or when it has waited for LOOP_IDLE_ROUNDS. Where
 * LOOP_IDLE_MAX wait, it is a task like any other.
 */
void loop_defer_idle(struct loop *loop, struct loop_task *task);
/* What waits like that is done now: true if there was any */
bool loop_hurry(struct loop *loop);
/* Forget it; safe if it is not queued, and from within any handler */
void loop_cancel(struct loop_task *task);

/* For whoever has a loop of their own: a descriptor that is readable while
 * something is ready here, and a turn that handles it and never waits. 0, or a
 * handler's error.
 */
int loop_fd(const struct loop *loop);
int loop_turn(struct loop *loop);

/* Dispatch until loop_stop() (returns its value) or a handler's error */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop, int value);

#endif /* BASE_LOOP_H */
