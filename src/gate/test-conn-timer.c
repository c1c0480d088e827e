/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-conn-timer.c - deadlines */

#include "test.h"

#include <poll.h>

#include "base/loop.h"
#include "gate/conn-timer.h"

static struct loop *loop;
static struct timers *timers;
static struct timer first, second, third;
static char trace[8];

static void set_up(void)
{
	static const unsigned int ms[TIMER_KINDS] = {
		[TIMER_HEAD] = 30, [TIMER_DIAL] = 10, [TIMER_IDLE] = 20,
	};

	CHECK_INT(loop_new(&loop, NULL), 0);
	CHECK_INT(timers_new(loop, ms, &timers), 0);
}

static void note(void *arg)
{
	const size_t n = strlen(trace);

	snprintf(trace + n, sizeof(trace) - n, "%s", (const char *)arg);
	if (strchr(arg, '!'))
		loop_stop(loop, 0);
}

static void start(struct timer *t, enum timer_kind kind, const char *text)
{
	t->fn = note;
	t->arg = (void *)(size_t)text;
	timer_start(timers, t, kind);
}

/* On a machine so busy that two have passed at once, they are told by kind */
TEST(timers_expire_in_order_of_their_deadlines)
{
	set_up();
	for (int tries = 0; tries < 20 && strcmp(trace, "abc!") != 0; tries++) {
		trace[0] = '\0';
		start(&first, TIMER_HEAD, "c!");
		start(&second, TIMER_DIAL, "a");
		start(&third, TIMER_IDLE, "b");
		CHECK_INT(loop_run(loop), 0);
	}
	CHECK_STR(trace, "abc!");
}

TEST(timers_that_expired_together_all_fire)
{
	set_up();
	start(&first, TIMER_HEAD, "c!");
	start(&second, TIMER_DIAL, "a");
	start(&third, TIMER_IDLE, "b");
	(void)poll(NULL, 0, 60);
	CHECK_INT(loop_run(loop), 0);
	CHECK_STR(trace, "abc!");
}

TEST(a_stopped_timer_does_not_fire_and_a_restarted_one_starts_over)
{
	set_up();
	start(&second, TIMER_DIAL, "x");
	start(&first, TIMER_DIAL, "y");
	timer_stop(timers, &second);
	timer_stop(timers, &second);
	start(&first, TIMER_HEAD, "d!");
	CHECK_INT(loop_run(loop), 0);
	CHECK_STR(trace, "d!");
	CHECK_INT(first.deadline, 0);
}

TEST(configured_times_replace_the_built_in_ones)
{
	static const unsigned int ms[TIMER_KINDS] = {
		[TIMER_LINGER] = 1u << 30, [TIMER_PAUSE] = 5,
	};

	CHECK_INT(loop_new(&loop, NULL), 0);
	CHECK_INT(timers_new(loop, ms, &timers), 0);
	start(&first, TIMER_LINGER, "never");
	start(&second, TIMER_PAUSE, "p!");
	CHECK(first.deadline - timer_now() > 600000);
	CHECK_INT(loop_run(loop), 0);
	CHECK_STR(trace, "p!");
}

TEST(timers_oldest_finds_the_oldest_of_a_kind_past_an_age)
{
	set_up();
	start(&first, TIMER_IDLE, "");
	start(&second, TIMER_IDLE, "");
	CHECK(timers_oldest(timers, TIMER_IDLE, 0) == &first);
	CHECK(!timers_oldest(timers, TIMER_IDLE, 1000));
	CHECK(!timers_oldest(timers, TIMER_HEAD, 0));
	timer_stop(timers, &first);
	CHECK(timers_oldest(timers, TIMER_IDLE, 0) == &second);
}
