/* SPDX-License-Identifier: Apache-2.0 */
/* attack/attack.c - find an attempt, make it in a child */

#include "attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"

const struct attempt *attack_find(const char *name)
{
	static const struct attempt *const all[] = {
		attack_files, attack_calls, attack_processes, attack_net,
		attack_gate,
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		for (const struct attempt *p = all[i]; p->name; p++) {
			if (!strcmp(p->name, name))
				return p;
		}
	}
	return NULL;
}

int attack_result(long r)
{
	return r < 0 ? -errno : 0;
}

void attack_learn(struct attack *a, const void *bytes, size_t n)
{
	struct found *f = &a->found;
	const size_t left = sizeof(f->bytes) - f->len;

	if (a->print) {
		printf("%.*s\n", (int)n, (const char *)bytes);
		return;
	}
	memcpy(f->bytes + f->len, bytes, n < left ? n : left);
	f->len += n < left ? n : left;
}

int attack_read(struct attack *a, int fd)
{
	char bytes[ATTACK_FOUND_MAX];
	const ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	const int r = attack_result(n);

	if (n > 0)
		attack_learn(a, bytes, (size_t)n);
	if (fd >= 0)
		(void)close(fd);
	return r;
}

int attack_mark(const char *path, int flags)
{
	static const char mark[] = "changed by cloche verify\n";
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);

	return attack_result(fd < 0 ? -1 : write(fd, mark, sizeof(mark) - 1));
}

void attack_after_host(const struct attack *a)
{
	const struct timespec quarter = { .tv_nsec = 250000000 };
	char byte;

	if (a->control)
		return;
	if (write(STDOUT_FILENO, "!\n", 2) == 2)
		(void)!read(STDIN_FILENO, &byte, 1);
	(void)nanosleep(&quarter, NULL);
}

/* What it learns is in shared memory: it may be killed at any moment */
void attack_run(const struct attempt *attempt, struct attack *a,
		unsigned int seconds)
{
	struct attack *shared = mmap(NULL, sizeof(*shared),
				     PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t pid;

	a->found = (struct found){ .error = ATTACK_NOTHING };
	if (shared == MAP_FAILED)
		return;
	*shared = *a;
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (a->prepare)
			a->prepare(a->world);
		(void)alarm(seconds);
		shared->found.error = -attempt->fn(shared);
		(void)fflush(stdout);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	a->found = shared->found;
	if (a->found.len > sizeof(a->found.bytes))
		a->found.len = 0;
	if (pid > 0 && WIFSIGNALED(status) &&
	    (!seconds || WTERMSIG(status) != SIGALRM))
		a->found.error = ATTACK_SIGNAL | WTERMSIG(status);
	(void)munmap(shared, sizeof(*shared));
}
