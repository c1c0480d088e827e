/* SPDX-License-Identifier: Apache-2.0 */
/* policy/permission.h - apply an agent's permission rules to a shell command
 *
 * Deny first, then ask, then allow, over the rules of all scopes: the first
 * class with a match decides, and how specific a rule is does not matter.
 */

#ifndef POLICY_PERMISSION_H
#define POLICY_PERMISSION_H

#include "policy/origin.h"
#include "shell/rule.h"

struct permission;

/**
 * struct permission_verdict - The answer
 * @action:	ACTION_COUNT if no rule matches
 * @rule:	The rule that decided, or NULL. ACTION_ASK without a rule is a command
 *		that could not be parsed while there are rules that it could match.
 * @origin:	Who wrote @rule, or NULL
 * @why:	A text for the user, never NULL; owned by the caller
 */
struct permission_verdict {
	enum rule_action action;
	const struct rule *rule;
	const struct origin *origin;
	char *why;
};

void permission_verdict_done(struct permission_verdict *verdict);

struct permission *permission_new(void);
void permission_free(struct permission *set);

/* Add a rule, whose parts are taken over */
void permission_add(struct permission *set, struct rule *rule,
		    struct origin origin);

/* May this shell line be run? To be allowed, each of its commands must be; one
 * that is denied or asked about is enough for that. With @no_broad_ask rules to
 * ask about every command ("Bash") are ignored: they are for commands outside the
 * sandbox.
 */
struct permission_verdict permission_decide_command(const struct permission *set,
					      const char *command,
					      bool no_broad_ask);

/* The verdict of rules on a field of a Bash call, "Bash(run_in_background:true)":
 * denied, asked about, or ACTION_COUNT. @value is the field's text.
 */
struct permission_verdict permission_decide_input(const struct permission *set,
					    const char *field,
					    const char *value);

#endif /* POLICY_PERMISSION_H */
