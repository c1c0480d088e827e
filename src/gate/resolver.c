/* SPDX-License-Identifier: Apache-2.0 */
/* gate/resolver.c - the gate's side: names to look up, and recent answers */

#include "gate/resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "gate/conn-timer.h"

/**
 * struct question - A name that is looked up
 * @id:		Number of the request; a reply after its deadline matches none
 */
struct question {
	struct lookup *resolver;
	LIST_ENTRY(question) link;
	uint64_t id;
	char name[HOST_NAME_MAX_LEN + 1];
	struct timer timer;
	LIST_HEAD(, resolve_wait) waiting;
};

/**
 * struct recent - A recent good answer
 */
struct recent {
	char name[HOST_NAME_MAX_LEN + 1];
	int64_t until;
	struct resolve_answer answer;
};

/**
 * struct lookup - The gate's side
 * @need, @arg:	See lookup_new()
 * @source:	To the resolver; -1 before the first, and between two
 * @asked:	@need was called, or will be
 * @again:	Calls it again
 * @lost:	There won't be a resolver
 * @recent:	RESOLVE_KEPT_MAX of them, once there is one
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
	LIST_HEAD(, question) questions;
	size_t count;
	struct recent *recent;
	size_t n_recent;
};

void lookup_forget(struct resolve_wait *w)
{
	if (!w->question)
		return;
	LIST_REMOVE(w, link);
	w->question = NULL;
}

static void answer_all(struct question *q, const struct resolve_answer *answer)
{
	timer_stop(q->resolver->timers, &q->timer);
	LIST_REMOVE(q, link);
	q->resolver->count--;
	while (!LIST_EMPTY(&q->waiting)) {
		struct resolve_wait *w = LIST_FIRST(&q->waiting);

		lookup_forget(w);
		w->fn(w->arg, answer);
	}
	free(q);
}

static void on_deadline(void *arg)
{
	const struct resolve_answer late = { .error = -ETIMEDOUT };

	answer_all(arg, &late);
}

static void add_recent(struct lookup *r, const struct question *q,
		       const struct resolve_answer *answer)
{
	struct recent *k;

	if (!r->recent)
		r->recent = mem_zalloc(RESOLVE_KEPT_MAX * sizeof(*r->recent));
	k = &r->recent[r->n_recent++ % RESOLVE_KEPT_MAX];
	memcpy(k->name, q->name, sizeof(k->name));
	k->until = timer_now() + RESOLVE_KEEP_MS;
	k->answer = *answer;
}

/* The resolver parses what untrusted name servers send: its answer is checked */
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
	struct question *q;

	LIST_FOREACH(q, &r->questions, link) {
		if (q->id == reply->id)
			break;
	}
	if (!q)
		return;
	if (!is_sane(&reply->answer))
		reply->answer = (struct resolve_answer){ .error = -EIO };
	if (!reply->answer.error)
		add_recent(r, q, &reply->answer);
	answer_all(q, &reply->answer);
}

static void want_resolver(void *arg);

/* What is looked up waits for the next resolver; if there won't be one, it fails */
static void lose_resolver(struct lookup *r)
{
	const struct resolve_answer lost = { .error = -EIO };

	if (r->source.fd >= 0) {
		loop_remove(r->loop, &r->source);
		close_fd(&r->source.fd);
		r->asked = !LIST_EMPTY(&r->questions);
		if (r->asked)
			want_resolver(r);
		return;
	}
	r->lost = true;
	while (!LIST_EMPTY(&r->questions))
		answer_all(LIST_FIRST(&r->questions), &lost);
}

static int on_reply(void *arg)
{
	struct lookup *r = arg;
	struct resolve_reply reply;
	ssize_t got;

	while (r->source.fd >= 0) {
		got = recv(r->source.fd, &reply, sizeof(reply), MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got != sizeof(reply))
			lose_resolver(r);
		else
			take_reply(r, &reply);
	}
	return 0;
}

/* -EAGAIN: the supervisor is behind with reports, which a sandbox may have caused
 * on purpose. Ask again.
 */
static void want_resolver(void *arg)
{
	struct lookup *r = arg;
	const int error = r->need(r->arg);

	if (error == -EAGAIN)
		timer_start(r->timers, &r->again, TIMER_PAUSE);
	else if (error < 0)
		lose_resolver(r);
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
	r->again = (struct timer){ .fn = want_resolver, .arg = r };
	return r;
}

static const struct recent *find_recent(const struct lookup *r,
					const char *name)
{
	const int64_t now = timer_now();

	for (size_t i = 0; i < RESOLVE_KEPT_MAX && i < r->n_recent; i++) {
		if (r->recent[i].until > now &&
		    !strcmp(r->recent[i].name, name))
			return &r->recent[i];
	}
	return NULL;
}

static bool send_question(const struct question *q)
{
	struct resolve_request out = { .id = q->id, .deadline = q->timer.deadline };

	memcpy(out.name, q->name, sizeof(out.name));
	return send(q->resolver->source.fd, &out, sizeof(out),
		    MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(out);
}

/* Before there is a resolver, it waits for one; also after EPIPE, when on_reply()
 * will see that the resolver has ended
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
	q->timer = (struct timer){ .fn = on_deadline, .arg = q };
	timer_start(r->timers, &q->timer, TIMER_RESOLVE);
	if (r->source.fd >= 0 && !send_question(q) && errno != EPIPE) {
		timer_stop(r->timers, &q->timer);
		free(q);
		return NULL;
	}
	LIST_INSERT_HEAD(&r->questions, q, link);
	r->count++;
	return q;
}

void lookup_attach(struct lookup *r, int sock)
{
	static const struct resolve_answer busy = { .error = -EBUSY };

	if (sock < 0 || r->lost || r->source.fd >= 0) {
		close_fd(&sock);
		if (r->source.fd < 0)
			lose_resolver(r);
		return;
	}
	r->source.fd = sock;
	if (loop_add(r->loop, &r->source, EPOLLIN) < 0) {
		lose_resolver(r);
		return;
	}
	for (struct question *q = LIST_FIRST(&r->questions), *next; q;
	     q = next) {
		next = LIST_NEXT(q, link);
		if (!send_question(q))
			answer_all(q, &busy);
	}
}

int lookup_ask(struct lookup *r, const struct host *host,
		 struct resolve_wait *wait, struct resolve_answer *ret)
{
	const struct recent *recent = find_recent(r, host->name);
	struct question *q;

	if (recent) {
		*ret = recent->answer;
		return 1;
	}
	if (!r->asked)
		want_resolver(r);
	r->asked = true;
	if (r->lost)
		return -EIO;
	LIST_FOREACH(q, &r->questions, link) {
		if (!strcmp(q->name, host->name))
			break;
	}
	if (!q)
		q = new_question(r, host->name);
	if (!q)
		return -EBUSY;
	wait->question = q;
	LIST_INSERT_HEAD(&q->waiting, wait, link);
	return 0;
}
