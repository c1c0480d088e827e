/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack/attack-calls.c - system calls that must not reach the kernel
 *
 * Where a call that works would do harm, its arguments are useless on purpose:
 * EFAULT, EINVAL or EBADF means that the kernel's code was reached, EPERM or
 * ENOSYS that it was not.
 */

#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/attack.h"
#include "base/own.h"
#include "base/sys.h"

enum { X32 = 0x40000000, I386_GETPID = 20, I386_SOCKET = 359, RING_SIZE = 256 };

#define NOWHERE	((void *)1)	/* Faults if the kernel looks at it */

#ifndef SYS_modify_ldt
#define SYS_modify_ldt	-1
#endif

static char ring[RING_SIZE];
static struct perf_event_attr counter = {
	.type = PERF_TYPE_SOFTWARE, .size = sizeof(counter),
	.exclude_kernel = 1,
};

#ifdef __x86_64__
static long gate32(long nr, long a, long b)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r)
			 : "a"(nr), "b"(a), "c"(b), "d"(0L) : "memory");
	errno = (int)r < 0 ? -(int)r : 0;
	return (int)r;
}
#else	/* There is no such gate */
#define gate32(nr, a, b)	syscall(-1)
#endif

ATTEMPT(int80, gate32(I386_GETPID, 0, 0))
ATTEMPT(int80_socket, gate32(I386_SOCKET, AF_UNIX, SOCK_STREAM))
ATTEMPT(x32, syscall(X32 | SYS_getpid))
ATTEMPT(io_uring, syscall(SYS_io_uring_setup, 1, ring))
ATTEMPT(bpf, syscall(SYS_bpf, 0, NOWHERE, 64))
ATTEMPT(perf, syscall(SYS_perf_event_open, &counter, 0, -1, -1, 0))
ATTEMPT(userfaultfd, syscall(SYS_userfaultfd, 1 /* user mode only */))
ATTEMPT(modify_ldt, syscall(SYS_modify_ldt, 1, NOWHERE, 16UL))
ATTEMPT(kcmp, syscall(SYS_kcmp, getpid(), getpid(), -1, 0, 0))
ATTEMPT(exec_personality, personality(READ_IMPLIES_EXEC))
/* A call by its number, with nothing useful */
ATTEMPT(by_number, syscall(strtol(a->argv[0], NULL, 0), -1L, -1L, -1L, -1L,
			   -1L, -1L))
/* "FAMILY TYPE PROTOCOL", with as many bits as a register has */
ATTEMPT(raw_socket, syscall(SYS_socket, strtoul(a->argv[0], NULL, 0),
			    strtoul(a->argv[1], NULL, 0),
			    strtoul(a->argv[2], NULL, 0)))

/* Every family and type: which opens that is not on the short list? */
static int other_families(struct attack *a)
{
	int r = -EAFNOSUPPORT;

	(void)a;
	for (int i = 0; i < 256 * SOCK_PACKET; i++) {
		const int family = i / SOCK_PACKET;
		const int type = i % SOCK_PACKET + 1;
		auto_close int fd = socket(family, type | SOCK_CLOEXEC, 0);
		const bool listed = family == AF_UNIX
			? type == SOCK_STREAM || type == SOCK_SEQPACKET
			: type <= SOCK_RAW && (family == AF_INET ||
					       family == AF_INET6 ||
					       family == AF_NETLINK);

		if (fd >= 0 && !listed)
			r = 0;
	}
	return r;
}

/* Names that are joined by "+" */
static unsigned long namespaces(const char *names)
{
	static const struct {
		const char *name;
		unsigned long flag;
	} flags[] = {
		{ "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS },
		{ "pid", CLONE_NEWPID }, { "net", CLONE_NEWNET },
		{ "ipc", CLONE_NEWIPC }, { "uts", CLONE_NEWUTS },
		{ "cgroup", CLONE_NEWCGROUP }, { "time", CLONE_NEWTIME },
	};
	unsigned long all = 0;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		all |= strstr(names, flags[i].name) ? flags[i].flag : 0;
	return all;
}

ATTEMPT(try_unshare, syscall(SYS_unshare, namespaces(a->argv[0])))

/* The raw call: the child just leaves */
static int collect(long pid)
{
	const int r = attack_result(pid);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, 0);
	return r;
}

static int try_clone(struct attack *a)
{
	return collect(syscall(SYS_clone, namespaces(a->argv[0]) | SIGCHLD,
			       NULL, NULL, NULL, 0L));
}

static int try_clone3(struct attack *a)
{
	const struct clone_args args = {
		.flags = namespaces(a->argv[0]), .exit_signal = SIGCHLD,
	};

	return collect(syscall(SYS_clone3, &args, sizeof(args)));
}

/* EBUSY, as there is a listener already, is as good a refusal as EPERM */
static int seccomp_listener(struct attack *a)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K,
					    SECCOMP_RET_ALLOW);
	const struct sock_fprog program = { 1, &allow };
	int r;

	(void)a;
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	r = attack_result(sys_seccomp(SECCOMP_SET_MODE_FILTER,
				      SECCOMP_FILTER_FLAG_NEW_LISTENER,
				      &program));
	return r == -EBUSY ? -EPERM : r;
}

const struct attempt attack_calls[] = {
	{ "int80", int80, 0 }, { "int80-socket", int80_socket, 0 },
	{ "x32", x32, 0 }, { "io-uring", io_uring, 0 }, { "bpf", bpf, 0 },
	{ "perf", perf, 0 }, { "userfaultfd", userfaultfd, 0 },
	{ "modify-ldt", modify_ldt, 0 }, { "kcmp", kcmp, 0 },
	{ "personality", exec_personality, 0 },
	{ "unknown-call", by_number, 1 }, { "socket", raw_socket, 3 },
	{ "other-families", other_families, 0 },
	{ "unshare", try_unshare, 1 }, { "clone", try_clone, 1 },
	{ "clone3", try_clone3, 1 },
	{ "seccomp-listener", seccomp_listener, 0 }, { 0 },
};
