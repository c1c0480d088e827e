/* SPDX-License-Identifier: Apache-2.0 */
/* watch/fast.h - a thread for the questions that need no look-up */

#ifndef WATCH_FAST_H
#define WATCH_FAST_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct fast;
struct observer_config;
struct observer_policy;
struct passed;
struct git_lock;
struct seccomp_notif;

/* From now on the thread alone receives from the listener, which must stay open
 * until the process ends. Not where reads matter: it lets them pass. What makes a
 * name is the loop's until fast_makes(), and so is each connect() where sockets
 * go by path. @passed is told of each question, and of what makes a name and goes
 * on; it and @git must live as long as the thread. 0 or a negative errno: then nothing has changed.
 */
int fast_start(const struct observer_config *config, struct passed *passed,
	       struct git_lock *git, struct fast **ret);

/* It answers nothing any more. True if it has ended and all is free; otherwise
 * the kernel takes it away with the process: the thread may be waiting, and only
 * the end of all who could ask would wake it.
 */
bool fast_stop(struct fast *fast);

/* What it leaves to us: readable when there is something */
int fast_fd(const struct fast *fast);

/* The next of those: 1, or 0 if there is none */
int fast_next(struct fast *fast, struct seccomp_notif *ret);

/* quick_note() for its own */
void fast_note(struct fast *fast, const struct call *call);

/* When this returns, the policy before is in nobody's hands */
void fast_set_policy(struct fast *fast, const struct observer_policy *policy);

/* @makes: from now on calls that make a name go on without a word to us */
void fast_makes(struct fast *fast, bool makes);

/* How many it has answered */
uint64_t fast_answered(const struct fast *fast);

#endif /* WATCH_FAST_H */
