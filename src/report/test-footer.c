/* SPDX-License-Identifier: Apache-2.0 */
/* report/test-footer.c - the footer of a run */

#include "report/footer.h"

#include <errno.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/own.h"
#include "test.h"
#include "report/ring.h"
#include "report/strip.h"

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

static void footer(const struct ring *ring, enum footer_mode mode,
		   bool failed, const char *missing, struct buf *out)
{
	footer_print(ring, &(struct footer){
		.mode = mode, .failed = failed, .run = "01J", .missing = missing,
	}, out);
}

TEST(a_footer_matches_the_specification)
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
	footer(&ring, FOOTER_TAGS, true, NULL, &b);
	CHECK_STR(buf_str(&b),
		  "<sandbox_violations>\n"
		  "deny file-write /etc/hosts (outside the writable paths)\n"
		  "allow: cloche policy allow write /etc/hosts\n"
		  "</sandbox_violations>\n");
	ring_done(&ring);
}

TEST(the_allowing_command_has_its_own_line)
{
	struct ring ring = { 0 };
	auto_buf struct buf b = { 0 };

	add(&ring, "/etc/hosts");
	footer(&ring, FOOTER_TEXT, true, NULL, &b);
	CHECK_STR(buf_str(&b),
		  "cloche: refused 1 thing\n"
		  "cloche:   write /etc/hosts (outside the writable paths)\n"
		  "            cloche policy allow write X\n");
	ring_done(&ring);
}

TEST(without_a_refusal_there_is_no_footer)
{
	struct ring ring = { 0 };
	auto_buf struct buf b = { 0 };

	footer(&ring, FOOTER_TAGS, true, "no observer", &b);
	footer(&ring, FOOTER_TEXT, true, NULL, &b);
	CHECK_STR(buf_str(&b), "");
	add(&ring, "/x");
	footer(&ring, FOOTER_NEVER, true, NULL, &b);
	CHECK_STR(buf_str(&b), "");
	ring_done(&ring);
}

TEST(names_with_control_characters_stay_on_one_line)
{
	static const char *const names[] = {
		"a\n" FOOTER_CLOSE "\nfree", "\033[2J\033]0;x\a", "\r/ok",
		"\xe2\x80\xae" "fdp.exe", "\xff\xfe", "\xc2\x9b" "31m", "<b>&",
		FOOTER_OPEN, "\xe2\x80\xa8line",
	};
	struct ring ring = { 0 };
	auto_buf struct buf b = { 0 }, rest = { 0 };
	struct strip strip = { 0 };
	unsigned int lines = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add(&ring, names[i]);
	footer(&ring, FOOTER_TAGS, true, "a\n<note>", &b);
	for (size_t i = 0; i < b.len; i++) {
		const unsigned char c = (unsigned char)b.p[i];

		lines += c == '\n';
		CHECK(c == '\n' || (c >= 0x20 && c < 0x7f));
	}
	CHECK_INT(lines, 2 * ARRAY_SIZE(names) + 3);
	CHECK(strstr(b.p, FOOTER_CLOSE) ==
	      b.p + b.len - strlen(FOOTER_CLOSE "\n"));

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

TEST(a_terminal_gets_twelve_lines_at_most)
{
	struct ring ring = { 0 };
	char name[16];

	for (int i = 1; i <= 20; i++) {
		auto_buf struct buf b = { 0 }, noted = { 0 };

		snprintf(name, sizeof(name), "/x%d", i);
		add(&ring, name);
		footer(&ring, FOOTER_TEXT, true, NULL, &b);
		CHECK_INT(count_lines(buf_str(&b)), i <= 5 ? 2 * i + 1 : 12);
		if (i > 5) {
			CHECK_CONTAINS(buf_str(&b),
				       "cloche violations list --run 01J");
		}
		footer(&ring, FOOTER_TEXT, true, "blind", &noted);
		CHECK(count_lines(buf_str(&noted)) <= 12);
		CHECK_CONTAINS(buf_str(&noted), "note: blind");
	}
	ring_done(&ring);
}

TEST(evicted_records_are_counted)
{
	auto_buf struct buf text = { 0 }, tags = { 0 };
	struct ring ring = { 0 };
	char name[16];

	for (int i = 0; i < RING_MAX + 50; i++) {
		snprintf(name, sizeof(name), "/x%d", i);
		add(&ring, name);
	}
	footer(&ring, FOOTER_TEXT, true, NULL, &text);
	CHECK_CONTAINS(buf_str(&text), "refused 150 things\n");
	CHECK_CONTAINS(buf_str(&text), "and 145 more: ");
	footer(&ring, FOOTER_TAGS, true, NULL, &tags);
	CHECK_CONTAINS(buf_str(&tags),
		       "\nnote 50 more: cloche violations list --run 01J\n");
	ring_done(&ring);
}

TEST(evicted_records_are_counted_in_a_short_footer)
{
	for (int names = 1; names <= 8; names++) {
		auto_buf struct buf text = { 0 };
		struct ring ring = { 0 };
		char exe[32];

		for (int i = 0; i < RING_MAX; i++) {
			snprintf(exe, sizeof(exe), "/x%d", i);
			add(&ring, exe);
		}
		for (int i = 0; i < RING_MAX; i++) {
			snprintf(exe, sizeof(exe), "/x%d", i);
			add_from(&ring, exe, &"12345678"[i % names]);
		}
		footer(&ring, FOOTER_TEXT, true, NULL, &text);
		snprintf(exe, sizeof(exe), "refused %d things\n", 100 + names);
		CHECK_CONTAINS(buf_str(&text), exe);
		CHECK_CONTAINS(buf_str(&text), names <= 5 ? "and 100 more: " :
			       names == 6 ? "and 101 more: " :
			       names == 7 ? "and 102 more: " : "and 103 more: ");
		CHECK_INT(count_lines(buf_str(&text)),
			  names <= 5 ? 2 * names + 2 : 12);
		ring_done(&ring);
	}
}

TEST(long_names_are_shortened_and_repeats_merged)
{
	char name[4000];
	struct ring ring = { 0 };
	auto_buf struct buf b = { 0 };

	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = 0;
	add(&ring, name);
	add(&ring, name);
	footer(&ring, FOOTER_TEXT, true, NULL, &b);
	CHECK(b.len < 600);
	CHECK_CONTAINS(buf_str(&b), "refused 1 thing\n");
	CHECK_CONTAINS(buf_str(&b), "... (outside");
	ring_done(&ring);
}

TEST(a_target_refused_to_two_programs_is_one_line)
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
	footer(&ring, FOOTER_TEXT, true, NULL, &b);
	CHECK_INT(count_lines(buf_str(&b)), 3);
	CHECK_CONTAINS(buf_str(&b), "refused 2 things\n");
	footer(&ring, FOOTER_TAGS, true, NULL, &tags);
	CHECK_INT(count_lines(buf_str(&tags)), 4);
	ring_done(&ring);
}

TEST(a_lookup_of_a_hidden_path_is_reported_after_a_failure)
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
	footer(&ring, FOOTER_TEXT, false, NULL, &none);
	footer(&ring, FOOTER_TAGS, false, NULL, &none);
	CHECK_INT(none.len, 0);
	footer(&ring, FOOTER_TEXT, true, NULL, &all);
	CHECK_CONTAINS(buf_str(&all), "refused 1 thing\n");
	v.kind = VIOLATION_FS_WRITE;
	v.target = cache;
	ring_add(&ring, &v, &evicted);
	footer(&ring, FOOTER_TEXT, false, NULL, &none);
	CHECK_INT(none.len, 0);
	v.kind = VIOLATION_FS_READ;
	v.target = target;
	v.op = opened;
	ring_add(&other, &v, &evicted);
	footer(&other, FOOTER_TEXT, false, NULL, &read);
	CHECK_CONTAINS(buf_str(&read), "refused 1 thing\n");
	ring_done(&ring);
	ring_done(&other);
}

TEST(incidental_refusals_are_reported_after_a_failure_only)
{
	static const struct {
		enum violation_kind kind;
		const char *target, *rule;
		bool told;
	} rows[] = {
		{ VIOLATION_FS_WRITE, "/h/.viminfo.tmp", NULL, false },
		{ VIOLATION_FS_WRITE, "/h/.lesshsQ", NULL, false },
		{ VIOLATION_FS_WRITE, "/h/.bash_history", NULL, false },
		{ VIOLATION_FS_WRITE, "/h/.cache/x", NULL, false },
		{ VIOLATION_FS_WRITE, "/h/.config", NULL, false },
		{ VIOLATION_FS_WRITE, "/run/user/1000", NULL, false },
		{ VIOLATION_FS_READ, "/h/.terraform.d", NULL, false },
		{ VIOLATION_FS_READ, "/h/.terraform.d/credentials.tfrc.json", NULL, true },
		{ VIOLATION_NET_CONNECT, "telemetry.nextjs.org:443", NULL, false },
		{ VIOLATION_NET_CONNECT, "a.example.org:443", "/h/p.json:3", false },
		{ VIOLATION_NET_CONNECT, "a.example.org:443", NULL, true },
		{ VIOLATION_FS_WRITE, "/h/.bashrc", NULL, true },
		{ VIOLATION_FS_WRITE, "/h/.npmrc", NULL, true },
		{ VIOLATION_FS_WRITE, "/h/.config/autostart/x", NULL, true },
		{ VIOLATION_FS_CREATE, "/p/.vscode", NULL, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct violation v = {
			.kind = rows[i].kind, .target = literal(rows[i].target),
			.rule_file = literal(rows[i].rule),
		};
		auto_buf struct buf quiet = { 0 }, failed = { 0 };
		struct ring_entry *evicted = NULL;
		struct ring ring = { 0 };

		ring_add(&ring, &v, &evicted);
		footer(&ring, FOOTER_TEXT, false, NULL, &quiet);
		CHECK_STR((quiet.len > 0) == rows[i].told ? "" : rows[i].target,
			  "");
		footer(&ring, FOOTER_TEXT, true, NULL, &failed);
		CHECK(failed.len > 0);
		ring_done(&ring);
	}
}

TEST(a_footer_for_an_agent_has_tags)
{
	enum footer_mode mode = FOOTER_COUNT;

	CHECK_INT(footer_choose(FOOTER_AUTO, "1"), FOOTER_TAGS);
	CHECK_INT(footer_choose(FOOTER_AUTO, ""), FOOTER_TEXT);
	CHECK_INT(footer_choose(FOOTER_AUTO, NULL), FOOTER_TEXT);
	CHECK_INT(footer_choose(FOOTER_NEVER, "1"), FOOTER_NEVER);
	CHECK_INT(footer_parse("tags", &mode), 0);
	CHECK_INT(mode, FOOTER_TAGS);
	CHECK_INT(footer_parse("html", &mode), -EINVAL);
}
