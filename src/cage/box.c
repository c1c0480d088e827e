/* SPDX-License-Identifier: Apache-2.0 */
/* cage/box.c - the tmpfs of our own behind masks, /dev, /dev/shm and /tmp */

#include "cage/box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/bind.h"
#include "cage/cage.h"
#include "plan/mask.h"
#include "plan/plan.h"

/* Masks are clones of it and stay that way; what must be writable clears it */
enum {
	BOX_ATTR = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
		   MOUNT_ATTR_NOEXEC,
};

int box_prepare(struct box *box, const struct cage_request *request,
		struct err *err)
{
	auto_close int fd = -1;

	box->console = box_terminal(box, request);
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
	box->tmp = tree_clone(fd, err, request->tmp_path);
	if (box->tmp < 0)
		return box->tmp;
	return tree_set(box->tmp, MOUNT_ATTR_NODEV, 0, err, request->tmp_path);
}

static int make_tmpfs(struct err *err)
{
	auto_close int fs = sys_fsopen("tmpfs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "source", MASK_SOURCE, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "755", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fail_errno(err, "cannot make a tmpfs");
	fd = sys_fsmount(fs, FSMOUNT_CLOEXEC,
			 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (fd < 0)
		return fail_errno(err, "cannot mount a tmpfs");
	return fd;
}

int box_make_dir(int box, const char *path, mode_t mode, struct err *err)
{
	if (mkdirat(box, path, mode) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot make the mount point '%s'",
				  path);
	return 0;
}

int box_make_file(int box, const char *path, mode_t mode, struct err *err)
{
	if (mknodat(box, path, S_IFREG | mode, 0) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot make the mount point '%s'",
				  path);
	return 0;
}

static int make_link(int box, const char *path, const char *target,
		     struct err *err)
{
	if (symlinkat(target, box, path) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot make the link '%s'", path);
	return 0;
}

static int write_text(int box, const char *path, const char *text,
		      struct err *err)
{
	auto_close int fd = openat(box, path, O_WRONLY | O_NOFOLLOW |
				   O_CLOEXEC);
	const int r = fd < 0 ? -errno : fs_write_all(fd, text, strlen(text));

	return r < 0 ? fail(err, r, "cannot write '%s'", path) : 0;
}

/* The box's directory for mask @mask */
void box_mask_name(unsigned int mask, char *out, size_t size)
{
	if (mask == MASK_EMPTY)
		snprintf(out, size, "empty");
	else if (mask == MASK_TMP)
		snprintf(out, size, "tmp");
	else
		snprintf(out, size, "mask%u", mask);
}

/* A mount point and the directories above it, inside its mask */
static int make_point(int box, const struct plan_point *point, struct err *err)
{
	char path[4096 + 32];
	size_t n;
	int r = 0;

	box_mask_name(point->mask, path, sizeof(path));
	n = strlen(path);
	if ((size_t)snprintf(path + n, sizeof(path) - n, "/%s", point->path) >=
	    sizeof(path) - n)
		return fail(err, -ENAMETOOLONG, "'%s' is too long", point->path);

	/* Directories that only lead somewhere take no files of their own:
	 * they are sealed below, once everything is in them
	 */
	for (char *p = path + n + 1; r == 0 && (p = strchr(p, '/')); p++) {
		*p = '\0';
		r = box_make_dir(box, path, 0755, err);
		*p = '/';
	}
	if (r < 0)
		return r;
	if (point->target)
		return make_link(box, path, point->target, err);
	if (point->is_dir)
		return box_make_dir(box, path, 0755, err);
	/* What is only mounted on opens to nobody when that mount has gone */
	r = box_make_file(box, path, point->text ? 0644 : 0, err);
	return r < 0 || !point->text ? r : write_text(box, path, point->text, err);
}

/* The directories above a mount point: what is beside it is not the command's */
static int seal_point(int box, const struct plan_point *point, struct err *err)
{
	char path[4096 + 32];
	size_t n;

	box_mask_name(point->mask, path, sizeof(path));
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/%s", point->path);
	for (char *p = path + n + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (fchmodat(box, path, 0555, 0) < 0)
			return fail_errno(err, "cannot seal '%s'", path);
		*p = '/';
	}
	return 0;
}

static int furnish(int box, struct err *err)
{
	int r = box_make_dir(box, "empty", 0555, err);

	if (r == 0)
		r = box_make_file(box, "unreadable", 0, err);
	if (r == 0)
		r = box_make_dir(box, "proc", 0555, err);
	if (r == 0)
		r = box_make_dir(box, BOX_TWIN, 0555, err);
	return r < 0 ? r : box_furnish_dev(box, err);
}

/* From now on what is cloned of it is read-only, unless that is changed */
static int close_box(const struct box *box, struct err *err)
{
	static const struct mount_attr attr = {
		.attr_set = BOX_ATTR, .propagation = MS_PRIVATE,
	};

	if (sys_mount_setattr(box->fd, "", AT_EMPTY_PATH, &attr) < 0)
		return fail_errno(err, "cannot restrict our own tmpfs");
	return 0;
}

static int open_box(const struct box *box, struct err *err)
{
	static const struct mount_attr attr = {
		.attr_clr = MOUNT_ATTR_RDONLY,
	};

	if (sys_mount_setattr(box->fd, "", AT_EMPTY_PATH, &attr) < 0)
		return fail_errno(err, "cannot write to our own tmpfs");
	return 0;
}

int box_make(struct box *box, struct err *err)
{
	*box = (struct box){
		.fd = make_tmpfs(err), .host = -1, .dev = -1, .proc = -1,
		.shm = -1, .pts = -1, .console = -1, .tmp = -1, .writable = -1,
	};
	if (box->fd < 0)
		return box->fd;
	box->proc = box_make_proc();
	box->pts = box_make_pts(err);
	return box->pts < 0 ? box->pts : 0;
}

int box_fill(struct box *box, struct err *err)
{
	const mode_t before = umask(0);	/* Modes are ours to choose */
	int r = furnish(box->fd, err);

	(void)umask(before);
	if (r == 0)
		r = close_box(box, err);
	if (r == 0)
		r = box->host = tree_open(BOX_AT, err);
	if (r < 0)
		return r;
	if (fstatat(box->fd, "empty", &box->empty, 0) < 0 ||
	    fstatat(box->fd, "unreadable", &box->unreadable, 0) < 0)
		return fail_errno(err, "cannot look at our own tmpfs");
	/* Kernels before 6.15 clone only what is attached somewhere */
	return tree_attach(box->fd, box->host, err, BOX_AT);
}

void box_done(struct box *box)
{
	int *const fds[] = {
		&box->fd, &box->host, &box->dev, &box->proc, &box->shm,
		&box->pts, &box->console, &box->tmp, &box->writable,
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
static int make_rooms(const struct box *box, const struct plan *plan,
		      struct err *err)
{
	int r = 0;

	if (plan->talk)
		r = box_make_dir(box->fd, "masks", 0555, err);
	if (r == 0 && plan->tmp != TMP_HOST && box->tmp < 0)
		r = box_make_dir(box->fd, "tmp", 01777, err);
	if (r == 0 && has_layer(plan))
		r = box_make_dir(box->fd, "writable", 0755, err);
	if (r == 0 && box->console >= 0)
		r = box_make_console(box, err);
	return r;
}

static int fill(const struct box *box, const struct plan *plan,
		struct err *err)
{
	int r = make_rooms(box, plan, err);

	for (unsigned int m = MASK_FIRST; r == 0 && m < plan->masks; m++) {
		char name[32];

		box_mask_name(m, name, sizeof(name));
		r = box_make_dir(box->fd, name, 0755, err);
	}
	for (size_t i = 0; r == 0 && i < plan->points.len; i++)
		r = make_point(box->fd, &plan->points.v[i], err);
	for (size_t i = 0; r == 0 && i < plan->points.len; i++) {
		if (!plan->points.v[i].open)
			r = seal_point(box->fd, &plan->points.v[i], err);
	}
	return r;
}

int box_open(const struct box *box, const struct plan *plan, struct err *err)
{
	const mode_t before = umask(0);
	int r = open_box(box, err);

	if (r == 0)
		r = fill(box, plan, err);
	(void)umask(before);
	return r < 0 ? r : close_box(box, err);
}

/* A clone of one directory or file of the box, less the attributes @clear */
int box_part(const struct box *box, const char *name, uint64_t clear,
		      struct err *err)
{
	auto_close int tree = sys_open_tree(box->fd, name, OPEN_TREE_CLONE |
					    OPEN_TREE_CLOEXEC);
	int r = 0;

	if (tree < 0)
		return fail_errno(err, "cannot clone our own '%s'", name);
	if (clear)
		r = tree_set(tree, 0, clear, err, name);
	return r < 0 ? r : take_fd(&tree);
}

int box_mask(const struct box *box, bool dir, unsigned int mask,
	     struct err *err)
{
	char name[32];

	box_mask_name(mask, name, sizeof(name));
	return box_part(box, dir ? name : "unreadable", 0, err);
}

int box_private(const struct box *box, unsigned int mask, struct err *err)
{
	char name[32];

	box_mask_name(mask, name, sizeof(name));
	return box_part(box, name, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC,
			  err);
}

int box_file(const struct box *box, unsigned int mask, struct err *err)
{
	char name[32], path[64];

	box_mask_name(mask, name, sizeof(name));
	snprintf(path, sizeof(path), "%s/file", name);
	return box_part(box, path, 0, err);
}

int box_cover(const struct box *box, struct bind_dir *at, bool dir,
	      const char *path, struct err *err)
{
	return bind_cover(at, dir ? BOX_AT "/empty" : BOX_AT "/unreadable",
			  dir ? &box->empty : &box->unreadable, path, err);
}

int box_attach(int tree, const char *path, struct err *err)
{
	auto_close int at = tree_open(path, err);

	if (at < 0)
		return at;
	return tree_attach(tree, at, err, path);
}

int box_mount_tmp(struct box *box, const struct plan *plan, struct err *err)
{
	if (plan->tmp == TMP_HOST)
		return 0;
	if (box->tmp < 0) {
		box->tmp = box_part(box, "tmp", MOUNT_ATTR_RDONLY |
				      MOUNT_ATTR_NOEXEC, err);
		if (box->tmp < 0)
			return box->tmp;
	}
	return box_attach(box->tmp, "/tmp", err);
}
