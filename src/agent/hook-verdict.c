/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent/hook-verdict.c - whether the agent may run a command, and how
 *
 * Theory of operation: the agent applies its own rules to the line that the hook
 * returns. That line is rewritten, so an allow rule would not match it and a deny
 * rule would miss it. Therefore the rules are applied here, to the line that the
 * model wrote. Deny and ask are final. Where no rule matches, the agent decides,
 * unless the settings allow all sandboxed commands.
 */

#include <stdlib.h>
#include <string.h>

#include "agent/hook.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/mode.h"
#include "policy/permission.h"
#include "policy/policy.h"
#include "shell/command-pattern.h"
#include "shell/parse.h"

/* Never removed without a question, sandbox or not */
static const char critical[] =
	"/ /* ~ ~/ ~/* $HOME $HOME/ $HOME/* . ./ ./* .. ../ ../* * .git .git/ "
	"\"$HOME\" \"$HOME\"/ \"$HOME\"/* \"$HOME/\" ${HOME} ${HOME}/ ${HOME}/* "
	"\"${HOME}\" \"${HOME}\"/* $PWD $PWD/* \"$PWD\" \"$PWD\"/* ~/. /. //";

static char *with_origin(const struct permission_verdict *v)
{
	struct buf b = { 0 };

	buf_adds(&b, v->why);
	if (v->origin && v->origin->source) {
		buf_adds(&b, " (");
		origin_describe(v->origin, &b);
		buf_addc(&b, ')');
	}
	return buf_take(&b);
}

static bool is_critical(const struct shell_script *script,
			const struct shell_command *c, size_t name)
{
	for (size_t i = name + 1; i < c->count; i++) {
		const struct shell_word *w = script->words.v + c->first + i;

		if (text_has_bytes(critical, script->raw.p + w->raw, w->raw_len) ||
		    text_has_bytes(critical, script->plain.p + w->plain,
				   w->plain_len))
			return true;
	}
	return false;
}

static bool removes_critical(const char *command)
{
	auto_shell struct shell_script script = { 0 };

	(void)shell_parse(command, &script);
	(void)command_unfold(&script);
	for (size_t i = 0; i < script.commands.len; i++) {
		const struct shell_command *c = &script.commands.v[i];
		const size_t name = command_name(&script, c);

		if (command_is(&script, c, name, "rm rmdir") &&
		    is_critical(&script, c, name))
			return true;
	}
	return false;
}

/* What the rules say about the fields of the call beside its command */
static struct permission_verdict decide_fields(const struct policy *policy,
					    const struct hook_call *call)
{
	struct permission_verdict worst = { .action = ACTION_COUNT };
	const char *key;
	json_t *value;

	json_object_foreach(call->input, key, value) {
		auto_free char *text = json_is_string(value) ?
			mem_strdup(json_string_value(value)) :
			json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		struct permission_verdict v;

		if (!text || !strcmp(key, "command"))
			continue;
		v = permission_decide_input(policy->ruleset, key, text);
		if (v.action < worst.action) {
			permission_verdict_done(&worst);
			worst = v;
		} else {
			permission_verdict_done(&v);
		}
	}
	return worst;
}

/* The settings let a sandboxed command run without a question. Not while the
 * agent only plans, not where all would be removed, and not where the value is a
 * leftover of a sandbox that was switched off since.
 */
static bool is_automatic(const struct policy *policy,
			 const struct hook_call *call, const char *command)
{
	const struct origin *off;

	return policy_flag(policy, FLAG_AUTO_ALLOW, false) &&
	       !mode_is_off(policy, &off) &&
	       !(call->mode && !strcmp(call->mode, "plan")) &&
	       !removes_critical(command);
}

/* The stricter of the verdicts on the command and on its fields */
static struct permission_verdict decide_rules(const struct policy *policy,
					   const struct hook_call *call,
					   const char *command, bool automatic)
{
	struct permission_verdict v = permission_decide_command(policy->ruleset,
							  command, automatic);
	struct permission_verdict fields = decide_fields(policy, call);

	if (fields.action < ACTION_ALLOW && fields.action < v.action) {
		permission_verdict_done(&v);
		return fields;
	}
	permission_verdict_done(&fields);
	return v;
}

static void say(struct hook_decision *d, enum hook_verdict verdict,
		const char *reason)
{
	free(d->reason);
	d->verdict = verdict;
	d->reason = mem_strdup(reason);
}

static void apply_verdict(const struct permission_verdict *v,
			  struct hook_decision *d)
{
	static const enum hook_verdict verdicts[ACTION_COUNT + 1] = {
		[ACTION_DENY] = HOOK_DENY,
		[ACTION_ASK] = HOOK_ASK,
		[ACTION_ALLOW] = HOOK_ALLOW,
		[ACTION_COUNT] = HOOK_NO_OPINION,
	};

	d->verdict = verdicts[v->action];
	if (d->verdict != HOOK_NO_OPINION)
		d->reason = with_origin(v);
}

/* Whether the command stays outside; *@ret_ask is why the user is asked */
static bool stays_outside(const struct policy *policy,
			  const struct hook_wrapper *w,
			  const struct hook_call *call, const char *command,
			  bool obey_off, const char **ret_ask)
{
	const struct origin *off;

	*ret_ask = NULL;
	if (!policy_flag(policy, FLAG_ALLOW_UNSANDBOXED, true))
		return false;
	if ((obey_off && mode_is_off(policy, &off)) ||
	    (w->in_project && mode_excludes(policy, command, NULL)))
		return true;
	if (call->unsandboxed)
		*ret_ask = w->in_project ?
			"it asks to run without the sandbox" :
			"it asks to run without the sandbox, and not in the project's directory";
	return call->unsandboxed;
}

/* Where no rule speaks: silence, or what the settings or the mode say */
static void decide_rest(const struct hook_call *call, const char *command,
			bool automatic, struct hook_decision *d)
{
	const bool bypass = call->mode &&
		!strcmp(call->mode, "bypassPermissions");

	if (d->verdict != HOOK_NO_OPINION)
		return;
	if (automatic)
		say(d, HOOK_ALLOW, "it runs in the sandbox");
	else if (bypass && !removes_critical(command))
		say(d, HOOK_ALLOW, "the permission mode allows it");
}

/* Commands run by our prefix, so the agent's rules decide about them as they are. What
 * is left: it must be in force; rules of cloche's own files; sandboxed commands that
 * the settings allow.
 */
static void decide_prefixed(const struct policy *policy, const struct hook_wrapper *w,
			    const struct hook_call *call, struct hook_decision *d)
{
	const bool automatic = is_automatic(policy, call, call->command) &&
		!(w->in_project && mode_excludes(policy, call->command, NULL));
	struct permission_verdict v;

	if (w->objection) {
		say(d, HOOK_DENY, w->objection);
		return;
	}
	v = decide_rules(policy, call, call->command, automatic);
	if (v.action < ACTION_ALLOW)
		apply_verdict(&v, d);
	else if (automatic)
		say(d, HOOK_ALLOW, "it runs in the sandbox");
	permission_verdict_done(&v);
}

void hook_decide(const struct policy *policy, const struct hook_wrapper *w,
		 const struct hook_call *call, bool obey_off,
		 struct hook_decision *ret)
{
	auto_free char *inner = w->program ?
		hook_unwrap(w, call->dir, call->command) : NULL;
	const char *command = inner ? inner : call->command;
	const char *ask = NULL;
	const bool outside = !inner && stays_outside(policy, w, call, command,
						     obey_off, &ask);
	const bool automatic = !outside && is_automatic(policy, call,
							command);
	auto_buf struct buf line = { 0 };
	const struct origin *off;
	struct permission_verdict v;

	*ret = (struct hook_decision){ 0 };
	if (mode_is_off_for_hooks(policy, &off))
		return;		/* The agent's own rules decide */
	if (!w->program) {
		decide_prefixed(policy, w, call, ret);
		return;
	}
	if (!inner && hook_is_forged(w, command)) {
		say(ret, HOOK_DENY, "it starts a sandbox of its own; give the command alone, it is put into the sandbox");
		return;
	}
	v = decide_rules(policy, call, command, automatic);
	apply_verdict(&v, ret);
	permission_verdict_done(&v);
	if (ask && ret->verdict != HOOK_DENY)
		say(ret, HOOK_ASK, ask);
	if (outside)
		return;
	decide_rest(call, command, automatic, ret);
	if (!inner && ret->verdict != HOOK_DENY) {
		hook_wrap(w, call->dir, command, &line);
		ret->command = buf_take(&line);
	}
}

void hook_decision_done(struct hook_decision *d)
{
	free(d->reason);
	free(d->command);
	*d = (struct hook_decision){ 0 };
}
