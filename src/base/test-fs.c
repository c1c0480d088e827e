/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-fs.c - files by descriptor, private directories, locks */

#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "test.h"

/* The message for a shortage of descriptors must not blame the file */
TEST(fs_write_now_does_not_wait_for_the_reader_of_a_socket)
{
	int pair[2];
	char data[4096] = { 0 };
	ssize_t r;

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	while ((r = fs_write_now(pair[0], data, sizeof(data))) > 0)
		;
	CHECK_INT(r, -EAGAIN);
	CHECK_INT(read(pair[1], data, 1), 1);
	(void)close(pair[1]);
	CHECK(fs_write_now(pair[0], data, 1) < 0);	/* And no SIGPIPE */
	(void)close(pair[0]);
}

TEST(an_unreadable_file_gives_an_error_and_a_message)
{
	auto_buf struct buf b = { 0 };
	struct err err = { 0 };

	CHECK_INT(fs_read(AT_FDCWD, "/proc/self/status", 8, &b, &err), -EFBIG);
	CHECK(strstr(err.msg, "/proc/self/status: larger than 8 bytes"));
	CHECK_INT(fs_read(AT_FDCWD, "/proc/self/status", 8, &b, NULL), -EFBIG);
	CHECK_INT(fs_read(AT_FDCWD, "/proc/self/status", 1 << 16, &b, NULL), 0);
}

TEST(a_directory_of_another_owner_or_behind_a_symlink_is_refused)
{
	auto_free char *own = path_join(test_dir(), "own");
	auto_free char *link = path_join(test_dir(), "link");
	const char *theirs = "/usr";
	struct err err = { 0 };
	struct stat st;
	int fd;

	CHECK_INT(mkdir(own, 0755), 0);
	fd = fs_open_private_dir(own, &err);
	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	CHECK_INT(st.st_mode & 0777, 0700);
	close_fd(&fd);

	CHECK_INT(symlink("own", link), 0);
	CHECK_INT(fs_open_private_dir(link, &err), -ELOOP);

	if (geteuid() == 0) {
		theirs = own;
		CHECK_INT(chown(own, 1, 1), 0);
		CHECK_INT(chmod(own, 0755), 0);
	}
	CHECK_INT(fs_open_private_dir(theirs, &err), -EPERM);
	CHECK_CONTAINS(err.msg, "belongs to another user");
	CHECK_INT(stat(theirs, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0755);
}

TEST(flock_waits_for_a_lock_up_to_its_timeout)
{
	auto_close int held = open(test_dir(), O_RDONLY | O_CLOEXEC);
	auto_close int ours = open(test_dir(), O_RDONLY | O_CLOEXEC);

	CHECK_INT(flock(held, LOCK_SH), 0);
	CHECK_INT(fs_flock_within(ours, LOCK_SH, 0), 0);
	CHECK_INT(fs_flock_within(ours, LOCK_EX, 30), -EWOULDBLOCK);
	CHECK_INT(flock(held, LOCK_UN), 0);
	CHECK_INT(fs_flock_within(ours, LOCK_EX, 0), 0);
	CHECK_INT(fs_flock_within(-1, LOCK_EX, 0), -EBADF);
}

TEST(files_replaced_in_a_batch_are_complete_before_the_sync)
{
	auto_close int dir = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct fs_batch batch = { 0 };
	struct stat st;

	CHECK_INT(fs_replace_later(dir, "a", "1", 1, 0600, &batch, NULL), 0);
	CHECK_INT(fs_replace_later(dir, "a", "22", 2, 0640, &batch, NULL), 0);
	CHECK_INT(batch.n, 1);
	CHECK_STR(test_read(test_path("a")), "22");
	CHECK_INT(stat(test_path("a"), &st), 0);
	CHECK_INT(st.st_mode & 0777, 0640);
	CHECK_INT(fs_batch_sync(&batch), 0);
	CHECK_INT(batch.n, 0);

	/* One more than the batch has file systems for is synced at once */
	batch = (struct fs_batch){ .n = FS_BATCH_MAX };
	CHECK_INT(fs_replace_later(dir, "a", "3", 1, 0600, &batch, NULL), 0);
	CHECK_INT(batch.n, FS_BATCH_MAX);
	CHECK_STR(test_read(test_path("a")), "3");
}
