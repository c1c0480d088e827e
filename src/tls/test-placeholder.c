/* SPDX-License-Identifier: Apache-2.0 */
/* tls/test-placeholder.c - placeholders have the form of their secret */

#include "tls/placeholder.h"

#include <ctype.h>
#include <errno.h>

#include "base/err.h"
#include "base/own.h"
#include "test.h"

static const uint8_t key[PLACEHOLDER_KEY] = { 1, 2, 3 };

static const char *made(const char *project, const char *name,
			const char *value)
{
	static char out[4][PLACEHOLDER_MAX + 1];
	static int which;
	char *ret = out[which++ % 4];
	struct err err = { 0 };

	CHECK_INT(placeholder_make(key, project, name, value, strlen(value),
				   ret, &err),
		  0);
	CHECK_INT(strlen(ret), strlen(value));
	CHECK(strcmp(ret, value) != 0);
	return ret;
}

TEST(a_placeholder_is_stable_for_a_project_and_a_name)
{
	auto_free char *a = strdup(made("/p", "TOKEN", "abcdefgh12345678"));

	CHECK_STR(made("/p", "TOKEN", "abcdefgh12345678"), a);
	/* The value has no part in it but its shape */
	CHECK_STR(made("/p", "TOKEN", "zyxwvuts87654321"), a);
	CHECK(strcmp(made("/q", "TOKEN", "abcdefgh12345678"), a) != 0);
	CHECK(strcmp(made("/p", "OTHER", "abcdefgh12345678"), a) != 0);
	/* No text of one can continue as the other */
	CHECK(strcmp(made("/pT", "OKEN", "abcdefgh12345678"), a) != 0);
}

TEST(known_token_prefixes_are_kept)
{
	static const char *const rows[][2] = {
		{ "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_" },
		{ "github_pat_11ABCDEFG0abcdefghijkl_mnop", "github_pat_" },
		{ "sk-ant-api03-abcdefghijklmnop", "sk-ant-api03-" },
		{ "sk-abcdefghijklmnop", "sk-" },
		{ "glpat-abcdefgh1234", "glpat-" },
		{ "npm_abcdefghijklmnop", "npm_" },
		{ "AKIAABCDEFGH12345678", "AKIA" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *p = made("/p", "X", rows[i][0]);
		const size_t n = strlen(rows[i][1]);

		CHECK(!strncmp(p, rows[i][1], n));
		CHECK(strcmp(p + n, rows[i][0] + n) != 0);
	}
}

TEST(the_alphabet_of_the_value_is_kept)
{
	const char *p = made("/p", "X", "0123456789abcdef0123456789abcdef");

	CHECK_INT(strspn(p, "0123456789abcdef"), 32);
	CHECK_INT(strspn(made("/p", "X", "98765432109876"), "0123456789abcdef"),
		  14);
	p = made("/p", "X", "ABCDEFGHIJKLMNOPQ");
	CHECK_INT(strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 17);
	p = made("/p", "X", "01234567-89ab-cdef-0123-456789abcdef");
	CHECK(p[8] == '-' && p[13] == '-' && p[18] == '-' && p[23] == '-');
}

TEST(a_web_token_keeps_header_and_claims)
{
	static const char token[] =
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJlLW9mLWl0";
	const char *p = made("/p", "X", token);
	const size_t n = (size_t)(strrchr(token, '.') - token);

	CHECK(!strncmp(p, token, n + 1));
}

TEST(values_unfit_for_a_header_are_refused)
{
	static const char *const wrong[] = { "", "short", "two\nlines-of-it",
					     "a\rreturn-in-it" };
	static char big[PLACEHOLDER_MAX + 2], out[PLACEHOLDER_MAX + 2];
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_INT(placeholder_make(key, "/p", "X", wrong[i],
					   strlen(wrong[i]), out, &err),
			  -EINVAL);
	CHECK_INT(placeholder_make(key, "/p", "X", "nul\0in-the-value", 16, out,
				   &err),
		  -EINVAL);
	memset(big, 'a', sizeof(big));
	CHECK_INT(placeholder_make(key, "/p", "X", big, PLACEHOLDER_MAX, out,
				   &err),
		  0);
	CHECK_INT(placeholder_make(key, "/p", "X", big, PLACEHOLDER_MAX + 1,
				   out, &err),
		  -EINVAL);
}

TEST(a_shape_yields_the_same_placeholder_as_its_value)
{
	static const struct {
		const char *value, *shape;
	} v[] = {
		{ "ghp_Abc123defghi", "ghp_zZ0zZ0zZ0zZ0" },
		{ "0123456789", "0000000000" },
		{ "0123abcdef", "0a0a0a0a0a" },
		{ "0123ABCDEF", "0A0A0A0A0A" },
		{ "lower-case-only", "zzzzzzzzzzzzzzz" },
		{ "UPPER_AND_9", "Z0Z0Z0Z0Z0Z" },
		{ "--------", "zzzzzzzz" },
		{ "123e4567-e89b-12d3-a456-426614174000",
		  "00000000-0000-0000-0000-000000000000" },
	};
	char shape[64], one[64], two[64];

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		const size_t n = strlen(v[i].value);

		CHECK(placeholder_shape(v[i].value, n, shape));
		CHECK_STR(shape, v[i].shape);
		CHECK_INT(placeholder_make(key, "/p", "N", v[i].value, n, one,
					   NULL),
			  0);
		CHECK_INT(placeholder_make(key, "/p", "N", shape, n, two, NULL),
			  0);
		CHECK_STR(one, two);
	}
	CHECK(!placeholder_shape("short", 5, shape));
	CHECK(!placeholder_shape("eyJhbGciOiJub25lIn0.e30.abcdefgh", 32, shape));
}
