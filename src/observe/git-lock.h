/* SPDX-License-Identifier: Apache-2.0 */
/* observe/git-lock.h - undo a git command that could update only a part of a work tree
 *
 * git checkout, merge and reset take .git/index.lock, change the files one by
 * one and go on when one of them cannot be changed; the new index and HEAD come
 * last. So what a git changes under its lock is recorded. If it was refused a file
 * by then, it is ended by SIGTERM when it gives the lock up, and the files are put
 * back: tree, index and HEAD are as before, and every refused file was reported.
 */

#ifndef OBSERVE_GIT_LOCK_H
#define OBSERVE_GIT_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct notification;

enum {
	GIT_LOCKS_MAX = 4,		/* git starts others, with locks of their own */
	GIT_LOCK_CHANGES_MAX = 65536,	/* Recorded changes under all locks */
	GIT_LOCK_NAMES_MAX = 8 << 20,	/* Bytes of their paths */
	GIT_LOCK_BYTES_MAX = 128 << 20,	/* Bytes of the files that gits removed */
};

/**
 * struct git_lock - A lock that was taken
 * @pid:	The git that has it; 0 if none
 * @process:	Its pidfd: after its end the number may be another's
 * @refused:	It was refused a file, and will be undone
 * @partial:	Not all of its changes could be recorded: it is not undone, and none is kept
 * @root:	Its root directory, or -1 until it changes a file
 * @index:	The path that the lock is for, or NULL
 * @old:	A memfd with the files that it removed, @bytes long, or -1
 * @names:	Bytes of the paths in @changes
 * @at_once:	It has no lock, and is undone when it is refused a file
 */
struct git_lock {
	_Atomic pid_t pid;
	_Atomic bool refused;
	bool partial, at_once;
	int process, root, old;
	char *index;
	struct { struct git_change *v; size_t len, cap; } changes;
	size_t names;
	off_t bytes;
};

/**
 * struct git_locks - Locks of gits that run
 * @next:	The one that is given up for another if all are taken
 * @seen:	The last process that removed a file
 * @mutex:	The fast path's thread and the loop both use it
 */
struct git_locks {
	struct git_lock v[GIT_LOCKS_MAX];
	size_t next;
	pid_t seen;
	pthread_mutex_t mutex;
};

void git_locks_init(struct git_locks *locks);
void git_locks_done(struct git_locks *locks);

/* Before the call @q of @pid on @path goes on. 0; -EROFS if it must not; or, where a
 * git gives up its lock and was ended, 1 if all is as before, -EIO if something could
 * not be put back. A call for which git_lock_refuses() is from the loop.
 */
int git_lock_note(struct git_locks *locks, const struct notification *q, pid_t pid,
		  const char *path);

/* @pid is a git that was refused a file and will be undone */
bool git_lock_refuses(const struct git_locks *locks, pid_t pid);

/* @pid was refused to change @path: 1 if that is a git that will be undone, -EIO if it
 * has no lock, was undone, and something could not be put back; else 0
 */
int git_lock_refused(struct git_locks *locks, pid_t pid, const char *path);

/* The refusal was reported. A git that has no lock is ended now: SIGTERM may end the
 * call that waits, of which nothing can be read any more.
 */
void git_lock_reported(struct git_locks *locks, pid_t pid);

#endif /* OBSERVE_GIT_LOCK_H */
