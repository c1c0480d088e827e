/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-json-edit.c - edits of one value in a settings file */

#include "policy/json-edit.h"

#include "base/buf.h"
#include "base/err.h"
#include "test.h"

static const char *set(const char *text, const char *path, const char *value)
{
	static struct buf out;
	struct err err = { 0 };

	buf_done(&out);
	if (json_edit(text, strlen(text), "f", JSON_EDIT_SET, path, value, &out, &err) < 0)
		buf_addf(&out, "! %s", err.msg);
	return buf_str(&out);
}

static const char *append(const char *text, const char *path,
			  const char *value)
{
	static struct buf out;
	struct err err = { 0 };
	int r;

	buf_done(&out);
	r = json_edit(text, strlen(text), "f", JSON_EDIT_APPEND, path, value, &out, &err);
	if (r <= 0)
		buf_addf(&out, r ? "! %s" : "same%s", err.msg);
	return buf_str(&out);
}

TEST(a_value_is_replaced_in_place)
{
	CHECK_STR(set("{\"a\" : {\"b\":  1 , \"c\":2}}", "a.b", "true"),
		  "{\"a\" : {\"b\":  true , \"c\":2}}");
	CHECK_STR(set("{\"a\": null}", "a", "1"), "{\"a\": 1}");
}

TEST(a_new_key_is_appended_in_the_files_style)
{
	CHECK_STR(set("{\n    \"z\": 1,\n    \"a\": {\n        \"x\": []\n    }\n}\n",
		      "a.y", "true"),
		  "{\n    \"z\": 1,\n    \"a\": {\n        \"x\": [],\n        \"y\": true\n    }\n}\n");
	CHECK_STR(set("{\n\t\"z\": 1\n}\n", "sandbox.enabled", "true"),
		  "{\n\t\"z\": 1,\n\t\"sandbox\": {\n\t\t\"enabled\": true\n\t}\n}\n");
	CHECK_STR(set("{\"z\": 1}", "a.b", "2"),
		  "{\"z\": 1, \"a\": {\"b\": 2}}");
	CHECK_STR(set("{\r\n  \"z\": 1\r\n}", "a", "2"),
		  "{\r\n  \"z\": 1,\r\n  \"a\": 2\r\n}");
}

TEST(keys_are_added_to_empty_files_and_objects)
{
	CHECK_STR(set("", "a.b", "1"),
		  "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n");
	CHECK_STR(set(" \n", "a", "1"), "{\n  \"a\": 1\n}\n");
	CHECK_STR(set("{}", "a", "1"), "{\n  \"a\": 1\n}");
	CHECK_STR(set("{\"a\": {}}", "a.b", "1"),
		  "{\"a\": {\n    \"b\": 1\n  }}");
	CHECK_STR(set("{\"a\": null}", "a.b", "1"),
		  "{\"a\": {\n    \"b\": 1\n  }}");
}

TEST(list_entries_are_appended)
{
	CHECK_STR(append("{\"a\": [\"x\"]}", "a", "y"),
		  "{\"a\": [\"x\", \"y\"]}");
	CHECK_STR(append("{\n  \"a\": [\n    \"x\"\n  ]\n}", "a", "y"),
		  "{\n  \"a\": [\n    \"x\",\n    \"y\"\n  ]\n}");
	CHECK_STR(append("{\"a\": []}", "a", "q\"\n"),
		  "{\"a\": [\"q\\\"\\n\"]}");
	CHECK_STR(append("{\"a\": [\"x\"]}", "a", "x"), "same");
	CHECK_STR(append("{\"s\": {\"o\": 1}}", "s.a", "x"),
		  "{\"s\": {\"o\": 1, \"a\": [\"x\"]}}");
	CHECK_STR(append("", "a.b", "x"),
		  "{\n  \"a\": {\n    \"b\": [\"x\"]\n  }\n}\n");
	CHECK_STR(append("{\"a\": [1, {\"x\": [\"]\"]}]}", "a", "x"),
		  "{\"a\": [1, {\"x\": [\"]\"]}, \"x\"]}");
}

static const char *removed(const char *text, size_t index)
{
	static struct buf out;
	struct err err = { 0 };

	buf_done(&out);
	if (json_edit_remove(text, strlen(text), "a", index, &out, &err) < 0)
		buf_addf(&out, "! %s", err.msg);
	return buf_str(&out);
}

TEST(removing_an_entry_removes_its_comma)
{
	CHECK_STR(removed("{\"a\": [ 1 ]}", 0), "{\"a\": []}");
	CHECK_STR(removed("{\"a\": [1, {\"x\": []}, 3]}", 0),
		  "{\"a\": [{\"x\": []}, 3]}");
	CHECK_STR(removed("{\"a\": [1, {\"x\": []}, 3]}", 1),
		  "{\"a\": [1, 3]}");
	CHECK_STR(removed("{\n \"a\": [\n  1,\n  2\n ]\n}", 1),
		  "{\n \"a\": [\n  1\n ]\n}");
	CHECK_STR(removed("{\"a\": [1]}", 1), "! there is no a[1]");
}

TEST(any_value_can_be_added)
{
	const char *text = "{\"a\": [1]}";
	auto_buf struct buf out = { 0 };

	CHECK_INT(json_edit(text, strlen(text), "f", JSON_EDIT_APPEND_VALUE, "a", "{\"b\": 1}",
				    &out, NULL), 1);
	CHECK_STR(buf_str(&out), "{\"a\": [1, {\"b\": 1}]}");
	CHECK_STR(removed(buf_str(&out), 1), text);
}

TEST(edits_of_other_types_fail_with_a_message)
{
	CHECK_STR(set("[]", "a", "1"), "! f: must be an object: { ... }");
	CHECK_STR(set("{\"a\": 1}", "a.b", "1"), "! f: a must be an object");
	CHECK_STR(append("{\"a\": 1}", "a", "x"), "! f: a must be a list");
	CHECK_STR(append("{}", "a", "\377"), "! '\\xff' is not UTF-8 text");
	CHECK_CONTAINS(set("{", "a", "1"), "! f:1:1: not valid JSON");
}
