/* SPDX-License-Identifier: Apache-2.0 */
/* policy/document.c - parse settings files into facts and entries */

#include "policy/document.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/srt-settings.h"

void settings_note(struct settings_report *report, enum note_level level,
		   const char *fmt, ...)
{
	const size_t max = level == NOTE_ERROR ? 2 * NOTES_MAX : NOTES_MAX;
	char text[ERR_MSG_MAX];
	va_list ap;

	/* Errors have a limit of their own, so that notes cannot crowd them out */
	if (report->notes.len >= max) {
		report->dropped++;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	*vec_push(&report->notes) = (struct settings_note){
		.level = level, .text = mem_strdup(text),
	};
}

size_t settings_errors(const struct settings_report *report)
{
	size_t n = 0;

	for (size_t i = 0; i < report->notes.len; i++)
		n += report->notes.v[i].level == NOTE_ERROR;
	return n;
}

void settings_report_done(struct settings_report *report)
{
	for (size_t i = 0; i < report->notes.len; i++)
		free(report->notes.v[i].text);
	for (size_t i = 0; i < report->files.len; i++)
		free(report->files.v[i].path);
	for (size_t i = 0; i < report->sources.len; i++) {
		free(report->sources.v[i].id);
		free(report->sources.v[i].name);
		asks_done(&report->sources.v[i].asks);
	}
	free(report->sources.v);
	free(report->notes.v);
	free(report->files.v);
	*report = (struct settings_report){ 0 };
}

const char *document_doubts(const struct document *document, const char *path)
{
	return document->shape == SHAPE_SRT ? NULL
					    : path_rule_doubt(path, false);
}

bool scope_is_repository(enum scope scope)
{
	return scope == SCOPE_PROJECT || scope == SCOPE_LOCAL;
}

/* A managed file's problem is reported, and the rest of the file enforced */
__attribute__((format(printf, 5, 0)))
static int add_note(const struct facts *facts, const struct document *document,
		    enum note_level level, const char *key, const char *fmt,
		    va_list ap)
{
	const struct source *source = document->source;
	const bool fatal = level == NOTE_ERROR && !facts->check &&
			   source->scope != SCOPE_MANAGED;
	struct json_place at = { .line = 1, .column = 1 };
	char what[ERR_MSG_MAX / 2];
	struct err text = { 0 };

	(void)source_locate(source, key, &at);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	fail(fatal ? facts->err : &text, -EINVAL, "%s:%u:%u: %s%s%s",
	     source->name, at.line, at.column, key, *key ? ": " : "", what);
	if (fatal)
		return -EINVAL;
	settings_note(facts->report, level, "%s", text.msg);
	return 0;
}

int document_note(const struct facts *facts, const struct document *document,
		  enum note_level level, const char *key, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = add_note(facts, document, level, key, fmt, ap);
	va_end(ap);
	return r;
}

struct entry fact_entry(const struct facts *facts, const struct fact *fact)
{
	return (struct entry){ .facts = facts, .fact = fact, .index = ENTRY_WHOLE };
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
	r = add_note(entry->facts, entry->fact->document, NOTE_ERROR, key, fmt,
		     ap);
	va_end(ap);
	return r;
}

void entry_warn(const struct entry *entry, const char *fmt, ...)
{
	auto_free char *key = key_of(entry);
	va_list ap;

	va_start(ap, fmt);
	(void)add_note(entry->facts, entry->fact->document, NOTE_WARNING, key,
		       fmt, ap);
	va_end(ap);
}

/**
 * struct walk - The value that the walk of a document has come to
 * @key:	Its JSON path in the file
 * @area_len:	Bytes of @key before the name of its row: of "sandbox."
 */
struct walk {
	struct facts *facts;
	const struct document *document;
	enum setting_area area;
	struct buf key;
	size_t area_len;
};

static const char *row_name(const struct walk *walk)
{
	return buf_str(&walk->key) + walk->area_len;
}

/* "did you mean ...?": the first @n bytes of @near. A misspelled denial would protect
 * nothing and is an error, except where srt's rules apply: srt ignores unknown keys.
 */
static int note_meant(const struct walk *walk, const char *key,
		      const struct setting *near, size_t n)
{
	const struct document *document = walk->document;
	const char *above = document->shape == SHAPE_CLAUDE &&
			    near->area == AREA_SANDBOX ? "sandbox." : "";

	if (!document->as_srt && (near->tighten == TIGHTEN_YES ||
				  near->tighten == TIGHTEN_DENY))
		return document_note(walk->facts, document, NOTE_ERROR, key,
				     "unknown key; did you mean %s%.*s?",
				     above, (int)n, near->path);
	return document_note(walk->facts, document, NOTE_UNKNOWN, key,
			     "unknown key, ignored; did you mean %s%.*s?", above,
			     (int)n, near->path);
}

static int note_unknown(const struct walk *walk)
{
	const char *key = buf_str(&walk->key), *path = row_name(walk);
	const struct setting *same = schema_respelled(walk->area, path);
	const struct setting *near = schema_nearest(walk->area, path);

	if (same)
		return note_meant(walk, key, same, strlen(path));
	if (near)
		return note_meant(walk, key, near, strlen(near->path));
	return document_note(walk->facts, walk->document, NOTE_UNKNOWN, key,
			     "unknown key, ignored");
}

/* A key beside "sandbox" that is probably one of ours in other letters, or one that
 * belongs below "sandbox"
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
	return !meant ? 0 :
	       document_note(walk->facts, walk->document, NOTE_UNKNOWN, name,
			     "unknown key, ignored; did you mean %s?", meant);
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

/* No row has a dot in a name, so a quoted key equals none of them */
static int walk_member(struct walk *walk, const char *name, json_t *value)
{
	const size_t len = walk->key.len;
	const struct setting *setting;
	int r = 0;

	json_path_key(&walk->key, name);
	setting = schema_find(walk->area, row_name(walk));
	if (json_is_null(value))
		;	/* Unset, whatever it is */
	else if (setting)
		add_fact(walk, setting, value);
	else if (!schema_is_object(walk->area, row_name(walk)))
		r = note_unknown(walk);
	else if (json_is_object(value))
		r = walk_object(walk, value);
	else
		r = document_note(walk->facts, walk->document, NOTE_ERROR,
				  buf_str(&walk->key), "must be an object");

	walk->key.len = len;
	walk->key.p[len] = '\0';
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

/* Keys of a Claude file that are not in the schema are Claude Code's own */
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
		return document_note(walk->facts, walk->document, NOTE_ERROR,
				     "sandbox", "must be an object");
	walk->area = AREA_SANDBOX;
	json_path_key(&walk->key, "sandbox");
	walk->area_len = strlen("sandbox.");
	return walk_object(walk, sandbox);
}

static int walk_document(struct facts *facts, const struct document *document)
{
	struct walk walk = {
		.facts = facts, .document = document, .area = AREA_SANDBOX,
	};
	int r;

	if (!json_is_object(document->root))
		r = document_note(facts, document, NOTE_ERROR, "",
				  "must be an object: { ... }");
	else if (document->shape == SHAPE_CLAUDE)
		r = walk_claude(&walk, document->root);
	else
		r = walk_object(&walk, document->root);
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
	auto_json json_t *root = json_parse(text, n, place->name, &why);
	struct document *document;

	if (!root) {
		if (!facts->check && !place->drop_in)
			return fail(facts->err, why.code, "%s", why.msg);
		settings_note(facts->report, NOTE_ERROR, "%s", why.msg);
		return 1;
	}
	if (place->as_srt && srt_check(root, &why) < 0)
		return fail(facts->err, -EINVAL, "%s does not hold a valid config — %s",
			    place->name, why.msg);
	document = mem_zalloc(sizeof(*document));
	document->source = policy_add_source(policy, place->scope, place->name,
					     text, n, place->base);
	document->shape = place->shape == SHAPE_GUESS ? guess_shape(root)
						      : place->shape;
	document->root = take_ptr(root);
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
