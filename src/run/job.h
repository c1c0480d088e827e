/* SPDX-License-Identifier: Apache-2.0 */
/* lib/job.h - the command as its caller's job: signals, stops, the terminal */

#ifndef LIB_JOB_H
#define LIB_JOB_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

struct signalfd_siginfo;

/**
 * struct job - What passes between our caller and the command
 * @command:	Its pidfd, -1 until it has started
 * @pending:	Signals that came before
 * @was_stopped: We stopped because it did, and nobody continued it yet
 * @terminal:	As it was before, if @has_terminal
 */
struct job {
	int command;
	sigset_t pending;
	bool was_stopped, has_terminal;
	struct termios terminal;
};

void job_init(struct job *job);
/* Closes the pidfd, and puts the terminal back as it was */
void job_done(struct job *job);

/* Before the program exits with @status: if Ctrl-C ended the command, let it end
 * us as well. A shell that runs us in a loop leaves it only then, and takes 130
 * for a result like any other.
 */
void job_end(int status);

/* The command runs: @pidfd is taken over, what is pending is sent */
void job_started(struct job *job, int pidfd);

/* The command was stopped by @signal (Ctrl-Z): stop in the same way, or the
 * shell would wait for us. Returns when somebody continues us, or when there is
 * something to read from @socket: the command may be continued from inside.
 */
void job_stop(struct job *job, int signal, int socket);

/* True if the signal must be passed on: those that the kernel sent to the
 * whole foreground job (Ctrl-C) reached the command too, if there was one. At the
 * start that cannot be told, and twice is better than not at all.
 */
bool job_concerns(const struct job *job, const struct signalfd_siginfo *info);

/* Pass @signal on, now or when the command has started */
void job_signal(struct job *job, int signal);

#endif /* LIB_JOB_H */
