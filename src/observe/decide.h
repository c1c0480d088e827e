/* SPDX-License-Identifier: Apache-2.0 */
/* observe/decide.h - decide about a call whose paths are resolved, and report it */

#ifndef OBSERVE_DECIDE_H
#define OBSERVE_DECIDE_H

#include <stdbool.h>

#include "observe/notification.h"
#include "observe/observer-config.h"
#include "report/violation.h"

struct resolved_path;

enum decision_answer {
	DECISION_ERROR,		/* @error; 0: the call goes on */
	DECISION_DONE,		/* The observer made it: @error is its result */
	DECISION_FD,		/* The observer made it: @fd is what it opened */
	DECISION_PENDING,	/* A connect() that is answered later (sockets.c) */
};

/**
 * struct decision - The answer to a call
 * @error:	See above; a positive errno
 * @fd:		The caller's to close
 * @report:	The policy refuses it; then also:
 * @kind, @path, @verdict: what was refused, where, and why
 * @path:	NULL if the policy was not consulted: the call can only fail
 * @scan:	See struct observer_verdict
 */
struct decision {
	enum decision_answer answer;
	int error, fd;
	bool report, scan;
	enum violation_kind kind;
	const struct resolved_path *path;
	struct observer_verdict verdict;
};

/* Complete what resolved_path_find() left in @path with the masks and mount points of the
 * plan. @found is its result; returns the result to use instead.
 */
int decide_found(const struct observer_config *config, int found,
		 struct resolved_path *path);

/* Decide about @q, whose paths are resolved */
struct decision decide_call(const struct observer_config *config,
			    const struct notification *q);

/* Report that @g refuses the call in @q, with what would allow it. @name is the path
 * argument that @g->path was resolved from.
 */
void decide_report(const struct observer_config *config, const struct notification *q,
		   const struct name *name, const struct decision *g);

/* The path of the rule that would let the call in @q succeed, which @g refuses because no
 * rule mentions it; NULL if there is none. The caller frees.
 */
char *decide_grant(const struct observer_config *config, const struct notification *q,
		   const struct decision *g);

/* Send @g, unless it is DECISION_PENDING: 0, also if the call does not wait any more,
 * or a negative errno
 */
int decide_send(const struct observer_config *config, const struct notification *q,
		struct decision *g);

#endif /* OBSERVE_DECIDE_H */
