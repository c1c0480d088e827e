/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-locked-memory.c - locked memory: wiped, and in no child or dump */

#include "secret/locked-memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "test.h"

/* "from-to mode ..." of /proc/PID/maps; true if the line is one */
static bool parse_mapping(const char *line, uintptr_t *from, uintptr_t *to,
			  const char **mode)
{
	char *end;

	*from = strtoul(line, &end, 16);
	if (*end != '-')
		return false;
	*to = strtoul(end + 1, &end, 16);
	*mode = end + 1;
	return *end == ' ';
}

/* True if the mapping that holds @p has the two-letter kernel flag @flag */
static bool has_vm_flag(const void *p, const char *flag)
{
	auto_fclose FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	bool here = false;

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		uintptr_t from, to;
		const char *mode;

		if (parse_mapping(line, &from, &to, &mode))
			here = from <= (uintptr_t)p && (uintptr_t)p < to;
		else if (here && !strncmp(line, "VmFlags:", 8))
			return strstr(line, flag) != NULL;
	}
	return false;
}

/* How often a canary, given as two halves so that this program's own text is no
 * hit, stands in writable memory outside the stack
 */
static int count_in_memory(const char *half, const char *other)
{
	auto_fclose FILE *maps = fopen("/proc/self/maps", "re");
	auto_close int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char line[512];
	int hits = 0;

	CHECK(maps && mem >= 0);
	while (fgets(line, sizeof(line), maps)) {
		const size_t n = strlen(half), m = strlen(other);
		uintptr_t from, to;
		const char *mode;
		char *copy;
		ssize_t got;

		if (!parse_mapping(line, &from, &to, &mode) ||
		    mode[1] != 'w' || strstr(line, "[stack"))
			continue;
		copy = mmap(NULL, to - from, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		got = pread(mem, copy, to - from, (off_t)from);
		for (ssize_t i = 0; i + (ssize_t)(n + m) <= got; i++)
			hits += !memcmp(copy + i, half, n) &&
				!memcmp(copy + i + n, other, m);
		munmap(copy, to - from);
	}
	return hits;
}

TEST(secret_pages_are_locked_and_excluded_from_dumps_and_children)
{
	auto_bytes struct bytes b = { 0 };
	char *plain = malloc(100);
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	bytes_adds(&b, "secret");
	/* A sanitizer makes mlock() do nothing: compare with a page of ours */
	CHECK(page != MAP_FAILED);
	if (mlock(page, 4096) < 0)
		test_skip("RLIMIT_MEMLOCK is too small");
	CHECK_INT(has_vm_flag(b.p, " lo"), has_vm_flag(page, " lo"));
	CHECK_INT(locked_failures(), 0);
	CHECK(has_vm_flag(b.p, " dd"));
	CHECK(has_vm_flag(b.p, " wf"));
	CHECK(!has_vm_flag(plain, " dd"));	/* The control */
	free(plain);
}

TEST(a_forked_child_finds_zeros)
{
	auto_bytes struct bytes b = { 0 };
	char plain[] = "control";
	int status;
	pid_t pid;

	bytes_adds(&b, "secret");
	pid = fork();
	if (!pid)
		_exit(b.p[0] == '\0' && b.p[5] == '\0' && plain[0] == 'c' ?
		      0 : 1);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	CHECK_STR(b.p, "secret");
}

TEST(growing_leaves_no_copy_behind)
{
	static const char half[] = "c4nary-", other[] = "of-bytes";
	auto_bytes struct bytes b = { 0 };

	bytes_adds(&b, half);
	bytes_adds(&b, other);
	for (int i = 0; i < 5; i++)
		bytes_reserve(&b, 3 * b.cap);
	CHECK_INT(count_in_memory(half, other), 1);	/* The control too */
	bytes_done(&b);
	CHECK_INT(count_in_memory(half, other), 0);
}

/* Small ones share a mapping, large ones have one each */
TEST(freed_memory_is_wiped)
{
	static const char half[] = "c4nary-", other[] = "in-heap";
	const size_t sizes[] = { 32, 1 << 20 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char *p = locked_alloc(sizes[i]), *next = locked_alloc(16);

		for (size_t j = 0; j < sizes[i]; j++)
			CHECK(!p[j]);
		CHECK(has_vm_flag(p, " dd"));
		snprintf(p, 32, "%s%s", half, other);
		snprintf(next, 16, "stays");
		CHECK_INT(count_in_memory(half, other), 1);
		locked_free(p);
		CHECK_INT(count_in_memory(half, other), 0);
		CHECK_STR(next, "stays");
		locked_free(next);
	}
	locked_free(NULL);
}

/* A program that serves requests must not need more memory for each */
TEST(freed_memory_is_reused)
{
	static const size_t sizes[] = { 1, 16, 17, 300, 5000, 40000 };
	void *first[ARRAY_SIZE(sizes)] = { 0 };

	for (int round = 0; round < 3; round++) {
		void *p[ARRAY_SIZE(sizes)];

		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			p[i] = locked_alloc(sizes[i]);
			for (size_t k = 0; k < sizes[i]; k++)
				CHECK(!((char *)p[i])[k]);
			memset(p[i], 0x55, sizes[i]);
			CHECK((uintptr_t)p[i] % 16 == 0);
			if (!first[i] || sizes[i] >= 5000)
				first[i] = p[i];
		}
		/* Blocks of one size change places */
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			size_t k = 0;

			while (k < ARRAY_SIZE(sizes) && first[k] != p[i])
				k++;
			CHECK(k < ARRAY_SIZE(sizes));
		}
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
			locked_free(p[i]);
	}
}

TEST(reading_stops_at_the_limit_exactly)
{
	auto_bytes struct bytes b = { 0 }, c = { 0 };
	int fds[2];

	CHECK_INT(pipe(fds), 0);
	CHECK_INT(write(fds[1], "123456", 6), 6);
	close(fds[1]);
	CHECK_INT(bytes_read_fd(&b, fds[0], 6, NULL), 0);
	CHECK_STR(bytes_str(&b), "123456");
	CHECK_INT(pipe(fds), 0);
	CHECK_INT(write(fds[1], "1234567", 7), 7);
	close(fds[1]);
	CHECK_INT(bytes_read_fd(&c, fds[0], 6, NULL), -EFBIG);
}
