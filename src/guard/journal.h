/* SPDX-License-Identifier: Apache-2.0 */
/* guard/journal.h - a record on disk of what a run may write
 *
 * STATE/journal/RUN.json exists while a run lasts, and is locked by it. A file
 * without a lock belongs to a run that was killed.
 */

#ifndef GUARD_JOURNAL_H
#define GUARD_JOURNAL_H

#include <stdbool.h>
#include <time.h>

#include "base/mem.h"
#include "policy/policy.h"

struct err;

enum {
	JOURNAL_REPLAY_MAX = 64,	/* Runs cleaned up after at once */
	JOURNAL_TRIES = 8,		/* While others clean up */
	JOURNAL_TEXT_MAX = 1 << 28,	/* All names that a walk may find */
};

/**
 * struct journal - What one run may write, and what existed before it
 * @run:	Its id
 * @cwd:	Where it started
 * @roots:	What it may write
 * @existing:	Protected names that existed at the start, with all that is in them:
 *		mounts hold that
 * @sentinels:	Names of a bare repository that existed in @cwd. No mount holds them:
 *		what is in such a directory may be new.
 * @obeyed:	Paths that were missing, that the next run obeys or starts, and that
 *		no protected name covers
 * @since:	When it began
 * @profile:	Which names it protects
 */
struct journal {
	char *run, *cwd;
	enum profile profile;
	struct strings roots, existing, sentinels, obeyed;
	struct timespec since;
};

void journal_done(struct journal *j);
/* True if @path is one of the names that existed, or lies in one that mounts hold */
bool journal_existed(const struct journal *j, const char *path);
/* The outermost root that @path lies in, or NULL */
const char *journal_root(const struct journal *j, const char *path);

/* Write and lock the file: a descriptor with the lock, or a negative errno */
int journal_write(const char *state, const struct journal *j, struct err *err);
/* Replace the content of the file @fd, which journal_write() returned */
void journal_rewrite(int fd, const struct journal *j);
/* Remove the file, at the end of the run */
void journal_remove(const char *state, const struct journal *j);

/* True if another run, alive or killed, could write @path */
bool journal_others(const char *state, const struct journal *j,
		    const char *path);

/* True if a run that has not ended could have made the file @path, a real path: it may
 * write there, and nothing stood there when it began
 */
bool journal_may_have_made(const char *state, const char *path);

/* Call @fn for each journal without a lock, and remove it if @fn returns true */
void journal_replay(const char *state,
		    bool (*fn)(void *arg, const struct journal *j), void *arg);

#endif /* GUARD_JOURNAL_H */
