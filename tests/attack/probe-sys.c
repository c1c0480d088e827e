/* SPDX-License-Identifier: Apache-2.0 */
/* tests/attack/probe-sys.c - attempts on the kernel and on other processes */

#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, SETTLED = 100 };

int sys_add_key(char **argv)
{
	(void)argv;
	return probe_result(syscall(SYS_add_key, "user", "probe", "x", 1,
				    KEY_SPEC_SESSION_KEYRING));
}

int sys_request_key(char **argv)
{
	return probe_result(syscall(SYS_request_key, "user", argv[0], NULL,
				    KEY_SPEC_SESSION_KEYRING));
}

int sys_join_keys(char **argv)
{
	return probe_result(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING,
				    argv[0]));
}

/**
 * struct look - What /proc says of a process at one moment
 */
struct look {
	char name[64];
	char state;
	long uid;		/* Effective */
};

static int look_at(pid_t pid, struct look *ret)
{
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "Name:\t", 6))
			snprintf(ret->name, sizeof(ret->name), "%.*s",
				 (int)strcspn(line + 6, "\n"), line + 6);
		if (!strncmp(line, "State:\t", 7))
			ret->state = line[7];
		if (!strncmp(line, "Uid:\t", 5))
			ret->uid = strtol(strchr(line + 5, '\t'), NULL, 10);
	}
	fclose(file);
	return 0;
}

/* The effective uid of @pid once it runs the program @name; -1 if it ended.
 * The name changes before the uid does: an unchanged uid counts only when the
 * program sits waiting for input.
 */
static long effective_uid_of(pid_t pid, const char *name)
{
	struct look l = { 0 };
	int waiting = 0;

	while (waitpid(pid, NULL, WNOHANG) == 0 && look_at(pid, &l) == 0) {
		if (strncmp(l.name, name, 15) != 0)
			continue;
		waiting = l.state == 'S' ? waiting + 1 : 0;
		if (l.uid != (long)getuid() || waiting > SETTLED)
			return l.uid;
	}
	return -1;
}

int sys_setuid_exec(char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	int ends[2];
	pid_t pid;
	long uid;

	if (pipe(ends) < 0)
		return -errno;
	pid = fork();
	if (!pid) {
		dup2(ends[0], 0);
		execl(argv[0], argv[0], NULL);
		_exit(127);
	}
	uid = effective_uid_of(pid, slash ? slash + 1 : argv[0]);
	kill(pid, SIGKILL);
	printf("%ld\n", uid);
	return uid < 0 ? -ESRCH : uid == (long)getuid() ? -EPERM : 0;
}

int sys_setuid(char **argv)
{
	const unsigned int uid = (unsigned int)probe_number(argv[0]);

	return probe_result(syscall(SYS_setresuid, uid, uid, uid));
}

int raise_capability(char **argv)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{ .effective = 1, .permitted = 1 },
	};

	(void)argv;
	return probe_result(syscall(SYS_capset, &head, data));
}

int sys_memory(char **argv)
{
	const size_t n = (size_t)probe_number(argv[0]) * MIB;
	char *p = malloc(n);

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < n; i += 4096)
		((volatile char *)p)[i] = 1;
	free(p);
	return 0;
}

int sys_processes(char **argv)
{
	const long n = probe_number(argv[0]);
	pid_t *pids = calloc((size_t)n, sizeof(*pids));
	int r = 0;
	long i;

	for (i = 0; pids && i < n && !r; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			pause();
			_exit(0);
		}
		r = probe_result(pids[i]);
	}
	while (pids && i-- > 0) {
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	}
	free(pids);
	return r;
}

int sys_fill(char **argv)
{
	static char block[MIB];
	const int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			    0600);

	if (fd < 0)
		return -errno;
	for (long i = probe_number(argv[0]); i > 0; i--) {
		if (write(fd, block, sizeof(block)) != sizeof(block))
			return errno ? -errno : -EFBIG;
	}
	return 0;
}
