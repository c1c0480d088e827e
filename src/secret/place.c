/* SPDX-License-Identifier: Apache-2.0 */
/* secret/place.c - the private directory of the stores, and its files */

#include "secret/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "secret/bytes.h"

/**
 * struct place - The directory
 * @path:	For messages and for the first open
 * @fd:		Of the directory, or -1 as long as nobody needed it
 */
struct place {
	char *path;
	int fd;
};

struct place *place_new(const char *path)
{
	struct place *place = mem_zalloc(sizeof(*place));

	place->path = mem_strdup(path);
	place->fd = -1;
	return place;
}

void place_free(struct place *place)
{
	if (!place)
		return;
	close_fd(&place->fd);
	free(place->path);
	free(place);
}

const char *place_path(const struct place *place)
{
	return place->path;
}

static int check_dir(const char *path, int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno(err, "cannot look at '%s'", path);
	if (st.st_uid != geteuid())
		return fail(err, -EPERM,
			    "'%s' belongs to uid %u, not to you: it is not used",
			    path, st.st_uid);
	if (st.st_mode & 022)
		return fail(err, -EPERM,
			    "others can write to '%s' (mode %04o): run chmod 700 on it",
			    path, st.st_mode & 07777);
	return 0;
}

static int open_dir(const char *path)
{
	return fs_above_std(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				 O_CLOEXEC));
}

/* Made with its mode, not changed to it later: there is no moment in which it
 * is open to others
 */
static int make_dir(const char *path, struct err *err)
{
	auto_free char *parent = path_parent(path);
	auto_close int up = fs_open_dir_p(parent, 0700, err);

	if (up < 0)
		return up;
	if (mkdirat(up, path_base(path), 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot make '%s'", path);
	return 0;
}

static int open_place(struct place *place, bool make, struct err *err)
{
	auto_close int fd = open_dir(place->path);
	int r;

	if (fd < 0 && errno == ENOENT && make) {
		r = make_dir(place->path, err);
		if (r < 0)
			return r;
		fd = open_dir(place->path);
	}
	/* A link is ENOTDIR or ELOOP, by the order of the kernel's checks */
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return fail(err, -EPERM,
			    "'%s' is not a directory of its own: a link or a file is not used",
			    place->path);
	if (fd < 0)
		return fail_errno(err, "cannot open '%s'", place->path);
	r = check_dir(place->path, fd, err);
	if (r < 0)
		return r;
	place->fd = take_fd(&fd);
	return 0;
}

int place_fd(struct place *place, bool make, struct err *err)
{
	const int r = place->fd < 0 ? open_place(place, make, err) : 0;

	if (r < 0)
		return r;
	return place->fd;
}

bool place_has(struct place *place, const char *name)
{
	struct stat st;

	return place_fd(place, false, NULL) >= 0 &&
	       fstatat(place->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int refuse(const struct place *place, const char *name,
		  const char *what, struct err *err)
{
	return fail(err, -EPERM, "'%s/%s' %s", place->path, name, what);
}

static int check_file(const struct place *place, const char *name,
		      const struct stat *st, struct err *err)
{
	if (S_ISLNK(st->st_mode))
		return refuse(place, name,
			      "is a symbolic link: it is not used", err);
	if (!S_ISREG(st->st_mode))
		return refuse(place, name, "is not a regular file", err);
	if (st->st_uid != geteuid())
		return refuse(place, name,
			      "belongs to somebody else: it is not used", err);
	if (st->st_nlink != 1)
		return refuse(place, name,
			      "has more than one name (hard links): it is not used",
			      err);
	if (st->st_mode & 077)
		return refuse(place, name,
			      "is open to others: run chmod 600 on it, and change the secrets in it",
			      err);
	return 0;
}

/* What is there may be read or replaced: 1, 0 if nothing is, or -errno */
static int check_name(const struct place *place, const char *name,
		      struct err *err)
{
	struct stat st;
	int r;

	if (fstatat(place->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 :
		       fail_errno(err, "cannot look at '%s/%s'", place->path,
				  name);
	r = check_file(place, name, &st, err);
	return r < 0 ? r : 1;
}

int place_read(struct place *place, const char *name, size_t max,
	       struct bytes *ret, struct err *err)
{
	auto_close int fd = -1;
	struct stat st;
	int r = place_fd(place, false, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = check_name(place, name, err);
	if (r <= 0)
		return r;
	/* Once more on what was opened: the name may have changed hands */
	fd = openat(place->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		    O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, "cannot open '%s/%s'", place->path,
				  name);
	/* A writer may have replaced it since: no name left is no harm */
	if (!st.st_nlink)
		st.st_nlink = 1;
	r = check_file(place, name, &st, err);
	if (r < 0)
		return r;
	if ((size_t)st.st_size > max)
		return fail(err, -EFBIG, "'%s/%s' is larger than %zu bytes",
			    place->path, name, max);
	bytes_reserve(ret, ret->len + (size_t)st.st_size + 1);
	r = bytes_read_fd(ret, fd, max, err);
	if (r < 0)
		return fail_in(err, r, "%s/%s", place->path, name);
	return 1;
}

static int write_new(struct place *place, const char *temporary,
		     const char *name, const void *data, size_t n)
{
	auto_close int fd = openat(place->fd, temporary,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				   O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = fs_write_all(fd, data, n);
	if (r < 0)
		return r;
	if (fsync(fd) < 0 ||
	    renameat(place->fd, temporary, place->fd, name) < 0)
		return -errno;
	return 0;
}

int place_write(struct place *place, const char *name, const void *data,
		size_t n, struct err *err)
{
	auto_free char *temporary = mem_printf("%s.new", name);
	int r = place_fd(place, true, err);

	if (r < 0)
		return r;
	r = check_name(place, name, err);
	if (r < 0)
		return r;
	/* Left by a writer that was killed; the lock says that it is gone */
	if (unlinkat(place->fd, temporary, 0) < 0 && errno != ENOENT)
		return fail_errno(err, "cannot remove '%s/%s'", place->path,
				  temporary);
	r = write_new(place, temporary, name, data, n);
	if (r < 0) {
		(void)unlinkat(place->fd, temporary, 0);
		return fail(err, r, "cannot write '%s/%s': %s", place->path,
			    name, strerror(-r));
	}
	/* The new file is in place and whole: "failed" would be untrue now */
	(void)fsync(place->fd);
	return 0;
}

int place_remove(struct place *place, const char *name, struct err *err)
{
	auto_free char *temporary = mem_printf("%s.new", name);
	int r = place_fd(place, false, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	(void)unlinkat(place->fd, temporary, 0);
	r = check_name(place, name, err);
	if (r <= 0)
		return r;
	if (unlinkat(place->fd, name, 0) < 0)
		return errno == ENOENT ? 0 :
		       fail_errno(err, "cannot remove '%s/%s'", place->path,
				  name);
	(void)fsync(place->fd);
	return 1;
}
