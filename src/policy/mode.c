/* SPDX-License-Identifier: Apache-2.0 */
/* policy/mode.c - disabled, regular or auto-allow, and which setting decides it */

#include "policy/mode.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/policy.h"
#include "shell/command-pattern.h"

static const char *const names[MODE_COUNT] = {
	[MODE_DISABLED] = "disabled",
	[MODE_REGULAR] = "regular",
	[MODE_AUTO_ALLOW] = "auto-allow",
};

const char *mode_name(enum mode mode)
{
	return names[mode];
}

int mode_parse(const char *name, enum mode *ret)
{
	const int r = text_index(names, MODE_COUNT, name);

	if (r >= 0)
		*ret = (enum mode)r;
	return r < 0 ? r : 0;
}

static bool is_platform(const struct policy *policy)
{
	return !policy->lists[LIST_ENABLED_PLATFORMS].len ||
	       policy_has_string(policy, LIST_ENABLED_PLATFORMS, "linux");
}

enum mode mode_of(const struct policy *policy)
{
	if (!policy_flag(policy, FLAG_ENABLED, false) || !is_platform(policy))
		return MODE_DISABLED;
	return policy_flag(policy, FLAG_AUTO_ALLOW, false) ? MODE_AUTO_ALLOW
							   : MODE_REGULAR;
}

bool mode_is_off(const struct policy *policy, const struct origin **ret)
{
	if (!policy_flag(policy, FLAG_ENABLED, true)) {
		*ret = &policy->flags[FLAG_ENABLED].origin;
		return true;
	}
	if (!is_platform(policy)) {
		*ret = &policy->lists[LIST_ENABLED_PLATFORMS].v[0].origin;
		return true;
	}
	return false;
}

bool mode_is_own(const struct origin *origin)
{
	static const char theirs[] = "sandbox.";

	return origin->key &&
	       strncmp(origin->key, theirs, strlen(theirs)) != 0;
}

bool mode_is_off_for_hooks(const struct policy *policy,
			   const struct origin **ret)
{
	return policy_flag(policy, FLAG_ALLOW_UNSANDBOXED, true) &&
	       mode_is_off(policy, ret) && mode_is_own(*ret);
}

const struct origin *mode_lock(const struct policy *policy)
{
	static const enum policy_flag deciding[] = {
		FLAG_ENABLED, FLAG_AUTO_ALLOW, FLAG_ALLOW_UNSANDBOXED,
	};

	for (size_t i = 0; i < ARRAY_SIZE(deciding); i++) {
		const struct flag *flag = &policy->flags[deciding[i]];

		if (flag->set && flag->origin.source->scope >= SCOPE_FLAG)
			return &flag->origin;
	}
	return NULL;
}

bool mode_excludes(const struct policy *policy, const char *command,
		   char **why)
{
	const struct list_rules *rules =
		&policy->lists[LIST_EXCLUDED_COMMANDS];
	auto_free const char **patterns = NULL;

	if (!policy_flag(policy, FLAG_ALLOW_UNSANDBOXED, true)) {
		if (why)
			*why = mem_strdup("allowUnsandboxedCommands is false");
		return false;
	}
	if (!rules->len) {
		if (why)
			*why = mem_strdup("excludedCommands is empty");
		return false;
	}
	patterns = mem_zalloc(rules->len * sizeof(*patterns));
	for (size_t i = 0; i < rules->len; i++)
		patterns[i] = rules->v[i].text;
	return excluded_match(command, patterns, rules->len, why);
}
