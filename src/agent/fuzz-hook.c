/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fuzz-hook.c - a byte for the agent, then what it says: the answer is
 * JSON, a denied command is never rewritten, and what is rewritten is known
 * again and holds the command as it was
 */

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "fuzz.h"
#include "agent/hook.h"
#include "policy/permission.h"
#include "policy/policy.h"

static const char *const options[] = { "--net", "none", NULL };
static const struct hook_wrapper wrapper = {
	.program = "/usr/bin/cloche", .options = options, .project = "/w",
};

static struct policy *make_policy(void)
{
	struct policy *p = policy_new("/w", "/h");
	struct rule rule;

	if (rule_parse("Bash(curl *)", ACTION_DENY, &rule, NULL) == 0)
		permission_add(p->ruleset, &rule, (struct origin){ 0 });
	if (rule_parse("Bash(git push *)", ACTION_ASK, &rule, NULL) == 0)
		permission_add(p->ruleset, &rule, (struct origin){ 0 });
	policy_add_string(p, LIST_EXCLUDED_COMMANDS, "docker *",
			  (struct origin){ 0 }, NULL);
	return p;
}

static void check(const struct hook_call *call, const struct hook_decision *d)
{
	auto_buf struct buf reply = { 0 };
	auto_free char *inner = NULL;
	json_t *root;

	fuzz_want(d->verdict != HOOK_DENY || !d->command);
	fuzz_want(d->verdict == HOOK_NO_OPINION || d->reason);
	fuzz_want(hook_reply(call, d, &reply, NULL) == 0);
	if (d->command) {
		inner = hook_unwrap(&wrapper, call->dir, d->command);
		fuzz_want(inner && !strcmp(inner, call->command));
		fuzz_want(reply.len);
	}
	if (!reply.len)
		return;
	root = json_loads(buf_str(&reply), 0, NULL);
	fuzz_want(json_is_object(root));
	json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {
		"claude", "codex", "gemini", "cursor",
	};
	auto_policy struct policy *policy = NULL;
	struct hook_decision d;
	struct hook_call call;
	const struct agent *agent;
	auto_free char *text = NULL;

	if (!size)
		return 0;
	agent = agent_find(names[data[0] % AGENT_COUNT]);
	text = mem_zalloc(size);
	memcpy(text, data + 1, size - 1);
	if (hook_call_parse(agent, agent_event_find(agent, "pre-tool-use"),
			    text, size - 1, "/w", &call, NULL) < 0)
		return 0;
	if (call.command) {
		policy = make_policy();
		hook_decide(policy, &wrapper, &call, false, &d);
		check(&call, &d);
		hook_decision_done(&d);
	}
	hook_call_done(&call);
	return 0;
}
