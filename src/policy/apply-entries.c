/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/apply-entries.c - lists and objects of settings become a policy
 *
 * Theory of operation: an agent's rules speak of its tools. What a command may
 * do follows from three of them: Edit(path) opens and closes for writing,
 * Read(path) closes for reading, WebFetch(domain:host) opens and closes hosts.
 * All rules go into the policy's rule set, for those who decide about a tool's use.
 *
 * A credential is denied first, whatever its mode; a mask is then noted beside it.
 * So an entry that is half wrong in a managed file can be degraded to a denial.
 */

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/apply.h"
#include "policy/env-rules.h"
#include "policy/glob.h"
#include "policy/host.h"
#include "policy/permission.h"
#include "policy/policy.h"
#include "shell/command-pattern.h"

static const char empty_texts[] = "must be a list of texts that are not empty";

/* An entry that is empty opens nothing; one that should close something is a
 * mistake that must not pass unseen.
 */
static int empty_entry(const struct entry *e, bool deny)
{
	if (deny)
		return entry_problem(e, "is empty; remove it or name something");
	apply_note_refusal(e, &(struct refusal){
		.why = "is empty and allows nothing",
	});
	return 0;
}

/* No scope opens what a stronger one denies */
static bool admit_path(const struct apply *apply, const struct entry *e,
		       const char *path, bool glob)
{
	struct refusal refusal;

	if (managed_admit_path(apply->locks, e->fact->document->source->scope,
			       path, glob, &refusal))
		return true;
	apply_note_refusal(e, &refusal);
	return false;
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

static int add_literal(const struct apply *apply, const struct entry *e,
		       enum path_list list, const char *text)
{
	auto_free char *path = path_resolve(e->fact->document->source->base,
					    text);

	if (path_list_denies(list) || admit_path(apply, e, path, false))
		policy_add_literal(apply->policy, list, path, RULE_USER,
				   entry_origin(e));
	return 0;
}

static int add_path(const struct apply *apply, const struct entry *e)
{
	const enum path_list list = (enum path_list)e->fact->setting->slot;
	const bool deny = path_list_denies(list);
	const char *text = json_string_value(e->value);
	const char *plain = text ? NULL : literal_path(e->value);
	const char *doubt = deny && text ?
		document_doubts(e->fact->document, text) : NULL;
	struct path_rule rule = { 0 };
	struct err why = { 0 };
	bool admitted;

	if (!text && !plain)
		return entry_problem(e, "must be a path, or {\"path\": \"...\", \"literal\": true}");
	if (!*(text ? text : plain))
		return empty_entry(e, deny);
	if (plain)
		return add_literal(apply, e, list, plain);
	/* What cannot be parsed is an error below */
	admitted = deny || path_rule_parse(text, e->fact->document->source->base,
					   apply->policy->home, &rule, NULL) < 0 ||
		   admit_path(apply, e, rule.path, rule.glob);
	path_rule_done(&rule);
	if (!admitted)
		return 0;
	if (doubt)
		return entry_problem(e, "'%s': %s", text, doubt);
	if (policy_add_path(apply->policy, list, text, RULE_USER,
			    entry_origin(e), &why) < 0)
		return entry_problem(e, "%s", why.msg);
	return 0;
}

static int add_host(const struct apply *apply, const struct entry *e)
{
	const enum host_list list = (enum host_list)e->fact->setting->slot;
	const char *text = json_string_value(e->value);
	struct err why = { 0 };

	if (!text)
		return entry_problem(e, "must be text");
	if (!*text)
		return empty_entry(e, list == HOST_DENY);
	if (policy_add_host(apply->policy, list, text, NULL, entry_origin(e),
			    &why) < 0)
		return entry_problem(e, "%s", why.msg);
	return 0;
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
		return env_is_name(text, strcspn(text, "=")) ? NULL :
		       "is neither NAME nor NAME=VALUE";
	default:
		return NULL;
	}
}

static int check_command(const char *text, struct err *why)
{
	struct command_pattern pattern = { 0 };
	const int r = command_pattern_init(&pattern, text, why);

	command_pattern_done(&pattern);
	return r;
}

static int add_string(const struct apply *apply, const struct entry *e)
{
	const struct setting *setting = e->fact->setting;
	const char *text = json_string_value(e->value), *fault;
	struct path_rule rule = { 0 };
	struct err why = { 0 };
	char number[24];
	int r;

	if (setting->type == TYPE_PORTS && json_is_integer(e->value)) {
		(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			       json_integer_value(e->value));
		text = number;
	}
	if (!text)
		return entry_problem(e, "must be text");
	if (!*text)
		return empty_entry(e, setting->type == TYPE_RANGES);
	if (setting->type == TYPE_COMMANDS && check_command(text, &why) < 0)
		return entry_problem(e, "%s", why.msg);
	fault = string_fault(setting->type, text);
	if (fault)
		return entry_problem(e, "'%s' %s", text, fault);
	if (setting->type == TYPE_SOCKETS) {
		/* A socket is one path: a pattern would open its neighbours */
		if (glob_is_pattern(text) ||
		    path_rule_parse(text, e->fact->document->source->base,
				    apply->policy->home, &rule,
				    apply->facts->err) < 0)
			return entry_problem(e, "'%s' must be one socket's path",
					     text);
		text = rule.path;
	}
	r = policy_add_string(apply->policy, (enum string_list)setting->slot,
			      text, entry_origin(e), &why);
	free(rule.path);
	return r < 0 ? entry_problem(e, "%s", why.msg) : 0;
}

static int add_rule_path(const struct apply *apply, const struct entry *e,
			 const struct rule *rule,
			 const struct rule_bases *bases, struct err *why)
{
	const bool deny = rule->action == ACTION_DENY;
	const enum path_list list = rule->tool == TOOL_READ ? PATH_DENY_READ :
		deny ? PATH_DENY_WRITE : PATH_ALLOW_WRITE;
	struct rule_path path;
	int r;

	/* What is readable is not opened by rules but by allowRead */
	if (rule->tool == TOOL_READ && !deny)
		return 0;
	r = rule_path_init(&path, rule, bases, why);
	if (r < 0)
		return r;
	if (!deny && !admit_path(apply, e, path.path, path.glob))
		;	/* Noted */
	else if (path.glob)
		policy_add_glob(apply->policy, list, rule->content,
				take_ptr(path.glob), RULE_USER,
				entry_origin(e));
	else
		policy_add_literal(apply->policy, list, path.path, RULE_USER,
				   entry_origin(e));
	rule_path_done(&path);
	return 0;
}

/* What the sandbox takes from @rule. A tool without a specifier says whether the
 * agent may use it at all, which is no matter of the sandbox.
 */
static int apply_rule(const struct apply *apply, const struct entry *e,
		      const struct rule *rule, const struct rule_bases *bases,
		      struct err *why)
{
	struct refusal refusal = { .why = rule->inert };
	const bool deny = rule->action == ACTION_DENY;

	if (rule->inert)
		apply_note_refusal(e, &refusal);
	if (rule->inert || rule->action == ACTION_ASK)
		return 0;
	if (rule->kind == RULE_PATH)
		return add_rule_path(apply, e, rule, bases, why);
	if (rule->kind != RULE_DOMAIN)
		return 0;
	if (!deny && !managed_admit_host(apply->locks, e->fact, &refusal)) {
		apply_note_refusal(e, &refusal);
		return 0;
	}
	return policy_add_host(apply->policy, deny ? HOST_DENY : HOST_ALLOW,
			       rule->content, NULL, entry_origin(e), why);
}

static int add_rule(const struct apply *apply, const struct entry *e)
{
	static const enum rule_action actions[] = {
		[RULES_ALLOW] = ACTION_ALLOW,
		[RULES_DENY] = ACTION_DENY,
		[RULES_ASK] = ACTION_ASK,
	};
	const enum rule_action action = actions[e->fact->setting->slot];
	const struct rule_bases bases = {
		.root = e->fact->document->rules_base,
		.cwd = apply->policy->cwd,
		.home = apply->policy->home,
	};
	const char *text = json_string_value(e->value);
	struct err why = { 0 };
	struct rule rule;
	int r;

	if (!text || !*text)
		return entry_problem(e, "must be a rule");
	r = rule_parse(text, action, &rule, &why);
	if (r == 0) {
		r = apply_rule(apply, e, &rule, &bases, &why);
		rule_done(&rule);
	}
	if (r == 0)
		r = permission_add(apply->policy->ruleset, text, action, &bases,
				   entry_origin(e), &why);
	return r < 0 ? entry_problem(e, "%s", why.msg) : 0;
}

static const char *unknown_key(json_t *entry)
{
	static const char *const known_keys[] = {
		"path", "name", "mode", "extract", "onExtractNoMatch", "decode",
		"maskClaims", "maskDuplicates", "injectHosts",
	};
	const char *name;
	json_t *value;

	json_object_foreach(entry, name, value) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(known_keys); i++)
			known |= !strcmp(known_keys[i], name);
		if (!known)
			return name;
	}
	return NULL;
}

static const char *text_of(json_t *entry, const char *name)
{
	return json_string_value(json_object_get(entry, name));
}

/* Hide @name. 0, or -EINVAL with a message */
static int deny_credential(const struct apply *apply, const struct entry *e,
			   const char *name, struct err *why)
{
	const char *doubt = document_doubts(e->fact->document, name);

	if (e->fact->setting->slot == CREDENTIAL_ENV) {
		if (!env_is_name(name, strlen(name)))
			return fail(why, -EINVAL,
				    "'%s' is not a variable's name", name);
		return policy_add_string(apply->policy, LIST_ENV_DENY, name,
					 entry_origin(e), why);
	}
	if (doubt)
		return fail(why, -EINVAL, "'%s': %s", name, doubt);
	return policy_add_path(apply->policy, PATH_DENY_READ, name, RULE_USER,
			       entry_origin(e), why);
}

static int fill_strings(json_t *list, char ***v, size_t *len, size_t *cap)
{
	json_t *value;
	size_t i;

	if (!list)
		return 0;
	if (!json_array_size(list))
		return -EINVAL;
	json_array_foreach(list, i, value) {
		const char *text = json_string_value(value);
		char **slot;

		if (!text || !*text)
			return -EINVAL;
		slot = mem_grow((void **)v, (*len)++, cap, sizeof(**v));
		*slot = mem_strdup(text);
	}
	return 0;
}

static int fill_extract(json_t *entry, struct credential *c, struct err *why)
{
	const char *extract = text_of(entry, "extract");
	const char *no_match = text_of(entry, "onExtractNoMatch");
	regex_t regex;
	size_t groups;

	if (json_object_get(entry, "onExtractNoMatch") &&
	    (!no_match || (strcmp(no_match, "warn") != 0 &&
			   strcmp(no_match, "deny") != 0 &&
			   strcmp(no_match, "error") != 0)))
		return fail(why, -EINVAL,
			    "onExtractNoMatch must be \"warn\", \"deny\" or \"error\"");
	if (!json_object_get(entry, "extract"))
		return 0;
	if (!extract || regcomp(&regex, extract, REG_EXTENDED) != 0)
		return fail(why, -EINVAL,
			    "extract is not a regular expression");
	groups = regex.re_nsub;
	regfree(&regex);
	if (!groups)
		return fail(why, -EINVAL,
			    "extract needs a group (...) around the secret");
	c->extract = mem_strdup(extract);
	return 0;
}

static int fill_token(json_t *entry, struct credential *c, struct err *why)
{
	const char *decode = text_of(entry, "decode");

	if (json_object_get(entry, "decode") &&
	    (!decode || strcmp(decode, "jwt") != 0))
		return fail(why, -EINVAL, "decode must be \"jwt\"");
	c->jwt = decode != NULL;
	if (fill_strings(json_object_get(entry, "maskClaims"), &c->claims.v,
			 &c->claims.len, &c->claims.cap) < 0)
		return fail(why, -EINVAL, "maskClaims must be a list of texts");
	if (c->claims.len && !c->jwt)
		return fail(why, -EINVAL,
			    "maskClaims needs \"decode\": \"jwt\"");
	if (fill_strings(json_object_get(entry, "injectHosts"), &c->hosts.v,
			 &c->hosts.len, &c->hosts.cap) < 0)
		return fail(why, -EINVAL, "injectHosts must be a list of hosts");
	for (size_t i = 0; i < c->hosts.len; i++) {
		struct host_pattern *p = host_pattern_new(c->hosts.v[i], false,
							  why);

		if (!p)
			return -EINVAL;
		host_pattern_free(p);
	}
	return 0;
}

static int fill_name(const struct apply *apply, const struct entry *e,
		     const char *name, struct credential *c, struct err *why)
{
	struct path_rule rule = { 0 };
	int r;

	c->kind = (enum credential_kind)e->fact->setting->slot;
	if (c->kind == CREDENTIAL_ENV) {
		c->name = mem_strdup(name);
		return 0;
	}
	if (glob_is_pattern(name))
		return fail(why, -EINVAL, "a mask needs one file, not a pattern");
	r = path_rule_parse(name, e->fact->document->source->base,
			    apply->policy->home, &rule, why);
	c->name = rule.path;
	return r;
}

static int add_mask(const struct apply *apply, const struct entry *e,
		    const char *name, struct err *why)
{
	struct credential c = { 0 };
	int r;

	r = fill_name(apply, e, name, &c, why);
	if (r == 0)
		r = fill_extract(e->value, &c, why);
	if (r == 0)
		r = fill_token(e->value, &c, why);
	if (r < 0) {
		credential_done(&c);
		return r;
	}
	c.origin = entry_origin(e);
	*vec_push(&apply->policy->credentials) = c;
	return 0;
}

static int add_credential(const struct apply *apply, const struct entry *e)
{
	const char *key = e->fact->setting->slot == CREDENTIAL_FILE ? "path"
								    : "name";
	const char *name = text_of(e->value, key);
	const char *mode = text_of(e->value, "mode");
	const char *unknown = unknown_key(e->value);
	const bool mask = mode && !strcmp(mode, "mask");
	struct err why = { 0 };

	if (!name || !*name)
		return entry_problem(e, "needs a \"%s\"", key);
	if (!mask && (!mode || strcmp(mode, "deny") != 0))
		return entry_problem(e, "mode must be \"deny\" or \"mask\"");
	if (!apply_admits(apply, e))
		return 0;
	if (deny_credential(apply, e, name, &why) < 0)
		return entry_problem(e, "%s", why.msg);
	if (unknown)
		return entry_problem(e, "unknown key '%s'", unknown);
	if (mask && add_mask(apply, e, name, &why) < 0)
		return entry_problem(e, "%s", why.msg);
	return 0;
}

/* The list was written, even if as [] */
static void mark_list(const struct apply *apply, const struct setting *setting)
{
	if (setting->type == TYPE_PATHS)
		apply->policy->paths[setting->slot].set = true;
	else if (setting->type == TYPE_HOSTS)
		apply->policy->hosts[setting->slot].set = true;
	else if (setting->type != TYPE_RULES)
		apply->policy->lists[setting->slot].set = true;
}

static int add_entry(const struct apply *apply, const struct entry *e)
{
	if (e->fact->setting->type == TYPE_CREDENTIALS)
		return add_credential(apply, e);
	if (!apply_admits(apply, e))
		return 0;
	mark_list(apply, e->fact->setting);
	switch (e->fact->setting->type) {
	case TYPE_PATHS:
		return add_path(apply, e);
	case TYPE_HOSTS:
		return add_host(apply, e);
	case TYPE_RULES:
		return add_rule(apply, e);
	default:
		return add_string(apply, e);
	}
}

int apply_list(const struct apply *apply, const struct entry *whole)
{
	const struct fact *fact = whole->fact;
	struct entry e = fact_entry(apply->facts, fact);

	if (!json_is_array(fact->value))
		return apply_wrong_type(whole);
	if (fact->document->authority == AUTHORITY_FULL &&
	    fact->setting->type != TYPE_CREDENTIALS)
		mark_list(apply, fact->setting);
	while (entry_next(&e)) {
		const int r = add_entry(apply, &e);

		if (r < 0)
			return r;
	}
	return 0;
}

int apply_reasons(const struct apply *apply, const struct entry *whole)
{
	struct entry e = *whole;
	json_t *value;

	if (!json_is_object(e.value))
		return apply_wrong_type(whole);
	json_object_foreach(whole->value, e.member, value) {
		const char *reason = json_string_value(value);
		int r = 0;

		if (!reason || !*reason)
			r = entry_problem(&e, "must be a text that is not empty");
		else if (!policy_set_reason(apply->policy, e.member, reason))
			entry_warn(&e, "is not an entry of network.deniedDomains");
		if (r < 0)
			return r;
	}
	return 0;
}

int apply_ignores(const struct apply *apply, const struct entry *whole)
{
	struct entry e = *whole;
	json_t *list, *text;
	size_t i;
	int r;

	if (!json_is_object(e.value))
		return apply_wrong_type(whole);
	json_object_foreach(whole->value, e.member, list) {
		r = json_is_array(list) ? 0 :
		    entry_problem(&e, "must be a list of texts");
		json_array_foreach(list, i, text) {
			const char *s = json_string_value(text);
			struct err why = { 0 };

			if (!s || !*s)
				r = entry_problem(&e, empty_texts);
			else if (policy_add_ignore(apply->policy, e.member, s,
						   entry_origin(whole), &why) < 0)
				return entry_problem(&e, "%s", why.msg);
			if (r < 0)
				return r;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_strings(const struct apply *apply, const struct entry *whole,
		       const char *name, enum string_list list)
{
	json_t *entries = json_object_get(whole->value, name), *text;
	struct entry e = *whole;
	size_t i;
	int r = 0;

	e.member = name;
	if (!entries || json_is_null(entries))
		return 0;
	if (!json_is_array(entries))
		return entry_problem(&e, "must be a list of texts");
	json_array_foreach(entries, i, text) {
		const char *s = json_string_value(text);
		struct err why = { 0 };

		if (!s || !*s)
			r = entry_problem(&e, empty_texts);
		else if (policy_add_string(apply->policy, list, s,
					   entry_origin(whole), &why) < 0)
			return entry_problem(&e, "%s", why.msg);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The object of the strongest file counts, and as a whole */
int apply_tls(const struct apply *apply, const struct entry *whole)
{
	const char *cert = text_of(whole->value, "caCertPath");
	const char *key = text_of(whole->value, "caKeyPath");
	int r;

	if (!json_is_object(whole->value))
		return apply_wrong_type(whole);
	if (apply->policy->flags[FLAG_TLS_TERMINATE].set)
		return 0;
	if (!cert != !key)
		return entry_problem(whole, "needs both caCertPath and caKeyPath, or neither");
	policy_set_flag(apply->policy, FLAG_TLS_TERMINATE, true,
			entry_origin(whole));
	if (cert)
		policy_set_text(apply->policy, TEXT_TLS_CA_CERT, cert,
				entry_origin(whole));
	if (key)
		policy_set_text(apply->policy, TEXT_TLS_CA_KEY, key,
				entry_origin(whole));
	r = add_strings(apply, whole, "excludeDomains", LIST_TLS_EXCLUDE);
	return r < 0 ? r : add_strings(apply, whole, "extraCaCertPaths",
				       LIST_TLS_EXTRA_CA);
}
