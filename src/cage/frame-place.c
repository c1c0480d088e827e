/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/frame-place.c - places below a frame's new root
 *
 * Every look-up starts at the new root's descriptor and takes that for the
 * root, so that an absolute link inside it leads to a place inside it, and no
 * ".." leads out. What a caller names and what is then mounted on is one
 * descriptor.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/frame-tree.h"
#include "plan/frame.h"

enum { TRIES = 32 };	/* The kernel gives up when ".." and a rename meet */

static int open_as(int root, const char *path, uint64_t flags)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT,
	};
	int fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = sys_openat2(root, *path ? path : ".", &how);
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

int place_open(int root, const char *path)
{
	return open_as(root, path, 0);
}

/* Parents of something that others may not see are not for others either. What
 * has no mode of its own (a bind, a link) counts as such: bubblewrap does it so.
 */
static mode_t parent_mode(const struct frame_op *op)
{
	mode_t mode = 0755;

	if (!(op->perms & 0070))
		mode &= (mode_t)~0050;
	if (!(op->perms & 0007))
		mode &= (mode_t)~0005;
	return mode;
}

/* The directory @path, which lies in @above under the name @name */
static int open_or_make(int root, const char *path, int above,
			const char *name, mode_t mode)
{
	int fd = open_as(root, path, O_DIRECTORY);

	if (fd != -ENOENT)
		return fd;
	if (mkdirat(above, name, mode) < 0 && errno != EEXIST)
		return -errno;
	return open_as(root, path, O_DIRECTORY);
}

int place_parent(int root, const struct frame_op *op, char **ret_name,
		 struct err *err)
{
	auto_free char *path = mem_strdup(op->dest);
	auto_close int at = place_open(root, "");
	size_t n = strlen(path);
	char *p = path;

	while (n && path[n - 1] == '/')
		path[--n] = '\0';
	while (at >= 0) {
		char *name = p + strspn(p, "/"), *end = strchr(name, '/');
		int next;

		if (!end) {
			*ret_name = mem_strdup(name);
			return take_fd(&at);
		}
		*end = '\0';
		next = open_or_make(root, path, at, name, parent_mode(op));
		*end = '/';
		close_fd(&at);
		at = next;
		p = end;
	}
	errno = -at;
	return fail_errno(err, "Can't mkdir parents for %s", op->dest);
}

static int check_dir(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode);
}

int place_dir(int root, const struct frame_op *op, mode_t mode,
	      struct err *err)
{
	auto_close int fd = place_open(root, op->dest);
	int is_dir;

	if (fd == -ENOENT) {
		auto_free char *name = NULL;
		auto_close int at = place_parent(root, op, &name, err);

		if (at < 0)
			return at;
		if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
			return fail_errno(err, "Can't mkdir %s", op->dest);
		fd = place_open(root, op->dest);
	}
	is_dir = fd < 0 ? fd : check_dir(fd);
	errno = is_dir < 0 ? -is_dir : ENOTDIR;
	if (is_dir <= 0)
		return fail_errno(err, "Can't mkdir %s", op->dest);
	return take_fd(&fd);
}

int place_file(int root, const struct frame_op *op, struct err *err)
{
	const struct open_how how = {
		.flags = O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC,
		.mode = 0444, .resolve = RESOLVE_IN_ROOT,
	};
	auto_close int made = -1;
	auto_close int fd = place_open(root, op->dest);
	int is_dir;

	if (fd == -ENOENT) {
		auto_free char *name = NULL;
		auto_close int at = place_parent(root, op, &name, err);

		if (at < 0)
			return at;
		/* Also where a link says that it should be */
		made = sys_openat2(root, op->dest, &how);
		if (made < 0)
			return fail_errno(err, "Can't create file at %s",
					  op->dest);
		fd = place_open(root, op->dest);
	}
	is_dir = fd < 0 ? fd : check_dir(fd);
	errno = is_dir < 0 ? -is_dir : EISDIR;
	if (is_dir)
		return fail_errno(err, "Can't create file at %s", op->dest);
	return take_fd(&fd);
}
