/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/init.c - process 1: starts the command, reaps, tells the supervisor
 *
 * It is not a program of its own: an execve() costs more than the rest of the
 * cage. So it must not be worth looking into: its environment and arguments
 * are wiped, and nobody inside may read or trace it.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sock.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/child.h"
#include "plan/plan.h"

static void tell(int socket, enum cage_event event, int value,
		 uint64_t maxrss_kib)
{
	const struct cage_message m = {
		.event = event, .value = value, .maxrss_kib = maxrss_kib,
	};

	/* With nobody to tell, there is nothing to stay for */
	if (sock_send(socket, &m, sizeof(m), NULL, 0) < 0)
		_exit(125);
}

static void fail_exec(int socket, const char *name, int error)
{
	struct err err = { 0 };

	if (error == ENOENT && !strchr(name, '/'))
		fail(&err, -error, "'%s' was not found", name);
	else if (error == ENOEXEC)
		fail(&err, -error, "'%s' is not a program for this machine (a 32-bit program cannot run in the sandbox)", name);
	else
		fail(&err, -error, "cannot run '%s': %s", name,
		     strerror(error));
	child_fail(socket, error == ENOENT ? 127 : 126, err.msg);
}

/* vfork(): the child borrows our memory until it has become the command, so a
 * failed execve() can leave its errno here
 */
static pid_t start(const struct plan *plan, const sigset_t *mask, int socket)
{
	volatile int error = 0;
	pid_t pid;

	environ = plan->env;
	pid = vfork();
	if (!pid) {
		(void)sigprocmask(SIG_SETMASK, mask, NULL);
		execvpe(plan->argv[0], plan->argv, plan->env);
		error = errno;
		_exit(127);
	}
	if (pid < 0)
		child_fail(socket, 125, "cannot start a process in the sandbox");
	if (error)
		fail_exec(socket, plan->argv[0], error);
	return pid;
}

static void tell_started(int socket, pid_t pid)
{
	const struct cage_message m = { .event = CAGE_STARTED };
	auto_close int fd = sys_pidfd_open(pid, 0);

	if (fd < 0 || sock_send(socket, &m, sizeof(m), &fd, 1) < 0)
		_exit(125);
}

static void reap(int socket, pid_t command)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage)) > 0) {
		if (pid != command)
			continue;
		if (WIFSTOPPED(status)) {
			tell(socket, CAGE_STOPPED, WSTOPSIG(status), 0);
			continue;
		}
		(void)getrusage(RUSAGE_CHILDREN, &usage);
		tell(socket, CAGE_EXITED, status, (uint64_t)usage.ru_maxrss);
		_exit(0);	/* And the kernel ends all others */
	}
}

void init_run(const struct plan *plan, const void *mask, int socket)
{
	struct pollfd fds[2] = {
		{ .fd = -1, .events = POLLIN }, { .fd = socket },
	};
	sigset_t child;
	pid_t command;

	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		child_fail(socket, 125, "cannot close init to the command");
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	fds[0].fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fds[0].fd < 0)
		child_fail(socket, 125, "cannot wait for signals");

	command = start(plan, mask, socket);
	tell_started(socket, command);
	for (;;) {
		struct signalfd_siginfo info;

		reap(socket, command);
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			_exit(125);
		if (fds[1].revents)	/* The supervisor is gone */
			_exit(125);
		(void)!read(fds[0].fd, &info, sizeof(info));
	}
}
