/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/start.c - fork the sandbox's init, hand it a plan; take it down again */

#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "ipc/socket.h"
#include "plan/plan.h"
#include "sandbox/stages.h"

enum { PLAN_BYTES = 4 << 20 };	/* For a plan; a larger one is copied by a fork */

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

/* The kernel puts the arguments, the environment and the program's name one after
 * the other. The pointers do not tell where the environment ends: libc replaces the
 * one to GLIBC_TUNABLES.
 */
static struct {
	char *start;
	size_t len;
} image;

void sandbox_set_image(char **argv)
{
	const char *end = (const char *)getauxval(AT_EXECFN);

	if (argv[0] && end > argv[0]) {
		image.start = argv[0];
		image.len = (size_t)(end - argv[0]);
	}
}

void child_wipe(void)
{
	if (image.start)
		explicit_bzero(image.start, image.len);
}

/* Those that take a new process. Init makes the others itself, while we go on. */
static uint64_t namespaces_of(const struct init_args *b)
{
	return plan_namespaces(b->kind->tier, b->kind->net) & FORK_NAMESPACES;
}

/* A process that enters the jail cannot leave it, so one in between enters it and
 * forks init with CLONE_PARENT: init is our child all the same
 */
static void __attribute__((noreturn)) fork_from_jail(const struct init_args *b,
						   int answer)
{
	pid_t pid = -1;

	if (setns(b->kind->jail[0], CLONE_NEWUSER) == 0 &&
	    setns(b->kind->jail[1], CLONE_NEWNET) == 0)
		pid = sys_fork_into(namespaces_of(b) | CLONE_PARENT, NULL);
	if (!pid)
		child_main(b);
	if (pid < 0)
		pid = -errno;
	_exit(write(answer, &pid, sizeof(pid)) != (ssize_t)sizeof(pid));
}

static pid_t fork_in_jail(const struct init_args *b, int *pidfd)
{
	int pipes[2];
	pid_t pid, between;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	between = fork();
	if (!between)
		fork_from_jail(b, pipes[1]);
	pid = between < 0 ? -errno : -EIO;
	(void)close(pipes[1]);
	if (between > 0 && read(pipes[0], &pid, sizeof(pid)) !=
			   (ssize_t)sizeof(pid))
		pid = -EIO;
	(void)close(pipes[0]);
	(void)reap_wait(between);
	if (pid < 0) {
		errno = -pid;
		return -1;
	}
	*pidfd = pidfd_open(pid, 0);
	return pid;
}

static pid_t fork_init(const struct init_args *b, int *pidfd)
{
	pid_t pid;

	if (b->kind->jail[1] >= 0)
		return fork_in_jail(b, pidfd);
	pid = sys_fork_into(namespaces_of(b), pidfd);
	if (!pid)
		child_main(b);
	return pid;
}

/* With all signals blocked: init keeps them so, and the command gets its own mask */
static pid_t fork_quietly(const struct init_args *b, int *pidfd)
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
static void choose_cpus(struct init_args *b)
{
	b->other_cpu = b->kind->tier == TIER_FULL && b->kind->jail[1] < 0 &&
		   sched_getaffinity(0, sizeof(b->cpus), &b->cpus) == 0 &&
		   CPU_COUNT(&b->cpus) > 1;
	b->two_cpus = b->other_cpu && CPU_COUNT(&b->cpus) == 2;
}

static void move_init_away(const struct init_args *b, pid_t pid)
{
	const int here = sched_getcpu();
	cpu_set_t others = b->cpus;

	if (!b->other_cpu || here < 0 || here >= CPU_SETSIZE)
		return;
	CPU_CLR(here, &others);
	(void)sched_setaffinity(pid, sizeof(others), &others);
}

int sandbox_begin(const struct sandbox_kind *kind, struct sandbox *ret,
	       struct err *err)
{
	struct init_args args = {
		.kind = kind, .uid = geteuid(), .gid = getegid(),
	};
	struct arena memory = { 0 };
	int pidfd = -1, r = socket_pair(args.pair);
	pid_t pid;

	if (r < 0)
		return fail(err, r, "cannot make a socket pair: %s",
			    strerror(-r));
	choose_cpus(&args);
	r = arena_open(&memory, PLAN_BYTES);
	pid = r < 0 ? -1 : fork_quietly(&args, &pidfd);
	if (pid < 0) {
		r = r < 0 ? fail(err, r, "cannot share memory") :
			    explain_clone(err);
		arena_close(&memory);
		(void)close(args.pair[0]);
		(void)close(args.pair[1]);
		return r;
	}
	move_init_away(&args, pid);
	(void)close(args.pair[1]);
	*ret = (struct sandbox){
		.tier = kind->tier, .net = kind->net, .memory = memory,
		.pid = pid, .pidfd = pidfd, .socket = args.pair[0],
		.sweeps = kind->tier != TIER_FULL, .two_cpus = args.two_cpus,
	};
	return 0;
}

/* For an init that was forked before all this was known. NULL if it cannot be
 * had, or is for another kind of sandbox.
 */
static const struct sandbox_request *pack(struct sandbox *sandbox,
				       const struct sandbox_request *request)
{
	const struct plan *plan = request->plan;
	struct sandbox_request *copy;

	if (sandbox->pidfd < 0 || sandbox->tier != plan->tier ||
	    plan->tier != TIER_FULL || sandbox->net != plan->net ||
	    request->jail[1] >= 0)
		return NULL;
	copy = arena_copy(&sandbox->memory, request, sizeof(*request));
	if (!copy)
		return NULL;
	copy->plan = plan_pack(plan, &sandbox->memory);
	copy->tmp_path = arena_strdup(&sandbox->memory, request->tmp_path);
	copy->staged = arena_strdup(&sandbox->memory, request->staged);
	copy->stdin_path = arena_strdup(&sandbox->memory, request->stdin_path);
	return sandbox->memory.full ? NULL : copy;
}

static int begin_for(const struct sandbox_request *request,
		     struct sandbox *sandbox, struct err *err)
{
	const struct sandbox_kind kind = {
		.tier = request->plan->tier, .net = request->plan->net,
		.jail = { request->jail[0], request->jail[1] },
	};

	return sandbox_begin(&kind, sandbox, err);
}

/* Init would be woken on the processor of its own thread and wait for it, while
 * ours is about to be idle
 */
static void move_init_here(const struct sandbox *sandbox)
{
	const int here = sched_getcpu();
	cpu_set_t one;

	if (!sandbox->two_cpus || here < 0 || here >= CPU_SETSIZE)
		return;
	CPU_ZERO(&one);
	CPU_SET(here, &one);
	(void)sched_setaffinity(sandbox->pid, sizeof(one), &one);
}

/* If init has ended, it has reported why, or its end will be noticed. Any other failure
 * would leave it waiting.
 */
static int send_order(const struct sandbox *sandbox, struct order *order,
		      const int *stdio, struct err *err)
{
	int fds[3], r;
	size_t n = 0;

	for (size_t i = 0; i < 3; i++) {
		order->open[i] = stdio[i] >= 0;
		if (stdio[i] >= 0)
			fds[n++] = stdio[i];
	}
	r = socket_send(sandbox->socket, order, sizeof(*order), fds, n);
	return r == 0 || r == -EPIPE || r == -ECONNRESET ? 0 :
	       socket_fail(r, "cannot hand the plan to the sandbox", err);
}

/* While the file system is put together */
static int send_rules(const struct sandbox *sandbox, const struct plan *plan,
		      struct err *err)
{
	auto_close int rules = landlock_prepare(plan, err);

	if (rules < 0)
		return rules == -ENOENT ? 0 : rules;
	return socket_send(sandbox->socket, "", 1, &rules, 1) < 0 ?
	       fail_errno(err, "cannot hand over the Landlock ruleset") : 0;
}

int sandbox_start(struct sandbox *sandbox, const struct sandbox_request *request,
	       struct err *err)
{
	struct order order = { .request = pack(sandbox, request) };
	int r = 0;

	if (!order.request) {
		sandbox_stop(sandbox);
		r = begin_for(request, sandbox, err);
		order.request = request;
	}
	if (r < 0)
		return r;
	host_ids_read(&order.host);
	move_init_here(sandbox);
	r = send_order(sandbox, &order, request->stdio, err);
	return r < 0 ? r : send_rules(sandbox, request->plan, err);
}

void sandbox_forget_plan(struct sandbox *sandbox)
{
	arena_close(&sandbox->memory);
}

int sandbox_go(const struct sandbox *sandbox)
{
	return socket_send(sandbox->socket, "", 1, NULL, 0);
}

int sandbox_join(const struct sandbox *sandbox, const struct sandbox_join *join,
		 const int *fds, size_t nfds)
{
	struct pollfd p = { .fd = sandbox->socket, .events = POLLOUT };

	/* We are the only sender: what fits now, fits in a moment */
	if (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT))
		return -EAGAIN;
	return socket_send(sandbox->socket, join, sizeof(*join), fds, nfds);
}

int sandbox_open_terminal(int pts, int *ret_inside)
{
	auto_close int fd = openat(pts, "ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	const int unlock = 0;
	int inside;

	if (fd < 0 || ioctl(fd, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	inside = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (inside < 0)
		return -errno;
	*ret_inside = inside;
	return take_fd(&fd);
}

void sandbox_close_later(const struct sandbox *sandbox, int fd)
{
	if (fd >= 0 && sandbox->socket >= 0)
		(void)socket_send(sandbox->socket, "", 1, &fd, 1);
}

void sandbox_stop(struct sandbox *sandbox)
{
	if (sandbox->sweeps)
		close_fd(&sandbox->socket);	/* Init ends the others then */
	if (sandbox->pidfd >= 0) {
		if (!sandbox->sweeps)
			(void)pidfd_send_signal(sandbox->pidfd, SIGKILL, NULL, 0);
		(void)reap_wait(sandbox->pid);
	}
	close_fd(&sandbox->pidfd);
	close_fd(&sandbox->socket);
	arena_close(&sandbox->memory);
}

void sandbox_leave(struct sandbox *sandbox)
{
	if (!sandbox->over || sandbox->pidfd < 0) {
		sandbox_stop(sandbox);
		return;
	}
	close_fd(&sandbox->socket);	/* It has waited for this */
	close_fd(&sandbox->pidfd);
	arena_close(&sandbox->memory);
	reap_later(sandbox->pid);
}
