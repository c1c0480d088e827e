/* SPDX-License-Identifier: Apache-2.0 */
/* report/test-report.c - records of refusals: stream, store, counts and rate */

#include "report/report.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy.h"
#include "report/command-text.h"
#include "test.h"
#include "report/ring.h"

enum { LINES_MAX = 1024 };

static struct report *start(int stream, const struct list_rules *ignores)
{
	const char *dir = test_path("state");
	const struct report_config config = {
		.run = "01J", .command = "npm test", .stream = stream,
		.ignores = ignores, .store_dir = dir,
	};

	return report_new(&config);
}

static void check_footer(const struct report *report, const char *words)
{
	auto_buf struct buf out = { 0 };

	report_footer(report, &(struct footer){ .mode = FOOTER_TEXT, .failed = true }, &out);
	CHECK_CONTAINS(buf_str(&out), words);
}

static void refuse(struct report *report, int i)
{
	char target[64];
	struct violation v = { .kind = VIOLATION_FS_READ, .target = target,
			       .pid = getpid() };

	snprintf(target, sizeof(target), "/etc/%d", i);
	violation_report(report_sink(report), &v);
}

/* All records in @text, which is cut up */
static size_t parse(const char *text, struct violation *ret)
{
	size_t n = 0;

	for (const char *end; (end = strchr(text, '\n')) != NULL;
	     text = end + 1) {
		CHECK(n < LINES_MAX);
		violation_done(&ret[n]);
		CHECK_INT(violation_from_json(text, (size_t)(end - text),
					      &ret[n++], NULL), 0);
	}
	CHECK(!*text);
	return n;
}

static int open_stream(char *path, size_t size)
{
	snprintf(path, size, "%s/events", test_dir());
	return open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

TEST(a_record_reaches_stream_store_and_footer)
{
	static struct violation v[LINES_MAX];
	char path[4096];
	auto_close int fd = open_stream(path, sizeof(path));
	struct report *report = start(fd, NULL);
	auto_buf struct buf footer = { 0 };
	const char *store = test_path("state/violations.jsonl");

	refuse(report, 7);
	CHECK_INT(parse(test_read(path), v), 1);
	CHECK_STR(v[0].run, "01J");
	CHECK_STR(v[0].command, "npm test");
	CHECK_CONTAINS(v[0].exe, "test-report-report");
	CHECK(!v[0].suggest_command);	/* Who looked at the file knows */
	CHECK(v[0].time_ms > 0);
	CHECK_STR(test_read(store), test_read(path));
	report_footer(report, &(struct footer){ .mode = FOOTER_TAGS, .failed = true }, &footer);
	CHECK_CONTAINS(buf_str(&footer), "deny file-read /etc/7");
	report_finish(report);
	CHECK_INT(parse(test_read(path), v), 1);
	report_free(report);
}

TEST(a_refused_host_gets_its_suggestion)
{
	static struct violation v[LINES_MAX];
	char path[4096], host[] = "a.test:443";
	auto_close int fd = open_stream(path, sizeof(path));
	struct report *report = start(fd, NULL);
	const struct violation refused = { .kind = VIOLATION_NET_CONNECT,
					   .target = host };

	violation_report(report_sink(report), &refused);
	CHECK_INT(parse(test_read(path), v), 1);
	CHECK_STR(v[0].suggest_command, "cloche policy allow host a.test");
	report_free(report);
}

TEST(repeats_are_reported_once_at_the_end)
{
	static struct violation v[LINES_MAX];
	char path[4096];
	auto_close int fd = open_stream(path, sizeof(path));
	struct report *report = start(fd, NULL);

	for (int i = 0; i < 1000; i++)
		refuse(report, 7);
	CHECK_INT(parse(test_read(path), v), 1);
	report_finish(report);
	CHECK_INT(parse(test_read(path), v), 2);
	CHECK_INT(v[1].count, 1000);
	check_footer(report, "refused 1 thing");
	report_free(report);
}

TEST(rate_limited_records_are_counted_in_the_closing_record)
{
	static struct violation v[LINES_MAX];
	char path[4096];
	auto_close int fd = open_stream(path, sizeof(path));
	struct report *report = start(fd, NULL);
	size_t n;
	bool burst;

	for (int i = 0; i < 500; i++)
		refuse(report, i);
	n = parse(test_read(path), v);
	/* More only if this took more than a second */
	burst = n <= RATE_LINES;
	report_finish(report);
	n = parse(test_read(path), v);
	if (burst) {
		CHECK_INT(n, RATE_LINES + RING_MAX + 1);
		CHECK_INT(v[n - 1].kind, VIOLATION_LIMIT);
		CHECK_STR(v[n - 1].target, "violations");
		CHECK_INT(v[n - 1].count, 500 - RATE_LINES - RING_MAX);
	}
	report_free(report);
}

TEST(ignored_records_reach_no_sink)
{
	char path[4096], any[] = "*", text[] = "/etc/7";
	struct list_rule rule = { .detail = any, .text = text };
	const struct list_rules rules = { .v = &rule, .len = 1 };
	auto_close int fd = open_stream(path, sizeof(path));
	struct report *report = start(fd, &rules);

	refuse(report, 7);
	report_finish(report);
	CHECK_STR(test_read(path), "");
	report_set_ignores(report, NULL);
	refuse(report, 7);
	check_footer(report, "refused 1 thing\n");
	report_free(report);
}

TEST(a_stalled_event_reader_does_not_block_the_run)
{
	int fds[2];
	struct report *report;

	CHECK_INT(pipe(fds), 0);
	CHECK(fcntl(fds[1], F_SETPIPE_SZ, 4096) >= 4096);
	report = start(fds[1], NULL);
	for (int i = 0; i < 100; i++)
		refuse(report, i);
	report_finish(report);
	check_footer(report, "refused 100 things");
	report_free(report);
}

static void refuse_at_length(struct report *report, char c)
{
	char target[16 << 10];
	struct violation v = { .kind = VIOLATION_FS_READ, .target = target,
			       .pid = getpid() };

	memset(target, c, sizeof(target) - 1);
	target[sizeof(target) - 1] = '\0';
	violation_report(report_sink(report), &v);
}

TEST(a_line_that_does_not_fit_into_the_pipe_does_not_block)
{
	static char text[64 << 10];
	static struct violation v[LINES_MAX];
	struct report *report;
	int fds[2];
	ssize_t n;

	CHECK_INT(pipe(fds), 0);
	CHECK(fcntl(fds[1], F_SETPIPE_SZ, 4096) >= 4096);
	report = start(fds[1], NULL);
	refuse_at_length(report, 'a');
	refuse_at_length(report, 'b');
	/* The reader comes back: what was begun is ended */
	CHECK(fcntl(fds[1], F_SETPIPE_SZ, sizeof(text)) >= (int)sizeof(text));
	refuse_at_length(report, 'c');
	n = read(fds[0], text, sizeof(text) - 1);
	CHECK(n > 0);
	text[n] = '\0';
	CHECK_INT(parse(text, v), 2);
	CHECK(*v[0].target == 'a' && *v[1].target == 'c');
	report_free(report);
}

TEST(run_ids_are_unique_and_sort_by_time)
{
	char a[REPORT_RUN_SIZE], b[REPORT_RUN_SIZE];

	report_run_id(a);
	report_run_id(b);
	CHECK_INT(strlen(a), 26);
	CHECK(strcmp(a, b) != 0);
	CHECK(strncmp(a, b, 10) <= 0);
}

TEST(credentials_in_urls_of_a_command_line_are_redacted)
{
	static const struct {
		const char *is, *becomes;
	} rows[] = {
		{ "curl 'http://h/p?token=x&y#z' -v", "curl 'http://h/p?' -v" },
		{ "git clone https://u:p@h/r.git d", "git clone https://h/r.git d" },
		{ "a https://u@p@h:8/?q b http://i?r", "a https://h:8/? b http://i?" },
		{ "x://h/a@b c@d://?", "x://h/a@b c@d://?" },
		{ "npm test?", "npm test?" }, { "://", "://" }, { "", "" },
		{ "ftp://u:p@", "ftp://" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_free char *text = mem_strdup(rows[i].is);

		command_text_strip(text);
		CHECK_STR(text, rows[i].becomes);
	}
}
