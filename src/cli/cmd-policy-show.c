/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cmd-policy-show.c - cloche policy show: every value and who said so
 *
 * Theory of operation: the answer is built once as JSON, a member for each row
 * of schema.def, and the text for people is printed from that.
 */

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/cmd-policy.h"
#include "cli/command-line.h"
#include "policy/mode.h"
#include "policy/policy.h"
#include "policy/schema.h"
#include "policy/settings.h"
#include "run/decision.h"
#include "run/options.h"

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

/* What became of one row of the schema; NULL if nobody set it */
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
	case TYPE_PORTS:
	case TYPE_RANGES:
	case TYPE_SOCKETS:
	case TYPE_VARIABLES:
	case TYPE_COMMANDS:
	case TYPE_CREDENTIALS:
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
	const char *file = json_string_value(json_object_get(origin, "file"));
	const char *key = json_string_value(json_object_get(origin, "key"));
	const char *reason = json_string_value(json_object_get(origin,
							       "reason"));
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
		       json_string_value(json_object_get(o, "if")));
	print_origin(json_object_get(o, "origin"));
}

static bool is_built_in(json_t *one)
{
	json_t *origin = json_object_get(one, "origin");

	return json_is_object(origin) && !json_object_get(origin, "file");
}

enum { BUILT_IN_MAX = 4 };	/* More are only counted */

/* The entries that somebody wrote; of the built-in ones how many there are, or all
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
	const char *name = json_string_value(json_object_get(all, "project"));
	const char *key;
	json_t *value;

	terminal_line(stdout, "project: %s", name ? name : "none (nothing is writable by default)");
	printf("agents' mode: %s (of their hooks; 'cloche run' always uses the sandbox)\n",
	       json_string_value(json_object_get(all, "mode")));
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
	json_t *all;
	int r;

	r = decision_policy_report(&call->options, false, &policy, &report, err);
	if (r < 0)
		return r;
	all = policy_json(policy, &report);
	if (call_flag(call, "json")) {
		print_json(all, JSON_COMPACT);
	} else {
		print_policy(all, options_has(&call->options, OPTION_VERBOSE));
		json_decref(all);
	}
	return 0;
}
