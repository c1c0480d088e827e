/* SPDX-License-Identifier: Apache-2.0 */
/* cage/start.c - fork the sandbox's init, hand it a plan; take it down again */

#include "cage/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/reap.h"
#include "base/sock.h"
#include "base/sys.h"
#include "cage/child.h"
#include "plan/pack.h"
#include "plan/plan.h"

enum { CAGE_ROOM = 4 << 20 };	/* For a plan; a larger one is copied by a fork */

static int explain_clone(struct err *err)
{
	const int saved = errno;

	if (saved == EPERM || saved == ENOSPC || saved == EACCES)
		return fail(err, -saved, "this machine does not let us make user namespaces (%s); 'cloche doctor' says why and what to do",
			    saved == ENOSPC ? "user.max_user_namespaces is used up"
					    : "not permitted");
	if (saved == EAGAIN)
		return fail(err, -saved, "cannot start the sandbox: this user has as many processes as there may be (ulimit -u); end some, or raise that");
	errno = saved;
	return fail_errno(err, "cannot make the sandbox's namespaces");
}

static struct {
	char *start;
	size_t len;
} image[2];

void cage_set_image(char **argv, char **envp)
{
	char **const areas[2] = { argv, envp };

	for (size_t i = 0; i < 2; i++) {
		char **last = areas[i];

		if (!last || !*last)
			continue;
		while (last[1])
			last++;
		image[i].start = areas[i][0];
		image[i].len = (size_t)(*last + strlen(*last) - areas[i][0]);
	}
}

void child_wipe(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(image); i++) {
		if (image[i].start)
			explicit_bzero(image[i].start, image[i].len);
	}
}

/* Those that have to be there first. Init makes the others itself, while we go
 * on.
 */
static uint64_t namespaces_of(const struct birth *b)
{
	return plan_namespaces(b->how->tier, b->how->net) & BIRTH_NAMESPACES;
}

/* Who enters the jail cannot leave it, so a process in between does: init is
 * its brother, and still our child
 */
static void __attribute__((noreturn)) bear_in_jail(const struct birth *b,
						   int answer)
{
	pid_t pid = -1;

	if (setns(b->how->jail[0], CLONE_NEWUSER) == 0 &&
	    setns(b->how->jail[1], CLONE_NEWNET) == 0)
		pid = sys_fork_into(namespaces_of(b) | CLONE_PARENT, NULL);
	if (!pid)
		child_main(b);
	if (pid < 0)
		pid = -errno;
	_exit(write(answer, &pid, sizeof(pid)) != (ssize_t)sizeof(pid));
}

static pid_t fork_in_jail(const struct birth *b, int *pidfd)
{
	int pipes[2];
	pid_t pid, between;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	between = fork();
	if (!between)
		bear_in_jail(b, pipes[1]);
	pid = between < 0 ? -errno : -EIO;
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

	if (b->how->jail[1] >= 0)
		return fork_in_jail(b, pidfd);
	pid = sys_fork_into(namespaces_of(b), pidfd);
	if (!pid)
		child_main(b);
	return pid;
}

/* Init keeps them blocked, and the command gets its own mask */
static pid_t fork_quietly(const struct birth *b, int *pidfd)
{
	sigset_t all, before;
	int saved;
	pid_t pid;

	(void)fflush(NULL);	/* Or both sides would print what is pending */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork_init(b, pidfd);
	saved = errno;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return pid;
}

/* A scheduler that sees no reason to wake another processor starts a child only
 * when its parent sleeps: the two would not run side by side
 */
static void look_at_cpus(struct birth *b)
{
	b->moves = b->how->tier == TIER_FULL && b->how->jail[1] < 0 &&
		   sched_getaffinity(0, sizeof(b->cpus), &b->cpus) == 0 &&
		   CPU_COUNT(&b->cpus) > 1;
	b->crowded = b->moves && CPU_COUNT(&b->cpus) == 2;
}

static void move_away(const struct birth *b, pid_t pid)
{
	const int here = sched_getcpu();
	cpu_set_t others = b->cpus;

	if (!b->moves || here < 0 || here >= CPU_SETSIZE)
		return;
	CPU_CLR(here, &others);
	(void)sched_setaffinity(pid, sizeof(others), &others);
}

int cage_begin(const struct cage_birth *how, struct cage *ret,
	       struct err *err)
{
	struct birth birth = {
		.how = how, .uid = geteuid(), .gid = getegid(),
	};
	struct arena room = { 0 };
	int pidfd = -1, r = sock_pair(birth.pair);
	pid_t pid;

	if (r < 0)
		return fail(err, r, "cannot make a socket pair: %s",
			    strerror(-r));
	look_at_cpus(&birth);
	r = arena_open(&room, CAGE_ROOM);
	pid = r < 0 ? -1 : fork_quietly(&birth, &pidfd);
	if (pid < 0) {
		r = r < 0 ? fail(err, r, "cannot share memory") :
			    explain_clone(err);
		arena_close(&room);
		(void)close(birth.pair[0]);
		(void)close(birth.pair[1]);
		return r;
	}
	move_away(&birth, pid);
	(void)close(birth.pair[1]);
	*ret = (struct cage){
		.tier = how->tier, .net = how->net, .room = room,
		.pid = pid, .pidfd = pidfd, .socket = birth.pair[0],
		.sweeps = how->tier != TIER_FULL, .crowded = birth.crowded,
	};
	return 0;
}

/* For an init that was forked before all this was known. NULL if it cannot be
 * had, or is for another kind of sandbox.
 */
static const struct cage_request *pack(struct cage *cage,
				       const struct cage_request *request)
{
	const struct plan *plan = request->plan;
	struct cage_request *copy;

	if (cage->pidfd < 0 || cage->tier != plan->tier ||
	    plan->tier != TIER_FULL || cage->net != plan->net ||
	    request->jail[1] >= 0)
		return NULL;
	copy = arena_copy(&cage->room, request, sizeof(*request));
	if (!copy)
		return NULL;
	copy->plan = plan_pack(plan, &cage->room);
	copy->tmp_path = arena_strdup(&cage->room, request->tmp_path);
	copy->aside = arena_strdup(&cage->room, request->aside);
	copy->stdin_path = arena_strdup(&cage->room, request->stdin_path);
	return cage->room.full ? NULL : copy;
}

static int begin_for(const struct cage_request *request, struct cage *cage,
		     struct err *err)
{
	const struct cage_birth birth = {
		.tier = request->plan->tier, .net = request->plan->net,
		.jail = { request->jail[0], request->jail[1] },
	};

	return cage_begin(&birth, cage, err);
}

/* It would be woken where it was, and wait there for its own thread, while ours
 * is about to have nothing to do
 */
static void call_here(const struct cage *cage)
{
	const int here = sched_getcpu();
	cpu_set_t one;

	if (!cage->crowded || here < 0 || here >= CPU_SETSIZE)
		return;
	CPU_ZERO(&one);
	CPU_SET(here, &one);
	(void)sched_setaffinity(cage->pid, sizeof(one), &one);
}

/* Nobody there to take it has said why, or will be missed. But who waits for it
 * would wait for ever.
 */
static int send_order(const struct cage *cage, struct order *order,
		      const int *stdio, struct err *err)
{
	int fds[3], r;
	size_t n = 0;

	for (size_t i = 0; i < 3; i++) {
		order->open[i] = stdio[i] >= 0;
		if (stdio[i] >= 0)
			fds[n++] = stdio[i];
	}
	r = sock_send(cage->socket, order, sizeof(*order), fds, n);
	return r == 0 || r == -EPIPE || r == -ECONNRESET ? 0 :
	       sock_fail(r, "cannot hand the plan to the sandbox", err);
}

/* While the file system is put together */
static int send_rules(const struct cage *cage, const struct plan *plan,
		      struct err *err)
{
	auto_close int rules = landlock_prepare(plan, err);

	if (rules < 0)
		return rules == -ENOENT ? 0 : rules;
	return sock_send(cage->socket, "", 1, &rules, 1) < 0 ?
	       fail_errno(err, "cannot hand over the Landlock ruleset") : 0;
}

int cage_start(struct cage *cage, const struct cage_request *request,
	       struct err *err)
{
	struct order order = { .request = pack(cage, request) };
	int r = 0;

	if (!order.request) {
		cage_stop(cage);
		r = begin_for(request, cage, err);
		order.request = request;
	}
	if (r < 0)
		return r;
	host_ids_read(&order.host);
	call_here(cage);
	r = send_order(cage, &order, request->stdio, err);
	return r < 0 ? r : send_rules(cage, request->plan, err);
}

void cage_forget_plan(struct cage *cage)
{
	arena_close(&cage->room);
}

int cage_go(const struct cage *cage)
{
	return sock_send(cage->socket, "", 1, NULL, 0);
}

void cage_bury(const struct cage *cage, int fd)
{
	if (fd >= 0 && cage->socket >= 0)
		(void)sock_send(cage->socket, "", 1, &fd, 1);
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
	arena_close(&cage->room);
}

void cage_leave(struct cage *cage)
{
	if (!cage->over || cage->pidfd < 0) {
		cage_stop(cage);
		return;
	}
	close_fd(&cage->socket);	/* It has waited for this */
	close_fd(&cage->pidfd);
	arena_close(&cage->room);
	reap_later(cage->pid);
}
