/* SPDX-License-Identifier: Apache-2.0 */
/* policy/ruleset.h - what an agent's rules say about a shell command
 *
 * Deny first, then ask, then allow, over the rules of all scopes: the first
 * class with a match decides, and how specific a rule is does not matter.
 */

#ifndef POLICY_RULESET_H
#define POLICY_RULESET_H

#include "policy/origin.h"
#include "policy/rule.h"

struct err;
struct ruleset;

/**
 * struct ruleset_verdict - The answer
 * @action:	ACTION_COUNT if no rule speaks about it
 * @rule:	The rule that decided; NULL if none did. ACTION_ASK without a
 *		rule is a command that could not be read, while there are rules
 *		that it might have had to obey.
 * @origin:	Who wrote @rule, or NULL
 * @why:	Words, never NULL; owned by the caller
 */
struct ruleset_verdict {
	enum rule_action action;
	const struct rule *rule;
	const struct origin *origin;
	char *why;
};

void ruleset_verdict_done(struct ruleset_verdict *verdict);

struct ruleset *ruleset_new(void);
void ruleset_free(struct ruleset *set);

/* Add a rule. Takes over @origin's key, also on failure. 0, or -EINVAL with
 * words; nothing was added then.
 */
int ruleset_add(struct ruleset *set, const char *text, enum rule_action action,
		const struct rule_bases *bases, struct origin origin,
		struct err *err);

/* May this shell line be run? To be allowed, each of its commands must be; one
 * that is denied or asked about is enough for that. With @no_broad_ask rules to
 * ask about every command ("Bash") do not count: the sandbox stands for the user's
 * consent, and such a rule is meant for commands outside.
 */
struct ruleset_verdict ruleset_decide_command(const struct ruleset *set,
					      const char *command,
					      bool no_broad_ask);

/* What rules on a field of a Bash call say, "Bash(run_in_background:true)":
 * denied, asked about, or ACTION_COUNT. @value is the field's text.
 */
struct ruleset_verdict ruleset_decide_input(const struct ruleset *set,
					    const char *field,
					    const char *value);

#endif /* POLICY_RULESET_H */
