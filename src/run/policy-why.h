/* SPDX-License-Identifier: Apache-2.0 */
/* lib/why.h - may a command read, write or reach this, and who says so */

#ifndef LIB_WHY_H
#define LIB_WHY_H

#include <stdbool.h>

struct err;
struct origin;
struct policy;

enum why_op {
	WHY_READ, WHY_WRITE, WHY_HOST, WHY_SOCKET, WHY_PORT, WHY_VARIABLE, WHY_OPS,
};

/**
 * struct why - A verdict and its reason
 * @target:	As it was looked up: an absolute, real path, or host:port
 * @rule:	The rule that decided, as written; NULL if none did
 * @origin:	Where it comes from; of @rule
 * @reason:	Words; never NULL
 * @suggest:	The command that would allow it, or NULL
 *
 * Owned by the struct, but for what points into the policy.
 */
struct why {
	bool allowed;
	char *target;
	char *rule;
	struct origin *origin;
	char *reason;
	char *suggest;
};

/* "read", "write", "host", ...; -EINVAL if @name is none of them */
int why_op_parse(const char *name, enum why_op *ret);
const char *why_op_name(enum why_op op);

/* Ask @policy about @target, relative to its start directory. Links are
 * followed: what is denied at either end is denied. 0, or a negative errno
 * with words.
 */
int why_ask(struct policy *policy, enum why_op op, const char *target,
	    struct why *ret, struct err *err);
void why_done(struct why *why);

#endif /* LIB_WHY_H */
