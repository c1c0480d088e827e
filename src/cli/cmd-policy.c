/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-policy.c - cloche policy why, check and diff */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "base/terminal.h"
#include "cli/cmd-policy.h"
#include "cli/command-line.h"
#include "policy/asks.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "run/decision.h"
#include "run/options.h"
#include "run/policy-why.h"
#include "view/view.h"

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

static json_t *why_json(enum policy_why_op op, const struct policy_why *why)
{
	return json_pack("{s:i, s:b, s:s, s:o, s:o, s:o*, s:o*, s:o*}",
			 "version", 1, "allowed", why->allowed,
			 "op", policy_why_op_name(op),
			 "target", json_text(why->target),
			 "reason", json_text(why->reason),
			 "rule", why->rule ? json_text(why->rule) : NULL,
			 "origin", why->origin ?
			 policy_origin_json(why->origin) : NULL, "suggest",
			 why->suggest ? json_text(why->suggest) : NULL);
}

static void why_print(enum policy_why_op op, const struct policy_why *why)
{
	auto_buf struct buf from = { 0 };

	terminal_line(stdout, "%s: %s %s (%s)", why->allowed ? "allowed" : "denied",
		policy_why_op_name(op), why->target, why->reason);
	if (why->origin) {
		origin_describe(why->origin, &from);
		terminal_line(stdout, "  rule: %s  (%s)", why->rule, buf_str(&from));
	} else if (why->rule) {
		terminal_line(stdout, "  rule: %s  (built in)", why->rule);
	}
	if (why->suggest) {
		puts("  to allow it:");
		terminal_line(stdout, "    %s", why->suggest);
	} else if (!why->allowed) {
		puts("  no further rule allows it");
	}
}

int cmd_policy_why(struct call *call, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	struct policy_why why;
	enum policy_why_op op;
	bool allowed;
	int r;

	if (policy_why_op_parse(call->args[0], &op) < 0)
		return call_fail_usage(call, err);
	r = decision_policy(&call->options, &policy, err);
	if (r == 0)
		r = policy_why_ask(policy, op, call->args[1], &why, err);
	if (r < 0)
		return r;
	if (call_flag(call, "json"))
		print_json(why_json(op, &why), JSON_COMPACT);
	else
		why_print(op, &why);
	allowed = why.allowed;
	policy_why_done(&why);
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
	for (size_t i = 0; i < report->notes.len; i++) {
		const enum note_level level = report->notes.v[i].level;

		terminal_line(stdout, "%s: %s", level == NOTE_INFO ? "note" :
			level == NOTE_ERROR ? "error" : "warning",
			report->notes.v[i].text);
	}
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

int cmd_policy_check(struct call *call, struct err *err)
{
	auto_report struct settings_report report = { 0 };
	auto_policy struct policy *policy = NULL;
	size_t errors;
	int r;

	if (call->count) {
		r = check_file(call->args[0], &report, err);
	} else {
		r = decision_policy_report(&call->options, true, &policy,
					  &report, err);
		if (r == 0)
			check_view(policy, &report);
	}
	if (r < 0)
		return r;
	errors = settings_errors(&report);
	if (call_flag(call, "json"))
		print_json(json_pack("{s:i, s:b, s:o}", "version", 1,
			"ok", !errors, "notes", notes_json(&report)),
			JSON_COMPACT);
	else
		notes_print(&report);
	return errors ? 1 : 0;
}

/* @pipe: one of the shell, which has no name and is waited for */
static int add_file(const char *path, const char *dir, bool required, bool pipe,
		    struct asks *ret, struct err *err)
{
	struct settings_request req;
	auto_buf struct buf text = { 0 };
	auto_close int fd = pipe ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	int r = pipe ? fs_read_fd(fd, JSON_TEXT_MAX, &text, err) :
		fs_read(AT_FDCWD, path, JSON_TEXT_MAX, &text, err);

	if (r == -ENOENT && !required)
		return 0;
	if (r < 0)
		return r;
	settings_request_init(&req, dir);
	r = settings_reach(&req, path, dir, buf_str(&text), text.len, ret,
			   err);
	settings_request_done(&req);
	return r;
}

/* A settings file, or a directory with those of a repository */
static int read_reach(const char *path, struct asks *ret, struct err *err)
{
	static const char *const names[] = {
		".cloche.json", ".claude/settings.json",
		".claude/settings.local.json",
	};
	char real[PATH_MAX];
	auto_free char *dir = NULL;
	struct stat st;
	int r = 0;

	if (stat(path, &st) < 0)
		return fail_errno(err, "'%s'", path);
	if (!realpath(path, real))
		return S_ISFIFO(st.st_mode) && getcwd(real, sizeof(real)) ?
		       add_file(path, real, true, true, ret, err) :
		       fail_errno(err, "'%s'", path);
	if (!S_ISDIR(st.st_mode)) {
		dir = path_parent(real);
		if (!strcmp(path_base(dir), ".claude")) {
			auto_free char *claude = take_ptr(dir);

			dir = path_parent(claude);
		}
		return add_file(real, dir, true, false, ret, err);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		auto_free char *file = path_join(real, names[i]);

		r = add_file(file, real, false, false, ret, err);
	}
	return r;
}

static bool is_covered(const struct asks *asks, const struct ask *ask)
{
	for (size_t i = 0; i < asks->len; i++) {
		if (ask_covers(&asks->v[i], ask))
			return true;
	}
	return false;
}

/* What @a opens beyond @b, and what @b denies beyond @a */
static size_t print_more(const struct asks *a, const struct asks *b, char sign,
			 json_t *list)
{
	size_t n = 0;

	for (size_t i = 0; i < a->len + b->len; i++) {
		const bool own = i < a->len;
		const struct ask *ask = own ? &a->v[i] : &b->v[i - a->len];
		auto_free char *line = ask_line(ask);
		auto_buf struct buf words = { 0 };

		if (ask->closes == own || is_covered(own ? b : a, ask))
			continue;
		n++;
		ask_describe(ask, &words);
		if (list)
			json_array_append_new(list, json_text(line));
		else
			terminal_line(stdout, "%c %s%s", sign, !ask->closes ? "" : sign == '+' ?
				"no longer denied: " : "now denied: ", buf_str(&words));
	}
	return n;
}

int cmd_policy_diff(struct call *call, struct err *err)
{
	const bool json = call_flag(call, "json");
	json_t *more = json ? json_array() : NULL;
	json_t *less = json ? json_array() : NULL;
	struct asks old = { 0 }, new = { 0 };
	size_t n = 0;
	int r;

	r = read_reach(call->args[0], &old, err);
	if (r == 0)
		r = read_reach(call->args[1], &new, err);
	if (r == 0) {
		n = print_more(&new, &old, '+', more);
		(void)print_more(&old, &new, '-', less);
	}
	if (r == 0 && json)
		print_json(json_pack("{s:i, s:b, s:O, s:O}", "version",
			1, "ok", !n, "more", more, "less", less), JSON_COMPACT);
	json_decref(more);
	json_decref(less);
	asks_done(&old);
	asks_done(&new);
	return r < 0 ? r : n ? 1 : 0;
}
