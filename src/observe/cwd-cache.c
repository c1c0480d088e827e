/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/cwd-cache.c - a thread's current directory, cached for a moment
 *
 * Theory of operation: reading it takes a quarter of the time of an answer, and a
 * process that creates many files does so from one directory. chdir() is notified. It
 * moves every thread that shares the directory, at an unknown moment after the answer:
 * until the thread's next notification shows that it has returned, or for
 * CWD_CHDIR_MS, nothing is cached. A thread that executes another program gets the
 * number of its first thread: after an unshare() of the directory nothing is cached any
 * more (fast-path.c).
 */

#include "observe/cwd-cache.h"

#include <stdbool.h>
#include <string.h>

#include "observe/tracee.h"

static bool is_changing(const struct cwds *c, int64_t now)
{
	return c->chdir_tid && now < c->chdir_ms + CWD_CHDIR_MS;
}

void cwd_note_chdir(struct cwds *c, pid_t tid, int64_t now)
{
	const bool others = is_changing(c, now) && c->chdir_tid != tid;

	c->chdir_tid = others ? CWD_SEVERAL : tid;
	c->chdir_ms = now;
	for (size_t i = 0; i < CWDS; i++)
		c->v[i].until_ms = 0;
}

void cwd_note_call(struct cwds *c, pid_t tid)
{
	if (c->chdir_tid == tid)
		c->chdir_tid = 0;
}

ssize_t cwd_read(struct cwds *c, struct tracee *t, int64_t now, char *ret,
	       size_t size)
{
	struct cwd *at = &c->v[(size_t)t->tid % CWDS];
	ssize_t n;

	if (at->tid == t->tid && now < at->until_ms && at->len < size) {
		memcpy(ret, at->path, at->len + 1);
		return (ssize_t)at->len;
	}
	n = tracee_link(t, "cwd", ret, size);
	if (n < 0 || n >= CWD_MAX || is_changing(c, now))
		return n;
	at->tid = t->tid;
	at->until_ms = now + CWD_LIFE_MS;
	at->len = (size_t)n;
	memcpy(at->path, ret, (size_t)n + 1);
	return n;
}
