/* SPDX-License-Identifier: Apache-2.0 */
/* agent/hook-request.c - the call of an agent's hook, from JSON */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/hook.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "base/mem.h"
#include "base/path.h"

enum { SESSION_ID_MAX = 48 };	/* A UUID; with the name of an agent, what a session may have */

static const struct agent agents[] = {
#define AGENT(id, name, tools, variable, dir, file) \
	{ AGENT_##id, name, tools, variable, dir, file },
#include "agent/agents.def"
};

static const struct agent_event events[] = {
#define EVENT(agent, kind, theirs, ours, matcher) \
	{ AGENT_##agent, EVENT_##kind, theirs, ours, matcher },
#include "agent/agents.def"
};

static const char *const kinds[EVENT_KINDS] = {
	[EVENT_PRE_TOOL] = "pre-tool-use",
	[EVENT_START] = "session-start",
	[EVENT_END] = "session-end",
};

/* Where agents keep the directory of one command */
static const char *const directories[] = {
	"dir_path", "working_directory", "workdir", "directory",
};

const struct agent *agent_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(agents); i++) {
		if (!strcmp(agents[i].name, name))
			return &agents[i];
	}
	return NULL;
}

const struct agent *agent_at(size_t i)
{
	return i < ARRAY_SIZE(agents) ? &agents[i] : NULL;
}

const struct agent_event *agent_event_find(const struct agent *agent,
					   const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (events[i].agent == agent->id &&
		    !strcmp(events[i].ours, name))
			return &events[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (events[i].agent == agent->id &&
		    !strcmp(kinds[events[i].kind], name))
			return &events[i];
	}
	return NULL;
}

const struct agent_event *agent_event_at(const struct agent *agent, size_t i)
{
	unsigned int seen = 0;

	for (size_t k = 0; k < ARRAY_SIZE(events); k++) {
		const struct agent_event *e = &events[k];

		if (e->agent != agent->id || seen & 1u << e->kind)
			continue;
		seen |= 1u << e->kind;
		if (!i--)
			return e;
	}
	return NULL;
}

void agent_names(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
		buf_addf(out, "%s%s", i ? ", " : "", agents[i].name);
}

void agent_near(struct text_near *near)
{
	for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
		(void)text_near_try(near, agents[i].name);
}

void agent_event_names(const struct agent *agent, struct buf *out)
{
	const char *comma = "";

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (events[i].agent != agent->id)
			continue;
		buf_addf(out, "%s%s", comma, events[i].ours);
		comma = ", ";
	}
}

/* A call of another event than the hook was installed for is an error */
static int check_event(const struct hook_call *call, struct err *err)
{
	const char *name = json_get_text(call->root, "hook_event_name");

	if (!name || !strcmp(name, call->event->theirs))
		return 0;
	return fail(err, -EINVAL, "the hook is for %s and was called for %s; run 'cloche hook install %s' again",
		    call->event->theirs, name, call->agent->name);
}

/* Not a shell that we know. A tool of our matcher runs commands all the same, and they
 * would run outside the sandbox.
 */
static int check_other(const struct hook_call *call, const char *tool,
		       struct err *err)
{
	if (!text_is_choice(call->event->matcher, tool))
		return 0;
	return fail(err, -EOPNOTSUPP, "commands of %s cannot be put into the sandbox; use Bash",
		    tool);
}

/* The tool's input; Cursor's older event has the command beside the rest */
static int find_command(struct hook_call *call, struct err *err)
{
	const char *tool = json_get_text(call->root, "tool_name");
	json_t *input = json_object_get(call->root, "tool_input");

	if (!tool && !input && json_get_text(call->root, "command"))
		input = call->root;
	else if (!tool)
		return fail(err, -EINVAL, "the call names no tool");
	else if (!text_is_choice(call->agent->tools, tool))
		return check_other(call, tool, err);
	else if (strncmp(tool, call->agent->tools, strlen(tool)) != 0 &&
		 json_is_object(input) && !json_object_get(input, "command"))
		return 0;	/* Claude's Monitor has other things to watch */
	call->input = input;
	call->command = json_get_text(input, "command");
	if (!call->command)
		return fail(err, -EINVAL, "the call has no command");
	call->unsandboxed = json_is_true(json_object_get(input,
		"dangerouslyDisableSandbox"));
	return 0;
}

static int find_directory(struct hook_call *call, const char *cwd,
			  struct err *err)
{
	const char *theirs = json_get_text(call->root, "cwd");
	const char *dir = NULL;

	call->cwd = theirs && *theirs ? theirs : cwd;
	if (*call->cwd != '/')
		return fail(err, -EINVAL, "cwd '%s' is not absolute",
			    call->cwd);
	for (size_t i = 0; !dir && i < ARRAY_SIZE(directories); i++)
		dir = json_get_text(call->input, directories[i]);
	call->dir = path_resolve(call->cwd, dir && *dir ? dir : ".");
	return 0;
}

int hook_call_parse(const struct agent *agent, const struct agent_event *event,
		    const char *text, size_t n, const char *cwd,
		    struct hook_call *ret, struct err *err)
{
	struct hook_call call = { .agent = agent, .event = event };
	int r = 0;

	call.root = json_parse(text, n, "stdin", err);
	if (!call.root)
		return -EINVAL;
	if (!json_is_object(call.root))
		r = fail(err, -EINVAL, "stdin: must be an object: { ... }");
	if (r == 0)
		r = check_event(&call, err);
	if (r == 0 && event->kind == EVENT_PRE_TOOL)
		r = find_command(&call, err);
	if (r == 0)
		r = find_directory(&call, cwd, err);
	if (r < 0) {
		hook_call_done(&call);
		return r;
	}
	call.mode = json_get_text(call.root, "permission_mode");
	call.session = json_get_text(call.root, "session_id");
	if (!call.session)	/* Cursor */
		call.session = json_get_text(call.root, "conversation_id");
	*ret = call;
	return 0;
}

char *hook_session_name(const struct agent *agent, const char *id)
{
	static const char letters[] = "0123456789-_"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	const size_t n = id ? strlen(id) : 0;

	return n && n <= SESSION_ID_MAX && strspn(id, letters) == n ?
	       mem_printf("%s-%s", agent->name, id) : NULL;
}

void hook_call_done(struct hook_call *call)
{
	json_decref(call->root);
	free(call->dir);
	*call = (struct hook_call){ 0 };
}
