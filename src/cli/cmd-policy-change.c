/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-policy-change.c - cloche policy mode, exclude, allow, deny and remove */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "policy/mode.h"
#include "policy/policy.h"
#include "policy/protected-names.h"
#include "run/approval.h"
#include "run/decision.h"
#include "run/policy-why.h"
#include "run/settings-edit.h"

/* Editing local settings that do not count would look like a success. True, with a
 * message, if settings of a stronger scope decide.
 */
static bool is_locked(const struct policy *policy)
{
	const struct origin *lock = mode_lock(policy);
	auto_buf struct buf by = { 0 };

	if (!lock)
		return false;
	origin_describe(lock, &by);
	terminal_line(stderr, "cloche: not changed: %s settings decide this (%s)",
		scope_name(lock->source->scope), buf_str(&by));
	return true;
}

/* The file to change: *@ret is SCOPE_BUILTIN without --scope */
static int read_scope(const struct call *call, enum scope *ret, struct err *err)
{
	const char *name = call_flag(call, "scope");

	if (!name)
		*ret = SCOPE_BUILTIN;
	else if (!strcmp(name, "user"))
		*ret = SCOPE_USER;
	else if (!strcmp(name, "project"))
		*ret = SCOPE_PROJECT;
	else if (!strcmp(name, "claude") || !strcmp(name, "local"))
		*ret = SCOPE_LOCAL;
	else
		return fail(err, -EINVAL, "--scope: '%s' is not one of user, project, claude",
			    name);
	return 0;
}

/* What was written just now, the user wants; not what a command of a sandbox may have
 * written into the same file meanwhile
 */
static int approve(struct call *call,
		   const struct settings_report *before, const char *value,
		   struct err *err)
{
	auto_report struct settings_report after = { 0 };
	auto_policy struct policy *policy = NULL;
	const int r = decision_policy_report(&call->options, true, &policy,
					    &after, err);

	return r < 0 ? r : approvals_keep_new(before, &after, policy, value,
						  err);
}

/* Set @flags in the file of @scope, and approve @value, which one of them may ask for */
static int set_flags(struct call *call, const char *cwd, enum scope scope,
		     const struct settings_edit_flag *flags, size_t n,
		     const char *value, char **ret_file, struct err *err)
{
	auto_report struct settings_report before = { 0 };
	auto_policy struct policy *unused = NULL;
	int r = decision_policy_report(&call->options, true, &unused, &before, err);

	if (r == 0)
		r = settings_edit_flags(cwd, scope, flags, n, ret_file, err);
	return r < 0 ? r : approve(call, &before, value, err);
}

static int show_mode(struct call *call,
		     const struct policy *policy)
{
	const struct flag *flag = &policy->flags[FLAG_ENABLED];
	const struct origin *lock = mode_lock(policy);
	const struct origin *by = flag->set ? &flag->origin : NULL;
	const struct origin *off = NULL;
	auto_buf struct buf from = { 0 };

	(void)mode_is_off(policy, &off);
	by = off ? off : by;
	if (call_flag(call, "json")) {
		print_json(json_pack("{s:i, s:s, s:b, s:o, s:o}",
			"version", 1, "mode", mode_name(mode_of(policy)),
			"locked", lock != NULL,
			"lock", lock ? policy_origin_json(lock) : json_null(),
			"origin", by ? policy_origin_json(by) : json_null()),
			JSON_COMPACT);
		return 0;
	}
	puts(mode_name(mode_of(policy)));
	if (off && off != &flag->origin) {
		origin_describe(off, &from);
		terminal_line(stderr, "cloche: disabled on this platform (%s)",
			buf_str(&from));
	}
	return 0;
}

int cmd_policy_mode(struct call *call, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	auto_free char *file = NULL;
	enum scope scope;
	enum mode mode;
	int r;

	r = read_scope(call, &scope, err);
	if (r == 0)
		r = decision_policy_report(&call->options, false, &policy, NULL, err);
	if (r < 0)
		return r;
	if (!call->count)
		return show_mode(call, policy);
	if (mode_parse(call->args[0], &mode) < 0)
		return fail(err, -EINVAL,
			    "'%s' is not one of disabled, regular, auto-allow",
			    call->args[0]);
	if (is_locked(policy))
		return 1;
	if (mode == MODE_DISABLED && scope != SCOPE_USER)
		return fail(err, -EPERM, "a repository's file cannot switch the sandbox off; --scope user does it for all projects");
	if (!scope)
		scope = policy_has_project(policy) ? SCOPE_PROJECT : SCOPE_USER;
	/* What a disabled sandbox would do when enabled again stays */
	r = set_flags(call, policy->cwd, scope, (struct settings_edit_flag[]){
		{ "sandbox.enabled", mode != MODE_DISABLED },
		{ "sandbox.autoAllowBashIfSandboxed", mode == MODE_AUTO_ALLOW },
	}, mode == MODE_DISABLED ? 1 : 2, "autoAllowBashIfSandboxed=true", &file, err);
	if (r == 0)
		terminal_line(stdout, "%s: %s", file, mode_name(mode));
	return r;
}

static int show_unsandboxed(struct call *call, const struct policy *policy)
{
	const struct flag *flag = &policy->flags[FLAG_ALLOW_UNSANDBOXED];
	const bool allowed = policy_flag(policy, FLAG_ALLOW_UNSANDBOXED, true);

	if (call_flag(call, "json"))
		print_json(json_pack("{s:i, s:b, s:o}", "version", 1, "allowed", allowed,
				     "origin", flag->set ?
				     policy_origin_json(&flag->origin) : json_null()),
			   JSON_COMPACT);
	else
		puts(allowed ? "allow" : "deny");
	return 0;
}

/* Whether excluded commands, and --allow-unsandboxed, may run without a sandbox */
int cmd_policy_unsandboxed(struct call *call, struct err *err)
{
	auto_policy struct policy *policy = NULL, *after = NULL;
	auto_free char *file = NULL;
	enum scope scope;
	bool allow;
	int r;

	r = read_scope(call, &scope, err);
	if (r == 0)
		r = decision_policy(&call->options, &policy, err);
	if (r < 0)
		return r;
	if (!call->count)
		return show_unsandboxed(call, policy);
	allow = !strcmp(call->args[0], "allow");
	if (!allow && strcmp(call->args[0], "deny") != 0)
		return fail(err, -EINVAL, "'%s' is not one of allow, deny",
			    call->args[0]);
	if (is_locked(policy))
		return 1;
	if (allow && scope == SCOPE_PROJECT)
		return fail(err, -EPERM, "a repository's file cannot allow commands without the sandbox; --scope user does it for all projects");
	r = settings_edit_flags(policy->cwd, scope ? scope : SCOPE_USER,
				(struct settings_edit_flag[]){
		{ "sandbox.allowUnsandboxedCommands", allow },
	}, 1, &file, err);
	if (r < 0)
		return r;
	terminal_line(stdout, "%s: allowUnsandboxedCommands = %s", file,
		allow ? "true" : "false");
	if (decision_policy(&call->options, &after, NULL) == 0 &&
	    policy_flag(after, FLAG_ALLOW_UNSANDBOXED, true) != allow) {
		auto_buf struct buf by = { 0 };

		origin_describe(&after->flags[FLAG_ALLOW_UNSANDBOXED].origin, &by);
		terminal_line(stderr, "cloche: still denied: %s", buf_str(&by));
	}
	return 0;
}

/* One pair of quotes around the whole pattern came from a habit */
static char *without_quotes(const char *text)
{
	const size_t n = strlen(text);

	if (n >= 2 && (*text == '"' || *text == '\'') && text[n - 1] == *text)
		return mem_strndup(text + 1, n - 2);
	return mem_strdup(text);
}

static void print_edit(const char *file, const char *path, bool done,
			const char *sign, const char *value)
{
	static const char above[] = "sandbox.";
	const bool own = !strstr(file, "/.claude/") &&
			 !strncmp(path, above, strlen(above));

	terminal_line(stdout, "%s: %s %s %s", file, own ? path + strlen(above) : path,
		done ? sign : "has", value);
}

static int append(struct call *call, const struct policy *policy,
		  enum scope scope, const char *path, const char *value,
		  struct err *err)
{
	auto_report struct settings_report before = { 0 };
	auto_policy struct policy *unused = NULL;
	auto_free char *file = NULL;
	int r, added;

	r = decision_policy_report(&call->options, true, &unused, &before, err);
	if (r < 0)
		return r;
	added = settings_edit_list(policy->cwd, scope, true, path, value, &file,
				   err);
	r = added < 0 ? added : approve(call, &before, value, err);
	if (r == 0)
		print_edit(file, path, added, "+=", value);
	return r;
}

int cmd_policy_exclude(struct call *call, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	auto_free char *pattern = NULL;
	int r;

	pattern = without_quotes(call->args[0]);
	if (!*pattern)
		return fail(err, -EINVAL, "the command is empty");
	r = decision_policy(&call->options, &policy, err);
	if (r < 0)
		return r;
	if (is_locked(policy))
		return 1;
	return append(call, policy, SCOPE_USER, "sandbox.excludedCommands",
		      pattern, err);
}

/**
 * struct kind - What rules are about, as options, policy and violations call it
 * @path:	The lists: deny, allow; NULL where there is none
 * @op:		What `policy why` asks, or POLICY_WHY_OPS
 */
static const struct kind {
	const char *name, *path[2];
	enum policy_why_op op;
} kinds[] = {
	{ "host", { "sandbox.network.deniedDomains",
			      "sandbox.network.allowedDomains" }, POLICY_WHY_HOST },
	{ "read", { "sandbox.filesystem.denyRead",
			  "sandbox.filesystem.allowRead" }, POLICY_WHY_READ },
	{ "write", { "sandbox.filesystem.denyWrite",
			   "sandbox.filesystem.allowWrite" }, POLICY_WHY_WRITE },
	{ "socket", { NULL, "sandbox.network.allowUnixSockets" }, POLICY_WHY_SOCKET },
	{ "port", { NULL, "sandbox.network.hostPorts" }, POLICY_WHY_PORT },
	{ "address", { NULL, "sandbox.network.allowIps" }, POLICY_WHY_OPS },
	{ "variable", { "sandbox.credentials.envVars", "sandbox.env" },
	  POLICY_WHY_VARIABLE },
	{ "secret", { NULL, "sandbox.secrets" }, POLICY_WHY_OPS },
	{ "unprotect", { NULL, "sandbox.filesystem.unprotect" }, POLICY_WHY_OPS },
};

static int find_kind(const char *name, const struct kind **ret,
		     struct err *err)
{
	struct text_near near = { .word = name };
	enum policy_why_op op;

	if (policy_why_op_parse(name, &op) < 0)
		op = POLICY_WHY_OPS;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		*ret = &kinds[i];
		if (!strcmp(kinds[i].name, name) ||
		    (op != POLICY_WHY_OPS && kinds[i].op == op))
			return 0;
		(void)text_near_try(&near, kinds[i].name);
	}
	if (near.best)
		return fail(err, -EINVAL, "'%s' is no kind of rule; did you mean %s?",
			    name, near.best);
	return fail(err, -EINVAL, "'%s' is not one of host, read, write, socket, port, address, variable, secret, unprotect",
		    name);
}

/* An absolute path as a file that a team shares has it */
static char *shorten(const struct policy *policy, const char *path)
{
	if (path_is_below(policy->project, path))
		return mem_strdup(path + strlen(policy->project) + 1);
	if (policy->home && path_is_below(policy->home, path))
		return mem_printf("~/%s", path + strlen(policy->home) + 1);
	return mem_strdup(path);
}

/* What to write: a path is absolute, or in the project's own file as short as it can
 * be
 */
static char *make_value(const struct policy *policy, enum scope scope,
			const struct kind *kind, const char *value)
{
	const bool path = kind->op == POLICY_WHY_READ || kind->op == POLICY_WHY_WRITE ||
			  kind->op == POLICY_WHY_SOCKET;
	auto_free char *full = NULL;

	if (!path || !*value || *value == '~')
		return mem_strdup(value);
	full = path_resolve(policy->cwd, value);
	return scope == SCOPE_PROJECT ? shorten(policy, full) : take_ptr(full);
}

/* What decided: where the rule is, or the reason. The caller frees. */
static char *cause_of(const struct policy_why *why)
{
	struct buf by = { 0 };

	if (why->origin)
		origin_describe(why->origin, &by);
	else
		buf_adds(&by, why->reason);
	return buf_take(&by);
}

/* True, with a message, if one more rule would not allow it: @why says what does */
static bool is_in_vain(const struct kind *kind, const struct policy_why *why)
{
	auto_free char *by = cause_of(why);

	if (why->allowed || (why->suggest &&
			     !strstr(why->suggest, "allow unprotect")))
		return false;
	terminal_line(stderr, "cloche: not changed, %s %s stays denied: %s",
		kind->name, why->target, by);
	if (why->suggest)
		terminal_line(stderr, "          %s", why->suggest);
	return true;
}

/* Ask again where an edit may not bring what was asked for. A pattern has no
 * verdict of its own.
 */
static int ask(struct call *call, const struct kind *kind,
	       const char *value, struct policy **policy, struct policy_why *ret)
{
	if (kind->op == POLICY_WHY_OPS || strpbrk(value, "*?[") ||
	    decision_policy(&call->options, policy, NULL) < 0)
		return -ENOENT;
	return policy_why_ask(*policy, kind->op, value, ret, NULL);
}

/* A rule elsewhere is stronger, or covers more */
static void print_outcome(struct call *call,
			 const struct kind *kind, const char *value, bool allow)
{
	auto_policy struct policy *policy = NULL;
	auto_why struct policy_why why = { 0 };

	if (ask(call, kind, value, &policy, &why) < 0)
		return;
	if (why.allowed != allow) {
		auto_free char *by = cause_of(&why);

		terminal_line(stderr, "cloche: still %s: %s",
			why.allowed ? "allowed" : "denied", by);
	}
}

/* What giving up a protected name opens; -ENOENT if it is none */
static int warn_unprotected(const char *name, struct err *err)
{
	struct text_near near = { .word = name };
	const struct protected_row *rows;
	size_t n;

	rows = protected_table(&n);
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(rows[i].name, name)) {
			terminal_line(stderr, "cloche: commands may now write %s in every project: %s",
				name, rows[i].reason);
			return 0;
		}
		(void)text_near_try(&near, rows[i].name);
	}
	return fail(err, -ENOENT, "'%s' is not a protected name%s%s%s", name,
		    near.best ? "; did you mean " : "",
		    near.best ? near.best : "", near.best ? "?" : "");
}

static const char ALL_SOCKETS[] = "sandbox.network.allowAllUnixSockets";

/* "socket all": what has no path, or no stream, cannot be allowed one by one */
static int set_all_sockets(struct call *call, const struct policy *policy,
			   enum scope scope, bool allow, struct err *err)
{
	auto_free char *file = NULL;
	const int r = set_flags(call, policy->cwd, scope,
				&(struct settings_edit_flag){ ALL_SOCKETS, allow }, 1,
				"network.allowAllUnixSockets=true", &file, err);

	if (r < 0)
		return r;
	print_edit(file, ALL_SOCKETS, true, "=", allow ? "true" : "false");
	if (allow)
		terminal_line(stderr, "cloche: commands may now reach every socket of the host: docker, ssh-agent, the desktop's bus");
	return 0;
}

static bool is_all_sockets(const struct kind *kind, const char *word)
{
	return kind->op == POLICY_WHY_SOCKET && !strcmp(word, "all");
}

static int add_value(struct call *call, const struct policy *policy,
		     enum scope wanted, const struct kind *kind,
		     const char *word, bool allow, struct err *err)
{
	/* A repository may not ask for these; nor is there always one */
	const bool personal = kind->op == POLICY_WHY_OPS || kind->op == POLICY_WHY_VARIABLE ||
			      !policy_has_project(policy);
	const enum scope scope = personal && wanted == SCOPE_PROJECT ?
				 SCOPE_USER : wanted;
	auto_free char *value = make_value(policy, scope, kind, word);
	auto_policy struct policy *asked = NULL;
	auto_why struct policy_why why = { 0 };
	int r;

	if (!*value)
		return fail(err, -EINVAL, "the %s is empty", kind->name);
	if (is_all_sockets(kind, word))
		return set_all_sockets(call, policy, scope, allow, err);
	if (allow && !strcmp(kind->name, "unprotect")) {
		r = warn_unprotected(value, err);
		if (r < 0)
			return r;
	}
	if (allow && ask(call, kind, value, &asked, &why) == 0 &&
	    is_in_vain(kind, &why))
		return 1;
	r = append(call, policy, scope, kind->path[allow], value, err);
	if (r == 0)
		print_outcome(call, kind, value, allow);
	return r;
}

/* allow and deny */
int cmd_policy_rule(struct call *call, struct err *err)
{
	const bool allow = !strcmp(call->name, "allow");
	auto_policy struct policy *policy = NULL;
	const struct kind *kind;
	enum scope scope;
	int r, worst = 0;

	r = read_scope(call, &scope, err);
	if (r == 0)
		r = find_kind(call->args[0], &kind, err);
	if (r < 0)
		return r;
	if (!kind->path[allow])
		return fail(err, -EINVAL, "a %s is refused unless a rule allows it; 'cloche policy remove %s' takes such a rule back",
			    kind->name, kind->name);
	r = decision_policy(&call->options, &policy, err);
	for (int i = 1; r >= 0 && i < call->count; i++) {
		r = add_value(call, policy, scope ? scope : SCOPE_PROJECT, kind,
			      call->args[i], allow, err);
		worst = r > worst ? r : worst;
	}
	return r < 0 ? r : worst;
}

enum { WAYS = 3 };

/* How @word may be written: as it is, absolute, short */
static char *spell(const struct policy *policy, const struct kind *kind,
		   const char *word, size_t way)
{
	return way == 0 ? mem_strdup(word) :
	       make_value(policy, way == 1 ? SCOPE_USER : SCOPE_PROJECT, kind,
			  word);
}

/* Out of both lists of every file of ours: true if it was in one */
static int remove_value(const struct policy *policy, bool claude,
			const struct kind *kind, const char *word,
			struct err *err)
{
	static const enum scope scopes[] = {
		SCOPE_USER, SCOPE_PROJECT, SCOPE_LOCAL,
	};
	int removed = 0;

	for (size_t i = 0; i < 2 * WAYS * ARRAY_SIZE(scopes); i++) {
		const enum scope scope = scopes[i / (2 * WAYS)];
		const char *path = kind->path[i % 2];
		auto_free char *value = spell(policy, kind, word, i / 2 % WAYS);
		auto_free char *file = NULL;
		int r;

		if (!path || (scope == SCOPE_LOCAL) != claude)
			continue;
		r = settings_edit_list(policy->cwd, scope, false, path, value,
				       &file, err);
		if (r < 0)
			return r;
		if (r)
			print_edit(file, path, true, "-=", value);
		removed += r;
	}
	return removed;
}

int cmd_policy_remove(struct call *call, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	const struct kind *kind;
	enum scope scope;
	int r, missing = 0;

	r = read_scope(call, &scope, err);
	if (r == 0)
		r = find_kind(call->args[0], &kind, err);
	if (r >= 0)
		r = decision_policy(&call->options, &policy, err);
	for (int i = 1; r >= 0 && i < call->count; i++) {
		if (is_all_sockets(kind, call->args[i])) {
			r = set_all_sockets(call, policy, scope ? scope : SCOPE_PROJECT,
					    false, err);
			continue;
		}
		r = remove_value(policy, scope == SCOPE_LOCAL, kind,
				 call->args[i], err);
		if (r == 0)
			terminal_line(stderr, "cloche: no rule names %s %s; 'cloche policy why' shows which rule decides",
				kind->name, call->args[i]);
		missing |= r == 0;
	}
	return r < 0 ? r : missing;
}
