/* SPDX-License-Identifier: Apache-2.0 */
/* lib/bare.c - when and how a command runs without a sandbox */

#include "lib/bare.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/channel.h"
#include "lib/hooks.h"
#include "lib/options.h"
#include "plan/exit.h"
#include "policy/mode.h"
#include "policy/policy.h"

static char *with_origin(const char *words, const struct origin *origin)
{
	struct buf b = { 0 };

	buf_addf(&b, "%s (", words);
	origin_describe(origin, &b);
	buf_addc(&b, ')');
	return buf_take(&b);
}

/* The line that excludedCommands are matched against */
static char *command_line(const struct options *options, char *const *argv)
{
	const char *string = options_get(options, OPTION_COMMAND);
	struct buf b = { 0 };

	if (string)
		return mem_strdup(string);
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			buf_addc(&b, ' ');
		text_shell_quote(&b, argv[i]);
	}
	return buf_take(&b);
}

static int check_allowed(const struct policy *policy, struct err *err)
{
	const struct flag *flag = &policy->flags[FLAG_ALLOW_UNSANDBOXED];
	auto_buf struct buf by = { 0 };

	if (!flag->set || flag->value)
		return 0;
	origin_describe(&flag->origin, &by);
	return fail(err, -EPERM, "--allow-unsandboxed is forbidden (%s)",
		    buf_str(&by));
}

int bare_decide(const struct policy *policy, const struct options *options,
		char *const *argv, char **ret_why, struct err *err)
{
	const bool asked = options_has(options, OPTION_ALLOW_UNSANDBOXED);
	auto_free char *line = NULL;
	const struct origin *off;
	int r;

	*ret_why = NULL;
	if (mode_is_off(policy, &off))
		*ret_why = with_origin(asked ?
			"the settings switch it off" :
			"the settings switch the sandbox off, and it is used nevertheless; --allow-unsandboxed obeys them",
			off);
	r = asked ? check_allowed(policy, err) : 0;
	if (r < 0) {
		free(*ret_why);
		*ret_why = NULL;
		return r;
	}
	if (*ret_why || !policy->lists[LIST_EXCLUDED_COMMANDS].len)
		return asked && *ret_why;
	line = command_line(options, argv);
	if (!mode_excludes(policy, line, NULL))
		return 0;
	*ret_why = mem_strdup(asked ? "the command is one of excludedCommands" :
		"the command is one of excludedCommands, and the sandbox is used nevertheless; --allow-unsandboxed obeys them");
	return asked;
}

int bare_instead(const struct policy *policy, const struct options *options,
		 const struct err *err)
{
	return err->code != -EINVAL &&
	       options_has(options, OPTION_ALLOW_UNSANDBOXED) &&
	       !policy_flag(policy, FLAG_FAIL_IF_UNAVAILABLE, false) &&
	       policy_flag(policy, FLAG_ALLOW_UNSANDBOXED, true);
}

int bare_exec(const struct policy *policy, const struct options *options,
	      char *const *argv, const char *why, struct err *err)
{
	auto_buf struct buf safe = { 0 };
	bool missing;

	text_escape(&safe, why);
	hooks_say(options, "warning: running WITHOUT a sandbox: %s",
		  buf_str(&safe));
	if (hooks_channel(options))
		channel_bare(hooks_channel(options));
	if (chdir(policy->cwd) < 0)
		return fail_errno(err, "cannot enter '%s'", policy->cwd);
	environ = (char **)(uintptr_t)options_env(options);
	execvp(argv[0], argv);
	missing = errno == ENOENT;
	hooks_say(options, "%s: %s", argv[0], strerror(errno));
	return missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}
