/* SPDX-License-Identifier: Apache-2.0 */
/* run/policy-why.h - whether a command may read, write or reach something, and by which rule */

#ifndef RUN_POLICY_WHY_H
#define RUN_POLICY_WHY_H

#include <stdbool.h>

struct err;
struct origin;
struct policy;

enum policy_why_op {
	POLICY_WHY_READ, POLICY_WHY_WRITE, POLICY_WHY_HOST, POLICY_WHY_SOCKET,
	POLICY_WHY_PORT, POLICY_WHY_VARIABLE, POLICY_WHY_OPS,
};

/**
 * struct policy_why - A verdict and its reason
 * @op:		What it is about: a port where localhost was asked for, a socket for a path
 * @target:	As it was looked up: an absolute, real path, or host:port
 * @rule:	The rule that decided, as written; NULL if none did
 * @origin:	Where it comes from; of @rule
 * @reason:	For the user; never NULL
 * @suggest:	The command that would allow it, or NULL
 *
 * Owned by the struct, but for what points into the policy.
 */
struct policy_why {
	enum policy_why_op op;
	bool allowed;
	char *target;
	char *rule;
	struct origin *origin;
	char *reason;
	char *suggest;
};

/* "read", "write", "host", ...; -EINVAL for any other @name */
int policy_why_op_parse(const char *name, enum policy_why_op *ret);
const char *policy_why_op_name(enum policy_why_op op);

/* Ask @policy about @target, relative to its start directory. Links are
 * followed: what is denied at either end is denied. 0, or a negative errno
 * with a message.
 */
int policy_why_ask(struct policy *policy, enum policy_why_op op, const char *target,
	    struct policy_why *ret, struct err *err);
void policy_why_done(struct policy_why *why);

#define auto_why	__attribute__((cleanup(policy_why_done)))

#endif /* RUN_POLICY_WHY_H */
