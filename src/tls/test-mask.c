/* SPDX-License-Identifier: Apache-2.0 */
/* tls/test-mask.c - placeholders in place of the secrets of a text */

#include "tls/mask.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "test.h"

/**
 * struct found - What a search has found
 * @values:	In the order in which they were found
 */
struct found {
	char values[8][200];
	char stands[8][200];
	int len;
};

/* "AAAA...", "BBBB..."; the same for the same value, as long as it */
static const char *note(void *arg, const char *value, const char *shape,
			size_t n, struct err *err)
{
	struct found *f = arg;

	if (n < 4 || n >= sizeof(f->values[0])) {
		(void)fail(err, -EINVAL, "it has %zu bytes", n);
		return NULL;
	}
	for (int i = 0; i < f->len; i++) {
		if (strlen(f->values[i]) == n &&
		    !memcmp(f->values[i], value, n))
			return f->stands[i];
	}
	memcpy(f->values[f->len], value, n);
	if (memcmp(value, shape, n) != 0)
		memcpy(f->stands[f->len], shape, n);
	else
		memset(f->stands[f->len], 'A' + f->len, n);
	return f->stands[f->len++];
}

static struct found found;
static struct err err;

static int mask(const struct mask *m, const char *text, struct buf *out)
{
	found = (struct found){ 0 };
	err = (struct err){ 0 };
	return mask_text(m, text, strlen(text), note, &found, out, &err);
}

static char *text_of(const char *pattern)
{
	static char copy[400];

	snprintf(copy, sizeof(copy), "%s", pattern);
	return copy;
}

#define CHECK_MASK(pattern, text, result, n) \
	do { \
		const struct mask m_ = { .extract = text_of(pattern) }; \
		auto_buf struct buf out_ = { 0 }; \
\
		CHECK_INT(mask(&m_, text, &out_), n); \
		CHECK_STR(buf_str(&out_), result); \
	} while (0)

TEST(only_the_captured_group_is_replaced)
{
	CHECK_MASK(
		"password (\\S+)",
		"machine h login me password s3cretvalue\nmachine i password "
		"other123\n",
		"machine h login me password AAAAAAAAAAA\nmachine i password "
		"BBBBBBBB\n",
		2);
	CHECK_STR(found.values[0], "s3cretvalue");
	CHECK_STR(found.values[1], "other123");
	CHECK_MASK("token: (?<t>[a-z]+)(x)?", "token: abcdef\n",
		   "token: AAAAAA\n", 1);
}

TEST(a_value_that_is_repeated_is_replaced_everywhere)
{
	CHECK_MASK("key=(\\w+)",
		   "key=abcdefgh # abcdefgh is the key, so abcd\n",
		   "key=AAAAAAAA # AAAAAAAA is the key, so abcd\n", 1);
	/* A part of a longer one is not taken for the shorter */
	CHECK_MASK("k=(\\w+)", "k=abcd k=abcdefgh x abcdefgh abcd",
		   "k=AAAA k=BBBBBBBB x BBBBBBBB AAAA", 2);
}

TEST(patterns_follow_javascript_semantics)
{
	/* $ is the end only, . stops at either line end, [^] is anything */
	CHECK_MASK("(abcd)$", "abcd\n", "", 0);
	CHECK_MASK("(a.+)", "abcdef\rxyz", "AAAAAA\rxyz", 1);
	CHECK_MASK("x([^]+)y", "xa\nbcy", "xAAAAy", 1);
	CHECK_MASK("\\u0061(bcde)", "abcde", "aAAAA", 1);
	CHECK_MASK("a(?=b)(\\w{4})", "abcde abc", "aAAAA abc", 1);
	/* An empty match goes on behind the next character, of several bytes as well */
	CHECK_MASK("(\\d*)", "\303\251 12345 x", "\303\251 AAAAA x", 1);
}

TEST(a_pattern_without_a_match_masks_nothing)
{
	CHECK_MASK("token: (\\S+)", "nothing here", "", 0);
	CHECK_MASK("token: (\\S*)", "token: ", "", 0);
}

TEST(invalid_patterns_are_refused_without_printing_the_text)
{
	static const struct {
		const char *pattern, *text, *why;
	} rows[] = {
		{ "(a", "a", "pattern" },
		{ "abc", "abc", "no group" },
		{ "abcd(e)?", "abcd", "without a group" },
		{ "(abcd)", "abcd\377", "UTF-8" },
		{ "((a+)+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
		  "too many steps" },
		{ "k=(\\w+)", "k=abc", "3 bytes" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct mask m = { .extract = text_of(rows[i].pattern) };
		auto_buf struct buf out = { 0 };

		CHECK(mask(&m, rows[i].text, &out) < 0);
		CHECK(strstr(err.msg, rows[i].why));
		CHECK_INT(out.len, 0);
	}
}

TEST(masked_spans_are_limited)
{
	const struct mask m = { .extract = text_of("(abcd)") };

	for (int n = MASK_SPANS_MAX; n <= MASK_SPANS_MAX + 1; n++) {
		auto_buf struct buf text = { 0 }, out = { 0 };

		for (int i = 0; i < n; i++)
			buf_adds(&text, "abcd");
		CHECK_INT(mask(&m, buf_str(&text), &out),
			  n == MASK_SPANS_MAX ? n : -E2BIG);
	}
}

/* {"alg":"none"} . {"sub":"user-1234","aud":["x"],"n":{"sub":"inner"}} . signature */
#define HEADER "eyJhbGciOiJub25lIn0"
#define CLAIMS \
	"eyJzdWIiOiJ1c2VyLTEyMzQiLCJhdWQiOlsieCJdLCJuIjp7InN1YiI6ImlubmVyIn19"
#define TOKEN HEADER "." CLAIMS ".c2lnbmF0dXJl"

TEST(web_tokens_are_found_and_verified)
{
	const struct mask m = { .jwt = true };
	auto_buf struct buf out = { 0 };

	CHECK_INT(mask(&m, "t: " TOKEN " eyJub3Q.eyJhIjoxfQ.token\n", &out), 1);
	CHECK_STR(found.values[0], TOKEN);
	CHECK(strstr(buf_str(&out), "eyJub3Q.eyJhIjoxfQ.token\n"));
	CHECK(!strstr(buf_str(&out), CLAIMS));
}

TEST(claims_inside_a_web_token_are_replaced)
{
	char name[] = "sub", missing[] = "email";
	const struct mask m = {
		.jwt = true,
		.claims = { name, missing },
		.n_claims = 2,
	};
	const struct mask none = {
		.jwt = true,
		.claims = { missing },
		.n_claims = 1,
	};
	auto_buf struct buf out = { 0 };

	CHECK_INT(mask(&m, TOKEN, &out), 1);
	CHECK_INT(found.len, 2);
	CHECK_STR(found.values[0], "user-1234");
	CHECK_STR(found.values[1], TOKEN);
	CHECK_INT(out.len, strlen(TOKEN));
	/* {"sub":"AAAAAAAAA","aud":["x"],"n":{"sub":"inner"}} */
	CHECK(strstr(
		buf_str(&out),
		"eyJzdWIiOiJBQUFBQUFBQUEiLCJhdWQiOlsieCJdLCJuIjp7InN1YiI6ImlubmVyIn19"));
	buf_done(&out);
	CHECK_INT(mask(&none, TOKEN, &out), 0);
	CHECK_INT(out.len, 0);
}

TEST(a_masked_text_keeps_its_line_end)
{
	const struct mask m = { 0 };
	auto_buf struct buf out = { 0 };

	CHECK_INT(mask(&m, "abcdefgh\r\n", &out), 1);
	CHECK_STR(buf_str(&out), "AAAAAAAA\r\n");
	CHECK_STR(found.values[0], "abcdefgh");
	buf_done(&out);
	CHECK_INT(mask(&m, "\n", &out), 0);
}
