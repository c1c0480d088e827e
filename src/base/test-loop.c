/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-loop.c - one epoll loop */

#include "test.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
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

static int on_ready(void *arg)
{
	(void)arg;
	CHECK(ready.events & EPOLLIN);
	note('r');
	loop_defer(loop, &task);
	loop_defer(loop, &task);
	return 0;
}

static int on_other(void *arg)
{
	(void)arg;
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

static int on_letter(void *arg)
{
	const char *letter = arg;

	note(*letter);
	return 0;
}

TEST(the_preferred_source_is_called_first)
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

static int closes_other(void *arg)
{
	struct loop_source *mine = arg;

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
