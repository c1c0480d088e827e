/* SPDX-License-Identifier: Apache-2.0 */
/* observe/cwd-cache.h - a thread's current directory, cached for a moment */

#ifndef OBSERVE_CWD_CACHE_H
#define OBSERVE_CWD_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tracee;

enum {
	CWDS = 16,		/* Threads remembered */
	CWD_MAX = 512,		/* Longer paths are not */
	CWD_LIFE_MS = 20,	/* For how long */
	CWD_CHDIR_MS = 2000,	/* By then a chdir() that was let through is over */
	CWD_SEVERAL = -1,
};

/**
 * struct cwd - The directory of thread @tid, until @until_ms
 */
struct cwd {
	pid_t tid;
	int64_t until_ms;
	size_t len;
	char path[CWD_MAX];
};

/**
 * struct cwds - Zero-initialise it
 * @chdir_tid:	The thread whose chdir() was let through at @chdir_ms, 0, or CWD_SEVERAL
 */
struct cwds {
	struct cwd v[CWDS];
	pid_t chdir_tid;
	int64_t chdir_ms;
};

/* A chdir() of @tid is about to go on */
void cwd_note_chdir(struct cwds *c, pid_t tid, int64_t now);

/* Another call of @tid is notified: its chdir() is over */
void cwd_note_call(struct cwds *c, pid_t tid);

/* tracee_link() of "cwd" */
ssize_t cwd_read(struct cwds *c, struct tracee *t, int64_t now, char *ret,
	       size_t size);

#endif /* OBSERVE_CWD_CACHE_H */
