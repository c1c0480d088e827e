/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/members.c - process 1 of a session: starts commands as the supervisor asks
 *
 * Theory of operation: process 1 is confined when it comes here, and every layer is
 * inherited by what it forks: filter and listener, Landlock domain, no_new_privs,
 * namespaces, keyring. So a command that joins cannot have fewer layers than the first
 * one, and there is nothing to set up for it but what is its own: descriptors, start
 * directory, limits, signals.
 *
 * The socket and the sandbox's own devices are all that stays open from one command to
 * the next.
 * Process 1 is not dumpable, so that no command can reach it by /proc or ptrace; and a
 * pid namespace protects its process 1 from signals of others in it.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "ipc/socket.h"
#include "sandbox/sandbox.h"
#include "sandbox/stages.h"
#include "view/view.h"

enum {
	JOIN_FDS = 4,			/* The strings, and the standard descriptors */
	DEVICES = VIEW_DEVICES - 1,	/* A caller's terminal comes as a pipe */
};

/**
 * struct member - A command that runs
 * @stdin_file:	A copy of its standard input, if that was opened again; or -1
 */
struct member {
	uint32_t id;
	pid_t pid;
	int stdin_file;
};

/**
 * struct members - All of them
 * @devices:	The sandbox's own, opened while the observer could read the path: it
 *		cannot look into a process that is not dumpable
 */
struct members {
	int socket, devices[DEVICES];
	struct member *v;
	size_t len, cap;
};

/**
 * struct start - A command on its way
 * @text:	Its strings
 * @words, @env: They point into it
 * @request:	Its descriptors and limits
 */
struct start {
	const struct sandbox_join *join;
	char *text, *cwd, **words, **env;
	struct sandbox_request request;
	struct err err;
	int status;
};

static void send_member(const struct members *m, const struct sandbox_message *message,
			const int *fd)
{
	/* The supervisor is gone: the kernel ends all others with us */
	if (socket_send(m->socket, message, sizeof(*message), fd, !!fd) < 0)
		_exit(EXIT_NOT_BUILT);
}

static void send_event(const struct members *m, uint32_t id,
		       enum sandbox_event event, int value)
{
	const struct sandbox_message message = {
		.event = event, .member = id, .value = value,
	};

	send_member(m, &message, NULL);
}

static void send_failed(const struct members *m, uint32_t id, int status,
			const struct err *err)
{
	struct sandbox_message message = {
		.event = SANDBOX_FAILED, .member = id, .value = status,
		.code = err->code,
	};

	snprintf(message.text, sizeof(message.text), "%s", err->msg);
	send_member(m, &message, NULL);
}

/* @fd's whole content, with a NUL behind it; NULL if it is not as it should be */
static char *read_text(int fd, size_t *ret_len)
{
	struct stat st;
	char *text;

	if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > SANDBOX_JOIN_MAX)
		return NULL;
	text = mem_alloc((size_t)st.st_size + 1);
	if (pread(fd, text, (size_t)st.st_size, 0) != st.st_size ||
	    text[st.st_size - 1]) {
		free(text);
		return NULL;
	}
	text[st.st_size] = '\0';
	*ret_len = (size_t)st.st_size;
	return text;
}

/* The next of the strings; NULL after the last */
static char *next_string(char **at, const char *end)
{
	char *s = *at;

	if (s >= end)
		return NULL;
	*at += strlen(s) + 1;
	return s;
}

static bool take_strings(char ***ret, uint32_t n, char **at, const char *end)
{
	*ret = mem_zalloc(((size_t)n + 1) * sizeof(**ret));
	for (uint32_t i = 0; i < n; i++) {
		if (!((*ret)[i] = next_string(at, end)))
			return false;
	}
	return true;
}

static int read_start(struct start *s, int fd)
{
	const struct sandbox_join *join = s->join;
	size_t len = 0;
	char *at = s->text = read_text(fd, &len), *path;

	if (!at || join->argc < 1 || join->argc > len || join->envc > len ||
	    join->nlimits > SANDBOX_LIMITS_MAX ||
	    !(s->cwd = next_string(&at, s->text + len)) ||
	    !(path = next_string(&at, s->text + len)) ||
	    !take_strings(&s->words, join->argc, &at, s->text + len) ||
	    !take_strings(&s->env, join->envc, &at, s->text + len))
		return fail(&s->err, -EPROTO, "the command's arguments did not arrive");
	s->request.stdin_path = *path ? path : NULL;
	memcpy(s->request.limits, join->limits, sizeof(join->limits));
	s->request.nlimits = join->nlimits;
	return 0;
}

/* The first standard descriptor that is the command's terminal, or -1 */
static int terminal_of(const struct sandbox_join *join)
{
	for (int i = 0; i < 3; i++) {
		if (join->terminal[i])
			return i;
	}
	return -1;
}

/* In the process that becomes the command. It borrows our memory, but nothing else. */
static const char *enter(const struct start *s)
{
	const struct sandbox_join *join = s->join;
	const int terminal = terminal_of(join);
	struct sigaction action = { 0 };

	if (terminal < 0 ? setpgid(0, 0) < 0 : setsid() < 0)
		return "cannot make a process group";
	for (int i = 0; i < 3; i++) {
		if (s->request.stdio[i] < 0)
			(void)close(i);
		else if (dup2(s->request.stdio[i], i) < 0)
			return "cannot set up the command's descriptors";
	}
	if (terminal >= 0 && ioctl(terminal, TIOCSCTTY, 0) < 0)
		return "cannot give the command its terminal";
	(void)umask(join->umask);
	if (chdir(s->cwd) < 0)
		return "cannot enter the start directory inside the sandbox";
	for (int i = 1; i < NSIG; i++) {
		action.sa_handler = sigismember(&join->ignored, i) == 1 ?
				    SIG_IGN : SIG_DFL;
		(void)sigaction(i, &action, NULL);
	}
	if (limits_set(&s->request) < 0)
		return "cannot set the command's limits";
	(void)sigprocmask(SIG_SETMASK, &join->mask, NULL);
	return NULL;
}

static pid_t fork_member(struct start *s)
{
	static char *none[] = { NULL };
	const char *volatile words = NULL;
	volatile int error = 0;
	pid_t pid;

	environ = s->env;
	pid = vfork();
	if (!pid) {
		words = enter(s);
		if (!words)
			execvpe(s->words[0], s->words, s->env);
		error = errno;
		_exit(EXIT_NOT_FOUND);
	}
	environ = none;
	if (pid < 0) {
		const int saved = errno;

		fail(&s->err, -saved, saved == EAGAIN ?
		     "the session has as many processes as it may have (--pids)" :
		     "cannot start a process in the session");
		return -1;
	}
	if (!error)
		return pid;
	(void)reap_wait(pid);
	if (words)
		fail(&s->err, -error, "%s: %s", words, strerror(error));
	else
		s->status = exec_describe(s->words[0], error, &s->err);
	return -1;
}

static void add_member(struct members *m, const struct start *s, pid_t pid)
{
	const struct sandbox_message message = {
		.event = SANDBOX_STARTED, .member = s->join->member,
	};
	auto_close int fd = pidfd_open(pid, 0);
	struct member *member = vec_push(m);

	*member = (struct member){
		.id = s->join->member, .pid = pid,
		.stdin_file = s->request.stdin_path ?
			      fcntl(s->request.stdio[0], F_DUPFD_CLOEXEC, 3) : -1,
	};
	if (fd < 0)
		_exit(EXIT_NOT_BUILT);
	send_member(m, &message, &fd);
}

static int open_device(size_t i, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/dev/%s", view_devices[i]);
	return open(path, flags | O_CLOEXEC);
}

static int own_device(const struct members *m, int given)
{
	const bool reads = (fcntl(given, F_GETFL) & O_ACCMODE) == O_RDONLY;
	struct stat st, own;

	if (fstat(given, &st) < 0 || !S_ISCHR(st.st_mode))
		return -1;
	for (size_t i = 0; i < DEVICES; i++) {
		if (fstat(m->devices[i], &own) == 0 && own.st_rdev == st.st_rdev)
			return reads ? open_device(i, O_RDONLY) :
			       fcntl(m->devices[i], F_DUPFD_CLOEXEC, 3);
	}
	return -1;
}

/* As reopen_devices(): the caller's is on a mount of the host's */
static void take_own_devices(const struct members *m, struct sandbox_request *request)
{
	for (size_t i = 0; i < 3; i++) {
		const int own = request->stdio[i] < 0 ? -1 :
				own_device(m, request->stdio[i]);

		if (own < 0)
			continue;
		(void)close(request->stdio[i]);
		request->stdio[i] = own;
	}
}

static void start_member(struct members *m, struct start *s, const int *fds, size_t n)
{
	size_t at = 1;
	pid_t pid = -1;
	int r;

	for (size_t i = 0; i < 3; i++)
		s->request.stdio[i] = s->join->terminal[i] && n > 1 ?
				      fcntl(fds[n - 1], F_DUPFD_CLOEXEC, 3) :
				      s->join->open[i] && at < n ? fds[at++] : -1;
	if (m->len == SANDBOX_MEMBERS_MAX)
		r = fail(&s->err, -EAGAIN, "the session runs as many commands as it may (%d)",
			 SANDBOX_MEMBERS_MAX);
	else
		r = n ? read_start(s, fds[0]) :
			fail(&s->err, -EPROTO, "the command did not arrive");
	if (r == 0)
		r = reopen_file(&s->request, &s->err);
	if (r == 0) {
		take_own_devices(m, &s->request);
		pid = fork_member(s);
	}
	if (pid > 0)
		add_member(m, s, pid);
	else
		send_failed(m, s->join->member, s->status, &s->err);
	for (size_t i = 0; i < 3; i++)
		close_fd(&s->request.stdio[i]);
	if (at < n)
		(void)close(fds[at]);	/* The terminal */
	free(s->words);
	free(s->env);
	free(s->text);
}

static void signal_member(const struct members *m, const struct sandbox_join *join)
{
	for (size_t i = 0; i < m->len; i++) {
		if (m->v[i].id == join->member)
			(void)kill(join->group ? -m->v[i].pid : m->v[i].pid,
				   join->signal);
	}
}

static void take_join(struct members *m)
{
	struct sandbox_join join;
	int fds[JOIN_FDS];
	size_t n = JOIN_FDS;
	const ssize_t got = socket_recv(m->socket, &join, sizeof(join), fds, &n);
	struct start start = { .join = &join, .status = EXIT_NOT_BUILT };

	if (got == 0)
		_exit(EXIT_NOT_BUILT);	/* The supervisor is gone */
	if (got != (ssize_t)sizeof(join))
		return;			/* sandbox_close_later(): kept to the end */
	if (join.signal)
		signal_member(m, &join);
	else
		start_member(m, &start, fds, n);
	if (n)
		(void)close(fds[0]);
}

static void end_member(struct members *m, struct member *member, int status)
{
	const struct sandbox_message message = {
		.event = SANDBOX_EXITED, .member = member->id, .value = status,
		.read_to = member->stdin_file < 0 ? -1 :
			   lseek(member->stdin_file, 0, SEEK_CUR),
	};

	close_fd(&member->stdin_file);
	*member = m->v[--m->len];
	send_member(m, &message, NULL);
}

static void take_status(struct members *m, pid_t pid, int status)
{
	for (size_t i = 0; i < m->len; i++) {
		struct member *member = &m->v[i];

		if (member->pid != pid)
			continue;
		if (WIFCONTINUED(status))
			send_event(m, member->id, SANDBOX_CONTINUED, 0);
		else if (WIFSTOPPED(status))
			send_event(m, member->id, SANDBOX_STOPPED,
				   WSTOPSIG(status));
		else
			end_member(m, member, status);
		return;
	}
}

void members_serve(int socket)
{
	struct members m = { .socket = socket };
	struct pollfd fds[2] = {
		{ .fd = -1, .events = POLLIN }, { .fd = socket, .events = POLLIN },
	};
	auto_close int pts = open("/dev/pts", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < DEVICES; i++)
		m.devices[i] = open_device(i, O_RDWR);
	fds[0].fd = init_watch(socket);
	send_member(&m, &(struct sandbox_message){ .event = SANDBOX_STARTED },
		    pts < 0 ? NULL : &pts);
	close_fd(&pts);
	for (;;) {
		struct signalfd_siginfo info;
		int status;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED |
				      WCONTINUED)) > 0)
			take_status(&m, pid, status);
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			_exit(EXIT_NOT_BUILT);
		(void)!read(fds[0].fd, &info, sizeof(info));
		if (fds[1].revents)
			take_join(&m);
	}
}
