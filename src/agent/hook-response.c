/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent/hook-response.c - the response in the agent's format
 *
 * Claude Code accepts a rewritten input with or without a decision, and replaces
 * the whole input by it. Codex accepts a rewritten input only with "allow", and
 * "allow" only with a rewritten input. Gemini CLI merges it into the input. Cursor
 * needs a JSON object every time. Hooks of Codex and Gemini CLI cannot make the agent
 * ask the user: what would have to be asked about is denied.
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

static json_t *make_reply(const struct hook_call *call, const char *verdict,
			  const char *reason, json_t *input)
{
	const char *event = call->event->theirs;

	switch (call->agent->id) {
	case AGENT_GEMINI:
		if (!input)
			return json_pack("{s:s, s:s}", "decision", verdict,
					 "reason", reason);
		return json_pack("{s:{s:s, s:o}}", "hookSpecificOutput",
				 "hookEventName", event, "tool_input", input);
	case AGENT_CURSOR:
		return json_pack("{s:s, s:s*, s:s*, s:o*}", "permission",
				 verdict ? verdict : "allow", "user_message", reason,
				 "agent_message", reason, "updated_input", input);
	default:
		return json_pack("{s:{s:s, s:s*, s:s*, s:o*}}", "hookSpecificOutput",
				 "hookEventName", event, "permissionDecision", verdict,
				 "permissionDecisionReason", reason,
				 "updatedInput", input);
	}
}

int hook_reply(const struct hook_call *call, const struct hook_decision *d,
	       struct buf *out, struct err *err)
{
	static const char *const verdicts[] = { NULL, "allow", "ask", "deny" };
	const enum agent_id agent = call->agent->id;
	const bool asks = agent == AGENT_CLAUDE || agent == AGENT_CURSOR;
	const bool refused = d->verdict == HOOK_DENY ||
			     (d->verdict == HOOK_ASK && !asks);
	/* Codex shows no reason with a rewritten input, Cursor none with "allow" */
	const bool mute = agent == AGENT_CURSOR ? d->verdict < HOOK_ASK :
			  agent != AGENT_CLAUDE && !refused;
	auto_free char *reason = !d->reason || mute ? NULL :
		words_for(d->reason, asks || d->verdict != HOOK_ASK ? "" :
			  "; a hook cannot ask here, so it is refused: the user may run it, or allow it by a rule");
	json_t *input;

	if (!refused && !d->command && (!asks || d->verdict == HOOK_NO_OPINION))
		return hook_reply_words(call, "", out, err);
	input = refused || !d->command ? NULL : new_input(call, d);
	if (!refused && d->command && !input)
		return print(NULL, out, err);
	return print(make_reply(call, refused ? "deny" :
				agent == AGENT_CODEX ? "allow" :
				verdicts[d->verdict], reason, input), out, err);
}

int hook_reply_words(const struct hook_call *call, const char *words,
		     struct buf *out, struct err *err)
{
	const enum agent_id agent = call->agent->id;

	if (!*words)	/* Two agents expect an object, even an empty one */
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
