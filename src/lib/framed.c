/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/framed.c - run a frame to its end, and tell who wants to know
 *
 * Unlike the supervisor this passes no signal on and asks for nothing: as with
 * bubblewrap, a caller that wants the sandbox to end with us says
 * --die-with-parent. So there is nothing to wait for but the first process.
 */

#include "lib/framed.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/reap.h"
#include "base/sock.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/frame.h"
#include "plan/frame.h"

static const struct {
	const char *name;
	uint64_t flag;
} namespaces[] = {
	{ "cgroup", CLONE_NEWCGROUP }, { "ipc", CLONE_NEWIPC },
	{ "mnt", CLONE_NEWNS }, { "net", CLONE_NEWNET },
	{ "pid", CLONE_NEWPID }, { "uts", CLONE_NEWUTS },
};

/* The namespaces that were made, by number; read while we still may */
static void list_namespaces(const struct frame *frame, pid_t pid,
			    const char *blank, struct buf *out)
{
	char path[32];
	auto_close int dir = -1;

	snprintf(path, sizeof(path), "/proc/%d/ns", (int)pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; dir >= 0 && i < ARRAY_SIZE(namespaces); i++) {
		struct stat st;

		if (!((frame->namespaces | CLONE_NEWNS) & namespaces[i].flag) ||
		    fstatat(dir, namespaces[i].name, &st, 0) < 0)
			continue;
		buf_addf(out, ",%s\"%s-namespace\": %ju", blank,
			 namespaces[i].name, (uintmax_t)st.st_ino);
	}
}

static int write_to(int fd, const struct buf *text, struct err *err)
{
	const int r = fd < 0 ? 0 : fs_write_all(fd, text->p, text->len);

	return r < 0 ? fail(err, r, "Write to info_fd: %s", strerror(-r)) : 0;
}

static int tell_started(const struct frame *frame, const struct buf *info,
			const struct buf *status, struct err *err)
{
	const int r = write_to(frame->info, info, err);

	if (frame->info >= 0)
		(void)close(frame->info);
	return r < 0 ? r : write_to(frame->status, status, err);
}

static void tell_exited(const struct frame *frame, int code)
{
	auto_buf struct buf text = { 0 };

	buf_addf(&text, "{ \"exit-code\": %d }\n", code);
	(void)write_to(frame->status, &text, NULL);
	if (frame->status >= 0)
		(void)close(frame->status);
}

/* What was handed to the command is not kept open here */
static void close_others(int a, int b)
{
	const unsigned int low = (unsigned int)(a < b ? a : b);
	const unsigned int high = (unsigned int)(a < b ? b : a);

	if ((int)low < 3) {
		(void)sys_close_range(3, high - 1, 0);
	} else {
		if (low > 3)
			(void)sys_close_range(3, low - 1, 0);
		if (high > low + 1)
			(void)sys_close_range(low + 1, high - 1, 0);
	}
	(void)sys_close_range(high + 1, ~0U, 0);
}

/* Everything that is ours to do before the first process may go on */
static int prepare(const struct frame *frame, const struct frame_child *child,
		   pid_t parent, struct err *err)
{
	auto_buf struct buf info = { 0 }, status = { 0 };
	char byte;
	int r;

	buf_addf(&info, "{\n    \"child-pid\": %d", (int)child->pid);
	buf_addf(&status, "{ \"child-pid\": %d", (int)child->pid);
	if (frame->info >= 0 || frame->status >= 0) {
		list_namespaces(frame, child->pid, "\n    ", &info);
		list_namespaces(frame, child->pid, " ", &status);
	}
	buf_adds(&info, "\n}\n");
	buf_adds(&status, " }\n");
	r = frame_renounce(frame, err);
	if (r < 0)
		return r;
	/* Behind it: a change of privileges would undo it. A parent that went
	 * before has sent no signal.
	 */
	if (frame->die_with_parent) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
			return fail_errno(err, "prctl");
		if (getppid() != parent)
			(void)raise(SIGKILL);
	}
	r = tell_started(frame, &info, &status, err);
	while (r == 0 && frame->userns_block >= 0 &&
	       read(frame->userns_block, &byte, 1) < 0 && errno == EINTR)
		;
	return r;
}

/* We may have other children, from before we were started */
static int wait_for(pid_t pid)
{
	int status;
	pid_t ended;

	do {
		ended = waitpid(-1, &status, 0);
	} while (ended != pid && (ended > 0 || errno == EINTR));
	return ended == pid ? reap_exit_code(status) : EXIT_FRAME_FAILED;
}

/* Until it has ended, or said how the command did */
static int follow(const struct frame *frame, const struct frame_child *child,
		  struct err *err)
{
	bool ready = false, failed = false;
	struct cage_message m = { 0 };
	int code = -1;

	while (code < 0 && sock_recv(child->socket, &m, sizeof(m), NULL, NULL) ==
			   (ssize_t)sizeof(m)) {
		m.text[sizeof(m.text) - 1] = '\0';
		if (m.event == CAGE_READY)
			ready = true;
		if (m.event == CAGE_EXITED)
			code = m.value;
		if (m.event == CAGE_FAILED) {
			failed = true;
			fail(err, -ECANCELED, "%s", m.text);
		}
	}
	if (code < 0)
		code = wait_for(child->pid);
	if (failed)
		return err->code;
	if (ready)
		tell_exited(frame, code);
	return code;
}

/* A standard descriptor that is closed must not become one of ours; for the
 * command it is closed again
 */
static void reserve_standard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		(void)close(fd);
}

int framed_run(struct frame *frame, struct err *err)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	const pid_t parent = getppid();
	struct frame_child child;
	sigset_t child_ended;
	int r;

	reserve_standard();
	/* Who ignores it cannot wait for a child; and what the command expects
	 * of it is not our caller's business
	 */
	(void)sigaction(SIGCHLD, &plain, NULL);
	(void)sigemptyset(&child_ended);
	(void)sigaddset(&child_ended, SIGCHLD);
	(void)sigprocmask(SIG_UNBLOCK, &child_ended, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail_errno(err, "prctl(PR_SET_NO_NEW_PRIVS) failed");
	r = frame_start(frame, &child, err);
	if (r < 0)
		return r;
	r = prepare(frame, &child, parent, err);
	if (r < 0) {
		(void)kill(child.pid, SIGKILL);
		return r;
	}
	(void)frame_go(frame, &child);
	close_others(child.socket, frame->status);
	return follow(frame, &child, err);
}
