/* SPDX-License-Identifier: Apache-2.0 */
/* watch/test-birth.c - before and after a mark, made in the same moment */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "test.h"
#include "watch/birth.h"

enum { ROUNDS = 500 };

/* Linux 6.13 and later know to the nanosecond */
static bool is_exact(void)
{
	struct utsname name;
	char *end;
	long major, minor;

	(void)uname(&name);
	major = strtol(name.release, &end, 10);
	minor = strtol(end + 1, NULL, 10);
	return major > 6 || (major == 6 && minor >= 13);
}

TEST(what_was_made_just_before_is_old_and_just_after_is_new)
{
	int wrong_new = 0, wrong_old = 0;

	CHECK_INT(chdir(test_dir()), 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec mark;

		CHECK_INT(mkdir("before", 0700), 0);
		mark = birth_now();
		CHECK_INT(mkdir("after", 0700), 0);
		wrong_new += birth_is_after("before", &mark);
		wrong_old += !birth_is_after("after", &mark);
		CHECK(rmdir("before") == 0 && rmdir("after") == 0);
	}
	CHECK_INT(wrong_new, 0);
	if (is_exact())
		CHECK_INT(wrong_old, 0);
}

TEST(the_age_is_that_of_the_file_whatever_its_times_say)
{
	const struct timespec old[2] = { { 1, 0 }, { 1, 0 } };
	char path[4096];
	int64_t age;

	snprintf(path, sizeof(path), "%s/new", test_dir());
	CHECK_INT(mkdir(path, 0700), 0);
	age = birth_age_ms(path);
	if (age < 0)
		test_skip("this file system knows no birth times");
	CHECK(age < 60000);
	CHECK_INT(utimensat(AT_FDCWD, path, old, 0), 0);
	CHECK_INT(chmod(path, 0755), 0);
	age = birth_age_ms(path);
	CHECK(age >= 0 && age < 60000);
	CHECK(birth_age_ms("/none") < 0);
}
