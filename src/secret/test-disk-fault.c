/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A full disk, a broken disk, a read-only one: the kernel is made to answer a
 * system call with that error (seccomp), which needs no such disk and works for
 * everybody. Old data must stay as it was, and nothing lie about.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "secret/locked-memory.h"
#include "secret/harden.h"
#include "secret/private-dir.h"
#include "test.h"

static struct private_dir *fresh(void)
{
	const char *path = test_path("store");

	return private_dir_new(path);
}

/* From now on, the system call @number fails with @error */
static void make_fail(unsigned int number, unsigned int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { ARRAY_SIZE(code), code };

	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &program), 0);
}

static const struct fault {
	unsigned int number, error;
	const char *words;
} faults[] = {
	{ SYS_fsync, EIO, "Input/output error" },
	{ SYS_fsync, ENOSPC, "No space left on device" },
	{ SYS_fsync, EDQUOT, "Disk quota exceeded" },
	{ SYS_renameat, EROFS, "Read-only file system" },
	{ SYS_renameat, EIO, "Input/output error" },
	{ SYS_unlinkat, EROFS, "Read-only file system" },
};

/* In a child, because a filter is for good: an update must fail with words */
static void check_fault(struct private_dir *dir, const struct fault *fault)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct err err = { 0 };

		make_fail(fault->number, fault->error);
		CHECK_INT(private_dir_write(dir, "f", "new", 3, &err),
			  -(int)fault->error);
		CHECK_CONTAINS(err.msg, fault->words);
		fflush(stdout);
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

static void check_old(struct private_dir *dir)
{
	auto_bytes struct bytes b = { 0 };

	CHECK_INT(private_dir_read(dir, "f", 64, &b, NULL), 1);
	CHECK_STR(bytes_str(&b), "old");
}

TEST(a_failing_disk_leaves_the_old_data)
{
	struct private_dir *dir = fresh();

	CHECK_INT(private_dir_write(dir, "f", "old", 3, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		check_fault(dir, &faults[i]);
		check_old(dir);
	}
	/* The control: nothing else was in the way */
	CHECK_INT(private_dir_write(dir, "f", "new", 3, NULL), 0);
	private_dir_free(dir);
}

TEST(a_file_size_limit_is_an_error_and_not_a_signal)
{
	const struct rlimit two = { 2, 2 };
	struct private_dir *dir = fresh();
	struct err err = { 0 };
	auto_free char *left = NULL;

	CHECK_INT(harden_process(&err), 0);
	CHECK_INT(private_dir_write(dir, "f", "old", 3, NULL), 0);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &two), 0);
	CHECK_INT(private_dir_write(dir, "f", "new", 3, &err), -EFBIG);
	check_old(dir);
	left = path_join(dir->path, "f.new");
	CHECK(access(left, F_OK) < 0);
	private_dir_free(dir);
}

TEST(an_unwritable_directory_is_reported)
{
	struct private_dir *dir = fresh();
	struct err err = { 0 };

	/* Root may write anywhere: become another user */
	if (geteuid() == 0) {
		CHECK_INT(chown(test_dir(), 65534, 65534), 0);
		CHECK_INT(setresuid(65534, 65534, 65534), 0);
	}
	CHECK_INT(private_dir_write(dir, "f", "old", 3, NULL), 0);
	CHECK_INT(chmod(dir->path, 0500), 0);
	CHECK_INT(private_dir_write(dir, "f", "new", 3, &err), -EACCES);
	CHECK_CONTAINS(err.msg, dir->path);
	check_old(dir);
	CHECK_INT(chmod(dir->path, 0700), 0);
	private_dir_free(dir);
}
