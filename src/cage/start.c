/* SPDX-License-Identifier: Apache-2.0 */
/* cage/start.c - fork the sandbox's init; take it down again */

#include "cage/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/reap.h"
#include "base/sock.h"
#include "base/sys.h"
#include "cage/child.h"
#include "plan/plan.h"

static int explain_clone(struct err *err)
{
	const int saved = errno;

	if (saved == EPERM || saved == ENOSPC || saved == EACCES)
		return fail(err, -saved, "this machine does not let us make user namespaces (%s); 'cloche doctor' says why and what to do",
			    saved == ENOSPC ? "user.max_user_namespaces is used up"
					    : "not permitted");
	errno = saved;
	return fail_errno(err, "cannot make the sandbox's namespaces");
}

/**
 * struct birth - What both sides of the fork need
 */
struct birth {
	const struct cage_request *request;
	const void *mask;
	int pair[2];
};

static void __attribute__((noreturn)) be_init(const struct birth *b)
{
	(void)close(b->pair[0]);
	child_main(b->request, b->mask, b->pair[1]);
	_exit(125);
}

/* Who enters the jail cannot leave it, so a process in between does: init is
 * its brother, and still our child
 */
static void __attribute__((noreturn)) bear_in_jail(const struct birth *b,
						   int answer)
{
	const uint64_t flags = b->request->plan->namespaces &
			       ~(uint64_t)CLONE_NEWNET;
	pid_t pid = -1;

	if (setns(b->request->jail[0], CLONE_NEWUSER) == 0 &&
	    setns(b->request->jail[1], CLONE_NEWNET) == 0)
		pid = sys_fork_into(flags | CLONE_PARENT, NULL);
	if (!pid)
		be_init(b);
	if (pid < 0)
		pid = -errno;
	_exit(write(answer, &pid, sizeof(pid)) != (ssize_t)sizeof(pid));
}

static pid_t fork_in_jail(const struct birth *b, int *pidfd)
{
	int pipes[2];
	pid_t pid = -EIO, between;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	between = fork();
	if (!between)
		bear_in_jail(b, pipes[1]);
	(void)close(pipes[1]);
	if (between > 0 && read(pipes[0], &pid, sizeof(pid)) !=
			   (ssize_t)sizeof(pid))
		pid = -EIO;
	(void)close(pipes[0]);
	while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
		;
	if (pid < 0) {
		errno = -pid;
		return -1;
	}
	*pidfd = sys_pidfd_open(pid, 0);
	return pid;
}

static pid_t fork_init(const struct birth *b, int *pidfd)
{
	pid_t pid;

	if (b->request->jail[1] >= 0)
		return fork_in_jail(b, pidfd);
	pid = sys_fork_into(b->request->plan->namespaces, pidfd);
	if (!pid)
		be_init(b);
	return pid;
}

int cage_start(const struct cage_request *request, const void *mask,
	       struct cage *ret, struct err *err)
{
	struct birth birth = { .request = request, .mask = mask };
	int *const pair = birth.pair, pidfd = -1;
	struct host_ids host;
	pid_t pid;
	int r = sock_pair(pair);

	if (r < 0)
		return fail(err, r, "cannot make a socket pair");
	(void)fflush(NULL);	/* Or both sides would print what is pending */
	pid = fork_init(&birth, &pidfd);
	if (pid < 0) {
		r = explain_clone(err);
		(void)close(pair[0]);
		(void)close(pair[1]);
		return r;
	}
	(void)close(pair[1]);
	/* While init builds: it reads them only when it is done */
	host_ids_read(&host);
	(void)sock_send(pair[0], &host, sizeof(host), NULL, 0);
	*ret = (struct cage){
		.pid = pid, .pidfd = pidfd, .socket = pair[0],
		.sweeps = request->plan->tier != TIER_FULL,
	};
	return 0;
}

int cage_go(const struct cage *cage)
{
	return sock_send(cage->socket, "", 1, NULL, 0);
}

void cage_bury(const struct cage *cage, int *fd)
{
	if (*fd >= 0 && cage->socket >= 0)
		(void)sock_send(cage->socket, "", 1, fd, 1);
	close_fd(fd);
}

void cage_stop(struct cage *cage)
{
	if (cage->sweeps)
		close_fd(&cage->socket);	/* It will understand */
	if (cage->pidfd >= 0) {
		if (!cage->sweeps)
			(void)sys_pidfd_send_signal(cage->pidfd, SIGKILL);
		while (waitpid(cage->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close_fd(&cage->pidfd);
	close_fd(&cage->socket);
}

void cage_leave(struct cage *cage)
{
	if (!cage->over || cage->pidfd < 0) {
		cage_stop(cage);
		return;
	}
	close_fd(&cage->socket);	/* It has waited for this */
	close_fd(&cage->pidfd);
	reap_later(cage->pid);
}
