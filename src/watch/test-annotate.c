/* SPDX-License-Identifier: Apache-2.0 */
/* watch/test-annotate.c - the footer says it in one safe line each */

#include "watch/annotate.h"

#include <errno.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/own.h"
#include "test.h"
#include "watch/ring.h"
#include "watch/strip.h"

static char *literal(const char *s)
{
	return (char *)(uintptr_t)s;
}

static void add_from(struct ring *ring, const char *exe, const char *target)
{
	struct ring_entry *out;
	struct violation v = {
		.kind = VIOLATION_FS_WRITE, .target = literal(target),
		.exe = literal(exe),
		.reason = literal("outside the writable paths"),
		.suggest_command = literal("cloche policy allow write X"),
	};

	ring_add(ring, &v, &out);
	ring_entry_free(out);
}

static void add(struct ring *ring, const char *target)
{
	add_from(ring, "/bin/x", target);
}

TEST(the_block_is_that_of_the_specification)
{
	struct ring ring = { 0 };
	struct ring_entry *out;
	auto_buf struct buf b = { 0 };
	struct violation v = {
		.kind = VIOLATION_FS_WRITE, .target = literal("/etc/hosts"),
		.reason = literal("outside the writable paths"),
		.suggest_command =
			literal("cloche policy allow write /etc/hosts"),
	};

	ring_add(&ring, &v, &out);
	annotate_footer(&ring, ANNOTATE_TAGS, true, "01J", NULL, &b);
	CHECK_STR(buf_str(&b),
		  "<sandbox_violations>\n"
		  "deny file-write /etc/hosts (outside the writable paths; "
		  "allow: cloche policy allow write /etc/hosts)\n"
		  "</sandbox_violations>\n");
	ring_done(&ring);
}

TEST(nothing_refused_nothing_said)
{
	struct ring ring = { 0 };
	auto_buf struct buf b = { 0 };

	annotate_footer(&ring, ANNOTATE_TAGS, true, "01J", "no observer", &b);
	annotate_footer(&ring, ANNOTATE_TEXT, true, "01J", NULL, &b);
	CHECK_STR(buf_str(&b), "");
	add(&ring, "/x");
	annotate_footer(&ring, ANNOTATE_NEVER, true, "01J", NULL, &b);
	CHECK_STR(buf_str(&b), "");
	ring_done(&ring);
}

TEST(hostile_names_cannot_leave_their_line_or_the_block)
{
	static const char *const names[] = {
		"a\n" ANNOTATE_CLOSE "\nfree", "\033[2J\033]0;x\a", "\r/ok",
		"\xe2\x80\xae" "fdp.exe", "\xff\xfe", "\xc2\x9b" "31m", "<b>&",
		ANNOTATE_OPEN, "\xe2\x80\xa8line",
	};
	struct ring ring = { 0 };
	auto_buf struct buf b = { 0 }, rest = { 0 };
	struct strip strip = { 0 };
	unsigned int lines = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add(&ring, names[i]);
	annotate_footer(&ring, ANNOTATE_TAGS, true, "01J", "a\n<note>", &b);
	for (size_t i = 0; i < b.len; i++) {
		const unsigned char c = (unsigned char)b.p[i];

		lines += c == '\n';
		CHECK(c == '\n' || (c >= 0x20 && c < 0x7f));
	}
	CHECK_INT(lines, ARRAY_SIZE(names) + 3);
	CHECK(strstr(b.p, ANNOTATE_CLOSE) ==
	      b.p + b.len - strlen(ANNOTATE_CLOSE "\n"));

	strip_feed(&strip, "out\n", 4, &rest);
	strip_feed(&strip, b.p, b.len, &rest);
	strip_feed(&strip, "more\n", 5, &rest);
	strip_finish(&strip, &rest);
	CHECK_STR(buf_str(&rest), "out\nmore\n");
	ring_done(&ring);
}

static unsigned int count_lines(const char *s)
{
	unsigned int n = 0;

	for (; (s = strchr(s, '\n')) != NULL; s++)
		n++;
	return n;
}

TEST(a_terminal_gets_eight_lines_at_most)
{
	struct ring ring = { 0 };
	char name[16];

	for (int i = 1; i <= 20; i++) {
		auto_buf struct buf b = { 0 }, noted = { 0 };

		snprintf(name, sizeof(name), "/x%d", i);
		add(&ring, name);
		annotate_footer(&ring, ANNOTATE_TEXT, true, "01J", NULL, &b);
		CHECK_INT(count_lines(buf_str(&b)), i <= 7 ? i + 1 : 8);
		if (i > 7) {
			CHECK_CONTAINS(buf_str(&b),
				       "cloche violations list --run 01J");
		}
		annotate_footer(&ring, ANNOTATE_TEXT, true, "01J", "blind", &noted);
		CHECK(count_lines(buf_str(&noted)) <= 8);
		CHECK_CONTAINS(buf_str(&noted), "note: blind");
	}
	ring_done(&ring);
}

TEST(what_made_room_is_counted)
{
	auto_buf struct buf text = { 0 }, tags = { 0 };
	struct ring ring = { 0 };
	char name[16];

	for (int i = 0; i < RING_MAX + 50; i++) {
		snprintf(name, sizeof(name), "/x%d", i);
		add(&ring, name);
	}
	annotate_footer(&ring, ANNOTATE_TEXT, true, "01J", NULL, &text);
	CHECK_CONTAINS(buf_str(&text), "refused 150 things\n");
	CHECK_CONTAINS(buf_str(&text), "and 144 more: ");
	annotate_footer(&ring, ANNOTATE_TAGS, true, "01J", NULL, &tags);
	CHECK_CONTAINS(buf_str(&tags),
		       "\nnote 50 more: cloche violations list --run 01J\n");
	ring_done(&ring);
}

TEST(what_made_room_is_counted_where_few_lines_are_left)
{
	for (int names = 1; names <= 8; names++) {
		auto_buf struct buf text = { 0 };
		struct ring ring = { 0 };
		char exe[16];

		for (int i = 0; i < RING_MAX; i++) {
			snprintf(exe, sizeof(exe), "/x%d", i);
			add(&ring, exe);
		}
		for (int i = 0; i < RING_MAX; i++) {
			snprintf(exe, sizeof(exe), "/x%d", i);
			add_from(&ring, exe, &"12345678"[i % names]);
		}
		annotate_footer(&ring, ANNOTATE_TEXT, true, "01J", NULL, &text);
		CHECK_CONTAINS(buf_str(&text), "refused 200 things\n");
		CHECK_CONTAINS(buf_str(&text), names < 7 ? "and 100 more: " :
			       names == 7 ? "and 101 more: " : "and 102 more: ");
		CHECK_INT(count_lines(buf_str(&text)),
			  names < 7 ? names + 2 : 8);
		ring_done(&ring);
	}
}

TEST(long_names_are_shortened_and_repeats_counted)
{
	char name[4000];
	struct ring ring = { 0 };
	auto_buf struct buf b = { 0 };

	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = 0;
	add(&ring, name);
	add(&ring, name);
	annotate_footer(&ring, ANNOTATE_TEXT, true, NULL, NULL, &b);
	CHECK(b.len < 600);
	CHECK_CONTAINS(buf_str(&b), "refused 2 things\n");
	CHECK_CONTAINS(buf_str(&b), "... (outside");
	CHECK_CONTAINS(buf_str(&b), " x2\n");
	ring_done(&ring);
}

TEST(one_thing_that_two_programs_tried_is_one_line)
{
	char target[] = "/x", sh[] = "/bin/sh", cat[] = "/bin/cat";
	struct violation v = {
		.kind = VIOLATION_FS_WRITE, .target = target, .count = 1,
	};
	struct ring ring = { 0 };
	struct ring_entry *evicted = NULL;
	auto_buf struct buf b = { 0 }, tags = { 0 };

	v.exe = sh;
	ring_add(&ring, &v, &evicted);
	v.exe = cat;
	ring_add(&ring, &v, &evicted);
	v.kind = VIOLATION_FS_READ;
	ring_add(&ring, &v, &evicted);
	CHECK_INT(ring.len, 3);
	annotate_footer(&ring, ANNOTATE_TEXT, true, NULL, NULL, &b);
	CHECK_INT(count_lines(buf_str(&b)), 3);
	CHECK_CONTAINS(buf_str(&b), "/x x2\n");
	annotate_footer(&ring, ANNOTATE_TAGS, true, NULL, NULL, &tags);
	CHECK_INT(count_lines(buf_str(&tags)), 4);
	ring_done(&ring);
}

TEST(a_question_that_found_nothing_is_told_after_a_failure)
{
	char cache[] = "/usr/lib/x/__pycache__/y.pyc.5";
	char target[] = "/h/.npmrc", asked[] = "newfstatat", opened[] = "openat";
	struct violation v = {
		.kind = VIOLATION_FS_READ, .target = target, .op = asked,
		.error = ENOENT, .count = 1,
	};
	struct ring ring = { 0 }, other = { 0 };
	struct ring_entry *evicted = NULL;
	auto_buf struct buf none = { 0 }, all = { 0 }, read = { 0 };

	ring_add(&ring, &v, &evicted);
	annotate_footer(&ring, ANNOTATE_TEXT, false, NULL, NULL, &none);
	annotate_footer(&ring, ANNOTATE_TAGS, false, NULL, NULL, &none);
	CHECK_INT(none.len, 0);
	annotate_footer(&ring, ANNOTATE_TEXT, true, NULL, NULL, &all);
	CHECK_CONTAINS(buf_str(&all), "refused 1 thing\n");
	v.kind = VIOLATION_FS_WRITE;
	v.target = cache;
	ring_add(&ring, &v, &evicted);
	annotate_footer(&ring, ANNOTATE_TEXT, false, NULL, NULL, &none);
	CHECK_INT(none.len, 0);
	v.kind = VIOLATION_FS_READ;
	v.op = opened;
	ring_add(&other, &v, &evicted);
	annotate_footer(&other, ANNOTATE_TEXT, false, NULL, NULL, &read);
	CHECK_CONTAINS(buf_str(&read), "refused 1 thing\n");
	ring_done(&ring);
	ring_done(&other);
}

TEST(an_agent_gets_tags)
{
	enum annotate_mode mode = ANNOTATE_COUNT;

	CHECK_INT(annotate_choose(ANNOTATE_AUTO, "1"), ANNOTATE_TAGS);
	CHECK_INT(annotate_choose(ANNOTATE_AUTO, ""), ANNOTATE_TEXT);
	CHECK_INT(annotate_choose(ANNOTATE_AUTO, NULL), ANNOTATE_TEXT);
	CHECK_INT(annotate_choose(ANNOTATE_NEVER, "1"), ANNOTATE_NEVER);
	CHECK_INT(annotate_parse("tags", &mode), 0);
	CHECK_INT(mode, ANNOTATE_TAGS);
	CHECK_INT(annotate_parse("html", &mode), -EINVAL);
}
