/* SPDX-License-Identifier: Apache-2.0 */
/* report/test-run-record.c - records of runs, beside refusals, in one store */

#include "report/run-record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy.h"
#include "report/violation-store.h"
#include "test.h"

enum { WRITERS = 100, EACH = 20 };

static char id[] = "01ID", command[] = "make \"a\"\n</script>", project[] = "/p",
	    tier[] = "full";
static const struct run_record example = {
	.start_ms = 1000, .end_ms = 2500, .run = id, .command = command,
	.project = project, .tier = tier, .status = 2,
	.refused = { [VIOLATION_FS_WRITE] = 3, [VIOLATION_NET_DNS] = 1 },
};

TEST(a_run_record_is_parsed_back)
{
	auto_buf struct buf line = { 0 };
	struct run_record r;

	run_record_to_json(&example, &line);
	CHECK(!strchr(buf_str(&line), '<'));
	CHECK_INT(run_record_from_json(line.p, line.len, &r), 0);
	CHECK_INT(r.start_ms, 1000);
	CHECK_INT(r.end_ms, 2500);
	CHECK_STR(r.command, example.command);
	CHECK_STR(r.tier, "full");
	CHECK(!r.policy);
	CHECK_INT(r.status, 2);
	CHECK_INT(r.refused[VIOLATION_FS_WRITE], 3);
	CHECK_INT(r.refused[VIOLATION_NET_DNS], 1);
	run_record_done(&r);
}

TEST(a_run_without_an_end_is_running_or_was_killed)
{
	auto_buf struct buf line = { 0 };
	struct run_record record = example, r;
	pid_t child;
	int go[2];

	record.end_ms = 0;
	run_record_set_process(&record);
	CHECK(record.ticks);
	run_record_to_json(&record, &line);
	CHECK_INT(run_record_from_json(line.p, line.len, &r), 0);
	CHECK_INT(r.end_ms, 0);
	CHECK_INT(r.pid, getpid());
	CHECK(run_record_is_running(&r));
	/* The number of the process is used again */
	r.ticks++;
	CHECK(!run_record_is_running(&r));
	run_record_done(&r);
	CHECK(!run_record_is_running(&example));

	CHECK_INT(pipe2(go, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		run_record_set_process(&record);
		CHECK_INT(fs_write_all(go[1], &record.ticks, sizeof(record.ticks)), 0);
		pause();
		_exit(0);
	}
	CHECK_INT(read(go[0], &record.ticks, sizeof(record.ticks)), sizeof(record.ticks));
	record.pid = child;
	CHECK(run_record_is_running(&record));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(!run_record_is_running(&record));
}

TEST(malformed_lines_are_not_run_records)
{
	static const char *const bad[] = {
		"", "{", "[\"record\"]", "{\"record\":\"run\"}",
		"{\"v\":2,\"record\":\"run\",\"run\":\"x\",\"start\":\"1970-01-01T00:00:01.000Z\",\"end\":\"1970-01-01T00:00:01.000Z\",\"status\":0}",
		"{\"v\":1,\"record\":\"other\",\"run\":\"x\",\"start\":\"1970-01-01T00:00:01.000Z\",\"end\":\"1970-01-01T00:00:01.000Z\",\"status\":0}",
		"{\"v\":1,\"record\":\"start\",\"run\":\"x\",\"start\":\"1970-01-01T00:00:01.000Z\"}",
		"{\"v\":1,\"record\":\"start\",\"run\":\"x\",\"start\":\"1970-01-01T00:00:01.000Z\",\"pid\":-1,\"ticks\":1}",
		"{\"v\":1,\"record\":\"run\",\"run\":7,\"start\":\"1970-01-01T00:00:01.000Z\",\"end\":\"1970-01-01T00:00:01.000Z\",\"status\":0}",
		"{\"v\":1,\"record\":\"run\",\"run\":\"x\",\"start\":\"1970\",\"end\":\"1970-01-01T00:00:01.000Z\",\"status\":0}",
		"{\"v\":1,\"record\":\"run\",\"run\":\"x\",\"start\":\"1970-01-01T00:00:01.000Z\",\"end\":\"1970-01-01T00:00:01.000Z\",\"status\":0,\"refused\":{\"fs-write\":-1}}",
	};
	static const char good[] =
		"{\"v\":1,\"record\":\"run\",\"run\":\"x\",\"start\":\"1970-01-01T00:00:01.000Z\",\"end\":\"1970-01-01T00:00:01.000Z\",\"status\":0,\"refused\":{\"unknown\":1}}";
	struct run_record r = { .status = 42 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_INT(run_record_from_json(bad[i], strlen(bad[i]), &r), -EINVAL);
		CHECK_INT(r.status, 42);
	}
	CHECK_INT(run_record_from_json(good, strlen(good), &r), 0);
	CHECK_INT(r.status, 0);
	run_record_done(&r);
}

static struct violation_store *open_runs(size_t file_max)
{
	struct violation_store *store = NULL;

	CHECK_INT(violation_store_new(test_path("state/cloche"), file_max, &store, NULL), 0);
	return store;
}

static int count_run(void *arg, const struct run_record *run)
{
	unsigned int *count = arg;

	CHECK_STR(run->run, id);
	++*count;
	return 0;
}

static int count_refusal(void *arg, const struct violation *v)
{
	unsigned int *count = arg;

	CHECK_INT(v->kind, VIOLATION_FS_WRITE);
	++*count;
	return 0;
}

TEST(one_hundred_concurrent_writers_lose_no_record)
{
	const struct violation refusal = { .kind = VIOLATION_FS_WRITE, .run = id };
	struct violation_store *store = open_runs(VIOLATION_STORE_FILE_MAX);
	unsigned int runs = 0, refusals = 0;

	for (unsigned int w = 0; w < WRITERS; w++) {
		if (fork())
			continue;
		struct violation_store *own = open_runs(VIOLATION_STORE_FILE_MAX);

		for (unsigned int i = 0; i < EACH; i++) {
			CHECK_INT(violation_store_append(own, &refusal), 0);
			CHECK_INT(violation_store_append_run(own, &example), 0);
		}
		_exit(0);
	}
	for (int status; wait(&status) > 0;)
		CHECK_INT(status, 0);
	CHECK_INT(violation_store_each_run(store, count_run, &runs, NULL), 0);
	CHECK_INT(violation_store_each(store, count_refusal, &refusals, NULL), 0);
	CHECK_INT(runs, WRITERS * EACH);
	CHECK_INT(refusals, WRITERS * EACH);
	violation_store_free(store);
}

TEST(torn_lines_and_other_versions_are_skipped)
{
	static const char torn[] = "{\"v\":1,\"record\":\"run\",\"sta\n{\"v\":9}\n\n\377\n";
	struct violation_store *store = open_runs(VIOLATION_STORE_FILE_MAX);
	unsigned int runs = 0;
	auto_close int fd = -1;

	CHECK_INT(violation_store_append_run(store, &example), 0);
	fd = open(test_path("state/cloche/violations.jsonl"), O_WRONLY | O_APPEND | O_CLOEXEC);
	CHECK_INT(fs_write_all(fd, torn, sizeof(torn) - 1), 0);
	CHECK_INT(violation_store_append_run(store, &example), 0);
	CHECK_INT(violation_store_each_run(store, count_run, &runs, NULL), 0);
	CHECK_INT(runs, 2);
	violation_store_free(store);
}

TEST(run_records_count_towards_the_store_size)
{
	struct violation_store *store = open_runs(1000);
	unsigned int runs = 0;

	for (unsigned int i = 0; i < 1000; i++)
		CHECK_INT(violation_store_append_run(store, &example), 0);
	CHECK_INT(violation_store_each_run(store, count_run, &runs, NULL), 0);
	CHECK(runs >= 4 && runs <= 4 * 1000 / 100);
	violation_store_free(store);
}

TEST(a_policy_digest_depends_on_the_rules_only)
{
	struct policy *a = policy_new("/p", "/home/me"), *b = policy_new("/p", "/home/me");
	char first[POLICY_DIGEST_SIZE], second[POLICY_DIGEST_SIZE];
	const struct origin none = { 0 };

	policy_digest(a, first);
	policy_digest(b, second);
	CHECK_INT(strlen(first), 64);
	CHECK_STR(first, second);
	policy_set_flag(b, FLAG_NO_FORGE, true, none);
	policy_digest(b, second);
	CHECK(strcmp(first, second) != 0);
	policy_unref(a);
	policy_unref(b);
}
