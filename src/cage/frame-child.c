/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/frame-child.c - a frame's first process, from fork to the command
 *
 * Should: do what the frame says, in bubblewrap's order, since callers see it:
 * nothing before somebody outside has said so, mounts while the user namespace
 * still gives the right to, capabilities and filters last. Mustn't: leave open
 * what is ours, or run anything after a failed step.
 *
 * With a pid namespace this process is its process 1 and stays, until all in
 * there have ended; so does it for locks and the descriptor to hold. Else it
 * becomes the command.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/reap.h"
#include "base/sock.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/frame-tree.h"
#include "cage/netns.h"
#include "plan/frame.h"
#include "plan/listener.h"

enum {
	INSTRUCTION = sizeof(struct sock_filter),
	FILTER_MAX = BPF_MAXINSNS * INSTRUCTION,	/* The kernel's */
};

/**
 * struct child - What is needed along the way
 * @proc, @self: /proc and /proc/self of the host
 * @cwd:	Where the caller stood
 * @filters:	Programs, read
 * @kept:	What process 1 holds open: the socket, locks and the like
 */
struct child {
	struct frame *frame;
	int socket, proc, self;
	const struct frame_owner *owner;
	mode_t umask;
	char *cwd;
	struct { struct sock_fprog *v; size_t len, cap; } filters;
	struct { unsigned int *v; size_t len, cap; } kept;
};

static void tell(int socket, enum cage_event event, int value,
		 const char *text)
{
	struct cage_message m = { .event = event, .value = value };

	snprintf(m.text, sizeof(m.text), "%s", text);
	(void)sock_send(socket, &m, sizeof(m), NULL, 0);
}

static void give_up(const struct child *c, const char *text)
{
	tell(c->socket, CAGE_FAILED, 1, text);
	_exit(1);
}

/* The process above has done its part */
static int fork_on(struct err *err)
{
	const pid_t pid = fork();

	if (pid < 0)
		return fail_errno(err, "Can't fork for --pidns");
	if (pid > 0)
		_exit(0);
	return 0;
}

/* Into the caller's pid namespace, or a new one below it */
static int enter_pidns(struct child *c, struct err *err)
{
	const struct cage_message m = { .event = CAGE_STARTED };
	auto_close int pidfd = -1;
	int r;

	if (c->frame->pidns < 0)
		return 0;
	if (setns(c->frame->pidns, CLONE_NEWPID) < 0)
		return fail_errno(err, "Setting pidns failed");
	r = fork_on(err);
	if (r == 0 && c->frame->namespaces & CLONE_NEWPID) {
		if (unshare(CLONE_NEWPID) < 0)
			return fail_errno(err, "unshare pid ns");
		r = fork_on(err);
	}
	if (r < 0)
		return r;
	pidfd = sys_pidfd_open(getpid(), 0);
	if (pidfd < 0 || sock_send(c->socket, &m, sizeof(m), &pidfd, 1) < 0)
		return fail_errno(err, "cannot tell who we are");
	return 0;
}

static int set_up_network(const struct child *c, struct err *err)
{
	const struct netns_config config = { .filtered = false };
	struct listener_set none = { 0 };
	int r;

	if (!(c->frame->namespaces & CLONE_NEWNET))
		return 0;
	r = netns_setup(&config, &none, NULL);
	/* Known words again, from containers */
	return r < 0 ? fail(err, r, "loopback: Failed RTM_NEWADDR: %s",
			    strerror(-r)) : 0;
}

static int read_filter(struct child *c, int fd, struct err *err)
{
	auto_buf struct buf text = { 0 };
	struct sock_fprog *program;
	const int r = fs_read_fd(fd, FILTER_MAX, &text, NULL);

	if (r < 0)
		return fail(err, r, "Can't read seccomp data: %s",
			    strerror(-r));
	(void)close(fd);
	if (text.len % INSTRUCTION)
		return fail(err, -EINVAL, "Invalid seccomp data, must be multiple of 8");
	program = vec_push(&c->filters);
	program->len = (unsigned short)(text.len / INSTRUCTION);
	program->filter = (struct sock_filter *)(void *)buf_take(&text);
	return 0;
}

static int read_filters(struct child *c, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->frame->filters.len; i++)
		r = read_filter(c, c->frame->filters.v[i], err);
	return r;
}

/* Called between vfork() and execve() as well: nothing but system calls */
static int load_filters(const struct child *c)
{
	for (size_t i = 0; i < c->filters.len; i++) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
			  &c->filters.v[i]) < 0)
			return -errno;
	}
	return 0;
}

static void fail_filter(const struct child *c, int error)
{
	struct err err = { 0 };

	if (error == -EINVAL)
		fail(&err, error, "Unable to set up system call filtering as requested: prctl(PR_SET_SECCOMP) reported EINVAL. (Hint: this requires a kernel configured with CONFIG_SECCOMP and CONFIG_SECCOMP_FILTER.)");
	else
		fail(&err, error, "prctl(PR_SET_SECCOMP): %s",
		     strerror(-error));
	give_up(c, err.msg);
}

static int enter_cwd(const struct child *c, struct err *err)
{
	struct frame *frame = c->frame;
	const char *home = getenv("HOME"), *at = "/";

	/* What is asked for is below the new root, however it is written */
	if (frame->cwd) {
		if (chdir("/") < 0 || chdir(frame->cwd) < 0)
			return fail_errno(err, "Can't chdir to %s", frame->cwd);
		at = frame->cwd;
	} else if (c->cwd && chdir(c->cwd) == 0) {
		at = c->cwd;
	} else if (home && chdir(home) == 0) {
		at = home;
	} else if (chdir("/") < 0) {
		return fail_errno(err, "Can't chdir to /");
	}
	frame_env_set(frame, "PWD", at);
	environ = frame->env;
	return 0;
}

static void wait_for_byte(int fd)
{
	char byte;

	while (fd >= 0 && read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	if (fd >= 0)
		(void)close(fd);
}

/* What the frame was made from is not for the command */
static void close_used(const struct frame *frame)
{
	const int fds[] = { frame->userns, frame->userns2, frame->pidns };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] > 2)
			(void)close(fds[i]);
	}
	for (size_t i = 0; i < frame->ops.len; i++) {
		if (frame->ops.v[i].fd > 2)
			(void)close(frame->ops.v[i].fd);
	}
}

static int build(struct child *c, struct err *err)
{
	int r = set_up_network(c, err);

	if (r == 0)
		r = frame_map_ids(c->frame, c->self, c->owner, err);
	c->umask = umask(0);	/* Modes are the caller's to choose */
	c->cwd = get_current_dir_name();
	if (r == 0)
		r = frame_build(c->frame, err);
	if (r == 0)
		r = frame_nest_userns(c->frame, c->proc, c->self, err);
	if (r == 0)
		r = frame_drop_caps(c->frame, true, err);
	if (r < 0)
		return r;
	/* Others of this user may look at us again, as at any process */
	(void)prctl(PR_SET_DUMPABLE, 1);
	close_used(c->frame);
	wait_for_byte(c->frame->block);
	r = read_filters(c, err);
	(void)umask(c->umask);
	if (r == 0)
		r = enter_cwd(c, err);
	if (r == 0 && c->frame->new_session && setsid() < 0)
		r = fail_errno(err, "setsid");
	return r;
}

static void keep(struct child *c, int fd)
{
	if (fd >= 0)
		*vec_push(&c->kept) = (unsigned int)fd;
}

static void take_locks(struct child *c)
{
	struct err err = { 0 };

	for (size_t i = 0; i < c->frame->locks.len; i++) {
		const char *path = c->frame->locks.v[i];
		const struct flock lock = {
			.l_type = F_RDLCK, .l_whence = SEEK_SET,
		};
		const int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);

		if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0) {
			fail_errno(&err, fd < 0 ? "Unable to open lock file %s"
						: "Unable to lock file %s",
				   path);
			give_up(c, err.msg);
		}
		keep(c, fd);
	}
}

static int compare(const void *a, const void *b)
{
	const unsigned int x = *(const unsigned int *)a;
	const unsigned int y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

/* All but the standard ones and what is kept */
static void close_others(struct child *c)
{
	unsigned int from = 3;

	qsort(c->kept.v, c->kept.len, sizeof(*c->kept.v), compare);
	for (size_t i = 0; i < c->kept.len; i++) {
		if (c->kept.v[i] > from)
			(void)sys_close_range(from, c->kept.v[i] - 1, 0);
		if (c->kept.v[i] >= from)
			from = c->kept.v[i] + 1;
	}
	(void)sys_close_range(from, ~0U, 0);
}

/* Our end with our parent's. It may have gone before we asked for that: then
 * nobody holds the other end of the socket.
 */
static int tie_to_parent(const struct child *c)
{
	struct pollfd fd = { .fd = c->socket };

	if (!c->frame->die_with_parent)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	if (poll(&fd, 1, 0) > 0 && fd.revents & POLLHUP)
		_exit(1);
	return 0;
}

/* The last steps, in whichever process becomes the command; a negative errno,
 * and whether it was a filter's
 */
static int become_command(const struct child *c, volatile bool *filter)
{
	const struct frame *frame = c->frame;
	const char *program = frame->argv[0];
	int r;

	r = tie_to_parent(c);
	if (r < 0)
		return r;
	frame_raise_ambient(frame);
	r = load_filters(c);
	*filter = r < 0;
	if (r < 0)
		return r;
	if (frame->argv0)
		((const char **)(uintptr_t)frame->argv)[0] = frame->argv0;
	(void)execvp(program, frame->argv);
	return -errno;
}

static void fail_exec(const struct child *c, const char *program, int error,
		      bool filter)
{
	struct err err = { 0 };

	if (filter)
		fail_filter(c, error);
	fail(&err, error, "execvp %s: %s", program, strerror(-error));
	give_up(c, err.msg);
}

/* Until the last one has gone: the command may leave others behind */
static void reap(const struct child *c, pid_t command)
{
	int status, code = 1;
	pid_t pid;

	while ((pid = wait(&status)) > 0 || errno == EINTR) {
		if (pid != command)
			continue;
		code = reap_exit_code(status);
		if (c->frame->namespaces & CLONE_NEWPID)
			tell(c->socket, CAGE_EXITED, code, "");
	}
	_exit(code);
}

/* vfork(): the child borrows our memory until it has become the command, so a
 * failed execve() can leave its errno here
 */
static void run_init(struct child *c)
{
	const char *program = c->frame->argv[0];
	volatile bool filter = false;
	volatile int error = 0;
	struct err err = { 0 };
	pid_t pid;
	int r;

	take_locks(c);
	tell(c->socket, CAGE_READY, 0, "");
	pid = vfork();
	if (!pid) {
		for (size_t i = 0; i < c->frame->syncs.len; i++)
			(void)close(c->frame->syncs.v[i]);
		error = become_command(c, &filter);
		_exit(1);
	}
	if (pid < 0)
		give_up(c, "Can't fork for pid 1");
	if (error)
		fail_exec(c, program, error, filter);
	r = frame_drop_caps(c->frame, false, &err);
	if (r < 0)
		give_up(c, err.msg);
	(void)tie_to_parent(c);
	keep(c, c->socket);
	for (size_t i = 0; i < c->frame->syncs.len; i++)
		keep(c, c->frame->syncs.v[i]);
	close_others(c);
	r = load_filters(c);
	if (r < 0)
		fail_filter(c, r);
	reap(c, pid);
}

static bool needs_init(const struct frame *frame)
{
	return !frame->as_pid_1 &&
	       (frame->namespaces & CLONE_NEWPID || frame->locks.len ||
		frame->syncs.len);
}

static void run(struct child *c)
{
	const char *program = c->frame->argv[0];
	volatile bool filter = false;
	int error;

	if (needs_init(c->frame))
		run_init(c);
	tell(c->socket, CAGE_READY, 0, "");
	/* Not into the command: it is above 2 and close-on-exec */
	error = become_command(c, &filter);
	fail_exec(c, program, error, filter);
}

void frame_child(struct frame *frame, const struct frame_owner *owner,
		 int socket, bool wait_first)
{
	struct child c = {
		.frame = frame, .owner = owner, .socket = socket,
		.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	struct err err = { 0 };
	char go;

	environ = frame->env;
	if (frame->info >= 0)
		(void)close(frame->info);
	if (frame->status >= 0)
		(void)close(frame->status);
	if (enter_pidns(&c, &err) < 0)
		give_up(&c, err.msg);
	if (wait_first && sock_recv(socket, &go, 1, NULL, NULL) != 1)
		_exit(1);
	c.self = openat(c.proc, "self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c.self < 0)
		give_up(&c, "Can't open /proc");
	if (build(&c, &err) < 0)
		give_up(&c, err.msg);
	close_fd(&c.proc);
	close_fd(&c.self);
	run(&c);
	_exit(1);
}
