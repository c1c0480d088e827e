/* SPDX-License-Identifier: Apache-2.0 */
/* policy/gitconfig.c - a git configuration without what makes git run programs */

#include "policy/gitconfig.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/own.h"

enum subsection { NONE, ANY };

/**
 * struct gitkey - A row of gitkeys.def
 */
struct gitkey {
	const char *section;
	enum subsection subsection;
	const char *name, *value, *why;
};

static const struct gitkey keys[] = {
#define GITKEY(section, subsection, name, value, why) \
	{ section, subsection, name, value, why },
#include "policy/gitkeys.def"
#undef GITKEY
};

/**
 * struct cursor - Where we are, and in which section
 * @section:	Lower case; a subsection after its first dot
 * @sub:	There is a subsection
 */
struct cursor {
	const char *p, *end;
	struct buf section;
	bool sub;
};

static const char *find_why(const struct cursor *c, const char *name,
			    const char *value)
{
	const char *section = buf_str(&c->section);
	const size_t n = strcspn(section, ".");

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct gitkey *k = &keys[i];

		if (strlen(k->section) != n || memcmp(k->section, section, n))
			continue;
		if (k->subsection == NONE && c->sub)
			continue;
		if (strcmp(k->name, "*") && strcasecmp(k->name, name))
			continue;
		if (!k->value || !strncmp(value, k->value, strlen(k->value)))
			return k->why;
	}
	return NULL;
}

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '-';
}

/* "sub" in [section "sub"]: @c->p is at the quote */
static int parse_quoted(struct cursor *c)
{
	for (c->p++; c->p < c->end && *c->p != '"'; c->p++) {
		if (*c->p == '\\')
			c->p++;
		if (c->p >= c->end || *c->p == '\n')
			return -EINVAL;
		buf_addc(&c->section, *c->p);
	}
	if (c->end - c->p < 2 || c->p[1] != ']')
		return -EINVAL;
	c->p += 2;
	return 0;
}

/* "[section]", "[section.sub]" or "[section "sub"]" */
static int parse_section(struct cursor *c)
{
	c->section.len = 0;
	c->sub = false;
	for (c->p++; c->p < c->end; c->p++) {
		if (*c->p == ']') {
			c->p++;
			return c->section.len ? 0 : -EINVAL;
		}
		if (isspace((unsigned char)*c->p)) {
			while (c->p < c->end && *c->p != '\n' &&
			       isspace((unsigned char)*c->p))
				c->p++;
			if (c->p >= c->end || *c->p != '"')
				return -EINVAL;
			buf_addc(&c->section, '.');
			c->sub = true;
			return parse_quoted(c);
		}
		if (!is_name_byte(*c->p) && *c->p != '.')
			return -EINVAL;
		c->sub |= *c->p == '.';
		buf_addc(&c->section, (char)tolower((unsigned char)*c->p));
	}
	return -EINVAL;
}

/* To the end of the value, which goes on after a backslash; @value is what is
 * left without quotes and comments
 */
static int parse_value(struct cursor *c, struct buf *value)
{
	static const char escapes[] = "tbn\\\"", bytes[] = "\t\b\n\\\"";
	bool quoted = false, comment = false;

	for (; c->p < c->end; c->p++) {
		if (*c->p == '\n') {
			c->p++;
			return quoted ? -EINVAL : 0;
		}
		if (comment)
			continue;
		if (*c->p == '\\') {
			/* Git looks at one more byte; "\r\n" counts as one */
			c->p++;
			if (c->end - c->p > 1 && c->p[0] == '\r' &&
			    c->p[1] == '\n')
				c->p++;
			if (c->p >= c->end)
				return -EINVAL;
			if (*c->p == '\n')
				continue;
			if (!strchr(escapes, *c->p))
				return -EINVAL;
			buf_addc(value, bytes[strchr(escapes, *c->p) -
					      escapes]);
		} else if (*c->p == '"') {
			quoted = !quoted;
		} else if (!quoted && (*c->p == '#' || *c->p == ';')) {
			comment = true;
		} else if (quoted || value->len ||
			   !isspace((unsigned char)*c->p)) {
			buf_addc(value, *c->p);
		}
	}
	return quoted ? -EINVAL : 0;
}

static int parse_entry(struct cursor *c, struct buf *name, struct buf *value)
{
	while (c->p < c->end && is_name_byte(*c->p))
		buf_addc(name, (char)tolower((unsigned char)*c->p++));
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
	if (c->p < c->end && *c->p == '\r' && c->end - c->p > 1 &&
	    c->p[1] == '\n')
		c->p++;
	if (c->p >= c->end)
		return 0;
	if (*c->p == '\n') {
		c->p++;
		return 0;
	}
	if (*c->p == '=') {
		c->p++;
		return parse_value(c, value);
	}
	/* A comment may follow a name without a value in newer versions */
	if (*c->p == '#' || *c->p == ';')
		return parse_value(c, value);
	return -EINVAL;
}

/* Spaces at the end of a value do not count */
static void trim(struct buf *value)
{
	while (value->len && isspace((unsigned char)value->p[value->len - 1]))
		value->p[--value->len] = '\0';
}

/**
 * struct reader - What is to be done with each setting
 * @out:	Where all but what is taken out goes, or NULL
 * @take:	Is told each that is taken out; @each: of all of them
 */
struct reader {
	struct buf *out;
	gitconfig_fn take;
	gitconfig_each_fn each;
	void *arg;
	int removed;
};

static void copy(const struct reader *r, const char *start, const char *end)
{
	if (r->out)
		buf_add(r->out, start, (size_t)(end - start));
}

/* One that git would run is told and left out, others are copied */
static void clean_entry(struct reader *r, const char *key, const char *why,
			const char *start, const char *end)
{
	if (!why) {
		copy(r, start, end);
		return;
	}
	if (r->take)
		r->take(r->arg, key, why);
	if (r->out->len && r->out->p[r->out->len - 1] != '\n')
		buf_addc(r->out, '\n');
	r->removed++;
}

static int read_entry(struct cursor *c, struct reader *r)
{
	auto_buf struct buf name = { 0 }, value = { 0 }, key = { 0 };
	const char *start = c->p;

	if (parse_entry(c, &name, &value) < 0 || !c->section.len)
		return -EINVAL;
	trim(&value);
	buf_addf(&key, "%s.%s", buf_str(&c->section), buf_str(&name));
	if (r->each)
		r->each(r->arg, buf_str(&key), buf_str(&value));
	else
		clean_entry(r, buf_str(&key), find_why(c, buf_str(&name),
						       buf_str(&value)),
			    start, c->p);
	return 0;
}

static int read_all(const char *text, size_t n, struct reader *r)
{
	struct cursor c = { .p = text, .end = text + n };
	int error = 0;

	if (n > GITCONFIG_MAX || memchr(text, 0, n))
		return -EINVAL;
	if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		c.p += 3;	/* Git skips it, and so do we */
	while (c.p < c.end && !error) {
		const char *start = c.p;

		if (isalpha((unsigned char)*c.p)) {
			error = read_entry(&c, r);
			continue;
		}
		if (*c.p == '[')
			error = parse_section(&c);
		else if (*c.p == '#' || *c.p == ';')
			c.p = memchr(c.p, '\n', (size_t)(c.end - c.p));
		else if (isspace((unsigned char)*c.p))
			c.p++;
		else
			error = -EINVAL;
		if (!c.p)	/* No line comes after the comment */
			c.p = c.end;
		copy(r, start, c.p);
	}
	buf_done(&c.section);
	return error;
}

int gitconfig_clean(const char *text, size_t n, struct buf *out,
		    gitconfig_fn fn, void *arg)
{
	struct reader r = { .out = out, .take = fn, .arg = arg };
	const int error = read_all(text, n, &r);

	return error ? error : r.removed;
}

int gitconfig_each(const char *text, size_t n, gitconfig_each_fn fn, void *arg)
{
	struct reader r = { .each = fn, .arg = arg };

	return read_all(text, n, &r);
}
