/* SPDX-License-Identifier: Apache-2.0 */
/* attack/lack.c - refuse system calls as a kernel that lacks a mechanism does */

#include "attack/attack.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/own.h"
#include "base/sys.h"
#include "base/text.h"

static const struct {
	const char *what;
	struct sys_refusal refusal;
} calls[] = {
	/* As Docker's profile does it */
	{ "userns", { SYS_clone, 0, CLONE_NEWUSER, CLONE_NEWUSER, CLONE_NEWUSER, EPERM } },
	{ "userns", { SYS_unshare, 0, CLONE_NEWUSER, CLONE_NEWUSER, CLONE_NEWUSER, EPERM } },
	{ "userns", { SYS_clone3, 0, 0, 0, 0, ENOSYS } },
	{ "landlock", { SYS_landlock_create_ruleset, 0, 0, 0, 0, ENOSYS } },
	{ "landlock", { SYS_landlock_add_rule, 0, 0, 0, 0, ENOSYS } },
	{ "landlock", { SYS_landlock_restrict_self, 0, 0, 0, 0, ENOSYS } },
	{ "mounts", { SYS_open_tree, 0, 0, 0, 0, ENOSYS } },
	{ "mounts", { SYS_move_mount, 0, 0, 0, 0, ENOSYS } },
	{ "mounts", { SYS_fsopen, 0, 0, 0, 0, ENOSYS } },
	{ "mounts", { SYS_fsconfig, 0, 0, 0, 0, ENOSYS } },
	{ "mounts", { SYS_fsmount, 0, 0, 0, 0, ENOSYS } },
	{ "mounts", { SYS_mount_setattr, 0, 0, 0, 0, ENOSYS } },
	{ "openat2", { SYS_openat2, 0, 0, 0, 0, ENOSYS } },
	{ "close_range", { SYS_close_range, 0, 0, 0, 0, ENOSYS } },
	{ "notify", { SYS_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_NEW_LISTENER, EBUSY } },
	{ "seccomp", { SYS_seccomp, 0, 0, 0, 0, ENOSYS } },

	/* What Docker's profile refuses beside namespaces */
	{ "docker", { SYS_clone, 0, CLONE_NEWUSER, CLONE_NEWUSER, CLONE_NEWUSER, EPERM } },
	{ "docker", { SYS_unshare, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_clone3, 0, 0, 0, 0, ENOSYS } },
	{ "docker", { SYS_mount, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_umount2, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_open_tree, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_move_mount, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_fsopen, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_setns, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_keyctl, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_add_key, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_request_key, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_bpf, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_perf_event_open, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_userfaultfd, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_io_uring_setup, 0, 0, 0, 0, EPERM } },
	{ "docker", { SYS_open_by_handle_at, 0, 0, 0, 0, EPERM } },
	{ "quota", { SYS_keyctl, 0, UINT32_MAX, KEYCTL_JOIN_SESSION_KEYRING, KEYCTL_JOIN_SESSION_KEYRING, EDQUOT } },

	/* The keeper cannot enter a sandbox that runs */
	{ "keeper", { SYS_setns, 1, UINT32_MAX, CLONE_NEWUSER, CLONE_NEWUSER, EPERM } },

	/* As when the user watches as much as is allowed */
	{ "watch", { SYS_inotify_init1, 0, 0, 0, 0, EMFILE } },

	/* Of the command, one of the first in its namespace: no descriptor is left */
	{ "pidfd", { SYS_pidfd_open, 0, UINT32_MAX, 2, 15, EMFILE } },
	{ "ipv6", { SYS_socket, 0, UINT32_MAX, AF_INET6, AF_INET6, EAFNOSUPPORT } },
};

int lack_of(const char *what)
{
	struct sys_refusal named[ARRAY_SIZE(calls)];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (text_in_list(what, ',', calls[i].what))
			named[n++] = calls[i].refusal;
	}
	if (n && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		  sys_refuse(named, n) < 0))
		return -errno;
	return (int)n;
}
