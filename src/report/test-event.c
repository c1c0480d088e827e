/* SPDX-License-Identifier: Apache-2.0 */
/* report/test-event.c - records in the formats of collectors, and the cursor that reads them */

#include "report/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "report/run-record.h"
#include "report/violation-store.h"
#include "report/violation.h"
#include "test.h"

static char run[] = "01RUN", target[] = "/etc/a\nMESSAGE=forged", reason[] = "outside",
	    exe[] = "/usr/bin/x", host[] = "registry.example.org:443", tier[] = "full";

static struct event event_of(enum violation_kind kind, char *at)
{
	const struct violation v = { .kind = kind, .time_ms = 1234, .run = run, .exe = exe,
				     .target = at, .reason = reason, .pid = 7, .count = 2 };
	auto_buf struct buf line = { 0 };
	struct event event;

	violation_to_json(&v, &line);
	CHECK_INT(event_from_line(line.p, line.len - 1, 10, &event), 0);
	return event;
}

static struct event event_of_run(int status, uint64_t refused)
{
	const struct run_record r = { .start_ms = 1000, .end_ms = 2500, .run = run, .tier = tier,
				      .status = status,
				      .refused = { [VIOLATION_FS_WRITE] = refused } };
	auto_buf struct buf line = { 0 };
	struct event event;

	run_record_to_json(&r, &line);
	CHECK_INT(event_from_line(line.p, line.len - 1, 10, &event), 0);
	return event;
}

TEST(only_valid_records_become_events)
{
	static const char *const bad[] = { "", "{", "{\"v\":1}", "[]", "{\"v\":2,\"record\":\"run\"}" };
	struct event event;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_INT(event_from_line(bad[i], strlen(bad[i]), 0, &event), -EINVAL);
}

TEST(an_event_id_depends_on_the_line_and_its_offset)
{
	auto_buf struct buf line = { 0 };
	const struct violation v = { .kind = VIOLATION_LIMIT, .run = run };
	struct event a, b, c;

	violation_to_json(&v, &line);
	CHECK_INT(event_from_line(line.p, line.len - 1, 1, &a), 0);
	CHECK_INT(event_from_line(line.p, line.len - 1, 1, &b), 0);
	CHECK_INT(event_from_line(line.p, line.len - 1, 2, &c), 0);
	CHECK_INT(strlen(a.id), EVENT_ID_SIZE - 1);
	CHECK_STR(a.id, b.id);
	CHECK(strcmp(a.id, c.id) != 0);
	event_done(&a);
	event_done(&b);
	event_done(&c);
}

TEST(a_newline_in_a_value_adds_no_journal_field)
{
	static const char value[] = "CLOCHE_TARGET\n\25\0\0\0\0\0\0\0/etc/a\nMESSAGE=forged\n";
	struct event event = event_of(VIOLATION_FS_WRITE, target);
	auto_buf struct buf out = { 0 };

	event_to_journal(&event, &out);
	CHECK(memmem(out.p, out.len, value, sizeof(value) - 1));
	CHECK(!strncmp(out.p, "MESSAGE=refused fs-write /etc/a", strlen("MESSAGE=refused fs-write /etc/a")));
	CHECK(memmem(out.p, out.len, "\nCLOCHE_PID=7\n", 14));
	CHECK(memmem(out.p, out.len, "\nPRIORITY=4\n", 12));
	event_done(&event);
}

TEST(otlp_export_has_values_as_attributes)
{
	struct event event = event_of(VIOLATION_NET_CONNECT, host);
	json_t *records = json_array(), *request;
	auto_free char *text = NULL;

	json_array_append_new(records, event_to_otlp(&event));
	request = otlp_request(records, "here");
	text = json_dumps(request, JSON_COMPACT);
	CHECK(text);
	CHECK(strstr(text, "\"timeUnixNano\":\"1234000000\""));
	CHECK(strstr(text, "{\"key\":\"process.pid\",\"value\":{\"intValue\":\"7\"}}"));
	CHECK(strstr(text, "{\"key\":\"cloche.target\",\"value\":{\"stringValue\":\"registry.example.org:443\"}}"));
	CHECK(strstr(text, event.id));
	json_decref(request);
	event_done(&event);
}

TEST(ocsf_export_maps_files_networks_and_processes)
{
	struct event event = event_of(VIOLATION_NET_CONNECT, host);
	json_t *ocsf = event_to_ocsf(&event, "here");
	const json_t *to = json_object_get(ocsf, "dst_endpoint");

	CHECK_INT(json_integer_value(json_object_get(ocsf, "type_uid")), 400105);
	CHECK_STR(json_string_value(json_object_get(to, "hostname")), "registry.example.org");
	CHECK_INT(json_integer_value(json_object_get(to, "port")), 443);
	json_decref(ocsf);
	event_done(&event);
	event = event_of(VIOLATION_FS_RENAME, target);
	ocsf = event_to_ocsf(&event, "here");
	CHECK_INT(json_integer_value(json_object_get(ocsf, "type_uid")), 100105);
	json_decref(ocsf);
	event_done(&event);
	event = event_of(VIOLATION_LIMIT, target);
	ocsf = event_to_ocsf(&event, "here");
	CHECK_INT(json_integer_value(json_object_get(ocsf, "type_uid")), 99);
	json_decref(ocsf);
	event_done(&event);
	event = event_of_run(3, 0);
	ocsf = event_to_ocsf(&event, "here");
	CHECK_INT(json_integer_value(json_object_get(ocsf, "type_uid")), 100702);
	CHECK_INT(json_integer_value(json_object_get(ocsf, "exit_code")), 3);
	json_decref(ocsf);
	event_done(&event);
}

TEST(prometheus_counts_runs_and_their_refusals)
{
	struct event good = event_of_run(0, 0), bad = event_of_run(2, 5);
	struct event refusal = event_of(VIOLATION_FS_WRITE, target);
	auto_buf struct buf out = { 0 };
	json_t *counts = json_object();

	event_count(&good, counts);
	event_count(&bad, counts);
	event_count(&refusal, counts);
	counts_to_prometheus(counts, &out);
	CHECK(strstr(buf_str(&out), "\ncloche_runs_total{tier=\"full\"} 2\n"));
	CHECK(strstr(buf_str(&out), "\ncloche_runs_failed_total{tier=\"full\"} 1\n"));
	CHECK(strstr(buf_str(&out), "\ncloche_run_seconds_total{tier=\"full\"} 3.000\n"));
	CHECK(strstr(buf_str(&out), "\ncloche_refusals_total{kind=\"fs-write\"} 5\n"));
	json_decref(counts);
	event_done(&good);
	event_done(&bad);
	event_done(&refusal);
}

static struct violation_store *open_events(size_t file_max)
{
	struct violation_store *store = NULL;

	CHECK_INT(violation_store_new(test_path("state/cloche"), file_max, &store, NULL), 0);
	return store;
}

static void append_number(struct violation_store *store, unsigned int number)
{
	char at[16];
	const struct violation v = { .kind = VIOLATION_FS_WRITE, .run = run, .target = at };

	snprintf(at, sizeof(at), "%u", number);
	CHECK_INT(violation_store_append(store, &v), 0);
}

/**
 * struct seen - What was read
 * @stop:	After so many lines
 */
struct seen {
	unsigned int lines, stop;
	unsigned char numbers[1000];
};

static int see_line(void *arg, const char *line, size_t n, uint64_t offset)
{
	struct seen *seen = arg;
	struct event event;

	if (seen->lines == seen->stop)
		return 1;
	seen->lines++;
	if (event_from_line(line, n, offset, &event) < 0)
		return 0;
	seen->numbers[strtoul(json_string_value(json_object_get(event.values, "target")), NULL, 10)]++;
	event_done(&event);
	return 0;
}

/* A reader that stops after every line, across rotations, reads each line once */
TEST(a_cursor_reads_each_line_once)
{
	enum { FILE_MAX = 4096, COUNT = 40 };
	struct violation_store *store = open_events(FILE_MAX);
	struct store_cursor cursor = { 0 };
	struct seen seen = { 0 };
	bool lost = true;

	for (unsigned int i = 0; i < COUNT; i++) {
		append_number(store, i);
		seen.stop = seen.lines + i % 3;
		CHECK(violation_store_read(store, &cursor, see_line, &seen, &lost, NULL) >= 0);
		CHECK(!lost);
	}
	seen.stop = 1000;
	CHECK_INT(violation_store_read(store, &cursor, see_line, &seen, &lost, NULL), 0);
	CHECK(!lost);
	CHECK_INT(seen.lines, COUNT);
	for (unsigned int i = 0; i < COUNT; i++)
		CHECK_INT(seen.numbers[i], 1);
	violation_store_free(store);
}

/* A writer that opened the file before another process rotated it */
TEST(a_line_in_a_rotated_file_is_read)
{
	struct violation_store *store = open_events(1 << 20);
	struct store_cursor cursor = { 0 };
	struct seen seen = { .stop = 1000 };
	bool lost;

	append_number(store, 1);
	CHECK_INT(rename(test_path("state/cloche/violations.jsonl"),
			 test_path("state/cloche/violations.jsonl.1")), 0);
	append_number(store, 2);
	CHECK_INT(violation_store_read(store, &cursor, see_line, &seen, &lost, NULL), 0);
	CHECK_INT(seen.lines, 2);
	CHECK_INT(rename(test_path("state/cloche/violations.jsonl"),
			 test_path("state/cloche/spare")), 0);
	CHECK_INT(rename(test_path("state/cloche/violations.jsonl.1"),
			 test_path("state/cloche/violations.jsonl")), 0);
	append_number(store, 3);
	CHECK_INT(rename(test_path("state/cloche/violations.jsonl"),
			 test_path("state/cloche/violations.jsonl.1")), 0);
	CHECK_INT(rename(test_path("state/cloche/spare"),
			 test_path("state/cloche/violations.jsonl")), 0);
	CHECK_INT(violation_store_read(store, &cursor, see_line, &seen, &lost, NULL), 0);
	CHECK(!lost);
	CHECK_INT(seen.lines, 3);
	CHECK_INT(seen.numbers[3], 1);
	violation_store_free(store);
}

TEST(a_cursor_reports_records_lost_to_rotation)
{
	struct violation_store *store = open_events(1 << 20);
	struct store_cursor cursor = { 0 };
	struct seen seen = { .stop = 1000 };
	bool lost;

	append_number(store, 1);
	CHECK_INT(violation_store_read(store, &cursor, see_line, &seen, &lost, NULL), 0);
	CHECK_INT(violation_store_clear(store, NULL), 0);
	append_number(store, 2);
	CHECK_INT(violation_store_read(store, &cursor, see_line, &seen, &lost, NULL), 0);
	CHECK(lost);
	CHECK_INT(seen.numbers[2], 1);
	CHECK_INT(violation_store_read(store, &cursor, see_line, &seen, &lost, NULL), 0);
	CHECK(!lost);
	violation_store_free(store);
}
