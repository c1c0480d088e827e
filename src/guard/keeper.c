/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard/keeper.c - restore masks and read-only binds that the host unmounted
 *
 * Theory of operation: the kernel reports in the namespace's mountinfo that a mount went
 * away; then every path that should be a mount is checked, and mounted again if it is
 * not. It reports a rename before the new file has the name, when nothing can be mounted on
 * the old one any more: so the keeper waits for the lock of the directory, which the rename
 * holds.
 *
 * A path that is created, or that replaces a directory which was moved away with its mask,
 * is reported only by inotify on the directory above. Directories of hidden paths are
 * watched from the start, because secrets are created while commands run. Directories of
 * read-only paths are watched only once such a path is gone: they are in the project, where
 * every new file would wake the keeper. A command can use up the watches of the user: then
 * all mounts are checked every UNWATCHED_MS.
 *
 * For each mask there are copies that are not mounted anywhere: one call mounts one, and a
 * FUSE mask is replaced by a FUSE mask.
 *
 * The unreadable file is the null device, mounted so that devices do not
 * open: reading and writing it are EACCES. It needs no file of ours that the
 * sandbox could find. All other masks are on file systems that bear our name;
 * the sandbox cannot make one, and where the host has one, it is a mask, too.
 */

#include "guard/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "ipc/socket.h"
#include "plan/fuse-mask.h"

enum {
	TRIES = 64,		/* The host may replace it again while we mount */
	UNWATCHED_MS = 10,	/* Until the next look at what cannot be watched */
	WATCHED = IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |
		  IN_ONLYDIR,
	COPIED_MAX = 128,	/* Masks with copies, two descriptors each; others are plain */
	SPARED_FDS = 64,	/* Descriptors that no copies take */
	SHOWN_MAX = 24,		/* Paths that a new mask leaves visible */
	MOUNTINFO_MAX = 64 << 20,	/* As many mounts as the kernel allows */
	NULL_MAJOR = 1, NULL_MINOR = 3,
};

/**
 * struct mask_devices - File systems of masks
 */
struct mask_devices {
	struct mask_device { dev_t dev; bool talks; } *v;
	size_t len, cap;
};

/**
 * struct kept - A mount
 * @spare:	A copy of it that goes into its place next, or -1
 * @model:	One that is only copied again, or -1
 * @copied:	Counted in the copied of struct keeping
 */
struct kept {
	const struct keeper_mount *mount;
	int spare, model;
	bool copied;
};

/**
 * struct keeping - What keep() works on
 * @list:	All that is to be kept, and what masks leave visible
 * @own:	File systems of masks
 * @note:	The next message; how many could not be covered
 * @copied:	Masks that have copies, of COPIED_MAX and what the limit on descriptors
 *		allows. A path that does not exist has none.
 * @proc:	Our own directory in /proc
 */
struct keeping {
	struct kept *v;
	size_t len, cap;
	const struct keeper_list *list;
	struct mask_devices own;
	struct keeper_note note;
	size_t copied, copied_max;
	int inotify, proc, socket;
};

static const struct mask_device *find_device(const struct mask_devices *own, dev_t dev)
{
	for (size_t i = 0; i < own->len; i++) {
		if (own->v[i].dev == dev)
			return &own->v[i];
	}
	return NULL;
}

static void add_device(struct mask_devices *own, dev_t dev, bool talks)
{
	if (!find_device(own, dev))
		*vec_push(own) = (struct mask_device){ dev, talks };
}

/* A line of mountinfo: mount, parent, device, ..., " - ", type, source, ... */
static void learn_line(struct mask_devices *own, const char *line)
{
	static const char fuse[] = " - fuse " FUSE_MASK_SOURCE " ";
	static const char tmpfs[] = " - tmpfs " FUSE_MASK_SOURCE " ";
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

/* Read the devices of masks from @mountinfo: 0 or a negative errno. The host's file
 * systems of that name count as well.
 */
static int read_mask_devices(struct mask_devices *own, int mountinfo, struct err *err)
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

/* A descriptor for @path, without following any link; or -1 */
static int open_path(const char *path)
{
	return sys_open_nofollow(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
}

static bool look(int fd, struct statx *x)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE |
		     STATX_MODE | STATX_INO, x) == 0;
}

static bool is_mount(int fd)
{
	struct statx x;

	return look(fd, &x) && x.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

static bool is_read_only(int fd)
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

/* True if @fd is a mask, or in one and not shown. The sandbox's own /tmp, which is no
 * mask, is on such a file system, too.
 */
static bool hides(const struct mask_devices *own, int fd)
{
	const struct mask_device *d;
	struct statx x;

	if (!look(fd, &x))
		return false;
	d = find_device(own, makedev(x.stx_dev_major, x.stx_dev_minor));
	return is_null(&x) || (d && (d->talks || is_read_only(fd)));
}

static bool is_mask(const struct mask_devices *own, int fd)
{
	return is_mount(fd) && hides(own, fd);
}

/* True if @fd is hidden, or read-only, as @kind says */
static bool is_closed(const struct mask_devices *own, enum mount_kind kind, int fd)
{
	return kind == MOUNT_BIND_RO ? is_mount(fd) &&
				       is_read_only(fd)
				     : is_mask(own, fd);
}

/* An empty directory, still writable: a detached mount, or -1 */
static int make_tmpfs(struct mask_devices *own)
{
	auto_close int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), tree = -1;
	struct statx x;

	if (fs < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "source", FUSE_MASK_SOURCE, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0555", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	tree = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (tree < 0 || !look(tree, &x))
		return -1;
	add_device(own, makedev(x.stx_dev_major, x.stx_dev_minor), false);
	return take_fd(&tree);
}

static int set_read_only(int tree)
{
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV,
		.propagation = MS_PRIVATE,
	};

	return sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);
}

/* Make a mount of MOUNT_BIND_RO read-only, instead of stacking a second one: true
 * if that was enough. The kernel refuses where a file is open for writing.
 */
static bool close_mount(const struct mask_devices *own, enum mount_kind kind, int at)
{
	return kind == MOUNT_BIND_RO && is_mount(at) &&
	       !hides(own, at) && set_read_only(at) == 0;
}

/* The mount @tree alone, without the mounts in it */
static int set_writable(int tree)
{
	static const struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	return sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr);
}

/* A detached mount to cover @at with: an empty directory, a device that does not
 * open, or @at itself, read-only; or -1
 */
static int make_cover(struct mask_devices *own, enum mount_kind kind, int at)
{
	auto_close int tree = -1;
	struct statx x;

	if (!look(at, &x))
		return -1;
	tree = kind != MOUNT_BIND_RO && S_ISDIR(x.stx_mode) ?
	       make_tmpfs(own) :
	       kind == MOUNT_BIND_RO ?
	       open_tree(at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			     AT_EMPTY_PATH | AT_RECURSIVE) :
	       open_tree(AT_FDCWD, "/dev/null", OPEN_TREE_CLONE |
			     OPEN_TREE_CLOEXEC);
	if (tree < 0 || set_read_only(tree) < 0)
		return -1;
	return take_fd(&tree);
}

static int attach(int tree, int at)
{
	return move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH |
			      MOVE_MOUNT_T_EMPTY_PATH);
}

/* Wait until a change of the directory of @path is done: the look-up of a name that
 * is not in the cache takes its lock. The kernel checks that a directory is no mount
 * point before it renames it, and may have checked before there was a mount.
 */
static void wait_for_rename(const char *path)
{
	static unsigned int count;
	auto_free char *parent = path_parent(path);
	auto_free char *name = mem_printf("%s/.cloche-%d-%u", parent,
					  (int)getpid(), count++);
	auto_close int fd = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	(void)fd;
}

/* A copy of the mask that is mounted at @m, or -1: never of what it hides,
 * should that have been laid open meanwhile
 */
static int copy_mask(const struct keeping *k, const struct keeper_mount *m)
{
	auto_close int at = m->kind == MOUNT_BIND_RO ? -1 : open_path(m->path);

	if (at < 0 || !is_mask(&k->own, at))
		return -1;
	return open_tree(at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			     AT_EMPTY_PATH);
}

/* From the model; before Linux 6.15, which copies no detached mount, from what is mounted
 * now
 */
static void prepare(struct keeping *keeping, struct kept *k)
{
	const unsigned int flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;

	if (!k->copied && keeping->copied >= keeping->copied_max)
		return;
	if (k->model < 0)
		k->model = copy_mask(keeping, k->mount);
	if (k->model >= 0 && !k->copied) {
		k->copied = true;
		keeping->copied++;
	}
	if (k->spare >= 0 || k->model < 0)
		return;
	k->spare = open_tree(k->model, "", flags | AT_EMPTY_PATH);
	if (k->spare < 0) {
		k->spare = take_fd(&k->model);
		k->model = copy_mask(keeping, k->mount);
	}
}

/* The next of the list, from *@i on, that the mask @m leaves visible, or NULL */
static const struct keeper_mount *next_shown(const struct keeper_list *list,
					     const struct keeper_mount *m,
					     size_t *i)
{
	while (*i < list->len) {
		const struct keeper_mount *s = &list->v[(*i)++];

		if ((s->kind == MOUNT_SHOW || s->kind == MOUNT_BIND_RW) &&
		    path_is_below(m->path, s->path) &&
		    !(s > list->v && !strcmp(s[-1].path, s->path)))
			return s;
	}
	return NULL;
}

/* Something to mount @s on, in the mask @tree of the directory @m */
static void make_point(int tree, const struct keeper_mount *m,
		       const struct keeper_mount *s)
{
	auto_free char *name = mem_strdup(s->path + strlen(m->path) + 1);

	for (char *p = name; (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = '\0';
		(void)mkdirat(tree, name, 0555);
	}
	if (s->is_dir)
		(void)mkdirat(tree, name, 0555);
	else
		(void)mknodat(tree, name, S_IFREG | 0444, 0);
}

/* Put @shown onto @path below @tree. Before Linux 6.15 that works only once @tree
 * itself is in place: 0, or -1.
 */
static int show(int tree, const char *path, int shown)
{
	auto_close int at = openat(tree, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return at < 0 ? -1 : attach(shown, at);
}

/* Put a mask onto @at, with what is visible in it */
static int cover_around(struct keeping *k, const struct keeper_mount *m, int at)
{
	auto_close int tree = make_tmpfs(&k->own);
	const struct keeper_mount *s;
	int shown[SHOWN_MAX], r = -1;
	size_t n = 0;

	for (size_t i = 0; tree >= 0 && n < SHOWN_MAX &&
	     (s = next_shown(k->list, m, &i)) != NULL; n++) {
		auto_close int from = open_path(s->path);

		shown[n] = from < 0 ? -1 :
			   open_tree(from, "", OPEN_TREE_CLONE |
					 OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
					 AT_RECURSIVE);
		if (s->kind == MOUNT_SHOW && shown[n] >= 0 &&
		    set_read_only(shown[n]) < 0)
			close_fd(&shown[n]);
		if (s->kind == MOUNT_BIND_RW && shown[n] >= 0)
			(void)set_writable(shown[n]);
		if (shown[n] >= 0)
			make_point(tree, m, s);
	}
	if (tree >= 0 && set_read_only(tree) == 0) {
		for (size_t i = 0, j = 0; j < n; j++) {
			s = next_shown(k->list, m, &i);
			if (show(tree, s->path + strlen(m->path) + 1,
				 shown[j]) == 0)
				close_fd(&shown[j]);
		}
		r = attach(tree, at);
		for (size_t i = 0, j = 0; r == 0 && j < n; j++) {
			s = next_shown(k->list, m, &i);
			(void)show(AT_FDCWD, s->path, shown[j]);
		}
	}
	while (n > 0)
		close_fd(&shown[--n]);
	return r;
}

static int cover(struct keeping *keeping, struct kept *k, int at)
{
	const struct keeper_mount *m = k->mount;
	auto_close int tree = -1;
	struct stat st;
	size_t first = 0;
	bool spare;

	if (close_mount(&keeping->own, m->kind, at))
		return 0;
	if (fstat(at, &st) < 0)
		return -errno;
	spare = k->spare >= 0 && m->is_dir == S_ISDIR(st.st_mode);
	if (!spare && m->kind == MOUNT_MASK_DIR && S_ISDIR(st.st_mode) &&
	    next_shown(keeping->list, m, &first))
		return cover_around(keeping, m, at) < 0 ? -errno : 0;
	tree = spare ? take_fd(&k->spare) :
	       make_cover(&keeping->own, m->kind, at);
	if (tree < 0)
		return -errno;
	if (attach(tree, at) == 0) {
		prepare(keeping, k);
		return 0;
	}
	if (spare)
		k->spare = take_fd(&tree);
	return -errno;
}

/* Never what a link leads to: what comes in its place would not be notified */
static int watch_dir(const struct keeping *k, const char *dir)
{
	auto_close int at = open_path(dir);
	char name[32];

	snprintf(name, sizeof(name), "fd/%d", at);
	return at < 0 || fchdir(k->proc) < 0 ? -1 :
	       inotify_add_watch(k->inotify, name, WATCHED);
}

/* The nearest directory above @path that exists: false if we will not be notified of
 * it. inotify takes the right to list a directory; without it there are no events.
 * *@last is what was watched last in this look, or NULL: most are in one directory.
 */
static bool watch_parent(const struct keeping *k, const char *path,
			 char **last)
{
	auto_free char *dir = path_parent(path);

	while (!*last || strcmp(*last, dir) != 0) {
		char *above;

		if (watch_dir(k, dir) >= 0) {
			free(*last);
			*last = take_ptr(dir);
			return true;
		}
		if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
			return errno == EACCES;
		above = path_parent(dir);
		free(dir);
		dir = above;
	}
	return true;
}

static void send_note(struct keeping *k, const char *covered)
{
	const int n = snprintf(k->note.covered, sizeof(k->note.covered), "%s",
			       covered);

	(void)socket_send(k->socket, &k->note,
			  offsetof(struct keeper_note, covered) + (size_t)n + 1,
			  NULL, 0);
}

/* True if it exists, or its creation will be notified */
static bool check(struct keeping *keeping, struct kept *k, char **last)
{
	const bool hidden = k->mount->kind != MOUNT_BIND_RO;
	const char *path = k->mount->path;
	bool watched = !hidden || watch_parent(keeping, path, last);

	for (int tries = 0; tries < TRIES; tries++) {
		auto_close int at = open_path(path);
		int r;

		/* It may come back before its directory is watched */
		if (at < 0 && !hidden) {
			watched = watch_parent(keeping, path, last);
			at = open_path(path);
		}
		if (at < 0 || is_closed(&keeping->own, k->mount->kind, at))
			return watched || at >= 0;
		/* A directory may be on its way to another name, or the file to
		 * this one
		 */
		r = cover(keeping, k, at);
		if (r == 0 && !hidden && !k->mount->is_dir)
			send_note(keeping, path);
		if (r == -ENOENT || (r == 0 && k->mount->is_dir))
			wait_for_rename(path);
	}
	keeping->note.open++;
	return false;
}

/* How long to wait for the next event, for poll() */
static int check_all(struct keeping *k)
{
	auto_free char *last = NULL;
	bool watched = true;

	k->note.open = 0;
	for (size_t i = 0; i < k->len; i++)
		watched = check(k, &k->v[i], &last) && watched;
	return watched ? -1 : UNWATCHED_MS;
}

/* Read the events of the directories: true if a name of ours may have appeared, or
 * something else, which has no name, has happened to a directory
 */
static bool take_events(struct keeping *k)
{
	char buffer[8192] __attribute__((aligned(__alignof__(
		struct inotify_event))));
	const ssize_t n = read(k->inotify, buffer, sizeof(buffer));
	bool found = n < 0 && errno != EAGAIN;

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *e =
			(const struct inotify_event *)(const void *)(buffer + at);

		found |= !e->len;
		for (size_t i = 0; i < k->len && !found; i++)
			found = path_has(k->v[i].mount->path, e->name);
		at += (ssize_t)(sizeof(*e) + e->len);
	}
	return found;
}

static bool is_kept(const struct keeper_mount *m)
{
	return m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE ||
	       m->kind == MOUNT_BIND_RO;
}

static void collect(struct keeping *k)
{
	struct rlimit fds = { 0 };

	(void)getrlimit(RLIMIT_NOFILE, &fds);
	/* Descriptors are left to work with */
	while (k->copied_max < COPIED_MAX &&
	       SPARED_FDS + 2 * (k->copied_max + 1) <= fds.rlim_cur)
		k->copied_max++;
	for (size_t i = 0; i < k->list->len; i++) {
		if (is_kept(&k->list->v[i]))
			*vec_push(k) = (struct kept){ &k->list->v[i], -1, -1, false };
	}
}

/* Writable roots that one edit closed and another grants again: nothing else is
 * listed for their path
 */
static void open_again(const struct keeping *k)
{
	for (size_t i = 0; i < k->list->len; i++) {
		const struct keeper_mount *m = &k->list->v[i];
		auto_close int at = m->kind == MOUNT_BIND_RW &&
			!(i && !strcmp(m[-1].path, m->path)) &&
			!(i + 1 < k->list->len && !strcmp(m[1].path, m->path)) ?
			open_path(m->path) : -1;

		if (at >= 0 && is_mount(at) && is_read_only(at) &&
		    !hides(&k->own, at))
			(void)set_writable(at);
	}
}

/* Without inotify the mounts are checked every UNWATCHED_MS; without mountinfo nothing can
 * be restored
 */
static void keep(const struct keeper_list *list, int socket, int proc)
{
	struct keeping k = {
		.inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC),
		.proc = proc, .list = list, .socket = socket,
	};
	struct pollfd fds[] = {
		{ .fd = socket, .events = POLLIN },
		{ .fd = openat(proc, "mountinfo", O_RDONLY | O_CLOEXEC),
		  .events = POLLPRI },
		{ .fd = k.inotify, .events = POLLIN },
	};
	int wait;

	if (fds[1].fd < 0 || read_mask_devices(&k.own, fds[1].fd, NULL) < 0)
		return;
	collect(&k);
	open_again(&k);
	wait = check_all(&k);
	send_note(&k, "");
	for (size_t i = 0; i < k.len; i++)
		prepare(&k, &k.v[i]);
	while (poll(fds, ARRAY_SIZE(fds), wait) >= 0 || errno == EINTR) {
		const bool changed = fds[2].revents && take_events(&k);

		if (fds[0].revents)
			_exit(0);
		if (fds[1].revents || changed || wait >= 0)
			wait = check_all(&k);
	}
}

/* The shorter the slice we ask for, the sooner we run when something happens
 * (kernel 6.12); an ordinary process may ask for that
 */
static void be_quick(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof(attr), .policy = SCHED_OTHER,
		   .runtime = 100000 };

	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* Two at a time would undo each other's work */
static void wait_for_end(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	while (pidfd >= 0 && poll(&p, 1, -1) < 0 && errno == EINTR)
		;
}

/**
 * struct keeper_work - What a keeper starts with
 * @before:	The pidfd of the keeper that it replaces, or -1
 * @user, @mnt:	The sandbox's namespaces
 */
struct keeper_work {
	const struct keeper_list *list;
	int before, user, mnt;
};

static void keeper_main(int socket, const void *arg)
{
	const struct keeper_work *w = arg;
	const int fds[] = { w->user, w->mnt, socket };
	int proc;

	wait_for_end(w->before);
	if (proc_leave_streams() < 0 ||
	    proc_close_others(fds, ARRAY_SIZE(fds)) < 0)
		return;
	/* The sandbox's own /proc does not know us */
	proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || setns(w->user, CLONE_NEWUSER) < 0 ||
	    setns(w->mnt, CLONE_NEWNS) < 0)
		return;
	be_quick();
	keep(w->list, socket, proc);
}

int keeper_start(struct proc *keeper, const struct keeper_list *list,
		 int before, int user, int mnt, struct err *err)
{
	const struct keeper_work work = { list, before, user, mnt };
	size_t kept = 0;
	int r;

	*keeper = PROC_NONE;
	for (size_t i = 0; i < list->len; i++)
		kept += is_kept(&list->v[i]);
	if (!kept)
		return 0;
	if (kept > KEEPER_MOUNTS_MAX)
		return fail(err, -E2BIG, "more than %d mounts cannot be kept",
			    KEEPER_MOUNTS_MAX);
	r = proc_spawn("cloche-keeper", 0, keeper_main, &work, keeper);
	return r < 0 ? fail(err, r, "cannot start the keeper: %s",
			    strerror(-r)) : 0;
}
