/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/test-bind.c - binds by name, in namespaces of the test */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/bind.h"

/* Each test is a process of its own */
static struct bind_dir dir = BIND_NOWHERE;
static struct err err;
static struct stat mask, secret;

static struct stat look_at(const char *path)
{
	struct stat st;

	CHECK_INT(lstat(path, &st), 0);
	return st;
}

/* A file system of our own at /tmp: a mask, a secret, and links to it */
static void set_up(void)
{
	test_enter(CLONE_NEWNS);
	CHECK_INT(mount("none", "/tmp", "tmpfs", 0, NULL), 0);
	test_write("/tmp/mask", "mask");
	test_write("/tmp/in/secret", "secret");
	test_write("/tmp/in/other", "other");
	CHECK_INT(symlink("secret", "/tmp/in/link"), 0);
	CHECK_INT(symlink("in", "/tmp/around"), 0);
	mask = look_at("/tmp/mask");
	secret = look_at("/tmp/in/secret");
}

static int cover(const char *path)
{
	return bind_cover(&dir, "/tmp/mask", &mask, path, &err);
}

/* From @source, which was as @st, or from @path itself if that is NULL */
static int hold(const char *source, const char *path, const struct stat *st,
		bool read_only)
{
	return bind_self(&dir, source, path, st, read_only, &err);
}

static bool is_read_only(const char *path)
{
	return open(path, O_WRONLY | O_CLOEXEC) < 0 && errno == EROFS;
}

TEST(a_bind_covers_files_and_directories)
{
	set_up();
	CHECK_INT(cover("/tmp/in/secret"), 0);
	CHECK_INT(cover("/tmp/in/other"), 0);
	CHECK(!strcmp(test_read("/tmp/in/secret"), "mask"));
	CHECK(!strcmp(test_read("/tmp/in/other"), "mask"));
	bind_forget(&dir);
	CHECK_INT(dir.fd, -1);
}

TEST(a_path_bound_to_itself_cannot_be_renamed)
{
	struct stat in;

	set_up();
	in = look_at("/tmp/in");
	CHECK_INT(hold(NULL, "/tmp/in", &in, false), 0);
	CHECK_INT(hold(NULL, "/tmp/in/secret", &secret, true), 0);
	CHECK(rename("/tmp/in", "/tmp/out") < 0 && errno == EBUSY);
	CHECK(is_read_only("/tmp/in/secret"));
	CHECK(open("/tmp/in/other", O_WRONLY | O_CLOEXEC) >= 0);
	CHECK(!strcmp(test_read("/tmp/in/secret"), "secret"));
	bind_forget(&dir);
}

/* From a copy, and to a copy that was changed meanwhile */
TEST(a_bind_from_a_clone_requires_the_same_inode)
{
	set_up();
	CHECK_INT(mkdir("/tmp/copy", 0755), 0);
	CHECK_INT(mount("/tmp/in", "/tmp/copy", NULL, MS_BIND, NULL), 0);
	CHECK_INT(hold("/tmp/copy/secret", "/tmp/in/secret", &secret, true), 0);
	CHECK(is_read_only("/tmp/in/secret"));
	CHECK(open("/tmp/copy/secret", O_WRONLY | O_CLOEXEC) >= 0);
	CHECK_INT(hold("/tmp/copy/other", "/tmp/in/secret", &secret, true),
		  -ESTALE);
	CHECK_INT(hold("/tmp/copy/nothing", "/tmp/in/secret", &secret, true),
		  -ENOENT);
	bind_forget(&dir);
}

/* A directory that is covered is opened again */
TEST(binds_work_on_nested_paths_in_any_order)
{
	static const char *const paths[] = {
		"/tmp/in", "/tmp/in/a", "/tmp/in/a/b", "/tmp/in/a/b/c",
		"/tmp/in/a/b/c/d", "/tmp/in/a/b/c/d/e", "/tmp/in/a/b/c/d/e/f",
		"/tmp/in/a/b/c/d/e/f/g", "/tmp/in/a/b/c/d/e/f/g/h",
		"/tmp/in/a/b/c/d/e/f/g/h/i", "/tmp/in/a/b/c/d/e/f/g/h/i/j",
		"/tmp/in/a/b/k", "/tmp/in/a/l", "/tmp/in/secret", "/tmp/mask",
	};

	set_up();
	test_write("/tmp/in/a/b/c/d/e/f/g/h/i/j", "j");
	test_write("/tmp/in/a/b/k", "k");
	test_write("/tmp/in/a/l", "l");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct stat st = look_at(paths[i]);

		CHECK_INT(hold(NULL, paths[i], &st, true), 0);
		CHECK(open(paths[i], O_WRONLY | O_CLOEXEC) < 0);
	}
	bind_forget(&dir);
	for (size_t i = ARRAY_SIZE(paths); i-- > 0;)
		CHECK_INT(umount2(paths[i], 0), 0);
}

/* As if it had been made since the plan was made */
TEST(a_symlink_as_last_component_fails_with_ESTALE)
{
	set_up();
	CHECK_INT(cover("/tmp/in/link"), -ESTALE);
	CHECK(strstr(err.msg, "/tmp/in/link"));
	CHECK_INT(hold(NULL, "/tmp/in/link", &secret, false), -ESTALE);
	CHECK_INT(hold(NULL, "/tmp/in/link", NULL, false), -ESTALE);
	CHECK(hold(NULL, "/tmp/in/link", NULL, true) < 0);
	bind_forget(&dir);
}

TEST(a_symlink_in_the_parents_fails_with_ELOOP)
{
	set_up();
	CHECK_INT(cover("/tmp/around/secret"), -ELOOP);
	CHECK(!strcmp(test_read("/tmp/in/secret"), "secret"));
}

TEST(a_replaced_file_fails_with_ESTALE)
{
	set_up();
	CHECK_INT(rename("/tmp/in/other", "/tmp/in/secret"), 0);
	CHECK_INT(hold(NULL, "/tmp/in/secret", &secret, true), -ESTALE);
	bind_forget(&dir);
}

TEST(a_missing_path_fails_with_ENOENT)
{
	set_up();
	CHECK_INT(cover("/tmp/in/nothing"), -ENOENT);
	CHECK(strstr(err.msg, "/tmp/in/nothing"));
	CHECK_INT(bind_cover(&dir, "/tmp/nothing", &mask, "/tmp/in/secret",
			     &err), -ENOENT);
	CHECK_INT(hold(NULL, "/tmp/in/nothing", NULL, false), -ENOENT);
	bind_forget(&dir);
}
