/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-ask.c - prompts about hosts */

#include "test.h"

#include <errno.h>

#include "base/loop.h"
#include "gate/ask.h"
#include "gate/conn-timer.h"

static struct loop *loop;
static struct timers *timers;
static struct asks *asks;
static uint32_t last_id, sent;
static int told[ASK_OPEN_MAX + 8], stop_after;

static int on_send(void *arg, uint32_t id, const struct host *host,
		   int client)
{
	(void)arg;
	(void)host;
	(void)client;
	last_id = id;
	sent++;
	return 0;
}

static void on_answer(void *arg, bool allow)
{
	*(int *)arg = allow ? 1 : -1;
	if (stop_after && !--stop_after)
		loop_stop(loop, 0);
}

static void set_up(void)
{
	static const unsigned int ms[TIMER_KINDS] = { [TIMER_ASK] = 10 };

	CHECK_INT(loop_new(&loop, NULL), 0);
	CHECK_INT(timers_new(loop, ms, &timers), 0);
	asks = asks_new(timers, on_send, NULL);
}

static struct host host(const char *name, uint16_t port)
{
	struct host h;

	CHECK_INT(host_parse(name, strlen(name), port, &h), 0);
	return h;
}

static int ask(struct ask_wait *w, const char *name, uint16_t port, int *ret)
{
	const struct host h = host(name, port);

	*w = (struct ask_wait){ .fn = on_answer, .arg = ret };
	return ask_start(asks, &h, w);
}

TEST(connections_to_one_host_share_a_prompt)
{
	struct ask_wait w[3];

	set_up();
	for (int i = 0; i < 3; i++)
		CHECK_INT(ask(&w[i], "a.test", 443, &told[i]), 0);
	CHECK_INT(sent, 1);
	ask_forget(&w[1]);
	ask_answer(asks, last_id, true, ASK_ONCE);
	CHECK_INT(told[0], 1);
	CHECK_INT(told[1], 0);
	CHECK_INT(told[2], 1);
	CHECK_INT(ask(&w[0], "a.test", 443, &told[0]), 0);
	CHECK_INT(sent, 2);
}

TEST(a_session_answer_applies_to_that_host_and_port_only)
{
	struct ask_wait w, other;
	const struct host same = host("A.test.", 443);
	const struct host port = host("a.test", 22);
	const struct host below = host("b.a.test", 443);

	set_up();
	CHECK_INT(ask(&w, "a.test", 443, &told[0]), 0);
	ask_answer(asks, last_id, true, ASK_SESSION);
	CHECK_INT(ask(&w, "a.test", 443, &told[0]), 1);
	CHECK(ask_is_allowed(asks, &same));
	CHECK(!ask_is_allowed(asks, &port));
	CHECK(!ask_is_allowed(asks, &below));
	CHECK_INT(ask(&w, "b.test", 443, &told[0]), 0);
	ask_answer(asks, last_id, false, ASK_SESSION);
	CHECK_INT(ask(&other, "b.test", 443, &told[0]), 2);
	ask_answer(asks, 4711, true, ASK_SESSION);
}

TEST(a_prompt_without_an_answer_is_a_refusal)
{
	struct ask_wait w;

	set_up();
	stop_after = 1;
	CHECK_INT(ask(&w, "a.test", 443, &told[0]), 0);
	CHECK_INT(loop_run(loop), 0);
	CHECK_INT(told[0], -1);
}

TEST(open_prompts_are_limited)
{
	struct ask_wait w[ASK_OPEN_MAX + 1];
	char name[32];

	set_up();
	for (int i = 0; i <= ASK_OPEN_MAX; i++) {
		snprintf(name, sizeof(name), "h%d.test", i);
		CHECK_INT(ask(&w[i], name, 443, &told[i]),
			  i < ASK_OPEN_MAX ? 0 : -EBUSY);
	}
}
