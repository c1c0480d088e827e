/* SPDX-License-Identifier: Apache-2.0 */
/* run/job.h - the command as its caller's job: signals, stops, the terminal */

#ifndef RUN_JOB_H
#define RUN_JOB_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

#include "base/loop.h"

struct err;
struct number;
struct signalfd_siginfo;

/**
 * struct job - What passes between our caller and the command
 * @command:	Its pidfd, -1 until it has started
 * @pending:	Signals that came before
 * @was_stopped: We stopped because it did, and it was not continued yet
 * @timed_out:	The time limit has ended the command, or the run before it started
 * @terminal:	As it was before, if @has_terminal
 */
struct job {
	int command;
	sigset_t pending;
	bool was_stopped, has_terminal, timed_out;
	struct termios terminal;
	struct loop *loop;
	struct loop_source timer;
};

void job_init(struct job *job);
/* Closes the pidfd, and puts the terminal back as it was */
void job_done(struct job *job);

/* Before the program exits with @status: if Ctrl-C ended the command, let it end
 * us as well. A shell that runs us in a loop leaves it only then, and takes 130
 * for a result like any other.
 */
void job_end(int status);

/* Whether keys go to the command's own terminal as they are */
void job_set_raw(const struct job *job, bool raw);

/* The command runs: @pidfd is taken over, what is pending is sent */
void job_started(struct job *job, int pidfd);

/* The command was stopped by @signal (Ctrl-Z): stop in the same way, or the
 * shell would wait for us. Returns when we are continued, or when there is
 * something to read from @socket: the command may be continued from inside.
 */
void job_stop(struct job *job, int signal, int socket);

/* True if the signal must be passed on: those that the kernel sent to the
 * whole foreground job (Ctrl-C) reached the command too, if there was one. At the
 * start that is not known, and twice is better than not at all.
 */
bool job_concerns(const struct job *job, const struct signalfd_siginfo *info);

/* If @ms is set, ask the command to end after that time, and stop @loop if that does
 * not help. 0, or a negative errno with a message.
 */
int job_limit_time(struct job *job, struct loop *loop, const struct number *ms,
		   struct err *err);

/* True if @signal continues us after a stop, and the command runs already. A shell
 * continues the whole job, us and the command; another sender perhaps only us. A command
 * that runs must not get a second SIGCONT for the first: programs catch it.
 */
bool job_is_continued(struct job *job, int signal);

/* Pass @signal on, now or when the command has started */
void job_signal(struct job *job, int signal);

#endif /* RUN_JOB_H */
