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

/* Whether the variable of the @n byte name @name passes with the value it has
 * outside. Order: LIST_ENV_DENY, LIST_ENV_SET (--env), the rows that never
 * pass, --pass-env, the rows that do. Profile srt passes everything but
 * LIST_ENV_DENY, as srt does.
 */
struct env_verdict env_decide(const struct policy *policy, const char *name,
			      size_t n);

#endif /* POLICY_ENV_H */
