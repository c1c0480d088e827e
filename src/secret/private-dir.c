/* SPDX-License-Identifier: Apache-2.0 */
/* secret/private-dir.c - a directory of private files */

#include "secret/private-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "secret/locked-memory.h"

struct private_dir *private_dir_new(const char *path)
{
	struct private_dir *dir = mem_zalloc(sizeof(*dir));

	dir->path = mem_strdup(path);
	dir->fd = -1;
	return dir;
}

void private_dir_free(struct private_dir *dir)
{
	if (!dir)
		return;
	close_fd(&dir->fd);
	free(dir->path);
	free(dir);
}

static int open_real_dir(const char *path)
{
	return fs_above_std(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				 O_CLOEXEC));
}

static int open_and_check(const char *path, bool make, struct err *err)
{
	auto_close int fd = open_real_dir(path), made = -1;
	struct stat st;

	if (fd < 0 && errno == ENOENT && make) {
		/* Made with its mode, so that others can never open it */
		made = fs_open_dir_p(path, 0700, err);
		if (made < 0)
			return made;
		fd = open_real_dir(path);
	}
	/* A link is ENOTDIR or ELOOP, by the order of the kernel's checks */
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return fail(err, -EPERM,
			    "'%s' is not a directory of its own: a link or a file is not used",
			    path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, "cannot open '%s'", path);
	if (st.st_uid != geteuid())
		return fail(err, -EPERM,
			    "'%s' belongs to uid %u, not to you: it is not used",
			    path, st.st_uid);
	if (st.st_mode & 022)
		return fail(err, -EPERM,
			    "others can write to '%s' (mode %04o): run chmod 700 on it",
			    path, st.st_mode & 07777);
	return take_fd(&fd);
}

int private_dir_fd(struct private_dir *dir, bool make, struct err *err)
{
	const int fd = dir->fd < 0 ? open_and_check(dir->path, make, err) :
				     dir->fd;

	if (fd >= 0)
		dir->fd = fd;
	return fd;
}

bool private_dir_has(struct private_dir *dir, const char *name)
{
	struct stat st;

	return private_dir_fd(dir, false, NULL) >= 0 &&
	       fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int refuse_file(const struct private_dir *dir, const char *name,
		  const char *what, struct err *err)
{
	return fail(err, -EPERM, "'%s/%s' %s", dir->path, name, what);
}

/* A regular file of ours, which others cannot read */
static int check_file(const struct private_dir *dir, const char *name,
		      const struct stat *st, struct err *err)
{
	if (!S_ISREG(st->st_mode))
		return refuse_file(dir, name, "is not a regular file", err);
	if (st->st_uid != geteuid())
		return refuse_file(dir, name,
			      "belongs to another user: it is not used", err);
	/* 0: a writer has replaced it since, which is no harm */
	if (st->st_nlink > 1)
		return refuse_file(dir, name,
			      "has more than one name (hard links): it is not used",
			      err);
	if (st->st_mode & 077)
		return refuse_file(dir, name,
			      "is open to others: run chmod 600 on it, and change the secrets in it",
			      err);
	return 0;
}

/* Open @name with @flags, if it is safe to use: a descriptor with *@st, -ENOENT,
 * -EPERM, or another errno
 */
static int open_checked(const struct private_dir *dir, const char *name,
			int flags, struct stat *st, struct err *err)
{
	auto_close int fd = fs_above_std(openat(dir->fd, name, flags |
						O_NOFOLLOW | O_NONBLOCK |
						O_NOCTTY | O_CLOEXEC, 0600));
	int r;

	if (fd < 0 && errno == ELOOP)
		return refuse_file(dir, name,
			      "is a symbolic link: it is not used", err);
	if (fd < 0 || fstat(fd, st) < 0)
		return fail_errno(err, "cannot open '%s/%s'", dir->path, name);
	r = check_file(dir, name, st, err);
	return r < 0 ? r : take_fd(&fd);
}

/* What is there may be replaced: 1, 0 if nothing is, or -errno */
static int check_existing(const struct private_dir *dir, const char *name,
		      struct err *err)
{
	struct stat st;
	auto_close int fd = open_checked(dir, name, O_RDONLY, &st, err);

	return fd >= 0 ? 1 : fd == -ENOENT ? 0 : fd;
}

int private_dir_read(struct private_dir *dir, const char *name, size_t max,
		     struct bytes *ret, struct err *err)
{
	auto_close int fd = -1;
	struct stat st;
	int r = private_dir_fd(dir, false, err);

	if (r >= 0)
		r = fd = open_checked(dir, name, O_RDONLY, &st, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if ((size_t)st.st_size > max)
		return fail(err, -EFBIG, "'%s/%s' is larger than %zu bytes",
			    dir->path, name, max);
	bytes_reserve(ret, ret->len + (size_t)st.st_size + 1);
	r = bytes_read_fd(ret, fd, max, err);
	return r < 0 ? fail_in(err, r, "%s/%s", dir->path, name) : 1;
}

static int write_new(struct private_dir *dir, const char *temporary,
		     const char *name, const void *data, size_t n)
{
	auto_close int fd = openat(dir->fd, temporary,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				   O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = fs_write_all(fd, data, n);
	if (r < 0)
		return r;
	if (fsync(fd) < 0 ||
	    renameat(dir->fd, temporary, dir->fd, name) < 0)
		return -errno;
	return 0;
}

int private_dir_write(struct private_dir *dir, const char *name, const void *data,
		size_t n, struct err *err)
{
	auto_free char *temporary = mem_printf("%s.new", name);
	int r = private_dir_fd(dir, true, err);

	if (r < 0)
		return r;
	r = check_existing(dir, name, err);
	if (r < 0)
		return r;
	/* Left by a writer that was killed: we hold the lock, so it is not in use */
	if (unlinkat(dir->fd, temporary, 0) < 0 && errno != ENOENT)
		return fail_errno(err, "cannot remove '%s/%s'", dir->path,
				  temporary);
	r = write_new(dir, temporary, name, data, n);
	if (r < 0) {
		(void)unlinkat(dir->fd, temporary, 0);
		return fail(err, r, "cannot write '%s/%s': %s", dir->path,
			    name, strerror(-r));
	}
	/* The new file is complete; a failure here must not be reported as one */
	(void)fsync(dir->fd);
	return 0;
}

int private_dir_remove(struct private_dir *dir, const char *name, struct err *err)
{
	auto_free char *temporary = mem_printf("%s.new", name);
	int r = private_dir_fd(dir, false, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	(void)unlinkat(dir->fd, temporary, 0);
	r = check_existing(dir, name, err);
	if (r <= 0)
		return r;
	if (unlinkat(dir->fd, name, 0) < 0)
		return errno == ENOENT ? 0 :
		       fail_errno(err, "cannot remove '%s/%s'", dir->path,
				  name);
	(void)fsync(dir->fd);
	return 1;
}

int private_dir_lock(struct private_dir *dir, const char *name,
		     unsigned int ms, struct err *err)
{
	auto_close int fd = -1;
	struct stat st;
	int r = private_dir_fd(dir, true, err);

	if (r >= 0)
		r = fd = open_checked(dir, name, O_RDWR | O_CREAT, &st, err);
	if (r < 0)
		return r;
	r = fs_flock_within(fd, LOCK_EX, ms);
	if (r == -EWOULDBLOCK)
		return fail(err, -ETIMEDOUT,
			    "another program is writing to the store and does not finish");
	if (r < 0)
		return fail(err, r, "cannot lock '%s/%s': %s", dir->path, name,
			    strerror(-r));
	return take_fd(&fd);
}
