/* SPDX-License-Identifier: Apache-2.0 */
/* observe/observer.h - the supervisor's end of the seccomp listener
 *
 * The kernel notifies the observer of calls that may change a file. It resolves the
 * path and answers with an error, or lets the call go on. A call that goes on meets the
 * mounts and Landlock as without an observer. A path that cannot be read or resolved is
 * refused.
 */

#ifndef OBSERVE_OBSERVER_H
#define OBSERVE_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/observer-config.h"

struct observer;

enum { OBSERVER_WAITING_MAX = 64 };	/* Calls that wait for a person's answer */

/* The user's answer about a path that no rule mentions */
enum observer_consent {
	CONSENT_REFUSED,
	CONSENT_INTERRUPTED,	/* No answer: the calls fail with EINTR */
	CONSENT_ONCE,	/* For the call that waits longest */
	CONSENT_RULES,	/* The rules allow it by now */
};

/**
 * struct observer_stats - Notifications so far
 * @passed:	Calls that can make a name and were let through
 * @makes:	There were such calls, or one was made on behalf of the command
 * @names:	New names that were refused: a tracee that tries one may also have
 *		won a race for one. Also calls that were let through after which the
 *		scan at the end is needed.
 * @unseen:	Calls that went on although where their path leads is not known
 *		(see goes_on() in observer.c): if there are any, the scan at the end
 *		looks at every name
 */
struct observer_stats {
	uint64_t asked, quick, refused, failed, names, unseen, passed;
	bool makes;
};

struct observer *observer_new(const struct observer_config *config);
void observer_free(struct observer *observer);

/* For the loop: wait for EPOLLIN and call observer_dispatch() */
int observer_fd(const struct observer *observer);

/* Answer one notification; @events is what epoll reported. 0; 1 when no tracee is
 * left; or a negative errno when the listener is broken (then every notified call fails
 * with ENOSYS).
 */
int observer_dispatch(struct observer *observer, uint32_t events);

/* Swap the rules (a live edit) */
void observer_set_rules(struct observer *observer, struct observer_rules *rules);

/* Decide again about the calls that wait for an answer about @grant (@ask of struct
 * observer_config)
 */
void observer_resume(struct observer *observer, const char *grant,
		     enum observer_consent consent);

struct observer_stats observer_stats(const struct observer *observer);

/* True if all calls that were let through and can make a name are over
 * (observe/inflight-calls.h): *@ret is how many that were, and @on_make is called before the
 * next one goes on.
 */
bool observer_settled(struct observer *observer, uint64_t *ret);

#endif /* OBSERVE_OBSERVER_H */
