/* SPDX-License-Identifier: Apache-2.0 */
/* policy/env-rules.h - which variables of the environment a command may see */

#ifndef POLICY_ENV_RULES_H
#define POLICY_ENV_RULES_H

#include <stdbool.h>
#include <stddef.h>

struct policy;

/**
 * struct env_verdict - Whether a variable goes in, and why
 * @pass:	It goes in
 * @secret:	It stays outside because it looks like a secret
 * @replaced:	It stays outside, and the command has a value of its own: a placeholder
 * @reason:	For the user; never NULL
 */
struct env_verdict {
	bool pass, secret, replaced;
	const char *reason;
};

/* True if the @n bytes of @name can name a variable */
bool env_is_name(const char *name, size_t n);

/* Whether the variable "NAME=VALUE" in @entry, with a name of @n bytes, passes
 * as it is outside. Order: LIST_ENV_DENY, LIST_ENV_SET (--env), then the table:
 * names, and values unless --pass-env is given. Profile srt passes everything but
 * LIST_ENV_DENY, as srt does.
 */
struct env_verdict env_decide(const struct policy *policy, const char *entry,
			      size_t n);

/* True if the @n bytes of @name have a word of a secret's name; some words do not count
 * where @value is a number
 */
bool env_is_secret_name(const char *name, size_t n, const char *value);

/* True if @value, or a part of it, has the shape of a token, a key or an address with
 * a password
 */
bool env_is_secret_value(const char *value);

#endif /* POLICY_ENV_RULES_H */
