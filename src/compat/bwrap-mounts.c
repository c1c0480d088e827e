/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat/bwrap-mounts.c - the root that a caller of bubblewrap asks for
 *
 * Theory of operation: the new root is mounted on top of the old one, where
 * only its descriptor leads to it: a look-up that starts at "/" does not cross
 * what is mounted on "/". So sources keep their names while the new root grows,
 * and at the end it changes places with the old one, which is let go.
 *
 * Every look-up of a destination starts at the new root's descriptor and takes
 * that for the root, so that an absolute link inside it leads to a place inside
 * it, and no ".." leads out. What a caller names and what is then mounted on is
 * one descriptor.
 *
 * Mounts stay slaves of the host's: what is mounted there later below a bound
 * directory appears here too, as callers of bubblewrap are used to.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "compat/bwrap.h"
#include "sandbox/mount-fd.h"
#include "view/view.h"

enum {
	COPY_BYTES = 16384,
	TRIES = 32,	/* The kernel gives up when ".." and a rename meet */
};

/**
 * struct builder - Descriptors while the new root is built
 * @host:	The root as it was
 * @root:	The new one
 * @self:	/proc/self, to name descriptors for calls that take paths
 * @store:	A tmpfs below the new root, for bytes and overlays; -1 if not needed
 * @stored:	The last name in it
 */
struct builder {
	struct bwrap_plan *plan;
	int host, root, self, store;
	unsigned int stored;
};

static bool has_pidns(const struct bwrap_plan *plan)
{
	return plan->namespaces & CLONE_NEWPID || plan->pidns >= 0;
}

static bool is_dir(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Do both lead to the same place of the same mount? */
static bool is_same_place(int a, int b)
{
	struct statx x, y;

	return statx(a, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &x) == 0 &&
	       statx(b, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &y) == 0 &&
	       x.stx_ino == y.stx_ino && x.stx_mnt_id == y.stx_mnt_id;
}

/* Open @path in the new root; the descriptor or a negative errno */
static int open_in(int root, const char *path, uint64_t flags, mode_t mode)
{
	const struct open_how how = {
		.flags = O_CLOEXEC | flags, .mode = mode,
		.resolve = RESOLVE_IN_ROOT,
	};
	int fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = sys_openat2(root, *path ? path : ".", &how);
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

/* Parents of what others may not see are not for others either. What has no mode
 * of its own (a bind, a link) counts as such: bubblewrap does it so.
 */
static mode_t parent_mode(const struct bwrap_op *op)
{
	return 0755 & (op->perms & 0070 ? ~0U : ~0050U) &
	       (op->perms & 0007 ? ~0U : ~0005U);
}

/* The directory @path, which lies in @above under the name @name */
static int open_or_make(int root, const char *path, int above,
			const char *name, mode_t mode)
{
	const int fd = open_in(root, path, O_PATH | O_DIRECTORY, 0);

	if (fd != -ENOENT)
		return fd;
	if (mkdirat(above, name, mode) < 0 && errno != EEXIST)
		return -errno;
	return open_in(root, path, O_PATH | O_DIRECTORY, 0);
}

/* The directory above @op's destination, made if it is missing; the name in there
 * is *@ret_name, the caller's, "." for the root
 */
static int open_parent(const struct builder *b, const struct bwrap_op *op,
		       char **ret_name, struct err *err)
{
	auto_free char *path = mem_strdup(op->dest);
	auto_close int at = open_in(b->root, "", O_PATH, 0);
	size_t n = strlen(path);
	char *p = path;

	while (n && path[n - 1] == '/')
		path[--n] = '\0';
	while (at >= 0) {
		char *name = p + strspn(p, "/"), *end = strchr(name, '/');
		int next;

		if (!end) {
			*ret_name = mem_strdup(*name ? name : ".");
			return take_fd(&at);
		}
		*end = '\0';
		next = open_or_make(b->root, path, at, name, parent_mode(op));
		*end = '/';
		close_fd(&at);
		at = next;
		p = end;
	}
	return fail(err, at, "Can't mkdir parents for %s: %s", op->dest,
		    strerror(-at));
}

/* Make a directory or an empty file, also where a link says that it should be */
static int make_dest(const struct builder *b, const struct bwrap_op *op,
		     bool dir, struct err *err)
{
	auto_free char *name = NULL;
	auto_close int parent = open_parent(b, op, &name, err), made = -1;

	if (parent < 0)
		return parent;
	if (dir)
		return mkdirat(parent, name, 0755) < 0 && errno != EEXIST ?
		       fail_errno(err, "Can't mkdir %s", op->dest) : 0;
	made = open_in(b->root, op->dest, O_WRONLY | O_CREAT | O_NOCTTY, 0444);
	return made < 0 ? fail(err, made, "Can't create file at %s: %s",
			       op->dest, strerror(-made)) : 0;
}

/* @op's destination, made if it is missing: a directory, or anything else */
static int open_dest(const struct builder *b, const struct bwrap_op *op,
		     bool dir, struct err *err)
{
	auto_close int fd = open_in(b->root, op->dest, O_PATH, 0);
	int r;

	if (fd == -ENOENT) {
		r = make_dest(b, op, dir, err);
		if (r < 0)
			return r;
		fd = open_in(b->root, op->dest, O_PATH, 0);
	}
	r = fd < 0 ? fd : is_dir(fd) == dir ? 0 : dir ? -ENOTDIR : -EISDIR;
	if (r < 0)
		return fail(err, r, dir ? "Can't mkdir %s: %s" :
			    "Can't create file at %s: %s", op->dest,
			    strerror(-r));
	return take_fd(&fd);
}

/* What is behind the caller's descriptor, in our mount namespace: the
 * descriptor itself belongs to the caller's, and cannot be bound
 */
static int open_by_fd(const struct bwrap_op *op, struct err *err)
{
	char link[32], path[PATH_MAX];
	struct stat ours, theirs;
	auto_close int fd = -1;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", op->fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return fail_errno(err, "Can't find source path %s", link);
	path[n] = '\0';
	fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return fail_errno(err, "Can't find source path %s", path);
	if (fstat(fd, &ours) < 0 || fstat(op->fd, &theirs) < 0)
		return fail_errno(err, "Can't stat fd %d", op->fd);
	if (ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev)
		return fail(err, -ESTALE, "Race condition binding dirfd");
	return take_fd(&fd);
}

static int open_path(const char *path, struct err *err)
{
	const int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? fail_errno(err, "Can't find source path %s", path) : fd;
}

static int open_source(const struct bwrap_op *op, struct err *err)
{
	return op->fd >= 0 ? open_by_fd(op, err) : open_path(op->source, err);
}

/* A mount of its own of what @source leads to, restricted as @op has it */
static int clone_source(int source, const struct bwrap_op *op, struct err *err)
{
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOSUID |
			    (op->flags & BWRAP_DEVICES ? 0 : MOUNT_ATTR_NODEV) |
			    (op->flags & BWRAP_RDONLY ? MOUNT_ATTR_RDONLY : 0),
	};
	auto_close int mount = tree_clone(source, NULL, op->dest);

	if (mount < 0 ||
	    sys_mount_setattr(mount, "", AT_EMPTY_PATH | AT_RECURSIVE,
			      &attr) < 0)
		return fail_errno(err, "Can't bind mount %s on %s",
				  op->source ? op->source : "a descriptor",
				  op->dest);
	return take_fd(&mount);
}

/* Attach @mount at @at; if that is the root, it is @mount from now on */
static int attach(struct builder *b, int mount, int at,
		  const struct bwrap_op *op, struct err *err)
{
	const bool root = is_same_place(b->root, at);

	if (tree_attach(mount, at, NULL, op->dest) < 0)
		return fail_errno(err, "Can't mount on %s", op->dest);
	if (root) {
		close_fd(&b->root);
		b->root = fcntl(mount, F_DUPFD_CLOEXEC, 3);
	}
	return root && b->root < 0 ? fail_errno(err, "Can't keep the root") : 0;
}

/* A new mount for @op, detached; or -ENOENT and the like with a message */
static int new_bind(struct builder *b, struct bwrap_op *op, struct err *err)
{
	auto_close int mount = take_fd(&op->mount), source = -1;

	(void)b;
	if (mount >= 0)
		return take_fd(&mount);
	source = open_source(op, err);
	return source < 0 ? source : clone_source(source, op, err);
}

static int new_file_system(const char *type, const char *const (*options)[2],
			   unsigned int attr, const char *dest, struct err *err)
{
	const int mount = mount_new(type, options, attr);

	return mount < 0 ? fail(err, mount, "Can't mount %s on %s: %s", type,
				dest, strerror(-mount)) : mount;
}

static int new_tmpfs(mode_t mode, uint64_t size, const char *dest,
		     struct err *err)
{
	char mode_text[16], size_text[32];
	const char *const options[][2] = {
		{ "source", "tmpfs" }, { "mode", mode_text },
		{ size ? "size" : NULL, size_text }, { NULL },
	};

	snprintf(mode_text, sizeof(mode_text), "%o", mode);
	snprintf(size_text, sizeof(size_text), "%llu",
		 (unsigned long long)size);
	return new_file_system("tmpfs", options, MOUNT_ATTR_NOSUID |
			       MOUNT_ATTR_NODEV, dest, err);
}

static int new_op_tmpfs(struct builder *b, struct bwrap_op *op, struct err *err)
{
	(void)b;
	return new_tmpfs(op->kind == BWRAP_DEV ? 0755 : op->perms, op->size,
			 op->dest, err);
}

static int new_mqueue(struct builder *b, struct bwrap_op *op, struct err *err)
{
	static const char *const options[][2] = { { "source", "mqueue" }, { 0 } };

	(void)b;
	return new_file_system("mqueue", options, 0, op->dest, err);
}

/* A new one, or the host's where its processes are ours */
static int new_proc(struct builder *b, struct bwrap_op *op, struct err *err)
{
	static const char *const options[][2] = { { "source", "proc" }, { 0 } };
	auto_close int host = -1;

	if (has_pidns(b->plan))
		return new_file_system("proc", options, MOUNT_ATTR_NOSUID |
				       MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
				       op->dest, err);
	host = open_path("/proc", err);
	return host < 0 ? host : clone_source(host, op, err);
}

/* Where we could write to settings of the kernel, by whatever right, they become
 * read-only
 */
static int fill_proc(int proc, struct err *err)
{
	static const char *const settings[] = {
		"sys", "sysrq-trigger", "irq", "bus",
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(settings); i++) {
		r = faccessat(proc, settings[i], W_OK, AT_EACCESS) == 0 ?
		    tree_seal(proc, settings[i]) :
		    errno == EACCES || errno == ENOENT || errno == EROFS ? 0 :
		    -errno;
		if (r < 0)
			return fail(err, r, "Can't make %s of proc read-only: %s",
				    settings[i], strerror(-r));
	}
	return r;
}

/* The host's device @path by itself, mounted on @name */
static int bind_node(int dev, const char *path, const char *name,
		     struct err *err)
{
	const struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID };
	auto_close int node = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE |
					    OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (node < 0 ||
	    sys_mount_setattr(node, "", AT_EMPTY_PATH, &attr) < 0 ||
	    move_mount(node, "", dev, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return fail_errno(err, "Can't bind mount %s", path);
	return 0;
}

static int fill_dev(int dev, struct err *err)
{
	auto_close int pts = mount_new_devpts();
	char path[64];
	int r = dev_furnish(dev, 0755, err);

	for (size_t i = 0; r == 0 && i < VIEW_DEVICES; i++) {
		snprintf(path, sizeof(path), "/dev/%s", view_devices[i]);
		r = bind_node(dev, path, view_devices[i], err);
	}
	if (r == 0 && isatty(STDOUT_FILENO) &&
	    ttyname_r(STDOUT_FILENO, path, sizeof(path)) == 0 &&
	    mknodat(dev, "console", S_IFREG | 0444, 0) == 0)
		r = bind_node(dev, path, "console", err);
	if (r < 0)
		return r;
	if (symlinkat("/proc/kcore", dev, "core") < 0)
		return fail_errno(err, "Can't create symlink core");
	if (pts < 0)
		return fail(err, pts, "Can't make a new devpts: %s",
			    strerror(-pts));
	return move_mount(pts, "", dev, "pts", MOVE_MOUNT_F_EMPTY_PATH) < 0 ?
	       fail_errno(err, "Can't mount devpts") : 0;
}

/* A link that leads nowhere is left alone, and no failure: bubblewrap's mkdir()
 * says that something is there
 */
static int do_dir(struct builder *b, struct bwrap_op *op, struct err *err)
{
	auto_free char *name = NULL;
	auto_close int parent = open_parent(b, op, &name, err), at = -1;

	if (parent < 0)
		return parent;
	if (mkdirat(parent, name, op->perms) == 0)
		return 0;
	if (errno != EEXIST)
		return fail_errno(err, "Can't mkdir %s", op->dest);
	at = open_in(b->root, op->dest, O_PATH, 0);
	if (at == -ENOENT)
		return 0;
	close_fd(&at);
	at = open_dest(b, op, true, err);
	return at < 0 ? at : 0;
}

/* A number that was read stays taken, and cannot be read again */
static int copy_bytes(const struct builder *b, int to,
		      const struct bwrap_op *op, struct err *err)
{
	char bytes[COPY_BYTES];

	for (;;) {
		const ssize_t n = read(op->fd, bytes, sizeof(bytes));

		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || fs_write_all(to, bytes, (size_t)n) < 0)
			return fail_errno(err, "Can't write data to file %s",
					  op->dest);
	}
	if (dup3(b->host, op->fd, O_CLOEXEC) < 0)
		return fail_errno(err, "Can't close fd %d", op->fd);
	return 0;
}

static int do_file(struct builder *b, struct bwrap_op *op, struct err *err)
{
	auto_free char *name = NULL;
	auto_close int at = open_parent(b, op, &name, err), fd = -1;

	if (at < 0)
		return at;
	fd = open_in(b->root, op->dest, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY,
		     op->perms);
	if (fd < 0)
		return fail(err, fd, "Can't create file %s: %s", op->dest,
			    strerror(-fd));
	return copy_bytes(b, fd, op, err);
}

/* A file in the store. Its name goes once the mount is attached, not before: the
 * kernel attaches nothing that is unlinked.
 */
static int new_data(struct builder *b, struct bwrap_op *op, struct err *err)
{
	auto_free char *parent_name = NULL;
	auto_close int parent = open_parent(b, op, &parent_name, err), fd = -1;
	char name[32];
	int r;

	if (parent < 0)
		return parent;
	snprintf(name, sizeof(name), "%u", ++b->stored);
	fd = openat(b->store, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	if (fd < 0 || fchmod(fd, op->perms) < 0)
		return fail_errno(err, "Can't create tmpfile for %s", op->dest);
	r = copy_bytes(b, fd, op, err);
	return r < 0 ? r : clone_source(fd, op, err);
}

static void unlink_stored(const struct builder *b)
{
	char name[32];

	snprintf(name, sizeof(name), "%u", b->stored);
	(void)unlinkat(b->store, name, 0);
}

static int do_symlink(struct builder *b, struct bwrap_op *op, struct err *err)
{
	auto_free char *name = NULL;
	auto_close int at = open_parent(b, op, &name, err);
	char there[PATH_MAX];
	ssize_t n;

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

static int open_existing(const struct builder *b, const struct bwrap_op *op,
			 struct err *err)
{
	const int at = open_in(b->root, op->dest, O_PATH, 0);

	return at < 0 ? fail(err, at, "Can't open %s: %s", op->dest,
			     strerror(-at)) : at;
}

static int do_remount(struct builder *b, struct bwrap_op *op, struct err *err)
{
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV,
	};
	auto_free char *name = NULL;
	auto_close int parent = open_parent(b, op, &name, err);
	auto_close int at = parent < 0 ? parent : open_existing(b, op, err);

	if (at < 0)
		return at;
	if (sys_mount_setattr(at, "", AT_EMPTY_PATH, &attr) < 0)
		return fail_errno(err, "Can't remount readonly on %s",
				  op->dest);
	return 0;
}

static int do_chmod(struct builder *b, struct bwrap_op *op, struct err *err)
{
	auto_close int at = open_existing(b, op, err);
	char path[32];

	if (at < 0)
		return at;
	snprintf(path, sizeof(path), "fd/%d", at);
	if (fchmodat(b->self, path, op->perms, 0) < 0)
		return fail_errno(err, "Can't chmod %#o %s", op->perms,
				  op->dest);
	return 0;
}

static int do_hostname(struct builder *b, struct bwrap_op *op, struct err *err)
{
	(void)b;
	if (sethostname(op->source, strlen(op->source)) < 0)
		return fail_errno(err, "Can't set hostname to %s", op->source);
	return 0;
}

/* A new directory in the store */
static int make_scratch(struct builder *b, struct err *err)
{
	char name[32];
	int fd = -1;

	snprintf(name, sizeof(name), "%u", ++b->stored);
	if (mkdirat(b->store, name, 0755) == 0)
		fd = openat(b->store, name, O_PATH | O_CLOEXEC);
	return fd < 0 ? fail_errno(err, "Can't make a directory for an overlay")
		      : fd;
}

/* Upper and work directory, or -1, then the lower ones, topmost first: that is the
 * caller's last. 0, or a negative errno with a message.
 */
static int open_layers(struct builder *b, const struct bwrap_op *op, int *fds,
		       struct err *err)
{
	const char *const upper[] = { op->source, op->work };
	const size_t n = 2 + op->layers;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		fds[i] = -1;
	for (size_t i = 0; r >= 0 && i < 2; i++) {
		if (op->flags & BWRAP_SCRATCH)
			r = fds[i] = make_scratch(b, err);
		else if (upper[i])
			r = fds[i] = open_path(upper[i], err);
	}
	for (size_t i = 2; r >= 0 && i < n; i++)
		r = fds[i] = open_path(b->plan->layers.v[op->layer + n - 1 - i],
				       err);
	return r < 0 ? r : 0;
}

/* In /proc/self, where the names of descriptors are short */
static int overlay_of(const struct builder *b, const struct bwrap_op *op,
		      const int *fds, struct err *err)
{
	auto_close int cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int mount;

	if (cwd < 0 || fchdir(b->self) < 0)
		return fail_errno(err, "chdir /proc/self");
	mount = mount_new_overlay("fd/", fds + 2, op->layers, fds[0], fds[1]);
	if (fchdir(cwd) < 0)
		return fail_errno(err, "chdir back");
	return mount >= 0 ? mount :
	       fail(err, mount, "Can't make overlay mount on %s: %s", op->dest,
		    mount == -ELOOP ? "Overlay directories may not overlap"
				    : strerror(-mount));
}

static int new_overlay(struct builder *b, struct bwrap_op *op, struct err *err)
{
	auto_free int *fds = mem_zalloc((2 + op->layers) * sizeof(*fds));
	int r = open_layers(b, op, fds, err);

	if (r == 0)
		r = overlay_of(b, op, fds, err);
	for (size_t i = 0; i < 2 + op->layers; i++)
		close_fd(&fds[i]);
	return r;
}

/**
 * struct operation - How a kind of operation is done
 * @make:	A mount to attach at the destination: detached, or a negative errno
 *		with a message
 * @fill:	What is then done in it, or NULL
 * @act:	Instead of a mount
 */
static const struct operation {
	int (*make)(struct builder *b, struct bwrap_op *op, struct err *err);
	int (*fill)(int mount, struct err *err);
	int (*act)(struct builder *b, struct bwrap_op *op, struct err *err);
} operations[BWRAP_KINDS] = {
	[BWRAP_BIND] = { .make = new_bind },
	[BWRAP_OVERLAY] = { .make = new_overlay },
	[BWRAP_PROC] = { .make = new_proc, .fill = fill_proc },
	[BWRAP_DEV] = { .make = new_op_tmpfs, .fill = fill_dev },
	[BWRAP_TMPFS] = { .make = new_op_tmpfs },
	[BWRAP_MQUEUE] = { .make = new_mqueue },
	[BWRAP_DATA] = { .make = new_data },
	[BWRAP_REMOUNT] = { .act = do_remount }, [BWRAP_DIR] = { .act = do_dir },
	[BWRAP_FILE] = { .act = do_file }, [BWRAP_SYMLINK] = { .act = do_symlink },
	[BWRAP_CHMOD] = { .act = do_chmod },
	[BWRAP_HOSTNAME] = { .act = do_hostname },
};

static int carry_out(struct builder *b, struct bwrap_op *op, struct err *err)
{
	const struct operation *how = &operations[op->kind];
	auto_close int mount = -1, at = -1;
	int r;

	if (how->act)
		return how->act(b, op, err);
	mount = how->make(b, op, err);
	if (mount < 0)
		return mount == -ENOENT && op->flags & BWRAP_TRY ? 0 : mount;
	at = open_dest(b, op, is_dir(mount), err);
	if (at < 0)
		return at;
	r = attach(b, mount, at, op, err);
	if (op->kind == BWRAP_DATA)
		unlink_stored(b);
	return r < 0 || !how->fill ? r : how->fill(mount, err);
}

/* Find what is missing before anything is done. The root is cloned here: its
 * mount is about to carry the new one, and a later copy would, too.
 */
static int check_sources(struct builder *b, struct err *err)
{
	for (size_t i = 0; i < b->plan->ops.len; i++) {
		struct bwrap_op *op = &b->plan->ops.v[i];
		auto_close int fd = -1;

		if ((op->kind != BWRAP_BIND && op->kind != BWRAP_OVERLAY) ||
		    (op->fd < 0 && !op->source))
			continue;
		fd = open_source(op, err);
		if (fd == -ENOENT && op->flags & BWRAP_TRY)
			continue;
		if (fd < 0)
			return fd;
		if (op->kind != BWRAP_BIND || !is_same_place(fd, b->host))
			continue;
		op->mount = clone_source(fd, op, err);
		if (op->mount < 0)
			return op->mount;
	}
	return 0;
}

/* Attach @mount (taken over) on top of all that is mounted on "/" */
static int stack_on_root(const struct builder *b, int mount, struct err *err)
{
	auto_close int fd = mount;

	if (fd >= 0 && tree_attach(fd, b->host, NULL, "/") < 0)
		return fail_errno(err, "Can't mount on /");
	return take_fd(&fd);
}

static bool needs_store(const struct bwrap_plan *plan)
{
	for (size_t i = 0; i < plan->ops.len; i++) {
		if (plan->ops.v[i].kind == BWRAP_DATA ||
		    plan->ops.v[i].flags & BWRAP_SCRATCH)
			return true;
	}
	return false;
}

/* The new root takes the old one's place, and the old one goes, with what is
 * stacked on it: each call takes the topmost. A mount that is gone cannot be
 * changed either; one that can is still there.
 */
static int enter_root(const struct builder *b, struct err *err)
{
	const struct mount_attr same = { .propagation = MS_PRIVATE };

	if (fchdir(b->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return fail_errno(err, "pivot_root");
	if (fchdir(b->host) < 0)
		return fail_errno(err, "chdir to the old root");
	while (umount2(".", MNT_DETACH) == 0)
		;
	if (errno != EINVAL)
		return fail_errno(err, "unmount old root");
	if (sys_mount_setattr(b->host, "", AT_EMPTY_PATH, &same) == 0)
		return fail(err, -EBUSY, "the old root is still there");
	if (chdir("/") < 0)
		return fail_errno(err, "chdir /");
	return 0;
}

static int build_root(struct builder *b, struct err *err)
{
	const struct mount_attr slave = { .propagation = MS_SLAVE };
	struct bwrap_op *first = b->plan->ops.v;
	int r = check_sources(b, err);
	bool bound;

	if (r < 0)
		return r;
	if (sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &slave) < 0)
		return fail_errno(err, "Failed to make / slave");
	if (needs_store(b->plan))
		r = b->store = stack_on_root(b, new_tmpfs(0755, 0, "/", err),
					     err);
	/* The host's root, bound on "/" before all else, needs no tmpfs below it */
	bound = b->plan->ops.len && first->mount >= 0 &&
		!strcmp(first->dest, "/");
	if (r >= 0)
		r = b->root = stack_on_root(b, bound ? take_fd(&first->mount) :
					    new_tmpfs(0755, 0, "/", err), err);
	for (size_t i = bound; r >= 0 && i < b->plan->ops.len; i++)
		r = carry_out(b, &b->plan->ops.v[i], err);
	return r < 0 ? r : enter_root(b, err);
}

int bwrap_build(struct bwrap_plan *plan, struct err *err)
{
	struct builder b = {
		.plan = plan, .root = -1, .store = -1,
		.host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	const int r = b.host < 0 || b.self < 0 ?
		      fail_errno(err, "Can't open /proc") : build_root(&b, err);

	close_fd(&b.host);
	close_fd(&b.root);
	close_fd(&b.self);
	close_fd(&b.store);
	return r;
}
