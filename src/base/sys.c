/* SPDX-License-Identifier: Apache-2.0 */
/* base/sys.c - kernel calls that the C library does not have yet */

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"

/* The kernel has each set in two halves */
int sys_capget(struct sys_caps *ret)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &header, d) < 0)
		return -1;
	*ret = (struct sys_caps){
		d[0].effective | (uint64_t)d[1].effective << 32,
		d[0].permitted | (uint64_t)d[1].permitted << 32,
		d[0].inheritable | (uint64_t)d[1].inheritable << 32,
	};
	return 0;
}

int sys_capset(const struct sys_caps *caps)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	const struct __user_cap_data_struct d[2] = {
		{ (uint32_t)caps->effective, (uint32_t)caps->permitted,
		  (uint32_t)caps->inheritable },
		{ (uint32_t)(caps->effective >> 32),
		  (uint32_t)(caps->permitted >> 32),
		  (uint32_t)(caps->inheritable >> 32) },
	};

	return (int)syscall(SYS_capset, &header, d);
}

int sys_keep_caps(uint64_t set)
{
	struct sys_caps caps;

	if (sys_capget(&caps) < 0)
		return -1;
	caps.inheritable |= set;
	if (sys_capset(&caps) < 0)
		return -1;
	for (unsigned int cap = 0; cap < 64; cap++) {
		if ((set >> cap & 1) &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			return -1;
	}
	return 0;
}

int sys_child_signals(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

int sys_openat2(int dirfd, const char *path, const struct open_how *how)
{
	return (int)syscall(SYS_openat2, dirfd, path, how, sizeof(*how));
}

int sys_mount_setattr(int dirfd, const char *path, unsigned int flags,
		      const struct mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, dirfd, path, flags, attr,
			    sizeof(*attr));
}

const char *sys_inotify_why(int error)
{
	if (error == EMFILE)
		return "too many are watching already (fs.inotify.max_user_instances, or ulimit -n)";
	if (error == ENOSPC)
		return "too much is watched already (fs.inotify.max_user_watches)";
	return strerror(error);
}

int sys_seccomp(unsigned int op, unsigned int flags, const void *args)
{
	return (int)syscall(SYS_seccomp, op, flags, args);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "sys_refuse() reads the low half of an argument first");

int sys_refuse(const struct sys_refusal *v, size_t n)
{
	enum { LENGTH = 7 };
	struct sock_filter code[SYS_REFUSALS_MAX * LENGTH + 1];
	const struct sock_fprog prog = {
		.len = (unsigned short)(n * LENGTH + 1), .filter = code,
	};

	if (n > SYS_REFUSALS_MAX) {
		errno = E2BIG;
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		const struct sock_filter row[LENGTH] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
				 offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v[i].call, 0, 5),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)
				 (offsetof(struct seccomp_data, args) +
				  8 * v[i].argument)),
			BPF_STMT(BPF_ALU | BPF_AND | BPF_K, v[i].bits),
			BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, v[i].least, 0, 2),
			BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, v[i].most, 1, 0),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO |
						  (uint32_t)v[i].error),
		};

		memcpy(code + i * LENGTH, row, sizeof(row));
	}
	code[n * LENGTH] = (struct sock_filter)
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &prog);
}

int sys_notif_send(int listener, struct seccomp_notif_resp *resp)
{
	int r;

	do {
		r = ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, resp);
	} while (r < 0 && errno == EINTR);
	return r < 0 && errno != ENOENT ? -errno : 0;
}

pid_t sys_fork_into(uint64_t flags, int *pidfd)
{
	const struct clone_args args = {
		.flags = flags | (pidfd ? CLONE_PIDFD : 0),
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		/* A sibling has its brother's */
		.exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD,
	};
	const pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid >= 0 || errno != ENOSYS)
		return pid;
	return (pid_t)syscall(SYS_clone, args.flags | SIGCHLD, NULL, pidfd,
			      NULL, NULL);
}

uint64_t sys_landlock_fs(int abi)
{
	const uint64_t first = LANDLOCK_ACCESS_FS_REFER - 1;	/* ABI 1 */

	return first | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
	       (abi >= 3 ? SYS_LANDLOCK_FS_TRUNCATE : 0) |
	       (abi >= 5 ? SYS_LANDLOCK_FS_IOCTL_DEV : 0);
}

int sys_landlock_create_ruleset(const struct sys_landlock_ruleset_attr *attr)
{
	const size_t fields = attr->scoped ? 3 : attr->handled_access_net ? 2 : 1;

	return (int)syscall(SYS_landlock_create_ruleset, attr,
			    fields * sizeof(uint64_t), 0);
}

int sys_landlock_add_rule(int fd, int type, const void *attr)
{
	return (int)syscall(SYS_landlock_add_rule, fd, type, attr, 0);
}

int sys_landlock_restrict_self(int fd)
{
	return (int)syscall(SYS_landlock_restrict_self, fd, 0);
}

int sys_landlock_abi(void)
{
	const int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
				     LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : abi;
}

bool sys_has_openat2(void)
{
	return sys_openat2(AT_FDCWD, "/", NULL) >= 0 || errno != ENOSYS;
}

/* One name, which is no link. O_PATH opens links themselves, if flags say not to
 * follow them.
 */
static int open_name(int dirfd, const char *name, int flags, mode_t mode)
{
	auto_close int fd = openat(dirfd, name, flags | O_NOFOLLOW | O_CLOEXEC,
				   mode);
	struct stat st;

	if (fd < 0)
		return -1;
	if ((flags & O_PATH) && !(flags & O_NOFOLLOW) &&
	    (fstat(fd, &st) < 0 || S_ISLNK(st.st_mode))) {
		errno = ELOOP;
		return -1;
	}
	return take_fd(&fd);
}

/* The same in steps, where a filter hides openat2() */
static int open_in_steps(int dirfd, const char *path, int flags, mode_t mode)
{
	auto_close int at = *path == '/' ? open("/", O_PATH | O_CLOEXEC) :
				open_name(dirfd, ".", O_PATH, 0);
	char name[NAME_MAX + 1];

	while (at >= 0 && *path) {
		const size_t skip = strspn(path, "/");
		const size_t n = strcspn(path + skip, "/");
		const char *rest = path + skip + n;
		int next;

		if (n > NAME_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		snprintf(name, sizeof(name), "%.*s", n ? (int)n : 1,
			 n ? path + skip : ".");
		if (!*rest)
			return open_name(at, name, flags, mode);
		next = open_name(at, name, O_PATH, 0);
		(void)close(at);
		at = next;
		path = rest;
	}
	if (at >= 0)
		errno = ENOENT;
	return -1;
}

int sys_socket_option(int fd, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) < 0 ? -errno : value;
}

int sys_open_nofollow(int dirfd, const char *path, int flags, mode_t mode)
{
	const struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
		.mode = mode,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	const int fd = sys_openat2(dirfd, path, &how);

	return fd < 0 && errno == ENOSYS ?
	       open_in_steps(dirfd, path, flags, mode) : fd;
}
