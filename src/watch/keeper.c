/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/keeper.c - puts back what the host lifts: masks and read-only binds
 *
 * Theory of operation: two things announce a change. The mount namespace's
 * own list (mountinfo) says when a mount went away, which is what a rename
 * over the file does. Where the file was removed first and made again, only
 * its directory says so (inotify). On either, every path that should be a
 * mount is looked at, and what is none is mounted again.
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


static bool is_kept(const struct plan_mount *m)
{
	return m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE ||
	       m->kind == MOUNT_BIND_RO;
}

static bool is_mounted(const char *path, bool *dir)
{
	struct statx x;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
		  AT_STATX_DONT_SYNC, STATX_TYPE, &x) < 0)
		return true;	/* Nothing there, nothing to cover */
	*dir = S_ISDIR(x.stx_mode);
	return x.stx_attributes & STATX_ATTR_MOUNT_ROOT;
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

static void cover(const struct plan_mount *m, bool dir)
{
	auto_close int at = sys_open_nofollow(AT_FDCWD, m->path,
					      O_PATH | O_CLOEXEC, 0);
	auto_close int tree = at < 0 ? -1 : make_cover(m->kind, at, dir);

	if (tree >= 0)
		(void)sys_move_mount(tree, "", at, "",
				     MOVE_MOUNT_F_EMPTY_PATH |
				     MOVE_MOUNT_T_EMPTY_PATH);
}

static void check_all(const struct plan *plan)
{
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];
		bool dir = false;

		/* Somebody may replace it again while we mount */
		for (int tries = 0; is_kept(m) && tries < 4 &&
				    !is_mounted(m->path, &dir); tries++)
			cover(m, dir);
	}
}

/* Directories in which something that is kept could be made again */
static int watch_parents(const struct plan *plan)
{
	const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	auto_free char *last = NULL;

	for (size_t i = 0; fd >= 0 && i < plan->mounts.len; i++) {
		auto_free char *parent = path_parent(plan->mounts.v[i].path);

		if (!is_kept(&plan->mounts.v[i]) ||
		    (last && !strcmp(last, parent)))
			continue;
		(void)inotify_add_watch(fd, parent, IN_CREATE | IN_MOVED_TO |
					IN_ONLYDIR);
		free(last);
		last = take_ptr(parent);
	}
	return fd;
}

static void keep(const struct plan *plan, int socket, int proc)
{
	char room[4096];
	struct pollfd fds[] = {
		{ .fd = socket, .events = POLLIN },
		{ .fd = openat(proc, "mountinfo", O_RDONLY | O_CLOEXEC),
		  .events = POLLPRI },
		{ .fd = watch_parents(plan), .events = POLLIN },
	};

	check_all(plan);	/* What changed before we watched */
	(void)sock_send(socket, "", 1, NULL, 0);
	while (poll(fds, ARRAY_SIZE(fds), -1) > 0 || errno == EINTR) {
		if (fds[0].revents)
			_exit(0);
		if (fds[2].revents && read(fds[2].fd, room, sizeof(room)) < 0 &&
		    errno != EAGAIN)
			fds[2].fd = -1;
		check_all(plan);
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
