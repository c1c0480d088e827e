/* SPDX-License-Identifier: Apache-2.0 */
/* cage/frame-ops.c - the operations of a frame, one by one */

#include "cage/frame-ops.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/frame-tree.h"
#include "plan/frame.h"

enum { COPY_ROOM = 16384 };

uint64_t frame_bind_attr(const struct frame_op *op)
{
	return MOUNT_ATTR_NOSUID |
	       (op->flags & FRAME_DEVICES ? 0 : MOUNT_ATTR_NODEV) |
	       (op->flags & FRAME_RDONLY ? MOUNT_ATTR_RDONLY : 0);
}

bool frame_has_pidns(const struct frame *frame)
{
	return frame->namespaces & CLONE_NEWPID || frame->pidns >= 0;
}

static const char *source_name(const struct frame_op *op)
{
	return op->source ? op->source : "a descriptor";
}

/* A mount of its own of what @source is a place in, restricted as @op has it */
static int clone_place(int source, const struct frame_op *op, struct err *err)
{
	const struct mount_attr attr = { .attr_set = frame_bind_attr(op) };
	auto_close int mount = sys_open_tree(source, "", OPEN_TREE_CLONE |
					     OPEN_TREE_CLOEXEC | AT_RECURSIVE |
					     AT_EMPTY_PATH);

	if (mount < 0 ||
	    sys_mount_setattr(mount, "", AT_EMPTY_PATH | AT_RECURSIVE,
			      &attr) < 0)
		return fail_errno(err, "Can't bind mount %s on %s",
				  source_name(op), op->dest);
	return take_fd(&mount);
}

int frame_take_mount(struct frame_source *source, const struct frame_op *op,
		     struct err *err)
{
	return source->is_mount ? take_fd(&source->fd)
				: clone_place(source->fd, op, err);
}

int frame_source_clone(struct frame_source *source, const struct frame_op *op,
		       struct err *err)
{
	const int mount = clone_place(source->fd, op, err);

	if (mount < 0)
		return mount;
	close_fd(&source->fd);
	*source = (struct frame_source){ .fd = mount, .is_mount = true };
	return 0;
}

bool frame_is_same(int a, int b)
{
	struct statx x, y;

	return statx(a, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &x) == 0 &&
	       statx(b, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &y) == 0 &&
	       x.stx_ino == y.stx_ino && x.stx_mnt_id == y.stx_mnt_id;
}

/* Attach @mount (taken over) at @at; if that is the root, it is from now on */
int frame_attach(struct frame_tree *tree, int mount, int at,
		 const struct frame_op *op, struct err *err)
{
	auto_close int fd = mount;
	const bool root = frame_is_same(tree->root, at);

	if (sys_move_mount(fd, "", at, "", MOVE_MOUNT_F_EMPTY_PATH |
					   MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return fail_errno(err, "Can't mount on %s", op->dest);
	if (root) {
		if (tree->root != tree->host)
			(void)close(tree->root);
		tree->root = take_fd(&fd);
	}
	return 0;
}

static int do_bind(struct frame_tree *tree, const struct frame_op *op,
		   struct frame_source *source, struct err *err)
{
	auto_close int at = -1;
	struct stat st;
	int mount;

	if (source->fd < 0)
		return 0;	/* Only tried */
	if (fstat(source->fd, &st) < 0)
		return fail_errno(err, "Can't get type of source %s",
				  source_name(op));
	at = S_ISDIR(st.st_mode) ? place_dir(tree->root, op, 0755, err)
				 : place_file(tree->root, op, err);
	if (at < 0)
		return at;
	mount = frame_take_mount(source, op, err);
	return mount < 0 ? mount : frame_attach(tree, mount, at, op, err);
}

/* A new file system on a directory */
static int mount_new(struct frame_tree *tree, const struct frame_op *op,
		     int mount, struct err *err)
{
	auto_close int fd = mount;
	auto_close int at = place_dir(tree->root, op, 0755, err);

	if (at < 0)
		return at;
	return frame_attach(tree, take_fd(&fd), at, op, err);
}

static int do_tmpfs(struct frame_tree *tree, const struct frame_op *op,
		    struct frame_source *source, struct err *err)
{
	const int mount = frame_new_tmpfs(op->perms, op->size, err);

	(void)source;
	return mount < 0 ? mount : mount_new(tree, op, mount, err);
}

static int do_mqueue(struct frame_tree *tree, const struct frame_op *op,
		     struct frame_source *source, struct err *err)
{
	const int mount = frame_new_fs("mqueue", NULL, 0, err);

	(void)source;
	if (mount < 0)
		return fail_in(err, mount, "Can't mount mqueue on %s", op->dest);
	return mount_new(tree, op, mount, err);
}

static int do_proc(struct frame_tree *tree, const struct frame_op *op,
		   struct frame_source *source, struct err *err)
{
	auto_close int proc = -1;
	int r;

	if (!frame_has_pidns(tree->frame)) {
		proc = frame_take_mount(source, op, err);
		if (proc < 0)
			return proc;
	} else {
		proc = frame_new_fs("proc", NULL, MOUNT_ATTR_NOSUID |
				    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
		if (proc < 0)
			return fail_in(err, proc, "Can't mount proc on %s",
				       op->dest);
	}
	r = mount_new(tree, op, fcntl(proc, F_DUPFD_CLOEXEC, 3), err);
	return r < 0 ? r : frame_cover_proc(proc, err);
}

static int do_dev(struct frame_tree *tree, const struct frame_op *op,
		  struct frame_source *source, struct err *err)
{
	auto_close int dev = frame_new_tmpfs(0755, 0, err);
	int r;

	(void)source;
	if (dev < 0)
		return dev;
	r = mount_new(tree, op, fcntl(dev, F_DUPFD_CLOEXEC, 3), err);
	return r < 0 ? r : frame_fill_dev(tree, dev, err);
}

/* A link that leads nowhere is left alone, and no failure: bubblewrap's mkdir()
 * says that something is there
 */
static int do_dir(struct frame_tree *tree, const struct frame_op *op,
		  struct frame_source *source, struct err *err)
{
	auto_close int there = place_open(tree->root, op->dest);
	auto_free char *name = NULL;
	auto_close int parent = -1;

	(void)source;
	if (there != -ENOENT) {
		close_fd(&there);
		there = place_dir(tree->root, op, op->perms, err);
		return there < 0 ? there : 0;
	}
	parent = place_parent(tree->root, op, &name, err);
	if (parent < 0)
		return parent;
	if (mkdirat(parent, name, op->perms) < 0 && errno != EEXIST)
		return fail_errno(err, "Can't mkdir %s", op->dest);
	return 0;
}

/* What was read is used up: its number stays taken, and cannot be read again */
static int copy_bytes(const struct frame_tree *tree, int to,
		      const struct frame_op *op, struct err *err)
{
	char room[COPY_ROOM];

	for (;;) {
		const ssize_t n = read(op->fd, room, sizeof(room));

		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || fs_write_all(to, room, (size_t)n) < 0)
			return fail_errno(err, "Can't write data to file %s",
					  op->dest);
	}
	if (dup3(tree->host, op->fd, O_CLOEXEC) < 0)
		return fail_errno(err, "Can't close fd %d", op->fd);
	return 0;
}

static int do_file(struct frame_tree *tree, const struct frame_op *op,
		   struct frame_source *source, struct err *err)
{
	const struct open_how how = {
		.flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY,
		.mode = op->perms, .resolve = RESOLVE_IN_ROOT,
	};
	auto_free char *name = NULL;
	auto_close int at = place_parent(tree->root, op, &name, err);
	auto_close int fd = -1;

	(void)source;
	if (at < 0)
		return at;
	fd = sys_openat2(tree->root, op->dest, &how);
	if (fd < 0)
		return fail_errno(err, "Can't create file %s", op->dest);
	return copy_bytes(tree, fd, op, err);
}

/* In the store under a name that goes at once; bound from there. The place comes
 * last: bytes that cannot be had leave none behind.
 */
static int do_data(struct frame_tree *tree, const struct frame_op *op,
		   struct frame_source *source, struct err *err)
{
	auto_free char *parent_name = NULL;
	auto_close int parent = place_parent(tree->root, op, &parent_name, err);
	auto_close int fd = -1, at = -1;
	char name[32];
	int mount, r;

	(void)source;
	if (parent < 0)
		return parent;
	snprintf(name, sizeof(name), "data%u", tree->stored++);
	fd = openat(tree->store, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	if (fd < 0 || fchmod(fd, op->perms) < 0)
		return fail_errno(err, "Can't create tmpfile for %s", op->dest);
	r = copy_bytes(tree, fd, op, err);
	if (r < 0)
		return r;
	at = place_file(tree->root, op, err);
	if (at < 0)
		return at;
	mount = clone_place(fd, op, err);
	if (mount < 0)
		return mount;
	r = frame_attach(tree, mount, at, op, err);
	(void)unlinkat(tree->store, name, 0);	/* Now: not while it moves */
	return r;
}

static int do_symlink(struct frame_tree *tree, const struct frame_op *op,
		      struct frame_source *source, struct err *err)
{
	auto_free char *name = NULL;
	auto_close int at = place_parent(tree->root, op, &name, err);
	char there[PATH_MAX];
	ssize_t n;

	(void)source;
	if (at < 0)
		return at;
	if (symlinkat(op->source, at, name) == 0)
		return 0;
	if (errno != EEXIST)
		return fail_errno(err, "Can't make symlink at %s", op->dest);
	n = readlinkat(at, name, there, sizeof(there) - 1);
	if (n < 0)
		return fail(err, -EEXIST, "Can't make symlink at %s: destination exists and is not a symlink",
			    op->dest);
	there[n] = '\0';
	if (strcmp(there, op->source) != 0)
		return fail(err, -EEXIST, "Can't make symlink at %s: existing destination is %s",
			    op->dest, there);
	return 0;
}

static int open_there(const struct frame_tree *tree, const struct frame_op *op,
		      struct err *err)
{
	const int at = place_open(tree->root, op->dest);

	return at < 0 ? fail(err, at, "Can't open %s: %s", op->dest,
			     strerror(-at)) : at;
}

static int do_remount(struct frame_tree *tree, const struct frame_op *op,
		      struct frame_source *source, struct err *err)
{
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV,
	};
	auto_free char *name = NULL;
	auto_close int parent = place_parent(tree->root, op, &name, err);
	auto_close int at = parent < 0 ? parent : open_there(tree, op, err);

	(void)source;
	if (at < 0)
		return at;
	if (sys_mount_setattr(at, "", AT_EMPTY_PATH, &attr) < 0)
		return fail_errno(err, "Can't remount readonly on %s",
				  op->dest);
	return 0;
}

static int do_chmod(struct frame_tree *tree, const struct frame_op *op,
		    struct frame_source *source, struct err *err)
{
	auto_close int at = open_there(tree, op, err);
	char path[32];

	(void)source;
	if (at < 0)
		return at;
	frame_fd_path(at, path, sizeof(path));
	if (fchmodat(tree->self, path, op->perms, 0) < 0)
		return fail_errno(err, "Can't chmod %#o %s", op->perms,
				  op->dest);
	return 0;
}

static int do_hostname(struct frame_tree *tree, const struct frame_op *op,
		       struct frame_source *source, struct err *err)
{
	(void)tree;
	(void)source;
	if (sethostname(op->source, strlen(op->source)) < 0)
		return fail_errno(err, "Can't set hostname to %s", op->source);
	return 0;
}

int frame_do(struct frame_tree *tree, size_t i, struct err *err)
{
	static int (*const run[FRAME_KINDS])(struct frame_tree *,
					     const struct frame_op *,
					     struct frame_source *,
					     struct err *) = {
		[FRAME_BIND] = do_bind, [FRAME_OVERLAY] = frame_overlay,
		[FRAME_REMOUNT] = do_remount, [FRAME_PROC] = do_proc,
		[FRAME_DEV] = do_dev, [FRAME_TMPFS] = do_tmpfs,
		[FRAME_MQUEUE] = do_mqueue, [FRAME_DIR] = do_dir,
		[FRAME_FILE] = do_file, [FRAME_DATA] = do_data,
		[FRAME_SYMLINK] = do_symlink, [FRAME_CHMOD] = do_chmod,
		[FRAME_HOSTNAME] = do_hostname,
	};
	const struct frame_op *op = &tree->frame->ops.v[i];
	int r = frame_open_source(tree, i, err);

	if (r == 0)
		r = run[op->kind](tree, op, &tree->sources[i], err);
	close_fd(&tree->sources[i].fd);
	return r;
}
