/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-json.c - values by path, limits, and errors with their position */

#include "base/json.h"

#include <errno.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "test.h"

static const char text[] =
	"{\n"
	"  \"a\": {\"b\": [1, \"x]\", {\"c\": null}]},\n"
	"  \"d.e\": true,\n"
	"  \"f\\u0067\": \"end\"\n"
	"}\n";

static void check_place(const char *path, unsigned int line,
			unsigned int column, const char *value)
{
	struct json_place at;

	CHECK_INT(json_locate(text, strlen(text), path, &at), 0);
	CHECK_INT(at.line, line);
	CHECK_INT(at.column, column);
	CHECK_INT(at.end - at.offset, strlen(value));
	CHECK(!memcmp(text + at.offset, value, strlen(value)));
}

TEST(values_are_found_by_path)
{
	check_place("a.b[0]", 2, 15, "1");
	check_place("a.b[1]", 2, 18, "\"x]\"");
	check_place("a.b[2].c", 2, 30, "null");
	check_place("[\"d.e\"]", 3, 10, "true");
	check_place("fg", 4, 14, "\"end\"");
}

TEST(locating_a_missing_path_returns_ENOENT)
{
	struct json_place at = { .line = 7 };

	CHECK_INT(json_locate(text, strlen(text), "a.b[3]", &at), -ENOENT);
	CHECK_INT(json_locate(text, strlen(text), "a[0]", &at), -ENOENT);
	CHECK_INT(json_locate(text, strlen(text), "q", &at), -ENOENT);
	CHECK_INT(at.line, 7);
}

static void check_refused(const char *bytes, size_t n, const char *why)
{
	struct err err = { 0 };

	CHECK(!json_parse(bytes, n, "f.json", &err));
	CHECK_CONTAINS(err.msg, why);
	CHECK_CONTAINS(err.msg, "f.json");
}

TEST(parse_errors_name_file_and_line)
{
	check_refused("{\"a\":1,\n\"a\":2}", 14, "f.json:2:");
	check_refused("{\"a\":1,\n\"a\":2}", 14, "duplicate");
	check_refused("{\n \"a\" 1}", 9, "f.json:2:");
	check_refused("\xef\xbb\xbf{}", 5, "byte-order mark");
	check_refused("{\"a\":\"\0\"}", 9, "NUL");
	check_refused(" \n", 2, "empty");
	check_refused("{} x", 4, "f.json:1:");
	check_refused("{\"a\":\"\\u0000\"}", 14, "f.json:1:");
}

TEST(depth_and_size_stop_just_past_their_limits)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	json_t *root;

	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		buf_addc(&b, '[');
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		buf_addc(&b, ']');
	root = json_parse(b.p, b.len, "deep", &err);
	CHECK(root);
	json_decref(root);
	buf_done(&b);

	for (int i = 0; i <= JSON_DEPTH_MAX; i++)
		buf_addc(&b, '[');
	CHECK(!json_parse(b.p, b.len, "deep", &err));
	CHECK_CONTAINS(err.msg, "deep:1:33: more than 32");
	buf_done(&b);

	buf_addc(&b, '1');
	while (b.len < JSON_TEXT_MAX)
		buf_addc(&b, ' ');
	root = json_parse(b.p, b.len, "large", &err);
	CHECK(root);
	json_decref(root);
	buf_addc(&b, ' ');
	CHECK(!json_parse(b.p, b.len, "large", &err));
	CHECK_CONTAINS(err.msg, "1 MiB");
	buf_done(&b);
}

TEST(json_next_walks_the_entries_of_a_list)
{
	static const char list[] =
		"{\"a\": [1,\n [2, \"]\"],\n  {\"b\": [3]} , \"x\"], \"c\": 4}";
	struct json_place at, want;
	char path[8];

	CHECK_INT(json_locate(list, strlen(list), "a[0]", &at), 0);
	for (int i = 1; i < 4; i++) {
		snprintf(path, sizeof(path), "a[%d]", i);
		CHECK_INT(json_next(list, strlen(list), &at), 0);
		CHECK_INT(json_locate(list, strlen(list), path, &want), 0);
		CHECK_INT(at.offset, want.offset);
		CHECK_INT(at.end, want.end);
		CHECK_INT(at.line, want.line);
		CHECK_INT(at.column, want.column);
	}
	CHECK_INT(json_next(list, strlen(list), &at), -ENOENT);
	CHECK_INT(at.offset, want.offset);
}

TEST(errors_of_common_json_mistakes_have_a_hint)
{
	static const char *const rows[][2] = {
		{ "{\"a\": 1, \n }", "remove the comma" },
		{ "[1,]", "remove the comma" },
		{ "{} // x", "no comments" },
		{ "{ # x\n}", "no comments" },
		{ "{'a': 1}", "write \" instead" },
		{ "{\"a\": }", "unexpected token" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		CHECK(!json_parse(rows[i][0], strlen(rows[i][0]), "f", &err));
		CHECK_CONTAINS(err.msg, rows[i][1]);
	}
}

/* A file may be a link to a secret */
TEST(no_text_of_the_file_is_shown)
{
	static const char *const rows[][2] = {
		{ "SECRET", ":1:6: not valid JSON: invalid token" },
		{ "machine SECRET", ":1:7: not valid JSON: invalid token" },
		{ "{\"a\": SECRET}", ": invalid token" },
		{ "\"SECRET\" 1", ": end of file expected" },
		{ "{\"SECRET\" 1}", ": ':' expected" },
		{ "{\"SECRET", ": premature end of input" },
		{ "{\"\\SECRET\": 1}", ": invalid escape" },
		{ "-SECRET", ": invalid token" },
		/* Controls: marks, and what an editor can search for */
		{ "{\"a\":}", "near '}'" },
		{ "{\"a\": 1, \"a\": 2}", "duplicate object key near '\"a\"'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		CHECK(!json_parse(rows[i][0], strlen(rows[i][0]), "f", &err));
		CHECK_CONTAINS(err.msg, rows[i][1]);
		CHECK(!strstr(err.msg, "SECRET"));
	}
}
