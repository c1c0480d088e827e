/* SPDX-License-Identifier: Apache-2.0 */
/* cage/test-bind.c - binds by name, in namespaces of the test */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "cage/bind.h"
#include "cage/stages.h"

/* A file system of our own at /tmp: a mask, a secret, and links to it */
static void set_up(void)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	auto_close int self = open("/proc/self", O_PATH | O_DIRECTORY |
						 O_CLOEXEC);

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		test_skip("no user namespaces here: %s", strerror(errno));
	CHECK_INT(idmap_write(self, uid, uid, gid, gid, NULL), 0);
	CHECK_INT(mount("none", "/tmp", "tmpfs", 0, NULL), 0);
	test_write("/tmp/mask", "mask");
	test_write("/tmp/in/secret", "secret");
	test_write("/tmp/in/other", "other");
	CHECK_INT(symlink("secret", "/tmp/in/link"), 0);
	CHECK_INT(symlink("in", "/tmp/around"), 0);
}

static struct stat look_at(const char *path)
{
	struct stat st;

	CHECK_INT(lstat(path, &st), 0);
	return st;
}

TEST(a_bind_covers_what_stands_there)
{
	struct bind_dir dir = BIND_NOWHERE;
	struct stat mask;
	struct err err = { 0 };

	set_up();
	mask = look_at("/tmp/mask");
	CHECK_INT(bind_cover(&dir, "/tmp/mask", &mask, "/tmp/in/secret", &err),
		  0);
	CHECK_INT(bind_cover(&dir, "/tmp/mask", &mask, "/tmp/in/other", &err),
		  0);
	CHECK(!strcmp(test_read("/tmp/in/secret"), "mask"));
	CHECK(!strcmp(test_read("/tmp/in/other"), "mask"));
	bind_forget(&dir);
	CHECK_INT(dir.n, 0);
}

TEST(what_is_bound_to_itself_stays_in_place)
{
	struct bind_dir dir = BIND_NOWHERE;
	struct stat in, secret;
	struct err err = { 0 };

	set_up();
	in = look_at("/tmp/in");
	secret = look_at("/tmp/in/secret");
	CHECK_INT(bind_self(&dir, NULL, "/tmp/in", &in, false, &err), 0);
	CHECK_INT(bind_self(&dir, NULL, "/tmp/in/secret", &secret, true, &err), 0);
	CHECK(rename("/tmp/in", "/tmp/out") < 0 && errno == EBUSY);
	CHECK(open("/tmp/in/secret", O_WRONLY | O_CLOEXEC) < 0 &&
	      errno == EROFS);
	CHECK(open("/tmp/in/other", O_WRONLY | O_CLOEXEC) >= 0);
	CHECK(!strcmp(test_read("/tmp/in/secret"), "secret"));
	bind_forget(&dir);
}

/* From a copy, and to a copy that somebody has changed */
TEST(what_is_bound_from_elsewhere_is_the_same)
{
	struct bind_dir dir = BIND_NOWHERE;
	struct stat secret;
	struct err err = { 0 };

	set_up();
	secret = look_at("/tmp/in/secret");
	CHECK_INT(mkdir("/tmp/copy", 0755), 0);
	CHECK_INT(mount("/tmp/in", "/tmp/copy", NULL, MS_BIND, NULL), 0);
	CHECK_INT(bind_self(&dir, "/tmp/copy/secret", "/tmp/in/secret", &secret,
			    true, &err), 0);
	CHECK(open("/tmp/in/secret", O_WRONLY | O_CLOEXEC) < 0 &&
	      errno == EROFS);
	CHECK(open("/tmp/copy/secret", O_WRONLY | O_CLOEXEC) >= 0);
	CHECK_INT(bind_self(&dir, "/tmp/copy/other", "/tmp/in/secret", &secret,
			    true, &err), -ESTALE);
	CHECK_INT(bind_self(&dir, "/tmp/copy/nothing", "/tmp/in/secret",
			    &secret, true, &err), -ENOENT);
	bind_forget(&dir);
}

/* Directories above the last one stay held, until something covers them */
TEST(binds_go_down_and_up_again)
{
	static const char *const paths[] = {
		"/tmp/in", "/tmp/in/a", "/tmp/in/a/b", "/tmp/in/a/b/c",
		"/tmp/in/a/b/c/d", "/tmp/in/a/b/c/d/e", "/tmp/in/a/b/c/d/e/f",
		"/tmp/in/a/b/c/d/e/f/g", "/tmp/in/a/b/c/d/e/f/g/h",
		"/tmp/in/a/b/c/d/e/f/g/h/i", "/tmp/in/a/b/c/d/e/f/g/h/i/j",
		"/tmp/in/a/b/k", "/tmp/in/a/l", "/tmp/in/secret", "/tmp/mask",
	};
	struct bind_dir dir = BIND_NOWHERE;
	struct err err = { 0 };

	set_up();
	test_write("/tmp/in/a/b/c/d/e/f/g/h/i/j", "j");
	test_write("/tmp/in/a/b/k", "k");
	test_write("/tmp/in/a/l", "l");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct stat st = look_at(paths[i]);

		CHECK_INT(bind_self(&dir, NULL, paths[i], &st, true, &err), 0);
		CHECK(open(paths[i], O_WRONLY | O_CLOEXEC) < 0);
	}
	bind_forget(&dir);
	for (size_t i = ARRAY_SIZE(paths); i-- > 0;)
		CHECK_INT(umount2(paths[i], 0), 0);
}

/* As if somebody had put it there since the plan was made */
TEST(a_link_at_the_end_does_not_go_unnoticed)
{
	struct bind_dir dir = BIND_NOWHERE;
	struct stat mask, secret;
	struct err err = { 0 };

	set_up();
	mask = look_at("/tmp/mask");
	secret = look_at("/tmp/in/secret");
	CHECK_INT(bind_cover(&dir, "/tmp/mask", &mask, "/tmp/in/link", &err),
		  -ESTALE);
	CHECK(strstr(err.msg, "/tmp/in/link"));
	CHECK_INT(bind_self(&dir, NULL, "/tmp/in/link", &secret, false, &err),
		  -ESTALE);
	CHECK_INT(bind_self(&dir, NULL, "/tmp/in/link", NULL, false, &err), -ESTALE);
	CHECK(bind_self(&dir, NULL, "/tmp/in/link", NULL, true, &err) < 0);
	bind_forget(&dir);
}

TEST(a_link_on_the_way_is_not_followed)
{
	struct bind_dir dir = BIND_NOWHERE;
	struct stat mask;
	struct err err = { 0 };

	set_up();
	mask = look_at("/tmp/mask");
	CHECK_INT(bind_cover(&dir, "/tmp/mask", &mask, "/tmp/around/secret",
			     &err), -ELOOP);
	CHECK(!strcmp(test_read("/tmp/in/secret"), "secret"));
}

TEST(what_was_replaced_is_noticed)
{
	struct bind_dir dir = BIND_NOWHERE;
	struct stat before;
	struct err err = { 0 };

	set_up();
	before = look_at("/tmp/in/secret");
	CHECK_INT(rename("/tmp/in/other", "/tmp/in/secret"), 0);
	CHECK_INT(bind_self(&dir, NULL, "/tmp/in/secret", &before, true, &err),
		  -ESTALE);
	bind_forget(&dir);
}

TEST(what_is_missing_is_an_error)
{
	struct bind_dir dir = BIND_NOWHERE;
	struct stat mask;
	struct err err = { 0 };

	set_up();
	mask = look_at("/tmp/mask");
	CHECK_INT(bind_cover(&dir, "/tmp/mask", &mask, "/tmp/in/nothing",
			     &err), -ENOENT);
	CHECK(strstr(err.msg, "/tmp/in/nothing"));
	CHECK_INT(bind_cover(&dir, "/tmp/nothing", &mask, "/tmp/in/secret",
			     &err), -ENOENT);
	CHECK_INT(bind_self(&dir, NULL, "/tmp/in/nothing", NULL, false, &err),
		  -ENOENT);
	bind_forget(&dir);
}
