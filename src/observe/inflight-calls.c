/* SPDX-License-Identifier: Apache-2.0 */
/* observe/inflight-calls.c - calls that were let through, and whether they are over */

#include "observe/inflight-calls.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "observe/tracee.h"

enum { PROBES = 8 };	/* Slots that a thread may be in */

/**
 * struct passed_call - A thread's last call that was let through; @tid 0: none
 */
struct passed_call {
	pid_t tid;
	int nr;
	uint64_t args[6];
};

/**
 * struct inflight - All of them
 * @lost:	One did not fit
 */
struct inflight {
	pthread_mutex_t lock;
	uint64_t count;
	bool lost;
	struct passed_call v[INFLIGHT_MAX];
};

struct inflight *inflight_new(void)
{
	struct inflight *p = mem_zalloc(sizeof(*p));

	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void inflight_free(struct inflight *p)
{
	if (!p)
		return;
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* True if the thread has exited or waits in another call. Its registers are the
 * kernel's as long as it is in one: the sandbox cannot change them.
 */
static bool is_over(const struct passed_call *c)
{
	uint64_t args[6] = { 0 };
	long nr = -1;
	const int r = tracee_call(c->tid, &nr, args);

	if (r <= 0)
		return r == -ENOENT || r == -ESRCH;
	return nr != c->nr || memcmp(args, c->args, sizeof(args)) != 0;
}

static struct passed_call *slot(struct inflight *p, pid_t tid, int i)
{
	return &p->v[((unsigned int)tid + (unsigned int)i * 61) % INFLIGHT_MAX];
}

static struct passed_call *find(struct inflight *p, pid_t tid)
{
	for (int i = 0; i < PROBES; i++) {
		if (slot(p, tid, i)->tid == tid)
			return slot(p, tid, i);
	}
	return NULL;
}

/* A slot for @tid: its own, a free one, or one whose call is over; or NULL */
static struct passed_call *find_slot(struct inflight *p, pid_t tid)
{
	struct passed_call *c = find(p, tid);

	for (int i = 0; !c && i < PROBES; i++) {
		if (!slot(p, tid, i)->tid || is_over(slot(p, tid, i)))
			c = slot(p, tid, i);
	}
	return c;
}

void inflight_note_call(struct inflight *p, pid_t tid)
{
	struct passed_call *c;

	pthread_mutex_lock(&p->lock);
	c = find(p, tid);
	if (c)
		c->tid = 0;
	pthread_mutex_unlock(&p->lock);
}

void inflight_add(struct inflight *p, const struct seccomp_notif *notif)
{
	struct passed_call *c;

	pthread_mutex_lock(&p->lock);
	p->count++;
	c = find_slot(p, (pid_t)notif->pid);
	p->lost |= !c;
	if (c) {
		c->tid = (pid_t)notif->pid;
		c->nr = notif->data.nr;
		memcpy(c->args, notif->data.args, sizeof(c->args));
	}
	pthread_mutex_unlock(&p->lock);
}

uint64_t inflight_count(struct inflight *p)
{
	uint64_t count;

	pthread_mutex_lock(&p->lock);
	count = p->count;
	pthread_mutex_unlock(&p->lock);
	return count;
}

bool inflight_settled(struct inflight *p, uint64_t *ret)
{
	bool over;

	pthread_mutex_lock(&p->lock);
	over = !p->lost;
	*ret = p->count;
	for (size_t i = 0; i < INFLIGHT_MAX; i++) {
		struct passed_call *c = &p->v[i];

		if (c->tid && is_over(c))
			c->tid = 0;
		over = over && !c->tid;
	}
	pthread_mutex_unlock(&p->lock);
	return over;
}
