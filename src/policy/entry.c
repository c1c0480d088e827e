/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/entry.c - parse an entry of a settings file, and find what it requests
 *
 * Theory of operation: an entry is parsed once, by the type of its row; approval,
 * `policy diff` and the policy use the result. Each row of schema.def has the values
 * that only tighten and the kind of request that all other values are. A path below a
 * directory that is writable anyway is no request, unless the defaults hide it, a
 * symbolic link leads elsewhere, or a server of the host listens there.
 */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/dedup.h"
#include "policy/document.h"
#include "policy/env-rules.h"
#include "policy/file-reader.h"
#include "policy/glob.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "policy/rule-path.h"
#include "policy/srt-settings.h"

/* True if the number is at least as strict as in every file that is not a repository's;
 * where no such file sets it, as the default
 */
static bool is_stricter(const struct entry *entry, bool less)
{
	const struct facts *facts = entry->facts;
	const struct fact *fact = entry->fact;
	uint64_t mine, other;
	bool set = false;

	if (schema_number(fact->setting->type, fact->value, &mine) < 0)
		return true;	/* Reported as an error elsewhere */
	for (size_t i = 0; i < facts->len; i++) {
		const struct fact *f = &facts->v[i];

		if (f->setting != fact->setting || f->document == fact->document ||
		    scope_is_repository(f->document->source->scope) ||
		    schema_number(f->setting->type, f->value, &other) < 0)
			continue;
		set = true;
		if (less ? mine > other : mine < other)
			return false;
	}
	return set || less ||
	       mine >= strtoull(fact->setting->otherwise, NULL, 10);
}

static bool is_word(const json_t *value, const char *word)
{
	const char *text = json_string_value(value);

	return text && !strcmp(text, word);
}

static bool tightens(const struct entry *entry)
{
	const json_t *value = entry->value;

	switch (entry->fact->setting->tighten) {
	case TIGHTEN_NEVER:
		return false;
	case TIGHTEN_YES:
		return true;
	case TIGHTEN_TRUE:
		return !json_is_false(value);
	case TIGHTEN_FALSE:
		return !json_is_true(value);
	case TIGHTEN_LESS:
		return is_stricter(entry, true);
	case TIGHTEN_MORE:
		return is_stricter(entry, false);
	case TIGHTEN_DENY:
		return !is_word(json_object_get(value, "mode"), "mask");
	case TIGHTEN_TIER:
		return is_word(value, "full");
	case TIGHTEN_NET:
		return is_word(value, "none");
	}
	return false;
}

/* "./x" below the repository, so that its working trees agree */
static char *place_text(const struct ask_context *ctx, const char *path)
{
	if (!ctx->top || !path_is_within(ctx->top, path))
		return mem_strdup(path);
	return mem_printf(".%s", path + (ctx->top[1] ? strlen(ctx->top) : 0));
}

/* True if @path is writable without approval */
static bool is_open(const struct ask_context *ctx, const char *path)
{
	auto_free char *real = NULL;

	if (!ctx->open || !path_is_within(ctx->open, path) || !ctx->hidden ||
	    dedup_covers(ctx->hidden, SCOPE_BUILTIN, path))
		return false;
	real = ctx->reader->real(ctx->reader->arg, path);
	return !real || (path_is_within(ctx->open, real) &&
			 !dedup_covers(ctx->hidden, SCOPE_BUILTIN, real));
}

/* Of @v->path */
static void ask_for_path(const struct ask_context *ctx, struct value *v)
{
	const struct path_rule *rule = &v->path;
	struct ask *ask = &v->ask;

	if (!v->asked ||
	    (!ask->closes && ask->kind != ASK_SOCKET && is_open(ctx, rule->path)))
		return;
	ask->text = place_text(ctx, rule->literal ? rule->literal : rule->path);
	ask->path = mem_strdup(rule->path);
	ask->glob = rule->glob != NULL;
}

/* Switches, numbers and objects: the key with its value */
static void ask_for_value(const struct entry *entry, struct value *v)
{
	auto_free char *value = v->asked ?
		json_dumps(entry->value, JSON_ENCODE_ANY | JSON_COMPACT |
			   JSON_SORT_KEYS) : NULL;

	v->ask.text = mem_printf("%s=%s", entry->fact->setting->path,
			       value ? value : "?");
}

/* An empty grant is ignored with a warning; an empty denial is an error, because its
 * author expects it to protect something.
 */
static int empty_entry(bool deny, struct err *why)
{
	if (deny)
		return fail(why, -EINVAL, "is empty; remove it or name something");
	return fail(why, -ENODATA, "is empty and allows nothing");
}

static int wrong_type(const struct entry *entry, struct err *why)
{
	return fail(why, -EINVAL, "must be %s",
		    schema_type_words(entry->fact->setting->type));
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

static int parse_path(const struct ask_context *ctx, const struct entry *entry,
		      const char *text, struct value *v, struct err *why)
{
	const struct document *document = entry->fact->document;
	const char *doubt = v->ask.closes ? document_doubts(document, text) : NULL;

	if (doubt)
		return fail(why, -EINVAL, "'%s': %s", text, doubt);
	return path_rule_parse(text, document->source->base, ctx->policy->home,
			       &v->path, why);
}

static int read_path(const struct ask_context *ctx, const struct entry *entry,
		     struct value *v, struct err *why)
{
	const char *plain = v->text ? NULL : literal_path(entry->value);
	int r = 0;

	if (!v->text && !plain)
		return fail(why, -EINVAL, "must be a path, or {\"path\": \"...\", \"literal\": true}");
	if (!*(v->text ? v->text : plain))
		return empty_entry(v->ask.closes, why);
	if (plain) {
		v->path.path = path_resolve(entry->fact->document->source->base,
					    plain);
		v->path.text = mem_strdup(v->path.path);
	} else {
		r = parse_path(ctx, entry, v->text, v, why);
	}
	if (r == 0)
		ask_for_path(ctx, v);
	return r;
}

/* A socket is one path: a pattern could match other sockets */
static int read_socket(const struct ask_context *ctx, const struct entry *entry,
		       struct value *v, struct err *why)
{
	if (v->text && *v->text &&
	    (glob_is_pattern(v->text) ||
	     path_rule_parse(v->text, entry->fact->document->source->base,
			     ctx->policy->home, &v->path, why) < 0))
		return fail(why, -EINVAL, "'%s' must be one socket's path",
			    v->text);
	if (!v->text)
		return fail(why, -EINVAL, "must be text");
	if (!*v->text)
		return empty_entry(false, why);
	v->text = v->path.path;
	ask_for_path(ctx, v);
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

static int read_string(const struct ask_context *ctx, const struct entry *entry,
		       struct value *v, struct err *why)
{
	const enum setting_type type = entry->fact->setting->type;
	const char *fault;

	(void)ctx;
	if (type == TYPE_PORTS && json_is_integer(entry->value)) {
		(void)snprintf(v->digits, sizeof(v->digits),
			       "%" JSON_INTEGER_FORMAT,
			       json_integer_value(entry->value));
		v->text = v->digits;
	}
	if (!v->text)
		return fail(why, -EINVAL, "must be text");
	if (!*v->text)
		return empty_entry(v->ask.closes || type == TYPE_RANGES, why);
	fault = string_fault(type, v->text);
	if (fault)
		return fail(why, -EINVAL, "'%s' %s", v->text, fault);
	v->ask.text = mem_strdup(v->text);
	return type == TYPE_COMMANDS ? check_command(v->text, why) : 0;
}

/* What is wrong with @value as the @key of a secret's object, or NULL */
static const char *secret_fault(const char *key, json_t *value, uint64_t *ttl)
{
	const char *text = json_string_value(value);

	if (!strcmp(key, "ttl"))
		return schema_number(TYPE_DURATION, value, ttl) < 0 ?
		       "must be seconds, or text such as \"5m\"" : NULL;
	if (!text_has_word("from header method path url", key))
		return "is not one of hosts, from, header, method, path, ttl, url";
	if (!text)
		return "must be text";
	if (!strcmp(key, "from"))
		return !strncmp(text, "env:", 4) || !strncmp(text, "file:/", 6) ||
		       !strncmp(text, "file:~/", 7) || !strncmp(text, "command:", 8) ?
		       NULL : "must be env:VARIABLE, file:/PATH or command:LINE";
	if (!strcmp(key, "path"))
		return *text == '/' ? NULL : "must begin with /";
	if (!strcmp(key, "url"))
		return env_is_name(text, strcspn(text, "/")) ? NULL :
		       "must be VARIABLE or VARIABLE/PATH";
	return *text && !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789-_")] ?
	       NULL : "must be a word";
}

/* {NAME: {"hosts": [text, ...], and the keys of secret_fault()}} */
static int read_secrets(const struct entry *entry, struct value *v,
			struct err *why)
{
	const char *name, *key;
	json_t *secret, *part;

	json_object_foreach(entry->value, name, secret) {
		const json_t *hosts = json_object_get(secret, "hosts");

		if (!json_array_size(hosts))
			return fail(why, -EINVAL,
				    "'%s' needs \"hosts\", a list of names", name);
		for (size_t i = 0; i < json_array_size(hosts); i++) {
			const char *host = json_string_value(json_array_get(hosts, i));

			if (!host || !*host || strchr(host, ','))
				return fail(why, -EINVAL, "'%s': host %zu is not a name",
					    name, i + 1);
		}
		json_object_foreach(secret, key, part) {
			const char *fault = strcmp(key, "hosts") ?
				secret_fault(key, part, &v->number) : NULL;

			if (fault)
				return fail(why, -EINVAL, "'%s': \"%s\" %s", name,
					    key, fault);
		}
	}
	v->ask.text = mem_strdup("secrets");
	return 0;
}

/* Rules of Edit and WebFetch widen the sandbox; all others are for the agent alone */
static void ask_for_rule(const struct ask_context *ctx, struct value *v)
{
	const struct rule *rule = &v->rule;
	struct ask *ask = &v->ask;

	if (rule->inert || rule->action == ACTION_ASK)
		return;
	if (rule->kind == RULE_DOMAIN) {
		ask->kind = ASK_HOST;
		ask->text = mem_strdup(rule->content);
	} else if (rule->kind == RULE_PATH &&
		   (rule->action == ACTION_DENY || rule->tool != TOOL_READ)) {
		ask->kind = rule->tool == TOOL_READ ? ASK_READ : ASK_WRITE;
		ask_for_path(ctx, v);
		if (ask->text && ask->glob) {
			auto_free char *dir = take_ptr(ask->text);

			ask->text = mem_printf("%s (%s)", dir, rule->content);
		}
	} else {
		ask->kind = ASK_RULE;
		ask->text = mem_strdup(v->text);
	}
}

static int read_rule(const struct ask_context *ctx, const struct entry *entry,
		     struct value *v, struct err *why)
{
	const struct rule_bases bases = {
		.root = entry->fact->document->rules_base,
		.cwd = ctx->policy->cwd,
		.home = ctx->policy->home,
	};
	int r;

	if (!v->text || !*v->text)
		return fail(why, -EINVAL, "must be a rule");
	r = rule_parse(v->text, (enum rule_action)entry->fact->setting->slot,
		       &v->rule, why);
	/* An invalid path is an error even in a rule that the sandbox does not use */
	if (r == 0 && v->rule.kind == RULE_PATH && !v->rule.inert)
		r = rule_path_init(&v->path, &v->rule, &bases, why);
	if (r == 0)
		ask_for_rule(ctx, v);
	return r;
}

/* A credential is denied in both modes. An error in the rest of the entry goes into
 * @why and leaves the denial in force.
 */
static int read_credential(const struct ask_context *ctx,
			   const struct entry *entry, struct value *v,
			   struct err *why)
{
	const bool file = entry->fact->setting->slot == LIST_MASKED_FILES;
	const char *key = file ? "path" : "name";
	const json_t *mode = json_object_get(entry->value, "mode");
	int r = 0;

	v->text = json_get_text(entry->value, key);
	if (!v->text || !*v->text)
		return fail(why, -EINVAL, "needs a \"%s\"", key);
	if (!is_word(mode, "deny") && !is_word(mode, "mask"))
		return fail(why, -EINVAL, "mode must be \"deny\" or \"mask\"");
	if (file)
		r = parse_path(ctx, entry, v->text, v, why);
	else if (!env_is_name(v->text, strlen(v->text)))
		return fail(why, -EINVAL, "'%s' is not a variable's name",
			    v->text);
	if (r < 0)
		return r;
	v->mask = !v->ask.closes;
	if (v->mask)
		ask_for_value(entry, v);
	else if (file)
		ask_for_path(ctx, v);
	else
		v->ask.text = mem_strdup(v->text);
	if (srt_check_part(entry->fact->setting->path, entry->value, why) < 0)
		v->mask = false;
	else if (v->path.glob && v->mask)
		(void)fail(why, -EINVAL, "a mask needs one file, not a pattern");
	return 0;
}

/* An object that is checked here and used as JSON elsewhere */
static int read_object(const struct ask_context *ctx, const struct entry *entry,
		       struct value *v, struct err *why)
{
	(void)ctx;
	ask_for_value(entry, v);
	return srt_check_part(entry->fact->setting->path, entry->value, why);
}

/* Texts with a check, and words that stand for a number */
static int read_text(const struct entry *entry, struct value *v,
		     struct err *why)
{
	enum profile profile = PROFILE_DEFAULT;
	enum net_mode net = NET_FILTERED;
	struct host host;
	const char *user;
	size_t n;

	if (!v->text)
		return wrong_type(entry, why);
	switch (entry->fact->setting->type) {
	case TYPE_TIER:
		if (strcmp(v->text, "full") != 0 &&
		    strcmp(v->text, "landlock") != 0)
			return wrong_type(entry, why);
		return 0;
	case TYPE_PROXY:
		return *v->text ? proxy_parse(v->text, &host, &user, &n, why) : 0;
	case TYPE_PROFILE:
		if (profile_parse(v->text, &profile) < 0)
			return wrong_type(entry, why);
		v->number = profile;
		if (profile == PROFILE_HOME)	/* Shows tokens that the default hides */
			v->ask.kind = ASK_MODE;
		return 0;
	case TYPE_NET:
		if (net_mode_parse(v->text, &net) < 0)
			return wrong_type(entry, why);
		v->number = net;
		return 0;
	default:
		return 0;
	}
}

static int read_whole(const struct ask_context *ctx, const struct entry *entry,
		      struct value *v, struct err *why)
{
	const enum setting_type type = entry->fact->setting->type;
	bool valid = true;
	int r = 0;

	switch (type) {
	case TYPE_UNUSED:
	case TYPE_FOREIGN:
		return 0;
	case TYPE_REASONS:
		return json_is_object(entry->value) ? 0 : wrong_type(entry, why);
	case TYPE_IGNORES:
		valid = json_is_object(entry->value);
		break;
	case TYPE_TLS:
		v->number = true;
		if (!json_object_get(entry->value, "caCertPath") !=
		    !json_object_get(entry->value, "caKeyPath"))
			return fail(why, -EINVAL, "needs both caCertPath and caKeyPath, or neither");
		r = srt_check_part(entry->fact->setting->path, entry->value, why);
		break;
	case TYPE_OBJECT:
		return read_object(ctx, entry, v, why);
	case TYPE_FLAG:
		valid = json_is_boolean(entry->value);
		v->number = json_is_true(entry->value);
		break;
	case TYPE_TEXT:
	case TYPE_PROXY:
	case TYPE_TIER:
	case TYPE_PROFILE:
	case TYPE_NET:
		r = read_text(entry, v, why);
		break;
	default:
		valid = schema_number(type, entry->value, &v->number) == 0;
	}
	if (!valid)
		return wrong_type(entry, why);
	ask_for_value(entry, v);
	return r;
}

static int (*const readers[TYPE_KINDS])(const struct ask_context *ctx,
					const struct entry *entry,
					struct value *v, struct err *why) = {
	[TYPE_PATHS] = read_path,
	[TYPE_HOSTS] = read_string,
	[TYPE_STRINGS] = read_string,
	[TYPE_SECRETS] = read_string,
	[TYPE_PORTS] = read_string,
	[TYPE_RANGES] = read_string,
	[TYPE_SOCKETS] = read_socket,
	[TYPE_VARIABLES] = read_string,
	[TYPE_COMMANDS] = read_string,
	[TYPE_CREDENTIALS] = read_credential,
	[TYPE_OBJECTS] = read_object,
	[TYPE_RULES] = read_rule,
};

/* The kind of what a list denies */
static enum ask_kind closed_kind(const struct setting *row)
{
	switch (row->type) {
	case TYPE_PATHS:
		return row->slot == PATH_DENY_READ ? ASK_READ : ASK_WRITE;
	case TYPE_HOSTS:
		return ASK_HOST;
	case TYPE_RANGES:
		return ASK_ADDRESS;
	case TYPE_CREDENTIALS:
		return row->slot == LIST_MASKED_FILES ? ASK_READ : ASK_VARIABLE;
	default:
		return row->ask;
	}
}

bool entry_next(struct entry *entry)
{
	const bool list = readers[entry->fact->setting->type] &&
			  json_is_array(entry->fact->value);

	if (!list && entry->value)
		return false;
	entry->index += list;
	entry->value = list ? json_array_get(entry->fact->value, entry->index)
			    : entry->fact->value;
	return entry->value;
}

int value_read(const struct ask_context *ctx, const struct entry *entry,
	       bool asked, struct value *ret, struct err *why)
{
	const struct setting *row = entry->fact->setting;
	struct value v = {
		.asked = asked,
		.ask.closes = tightens(entry),
		.text = json_string_value(entry->value),
	};
	int r;

	v.ask.kind = v.ask.closes ? closed_kind(row) : row->ask;
	if (!readers[row->type])
		r = read_whole(ctx, entry, &v, why);
	else if (row->type == TYPE_SECRETS && json_is_object(entry->value))
		r = read_secrets(entry, &v, why);
	else if (entry->index == ENTRY_WHOLE)
		r = wrong_type(entry, why);
	else
		r = readers[row->type](ctx, entry, &v, why);
	if (r < 0) {
		value_done(&v);
		return r;
	}
	if (!v.ask.text)
		v.ask.kind = ASK_NOTHING;
	for (char *s = v.ask.text; v.ask.kind == ASK_HOST && *s; s++)
		*s = (char)tolower((unsigned char)*s);
	*ret = v;
	if (v.text == v.digits)
		ret->text = ret->digits;
	return 0;
}

void value_done(struct value *value)
{
	ask_done(&value->ask);
	path_rule_done(&value->path);
	rule_done(&value->rule);
	*value = (struct value){ 0 };
}

bool ask_of(const struct ask_context *ctx, const struct entry *entry,
	    struct ask *ret)
{
	struct value v;

	if (value_read(ctx, entry, true, &v, NULL) < 0)
		return false;
	*ret = v.ask;
	v.ask = (struct ask){ 0 };
	if (ret->kind == ASK_NOTHING)
		ask_done(ret);
	value_done(&v);
	return ret->kind != ASK_NOTHING;
}
