/* SPDX-License-Identifier: Apache-2.0 */
/* policy/fuzz-rule.c - a rule, a newline, and a path or a command: what a rule
 * allows, the same rule would deny, and a path is covered with all below it
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "fuzz.h"
#include "policy/permission.h"
#include "policy/test-rule-path.h"

static const struct rule_bases bases = { "/r", "/w", "/h" };

static bool covers(const char *text, enum rule_action action, const char *path)
{
	struct path_rule p = { 0 };
	struct rule r;
	bool yes = false;

	if (rule_parse(text, action, &r, NULL) < 0)
		return false;
	if (r.kind == RULE_PATH && !rule_path_init(&p, &r, &bases, NULL)) {
		auto_free char *below = path_join(path, "x");

		yes = rule_path_match(&p, path);
		if (yes && !rule_path_match(&p, below))
			abort();
		if (yes && !path_is_within(p.path, path))
			abort();
		path_rule_done(&p);
	}
	rule_done(&r);
	return yes;
}

static enum rule_action decide(const char *text, enum rule_action action,
			       const char *command)
{
	struct permission *set = permission_new();
	struct permission_verdict v;
	struct rule rule;

	if (rule_parse(text, action, &rule, NULL) == 0)
		permission_add(set, &rule, (struct origin){ 0 });
	v = permission_decide_command(set, command,
			false);
	permission_verdict_done(&v);
	permission_free(set);
	return v.action;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *rest;
	auto_free char *text = fuzz_line(data, size, &rest);
	auto_free char *path = text ? path_resolve("/w", rest) : NULL;

	if (!path)
		return 0;
	if (covers(text, ACTION_ALLOW, path) && !covers(text, ACTION_DENY, path))
		abort();
	if (decide(text, ACTION_ALLOW, rest) == ACTION_ALLOW &&
	    decide(text, ACTION_DENY, rest) != ACTION_DENY)
		abort();
	return 0;
}
