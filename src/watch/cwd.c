/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/cwd.c - where a thread stands, remembered for a moment
 *
 * Theory of operation: to ask the kernel takes a quarter of the time of an
 * answer, and who makes many files stands still. Who is about to go elsewhere
 * asks for that. It may take others along, who share its directory: from then
 * on nothing is remembered, until its next question shows that it has arrived;
 * or, if none comes, for a time in which it must have. A thread that becomes
 * another program has the number of its first thread from then on: where
 * threads go apart, nothing is remembered any more (fast.c).
 */

#include "watch/cwd.h"

#include <stdbool.h>
#include <string.h>

#include "watch/tracee.h"

static bool is_turning(const struct cwds *c, int64_t now)
{
	return c->turner && now < c->turned_ms + CWD_TURN_MS;
}

void cwd_turns(struct cwds *c, pid_t tid, int64_t now)
{
	const bool others = is_turning(c, now) && c->turner != tid;

	c->turner = others ? CWD_SEVERAL : tid;
	c->turned_ms = now;
	for (size_t i = 0; i < CWDS; i++)
		c->v[i].until_ms = 0;
}

void cwd_asks(struct cwds *c, pid_t tid)
{
	if (c->turner == tid)
		c->turner = 0;
}

ssize_t cwd_of(struct cwds *c, struct tracee *t, int64_t now, char *ret,
	       size_t size)
{
	struct cwd *at = &c->v[(size_t)t->tid % CWDS];
	ssize_t n;

	if (at->tid == t->tid && now < at->until_ms && at->len < size) {
		memcpy(ret, at->path, at->len + 1);
		return (ssize_t)at->len;
	}
	n = tracee_link(t, "cwd", ret, size);
	if (n < 0 || n >= CWD_MAX || is_turning(c, now))
		return n;
	at->tid = t->tid;
	at->until_ms = now + CWD_LIFE_MS;
	at->len = (size_t)n;
	memcpy(at->path, ret, (size_t)n + 1);
	return n;
}
