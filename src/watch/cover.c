/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/cover.c - what the keeper mounts: masks and read-only binds, one by one
 *
 * The unreadable file is the null device, mounted so that devices do not
 * open: reading and writing it are EACCES. It needs no file of ours that the
 * sandbox could find. All other masks are of file systems that bear our name;
 * nobody inside can make one, and where the host has one, it is a mask, too.
 */

#include "watch/cover.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "plan/mask.h"

enum {
	MOUNTINFO_MAX = 64 << 20,	/* As many mounts as the kernel allows */
	NULL_MAJOR = 1, NULL_MINOR = 3,
};

static void add_device(struct cover_own *own, dev_t dev, bool talks)
{
	for (size_t i = 0; i < own->len; i++) {
		if (own->v[i].dev == dev)
			return;
	}
	*vec_push(own) = (struct cover_device){ dev, talks };
}

/* A line of mountinfo: mount, parent, device, ..., " - ", type, source, ... */
static void learn_line(struct cover_own *own, const char *line)
{
	static const char fuse[] = " - fuse " MASK_SOURCE " ";
	static const char tmpfs[] = " - tmpfs " MASK_SOURCE " ";
	const bool talks = strstr(line, fuse);
	const char *at = line;
	unsigned long major;
	char *end;

	if (!talks && !strstr(line, tmpfs))
		return;
	for (int i = 0; i < 2; i++)
		at += strcspn(at, " ") + 1;
	major = strtoul(at, &end, 10);
	if (*end == ':')
		add_device(own, makedev(major, strtoul(end + 1, NULL, 10)),
			   talks);
}

int cover_learn(struct cover_own *own, int mountinfo, struct err *err)
{
	auto_buf struct buf text = { 0 };
	const int r = fs_read_fd(mountinfo, MOUNTINFO_MAX, &text, err);
	char *save = NULL;

	if (r < 0)
		return r;
	buf_addc(&text, '\0');
	for (char *line = strtok_r(text.p, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		learn_line(own, line);
	return 0;
}

int cover_open(const char *path)
{
	return sys_open_nofollow(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
}

static bool look(int fd, struct statx *x)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE |
		     STATX_MODE | STATX_INO, x) == 0;
}

bool cover_is_mount(int fd)
{
	struct statx x;

	return look(fd, &x) && x.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

bool cover_is_read_only(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_flags & ST_RDONLY;
}

static bool is_null(const struct statx *x)
{
	return S_ISCHR(x->stx_mode) && x->stx_rdev_major == NULL_MAJOR &&
	       x->stx_rdev_minor == NULL_MINOR &&
	       x->stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

static const struct cover_device *find_device(const struct cover_own *own,
					      const struct statx *x)
{
	for (size_t i = 0; i < own->len; i++) {
		if (own->v[i].dev == makedev(x->stx_dev_major,
					     x->stx_dev_minor))
			return &own->v[i];
	}
	return NULL;
}

/* The sandbox's own /tmp, which is no mask, is of such a file system, too */
static bool hides(const struct cover_own *own, int fd, const struct statx *x)
{
	const struct cover_device *d = find_device(own, x);

	return is_null(x) || (d && (d->talks || cover_is_read_only(fd)));
}

bool cover_hides(const struct cover_own *own, int fd)
{
	struct statx x;

	return look(fd, &x) && hides(own, fd, &x);
}

bool cover_is_mask(const struct cover_own *own, int fd)
{
	struct statx x;

	return look(fd, &x) && x.stx_attributes & STATX_ATTR_MOUNT_ROOT &&
	       hides(own, fd, &x);
}

bool cover_holds(const struct cover_own *own, enum mount_kind kind, int fd)
{
	return kind == MOUNT_BIND_RO ? cover_is_mount(fd) &&
				       cover_is_read_only(fd)
				     : cover_is_mask(own, fd);
}

int cover_make_tmpfs(struct cover_own *own)
{
	auto_close int fs = sys_fsopen("tmpfs", FSOPEN_CLOEXEC), tree = -1;
	struct statx x;

	if (fs < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "source", MASK_SOURCE, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0555", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	tree = sys_fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (tree < 0 || !look(tree, &x))
		return -1;
	add_device(own, makedev(x.stx_dev_major, x.stx_dev_minor), false);
	return take_fd(&tree);
}

int cover_set_read_only(int tree)
{
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV,
		.propagation = MS_PRIVATE,
	};

	return sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);
}

/* The kernel refuses where a file is open for writing */
bool cover_close(const struct cover_own *own, enum mount_kind kind, int at)
{
	return kind == MOUNT_BIND_RO && cover_is_mount(at) &&
	       !cover_hides(own, at) && cover_set_read_only(at) == 0;
}

int cover_set_writable(int tree)
{
	static const struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	return sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr);
}

int cover_make(struct cover_own *own, enum mount_kind kind, int at)
{
	auto_close int tree = -1;
	struct statx x;

	if (!look(at, &x))
		return -1;
	tree = kind != MOUNT_BIND_RO && S_ISDIR(x.stx_mode) ?
	       cover_make_tmpfs(own) :
	       kind == MOUNT_BIND_RO ?
	       sys_open_tree(at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			     AT_EMPTY_PATH | AT_RECURSIVE) :
	       sys_open_tree(AT_FDCWD, "/dev/null", OPEN_TREE_CLONE |
			     OPEN_TREE_CLOEXEC);
	if (tree < 0 || cover_set_read_only(tree) < 0)
		return -1;
	return take_fd(&tree);
}

int cover_attach(int tree, int at)
{
	return sys_move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH |
			      MOVE_MOUNT_T_EMPTY_PATH);
}

void cover_wait(const char *path)
{
	static unsigned int count;
	auto_free char *parent = path_parent(path);
	auto_free char *name = mem_printf("%s/.cloche-%d-%u", parent,
					  (int)getpid(), count++);
	auto_close int fd = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	(void)fd;
}
