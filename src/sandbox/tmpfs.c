/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/tmpfs.c - the tmpfs of our own behind masks, /dev, /dev/shm and /tmp */

#include "sandbox/tmpfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/sys.h"
#include "plan/fuse-mask.h"
#include "plan/plan.h"
#include "sandbox/bind.h"
#include "sandbox/mount-fd.h"
#include "sandbox/sandbox.h"

/* Masks are clones of it and stay that way; what must be writable clears it */
enum {
	TMPFS_ATTR = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
		   MOUNT_ATTR_NOEXEC,
};

int tmpfs_prepare(struct tmpfs *tmpfs, const struct sandbox_request *request,
		struct err *err)
{
	auto_close int fd = -1;

	tmpfs->console = tmpfs_terminal(tmpfs, request);
	if (!request->tmp_path)
		return 0;
	fd = tree_open(request->tmp_path, err);
	/* Root's user namespace may not enter a home of another user: then /tmp is
	 * in memory, as where no directory can be kept
	 */
	if (fd == -EACCES)
		return 0;
	if (fd < 0)
		return fd;
	tmpfs->tmp = tree_clone(fd, err, request->tmp_path);
	if (tmpfs->tmp < 0)
		return tmpfs->tmp;
	return tree_set(tmpfs->tmp, MOUNT_ATTR_NODEV, 0, err, request->tmp_path);
}

int tmpfs_make_dir(int tmpfs, const char *path, mode_t mode, struct err *err)
{
	if (mkdirat(tmpfs, path, mode) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot make the mount point '%s'",
				  path);
	return 0;
}

int tmpfs_make_file(int tmpfs, const char *path, mode_t mode, struct err *err)
{
	if (mknodat(tmpfs, path, S_IFREG | mode, 0) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot make the mount point '%s'",
				  path);
	return 0;
}

static int make_link(int tmpfs, const char *path, const char *target,
		     struct err *err)
{
	if (symlinkat(target, tmpfs, path) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot make the link '%s'", path);
	return 0;
}

static int write_text(int tmpfs, const char *path, const struct plan_point *point,
		      struct err *err)
{
	const size_t n = point->len ? point->len : strlen(point->text);
	auto_close int fd = openat(tmpfs, path, O_WRONLY | O_NOFOLLOW |
				   O_CLOEXEC);
	const int r = fd < 0 ? -errno : fs_write_all(fd, point->text, n);

	return r < 0 ? fail(err, r, "cannot write '%s'", path) : 0;
}

/* The tmpfs's directory for mask @mask */
void tmpfs_mask_name(unsigned int mask, char *out, size_t size)
{
	if (mask == MASK_EMPTY)
		snprintf(out, size, "empty");
	else if (mask == MASK_TMP)
		snprintf(out, size, "tmp");
	else
		snprintf(out, size, "mask%u", mask);
}

/* A mount point and the directories above it, inside its mask */
static int make_point(int tmpfs, const struct plan_point *point, struct err *err)
{
	char path[4096 + 32];
	size_t n;
	int r = 0;

	tmpfs_mask_name(point->mask, path, sizeof(path));
	n = strlen(path);
	if ((size_t)snprintf(path + n, sizeof(path) - n, "/%s", point->path) >=
	    sizeof(path) - n)
		return fail(err, -ENAMETOOLONG, "'%s' is too long", point->path);

	/* Directories that only lead somewhere take no files of their own:
	 * they are sealed below, once everything is in them
	 */
	for (char *p = path + n + 1; r == 0 && (p = strchr(p, '/')); p++) {
		*p = '\0';
		r = tmpfs_make_dir(tmpfs, path, 0755, err);
		*p = '/';
	}
	if (r < 0)
		return r;
	if (point->target)
		return make_link(tmpfs, path, point->target, err);
	if (point->is_dir)
		return tmpfs_make_dir(tmpfs, path, 0755, err);
	/* A mount point that cannot be opened when its mount is gone */
	r = tmpfs_make_file(tmpfs, path, point->text ? 0644 : 0, err);
	return r < 0 || !point->text ? r : write_text(tmpfs, path, point, err);
}

/* The directories above a mount point: what is beside it is not the command's */
static int seal_point(int tmpfs, const struct plan_point *point, struct err *err)
{
	char path[4096 + 32];
	size_t n;

	tmpfs_mask_name(point->mask, path, sizeof(path));
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/%s", point->path);
	for (char *p = path + n + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (fchmodat(tmpfs, path, 0555, 0) < 0)
			return fail_errno(err, "cannot seal '%s'", path);
		*p = '/';
	}
	return 0;
}

static int furnish(int tmpfs, struct err *err)
{
	auto_close int dev = -1;
	int r = tmpfs_make_dir(tmpfs, "empty", 0555, err);

	if (r == 0 &&
	    (r = tmpfs_make_file(tmpfs, TMPFS_UNREADABLE, 0, err)) == 0 &&
	    (r = tmpfs_make_dir(tmpfs, "proc", 0555, err)) == 0 &&
	    (r = tmpfs_make_dir(tmpfs, TMPFS_CLONE, 0555, err)) == 0)
		r = tmpfs_make_dir(tmpfs, "dev", 0755, err);
	if (r < 0)
		return r;
	dev = openat(tmpfs, "dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dev < 0 ? fail_errno(err, "cannot open our own /dev")
		       : dev_furnish(dev, 01777, err);
}

/* What is cloned of it is read-only, unless that is changed */
static int set_writable(const struct tmpfs *tmpfs, bool writable, struct err *err)
{
	if (tree_attr(tmpfs->fd, "", 0, writable ? 0 : TMPFS_ATTR,
		      writable ? MOUNT_ATTR_RDONLY : 0) < 0)
		return fail_errno(err, "cannot restrict our own tmpfs");
	return 0;
}

int tmpfs_make(struct tmpfs *tmpfs, struct err *err)
{
	static const char *const options[][2] = {
		{ "source", FUSE_MASK_SOURCE }, { "mode", "755" }, { NULL },
	};

	/* /proc is read-only: root's uid alone would be enough to write /proc/sys */
	*tmpfs = (struct tmpfs){
		.fd = mount_new("tmpfs", options,
				MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV),
		.proc = mount_new("proc", NULL, MOUNT_ATTR_NOSUID |
				  MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |
				  MOUNT_ATTR_RDONLY),
		.pts = mount_new_devpts(), .host = -1, .dev = -1, .shm = -1,
		.console = -1, .tmp = -1, .writable = -1,
	};
	if (tmpfs->fd < 0)
		return fail(err, tmpfs->fd, "cannot make a tmpfs: %s",
			    strerror(-tmpfs->fd));
	if (tmpfs->pts < 0)
		return fail(err, tmpfs->pts, "cannot make a private devpts: %s",
			    strerror(-tmpfs->pts));
	return 0;
}

int tmpfs_fill(struct tmpfs *tmpfs, struct err *err)
{
	const mode_t before = umask(0);	/* Modes are ours to choose */
	int r = furnish(tmpfs->fd, err);

	(void)umask(before);
	if (r == 0 && (r = set_writable(tmpfs, false, err)) == 0)
		r = tmpfs->host = tree_open(TMPFS_AT, err);
	if (r < 0)
		return r;
	if (fstatat(tmpfs->fd, "empty", &tmpfs->empty, 0) < 0 ||
	    fstatat(tmpfs->fd, TMPFS_UNREADABLE, &tmpfs->unreadable, 0) < 0)
		return fail_errno(err, "cannot look at our own tmpfs");
	/* Kernels before 6.15 clone only what is attached somewhere */
	return tree_attach(tmpfs->fd, tmpfs->host, err, TMPFS_AT);
}

void tmpfs_done(struct tmpfs *tmpfs)
{
	int *const fds[] = {
		&tmpfs->fd, &tmpfs->host, &tmpfs->dev, &tmpfs->proc, &tmpfs->shm,
		&tmpfs->pts, &tmpfs->console, &tmpfs->tmp, &tmpfs->writable,
	};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close_fd(fds[i]);
}

static bool has_layer(const struct plan *plan)
{
	for (size_t i = 0; i < plan->mounts.len; i++) {
		if (plan->mounts.v[i].kind == MOUNT_LAYER)
			return true;
	}
	return false;
}

/* What not every run has a use for */
static int make_optional_dirs(const struct tmpfs *tmpfs, const struct plan *plan,
		      struct err *err)
{
	int r = 0;

	if (plan->talk)
		r = tmpfs_make_dir(tmpfs->fd, "masks", 0555, err);
	if (r == 0 && plan->tmp != TMP_HOST && tmpfs->tmp < 0)
		r = tmpfs_make_dir(tmpfs->fd, "tmp", 01777, err);
	if (r == 0 && has_layer(plan))
		r = tmpfs_make_dir(tmpfs->fd, "writable", 0755, err);
	if (r == 0 && tmpfs->console >= 0)
		r = tmpfs_make_console(tmpfs, err);
	return r;
}

static int fill(const struct tmpfs *tmpfs, const struct plan *plan,
		struct err *err)
{
	int r = make_optional_dirs(tmpfs, plan, err);

	for (unsigned int m = MASK_FIRST; r == 0 && m < plan->masks; m++) {
		char name[32];

		tmpfs_mask_name(m, name, sizeof(name));
		r = tmpfs_make_dir(tmpfs->fd, name, 0700, err);
	}
	for (size_t i = 0; r == 0 && i < plan->points.len; i++)
		r = make_point(tmpfs->fd, &plan->points.v[i], err);
	for (size_t i = 0; r == 0 && i < plan->points.len; i++) {
		if (!plan->points.v[i].open)
			r = seal_point(tmpfs->fd, &plan->points.v[i], err);
	}
	return r;
}

int tmpfs_open(const struct tmpfs *tmpfs, const struct plan *plan, struct err *err)
{
	const mode_t before = umask(0);
	int r = set_writable(tmpfs, true, err);

	if (r == 0)
		r = fill(tmpfs, plan, err);
	(void)umask(before);
	return r < 0 ? r : set_writable(tmpfs, false, err);
}

/* A clone of one directory or file of the tmpfs, less the attributes @clear */
int tmpfs_part(const struct tmpfs *tmpfs, const char *name, uint64_t clear,
		      struct err *err)
{
	auto_close int tree = open_tree(tmpfs->fd, name, OPEN_TREE_CLONE |
					    OPEN_TREE_CLOEXEC);
	int r = 0;

	if (tree < 0)
		return fail_errno(err, "cannot clone our own '%s'", name);
	if (clear)
		r = tree_set(tree, 0, clear, err, name);
	return r < 0 ? r : take_fd(&tree);
}

int tmpfs_mask(const struct tmpfs *tmpfs, unsigned int mask, const char *below,
	       uint64_t clear, struct err *err)
{
	char name[64];
	size_t n;

	tmpfs_mask_name(mask, name, sizeof(name));
	n = strlen(name);
	snprintf(name + n, sizeof(name) - n, "%s", below);
	return tmpfs_part(tmpfs, name, clear, err);
}

int tmpfs_cover(const struct tmpfs *tmpfs, struct bind_dir *at, bool dir,
	      const char *path, struct err *err)
{
	return bind_cover(at, dir ? TMPFS_AT "/empty" : TMPFS_AT "/" TMPFS_UNREADABLE,
			  dir ? &tmpfs->empty : &tmpfs->unreadable, path, err);
}

int tmpfs_attach(int tree, const char *path, struct err *err)
{
	auto_close int at = tree_open(path, err);

	if (at < 0)
		return at;
	return tree_attach(tree, at, err, path);
}

int tmpfs_mount_tmp(struct tmpfs *tmpfs, const struct plan *plan, struct err *err)
{
	if (plan->tmp == TMP_HOST)
		return 0;
	if (tmpfs->tmp < 0) {
		tmpfs->tmp = tmpfs_part(tmpfs, "tmp", MOUNT_ATTR_RDONLY |
				      MOUNT_ATTR_NOEXEC, err);
		if (tmpfs->tmp < 0)
			return tmpfs->tmp;
	}
	return tmpfs_attach(tmpfs->tmp, "/tmp", err);
}

/* The tmpfs as it can be written through, attached to a directory of itself: an
 * overlay wants its upper directory mounted somewhere, and writable. Once for
 * all layers: each mount less is one less to take down.
 */
static int open_writable(struct tmpfs *tmpfs, struct err *err)
{
	auto_close int at = -1, tree = -1;
	int r;

	if (tmpfs->writable >= 0)
		return 0;
	tree = tmpfs_part(tmpfs, ".", MOUNT_ATTR_RDONLY, err);
	if (tree < 0)
		return tree;
	at = openat(tmpfs->fd, "writable", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return fail_errno(err, "cannot open our own tmpfs");
	r = tree_attach(tree, at, err, "our own tmpfs");
	if (r == 0)
		tmpfs->writable = take_fd(&tree);
	return r;
}

static int open_in_layer(const struct tmpfs *tmpfs, unsigned int mask,
			 const char *name)
{
	char dir[32], path[64];

	tmpfs_mask_name(mask, dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return openat(tmpfs->writable, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Changes of @lower go to @upper, both open */
static int make_overlay(int lower, int upper, int work, struct err *err)
{
	const int tree = upper < 0 || work < 0 ? -errno :
			 mount_new_overlay("/proc/self/fd/", &lower, 1, upper,
					   work);

	return tree < 0 ? fail(err, tree, "cannot make an overlay: %s",
			       strerror(-tree)) : tree;
}

int tmpfs_layer(struct tmpfs *tmpfs, unsigned int mask, int lower, struct err *err)
{
	auto_close int upper = -1, work = -1;
	const int r = open_writable(tmpfs, err);

	if (r < 0)
		return r;
	upper = open_in_layer(tmpfs, mask, "u");
	work = open_in_layer(tmpfs, mask, "w");
	return make_overlay(lower, upper, work, err);
}

int tmpfs_staged(const char *dir, unsigned int number, int lower,
	      struct err *err)
{
	auto_close int at = tree_open(dir, err), upper = -1, work = -1;
	char name[32];
	int r;

	if (at < 0)
		return at;
	snprintf(name, sizeof(name), "%u/u", number);
	upper = sys_open_nofollow(at, name, O_PATH | O_DIRECTORY, 0);
	snprintf(name, sizeof(name), "%u/w", number);
	work = sys_open_nofollow(at, name, O_PATH | O_DIRECTORY, 0);
	r = make_overlay(lower, upper, work, err);
	return r < 0 ? fail_in(err, r, "--ephemeral does not work here ('cloche doctor' says why)")
		     : r;
}
