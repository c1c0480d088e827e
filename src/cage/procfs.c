/* SPDX-License-Identifier: Apache-2.0 */
/* cage/procfs.c - the sandbox's own /proc, and the host's /sys */

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/bind.h"
#include "cage/box.h"
#include "plan/plan.h"

static const struct {
	const char *name;
	bool dir;
} masks[] = {
#define PROCMASK(name, dir, reason) { BOX_AT "/proc/" name, dir },
#include "cage/procmask.def"
#undef PROCMASK
};

/* Not every kernel has them all. Those of the host are without BOX_AT. */
static int mask_all(const struct box *box, bool host, struct err *err)
{
	struct bind_dir at = BIND_NOWHERE;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(masks); i++) {
		const char *path = masks[i].name + (host ? strlen(BOX_AT) : 0);

		if (access(path, F_OK) == 0 || errno != ENOENT)
			r = box_cover(box, &at, masks[i].dir, path, err);
	}
	bind_forget(&at);
	return r;
}

/* Read-only: root's uid alone would be enough to write /proc/sys */
int box_make_proc(void)
{
	auto_close int fs = sys_fsopen("proc", FSOPEN_CLOEXEC);
	int tree;

	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	tree = sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID |
			   MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |
			   MOUNT_ATTR_RDONLY);
	return tree < 0 ? -errno : tree;
}

int box_begin_proc(struct box *box, struct err *err)
{
	if (box->proc < 0)
		return 0;	/* Who wants it will hear */
	if (sys_move_mount(box->proc, "", box->fd, "proc",
			   MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return fail_errno(err, "cannot mount a new /proc");
	return mask_all(box, false, err);
}

static int open_part(const char *name, char *path, size_t size)
{
	snprintf(path, size, "/proc/%s", name);
	return sys_open_nofollow(AT_FDCWD, path, O_PATH, 0);
}

/* What is no process's own, in a /proc that can be written */
static int close_settings(struct err *err)
{
	static const char *const names[] = {
		"sys", "irq", "bus", "fs", "driver", "mtrr", "tty",
	};
	const struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		char path[64];
		auto_close int at = open_part(names[i], path, sizeof(path));
		auto_close int tree = -1;

		if (at < 0 && errno == ENOENT)
			continue;
		tree = at < 0 ? -1 : sys_open_tree(at, "", OPEN_TREE_CLONE |
				     OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
		if (tree < 0 || sys_mount_setattr(tree, "", AT_EMPTY_PATH,
						  &attr) < 0)
			return fail_errno(err, "cannot make '%s' read-only",
					  path);
		r = tree_attach(tree, at, err, path);
	}
	return r;
}

/* Who makes a user namespace writes its map there */
static int open_proc(const struct box *box, struct err *err)
{
	const struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	if (sys_mount_setattr(box->proc, "", AT_EMPTY_PATH, &attr) < 0)
		return fail_errno(err, "cannot make /proc writable");
	return close_settings(err);
}

/* What a container covers of its /proc must not show in a new one: EPERM. If
 * the user can live with the old one (read-only like all the rest), so be it.
 */
int box_mount_proc(const struct box *box, const struct plan *plan,
		   struct err *err)
{
	int r;

	if (box->proc == -EPERM && plan->weak_proc) {
		r = mask_all(box, true, err);
		return r < 0 ? r : 1;
	}
	if (box->proc < 0)
		return fail(err, box->proc, "cannot make a new /proc: %s",
			    strerror(-box->proc));
	r = box_attach(box->proc, "/proc", err);
	return r == 0 && plan->nested_userns ? open_proc(box, err) : r;
}

int box_close_sys(struct err *err)
{
	const struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (sys_mount_setattr(AT_FDCWD, "/sys", AT_RECURSIVE, &attr) < 0 &&
	    errno != ENOENT && errno != EINVAL)	/* Not there, not mounted */
		return fail_errno(err, "cannot make /sys read-only");
	return 0;
}
