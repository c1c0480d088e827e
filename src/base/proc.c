/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/proc.c - helper processes: spawn one over a socket, end it, reap it
 *
 * A child that outlives us is adopted by a subreaper or by process 1. On a machine
 * that is an init, which reaps. In a container it is often the program itself,
 * which does not: zombies would add up, and with them keys of the user.
 */

#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/own.h"
#include "base/sys.h"

enum { ADOPTED_TRIES = 200 };	/* Milliseconds to wait for adopted children that are ending */

static pid_t pids[REAP_MAX];
static bool adopts;

int proc_die_with_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	return getppid() == parent ? 0 : -EOWNERDEAD;
}

int proc_spawn(const char *name, uint64_t namespaces,
	       void (*main)(int socket, const void *arg), const void *arg,
	       struct proc *ret)
{
	const pid_t parent = namespaces & CLONE_NEWPID ? 0 : getpid();
	sigset_t none;
	int pair[2];
	pid_t pid;

	*ret = PROC_NONE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = namespaces ? sys_fork_into(namespaces, NULL) : fork();
	if (!pid) {
		sigemptyset(&none);
		(void)prctl(PR_SET_NAME, name, 0, 0, 0);
		(void)setsid();
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		if (proc_die_with_parent(parent) == 0)
			main(pair[1], arg);
		_exit(1);
	}
	if (pid < 0) {
		pid = -errno;
		close_fd(&pair[0]);
	}
	close_fd(&pair[1]);
	if (pid < 0)
		return pid;
	*ret = (struct proc){ pid, pair[0] };
	return 0;
}

int proc_close_others(const int *keep, size_t n)
{
	unsigned int from = 3;

	while (from < INT_MAX) {
		unsigned int next = INT_MAX;	/* The lowest to keep from here */

		for (size_t i = 0; i < n; i++) {
			if (keep[i] >= (int)from && keep[i] < (int)next)
				next = (unsigned int)keep[i];
		}
		if (next > from && close_range(from, next - 1, 0) < 0)
			return -errno;
		from = next + 1;
	}
	return 0;
}

int proc_leave_streams(void)
{
	const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		return -errno;
	if (fd > 2)
		(void)close(fd);
	return 0;
}

void proc_end(struct proc *proc, bool wait)
{
	if (proc->pid > 0) {
		(void)kill(proc->pid, SIGKILL);
		if (!wait)
			reap_later(proc->pid);
		else
			(void)reap_wait(proc->pid);
	}
	close_fd(&proc->socket);
	*proc = PROC_NONE;
}

int reap_wait(pid_t pid)
{
	int status = -1;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* The number of the first pid namespace is part of the kernel's interface */
static bool is_contained(void)
{
	static const char first[] = "pid:[4026531836]";
	char ours[64];
	const ssize_t n = readlink("/proc/self/ns/pid", ours, sizeof(ours));

	return n != (ssize_t)strlen(first) ||
	       memcmp(ours, first, strlen(first)) != 0;
}

/* Children of a child that is killed, and that end with it, come to us */
void reap_adopt(void)
{
	adopts = adopts || (is_contained() &&
			    prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
}

void reap_later(pid_t pid)
{
	for (size_t i = 0; i < REAP_MAX; i++) {
		if (pids[i] && waitpid(pids[i], NULL, WNOHANG) != 0)
			pids[i] = 0;
		if (!pids[i] && pid > 0) {
			pids[i] = pid;
			pid = -1;
		}
	}
	(void)reap_wait(pid);
}

void reap_rest(void)
{
	if (!is_contained())
		return;
	for (size_t i = 0; i < REAP_MAX; i++) {
		(void)reap_wait(pids[i]);
		pids[i] = 0;
	}
	for (int i = 0; adopts && i < ADOPTED_TRIES; i++) {
		const struct timespec one = { .tv_nsec = 1000000 };
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0)
			return;
		(void)nanosleep(&one, NULL);
	}
}

int reap_exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

const char *proc_find_program(const char *name, char *path, size_t size)
{
	static const char *const places[] = {
		"/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin",
		"/usr/local/sbin",
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, size, "%s/%s", places[i], name);
		if (access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}

char *proc_stat(pid_t pid, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return fs_read_small(AT_FDCWD, path, text, size) ? strrchr(text, ')') : NULL;
}

pid_t proc_parent(pid_t pid)
{
	char text[256];
	const char *p = proc_stat(pid, text, sizeof(text));

	return p && strlen(p) > 4 ? (pid_t)strtol(p + 4, NULL, 10) : 0;
}

pid_t proc_of_pidfd(int pidfd)
{
	char path[64], text[1024];
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	at = fs_read_small(AT_FDCWD, path, text, sizeof(text)) ?
	     strstr(text, "\nPid:") : NULL;
	return at ? (pid_t)strtol(at + strlen("\nPid:"), NULL, 10) : -1;
}
