/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/edit.c - change one value of a JSON text and nothing else
 *
 * Theory of operation: the text is parsed to know what is there, and
 * json_locate() tells where. The new text is the old one with a piece cut out
 * or put in; how it is indented is taken from the lines around it.
 */

#include "policy/edit.h"

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
 * struct editing - A text, what is known of its looks, and where the answer goes
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

static void look(struct editing *e)
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

/* A change of the value at @path to or by @value */
typedef int change_fn(const struct editing *e, const char *path,
		      const char *value);

/* Nothing is known of the looks of @e yet */
static int edit(struct editing *e, change_fn *change, const char *path,
		const char *value)
{
	int r;

	if (e->text[strspn(e->text, " \t\r\n")] == '\0') {
		e->text = "{}\n";
		e->n = 3;
	}
	e->root = json_parse(e->text, e->n, e->name, e->err);
	if (!e->root)
		return -EINVAL;
	if (!json_is_object(e->root)) {
		r = fail(e->err, -EINVAL, "%s: must be an object: { ... }",
			 e->name);
	} else {
		look(e);
		r = change(e, path, value);
	}
	json_decref(e->root);
	return r;
}

static void add_break(const struct editing *e, struct buf *out, size_t depth)
{
	buf_adds(out, e->newline);
	for (size_t i = 0; i < depth; i++)
		buf_add(out, e->indent, e->indent_len);
}

static void splice(const struct editing *e, size_t from, size_t to,
		   const struct buf *piece)
{
	buf_add(e->out, e->text, from);
	buf_add(e->out, buf_str(piece), piece->len);
	buf_add(e->out, e->text + to, e->n - to);
}

/* '"a": {"b": VALUE}' for the keys @rest ("a.b"), laid out at @depth */
static void add_members(const struct editing *e, const char *rest,
			const char *value, size_t depth, bool lines,
			struct buf *out)
{
	const size_t n = strcspn(rest, ".");

	buf_addf(out, "\"%.*s\": ", (int)n, rest);
	if (!rest[n]) {
		buf_adds(out, value);
		return;
	}
	buf_addc(out, '{');
	if (lines)
		add_break(e, out, depth + 1);
	add_members(e, rest + n + 1, value, depth + 1, lines, out);
	if (lines)
		add_break(e, out, depth);
	buf_addc(out, '}');
}

/* Where the last member of @object, at @path, ends; 0 if it has none */
static size_t last_end(const struct editing *e, json_t *object,
		       const char *path)
{
	auto_buf struct buf member = { 0 };
	const char *key, *last = NULL;
	struct json_place at;
	json_t *value;

	/* Members come in the order of the text */
	json_object_foreach(object, key, value)
		last = key;
	if (!last)
		return 0;
	buf_adds(&member, path);
	json_path_key(&member, last);
	return json_locate(e->text, e->n, buf_str(&member), &at) == 0 ?
	       at.end : 0;
}

/* Put the members @rest into the object at @path, behind all others */
static int insert(const struct editing *e, json_t *object, const char *path,
		  size_t depth, const char *rest, const char *value)
{
	const size_t last = last_end(e, object, path);
	auto_buf struct buf piece = { 0 };
	struct json_place at;
	bool lines;

	if (json_locate(e->text, e->n, path, &at) < 0)
		return fail(e->err, -EINVAL, "%s: cannot find '%s'", e->name,
			    path);
	lines = !last || memchr(e->text + at.offset, '\n',
				last - at.offset) != NULL;
	if (last)
		buf_addc(&piece, ',');
	if (lines)
		add_break(e, &piece, depth + 1);
	else
		buf_addc(&piece, ' ');
	add_members(e, rest, value, depth + 1, lines, &piece);
	if (!last) {
		add_break(e, &piece, depth);
		buf_addc(&piece, '}');
		splice(e, at.offset + 1, at.end, &piece);
	} else {
		splice(e, last, last, &piece);
	}
	return 0;
}

static int replace(const struct editing *e, const char *path,
		   const char *value)
{
	auto_buf struct buf piece = { 0 };
	struct json_place at;

	if (json_locate(e->text, e->n, path, &at) < 0)
		return fail(e->err, -EINVAL, "%s: cannot find '%s'", e->name,
			    path);
	buf_adds(&piece, value);
	splice(e, at.offset, at.end, &piece);
	return 0;
}

/* Walk down @path as far as there are objects: *@ret_len bytes of it */
static json_t *descend(const struct editing *e, const char *path,
		       size_t *ret_len, size_t *ret_depth)
{
	json_t *at = e->root;
	size_t len = 0, depth = 0;

	for (;;) {
		const char *rest = path + len + (len != 0);
		auto_free char *key = mem_strndup(rest, strcspn(rest, "."));
		json_t *next = json_object_get(at, key);

		if (!next || json_is_null(next) || !json_is_object(next))
			break;
		at = next;
		len = (size_t)(rest - path) + strlen(key);
		depth++;
		if (!path[len])
			break;
	}
	*ret_len = len;
	*ret_depth = depth;
	return at;
}

/* The object that becomes of a null: its members @rest */
static void add_object(const struct editing *e, const char *rest,
		       const char *value, size_t depth, struct buf *out)
{
	buf_addc(out, '{');
	add_break(e, out, depth + 1);
	add_members(e, rest, value, depth + 1, true, out);
	add_break(e, out, depth);
	buf_addc(out, '}');
}

static int set(const struct editing *e, const char *path, const char *value)
{
	size_t len, depth;
	json_t *object = descend(e, path, &len, &depth);
	auto_free char *above = mem_strndup(path, len);
	const char *rest = path + len + (len != 0);
	auto_free char *key = mem_strndup(rest, strcspn(rest, "."));
	const char *below = rest + strlen(key);
	auto_free char *here = mem_strndup(path, (size_t)(below - path));
	json_t *there = json_object_get(object, key);
	auto_buf struct buf whole = { 0 };

	if (!path[len])
		return replace(e, path, value);
	if (!there)
		return insert(e, object, above, depth, rest, value);
	if (!*below)
		return replace(e, here, value);
	if (!json_is_null(there))
		return fail(e->err, -EINVAL, "%s: %s must be an object",
			    e->name, here);
	add_object(e, below + 1, value, depth + 1, &whole);
	return replace(e, here, buf_str(&whole));
}

int edit_set(const char *text, size_t n, const char *name, const char *path,
	     const char *value, struct buf *out, struct err *err)
{
	struct editing e = { text, n, name, out, err };

	return edit(&e, set, path, value);
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

/* True if @entry is the text @value, a number that reads so, or an object of that
 * name
 */
static bool is_value(const json_t *entry, const char *value)
{
	const char *text = json_string_value(entry);
	char number[32];

	if (json_is_object(entry))
		text = json_string_value(json_object_get(entry, "name"));
	if (json_is_integer(entry)) {
		snprintf(number, sizeof(number), "%lld",
			 (long long)json_integer_value(entry));
		text = number;
	}
	return text && !strcmp(text, value);
}

static size_t find_value(json_t *list, const char *value)
{
	size_t i = 0;

	while (i < json_array_size(list) &&
	       !is_value(json_array_get(list, i), value))
		i++;
	return i;
}

/* Behind the last entry of the list at @path, laid out as that one is */
static int append(const struct editing *e, json_t *list, const char *path,
		  const char *literal)
{
	auto_free char *last = mem_printf("%s[%zu]", path,
					  json_array_size(list) - 1);
	auto_buf struct buf piece = { 0 };
	struct json_place at;
	size_t blank;

	if (json_locate(e->text, e->n, last, &at) < 0)
		return fail(e->err, -EINVAL, "%s: cannot find '%s'", e->name,
			    last);
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
	splice(e, at.end, at.end, &piece);
	return 0;
}

/* Put the JSON text @literal behind the others of the list at @path */
static int append_literal(const struct editing *e, const char *path,
			  const char *literal)
{
	json_t *list = value_at(e->root, path);
	auto_free char *whole = mem_printf("[%s]", literal);
	int r;

	if (list && !json_is_null(list) && !json_is_array(list))
		return fail(e->err, -EINVAL, "%s: %s must be a list", e->name,
			    path);
	if (json_array_size(list))
		r = append(e, list, path, literal);
	else
		r = set(e, path, whole);
	return r < 0 ? r : 1;
}

static int append_string(const struct editing *e, const char *path,
			 const char *value)
{
	json_t *string = json_string(value), *list = value_at(e->root, path);
	auto_free char *literal = string ? json_dumps(string, JSON_ENCODE_ANY)
					 : NULL;

	json_decref(string);
	if (!literal)
		return fail(e->err, -EINVAL, "'%s' is not UTF-8 text", value);
	if (find_value(list, value) < json_array_size(list))
		return 0;
	return append_literal(e, path, literal);
}

int edit_append(const char *text, size_t n, const char *name,
		const char *path, const char *value, struct buf *out,
		struct err *err)
{
	struct editing e = { text, n, name, out, err };

	return edit(&e, append_string, path, value);
}

int edit_append_value(const char *text, size_t n, const char *name,
		      const char *path, const char *value, struct buf *out,
		      struct err *err)
{
	struct editing e = { text, n, name, out, err };

	return edit(&e, append_literal, path, value);
}

/* The end of the entry before, or the start of the one behind, says where the
 * cut begins or ends, so that no comma is left
 */
int edit_remove(const char *text, size_t n, const char *path, size_t index,
		struct buf *out, struct err *err)
{
	auto_free char *here = mem_printf("%s[%zu]", path, index);
	auto_free char *before = mem_printf("%s[%zu]", path, index - 1);
	auto_free char *behind = mem_printf("%s[%zu]", path, index + 1);
	struct json_place at, other;
	size_t from, to;

	if (json_locate(text, n, here, &at) < 0)
		return fail(err, -ENOENT, "there is no %s", here);
	from = at.offset;
	to = at.end;
	if (index && json_locate(text, n, before, &other) == 0)
		from = other.end;
	else if (json_locate(text, n, behind, &other) == 0)
		to = other.offset;
	else if (json_locate(text, n, path, &other) == 0) {
		from = other.offset + 1;
		to = other.end - 1;
	}
	buf_add(out, text, from);
	buf_add(out, text + to, n - to);
	return 0;
}

int edit_take(const char *text, size_t n, const char *name, const char *path,
	      const char *value, struct buf *out, struct err *err)
{
	json_t *root = n ? json_parse(text, n, name, err) : json_object();
	json_t *list = root ? value_at(root, path) : NULL;
	const size_t index = find_value(list, value);
	const bool there = index < json_array_size(list);
	int r;

	if (!root)
		return -EINVAL;
	json_decref(root);
	if (!there)
		return 0;
	r = edit_remove(text, n, path, index, out, err);
	return r < 0 ? r : 1;
}
