/* SPDX-License-Identifier: Apache-2.0 */
/* policy/env.h - which variables of the environment a command may see */

#ifndef POLICY_ENV_H
#define POLICY_ENV_H

#include <stdbool.h>
#include <stddef.h>

struct policy;

/**
 * struct env_verdict - Whether a variable goes in, and why
 * @pass:	It goes in
 * @pattern:	The row that decided, or NULL
 * @reason:	Words; never NULL
 */
struct env_verdict {
	bool pass;
	const char *pattern;
	const char *reason;
};

/* About the @n byte variable name @name. LIST_ENV_SET (--env) goes first, then
 * the rows that never pass, then --pass-env, then the rows that do. Profile
 * srt passes everything, as srt does.
 */
struct env_verdict env_decide(const struct policy *policy, const char *name,
			      size_t n);

#endif /* POLICY_ENV_H */
