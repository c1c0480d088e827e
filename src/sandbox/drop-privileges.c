/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/drop-privileges.c - user and group, keyring, limits, capabilities,
 * no_new_privs
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "plan/plan.h"
#include "sandbox/sandbox.h"
#include "sandbox/stages.h"

enum { KEYRING_TRIES = 250, KEYRING_WAIT_MS = 20 };

/* A container's filter refuses all of it: then the command has no keys either */
static bool has_no_keys(int error)
{
	return error == ENOSYS ||
	       (error == EPERM &&
		syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID,
			KEY_SPEC_SESSION_KEYRING, 0) < 0 && errno == EPERM);
}

/* The session keyring is inherited through every namespace: leave it. A new
 * one counts against the user's quota, and those of runs that ended are given
 * back with a delay: many runs in a row have to wait a moment.
 */
int stage_keyring(struct err *err)
{
	const struct timespec wait = { .tv_nsec = KEYRING_WAIT_MS * 1000000 };

	for (int i = 0; i < KEYRING_TRIES; i++) {
		if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING,
			    NULL) >= 0 || has_no_keys(errno))
			return 0;
		if (errno != EDQUOT)
			return fail_errno(err, "cannot leave the caller's keyring");
		(void)nanosleep(&wait, NULL);
	}
	return fail(err, -EDQUOT, "cannot leave the caller's keyring: your quota of kernel keys is used up (/proc/key-users); wait for other runs to end, or raise the sysctl kernel.keys.maxkeys");
}

int stage_core(struct err *err)
{
	/* A core_pattern that is a pipe runs a program on the host and ignores
	 * a limit of 0; it honours 1
	 */
	struct rlimit core;

	if (getrlimit(RLIMIT_CORE, &core) < 0)
		return fail_errno(err, "cannot read the core dump limit");
	/* A hard limit of 0 cannot be raised */
	core.rlim_cur = core.rlim_max = core.rlim_max < 1 ? 0 : 1;
	if (setrlimit(RLIMIT_CORE, &core) < 0)
		return fail_errno(err, "cannot switch core dumps off");
	return 0;
}

int limits_set(const struct sandbox_request *request)
{
	for (size_t i = 0; i < request->nlimits; i++) {
		const struct sandbox_limit *limit = &request->limits[i];
		const __rlimit_resource_t what =
			(__rlimit_resource_t)limit->resource;
		struct rlimit value;

		if (getrlimit(what, &value) < 0)
			return -errno;
		/* The caller's own cannot be raised, and holds anyway */
		if (value.rlim_max > limit->value)
			value.rlim_max = limit->value;
		value.rlim_cur = value.rlim_max;
		if (setrlimit(what, &value) < 0)
			return -errno;
	}
	return 0;
}

/* Without the bounding set and with the bits locked, no execve() can bring a
 * capability back; no_new_privs says the same a second time
 */
int stage_lock(struct err *err)
{
	for (int cap = 0; cap <= 63; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno == EINVAL)
				break;	/* Past the last one */
			return fail_errno(err, "cannot drop capability %d",
					  cap);
		}
	}
	/* SECBIT_KEEP_CAPS is not locked: there are no capabilities to keep, and
	 * programs like ping fail where they may not set it
	 */
	if (prctl(PR_SET_SECUREBITS,
		  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
		  SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
		  SECBIT_NO_CAP_AMBIENT_RAISE |
		  SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED, 0, 0, 0) < 0)
		return fail_errno(err, "cannot lock the capability bits");
	return 0;
}

/* Outside a user namespace of its own, an ordinary user may not touch the
 * bounding set; having nothing, it cannot lose anything either. In one, it was
 * done at once.
 */
static bool must_lock(const struct plan *plan)
{
	struct sys_caps caps;

	return plan->tier != TIER_FULL &&
	       (sys_capget(&caps) < 0 ||
		caps.effective & (1ULL << CAP_SETPCAP));
}

int stage_privileges(const struct plan *plan, struct err *err)
{
	const struct sys_caps none = { 0 };
	const int r = must_lock(plan) ? stage_lock(err) : 0;

	if (r < 0)
		return r;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return fail_errno(err, "cannot clear ambient capabilities");
	if (sys_capset(&none) < 0)
		return fail_errno(err, "cannot drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail_errno(err, "cannot set no_new_privs");
	return 0;
}

static int write_at(int dir, const char *name, const char *text,
		    struct err *err)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return fail_errno(err, "cannot write the sandbox's %s", name);
	return 0;
}

int idmap_write(int self, uid_t inside, uid_t outside, gid_t group_inside,
		gid_t group_outside, struct err *err)
{
	char map[64];
	int r;

	r = write_at(self, "setgroups", "deny", err);
	if (r < 0)
		return r;
	snprintf(map, sizeof(map), "%u %u 1", inside, outside);
	r = write_at(self, "uid_map", map, err);
	if (r < 0)
		return r;
	snprintf(map, sizeof(map), "%u %u 1", group_inside, group_outside);
	return write_at(self, "gid_map", map, err);
}

int stage_idmap(uid_t uid, gid_t gid, struct err *err)
{
	auto_close int self = open("/proc/self",
				   O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (self < 0)
		return fail_errno(err, "cannot open /proc/self");
	return idmap_write(self, uid, uid, gid, gid, err);
}
