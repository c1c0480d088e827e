/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/json-plain.c - JSON without anything unusual in it, read quickly
 *
 * Theory of operation: settings are read at every start, and jansson takes its
 * text byte by byte: half the time of a file with a thousand paths. What is
 * written in plain ASCII, without escapes, fractions or keys given twice, is read
 * here; at anything else this gives up, and jansson has the whole text, and the
 * word about it. The fuzzer compares the two.
 */

#include "base/json-plain.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"

enum {
	KEY_MAX = 127,		/* Bytes of a plain key */
	DIGITS_MAX = 15,	/* Of a plain number: exact in any type */
};

/**
 * struct plain - What is left of the text
 */
struct plain {
	const char *p, *end;
	unsigned int depth;
};

static json_t *read_value(struct plain *in);

static void skip_blank(struct plain *in)
{
	while (in->p < in->end && (*in->p == ' ' || *in->p == '\n' ||
				   *in->p == '\t' || *in->p == '\r'))
		in->p++;
}

/* Past @c, which must be the next that is not blank */
static bool take(struct plain *in, char c)
{
	skip_blank(in);
	if (in->p == in->end || *in->p != c)
		return false;
	in->p++;
	return true;
}

/* What is between two quotes; NULL if it is not plain */
static const char *read_quoted(struct plain *in, size_t *n)
{
	const char *start;

	if (!take(in, '"'))
		return NULL;
	start = in->p;
	while (in->p < in->end && *in->p >= ' ' && *in->p < 127 &&
	       *in->p != '"' && *in->p != '\\')
		in->p++;
	*n = (size_t)(in->p - start);
	return in->p < in->end && *in->p++ == '"' ? start : NULL;
}

static json_t *read_string(struct plain *in)
{
	size_t n;
	const char *start = read_quoted(in, &n);

	return start ? json_stringn_nocheck(start, n) : NULL;
}

/* "0", or digits that do not begin with it; nothing but a delimiter behind */
static json_t *read_number(struct plain *in)
{
	const char *start = in->p;
	json_int_t value = 0;

	for (; in->p < in->end && *in->p >= '0' && *in->p <= '9'; in->p++) {
		if (in->p - start == DIGITS_MAX ||
		    (in->p > start && *start == '0'))
			return NULL;
		value = value * 10 + (*in->p - '0');
	}
	if (in->p < in->end && !strchr(",]} \t\r\n", *in->p))
		return NULL;
	return json_integer(value);
}

static json_t *read_word(struct plain *in, const char *word, json_t *value)
{
	const size_t n = strlen(word);

	if ((size_t)(in->end - in->p) < n || memcmp(in->p, word, n) != 0)
		return NULL;
	in->p += n;
	if (in->p < in->end && !strchr(",]} \t\r\n", *in->p))
		return NULL;
	return value;	/* These are never freed */
}

/* One member, which is not there yet */
static bool read_member(struct plain *in, json_t *object)
{
	char key[KEY_MAX + 1];
	size_t n;
	const char *start = read_quoted(in, &n);

	if (!start || n > KEY_MAX)
		return false;
	memcpy(key, start, n);
	key[n] = '\0';
	return take(in, ':') && !json_object_get(object, key) &&
	       json_object_set_new_nocheck(object, key, read_value(in)) == 0;
}

/* An object or an array, whose first byte was taken */
static json_t *read_members(struct plain *in, json_t *all, char close)
{
	bool good = in->depth++ < JSON_DEPTH_MAX;

	if (good && take(in, close)) {
		in->depth--;
		return all;
	}
	while (good) {
		good = close == '}' ? read_member(in, all) :
		       json_array_append_new(all, read_value(in)) == 0;
		if (good && take(in, close)) {
			in->depth--;
			return all;
		}
		good = good && take(in, ',');
	}
	json_decref(all);
	return NULL;
}

/* NULL is not stored by jansson, which says so */
static json_t *read_value(struct plain *in)
{
	skip_blank(in);
	if (in->p == in->end)
		return NULL;
	switch (*in->p) {
	case '"':
		return read_string(in);
	case '{':
		in->p++;
		return read_members(in, json_object(), '}');
	case '[':
		in->p++;
		return read_members(in, json_array(), ']');
	case 't':
		return read_word(in, "true", json_true());
	case 'f':
		return read_word(in, "false", json_false());
	case 'n':
		return read_word(in, "null", json_null());
	default:
		return *in->p >= '0' && *in->p <= '9' ? read_number(in) : NULL;
	}
}

json_t *json_plain(const char *text, size_t n)
{
	struct plain in = { .p = text, .end = text + n };
	json_t *root = n <= JSON_TEXT_MAX ? read_value(&in) : NULL;

	skip_blank(&in);
	if (root && in.p == in.end)
		return root;
	json_decref(root);
	return NULL;
}
