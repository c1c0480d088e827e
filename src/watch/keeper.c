/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/keeper.c - puts back what the host lifts: masks and read-only binds
 *
 * Theory of operation: the mount namespace's own list (mountinfo) says when a
 * mount went away; then every path that should be a mount is looked at, and
 * what is none is mounted again. A rename says so before the new file has the
 * name, and nothing can be mounted on the old one any more: we wait for the lock
 * of the directory, which the rename holds, and are next when it is done.
 *
 * What is not there and may be made, or takes the place of a directory that was
 * moved away with its mask, only the directory above announces (inotify). Where
 * something is hidden that is watched from the start: secrets are made while
 * commands run. Where something is read-only, only once it is gone: that is in
 * the project, and we would wake for every file in it. A command can use up
 * all that the user may watch: then we look again and again.
 *
 * For each mask there are copies in hand, not mounted anywhere: one call puts
 * one in place, and a mask that talked talks again.
 *
 * The unreadable file is the null device, mounted so that devices do not
 * open: reading and writing it are EACCES. It needs no file of ours that the
 * sandbox could find.
 */

#include "watch/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/reap.h"
#include "base/sock.h"
#include "base/sys.h"
#include "plan/plan.h"

enum {
	TRIES = 64,		/* Somebody may replace it again while we mount */
	UNWATCHED_MS = 10,	/* Until the next look at what cannot be watched */
	WATCHED = IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |
		  IN_ONLYDIR,
	COPIED_MAX = 128,	/* Of each are two descriptors; others are plain */
};

/**
 * struct kept - A mount
 * @spare:	A copy of it that goes into its place next, or -1
 * @model:	One that stays in hand, or -1
 * @copied:	It is one of those that have copies
 */
struct kept {
	const struct plan_mount *mount;
	int spare, model;
	bool copied;
};

/**
 * struct keeping - What keep() works on
 */
struct keeping {
	struct kept *v;
	size_t len, cap;
	int inotify;
};

static bool is_kept(const struct plan_mount *m)
{
	return m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE ||
	       m->kind == MOUNT_BIND_RO;
}

/* 1 if something is mounted at @path, 0 if not, -ENOENT if nothing is there */
static int look(const char *path, struct statx *x)
{
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
		  AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, x) < 0)
		return -ENOENT;
	return x->stx_attributes & STATX_ATTR_MOUNT_ROOT ? 1 : 0;
}

static int make_tmpfs(void)
{
	auto_close int fs = sys_fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0555", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY |
			   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

/* What is mounted on @at: an empty directory, a device that does not open, or
 * itself, read-only
 */
static int make_cover(enum mount_kind kind, int at, bool dir)
{
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    MOUNT_ATTR_NODEV,
		.propagation = MS_PRIVATE,
	};
	auto_close int tree = -1;

	if (kind != MOUNT_BIND_RO && dir)
		return make_tmpfs();
	tree = kind == MOUNT_BIND_RO ?
	       sys_open_tree(at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			     AT_EMPTY_PATH | AT_RECURSIVE) :
	       sys_open_tree(AT_FDCWD, "/dev/null", OPEN_TREE_CLONE |
			     OPEN_TREE_CLOEXEC);
	if (tree < 0 || sys_mount_setattr(tree, "", AT_EMPTY_PATH |
					  AT_RECURSIVE, &attr) < 0)
		return -1;
	return take_fd(&tree);
}

/* A copy of the mask that is mounted at @m, or -1: never of what it hides,
 * should that have been laid open meanwhile
 */
static int copy_mask(const struct plan_mount *m)
{
	struct statx mask, copy;
	auto_close int tree = -1;

	if (m->kind == MOUNT_BIND_RO || look(m->path, &mask) != 1)
		return -1;
	tree = sys_open_tree(AT_FDCWD, m->path, OPEN_TREE_CLONE |
			     OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	if (tree < 0 || statx(tree, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
			      STATX_INO, &copy) < 0 ||
	    copy.stx_ino != mask.stx_ino ||
	    copy.stx_dev_major != mask.stx_dev_major ||
	    copy.stx_dev_minor != mask.stx_dev_minor)
		return -1;
	return take_fd(&tree);
}

/* From the copy in hand; where the kernel makes no copies of those (before
 * 6.15), from what is mounted now
 */
static void prepare(struct kept *k)
{
	const unsigned int flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;

	if (!k->copied)
		return;
	if (k->model < 0)
		k->model = copy_mask(k->mount);
	if (k->spare >= 0 || k->model < 0)
		return;
	k->spare = sys_open_tree(k->model, "", flags | AT_EMPTY_PATH);
	if (k->spare < 0) {
		k->spare = take_fd(&k->model);
		k->model = copy_mask(k->mount);
	}
}

static int cover(struct kept *k, bool dir)
{
	const struct plan_mount *m = k->mount;
	auto_close int at = sys_open_nofollow(AT_FDCWD, m->path,
					      O_PATH | O_CLOEXEC, 0);
	auto_close int tree = -1;

	if (at < 0)
		return -errno;
	tree = k->spare >= 0 && dir == m->is_dir ? take_fd(&k->spare)
						 : make_cover(m->kind, at, dir);
	if (tree < 0)
		return -errno;
	if (sys_move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH |
			   MOVE_MOUNT_T_EMPTY_PATH) == 0) {
		prepare(k);
		return 0;
	}
	if (m->kind != MOUNT_BIND_RO && dir == m->is_dir && k->spare < 0)
		k->spare = take_fd(&tree);
	return -errno;
}

/* Until whoever changes the directory of @path is done: to look for a name that
 * nobody has looked for takes its lock
 */
static void wait_for_change(const char *path)
{
	static unsigned int count;
	auto_free char *parent = path_parent(path);
	auto_free char *name = mem_printf("%s/.cloche-%d-%u", parent,
					  (int)getpid(), count++);
	auto_close int fd = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	(void)fd;
}

/* The nearest directory above @path that is there: false if we will not hear of
 * it. Who may not list one gets no word of it either; nobody can change that.
 */
static bool watch_parent(const struct keeping *k, const char *path)
{
	auto_free char *dir = path_parent(path);

	while (inotify_add_watch(k->inotify, dir, WATCHED) < 0) {
		char *above;

		if (errno != ENOENT && errno != ENOTDIR)
			return errno == EACCES;
		above = path_parent(dir);
		free(dir);
		dir = above;
	}
	return true;
}

/* True if it is there, or we will hear of it */
static bool check(const struct keeping *keeping, struct kept *k)
{
	const char *path = k->mount->path;
	bool heard = true;
	struct statx x;

	if (k->mount->kind != MOUNT_BIND_RO)
		heard = watch_parent(keeping, path);
	for (int tries = 0; tries < TRIES; tries++) {
		int r = look(path, &x);

		/* It may come back before its directory is watched */
		if (r < 0) {
			heard = watch_parent(keeping, path);
			r = look(path, &x);
		}
		if (r != 0)
			return heard || r > 0;
		if (cover(k, S_ISDIR(x.stx_mode)) == -ENOENT)
			wait_for_change(path);
	}
	return watch_parent(keeping, path);
}

/* How long to wait for the next event, for poll() */
static int check_all(const struct keeping *k)
{
	bool heard = true;

	for (size_t i = 0; i < k->len; i++)
		heard = check(k, &k->v[i]) && heard;
	return heard ? -1 : UNWATCHED_MS;
}

static bool has_component(const char *path, const char *name)
{
	const size_t n = strlen(name);

	for (const char *p = path; (p = strstr(p, name)) != NULL; p++) {
		if (p > path && p[-1] == '/' && (p[n] == '/' || !p[n]))
			return true;
	}
	return false;
}

/* True if one of the names that appeared may be ours; or something else, which
 * has no name, has happened to a directory
 */
static bool concerns(const struct keeping *k, const struct inotify_event *e)
{
	bool found = !e->len;

	for (size_t i = 0; i < k->len && !found; i++)
		found = has_component(k->v[i].mount->path, e->name);
	return found;
}

/* What has happened in the directories: true if it concerns us */
static bool hear(struct keeping *k)
{
	char room[8192] __attribute__((aligned(__alignof__(
		struct inotify_event))));
	const ssize_t n = read(k->inotify, room, sizeof(room));
	bool found = n < 0 && errno != EAGAIN;

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *e =
			(const struct inotify_event *)(const void *)(room + at);

		found = found || concerns(k, e);
		at += (ssize_t)(sizeof(*e) + e->len);
	}
	return found;
}

static void keep(const struct plan *plan, int socket, int proc)
{
	struct keeping k = { .inotify = inotify_init1(IN_NONBLOCK |
						      IN_CLOEXEC) };
	int wait;
	struct pollfd fds[] = {
		{ .fd = socket, .events = POLLIN },
		{ .fd = openat(proc, "mountinfo", O_RDONLY | O_CLOEXEC),
		  .events = POLLPRI },
		{ .fd = k.inotify, .events = POLLIN },
	};

	for (size_t i = 0; i < plan->mounts.len; i++) {
		const bool copied = k.len < COPIED_MAX;

		if (is_kept(&plan->mounts.v[i]))
			*vec_push(&k) = (struct kept){ &plan->mounts.v[i], -1,
						       -1, copied };
	}
	wait = check_all(&k);	/* What changed before we watched */
	(void)sock_send(socket, "", 1, NULL, 0);
	for (size_t i = 0; i < k.len; i++)
		prepare(&k.v[i]);
	while (poll(fds, ARRAY_SIZE(fds), wait) >= 0 || errno == EINTR) {
		const bool heard = fds[2].revents && hear(&k);

		if (fds[0].revents)
			_exit(0);
		if (fds[1].revents || heard || wait >= 0)
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

/* Only these stay: 0 to 2 are the namespaces and the socket */
static int arrange(int user, int mnt, int socket)
{
	/* The low numbers may be taken by what we need */
	user = fcntl(user, F_DUPFD, 3);
	mnt = fcntl(mnt, F_DUPFD, 3);
	socket = fcntl(socket, F_DUPFD, 3);
	if (dup2(user, 0) < 0 || dup2(mnt, 1) < 0 || dup2(socket, 2) < 0 ||
	    sys_close_range(3, ~0U, 0) < 0)
		return -errno;
	return 0;
}

static void __attribute__((noreturn)) keeper_main(const struct plan *plan,
						  int user, int mnt,
						  int socket)
{
	sigset_t none;
	int proc;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    prctl(PR_SET_NAME, "cloche-keeper") < 0 ||
	    arrange(user, mnt, socket) < 0)
		_exit(1);
	/* The sandbox's own /proc does not know us */
	proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || setns(0, CLONE_NEWUSER) < 0 || setns(1, CLONE_NEWNS) < 0)
		_exit(1);
	(void)setsid();		/* No signals from the terminal */
	be_quick();
	keep(plan, 2, proc);
	_exit(1);
}

int keeper_start(struct keeper *keeper, const struct plan *plan, int user,
		 int mnt, struct err *err)
{
	size_t kept = 0;
	int pair[2];
	pid_t pid;

	*keeper = (struct keeper) { -1, -1 };
	for (size_t i = 0; i < plan->mounts.len; i++)
		kept += is_kept(&plan->mounts.v[i]);
	if (!kept)
		return 0;
	if (kept > KEEPER_MOUNTS_MAX)
		return fail(err, -E2BIG, "more than %d mounts cannot be kept",
			    KEEPER_MOUNTS_MAX);
	if (sock_pair(pair) < 0)
		return fail_errno(err, "cannot talk to the keeper");
	pid = fork();
	if (!pid)
		keeper_main(plan, user, mnt, pair[1]);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return fail_errno(err, "cannot start the keeper");
	}
	*keeper = (struct keeper) { pid, pair[0] };
	return 0;
}

void keeper_stop(struct keeper *keeper)
{
	if (keeper->pid > 0) {
		(void)kill(keeper->pid, SIGKILL);
		reap_later(keeper->pid);
	}
	close_fd(&keeper->socket);
	keeper->pid = -1;
}
