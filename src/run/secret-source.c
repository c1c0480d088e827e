/* SPDX-License-Identifier: Apache-2.0 */
/* run/secret-source.c - processes that write the value of a secret into a pipe
 *
 * A command of the user's may start others and hang. It stays in the process group of the
 * terminal, as it may ask for a password; so its source adopts what it leaves behind, and
 * kills children until there is none.
 */

#include "run/run-secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/proc.h"
#include "ipc/helper-program.h"

enum {
	FILE_MAX = 4 << 20, /* Bytes of a file; cloche-tls takes fewer */
	CHILDREN_MAX = 64 << 10, /* Bytes of their list */
};

static bool starts_with(const char *text, const char *prefix)
{
	return text && !strncmp(text, prefix, strlen(prefix));
}

/* Orphans become children of this process: until there is none */
static void kill_children(pid_t first)
{
	(void)kill(first, SIGKILL);
	for (;;) {
		auto_buf struct buf list = { 0 };
		const char *p;
		char *end;

		(void)fs_read(AT_FDCWD, "/proc/thread-self/children",
			      CHILDREN_MAX, &list, NULL);
		p = buf_str(&list);
		for (long pid = strtol(p, &end, 10); end > p;
		     pid = strtol(p, &end, 10)) {
			(void)kill((pid_t)pid, SIGKILL);
			p = end;
		}
		if (!list.len || waitpid(-1, NULL, 0) < 0)
			return;
	}
}

/* Run @line and wait for its end, ours or the limit */
static void run_command(const char *line, int fd)
{
	sigset_t waited;
	pid_t pid, ended = 0;
	int signal, status = 0;

	sigemptyset(&waited);
	sigaddset(&waited, SIGCHLD);
	sigaddset(&waited, SIGTERM);
	sigaddset(&waited, SIGALRM);
	(void)sigprocmask(SIG_BLOCK, &waited, NULL);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	pid = fork();
	if (!pid) {
		(void)sigprocmask(SIG_UNBLOCK, &waited, NULL);
		(void)dup2(fd, STDOUT_FILENO);
		_exit(execl("/bin/sh", "sh", "-c", line, (char *)NULL));
	}
	(void)close(fd);
	while (pid > 0 && ended != pid) {
		signal = sigwaitinfo(&waited, NULL);
		if (signal == SIGTERM || signal == SIGALRM) {
			kill_children(pid);
			_exit(1);
		}
		while (ended != pid && (ended = waitpid(-1, &status, WNOHANG)) > 0)
			;
	}
	_exit(pid < 0 || status);
}

static void put_file(const char *from, int fd)
{
	auto_buf struct buf text = { 0 };
	char path[PATH_MAX];

	if (!secret_source_path(from, path) ||
	    fs_read(AT_FDCWD, path, FILE_MAX, &text, NULL) < 0)
		_exit(1);
	_exit(fs_tell(fd, text.p, text.len) < 0);
}

/* True if the store has written it */
static bool put_stored(const char *name, int fd)
{
	char program[] = "cloche-secret", verb[] = "get";
	char *const get[] = { program, verb, (char *)(uintptr_t)name, NULL };
	const pid_t self = getpid(), pid = fork();

	if (!pid) {
		/* A store that hangs ends with the run */
		if (proc_die_with_parent(self) < 0)
			_exit(127);
		(void)dup2(fd, STDOUT_FILENO);
		/* That there is none is no error where a variable has it */
		if (getenv(name))
			(void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC),
				   STDERR_FILENO);
		(void)helper_program_exec(get[0], get, environ);
		_exit(127);
	}
	return reap_wait(pid) == 0;
}

/* In a child: write the value of @name to @fd and end */
static void put_value(const char *name, const char *from, int fd)
{
	const char *value = NULL;

	(void)alarm(SECRET_SOURCE_S);
	if (starts_with(from, "file:"))
		put_file(from + 5, fd);
	if (starts_with(from, "command:"))
		run_command(from + 8, fd);
	if (starts_with(from, "env:"))
		value = getenv(from + 4);
	if (!from && !put_stored(name, fd))
		value = getenv(name);
	_exit(value && fs_tell(fd, value, strlen(value)) < 0);
}

/* True if @fd, an empty pipe, has taken the whole value of a variable: then no process is
 * needed to write it
 */
static bool takes_variable(const char *from, int fd)
{
	const char *value = starts_with(from, "env:") ? getenv(from + 4) : NULL;
	const size_t n = value ? strlen(value) : SIZE_MAX;

	return n <= PIPE_BUF && write(fd, value, n) == (ssize_t)n;
}

/* In a child: as if it had never been ours but for the pipe */
static void be_source(const char *name, const char *from, pid_t parent, int fd)
{
	sigset_t none;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGALRM, SIG_DFL);
	(void)signal(SIGCHLD, SIG_DFL);
	if (proc_die_with_parent(parent) < 0)
		_exit(1);
	put_value(name, from, fd);
}

int secret_source_open(const char *name, const char *from, pid_t *ret)
{
	const pid_t self = getpid();
	auto_close int fd = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fd = ends[1];
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*ret = 0;
	if (takes_variable(from, fd))
		return ends[0];
	*ret = fork();
	if (!*ret) {
		(void)close(ends[0]);
		be_source(name, from, self, fd);
	}
	if (*ret > 0)
		return ends[0];
	close_fd(&ends[0]);
	return -EAGAIN;
}

void secret_source_end(pid_t pid)
{
	(void)kill(pid, SIGTERM);
	(void)reap_wait(pid);
}
