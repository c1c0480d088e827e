/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-policy.c - cloche policy why, check, diff and show */

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
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "policy/asks.h"
#include "policy/mode.h"
#include "policy/policy.h"
#include "policy/schema.h"
#include "policy/settings.h"
#include "report/run-record.h"
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

static json_t *why_json(const struct policy_why *why)
{
	return json_pack("{s:i, s:b, s:s, s:o, s:o, s:o*, s:o*, s:o*}",
			 "version", 1, "allowed", why->allowed,
			 "op", policy_why_op_name(why->op),
			 "target", json_text(why->target),
			 "reason", json_text(why->reason),
			 "rule", why->rule ? json_text(why->rule) : NULL,
			 "origin", why->origin ?
			 policy_origin_json(why->origin) : NULL, "suggest",
			 why->suggest ? json_text(why->suggest) : NULL);
}

static void why_print(const struct policy_why *why)
{
	auto_buf struct buf from = { 0 };

	terminal_line(stdout, "%s: %s %s (%s)", why->allowed ? "allowed" : "denied",
		policy_why_op_name(why->op), why->target, why->reason);
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

static int fail_kind(const char *name, struct err *err)
{
	struct text_near near = { .word = name };

	for (enum policy_why_op op = 0; op < POLICY_WHY_OPS; op++)
		(void)text_near_try(&near, policy_why_op_name(op));
	if (near.best)
		return fail(err, -EINVAL, "'%s' is no kind of access; did you mean %s?",
			    name, near.best);
	return fail(err, -EINVAL, "'%s' is not one of host, read, write, socket, port, variable",
		    name);
}

int cmd_policy_why(struct call *call, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	auto_why struct policy_why why = { 0 };
	enum policy_why_op op;
	int r;

	if (policy_why_op_parse(call->args[0], &op) < 0)
		return fail_kind(call->args[0], err);
	r = decision_policy(&call->options, &policy, err);
	if (r == 0)
		r = policy_why_ask(policy, op, call->args[1], &why, err);
	if (r < 0)
		return r;
	if (call_flag(call, "json"))
		print_json(why_json(&why), JSON_COMPACT);
	else
		why_print(&why);
	return why.allowed ? 0 : 1;
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
	auto_request struct settings_request request = { 0 };
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
	return settings_check_text(&request, SCOPE_USER, file, buf_str(&text),
				   text.len, report, err);
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
	auto_request struct settings_request req = { 0 };
	auto_buf struct buf text = { 0 };
	auto_close int fd = pipe ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	int r = pipe ? fs_read_fd(fd, JSON_TEXT_MAX, &text, err) :
		fs_read(AT_FDCWD, path, JSON_TEXT_MAX, &text, err);

	if (r == -ENOENT && !required)
		return 0;
	if (r < 0)
		return r;
	settings_request_init(&req, dir);
	return settings_reach(&req, path, dir, buf_str(&text), text.len, ret,
			      err);
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

		if (ask->closes == own || !asks_more(a, b, ask))
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
	auto_json json_t *more = json ? json_array() : NULL;
	auto_json json_t *less = json ? json_array() : NULL;
	auto_asks struct asks old = { 0 }, new = { 0 };
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
	return r < 0 ? r : n ? 1 : 0;
}

/* `policy show` builds the answer once as JSON, a member for each row of schema.def,
 * and prints the text for people from that
 */
static json_t *entry(json_t *value, const struct origin *origin)
{
	return json_pack("{s:o, s:o}", "value", value, "origin",
			 policy_origin_json(origin));
}

static json_t *list_of(bool set, json_t *entries)
{
	return json_pack("{s:b, s:o}", "set", set, "entries", entries);
}

static json_t *paths_json(const struct path_rules *rules)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rules->len; i++) {
		const struct path_rule *rule = &rules->v[i];
		json_t *o = entry(json_text(rule->path), &rule->origin);

		if (rule->glob)
			json_object_set_new(o, "pattern",
					    json_text(rule->text));
		if (rule->marker)
			json_object_set_new(o, "if", json_string(
				"it holds a secret"));
		json_array_append_new(list, o);
	}
	return list_of(rules->set, list);
}

static json_t *list_json(const struct policy *p, enum string_list which)
{
	const struct list_rules *rules = &p->lists[which];
	json_t *list = json_array();

	for (size_t i = 0; i < rules->len; i++) {
		const struct list_rule *rule = &rules->v[i];
		/* A variable's value may be a secret, its name is not */
		auto_free char *shown = which == LIST_ENV_SET ?
			mem_strndup(rule->text, strcspn(rule->text, "=")) :
			which == LIST_IGNORES ?
			mem_printf("%s: %s", rule->detail, rule->text) :
			mem_strdup(rule->text);
		json_t *o = entry(json_text(shown), &rule->origin);

		if (rule->detail && which != LIST_IGNORES)
			json_object_set_new(o, "reason",
					    json_text(rule->detail));
		json_array_append_new(list, o);
	}
	return list_of(rules->set, list);
}

static json_t *flag_json(const struct flag *flag)
{
	return flag->set ? entry(json_boolean(flag->value), &flag->origin)
			 : NULL;
}

static json_t *number_json(const struct number *number)
{
	return number->set ? entry(json_integer((json_int_t)number->value),
				   &number->origin) : NULL;
}

/* A proxy's URL may hold a password */
static json_t *text_json(const struct text_value *text)
{
	const char *at = text->value ? strrchr(text->value, '@') : NULL;
	const char *scheme = text->value ? strstr(text->value, "://") : NULL;
	auto_free char *shown = NULL;

	if (!text->value)
		return NULL;
	if (at && scheme && scheme < at)
		shown = mem_printf("%.*s***%s",
				   (int)(scheme + 3 - text->value),
				   text->value, at);
	return entry(json_text(shown ? shown : text->value), &text->origin);
}

/* What became of one row of the schema; NULL if it is not set */
static json_t *value_json(const struct policy *p, const struct setting *s)
{
	switch (s->type) {
	case TYPE_FLAG:
	case TYPE_TLS:
		return flag_json(&p->flags[s->slot]);
	case TYPE_COUNT:
	case TYPE_PORT:
	case TYPE_DEPTH:
	case TYPE_SIZE:
	case TYPE_DURATION:
		return number_json(&p->numbers[s->slot]);
	case TYPE_TEXT:
	case TYPE_PROXY:
	case TYPE_TIER:
	case TYPE_OBJECT:
		return text_json(&p->texts[s->slot]);
	case TYPE_PROFILE:
		return entry(json_string(profile_name(p->profile)),
			     &p->profile_origin);
	case TYPE_NET:
		return entry(json_string(net_mode_name(p->net)),
			     &p->net_origin);
	case TYPE_PATHS:
		return paths_json(&p->paths[s->slot]);
	case TYPE_HOSTS:
	case TYPE_STRINGS:
	case TYPE_SECRETS:
	case TYPE_PORTS:
	case TYPE_RANGES:
	case TYPE_SOCKETS:
	case TYPE_VARIABLES:
	case TYPE_COMMANDS:
	case TYPE_CREDENTIALS:
	case TYPE_OBJECTS:
		return list_json(p, (enum string_list)s->slot);
	case TYPE_IGNORES:
		return list_json(p, LIST_IGNORES);
	default:
		return NULL;
	}
}

static json_t *settings_json(const struct policy *p)
{
	json_t *all = json_object();
	size_t n;
	const struct setting *rows = schema_table(&n);

	for (size_t i = 0; i < n; i++) {
		/* Lists of Claude's area are in those of the sandbox */
		const bool twice = rows[i].area == AREA_CLAUDE &&
				   rows[i].type == TYPE_PATHS;
		json_t *value = twice ? NULL : value_json(p, &rows[i]);

		if (value)
			json_object_set_new(all, rows[i].path, value);
	}
	return all;
}

static json_t *files_json(const struct settings_report *report)
{
	static const char *const states[] = {
		[FILE_MISSING] = "missing", [FILE_READ] = "read",
		[FILE_BAD] = "bad",
	};
	json_t *list = json_array();

	for (size_t i = 0; i < report->files.len; i++)
		json_array_append_new(list, json_pack("{s:s, s:o, s:s}",
			"scope", scope_name(report->files.v[i].scope),
			"path", json_text(report->files.v[i].path),
			"state", states[report->files.v[i].state]));
	return list;
}

static json_t *policy_json(const struct policy *p,
			   const struct settings_report *report)
{
	const struct origin *lock = mode_lock(p);

	return json_pack("{s:i, s:o, s:o, s:o*, s:s, s:o, s:o, s:o}",
		"version", 1, "cwd", json_text(p->cwd),
		"project", policy_has_project(p) ? json_text(p->project)
						 : json_null(),
		"home", p->home ? json_text(p->home) : NULL,
		"mode", mode_name(mode_of(p)),
		"lock", lock ? policy_origin_json(lock) : json_null(),
		"files", files_json(report), "settings", settings_json(p));
}

/* "  (FILE:LINE: KEY)" or what stands for it */
static void print_origin(json_t *origin)
{
	const char *file = json_get_text(origin, "file");
	const char *key = json_get_text(origin, "key");
	const char *reason = json_get_text(origin, "reason");
	json_t *line = json_object_get(origin, "line");

	if (!json_is_object(origin))
		terminal_line(stdout, "  (default)");
	else if (!file)
		terminal_line(stdout, "  (built in: %s)", reason ? reason : "");
	else if (json_is_integer(line))
		terminal_line(stdout, "  (%s:%d: %s)", file,
			(int)json_integer_value(line), key ? key : "");
	else
		terminal_line(stdout, "  (%s)", file);
}

static void print_value(json_t *o)
{
	json_t *value = json_object_get(o, "pattern");
	auto_free char *text = NULL;
	auto_buf struct buf safe = { 0 };

	if (!value)
		value = json_object_get(o, "value");
	text = json_is_string(value) ? mem_strdup(json_string_value(value))
				     : json_dumps(value, JSON_ENCODE_ANY);
	text_escape(&safe, text ? text : "?");
	fputs(buf_str(&safe), stdout);
	if (json_object_get(o, "if"))
		printf(", while %s",
		       json_get_text(o, "if"));
	print_origin(json_object_get(o, "origin"));
}

static bool is_built_in(json_t *one)
{
	json_t *origin = json_object_get(one, "origin");

	return json_is_object(origin) && !json_object_get(origin, "file");
}

enum { BUILT_IN_MAX = 4 };	/* More are only counted */

/* The entries of settings files; of the built-in ones how many there are, or all
 * if @verbose
 */
static void print_entries(json_t *entries, bool verbose)
{
	size_t i, built_in = 0;
	bool all;
	json_t *one;

	json_array_foreach(entries, i, one)
		built_in += is_built_in(one);
	all = verbose || built_in <= BUILT_IN_MAX;
	json_array_foreach(entries, i, one) {
		if (all || !is_built_in(one)) {
			printf("  ");
			print_value(one);
		}
	}
	if (!all)
		printf("  %zu built in (-v shows them)\n", built_in);
}

static void print_policy(json_t *all, bool verbose)
{
	const char *name = json_get_text(all, "project");
	const char *key;
	json_t *value;

	terminal_line(stdout, "project: %s", name ? name : "none (nothing is writable by default)");
	printf("agents' mode: %s (of their hooks; 'cloche run' always uses the sandbox)\n",
	       json_get_text(all, "mode"));
	json_object_foreach(json_object_get(all, "settings"), key, value) {
		json_t *entries = json_object_get(value, "entries");

		if (!entries) {
			printf("%s: ", key);
			print_value(value);
			continue;
		}
		if (!json_is_true(json_object_get(value, "set")) &&
		    !json_array_size(entries))
			continue;
		printf("%s:%s\n", key, json_array_size(entries) ? "" : " []");
		print_entries(entries, verbose);
	}
}

int cmd_policy_show(struct call *call, struct err *err)
{
	auto_report struct settings_report report = { 0 };
	auto_policy struct policy *policy = NULL;
	char digest[POLICY_DIGEST_SIZE];
	auto_json json_t *all = NULL;
	int r;

	r = decision_policy_report(&call->options, false, &policy, &report, err);
	if (r < 0)
		return r;
	if (call_flag(call, "digest")) {
		policy_digest(policy, digest);
		puts(digest);
		return 0;
	}
	all = policy_json(policy, &report);
	if (call_flag(call, "json"))
		print_json(take_ptr(all), JSON_COMPACT);
	else
		print_policy(all, options_has(&call->options, OPTION_VERBOSE));
	return 0;
}
