/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/assert.c - the last look before anything runs
 *
 * The stages said that they succeeded; this asks the kernel. Whatever is not
 * as planned means that nothing is executed.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "cage/stages.h"
#include "plan/plan.h"

static const struct {
	const char *path;
	uint64_t flag;
} namespaces[NAMESPACES] = {
	{ "/proc/self/ns/user", CLONE_NEWUSER },
	{ "/proc/self/ns/mnt", CLONE_NEWNS },
	{ "/proc/self/ns/pid", CLONE_NEWPID },
	{ "/proc/self/ns/net", CLONE_NEWNET },
	{ "/proc/self/ns/ipc", CLONE_NEWIPC },
	{ "/proc/self/ns/uts", CLONE_NEWUTS },
	{ "/proc/self/ns/cgroup", CLONE_NEWCGROUP },
};

void host_ids_read(struct host_ids *ids)
{
	for (size_t i = 0; i < NAMESPACES; i++) {
		struct stat st;

		ids->ns[i] = stat(namespaces[i].path, &st) < 0 ? 0 : st.st_ino;
	}
}

static int check_capabilities(struct err *err)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return fail_errno(err, "cannot read capabilities");
	for (size_t i = 0; i < 2; i++) {
		if (data[i].effective || data[i].permitted ||
		    data[i].inheritable)
			return fail(err, -EPERM, "capabilities are left");
	}
	for (int cap = 0; cap <= 63; cap++) {
		const int in = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (in < 0)
			break;
		if (in || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0,
				0) > 0)
			return fail(err, -EPERM, "capability %d is left", cap);
	}
	return 0;
}

static int check_namespaces(const struct plan *plan,
			    const struct host_ids *host, struct err *err)
{
	struct host_ids ours;

	host_ids_read(&ours);
	for (size_t i = 0; i < NAMESPACES; i++) {
		if (!(plan->namespaces & namespaces[i].flag))
			continue;
		if (!ours.ns[i] || ours.ns[i] == host->ns[i])
			return fail(err, -EPERM, "%s is the host's",
				    namespaces[i].path);
	}
	return 0;
}

static int check_descriptors(int keep, struct err *err)
{
	auto_closedir DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		return fail_errno(err, "cannot read /proc/self/fd");
	while ((entry = readdir(dir)) != NULL) {
		const int fd = (int)strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] == '.' || fd <= 2 || fd == keep ||
		    fd == dirfd(dir))
			continue;
		return fail(err, -EPERM, "descriptor %d is left open", fd);
	}
	return 0;
}

static int check_root(const struct plan *plan, struct err *err)
{
	struct statvfs vfs;

	if (statvfs("/", &vfs) < 0)
		return fail_errno(err, "cannot look at /");
	if (!plan->root_writable && !(vfs.f_flag & ST_RDONLY))
		return fail(err, -EPERM, "/ is writable");
	return 0;
}

int stage_assert(const struct plan *plan, const struct host_ids *host,
		 int keep, struct err *err)
{
	int r = check_capabilities(err);

	if (r == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		r = fail(err, -EPERM, "no_new_privs is not set");
	if (r == 0 && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		r = fail(err, -EPERM, "no seccomp filter is in force");
	if (r == 0)
		r = check_namespaces(plan, host, err);
	if (r == 0)
		r = check_descriptors(keep, err);
	if (r == 0)
		r = check_root(plan, err);
	return r < 0 ? fail_in(err, "the sandbox is not as planned") : 0;
}
