/* SPDX-License-Identifier: Apache-2.0 */
/* cage/frame-start.c - fork a frame's first process */

#include "cage/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/sock.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/frame-tree.h"
#include "plan/frame.h"

/* Whether user namespaces are switched off altogether */
static bool has_user_namespaces(void)
{
	auto_buf struct buf limit = { 0 };

	return access("/proc/self/ns/user", F_OK) == 0 &&
	       (fs_read(AT_FDCWD, "/proc/sys/user/max_user_namespaces", 32,
			&limit, NULL) < 0 ||
		strcmp(buf_str(&limit), "0\n") != 0);
}

/* What is only to be tried: make it if the kernel has it */
static int settle(struct frame *frame, struct err *err)
{
	const bool cgroup = access("/proc/self/ns/cgroup", F_OK) == 0;

	if (frame->user_try && has_user_namespaces())
		frame->namespaces |= CLONE_NEWUSER;
	if (!frame_has_userns(frame) && (frame->uid > 0 || frame->gid > 0))
		return fail(err, -EINVAL, "Specifying --uid requires --unshare-user or --userns");
	if (frame->namespaces & CLONE_NEWCGROUP && !cgroup)
		return fail(err, -EINVAL, "Cannot create new cgroup namespace because the kernel does not support it");
	if (frame->cgroup_try && cgroup)
		frame->namespaces |= CLONE_NEWCGROUP;
	return 0;
}

static int explain_fork(const struct frame *frame, struct err *err)
{
	const int saved = errno;

	if (frame->namespaces & CLONE_NEWUSER && saved == EINVAL)
		return fail(err, -saved, "Creating new namespace failed, likely because the kernel does not support user namespaces.");
	if (frame->namespaces & CLONE_NEWUSER && saved == EPERM)
		return fail(err, -saved, "No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces. On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'.");
	if (saved == ENOSPC)
		return fail(err, -saved, "Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)");
	errno = saved;
	return fail_errno(err, "Creating new namespace failed");
}

/* Below a pid namespace of the caller's the process is another one, which
 * tells us by its pidfd who it is
 */
static int take_pid(struct frame_child *child, struct err *err)
{
	struct cage_message m;
	int fd = -1, r = 0;
	size_t n = 1;
	auto_buf struct buf info = { 0 };
	char path[64];
	const char *at;

	if (sock_recv(child->socket, &m, sizeof(m), &fd, &n) !=
	    (ssize_t)sizeof(m))
		return fail(err, -EPROTO, "the sandbox ended before it began");
	if (m.event == CAGE_FAILED)
		return fail(err, -ECANCELED, "%s", m.text);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	r = fs_read(AT_FDCWD, path, 4096, &info, NULL);
	at = strstr(buf_str(&info), "\nPid:");
	close_fd(&fd);
	if (r < 0 || !at)
		return fail(err, -EPROTO, "the sandbox's process is unknown");
	child->pid = (pid_t)strtol(at + 5, NULL, 10);
	return 0;
}

static bool must_wait(const struct frame *frame)
{
	return frame->info >= 0 || frame->status >= 0 ||
	       frame->userns_block >= 0;
}

static int join_userns(const struct frame *frame, struct err *err)
{
	if (frame->userns < 0 || setns(frame->userns, CLONE_NEWUSER) == 0)
		return 0;
	if (errno == EINVAL)
		return fail(err, -EINVAL, "Joining the specified user namespace failed, it might not be a descendant of the current user namespace.");
	return fail_errno(err, "Joining specified user namespace failed");
}

int frame_start(struct frame *frame, struct frame_child *ret, struct err *err)
{
	const struct frame_owner owner = { getuid(), getgid() };
	uint64_t flags;
	int pair[2];
	int r = settle(frame, err);

	if (r == 0)
		r = join_userns(frame, err);
	if (r == 0 && frame->pidns >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		r = fail_errno(err, "cannot keep hold of the sandbox's process");
	if (r < 0)
		return r;
	r = sock_pair(pair);
	if (r < 0)
		return fail(err, r, "cannot make a socket pair");
	(void)fflush(NULL);
	flags = frame->namespaces | CLONE_NEWNS;
	if (frame->pidns >= 0)
		flags &= ~(uint64_t)CLONE_NEWPID;
	ret->pid = sys_fork_into(flags, NULL);
	if (!ret->pid) {
		(void)close(pair[0]);
		frame_child(frame, &owner, pair[1], must_wait(frame));
	}
	if (ret->pid < 0)
		r = explain_fork(frame, err);
	(void)close(pair[1]);
	ret->socket = pair[0];
	if (r == 0 && frame->pidns >= 0)
		r = take_pid(ret, err);
	if (r < 0)
		(void)close(pair[0]);
	return r;
}

/* Who does not wait must not be told: bytes that it has not read when it ends
 * take its last words with them
 */
int frame_go(const struct frame *frame, const struct frame_child *child)
{
	return must_wait(frame) ? sock_send(child->socket, "", 1, NULL, 0) : 0;
}

int frame_renounce(const struct frame *frame, struct err *err)
{
	if (frame->userns2 >= 0 && setns(frame->userns2, CLONE_NEWUSER) < 0)
		return fail_errno(err, "Setting userns2 failed");
	return frame_drop_caps(frame, false, err);
}
