/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat/bwrap-child.c - bwrap's first process, from fork to the command
 *
 * Should: carry out the plan in bubblewrap's order, which callers can observe:
 * nothing before the process outside allows it, mounts while the user namespace still
 * has the right, capabilities and filters last. Mustn't: leave our descriptors open,
 * or run anything after a failed step.
 *
 * With a pid namespace this process is its process 1 and stays, until all in
 * there have ended; so does it for locks and the descriptor to hold. Else it
 * becomes the command.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "compat/bwrap.h"
#include "ipc/socket.h"
#include "sandbox/netns.h"
#include "sandbox/sandbox.h"
#include "sandbox/stages.h"

enum {
	INSTRUCTION = sizeof(struct sock_filter),
	FILTER_MAX = BPF_MAXINSNS * INSTRUCTION,	/* The kernel's */
	CAPS_MAX = 64,
};

/**
 * struct child - What is needed along the way
 * @proc, @self: /proc and /proc/self of the host
 * @filters:	Programs, read
 * @kept:	What process 1 holds open: the socket, locks and the like
 */
struct child {
	struct bwrap_plan *plan;
	int socket, proc, self;
	struct { struct sock_fprog *v; size_t len, cap; } filters;
	struct { int *v; size_t len, cap; } kept;
};

static void send_event(const struct child *c, enum sandbox_event event,
		       int value, const char *text)
{
	struct sandbox_message m = { .event = event, .value = value };

	snprintf(m.text, sizeof(m.text), "%s", text);
	(void)socket_send(c->socket, &m, sizeof(m), NULL, 0);
}

static void __attribute__((noreturn)) give_up(const struct child *c,
					      const char *text)
{
	send_event(c, SANDBOX_FAILED, BWRAP_FAILED, text);
	_exit(BWRAP_FAILED);
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
static int enter_pidns(const struct child *c, struct err *err)
{
	const struct sandbox_message m = { .event = SANDBOX_STARTED };
	auto_close int pidfd = -1;
	int r;

	if (c->plan->pidns < 0)
		return 0;
	if (setns(c->plan->pidns, CLONE_NEWPID) < 0)
		return fail_errno(err, "Setting pidns failed");
	r = fork_on(err);
	if (r == 0 && c->plan->namespaces & CLONE_NEWPID) {
		if (unshare(CLONE_NEWPID) < 0)
			return fail_errno(err, "unshare pid ns");
		r = fork_on(err);
	}
	if (r < 0)
		return r;
	pidfd = pidfd_open(getpid(), 0);
	if (pidfd < 0 || socket_send(c->socket, &m, sizeof(m), &pidfd, 1) < 0)
		return fail_errno(err, "cannot send our pidfd");
	return 0;
}

static int set_up_network(const struct bwrap_plan *plan, struct err *err)
{
	const int r = plan->namespaces & CLONE_NEWNET ? netns_up(false, NULL)
						      : 0;

	/* A known message, from containers */
	return r < 0 ? fail(err, r, "loopback: Failed RTM_NEWADDR: %s",
			    strerror(-r)) : 0;
}

bool bwrap_has_userns(const struct bwrap_plan *plan)
{
	return plan->namespaces & CLONE_NEWUSER || plan->userns >= 0;
}

/* In a namespace of ours we are mapped; in one that we joined, we change */
static int map_ids(const struct child *c, struct err *err)
{
	const struct bwrap_plan *plan = c->plan;
	const uid_t uid = plan->uid < 0 ? plan->host_uid : (uid_t)plan->uid;
	const gid_t gid = plan->gid < 0 ? plan->host_gid : (gid_t)plan->gid;
	int r;

	if (plan->userns >= 0) {
		if (gid != plan->host_gid && setgid(gid) < 0)
			return fail_errno(err, "unable to switch to gid %d",
					  (int)gid);
		if (uid != plan->host_uid && setuid(uid) < 0)
			return fail_errno(err, "unable to switch to uid %d",
					  (int)uid);
		return 0;
	}
	if (!(plan->namespaces & CLONE_NEWUSER) || plan->userns_block >= 0)
		return 0;
	r = idmap_write(c->self, uid, plan->host_uid, gid, plan->host_gid, NULL);
	/* A known message: it is how AppArmor's restriction shows */
	return r < 0 ? fail(err, r, "setting up uid map: %s", strerror(-r)) : 0;
}

/* One user namespace is the last: the limit is set in ours, and the command
 * lives in one below it, where it cannot be raised
 */
static int limit_userns(const struct child *c, struct err *err)
{
	const uid_t uid = getuid();
	const gid_t gid = getgid();
	auto_close int limit = openat(c->proc, "sys/user/max_user_namespaces",
				      O_WRONLY | O_CLOEXEC);

	if (limit < 0 || write(limit, "1", 1) != 1)
		return fail_errno(err, "sysctl user.max_user_namespaces = 1");
	if (unshare(CLONE_NEWUSER) < 0)
		return fail_errno(err, "unshare user ns");
	return idmap_write(c->self, uid, uid, gid, gid, err);
}

static int nest_userns(const struct child *c, struct err *err)
{
	const struct bwrap_plan *plan = c->plan;
	int r = 0;

	if (plan->userns2 >= 0 && setns(plan->userns2, CLONE_NEWUSER) < 0)
		return fail_errno(err, "Setting userns2 failed");
	if (plan->no_userns)
		r = limit_userns(c, err);
	if (r < 0)
		return r;
	if ((plan->no_userns || plan->assert_no_userns) &&
	    unshare(CLONE_NEWUSER) == 0)
		return fail(err, -EPERM, "creation of new user namespaces was not disabled as requested");
	return 0;
}

/* @caps, as far as we have them: a container's root has not all of them */
static int set_caps(uint64_t caps)
{
	struct sys_caps have;

	if (sys_capget(&have) < 0)
		return -1;
	caps &= have.permitted;
	return sys_capset(&(struct sys_caps){ caps, caps, caps });
}

/* A new user namespace comes with every capability in the bounding set. Root
 * that asked for nothing, or for all, keeps what it has. Where a container manager
 * forbids root to use capset(), our own processes do without it; what the caller
 * asked for the command must hold.
 */
int bwrap_drop_caps(const struct bwrap_plan *plan, bool command, struct err *err)
{
	const bool userns = bwrap_has_userns(plan);

	for (int cap = 0; command && userns && cap < CAPS_MAX; cap++) {
		if (!(plan->caps & (1ULL << cap)) &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 &&
		    errno == EINVAL)
			break;	/* Past the last one */
	}
	if (command && plan->caps &&
	    (!plan->caps_used || (!~plan->caps && !userns)))
		return 0;
	if (set_caps(command ? plan->caps : 0) < 0 &&
	    !(errno == EPERM && plan->caps && !command))
		return fail_errno(err, "capset failed");
	return 0;
}

static int read_filters(struct child *c, struct err *err)
{
	for (size_t i = 0; i < c->plan->filters.len; i++) {
		const int fd = c->plan->filters.v[i];
		auto_buf struct buf text = { 0 };
		const int r = fs_read_fd(fd, FILTER_MAX, &text, NULL);
		struct sock_fprog *program;

		if (r < 0)
			return fail(err, r, "Can't read seccomp data: %s",
				    strerror(-r));
		(void)close(fd);
		if (text.len % INSTRUCTION)
			return fail(err, -EINVAL, "Invalid seccomp data, must be multiple of 8");
		program = vec_push(&c->filters);
		program->len = (unsigned short)(text.len / INSTRUCTION);
		program->filter = (struct sock_filter *)(void *)buf_take(&text);
	}
	return 0;
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

static void __attribute__((noreturn)) fail_filter(const struct child *c,
						  int error)
{
	struct err err = { 0 };

	if (error == -EINVAL)
		give_up(c, "Unable to set up system call filtering as requested: prctl(PR_SET_SECCOMP) reported EINVAL. (Hint: this requires a kernel configured with CONFIG_SECCOMP and CONFIG_SECCOMP_FILTER.)");
	fail(&err, error, "prctl(PR_SET_SECCOMP): %s", strerror(-error));
	give_up(c, err.msg);
}

/* What is asked for is below the new root, however it is written */
static int enter_dir(const struct bwrap_plan *plan, const char *cwd,
		     struct err *err)
{
	const char *home = getenv("HOME"), *at = "/";

	if (plan->cwd) {
		if (chdir("/") < 0 || chdir(plan->cwd) < 0)
			return fail_errno(err, "Can't chdir to %s", plan->cwd);
		at = plan->cwd;
	} else if (cwd && chdir(cwd) == 0) {
		at = cwd;
	} else if (home && chdir(home) == 0) {
		at = home;
	} else if (chdir("/") < 0) {
		return fail_errno(err, "Can't chdir to /");
	}
	return setenv("PWD", at, 1) < 0 ? fail_errno(err, "setenv") : 0;
}

static void wait_for_byte(int fd)
{
	char byte;

	while (fd >= 0 && read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	if (fd >= 0)
		(void)close(fd);
}

/* What the sandbox was made from is not for the command */
static void close_used(const struct bwrap_plan *plan)
{
	const int fds[] = { plan->userns, plan->userns2, plan->pidns };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] > 2)
			(void)close(fds[i]);
	}
	for (size_t i = 0; i < plan->ops.len; i++) {
		if (plan->ops.v[i].fd > 2)
			(void)close(plan->ops.v[i].fd);
	}
}

static int set_up(struct child *c, struct err *err)
{
	auto_free char *cwd = NULL;
	mode_t mask;
	int r = set_up_network(c->plan, err);

	if (r == 0)
		r = map_ids(c, err);
	mask = umask(0);	/* Modes are the caller's to choose */
	cwd = get_current_dir_name();
	if (r == 0)
		r = bwrap_build(c->plan, err);
	if (r == 0)
		r = nest_userns(c, err);
	if (r == 0)
		r = bwrap_drop_caps(c->plan, true, err);
	if (r < 0)
		return r;
	/* Others of this user may look at us again, as at any process */
	(void)prctl(PR_SET_DUMPABLE, 1);
	close_used(c->plan);
	wait_for_byte(c->plan->block);
	r = read_filters(c, err);
	(void)umask(mask);
	if (r == 0)
		r = enter_dir(c->plan, cwd, err);
	if (r == 0 && c->plan->new_session && setsid() < 0)
		r = fail_errno(err, "setsid");
	return r;
}

static void take_locks(struct child *c)
{
	struct err err = { 0 };

	for (size_t i = 0; i < c->plan->locks.len; i++) {
		const char *path = c->plan->locks.v[i];
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
		*vec_push(&c->kept) = fd;
	}
}

/* Our end with our parent's. It may have gone before we asked for that: then
 * the other end of the socket is closed.
 */
static int tie_to_parent(const struct child *c)
{
	struct pollfd fd = { .fd = c->socket };

	if (!c->plan->die_with_parent)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	if (poll(&fd, 1, 0) > 0 && fd.revents & POLLHUP)
		_exit(BWRAP_FAILED);
	return 0;
}

/* The last steps, in whichever process becomes the command; a negative errno,
 * and whether it was a filter's
 */
static int become_command(const struct child *c, volatile bool *filter)
{
	const struct bwrap_plan *plan = c->plan;
	const char *program = plan->argv[0];
	int r;

	r = tie_to_parent(c);
	if (r < 0)
		return r;
	for (int cap = 0; cap < CAPS_MAX; cap++) {
		if (plan->caps & (1ULL << cap))
			(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap,
				    0, 0);
	}
	r = load_filters(c);
	*filter = r < 0;
	if (r < 0)
		return r;
	if (plan->argv0)
		((const char **)(uintptr_t)plan->argv)[0] = plan->argv0;
	(void)execvp(program, plan->argv);
	return -errno;
}

static void __attribute__((noreturn)) fail_exec(const struct child *c,
						const char *program, int error,
						bool filter)
{
	struct err err = { 0 };

	if (filter)
		fail_filter(c, error);
	fail(&err, error, "execvp %s: %s", program, strerror(-error));
	give_up(c, err.msg);
}

/* Until the last one has gone: the command may leave others behind */
static void __attribute__((noreturn)) reap_all(const struct child *c,
					       pid_t command)
{
	int status, code = BWRAP_FAILED;
	pid_t pid;

	while ((pid = wait(&status)) > 0 || errno == EINTR) {
		if (pid != command)
			continue;
		code = reap_exit_code(status);
		if (c->plan->namespaces & CLONE_NEWPID)
			send_event(c, SANDBOX_EXITED, code, "");
	}
	_exit(code);
}

/* vfork(): the child borrows our memory until it has become the command, so a
 * failed execve() can leave its errno here
 */
static void __attribute__((noreturn)) run_init(struct child *c)
{
	const char *program = c->plan->argv[0];
	volatile bool filter = false;
	volatile int error = 0;
	struct err err = { 0 };
	pid_t pid;
	int r;

	take_locks(c);
	send_event(c, SANDBOX_READY, 0, "");
	pid = vfork();
	if (!pid) {
		for (size_t i = 0; i < c->plan->syncs.len; i++)
			(void)close(c->plan->syncs.v[i]);
		error = become_command(c, &filter);
		_exit(BWRAP_FAILED);
	}
	if (pid < 0)
		give_up(c, "Can't fork for pid 1");
	if (error)
		fail_exec(c, program, error, filter);
	if (bwrap_drop_caps(c->plan, false, &err) < 0)
		give_up(c, err.msg);
	(void)tie_to_parent(c);
	*vec_push(&c->kept) = c->socket;
	for (size_t i = 0; i < c->plan->syncs.len; i++)
		*vec_push(&c->kept) = c->plan->syncs.v[i];
	(void)proc_close_others(c->kept.v, c->kept.len);
	r = load_filters(c);
	if (r < 0)
		fail_filter(c, r);
	reap_all(c, pid);
}

static bool needs_init(const struct bwrap_plan *plan)
{
	return !plan->as_pid_1 &&
	       (plan->namespaces & CLONE_NEWPID || plan->locks.len ||
		plan->syncs.len);
}

void bwrap_child(struct bwrap_plan *plan, int socket, bool wait_first)
{
	struct child c = {
		.plan = plan, .socket = socket,
		.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	const char *program = plan->argv[0];
	volatile bool filter = false;
	struct err err = { 0 };
	char go;
	int r;

	close_fd(&plan->info);
	close_fd(&plan->status);
	if (enter_pidns(&c, &err) < 0)
		give_up(&c, err.msg);
	if (wait_first && socket_recv(socket, &go, 1, NULL, NULL) != 1)
		_exit(BWRAP_FAILED);
	c.self = openat(c.proc, "self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c.self < 0)
		give_up(&c, "Can't open /proc");
	if (set_up(&c, &err) < 0)
		give_up(&c, err.msg);
	close_fd(&c.proc);
	close_fd(&c.self);
	if (needs_init(plan))
		run_init(&c);
	send_event(&c, SANDBOX_READY, 0, "");
	/* Not into the command: the socket is above 2 and close-on-exec */
	r = become_command(&c, &filter);
	fail_exec(&c, program, r, filter);
}
