/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/doc-check.c - is this text one JSON object?
 *
 * Theory of operation: a recursive descent over RFC 8259 that builds nothing.
 * Each scan_*() steps over one thing and returns NULL where the text is wrong;
 * where that was goes into the message, what was there does not. The rest of
 * doc.c only ever sees text that passed here.
 */

#include "secret/doc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "secret/bytes.h"

/**
 * struct scan - The text, and the furthest place that was reached
 */
struct scan {
	const char *end, *at;
	unsigned int depth;
};

static const char *scan_value(struct scan *s, const char *p);

static const char *stop(struct scan *s, const char *p)
{
	s->at = p;
	return NULL;
}

static const char *blank(const struct scan *s, const char *p)
{
	while (p < s->end &&
	       (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
		p++;
	return p;
}

static bool is_digit(const struct scan *s, const char *p)
{
	return p < s->end && *p >= '0' && *p <= '9';
}

static const char *digits(struct scan *s, const char *p)
{
	if (!is_digit(s, p))
		return stop(s, p);
	while (is_digit(s, p))
		p++;
	return p;
}

static const char *scan_number(struct scan *s, const char *p)
{
	p += *p == '-';
	if (p < s->end && *p == '0')
		p++;
	else
		p = digits(s, p);
	if (p && p < s->end && *p == '.')
		p = digits(s, p + 1);
	if (p && p < s->end && (*p == 'e' || *p == 'E')) {
		p++;
		p += p < s->end && (*p == '+' || *p == '-');
		p = digits(s, p);
	}
	return p;
}

/* The four digits of \uXXXX at @p, or -1 */
static int hex4(const struct scan *s, const char *p)
{
	int value = 0;

	if (s->end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		static const char hex[] = "0123456789abcdef0123456789ABCDEF";
		const char *d = p[i] ? strchr(hex, p[i]) : NULL;

		if (!d)
			return -1;
		value = value << 4 | (int)((d - hex) & 15);
	}
	return value;
}

static const char *scan_escape(struct scan *s, const char *p)
{
	int unit;

	if (++p >= s->end || !*p || !strchr("\"\\/bfnrtu", *p))
		return stop(s, p);
	if (*p != 'u')
		return p + 1;
	unit = hex4(s, ++p);
	if (unit <= 0 || (unit >= 0xdc00 && unit <= 0xdfff))
		return stop(s, p);
	p += 4;
	if (unit < 0xd800 || unit > 0xdbff)
		return p;
	/* The first half of a pair: the second must follow */
	if (s->end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return stop(s, p);
	unit = hex4(s, p + 2);
	return unit >= 0xdc00 && unit <= 0xdfff ? p + 6 : stop(s, p);
}

/* One character as it is; its sequence must end before the text does */
static const char *scan_plain(struct scan *s, const char *p)
{
	char copy[5] = { 0 };
	size_t n = (size_t)(s->end - p);

	if ((unsigned char)*p < 0x20)
		return stop(s, p);
	if ((unsigned char)*p < 0x80)
		return p + 1;
	memcpy(copy, p, n < 4 ? n : 4);
	n = text_utf8_len(copy);
	return n ? p + n : stop(s, p);
}

static const char *scan_string(struct scan *s, const char *p)
{
	if (p >= s->end || *p != '"')
		return stop(s, p);
	for (p++; p && p < s->end && *p != '"';)
		p = *p == '\\' ? scan_escape(s, p) : scan_plain(s, p);
	if (!p)
		return NULL;
	return p < s->end ? p + 1 : stop(s, p);
}

static const char *scan_key(struct scan *s, const char *p)
{
	p = scan_string(s, p);
	if (!p)
		return NULL;
	p = blank(s, p);
	return p < s->end && *p == ':' ? p + 1 : stop(s, p);
}

/* An object or an array, by its opening bracket */
static const char *scan_list(struct scan *s, const char *p)
{
	const char close = *p == '{' ? '}' : ']';
	bool first = true;

	if (++s->depth > DOC_DEPTH_MAX)
		return stop(s, p);
	for (p = blank(s, p + 1);; first = false) {
		if (p >= s->end)
			return stop(s, p);
		if (*p == close && first)
			break;
		if (close == '}')
			p = scan_key(s, p);
		if (p)
			p = scan_value(s, p);
		if (!p)
			return NULL;
		if (p < s->end && *p == close)
			break;
		if (p >= s->end || *p != ',')
			return stop(s, p);
		p = blank(s, p + 1);
	}
	s->depth--;
	return p + 1;
}

static const char *scan_word(struct scan *s, const char *p)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < 3; i++) {
		const size_t n = strlen(words[i]);

		if ((size_t)(s->end - p) >= n && !memcmp(p, words[i], n))
			return p + n;
	}
	return stop(s, p);
}

/* A value and the blanks around it */
static const char *scan_value(struct scan *s, const char *p)
{
	p = blank(s, p);
	if (p >= s->end)
		return stop(s, p);
	if (*p == '{' || *p == '[')
		p = scan_list(s, p);
	else if (*p == '"')
		p = scan_string(s, p);
	else if (*p == '-' || is_digit(s, p))
		p = scan_number(s, p);
	else
		p = scan_word(s, p);
	return p ? blank(s, p) : NULL;
}

static int check_value(struct span text, const char *what, struct err *err)
{
	struct scan s = { .end = text.p + text.n };
	const char *p = scan_value(&s, text.p);

	if (p == s.end)
		return 0;
	return fail(err, -EBADMSG, "%s: not valid JSON at byte %zu", what,
		    (size_t)((p ? p : s.at) - text.p));
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Is a name there twice, however it is spelled? The names are written out one
 * after the other and sorted: a hostile text must not make this a square.
 */
static bool has_twice(struct span text, size_t count)
{
	auto_free const char **names = mem_zalloc(count * sizeof(*names) + 1);
	auto_bytes struct bytes plain = { 0 };
	struct doc_member m;
	size_t cursor = 0, n = 0;
	bool twice = false;

	bytes_reserve(&plain, text.n + count);
	while (doc_next(text, &cursor, &m)) {
		names[n++] = plain.p + plain.len;
		(void)doc_unquote(m.key, &plain);
		bytes_addc(&plain, '\0');
	}
	qsort(names, n, sizeof(*names), compare);
	for (size_t i = 1; i < n; i++)
		twice = twice || !strcmp(names[i - 1], names[i]);
	return twice;
}

static int check_members(struct span text, const char *what, struct err *err)
{
	const size_t count = doc_count(text);

	if (count > DOC_MEMBERS_MAX)
		return fail(err, -EFBIG, "%s: more than %d entries", what,
			    DOC_MEMBERS_MAX);
	if (has_twice(text, count))
		return fail(err, -EBADMSG, "%s: a name stands there twice",
			    what);
	return 0;
}

int doc_check_upto(struct span text, size_t max, const char *what,
		   struct err *err)
{
	const struct scan s = { .end = text.p + text.n };
	int r;

	if (text.n > max)
		return fail(err, -EFBIG, "%s: larger than %zu bytes", what,
			    max);
	r = check_value(text, what, err);
	if (r < 0)
		return r;
	if (*blank(&s, text.p) != '{')
		return fail(err, -EBADMSG, "%s: not a JSON object", what);
	return check_members(text, what, err);
}

int doc_check(struct span text, const char *what, struct err *err)
{
	return doc_check_upto(text, DOC_MAX, what, err);
}
