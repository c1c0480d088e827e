/* SPDX-License-Identifier: Apache-2.0 */
/* cage/box-layer.c - private layers over the host's directories: overlays */

#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/box.h"

/* The box as it can be written through, attached to a directory of itself: an
 * overlay wants its upper directory mounted somewhere, and writable. Once for
 * all layers: each mount less is one less to take down.
 */
static int open_writable(struct box *box, struct err *err)
{
	auto_close int at = -1, tree = -1;
	int r;

	if (box->writable >= 0)
		return 0;
	tree = box_part(box, ".", MOUNT_ATTR_RDONLY, err);
	if (tree < 0)
		return tree;
	at = openat(box->fd, "writable", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return fail_errno(err, "cannot open our own tmpfs");
	r = tree_attach(tree, at, err, "our own tmpfs");
	if (r == 0)
		box->writable = take_fd(&tree);
	return r;
}

static int open_in_layer(const struct box *box, unsigned int mask,
			 const char *name)
{
	char dir[32], path[64];

	box_mask_name(mask, dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return openat(box->writable, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A directory by its descriptor, as the text that overlayfs wants */
static int set_dir(int fs, const char *key, int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fd < 0 ? -1 : sys_fsconfig(fs, FSCONFIG_SET_STRING, key, path, 0);
}

static int make_overlay(int lower, int upper, int work, struct err *err)
{
	auto_close int fs = sys_fsopen("overlay", FSOPEN_CLOEXEC);
	int tree;

	if (fs < 0)
		return fail_errno(err, "there are no overlays");
	if (set_dir(fs, "lowerdir", lower) < 0 ||
	    set_dir(fs, "upperdir", upper) < 0 ||
	    set_dir(fs, "workdir", work) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fail_errno(err, "cannot make an overlay");
	tree = sys_fsmount(fs, FSMOUNT_CLOEXEC,
			   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return tree < 0 ? fail_errno(err, "cannot mount an overlay") : tree;
}

int box_layer(struct box *box, unsigned int mask, int lower, struct err *err)
{
	auto_close int upper = -1, work = -1;
	const int r = open_writable(box, err);

	if (r < 0)
		return r;
	upper = open_in_layer(box, mask, "u");
	work = open_in_layer(box, mask, "w");
	return make_overlay(lower, upper, work, err);
}

int box_aside(const char *dir, unsigned int number, int lower,
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
