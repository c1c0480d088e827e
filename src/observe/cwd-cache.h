/* SPDX-License-Identifier: Apache-2.0 */
/* watch/cwd.h - where a thread stands, remembered for a moment */

#ifndef WATCH_CWD_H
#define WATCH_CWD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tracee;

enum {
	CWDS = 16,		/* Threads remembered */
	CWD_MAX = 512,		/* Longer paths are not */
	CWD_LIFE_MS = 20,	/* For how long */
	CWD_TURN_MS = 2000,	/* Until who was about to go has gone */
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
 * @turner:	Who was about to go elsewhere, at @turned_ms: 0 for nobody, or
 *		CWD_SEVERAL
 */
struct cwds {
	struct cwd v[CWDS];
	pid_t turner;
	int64_t turned_ms;
};

/* @tid asks to go elsewhere */
void cwd_turns(struct cwds *c, pid_t tid, int64_t now);

/* @tid asks something else: wherever it went, it is there */
void cwd_asks(struct cwds *c, pid_t tid);

/* tracee_link() of "cwd" */
ssize_t cwd_of(struct cwds *c, struct tracee *t, int64_t now, char *ret,
	       size_t size);

#endif /* WATCH_CWD_H */
