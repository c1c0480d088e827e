/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/attack/probe-fuzz.c - random calls on paths and descriptors
 *
 * The threads share descriptors and the current directory, and change both. Most
 * names are plain ("fz1"), some are protected. A path starts from the current
 * directory, the project, or a descriptor or a process's link in one of /proc's
 * spellings, and goes through names, "." and "..". What each call returns does not
 * matter: the host looks at what is left. Prints how many calls there were, and
 * how many worked or were refused (EACCES, EPERM, EROFS, EBUSY).
 */

#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 16, FDS = 16, FIRST_FD = 20, PARTS = 5, UPS = 3 };

static const char *const plain[] = {
	"fz1", "fz2", "fz3", "fz4", "fz5 (deleted)", "fz1 (deleted)",
	"fz1", "fz2", "fz3", "fz4", "fzdeep", "a", "b", "c",
};
static const char *const protected[] = {
	".envrc", ".mcp.json", ".bashrc", ".gitmodules", ".vscode",
	".idea", ".claude", "settings.json", "tasks.json", "hooks",
	"config", "pre-commit",
};

static const char *project;
static struct timespec end;
static _Atomic uint64_t calls, worked, refused;

struct random {
	uint64_t state;
};

static unsigned int below(struct random *r, unsigned int n)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(r->state >> 33) % n;
}

#define PICK(r, array) (array)[below(r, sizeof(array) / sizeof(*(array)))]

static int some_fd(struct random *r)
{
	return FIRST_FD + (int)below(r, FDS);
}

static void start_path(struct random *r, char *ret, size_t size)
{
	const int fd = some_fd(r), pid = (int)getpid();

	switch (below(r, 18)) {
	case 0: case 1:
		snprintf(ret, size, "/proc/self/fd/%d/", fd);
		break;
	case 2: case 3:
		snprintf(ret, size, "/dev/fd/%d/", fd);
		break;
	case 4:
		snprintf(ret, size, "/proc/self/cwd/");
		break;
	case 5:
		snprintf(ret, size, "/proc/thread-self/cwd/");
		break;
	case 6:
		snprintf(ret, size, "/proc/thread-self/fd/%d/", fd);
		break;
	case 7:
		snprintf(ret, size, "/proc/tty/../%d/fd/%d/", pid, fd);
		break;
	case 8:
		snprintf(ret, size, "/usr/../proc/%d/cwd/", pid);
		break;
	case 9:
		snprintf(ret, size, "/proc/self/root%s/", project);
		break;
	case 10: case 11:
		snprintf(ret, size, "%s/", project);
		break;
	case 12:
		snprintf(ret, size, "%s/fzdeep/a/b/c/", project);
		break;
	case 13:
		snprintf(ret, size, "%s/fz1/.git/", project);
		break;
	default:
		ret[0] = '\0';
	}
}

static void make_path(struct random *r, char *ret, size_t size)
{
	unsigned int parts = 1 + below(r, PARTS), ups = 0;

	start_path(r, ret, size);
	while (parts--) {
		const size_t n = strlen(ret);
		const unsigned int kind = below(r, 16);
		const char *name = PICK(r, plain);

		if (kind < 4 && ups < UPS) {
			name = "..";
			ups++;
		} else if (kind < 5) {
			name = ".";
		} else if (kind < 7 || (!parts && kind < 10)) {
			name = PICK(r, protected);
		}
		snprintf(ret + n, size - n, "%s%s", name,
			 parts || !below(r, 12) ? "/" : "");
	}
}

/* What is open stays open under one of a few numbers, for others to start from */
static long keep(struct random *r, long fd)
{
	if (fd >= 0 && fd < FIRST_FD) {
		(void)!write((int)fd, "fuzz\n", 5);
		(void)dup2((int)fd, some_fd(r));
		close((int)fd);
	}
	return fd;
}

static int open_flags(struct random *r)
{
	static const int flags[] = {
		O_RDONLY | O_DIRECTORY, O_RDONLY | O_DIRECTORY, O_PATH,
		O_PATH | O_NOFOLLOW, O_RDONLY, O_WRONLY | O_CREAT,
		O_WRONLY | O_CREAT, O_WRONLY | O_CREAT | O_EXCL,
		O_RDWR | O_CREAT | O_TRUNC, O_WRONLY, O_WRONLY | O_APPEND,
		O_RDWR | O_NOFOLLOW, O_RDONLY | O_CREAT, O_RDWR | O_TMPFILE,
	};

	return PICK(r, flags) | O_NONBLOCK;
}

static int at(struct random *r)
{
	return below(r, 3) ? AT_FDCWD : some_fd(r);
}

static long call_one(struct random *r)
{
	static const unsigned int how[] = {
		0, RENAME_EXCHANGE, RENAME_EXCHANGE, RENAME_NOREPLACE,
	};
	char a[PATH_MAX], b[PATH_MAX], fd[32];

	make_path(r, a, sizeof(a));
	make_path(r, b, sizeof(b));
	switch (below(r, 22)) {
	case 0: case 1: case 2: case 3:
		return keep(r, openat(at(r), a, open_flags(r), 0644));
	case 4:
		return keep(r, creat(a, 0644));
	case 5: case 6: case 7: case 8:
		return mkdirat(at(r), a, 0755);
	case 9: case 10:
		return syscall(SYS_renameat2, at(r), a, at(r), b, PICK(r, how));
	case 11:
		return rename(a, b);
	case 12:
		return linkat(at(r), a, at(r), b,
			      below(r, 2) ? AT_SYMLINK_FOLLOW : 0);
	case 13:
		snprintf(fd, sizeof(fd), "/proc/self/fd/%d", some_fd(r));
		return linkat(AT_FDCWD, fd, AT_FDCWD, b, AT_SYMLINK_FOLLOW);
	case 14:
		return symlinkat(a, at(r), b);
	case 15:
		return unlinkat(at(r), a, AT_REMOVEDIR);
	case 16:
		return unlinkat(at(r), a, below(r, 2) ? AT_REMOVEDIR : 0);
	case 17:
		return chdir(a);
	case 18:
		return below(r, 2) ? fchdir(some_fd(r)) : chdir(project);
	case 19:
		return dup2(some_fd(r), some_fd(r));
	case 20:
		return truncate(a, 3);
	default:
		return chmod(a, 0755);
	}
}

static bool is_over(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > end.tv_sec ||
	       (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec);
}

static void *work(void *arg)
{
	struct random *r = arg;

	while (!is_over()) {
		const long result = call_one(r);

		calls++;
		worked += result >= 0;
		refused += result < 0 && (errno == EACCES || errno == EPERM ||
					  errno == EROFS || errno == EBUSY);
	}
	return NULL;
}

/* SEED MILLISECONDS THREADS PROJECT */
int fuzz_paths(char **argv)
{
	const uint64_t seed = strtoull(argv[0], NULL, 10);
	const long ms = probe_number(argv[1]);
	const unsigned int n = (unsigned int)probe_number(argv[2]);
	struct random random[THREADS_MAX];
	pthread_t thread[THREADS_MAX];

	project = argv[3];
	if (n > THREADS_MAX || chdir(project) < 0)
		return n > THREADS_MAX ? -EINVAL : -errno;
	for (int i = 0; i < FDS; i++)
		(void)dup2(0, FIRST_FD + i);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	end.tv_nsec += ms % 1000 * 1000000;
	for (unsigned int i = 0; i < n; i++) {
		random[i].state = seed * THREADS_MAX + i;
		if (pthread_create(&thread[i], NULL, work, &random[i]))
			return -EAGAIN;
	}
	for (unsigned int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	printf("%llu calls, %llu worked, %llu refused\n",
	       (unsigned long long)calls, (unsigned long long)worked,
	       (unsigned long long)refused);
	return 0;
}
