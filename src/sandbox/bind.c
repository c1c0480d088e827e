/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/bind.c - binds by name, in a directory that stays open
 *
 * Theory of operation: mount() makes a bind in one call, where open_tree() and
 * move_mount() make a file and a namespace for each that go again at once; and
 * a thousand rules are a thousand binds. But mount() takes names, and follows a
 * link at the end of them. So the directory is opened once, without following
 * anything, and is the current one; the name in it is looked at afterwards,
 * without following a link: there must be what was to be mounted, and it must
 * be a mount. A process that replaces the name meanwhile can put the bind in a
 * wrong place, but that is noticed.
 */

#include "sandbox/bind.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "sandbox/mount-fd.h"

void bind_forget(struct bind_dir *dir)
{
	close_fd(&dir->fd);
}

/* Into the directory of @path; *@name is its name in there */
static int enter_dir_of(struct bind_dir *dir, const char *path,
			const char **name, struct err *err)
{
	const size_t len = (size_t)(strrchr(path, '/') + 1 - path);
	char parent[PATH_MAX];

	*name = path + len;
	if (dir->fd >= 0 && dir->len == len && !memcmp(dir->path, path, len))
		return 0;
	if (len >= sizeof(parent))
		return fail(err, -ENAMETOOLONG, "'%s' is too long", path);
	memcpy(parent, path, len);
	parent[len] = '\0';
	bind_forget(dir);
	*dir = (struct bind_dir){
		.fd = sys_open_nofollow(AT_FDCWD, parent,
					O_PATH | O_DIRECTORY, 0),
		.path = path, .len = len,
	};
	if (dir->fd < 0 || fchdir(dir->fd) < 0)
		return fail_errno(err, "cannot enter '%s'", parent);
	return 0;
}

/* The last look: what stands at @name is a mount, and of @there */
static int check_mounted(const struct bind_dir *dir, const char *name,
		 const struct stat *there, struct err *err, const char *path)
{
	struct statx x;

	if (statx(dir->fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
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
	const int r = enter_dir_of(dir, path, &name, err);

	if (r < 0)
		return r;
	if (mount(source, name, NULL, MS_BIND, NULL) < 0)
		return fail_errno(err, "cannot mount on '%s'", path);
	return check_mounted(dir, name, there, err, path);
}

int bind_self(struct bind_dir *dir, const char *source, const char *path,
	      const struct stat *there, bool read_only, struct err *err)
{
	const char *name;
	const int r = enter_dir_of(dir, path, &name, err);

	if (r < 0)
		return r;
	if (mount(source ? source : name, name, NULL, MS_BIND | MS_REC,
		  NULL) < 0)
		return fail_errno(err, "cannot mount '%s' on itself", path);
	if (read_only && tree_attr(dir->fd, name,
				   AT_SYMLINK_NOFOLLOW | AT_RECURSIVE,
				   MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
				   0) < 0)
		return fail_errno(err, "cannot restrict the mount at '%s'",
				  path);
	return check_mounted(dir, name, there, err, path);
}
