/* SPDX-License-Identifier: Apache-2.0 */
/* observe/test-fast-path.c - calls that are answered without resolving a path */

#include "observe/fast-path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/own.h"
#include "test.h"
#include "observe/notification.h"
#include "observe/test-rules.h"

/* What openat() of @path would be answered with, below @root */
static int ask(const char *root, const char *path, uint64_t flags)
{
	static struct name names[2];
	const struct seccomp_notif notif = { .pid = (uint32_t)getpid() };
	const struct notification q = {
		.notif = &notif, .call = call_find(SYS_openat),
		.what = CALL_OPEN, .flags = flags,
	};
	struct fast_path *fast = fast_path_new(&(struct observer_config){ .listener = -1 });
	int r;

	fast->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(fast->root >= 0);
	snprintf(names[0].full, sizeof(names[0].full), "%s", path);
	r = fast_path_open_device(fast, &q, names);
	CHECK(fast_path_free(fast));
	return r;
}

TEST(dev_null_is_opened_with_the_requested_flags)
{
	auto_close int fd = ask("/", "/dev/null", O_RDWR | O_APPEND | O_CREAT |
				O_TRUNC);
	struct stat st;

	CHECK(fd >= 0);
	CHECK_INT(fstat(fd, &st), 0);
	CHECK(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
	CHECK_INT(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK),
		  O_RDWR | O_APPEND);
}

/* The kernel has its own answer for these */
TEST(other_opens_of_devices_take_the_slow_path)
{
	CHECK_INT(ask("/", "/dev/zero", O_WRONLY), -ENODEV);
	CHECK_INT(ask("/", "/dev/null/", O_WRONLY), -ENODEV);
	CHECK_INT(ask("/", "/dev/null", O_WRONLY | O_CREAT | O_EXCL), -ENODEV);
	CHECK_INT(ask("/", "/dev/null", O_WRONLY | O_DIRECTORY), -ENODEV);
}

/* A mask may lie on it, or whatever else the sandbox has there */
TEST(another_file_named_dev_null_takes_the_slow_path)
{
	char dir[4096], file[4200];
	int fd;

	snprintf(dir, sizeof(dir), "%s/dev", test_dir());
	snprintf(file, sizeof(file), "%s/null", dir);
	CHECK_INT(mkdir(dir, 0755), 0);
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	(void)close(fd);
	CHECK_INT(ask(test_dir(), "/dev/null", O_WRONLY), -ENODEV);
	CHECK_INT(unlink(file), 0);
	CHECK_INT(symlink("/dev/null", file), 0);
	CHECK_INT(ask(test_dir(), "/dev/null", O_WRONLY), -ELOOP);
}

static bool all_plain(const char *path)
{
	(void)path;
	return true;
}

/* What making @path would be answered with, below test_dir() */
static int make(const char *path)
{
	static struct name names[2];
	struct observer_rules rules = { .is_fast = all_plain };
	const struct observer_config config = {
		.rules = &rules, .listener = -1,
	};
	const struct notification q = {
		.call = call_find(SYS_openat), .what = CALL_OPEN,
		.flags = O_WRONLY | O_CREAT | O_EXCL,
	};
	struct fast_path *fast = fast_path_new(&config);
	int r;

	fast->root = open(test_dir(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(fast->root >= 0);
	snprintf(names[0].full, sizeof(names[0].full), "%s", path);
	r = fast_path_check(fast, &q, names);
	CHECK(fast_path_free(fast));
	return r;
}

/* It must not go on: its directory may be there in a moment */
TEST(a_missing_parent_directory_is_answered_with_ENOENT)
{
	char dir[4096], link[4200];

	snprintf(dir, sizeof(dir), "%s/d", test_dir());
	snprintf(link, sizeof(link), "%s/link", test_dir());
	CHECK_INT(mkdir(dir, 0755), 0);
	CHECK_INT(symlink("d", link), 0);
	CHECK_INT(make("/d/x"), 1);
	CHECK_INT(make("/d/missing/x"), -ENOENT);
	CHECK_INT(make("/missing/y/x"), -ENOENT);
	/* What is behind a link, or no directory, takes a longer look */
	CHECK_INT(make("/link/x"), 0);
	CHECK_INT(make("/link/missing/x"), 0);
	CHECK_INT(make("/d/../missing/x"), 0);
	CHECK_INT(unlink(link), 0);
	CHECK_INT(symlink("missing", link), 0);
	CHECK_INT(make("/link/x"), 0);
}
