/* SPDX-License-Identifier: Apache-2.0 */
/* cage/box.c - the tmpfs of our own behind masks, /dev, /dev/shm and /tmp */

#include "cage/box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "plan/plan.h"

static const char *const nodes[BOX_NODES] = {
	"null", "zero", "full", "random", "urandom", "tty",
};

static const struct {
	const char *target, *name;
} links[] = {
	{ "/proc/self/fd", "dev/fd" },
	{ "/proc/self/fd/0", "dev/stdin" },
	{ "/proc/self/fd/1", "dev/stdout" },
	{ "/proc/self/fd/2", "dev/stderr" },
	{ "pts/ptmx", "dev/ptmx" },
};

static const struct {
	const char *name;
	mode_t mode;
} dirs[] = {
	{ "empty", 0555 }, { "writable", 0755 }, { "dev", 0755 }, { "dev/shm", 01777 },
	{ "dev/pts", 0755 }, { "shm", 01777 }, { "tmp", 01777 },
};

/* Masks are clones of it and stay that way; what must be writable clears it */
enum {
	BOX_ATTR = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
		   MOUNT_ATTR_NOEXEC,
};

/* The caller's terminal, to be /dev/console: a private devpts has no name for
 * it, and ttyname() looks in /dev. Nothing depends on it.
 */
static int clone_terminal(const struct cage_request *request)
{
	for (size_t i = 0; i < ARRAY_SIZE(request->stdio); i++) {
		char link[32], path[64];
		struct stat st, named;
		ssize_t n;

		if (request->stdio[i] < 0 || !isatty(request->stdio[i]))
			continue;
		snprintf(link, sizeof(link), "/proc/self/fd/%d",
			 request->stdio[i]);
		n = readlink(link, path, sizeof(path) - 1);
		path[n > 0 ? n : 0] = '\0';
		if (fstat(request->stdio[i], &st) == 0 &&
		    lstat(path, &named) == 0 && st.st_rdev == named.st_rdev &&
		    st.st_ino == named.st_ino)
			return sys_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE |
							     OPEN_TREE_CLOEXEC);
	}
	return -1;
}

static int clone_nodes(struct box *box, struct err *err)
{
	for (size_t i = 0; i < BOX_NODES; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/dev/%s", nodes[i]);
		box->nodes[i] = sys_open_tree(AT_FDCWD, path,
					      OPEN_TREE_CLONE |
					      OPEN_TREE_CLOEXEC);
		if (box->nodes[i] < 0)
			return fail_errno(err, "cannot clone '%s'", path);
	}
	return 0;
}

int box_prepare(struct box *box, const struct cage_request *request,
		struct err *err)
{
	auto_close int fd = -1;

	box->console = clone_terminal(request);
	if (!request->tmp_path)
		return 0;
	fd = tree_open(request->tmp_path, err);
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
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "755", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fail_errno(err, "cannot make a tmpfs");
	fd = sys_fsmount(fs, FSMOUNT_CLOEXEC,
			 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (fd < 0)
		return fail_errno(err, "cannot mount a tmpfs");
	return fd;
}

static int make_dir(int box, const char *path, mode_t mode, struct err *err)
{
	if (mkdirat(box, path, mode) < 0 && errno != EEXIST)
		return fail_errno(err, "cannot make the mount point '%s'",
				  path);
	return 0;
}

static int make_file(int box, const char *path, mode_t mode, struct err *err)
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

/* A stub and the directories above it, inside its mask */
static int make_stub(int box, const struct plan_stub *stub, struct err *err)
{
	char path[4096 + 32];
	size_t n;
	int r = 0;

	box_mask_name(stub->mask, path, sizeof(path));
	n = strlen(path);
	if ((size_t)snprintf(path + n, sizeof(path) - n, "/%s", stub->path) >=
	    sizeof(path) - n)
		return fail(err, -ENAMETOOLONG, "'%s' is too long", stub->path);

	/* Directories that only lead somewhere take no files of their own:
	 * they are sealed below, once everything is in them
	 */
	for (char *p = path + n + 1; r == 0 && (p = strchr(p, '/')); p++) {
		*p = '\0';
		r = make_dir(box, path, 0755, err);
		*p = '/';
	}
	if (r < 0)
		return r;
	if (stub->target)
		return make_link(box, path, stub->target, err);
	if (stub->is_dir)
		return make_dir(box, path, 0755, err);
	r = make_file(box, path, 0644, err);
	return r < 0 || !stub->text ? r : write_text(box, path, stub->text, err);
}

/* The directories above a stub: what is beside it is not the command's */
static int seal_stub(int box, const struct plan_stub *stub, struct err *err)
{
	char path[4096 + 32];
	size_t n;

	box_mask_name(stub->mask, path, sizeof(path));
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/%s", stub->path);
	for (char *p = path + n + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (fchmodat(box, path, 0555, 0) < 0)
			return fail_errno(err, "cannot seal '%s'", path);
		*p = '/';
	}
	return 0;
}

/* What is in every box */
static int furnish(int box, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(dirs); i++)
		r = make_dir(box, dirs[i].name, dirs[i].mode, err);
	if (r == 0)
		r = make_file(box, "unreadable", 0, err);
	for (size_t i = 0; r == 0 && i < BOX_NODES; i++) {
		char path[32];

		snprintf(path, sizeof(path), "dev/%s", nodes[i]);
		r = make_file(box, path, 0644, err);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(links); i++) {
		if (symlinkat(links[i].target, box, links[i].name) < 0)
			r = fail_errno(err, "cannot link '%s'", links[i].name);
	}
	return r;
}

static int make_pts(struct err *err)
{
	auto_close int fs = sys_fsopen("devpts", FSOPEN_CLOEXEC);
	int tree;

	if (fs < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_FLAG, "newinstance", NULL, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "ptmxmode", "0666", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "620", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fail_errno(err, "cannot make a private devpts");
	tree = sys_fsmount(fs, FSMOUNT_CLOEXEC,
			   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (tree < 0)
		return fail_errno(err, "cannot mount a private devpts");
	return tree;
}

int box_begin(struct box *box, struct err *err)
{
	const mode_t before = umask(0);	/* Modes are ours to choose */
	int r;

	*box = (struct box){
		.fd = make_tmpfs(err), .proc = -ENOENT, .pts = -1,
		.console = -1, .tmp = -1, .writable = -1,
	};
	r = box->fd < 0 ? box->fd : furnish(box->fd, err);
	(void)umask(before);
	if (r == 0)
		r = clone_nodes(box, err);
	if (r == 0)
		r = box->pts = make_pts(err);
	box->proc = box_make_proc();
	return r < 0 ? r : 0;
}

/* What only this plan wants in the box */
static int fill(int box, const struct plan *plan, bool console,
		struct err *err)
{
	int r = console ? make_file(box, "dev/console", 0644, err) : 0;

	if (r == 0 && plan->talk)
		r = make_dir(box, "masks", 0555, err);
	for (unsigned int m = MASK_FIRST; r == 0 && m < plan->masks; m++) {
		char name[32];

		box_mask_name(m, name, sizeof(name));
		r = make_dir(box, name, 0755, err);
	}
	for (size_t i = 0; r == 0 && i < plan->stubs.len; i++)
		r = make_stub(box, &plan->stubs.v[i], err);
	for (size_t i = 0; r == 0 && i < plan->stubs.len; i++) {
		if (!plan->stubs.v[i].open)
			r = seal_stub(box, &plan->stubs.v[i], err);
	}
	return r;
}

int box_open(struct box *box, const struct plan *plan, struct err *err)
{
	auto_close int at = -1;
	const mode_t before = umask(0);
	int r = fill(box->fd, plan, box->console >= 0, err);

	(void)umask(before);
	if (r == 0)
		r = tree_set(box->fd, BOX_ATTR, 0, err, "our own tmpfs");
	if (r < 0)
		return r;
	/* Kernels before 6.15 clone only what is attached somewhere */
	at = tree_open("/dev", err);
	if (at < 0)
		return at;
	return tree_attach(box->fd, at, err, "/dev");
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

static int attach_at(int tree, const char *path, struct err *err)
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
	return attach_at(box->tmp, "/tmp", err);
}

/* Onto a directory or file of the new /dev, by descriptor and name */
static int attach_in(int dev, int tree, const char *name, struct err *err)
{
	if (sys_move_mount(tree, "", dev, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return fail_errno(err, "cannot mount on '/dev/%s'", name);
	return 0;
}

static int fill_dev(struct box *box, int dev, struct err *err)
{
	auto_close int shm = box_part(box, "shm", MOUNT_ATTR_RDONLY |
					MOUNT_ATTR_NOEXEC, err);
	int r = shm < 0 ? shm : attach_in(dev, shm, "shm", err);

	for (size_t i = 0; r == 0 && i < BOX_NODES; i++) {
		r = attach_in(dev, box->nodes[i], nodes[i], err);
		close_fd(&box->nodes[i]);
	}
	if (r == 0 && box->console >= 0)
		r = attach_in(dev, box->console, "console", err);
	return r < 0 ? r : attach_in(dev, box->pts, "pts", err);
}

int box_mount_dev(struct box *box, struct err *err)
{
	auto_close int dev = box_part(box, "dev", 0, err);
	int r = dev < 0 ? dev : attach_at(dev, "/dev", err);

	if (r == 0)
		r = fill_dev(box, dev, err);
	close_fd(&box->fd);
	close_fd(&box->proc);
	close_fd(&box->pts);
	close_fd(&box->tmp);
	close_fd(&box->writable);
	close_fd(&box->console);
	return r;
}
