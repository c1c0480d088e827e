/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-secret-document.c - the JSON document of a store */

#include "secret/secret-document.h"

#include <errno.h>

#include "base/err.h"
#include "base/own.h"
#include "secret/locked-memory.h"
#include "test.h"

static struct err err;

static int check(const char *text, size_t n)
{
	json_auto_t *doc = NULL;

	return document_parse(text, n, "doc", &doc, &err);
}

static int check_text(const char *text)
{
	return check(text, strlen(text));
}

/* @text after parsing and printing */
static const char *printed(const char *text)
{
	static char copy[512];
	json_auto_t *doc = NULL;
	auto_bytes struct bytes out = { 0 };

	CHECK_INT(document_parse(text, strlen(text), "doc", &doc, NULL), 0);
	document_print(doc, &out);
	snprintf(copy, sizeof(copy), "%s", bytes_str(&out));
	return copy;
}

TEST(json_objects_are_accepted)
{
	static const char *const good[] = {
		"{}", " { } ", "{\"a\":1}", "{\"a\" : \"b\" ,\n\"c\":[1,2,{}]}",
		"{\"a\":-0.5e+10,\"b\":true,\"c\":false,\"d\":null}",
		"{\"\\u00e9\":\"\\ud83d\\ude00\"}", "{\"caf\303\251\":\"\"}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK_INT(check_text(good[i]), 0);
}

TEST(other_documents_are_refused)
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
		"{\"a\":{\"x\":1,\"x\":2}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (check_text(bad[i]) != -EBADMSG)
			test_fail(__FILE__, __LINE__, "'%s' passed", bad[i]);
		CHECK_CONTAINS(err.msg, "doc: ");
	}
	CHECK_INT(check("{\"a\0\":1}", 8), -EBADMSG);
	CHECK_INT(check("{\"a\":1,\0\"b\":2}", 14), -EBADMSG);
}

TEST(a_message_never_quotes_the_text)
{
	CHECK(check_text("{\"k3y\":s3cret}") < 0);
	CHECK(!strstr(err.msg, "s3cret"));
	CHECK(!strstr(err.msg, "k3y"));
	CHECK_CONTAINS(err.msg, "not valid JSON at byte ");
}

TEST(a_document_larger_than_the_limit_is_refused)
{
	for (int over = 0; over < 2; over++) {
		auto_bytes struct bytes big = { 0 };

		bytes_adds(&big, "{\"a\":\"");
		while (big.len < (size_t)(DOCUMENT_MAX + over - 2))
			bytes_add(&big, "x", 1);
		bytes_adds(&big, "\"}");
		CHECK_INT(check(big.p, big.len), over ? -EFBIG : 0);
	}
}

/* As many members, and as deep, as fit: neither a stack overflow nor a square */
TEST(the_largest_documents_parse_in_linear_time)
{
	auto_bytes struct bytes wide = { 0 }, deep = { 0 };

	bytes_adds(&wide, "{");
	for (int i = 0; wide.len < DOCUMENT_MAX - 32; i++) {
		char member[32];

		snprintf(member, sizeof(member), "%s\"n%d\":1", i ? "," : "",
			 i);
		bytes_adds(&wide, member);
	}
	bytes_adds(&wide, "}");
	CHECK_INT(check(wide.p, wide.len), 0);
	bytes_adds(&deep, "{\"a\":");
	while (deep.len < DOCUMENT_MAX - 1)
		bytes_add(&deep, "[", 1);
	CHECK_INT(check(deep.p, deep.len), -EBADMSG);
}

TEST(a_document_is_printed_as_one_ascii_line)
{
	CHECK_STR(printed(" { \"a\" : [ 1 ,\n 2 ] , \"b\":{} }"),
		  "{\"a\":[1,2],\"b\":{}}");
	CHECK_STR(printed("{\"caf\303\251\":\"\360\237\230\200\"}"),
		  "{\"caf\\u00E9\":\"\\uD83D\\uDE00\"}");
	CHECK_STR(printed("{\"a\":\"\\n\\\\\\u0001\"}"),
		  "{\"a\":\"\\n\\\\\\u0001\"}");
	CHECK_STR(printed("{}"), "{}");
}

TEST(escaped_member_names_are_decoded)
{
	static const char text[] =
		" {\"a\": \"x\", \"b\\u0041\":[1], \"c\":{\"a\":2} }";
	json_auto_t *doc = NULL;

	CHECK_INT(document_parse(text, strlen(text), "doc", &doc, NULL), 0);
	CHECK_STR(document_string(doc, "a"), "x");
	CHECK(json_object_get(doc, "bA"));
	CHECK(!document_string(doc, "bA"));
	CHECK(!document_string(doc, "d"));
	CHECK(!document_string(NULL, "a"));
	CHECK(!document_string(json_object_get(doc, "bA"), "a"));
}

TEST(a_replaced_member_moves_to_the_end)
{
	json_auto_t *doc = json_object();
	auto_bytes struct bytes out = { 0 };

	document_put(doc, "a", json_string("1"));
	document_put(doc, "b", json_string("2"));
	document_put(doc, "a", json_string("3"));
	document_print(doc, &out);
	CHECK_STR(bytes_str(&out), "{\"b\":\"2\",\"a\":\"3\"}");
}
