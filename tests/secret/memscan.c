/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/secret/memscan.c - look for a value in the memory of a program
 *
 * memscan CANARY COMMAND...: runs COMMAND and all that it starts under ptrace.
 * CANARY is the name of a file with the value, so that the value is in no
 * argument of ours.
 *
 * - At certain system calls, every copy of the value must lie in a mapping that
 *   is left out of core dumps ("dd") and locked ("lo").
 * - When a process ends (all its own code has run, its memory is still there)
 *   no copy may be left: neither as it is nor in hexadecimal.
 * - Never may it stand in an argument list or an environment.
 *
 * Prints "WHEN PROGRAM COPIES" for what it looked at and found. The exit status
 * says nothing about it: the test reads the lines.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANARY_MAX = 256, CHUNK = 1 << 20, PAGE = 4096 };

static char canary[CANARY_MAX], hex[2 * CANARY_MAX + 1];
static size_t canary_len;
static char chunk[CHUNK + 2 * CANARY_MAX];

static void read_canary(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = read(fd, canary, sizeof(canary) - 1);

	if (n < 8) {
		fprintf(stderr, "memscan: no value in %s\n", path);
		exit(2);
	}
	canary_len = (size_t)n;
	for (size_t i = 0; i < canary_len; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", (unsigned char)canary[i]);
	(void)close(fd);
}

static int count_in(const char *data, size_t n, const char *what, size_t len)
{
	int found = 0;

	for (const char *p = data; (p = memmem(p, n - (size_t)(p - data), what,
					       len)) != NULL; p++)
		found++;
	return found;
}

static int count(const char *data, size_t n)
{
	return count_in(data, n, canary, canary_len) +
	       count_in(data, n, hex, 2 * canary_len);
}

static int count_in_file(pid_t pid, const char *name)
{
	char path[64];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, chunk, CHUNK);
	(void)close(fd);
	return n > 0 ? count(chunk, (size_t)n) : 0;
}

static int count_in_range(int mem, uintptr_t from, uintptr_t to)
{
	int found = 0;

	/* Chunks overlap by as much as a value could lie across */
	while (from < to) {
		const size_t want = to - from < sizeof(chunk) ? to - from :
								sizeof(chunk);
		const ssize_t n = pread(mem, chunk, want, (off_t)from);

		if (n <= 0)
			break;
		found += count(chunk, (size_t)n);
		from += want < sizeof(chunk) ? want : CHUNK;
	}
	return found;
}

/* Where the run of pages that begins at @at ends: pages that were never touched,
 * or with @present the others. The stacks of threads are mostly the former.
 */
static uintptr_t end_of_run(int pagemap, uintptr_t at, uintptr_t to,
			    bool present)
{
	uint64_t pages[512];

	while (at < to) {
		const ssize_t n = pread(pagemap, pages, sizeof(pages),
					(off_t)(at / PAGE * sizeof(*pages)));

		if (n < (ssize_t)sizeof(*pages))
			return present ? to : at;	/* Not known: read all */
		for (size_t i = 0; i < (size_t)n / sizeof(*pages) && at < to;
		     i++, at += PAGE) {
			if ((pages[i] >> 62 != 0) != present)
				return at;
		}
	}
	return to;
}

static int count_in_mapping(int mem, int pagemap, uintptr_t at, uintptr_t to)
{
	int found = 0;

	while (at < to) {
		const uintptr_t from = end_of_run(pagemap, at, to, false);

		at = end_of_run(pagemap, from, to, true);
		found += count_in_range(mem, from, at);
	}
	return found;
}

/* Copies in memory; with @loose, only those that a core dump or the swap could
 * get hold of
 */
static int scan(pid_t pid, bool loose)
{
	char path[64], line[1024];
	uintptr_t from = 0, to = 0;
	int found = 0, mem, pagemap;
	bool readable = false;
	FILE *smaps;

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	smaps = fopen(path, "re");
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (!smaps || mem < 0) {
		printf("blind %d %s\n", (int)pid, strerror(errno));
		return 0;
	}
	while (fgets(line, sizeof(line), smaps)) {
		char *end;
		const uintptr_t start = strtoul(line, &end, 16);

		if (*end == '-') {
			from = start;
			to = strtoul(end + 1, &end, 16);
			/* What is mapped read-only from a file is its content */
			readable = end[1] == 'r' && !strstr(line, "[v") &&
				   (end[2] == 'w' || !strchr(line, '/'));
		} else if (!strncmp(line, "VmFlags:", 8) && readable) {
			if (!loose || !strstr(line, " dd") ||
			    !strstr(line, " lo"))
				found += count_in_mapping(mem, pagemap, from,
							  to);
		}
	}
	(void)fclose(smaps);
	(void)close(mem);
	(void)close(pagemap);
	return found;
}

static const char *program_of(pid_t pid)
{
	static char name[64];
	char path[64];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, name, sizeof(name) - 1);
	name[n > 0 ? n - 1 : 0] = '\0';
	(void)close(fd);
	return name;
}

static void look(pid_t pid, const char *when, int copies)
{
	const int visible = count_in_file(pid, "cmdline") +
			    count_in_file(pid, "environ");

	printf("%s %s %d\n", when, program_of(pid), copies);
	if (visible)
		printf("visible %s %d\n", program_of(pid), visible);
}

/* Calls after which something has typically been done with a value */
static bool is_telling(long number)
{
	return number == SYS_write || number == SYS_sendto ||
	       number == SYS_fsync || number == SYS_clone3 ||
	       number == SYS_munmap || number == SYS_execve;
}

static void at_system_call(pid_t pid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0 &&
	    info.op == PTRACE_SYSCALL_INFO_ENTRY &&
	    is_telling((long)info.entry.nr))
		look(pid, "during", scan(pid, true));
}

/* One stop of one process. The signal to hand on, or 0. */
static int handle(pid_t pid, int status)
{
	const int event = status >> 16;
	const int sig = WSTOPSIG(status);

	if (event == PTRACE_EVENT_EXIT) {
		look(pid, "exit", scan(pid, false));
		return 0;
	}
	if (sig == (SIGTRAP | 0x80)) {
		at_system_call(pid);
		return 0;
	}
	return event || sig == SIGTRAP || sig == SIGSTOP ? 0 : sig;
}

int main(int argc, char **argv)
{
	const long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK |
			     PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
			     PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD |
			     PTRACE_O_EXITKILL;
	int status, code = 0;
	pid_t first, pid;

	if (argc < 3)
		return 2;
	first = fork();
	if (!first) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	read_canary(argv[1]);	/* Now: the child must not inherit it */
	(void)waitpid(first, &status, 0);
	(void)ptrace(PTRACE_SETOPTIONS, first, NULL, options);
	(void)ptrace(PTRACE_SYSCALL, first, NULL, NULL);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFEXITED(status) && pid == first)
			code = WEXITSTATUS(status);
		if (WIFSTOPPED(status))
			(void)ptrace(PTRACE_SYSCALL, pid, NULL,
				     (long)handle(pid, status));
		fflush(stdout);
	}
	printf("code %d\n", code);
	return 0;
}
