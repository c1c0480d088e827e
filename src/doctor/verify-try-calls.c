/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/verify-try-calls.c - system calls that must not reach the kernel
 *
 * Arguments are useless on purpose: EFAULT, EINVAL or EBADF means that the
 * kernel's code was reached, EPERM or ENOSYS that it was not; and a call that
 * gets through does nothing.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "base/sys.h"
#include "doctor/verify-row.h"

enum { X32 = 0x40000000, I386_GETPID = 20, I386_SOCKET = 359 };

#define NOWHERE	((void *)1)	/* Faults if the kernel looks at it */

/* An attempt that is one call */
#define ATTEMPT(name, ...) \
	void attempt_##name(const struct world *w, const char *argument, \
			    struct found *f) \
	{ \
		(void)w, (void)argument; \
		found_result(f, syscall(__VA_ARGS__)); \
	}

#ifdef __x86_64__
static long gate32(long nr, long a, long b)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r)
			 : "a"(nr), "b"(a), "c"(b), "d"(0L) : "memory");
	return (int)r;
}
#else
static long gate32(long nr, long a, long b)
{
	(void)nr, (void)a, (void)b;
	return -ENOSYS;		/* There is no such gate */
}
#endif

void attempt_int80(const struct world *w, const char *argument,
		   struct found *f)
{
	const long r = gate32(I386_GETPID, 0, 0);

	(void)w, (void)argument;
	f->error = r < 0 ? (int)-r : 0;
}

void attempt_int80_socket(const struct world *w, const char *argument,
			  struct found *f)
{
	const long r = gate32(I386_SOCKET, AF_UNIX, SOCK_STREAM);

	(void)w, (void)argument;
	f->error = r < 0 ? (int)-r : 0;
}

ATTEMPT(x32, X32 | SYS_getpid)
ATTEMPT(io_uring, SYS_io_uring_setup, 1, NOWHERE)
ATTEMPT(add_key, SYS_add_key, NOWHERE, NOWHERE, NULL, 0, -3)
ATTEMPT(request_key, SYS_request_key, NOWHERE, NOWHERE, NULL, 0)
ATTEMPT(keyctl, SYS_keyctl, 6 /* describe */, 0, NULL, 0)
ATTEMPT(mount, SYS_mount, NOWHERE, NOWHERE, NOWHERE, 0, NULL)
ATTEMPT(umount, SYS_umount2, NOWHERE, 0)
ATTEMPT(pivot_root, SYS_pivot_root, NOWHERE, NOWHERE)
ATTEMPT(chroot, SYS_chroot, NOWHERE)
ATTEMPT(setns, SYS_setns, -1, 0)
ATTEMPT(open_tree, SYS_open_tree, -1, NOWHERE, 0)
ATTEMPT(move_mount, SYS_move_mount, -1, NOWHERE, -1, NOWHERE, 0)
ATTEMPT(fsopen, SYS_fsopen, NOWHERE, 0)
ATTEMPT(mount_setattr, SYS_mount_setattr, -1, NOWHERE, 0, NULL, 0)
ATTEMPT(bpf, SYS_bpf, 0, NOWHERE, 64)
ATTEMPT(perf, SYS_perf_event_open, NOWHERE, 0, -1, -1, 0)
ATTEMPT(userfaultfd, SYS_userfaultfd, 1 /* user mode only */)
ATTEMPT(name_to_handle, SYS_name_to_handle_at, AT_FDCWD, NOWHERE, NOWHERE,
	NOWHERE, 0)
ATTEMPT(open_by_handle, SYS_open_by_handle_at, -1, NOWHERE, 0)
ATTEMPT(kexec, SYS_kexec_load, 0UL, 1UL, NOWHERE, 0UL)
ATTEMPT(init_module, SYS_init_module, NOWHERE, 0UL, NOWHERE)
ATTEMPT(finit_module, SYS_finit_module, -1, NOWHERE, 0)
ATTEMPT(swapon, SYS_swapon, NOWHERE, 0)
ATTEMPT(acct, SYS_acct, NOWHERE)
ATTEMPT(syslog, SYS_syslog, 3 /* all of it */, NOWHERE, 16)
ATTEMPT(settime, SYS_clock_settime, CLOCK_REALTIME, NOWHERE)
ATTEMPT(sethostname, SYS_sethostname, NOWHERE, 4UL)
ATTEMPT(quotactl, SYS_quotactl, 0, NOWHERE, 0, NOWHERE)
ATTEMPT(move_pages, SYS_move_pages, 0, 1UL, NOWHERE, NOWHERE, NOWHERE, 0)
ATTEMPT(mbind, SYS_mbind, 0UL, 0UL, -1, NULL, 0UL, -1)
ATTEMPT(kcmp, SYS_kcmp, getpid(), getpid(), -1, 0UL, 0UL)
ATTEMPT(fanotify, SYS_fanotify_init, -1, 0)
ATTEMPT(personality, SYS_personality, READ_IMPLIES_EXEC)

#ifdef SYS_modify_ldt
ATTEMPT(modify_ldt, SYS_modify_ldt, 1, NOWHERE, 16UL)
#else
ATTEMPT(modify_ldt, -1)
#endif

/* "family type protocol", with as many bits as a register has */
void attempt_socket(const struct world *w, const char *argument,
		    struct found *f)
{
	unsigned long n[3];
	char *at;

	(void)w;
	n[0] = strtoul(argument, &at, 0);
	n[1] = strtoul(at, &at, 0);
	n[2] = strtoul(at, &at, 0);
	found_result(f, syscall(SYS_socket, n[0], n[1], n[2]));
}

void attempt_unshare(const struct world *w, const char *argument,
		     struct found *f)
{
	(void)w;
	found_result(f, syscall(SYS_unshare, strtoul(argument, NULL, 0)));
}

static void collect(struct found *f, long pid)
{
	if (pid == 0)
		_exit(0);
	found_result(f, pid);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, 0);
}

void attempt_clone(const struct world *w, const char *argument,
		   struct found *f)
{
	(void)w;
	collect(f, syscall(SYS_clone, strtoul(argument, NULL, 0) | SIGCHLD,
			   NULL, NULL, NULL, 0L));
}

void attempt_clone3(const struct world *w, const char *argument,
		    struct found *f)
{
	const struct clone_args args = {
		.flags = strtoul(argument, NULL, 0), .exit_signal = SIGCHLD,
	};

	(void)w;
	collect(f, sys_clone3(&args, sizeof(args)));
}

/* Whoever listens answers; ours must be the one that is asked. EBUSY is as
 * good a refusal as EPERM.
 */
void attempt_listener(const struct world *w, const char *argument,
		      struct found *f)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K,
					    SECCOMP_RET_ALLOW);
	const struct sock_fprog program = { 1, &allow };

	(void)w, (void)argument;
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	found_result(f, sys_seccomp(SECCOMP_SET_MODE_FILTER,
				    SECCOMP_FILTER_FLAG_NEW_LISTENER,
				    &program));
	if (f->error == EBUSY)
		f->error = EPERM;
}

/* A call by its number, which newer machines share, with nothing useful */
void attempt_call(const struct world *w, const char *argument,
		  struct found *f)
{
	(void)w;
	found_result(f, syscall(strtol(argument, NULL, 10), -1L, NOWHERE, -1L,
				NOWHERE, -1L, -1L));
}

/* Every family and type: which opens that is not on the short list? */
void attempt_families(const struct world *w, const char *argument,
		      struct found *f)
{
	(void)w, (void)argument;
	f->error = EAFNOSUPPORT;
	for (int family = 0; family < 256; family++) {
		const bool listed = family == AF_INET || family == AF_INET6 ||
				    family == AF_NETLINK;

		for (int type = SOCK_STREAM; type <= SOCK_PACKET; type++) {
			auto_close int fd = socket(family, type | SOCK_CLOEXEC,
						   0);

			if (fd < 0 || (listed && type <= SOCK_RAW) ||
			    (family == AF_UNIX && (type == SOCK_STREAM ||
						   type == SOCK_SEQPACKET)))
				continue;
			f->error = 0;
		}
	}
}
