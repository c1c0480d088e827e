/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/landlock-filter.c - the landlock tier's second filter
 *
 * Without namespaces a few calls of the main filter's table reach the host's
 * objects and processes. This program only refuses; the kernel takes the
 * strictest answer of all programs, so it needs to know nothing of the others.
 */

#include <errno.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <linux/ioprio.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "plan/plan.h"
#include "sandbox/stages.h"

#define SHARED(call, argument, least, most) \
	{ SYS_##call, argument, ~0U, least, most, EPERM }

/* Any of @bits; 0 bits: always */
#define NETWORK(call, argument, bits, error) \
	{ SYS_##call, argument, bits, (bits) != 0, UINT32_MAX, error }

static const struct sys_refusal shared[] = {
	/* System V and POSIX IPC: the host's objects have no path to grant */
	SHARED(shmget, 0, 0, UINT32_MAX),
	SHARED(shmat, 0, 0, UINT32_MAX),
	SHARED(shmctl, 0, 0, UINT32_MAX),
	SHARED(semget, 0, 0, UINT32_MAX),
	SHARED(semop, 0, 0, UINT32_MAX),
	SHARED(semtimedop, 0, 0, UINT32_MAX),
	SHARED(semctl, 0, 0, UINT32_MAX),
	SHARED(msgget, 0, 0, UINT32_MAX),
	SHARED(msgsnd, 0, 0, UINT32_MAX),
	SHARED(msgrcv, 0, 0, UINT32_MAX),
	SHARED(msgctl, 0, 0, UINT32_MAX),
	SHARED(mq_open, 0, 0, UINT32_MAX),
	SHARED(mq_unlink, 0, 0, UINT32_MAX),

	/* Limits, priorities and processors of another process; 0 is the caller. Of a
	 * process group or a user 0 is the caller's own, which has others in it: the
	 * supervisor, the user's shell. A thread that another of its process pins or
	 * ranks by number is refused, too: no filter can tell it from a process.
	 */
	SHARED(prlimit64, 0, 1, UINT32_MAX),
	SHARED(setpriority, 1, 1, UINT32_MAX),
	SHARED(setpriority, 0, PRIO_PGRP, PRIO_USER),
	SHARED(ioprio_set, 1, 1, UINT32_MAX),
	SHARED(ioprio_set, 0, IOPRIO_WHO_PGRP, IOPRIO_WHO_USER),
	SHARED(sched_setparam, 0, 1, UINT32_MAX),
	SHARED(sched_setscheduler, 0, 1, UINT32_MAX),
	SHARED(sched_setattr, 0, 1, UINT32_MAX),
	SHARED(sched_setaffinity, 0, 1, UINT32_MAX),

	/* Attributes of a file that is open for reading: Landlock knows of no request on
	 * files, and a mount would have been read-only
	 */
	SHARED(ioctl, 1, FS_IOC_SETFLAGS, FS_IOC_SETFLAGS),
	SHARED(ioctl, 1, FS_IOC32_SETFLAGS, FS_IOC32_SETFLAGS),
	SHARED(ioctl, 1, FS_IOC_SETVERSION, FS_IOC_SETVERSION),
	SHARED(ioctl, 1, FS_IOC_FSSETXATTR, FS_IOC_FSSETXATTR),
	SHARED(ioctl, 1, FS_IOC_SET_ENCRYPTION_POLICY, FS_IOC_SET_ENCRYPTION_POLICY),
	SHARED(ioctl, 1, FS_IOC_ENABLE_VERITY, FS_IOC_ENABLE_VERITY),
};

static const struct sys_refusal network[] = {
	/* Landlock watches connect() and bind(). A connection can be opened by sending,
	 * too, and without bind() listen() takes any free port of every address. The
	 * errors are those of a kernel that has fast open switched off, and of bind().
	 */
	NETWORK(sendto, 3, MSG_FASTOPEN, EOPNOTSUPP),
	NETWORK(sendmsg, 2, MSG_FASTOPEN, EOPNOTSUPP),
	NETWORK(sendmmsg, 3, MSG_FASTOPEN, EOPNOTSUPP),
	NETWORK(listen, 0, 0, EACCES),
};

int stage_unconnected(struct err *err)
{
	static const struct sys_refusal row = NETWORK(connect, 0, 0, EACCES);

	if (sys_refuse(&row, 1) < 0)
		return fail_errno(err, "cannot refuse connect()");
	return 0;
}

/* Foreign machines' calls end the process already, by the main filter */
int stage_shared(const struct plan *plan, struct err *err)
{
	if (sys_refuse(shared, ARRAY_SIZE(shared)) < 0 ||
	    (plan->net != NET_HOST &&
	     sys_refuse(network, ARRAY_SIZE(network)) < 0))
		return fail_errno(err, "cannot load the landlock tier's filter");
	return 0;
}
