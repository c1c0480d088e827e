/* SPDX-License-Identifier: Apache-2.0 */
/* policy/apply-lists.c - lists of paths, hosts and texts become a policy */

#include "policy/apply.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/command.h"
#include "policy/document.h"
#include "policy/glob.h"
#include "policy/host.h"
#include "policy/locks.h"
#include "policy/pathrule.h"
#include "policy/policy.h"
#include "policy/schema.h"

/* An entry that is empty opens nothing; one that should close something is a
 * mistake that must not pass unseen.
 */
static int empty_entry(const struct apply *apply, const struct fact *fact,
		       size_t index, bool deny)
{
	if (deny)
		return apply_problem(apply, fact, index,
				     "is empty; remove it or name something");
	apply_note_refusal(apply, fact, index, &(struct refusal){
		.why = "is empty and allows nothing",
	});
	return 0;
}

/* A path in plain text, from srt: {"path": "...", "literal": true} */
static const char *literal_path(json_t *entry)
{
	const char *path;
	int literal;

	if (json_object_size(entry) != 2 ||
	    json_unpack(entry, "{s:s,s:b}", "path", &path, "literal",
			&literal) < 0 || !literal)
		return NULL;
	return path;
}

/* No scope opens what a stronger one denies. @text is a path or a pattern, @plain
 * always a path; one of them is there
 */
static bool admit_path(const struct apply *apply, const struct fact *fact,
		       size_t index, const char *text, const char *plain)
{
	const struct source *source = fact->document->source;
	struct path_rule rule = { 0 };
	struct refusal refusal;
	bool admitted;

	if (path_list_denies((enum path_list)fact->setting->slot))
		return true;
	if (plain)
		rule.path = path_resolve(source->base, plain);
	else if (path_rule_parse(text, source->base, apply->policy->home,
				 &rule, NULL) < 0)
		return true;	/* What can't be read is an error soon */
	admitted = locks_admit_path(apply->locks, apply->reader, source->scope,
				    rule.path, rule.glob, &refusal);
	if (!admitted)
		apply_note_refusal(apply, fact, index, &refusal);
	path_rule_done(&rule);
	return admitted;
}

static int apply_path(const struct apply *apply, const struct fact *fact,
		      size_t index, json_t *entry)
{
	const enum path_list list = (enum path_list)fact->setting->slot;
	const bool deny = path_list_denies(list);
	const char *text = json_string_value(entry);
	const char *plain = text ? NULL : literal_path(entry);
	struct err why = { 0 };

	if (!text && !plain)
		return apply_problem(apply, fact, index,
				     "must be a path, or {\"path\": \"...\", \"literal\": true}");
	if (!*(text ? text : plain))
		return empty_entry(apply, fact, index, deny);
	if (!admit_path(apply, fact, index, text, plain))
		return 0;
	if (plain) {
		auto_free char *path = path_resolve(
			fact->document->source->base, plain);

		policy_add_literal(apply->policy, list, path, RULE_USER,
				   apply_origin(fact, index));
		return 0;
	}
	if (deny && document_doubts(fact->document, text))
		return apply_problem(apply, fact, index, "'%s': %s", text,
				     document_doubts(fact->document, text));
	if (policy_add_path(apply->policy, list, text, RULE_USER,
			    apply_origin(fact, index), &why) < 0)
		return apply_problem(apply, fact, index, "%s", why.msg);
	return 0;
}

static int apply_host(const struct apply *apply, const struct fact *fact,
		      size_t index, json_t *entry)
{
	const enum host_list list = (enum host_list)fact->setting->slot;
	const char *text = json_string_value(entry);
	struct err why = { 0 };

	if (!text)
		return apply_problem(apply, fact, index, "must be text");
	if (!*text)
		return empty_entry(apply, fact, index, list == HOST_DENY);
	if (policy_add_host(apply->policy, list, text, NULL,
			    apply_origin(fact, index), &why) < 0)
		return apply_problem(apply, fact, index, "%s", why.msg);
	return 0;
}

static bool is_variable(const char *text)
{
	const size_t n = strcspn(text, "=");

	if (!n || isdigit((unsigned char)*text))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	}
	return true;
}

/* What is wrong with @text as an entry of such a list, or NULL */
static const char *string_fault(enum setting_type type, const char *text)
{
	struct host_range range;
	uint64_t port;

	switch (type) {
	case TYPE_PORTS:
		return text_to_u64(text, UINT16_MAX, &port) < 0 || !port ?
		       "is not a port, 1 to 65535" : NULL;
	case TYPE_RANGES:
		return host_range_parse(text, strlen(text), &range) < 0 ?
		       "is neither an address nor a range such as 10.0.0.0/8" :
		       NULL;
	case TYPE_VARIABLES:
		return is_variable(text) ? NULL :
		       "is neither NAME nor NAME=VALUE";
	default:
		return NULL;
	}
}

static int check_command(const char *text, struct err *why)
{
	struct command_pattern pattern;
	const int r = command_pattern_init(&pattern, text, why);

	if (r == 0)
		command_pattern_done(&pattern);
	return r;
}

static int apply_string(const struct apply *apply, const struct fact *fact,
			size_t index, json_t *entry)
{
	const enum setting_type type = fact->setting->type;
	const char *text = json_string_value(entry);
	struct path_rule rule = { 0 };
	struct err why = { 0 };
	const char *fault;
	char number[24];
	int r;

	if (type == TYPE_PORTS && json_is_integer(entry)) {
		(void)snprintf(number, sizeof(number),
			       "%" JSON_INTEGER_FORMAT,
			       json_integer_value(entry));
		text = number;
	}
	if (!text)
		return apply_problem(apply, fact, index, "must be text");
	if (!*text)
		return empty_entry(apply, fact, index, type == TYPE_RANGES);
	if (type == TYPE_COMMANDS && check_command(text, &why) < 0)
		return apply_problem(apply, fact, index, "%s", why.msg);
	fault = string_fault(type, text);
	if (fault)
		return apply_problem(apply, fact, index, "'%s' %s", text,
				     fault);
	if (type == TYPE_SOCKETS) {
		/* A socket is one path: a pattern would open its neighbours */
		if (glob_is_pattern(text) ||
		    path_rule_parse(text, fact->document->source->base,
				    apply->policy->home, &rule, apply->err) < 0)
			return apply_problem(apply, fact, index,
					     "'%s' must be one socket's path",
					     text);
		text = rule.path;
	}
	r = policy_add_string(apply->policy,
			      (enum string_list)fact->setting->slot, text,
			      apply_origin(fact, index), &why);
	free(rule.path);
	return r < 0 ? apply_problem(apply, fact, index, "%s", why.msg) : 0;
}

static void mark_list(const struct apply *apply, const struct fact *fact)
{
	const int slot = fact->setting->slot;

	if (fact->setting->type == TYPE_PATHS)
		policy_mark_paths(apply->policy, (enum path_list)slot);
	else if (fact->setting->type == TYPE_HOSTS)
		policy_mark_hosts(apply->policy, (enum host_list)slot);
	else
		policy_mark_strings(apply->policy, (enum string_list)slot);
}

int apply_list(const struct apply *apply, const struct fact *fact)
{
	size_t i;
	json_t *entry;
	int r = 0;

	if (!json_is_array(fact->value))
		return apply_wrong_type(apply, fact);
	if (fact->document->authority == AUTHORITY_FULL)
		mark_list(apply, fact);
	json_array_foreach(fact->value, i, entry) {
		if (!apply_admits(apply, fact, i, entry))
			continue;
		mark_list(apply, fact);
		if (fact->setting->type == TYPE_PATHS)
			r = apply_path(apply, fact, i, entry);
		else if (fact->setting->type == TYPE_HOSTS)
			r = apply_host(apply, fact, i, entry);
		else
			r = apply_string(apply, fact, i, entry);
		if (r < 0)
			return r;
	}
	return 0;
}
