/* SPDX-License-Identifier: Apache-2.0 */
/* cli/policy-change.c - cloche policy mode, exclude, allow and deny */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/policy.h"
#include "lib/change.h"
#include "lib/options.h"
#include "lib/session.h"
#include "lib/why.h"
#include "policy/mode.h"
#include "policy/policy.h"
#include "policy/settings.h"

/* Editing local settings that do not count would look like a success. True,
 * and said so, if somebody stronger decides.
 */
static bool is_locked(const struct policy *policy)
{
	const struct origin *lock = mode_lock(policy);
	auto_buf struct buf by = { 0 };

	if (!lock)
		return false;
	origin_describe(lock, &by);
	cli_say(stderr, "cloche: not changed: %s settings decide this (%s)",
		scope_name(lock->source->scope), buf_str(&by));
	return true;
}

static int show_mode(const struct policy_call *call,
		     const struct policy *policy)
{
	const struct flag *flag = &policy->flags[FLAG_ENABLED];
	const struct origin *lock = mode_lock(policy);
	const struct origin *by = flag->set ? &flag->origin : NULL;
	const struct origin *off = NULL;
	auto_buf struct buf from = { 0 };

	(void)mode_is_off(policy, &off);
	by = off ? off : by;
	if (call->json) {
		policy_print_json(json_pack("{s:i, s:s, s:b, s:o, s:o}",
			"version", 1, "mode", mode_name(mode_of(policy)),
			"locked", lock != NULL,
			"lock", lock ? policy_origin_json(lock) : json_null(),
			"origin", by ? policy_origin_json(by) : json_null()));
		return 0;
	}
	puts(mode_name(mode_of(policy)));
	if (off && off != &flag->origin) {
		origin_describe(off, &from);
		cli_say(stderr, "cloche: disabled on this platform (%s)",
			buf_str(&from));
	}
	return 0;
}

int policy_mode(const struct policy_call *call, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	auto_free char *file = NULL;
	struct settings_request req;
	enum mode mode;
	int r;

	if (call->count > 1)
		return -EINVAL;
	r = session_policy(call->options, &policy, err);
	if (r < 0)
		return r;
	if (!call->count)
		return show_mode(call, policy);
	if (mode_parse(call->words[0], &mode) < 0)
		return fail(err, -EINVAL,
			    "'%s' is not one of disabled, regular, auto-allow",
			    call->words[0]);
	if (is_locked(policy))
		return 1;
	settings_request_init(&req, policy->cwd);
	r = change_mode(&req, mode, &file, err);
	settings_request_done(&req);
	if (r == 0)
		cli_say(stdout, "%s: %s", file, mode_name(mode));
	return r;
}

/* One pair of quotes around the whole pattern came from a habit */
static char *without_quotes(const char *text)
{
	const size_t n = strlen(text);

	if (n >= 2 && (*text == '"' || *text == '\'') && text[n - 1] == *text)
		return mem_strndup(text + 1, n - 2);
	return mem_strdup(text);
}

static int change(const struct policy *policy, enum scope scope,
		  const char *path, const char *value, struct err *err)
{
	auto_free char *file = NULL;
	struct settings_request req;
	int r;

	settings_request_init(&req, policy->cwd);
	r = change_append(&req, scope, path, value, &file, err);
	settings_request_done(&req);
	if (r < 0)
		return r;
	cli_say(stdout, "%s: %s %s %s", file, path, r ? "+=" : "has", value);
	return 0;
}

int policy_exclude(const struct policy_call *call, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	auto_free char *pattern = NULL;
	int r;

	if (call->count != 1)
		return -EINVAL;
	pattern = without_quotes(call->words[0]);
	if (!*pattern)
		return fail(err, -EINVAL, "the command is empty");
	r = session_policy(call->options, &policy, err);
	if (r < 0)
		return r;
	if (is_locked(policy))
		return 1;
	return change(policy, call->scope, "sandbox.excludedCommands",
		      pattern, err);
}

static const struct {
	const char *name;
	const char *path[2];	/* Deny, allow */
	enum why_op op;
} lists[] = {
	{ "read", { "sandbox.filesystem.denyRead",
		    "sandbox.filesystem.allowRead" }, WHY_READ },
	{ "write", { "sandbox.filesystem.denyWrite",
		     "sandbox.filesystem.allowWrite" }, WHY_WRITE },
	{ "domain", { "sandbox.network.deniedDomains",
		      "sandbox.network.allowedDomains" }, WHY_CONNECT },
};

/* Say so where the edit does not bring what was asked for. A pattern has no
 * verdict of its own.
 */
static void tell_outcome(const struct policy_call *call, enum why_op op,
			 const char *value, bool allow)
{
	auto_policy struct policy *policy = NULL;
	auto_buf struct buf by = { 0 };
	struct why why;

	if (strpbrk(value, "*?[") ||
	    session_policy(call->options, &policy, NULL) < 0 ||
	    why_ask(policy, op, value, &why, NULL) < 0)
		return;
	if (why.allowed != allow) {
		if (why.origin)
			origin_describe(why.origin, &by);
		else
			buf_adds(&by, why.reason);
		cli_say(stderr, "cloche: still %s: %s",
			why.allowed ? "allowed" : "denied", buf_str(&by));
	}
	why_done(&why);
}

/* True if a relative path in that file starts elsewhere, or would as soon as
 * somebody starts elsewhere: the file is not this directory's
 */
static bool is_elsewhere(const struct policy *policy, enum scope scope)
{
	struct settings_request req;
	auto_free char *file = NULL, *claude = NULL, *dir = NULL;

	settings_request_init(&req, policy->cwd);
	file = settings_file_for(&req, scope);
	settings_request_done(&req);
	if (scope != SCOPE_LOCAL || !file)
		return true;
	claude = path_parent(file);
	dir = path_parent(claude);
	return strcmp(dir, policy->cwd) != 0;
}

static int allow_or_deny(const struct policy_call *call, bool allow,
			 struct err *err)
{
	auto_policy struct policy *policy = NULL;
	auto_free char *absolute = NULL;
	const char *value;
	size_t i = 0;
	int r;

	while (call->count == 2 && i < ARRAY_SIZE(lists) &&
	       strcmp(lists[i].name, call->words[0]) != 0)
		i++;
	if (call->count != 2 || i == ARRAY_SIZE(lists))
		return -EINVAL;
	value = call->words[1];
	if (!*value)
		return fail(err, -EINVAL, "the %s is empty",
			    lists[i].op == WHY_CONNECT ? "domain" : "path");
	r = session_policy(call->options, &policy, err);
	if (r < 0)
		return r;
	if (lists[i].op != WHY_CONNECT && *value != '/' && *value != '~' &&
	    is_elsewhere(policy, call->scope))
		value = absolute = path_resolve(policy->cwd, value);
	r = change(policy, call->scope, lists[i].path[allow], value, err);
	if (r == 0)
		tell_outcome(call, lists[i].op, value, allow);
	return r;
}

int policy_allow(const struct policy_call *call, struct err *err)
{
	return allow_or_deny(call, true, err);
}

int policy_deny(const struct policy_call *call, struct err *err)
{
	return allow_or_deny(call, false, err);
}
