/* SPDX-License-Identifier: Apache-2.0 */
/* learn/trial.c - one run of the command in the sandbox, and what was refused in it */

#include "learn/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/proc.h"
#include "learn/needs.h"
#include "report/violation.h"
#include "run/command-stdio.h"

enum { OUT, WORDS, EVENTS, PIPES };

/* What the child's end of each pipe becomes */
static const int child_fd[PIPES] = { STDOUT_FILENO, STDERR_FILENO, 3 };

void trial_done(struct trial *trial)
{
	buf_done(&trial->out);
	buf_done(&trial->words);
}

bool trial_is_same(const struct trial *a, const struct trial *b, bool output)
{
	return a->status == b->status &&
	       (!output || (a->out_len == b->out_len &&
			    !memcmp(buf_str(&a->out), buf_str(&b->out),
				    a->out.len)));
}

/* Runs in the child. The standard streams are open, so that each pipe's end to write, which
 * is above its end to read, is above 3.
 */
_Noreturn static void start(char *const *argv, int pipes[PIPES][2])
{
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	bool ok = null >= 0 && dup2(null, STDIN_FILENO) >= 0;

	for (int i = 0; i < PIPES; i++)
		ok = ok && dup2(pipes[i][1], child_fd[i]) >= 0;
	if (ok)
		(void)execv("/proc/self/exe", argv);
	_exit(EXIT_NOT_BUILT);
}

static void close_pipes(int pipes[PIPES][2], int end)
{
	for (int i = 0; i < PIPES; i++) {
		if (pipes[i][end] >= 0)
			(void)close(pipes[i][end]);
		pipes[i][end] = -1;
	}
}

static void cut_front(struct buf *b, size_t n)
{
	b->len -= n;
	memmove(b->p, b->p + n, b->len);
	b->p[b->len] = '\0';
}

/* Whole lines are records; what is not one is left out */
static void take_events(struct buf *text, struct needs *needs)
{
	char *newline;

	while (text->p && (newline = memchr(text->p, '\n', text->len))) {
		const size_t n = (size_t)(newline - text->p);
		struct violation v = { 0 };
		struct err ignored = { 0 };

		if (needs && violation_from_json(text->p, n, &v, &ignored) == 0) {
			needs_add(needs, &v);
			violation_done(&v);
		}
		cut_front(text, n + 1);
	}
	if (text->len > VIOLATION_LINE_MAX)
		cut_front(text, text->len);
}

static void take(int which, const char *text, size_t n, struct buf *events,
		 struct needs *needs, struct trial *ret)
{
	size_t left;

	switch (which) {
	case OUT:
		left = TRIAL_OUTPUT_MAX - ret->out.len;
		buf_add(&ret->out, text, n < left ? n : left);
		ret->out_len += n;
		break;
	case WORDS:
		buf_add(&ret->words, text, n);
		if (ret->words.len > TRIAL_WORDS_MAX)
			cut_front(&ret->words, ret->words.len - TRIAL_WORDS_MAX);
		break;
	default:
		buf_add(events, text, n);
		take_events(events, needs);
	}
}

static void read_pipes(int pipes[PIPES][2], struct needs *needs, struct trial *ret)
{
	auto_buf struct buf events = { 0 };
	struct pollfd fds[PIPES];
	int left = PIPES;

	for (int i = 0; i < PIPES; i++)
		fds[i] = (struct pollfd){ .fd = pipes[i][0], .events = POLLIN };
	while (left) {
		if (poll(fds, PIPES, -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		for (int i = 0; i < PIPES; i++) {
			char text[16 << 10];
			ssize_t n;

			if (fds[i].fd < 0 || !fds[i].revents)
				continue;
			n = read(fds[i].fd, text, sizeof(text));
			if (n > 0) {
				take(i, text, (size_t)n, &events, needs, ret);
			} else if (n == 0 || errno != EINTR) {
				fds[i].fd = -1;
				left--;
			}
		}
	}
}

int trial_run(char *const *argv, struct needs *needs, struct trial *ret,
	      struct err *err)
{
	int pipes[PIPES][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	bool ok = true;
	pid_t pid = -1;

	*ret = (struct trial){ 0 };
	command_stdio_reserve();
	for (int i = 0; ok && i < PIPES; i++)
		ok = pipe2(pipes[i], O_CLOEXEC) == 0;
	if (ok)
		pid = fork();
	if (pid == 0)
		start(argv, pipes);
	close_pipes(pipes, 1);
	if (pid > 0) {
		read_pipes(pipes, needs, ret);
		ret->status = reap_exit_code(reap_wait(pid));
	}
	close_pipes(pipes, 0);
	return pid > 0 ? 0 : fail_errno(err, "cannot start a trial run");
}
