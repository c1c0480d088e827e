/* SPDX-License-Identifier: Apache-2.0 */
/* gate/ask.c - hosts that the user is asked about, and the answers
 *
 * An answer is for one host and one port: another port, or a name below, is
 * another question.
 */

#include "gate/ask.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "gate/conn-timer.h"

/**
 * struct asked - A question, and later its answer
 * @open:	No answer yet
 * @allow:	The answer
 */
struct asked {
	struct asks *asks;
	LIST_ENTRY(asked) link;
	uint32_t id;
	struct host host;
	bool open, allow;
	struct timer timer;
	LIST_HEAD(, ask_wait) waiting;
};

struct asks {
	struct timers *timers;
	ask_send_fn send;
	void *arg;
	LIST_HEAD(, asked) all;
	size_t open, kept;
	uint32_t last_id;
};

struct asks *asks_new(struct timers *timers, ask_send_fn send, void *arg)
{
	struct asks *asks = mem_zalloc(sizeof(*asks));

	asks->timers = timers;
	asks->send = send;
	asks->arg = arg;
	return asks;
}

void ask_forget(struct ask_wait *w)
{
	if (!w->asked)
		return;
	LIST_REMOVE(w, link);
	w->asked = NULL;
}

static struct asked *find_asked(const struct asks *asks, const struct host *host)
{
	struct asked *a;

	LIST_FOREACH(a, &asks->all, link) {
		if (a->host.port == host->port && host_is_same(&a->host, host))
			break;
	}
	return a;
}

bool ask_is_allowed(const struct asks *asks, const struct host *host)
{
	const struct asked *a = find_asked(asks, host);

	return a && !a->open && a->allow;
}

static void enlist(struct asked *a)
{
	struct asks *asks = a->asks;

	LIST_INSERT_HEAD(&asks->all, a, link);
	*(a->open ? &asks->open : &asks->kept) += 1;
}

/* A connection may ask again from within @fn, and finds the answer */
static void close_question(struct asked *a, bool allow, bool keep)
{
	timer_stop(a->asks->timers, &a->timer);
	LIST_REMOVE(a, link);
	a->asks->open--;
	a->open = false;
	a->allow = allow;
	if (a->asks->kept == ASK_KEPT_MAX)
		keep = false;
	if (keep)
		enlist(a);
	while (!LIST_EMPTY(&a->waiting)) {
		struct ask_wait *w = LIST_FIRST(&a->waiting);

		ask_forget(w);
		w->fn(w->arg, allow);
	}
	if (!keep)
		free(a);
}

/* No answer came: no, and the next attempt may ask again */
static void on_deadline(void *arg)
{
	close_question(arg, false, false);
}

static struct asked *send_new(struct asks *asks, const struct host *host,
			      int client)
{
	struct asked *a;

	if (asks->open == ASK_OPEN_MAX ||
	    asks->send(asks->arg, ++asks->last_id, host, client) < 0)
		return NULL;
	a = mem_zalloc(sizeof(*a));
	a->asks = asks;
	a->id = asks->last_id;
	a->host = *host;
	a->open = true;
	a->timer = (struct timer){ .fn = on_deadline, .arg = a };
	enlist(a);
	timer_start(asks->timers, &a->timer, TIMER_ASK);
	return a;
}

int ask_start(struct asks *asks, const struct host *host,
	      struct ask_wait *wait)
{
	struct asked *a = find_asked(asks, host);

	if (a && !a->open)
		return a->allow ? 1 : 2;
	if (!a)
		a = send_new(asks, host, wait->client);
	if (!a)
		return -EBUSY;
	wait->asked = a;
	LIST_INSERT_HEAD(&a->waiting, wait, link);
	return 0;
}

void ask_answer(struct asks *asks, uint32_t id, bool allow,
		enum ask_scope scope)
{
	struct asked *a;

	LIST_FOREACH(a, &asks->all, link) {
		if (a->open && a->id == id)
			break;
	}
	if (a)
		close_question(a, allow, scope == ASK_SESSION);
}
