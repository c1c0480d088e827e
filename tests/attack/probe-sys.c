/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/attack/probe-sys.c - attempts on the kernel and on other processes
 *
 * Where an attempt that works would do harm, its arguments are useless on
 * purpose: EFAULT, EINVAL or EBADF then means that the kernel's code was
 * reached, EPERM or ENOSYS that it was not.
 */

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

enum { MIB = 1 << 20, X32 = 0x40000000, RING_ROOM = 256, SETTLED = 100 };

static void *nowhere(void)
{
	return (void *)1;	/* Faults if the kernel looks at it */
}

#ifdef __x86_64__
static long gate32(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r)
			 : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return (int)r;
}
#else
static long gate32(long nr, long a, long b, long c)
{
	(void)nr, (void)a, (void)b, (void)c;
	return -ENOSYS;		/* There is no such gate */
}
#endif

int sys_int80(char **argv)
{
	const long r = gate32(20, 0, 0, 0);	/* getpid */

	(void)argv;
	return r < 0 ? (int)r : 0;
}

int sys_int80_sock(char **argv)
{
	const long r = gate32(359, 1, 1, 0);	/* socket(AF_UNIX, STREAM) */

	(void)argv;
	return r < 0 ? (int)r : 0;
}

int sys_x32(char **argv)
{
	(void)argv;
	return probe_result(syscall(X32 | SYS_getpid));
}

int sys_io_uring(char **argv)
{
	char params[RING_ROOM] = { 0 };

	(void)argv;
	return probe_result(syscall(SYS_io_uring_setup, 1, params));
}

int sys_bpf(char **argv)
{
	(void)argv;
	return probe_result(syscall(SYS_bpf, 0, nowhere(), 64));
}

int sys_userfault(char **argv)
{
	(void)argv;
	return probe_result(syscall(SYS_userfaultfd, 1 /* user mode only */));
}

int sys_perf(char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.exclude_kernel = 1,
	};

	(void)argv;
	return probe_result(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

int sys_key_search(char **argv)
{
	char data[256];
	const long key = syscall(SYS_keyctl, KEYCTL_SEARCH,
				 KEY_SPEC_SESSION_KEYRING, "user", argv[0], 0);
	long n;

	if (key < 0)
		return -errno;
	n = syscall(SYS_keyctl, KEYCTL_READ, key, data, sizeof(data));
	if (n > 0)
		printf("%.*s\n", (int)n, data);
	return probe_result(n);
}

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

int sys_shm(char **argv)
{
	const int id = shmget((key_t)probe_number(argv[0]), 0, 0);
	const char *data;

	if (id < 0)
		return -errno;
	data = shmat(id, NULL, SHM_RDONLY);
	if (data == (void *)-1)
		return -errno;
	printf("%s\n", data);
	return 0;
}

int sys_ptrace(char **argv)
{
	return probe_result(ptrace(PTRACE_SEIZE, (pid_t)probe_number(argv[0]),
				   NULL, NULL));
}

int sys_vm_read(char **argv)
{
	char byte;
	struct iovec ours = { &byte, 1 }, theirs = { nowhere(), 1 };

	return probe_result(process_vm_readv((pid_t)probe_number(argv[0]),
					     &ours, 1, &theirs, 1, 0));
}

int sys_kill(char **argv)
{
	return probe_result(kill((pid_t)probe_number(argv[0]), 0));
}

int sys_getfd(char **argv)
{
	const long pidfd = syscall(SYS_pidfd_open, probe_number(argv[0]), 0);

	if (pidfd < 0)
		return -errno;
	return probe_result(syscall(SYS_pidfd_getfd, pidfd,
				    probe_number(argv[1]), 0));
}

/* A terminal of our own, as ours to control; or a negative errno */
static int own_terminal(void)
{
	const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];

	if (master < 0 || unlockpt(master) < 0 ||
	    ptsname_r(master, name, sizeof(name)) != 0 || setsid() < 0)
		return -errno;
	return open(name, O_RDWR);
}

/* The raw call: the C library would cut the request to 32 bits */
static int on_terminal(unsigned long request, const char *byte)
{
	const int fd = own_terminal();

	if (fd < 0)
		return fd;
	return probe_result(syscall(SYS_ioctl, (long)fd, request, byte));
}

int sys_tiocsti(char **argv)
{
	(void)argv;
	return on_terminal(TIOCSTI, "x");
}

int sys_tiocsti_hi(char **argv)
{
	(void)argv;
	return on_terminal(TIOCSTI | 1UL << 32, "x");
}

int sys_tioclinux(char **argv)
{
	(void)argv;
	return on_terminal(TIOCLINUX, "\3");
}

int sys_unknown(char **argv)
{
	return probe_result(syscall(probe_number(argv[0]), -1L, -1L, -1L, -1L,
				    -1L, -1L));
}

int sys_core_limit(char **argv)
{
	struct rlimit limit;

	(void)argv;
	if (getrlimit(RLIMIT_CORE, &limit) < 0)
		return -errno;
	printf("%llu %llu\n", (unsigned long long)limit.rlim_cur,
	       (unsigned long long)limit.rlim_max);
	limit.rlim_cur = limit.rlim_max = MIB;
	return probe_result(setrlimit(RLIMIT_CORE, &limit));
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

int sys_capset(char **argv)
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

int sys_modify_ldt(char **argv)
{
	(void)argv;
#ifdef SYS_modify_ldt
	return probe_result(syscall(SYS_modify_ldt, 1, nowhere(), 16UL));
#else
	return -ENOSYS;
#endif
}

int sys_swapon(char **argv)
{
	(void)argv;
	return probe_result(syscall(SYS_swapon, nowhere(), 0));
}

int sys_reboot(char **argv)
{
	(void)argv;
	return probe_result(syscall(SYS_reboot, 0, 0, 0, nowhere()));
}

int sys_kexec(char **argv)
{
	(void)argv;
	return probe_result(syscall(SYS_kexec_load, 0UL, 1UL, nowhere(), 0UL));
}

int sys_module(char **argv)
{
	(void)argv;
	return probe_result(syscall(SYS_init_module, nowhere(), 0UL,
				    nowhere()));
}

int sys_hostname(char **argv)
{
	(void)argv;
	return probe_result(syscall(SYS_sethostname, nowhere(), 4UL));
}

int sys_settime(char **argv)
{
	(void)argv;
	return probe_result(syscall(SYS_clock_settime, CLOCK_REALTIME,
				    nowhere()));
}

int sys_acct(char **argv)
{
	(void)argv;
	return probe_result(syscall(SYS_acct, nowhere()));
}

int sys_syslog(char **argv)
{
	(void)argv;
	return probe_result(syscall(SYS_syslog, 3 /* all of it */, nowhere(),
				    16));
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
