/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent/hook-response.c - the response in the agent's format
 *
 * What each believes: Claude takes a rewritten input with or without a
 * decision, and replaces the whole input by it. Codex takes it only with
 * "allow", takes "allow" only with it, and does not ask. Gemini lays it over
 * the input and does not ask either. Cursor wants a JSON object every time.
 * Where an agent cannot ask, what must be asked about is denied.
 */

#include <errno.h>

#include "agent/hook.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"

/* Append @value, which is taken over. NULL is what jansson makes of a name that
 * is not UTF-8: silence would then let the command pass as it is.
 */
static int print(json_t *value, struct buf *out, struct err *err)
{
	auto_free char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

	json_decref(value);
	if (!text)
		return fail(err, -EINVAL, "the answer holds a name that is not UTF-8");
	buf_adds(out, text);
	buf_addc(out, '\n');
	return 0;
}

static char *words_for(const char *reason, const char *more)
{
	struct buf b = { 0 };

	buf_adds(&b, "cloche: ");
	text_escape(&b, reason);
	buf_adds(&b, more);
	return buf_take(&b);
}

/* The tool's input with the command replaced; NULL if that is not UTF-8 */
static json_t *new_input(const struct hook_call *call,
			 const struct hook_decision *d)
{
	json_t *command = json_string(d->command);
	auto_json json_t *input = NULL;

	/* Cursor's older event has the input among everything else */
	if (call->input == call->root)
		return json_pack("{s:o}", "command", command);
	input = json_deep_copy(call->input);
	return json_object_set_new(input, "command", command) < 0 ? NULL :
	       take_ptr(input);
}

/* A denial, or a question to an agent that cannot ask */
static bool is_refused(const struct hook_decision *d)
{
	return d->verdict == HOOK_DENY || d->verdict == HOOK_ASK;
}

static char *refusal(const struct hook_decision *d)
{
	return words_for(d->reason, d->verdict != HOOK_ASK ? "" :
			 "; a hook cannot ask here, so it is refused: the user may run it, or allow it by a rule");
}

static int reply_claude(const struct hook_call *call,
			const struct hook_decision *d, struct buf *out,
			struct err *err)
{
	static const char *const words[] = {
		[HOOK_NO_OPINION] = NULL, [HOOK_ALLOW] = "allow",
		[HOOK_ASK] = "ask", [HOOK_DENY] = "deny",
	};
	auto_free char *reason = d->reason ? words_for(d->reason, "") : NULL;

	if (d->verdict == HOOK_NO_OPINION && !d->command)
		return 0;
	if (!d->command)
		return print(json_pack("{s:{s:s, s:s, s:s}}",
			"hookSpecificOutput",
			"hookEventName", call->event->theirs,
			"permissionDecision", words[d->verdict],
			"permissionDecisionReason", reason), out, err);
	return print(json_pack("{s:{s:s, s:s*, s:s*, s:o}}",
			"hookSpecificOutput",
			"hookEventName", call->event->theirs,
			"permissionDecision", words[d->verdict],
			"permissionDecisionReason", reason,
			"updatedInput", new_input(call, d)), out, err);
}

static int reply_codex(const struct hook_call *call,
		       const struct hook_decision *d, struct buf *out,
		       struct err *err)
{
	auto_free char *reason = NULL;

	if (is_refused(d)) {
		reason = refusal(d);
		return print(json_pack("{s:{s:s, s:s, s:s}}",
			"hookSpecificOutput",
			"hookEventName", call->event->theirs,
			"permissionDecision", "deny",
			"permissionDecisionReason", reason), out, err);
	}
	if (!d->command)
		return 0;
	return print(json_pack("{s:{s:s, s:s, s:o}}", "hookSpecificOutput",
			"hookEventName", call->event->theirs,
			"permissionDecision", "allow",
			"updatedInput", new_input(call, d)), out, err);
}

static int reply_gemini(const struct hook_call *call,
			const struct hook_decision *d, struct buf *out,
			struct err *err)
{
	auto_free char *reason = NULL;

	if (is_refused(d)) {
		reason = refusal(d);
		return print(json_pack("{s:s, s:s}", "decision", "deny",
				       "reason", reason), out, err);
	}
	if (!d->command)
		return print(json_object(), out, err);
	return print(json_pack("{s:{s:s, s:o}}", "hookSpecificOutput",
			"hookEventName", call->event->theirs,
			"tool_input", new_input(call, d)), out, err);
}

static int reply_cursor(const struct hook_call *call,
			const struct hook_decision *d, struct buf *out,
			struct err *err)
{
	static const char *const words[] = {
		[HOOK_NO_OPINION] = "allow", [HOOK_ALLOW] = "allow",
		[HOOK_ASK] = "ask", [HOOK_DENY] = "deny",
	};
	auto_free char *reason = d->reason ? words_for(d->reason, "") : NULL;
	const char *message = d->verdict >= HOOK_ASK ? reason : NULL;

	if (d->verdict == HOOK_NO_OPINION && !d->command)
		return print(json_object(), out, err);
	if (!d->command)
		return print(json_pack("{s:s, s:s*, s:s*}",
			"permission", words[d->verdict],
			"user_message", message, "agent_message", message), out, err);
	return print(json_pack("{s:s, s:s*, s:s*, s:o}",
			"permission", words[d->verdict],
			"user_message", message, "agent_message", message,
			"updated_input", new_input(call, d)), out, err);
}

int hook_reply(const struct hook_call *call, const struct hook_decision *d,
	       struct buf *out, struct err *err)
{
	static int (*const replies[AGENT_COUNT])(const struct hook_call *call,
		const struct hook_decision *d, struct buf *out,
		struct err *err) = {
		[AGENT_CLAUDE] = reply_claude, [AGENT_CODEX] = reply_codex,
		[AGENT_GEMINI] = reply_gemini, [AGENT_CURSOR] = reply_cursor,
	};

	return replies[call->agent->id](call, d, out, err);
}

int hook_reply_words(const struct hook_call *call, const char *words,
		     struct buf *out, struct err *err)
{
	const enum agent_id agent = call->agent->id;

	if (!*words)	/* Two of them want an object, whatever it holds */
		return agent == AGENT_CURSOR || agent == AGENT_GEMINI ?
			print(json_object(), out, err) : 0;
	if (agent == AGENT_CURSOR)
		return print(json_pack("{s:s}", "additional_context", words),
			     out, err);
	return print(json_pack("{s:s, s:{s:s, s:s}}",
			"systemMessage", words, "hookSpecificOutput",
			"hookEventName", call->event->theirs,
			"additionalContext", words), out, err);
}
