/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/jail-holder.c - the holder of an egress jail
 *
 * Theory of operation: pasta (of the package passt) carries the traffic of a
 * network namespace to the host's network as an ordinary process, without
 * privilege. The order is what makes it a jail: the namespace, pasta, the
 * routes, and only then a process inside.
 *
 * The holder is the first process of a pid namespace, so that pasta ends when
 * it does, however that comes about. It lives in a user namespace that owns
 * the network namespace; the sandbox's own user namespace is a child of that
 * one, and so has no right to a route or a device, whatever capabilities it
 * could come by. Pasta is forked before the holder leaves the host's network,
 * to which there is no way back.
 *
 *	supervisor ── holder ── pasta (first in the host's network)
 *	    │            └ in the jail's network; locks the routes, then waits
 *	    └─ init of the sandbox (enters the jail's network)
 */

#include "sandbox/jail-holder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "ipc/socket.h"
#include "plan/plan.h"
#include "sandbox/stages.h"

enum {
	PASTA_MS = 20000,	/* Until it must have configured the interface */
	WORDS_MAX = 512,	/* Of what it says when it fails */
	NET_FD = 9,		/* The namespace's descriptor in pasta */
};

/**
 * struct jail_message - What the holder tells
 * @error:	0: it stands (with its two namespaces), or over; else -errno
 */
struct jail_message {
	int error;
	char text[ERR_MSG_MAX];
};

#define HATCH "; --net host shares the host's network, without a jail"

static int check_needs(char *pasta, size_t size, struct err *err)
{
	if (!proc_find_program("pasta", pasta, size))
		return fail(err, -ENOENT, "--net jail needs pasta: install the package passt" HATCH);
	if (access("/dev/net/tun", R_OK | W_OK) < 0)
		return fail_errno(err, "--net jail needs /dev/net/tun (modprobe tun, chmod 0666 on it; in a container --device /dev/net/tun)" HATCH);
	return 0;
}

/* What pasta needs in the namespace that it serves, and drops itself: without
 * being root there, an exec would leave nothing
 */
static const uint64_t pasta_caps =
	1ULL << CAP_SYS_ADMIN | 1ULL << CAP_NET_ADMIN |
	1ULL << CAP_NET_BIND_SERVICE | 1ULL << CAP_SYS_PTRACE |
	1ULL << CAP_SETPCAP | 1ULL << CAP_SETUID | 1ULL << CAP_SETGID;

static void __attribute__((noreturn)) run_pasta(const char *pasta,
						const struct plan *plan,
						int socket, int words)
{
	const char *argv[] = {
		pasta, "--config-net", "--netns", "/proc/self/fd/9",
		"--ns-ifname", "jail0", "--quiet", "--no-map-gw",
		"--tcp-ports", "none",
		"--udp-ports", "none", "--tcp-ns", "none", "--udp-ns", "none",
		"--no-dhcp", "--no-dhcpv6", "--no-ra", NULL, NULL, NULL,
		NULL, NULL,
	};
	const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	size_t n = ARRAY_SIZE(argv) - 5, nfds = 1;
	int net = -1;
	char go;

	if (plan->jail.forward4) {
		argv[n++] = "--dns-forward";
		argv[n++] = JAIL_FORWARD4;
	}
	if (plan->jail.forward6) {
		argv[n++] = "--dns-forward";
		argv[n++] = JAIL_FORWARD6;
	}
	if (socket_recv(socket, &go, 1, &net, &nfds) != 1 || nfds != 1 ||
	    dup2(net, NET_FD) < 0 || dup2(words, 2) < 0 ||
	    close_range(NET_FD + 1, ~0U, 0) < 0 ||
	    close_range(3, NET_FD - 1, 0) < 0 || sys_keep_caps(pasta_caps) < 0)
		_exit(126);
	/* It takes an ignored SIGPIPE for a failure */
	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	(void)execve(pasta, (char *const *)(uintptr_t)argv,
		     (char *const *)(uintptr_t)env);
	_exit(127);
}

/* The first line of pasta's output */
static void read_words(int fd, char *text, size_t size)
{
	ssize_t n = read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	while (!strncmp(text, "Failed to send", 14) && strchr(text, '\n'))
		memmove(text, strchr(text, '\n') + 1,
			strlen(strchr(text, '\n')));
	text[strcspn(text, "\n")] = '\0';
}

/* It goes to the background when it is ready */
static int wait_for_pasta(pid_t pid, int words, struct err *err)
{
	auto_close int pidfd = pidfd_open(pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	char text[WORDS_MAX];

	if (pidfd < 0 || poll(&p, 1, PASTA_MS) != 1)
		return fail(err, -ETIMEDOUT, "--net jail: pasta did not get ready" HATCH);
	if (reap_wait(pid) == 0)
		return 0;
	read_words(words, text, sizeof(text));
	return fail(err, -EIO, "--net jail: pasta failed: %s" HATCH,
		    *text ? text : "it does not say why");
}

/* Fork pasta, leave the host's network, and have pasta join us there */
static int attach(const char *pasta, const struct plan *plan, int *net,
		  struct err *err)
{
	auto_close int words = -1;
	int pair[2], pipes[2];
	pid_t pid;

	if (socket_pair(pair) < 0 || pipe2(pipes, O_CLOEXEC | O_NONBLOCK) < 0)
		return fail_errno(err, "--net jail: cannot talk to pasta");
	pid = fork();
	if (!pid)
		run_pasta(pasta, plan, pair[1], pipes[1]);
	(void)close(pair[1]);
	(void)close(pipes[1]);
	words = pipes[0];
	if (pid < 0 || unshare(CLONE_NEWNET) < 0)
		return fail_errno(err, "--net jail: cannot make a network namespace");
	*net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*net < 0 || socket_send(pair[0], "", 1, net, 1) < 0)
		return fail_errno(err, "--net jail: cannot hand the network over");
	(void)close(pair[0]);
	return wait_for_pasta(pid, words, err);
}

static int drop_all(struct err *err)
{
	const struct sys_caps none = { 0 };

	if (sys_capset(&none) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return fail_errno(err, "--net jail: cannot drop privileges");
	return 0;
}

/* Until the supervisor is gone; tell it when pasta is */
static void __attribute__((noreturn)) hold(int socket, int children)
{
	const struct jail_message over = { 0 };
	struct pollfd fds[] = {
		{ .fd = socket, .events = POLLIN },
		{ .fd = children, .events = POLLIN },
	};

	for (;;) {
		struct signalfd_siginfo info;

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			_exit(1);
		if (fds[0].revents)
			_exit(0);
		if (!fds[1].revents)
			continue;
		(void)!read(children, &info, sizeof(info));
		while (waitpid(-1, NULL, WNOHANG) > 0)
			(void)socket_send(socket, &over, sizeof(over), NULL, 0);
	}
}

/* Nothing of the caller's but the socket */
static int leave_caller(int socket, struct err *err)
{
	int r = proc_leave_streams();

	if (r == 0)
		r = proc_close_others(&socket, 1);
	if (r == 0 && chdir("/") < 0)
		r = -errno;
	return r < 0 ? fail(err, r, "--net jail: cannot close descriptors: %s",
			    strerror(-r)) : 0;
}

/* What the holder starts with */
struct holder_work {
	const struct plan *plan;
	const char *pasta;
};

static void holder_main(int socket, const void *arg)
{
	const struct holder_work *w = arg;
	const struct plan *plan = w->plan;
	struct jail_message m = { 0 };
	struct jail_near near = { 0 };
	struct err err = { 0 };
	int fds[2] = { -1, -1 }, children, r;
	sigset_t set;

	if ((r = leave_caller(socket, &err)) == 0 &&
	    (r = stage_idmap(plan->machine.uid, plan->machine.gid, &err)) == 0 &&
	    (r = jail_look(&near, &err)) == 0 &&
	    (r = attach(w->pasta, plan, &fds[1], &err)) == 0)
		r = jail_lock(&plan->jail, &near, &err);
	free(near.v);
	fds[0] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	if (r == 0)
		r = drop_all(&err);
	(void)proc_die_with_parent(0);	/* What was dropped reset it */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	children = sys_child_signals();
	if (r == 0 && (children < 0 || fds[0] < 0))
		r = fail_errno(&err, "--net jail: cannot watch over pasta");
	m.error = r;
	snprintf(m.text, sizeof(m.text), "%s", err.msg);
	if (socket_send(socket, &m, sizeof(m), fds, r < 0 ? 0 : 2) < 0 || r < 0)
		_exit(1);
	close_fd(&fds[0]);
	close_fd(&fds[1]);
	hold(socket, children);
}

static int wait_ready(struct jail_run *run, struct err *err)
{
	struct jail_message m = { 0 };
	int fds[2] = { -1, -1 };
	size_t n = 2;

	if (socket_recv(run->holder.socket, &m, sizeof(m), fds, &n) !=
	    (ssize_t)sizeof(m))
		return fail(err, -EPIPE, "--net jail: its holder ended");
	m.text[sizeof(m.text) - 1] = '\0';
	if (m.error < 0 || n != 2)
		return fail(err, m.error < 0 ? m.error : -EPROTO, "%s", m.text);
	run->user = fds[0];
	run->net = fds[1];
	return 0;
}

int jail_start(const struct plan *plan, struct jail_run *ret, struct err *err)
{
	struct jail_run run = JAIL_NONE;
	char pasta[64];
	const struct holder_work work = { plan, pasta };
	int r = check_needs(pasta, sizeof(pasta), err);

	if (r < 0)
		return r;
	r = proc_spawn("cloche-jail", CLONE_NEWUSER | CLONE_NEWPID, holder_main,
		       &work, &run.holder);
	if (r < 0)
		fail(err, r, "--net jail: cannot make a user namespace (%s); 'cloche doctor' says why",
		     strerror(-r));
	else
		r = wait_ready(&run, err);
	if (r < 0) {
		jail_stop(&run);
		return r;
	}
	*ret = run;
	return 0;
}

void jail_stop(struct jail_run *run)
{
	close_fd(&run->user);
	close_fd(&run->net);
	proc_end(&run->holder, true);
}
