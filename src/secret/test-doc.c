/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-doc.c - the document: what passes, and what is made of it */

#include "secret/doc.h"

#include <errno.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "secret/bytes.h"
#include "test.h"

static int check(const char *text)
{
	return doc_check(span_str(text), "doc", NULL);
}

static const char *found(const char *doc, const char *name)
{
	static char copy[256];
	struct span value;

	if (!doc_find(span_str(doc), name, &value))
		return NULL;
	snprintf(copy, sizeof(copy), "%.*s", (int)value.n, value.p);
	return copy;
}

TEST(objects_pass)
{
	static const char *const good[] = {
		"{}", " { } ", "{\"a\":1}", "{\"a\" : \"b\" ,\n\"c\":[1,2,{}]}",
		"{\"a\":-0.5e+10,\"b\":true,\"c\":false,\"d\":null}",
		"{\"\\u00e9\":\"\\ud83d\\ude00\"}", "{\"caf\303\251\":\"\"}",
		"{\"a\":{\"x\":1,\"x\":2}}",	/* Not ours to look into */
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK_INT(check(good[i]), 0);
}

TEST(everything_else_is_refused)
{
	static const char *const bad[] = {
		"", " ", "[]", "\"a\"", "1", "null", "{", "}", "{}}", "{} x",
		"{a:1}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}",
		"{\"a\":01}", "{\"a\":+1}", "{\"a\":1.}", "{\"a\":.5}",
		"{\"a\":1e}", "{\"a\":nul}", "{\"a\":tru}", "{\"a\":\"\n\"}",
		"{\"a\":\"\\x\"}", "{\"a\":\"\\u12g4\"}", "{\"a\":\"\\u0000\"}",
		"{\"a\":\"\\ud800\"}", "{\"a\":\"\\ud800\\u0041\"}",
		"{\"a\":\"\\udc00\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\xc3\"}",
		"{\"a\":\"", "{\"a\":\"\\", "{\"a\":\"\\u00", "{\"a\":[1 2]}",
		"{\"a\":[1,]}", "{\"a\":1 \"b\":2}", "{\"a\":1,\"a\":2}",
		"{\"a\":1,\"\\u0061\":2}", "\xef\xbb\xbf{}", "{'a':1}",
		"{\"a\":1}//", "{\"a\":--1}", "{\"a\":-}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = { 0 };

		if (doc_check(span_str(bad[i]), "doc", &err) != -EBADMSG)
			test_fail(__FILE__, __LINE__, "'%s' passed", bad[i]);
		CHECK_CONTAINS(err.msg, "doc: ");
	}
	CHECK_INT(doc_check((struct span){ "{\"a\0\":1}", 8 }, "doc", NULL),
		  -EBADMSG);
}

TEST(a_message_never_quotes_the_text)
{
	struct err err = { 0 };

	CHECK(doc_check(span_str("{\"k3y\":s3cret}"), "doc", &err) < 0);
	CHECK(!strstr(err.msg, "s3cret"));
	CHECK(!strstr(err.msg, "k3y"));
	CHECK_CONTAINS(err.msg, "byte 7");
}

static void add_times(struct bytes *b, const char *s, int times)
{
	while (times--)
		bytes_adds(b, s);
}

TEST(the_limits_hold_at_the_limit_and_one_beyond)
{
	for (int over = 0; over < 2; over++) {
		auto_bytes struct bytes deep = { 0 }, wide = { 0 }, big = { 0 };

		bytes_adds(&deep, "{\"a\":");
		add_times(&deep, "[", DOC_DEPTH_MAX - 1 + over);
		add_times(&deep, "]", DOC_DEPTH_MAX - 1 + over);
		bytes_adds(&deep, "}");
		CHECK_INT(doc_check(span_of(&deep), "d", NULL),
			  over ? -EBADMSG : 0);

		doc_open(&wide);
		for (int i = 0; i < DOC_MEMBERS_MAX + over; i++) {
			auto_free char *name = mem_printf("n%d", i);

			doc_add(&wide, name, span_str("1"));
		}
		doc_close(&wide);
		CHECK_INT(doc_check(span_of(&wide), "d", NULL),
			  over ? -EFBIG : 0);

		bytes_adds(&big, "{\"a\":\"");
		while (big.len < (size_t)(DOC_MAX + over - 2))
			bytes_addc(&big, 'x');
		bytes_adds(&big, "\"}");
		CHECK_INT(doc_check(span_of(&big), "d", NULL),
			  over ? -EFBIG : 0);
	}
}

TEST(members_are_found_by_what_they_spell)
{
	static const char doc[] =
		" {\"a\": \"x\", \"b\\u0041\":[1,\"]}\"], \"c\":{\"a\":2} }";

	CHECK_STR(found(doc, "a"), "\"x\"");
	CHECK_STR(found(doc, "bA"), "[1,\"]}\"]");
	CHECK_STR(found(doc, "c"), "{\"a\":2}");
	CHECK(!found(doc, "d"));
	CHECK(!found(doc, ""));
	CHECK(!found("[1]", "a"));
	CHECK(!found("\"{\"", "a"));
	CHECK_INT(doc_count(span_str(doc)), 3);
	CHECK_INT(doc_count(span_str("{}")), 0);
}

TEST(strings_survive_quoting)
{
	static const char *const values[] = {
		"", "plain", "\"\\/\b\f\n\r\t\x01\x7f", "caf\303\251",
		"\360\237\230\200", "\357\277\275", "a\\u0041",
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		auto_bytes struct bytes quoted = { 0 }, back = { 0 };

		doc_quote(&quoted, values[i], strlen(values[i]));
		for (size_t j = 0; j < quoted.len; j++)
			CHECK(quoted.p[j] >= 0x20 && quoted.p[j] < 0x7f);
		CHECK_INT(doc_unquote(span_of(&quoted), &back), 0);
		CHECK_STR(bytes_str(&back), values[i]);
	}
}

TEST(an_edit_leaves_the_rest_byte_for_byte)
{
	auto_bytes struct bytes out = { 0 };

	doc_put(span_str("{ \"a\" : 1.50 , \"b\":[ 1 ], \"c\":\"\\u0041\" }"), "b",
		span_str("\"new\""), &out);
	CHECK_STR(bytes_str(&out),
		  "{\"a\":1.50,\"c\":\"\\u0041\",\"b\":\"new\"}");
	doc_put(span_str("{}"), "q\"", span_str("1"), &out);
	CHECK_STR(bytes_str(&out), "{\"q\\\"\":1}");
	doc_drop(span_str("{\"a\":1,\"b\":2}"), "a", &out);
	CHECK_STR(bytes_str(&out), "{\"b\":2}");
	doc_drop(span_str("{\"b\":2}"), "b", &out);
	CHECK_STR(bytes_str(&out), "{}");
}

TEST(a_merge_takes_the_new_members)
{
	auto_bytes struct bytes out = { 0 };

	doc_merge(span_str("{\"a\":1,\"b\":2}"),
		  span_str("{\"b\":3,\"d\":null}"), &out);
	CHECK_STR(bytes_str(&out), "{\"a\":1,\"b\":3,\"d\":null}");
	doc_strip(span_str("{\"a\":1,\"f\":{\"$removed\":2},\"g\":{}}"), &out);
	CHECK_STR(bytes_str(&out), "{\"a\":1,\"g\":{}}");
}
