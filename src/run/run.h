/* SPDX-License-Identifier: Apache-2.0 */
/* run/run.h - one run of a command, from its options to its end, in this process */

#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "ephemeral/ephemeral.h"
#include "gate/ask.h"
#include "observe/observer.h"
#include "policy/policy.h"
#include "run/decision.h"
#include "run/job.h"
#include "run/tmpdir.h"
#include "sandbox/jail-holder.h"
#include "sandbox/sandbox.h"

struct buf;
struct command_stdio;
struct err;
struct footer;
struct host;
struct prompt;
struct limits;
struct listener_set;
struct monitor;
struct observer_network;
struct options;
struct output;
struct run_network;
struct run_record;
struct violation;
struct violation_sink;

/**
 * struct run_serve - The commands of a session, in a run that starts none itself
 * @take:	Gets init's messages about them. Descriptors are taken over.
 * @assign, @refused: As assign and take of struct report_config
 */
struct run_serve {
	void (*take)(void *arg, const struct sandbox_message *m, int *fds,
		     size_t nfds);
	void (*assign)(void *arg, struct violation *v);
	int (*refused)(void *arg, const struct violation *v);
	void *arg;
};

/**
 * struct run - Everything that belongs to one run
 * @options:	The caller's. They may grow: by the tier that a run falls back to.
 * @output:	The caller's: where messages for the user go
 * @argv:	The caller's: the command, or with -c the arguments of that string
 * @err:	The caller's: why run() returned a negative errno
 * @serve:	The caller's: the commands of a session; or NULL
 * @shown:	The caller's: what reports show as the command, where an agent has put more
 *		around it; or NULL
 *
 * The caller fills these in and leaves the rest zero.
 *
 * @command:	What is executed
 * @plans:	How many plans were made because files vanished under the last
 * @unsandboxed: Why the command runs without a sandbox, or NULL
 * @recovered:	What earlier runs planted that were killed, until it is reported
 * @stdio:	The command's standard descriptors
 * @prompt:	The questions of --ask, until the command has ended
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
 * @jobs:	The background jobs that ended with it (struct sandbox_message)
 * @hosts:	Those that the gate reached, with bytes (struct run_record)
 * @nested:	In a cloche sandbox, whose report has what is refused here
 * @started:	The command runs, or has run
 * @waits:	Init waits for sandbox_go()
 * @failed:	Init could not build the sandbox or execute the command
 * @announced:	The observer of a sandbox around this one connects the command to the proxies
 */
struct run {
	struct options *options;
	const struct output *output;
	char **argv;
	struct err *err;
	const struct run_serve *serve;
	const char *shown;

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
	struct prompt *prompt;
	struct job job;
	struct tmpdir tmp;
	struct ephemeral changes;
	struct jail_run jail;
	struct loop_source signals, messages, death, jail_end;
	sigset_t mask;
	int listener, own[SANDBOX_OWN_FDS];
	int status;
	char jobs[SANDBOX_TEXT_MAX];
	char *hosts;
	bool started, waits, failed, nested, announced;
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

/* Decide, prepare and build, again with another plan where files have vanished under the
 * first: 0; 1 if the command is to run without a sandbox; or a negative errno with @err
 */
int run_start(struct run *run);
/* Before any stage: nothing was begun */
void run_reset(struct run *run);
/* What run() returns after run_report() */
int run_exit_status(const struct run *run);

/* The stages of run(), in their order. Each returns 0, or a negative errno with
 * @err; run_decide() also 1 if the command is to run without a sandbox.
 */
int run_decide(struct run *run);	/* settings -> policy -> view -> plan */
int run_prepare(struct run *run);	/* report, limits, stdio, /tmp, signals */
int run_build(struct run *run);		/* sandbox, gate, observer; to the command's start */
int run_supervise(struct run *run);	/* to the command's end */

/* Hand what earlier runs left to @sink, once. What was not handed over is stored in the
 * end, so that it can be restored.
 */
void run_report_recovered(struct run *run, const struct violation_sink *sink);
void run_store_recovered(struct run *run);

/* Print why and become the command, in the policy's start directory. Returns only on
 * failure: 126 or 127, with a message; or a negative errno with @err.
 */
int run_unsandboxed(const struct run *run);

/* Write what the user reads about a run that has ended: limits that were hit,
 * refusals, changes that are staged
 */
void run_report(struct run *run);
/* The part of it that concerns the command, not the sandbox: its output, its time; and
 * variables and files that it may have missed
 */
void run_report_command(struct run *run);
void run_report_hints(const struct run *run);
/* The command was not started: why */
void run_report_unstarted(struct run *run);

/* The command line @argv, or what the caller shows for it, without secrets and at most @max
 * bytes; true if it was changed
 */
bool run_report_command_text(const struct run *run, char *const *argv, size_t max,
			     struct buf *out);

/* How to start the run again (report/suggestion.h). Fills @options and @command, which the
 * result points into: the command line without secrets, also where it cannot be repeated.
 */
struct rerun run_report_rerun(const struct run *run, struct buf *options,
			      struct buf *command);

/* End all processes of the run and release what it owns; prints nothing. Safe
 * at any stage, and twice.
 */
void run_release(struct run *run);

/* Block all signals, and wait for them with @fn(@arg): 0, or a negative errno with @err */
int run_take_signals(struct run *run, loop_fn fn, void *arg);
/* Call @fn(@arg) when @fd can be read. 0, or a negative errno with @err. */
int run_add_source(struct run *run, struct loop_source *source, int fd, loop_fn fn,
		   void *arg);

/* The embedding program is gone: end the run */
void run_abort(struct run *run);

/* Print that a limit was hit, and record it if that is @sure */
void run_report_limit(struct run *run, enum policy_number number, bool sure,
		      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* monitor.c - observe, record and report what is refused during a run */

/* Set run->monitor. 0, or a negative errno with a message for a stream of --events
 * that cannot be written.
 */
int monitor_new(struct run *run);
/* Descriptors that are slow to close are left to init */
void monitor_free(struct monitor *monitor);

/* Where refusals go; valid as long as @monitor */
const struct violation_sink *monitor_sink(const struct monitor *monitor);

/* The sandbox is being built: watch the writable directories as soon as something is made */
void monitor_start(struct monitor *monitor);

/* The command runs. If it is not a short one, record that, and watch the settings: a valid
 * edit takes effect in the running sandbox, any other changes nothing and is reported on
 * stderr.
 */
void monitor_started(struct monitor *monitor);

/* Answer the notifications of seccomp's @listener, which is taken over */
int monitor_observe(struct monitor *monitor, int listener, struct err *err);

/* Serve the FUSE masks. @fds came with SANDBOX_MASKS and are taken
 * over. Without it, masks are silent.
 */
void monitor_masks(struct monitor *monitor, const int *fds, size_t nfds);

/* True if reads of hidden paths are not reported, as /dev/fuse does not open */
bool monitor_misses_reads(const struct monitor *monitor);

/* Keep masks and read-only files mounted in the sandbox, whose descriptors run->own has;
 * keep them by the present view; note that a mount covers the file @path
 */
void monitor_keep(struct monitor *monitor);
void monitor_keep_again(struct monitor *monitor);
void monitor_covered(struct monitor *monitor, const char *path);

/* The sandbox is built: apply an edit of the settings that came before, and others when
 * they come
 */
void monitor_ready(struct monitor *monitor);

/* Read the settings again, as the options say now. 0, or a negative errno with
 * a message and nothing has changed.
 */
int monitor_reload(struct monitor *monitor, struct err *err);

/* A command of a session has ended: see report_part(). What identifies the policy is
 * filled in here.
 */
void monitor_part(struct monitor *monitor, struct run_record *end,
		  const struct footer *how, struct buf *out);
/* The policy that counts now: the first, or that of the last edit */
const struct policy *monitor_policy(const struct monitor *monitor);

/* The answer to a question about the path @grant (observe/observer.h) */
void monitor_resume(struct monitor *monitor, const char *grant,
		    enum observer_consent consent);

/* There is no observer. Without one the footer would be empty, so print that now. */
void monitor_blind(struct monitor *monitor);

/* The command has ended: last records, and the footer on stderr */
void monitor_finish(struct monitor *monitor, bool failed);
/* Instead of monitor_finish(), if nothing has run */
void monitor_drop(const struct monitor *monitor);

/* run-network.c - the gate, ports on demand, what the observer asks */

/* Set run->network, once the sandbox is built. @listeners, from the sandbox, are taken
 * over; NULL: there is no gate, and all that is done is to report what cannot be
 * reached. 0, or a negative errno with a message.
 */
int run_network_start(struct run *run, struct listener_set *listeners);

/* The command has started: start the gate soon, before it connects */
void run_network_command_runs(struct run_network *network);

/* Make @port of a server inside reachable on the host's loopback: 0, or a negative errno
 * with a message
 */
int run_network_publish(struct run_network *network, uint16_t port,
			struct err *err);

/* The command has ended: take the last reports, end the gate */
void run_network_finish(struct run_network *network);
void run_network_free(struct run_network *network);

/* The command has failed: report ports that it tried at the sandbox's localhost and
 * that the host serves
 */
void run_network_explain(const struct run_network *network);

/* Fill in the callbacks of the observer; valid as long as @network */
void run_network_questions(struct run_network *network,
			   struct observer_network *ret);

/* From now on @policy decides */
int run_network_reload(struct run_network *network, struct policy *policy,
		       struct err *err);

/* The answer to the question @id about a host */
void run_network_answer(const struct run *run, uint32_t id, bool allow,
			enum ask_scope scope);

/* prompt.c - ask about hosts and paths that no rule mentions
 *
 * --ask puts a question to the terminal, or as a JSON line on --control-fd; the same
 * descriptor also takes new lists of hosts. The answer comes by run_network_answer(),
 * maybe from within, or by monitor_resume(), never from within.
 */
/* Set run->prompt. @gate: there are hosts to ask about. 0, or a negative errno with a
 * message.
 */
int prompt_new(struct run *run, bool gate);
void prompt_free(struct prompt *prompt);
/* True if there is a terminal, a descriptor or a library to ask */
bool prompt_can_ask(const struct prompt *prompt);
/* Ask about @host for the process @pid, 0 if unknown */
void prompt_ask(struct prompt *prompt, uint32_t id,
		     const struct host *host, pid_t pid);
/* See @ask of struct observer_config */
bool prompt_ask_path(struct prompt *prompt, const char *path,
			  const char *target, pid_t pid);
/* Ctrl-C: a process whose call waits cannot handle the signal, so its calls end */
void prompt_interrupt(struct prompt *prompt);

#endif /* RUN_RUN_H */
