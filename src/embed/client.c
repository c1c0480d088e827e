/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed/client.c - cloche.h: runs, each with a supervisor in another process
 *
 * Should: not change the caller's process: no fork() (posix_spawn() shares its
 * memory until the exec), no signal handler, no descriptor but the socket and the
 * epoll instance, both closed on exec. Mustn't: wait for anything but a process that
 * is ending.
 *
 * The supervisor is a child, and reaped here as soon as its socket is closed.
 * A host that waits for every child may be quicker: the status comes over the
 * socket, so nothing is lost if the host reaps it first.
 */

#include "embed/run-api.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "ipc/wire.h"

enum {
	PATIENCE_MS = 10000,	/* For a supervisor to end its sandbox */
	SIGNAL_MAX = 64,
};

/**
 * struct cloche_run - A command under its supervisor
 * @owner:	The process that started it; a fork of that must not use the run
 * @supervisor:	0 when it is reaped
 * @greeted:	The supervisor has the version of this library
 * @early:	Signals for a command that may not run yet: bits
 * @bare:	It became the command itself
 * @reported:	Its last message came
 * @over:	It is gone, and so is the command
 */
struct cloche_run {
	pid_t owner, supervisor;
	struct loop *loop;
	struct wire wire;
	struct cloche_events events;
	void *arg;
	unsigned int updates;
	uint64_t early;
	bool greeted, started, bare, reported, over;
	int error, status;
	struct err err;
};

#define SEND(run, verb, ...)						\
	wire_send(&(run)->wire, verb,					\
		  (const char *const[]){ __VA_ARGS__, NULL })

static unsigned long long number(const char *text)
{
	uint64_t n = 0;

	(void)text_to_u64(text, UINT64_MAX, &n);
	return n;
}

static int refuse(cloche_run *run, int code, const char *words)
{
	run->reported = true;
	run->error = code;
	return fail(&run->err, code, "%s", words);
}

static void take_hello(cloche_run *run, const char *const *w)
{
	if (!strcmp(w[0], WIRE_PROTOCOL)) {
		run->greeted = true;
		return;
	}
	run->reported = true;
	run->error = fail(&run->err, -EPROTO, "the program is cloche %s, but the library is %s: install the same version of both",
			  w[1], CLOCHE_VERSION);
	(void)shutdown(run->wire.source.fd, SHUT_RDWR);
}

static void take_violation(cloche_run *run, const char *const *w)
{
	const struct cloche_violation v = {
		.size = sizeof(v), .kind = w[0], .operation = w[1],
		.target = w[2], .program = w[3], .reason = w[4],
		.rule = w[5], .suggestion = w[6], .count = number(w[7]),
		.json = w[8],
	};

	if (run->events.violation)
		run->events.violation(run->arg, run, &v);
}

static void take_ask(cloche_run *run, const char *const *w)
{
	const struct cloche_question q = {
		.size = sizeof(q), .id = (unsigned int)number(w[0]),
		.host = w[1], .port = (unsigned int)number(w[2]),
		.program = w[3],
	};

	if (run->events.ask)
		run->events.ask(run->arg, run, &q);
	else
		(void)cloche_run_answer(run, q.id, 0, 0);
}

static void take_word(cloche_run *run, enum wire_verb verb,
		      const char *const *w)
{
	const struct cloche_events *e = &run->events;

	switch (verb) {
	case WIRE_STARTED:
		run->started = true;
		if (e->started)
			e->started(run->arg, run);
		break;
	case WIRE_SAY:
		if (e->message)
			e->message(run->arg, run, w[0]);
		break;
	case WIRE_REPORT:
		if (e->report)
			e->report(run->arg, run, w[0]);
		break;
	case WIRE_UPDATED:
		if (e->updated)
			e->updated(run->arg, run, (unsigned int)number(w[0]),
				   -(int)number(w[1]), w[2]);
		break;
	default:
		break;
	}
}

static void take(void *arg, enum wire_verb verb, const char *const *w)
{
	cloche_run *run = arg;

	if (verb != WIRE_HELLO && !run->greeted)
		return;
	switch (verb) {
	case WIRE_HELLO:
		take_hello(run, w);
		break;
	case WIRE_VIOLATION:
		take_violation(run, w);
		break;
	case WIRE_ASK:
		take_ask(run, w);
		break;
	case WIRE_BARE:
		run->bare = true;
		break;
	case WIRE_ENDED:
		run->reported = true;
		run->status = (int)number(w[0]);
		break;
	case WIRE_FAILED:
		refuse(run, -(int)number(w[0]), w[1]);
		break;
	default:
		take_word(run, verb, w);
		break;
	}
}

/* The supervisor closed its socket: it is ending, or has become the command */
static bool reap(cloche_run *run, int flags)
{
	int status = 0;
	pid_t pid;

	do {
		pid = waitpid(run->supervisor, &status, flags);
	} while (pid < 0 && errno == EINTR);
	if (!pid)
		return false;
	if (run->bare && !run->reported && pid > 0) {
		run->reported = true;
		run->status = reap_exit_code(status);
	}
	run->supervisor = 0;
	return true;
}

static void fill_result(const cloche_run *run, struct cloche_result *ret)
{
	*ret = (struct cloche_result){
		.size = sizeof(*ret), .error = run->error,
		.status = run->error ? 125 : run->status,
		.sandboxed = !run->bare, .message = run->err.msg,
	};
}

static void finish(cloche_run *run)
{
	struct cloche_result result;

	if (!run->reported)
		refuse(run, -EPIPE, run->greeted ?
		       "the supervisor was ended, and the command with it" :
		       "the program did not start, or is not cloche");
	run->over = true;
	fill_result(run, &result);
	if (run->events.ended)
		run->events.ended(run->arg, run, &result);
}

/* A command in the supervisor's place has no socket: its end is a pidfd's */
static int on_bare_end(void *arg)
{
	cloche_run *run = arg;

	loop_remove(run->loop, &run->wire.source);
	close_fd(&run->wire.source.fd);
	(void)reap(run, 0);
	finish(run);
	return 0;
}

/* True if the supervisor has become the command: its exec closed the socket */
static bool is_command(const cloche_run *run)
{
	return run->bare && run->wire.source.fn == on_bare_end;
}

static void on_gone(void *arg)
{
	cloche_run *run = arg;
	int pidfd = run->bare ?
		fs_above_std(pidfd_open(run->supervisor, 0)) : -1;

	for (int i = 1; run->bare && i <= SIGNAL_MAX; i++) {
		if (run->early & (1ULL << (i - 1)))
			(void)kill(run->supervisor, i);
	}
	if (pidfd >= 0) {
		run->wire.source = (struct loop_source){
			pidfd, on_bare_end, run,
		};
		if (loop_add(run->loop, &run->wire.source, POLLIN) == 0)
			return;
		close_fd(&run->wire.source.fd);
	}
	(void)reap(run, 0);
	finish(run);
}

static int open_wire(cloche_run *run, int fd, struct err *err)
{
	int r;

	wire_init(&run->wire, fd);
	run->wire.take = take;
	run->wire.gone = on_gone;
	run->wire.arg = run;
	r = loop_new(&run->loop, err);
	if (r < 0)
		return r;
	r = wire_attach(&run->wire, run->loop);
	return r < 0 ? fail(err, r, "cannot wait for the supervisor") : 0;
}

static int make_sockets(int sockets[2], struct err *err)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		return fail_errno(err, "cannot make a socket pair");
	sockets[0] = fs_above_std(sockets[0]);
	sockets[1] = fs_above_std(sockets[1]);
	if (sockets[0] >= 0 && sockets[1] >= 0)
		return 0;
	(void)fail_errno(err, "cannot make a socket pair");
	close_fd(&sockets[0]);
	close_fd(&sockets[1]);
	return err->code;
}

int cloche_start(cloche_sandbox *sandbox,
		 const struct cloche_run_options *options, cloche_run **ret)
{
	struct cloche_run_options o = { 0 };
	cloche_run *run = mem_zalloc(sizeof(*run));
	struct err *err = &sandbox->err;
	int sockets[2], r;

	*err = (struct err){ 0 };
	run->owner = getpid();
	run->wire.source.fd = -1;
	r = api_copy(&o, sizeof(o), options);
	if (r == 0 && o.events)
		r = api_copy(&run->events, sizeof(run->events), o.events);
	run->arg = o.arg;
	r = r < 0 ? fail(err, r, "the options are not of this library") :
		    make_sockets(sockets, err);
	if (r == 0) {
		r = open_wire(run, sockets[0], err);
		if (r == 0)
			r = launch_supervisor(sandbox, &o, run->events.ask,
					     sockets[1], &run->supervisor);
		close(sockets[1]);
	}
	if (r < 0) {
		cloche_run_free(run);
		return r;
	}
	*ret = run;
	return 0;
}

/* The supervisor ends the sandbox when our end of the socket is shut down. If it does
 * not, or if it has become the command, it is killed.
 */
static void end_supervisor(cloche_run *run)
{
	struct pollfd p = { .fd = loop_fd(run->loop), .events = POLLIN };
	int pidfd, ready = 1;

	run->events = (struct cloche_events){ 0 };
	if (!run->bare)
		(void)shutdown(run->wire.source.fd, SHUT_WR);
	while (!run->over && !is_command(run) && ready) {
		ready = poll(&p, 1, PATIENCE_MS);
		(void)loop_turn(run->loop);
	}
	if (run->over)
		return;
	pidfd = pidfd_open(run->supervisor, 0);
	if (pidfd >= 0)
		(void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
	close_fd(&pidfd);
	(void)reap(run, 0);
}

void cloche_run_free(cloche_run *run)
{
	if (!run)
		return;
	if (run->owner == getpid()) {
		if (run->supervisor)
			end_supervisor(run);
	} else {
		/* The parent uses the same epoll instance: do not change it */
		run->wire.loop = NULL;
	}
	wire_done(&run->wire);
	loop_free(run->loop);
	free(run);
}

int cloche_run_fd(const cloche_run *run)
{
	return loop_fd(run->loop);
}

int cloche_run_turn(cloche_run *run)
{
	if (run->owner != getpid())
		return -ECHILD;
	if (!run->over)
		(void)loop_turn(run->loop);
	return !run->over;
}

int cloche_run_wait(cloche_run *run, struct cloche_result *result)
{
	struct pollfd p = { .fd = loop_fd(run->loop), .events = POLLIN };
	struct cloche_result mine;
	int r;

	while ((r = cloche_run_turn(run)) > 0) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return fail_errno(&run->err, "cannot wait");
	}
	if (r < 0)
		return r;
	fill_result(run, &mine);
	if (result)
		api_give(result, &mine, sizeof(mine));
	return run->error;
}

/* 0 if the supervisor can still receive messages */
static int check(cloche_run *run)
{
	run->err.msg[0] = '\0';
	if (run->owner != getpid())
		return fail(&run->err, -ECHILD, "the run belongs to another process");
	if (run->over || run->reported)
		return fail(&run->err, -ESRCH, "the command has ended");
	return 0;
}

static int sent(cloche_run *run, int r)
{
	return r < 0 ? fail(&run->err, r == -EPIPE ? -ESRCH : r,
			    r == -EPIPE ? "the command has ended" :
			    "the supervisor does not listen") : 0;
}

int cloche_run_signal(cloche_run *run, int signal)
{
	char text[16];
	int r = check(run);

	if (r == 0 && (signal <= 0 || signal > SIGNAL_MAX))
		r = fail(&run->err, -EINVAL, "%d is not a signal", signal);
	if (r < 0)
		return r;
	if (is_command(run))
		return kill(run->supervisor, signal) < 0 ? -errno : 0;
	/* A supervisor that becomes the command does not read the message */
	if (!run->started)
		run->early |= 1ULL << (signal - 1);
	if (run->bare)
		return 0;
	snprintf(text, sizeof(text), "%d", signal);
	r = SEND(run, WIRE_SIGNAL, text);
	return r == -EPIPE && !run->started ? 0 : sent(run, r);
}

int cloche_run_answer(cloche_run *run, unsigned int id, int allow,
		      int remember)
{
	char text[16];
	const int r = check(run);

	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "%u", id);
	return sent(run, SEND(run, WIRE_ANSWER, text, allow == 1 ? "1" : "0",
			      remember ? "1" : "0"));
}

int cloche_run_update(cloche_run *run, const char *policy)
{
	char text[16];
	int r = check(run);

	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "%u", ++run->updates);
	r = sent(run, SEND(run, WIRE_UPDATE, text, policy));
	return r < 0 ? r : (int)run->updates;
}

const char *cloche_run_message(const cloche_run *run)
{
	return run->err.msg;
}
