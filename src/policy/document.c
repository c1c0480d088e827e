/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/document.c - settings files taken apart into facts and entries
 *
 * Theory of operation: each row of schema.def says which values only tighten,
 * and what all others ask for. Of a list each entry is looked at. A path below a
 * directory that is writable anyway is nothing to ask for, unless the defaults hide
 * it, a symbolic link leads elsewhere, or a server of the host listens there.
 */

#include "policy/document.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/dedup.h"
#include "policy/file-reader.h"
#include "policy/policy.h"
#include "policy/rule-path.h"
#include "policy/srt-settings.h"

const char *document_doubts(const struct document *document, const char *path)
{
	return document->shape == SHAPE_SRT ? NULL
					    : path_rule_doubt(path, false);
}

bool scope_is_repository(enum scope scope)
{
	return scope == SCOPE_PROJECT || scope == SCOPE_LOCAL;
}

__attribute__((format(printf, 4, 0)))
static void describe(const struct document *document, const char *key,
		     struct err *into, const char *fmt, va_list ap)
{
	const struct source *source = document->source;
	struct json_place at = { .line = 1, .column = 1 };
	char what[ERR_MSG_MAX / 2];

	(void)source_locate(source, key, &at);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	fail(into, -EINVAL, "%s:%u:%u: %s%s%s", source->name, at.line,
	     at.column, key, *key ? ": " : "", what);
}

__attribute__((format(printf, 5, 0)))
static void add_note(const struct facts *facts, const struct document *document,
		     enum note_level level, const char *key, const char *fmt,
		     va_list ap)
{
	struct err text = { 0 };

	if (!facts->report)
		return;
	describe(document, key, &text, fmt, ap);
	settings_note(facts->report, level, "%s", text.msg);
}

void document_note(const struct facts *facts, const struct document *document,
		   enum note_level level, const char *key, const char *fmt,
		   ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_note(facts, document, level, key, fmt, ap);
	va_end(ap);
}

/* A managed file's problem is reported, and the rest of the file enforced */
__attribute__((format(printf, 4, 0)))
static int add_problem(const struct facts *facts,
		       const struct document *document, const char *key,
		       const char *fmt, va_list ap)
{
	struct err text = { 0 };

	describe(document, key, &text, fmt, ap);
	if (!facts->check && document->source->scope != SCOPE_MANAGED)
		return fail(facts->err, -EINVAL, "%s", text.msg);
	settings_note(facts->report, NOTE_ERROR, "%s", text.msg);
	return 0;
}

__attribute__((format(printf, 4, 5)))
static int document_problem(const struct facts *facts,
			    const struct document *document, const char *key,
			    const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = add_problem(facts, document, key, fmt, ap);
	va_end(ap);
	return r;
}

struct entry fact_entry(const struct facts *facts, const struct fact *fact)
{
	return (struct entry){ .facts = facts, .fact = fact, .index = ENTRY_WHOLE };
}

bool entry_next(struct entry *entry)
{
	const bool list = json_is_array(entry->fact->value);

	if (!list && entry->value)
		return false;
	entry->index += list;
	entry->value = list ? json_array_get(entry->fact->value, entry->index)
			    : entry->fact->value;
	return entry->value;
}

static char *key_of(const struct entry *entry)
{
	struct buf key = { 0 };

	buf_adds(&key, entry->fact->key);
	if (entry->member)
		json_path_key(&key, entry->member);
	else if (entry->index != ENTRY_WHOLE)
		json_path_index(&key, entry->index);
	return buf_take(&key);
}

struct origin entry_origin(const struct entry *entry)
{
	const struct source *source = entry->fact->document->source;

	return (struct origin){
		.source = source, .key = source_key(source, key_of(entry)),
	};
}

int entry_problem(const struct entry *entry, const char *fmt, ...)
{
	auto_free char *key = key_of(entry);
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = add_problem(entry->facts, entry->fact->document, key, fmt, ap);
	va_end(ap);
	return r;
}

void entry_warn(const struct entry *entry, const char *fmt, ...)
{
	auto_free char *key = key_of(entry);
	va_list ap;

	va_start(ap, fmt);
	add_note(entry->facts, entry->fact->document, NOTE_WARNING, key, fmt,
		 ap);
	va_end(ap);
}

/**
 * struct walk - Where we are in a document
 * @path:	Below the area, as rows are named
 * @key:	In the file
 */
struct walk {
	struct facts *facts;
	const struct document *document;
	enum setting_area area;
	struct buf path, key;
};

/* "did you mean ...?": the first @n bytes of @near. A denial that would not count
 * is an error; srt takes no notice of any unknown key.
 */
static int note_meant(const struct walk *walk, const char *key,
		      const struct setting *near, size_t n)
{
	const struct document *document = walk->document;
	const char *above = document->shape == SHAPE_CLAUDE &&
			    near->area == AREA_SANDBOX ? "sandbox." : "";

	if (!document->as_srt && (near->tighten == TIGHTEN_YES ||
				  near->tighten == TIGHTEN_DENY))
		return document_problem(walk->facts, document, key,
					"unknown key; did you mean %s%.*s?",
					above, (int)n, near->path);
	document_note(walk->facts, document, NOTE_UNKNOWN, key,
		      "unknown key, ignored; did you mean %s%.*s?", above,
		      (int)n, near->path);
	return 0;
}

static int note_unknown(const struct walk *walk, const char *key)
{
	const char *path = buf_str(&walk->path);
	const struct setting *same = schema_respelled(walk->area, path);
	const struct setting *near = schema_nearest(walk->area, path);

	if (same)
		return note_meant(walk, key, same, strlen(path));
	if (near)
		return note_meant(walk, key, near, strlen(near->path));
	document_note(walk->facts, walk->document, NOTE_UNKNOWN, key,
		      "unknown key, ignored");
	return 0;
}

/* A key beside "sandbox" that is most likely ours: in other letters, or one level
 * too high
 */
static int note_foreign(const struct walk *walk, const char *name,
			const json_t *value)
{
	const struct setting *near = schema_respelled(AREA_CLAUDE, name);
	const char *meant = schema_slip(name);

	if (!near && json_is_object(value) &&
	    schema_is_object(AREA_SANDBOX, name))
		near = schema_respelled(AREA_SANDBOX, name);
	if (near)
		return note_meant(walk, name, near, strlen(name));
	if (meant)
		document_note(walk->facts, walk->document, NOTE_UNKNOWN, name,
			      "unknown key, ignored; did you mean %s?", meant);
	return 0;
}

static void add_fact(const struct walk *walk, const struct setting *setting,
		     json_t *value)
{
	*vec_push(walk->facts) = (struct fact){
		.document = walk->document,
		.setting = setting,
		.value = value,
		.key = mem_strdup(buf_str(&walk->key)),
	};
}

static int walk_object(struct walk *walk, json_t *object);

/* Rows have no names with dots, so a quoted step never looks like one */
static int walk_member(struct walk *walk, const char *name, json_t *value)
{
	const size_t path_len = walk->path.len, key_len = walk->key.len;
	const struct setting *setting;
	int r = 0;

	json_path_key(&walk->path, name);
	json_path_key(&walk->key, name);
	setting = schema_find(walk->area, buf_str(&walk->path));
	if (json_is_null(value))
		;	/* Unset, whatever it is */
	else if (setting)
		add_fact(walk, setting, value);
	else if (!schema_is_object(walk->area, buf_str(&walk->path)))
		r = note_unknown(walk, buf_str(&walk->key));
	else if (json_is_object(value))
		r = walk_object(walk, value);
	else
		r = document_problem(walk->facts, walk->document,
				     buf_str(&walk->key), "must be an object");

	walk->path.len = path_len;
	walk->key.len = key_len;
	walk->path.p[path_len] = '\0';
	walk->key.p[key_len] = '\0';
	return r;
}

static int walk_object(struct walk *walk, json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value) {
		const int r = walk_member(walk, name, value);

		if (r < 0)
			return r;
	}
	return 0;
}

/* What a Claude file holds beside our keys is its own business */
static int walk_claude(struct walk *walk, json_t *root)
{
	json_t *sandbox = json_object_get(root, "sandbox");
	const char *name;
	json_t *value;
	int r;

	walk->area = AREA_CLAUDE;
	json_object_foreach(root, name, value) {
		if (!strcmp(name, "sandbox"))
			continue;
		if (!schema_find(AREA_CLAUDE, name) &&
		    !schema_is_object(AREA_CLAUDE, name))
			r = note_foreign(walk, name, value);
		else
			r = walk_member(walk, name, value);
		if (r < 0)
			return r;
	}
	if (!sandbox || json_is_null(sandbox))
		return 0;
	if (!json_is_object(sandbox))
		return document_problem(walk->facts, walk->document, "sandbox",
					"must be an object");
	walk->area = AREA_SANDBOX;
	json_path_key(&walk->key, "sandbox");
	return walk_object(walk, sandbox);
}

static int walk_document(struct facts *facts, const struct document *document)
{
	struct walk walk = {
		.facts = facts, .document = document, .area = AREA_SANDBOX,
	};
	int r;

	if (!json_is_object(document->root))
		r = document_problem(facts, document, "",
				     "must be an object: { ... }");
	else if (document->shape == SHAPE_CLAUDE)
		r = walk_claude(&walk, document->root);
	else
		r = walk_object(&walk, document->root);
	buf_done(&walk.path);
	buf_done(&walk.key);
	return r;
}

static enum document_shape guess_shape(const json_t *root)
{
	return json_object_get(root, "sandbox") ||
	       json_object_get(root, "permissions") ?
	       SHAPE_CLAUDE : SHAPE_SRT;
}

int document_add(struct facts *facts, struct policy *policy,
		 const struct document_place *place, const char *text,
		 size_t n)
{
	struct err why = { 0 };
	json_t *root = json_parse(text, n, place->name, &why);
	struct document *document;

	if (!root) {
		if (!facts->check && !place->drop_in)
			return fail(facts->err, why.code, "%s", why.msg);
		settings_note(facts->report, NOTE_ERROR, "%s", why.msg);
		return 1;
	}
	if (place->as_srt && srt_check(root, &why) < 0) {
		json_decref(root);
		return fail(facts->err, -EINVAL, "%s does not hold a valid config — %s",
			    place->name, why.msg);
	}
	document = mem_zalloc(sizeof(*document));
	document->source = policy_add_source(policy, place->scope, place->name,
					     text, n, place->base);
	document->shape = place->shape == SHAPE_GUESS ? guess_shape(root)
						      : place->shape;
	document->root = root;
	document->rules_base = mem_strdup(place->rules_base);
	document->authority = scope_is_repository(place->scope) ?
			      AUTHORITY_REPOSITORY : AUTHORITY_FULL;
	document->as_srt = place->as_srt;
	*vec_push(&facts->documents) = document;
	return walk_document(facts, document);
}

void facts_done(struct facts *facts)
{
	for (size_t i = 0; i < facts->len; i++)
		free(facts->v[i].key);
	free(facts->v);
	for (size_t i = 0; i < facts->documents.len; i++) {
		json_decref(facts->documents.v[i]->root);
		free(facts->documents.v[i]->rules_base);
		free(facts->documents.v[i]->id);
		free(facts->documents.v[i]);
	}
	free(facts->documents.v);
	*facts = (struct facts){ 0 };
}

/* What the files that are not a repository's make of the same number; where
 * none sets it, the default does
 */
static bool is_stricter(const struct entry *entry, bool less)
{
	const struct facts *facts = entry->facts;
	const struct fact *fact = entry->fact;
	uint64_t mine, other;
	bool set = false;

	if (schema_number(fact->setting->type, fact->value, &mine) < 0)
		return true;	/* An error, and reported as one */
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

/* True if @path needs no word of anybody's */
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

static bool path_ask(const struct ask_context *ctx, const char *path,
		     const char *pattern, struct ask *ask)
{
	if (!ask->closes && ask->kind != ASK_SOCKET && is_open(ctx, path))
		return false;
	ask->text = place_text(ctx, pattern ? pattern : path);
	ask->path = mem_strdup(path);
	ask->glob = pattern != NULL;
	return true;
}

/* srt also has {"path": "...", "literal": true} */
static bool entry_ask(const struct ask_context *ctx, const struct entry *entry,
		      struct ask *ask)
{
	const char *base = entry->fact->document->source->base;
	const char *text = json_string_value(entry->value);
	const char *plain = json_string_value(json_object_get(entry->value, "path"));
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

static bool string_ask(const json_t *value, struct ask *ask)
{
	const char *text = json_string_value(value);

	if (json_is_integer(value))
		ask->text = mem_printf("%" JSON_INTEGER_FORMAT,
				       json_integer_value(value));
	else if (text && *text)
		ask->text = mem_strdup(text);
	return ask->text != NULL;
}

/* Switches, numbers and objects: the key with its value */
static bool value_ask(const struct entry *entry, struct ask *ask)
{
	auto_free char *value = json_dumps(entry->value, JSON_ENCODE_ANY |
					   JSON_COMPACT | JSON_SORT_KEYS);

	ask->text = mem_printf("%s=%s", entry->fact->setting->path,
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
			   const struct entry *entry, struct ask *ask)
{
	if (!ask->closes)
		return value_ask(entry, ask);
	if (entry->fact->setting->slot == CREDENTIAL_FILE)
		return entry_ask(ctx, entry, ask);
	return string_ask(json_object_get(entry->value, "name"), ask);
}

bool ask_of(const struct ask_context *ctx, const struct entry *entry,
	    struct ask *ret)
{
	const struct setting *row = entry->fact->setting;
	struct ask ask = { .closes = tightens(entry) };
	bool asks;

	ask.kind = ask.closes ? closed_kind(row) : row->ask;
	if (row->type == TYPE_PROFILE && is_word(entry->value, "home"))
		ask.kind = ASK_MODE;	/* Shows tokens that the default hides */
	switch (row->type) {
	case TYPE_UNUSED:
	case TYPE_FOREIGN:
	case TYPE_REASONS:
		return false;
	case TYPE_PATHS:
	case TYPE_SOCKETS:
		asks = entry_ask(ctx, entry, &ask);
		break;
	case TYPE_RULES:
		asks = rule_ask(ctx, entry->fact,
				json_string_value(entry->value), &ask);
		break;
	case TYPE_CREDENTIALS:
		asks = credential_ask(ctx, entry, &ask);
		break;
	default:
		asks = entry->index == ENTRY_WHOLE ? value_ask(entry, &ask) :
		       string_ask(entry->value, &ask);
	}
	if (!asks || ask.kind == ASK_NOTHING) {
		ask_done(&ask);
		return false;
	}
	for (char *s = ask.text; ask.kind == ASK_HOST && *s; s++)
		*s = (char)tolower((unsigned char)*s);
	*ret = ask;
	return true;
}
