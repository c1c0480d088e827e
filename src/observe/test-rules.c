/* SPDX-License-Identifier: Apache-2.0 */
/* observe/test-rules.c - rules that a test decides by; linked instead of observer-policy.c */

#include "observe/test-rules.h"

#include "report/violation.h"

void observer_rules_verdict(struct observer_rules *rules, enum observer_op op,
			    const char *path, struct observer_verdict *ret)
{
	*ret = (struct observer_verdict){ .answer = OBSERVER_ALLOWED };
	if (rules->verdict)
		rules->verdict(op, path, ret);
}

void observer_rules_check_move(struct observer_rules *rules, const char *what,
			       const char *path, struct observer_verdict *ret)
{
	(void)rules, (void)what, (void)path;
	*ret = (struct observer_verdict){ .answer = OBSERVER_ALLOWED };
}

bool observer_rules_has_patterns(const struct observer_rules *rules)
{
	(void)rules;
	return false;
}

bool observer_rules_is_fast(const struct observer_rules *rules, const char *path)
{
	return rules->is_fast && rules->is_fast(path);
}

bool observer_rules_needs_emulation(const struct observer_rules *rules,
				    const char *path, bool read_only)
{
	(void)rules, (void)path, (void)read_only;
	return false;
}

bool observer_rules_replace(struct observer_rules *rules, const char *from,
			    const char *to)
{
	(void)rules, (void)from, (void)to;
	return false;
}

bool observer_rules_link(const struct observer_rules *rules, const char *target,
			 const char *path)
{
	(void)rules, (void)target, (void)path;
	return false;
}

void observer_rules_made(struct observer_rules *rules, const char *path, int fd)
{
	(void)rules, (void)path, (void)fd;
}

bool observer_rules_is_fixed(const struct observer_rules *rules, const char *path)
{
	(void)rules, (void)path;
	return false;
}

enum fuse_mask_part observer_rules_mask(const struct observer_rules *rules,
					const char *path)
{
	(void)rules, (void)path;
	return FUSE_MASK_NO_PART;
}

void observer_rules_describe_call(int nr, struct violation *ret)
{
	(void)nr, (void)ret;
}

void observer_rules_allow_once(struct observer_rules *rules, const char *path)
{
	(void)rules, (void)path;
}

bool observer_rules_is_ours(const struct observer_rules *rules, const char *path)
{
	(void)rules;
	(void)path;
	return false;
}

bool observer_rules_is_foreign(const struct observer_rules *rules, const char *path)
{
	(void)rules, (void)path;
	return false;
}
