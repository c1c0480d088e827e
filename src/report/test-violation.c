/* SPDX-License-Identifier: Apache-2.0 */
/* report/test-violation.c - records to JSON lines and back */

#include "report/violation.h"

#include <errno.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "test.h"

static char *literal(const char *s)
{
	return (char *)(uintptr_t)s;
}

static struct violation sample(void)
{
	return (struct violation) {
		.kind = VIOLATION_FS_WRITE, .time_ms = 1767225599123,
		.run = literal("01J"), .command = literal("npm test"),
		.pid = 4711, .exe = literal("/usr/bin/node"),
		.op = literal("openat"), .target = literal("/etc/hosts"),
		.error = EROFS,
		.reason = literal("outside the writable paths"),
		.rule_key = literal("sandbox.filesystem.allowWrite"),
		.suggest_edit = literal("sandbox.filesystem.allowWrite += "
					"\"/etc/hosts\""),
		.suggest_command =
			literal("cloche policy allow write /etc/hosts"),
		.count = 1,
	};
}

TEST(a_record_matches_the_specification)
{
	const struct violation v = sample();
	auto_buf struct buf b = { 0 };

	violation_to_json(&v, &b);
	CHECK_STR(buf_str(&b),
		  "{\"v\":1,\"time\":\"2025-12-31T23:59:59.123Z\","
		  "\"run\":\"01J\",\"command\":\"npm test\",\"pid\":4711,"
		  "\"exe\":\"/usr/bin/node\",\"kind\":\"fs-write\","
		  "\"op\":\"openat\",\"target\":\"/etc/hosts\","
		  "\"errno\":\"EROFS\","
		  "\"reason\":\"outside the writable paths\","
		  "\"rule\":{\"file\":null,"
		  "\"path\":\"sandbox.filesystem.allowWrite\"},"
		  "\"suggest\":{\"edit\":\"sandbox.filesystem.allowWrite += "
		  "\\\"/etc/hosts\\\"\","
		  "\"command\":\"cloche policy allow write /etc/hosts\"},"
		  "\"count\":1}\n");
}

TEST(every_field_is_parsed_back)
{
	struct violation v = sample(), back;
	auto_buf struct buf b = { 0 };

	v.rule_file = literal("/p/.claude/settings.json:12");
	v.count = 3;
	violation_to_json(&v, &b);
	CHECK_INT(violation_from_json(b.p, b.len, &back, NULL), 0);
	CHECK_INT(back.kind, v.kind);
	CHECK_INT(back.time_ms, v.time_ms);
	CHECK_INT(back.pid, v.pid);
	CHECK_INT(back.error, v.error);
	CHECK_INT(back.count, 3);
	CHECK_STR(back.run, v.run);
	CHECK_STR(back.command, v.command);
	CHECK_STR(back.exe, v.exe);
	CHECK_STR(back.op, v.op);
	CHECK_STR(back.target, v.target);
	CHECK_STR(back.reason, v.reason);
	CHECK_STR(back.rule_file, v.rule_file);
	CHECK_STR(back.rule_key, v.rule_key);
	CHECK_STR(back.suggest_edit, v.suggest_edit);
	CHECK_STR(back.suggest_command, v.suggest_command);
	violation_done(&back);
	CHECK(!back.run && !back.suggest_command);
}

TEST(an_empty_record_is_parsed_back)
{
	const struct violation v = { .kind = VIOLATION_LIMIT };
	struct violation back;
	auto_buf struct buf b = { 0 };

	violation_to_json(&v, &b);
	CHECK_INT(violation_from_json(b.p, b.len, &back, NULL), 0);
	CHECK(!back.run && !back.exe && !back.target && !back.reason);
	CHECK(!back.rule_file && !back.rule_key && !back.suggest_edit);
	CHECK_INT(back.pid, 0);
	CHECK_INT(back.error, 0);
	CHECK_INT(back.count, 1);
}

TEST(names_of_any_bytes_are_one_escaped_line)
{
	struct violation v = sample(), back;
	auto_buf struct buf b = { 0 };

	v.target = literal("a\n\"\\</sandbox_violations>\033[2J\xe2\x80\xae"
			   "\xd8\x9c\xff\xc2\x85\xe2\x81\xa6z\xf0\x9f\x94\x94");
	violation_to_json(&v, &b);
	CHECK_CONTAINS(buf_str(&b),
		       "\"a\\u000a\\\"\\\\\\u003c/sandbox_violations\\u003e"
		       "\\u001b[2J\\u202e\\u061c\\ufffd\\u0085\\u2066z"
		       "\xf0\x9f\x94\x94\"");
	CHECK(strchr(b.p, '\n') == b.p + b.len - 1);
	CHECK_INT(violation_from_json(b.p, b.len, &back, NULL), 0);
	CHECK_STR(back.target,
		  "a\n\"\\</sandbox_violations>\033[2J\xe2\x80\xae\xd8\x9c"
		  "\xef\xbf\xbd\xc2\x85\xe2\x81\xa6z\xf0\x9f\x94\x94");
	violation_done(&back);
}

TEST(long_strings_are_cut_at_a_character)
{
	char text[VIOLATION_TEXT_MAX + 8];
	struct violation v = sample(), back;
	auto_buf struct buf b = { 0 };

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = 0;
	v.target = text;
	violation_to_json(&v, &b);
	CHECK_INT(violation_from_json(b.p, b.len, &back, NULL), 0);
	CHECK_INT(strlen(back.target), VIOLATION_TEXT_MAX);
	violation_done(&back);
	b.len = 0;

	memcpy(text + VIOLATION_TEXT_MAX - 1, "\xc3\xa9z", 4);
	violation_to_json(&v, &b);
	CHECK_INT(violation_from_json(b.p, b.len, &back, NULL), 0);
	CHECK_INT(strlen(back.target), VIOLATION_TEXT_MAX - 1);
	violation_done(&back);
}

TEST(the_worst_record_is_within_the_limit_of_a_line)
{
	char text[VIOLATION_TEXT_MAX + 1];
	struct violation v = sample(), back;
	auto_buf struct buf b = { 0 };

	memset(text, '<', VIOLATION_TEXT_MAX);
	text[VIOLATION_TEXT_MAX] = 0;
	v.run = v.command = v.exe = v.op = v.target = v.reason = text;
	v.rule_file = v.rule_key = v.suggest_edit = v.suggest_command = text;
	v.count = UINT64_MAX / 2;
	violation_to_json(&v, &b);
	CHECK(b.len <= VIOLATION_LINE_MAX);
	CHECK_INT(violation_from_json(b.p, b.len, &back, NULL), 0);
	violation_done(&back);
	CHECK_INT(violation_from_json(b.p, VIOLATION_LINE_MAX + 1, &back,
				      NULL), -EINVAL);
}

TEST(malformed_records_are_refused_with_the_field)
{
	static const struct { const char *line, *word; } bad[] = {
		{ "", "record" }, { "[]", "'{'" }, { "{}", "'v'" },
		{ "{\"v\":2}", "'v'" },
		{ "{\"v\":1,\"kind\":\"x\"}", "'kind'" },
		{ "{\"v\":1,\"kind\":\"limit\"}", "'time'" },
		{ "{\"v\":1,\"kind\":\"limit\",\"time\":"
		  "\"2026-06-31T00:00:00.000Z\"}", "'time'" },
		{ "{\"v\":1,\"kind\":\"limit\",\"time\":"
		  "\"2026-06-30T00:00:00.000Z\",\"pid\":-1}", "'pid'" },
		{ "{\"v\":1,\"kind\":\"limit\",\"time\":"
		  "\"2026-06-30T00:00:00.000Z\",\"count\":0}", "'count'" },
		{ "{\"v\":1,\"kind\":\"limit\",\"time\":"
		  "\"2026-06-30T00:00:00.000Z\",\"errno\":\"EX\"}", "'errno'" },
		{ "{\"v\":1,\"kind\":\"limit\",\"time\":"
		  "\"2026-06-30T00:00:00.000Z\",\"exe\":1}", "'exe'" },
		{ "{\"v\":1,\"kind\":\"limit\",\"time\":"
		  "\"2026-06-30T00:00:00.000Z\",\"rule\":[]}", "'rule'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct violation v = { .pid = 42 };
		struct err err = { 0 };

		CHECK_INT(violation_from_json(bad[i].line, strlen(bad[i].line),
					      &v, &err), -EINVAL);
		CHECK_INT(v.pid, 42);
		CHECK_CONTAINS(err.msg, bad[i].word);
	}
}

TEST(every_violation_kind_has_a_unique_name)
{
	enum violation_kind kind = VIOLATION_KINDS;

	for (int i = 0; i < VIOLATION_KINDS; i++) {
		const char *name =
			violation_kind_name((enum violation_kind)i);

		CHECK_INT(violation_kind_parse(name, &kind), 0);
		CHECK_INT(kind, i);
	}
	CHECK_INT(violation_kind_parse("fs", &kind), -EINVAL);
	CHECK_STR(violation_kind_words(VIOLATION_FS_READ), "read");
}

TEST(a_copied_record_is_independent)
{
	struct violation v = sample(), copy;
	auto_free char *target = mem_strdup("/x");

	v.target = target;
	violation_copy(&copy, &v);
	target[1] = 'y';
	CHECK_STR(copy.target, "/x");
	CHECK(!copy.rule_file);
	violation_done(&copy);
}
