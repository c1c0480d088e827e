/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/dev-proc.c - the sandbox's own /dev and /proc, and the host's /sys
 *
 * Both are put together in the private tmpfs, before there is a plan, and moved to
 * their places when all else stands: /dev last, since it covers the tmpfs.
 */

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
#include "plan/plan.h"
#include "sandbox/bind.h"
#include "sandbox/mount-fd.h"
#include "sandbox/sandbox.h"
#include "sandbox/tmpfs.h"
#include "view/view.h"

/* The caller's terminal, to be /dev/console: a private devpts has no name for
 * it, and ttyname() looks in /dev. Read-only, like all devices, and for the same
 * reason. Nothing depends on it.
 */
static int clone_terminal(int host, const char *name)
{
	auto_close int tree = open_tree(host, name, OPEN_TREE_CLONE |
					    OPEN_TREE_CLOEXEC);

	if (tree < 0 || tree_attr(tree, "", 0, MOUNT_ATTR_RDONLY |
				  MOUNT_ATTR_NOSUID, 0) < 0)
		return -1;
	return take_fd(&tree);
}

int tmpfs_terminal(const struct tmpfs *tmpfs, const struct sandbox_request *request)
{
	for (size_t i = 0; i < ARRAY_SIZE(request->stdio); i++) {
		char path[64];
		struct stat st, named;

		if (request->stdio[i] < 0 || !isatty(request->stdio[i]))
			continue;
		(void)fs_fd_link(request->stdio[i], path, sizeof(path));
		if (!strncmp(path, "/dev/", 5) &&
		    fstat(request->stdio[i], &st) == 0 &&
		    fstatat(tmpfs->host, path + 5, &named,
			    AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_rdev == named.st_rdev && st.st_ino == named.st_ino)
			return clone_terminal(tmpfs->host, path + 5);
	}
	return -1;
}

/* The host's devices, each by itself */
static int bind_nodes(const struct tmpfs *tmpfs, struct err *err)
{
	if (fchdir(tmpfs->host) < 0)
		return fail_errno(err, "cannot enter the host's /dev");
	for (size_t i = 0; i < VIEW_DEVICES; i++) {
		char path[32];

		snprintf(path, sizeof(path), TMPFS_AT "/dev/%s", view_devices[i]);
		if (mount(view_devices[i], path, NULL, MS_BIND, NULL) < 0)
			return fail_errno(err, "cannot mount on '/dev/%s'",
					  view_devices[i]);
	}
	return 0;
}

int tmpfs_begin_dev(struct tmpfs *tmpfs, struct err *err)
{
	if (mount(TMPFS_AT "/dev", TMPFS_AT "/dev", NULL, MS_BIND, NULL) < 0)
		return fail_errno(err, "cannot mount a new /dev");
	tmpfs->dev = tree_open(TMPFS_AT "/dev", err);
	if (tmpfs->dev < 0)
		return tmpfs->dev;
	tmpfs->shm = tmpfs_part(tmpfs, "dev/shm", MOUNT_ATTR_RDONLY |
			    MOUNT_ATTR_NOEXEC, err);
	return tmpfs->shm < 0 ? tmpfs->shm : bind_nodes(tmpfs, err);
}

int tmpfs_open_dev(const struct tmpfs *tmpfs, struct err *err)
{
	/* Read-only keeps root from changing the modes of the host's */
	if (tree_attr(tmpfs->dev, "", AT_RECURSIVE, MOUNT_ATTR_RDONLY |
		      MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV) < 0 ||
	    tree_attr(tmpfs->dev, "", 0, MOUNT_ATTR_NODEV, 0) < 0)
		return fail_errno(err, "cannot open the devices in /dev");
	return 0;
}

/* The new /dev is mounted read-only by then, over the tmpfs's own directory */
int tmpfs_make_console(const struct tmpfs *tmpfs, struct err *err)
{
	int r;

	if (tree_attr(tmpfs->dev, "", 0, 0, MOUNT_ATTR_RDONLY) < 0)
		return fail_errno(err, "cannot write to our own /dev");
	r = tmpfs_make_file(tmpfs->dev, "console", 0644, err);
	if (r == 0 && tree_attr(tmpfs->dev, "", 0, MOUNT_ATTR_RDONLY, 0) < 0)
		r = fail_errno(err, "cannot close our own /dev");
	return r;
}

static int attach_in(const struct tmpfs *tmpfs, int tree, const char *name,
		     struct err *err)
{
	if (move_mount(tree, "", tmpfs->dev, name,
			   MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return fail_errno(err, "cannot mount on '/dev/%s'", name);
	return 0;
}

int tmpfs_mount_dev(struct tmpfs *tmpfs, struct err *err)
{
	int r = attach_in(tmpfs, tmpfs->shm, "shm", err);

	if (r == 0)
		r = attach_in(tmpfs, tmpfs->pts, "pts", err);
	if (r == 0 && tmpfs->console >= 0)
		r = attach_in(tmpfs, tmpfs->console, "console", err);
	return r < 0 ? r : tmpfs_attach(tmpfs->dev, "/dev", err);
}

/* Hidden in the sandbox's /proc */
static const struct {
	const char *name;
	bool dir;
} masks[] = {
	{ TMPFS_AT "/proc/acpi", true },	/* hardware control */
	{ TMPFS_AT "/proc/cmdline", false },	/* boot parameters can hold credentials */
	{ TMPFS_AT "/proc/kcore", false },	/* the kernel's memory */
	{ TMPFS_AT "/proc/key-users", false },	/* counts the host's keys */
	{ TMPFS_AT "/proc/keys", false },	/* lists the host's keys */
	{ TMPFS_AT "/proc/kmsg", false },	/* the kernel's log */
	{ TMPFS_AT "/proc/latency_stats", false },	/* timing of other processes */
	{ TMPFS_AT "/proc/sched_debug", false },	/* names of other processes */
	{ TMPFS_AT "/proc/scsi", true },	/* hardware control */
	{ TMPFS_AT "/proc/sysrq-trigger", false },	/* reboots the machine */
	{ TMPFS_AT "/proc/timer_list", false },	/* names of other processes */
	{ TMPFS_AT "/proc/timer_stats", false },	/* names of other processes */
};

/* Not every kernel has them all. Those of the host are without TMPFS_AT. */
static int mask_all(const struct tmpfs *tmpfs, bool host, struct err *err)
{
	struct bind_dir at = BIND_NOWHERE;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(masks); i++) {
		const char *path = masks[i].name + (host ? strlen(TMPFS_AT) : 0);

		if (access(path, F_OK) == 0 || errno != ENOENT)
			r = tmpfs_cover(tmpfs, &at, masks[i].dir, path, err);
	}
	bind_forget(&at);
	return r;
}

int tmpfs_begin_proc(struct tmpfs *tmpfs, struct err *err)
{
	if (tmpfs->proc < 0)
		return 0;	/* A program that needs it gets the error */
	if (move_mount(tmpfs->proc, "", tmpfs->fd, "proc",
			   MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return fail_errno(err, "cannot mount a new /proc");
	return mask_all(tmpfs, false, err);
}

/* What is no process's own, in a /proc that can be written */
static int close_settings(int proc, struct err *err)
{
	static const char *const names[] = {
		"sys", "irq", "bus", "fs", "driver", "mtrr", "tty",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const int r = tree_seal(proc, names[i]);

		if (r < 0 && r != -ENOENT)
			return fail(err, r, "cannot make '/proc/%s' read-only: %s",
				    names[i], strerror(-r));
	}
	return 0;
}

/* A process that makes a user namespace writes its uid_map there */
static int open_proc(const struct tmpfs *tmpfs, struct err *err)
{
	if (tree_attr(tmpfs->proc, "", 0, 0, MOUNT_ATTR_RDONLY) < 0)
		return fail_errno(err, "cannot make /proc writable");
	return close_settings(tmpfs->proc, err);
}

/* What a container covers of its /proc must not show in a new one: EPERM. If
 * the user can live with the old one (read-only like all the rest), so be it.
 */
int tmpfs_mount_proc(const struct tmpfs *tmpfs, const struct plan *plan,
		   struct err *err)
{
	int r;

	if (tmpfs->proc == -EPERM && plan->weak_proc) {
		r = mask_all(tmpfs, true, err);
		return r < 0 ? r : 1;
	}
	if (tmpfs->proc < 0)
		return fail(err, tmpfs->proc, "cannot make a new /proc: %s",
			    strerror(-tmpfs->proc));
	r = tmpfs_attach(tmpfs->proc, "/proc", err);
	return r == 0 && plan->nested_userns ? open_proc(tmpfs, err) : r;
}

int tmpfs_close_sys(struct err *err)
{
	if (tree_attr(AT_FDCWD, "/sys", AT_RECURSIVE, MOUNT_ATTR_RDONLY, 0) < 0 &&
	    errno != ENOENT && errno != EINVAL)	/* Not there, not mounted */
		return fail_errno(err, "cannot make /sys read-only");
	return 0;
}
