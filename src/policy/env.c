/* SPDX-License-Identifier: Apache-2.0 */
/* policy/env.c - which variables of the environment a command may see */

#include "policy/env.h"

#include <string.h>

#include "base/own.h"
#include "policy/policy.h"

struct row {
	bool pass;
	const char *pattern, *reason;
	size_t len;
};

static const struct row rows[] = {
#define NEVER(pattern, reason) { false, pattern, reason, sizeof(pattern) - 1 },
#define PASS(pattern, reason) { true, pattern, reason, sizeof(pattern) - 1 },
#include "policy/env.def"
#undef NEVER
#undef PASS
};

/* The tables have a star at the start or at the end, never inside */
static bool matches(const struct row *row, const char *name, size_t n)
{
	const char *pattern = row->pattern;
	const size_t len = row->len;

	if (*pattern != *name && *pattern != '*')
		return false;	/* Nearly all of them */
	if (len > 1 && pattern[len - 1] == '*')
		return n >= len - 1 && !memcmp(pattern, name, len - 1);
	if (len > 1 && *pattern == '*')
		return n >= len - 1 &&
		       !memcmp(pattern + 1, name + n - (len - 1), len - 1);
	return n == len && !memcmp(pattern, name, n);
}

static const struct row *find(bool pass, const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].pass == pass && matches(&rows[i], name, n))
			return &rows[i];
	}
	return NULL;
}

static bool is_listed(const struct policy *policy, enum string_list list,
		      const char *name, size_t n)
{
	const struct string_rules *rules = &policy->lists[list];

	for (size_t i = 0; i < rules->len; i++) {
		const char *text = rules->v[i].text;

		if (strcspn(text, "=") == n && !memcmp(text, name, n))
			return true;
	}
	return false;
}

struct env_verdict env_decide(const struct policy *policy, const char *name,
			      size_t n)
{
	const struct row *row;

	if (is_listed(policy, LIST_ENV_DENY, name, n))
		return (struct env_verdict){
			false, NULL, "a credential by the settings",
		};
	if (is_listed(policy, LIST_ENV_SET, name, n))
		return (struct env_verdict){ true, NULL, "named by --env" };
	if (policy->profile == PROFILE_SRT)
		return (struct env_verdict){
			true, NULL, "profile srt passes everything",
		};

	row = find(false, name, n);
	if (!row && policy_flag(policy, FLAG_PASS_ENV, false))
		return (struct env_verdict){ true, NULL, "--pass-env" };
	if (!row)
		row = find(true, name, n);
	if (!row)
		return (struct env_verdict){
			false, NULL, "not on the list of variables to pass",
		};
	return (struct env_verdict){ row->pass, row->pattern, row->reason };
}
