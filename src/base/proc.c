/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/reap.c - children whose end takes time, and that nobody waits for
 *
 * Whoever outlives us is adopted by a subreaper or by process 1. On a machine
 * that is an init, which reaps. In a container it is often the program itself,
 * which does not: the dead would add up, and with them keys of the user.
 */

#include "base/reap.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ADOPTED_TRIES = 200 };	/* Milliseconds to wait for those who are ending */

static pid_t pids[REAP_MAX];
static bool adopts;

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
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
}

void reap_rest(void)
{
	if (!is_contained())
		return;
	for (size_t i = 0; i < REAP_MAX; i++) {
		while (pids[i] && waitpid(pids[i], NULL, 0) < 0 &&
		       errno == EINTR)
			;
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
