/* SPDX-License-Identifier: Apache-2.0 */
/* run/job.c - the command as its caller's job: signals, stops, the terminal */

#include "run/job.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "policy/policy.h"

enum { GRACE_MS = 2000 };	/* Between SIGTERM and the end of the sandbox */

/* The terminal's Ctrl-C reached us */
static bool interrupted;

void job_init(struct job *job)
{
	interrupted = false;
	*job = (struct job){ .command = -1, .timer.fd = -1 };
	job->has_terminal = tcgetattr(STDIN_FILENO, &job->terminal) == 0;
}

/* Blocked until now, what our own writing brought on us would end us after all */
static void forget_own(void)
{
	const struct timespec now = { 0 };
	sigset_t own;

	sigemptyset(&own);
	sigaddset(&own, SIGXFSZ);
	while (sigtimedwait(&own, NULL, &now) > 0)
		;
}

void job_set_raw(const struct job *job, bool raw)
{
	struct termios terminal = job->terminal;

	if (raw)
		cfmakeraw(&terminal);
	if (job->has_terminal && tcgetpgrp(STDIN_FILENO) == getpgrp())
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal);
}

void job_done(struct job *job)
{
	close_fd(&job->command);
	close_fd(&job->timer.fd);
	forget_own();
	job_set_raw(job, false);	/* A program that was killed can leave it raw */
}

void job_end(int status)
{
	sigset_t one;

	if (!interrupted || status != 128 + SIGINT)
		return;
	sigemptyset(&one);
	sigaddset(&one, SIGINT);
	(void)signal(SIGINT, SIG_DFL);
	(void)raise(SIGINT);
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}

void job_started(struct job *job, int pidfd)
{
	job->command = pidfd;
	for (int sig = 1; sig < NSIG; sig++) {
		if (sigismember(&job->pending, sig) == 1)
			(void)pidfd_send_signal(pidfd, sig, NULL, 0);
	}
}

/* Only a signal continues a stopped process: the kernel sends it */
static int wake_by(int socket)
{
	const int flags = fcntl(socket, F_GETFL);

	(void)fcntl(socket, F_SETOWN, getpid());
	(void)fcntl(socket, F_SETSIG, SIGCONT);
	(void)fcntl(socket, F_SETFL, flags | O_ASYNC);
	return flags;
}

void job_stop(struct job *job, int signal, int socket)
{
	const int flags = wake_by(socket);
	struct pollfd news = { .fd = socket, .events = POLLIN };
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signal);
	if (poll(&news, 1, 0) == 0) {
		job->was_stopped = true;
		/* In this order: one may be pending already, and twice is too
		 * often
		 */
		(void)raise(signal);
		(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
		(void)sigprocmask(SIG_BLOCK, &one, NULL);
	}
	(void)fcntl(socket, F_SETFL, flags);
}

bool job_concerns(const struct job *job, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo == SIGCHLD)
		return false;
	interrupted |= info->ssi_signo == SIGINT && info->ssi_code == SI_KERNEL;
	/* A file of ours became too large */
	if (info->ssi_signo == SIGXFSZ && info->ssi_pid == (uint32_t)getpid())
		return false;
	/* The terminal's signals reach the whole job. But a hang-up reaches only
	 * the leader of the session: maybe us.
	 */
	return info->ssi_code != SI_KERNEL || info->ssi_signo == SIGHUP ||
	       info->ssi_signo == SIGCONT ||
	       (job->command < 0 && (info->ssi_signo == SIGINT ||
				     info->ssi_signo == SIGQUIT));
}

/* Is the process behind @pidfd stopped? */
static bool is_stopped(int pidfd)
{
	char text[256];
	const char *at = proc_stat(proc_of_pidfd(pidfd), text, sizeof(text));

	return at && at[1] == ' ' && at[2] == 'T';
}

bool job_is_continued(struct job *job, int signal)
{
	if (signal != SIGCONT || !job->was_stopped)
		return false;
	job->was_stopped = false;
	return !is_stopped(job->command);
}

void job_signal(struct job *job, int signal)
{
	if (job->command < 0)
		sigaddset(&job->pending, signal);
	else if (!job_is_continued(job, signal))
		(void)pidfd_send_signal(job->command, signal, NULL, 0);
}

static int on_time(void *arg)
{
	struct job *job = arg;
	const bool again = job->timed_out;
	uint64_t n;

	(void)!read(job->timer.fd, &n, sizeof(n));
	job->timed_out = true;
	if (again || job->command < 0) {
		loop_stop(job->loop, 0);
		return 0;
	}
	(void)pidfd_send_signal(job->command, SIGTERM, NULL, 0);
	(void)pidfd_send_signal(job->command, SIGCONT, NULL, 0);
	return loop_set_timer(job->loop, &job->timer, GRACE_MS, false);
}

int job_limit_time(struct job *job, struct loop *loop, const struct number *ms,
		   struct err *err)
{
	int r;

	if (!ms->set)
		return 0;
	job->loop = loop;
	job->timer = (struct loop_source){ -1, on_time, job };
	r = loop_set_timer(loop, &job->timer, ms->value, false);
	return r < 0 ? fail(err, r, "cannot keep the time limit") : 0;
}
