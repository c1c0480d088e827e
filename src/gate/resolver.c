/* SPDX-License-Identifier: Apache-2.0 */
/* net/resolve.c - the asking side: questions, those who wait, recent answers */

#include "net/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "net/resolve-wire.h"
#include "net/timer.h"

/**
 * struct question - A name that helpers were asked about
 * @id:		Number of the request; late replies match nobody
 * @waiting:	Who wants to know
 */
struct question {
	struct lookup *resolver;
	struct question *prev, *next;
	uint64_t id;
	char name[HOST_NAME_MAX_LEN + 1];
	struct timer timer;
	struct resolve_wait *waiting;
};

/**
 * struct kept - A recent good answer
 */
struct kept {
	char name[HOST_NAME_MAX_LEN + 1];
	int64_t until;
	struct resolve_answer answer;
};

/**
 * struct lookup - The asking side
 * @need, @arg:	See lookup_new()
 * @source:	To the helpers; -1 before them, and between them and others
 * @asked:	Somebody was told that helpers are needed, or will be
 * @again:	When there was no room to say so
 * @lost:	None could be had
 * @kept:	RESOLVE_KEPT_MAX of them, once there is one
 */
struct lookup {
	struct loop *loop;
	struct timers *timers;
	int (*need)(void *arg);
	void *arg;
	struct loop_source source;
	bool asked, lost;
	struct timer again;
	uint64_t last_id;
	struct question *questions;
	size_t count;
	struct kept *kept;
	size_t next_kept;
};

/* Nobody will find it any more; those who wait still can leave */
static void unlist(struct question *q)
{
	struct lookup *r = q->resolver;

	timer_stop(r->timers, &q->timer);
	*(q->prev ? &q->prev->next : &r->questions) = q->next;
	if (q->next)
		q->next->prev = q->prev;
	r->count--;
}

void lookup_forget(struct resolve_wait *w)
{
	if (!w->question)
		return;
	*(w->prev ? &w->prev->next : &w->question->waiting) = w->next;
	if (w->next)
		w->next->prev = w->prev;
	w->question = NULL;
}

static void finish(struct question *q, const struct resolve_answer *answer)
{
	unlist(q);
	while (q->waiting) {
		struct resolve_wait *w = q->waiting;

		lookup_forget(w);
		w->fn(w->arg, answer);
	}
	free(q);
}

static void on_deadline(void *arg)
{
	const struct resolve_answer late = { .error = -ETIMEDOUT };

	finish(arg, &late);
}

static void keep(struct lookup *r, const struct question *q,
		 const struct resolve_answer *answer)
{
	struct kept *k;

	if (!r->kept)
		r->kept = mem_zalloc(RESOLVE_KEPT_MAX * sizeof(*r->kept));
	k = &r->kept[r->next_kept++ % RESOLVE_KEPT_MAX];
	memcpy(k->name, q->name, sizeof(k->name));
	k->until = timer_now() + RESOLVE_KEEP_MS;
	k->answer = *answer;
}

/* Helpers parse what strangers' name servers send: their word is checked */
static bool is_sane(const struct resolve_answer *a)
{
	if (a->error > 0 || a->count > RESOLVE_ADDRESSES_MAX ||
	    (!a->error && !a->count))
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		if (a->v[i].len != 4 && a->v[i].len != 16)
			return false;
	}
	return true;
}

static void take_reply(struct lookup *r, struct resolve_reply *reply)
{
	struct question *q = r->questions;

	while (q && q->id != reply->id)
		q = q->next;
	if (!q)
		return;
	if (!is_sane(&reply->answer))
		reply->answer = (struct resolve_answer){ .error = -EIO };
	if (!reply->answer.error)
		keep(r, q, &reply->answer);
	finish(q, &reply->answer);
}

static void want_helpers(void *arg);

/* Whoever waits, waits for the next ones; if there won't be any, nothing resolves,
 * and everybody learns it at once
 */
static void lose_helpers(struct lookup *r)
{
	const struct resolve_answer lost = { .error = -EIO };

	if (r->source.fd >= 0) {
		loop_remove(r->loop, &r->source);
		close_fd(&r->source.fd);
		r->asked = r->questions;
		if (r->asked)
			want_helpers(r);
		return;
	}
	r->lost = true;
	while (r->questions)
		finish(r->questions, &lost);
}

static int on_reply(void *arg, uint32_t events)
{
	struct lookup *r = arg;
	struct resolve_reply reply;
	ssize_t got;

	(void)events;
	while (r->source.fd >= 0) {
		got = recv(r->source.fd, &reply, sizeof(reply), MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got != sizeof(reply))
			lose_helpers(r);
		else
			take_reply(r, &reply);
	}
	return 0;
}

/* The supervisor may be behind, with a flood of reports before this one. To go
 * without names for good because of that would be its sender's choice.
 */
static void want_helpers(void *arg)
{
	struct lookup *r = arg;
	const int error = r->need(r->arg);

	if (error == -EAGAIN)
		timer_start(r->timers, &r->again, TIMER_PAUSE);
	else if (error < 0)
		lose_helpers(r);
}

struct lookup *lookup_new(struct loop *loop, struct timers *timers,
			  int (*need)(void *arg), void *arg)
{
	struct lookup *r = mem_zalloc(sizeof(*r));

	r->loop = loop;
	r->timers = timers;
	r->need = need;
	r->arg = arg;
	r->source = (struct loop_source){ -1, on_reply, r };
	r->again.fn = want_helpers;
	r->again.arg = r;
	return r;
}

static const struct kept *find_kept(const struct lookup *r, const char *name)
{
	const int64_t now = timer_now();

	for (size_t i = 0; i < RESOLVE_KEPT_MAX && i < r->next_kept; i++) {
		if (r->kept[i].until > now && !strcmp(r->kept[i].name, name))
			return &r->kept[i];
	}
	return NULL;
}

static struct question *find_question(const struct lookup *r,
				      const char *name)
{
	struct question *q = r->questions;

	while (q && strcmp(q->name, name) != 0)
		q = q->next;
	return q;
}

static bool send_question(const struct question *q)
{
	struct resolve_request out = { .id = q->id };

	memcpy(out.name, q->name, sizeof(out.name));
	return send(q->resolver->source.fd, &out, sizeof(out),
		    MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(out);
}

/* Before there are helpers, questions wait for them; also where they have just
 * ended, of which on_reply() is to hear
 */
static struct question *new_question(struct lookup *r, const char *name)
{
	struct question *q;

	if (r->count == RESOLVE_NAMES_MAX)
		return NULL;
	q = mem_zalloc(sizeof(*q));
	q->resolver = r;
	q->id = ++r->last_id;
	memcpy(q->name, name, strlen(name) + 1);
	if (r->source.fd >= 0 && !send_question(q) && errno != EPIPE) {
		free(q);
		return NULL;
	}
	q->timer.fn = on_deadline;
	q->timer.arg = q;
	q->next = r->questions;
	if (q->next)
		q->next->prev = q;
	r->questions = q;
	r->count++;
	timer_start(r->timers, &q->timer, TIMER_RESOLVE);
	return q;
}

void lookup_attach(struct lookup *r, int sock)
{
	static const struct resolve_answer busy = { .error = -EBUSY };

	if (sock < 0 || r->lost || r->source.fd >= 0) {
		close_fd(&sock);
		if (r->source.fd < 0)
			lose_helpers(r);
		return;
	}
	r->source.fd = sock;
	if (loop_add(r->loop, &r->source, EPOLLIN) < 0) {
		lose_helpers(r);
		return;
	}
	for (struct question *q = r->questions, *next; q; q = next) {
		next = q->next;
		if (!send_question(q))
			finish(q, &busy);
	}
}

int lookup_ask(struct lookup *r, const struct host *host,
		 struct resolve_wait *wait, struct resolve_answer *ret)
{
	const struct kept *kept = find_kept(r, host->name);
	struct question *q;

	if (kept) {
		*ret = kept->answer;
		return 1;
	}
	if (!r->asked)
		want_helpers(r);
	r->asked = true;
	if (r->lost)
		return -EIO;
	q = find_question(r, host->name);
	if (!q)
		q = new_question(r, host->name);
	if (!q)
		return -EBUSY;
	wait->question = q;
	wait->prev = NULL;
	wait->next = q->waiting;
	if (wait->next)
		wait->next->prev = wait;
	q->waiting = wait;
	return 0;
}
