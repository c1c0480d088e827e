/* SPDX-License-Identifier: Apache-2.0 */
/* gate/conn-timer.h - deadlines: one kernel timer, a queue for each kind of deadline
 *
 * All deadlines of one kind are equally far away when they start, so a queue
 * in order of starting is in order of ending: everything here is constant
 * time, and the clock is read once for each start.
 */

#ifndef GATE_CONN_TIMER_H
#define GATE_CONN_TIMER_H

#include <stdint.h>
#include <sys/queue.h>

struct loop;
struct timers;

/* How long we wait for what, in milliseconds; see gate/conn-timers.def */
enum timer_kind {
#define TIMER(id, ms, what) TIMER_##id,
#include "gate/conn-timers.def"
#undef TIMER
	TIMER_KINDS,
};

/**
 * struct timer - One deadline; zero-initialise it, and set @fn and @arg
 * @fn:		Called once when it passes; the timer is stopped by then
 * @arg:	Handed to @fn
 * The rest is the queue's.
 */
struct timer {
	void (*fn)(void *arg);
	void *arg;
	TAILQ_ENTRY(timer) link;
	enum timer_kind kind;
	int64_t deadline;	/* 0 if it is not running */
};

/* @ms[kind] replaces the built-in time of that kind, unless it is 0. @ms may be
 * NULL. 0 or a negative errno.
 */
int timers_new(struct loop *loop, const unsigned int *ms, struct timers **ret);

/* Start it, or start it anew */
void timer_start(struct timers *timers, struct timer *timer,
		 enum timer_kind kind);
void timer_stop(struct timers *timers, struct timer *timer);

/* The timer of @kind that has been running longest, if that is at least @ms;
 * else NULL
 */
struct timer *timers_oldest(const struct timers *timers, enum timer_kind kind,
			    unsigned int ms);

/* Milliseconds of the coarse monotonic clock */
int64_t timer_now(void);

#endif /* GATE_CONN_TIMER_H */
