/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-private-dir.c - private directories, unsafe files, locks */

#include "secret/private-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "secret/locked-memory.h"
#include "test.h"

static struct err err;

static struct private_dir *fresh(void)
{
	const char *path = test_path("a/store");

	return private_dir_new(path);
}

static char *file_of(struct private_dir *dir)
{
	return path_join(dir->path, "f");
}

static int put(struct private_dir *dir, const char *text)
{
	err.msg[0] = '\0';
	return private_dir_write(dir, "f", text, strlen(text), &err);
}

static int get(struct private_dir *dir, const char *want)
{
	auto_bytes struct bytes b = { 0 };
	int r;

	err.msg[0] = '\0';
	r = private_dir_read(dir, "f", 64, &b, &err);
	if (want)
		CHECK_STR(bytes_str(&b), want);
	else
		CHECK_INT(b.len, 0);
	return r;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	CHECK_INT(stat(path, &st), 0);
	return st.st_mode & 07777;
}

TEST(directories_and_files_are_created_with_private_modes)
{
	struct private_dir *dir = fresh();
	auto_free char *file = file_of(dir);

	(void)umask(0);
	CHECK_INT(get(dir, NULL), 0);
	CHECK(access(dir->path, F_OK) < 0);	/* Reading makes none */
	CHECK_INT(put(dir, "one"), 0);
	CHECK_INT(mode_of(dir->path), 0700);
	CHECK_INT(mode_of(file), 0600);
	CHECK_INT(get(dir, "one"), 1);
	CHECK_INT(put(dir, "two"), 0);
	CHECK_INT(get(dir, "two"), 1);
	CHECK_INT(private_dir_remove(dir, "f", NULL), 1);
	CHECK_INT(private_dir_remove(dir, "f", NULL), 0);
	CHECK_INT(get(dir, NULL), 0);
	private_dir_free(dir);
}

/* What is there is refused for reading and for writing, and stays */
static void refused(struct private_dir *dir, const char *words)
{
	CHECK_INT(get(dir, NULL), -EPERM);
	CHECK_CONTAINS(err.msg, words);
	CHECK_INT(put(dir, "new"), -EPERM);
	CHECK_CONTAINS(err.msg, words);
	CHECK_INT(private_dir_remove(dir, "f", NULL), -EPERM);
}

TEST(a_symlink_to_a_file_is_refused)
{
	struct private_dir *dir = fresh();
	auto_free char *file = file_of(dir);
	const char *target = test_path("target");

	CHECK_INT(put(dir, "old"), 0);
	CHECK_INT(rename(file, target), 0);
	CHECK_INT(symlink(target, file), 0);
	refused(dir, "symbolic link");
	CHECK_STR(test_read(target), "old");
	CHECK_INT(unlink(file), 0);
	CHECK_INT(get(dir, NULL), 0);
	private_dir_free(dir);
}

TEST(a_file_with_a_hard_link_is_refused)
{
	struct private_dir *dir = fresh();
	auto_free char *file = file_of(dir);
	const char *other = test_path("other");

	CHECK_INT(put(dir, "old"), 0);
	CHECK_INT(link(file, other), 0);
	refused(dir, "more than one name");
	CHECK_INT(unlink(other), 0);
	CHECK_INT(get(dir, "old"), 1);
	private_dir_free(dir);
}

TEST(a_file_accessible_to_others_is_refused)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0660, 0644 };
	struct private_dir *dir = fresh();
	auto_free char *file = file_of(dir);

	CHECK_INT(put(dir, "old"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		CHECK_INT(chmod(file, modes[i]), 0);
		refused(dir, "chmod 600");
	}
	CHECK_INT(chmod(file, 0600), 0);
	CHECK_INT(get(dir, "old"), 1);
	private_dir_free(dir);
}

TEST(a_fifo_or_directory_is_refused)
{
	struct private_dir *dir = fresh();
	auto_free char *file = file_of(dir);

	CHECK(private_dir_fd(dir, true, NULL) >= 0);
	CHECK_INT(mkfifo(file, 0600), 0);
	refused(dir, "not a regular file");
	CHECK_INT(unlink(file), 0);
	CHECK_INT(mkdir(file, 0700), 0);
	refused(dir, "not a regular file");
	private_dir_free(dir);
}

TEST(a_file_of_another_owner_is_refused)
{
	struct private_dir *dir = fresh();
	struct private_dir *again;
	auto_free char *file = file_of(dir);

	if (geteuid() != 0)
		test_skip("needs root");
	CHECK_INT(put(dir, "old"), 0);
	CHECK_INT(chown(file, 1, 1), 0);
	refused(dir, "belongs to another user");
	CHECK_INT(chown(file, 0, 0), 0);
	CHECK_INT(chown(dir->path, 1, 1), 0);
	again = private_dir_new(dir->path);
	CHECK_INT(get(again, NULL), -EPERM);
	CHECK_CONTAINS(err.msg, "belongs to uid 1");
	private_dir_free(again);
	private_dir_free(dir);
}

TEST(a_directory_that_others_can_change_is_refused)
{
	static const mode_t modes[] = { 0720, 0702, 0777, 01777 };
	struct private_dir *dir = fresh();

	CHECK_INT(put(dir, "old"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct private_dir *again = private_dir_new(dir->path);

		CHECK_INT(chmod(dir->path, modes[i]), 0);
		CHECK_INT(get(again, NULL), -EPERM);
		CHECK_CONTAINS(err.msg, "chmod 700");
		CHECK_INT(put(again, "new"), -EPERM);
		private_dir_free(again);
	}
	private_dir_free(dir);
}

TEST(a_directory_that_is_a_link_is_refused)
{
	struct private_dir *dir = fresh();
	const char *path = test_path("link");
	struct private_dir *through = private_dir_new(path);

	CHECK_INT(put(dir, "old"), 0);
	CHECK_INT(symlink(dir->path, path), 0);
	CHECK_INT(get(through, NULL), -EPERM);
	CHECK_INT(put(through, "new"), -EPERM);
	CHECK_INT(get(dir, "old"), 1);
	private_dir_free(through);
	private_dir_free(dir);
}

TEST(a_file_larger_than_the_limit_is_refused)
{
	struct private_dir *dir = fresh();
	auto_bytes struct bytes b = { 0 };

	CHECK_INT(put(dir, "123456"), 0);
	CHECK_INT(private_dir_read(dir, "f", 6, &b, NULL), 1);
	CHECK_INT(private_dir_read(dir, "f", 5, &b, &err), -EFBIG);
	CHECK_CONTAINS(err.msg, "larger than 5 bytes");
	private_dir_free(dir);
}

TEST(a_temporary_file_of_a_killed_writer_is_replaced)
{
	struct private_dir *dir = fresh();
	auto_free char *left = NULL;

	CHECK_INT(put(dir, "old"), 0);
	left = path_join(dir->path, "f.new");
	test_write(left, "half a fi");
	CHECK_INT(get(dir, "old"), 1);
	CHECK_INT(put(dir, "new"), 0);
	CHECK_INT(get(dir, "new"), 1);
	CHECK(access(left, F_OK) < 0);
	private_dir_free(dir);
}

/* The path is swapped while we hold the directory: what we do still goes to the
 * one that was checked
 */
TEST(writes_go_to_the_checked_directory_after_a_swap)
{
	struct private_dir *dir = fresh();
	const char *away = test_path("away");
	auto_free char *file = file_of(dir);

	CHECK_INT(put(dir, "old"), 0);
	CHECK_INT(rename(dir->path, away), 0);
	CHECK_INT(mkdir(dir->path, 0777), 0);
	CHECK_INT(put(dir, "new"), 0);
	CHECK(access(file, F_OK) < 0);
	CHECK_INT(get(dir, "new"), 1);
	private_dir_free(dir);
}

static int lock(struct private_dir *dir, unsigned int ms)
{
	err.msg[0] = '\0';
	return private_dir_lock(dir, "lock", ms, &err);
}

TEST(a_free_lock_is_taken_at_once)
{
	struct private_dir *dir = fresh();
	int fd = lock(dir, 0);

	CHECK(fd > 2);
	close(fd);
	fd = lock(dir, 0);
	CHECK(fd > 2);
	close(fd);
	private_dir_free(dir);
}

TEST(a_lock_takes_no_standard_descriptor)
{
	struct private_dir *dir = fresh();
	int fd;

	close(0);
	fd = lock(dir, 0);
	CHECK(fd > 2);
	CHECK(fcntl(0, F_GETFD) < 0);
	close(fd);
	private_dir_free(dir);
}

TEST(waiting_for_a_lock_times_out)
{
	struct private_dir *dir = fresh();
	int fd = lock(dir, 0);

	CHECK(fd >= 0);
	CHECK_INT(lock(dir, 20), -ETIMEDOUT);
	CHECK_CONTAINS(err.msg, "another program");
	close(fd);
	fd = lock(dir, 0);		/* The control */
	CHECK(fd >= 0);
	close(fd);
	private_dir_free(dir);
}

/* A child that holds the lock; it waits for ever */
static pid_t start_holder(struct private_dir *dir)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK(private_dir_fd(dir, true, NULL) >= 0);
	CHECK_INT(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		(void)!write(ready[1], lock(dir, 0) < 0 ? "n" : "y", 1);
		for (;;)
			pause();
	}
	CHECK_INT(read(ready[0], &byte, 1), 1);
	CHECK_INT(byte, 'y');
	close(ready[0]);
	close(ready[1]);
	return pid;
}

TEST(a_killed_process_releases_its_lock)
{
	struct private_dir *dir = fresh();
	const pid_t holder = start_holder(dir);
	int status;
	pid_t pid;

	CHECK_INT(lock(dir, 0), -ETIMEDOUT);
	pid = fork();
	if (!pid)
		_exit(lock(dir, 60000) < 0);
	CHECK_INT(kill(holder, SIGKILL), 0);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	CHECK_INT(waitpid(holder, NULL, 0), holder);
	private_dir_free(dir);
}

TEST(a_lock_file_that_is_a_link_is_refused)
{
	struct private_dir *dir = fresh();
	const char *target = test_path("target");
	auto_free char *path = path_join(dir->path, "lock");

	CHECK(private_dir_fd(dir, true, NULL) >= 0);
	test_write(target, "");
	CHECK_INT(symlink(target, path), 0);
	CHECK(lock(dir, 0) < 0);
	CHECK_INT(unlink(path), 0);
	CHECK_INT(link(target, path), 0);
	CHECK_INT(lock(dir, 0), -EPERM);
	private_dir_free(dir);
}
