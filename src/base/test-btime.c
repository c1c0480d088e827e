/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-btime.c - birth times before and after a mark */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "test.h"
#include "base/btime.h"

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

TEST(a_birth_time_tells_directories_made_before_and_after_a_mark)
{
	int wrong_new = 0, wrong_old = 0;

	CHECK_INT(chdir(test_dir()), 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec mark;

		CHECK_INT(mkdir("before", 0700), 0);
		mark = btime_now();
		CHECK_INT(mkdir("after", 0700), 0);
		wrong_new += btime_is_after("before", &mark);
		wrong_old += !btime_is_after("after", &mark);
		CHECK(rmdir("before") == 0 && rmdir("after") == 0);
	}
	CHECK_INT(wrong_new, 0);
	if (is_exact())
		CHECK_INT(wrong_old, 0);
}
