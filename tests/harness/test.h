/* SPDX-License-Identifier: Apache-2.0 */
/* tests/harness/test.h - one forked child per TEST(), TAP on stdout
 *
 * A test program is any number of TEST(name) { ... } and no main(). A failed
 * CHECK ends its test. test_skip() needs a reason, and is a failure when
 * CLOCHE_MUST_WORK is set. TEST_FILTER=substring runs some of them.
 */

#ifndef HARNESS_TEST_H
#define HARNESS_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
	const char *name;
	void (*fn)(void);
	struct test *next;
};

void test_register(struct test *test);
void test_skip(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
void test_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

/* A fresh directory, removed with all it holds when the test ends */
const char *test_dir(void);

/* @name in there; the text lives until the test ends */
const char *test_path(const char *name);

/* $HOME is test_dir(), and no variable leads to a store or a bus elsewhere */
void test_home(void);

/* As ns_enter(); without user namespaces the test is skipped */
void test_enter(int flags);

/* Run @fn in a child; its wait status, 0 if @fn returned */
int test_in_child(void (*fn)(void));

/* Write @text to @path (parents made), or fail the test */
void test_write(const char *path, const char *text);

/* All of @path as a string that lives until the test ends; NULL if missing */
const char *test_read(const char *path);

/* The next number of a sequence that is the same in every run; *@state is not 0 */
uint32_t test_random(uint32_t *state);

#define TEST(id)						\
	static void test_##id(void);				\
	static struct test test_entry_##id = { #id, test_##id, NULL };	\
	__attribute__((constructor)) static void test_add_##id(void)	\
	{							\
		test_register(&test_entry_##id);		\
	}							\
	static void test_##id(void)

#define CHECK(cond)						\
	do {							\
		if (!(cond))					\
			test_fail(__FILE__, __LINE__, "%s", #cond);	\
	} while (0)

#define CHECK_INT(got, want)					\
	do {							\
		const long long got_ = (long long)(got);	\
		const long long want_ = (long long)(want);	\
		if (got_ != want_)				\
			test_fail(__FILE__, __LINE__,		\
				  "%s is %lld, not %lld", #got, got_, want_); \
	} while (0)

#define CHECK_STR(got, want)					\
	do {							\
		const char *got_ = (got), *want_ = (want);	\
		if (!got_ || !want_ || strcmp(got_, want_) != 0)	\
			test_fail(__FILE__, __LINE__,		\
				  "%s is\n#   '%s', not\n#   '%s'", #got, \
				  got_ ? got_ : "(null)",	\
				  want_ ? want_ : "(null)");	\
	} while (0)

#define CHECK_CONTAINS(got, part)				\
	do {							\
		const char *got_ = (got), *part_ = (part);	\
		if (!got_ || !strstr(got_, part_))		\
			test_fail(__FILE__, __LINE__,		\
				  "%s is\n#   '%s', without\n#   '%s'", #got, \
				  got_ ? got_ : "(null)", part_);	\
	} while (0)

#endif /* HARNESS_TEST_H */
