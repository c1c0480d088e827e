/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/apply-rules.c - permission rules become a policy
 *
 * Theory of operation: an agent's rules speak of its tools. What a command may
 * do follows from three of them: Edit(path) opens and closes for writing,
 * Read(path) closes for reading, WebFetch(domain:host) opens and closes hosts.
 * A tool without a specifier says whether the agent may use it at all, which
 * is not the sandbox's business; nor is what must be asked about. All rules
 * go into the policy's rule set, for those who decide about a tool's use.
 */

#include "base/err.h"
#include "base/own.h"
#include "policy/apply.h"
#include "policy/document.h"
#include "policy/locks.h"
#include "policy/policy.h"
#include "policy/rule.h"
#include "policy/ruleset.h"
#include "policy/schema.h"

static struct rule_bases bases_of(const struct apply *apply,
				  const struct fact *fact)
{
	return (struct rule_bases){
		.root = fact->document->rules_base,
		.cwd = apply->policy->cwd,
		.home = apply->policy->home,
	};
}

static bool admit(const struct apply *apply, const struct fact *fact,
		  size_t index, const struct rule_path *path)
{
	struct refusal refusal;

	if (locks_admit_path(apply->locks, apply->reader,
			     fact->document->source->scope, path->path,
			     path->glob, &refusal))
		return true;
	apply_note_refusal(apply, fact, index, &refusal);
	return false;
}

static int add_path(const struct apply *apply, const struct fact *fact,
		    size_t index, const struct rule *rule, struct err *why)
{
	const bool deny = rule->action == ACTION_DENY;
	const enum path_list list = rule->tool == TOOL_READ ? PATH_DENY_READ :
		deny ? PATH_DENY_WRITE : PATH_ALLOW_WRITE;
	const struct rule_bases bases = bases_of(apply, fact);
	struct rule_path path;
	int r;

	/* What is readable is not opened by rules but by allowRead */
	if (rule->tool == TOOL_READ && !deny)
		return 0;
	r = rule_path_init(&path, rule, &bases, why);
	if (r < 0)
		return r;
	if (!deny && !admit(apply, fact, index, &path))
		;	/* Noted */
	else if (path.glob)
		policy_add_glob(apply->policy, list, rule->content,
				take_ptr(path.glob), RULE_USER,
				apply_origin(fact, index));
	else
		policy_add_literal(apply->policy, list, path.path, RULE_USER,
				   apply_origin(fact, index));
	rule_path_done(&path);
	return 0;
}

static int add_host(const struct apply *apply, const struct fact *fact,
		    size_t index, const struct rule *rule, struct err *why)
{
	const bool deny = rule->action == ACTION_DENY;
	struct refusal refusal;

	if (!deny && !locks_admit_host(apply->locks, fact, &refusal)) {
		apply_note_refusal(apply, fact, index, &refusal);
		return 0;
	}
	return policy_add_host(apply->policy, deny ? HOST_DENY : HOST_ALLOW,
			       rule->content, NULL, apply_origin(fact, index),
			       why);
}

/* What the sandbox takes from @rule */
static int apply_rule(const struct apply *apply, const struct fact *fact,
		      size_t index, const struct rule *rule, struct err *why)
{
	if (rule->inert)
		apply_note_refusal(apply, fact, index, &(struct refusal){
			.why = rule->inert,
		});
	if (rule->inert || rule->action == ACTION_ASK)
		return 0;
	if (rule->kind == RULE_PATH)
		return add_path(apply, fact, index, rule, why);
	if (rule->kind == RULE_DOMAIN)
		return add_host(apply, fact, index, rule, why);
	return 0;
}

static int apply_text(const struct apply *apply, const struct fact *fact,
		      size_t index, const char *text, struct err *why)
{
	static const enum rule_action actions[] = {
		[RULES_ALLOW] = ACTION_ALLOW,
		[RULES_DENY] = ACTION_DENY,
		[RULES_ASK] = ACTION_ASK,
	};
	const enum rule_action action = actions[fact->setting->slot];
	const struct rule_bases bases = bases_of(apply, fact);
	struct rule rule;
	int r;

	r = rule_parse(text, action, &rule, why);
	if (r < 0)
		return r;
	r = apply_rule(apply, fact, index, &rule, why);
	rule_done(&rule);
	if (r < 0)
		return r;
	return ruleset_add(apply->policy->ruleset, text, action, &bases,
			   apply_origin(fact, index), why);
}

int apply_rules(const struct apply *apply, const struct fact *fact)
{
	json_t *entry;
	size_t i;

	if (!json_is_array(fact->value))
		return apply_wrong_type(apply, fact);
	json_array_foreach(fact->value, i, entry) {
		const char *text = json_string_value(entry);
		struct err why = { 0 };
		int r = 0;

		if (!apply_admits(apply, fact, i, entry))
			continue;
		if (!text || !*text)
			r = apply_problem(apply, fact, i, "must be a rule");
		else if (apply_text(apply, fact, i, text, &why) < 0)
			r = apply_problem(apply, fact, i, "%s", why.msg);
		if (r < 0)
			return r;
	}
	return 0;
}
