/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-hook-answer.c - cloche hook AGENT EVENT: the child's work */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/hook.h"
#include "agent/shim.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "cli/cmd-hook.h"
#include "cli/command-line.h"
#include "policy/mode.h"
#include "policy/policy.h"
#include "report/footer.h"
#include "report/report.h"
#include "report/violation-store.h"
#include "report/violation.h"
#include "run/decision.h"
#include "run/options.h"

enum {
	FAILURE_LINES_MAX = 8,		/* Refusals that are told */
	FAILURE_AGE_MS = 10 * 60000,	/* Older ones were another command's */
};

/* The project must not follow the model, which may choose where a command
 * starts. The agents tell their hooks where it is: by a variable, (Cursor) in
 * the call, or (Codex, whose "cwd" is the model's choice) by starting the hook
 * there. Else it is where the session says it is: *@ret_said is whether the model
 * had no part in it.
 */
static char *project_of(const struct hook_call *call, const char *here,
			bool *ret_said)
{
	static const char *const variables[AGENT_COUNT] = {
		[AGENT_CLAUDE] = "CLAUDE_PROJECT_DIR",
		[AGENT_GEMINI] = "GEMINI_PROJECT_DIR",
		[AGENT_CURSOR] = "CURSOR_PROJECT_DIR",
	};
	const char *name = variables[call->agent->id];
	const json_t *roots = json_object_get(call->root, "workspace_roots");
	const char *said[] = {
		name ? getenv(name) : NULL,
		json_string_value(json_array_get(roots, 0)),
		call->agent->id == AGENT_CODEX ? here : NULL,
	};
	char real[PATH_MAX];

	*ret_said = true;
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		if (said[i] && *said[i] == '/' && realpath(said[i], real))
			return mem_strdup(real);
	}
	*ret_said = !strcmp(call->cwd, here);
	return mem_strdup(call->cwd);
}

/* The call's own directory is the project's. Elsewhere the sandbox may have
 * written what a command obeys (a repository with hooks, a Makefile), also in its
 * /tmp, which lies in the user's cache.
 */
static bool is_in_project(const struct hook_call *call, const char *project)
{
	char real[PATH_MAX];

	return realpath(call->dir, real) && !strcmp(real, project);
}

/* Words for the line: all but the one that would let `cloche run` decide again,
 * with no sandbox as its answer
 */
static char **line_words(char **argv)
{
	size_t n = 0, kept = 0;
	char **words;

	while (argv[n])
		n++;
	words = mem_zalloc((n + 1) * sizeof(*words));
	for (size_t i = 0; i < n; i++) {
		if (strcmp(argv[i], "--allow-unsandboxed") != 0)
			words[kept++] = argv[i];
	}
	return words;
}

static int answer_tool(const struct hook_call *call, const char *project,
		       bool said, const struct options *options, char **words,
		       struct buf *out, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	struct hook_decision decision = { 0 };
	char path[PATH_MAX];
	const struct hook_wrapper wrapper = {
		.program = own_path(path, sizeof(path)),
		.options = (const char *const *)words,
		.project = project,
		.in_project = said && is_in_project(call, project),
	};
	int r = 0;

	if (call->command)
		r = decision_policy(options, &policy, err);
	if (r < 0)
		return r;
	if (call->command)
		hook_decide(policy, &wrapper, call,
			    options_has(options, OPTION_ALLOW_UNSANDBOXED),
			    &decision);
	r = hook_reply(call, &decision, out, err);
	hook_decision_done(&decision);
	return r;
}

/* The hook's user wants the sandbox, whatever "enabled" says: that is about the
 * agent's own, and one does not start inside the other
 */
static void add_advice(const struct hook_call *call,
		       const struct policy *policy, struct buf *words)
{
	shim_tell_bypass(words);
	advise(policy, true, words);
	if (call->agent->id == AGENT_CLAUDE &&
	    mode_of(policy) != MODE_DISABLED) {
		buf_adds(words, "cloche: the agent's own sandbox is switched on as well, and ours may not start inside it (");
		origin_describe(&policy->flags[FLAG_ENABLED].origin, words);
		buf_adds(words, "); switch one of the two off\n");
	}
}

static int answer_start(const struct hook_call *call,
			const struct options *options, struct buf *out,
			struct err *err)
{
	auto_policy struct policy *policy = NULL;
	auto_buf struct buf words = { 0 };
	struct err why = { 0 };

	/* Then every command will be refused: say so now */
	if (decision_policy(options, &policy, &why) < 0)
		buf_addf(&words, "cloche: %s\n", why.msg);
	else
		add_advice(call, policy, &words);
	return hook_reply_words(call, buf_str(&words), out, err);
}

/**
 * struct failure - What was refused to one command
 * @script:	What the shell was given, quoted as records have it
 * @run:	The newest run of it
 */
struct failure {
	const char *script;
	int64_t since_ms;
	char *run;
	struct buf lines;
	size_t count;
};

/* A record has the shell, "-c" and the script, cut off at some length */
static bool is_about(const struct violation *v, const char *script)
{
	const char *said = v->command ? strstr(v->command, " -c ") : NULL;
	const bool cut = v->command &&
			 strlen(v->command) >= REPORT_COMMAND_MAX;

	if (!said)
		return false;
	said += 4;
	return cut ? !strncmp(script, said, strlen(said))
		   : !strcmp(script, said);
}

static int add_failure(void *arg, const struct violation *v)
{
	struct failure *f = arg;

	if (v->time_ms < f->since_ms || !v->run || !is_about(v, f->script))
		return 0;
	if (!f->run || strcmp(f->run, v->run) != 0) {
		free(f->run);
		f->run = mem_strdup(v->run);
		buf_done(&f->lines);
		f->count = 0;
	}
	if (f->count++ < FAILURE_LINES_MAX) {
		footer_line(v, &f->lines);
		buf_addc(&f->lines, '\n');
	}
	return 0;
}

/* The script that was run: an agent may tell the line as it was before */
static void add_script(const struct hook_call *call, const char *project,
		       char **words, struct buf *out)
{
	char path[PATH_MAX];
	const struct hook_wrapper wrapper = {
		.program = own_path(path, sizeof(path)),
		.options = (const char *const *)words,
		.project = project,
	};
	auto_free char *inner = hook_unwrap(&wrapper, call->dir,
					    call->command);
	auto_buf struct buf line = { 0 };

	hook_wrap(&wrapper, call->dir, inner ? inner : call->command, &line);
	buf_adds(out, hook_wrapped_word(&wrapper, buf_str(&line)));
	report_strip_addresses(out->p);
}

static int answer_failure(const struct hook_call *call, const char *project,
			  char **options, struct buf *out, struct err *err)
{
	auto_free char *state = violation_store_default_dir();
	auto_buf struct buf script = { 0 };
	auto_buf struct buf words = { 0 };
	struct failure f = {
		.since_ms = now_ms(CLOCK_REALTIME) - FAILURE_AGE_MS,
	};
	struct violation_store *store = NULL;

	if (call->command && state &&
	    violation_store_new(state, VIOLATION_STORE_FILE_MAX, &store, NULL) == 0) {
		add_script(call, project, options, &script);
		f.script = buf_str(&script);
		(void)violation_store_each(store, add_failure, &f, NULL);
	}
	violation_store_free(store);
	if (f.count) {
		buf_addf(&words, "The sandbox refused this to the command:\n%s",
			 buf_str(&f.lines));
		if (f.count > FAILURE_LINES_MAX)
			buf_addf(&words, "and %zu more\n",
				 f.count - FAILURE_LINES_MAX);
		buf_adds(&words, "Only the user can allow it. Find a way that needs it not, or ask.\n");
	}
	free(f.run);
	buf_done(&f.lines);
	return hook_reply_words(call, buf_str(&words), out, err);
}

static int answer(const struct hook_call *call, const char *here,
		  struct call *typed, struct buf *out, struct err *err)
{
	bool said;
	auto_free char *project = project_of(call, here, &said);
	auto_free char **words = line_words(typed->given.v);
	int r = options_add(&typed->options, OPTION_CWD, project, err);

	if (r < 0)
		return r;
	if (call->event->kind == EVENT_PRE_TOOL)
		return answer_tool(call, project, said, &typed->options, words,
				   out, err);
	if (call->event->kind == EVENT_START)
		return answer_start(call, &typed->options, out, err);
	return answer_failure(call, project, words, out, err);
}

int hook_answer(const struct agent *agent, const struct agent_event *event,
		struct call *typed, struct buf *out, struct err *err)
{
	auto_free char *cwd = getcwd(NULL, 0);
	auto_buf struct buf text = { 0 };
	struct hook_call call;
	int r;

	if (!cwd)
		return fail_errno(err, "cannot tell the current directory");
	r = fs_read_fd(STDIN_FILENO, JSON_TEXT_MAX, &text, err);
	if (r == 0)
		r = hook_call_parse(agent, event, buf_str(&text), text.len,
				    cwd, &call, err);
	if (r < 0)
		return r;
	r = answer(&call, cwd, typed, out, err);
	hook_call_done(&call);
	return r;
}
