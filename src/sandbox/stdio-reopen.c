/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/stdio-reopen.c - the caller's files and devices, opened again on our mounts
 *
 * Theory of operation: whether a mode, time or attribute may be changed is up to
 * the mount that a file was opened on, whatever else is mounted since. What the
 * caller opened is on the host's, and fchmod() would reach a file that is only to
 * be read, the caller's terminal, or root's /dev/null. So the same inode is opened
 * by its name in the sandbox's read-only world. A terminal or device that has no
 * name there goes in as it is.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/sys.h"
#include "sandbox/sandbox.h"
#include "sandbox/stages.h"

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_mode == b->st_mode && a->st_rdev == b->st_rdev;
}

int reopen_file(struct sandbox_request *request, struct err *err)
{
	const char *path = request->stdin_path;
	auto_close int fd = -1;
	struct stat st, given;

	if (!path)
		return 0;
	fd = sys_open_nofollow(AT_FDCWD, path, O_RDONLY | O_NOCTTY |
			       O_NONBLOCK, 0);
	if (fd < 0 || fstat(fd, &st) < 0 ||
	    fstat(request->stdio[0], &given) < 0)
		return fail_errno(err, "cannot open '%s' in the sandbox", path);
	if (!is_same_file(&st, &given))
		return fail(err, -ESTALE, "'%s' was replaced while the sandbox was being built; try again",
			    path);
	if (lseek(fd, lseek(request->stdio[0], 0, SEEK_CUR), SEEK_SET) < 0 ||
	    fcntl(fd, F_SETFL, fcntl(request->stdio[0], F_GETFL)) < 0)
		return fail_errno(err, "cannot read '%s' at its offset", path);
	(void)close(request->stdio[0]);
	request->stdio[0] = take_fd(&fd);
	return 0;
}

/* The device @given by the name @path. A terminal's line may have to be waited
 * for, and is open: so do not wait.
 */
static int open_device(const char *path, int given, const struct stat *st)
{
	const int flags = fcntl(given, F_GETFL);
	auto_close int fd = -1;
	struct stat named;

	if (lstat(path, &named) < 0 || !is_same_file(&named, st))
		return -1;
	fd = open(path, (flags & O_ACCMODE) | O_NOCTTY | O_NOFOLLOW |
		  O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &named) < 0 || !is_same_file(&named, st) ||
	    fcntl(fd, F_SETFL, flags) < 0)
		return -1;
	return take_fd(&fd);
}

void reopen_devices(struct sandbox_request *request)
{
	for (size_t i = 0; i < ARRAY_SIZE(request->stdio); i++) {
		int *given = &request->stdio[i], fd;
		char path[64];
		struct stat st;

		if (*given < 0 || fstat(*given, &st) < 0 ||
		    !S_ISCHR(st.st_mode))
			continue;
		(void)fs_fd_link(*given, path, sizeof(path));
		fd = open_device(path, *given, &st);
		if (fd < 0)
			fd = open_device("/dev/console", *given, &st);
		if (fd < 0)
			continue;
		(void)close(*given);
		*given = fd;
	}
}
