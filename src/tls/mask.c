/* SPDX-License-Identifier: Apache-2.0 */
/* tls/mask.c - a text in which placeholders stand for its secrets
 *
 * Theory of operation: a search yields spans of the text, each with its placeholder.
 * A value that stands elsewhere in the text is replaced there as well, whatever the
 * pattern says. Only then is the text copied.
 */

#define PCRE2_CODE_UNIT_WIDTH 8

#include "tls/mask.h"

#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "gate/bound-secret.h"
#include "secret/locked-memory.h"

/* Each begins with the base64 of '{"' */
static const char jwt_pattern[] = "(eyJ[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+)";

struct span {
	size_t at, n;
	const char *placeholder;
};

/**
 * struct search - A search under way
 * @spans:	Found so far, @len of them; they do not overlap
 */
struct search {
	const struct mask *mask;
	const char *text;
	size_t n;
	mask_secret *secret;
	void *arg;
	struct span spans[MASK_SPANS_MAX];
	size_t len;
	int found;
};

void mask_free(struct mask *mask)
{
	if (!mask)
		return;
	for (size_t i = 0; i < mask->n_claims; i++)
		free(mask->claims[i]);
	free(mask->extract);
	free(mask);
}

/* base64url to base64, decoded to @out: false if it is not that */
static bool decode_part(const char *p, size_t n, struct bytes *out)
{
	auto_bytes struct bytes plain = { 0 };
	ssize_t len;

	bytes_add(&plain, p, n);
	for (size_t i = 0; i < n; i++) {
		char *c = &plain.p[i];

		*c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
	}
	bytes_reserve(out, n);
	len = base64_decode(plain.p, n, out->p, n);
	if (len < 0)
		return false;
	out->len = (size_t)len;
	out->p[out->len] = '\0';
	return true;
}

static json_t *json_of(const char *p, size_t n)
{
	auto_bytes struct bytes plain = { 0 };

	return n && decode_part(p, n, &plain)
		       ? json_loadb(plain.p, plain.len, JSON_DECODE_ANY, NULL)
		       : NULL;
}

/* Where the dots between the parts of the token are: false if it is not a token */
static bool split_token(const char *p, size_t n, size_t dots[2])
{
	const char *first = memchr(p, '.', n);
	const char *second =
		first ? memchr(first + 1, '.', n - (size_t)(first + 1 - p))
		      : NULL;
	json_t *header, *claims;
	bool ok;

	if (!second || memchr(second + 1, '.', n - (size_t)(second + 1 - p)))
		return false;
	dots[0] = (size_t)(first - p);
	dots[1] = (size_t)(second - p);
	header = json_of(p, dots[0]);
	claims = json_of(first + 1, dots[1] - dots[0] - 1);
	ok = json_object_get(header, "alg") && claims;
	json_decref(header);
	json_decref(claims);
	return ok;
}

/* Where the claims in @plain have the string @value under @name, without an escape: its
 * first byte, or 0
 */
static size_t find_claim(const struct bytes *plain, const char *name,
			 const char *value)
{
	const size_t n = strlen(value);
	json_t *text = json_string(name);
	auto_free char *key =
		text ? json_dumps(text, JSON_ENCODE_ANY | JSON_ENSURE_ASCII)
		     : NULL;
	auto_free char *path = key ? mem_printf("[%s]", key) : NULL;
	struct json_place place;

	json_decref(text);
	if (!path || json_locate(plain->p, plain->len, path, &place) < 0 ||
	    place.end - place.offset != n + 2 ||
	    memcmp(plain->p + place.offset + 1, value, n) != 0)
		return 0;
	return place.offset + 1;
}

static void encode_part(const struct bytes *plain, char *ret, size_t n)
{
	auto_bytes struct bytes text = { 0 };

	bytes_reserve(&text, BASE64_SIZE(plain->len));
	(void)base64_encode(plain->p, plain->len, text.p);
	for (size_t i = 0; i < n; i++) {
		const char c = text.p[i];

		ret[i] = c == '+' ? '-' : c == '/' ? '_' : c;
	}
}

/* The token of @n bytes at @p into @shape, with placeholders for its claims: how many,
 * or a negative errno
 */
static int mask_claims(struct search *s, const char *p, const size_t dots[2],
		       char *shape, struct err *err)
{
	const char *part = p + dots[0] + 1;
	const size_t n = dots[1] - dots[0] - 1;
	auto_bytes struct bytes plain = { 0 };
	json_t *claims = json_of(part, n);
	int found = 0, r = 0;

	if (!decode_part(part, n, &plain))
		r = fail(err, -EINVAL, "a token could not be read");
	for (size_t i = 0; r >= 0 && i < s->mask->n_claims; i++) {
		const char *name = s->mask->claims[i];
		const char *value = json_string_value(json_object_get(claims, name));
		const size_t at = value ? find_claim(&plain, name, value) : 0;
		const char *placeholder;

		if (!value)
			continue;
		if (!at) {
			r = fail(err, -EINVAL,
				"the claim '%s' has an escape and cannot be replaced",
				name);
			break;
		}
		placeholder = s->secret(s->arg, value, value, strlen(value), err);
		if (!placeholder) {
			r = err->code;
			break;
		}
		memcpy(plain.p + at, placeholder, strlen(value));
		found++;
	}
	json_decref(claims);
	if (found)
		encode_part(&plain, shape + dots[0] + 1, n);
	return r < 0 ? r : found;
}

/* Take the @n bytes at @at as a secret: 1, 0 if they are not a token, or a negative errno */
static int take_value(struct search *s, size_t at, size_t n, struct err *err)
{
	const char *value = s->text + at;
	auto_bytes struct bytes shape = { 0 };
	const char *placeholder;
	size_t dots[2];
	int r = 1;

	bytes_add(&shape, value, n);
	if (s->mask->jwt && !split_token(value, n, dots))
		return 0;
	if (s->mask->jwt && s->mask->n_claims)
		r = mask_claims(s, value, dots, shape.p, err);
	if (r <= 0)
		return r;
	if (s->len == MASK_SPANS_MAX)
		return fail(err, -E2BIG, "more than %d secrets in it",
			    MASK_SPANS_MAX);
	placeholder = s->secret(s->arg, value, shape.p, n, err);
	if (!placeholder)
		return err->code;
	s->spans[s->len++] = (struct span){ at, n, placeholder };
	s->found++;
	return 1;
}

/* JavaScript's rules, as far as PCRE2 has them */
static pcre2_code *compile(const char *pattern, struct err *err)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_code *code = NULL;
	PCRE2_UCHAR words[120] = "no memory";
	PCRE2_SIZE at = 0;
	uint32_t groups = 0;
	int error = 0;

	if (context) {
		(void)pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
		code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C |
					     PCRE2_ALT_BSUX |
					     PCRE2_ALLOW_EMPTY_CLASS |
					     PCRE2_MATCH_UNSET_BACKREF |
					     PCRE2_DOLLAR_ENDONLY,
				     &error, &at, context);
	}
	pcre2_compile_context_free(context);
	if (!code) {
		if (error)
			(void)pcre2_get_error_message(error, words,
						      sizeof(words));
		(void)fail(err, -EINVAL, "its pattern: %s at byte %zu",
			   (const char *)words, (size_t)at);
		return NULL;
	}
	(void)pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (groups)
		return code;
	pcre2_code_free(code);
	(void)fail(err, -EINVAL, "its pattern has no group around the secret");
	return NULL;
}

/* All matches of @code, as matchAll() of JavaScript finds them */
static int match_all(struct search *s, const pcre2_code *code,
		     pcre2_match_data *match, pcre2_match_context *limits,
		     struct err *err)
{
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(match);
	size_t at = 0;
	uint32_t options = 0;

	for (;;) {
		const int r = pcre2_match(code, (PCRE2_SPTR)s->text, s->n, at,
					  options, match, limits);
		int taken;

		if (r == PCRE2_ERROR_NOMATCH && !options)
			return 0;
		if (r == PCRE2_ERROR_NOMATCH) {
			/* Behind an empty match: the next character */
			options = 0;
			if (at++ >= s->n)
				return 0;
			while (at < s->n && (s->text[at] & 0xc0) == 0x80)
				at++;
			continue;
		}
		if (r < 0)
			return fail(err, -EINVAL,
				    r == PCRE2_ERROR_MATCHLIMIT ||
						    r == PCRE2_ERROR_HEAPLIMIT
					    ? "its pattern needs too many steps"
					    : "it is not UTF-8 text");
		if (r < 2 || ends[2] == PCRE2_UNSET)
			return fail(err, -EINVAL,
				"its pattern matches without a group around the secret");
		taken = ends[3] > ends[2]
				? take_value(s, ends[2], ends[3] - ends[2], err)
				: 0;
		if (taken < 0)
			return taken;
		options = ends[1] == ends[0]
				  ? PCRE2_NOTEMPTY_ATSTART | PCRE2_ANCHORED
				  : 0;
		at = ends[1];
	}
}

static int search_pattern(struct search *s, const char *pattern,
			  struct err *err)
{
	pcre2_code *code = compile(pattern, err);
	pcre2_match_data *match =
		code ? pcre2_match_data_create_from_pattern(code, NULL) : NULL;
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	int r = -EINVAL;

	if (code && (!match || !limits)) {
		r = fail(err, -ENOMEM, "no memory for its pattern");
	} else if (code) {
		(void)pcre2_set_match_limit(limits, MASK_MATCH_MAX);
		(void)pcre2_set_heap_limit(limits, MASK_HEAP_KIB_MAX);
		r = match_all(s, code, match, limits, err);
	}
	pcre2_match_context_free(limits);
	pcre2_match_data_free(match);
	pcre2_code_free(code);
	return r;
}

static bool is_taken(const struct search *s, size_t at, size_t n)
{
	for (size_t i = 0; i < s->len; i++) {
		if (at < s->spans[i].at + s->spans[i].n &&
		    s->spans[i].at < at + n)
			return true;
	}
	return false;
}

/* The same values where the pattern did not look, longer ones first: a shorter one may
 * be a part of them
 */
static int add_duplicates(struct search *s, struct err *err)
{
	const size_t found = s->len;
	bool done[MASK_SPANS_MAX] = { false };

	for (size_t round = 0; round < found; round++) {
		struct span longest = { 0 };
		const char *p = s->text;
		size_t which = 0;

		for (size_t i = 0; i < found; i++) {
			if (!done[i] && s->spans[i].n > longest.n) {
				longest = s->spans[i];
				which = i;
			}
		}
		done[which] = true;
		while ((p = memmem(p, s->n - (size_t)(p - s->text),
				   s->text + longest.at, longest.n)) != NULL) {
			const size_t at = (size_t)(p++ - s->text);

			if (is_taken(s, at, longest.n))
				continue;
			if (s->len == MASK_SPANS_MAX)
				return fail(err, -E2BIG,
					    "more than %d secrets in it",
					    MASK_SPANS_MAX);
			s->spans[s->len++] =
				(struct span){ at, longest.n,
					       longest.placeholder };
		}
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

int mask_text(const struct mask *mask, const char *text, size_t n,
	      mask_secret *secret, void *arg, struct buf *out, struct err *err)
{
	struct search s = {
		.mask = mask,
		.text = text,
		.n = n,
		.secret = secret,
		.arg = arg,
	};
	size_t at = 0;
	int r;

	if (mask->extract || mask->jwt) {
		r = search_pattern(
			&s, mask->extract ? mask->extract : jwt_pattern, err);
	} else {
		while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
			n--;
		r = n ? take_value(&s, 0, n, err) : 0;
	}
	if (r >= 0)
		r = add_duplicates(&s, err);
	if (r < 0 || !s.found)
		return r < 0 ? r : 0;
	qsort(s.spans, s.len, sizeof(*s.spans), compare);
	for (size_t i = 0; i < s.len; i++) {
		buf_add(out, text + at, s.spans[i].at - at);
		buf_add(out, s.spans[i].placeholder, s.spans[i].n);
		at = s.spans[i].at + s.spans[i].n;
	}
	buf_add(out, text + at, s.n - at);
	return s.found;
}
