/* SPDX-License-Identifier: Apache-2.0 */
/* net/ask.c - hosts that somebody is asked about, and what was answered
 *
 * An answer is for one host and one port, as they are written in struct host:
 * another port, or a name below, is another question.
 */

#include "net/ask.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "net/timer.h"

/**
 * struct asked - A question, and later its answer
 * @open:	No answer yet
 * @allow:	The answer
 * @waiting:	Who wants to know
 */
struct asked {
	struct asks *asks;
	struct asked *prev, *next;
	uint32_t id;
	struct host host;
	bool open, allow;
	struct timer timer;
	struct ask_wait *waiting;
};

struct asks {
	struct timers *timers;
	ask_send_fn send;
	void *arg;
	struct asked *first;
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

static void unlist(struct asked *a)
{
	struct asks *asks = a->asks;

	timer_stop(asks->timers, &a->timer);
	*(a->prev ? &a->prev->next : &asks->first) = a->next;
	if (a->next)
		a->next->prev = a->prev;
	*(a->open ? &asks->open : &asks->kept) -= 1;
}

void asks_free(struct asks *asks)
{
	if (!asks)
		return;
	while (asks->first) {
		struct asked *a = asks->first;

		while (a->waiting)
			ask_forget(a->waiting);
		unlist(a);
		free(a);
	}
	free(asks);
}

void ask_forget(struct ask_wait *w)
{
	if (!w->asked)
		return;
	*(w->prev ? &w->prev->next : &w->asked->waiting) = w->next;
	if (w->next)
		w->next->prev = w->prev;
	w->asked = NULL;
}

static struct asked *find(const struct asks *asks, const struct host *host)
{
	struct asked *a = asks->first;

	while (a && !(a->host.port == host->port &&
		      host_is_same(&a->host, host)))
		a = a->next;
	return a;
}

bool ask_is_allowed(const struct asks *asks, const struct host *host)
{
	const struct asked *a = find(asks, host);

	return a && !a->open && a->allow;
}

static void list(struct asked *a)
{
	struct asks *asks = a->asks;

	a->prev = NULL;
	a->next = asks->first;
	if (a->next)
		a->next->prev = a;
	asks->first = a;
	*(a->open ? &asks->open : &asks->kept) += 1;
}

/* Those who wait may ask again from within their call, and find the answer */
static void settle(struct asked *a, bool allow, bool keep)
{
	unlist(a);
	a->open = false;
	a->allow = allow;
	if (a->asks->kept == ASK_KEPT_MAX)
		keep = false;
	if (keep)
		list(a);
	while (a->waiting) {
		struct ask_wait *w = a->waiting;

		ask_forget(w);
		w->fn(w->arg, allow);
	}
	if (!keep)
		free(a);
}

/* Nobody answered: no, and the next attempt may ask again */
static void on_deadline(void *arg)
{
	settle(arg, false, false);
}

static struct asked *pose(struct asks *asks, const struct host *host,
			  const struct conn *client)
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
	a->timer.fn = on_deadline;
	a->timer.arg = a;
	list(a);
	timer_start(asks->timers, &a->timer, TIMER_ASK);
	return a;
}

int ask_start(struct asks *asks, const struct host *host,
	      struct ask_wait *wait)
{
	struct asked *a = find(asks, host);

	if (a && !a->open)
		return a->allow ? 1 : 2;
	if (!a)
		a = pose(asks, host, wait->client);
	if (!a)
		return -EBUSY;
	wait->asked = a;
	wait->prev = NULL;
	wait->next = a->waiting;
	if (wait->next)
		wait->next->prev = wait;
	a->waiting = wait;
	return 0;
}

void ask_answer(struct asks *asks, uint32_t id, bool allow,
		enum ask_scope scope)
{
	struct asked *a = asks->first;

	while (a && !(a->open && a->id == id))
		a = a->next;
	if (a)
		settle(a, allow, scope == ASK_SESSION);
}
