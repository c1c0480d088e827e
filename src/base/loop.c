/* SPDX-License-Identifier: Apache-2.0 */
/* base/loop.c - one epoll loop: every wait is for an event, nothing polls */

#include "base/loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"

enum { LOOP_BATCH = 64 };

/**
 * struct loop_tasks - A queue
 */
struct loop_tasks {
	struct loop_task *first, *last;
	size_t count;
};

/**
 * struct loop - The epoll instance, and the batch under way
 * @fd:		The epoll descriptor
 * @stopped:	loop_stop() was called, with @value
 * @value:	What loop_run() returns
 * @next:	First event of the batch that was not dispatched yet
 * @count:	Events in the batch
 * @events:	The batch
 * @tasks:	Put off until the end of the round
 * @idle:	Put off until there is time; @rounds went by since one was done
 * @urgent:	Goes first in a batch, or NULL
 * @waits:	See loop_show(); or NULL
 */
struct loop {
	int fd;
	bool stopped;
	int value;
	int next, count;
	struct epoll_event events[LOOP_BATCH];
	struct loop_tasks tasks, idle;
	unsigned int rounds;
	const struct loop_source *urgent;
	atomic_bool *waits;
};

int loop_new(struct loop **ret, struct err *err)
{
	struct loop *loop = mem_zalloc(sizeof(*loop));

	loop->fd = fs_above_std(epoll_create1(EPOLL_CLOEXEC));
	if (loop->fd < 0) {
		free(loop);
		return fail_errno(err, "cannot make an event loop");
	}
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

void loop_prefer(struct loop *loop, const struct loop_source *source)
{
	loop->urgent = source;
}

void loop_show(struct loop *loop, atomic_bool *waits)
{
	loop->waits = waits;
}

static void put(struct loop_tasks *to, struct loop_task *task)
{
	if (task->in)
		return;
	task->in = to;
	task->prev = to->last;
	task->next = NULL;
	*(to->last ? &to->last->next : &to->first) = task;
	to->last = task;
	to->count++;
}

void loop_defer(struct loop *loop, struct loop_task *task)
{
	put(&loop->tasks, task);
}

void loop_defer_idle(struct loop *loop, struct loop_task *task)
{
	put(loop->idle.count < LOOP_IDLE_MAX ? &loop->idle : &loop->tasks,
	    task);
}

void loop_cancel(struct loop_task *task)
{
	struct loop_tasks *in = task->in;

	if (!in)
		return;
	*(task->prev ? &task->prev->next : &in->first) = task->next;
	*(task->next ? &task->next->prev : &in->last) = task->prev;
	task->in = NULL;
	in->count--;
}

/* What is put off again meanwhile waits for the next round */
static void run_tasks(struct loop *loop, struct loop_tasks *tasks, size_t n)
{
	for (; n && tasks->first && !loop->stopped; n--) {
		struct loop_task *task = tasks->first;

		loop_cancel(task);
		task->fn(task->arg);
	}
}

bool loop_hurry(struct loop *loop)
{
	const bool any = loop->idle.count > 0;

	while (loop->idle.count && !loop->stopped)
		run_tasks(loop, &loop->idle, loop->idle.count);
	return any;
}

/* After a round that handled something, or nothing */
static void run_idle(struct loop *loop)
{
	if (!loop->idle.count ||
	    (loop->count > 0 && ++loop->rounds < LOOP_IDLE_ROUNDS))
		return;
	loop->rounds = 0;
	run_tasks(loop, &loop->idle, 1);
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

/* Wait for at most @ms, -1 for ever, and handle what is ready */
static int dispatch(struct loop *loop, int ms)
{
	loop->next = 0;
	if (loop->waits && ms < 0)
		atomic_store(loop->waits, true);
	loop->count = epoll_wait(loop->fd, loop->events, LOOP_BATCH, ms);
	if (loop->waits)
		atomic_store(loop->waits, false);
	if (loop->count < 0 && errno != EINTR)
		return -errno;
	sort_batch(loop);
	while (loop->next < loop->count && !loop->stopped) {
		const struct epoll_event ev = loop->events[loop->next++];
		struct loop_source *source = ev.data.ptr;
		const int r = source ? source->fn(source->arg, ev.events) : 0;

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
	run_tasks(loop, &loop->tasks, loop->tasks.count);
	r = dispatch(loop, 0);
	if (!r) {
		run_tasks(loop, &loop->tasks, loop->tasks.count);
		(void)loop_hurry(loop);	/* We may not be called again soon */
	}
	return r;
}

int loop_run(struct loop *loop)
{
	loop->stopped = false;
	for (;;) {
		int r;

		run_tasks(loop, &loop->tasks, loop->tasks.count);
		if (loop->stopped)
			return loop->value;
		r = dispatch(loop, loop->tasks.count || loop->idle.count ? 0
									 : -1);
		if (r < 0)
			return r;
		run_idle(loop);
	}
}

void loop_stop(struct loop *loop, int value)
{
	loop->stopped = true;
	loop->value = value;
}
