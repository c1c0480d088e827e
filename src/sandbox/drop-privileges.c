/* SPDX-License-Identifier: Apache-2.0 */
/* cage/confine.c - keyring, limits, capabilities, no_new_privs */

#include <errno.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "cage/cage.h"
#include "cage/stages.h"
#include "plan/plan.h"

enum { KEYRING_TRIES = 250, KEYRING_WAIT_MS = 20 };

/* A container's filter refuses all of it: then nobody inside has keys */
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
	/* A caller with a hard limit of 0 keeps it; who can raise it does */
	core.rlim_cur = core.rlim_max = core.rlim_max < 1 ? 0 : 1;
	if (setrlimit(RLIMIT_CORE, &core) < 0)
		return fail_errno(err, "cannot switch core dumps off");
	return 0;
}

int limits_set(const struct cage_request *request)
{
	for (size_t i = 0; i < request->nlimits; i++) {
		const struct cage_limit *limit = &request->limits[i];
		const __rlimit_resource_t what =
			(__rlimit_resource_t)limit->resource;
		struct rlimit value;

		if (getrlimit(what, &value) < 0)
			return -errno;
		/* Nobody may raise the caller's own, and it holds anyway */
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
	/* To keep what one has is left to everybody: it is nothing, and programs
	 * like ping end where they may not ask for it
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
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	return plan->tier != TIER_FULL &&
	       (syscall(SYS_capget, &header, data) < 0 ||
		(data[0].effective & (1U << CAP_SETPCAP)));
}

int stage_privileges(const struct plan *plan, struct err *err)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	const struct __user_cap_data_struct none[2] = { { 0 } };
	const int r = must_lock(plan) ? stage_lock(err) : 0;

	if (r < 0)
		return r;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return fail_errno(err, "cannot clear ambient capabilities");
	if (syscall(SYS_capset, &header, none) < 0)
		return fail_errno(err, "cannot drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail_errno(err, "cannot set no_new_privs");
	return 0;
}
