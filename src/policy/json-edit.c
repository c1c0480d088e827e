/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/json-edit.c - change one value of a JSON text and nothing else
 *
 * Theory of operation: jansson parses the text, and json_locate() finds the bytes
 * of a value. The new text is the old one with a piece removed or inserted, which
 * is indented like the lines around it.
 */

#include "policy/json-edit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"

/**
 * struct editing - A text, its layout, and where the new text goes
 * @newline:	Its line end
 * @indent:	One step, @indent_len bytes of the text or of a default
 */
struct editing {
	const char *text;
	size_t n;
	const char *name;
	struct buf *out;
	struct err *err;
	json_t *root;
	const char *newline;
	const char *indent;
	size_t indent_len;
};

static void find_layout(struct editing *e)
{
	const char *at = memchr(e->text, '\n', e->n);
	const char *end = e->text + e->n;

	e->newline = at && at > e->text && at[-1] == '\r' ? "\r\n" : "\n";
	e->indent = "  ";
	e->indent_len = 2;
	while (at && at + 1 < end) {
		const size_t blank = strspn(at + 1, " \t");

		if (blank && at + 1 + blank < end && at[1 + blank] == '"') {
			e->indent = at + 1;
			e->indent_len = blank;
			return;
		}
		at = memchr(at + 1, '\n', (size_t)(end - at - 1));
	}
}

static int locate(const struct editing *e, const char *path, size_t n,
		  struct json_place *ret)
{
	auto_free char *prefix = mem_strndup(path, n);

	if (json_locate(e->text, e->n, prefix, ret) < 0)
		return fail(e->err, -EINVAL, "%s: cannot find '%s'", e->name,
			    prefix);
	return 0;
}

static void add_break(const struct editing *e, struct buf *out, size_t depth)
{
	buf_adds(out, e->newline);
	for (size_t i = 0; i < depth; i++)
		buf_add(out, e->indent, e->indent_len);
}

static int splice(const struct editing *e, size_t from, size_t to,
		  const char *piece)
{
	buf_add(e->out, e->text, from);
	buf_adds(e->out, piece);
	buf_add(e->out, e->text + to, e->n - to);
	return 1;
}

static void add_object(const struct editing *e, const char *rest,
		       const char *value, size_t depth, bool lines,
		       struct buf *out);

/* '"a": {"b": VALUE}' for the keys @rest ("a.b"), laid out at @depth */
static void add_member(const struct editing *e, const char *rest,
		       const char *value, size_t depth, bool lines,
		       struct buf *out)
{
	const size_t n = strcspn(rest, ".");

	buf_addf(out, "\"%.*s\": ", (int)n, rest);
	if (rest[n])
		add_object(e, rest + n + 1, value, depth, lines, out);
	else
		buf_adds(out, value);
}

static void add_object(const struct editing *e, const char *rest,
		       const char *value, size_t depth, bool lines,
		       struct buf *out)
{
	buf_addc(out, '{');
	if (lines)
		add_break(e, out, depth + 1);
	add_member(e, rest, value, depth + 1, lines, out);
	if (lines)
		add_break(e, out, depth);
	buf_addc(out, '}');
}

/* Put the member @rest into the object at @at, behind all others */
static int insert(const struct editing *e, const struct json_place *at,
		  size_t depth, const char *rest, const char *value)
{
	auto_buf struct buf piece = { 0 };
	size_t last = at->end - 1;	/* Where the last member ends */
	bool lines;

	while (strchr(" \t\r\n", e->text[last - 1]))
		last--;
	if (last == at->offset + 1) {
		add_object(e, rest, value, depth, true, &piece);
		return splice(e, at->offset, at->end, buf_str(&piece));
	}
	lines = memchr(e->text + at->offset, '\n', last - at->offset);
	buf_addc(&piece, ',');
	if (lines)
		add_break(e, &piece, depth + 1);
	else
		buf_addc(&piece, ' ');
	add_member(e, rest, value, depth + 1, lines, &piece);
	return splice(e, last, last, buf_str(&piece));
}

/* Walk down @path as far as there are objects, and change or add what follows */
static int set(const struct editing *e, const char *path, const char *value)
{
	json_t *object = e->root, *next;
	size_t len = 0, depth = 0;	/* Of the path to @object */

	for (;; depth++, object = next) {
		const char *rest = path + len + (len != 0);
		const size_t n = strcspn(rest, ".");
		const size_t end = (size_t)(rest - path) + n;
		auto_free char *key = mem_strndup(rest, n);
		auto_buf struct buf whole = { 0 };
		struct json_place at;

		next = json_object_get(object, key);
		if (next && rest[n] && json_is_object(next)) {
			len = end;
			continue;
		}
		if (next && rest[n] && !json_is_null(next))
			return fail(e->err, -EINVAL, "%s: %.*s must be an object",
				    e->name, (int)end, path);
		if (locate(e, path, next ? end : len, &at) < 0)
			return -EINVAL;
		if (!next)
			return insert(e, &at, depth, rest, value);
		if (rest[n])
			add_object(e, rest + n + 1, value, depth + 1, true,
				   &whole);
		return splice(e, at.offset, at.end,
			      rest[n] ? buf_str(&whole) : value);
	}
}

static json_t *value_at(json_t *root, const char *path)
{
	json_t *at = root;

	while (at && *path) {
		const size_t n = strcspn(path, ".");
		auto_free char *key = mem_strndup(path, n);

		at = json_object_get(at, key);
		path += n + (path[n] == '.');
	}
	return at;
}

/* The entry of @list that is the text @value, a number that reads so, or an object of
 * that name; the length if there is none
 */
static size_t find_value(json_t *list, const char *value)
{
	json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry) {
		const char *text = json_string_value(json_is_object(entry) ?
			json_object_get(entry, "name") : entry);
		char number[32];

		if (json_is_integer(entry)) {
			(void)snprintf(number, sizeof(number), "%lld",
				       (long long)json_integer_value(entry));
			text = number;
		}
		if (text && !strcmp(text, value))
			return i;
	}
	return json_array_size(list);
}

/* Put the JSON text @literal behind the others of the list at @path, laid out as the
 * last one is
 */
static int append_literal(const struct editing *e, const char *path,
			  const char *literal)
{
	json_t *list = value_at(e->root, path);
	auto_free char *last = mem_printf("%s[%zu]", path,
					  json_array_size(list) - 1);
	auto_buf struct buf piece = { 0 };
	struct json_place at;
	size_t blank;

	if (list && !json_is_null(list) && !json_is_array(list))
		return fail(e->err, -EINVAL, "%s: %s must be a list", e->name,
			    path);
	if (!json_array_size(list)) {
		buf_addf(&piece, "[%s]", literal);
		return set(e, path, buf_str(&piece));
	}
	if (locate(e, last, strlen(last), &at) < 0)
		return -EINVAL;
	blank = at.offset;
	while (blank && strchr(" \t", e->text[blank - 1]))
		blank--;
	buf_addc(&piece, ',');
	if (blank && e->text[blank - 1] == '\n') {
		buf_adds(&piece, e->newline);
		buf_add(&piece, e->text + blank, at.offset - blank);
	} else {
		buf_addc(&piece, ' ');
	}
	buf_adds(&piece, literal);
	return splice(e, at.end, at.end, buf_str(&piece));
}

static int append_string(const struct editing *e, const char *path,
			 const char *value)
{
	auto_json json_t *string = json_string(value);
	json_t *list = value_at(e->root, path);
	auto_free char *literal = string ? json_dumps(string, JSON_ENCODE_ANY)
					 : NULL;

	if (!literal)
		return fail(e->err, -EINVAL, "'%s' is not UTF-8 text", value);
	if (find_value(list, value) < json_array_size(list))
		return 0;
	return append_literal(e, path, literal);
}

/* The cut begins at the end of the entry before, or ends at the start of the next
 * one, so that no comma is left
 */
int json_edit_remove(const char *text, size_t n, const char *path, size_t index,
		struct buf *out, struct err *err)
{
	auto_free char *here = mem_printf("%s[%zu]", path, index);
	auto_free char *before = mem_printf("%s[%zu]", path, index - 1);
	struct json_place at, other;
	size_t from, to;

	if (json_locate(text, n, here, &at) < 0)
		return fail(err, -ENOENT, "there is no %s", here);
	from = at.offset;
	to = at.end;
	other = at;
	if (index && json_locate(text, n, before, &other) == 0)
		from = other.end;
	else if (json_next(text, n, &other) == 0)
		to = other.offset;
	else if (json_locate(text, n, path, &other) == 0) {
		from = other.offset + 1;
		to = other.end - 1;
	}
	buf_add(out, text, from);
	buf_add(out, text + to, n - to);
	return 0;
}

static int take(const struct editing *e, const char *path, const char *value)
{
	json_t *list = value_at(e->root, path);
	const size_t index = find_value(list, value);
	int r;

	if (index >= json_array_size(list))
		return 0;
	r = json_edit_remove(e->text, e->n, path, index, e->out, e->err);
	return r < 0 ? r : 1;
}

int json_edit(const char *text, size_t n, const char *name,
	      enum json_edit_op op, const char *path, const char *value,
	      struct buf *out, struct err *err)
{
	static int (*const changes[])(const struct editing *e, const char *path,
				      const char *value) = {
		[JSON_EDIT_SET] = set,
		[JSON_EDIT_APPEND] = append_string,
		[JSON_EDIT_APPEND_VALUE] = append_literal,
		[JSON_EDIT_TAKE] = take,
	};
	const bool empty = !text[strspn(text, " \t\r\n")];
	struct editing e = {
		.text = empty ? "{}\n" : text, .n = empty ? 3 : n,
		.name = name, .out = out, .err = err,
	};
	int r;

	e.root = json_parse(e.text, e.n, name, err);
	if (!e.root)
		return -EINVAL;
	find_layout(&e);
	r = json_is_object(e.root) ? changes[op](&e, path, value) :
	    fail(err, -EINVAL, "%s: must be an object: { ... }", name);
	json_decref(e.root);
	return r;
}
