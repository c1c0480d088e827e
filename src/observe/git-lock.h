/* SPDX-License-Identifier: Apache-2.0 */
/* observe/git-lock.h - stop git before it updates half of a work tree
 *
 * git checkout, merge and reset take .git/index.lock, change the files one by
 * one and go on when one of them cannot be changed: HEAD moves, a protected file
 * stays as it was. A git that holds the lock and has changed nothing yet is ended
 * instead, by SIGTERM: it removes its lock, and all is as before.
 */

#ifndef OBSERVE_GIT_LOCK_H
#define OBSERVE_GIT_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct notification;

/**
 * struct git_lock - The last lock that was taken; zero-initialise it
 * @changes:	Calls that went on and may have changed a file of a work tree
 * @at:		What @changes was when the lock was taken
 * @pid:	The process that took it; 0 if none holds it
 *
 * The fast path's thread and the loop both use it.
 */
struct git_lock {
	_Atomic uint64_t changes, at;
	_Atomic pid_t pid;
};

/* The call @q of @pid on @path goes on */
void git_lock_note(struct git_lock *lock, const struct notification *q, pid_t pid,
		   const char *path);

/* @pid, which was refused to change @path, is a git that has changed nothing yet
 * under its lock: end it. True if so.
 */
bool git_lock_stop(const struct git_lock *lock, pid_t pid, const char *path);

#endif /* OBSERVE_GIT_LOCK_H */
