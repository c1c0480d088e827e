/* SPDX-License-Identifier: Apache-2.0 */
/* base/sys.h - kernel calls and constants that the C library does not have yet
 *
 * Thin: each function is the call of that name and sets errno. Features are
 * probed by calling, never deduced from a version.
 */

#ifndef BASE_SYS_H
#define BASE_SYS_H

#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds of @clock: CLOCK_MONOTONIC and the like */
static inline int64_t now_ms(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* seccomp user notification (6.6) */
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	SECCOMP_IOW(4, __u64)
#endif

/* Landlock after ABI 2 */
enum {
	SYS_LANDLOCK_FS_TRUNCATE = 1 << 14,		/* ABI 3 */
	SYS_LANDLOCK_FS_IOCTL_DEV = 1 << 15,		/* ABI 5 */
	SYS_LANDLOCK_NET_BIND_TCP = 1 << 0,		/* ABI 4 */
	SYS_LANDLOCK_NET_CONNECT_TCP = 1 << 1,		/* ABI 4 */
	SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX = 1 << 0,	/* ABI 6 */
	SYS_LANDLOCK_SCOPE_SIGNAL = 1 << 1,		/* ABI 6 */
};

/* What a ruleset handles, as of ABI 6 */
struct sys_landlock_ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

/* The calling thread's capabilities, a bit each */
struct sys_caps {
	uint64_t effective, permitted, inheritable;
};

int sys_capget(struct sys_caps *ret);
int sys_capset(const struct sys_caps *caps);
/* Keep the capabilities @set, a bit each, over an execve() by a user other than root */
int sys_keep_caps(uint64_t set);
/* A signalfd for SIGCHLD, which the caller has blocked */
int sys_child_signals(void);
int sys_openat2(int dirfd, const char *path, const struct open_how *how);
int sys_mount_setattr(int dirfd, const char *path, unsigned int flags,
		      const struct mount_attr *attr);
/* Why inotify failed with @error, as a message: it has limits of its own */
const char *sys_inotify_why(int error);
int sys_seccomp(unsigned int op, unsigned int flags, const void *args);

enum { SYS_REFUSALS_MAX = 64 };	/* In one program */

/**
 * struct sys_refusal - A system call that fails for some values of an argument
 * @argument:	Which one: its low 32 bits, as the kernel reads it
 * @bits:	Of these bits of it; 0: always, where @least is 0
 * @least, @most: It is refused if they are between these, unsigned
 */
struct sys_refusal {
	uint32_t call, argument, bits, least, most;
	int error;
};

/* Load a seccomp program that refuses these and allows all else. 0, or -1 with errno. */
int sys_refuse(const struct sys_refusal *rows, size_t n);
/* Answer a notification. 0, also if the tracee has been killed; or -errno. After
 * a signal it is sent again, or the tracee would wait for ever.
 */
int sys_notif_send(int listener, struct seccomp_notif_resp *resp);
/* fork() with clone flags, and *@pidfd if it is not NULL; where a container's
 * filter hides clone3(), by clone()
 */
pid_t sys_fork_into(uint64_t flags, int *pidfd);
/* Every right on files that the Landlock ABI @abi knows */
uint64_t sys_landlock_fs(int abi);
/* With the size that the fields which are not 0 take: older kernels refuse a
 * structure with more than they know
 */
int sys_landlock_create_ruleset(const struct sys_landlock_ruleset_attr *attr);
int sys_landlock_add_rule(int fd, int type, const void *attr);
int sys_landlock_restrict_self(int fd);

/* The Landlock ABI of this kernel, or 0 where there is none */
int sys_landlock_abi(void);

/* The option @name of SOL_SOCKET, a number; or a negative errno */
int sys_socket_option(int fd, int name);

/* False where a filter hides it */
bool sys_has_openat2(void);

/* open() that follows no symbolic link anywhere in @path, with openat2() or without
 */
int sys_open_nofollow(int dirfd, const char *path, int flags, mode_t mode);

#endif /* BASE_SYS_H */
