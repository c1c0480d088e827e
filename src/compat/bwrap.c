/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat/bwrap.c - cloche as bwrap: start the sandbox, wait for its end
 *
 * Unlike the supervisor, this process forwards no signal and only waits for the
 * sandbox's first process. As with bubblewrap, --die-with-parent ends the sandbox
 * together with this process.
 */

#include "compat/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "compat/applet.h"
#include "ipc/socket.h"
#include "sandbox/sandbox.h"

/* The release whose options these are; clients compare it */
static const char release[] = "bubblewrap 0.11.0";

/**
 * struct first - The sandbox's first process
 * @pid:	As seen from here
 * @socket:	Messages from it
 */
struct first {
	pid_t pid;
	int socket;
};

/* Whether user namespaces are switched off altogether */
static bool has_user_namespaces(void)
{
	auto_buf struct buf limit = { 0 };

	return access("/proc/self/ns/user", F_OK) == 0 &&
	       (fs_read(AT_FDCWD, "/proc/sys/user/max_user_namespaces", 32,
			&limit, NULL) < 0 ||
		strcmp(buf_str(&limit), "0\n") != 0);
}

/* Add the optional namespaces that the kernel has */
static int try_namespaces(struct bwrap_plan *plan, struct err *err)
{
	const bool cgroup = access("/proc/self/ns/cgroup", F_OK) == 0;

	if (plan->user_try && has_user_namespaces())
		plan->namespaces |= CLONE_NEWUSER;
	if (!bwrap_has_userns(plan) && (plan->uid > 0 || plan->gid > 0))
		return fail(err, -EINVAL, "Specifying --uid requires --unshare-user or --userns");
	if (plan->namespaces & CLONE_NEWCGROUP && !cgroup)
		return fail(err, -EINVAL, "Cannot create new cgroup namespace because the kernel does not support it");
	if (plan->cgroup_try && cgroup)
		plan->namespaces |= CLONE_NEWCGROUP;
	return 0;
}

static int explain_fork(const struct bwrap_plan *plan, struct err *err)
{
	const int saved = errno;

	if (plan->namespaces & CLONE_NEWUSER && saved == EINVAL)
		return fail(err, -saved, "Creating new namespace failed, likely because the kernel does not support user namespaces.");
	if (plan->namespaces & CLONE_NEWUSER && saved == EPERM)
		return fail(err, -saved, "No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces. On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'.");
	if (saved == ENOSPC)
		return fail(err, -saved, "Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)");
	errno = saved;
	return fail_errno(err, "Creating new namespace failed");
}

/* Below a pid namespace of the caller's the first process is another one, which
 * sends its pidfd
 */
static int take_pid(struct first *first, struct err *err)
{
	struct sandbox_message m;
	int fd = -1;
	size_t n = 1;

	if (socket_recv(first->socket, &m, sizeof(m), &fd, &n) !=
	    (ssize_t)sizeof(m))
		return fail(err, -EPROTO, "the sandbox ended before it began");
	if (m.event == SANDBOX_FAILED)
		return fail(err, -ECANCELED, "%s", m.text);
	first->pid = proc_of_pidfd(fd);
	close_fd(&fd);
	return first->pid > 0 ? 0 : fail(err, -EPROTO, "the sandbox's process is unknown");
}

/* True if the first process must wait until this one has written about it */
static bool must_wait(const struct bwrap_plan *plan)
{
	return plan->info >= 0 || plan->status >= 0 || plan->userns_block >= 0;
}

static int join_userns(const struct bwrap_plan *plan, struct err *err)
{
	if (plan->userns < 0 || setns(plan->userns, CLONE_NEWUSER) == 0)
		return 0;
	if (errno == EINVAL)
		return fail(err, -EINVAL, "Joining the specified user namespace failed, it might not be a descendant of the current user namespace.");
	return fail_errno(err, "Joining specified user namespace failed");
}

static int start_first(struct bwrap_plan *plan, struct first *ret,
		       struct err *err)
{
	uint64_t flags;
	int pair[2];
	int r = try_namespaces(plan, err);

	plan->host_uid = getuid();
	plan->host_gid = getgid();
	if (r == 0)
		r = join_userns(plan, err);
	if (r == 0 && plan->pidns >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		r = fail_errno(err, "cannot keep hold of the sandbox's process");
	if (r < 0)
		return r;
	r = socket_pair(pair);
	if (r < 0)
		return fail(err, r, "cannot make a socket pair");
	(void)fflush(NULL);
	flags = plan->namespaces | CLONE_NEWNS;
	if (plan->pidns >= 0)
		flags &= ~(uint64_t)CLONE_NEWPID;
	ret->pid = sys_fork_into(flags, NULL);
	if (!ret->pid) {
		(void)close(pair[0]);
		bwrap_child(plan, pair[1], must_wait(plan));
	}
	if (ret->pid < 0)
		r = explain_fork(plan, err);
	(void)close(pair[1]);
	ret->socket = pair[0];
	if (r == 0 && plan->pidns >= 0)
		r = take_pid(ret, err);
	return r;
}

/* The namespaces that were made, by number; read while we still may */
static void list_namespaces(const struct bwrap_plan *plan, pid_t pid,
			    const char *blank, struct buf *out)
{
	static const struct {
		const char *name;
		uint64_t flag;
	} kinds[] = {
		{ "cgroup", CLONE_NEWCGROUP }, { "ipc", CLONE_NEWIPC },
		{ "mnt", CLONE_NEWNS }, { "net", CLONE_NEWNET },
		{ "pid", CLONE_NEWPID }, { "uts", CLONE_NEWUTS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		char path[64];
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid,
			 kinds[i].name);
		if ((plan->namespaces | CLONE_NEWNS) & kinds[i].flag &&
		    stat(path, &st) == 0)
			buf_addf(out, ",%s\"%s-namespace\": %ju", blank,
				 kinds[i].name, (uintmax_t)st.st_ino);
	}
}

static int write_to(int fd, const struct buf *text, struct err *err)
{
	const int r = fd < 0 ? 0 : fs_write_all(fd, text->p, text->len);

	return r < 0 ? fail(err, r, "Write to info_fd: %s", strerror(-r)) : 0;
}

static void write_exit(const struct bwrap_plan *plan, int code)
{
	auto_buf struct buf text = { 0 };

	buf_addf(&text, "{ \"exit-code\": %d }\n", code);
	(void)write_to(plan->status, &text, NULL);
	if (plan->status >= 0)
		(void)close(plan->status);
}

/* Drop the rest of our privileges */
static int renounce(const struct bwrap_plan *plan, pid_t parent,
		    struct err *err)
{
	int r;

	if (plan->userns2 >= 0 && setns(plan->userns2, CLONE_NEWUSER) < 0)
		return fail_errno(err, "Setting userns2 failed");
	r = bwrap_drop_caps(plan, false, err);
	if (r < 0 || !plan->die_with_parent)
		return r;
	/* Behind it: a change of privileges would undo it. A parent that went
	 * before has sent no signal.
	 */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return fail_errno(err, "prctl");
	if (getppid() != parent)
		(void)raise(SIGKILL);
	return 0;
}

/* Everything that is ours to do before the first process may go on */
static int prepare_first(struct bwrap_plan *plan, const struct first *first,
		   pid_t parent, struct err *err)
{
	auto_buf struct buf info = { 0 }, status = { 0 };
	char byte;
	int r;

	buf_addf(&info, "{\n    \"child-pid\": %d", (int)first->pid);
	buf_addf(&status, "{ \"child-pid\": %d", (int)first->pid);
	if (plan->info >= 0 || plan->status >= 0) {
		list_namespaces(plan, first->pid, "\n    ", &info);
		list_namespaces(plan, first->pid, " ", &status);
	}
	buf_adds(&info, "\n}\n");
	buf_adds(&status, " }\n");
	r = renounce(plan, parent, err);
	if (r == 0)
		r = write_to(plan->info, &info, err);
	if (r == 0)
		r = write_to(plan->status, &status, err);
	if (plan->info >= 0)
		(void)close(plan->info);
	while (r == 0 && plan->userns_block >= 0 &&
	       read(plan->userns_block, &byte, 1) < 0 && errno == EINTR)
		;
	return r;
}

/* We may have other children, from before we were started */
static int wait_for_pid(pid_t pid)
{
	int status;
	pid_t ended;

	do {
		ended = waitpid(-1, &status, 0);
	} while (ended != pid && (ended > 0 || errno == EINTR));
	return ended == pid ? reap_exit_code(status) : BWRAP_FAILED;
}

/* Until it has ended, or reported how the command did */
static int follow(const struct bwrap_plan *plan, const struct first *first,
		  struct err *err)
{
	bool ready = false, failed = false;
	struct sandbox_message m = { 0 };
	int code = -1;

	while (code < 0 && socket_recv(first->socket, &m, sizeof(m), NULL,
				       NULL) == (ssize_t)sizeof(m)) {
		m.text[sizeof(m.text) - 1] = '\0';
		if (m.event == SANDBOX_READY)
			ready = true;
		if (m.event == SANDBOX_EXITED)
			code = m.value;
		if (m.event == SANDBOX_FAILED) {
			failed = true;
			fail(err, -ECANCELED, "%s", m.text);
		}
	}
	if (code < 0)
		code = wait_for_pid(first->pid);
	if (failed)
		return err->code;
	if (ready)
		write_exit(plan, code);
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

/* The command's exit status (128+N for signal N), or a negative errno with a message:
 * then nothing ran
 */
static int run_plan(struct bwrap_plan *plan, struct err *err)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	const pid_t parent = getppid();
	struct first first = { .socket = -1 };
	sigset_t child_ended;
	int r;

	reserve_standard();
	/* Where it is ignored, children cannot be waited for; and what the command
	 * expects of it is not our caller's business
	 */
	(void)sigaction(SIGCHLD, &plain, NULL);
	(void)sigemptyset(&child_ended);
	(void)sigaddset(&child_ended, SIGCHLD);
	(void)sigprocmask(SIG_UNBLOCK, &child_ended, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail_errno(err, "prctl(PR_SET_NO_NEW_PRIVS) failed");
	r = start_first(plan, &first, err);
	if (r < 0)
		return r;
	r = prepare_first(plan, &first, parent, err);
	if (r < 0) {
		(void)kill(first.pid, SIGKILL);
		return r;
	}
	/* Only if it waits: bytes that it has not read when it ends would take its
	 * last message with them
	 */
	if (must_wait(plan))
		(void)socket_send(first.socket, "", 1, NULL, 0);
	/* What was handed to the command is not kept open here */
	(void)proc_close_others((const int[]){ first.socket, plan->status }, 2);
	return follow(plan, &first, err);
}

static void print_message(const struct bwrap *b, int level, const char *text)
{
	if (b->level_prefix)
		fprintf(stderr, "<%d>", level);
	fprintf(stderr, "bwrap: %s\n", text);
}

static void print_usage(FILE *out, const char *name)
{
	fprintf(out, "usage: %s [OPTIONS...] [--] COMMAND [ARGS...]\n\n", name);
	for (const struct bwrap_row *row = bwrap_table(); row->name; row++) {
		char left[80];

		snprintf(left, sizeof(left), "%s %s", row->name, row->words);
		fprintf(out, "    %-28s %s\n", left, row->help);
	}
}

static void print_warnings(struct bwrap *b)
{
	for (char *line = b->warned.p; line && *line;) {
		char *end = strchr(line, '\n');

		*end = '\0';
		print_message(b, LOG_WARNING, line);
		line = end + 1;
	}
}

/* A number that is not open must not become one that we open ourselves: then
 * it means a descriptor that is never open. True if that was done.
 */
static bool replace_closed(int *fd)
{
	if (*fd <= STDERR_FILENO || fcntl(*fd, F_GETFD) >= 0)
		return false;
	*fd = INT_MAX;
	return true;
}

static int check_fds(struct bwrap_plan *plan, struct err *err)
{
	int *const fds[] = {
		&plan->userns, &plan->userns2, &plan->pidns, &plan->block,
		&plan->userns_block, &plan->info, &plan->status,
	};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)replace_closed(fds[i]);
	for (size_t i = 0; i < plan->filters.len; i++)
		(void)replace_closed(&plan->filters.v[i]);
	for (size_t i = 0; i < plan->syncs.len; i++)
		(void)replace_closed(&plan->syncs.v[i]);
	for (size_t i = 0; i < plan->ops.len; i++) {
		const int fd = plan->ops.v[i].fd;

		if (replace_closed(&plan->ops.v[i].fd) &&
		    plan->ops.v[i].kind == BWRAP_BIND)
			return fail(err, -ENOENT, "Can't find source path /proc/self/fd/%d: %s",
				    fd, strerror(ENOENT));
	}
	return 0;
}

static int run_line(struct bwrap *b, const char *name, struct err *err)
{
	int r;

	if (getuid() != geteuid())
		return fail(err, -EPERM, "setuid use of bubblewrap is not supported");
	r = bwrap_check(&b->plan, getuid(), err);
	if (r < 0)
		return r;
	if (!b->plan.argv[0]) {
		print_usage(stderr, name);
		return BWRAP_FAILED;
	}
	r = check_fds(&b->plan, err);
	return r < 0 ? r : run_plan(&b->plan, err);
}

int applet_bwrap(int argc, char **argv)
{
	struct sys_caps caps = { 0 };
	struct err err = { 0 };
	struct bwrap b;
	int r;

	if (argc < 2) {
		print_usage(stderr, argv[0]);
		return BWRAP_FAILED;
	}
	if (getuid() == 0)	/* Root keeps what it has, unless it says otherwise */
		(void)sys_capget(&caps);
	r = bwrap_parse(&b, argv + 1, caps.effective, &err);
	print_warnings(&b);
	if (r == BWRAP_HELP) {
		print_usage(stdout, argv[0]);
		r = 0;
	} else if (r == BWRAP_VERSION) {
		puts(release);
		r = 0;
	} else if (r == 0) {
		r = run_line(&b, argv[0], &err);
	}
	if (r < 0) {
		print_message(&b, LOG_ERR, err.msg);
		r = BWRAP_FAILED;
	}
	bwrap_done(&b);
	return r;
}
