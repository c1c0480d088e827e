/* SPDX-License-Identifier: Apache-2.0 */
/* base/loop.c - one epoll loop: every wait is for an event, nothing polls */

#include "base/loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"

enum { LOOP_BATCH = 64 };

/**
 * struct loop - The epoll instance, and the batch under way
 * @fd:		The epoll descriptor
 * @stopped:	loop_stop() was called, with @value
 * @value:	What loop_run() returns
 * @next:	First event of the batch that was not dispatched yet
 * @count:	Events in the batch
 * @events:	The batch
 * @tasks, @n_tasks: Deferred until the end of the round
 * @urgent:	Goes first in a batch, or NULL
 */
struct loop {
	int fd;
	bool stopped;
	int value;
	int next, count;
	struct epoll_event events[LOOP_BATCH];
	TAILQ_HEAD(, loop_task) tasks;
	size_t n_tasks;
	const struct loop_source *urgent;
};

int loop_new(struct loop **ret, struct err *err)
{
	struct loop *loop = mem_zalloc(sizeof(*loop));

	loop->fd = fs_above_std(epoll_create1(EPOLL_CLOEXEC));
	if (loop->fd < 0) {
		free(loop);
		return fail_errno(err, "cannot make an event loop");
	}
	TAILQ_INIT(&loop->tasks);
	*ret = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	close_fd(&loop->fd);
	free(loop);
}

static int control(struct loop *loop, int op, struct loop_source *source,
		   uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = source };

	return epoll_ctl(loop->fd, op, source->fd, &ev) < 0 ? -errno : 0;
}

int loop_add(struct loop *loop, struct loop_source *source, uint32_t events)
{
	return control(loop, EPOLL_CTL_ADD, source, events);
}

int loop_change(struct loop *loop, struct loop_source *source, uint32_t events)
{
	return control(loop, EPOLL_CTL_MOD, source, events);
}

/* What is ready in this batch is not for it any more */
static void forget(struct loop *loop, const struct loop_source *source)
{
	for (int i = loop->next; i < loop->count; i++) {
		if (loop->events[i].data.ptr == source)
			loop->events[i].data.ptr = NULL;
	}
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
	(void)control(loop, EPOLL_CTL_DEL, source, 0);
	forget(loop, source);
}

void loop_close(struct loop *loop, struct loop_source *source)
{
	close_fd(&source->fd);
	forget(loop, source);
}

int loop_set_timer(struct loop *loop, struct loop_source *source, uint64_t ms,
		   bool again)
{
	const struct timespec t = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000) * 1000000,
	};
	const struct itimerspec when = {
		.it_value = t, .it_interval = again ? t : (struct timespec){ 0 },
	};
	int r = 0;

	if (source->fd < 0) {
		source->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
							     TFD_NONBLOCK);
		r = source->fd < 0 ? -errno : loop_add(loop, source, EPOLLIN);
	}
	if (r == 0 && timerfd_settime(source->fd, 0, &when, NULL) < 0)
		r = -errno;
	return r;
}

void loop_prefer(struct loop *loop, const struct loop_source *source)
{
	loop->urgent = source;
}

void loop_defer(struct loop *loop, struct loop_task *task)
{
	if (task->loop)
		return;
	task->loop = loop;
	TAILQ_INSERT_TAIL(&loop->tasks, task, link);
	loop->n_tasks++;
}

void loop_cancel(struct loop_task *task)
{
	if (!task->loop)
		return;
	TAILQ_REMOVE(&task->loop->tasks, task, link);
	task->loop->n_tasks--;
	task->loop = NULL;
}

/* A task that is deferred again meanwhile waits for the next round */
static void run_tasks(struct loop *loop)
{
	for (size_t n = loop->n_tasks; n && loop->n_tasks && !loop->stopped;
	     n--) {
		struct loop_task *task = TAILQ_FIRST(&loop->tasks);

		loop_cancel(task);
		task->fn(task->arg);
	}
}

/* epoll promises no order: what came last may stand first in a batch */
static void sort_batch(struct loop *loop)
{
	for (int i = 1; loop->urgent && i < loop->count; i++) {
		const struct epoll_event first = loop->events[0];

		if (loop->events[i].data.ptr != loop->urgent)
			continue;
		loop->events[0] = loop->events[i];
		loop->events[i] = first;
		return;
	}
}

/* Wait for at most @ms, -1 for ever */
static int wait_for_batch(struct loop *loop, int ms)
{
	loop->next = 0;
	loop->count = epoll_wait(loop->fd, loop->events, LOOP_BATCH, ms);
	if (loop->count < 0 && errno != EINTR)
		return -errno;
	sort_batch(loop);
	return 0;
}

/* Handle what is ready: first what a loop_stop() left of the last batch, since some
 * descriptors (mountinfo) tell of each event only once
 */
static int dispatch(struct loop *loop, int ms)
{
	const int failed = loop->next < loop->count ? 0 :
			   wait_for_batch(loop, ms);

	if (failed < 0)
		return failed;
	while (loop->next < loop->count && !loop->stopped) {
		const struct epoll_event ev = loop->events[loop->next++];
		struct loop_source *source = ev.data.ptr;
		int r;

		if (!source)
			continue;
		source->events = ev.events;
		r = source->fn(source->arg);
		if (r < 0)
			return r;
	}
	return 0;
}

int loop_fd(const struct loop *loop)
{
	return loop->fd;
}

int loop_turn(struct loop *loop)
{
	int r;

	loop->stopped = false;
	run_tasks(loop);
	r = dispatch(loop, 0);
	if (!r)
		run_tasks(loop);
	return r;
}

int loop_run(struct loop *loop)
{
	loop->stopped = false;
	for (;;) {
		int r;

		run_tasks(loop);
		if (loop->stopped)
			return loop->value;
		r = dispatch(loop, loop->n_tasks ? 0 : -1);
		if (r < 0)
			return r;
	}
}

void loop_stop(struct loop *loop, int value)
{
	loop->stopped = true;
	loop->value = value;
}
