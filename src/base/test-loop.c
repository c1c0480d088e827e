/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-loop.c - one epoll loop */

#include "test.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/loop.h"

static struct loop *loop;
static char trace[64];

static void note(char c)
{
	const size_t n = strlen(trace);

	CHECK(n + 1 < sizeof(trace));
	trace[n] = c;
}

static struct loop_source ready, other;
static struct loop_task task, second;

static int on_ready(void *arg, uint32_t events)
{
	(void)arg;
	CHECK(events & EPOLLIN);
	note('r');
	loop_defer(loop, &task);
	loop_defer(loop, &task);
	return 0;
}

static int on_other(void *arg, uint32_t events)
{
	(void)arg;
	(void)events;
	note('o');
	loop_remove(loop, &other);
	return 0;
}

static void on_task(void *arg)
{
	const char *text = arg;

	note(*text);
	if (strlen(trace) > 6)
		loop_stop(loop, 7);
	else
		loop_defer(loop, &task);
}

static void make(struct loop_source *source, loop_fn fn)
{
	*source = (struct loop_source){ .fn = fn };
	source->fd = eventfd(1, EFD_CLOEXEC);
	CHECK(source->fd >= 0);
	CHECK_INT(loop_add(loop, source, EPOLLIN), 0);
}

TEST(a_task_waits_for_the_events_at_hand_and_runs_once)
{
	CHECK_INT(loop_new(&loop, NULL), 0);
	task = (struct loop_task){ .fn = on_task, .arg = (void *)(size_t)"t" };
	make(&ready, on_ready);
	make(&other, on_other);
	CHECK_INT(loop_run(loop), 7);
	CHECK_STR(trace, "rotrtrt");
	loop_free(loop);
}

TEST(a_task_that_is_cancelled_is_not_called)
{
	CHECK_INT(loop_new(&loop, NULL), 0);
	task = (struct loop_task){ .fn = on_task, .arg = (void *)(size_t)"t" };
	second = (struct loop_task){ .fn = on_task,
				     .arg = (void *)(size_t)"s" };
	loop_defer(loop, &second);
	loop_defer(loop, &task);
	loop_cancel(&second);
	loop_cancel(&second);
	CHECK_INT(loop_run(loop), 7);
	CHECK_STR(trace, "ttttttt");
	loop_free(loop);
}

static int on_letter(void *arg, uint32_t events)
{
	const char *letter = arg;

	(void)events;
	note(*letter);
	return 0;
}

TEST(the_preferred_source_goes_first)
{
	static char letters[] = "abc";
	struct loop_source sources[3];

	CHECK_INT(loop_new(&loop, NULL), 0);
	for (size_t i = 0; i < 3; i++) {
		make(&sources[i], on_letter);
		sources[i].arg = &letters[i];
	}
	for (size_t i = 0; i < 3; i++) {
		loop_prefer(loop, &sources[i]);
		memset(trace, 0, sizeof(trace));
		CHECK_INT(loop_turn(loop), 0);
		CHECK_INT(strlen(trace), 3);
		CHECK(trace[0] == letters[i]);
	}
	loop_free(loop);
	for (size_t i = 0; i < 3; i++)
		close(sources[i].fd);
}

static size_t busy;	/* Rounds in which something is ready */

static int on_busy(void *arg, uint32_t events)
{
	eventfd_t one;

	(void)arg;
	(void)events;
	note('r');
	if (!--busy)
		CHECK_INT(eventfd_read(ready.fd, &one), 0);
	return 0;
}

static void on_idle(void *arg)
{
	note('i');
	if (arg)
		loop_stop(loop, 0);
	else
		loop_defer_idle(loop, &second);
}

static void make_busy(size_t rounds)
{
	CHECK_INT(loop_new(&loop, NULL), 0);
	memset(trace, 0, sizeof(trace));
	make(&ready, on_busy);
	busy = rounds;
	task = (struct loop_task){ .fn = on_idle };
	second = (struct loop_task){ .fn = on_idle, .arg = &second };
	loop_defer_idle(loop, &task);
}

TEST(what_nobody_waits_for_is_done_when_nothing_is_ready)
{
	make_busy(2);
	CHECK_INT(loop_run(loop), 0);
	CHECK_STR(trace, "rrii");
	loop_free(loop);
	close(ready.fd);
}

TEST(a_loop_that_is_always_busy_gets_to_it_too)
{
	make_busy(SIZE_MAX);
	CHECK_INT(loop_run(loop), 0);
	CHECK_STR(trace, "rrrrirrrri");
	CHECK_INT(LOOP_IDLE_ROUNDS, 4);
	loop_free(loop);
	close(ready.fd);
}

static void count_task(void *arg)
{
	(*(size_t *)arg)++;
}

TEST(only_so_many_wait_for_that)
{
	struct loop_task tasks[LOOP_IDLE_MAX + 2] = { 0 };
	size_t n = 0;

	make_busy(SIZE_MAX);
	loop_cancel(&task);
	for (size_t i = 0; i < LOOP_IDLE_MAX + 1; i++) {
		tasks[i] = (struct loop_task){ .fn = count_task, .arg = &n };
		loop_defer_idle(loop, &tasks[i]);
	}
	loop_cancel(&tasks[0]);
	CHECK(loop_hurry(loop));
	CHECK_INT(n, LOOP_IDLE_MAX - 1);
	CHECK(!loop_hurry(loop));
	CHECK_INT(loop_turn(loop), 0);	/* The one too many */
	CHECK_INT(n, LOOP_IDLE_MAX);
	loop_free(loop);
	close(ready.fd);
}

static atomic_bool *waits;

static int on_seen(void *arg, uint32_t events)
{
	(void)arg;
	(void)events;
	CHECK(!atomic_load(waits));
	loop_stop(loop, 0);
	return 0;
}

/* Another process sees it wait, and wakes it */
TEST(that_it_waits_is_shown)
{
	eventfd_t one;

	waits = mmap(NULL, sizeof(*waits), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(waits != MAP_FAILED);
	CHECK_INT(loop_new(&loop, NULL), 0);
	loop_show(loop, waits);
	make(&ready, on_seen);
	CHECK_INT(eventfd_read(ready.fd, &one), 0);
	CHECK(!atomic_load(waits));
	if (!fork()) {
		while (!atomic_load(waits))
			sched_yield();
		_exit(eventfd_write(ready.fd, 1));
	}
	CHECK_INT(loop_run(loop), 0);
	CHECK(!atomic_load(waits));
	loop_free(loop);
	close(ready.fd);
}

static int closes_other(void *arg, uint32_t events)
{
	struct loop_source *mine = arg;

	(void)events;
	note('c');
	loop_close(loop, mine == &ready ? &other : &ready);
	loop_stop(loop, 0);
	return 0;
}

TEST(a_closed_source_is_not_called_again)
{
	memset(trace, 0, sizeof(trace));
	CHECK_INT(loop_new(&loop, NULL), 0);
	make(&ready, closes_other);
	make(&other, closes_other);
	ready.arg = &ready;
	other.arg = &other;
	CHECK_INT(loop_run(loop), 0);
	CHECK_STR(trace, "c");		/* Both were ready */
	CHECK((ready.fd < 0) != (other.fd < 0));
	loop_free(loop);
}
