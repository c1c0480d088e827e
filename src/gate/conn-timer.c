/* SPDX-License-Identifier: Apache-2.0 */
/* gate/conn-timer.c - deadlines: one kernel timer, a queue for each kind */

#include "gate/conn-timer.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"

static const unsigned int builtin_ms[] = {
#define TIMER(id, ms, what) [TIMER_##id] = (ms),
#include "gate/conn-timers.def"
#undef TIMER
};

/**
 * struct timers - All queues
 * @armed:	When the kernel wakes us, or 0; never later than the first
 *		deadline, but it may be earlier: stopping does not re-arm
 */
struct timers {
	struct loop *loop;
	struct loop_source source;
	int64_t armed;
	unsigned int ms[TIMER_KINDS];
	TAILQ_HEAD(, timer) running[TIMER_KINDS];
};

int64_t timer_now(void)
{
	return now_ms(CLOCK_MONOTONIC_COARSE);
}

static void arm(struct timers *t, int64_t deadline)
{
	const struct itimerspec when = {
		.it_value.tv_sec = deadline / 1000,
		.it_value.tv_nsec = (deadline % 1000) * 1000000,
	};

	if (t->armed && t->armed <= deadline)
		return;
	t->armed = deadline;
	(void)timerfd_settime(t->source.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static struct timer *earliest(const struct timers *t)
{
	struct timer *found = NULL;

	for (int i = 0; i < TIMER_KINDS; i++) {
		struct timer *timer = TAILQ_FIRST(&t->running[i]);

		if (timer && (!found || timer->deadline < found->deadline))
			found = timer;
	}
	return found;
}

/* The clock of the deadlines is coarse and lags behind the kernel's timer by up
 * to a tick; what woke us is over by the exact clock, or we would be woken
 * again and again until the tick comes.
 */
static int on_expiry(void *arg)
{
	struct timers *t = arg;
	const int64_t now = now_ms(CLOCK_MONOTONIC);
	struct timer *timer;
	uint64_t count;

	if (read(t->source.fd, &count, sizeof(count)) < 0)
		return 0;
	while ((timer = earliest(t)) != NULL && timer->deadline <= now) {
		timer_stop(t, timer);
		timer->fn(timer->arg);
	}
	t->armed = 0;
	if (timer)
		arm(t, timer->deadline);
	return 0;
}

int timers_new(struct loop *loop, const unsigned int *ms, struct timers **ret)
{
	struct timers *t = mem_zalloc(sizeof(*t));

	t->loop = loop;
	t->source = (struct loop_source){ .fn = on_expiry, .arg = t };
	t->source.fd = timerfd_create(CLOCK_MONOTONIC,
				      TFD_CLOEXEC | TFD_NONBLOCK);
	if (t->source.fd < 0 || loop_add(loop, &t->source, EPOLLIN) < 0) {
		const int r = -errno;

		close_fd(&t->source.fd);
		free(t);
		return r;
	}
	for (int i = 0; i < TIMER_KINDS; i++) {
		t->ms[i] = ms && ms[i] ? ms[i] : builtin_ms[i];
		TAILQ_INIT(&t->running[i]);
	}
	*ret = t;
	return 0;
}

void timer_start(struct timers *t, struct timer *timer, enum timer_kind kind)
{
	timer_stop(t, timer);
	timer->kind = kind;
	timer->deadline = timer_now() + t->ms[kind];
	TAILQ_INSERT_TAIL(&t->running[kind], timer, link);
	arm(t, timer->deadline);
}

void timer_stop(struct timers *t, struct timer *timer)
{
	if (!timer->deadline)
		return;
	TAILQ_REMOVE(&t->running[timer->kind], timer, link);
	timer->deadline = 0;
}

struct timer *timers_oldest(const struct timers *t, enum timer_kind kind,
			    unsigned int ms)
{
	struct timer *timer = TAILQ_FIRST(&t->running[kind]);

	return timer && timer_now() - (timer->deadline - t->ms[kind]) >= ms
		       ? timer : NULL;
}
