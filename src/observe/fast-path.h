/* SPDX-License-Identifier: Apache-2.0 */
/* observe/fast-path.h - answer simple notifications without resolving their paths
 *
 * A thread that waits in the listener lets a call go on when the text of its path
 * decides it, and passes every other notification to the supervisor's loop. It never
 * refuses.
 */

#ifndef OBSERVE_FAST_PATH_H
#define OBSERVE_FAST_PATH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "observe/cwd-cache.h"
#include "observe/git-lock.h"
#include "observe/notification.h"
#include "observe/observer-config.h"
#include "observe/tracee.h"

struct inflight;
struct seccomp_notif;

enum {
	FAST_PATH_DIRS = 256,	/* Directories in the cache */
	FAST_PATH_LIFE_MS = 200,	/* For how long */
	FAST_PATH_SHADOW_MS = 2000,	/* Not, after a call that can place a link */
};

/**
 * struct fast_path - State of the fast path, shared with the loop
 * @config:	Of the observer, with its listener; @lock protects its rules while
 *		the thread runs
 * @root:	The sandbox's root directory, or -1 before the first notification
 * @dirs:	Directories whose text leads through no link, until @until_ms
 * @moved_ms:	When a call that can place a link was last notified or answered; 0 if
 *		never. From any thread.
 * @makes:	The loop was notified of a call that creates a name; until then each
 *		such call is passed to it. From any thread.
 * @answered:	How many the thread has answered
 * @inflight:	Calls that can create a name and were let through
 * @pipe:	What the thread passes on: the loop's end, and the thread's; -1 without
 *		a thread
 * @lock:	For the rules, @stopped and @over (the thread has ended)
 * @unshared:	Threads of one process may have different current directories
 *
 * @root and @dirs belong to the thread, or to the loop where there is none.
 */
struct fast_path {
	struct observer_config config;
	int root;
	struct seen_dir { char *path; int64_t until_ms; } dirs[FAST_PATH_DIRS];
	_Atomic int64_t moved_ms;
	_Atomic bool makes;
	_Atomic uint64_t answered;
	struct inflight *inflight;
	struct git_locks git;
	int pipe[2];
	pthread_mutex_t lock;
	bool stopped, over, unshared;
	struct tracees tracees;
	struct cwds cwds;
	struct name names[2];
};

/* @config is copied, and its listener taken over */
struct fast_path *fast_path_new(const struct observer_config *config);

/* Start the thread, which alone receives from the listener from now on. Not where
 * reads are notified: it lets those go on. 0 or a negative errno, and then nothing
 * has changed.
 */
int fast_path_start(struct fast_path *f);

/* Stop answering, and free all. True; false if the thread waits in the listener: then it
 * frees all when it returns from there, or the kernel ends it with the process.
 */
bool fast_path_free(struct fast_path *f);

/* Readable when fast_path_next() has a notification for the loop */
int fast_path_fd(const struct fast_path *f);

/* 1 and the next notification, 0 if there is none, or a negative errno */
int fast_path_next(struct fast_path *f, struct seccomp_notif *ret);

/* When this returns, the thread does not use the previous rules any more */
void fast_path_set_rules(struct fast_path *f, struct observer_rules *rules);

/* Before @call goes on; from any thread */
void fast_path_note(struct fast_path *f, const struct call *call);

/* 1 if the call in @q, whose names were read, may go on, -ENOENT if that must be its
 * answer, 0 if its paths must be resolved
 */
int fast_path_check(struct fast_path *f, const struct notification *q,
		    const struct name *names);

/* What a call opens that names /dev/null or /dev/tty: a descriptor to install,
 * -ENXIO to answer with, or another negative errno if the path must be resolved. It
 * cannot be another object, whatever the text is when the kernel reads it.
 */
int fast_path_open_device(struct fast_path *f, const struct notification *q,
			  const struct name *names);

#endif /* OBSERVE_FAST_PATH_H */
