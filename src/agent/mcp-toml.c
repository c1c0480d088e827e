/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent/mcp-toml.c - MCP servers in Codex's config.toml
 *
 * Theory of operation: one pass over the whole grammar of TOML, which keeps the path of
 * the value it is at, and remembers those below the table of servers with their place
 * in the text. Numbers and dates are stepped over unread. What is not TOML is an error,
 * so that nothing is edited that was not understood.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/mcp.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

enum { TOML_DEPTH_MAX = 32, TOML_KEYS_MAX = 64 };

/**
 * struct toml - A text on the way through it
 * @keys:	The path of the current value, from the header's on
 * @key:		Where the key of the last pair starts
 * @inlined:	How many inline tables the value is in
 */
struct toml {
	const struct mcp_file *file;
	const char *text, *p, *end, *key;
	struct strings keys;
	unsigned int depth, inlined;
	struct mcp_servers *servers;
	struct err *err;
};

static int fail_here(struct toml *t, const char *what)
{
	unsigned int line = 1;

	for (const char *c = t->text; c < t->p; c++)
		line += *c == '\n';
	return fail(t->err, -EINVAL, "%s:%u: %s", t->file->path, line, what);
}

static void skip_blanks(struct toml *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
		t->p++;
}

/* Blanks, line ends and comments */
static void skip_lines(struct toml *t)
{
	while (t->p < t->end) {
		if (*t->p == '#')
			t->p += strcspn(t->p, "\n");
		else if (strchr(" \t\r\n", *t->p))
			t->p++;
		else
			return;
	}
}

static bool take(struct toml *t, char c)
{
	if (t->p >= t->end || *t->p != c)
		return false;
	t->p++;
	return true;
}

/* In UTF-8 */
static void add_character(struct buf *out, unsigned long c)
{
	static const unsigned char leads[] = { 0, 0xc0, 0xe0, 0xf0 };
	const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

	buf_addc(out, (char)(leads[more] | c >> 6 * more));
	for (int i = more - 1; i >= 0; i--)
		buf_addc(out, (char)(0x80 | (c >> 6 * i & 0x3f)));
}

/* Behind a backslash */
static int take_escape(struct toml *t, struct buf *out)
{
	static const char letters[] = "btnfre\"\\", bytes[] = "\b\t\n\f\r\033\"\\";
	const char c = t->p < t->end ? *t->p++ : '\0';
	const char *at = c ? strchr(letters, c) : NULL;
	const int digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
	unsigned long value = 0;

	if (at) {
		buf_addc(out, bytes[at - letters]);
		return 0;
	}
	for (int i = 0; i < digits; i++) {
		const int digit = t->p < t->end ? text_hex_digit(*t->p++) : -1;

		if (digit < 0)
			return fail_here(t, "an escape is not one of TOML");
		value = value << 4 | (unsigned int)digit;
	}
	if (!value || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return fail_here(t, "an escape is not one of TOML");
	add_character(out, value);
	return 0;
}

/* A string on one line, in quotes of either kind */
static int take_string(struct toml *t, struct buf *out)
{
	const char quote = *t->p++;

	while (t->p < t->end && *t->p != quote && *t->p != '\n') {
		const char c = *t->p++;

		if (c == '\\' && quote == '"') {
			const int r = take_escape(t, out);

			if (r < 0)
				return r;
		} else {
			buf_addc(out, c);
		}
	}
	return take(t, quote) ? 0 : fail_here(t, "a string does not end");
}

static bool is_long_string(const struct toml *t)
{
	return t->end - t->p >= 3 && t->p[1] == *t->p && t->p[2] == *t->p;
}

/* A string of several lines: its text is of no interest */
static int skip_long_string(struct toml *t)
{
	const char quote = *t->p;

	for (t->p += 3; t->p < t->end; t->p++) {
		if (*t->p == '\\' && quote == '"')
			t->p++;
		else if (*t->p == quote && is_long_string(t)) {
			t->p += 3;
			while (t->p < t->end && *t->p == quote)
				t->p++;	/* It may end with two of its own */
			return 0;
		}
	}
	t->p = t->end;
	return fail_here(t, "a string does not end");
}

static bool is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* a."b".'c': each becomes a key of the path */
static int take_keys(struct toml *t)
{
	do {
		auto_buf struct buf key = { 0 };
		int r = 0;

		skip_blanks(t);
		if (t->p < t->end && strchr("\"'", *t->p)) {
			r = is_long_string(t) ?
			    fail_here(t, "a key must be on one line") :
			    take_string(t, &key);
		} else {
			while (t->p < t->end && is_bare(*t->p))
				buf_addc(&key, *t->p++);
			r = key.len ? 0 : fail_here(t, "there is no key");
		}
		if (r < 0)
			return r;
		if (t->keys.len == TOML_KEYS_MAX)
			return fail_here(t, "a key has too many parts");
		*vec_push(&t->keys) = mem_strdup(buf_str(&key));
		skip_blanks(t);
	} while (take(t, '.'));
	return 0;
}

static void drop_keys(struct toml *t, size_t len)
{
	while (t->keys.len > len)
		free(t->keys.v[--t->keys.len]);
}

/* The server that the path is in, if it has more keys than its name */
static struct mcp_server *server_here(struct toml *t)
{
	size_t n = 0;

	while (t->file->keys[n]) {
		if (n >= t->keys.len || strcmp(t->keys.v[n], t->file->keys[n]) != 0)
			return NULL;
		n++;
	}
	return t->keys.len > n + 1 ? mcp_server_get(t->servers, t->keys.v[n]) : NULL;
}

/* True if the path is NAME.@key of a server */
static bool is_key(const struct toml *t, const char *key)
{
	size_t n = 0;

	while (t->file->keys[n])
		n++;
	return t->keys.len == n + 2 && !strcmp(t->keys.v[n + 1], key);
}

static int take_value(struct toml *t);

/* @text is NULL where it is not a plain string */
static void note_element(struct toml *t, size_t from, const char *text)
{
	struct mcp_server *s = server_here(t);

	if (s && is_key(t, "args")) {
		*vec_push(&s->args) = (struct mcp_span){
			from, (size_t)(t->p - t->text) };
		if (text && s->words.len < MCP_WORDS_MAX)
			*vec_push(&s->words) = mem_strdup(text);
		else
			s->odd = true;
	}
	if (s && text && is_key(t, "env_vars"))
		*vec_push(&s->env) = mem_strdup(text);
}

static int take_array(struct toml *t)
{
	t->p++;
	for (;;) {
		const char *from;
		int r;

		skip_lines(t);
		if (take(t, ']'))
			return 0;
		from = t->p;
		if (t->p < t->end && strchr("\"'", *t->p) && !is_long_string(t)) {
			auto_buf struct buf text = { 0 };

			r = take_string(t, &text);
			if (r == 0)
				note_element(t, (size_t)(from - t->text),
					     buf_str(&text));
		} else {
			const size_t keys = t->keys.len;

			/* What is inside is not a setting of this name */
			*vec_push(&t->keys) = mem_strdup("[]");
			r = take_value(t);
			drop_keys(t, keys);
			if (r == 0)
				note_element(t, (size_t)(from - t->text), NULL);
		}
		if (r < 0)
			return r;
		skip_lines(t);
		if (take(t, ','))
			continue;
		return take(t, ']') ? 0 : fail_here(t, "a list does not end");
	}
}

static int take_pair(struct toml *t)
{
	const size_t keys = t->keys.len;
	int r;

	t->key = t->p;
	r = take_keys(t);

	if (r == 0 && !take(t, '='))
		r = fail_here(t, "a key has no value");
	if (r == 0) {
		skip_blanks(t);
		r = take_value(t);
	}
	drop_keys(t, keys);
	return r;
}

static int take_table(struct toml *t)
{
	int r = 0;

	t->p++;
	t->inlined++;
	for (skip_lines(t); r == 0 && !take(t, '}'); skip_lines(t)) {
		r = take_pair(t);
		skip_lines(t);
		if (r == 0 && !take(t, ',') && (t->p >= t->end || *t->p != '}'))
			r = fail_here(t, "a table does not end");
	}
	t->inlined--;
	return r;
}

/* A value that is no list and no table ended at t->p */
static void note_scalar(struct toml *t, size_t from, const char *text)
{
	struct mcp_server *s = server_here(t);

	if (!s)
		return;
	if (is_key(t, "command")) {
		s->inline_table = t->inlined;
		s->key = (size_t)(t->key - t->text);
		if (text) {	/* In front of arguments that came first */
			*vec_push(&s->words) = NULL;
			memmove(s->words.v + 1, s->words.v,
				(s->words.len - 1) * sizeof(*s->words.v));
			s->words.v[0] = mem_strdup(text);
		}
		s->odd = s->odd || !text || s->command.to;
		s->command = (struct mcp_span){ from, (size_t)(t->p - t->text) };
	} else if (is_key(t, "args")) {
		s->odd = true;
	}
	if (t->keys.len >= 2 && !strcmp(t->keys.v[t->keys.len - 2], "env"))
		*vec_push(&s->env) = mem_strdup(t->keys.v[t->keys.len - 1]);
}

static int take_scalar(struct toml *t)
{
	const size_t from = (size_t)(t->p - t->text);
	auto_buf struct buf text = { 0 };
	bool plain = false;
	int r = 0;

	if (t->p < t->end && strchr("\"'", *t->p)) {
		plain = !is_long_string(t);
		r = plain ? take_string(t, &text) : skip_long_string(t);
	} else {
		t->p += strcspn(t->p, ",]}#\n");
		if (from == (size_t)(t->p - t->text))
			r = fail_here(t, "a key has no value");
	}
	if (r == 0)
		note_scalar(t, from, plain ? buf_str(&text) : NULL);
	return r;
}

static int take_value(struct toml *t)
{
	const char *from = t->p;
	struct mcp_server *s;
	int r;

	if (t->depth == TOML_DEPTH_MAX)
		return fail_here(t, "too many lists and tables inside each other");
	t->depth++;
	if (t->p < t->end && *t->p == '[') {
		r = take_array(t);
		s = server_here(t);
		if (r == 0 && s && is_key(t, "args"))
			s->list = (struct mcp_span){ (size_t)(from - t->text),
						     (size_t)(t->p - t->text) };
	} else {
		r = t->p < t->end && *t->p == '{' ? take_table(t) : take_scalar(t);
	}
	t->depth--;
	return r;
}

/* [a.b] or [[a.b]] */
static int take_header(struct toml *t)
{
	const bool many = t->p[1] == '[';
	int r;

	t->p += 1 + many;
	drop_keys(t, 0);
	r = take_keys(t);
	if (r == 0 && (!take(t, ']') || (many && !take(t, ']'))))
		r = fail_here(t, "the name of a table does not end");
	return r;
}

int mcp_parse_toml(const struct mcp_file *file, const struct buf *text,
		   struct mcp_servers *ret, struct err *err)
{
	const char *s = buf_str(text);
	struct toml t = { .file = file, .text = s, .p = s, .end = s + text->len,
			  .servers = ret, .err = err };
	int r = 0;

	for (skip_lines(&t); r == 0 && t.p < t.end; skip_lines(&t)) {
		r = *t.p == '[' ? take_header(&t) : take_pair(&t);
		skip_blanks(&t);
		if (r == 0 && t.p < t.end && !strchr("#\r\n", *t.p))
			r = fail_here(&t, "there is more on the line than a value");
	}
	strings_done(&t.keys);
	return r;
}
