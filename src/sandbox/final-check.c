/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/final-check.c - compare the sandbox with its plan before the command starts
 *
 * Each stage has reported success; this reads the result back from the kernel. What is not
 * as planned means that nothing is executed.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/sys.h"
#include "plan/plan.h"
#include "sandbox/stages.h"

static const struct {
	const char *name;
	uint64_t flag;
} namespaces[NAMESPACES] = {
	{ "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS },
	{ "pid", CLONE_NEWPID }, { "net", CLONE_NEWNET },
	{ "ipc", CLONE_NEWIPC }, { "uts", CLONE_NEWUTS },
	{ "cgroup", CLONE_NEWCGROUP },
};

/* "net:[4026531840]": to follow the link would make the kernel make a file */
static ino_t id_of(int dir, const char *name)
{
	char text[64];
	const ssize_t n = readlinkat(dir, name, text, sizeof(text) - 1);
	const char *bracket;

	text[n > 0 ? n : 0] = '\0';
	bracket = strchr(text, '[');
	return bracket ? strtoul(bracket + 1, NULL, 10) : 0;
}

void host_ids_read(struct host_ids *ids)
{
	auto_close int dir = open("/proc/self/ns",
				  O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < NAMESPACES; i++)
		ids->ns[i] = id_of(dir, namespaces[i].name);
}

static int check_capabilities(const struct plan *plan, struct err *err)
{
	struct sys_caps caps;

	if (sys_capget(&caps) < 0)
		return fail_errno(err, "cannot read capabilities");
	/* The kernel keeps the ambient set within the permitted one */
	if (caps.effective || caps.permitted || caps.inheritable)
		return fail(err, -EPERM, "capabilities are left");
	for (int cap = 0; cap <= 63; cap++) {
		const int in = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (in < 0)
			break;
		/* A user without a namespace of its own cannot clear it */
		if (plan->tier != TIER_FULL && geteuid() != 0)
			break;
		if (in)
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
			return fail(err, -EPERM, "the %s namespace is the host's",
				    namespaces[i].name);
	}
	return 0;
}

/* The network of a jail belongs to a user namespace that is not ours: the
 * kernel tells us no more about it
 */
static int check_jail(const struct plan *plan, struct err *err)
{
	auto_close int net = -1, owner = -1;

	if (plan->net != NET_JAIL)
		return 0;
	net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	owner = net < 0 ? -1 : ioctl(net, NS_GET_USERNS);
	if (net < 0 || owner >= 0 || errno != EPERM)
		return fail(err, -EPERM, "the network is not a jail");
	return 0;
}

static int check_descriptors(int keep, struct err *err)
{
	auto_close int list = open("/proc/self/fd",
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t buffer[64];
	struct dir dir = {
		.fd = list, .buffer = (char *)buffer, .size = sizeof(buffer),
	};
	struct dir_entry entry;
	int r;

	while ((r = dir_next(&dir, &entry)) > 0) {
		const int fd = (int)strtol(entry.name, NULL, 10);

		if (fd > 2 && fd != keep && fd != list)
			return fail(err, -EPERM, "descriptor %d is left open",
				    fd);
	}
	return r < 0 ? fail(err, r, "cannot read /proc/self/fd") : 0;
}

static int check_root(const struct plan *plan, struct err *err)
{
	struct statvfs vfs;

	if (statvfs("/", &vfs) < 0)
		return fail_errno(err, "cannot look at /");
	if (plan->tier == TIER_FULL && !plan->root_writable &&
	    !(vfs.f_flag & ST_RDONLY))
		return fail(err, -EPERM, "/ is writable");
	return 0;
}

int stage_assert(const struct plan *plan, const struct host_ids *host,
		 int keep, struct err *err)
{
	int r = check_capabilities(plan, err);

	if (r == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		r = fail(err, -EPERM, "no_new_privs is not set");
	if (r == 0 && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		r = fail(err, -EPERM, "no seccomp filter is in force");
	if (r == 0 && (r = check_namespaces(plan, host, err)) == 0 &&
	    (r = check_jail(plan, err)) == 0 &&
	    (r = check_descriptors(keep, err)) == 0)
		r = check_root(plan, err);
	return r < 0 ? fail_in(err, r, "the sandbox is not as planned") : 0;
}
