/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/bind.c - binds by name, in a directory that is held
 *
 * Theory of operation: mount() makes a bind in one call, where open_tree() and
 * move_mount() make a file and a namespace for each that go again at once; and
 * a thousand rules are a thousand binds. But mount() takes names, and follows a
 * link at the end of them. So the directory is opened once, without following
 * anything, and is the current one; the name in it is looked at afterwards,
 * without following a link: there must be what was to be mounted, and it must
 * be a mount. Whoever replaces the name meanwhile can put the bind in a wrong
 * place, but not have that go unnoticed. Directories above it stay open: binds
 * come parents first, and the next is often in one of them.
 */

#include "cage/bind.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"

static void drop(struct bind_dir *dir)
{
	close_fd(&dir->held[--dir->n].fd);
	if (dir->current > dir->n)
		dir->current = 0;
}

void bind_forget(struct bind_dir *dir)
{
	while (dir->n)
		drop(dir);
}

/* Open the directory that is the first @len bytes of @path, from the nearest
 * one that is held
 */
static int hold(struct bind_dir *dir, const char *path, size_t len,
		struct err *err)
{
	const size_t from = dir->n ? dir->held[dir->n - 1].len : 0;
	const int at = dir->n ? dir->held[dir->n - 1].fd : AT_FDCWD;
	char name[PATH_MAX];
	int fd;

	if (len - from >= sizeof(name))
		return fail(err, -ENAMETOOLONG, "'%s' is too long", path);
	memcpy(name, path + from, len - from);
	name[len - from] = '\0';
	fd = sys_open_nofollow(at, name, O_PATH | O_DIRECTORY, 0);
	if (fd < 0)
		return fail_errno(err, "cannot enter '%.*s'", (int)len, path);
	if (dir->n == BIND_HELD_MAX)
		bind_forget(dir);
	dir->held[dir->n].fd = fd;
	dir->held[dir->n].path = path;
	dir->held[dir->n++].len = len;
	return 0;
}

/* Into the directory of @path; *@name is its name in there. What does not lead
 * there is no longer held: something may be mounted on it now.
 */
static int enter(struct bind_dir *dir, const char *path, const char **name,
		 struct err *err)
{
	const size_t len = (size_t)(strrchr(path, '/') + 1 - path);
	int r = 0;

	*name = path + len;
	while (dir->n && (dir->held[dir->n - 1].len > len ||
			  memcmp(dir->held[dir->n - 1].path, path,
				 dir->held[dir->n - 1].len) != 0))
		drop(dir);
	if (!dir->n || dir->held[dir->n - 1].len != len)
		r = hold(dir, path, len, err);
	if (r < 0 || dir->current == dir->n)
		return r;
	if (fchdir(dir->held[dir->n - 1].fd) < 0)
		return fail_errno(err, "cannot enter '%.*s'", (int)len, path);
	dir->current = dir->n;
	return 0;
}

/* The last look: what stands at @name is a mount, and of @there */
static int check(const struct bind_dir *dir, const char *name,
		 const struct stat *there, struct err *err, const char *path)
{
	struct statx x;

	if (statx(dir->held[dir->n - 1].fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
		  AT_STATX_DONT_SYNC, STATX_INO, &x) < 0)
		return fail_errno(err, "cannot look at '%s'", path);
	if (!(x.stx_attributes & STATX_ATTR_MOUNT_ROOT) ||
	    (there && (x.stx_ino != there->st_ino ||
		       makedev(x.stx_dev_major, x.stx_dev_minor) !=
		       there->st_dev)))
		return fail(err, -ESTALE, "'%s' was replaced while the sandbox was being built; try again",
			    path);
	return 0;
}

int bind_cover(struct bind_dir *dir, const char *source,
	       const struct stat *there, const char *path, struct err *err)
{
	const char *name;
	const int r = enter(dir, path, &name, err);

	if (r < 0)
		return r;
	if (mount(source, name, NULL, MS_BIND, NULL) < 0)
		return fail_errno(err, "cannot mount on '%s'", path);
	return check(dir, name, there, err, path);
}

int bind_self(struct bind_dir *dir, const char *source, const char *path,
	      const struct stat *there, bool read_only, struct err *err)
{
	static const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
		.propagation = MS_PRIVATE,
	};
	const char *name;
	const int r = enter(dir, path, &name, err);

	if (r < 0)
		return r;
	if (mount(source ? source : name, name, NULL, MS_BIND | MS_REC,
		  NULL) < 0)
		return fail_errno(err, "cannot mount '%s' on itself", path);
	if (read_only && sys_mount_setattr(dir->held[dir->n - 1].fd, name,
					   AT_SYMLINK_NOFOLLOW | AT_RECURSIVE,
					   &attr) < 0)
		return fail_errno(err, "cannot restrict the mount at '%s'",
				  path);
	return check(dir, name, there, err, path);
}
