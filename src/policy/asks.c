/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/asks.c - what a settings file asks for beyond the defaults
 *
 * Theory of operation: each row of settings.def says which values only tighten,
 * and what all others ask for. Of a list each entry is looked at. A path below a
 * directory that is writable anyway is nothing to ask for, unless the defaults
 * hide it or a symbolic link leads elsewhere. Lines are canonical: the approval
 * of one says nothing about another place of the same spelling.
 */

#include "policy/asks.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sha256.h"
#include "policy/document.h"
#include "policy/number.h"
#include "policy/pathrule.h"
#include "policy/policy.h"
#include "policy/reader.h"
#include "policy/rule.h"
#include "policy/schema.h"

static const struct {
	const char *name, *one, *many, *reach;
} kinds[ASK_KINDS] = {
	[ASK_HOST] = { "host", "host", "hosts",
		"can send anything it reads to %s" },
	[ASK_ADDRESS] = { "address", "address", "addresses",
		"can send anything it reads to %s, by address" },
	[ASK_HOST_PORT] = { "host-port", "port", "ports",
		"can talk to what listens on port %s of this machine" },
	[ASK_PUBLISH] = { "publish", "port", "ports",
		"programs of this machine can connect to its port %s" },
	[ASK_SOCKET] = { "socket", "socket", "sockets",
		"can do what the server behind %s lets you do" },
	[ASK_READ] = { "read", "path", "paths", "can read %s" },
	[ASK_WRITE] = { "write", "path", "paths",
		"can read and change %s and all below it" },
	[ASK_MODE] = { "mode", "weaker mode", "weaker modes",
		"runs with %s" },
	[ASK_RULE] = { "rule", "agent rule", "agent rules",
		"the agent need not ask before %s" },
	[ASK_OFF] = { "off", NULL, NULL, "would run without a sandbox: %s" },
	[ASK_COMMAND] = { "command", NULL, NULL,
		"would run '%s' without a sandbox" },
	[ASK_PLATFORM] = { "platform", NULL, NULL,
		"would be sandboxed on %s only" },
	[ASK_PROXY] = { "proxy", NULL, NULL,
		"would reach all hosts by a proxy of its own: %s" },
	[ASK_NAME] = { "name", NULL, NULL,
		"could write the protected %s" },
	[ASK_VARIABLE] = { "variable", NULL, NULL,
		"would see or choose the variable %s" },
	[ASK_IGNORE] = { "ignore", NULL, NULL,
		"would hide reports of refusals: %s" },
	[ASK_TIER] = { "tier", NULL, NULL,
		"would accept a weaker sandbox: %s" },
	[ASK_SETTING] = { "setting", NULL, NULL, "would loosen %s" },
};

void ask_done(struct ask *ask)
{
	free(ask->text);
	free(ask->path);
	*ask = (struct ask){ 0 };
}

void asks_add(struct asks *asks, struct ask ask)
{
	*vec_push(asks) = ask;
}

void asks_done(struct asks *asks)
{
	for (size_t i = 0; i < asks->len; i++)
		ask_done(&asks->v[i]);
	free(asks->v);
	*asks = (struct asks){ 0 };
}

/* What the files that are not a repository's make of the same number; where
 * none sets it, the default does
 */
static bool is_stricter(const struct facts *facts, const struct fact *fact,
			bool less)
{
	uint64_t mine, other;
	bool set = false;

	if (number_of(fact->setting->type, fact->value, &mine) < 0)
		return true;	/* An error, and reported as one */
	for (size_t i = 0; i < facts->len; i++) {
		const struct fact *f = &facts->v[i];

		if (f->setting != fact->setting || f->document == fact->document ||
		    scope_is_repository(f->document->source->scope) ||
		    number_of(f->setting->type, f->value, &other) < 0)
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

static bool tightens(const struct facts *facts, const struct fact *fact,
		     json_t *entry)
{
	switch (fact->setting->tighten) {
	case TIGHTEN_NEVER:
		return false;
	case TIGHTEN_YES:
		return true;
	case TIGHTEN_TRUE:
		return !json_is_false(entry);
	case TIGHTEN_FALSE:
		return !json_is_true(entry);
	case TIGHTEN_LESS:
		return is_stricter(facts, fact, true);
	case TIGHTEN_MORE:
		return is_stricter(facts, fact, false);
	case TIGHTEN_DENY:
		return !is_word(json_object_get(entry, "mode"), "mask");
	case TIGHTEN_PROFILE:
		return is_word(entry, "home");
	case TIGHTEN_TIER:
		return is_word(entry, "full");
	case TIGHTEN_NET:
		return is_word(entry, "none");
	}
	return false;
}

bool ask_is_list(const struct fact *fact)
{
	return json_is_array(fact->value);
}

/* "./x" below the repository, so that its working trees agree */
static char *place_text(const struct ask_context *ctx, const char *path)
{
	if (!ctx->top || !path_is_within(ctx->top, path))
		return mem_strdup(path);
	return mem_printf(".%s", path + (ctx->top[1] ? strlen(ctx->top) : 0));
}

/* True if @path needs no word of anybody's */
static bool is_open(const struct ask_context *ctx, const char *path)
{
	auto_free char *real = NULL;

	if (!ctx->open || !path_is_within(ctx->open, path) || !ctx->hides ||
	    ctx->hides(ctx->arg, path))
		return false;
	real = ctx->reader->real(ctx->reader->arg, path);
	return !real || (path_is_within(ctx->open, real) &&
			 !ctx->hides(ctx->arg, real));
}

static bool path_ask(const struct ask_context *ctx, const char *path,
		     const char *pattern, struct ask *ask)
{
	if (!ask->closes && is_open(ctx, path))
		return false;
	ask->text = place_text(ctx, pattern ? pattern : path);
	ask->path = mem_strdup(path);
	ask->glob = pattern != NULL;
	return true;
}

/* srt also has {"path": "...", "literal": true} */
static bool entry_ask(const struct ask_context *ctx, const struct fact *fact,
		      json_t *entry, struct ask *ask)
{
	const char *base = fact->document->source->base;
	const char *text = json_string_value(entry);
	const char *plain = json_string_value(json_object_get(entry, "path"));
	struct path_rule rule = { 0 };
	bool asks;

	if (plain && *plain)
		rule.path = path_resolve(base, plain);
	else if (!text || !*text ||
		 path_rule_parse(text, base, ctx->policy->home, &rule, NULL) < 0)
		return false;
	asks = path_ask(ctx, rule.path, rule.glob ? rule.literal : NULL, ask);
	path_rule_done(&rule);
	return asks;
}

static bool rule_path_ask(const struct ask_context *ctx,
			  const struct fact *fact, const struct rule *rule,
			  struct ask *ask)
{
	const struct rule_bases bases = {
		.root = fact->document->rules_base, .cwd = ctx->policy->cwd,
		.home = ctx->policy->home,
	};
	struct rule_path path;
	bool asks;

	if (rule_path_init(&path, rule, &bases, NULL) < 0)
		return false;
	ask->kind = rule->tool == TOOL_READ ? ASK_READ : ASK_WRITE;
	asks = path_ask(ctx, path.path, NULL, ask);
	if (asks && path.glob) {
		auto_free char *dir = take_ptr(ask->text);

		ask->text = mem_printf("%s (%s)", dir, rule->content);
		ask->glob = true;
	}
	rule_path_done(&path);
	return asks;
}

/* Edit and WebFetch open the sandbox; all else is between user and agent */
static bool rule_ask(const struct ask_context *ctx, const struct fact *fact,
		     const char *text, struct ask *ask)
{
	const bool allow = fact->setting->slot == RULES_ALLOW;
	struct rule rule;
	bool asks = true;

	if (fact->setting->slot == RULES_ASK || !text || !*text ||
	    rule_parse(text, allow ? ACTION_ALLOW : ACTION_DENY, &rule,
		       NULL) < 0)
		return false;
	if (rule.inert) {
		asks = false;
	} else if (rule.kind == RULE_DOMAIN) {
		ask->kind = ASK_HOST;
		ask->text = mem_strdup(rule.content);
	} else if (rule.kind == RULE_PATH && (!allow || rule.tool != TOOL_READ)) {
		asks = rule_path_ask(ctx, fact, &rule, ask);
	} else {
		ask->kind = ASK_RULE;
		ask->text = mem_strdup(text);
	}
	rule_done(&rule);
	return asks;
}

static bool string_ask(json_t *entry, struct ask *ask)
{
	const char *text = json_string_value(entry);

	if (json_is_integer(entry))
		ask->text = mem_printf("%" JSON_INTEGER_FORMAT,
				       json_integer_value(entry));
	else if (text && *text)
		ask->text = mem_strdup(text);
	return ask->text != NULL;
}

static void host_ask(struct ask *ask)
{
	for (char *s = ask->text; *s; s++)
		*s = (char)tolower((unsigned char)*s);
}

/* Switches, numbers and objects: the key with its value */
static bool value_ask(const struct fact *fact, json_t *entry, struct ask *ask)
{
	auto_free char *value = json_dumps(entry, JSON_ENCODE_ANY |
					   JSON_COMPACT | JSON_SORT_KEYS);

	ask->text = mem_printf("%s=%s", fact->setting->path,
			       value ? value : "?");
	return true;
}

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
		return row->slot == CREDENTIAL_FILE ? ASK_READ : ASK_VARIABLE;
	default:
		return row->ask;
	}
}

static bool credential_ask(const struct ask_context *ctx,
			   const struct fact *fact, json_t *entry,
			   struct ask *ask)
{
	if (!ask->closes)
		return value_ask(fact, entry, ask);
	if (fact->setting->slot == CREDENTIAL_FILE)
		return entry_ask(ctx, fact, entry, ask);
	return string_ask(json_object_get(entry, "name"), ask);
}

bool ask_of(const struct ask_context *ctx, const struct facts *facts,
	    const struct fact *fact, json_t *entry, struct ask *ret)
{
	const struct setting *row = fact->setting;
	struct ask ask = { .closes = tightens(facts, fact, entry) };
	bool asks;

	ask.kind = ask.closes ? closed_kind(row) : row->ask;
	switch (row->type) {
	case TYPE_UNUSED:
	case TYPE_FOREIGN:
	case TYPE_REASONS:
		return false;
	case TYPE_PATHS:
	case TYPE_SOCKETS:
		asks = entry_ask(ctx, fact, entry, &ask);
		break;
	case TYPE_RULES:
		asks = rule_ask(ctx, fact, json_string_value(entry), &ask);
		break;
	case TYPE_CREDENTIALS:
		asks = credential_ask(ctx, fact, entry, &ask);
		break;
	default:
		asks = ask_is_list(fact) ? string_ask(entry, &ask)
					 : value_ask(fact, entry, &ask);
	}
	if (!asks || ask.kind == ASK_NOTHING) {
		ask_done(&ask);
		return false;
	}
	if (ask.kind == ASK_HOST)
		host_ask(&ask);
	*ret = ask;
	return true;
}

char *ask_line(const struct ask *ask)
{
	return mem_printf("%s%s %s", ask->closes ? "no " : "",
			  kinds[ask->kind].name, ask->text);
}

enum ask_kind ask_kind_of(const char *line, const char **ret_text)
{
	for (enum ask_kind kind = ASK_NOTHING + 1; kind < ASK_KINDS; kind++) {
		const size_t n = strlen(kinds[kind].name);

		if (!strncmp(line, kinds[kind].name, n) && line[n] == ' ') {
			*ret_text = line + n + 1;
			return kind;
		}
	}
	return ASK_NOTHING;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void asks_digest(const struct asks *asks, char ret[static ASK_DIGEST_SIZE])
{
	auto_free char **lines = mem_zalloc((asks->len + 1) * sizeof(*lines));
	unsigned char hash[SHA256_BYTES];
	auto_buf struct buf all = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < asks->len; i++) {
		if (!asks->v[i].closes)
			lines[n++] = ask_line(&asks->v[i]);
	}
	qsort(lines, n, sizeof(*lines), by_text);
	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(lines[i], lines[i - 1]) != 0)
			buf_add(&all, lines[i], strlen(lines[i]) + 1);
	}
	for (size_t i = 0; i < n; i++)
		free(lines[i]);
	sha256(buf_str(&all), all.len, hash);
	memcpy(ret, "sha256:", 7);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		(void)snprintf(ret + 7 + 2 * i, 3, "%02x", hash[i]);
}

void asks_summary(const struct asks *asks, struct buf *out)
{
	struct { const char *one, *many; size_t count; } found[ASK_NEVER];
	size_t n = 0;

	for (enum ask_kind kind = ASK_NOTHING + 1; kind < ASK_NEVER; kind++) {
		size_t count = 0, at = 0;

		for (size_t i = 0; i < asks->len; i++)
			count += asks->v[i].kind == kind && !asks->v[i].closes;
		while (at < n && strcmp(found[at].one, kinds[kind].one) != 0)
			at++;
		if (!count)
			continue;
		if (at == n) {
			found[n].one = kinds[kind].one;
			found[n].many = kinds[kind].many;
			found[n++].count = 0;
		}
		found[at].count += count;
	}
	for (size_t i = 0; i < n; i++)
		buf_addf(out, "%s%zu %s", !i ? "" : i + 1 < n ? ", " : " and ",
			 found[i].count, found[i].count == 1 ? found[i].one
							     : found[i].many);
}

void ask_describe(const struct ask *ask, struct buf *out)
{
	const char *format = kinds[ask->kind].reach;
	const char *at = strstr(format, "%s");

	buf_add(out, format, (size_t)(at - format));
	buf_adds(out, ask->text);
	buf_adds(out, at + 2);
}

static bool host_covers(const char *wide, const char *narrow)
{
	const size_t n = strlen(wide), m = strlen(narrow);

	if (!strncmp(narrow, wide, n) && narrow[n] == ':' && !strchr(wide, ':'))
		return true;	/* Any port, and one of them */
	return !strncmp(wide, "*.", 2) && m > n - 1 &&
	       !strcmp(narrow + m - (n - 1), wide + 1);
}

bool ask_covers(const struct ask *wide, const struct ask *narrow)
{
	if (wide->closes != narrow->closes)
		return false;
	/* What may be written may be read */
	if (wide->kind != narrow->kind &&
	    !(wide->kind == (wide->closes ? ASK_READ : ASK_WRITE) &&
	      narrow->kind == (wide->closes ? ASK_WRITE : ASK_READ)))
		return false;
	if (!strcmp(wide->text, narrow->text))
		return true;
	if (wide->kind == ASK_HOST)
		return host_covers(wide->text, narrow->text);
	return (wide->kind == ASK_READ || wide->kind == ASK_WRITE) &&
	       !strpbrk(wide->text, "*?[(") &&
	       path_is_within(wide->text, narrow->text);
}
