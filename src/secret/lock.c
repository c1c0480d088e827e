/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/lock.c - one writer at a time, between processes and within one
 *
 * Theory of operation: the lock is tried first; as a rule nobody holds it.
 * Otherwise somebody has to block in F_OFD_SETLKW, and it cannot be us. But
 * such a lock belongs to the open file, not to the process: a child that
 * inherited the descriptor takes it for us, and its exit is the event that the
 * loop waits for. No polling, no signal, and a timer that kills the child.
 */

#include "secret/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "secret/place.h"
#include "secret/timer.h"

/**
 * struct lock - A lock that is held, or waited for
 * @loop:	Where we wait
 * @fd:		The lock file; closing it releases the lock
 * @child:	pidfd of the child that blocks for us, or -1
 * @timer:	Ends the wait
 * @waiting:	@child and @timer are in the loop
 */
struct lock {
	struct loop *loop;
	int fd;
	struct loop_source child, timer;
	bool waiting;
	lock_fn done;
	void *arg;
};

static void stop_waiting(struct lock *lock)
{
	if (!lock->waiting)
		return;
	lock->waiting = false;
	loop_remove(lock->loop, &lock->child);
	loop_remove(lock->loop, &lock->timer);
	(void)sys_pidfd_send_signal(lock->child.fd, SIGKILL);
	(void)waitid(P_PIDFD, (id_t)lock->child.fd, NULL, WEXITED | __WALL);
	close_fd(&lock->child.fd);
	close_fd(&lock->timer.fd);
}

void lock_free(struct lock *lock)
{
	if (!lock)
		return;
	stop_waiting(lock);
	close_fd(&lock->fd);
	free(lock);
}

static int open_lock_file(struct place *place, const char *name,
			  struct err *err)
{
	const int dir = place_fd(place, true, err);
	auto_close int fd = -1;
	struct stat st;

	if (dir < 0)
		return dir;
	fd = fs_above_std(openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW |
				 O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600));
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, "cannot open '%s/%s'",
				  place_path(place), name);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_nlink != 1)
		return fail(err, -EPERM,
			    "'%s/%s' is not a file of yours alone: it is not used",
			    place_path(place), name);
	return take_fd(&fd);
}

static int try_lock(int fd, int command)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	while (fcntl(fd, command, &whole) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* The child: nothing but system calls between here and _exit() */
static _Noreturn void block_for_parent(int fd)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sys_close_range(0, (unsigned int)fd - 1, 0);
	(void)sys_close_range((unsigned int)fd + 1, ~0U, 0);
	_exit(try_lock(fd, F_OFD_SETLKW) < 0);
}

static int start_child(struct lock *lock, struct err *err)
{
	int pidfd = -1;
	const struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		/* No exit signal: an embedder's SIGCHLD handler is not asked */
	};
	const pid_t pid = sys_clone3(&args, sizeof(args));

	if (pid < 0)
		return fail_errno(err, "cannot wait for a lock");
	if (!pid)
		block_for_parent(lock->fd);
	lock->child.fd = fs_above_std(pidfd);
	return 0;
}

static void finish(struct lock *lock, int r, const struct err *err)
{
	stop_waiting(lock);
	lock->done(lock->arg, r, err);
}

static int on_child(void *arg, uint32_t events)
{
	struct lock *lock = arg;
	struct err err = { 0 };
	int r;

	(void)events;
	/* Ours through the child, if it did its work: then this is free */
	r = try_lock(lock->fd, F_OFD_SETLK);
	if (r < 0)
		fail(&err, r, "cannot lock the store");
	finish(lock, r, &err);
	return 0;
}

static int on_timer(void *arg, uint32_t events)
{
	struct lock *lock = arg;
	struct err err = { 0 };

	(void)events;
	stop_waiting(lock);
	/* The child may have got it just now; we said that we gave up */
	close_fd(&lock->fd);
	fail(&err, -ETIMEDOUT,
	     "another program is writing to the store and does not finish");
	finish(lock, -ETIMEDOUT, &err);
	return 0;
}

static int start_waiting(struct lock *lock, unsigned int timeout_ms,
			 struct err *err)
{
	int r = start_child(lock, err);

	if (r < 0)
		return r;
	lock->waiting = true;
	lock->child.fn = on_child;
	lock->timer.fn = on_timer;
	lock->child.arg = lock->timer.arg = lock;
	lock->timer.fd = timer_new(timeout_ms, err);
	if (lock->timer.fd < 0)
		return lock->timer.fd;
	r = loop_add(lock->loop, &lock->child, EPOLLIN);
	if (!r)
		r = loop_add(lock->loop, &lock->timer, EPOLLIN);
	return r < 0 ? fail(err, r, "cannot wait for a lock") : 0;
}

void lock_take(struct lock **ret, struct loop *loop, struct place *place,
	       const char *name, unsigned int timeout_ms, lock_fn done,
	       void *arg)
{
	struct lock *lock = mem_zalloc(sizeof(*lock));
	struct err err = { 0 };
	int r;

	lock->loop = loop;
	lock->child.fd = lock->timer.fd = -1;
	lock->done = done;
	lock->arg = arg;
	*ret = lock;
	r = lock->fd = open_lock_file(place, name, &err);
	if (r >= 0)
		r = try_lock(lock->fd, F_OFD_SETLK);
	if (lock->fd >= 0 && (r == -EAGAIN || r == -EACCES)) {
		r = start_waiting(lock, timeout_ms, &err);
		if (!r)
			return;
	} else if (r < 0 && !err.code) {
		fail(&err, r, "cannot lock '%s/%s'", place_path(place), name);
	}
	finish(lock, r, &err);
}
