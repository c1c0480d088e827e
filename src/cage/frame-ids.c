/* SPDX-License-Identifier: Apache-2.0 */
/* cage/frame-ids.c - who a frame's command is, and what it may */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "cage/frame-tree.h"
#include "cage/stages.h"
#include "plan/frame.h"

enum { CAPS_MAX = 64 };

bool frame_has_userns(const struct frame *frame)
{
	return frame->namespaces & CLONE_NEWUSER || frame->userns >= 0;
}

static uid_t inner(int64_t asked, uid_t outside)
{
	return asked < 0 ? outside : (uid_t)asked;
}

/* In a namespace of ours we are mapped; in one that we joined, we change */
int frame_map_ids(const struct frame *frame, int self,
		  const struct frame_owner *owner, struct err *err)
{
	const uid_t new_uid = inner(frame->uid, owner->uid);
	const gid_t new_gid = inner(frame->gid, owner->gid);
	int r;

	if (frame->userns >= 0) {
		if (new_gid != owner->gid && setgid(new_gid) < 0)
			return fail_errno(err, "unable to switch to gid %d",
					  (int)new_gid);
		if (new_uid != owner->uid && setuid(new_uid) < 0)
			return fail_errno(err, "unable to switch to uid %d",
					  (int)new_uid);
		return 0;
	}
	if (!(frame->namespaces & CLONE_NEWUSER) || frame->userns_block >= 0)
		return 0;
	r = idmap_write(self, new_uid, owner->uid, new_gid, owner->gid, NULL);
	/* These words are known: it is how AppArmor's restriction shows */
	return r < 0 ? fail(err, r, "setting up uid map: %s", strerror(-r)) : 0;
}

/* One user namespace is the last: the limit is set in ours, and the command
 * lives in one below it, where it cannot be raised
 */
static int nest(int proc, int self, struct err *err)
{
	const uid_t uid = getuid();
	const gid_t gid = getgid();
	auto_close int limit = openat(proc, "sys/user/max_user_namespaces",
				      O_WRONLY | O_CLOEXEC);

	if (limit < 0 || write(limit, "1", 1) != 1)
		return fail_errno(err, "sysctl user.max_user_namespaces = 1");
	if (unshare(CLONE_NEWUSER) < 0)
		return fail_errno(err, "unshare user ns");
	return idmap_write(self, uid, uid, gid, gid, err);
}

int frame_nest_userns(const struct frame *frame, int proc, int self,
		      struct err *err)
{
	int r = 0;

	if (frame->userns2 >= 0 && setns(frame->userns2, CLONE_NEWUSER) < 0)
		return fail_errno(err, "Setting userns2 failed");
	if (frame->no_userns)
		r = nest(proc, self, err);
	if (r < 0)
		return r;
	if ((frame->no_userns || frame->assert_no_userns) &&
	    unshare(CLONE_NEWUSER) == 0)
		return fail(err, -EPERM, "creation of new user namespaces was not disabled as requested");
	return 0;
}

/* @caps, as far as we have them: a container's root has not all of them */
static int set_caps(uint64_t caps)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	const uint32_t half[2] = { (uint32_t)caps, (uint32_t)(caps >> 32) };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		data[i].permitted &= half[i];
		data[i].effective = data[i].inheritable = data[i].permitted;
	}
	return (int)syscall(SYS_capset, &header, data);
}

/* A new user namespace comes with every capability in the bounding set. Root
 * that asked for nothing, or for all, keeps what it has. Where a container manager forbids
 * root to use capset(), our own processes (@keep is false) do without it; what
 * the caller asked for the command must hold.
 */
int frame_drop_caps(const struct frame *frame, bool keep, struct err *err)
{
	for (int cap = 0; keep && frame_has_userns(frame) && cap < CAPS_MAX;
	     cap++) {
		if (!(frame->caps & (1ULL << cap)) &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 &&
		    errno == EINVAL)
			break;	/* Past the last one */
	}
	if (keep && frame->caps &&
	    (!frame->caps_used ||
	     (!~frame->caps && !frame_has_userns(frame))))
		return 0;
	if (set_caps(keep ? frame->caps : 0) < 0 &&
	    !(errno == EPERM && frame->caps && !keep))
		return fail_errno(err, "capset failed");
	return 0;
}

void frame_raise_ambient(const struct frame *frame)
{
	for (int cap = 0; cap < CAPS_MAX; cap++) {
		if (frame->caps & (1ULL << cap))
			(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap,
				    0, 0);
	}
}
