/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/init.c - process 1: starts the command, reaps, reports to the supervisor
 *
 * It is not a program of its own: an execve() costs more than the rest of the
 * sandbox. So it must not be worth looking into: its environment and arguments
 * are wiped, and the command can neither read nor trace it.
 *
 * When the command has ended, init ends every other process, and only then
 * tells. In the landlock tier there is no pid namespace: all orphans become
 * init's children, and are listed by the kernel. The command lives in a Landlock
 * domain below init's and cannot signal it.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "ipc/socket.h"
#include "plan/plan.h"
#include "sandbox/sandbox.h"
#include "sandbox/stages.h"

enum {
	CHILDREN_BYTES = 4096,	/* Of the list that are read at once */
	JOB_NAME_MAX = 64,	/* Bytes of a background job's name */
	JOBS_SETTLE_MS = 200,	/* So long may jobs take to end by themselves */
};

/**
 * struct init - What process 1 knows
 * @children:	The kernel's list of our children, or -1 where the end of a pid
 *		namespace is enough
 * @listed:	The same list, to name what the command left; or -1
 * @keeps_stdin: A file, opened again for the command
 */
struct init {
	int socket, children, listed;
	bool keeps_stdin;
	pid_t command;
};

/* Read the list of children that is open as @fd; false if it is empty */
static bool read_children(int fd, char list[static CHILDREN_BYTES + 1])
{
	const ssize_t n = fd < 0 ? -1 : pread(fd, list, CHILDREN_BYTES, 0);

	list[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The next child of the list at *@p; 0 behind the last. Each number has a blank behind it,
 * unless it was cut off.
 */
static pid_t next_child(char **p)
{
	char *end;
	const pid_t pid = (pid_t)strtol(*p, &end, 10);

	*p = end + 1;
	return *end == ' ' ? pid : 0;
}

/* Signal every child once: true if there was one */
static bool kill_children(const struct init *init)
{
	char list[CHILDREN_BYTES + 1], *p = list;
	pid_t pid;

	if (!read_children(init->children, list))
		return false;
	while ((pid = next_child(&p)) > 0)
		(void)kill(pid, SIGKILL);
	return true;
}

/* The name of @pid if it is a background job of the command's: in the caller's session
 * still, which a daemon has left, and not ended already. *@ret_runs: it has something
 * to do, which may be to end.
 */
static bool find_job(pid_t pid, char *name, size_t size, bool *ret_runs)
{
	char text[256], *close_at = proc_stat(pid, text, sizeof(text)), *at;
	const char *open_at = close_at ? strchr(text, '(') : NULL;

	if (!open_at || close_at < open_at || close_at[1] != ' ' ||
	    !close_at[2] || strchr("ZX", close_at[2]))
		return false;
	(void)strtol(close_at + 3, &at, 10);
	(void)strtol(at, &at, 10);
	if (strtol(at, NULL, 10) != getsid(0))
		return false;
	*ret_runs |= close_at[2] == 'R' || close_at[2] == 'D';
	*close_at = '\0';
	snprintf(name, size, "\n%.*s", JOB_NAME_MAX, open_at + 1);
	return true;
}

/* What the command has left behind is our child now; the kernel lists that. Returns
 * true if one of them runs.
 */
static bool list_jobs(const struct init *init, char *out, size_t size)
{
	char list[CHILDREN_BYTES + 1], *p = list;
	size_t used = 0;
	bool runs = false;
	pid_t pid;

	*out = '\0';
	if (!read_children(init->listed, list))
		return false;
	while (used + JOB_NAME_MAX + 2 < size && (pid = next_child(&p)) > 0) {
		if (find_job(pid, out + used, size - used, &runs))
			used += strlen(out + used);
	}
	return runs;
}

/* Every process that is left is our child, or a descendant of one */
static bool is_alone(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT |
		      __WALL) < 0 &&
	       errno == ECHILD;
}

/* End all others: a process that dies leaves its children to us, and what is listed has
 * been signalled, so that the wait ends. In a pid namespace one call reaches
 * everybody, and looks at every process of the machine for it.
 */
static void end_others(const struct init *init)
{
	if (is_alone())
		return;
	if (init->children < 0) {
		if (kill(-1, SIGKILL) < 0)
			return;	/* No process is left */
		while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
			;
	}
	while (init->children >= 0 && kill_children(init)) {
		(void)waitpid(-1, NULL, 0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static void leave(const struct init *init, int status)
{
	end_others(init);
	_exit(status);
}

static void send_message(const struct init *init, const struct sandbox_message *m)
{
	/* The supervisor is gone */
	if (socket_send(init->socket, m, sizeof(*m), NULL, 0) < 0)
		leave(init, EXIT_NOT_BUILT);
}

static void send_event(const struct init *init, enum sandbox_event event, int value)
{
	const struct sandbox_message m = { .event = event, .value = value };

	send_message(init, &m);
}

/* Processes that share the caller's standard input go on where the command stopped */
static void send_exited(const struct init *init, int status)
{
	struct sandbox_message m = { .event = SANDBOX_EXITED, .value = status };

	/* Helpers that end with the command, by a pipe that closes, are awake now */
	for (int i = 0; !is_alone() && list_jobs(init, m.text, sizeof(m.text)) &&
	     i < JOBS_SETTLE_MS; i++)
		(void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	end_others(init);
	m.read_to = init->keeps_stdin ? lseek(STDIN_FILENO, 0, SEEK_CUR) : -1;
	send_message(init, &m);
}

int exec_describe(const char *name, int error, struct err *err)
{
	if (error == ENOENT && !strchr(name, '/'))
		fail(err, -error, "'%s' was not found", name);
	else if (error == ENOEXEC)
		fail(err, -error, "'%s' is not a program for this machine (a 32-bit program cannot run in the sandbox)", name);
	else
		fail(err, -error, "cannot run '%s': %s", name,
		     strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static void fail_exec(int socket, const char *name, int error)
{
	struct err err = { 0 };
	const int status = exec_describe(name, error, &err);

	child_fail(socket, status, -error, err.msg);
}

/* A domain of the command's own, from which init cannot be signalled; -1 where
 * a pid namespace sees to that, or Landlock is too old
 */
static int open_domain(const struct plan *plan, int socket)
{
	const struct sys_landlock_ruleset_attr attr = {
		.scoped = SYS_LANDLOCK_SCOPE_SIGNAL,
	};
	int fd;

	if (plan->tier == TIER_FULL || plan->machine.landlock_abi < 6)
		return -1;
	fd = sys_landlock_create_ruleset(&attr);
	if (fd < 0)
		child_fail(socket, EXIT_NOT_BUILT, -errno, "cannot make a Landlock domain for the command");
	return fd;
}

/* What is the command's alone, in the process that becomes it. NULL, or what
 * could not be done; errno says why.
 */
static const char *confine_command(const struct sandbox_request *request,
				   int domain)
{
	if (domain >= 0 && sys_landlock_restrict_self(domain) < 0)
		return errno == E2BIG ?
			"the command needs a Landlock domain of its own, and there are as many around it as the kernel allows" :
			"cannot enter the command's Landlock domain";
	if (limits_set(request) < 0)
		return "cannot set the command's limits";
	return NULL;
}

/* vfork(): the child borrows our memory until it has become the command, so it
 * can leave here what failed
 */
static pid_t start_command(const struct sandbox_request *request, int socket,
		   const int domain)
{
	const struct plan *plan = request->plan;
	const char *volatile words = NULL;
	volatile int error = 0;
	pid_t pid;

	environ = plan->env;
	pid = vfork();
	if (!pid) {
		(void)sigprocmask(SIG_SETMASK, &request->mask, NULL);
		words = confine_command(request, domain);
		if (!words)
			execvpe(plan->argv[0], plan->argv, plan->env);
		error = errno;
		_exit(EXIT_NOT_FOUND);
	}
	if (pid < 0)
		child_fail(socket, EXIT_NOT_BUILT, -errno, "cannot start a process in the sandbox");
	if (words)	/* Nothing of the command's was tried */
		child_fail(socket, EXIT_NOT_BUILT, -error, words);
	if (error)
		fail_exec(socket, plan->argv[0], error);
	return pid;
}

static void send_started(const struct init *init)
{
	const struct sandbox_message m = { .event = SANDBOX_STARTED };
	auto_close int fd = pidfd_open(init->command, 0);
	struct err err = { 0 };
	const int r = fd < 0 ? -errno :
			       socket_send(init->socket, &m, sizeof(m), &fd, 1);

	if (r == 0)
		return;
	end_others(init);
	(void)socket_fail(r, "cannot hand over the command", &err);
	child_fail(init->socket, EXIT_NOT_BUILT, SANDBOX_HAD_BEGUN, err.msg);
}

/* The list of our children, re-read from its start; -1 where the kernel has none */
static int open_children(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children",
		 (int)getpid());
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Where no pid namespace ends them, they are ended by that list */
static int need_children(const struct plan *plan, int listed, int socket)
{
	if (plan->tier == TIER_FULL)
		return -1;
	if (listed < 0)
		child_fail(socket, EXIT_NOT_BUILT, -EOPNOTSUPP, "the landlock tier needs a kernel that lists a process's children (CONFIG_PROC_CHILDREN)");
	return listed;
}

/* The end is reported. The namespaces go with the process that holds them last, and
 * that takes time: stay until the supervisor has closed its own, so that it does
 * not wait for that.
 */
static void wait_for_supervisor(const struct init *init)
{
	struct pollfd fd = { .fd = init->socket };

	while (poll(&fd, 1, -1) < 0 && errno == EINTR)
		;
	_exit(0);
}

static void reap(const struct init *init)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED |
			      WCONTINUED)) > 0) {
		if (pid != init->command)
			continue;
		if (WIFCONTINUED(status)) {
			send_event(init, SANDBOX_CONTINUED, 0);
			continue;
		}
		if (WIFSTOPPED(status)) {
			send_event(init, SANDBOX_STOPPED, WSTOPSIG(status));
			continue;
		}
		send_exited(init, status);
		wait_for_supervisor(init);
	}
}

int init_watch(int socket)
{
	int fd;

	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		child_fail(socket, EXIT_NOT_BUILT, -errno, "cannot close init to the command");
	fd = sys_child_signals();
	if (fd < 0)
		child_fail(socket, EXIT_NOT_BUILT, -errno, "cannot wait for signals");
	return fd;
}

void init_run(const struct sandbox_request *request, int socket)
{
	const struct plan *plan = request->plan;
	struct pollfd fds[2] = {
		{ .fd = -1, .events = POLLIN }, { .fd = socket },
	};
	struct init init = {
		.socket = socket, .listed = open_children(),
		.keeps_stdin = request->stdin_path != NULL,
	};
	auto_close int domain = open_domain(plan, socket);

	init.children = need_children(plan, init.listed, socket);
	fds[0].fd = init_watch(socket);
	init.command = start_command(request, socket, domain);
	close_fd(&domain);
	/* Or a pipe would not end */
	(void)close_range(init.keeps_stdin ? 1 : 0, 2, 0);
	send_started(&init);
	for (;;) {
		struct signalfd_siginfo info;

		reap(&init);
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			leave(&init, EXIT_NOT_BUILT);
		if (fds[1].revents)	/* The supervisor is gone */
			leave(&init, EXIT_NOT_BUILT);
		(void)!read(fds[0].fd, &info, sizeof(info));
	}
}
