/* SPDX-License-Identifier: Apache-2.0 */
/* observe/test-git-lock.c - changes that a refused git made are undone, within limits */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "base/own.h"
#include "base/sys.h"
#include "observe/git-lock.h"
#include "observe/notification.h"

static struct git_locks locks;
#define lock (locks.v[0])

/* As if a git, which we can end, had taken its lock */
static void begin(void)
{
	const pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	CHECK(pid > 0);
	git_locks_init(&locks);
	lock.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	lock.process = pidfd_open(pid, 0);
	CHECK(lock.process >= 0);
	lock.pid = pid;
}

static int changes(enum call_what what, const char *path)
{
	const struct notification q = { .what = what, .flags = O_CREAT | O_EXCL };

	return git_lock_note(&locks, &q, lock.pid, path);
}

/* The git gives its lock up */
static int end(void)
{
	const pid_t pid = lock.pid;
	int status = 0, r = changes(CALL_RENAME, test_path(".git/index.lock"));

	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	git_locks_done(&locks);
	return r;
}

TEST(changes_of_a_refused_git_are_undone)
{
	begin();
	test_write(test_path("d/old"), "old");
	CHECK_INT(changes(CALL_UNLINK, test_path("d/old")), 0);
	CHECK_INT(unlink(test_path("d/old")), 0);
	CHECK_INT(changes(CALL_RMDIR, test_path("d")), 0);
	CHECK_INT(rmdir(test_path("d")), 0);
	CHECK_INT(changes(CALL_OPEN, test_path("d")), 0);
	test_write(test_path("d"), "new");
	CHECK(git_lock_refused(&locks, lock.pid, test_path(".npmrc")));
	CHECK_INT(end(), 1);
	CHECK_STR(test_read(test_path("d/old")), "old");
}

TEST(files_that_existed_before_git_are_kept)
{
	begin();
	test_write(test_path("own"), "own");
	CHECK_INT(changes(CALL_OPEN, test_path("own")), 0);
	CHECK_INT(changes(CALL_MAKE, test_path("own")), 0);
	CHECK(git_lock_refused(&locks, lock.pid, test_path(".npmrc")));
	CHECK_INT(end(), 1);
	CHECK_STR(test_read(test_path("own")), "own");
}

/* A process beside git replaces a directory by a link */
TEST(undoing_does_not_follow_a_planted_symlink)
{
	begin();
	test_write(test_path("d/name"), "old");
	test_write(test_path("secret/name"), "secret");
	CHECK_INT(changes(CALL_OPEN, test_path("d/new")), 0);
	CHECK_INT(changes(CALL_UNLINK, test_path("d/name")), 0);
	CHECK(git_lock_refused(&locks, lock.pid, test_path(".npmrc")));
	CHECK_INT(rename(test_path("d"), test_path("e")), 0);
	CHECK_INT(symlink("secret", test_path("d")), 0);
	CHECK_INT(changes(CALL_UNLINK, test_path("d/name")), -EROFS);
	CHECK_INT(unlink(test_path("secret/name")), 0);
	test_write(test_path("secret/new"), "secret");
	CHECK_INT(end(), -EIO);
	CHECK(!test_read(test_path("secret/name")));
	CHECK_STR(test_read(test_path("secret/new")), "secret");
}

/* The path of a call that looks elsewhere: through a link that is gone by now, or with ".."
 * ending at its directory
 */
TEST(undoing_ignores_paths_with_dot_dot)
{
	const struct notification in_root = {
		.what = CALL_OPEN, .flags = O_CREAT | O_EXCL, .in_root = true,
	};

	for (int i = 0; i < 2; i++) {
		begin();
		test_write(test_path("d/old"), "old");
		CHECK(git_lock_refused(&locks, lock.pid, test_path(".npmrc")));
		CHECK_INT(i ? git_lock_note(&locks, &in_root, lock.pid, test_path("new"))
			    : changes(CALL_OPEN, test_path("d/../new")), -EROFS);
		test_write(test_path("new"), "new");
		CHECK_INT(end(), 1);
		CHECK_STR(test_read(test_path("new")), "new");
		CHECK_INT(unlink(test_path("new")), 0);
	}
}

/* A file that shrank while it was read leaves nothing in the next one's place */
TEST(a_truncated_copy_is_not_restored_into_the_next_file)
{
	begin();
	test_write(test_path("one"), "one");
	test_write(test_path("two"), "two");
	CHECK_INT(changes(CALL_UNLINK, test_path("one")), 0);
	CHECK_INT(write(lock.old, "part", 4), 4);
	CHECK_INT(changes(CALL_UNLINK, test_path("two")), 0);
	CHECK(git_lock_refused(&locks, lock.pid, test_path(".npmrc")));
	CHECK_INT(unlink(test_path("two")), 0);
	CHECK_INT(end(), 1);
	CHECK_STR(test_read(test_path("two")), "two");
}

/* @refused: before the limit is reached, or after */
static void pass_limit(bool refused, enum call_what what, size_t n)
{
	char name[32];

	if (refused)
		CHECK(git_lock_refused(&locks, lock.pid, test_path(".npmrc")));
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "file-%zu", i);
		CHECK_INT(changes(what, test_path(name)), 0);
	}
	CHECK_INT(changes(what, test_path("last")), refused ? -EROFS : 0);
	CHECK_INT(git_lock_refused(&locks, lock.pid, test_path(".npmrc")), refused);
}

TEST(the_number_of_changes_is_limited)
{
	begin();
	pass_limit(true, CALL_MAKE, GIT_LOCK_CHANGES_MAX);
	CHECK_INT(end(), 1);
}

TEST(a_git_with_too_many_changes_is_not_undone)
{
	begin();
	pass_limit(false, CALL_MAKE, GIT_LOCK_CHANGES_MAX);
	CHECK_INT(changes(CALL_RENAME, test_path(".git/index.lock")), 0);
	CHECK_INT(lock.pid, 0);
}

TEST(the_bytes_of_removed_files_are_limited)
{
	begin();
	test_write(test_path("file-0"), "");
	test_write(test_path("last"), "1");
	CHECK_INT(truncate(test_path("file-0"), GIT_LOCK_BYTES_MAX), 0);
	pass_limit(true, CALL_UNLINK, 1);
	CHECK_INT(end(), 1);
}

/* As if another git, which is us, had a lock */
static int changes_too(const char *path)
{
	const struct notification q = { .what = CALL_UNLINK };

	return git_lock_note(&locks, &q, getpid(), path);
}

TEST(the_limits_are_those_of_all_locks)
{
	begin();
	locks.v[1].root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	locks.v[1].pid = getpid();
	test_write(test_path("big"), "");
	test_write(test_path("last"), "1");
	CHECK_INT(truncate(test_path("big"), GIT_LOCK_BYTES_MAX), 0);
	CHECK_INT(changes(CALL_UNLINK, test_path("big")), 0);
	CHECK(git_lock_refused(&locks, getpid(), test_path(".npmrc")));
	CHECK_INT(changes_too(test_path("last")), -EROFS);
	/* Control: the first gives its lock up */
	CHECK_INT(changes(CALL_RENAME, test_path(".git/index.lock")), 0);
	CHECK_INT(changes_too(test_path("last")), 0);
	git_locks_done(&locks);
}

TEST(of_a_git_that_is_not_undone_nothing_is_kept)
{
	begin();
	test_write(test_path("one"), "one");
	CHECK_INT(changes(CALL_UNLINK, test_path("one")), 0);
	CHECK_INT(lock.bytes, 3);
	CHECK_INT(changes(CALL_MAKE, test_path("d/../new")), 0);
	CHECK(lock.partial && lock.old < 0 && !lock.changes.len && !lock.bytes);
	git_locks_done(&locks);
}

TEST(of_a_git_that_was_killed_nothing_is_kept)
{
	const struct notification q = { .what = CALL_OPEN, .flags = O_CREAT | O_EXCL };

	begin();
	test_write(test_path("one"), "one");
	CHECK_INT(changes(CALL_UNLINK, test_path("one")), 0);
	CHECK_INT(kill(lock.pid, SIGKILL), 0);
	CHECK_INT(waitpid(lock.pid, NULL, 0), lock.pid);
	CHECK_INT(git_lock_note(&locks, &q, getpid(), test_path(".git/index.lock")), 0);
	CHECK(lock.pid == getpid() && !lock.bytes && lock.old < 0);
	git_locks_done(&locks);
}

/* A file of sysfs says that it has a page, and has less */
TEST(of_a_file_that_shrank_nothing_is_kept)
{
	struct stat st;

	begin();
	CHECK(git_lock_refused(&locks, lock.pid, test_path(".npmrc")));
	CHECK_INT(changes(CALL_UNLINK, "/sys/kernel/uevent_seqnum"), -EROFS);
	CHECK_INT(fstat(lock.old, &st), 0);
	CHECK_INT(st.st_size, 0);
	CHECK_INT(end(), 1);
}

/* In a session of its own the supervisor has no terminal, and would get the first that it opens */
TEST(no_terminal_is_taken)
{
	auto_close int ptmx = -1;
	const pid_t pid = fork();
	int status = 1;

	if (!pid) {
		(void)setsid();
		begin();
		ptmx = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
		CHECK(ptmx >= 0 && grantpt(ptmx) == 0 && unlockpt(ptmx) == 0);
		CHECK_INT(changes(CALL_UNLINK, ptsname(ptmx)), 0);
		(void)kill(lock.pid, SIGKILL);
		_exit(open("/dev/tty", O_RDONLY | O_CLOEXEC) >= 0 ? 2 : 0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

TEST(only_the_git_with_the_lock_is_recorded)
{
	begin();
	CHECK(!git_lock_refused(&locks, getpid(), test_path(".npmrc")));
	CHECK(!git_lock_refused(&locks, lock.pid, test_path(".git/config")));
	CHECK(!git_lock_refuses(&locks, lock.pid));
	CHECK(git_lock_refused(&locks, lock.pid, test_path(".npmrc")));
	CHECK_INT(end(), 1);
}

/* The git was killed, and its number is another process's by now: here our own */
TEST(a_process_with_the_pid_of_a_killed_git_gets_no_signal)
{
	for (int at_once = 0; at_once < 2; at_once++) {
		sigset_t term, pending;
		pid_t pid;

		begin();
		pid = lock.pid;
		lock.at_once = at_once;
		CHECK(git_lock_refused(&locks, pid, test_path(".npmrc")));
		CHECK_INT(kill(pid, SIGKILL), 0);
		CHECK_INT(waitpid(pid, NULL, 0), pid);
		lock.pid = getpid();
		CHECK(sigemptyset(&term) == 0 && sigaddset(&term, SIGTERM) == 0);
		CHECK_INT(sigprocmask(SIG_BLOCK, &term, NULL), 0);
		if (at_once)
			git_lock_reported(&locks, getpid());
		else
			CHECK_INT(changes(CALL_RENAME, test_path(".git/index.lock")), -EIO);
		CHECK_INT(sigpending(&pending), 0);
		CHECK_INT(sigismember(&pending, SIGTERM), 0);
		CHECK_INT(lock.pid, 0);
		git_locks_done(&locks);
	}
}

TEST(changes_of_a_git_without_a_lock_are_undone_at_once)
{
	for (int links = 0; links < 2; links++) {
		pid_t pid;

		begin();
		pid = lock.pid;
		lock.at_once = true;
		test_write(test_path("d/old"), "old");
		CHECK_INT(changes(CALL_UNLINK, test_path("d/old")), 0);
		CHECK_INT(unlink(test_path("d/old")), 0);
		if (links)
			CHECK(rename(test_path("d"), test_path("e")) == 0 &&
			      symlink("e", test_path("d")) == 0);
		CHECK_INT(git_lock_refused(&locks, pid, test_path("d/.git")),
			  links ? -EIO : 1);
		CHECK(links || test_read(test_path("d/old")));
		git_lock_reported(&locks, pid);
		CHECK_INT(waitpid(pid, NULL, 0), pid);
		git_locks_done(&locks);
	}
}

/* A process that is called git, waits, and takes the lock of its index */
static void begin_git(void)
{
	int in[2], started[2];
	pid_t pid;
	char c;

	git_locks_init(&locks);
	CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(started, O_CLOEXEC) == 0);
	pid = fork();
	if (!pid) {
		dup2(in[0], STDIN_FILENO);
		execlp("git", "git", "hash-object", "--stdin", NULL);
		_exit(1);
	}
	close(in[0]);
	close(started[1]);
	CHECK_INT(read(started[0], &c, 1), 0);
	close(started[0]);
	lock.pid = pid;
	CHECK_INT(changes(CALL_OPEN, test_path(".git/index.lock")), 0);
}

TEST(a_git_that_changed_nothing_yet_is_recorded)
{
	begin_git();
	test_write(test_path(".git/index"), "");
	CHECK_INT(lock.root, -1);
	CHECK_INT(git_lock_refused(&locks, lock.pid, test_path(".npmrc")), 1);
	CHECK_INT(end(), 1);
}

TEST(a_clone_is_not_undone)
{
	pid_t pid;

	begin_git();
	pid = lock.pid;
	CHECK_INT(git_lock_refused(&locks, pid, test_path(".npmrc")), 0);
	CHECK_INT(lock.pid, 0);
	kill(pid, SIGKILL);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
}

TEST(only_a_git_is_recorded)
{
	begin();
	close(lock.root);
	lock.root = -1;
	test_write(test_path(".git/index"), "");
	CHECK_INT(changes(CALL_OPEN, test_path(".git/index.lock")), 0);
	CHECK_INT(git_lock_refused(&locks, lock.pid, test_path(".npmrc")), 0);
}

/* A disk on which a file of half its size was replaced by a small one, after a file that
 * leaves no room for it was made; @full: by another process, which does not give it back
 */
static void fill_disk(bool full)
{
	static char half[32 << 10];
	const char *old = test_path("disk/old"), *big = test_path("disk/big");
	int fd;

	test_enter(CLONE_NEWNS);
	CHECK_INT(mkdir(test_path("disk"), 0755), 0);
	CHECK_INT(mount("tmpfs", test_path("disk"), "tmpfs", 0, "size=64k"), 0);
	begin();
	memset(half, 'x', sizeof(half) - 1);
	test_write(old, half);
	if (!full)
		CHECK_INT(changes(CALL_OPEN, big), 0);
	CHECK_INT(changes(CALL_UNLINK, old), 0);
	CHECK_INT(unlink(old), 0);
	CHECK_INT(changes(CALL_OPEN, old), 0);
	test_write(old, "new");
	fd = open(big, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK_INT(posix_fallocate(fd, 0, 56 << 10), 0);
	close(fd);
	CHECK_INT(git_lock_refused(&locks, lock.pid, test_path(".npmrc")), 1);
	CHECK_INT(end(), full ? -EIO : 1);
	CHECK_INT(access(old, F_OK), full ? -1 : 0);
	CHECK(full || !strcmp(test_read(old), half));
}

TEST(a_removed_file_is_restored_when_the_disk_has_space_again)
{
	fill_disk(false);
}

TEST(a_file_is_not_restored_partially_on_a_full_disk)
{
	fill_disk(true);
}
