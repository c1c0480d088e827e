/* SPDX-License-Identifier: Apache-2.0 */
/* cage/procfs.c - the sandbox's own /proc */

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/box.h"
#include "plan/plan.h"

/* What stands at /proc/NAME, or -1 with errno */
static int open_part(const char *name, char *path, size_t size)
{
	snprintf(path, size, "/proc/%s", name);
	return sys_open_nofollow(AT_FDCWD, path, O_PATH, 0);
}

static int mask_proc(const struct box *box, const char *name, bool dir,
		     struct err *err)
{
	char path[64];
	auto_close int at = open_part(name, path, sizeof(path));
	auto_close int tree = -1;

	if (at < 0 && errno == ENOENT)
		return 0;
	if (at < 0)
		return fail_errno(err, "cannot open '%s'", path);
	tree = box_mask(box, dir, MASK_EMPTY, err);
	if (tree < 0)
		return tree;
	return tree_attach(tree, at, err, path);
}

int box_make_proc(void)
{
	auto_close int fs = sys_fsopen("proc", FSOPEN_CLOEXEC);

	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	return take_fd(&fs);
}

static int mount_new_proc(const struct box *box, const struct plan *plan,
			  struct err *err)
{
	auto_close int tree = -1, at = -1;

	if (box->proc < 0)
		return fail(err, box->proc, "cannot make a new /proc: %s",
			    strerror(-box->proc));
	/* Read-only: root's uid alone would be enough to write /proc/sys. But
	 * who makes a user namespace writes its map there.
	 */
	tree = sys_fsmount(box->proc, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID |
			   MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |
			   (plan->nested_userns ? 0 : MOUNT_ATTR_RDONLY));
	if (tree < 0)
		return fail_errno(err, "cannot mount a new /proc");
	at = tree_open("/proc", err);
	return at < 0 ? at : tree_attach(tree, at, err, "/proc");
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

/* What a container covers of its /proc must not show in a new one: EPERM. If
 * the user can live with the old one (read-only like all the rest), so be it.
 */
int box_mount_proc(const struct box *box, const struct plan *plan,
		   struct err *err)
{
	static const struct {
		const char *name;
		bool dir;
	} masks[] = {
#define PROCMASK(name, dir, reason) { name, dir },
#include "cage/procmask.def"
#undef PROCMASK
	};
	int r = mount_new_proc(box, plan, err);
	const bool old = r == -EPERM && plan->weak_proc;

	if (old)
		r = 0;
	else if (r == 0 && plan->nested_userns)
		r = close_settings(err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(masks); i++)
		r = mask_proc(box, masks[i].name, masks[i].dir, err);
	return r < 0 ? r : old;
}
