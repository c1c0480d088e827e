/* SPDX-License-Identifier: Apache-2.0 */
/* report/test-violation-store.c - records are whole and none is lost when several processes
 * write and rotate
 */

#include "report/violation-store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "report/violation.h"
#include "test.h"

enum { WRITERS = 64, EACH = 200 };

static struct violation_store *open_store(size_t file_max)
{
	const char *dir = test_path("state/cloche");
	struct err err = { 0 };
	struct violation_store *store = NULL;

	if (violation_store_new(dir, file_max, &store, &err) < 0)
		test_fail(__FILE__, __LINE__, "%s", err.msg);
	return store;
}

static void append(struct violation_store *store, unsigned int writer, unsigned int n)
{
	char run[16], target[16];
	struct violation v = { .kind = VIOLATION_FS_WRITE, .run = run,
			       .target = target, .time_ms = 1, .count = 1 };

	snprintf(run, sizeof(run), "%u", writer);
	snprintf(target, sizeof(target), "%u", n);
	CHECK_INT(violation_store_append(store, &v), 0);
}

/* All writers at once, each with its own store */
static void write_by_all(size_t file_max)
{
	for (unsigned int w = 0; w < WRITERS; w++) {
		if (fork())
			continue;
		struct violation_store *own = open_store(file_max);

		for (unsigned int i = 0; i < EACH; i++)
			append(own, w, i);
		_exit(0);
	}
	for (int status; wait(&status) > 0;)
		CHECK_INT(status, 0);
}

static int count_one(void *arg, const struct violation *v)
{
	unsigned char (*seen)[EACH] = arg;

	seen[strtol(v->run, NULL, 10)][strtol(v->target, NULL, 10)]++;
	return 0;
}

static void check_all_there(struct violation_store *store)
{
	unsigned char (*seen)[EACH] = mem_zalloc(WRITERS * EACH);

	CHECK_INT(violation_store_each(store, count_one, seen, NULL), 0);
	for (unsigned int w = 0; w < WRITERS; w++) {
		for (unsigned int i = 0; i < EACH; i++)
			CHECK_INT(seen[w][i], 1);
	}
	free(seen);
}

static const char *file_path(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/state/cloche/%s", test_dir(), name);
	return path;
}

TEST(records_are_read_back_in_order)
{
	struct violation_store *store = open_store(VIOLATION_STORE_FILE_MAX);
	unsigned char (*seen)[EACH] = mem_zalloc(WRITERS * EACH);
	struct stat st;

	append(store, 1, 0);
	append(store, 1, 1);
	CHECK_INT(violation_store_each(store, count_one, seen, NULL), 0);
	CHECK_INT(seen[1][0], 1);
	CHECK_INT(seen[1][1], 1);
	CHECK_INT(stat(file_path("violations.jsonl"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0600);
	CHECK_INT(stat(file_path("."), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0700);
	violation_store_free(store);
	free(seen);
}

TEST(sixty_four_writers_lose_no_record)
{
	struct violation_store *store = open_store(VIOLATION_STORE_FILE_MAX);

	write_by_all(VIOLATION_STORE_FILE_MAX);
	check_all_there(store);
	violation_store_free(store);
}

/* Lines of all files that are not records, and the records */
static int count_any(void *arg, const struct violation *v)
{
	(void)v;
	++*(unsigned int *)arg;
	return 0;
}

static unsigned int count_lines(void)
{
	static const char *const names[] = {
		"violations.jsonl", "violations.jsonl.1",
		"violations.jsonl.2", "violations.jsonl.3",
	};
	unsigned int lines = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = test_read(file_path(names[i]));

		for (; text && (text = strchr(text, '\n')) != NULL; text++)
			lines++;
	}
	return lines;
}

/* Make the file @name, in the store, @days old */
static void set_age(const char *name, int days)
{
	const time_t then = time(NULL) - (time_t)days * 24 * 60 * 60;
	const struct timespec times[2] = { { .tv_sec = then }, { .tv_sec = then } };

	CHECK_INT(utimensat(AT_FDCWD, file_path(name), times, 0), 0);
}

static bool exists(const char *name)
{
	return access(file_path(name), F_OK) == 0;
}

TEST(records_that_are_too_old_are_dropped)
{
	struct violation_store *store = open_store(VIOLATION_STORE_FILE_MAX);

	append(store, 1, 0);
	set_age("violations.lock", VIOLATION_STORE_DAYS / 4 - 1);
	append(store, 1, 1);
	CHECK(!exists("violations.jsonl.1"));
	set_age("violations.lock", VIOLATION_STORE_DAYS / 4 + 1);
	append(store, 1, 2);
	CHECK(exists("violations.jsonl.1"));
	append(store, 1, 3);			/* Not again */
	CHECK(!exists("violations.jsonl.2"));
	/* Not used for long: the next record is the only one */
	set_age("violations.jsonl", VIOLATION_STORE_DAYS);
	set_age("violations.jsonl.1", VIOLATION_STORE_DAYS);
	set_age("violations.lock", VIOLATION_STORE_DAYS);
	append(store, 1, 4);
	CHECK_INT(count_lines(), 1);
	/* A clock that was wrong, and is set back */
	set_age("violations.lock", -1000);
	append(store, 1, 5);
	CHECK_INT(count_lines(), 2);
	violation_store_free(store);
}

TEST(a_huge_file_is_read_from_its_end_and_rotated)
{
	struct violation_store *store = open_store(VIOLATION_STORE_FILE_MAX);
	unsigned int count = 0;
	struct stat st;

	append(store, 1, 0);
	CHECK_INT(truncate(file_path("violations.jsonl"), 1 << 30), 0);
	CHECK_INT(violation_store_each(store, count_any, &count, NULL), 0);
	CHECK_INT(count, 0);
	append(store, 1, 1);			/* Into a new file */
	CHECK_INT(stat(file_path("violations.jsonl.1"), &st), 0);
	CHECK_INT(st.st_size, 1 << 30);
	CHECK_INT(violation_store_each(store, count_any, &count, NULL), 0);
	CHECK_INT(count, 1);
	violation_store_free(store);
}

TEST(a_full_disk_loses_one_record_only)
{
	const struct rlimit most = { 1000, 1000 };
	struct violation_store *store = open_store(VIOLATION_STORE_FILE_MAX);
	unsigned int written = 0, count = 0;
	struct violation v = { .kind = VIOLATION_FS_WRITE, .time_ms = 1, .count = 1 };

	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &most), 0);
	while (violation_store_append(store, &v) == 0)
		written++;
	CHECK(written > 1);
	CHECK(violation_store_append(store, &v) < 0);
	CHECK_INT(violation_store_each(store, count_any, &count, NULL), 0);
	CHECK_INT(count, written);
	violation_store_free(store);
}

TEST(a_store_keeps_four_files_of_the_given_size)
{
	enum { FILE_MAX = 8 << 10, RECORD_MAX = 512 };
	struct violation_store *store = open_store(FILE_MAX);
	struct stat st;

	for (unsigned int i = 0; i < EACH * 2; i++)
		append(store, 1, i);
	for (int i = 1; i < VIOLATION_STORE_FILES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "violations.jsonl.%d", i);
		CHECK_INT(stat(file_path(name), &st), 0);
		CHECK(st.st_size > FILE_MAX - RECORD_MAX);
		CHECK(st.st_size < FILE_MAX + RECORD_MAX);
	}
	CHECK(access(file_path("violations.jsonl.4"), F_OK) < 0);
	violation_store_free(store);
}

TEST(rotation_under_load_keeps_records_whole)
{
	enum { FILE_MAX = 64 << 10 };
	struct violation_store *store = open_store(FILE_MAX);
	unsigned int records = 0;

	write_by_all(FILE_MAX);
	CHECK_INT(violation_store_each(store, count_any, &records, NULL), 0);
	CHECK(records > 0);
	CHECK_INT(records, count_lines());	/* None of them torn */
	CHECK(!access(file_path("violations.jsonl.1"), F_OK));
	CHECK(access(file_path("violations.jsonl.4"), F_OK) < 0);
	violation_store_free(store);
}

TEST(rotation_that_drops_no_file_loses_no_record)
{
	/* About 2.3 files' worth: one record is some 230 bytes */
	enum { FILE_MAX = (WRITERS * EACH * 230) / 2 };
	struct violation_store *store = open_store(FILE_MAX);

	write_by_all(FILE_MAX);
	CHECK(!access(file_path("violations.jsonl.1"), F_OK));
	check_all_there(store);
	violation_store_free(store);
}

TEST(damaged_lines_are_skipped)
{
	struct violation_store *store = open_store(VIOLATION_STORE_FILE_MAX);
	unsigned char (*seen)[EACH] = mem_zalloc(WRITERS * EACH);
	auto_close int fd = -1;

	append(store, 1, 0);
	fd = open(file_path("violations.jsonl"), O_WRONLY | O_APPEND);
	CHECK_INT(write(fd, "{\"v\":1,\n\377\n\n", 11), 11);
	append(store, 1, 1);
	CHECK_INT(violation_store_each(store, count_one, seen, NULL), 0);
	CHECK_INT(seen[1][0] + seen[1][1], 2);
	violation_store_free(store);
	free(seen);
}

TEST(a_symlink_in_place_of_the_store_is_not_followed)
{
	struct violation_store *store = open_store(VIOLATION_STORE_FILE_MAX);
	struct violation v = { .kind = VIOLATION_LIMIT };
	const char *victim = test_path("victim");

	test_write(victim, "");
	CHECK_INT(symlink(victim, file_path("violations.jsonl")), 0);
	CHECK_INT(violation_store_append(store, &v), -ELOOP);
	CHECK_STR(test_read(victim), "");
	violation_store_free(store);
}

TEST(clearing_removes_all_records_under_open_writers)
{
	struct violation_store *store = open_store(VIOLATION_STORE_FILE_MAX);
	unsigned char (*seen)[EACH] = mem_zalloc(WRITERS * EACH);

	append(store, 1, 0);
	CHECK_INT(violation_store_clear(store, NULL), 0);
	append(store, 1, 1);
	CHECK_INT(violation_store_each(store, count_one, seen, NULL), 0);
	CHECK_INT(seen[1][0], 0);
	CHECK_INT(seen[1][1], 1);
	violation_store_free(store);
	free(seen);
}

/**
 * struct follower - What was seen: repeats of 1, then each in order
 */
struct follower {
	int ready, next;
};

static int until_last(void *arg, const struct violation *v)
{
	struct follower *f = arg;
	const int n = (int)strtol(v->target, NULL, 10);

	if (f->next == 1)
		CHECK_INT(write(f->ready, "", 1), 1);
	if (n == 1 && f->next <= 2) {
		f->next = 2;
		return 0;
	}
	CHECK_INT(n, f->next);
	f->next++;
	return n == EACH - 1;
}

TEST(a_follower_reads_new_records_across_a_rotation)
{
	enum { FILE_MAX = EACH * 100 };
	struct violation_store *store = open_store(FILE_MAX), *reader;
	struct follower follower = { .next = 1 };
	int ready[2];

	append(store, 0, 0);	/* Not new */
	CHECK_INT(pipe(ready), 0);
	reader = open_store(FILE_MAX);
	if (!fork()) {
		/* Whether the watch stands can only be seen by its effect:
		 * go on with the second half when the first was seen
		 */
		do {
			append(store, 2, 1);
		} while (poll(&(struct pollfd) { .fd = ready[0],
						 .events = POLLIN }, 1, 1) < 1);
		for (unsigned int i = 2; i < EACH; i++)
			append(store, 2, i);
		_exit(0);
	}
	follower.ready = ready[1];
	CHECK_INT(violation_store_follow(reader, until_last, &follower, NULL), 1);
	CHECK_INT(follower.next, EACH);
	CHECK(!access(file_path("violations.jsonl.1"), F_OK));
	violation_store_free(store);
	violation_store_free(reader);
}
