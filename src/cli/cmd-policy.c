/* SPDX-License-Identifier: Apache-2.0 */
/* cli/policy.c - cloche policy: what holds, why, and how to change it */

#include "cli/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/command.h"
#include "lib/options.h"
#include "lib/session.h"
#include "lib/why.h"
#include "plan/view.h"
#include "policy/policy.h"
#include "policy/settings.h"

static const struct {
	const char *name, *words;
	int (*run)(const struct policy_call *call, struct err *err);
} verbs[] = {
#define POLICY_COMMAND(function, name, synopsis, help) \
	{ name, synopsis, policy_##function },
#include "cli/policy.def"
#undef POLICY_COMMAND
};

void policy_print_json(json_t *value)
{
	auto_free char *text = json_dumps(value, JSON_COMPACT);

	puts(text ? text : "null");
	json_decref(value);
}

json_t *policy_origin_json(const struct origin *origin)
{
	const struct source *source = origin->source;
	const unsigned int line = origin_line(origin);

	if (!source)
		return json_null();
	return json_pack("{s:s, s:o*, s:o, s:o*, s:s*}",
			 "scope", scope_name(source->scope),
			 "file", source->scope == SCOPE_BUILTIN ? NULL
						: json_text(source->name),
			 "line", line ? json_integer(line) : json_null(),
			 "key", origin->key ? json_text(origin->key) : NULL,
			 "reason", origin->reason);
}

static int take_scope(int *argc, char **argv, enum scope *ret,
		      struct err *err)
{
	const char *value;

	while ((value = cli_take(argc, argv, "--scope")) != NULL) {
		if (!strcmp(value, "user"))
			*ret = SCOPE_USER;
		else if (!strcmp(value, "project"))
			*ret = SCOPE_PROJECT;
		else if (!strcmp(value, "claude") || !strcmp(value, "local"))
			*ret = SCOPE_LOCAL;
		else
			return fail(err, -EINVAL,
				    "--scope: '%s' is not one of user, project, claude",
				    value);
	}
	return 0;
}

/* Options may stand before and behind the words: all are gathered. @synopsis
 * says which of ours there are.
 */
static int parse(int argc, char **argv, const char *synopsis,
		 struct options *options, struct policy_call *call,
		 struct err *err)
{
	int *json = strstr(synopsis, "--json") ? &call->json : NULL;
	int kept = 0;
	int r = strstr(synopsis, "--scope") ?
		take_scope(&argc, argv, &call->scope, err) : 0;

	call->words = argv + 1;
	for (int i = 1; r >= 0 && i < argc;) {
		const bool rest = !strcmp(argv[i], "--");
		const int used = cli_parse_query(argc - i + 1, argv + i - 1,
						 options, json, err);

		if (used < 0)
			return used;
		i += used - 1;
		if (i < argc)
			call->words[kept++] = argv[i++];
		while (rest && i < argc)
			call->words[kept++] = argv[i++];
	}
	call->count = kept;
	call->options = options;
	return r;
}

static int usage(const char *word, struct err *err)
{
	struct text_near near = { .word = word ? word : "" };
	auto_buf struct buf all = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		buf_addf(&all, "%s%s", i ? ", " : "", verbs[i].name);
	if (!word)
		return fail(err, -EINVAL, "policy needs one of %s",
			    buf_str(&all));
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		(void)text_near_try(&near, verbs[i].name);
	if (near.best)
		return fail(err, -EINVAL, "policy: no command '%s'; did you mean 'cloche policy %s'?",
			    word, near.best);
	return fail(err, -EINVAL, "policy: '%s' is not one of %s", word,
		    buf_str(&all));
}

int cli_policy(int argc, char **argv, struct err *err)
{
	struct options options = { 0 };
	struct policy_call call = { .scope = SCOPE_BUILTIN };
	int r;

	if (argc < 2)
		return usage(NULL, err);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, argv[1]) != 0)
			continue;
		r = parse(argc - 1, argv + 1, verbs[i].words, &options, &call,
			  err);
		if (r >= 0)
			r = verbs[i].run(&call, err);
		if (r == -EINVAL && !*err->msg)
			r = fail(err, r, "usage: cloche policy %s %s",
				 verbs[i].name, verbs[i].words);
		options_done(&options);
		return r;
	}
	return usage(argv[1], err);
}

static json_t *why_json(enum why_op op, const struct why *why)
{
	return json_pack("{s:i, s:b, s:s, s:o, s:o, s:o*, s:o*, s:o*}",
			 "version", 1, "allowed", why->allowed,
			 "op", why_op_name(op),
			 "target", json_text(why->target),
			 "reason", json_text(why->reason),
			 "rule", why->rule ? json_text(why->rule) : NULL,
			 "origin", why->origin ?
			 policy_origin_json(why->origin) : NULL, "suggest",
			 why->suggest ? json_text(why->suggest) : NULL);
}

static void why_print(enum why_op op, const struct why *why)
{
	auto_buf struct buf from = { 0 };

	cli_say(stdout, "%s: %s %s (%s)", why->allowed ? "allowed" : "denied",
		why_op_name(op), why->target, why->reason);
	if (why->origin) {
		origin_describe(why->origin, &from);
		cli_say(stdout, "  rule: %s  (%s)", why->rule, buf_str(&from));
	} else if (why->rule) {
		cli_say(stdout, "  rule: %s  (built in)", why->rule);
	}
	if (why->suggest) {
		puts("  to allow it:");
		cli_say(stdout, "    %s", why->suggest);
	} else if (!why->allowed) {
		puts("  no further rule allows it");
	}
}

int policy_why(const struct policy_call *call, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	struct why why;
	enum why_op op;
	bool allowed;
	int r;

	if (call->count != 2 || why_op_parse(call->words[0], &op) < 0)
		return -EINVAL;
	r = session_policy(call->options, &policy, err);
	if (r == 0)
		r = why_ask(policy, op, call->words[1], &why, err);
	if (r < 0)
		return r;
	if (call->json)
		policy_print_json(why_json(op, &why));
	else
		why_print(op, &why);
	allowed = why.allowed;
	why_done(&why);
	return allowed ? 0 : 1;
}

static json_t *notes_json(const struct settings_report *report)
{
	static const char *const levels[NOTE_LEVELS] = {
		[NOTE_INFO] = "info",
		[NOTE_WARNING] = "warning", [NOTE_UNKNOWN] = "warning",
		[NOTE_ERROR] = "error",
	};
	json_t *list = json_array();

	for (size_t i = 0; i < report->notes.len; i++)
		json_array_append_new(list, json_pack("{s:s, s:o}",
			"level", levels[report->notes.v[i].level],
			"text", json_text(report->notes.v[i].text)));
	return list;
}

static void notes_print(const struct settings_report *report)
{
	static const char *const words[NOTE_LEVELS] = {
		[NOTE_INFO] = "note", [NOTE_WARNING] = "warning",
		[NOTE_UNKNOWN] = "warning",
		[NOTE_ERROR] = "error",
	};

	for (size_t i = 0; i < report->notes.len; i++)
		cli_say(stdout, "%s: %s", words[report->notes.v[i].level],
			report->notes.v[i].text);
	if (report->dropped)
		printf("and %zu more\n", report->dropped);
	if (!report->notes.len)
		puts("nothing to complain about");
}

/* What the file system says about the rules: only where they could be read */
static void check_view(struct policy *policy, struct settings_report *report)
{
	auto_view struct view *view = NULL;
	struct err why = { 0 };

	if (settings_errors(report))
		return;
	if (view_build(policy, &view, &why) < 0) {
		settings_note(report, NOTE_ERROR, "%s", why.msg);
		return;
	}
	for (size_t i = 0; i < view->notes.len; i++)
		settings_note(report, NOTE_WARNING, "%s",
			      view->notes.v[i].text);
}

static int check_file(const char *file, struct settings_report *report,
		      struct err *err)
{
	auto_free char *cwd = getcwd(NULL, 0);
	auto_buf struct buf text = { 0 };
	struct settings_request request;
	int r;

	if (!cwd)
		return fail_errno(err, "cannot tell the current directory");
	r = fs_read(AT_FDCWD, file, JSON_TEXT_MAX, &text, err);
	if (r == -EFBIG) {
		settings_note(report, NOTE_ERROR, "%s", err->msg);
		return 0;
	}
	if (r < 0)
		return r;
	settings_request_init(&request, cwd);
	r = settings_check_text(&request, SCOPE_USER, file, buf_str(&text),
				text.len, report, err);
	settings_request_done(&request);
	return r;
}

int policy_check(const struct policy_call *call, struct err *err)
{
	auto_report struct settings_report report = { 0 };
	auto_policy struct policy *policy = NULL;
	size_t errors;
	int r;

	if (call->count > 1)
		return -EINVAL;
	if (call->count) {
		r = check_file(call->words[0], &report, err);
	} else {
		r = session_policy_report(call->options, true, &policy,
					  &report, err);
		if (r == 0)
			check_view(policy, &report);
	}
	if (r < 0)
		return r;
	errors = settings_errors(&report);
	if (call->json)
		policy_print_json(json_pack("{s:i, s:b, s:o}", "version", 1,
			"ok", !errors, "notes", notes_json(&report)));
	else
		notes_print(&report);
	return errors ? 1 : 0;
}
