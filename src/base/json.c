/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/json.c - strict JSON, and the place of each value in its text
 *
 * Theory of operation: jansson decides what is JSON. The locator below only ever
 * sees text that was accepted, so it checks nothing: it skips strings, counts
 * brackets and compares keys. A single pass, no allocation but for keys with
 * escapes.
 */

#include "base/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

static void place_at(const char *text, size_t offset, struct json_place *ret)
{
	ret->line = 1;
	ret->column = 1;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			ret->line++;
			ret->column = 1;
		} else {
			ret->column++;
		}
	}
	ret->offset = offset;
}

static int fail_at(struct err *err, const char *name, const char *text,
		   size_t offset, const char *what)
{
	struct json_place at;

	place_at(text, offset, &at);
	return fail(err, -EINVAL, "%s:%u:%u: %s", name, at.line, at.column,
		    what);
}

/* Depth is checked here because jansson's own limit is not ours */
static int check_shape(const char *text, size_t n, const char *name,
		       struct err *err)
{
	bool string = false;
	unsigned int depth = 0;
	size_t blanks = 0;

	if (n > JSON_TEXT_MAX)
		return fail(err, -EFBIG, "%s: larger than 1 MiB", name);
	if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		return fail_at(err, name, text, 0,
			       "starts with a byte-order mark; save it as UTF-8 without one");
	while (blanks < n && memchr(" \t\r\n", text[blanks], 4))
		blanks++;
	if (blanks == n)
		return fail(err, -EINVAL,
			    "%s: is empty; delete it, or write {} into it",
			    name);

	for (size_t i = 0; i < n; i++) {
		if (!text[i])
			return fail_at(err, name, text, i, "holds a NUL byte");
		if (text[i] == '"')
			string = !string;
		else if (string && text[i] == '\\')
			i++;
		else if (!string && (text[i] == '{' || text[i] == '['))
			depth++;
		else if (!string && depth && (text[i] == '}' || text[i] == ']'))
			depth--;
		if (depth > JSON_DEPTH_MAX)
			return fail_at(err, name, text, i,
				       "more than 32 levels deep");
	}
	return 0;
}

/* A hint about the syntax of other languages: comments, single quotes, a last comma. @at
 * is behind what could not be parsed.
 */
static const char *hint(const char *text, size_t at, size_t n)
{
	size_t before = at ? at - 1 : 0;

	if (!at || at > n)
		return "";
	while (before && strchr(" \t\r\n", text[before - 1]))
		before--;
	switch (text[at - 1]) {
	case '}':
	case ']':
		return before && text[before - 1] == ',' ?
		       "; remove the comma before it" : "";
	case '/':
	case '#':
		return "; JSON has no comments";
	case '\'':
		return "; write \" instead";
	default:
		return "";
	}
}

/* What stands at the place of an error may be a secret: a settings file of a repository can
 * be a link to one, and hooks hand messages to a model. Only marks of JSON are shown, and a
 * key that is there twice.
 */
static const char *without_excerpt(json_error_t *why)
{
	static const char near[] = " near '";
	char *at = strstr(why->text, near);

	if (at && json_error_code(why) != json_error_duplicate_key &&
	    at[strlen(near) + strspn(at + strlen(near), "{}[]:,\"/#'")])
		*at = '\0';
	return why->text;
}

json_t *json_parse(const char *text, size_t n, const char *name,
		   struct err *err)
{
	json_error_t why;
	json_t *root;
	bool nul;

	if (check_shape(text, n, name, err) < 0)
		return NULL;
	root = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
			  &why);
	if (root)
		return root;
	/* The library's text for that is about its own flags */
	nul = json_error_code(&why) == json_error_null_character;
	fail(err, -EINVAL, "%s:%d:%d: %s%s%s", name, why.line, why.column,
	     nul ? "" : "not valid JSON: ",
	     nul ? "holds \\u0000, which no path or name can hold" :
	     without_excerpt(&why),
	     hint(text, (size_t)why.position, n));
	return NULL;
}

json_t *json_read(int dirfd, const char *path, struct err *err)
{
	auto_buf struct buf text = { 0 };

	return fs_read(dirfd, path, JSON_TEXT_MAX, &text, err) < 0 ? NULL :
	       json_parse(buf_str(&text), text.len, path, err);
}

static const char *skip_blank(const char *p, const char *end)
{
	while (p < end && strchr(" \t\r\n", *p))
		p++;
	return p;
}

static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++) {
		if (*p == '\\')
			p++;
	}
	return p < end ? p + 1 : end;
}

static const char *skip_value(const char *p, const char *end)
{
	unsigned int depth = 0;

	for (p = skip_blank(p, end); p < end;) {
		if (*p == '"') {
			p = skip_string(p, end);
		} else if (*p == '{' || *p == '[') {
			depth++;
			p++;
		} else if (*p == '}' || *p == ']') {
			depth--;
			p++;
		} else if (depth) {
			p++;
		} else {
			return p + strcspn(p, ",]} \t\r\n");
		}
		if (!depth)
			return p;
	}
	return end;
}

/* One step of a path: a key, or an index */
struct step {
	char *key;
	size_t index;
};

static bool next_step(const char **path, struct step *ret)
{
	const char *p = *path;

	*ret = (struct step){ 0 };
	if (*p == '[' && p[1] == '"') {
		const char *close = skip_string(p + 1, p + strlen(p));
		json_t *key = json_loadb(p + 1, (size_t)(close - p - 1),
					 JSON_DECODE_ANY, NULL);

		if (!key || *close != ']') {
			json_decref(key);
			return false;
		}
		ret->key = mem_strdup(json_string_value(key));
		json_decref(key);
		*path = close + 1;
	} else if (*p == '[') {
		char *close;

		ret->index = strtoul(p + 1, &close, 10);
		*path = *close == ']' ? close + 1 : close;
	} else {
		const size_t n = strcspn(p += *p == '.', ".[");

		ret->key = mem_strndup(p, n);
		*path = p + n;
	}
	return true;
}

static bool key_is(const char *string, const char *end, const char *key)
{
	const size_t n = (size_t)(end - string);
	json_t *decoded;
	bool same;

	if (!memchr(string, '\\', n))
		return n == strlen(key) + 2 && !memcmp(string + 1, key, n - 2);
	decoded = json_loadb(string, n, JSON_DECODE_ANY, NULL);
	same = decoded && !strcmp(json_string_value(decoded), key);
	json_decref(decoded);
	return same;
}

/* The start of the member of the value at @p that @step names, or NULL */
static const char *member(const char *p, const char *end,
			  const struct step *step)
{
	if (p >= end || *p != (step->key ? '{' : '['))
		return NULL;
	p = skip_blank(p + 1, end);
	for (size_t i = 0; p < end && *p != '}' && *p != ']'; i++) {
		bool found = !step->key && i == step->index;

		if (step->key) {
			const char *close = skip_string(p, end);

			found = key_is(p, close, step->key);
			p = skip_blank(close, end);
			p = skip_blank(p + 1, end);	/* The colon */
		}
		if (found)
			return p;
		p = skip_blank(skip_value(p, end), end);
		if (p < end && *p == ',')
			p = skip_blank(p + 1, end);
	}
	return NULL;
}

int json_locate(const char *text, size_t n, const char *path,
		struct json_place *ret)
{
	const char *end = text + n;
	const char *p = skip_blank(text, end);
	struct json_place at;

	while (*path) {
		struct step step;

		if (!next_step(&path, &step))
			return -ENOENT;
		p = member(p, end, &step);
		free(step.key);
		if (!p)
			return -ENOENT;
	}
	place_at(text, (size_t)(p - text), &at);
	at.end = (size_t)(skip_value(p, end) - text);
	*ret = at;
	return 0;
}

int json_next(const char *text, size_t n, struct json_place *place)
{
	const char *end = text + n;
	const char *p = skip_blank(text + place->end, end);
	struct json_place at = *place;

	if (p >= end || *p != ',')
		return -ENOENT;
	p = skip_blank(p + 1, end);
	for (const char *c = text + place->offset; c < p; c++) {
		at.column = *c == '\n' ? 1 : at.column + 1;
		at.line += *c == '\n';
	}
	at.offset = (size_t)(p - text);
	at.end = (size_t)(skip_value(p, end) - text);
	*place = at;
	return 0;
}

json_t *json_text(const char *text)
{
	json_t *string = text ? json_string(text) : json_null();
	auto_buf struct buf safe = { 0 };

	if (string)
		return string;
	text_escape(&safe, text);
	return json_string(buf_str(&safe));
}

const char *json_get_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

void json_path_key(struct buf *path, const char *key)
{
	if (*key && !key[strcspn(key, ".[]\"\\")]) {
		if (path->len)
			buf_addc(path, '.');
		buf_adds(path, key);
	} else {
		json_t *string = json_string_nocheck(key);
		auto_free char *quoted = json_dumps(string, JSON_ENCODE_ANY);

		buf_addf(path, "[%s]", quoted ? quoted : "\"\"");
		json_decref(string);
	}
}

/* Once for every entry of a list, and so without printf() */
void json_path_index(struct buf *path, size_t index)
{
	buf_addc(path, '[');
	buf_addu(path, index);
	buf_addc(path, ']');
}
