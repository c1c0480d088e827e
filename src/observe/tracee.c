/* SPDX-License-Identifier: Apache-2.0 */
/* observe/tracee.c - a thread whose call waits: its memory, directories, descriptors */

#include "observe/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/own.h"
#include "base/sys.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD	O_EXCL
#endif

enum { PAGE = 4096, FIRST_READ = 512 };

void tracees_init(struct tracees *t, const struct mask_fds *mask_fds)
{
	for (size_t i = 0; i < TRACEES; i++)
		t->v[i] = (struct tracee) { 0, -1, mask_fds };
}

void tracees_done(struct tracees *t)
{
	for (size_t i = 0; i < TRACEES; i++)
		close_fd(&t->v[i].dir);
}

static int open_dir(struct tracee *t)
{
	char path[32];

	close_fd(&t->dir);
	snprintf(path, sizeof(path), "/proc/%d", (int)t->tid);
	t->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return t->dir < 0 ? -errno : 0;
}

struct tracee *tracee_get(struct tracees *t, pid_t tid)
{
	struct tracee *slot = &t->v[(size_t)tid % TRACEES];

	if (slot->dir >= 0 && slot->tid == tid)
		return slot;
	slot->tid = tid;
	if (open_dir(slot) == 0)
		return slot;
	if (errno != EMFILE)
		return NULL;
	tracees_done(t);	/* Those of other threads are only there for speed */
	return open_dir(slot) < 0 ? NULL : slot;
}

/* -errno, but EPERM for EACCES: that the observer may not read the tracee is not the
 * result of the tracee's call
 */
static int own_error(void)
{
	return errno == EACCES ? -EPERM : -errno;
}

int tracee_read(const struct tracee *t, uint64_t address, void *ret, size_t n)
{
	struct iovec to = { ret, n };
	struct iovec from = { (void *)(uintptr_t)address, n };
	const ssize_t got = process_vm_readv(t->tid, &to, 1, &from, 1, 0);

	if (got < 0)
		return own_error();
	return (size_t)got == n ? 0 : -EFAULT;
}

int tracee_write(const struct tracee *t, uint64_t address, const void *data,
		 size_t n)
{
	const struct iovec from = { (void *)(uintptr_t)data, n };
	const struct iovec to = { (void *)(uintptr_t)address, n };
	const ssize_t put = process_vm_writev(t->tid, &from, 1, &to, 1, 0);

	if (put < 0)
		return own_error();
	return (size_t)put == n ? 0 : -EFAULT;
}

ssize_t tracee_string(const struct tracee *t, uint64_t address, char *ret,
		      size_t size)
{
	size_t len = 0;

	while (len < size) {
		const size_t to_page = PAGE - (size_t)((address + len) % PAGE);
		size_t n = len ? PAGE : FIRST_READ;
		const char *end;
		int r;

		/* Not past the page: the next may not be there */
		if (n > to_page)
			n = to_page;
		if (n > size - len)
			n = size - len;
		r = tracee_read(t, address + len, ret + len, n);
		if (r < 0)
			return r;
		end = memchr(ret + len, 0, n);
		if (end)
			return end - ret;
		len += n;
	}
	return -ENAMETOOLONG;
}

/* 0 if @text, which the link @name reads, is a path; else as tracee_link(). A
 * file or directory can be called "x (deleted)", so what stands there is
 * compared. A file that was deleted under this name and has others could be any
 * of them: -EPERM.
 */
static int check_path(struct tracee *t, const char *name, const char *text,
		      size_t n)
{
	static const char deleted[] = " (deleted)";
	const struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};
	auto_close int root = -1, fd = -1;
	struct stat st, there;

	if (text[0] != '/')
		return -ENOTDIR;
	if (n < sizeof(deleted) ||
	    strcmp(text + n - (sizeof(deleted) - 1), deleted) != 0)
		return 0;
	root = tracee_root(t);
	if (fstatat(t->dir, name, &st, 0) < 0 || root < 0)
		return -EPERM;
	fd = sys_openat2(root, text, &how);
	if (fd >= 0 && !fstat(fd, &there) && there.st_dev == st.st_dev &&
	    there.st_ino == st.st_ino)
		return 0;
	if (S_ISDIR(st.st_mode))
		return -EIDRM;
	return S_ISREG(st.st_mode) && st.st_nlink ? -EPERM : -ENOTDIR;
}

ssize_t tracee_link(struct tracee *t, const char *name, char *ret, size_t size)
{
	ssize_t n = readlinkat(t->dir, name, ret, size);
	int r;

	/* The directory of a thread that had this number before is empty */
	if (n < 0 && (errno == ENOENT || errno == ESRCH) && !open_dir(t))
		n = readlinkat(t->dir, name, ret, size);
	if (n < 0)
		return own_error();
	if ((size_t)n >= size)
		return -ENAMETOOLONG;
	ret[n] = 0;
	r = check_path(t, name, ret, (size_t)n);
	return r < 0 ? r : n;
}

size_t tracee_step_up(const char *dir, size_t n, const char **rest)
{
	const char *p = *rest;

	for (;;) {
		if (p[0] == '.' && p[1] == '/') {
			p += 2;
		} else if (p[0] == '.' && p[1] == '.' && p[2] == '/') {
			while (n > 1 && dir[n - 1] != '/')
				n--;
			n -= n > 1;
			p += 3;
		} else {
			break;
		}
		while (*p == '/')
			p++;
	}
	*rest = p;
	return n;
}

ssize_t tracee_fd_link(struct tracee *t, int fd, char *ret, size_t size)
{
	char name[32];

	snprintf(name, sizeof(name), "fd/%d", fd);
	return tracee_link(t, name, ret, size);
}

int tracee_root(struct tracee *t)
{
	int fd = openat(t->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == ESRCH) && !open_dir(t))
		fd = openat(t->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? own_error() : fd;
}

int tracee_dir(const struct tracee *t, int fd)
{
	char name[32] = "cwd";
	int dir;

	if (fd != AT_FDCWD)
		snprintf(name, sizeof(name), "fd/%d", fd);
	dir = openat(t->dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT ? -EBADF : own_error();
	return dir;
}

int tracee_get_fd(struct tracee *t, int fd)
{
	/* The thread's own: it need not share the first one's (Linux 6.9) */
	auto_close int pidfd = pidfd_open(t->tid, PIDFD_THREAD);
	int copy;

	if (pidfd < 0 && errno == EINVAL)
		pidfd = pidfd_open(tracee_process(t, NULL), 0);
	if (pidfd < 0)
		return -errno;
	copy = pidfd_getfd(pidfd, fd, 0);
	return copy < 0 ? -errno : copy;
}

/* The number after @label in @status, or @otherwise */
static long status_number(const char *status, const char *label, int base,
			  long otherwise)
{
	const char *at = strstr(status, label);

	return at ? strtol(at + strlen(label), NULL, base) : otherwise;
}

int tracee_call(pid_t tid, long *ret, uint64_t args[6])
{
	char path[64], text[256], *at = text;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tid);
	if (!fs_read_small(AT_FDCWD, path, text, sizeof(text)))
		return -errno;
	/* "NUMBER 0xARG ... 0xSP 0xPC", "-1 0xSP 0xPC" in none, or "running" */
	*ret = strtol(text, &at, 10);
	for (int i = 0; i < 6 && at != text; i++)
		args[i] = strtoull(at, &at, 16);
	return at != text;
}

pid_t tracee_process(struct tracee *t, mode_t *umask)
{
	char status[1024];

	if (!fs_read_small(t->dir, "status", status, sizeof(status)) && !open_dir(t))
		(void)fs_read_small(t->dir, "status", status, sizeof(status));
	if (umask)
		*umask = (mode_t)status_number(status, "\nUmask:\t", 8, 0) &
			 07777;
	return (pid_t)status_number(status, "\nTgid:\t", 10, t->tid);
}

int tracee_first(struct tracee *t, struct tracee *ret)
{
	*ret = (struct tracee) { tracee_process(t, NULL), -1, t->mask_fds };
	return open_dir(ret);
}
