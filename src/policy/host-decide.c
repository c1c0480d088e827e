/* SPDX-License-Identifier: Apache-2.0 */
/* policy/host-decide.c - decide whether a host is allowed, and by which rule */

#include "policy/host.h"

#include <string.h>

#include "policy/policy.h"

/* Under allowManagedDomainsOnly only managed rules allow. settings.c drops all
 * others already; this check does not rely on it.
 */
static bool counts(const struct policy *policy, const struct list_rule *rule)
{
	return !policy_flag(policy, FLAG_MANAGED_DOMAINS_ONLY, false) ||
	       (rule->origin.source &&
		rule->origin.source->scope == SCOPE_MANAGED);
}

/* The first rule for @host; the next one after @at, if that is not NULL */
static const struct list_rule *next_match(const struct policy *policy,
					  enum string_list list,
					  const struct host *host,
					  const struct list_rule *at)
{
	const struct list_rules *rules = &policy->lists[list];

	for (size_t i = at ? (size_t)(at - rules->v) + 1 : 0; i < rules->len;
	     i++) {
		if (list == HOST_ALLOW && !counts(policy, &rules->v[i]))
			continue;
		if (host_pattern_match(rules->v[i].pattern, host))
			return &rules->v[i];
	}
	return NULL;
}

static const struct list_rule *first_match(const struct policy *policy,
					   enum string_list list,
					   const struct host *host)
{
	return next_match(policy, list, host, NULL);
}

struct host_verdict host_decide(const struct policy *policy,
				const struct host *host, bool may_ask)
{
	struct host_verdict v = { .decision = HOST_DENIED };

	v.rule = first_match(policy, HOST_DENY, host);
	if (v.rule) {
		v.reason = v.rule->detail ? v.rule->detail
					  : "host is on the deny list";
		return v;
	}
	v.rule = first_match(policy, HOST_ALLOW, host);
	if (v.rule) {
		v.decision = HOST_ALLOWED;
		v.reason = "host is on the allow list";
		return v;
	}
	v.reason = "host is not on the allow list";
	if (may_ask && !policy_flag(policy, FLAG_STRICT_ALLOWLIST, false) &&
	    !policy_flag(policy, FLAG_MANAGED_DOMAINS_ONLY, false))
		v.decision = HOST_ASK;
	return v;
}

bool host_address_is_named(const struct policy *policy,
			   const struct host *host)
{
	/* No name pattern matches an address, and "*" can't be allowed */
	return host->kind != HOST_NAME &&
	       first_match(policy, HOST_ALLOW, host) != NULL;
}

bool host_port_is_named(const struct policy *policy, const struct host *host)
{
	const struct list_rule *rule = NULL;

	while ((rule = next_match(policy, HOST_ALLOW, host, rule)) != NULL) {
		if (host_pattern_port(rule->pattern))
			return true;
	}
	return false;
}

bool host_address_is_denied(const struct policy *policy,
			    const struct host *host)
{
	const struct list_rules *list = &policy->lists[LIST_DENIED_ADDRESSES];

	if (host->kind == HOST_NAME)
		return false;
	for (size_t i = 0; i < list->len; i++) {
		const char *text = list->v[i].text;
		struct host_range range;

		/* Readers refuse what is no range; one that got here denies */
		if (host_range_parse(text, strlen(text), &range) < 0 ||
		    host_range_has(&range, host))
			return true;
	}
	return first_match(policy, HOST_DENY, host) != NULL;
}
