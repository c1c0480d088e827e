/* SPDX-License-Identifier: Apache-2.0 */
/* run/run.h - one run of a command, from its options to its end, in this process */

#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "ephemeral/ephemeral.h"
#include "run/decision.h"
#include "run/job.h"
#include "run/tmpdir.h"
#include "sandbox/jail-holder.h"
#include "sandbox/sandbox.h"

struct command_stdio;
struct err;
struct limits;
struct monitor;
struct options;
struct output;
struct run_network;
struct violation;
struct violation_sink;

/**
 * struct run - Everything that belongs to one run
 * @options:	The caller's. They may grow: by the tier that a run falls back to.
 * @output:	The caller's: where messages for the user go
 * @argv:	The caller's: the command, or with -c the arguments of that string
 * @err:	The caller's: why run() returned a negative errno
 *
 * The caller fills these in and leaves the rest zero.
 *
 * @command:	What is executed
 * @plans:	How many plans were made because files vanished under the last
 * @unsandboxed: Why the command runs without a sandbox, or NULL
 * @recovered:	What earlier runs planted that were killed, until it is reported
 * @stdio:	The command's standard descriptors
 * @tmp:	The private /tmp
 * @changes:	The store of --ephemeral
 * @jail:	The egress jail of --net jail; @jail_end is ready when pasta ends
 * @signals, @messages, @death: Sources of the loop: our signals, init's messages,
 *		init's pidfd
 * @mask:	The caller's signal mask
 * @listener:	seccomp's, until the observer has it; -1
 * @own:	The sandbox's user, mount and network namespaces and its mountinfo,
 *		twice; -1
 * @status:	The command's exit status; -1 until it is known
 * @started:	The command runs, or has run
 * @waits:	Init waits for sandbox_go()
 * @failed:	Init could not build the sandbox or execute the command
 */
struct run {
	struct options *options;
	const struct output *output;
	char **argv;
	struct err *err;

	char **command;
	struct decision decision;
	unsigned int plans;
	char *unsandboxed;
	struct { struct violation *v; size_t len, cap; } recovered;

	struct loop *loop;
	struct sandbox sandbox;
	struct command_stdio *stdio;
	struct limits *limits;
	struct monitor *monitor;
	struct run_network *network;
	struct job job;
	struct tmpdir tmp;
	struct ephemeral changes;
	struct jail_run jail;
	struct loop_source signals, messages, death, jail_end;
	sigset_t mask;
	int listener, own[SANDBOX_OWN_FDS];
	int status;
	bool started, waits, failed;
};

/**
 * run - Run a command to its end
 *
 * It blocks all signals meanwhile, forks without an exec, and waits for its
 * children: for a process that does nothing else and has one thread. What was
 * decided stays allocated to the end of the process.
 *
 * Return: the exit status, or a negative errno with @err: then nothing ran.
 */
int run(struct run *run);

/* The stages of run(), in their order. Each returns 0, or a negative errno with
 * @err; run_decide() also 1 if the command is to run without a sandbox.
 */
int run_decide(struct run *run);	/* settings -> policy -> view -> plan */
int run_prepare(struct run *run);	/* report, limits, stdio, /tmp, signals */
int run_build(struct run *run);		/* sandbox, gate, observer; to the command's start */
int run_supervise(struct run *run);	/* to the command's end */

/* Hand what earlier runs left to @sink, once */
void run_report_recovered(struct run *run, const struct violation_sink *sink);

/* Write what the user reads about a run that has ended: limits that were hit,
 * refusals, changes that are staged
 */
void run_report(struct run *run);

/* End all processes of the run and let go of what it holds; prints nothing. Safe
 * at any stage, and twice.
 */
void run_release(struct run *run);

#endif /* RUN_RUN_H */
