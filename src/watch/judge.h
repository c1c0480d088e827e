/* SPDX-License-Identifier: Apache-2.0 */
/* watch/judge.h - from a call and where its paths lead to an answer */

#ifndef WATCH_JUDGE_H
#define WATCH_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/violation.h"
#include "watch/calls.h"
#include "watch/observer.h"

struct place;

/**
 * struct judge - Whose law
 */
struct judge {
	const struct observer_policy *policy;
	bool no_mounts, reads;
};

/**
 * struct attempt - A call, looked up
 * @what:	Never CALL_OPEN_HOW or CALL_CREAT: those are CALL_OPEN
 * @flags:	Of the call: O_*, AT_*, RENAME_*
 * @from:	Where it leads; for CALL_RENAME and CALL_LINK the old name
 * @to:		For those two the new name, else NULL
 * @link, @dir:	CALL_MAKE makes a symbolic link, a directory
 * @open:	What @from was the name of is open; CALL_LINK means that
 */
struct attempt {
	enum call_what what;
	uint64_t flags;
	const struct place *from, *to;
	bool link, dir, open;
};

/**
 * struct judgement - The answer
 * @error:	0: the call goes on; else the errno it fails with
 * @report:	It is a refusal of the policy; then also:
 * @kind, @place, @verdict: what was refused, where, and why
 * @place:	NULL if the policy was not asked: the call can only fail
 * @look:	See struct observer_verdict
 */
struct judgement {
	int error;
	bool report, look;
	enum violation_kind kind;
	const struct place *place;
	struct observer_verdict verdict;
};

/* What place_find() could not see of @place, the policy may know: @found is its
 * result, and what is returned instead
 */
int judge_found(const struct judge *judge, int found, struct place *place);

struct judgement judge(const struct judge *judge, const struct attempt *a);

#endif /* WATCH_JUDGE_H */
