/* SPDX-License-Identifier: Apache-2.0 */
/* secret/doc.c - a JSON object full of secrets, read and edited as text */

#include "secret/doc.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "secret/bytes.h"

struct span span_of(const struct bytes *b)
{
	return (struct span){ bytes_str(b), b->len };
}

struct span span_str(const char *s)
{
	return (struct span){ s, strlen(s) };
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_blank(struct span text, size_t at)
{
	while (at < text.n && is_blank(text.p[at]))
		at++;
	return at;
}

static size_t skip_string(struct span text, size_t at)
{
	for (at++; at < text.n && text.p[at] != '"'; at++) {
		if (text.p[at] == '\\')
			at++;
	}
	return at + 1;
}

/* Just past the value at @at. The text is known to be good: counting brackets
 * outside strings is enough.
 */
static size_t skip_value(struct span text, size_t at)
{
	unsigned int depth = 0;

	while (at < text.n) {
		const char c = text.p[at];

		if (!depth && (c == ',' || c == '}' || c == ']' || is_blank(c)))
			break;
		if (c == '"') {
			at = skip_string(text, at);
			continue;
		}
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		at++;
	}
	return at;
}

bool doc_next(struct span doc, size_t *cursor, struct doc_member *ret)
{
	size_t at = skip_blank(doc, *cursor), start;

	if (!*cursor) {
		if (at >= doc.n || doc.p[at] != '{')
			return false;
		at = skip_blank(doc, at + 1);
	} else if (at < doc.n && doc.p[at] == ',') {
		at = skip_blank(doc, at + 1);
	}
	if (at >= doc.n || doc.p[at] != '"')
		return false;
	start = at;
	at = skip_string(doc, at);
	ret->key = (struct span){ doc.p + start, at - start };
	at = skip_blank(doc, skip_blank(doc, at) + 1);	/* The colon */
	start = at;
	at = skip_value(doc, at);
	ret->value = (struct span){ doc.p + start, at - start };
	*cursor = at;
	return true;
}

/* True if @key, as it is written, spells @name */
static bool key_is(struct span key, const char *name)
{
	auto_bytes struct bytes plain = { 0 };
	const size_t n = strlen(name);

	if (!memchr(key.p, '\\', key.n))
		return key.n == n + 2 && !memcmp(key.p + 1, name, n);
	return !doc_unquote(key, &plain) && plain.len == n &&
	       !memcmp(plain.p, name, n);
}

bool doc_find(struct span doc, const char *name, struct span *ret)
{
	struct doc_member m;
	size_t cursor = 0;

	while (doc_next(doc, &cursor, &m)) {
		if (key_is(m.key, name)) {
			*ret = m.value;
			return true;
		}
	}
	return false;
}

size_t doc_count(struct span doc)
{
	struct doc_member m;
	size_t cursor = 0, n = 0;

	while (doc_next(doc, &cursor, &m))
		n++;
	return n;
}

bool doc_is_null(struct span value)
{
	return value.n == 4 && !memcmp(value.p, "null", 4);
}

static void add_utf8(struct bytes *out, uint32_t c)
{
	if (c < 0x80) {
		bytes_addc(out, (char)c);
		return;
	}
	if (c < 0x800) {
		bytes_addc(out, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			bytes_addc(out, (char)(0xe0 | c >> 12));
		} else {
			bytes_addc(out, (char)(0xf0 | c >> 18));
			bytes_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		bytes_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	bytes_addc(out, (char)(0x80 | (c & 0x3f)));
}

static uint32_t hex4(const char *p)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++)
		value = value << 4 | (uint32_t)(p[i] <= '9' ? p[i] - '0' :
						(p[i] | 32) - 'a' + 10);
	return value;
}

/* The escape at @p, a backslash; returns how long it is */
static size_t unescape(const char *p, struct bytes *out)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *known = strchr(from, p[1]);
	uint32_t c;

	if (p[1] != 'u') {
		bytes_addc(out, known ? to[known - from] : p[1]);
		return 2;
	}
	c = hex4(p + 2);
	if (c < 0xd800 || c > 0xdbff) {
		add_utf8(out, c);
		return 6;
	}
	add_utf8(out, 0x10000 + ((c - 0xd800) << 10) + hex4(p + 8) - 0xdc00);
	return 12;
}

int doc_unquote(struct span string, struct bytes *out)
{
	if (string.n < 2 || string.p[0] != '"')
		return -EINVAL;
	bytes_reserve(out, out->len + string.n);
	bytes_add(out, "", 0);
	for (size_t i = 1; i < string.n - 1;) {
		const char *escape = memchr(string.p + i, '\\',
					    string.n - 1 - i);
		const size_t plain = escape ? (size_t)(escape - string.p) - i :
					      string.n - 1 - i;

		bytes_add(out, string.p + i, plain);
		i += plain;
		if (escape)
			i += unescape(escape, out);
	}
	return 0;
}

bool doc_find_string(struct span doc, const char *name, struct bytes *out)
{
	struct span value;

	return doc_find(doc, name, &value) && !doc_unquote(value, out);
}

static uint32_t decode_utf8(const char *p, size_t n)
{
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (unsigned char)p[0] & mask[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

static void add_unit(struct bytes *out, uint32_t unit)
{
	const unsigned char two[] = { (unsigned char)(unit >> 8),
				      (unsigned char)unit };

	bytes_adds(out, "\\u");
	bytes_add_hex(out, two, 2);
}

void doc_quote(struct bytes *out, const char *s, size_t n)
{
	bytes_reserve(out, out->len + n + 2);
	bytes_addc(out, '"');
	for (size_t i = 0; i < n;) {
		const size_t len = text_utf8_len(s + i);
		const uint32_t c = decode_utf8(s + i, len ? len : 1);

		if (c == '"' || c == '\\') {
			bytes_addc(out, '\\');
			bytes_addc(out, (char)c);
		} else if (c >= 0x20 && c < 0x7f) {
			bytes_addc(out, (char)c);
		} else if (c < 0x10000) {
			add_unit(out, c);
		} else {
			add_unit(out, 0xd800 + ((c - 0x10000) >> 10));
			add_unit(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
		}
		i += len ? len : 1;
	}
	bytes_addc(out, '"');
}

void doc_open(struct bytes *out)
{
	bytes_addc(out, '{');
}

void doc_close(struct bytes *out)
{
	bytes_addc(out, '}');
}

static void separate(struct bytes *out)
{
	if (out->p[out->len - 1] != '{')
		bytes_addc(out, ',');
}

void doc_add(struct bytes *out, const char *name, struct span value)
{
	separate(out);
	doc_quote(out, name, strlen(name));
	bytes_addc(out, ':');
	bytes_add(out, value.p, value.n);
}

void doc_add_string(struct bytes *out, const char *name, const char *s,
		    size_t n)
{
	separate(out);
	doc_quote(out, name, strlen(name));
	bytes_addc(out, ':');
	doc_quote(out, s, n);
}

static void add_member(struct bytes *out, const struct doc_member *m)
{
	separate(out);
	bytes_add(out, m->key.p, m->key.n);
	bytes_addc(out, ':');
	bytes_add(out, m->value.p, m->value.n);
}

/* All members of @doc but @name */
static void add_others(struct bytes *out, struct span doc, const char *name)
{
	struct doc_member m;
	size_t cursor = 0;

	while (doc_next(doc, &cursor, &m)) {
		if (!key_is(m.key, name))
			add_member(out, &m);
	}
}

void doc_put(struct span doc, const char *name, struct span value,
	     struct bytes *out)
{
	struct bytes made = { 0 };

	bytes_reserve(&made, doc.n + value.n + strlen(name) + 8);
	doc_open(&made);
	add_others(&made, doc, name);
	doc_add(&made, name, value);
	doc_close(&made);
	bytes_move(out, &made);
}

void doc_drop(struct span doc, const char *name, struct bytes *out)
{
	struct bytes made = { 0 };

	bytes_reserve(&made, doc.n + 2);
	doc_open(&made);
	add_others(&made, doc, name);
	doc_close(&made);
	bytes_move(out, &made);
}

/* True if @doc has a member of the same name as @key, as it is written */
static bool has_key(struct span doc, struct span key)
{
	auto_bytes struct bytes name = { 0 };
	struct span value;

	return !doc_unquote(key, &name) &&
	       doc_find(doc, bytes_str(&name), &value);
}

void doc_merge(struct span base, struct span over, struct bytes *out)
{
	struct bytes made = { 0 };
	struct doc_member m;
	size_t cursor = 0;

	bytes_reserve(&made, base.n + over.n + 2);
	doc_open(&made);
	while (doc_next(base, &cursor, &m)) {
		if (!has_key(over, m.key))
			add_member(&made, &m);
	}
	for (cursor = 0; doc_next(over, &cursor, &m);)
		add_member(&made, &m);
	doc_close(&made);
	bytes_move(out, &made);
}

void doc_strip(struct span doc, struct bytes *out)
{
	struct bytes made = { 0 };
	struct doc_member m;
	const size_t n = strlen(DOC_REMOVED);
	size_t cursor = 0;

	bytes_reserve(&made, doc.n + 2);
	doc_open(&made);
	while (doc_next(doc, &cursor, &m)) {
		if (m.value.n <= n || memcmp(m.value.p, DOC_REMOVED, n) != 0)
			add_member(&made, &m);
	}
	doc_close(&made);
	bytes_move(out, &made);
}
