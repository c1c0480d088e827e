/* SPDX-License-Identifier: Apache-2.0 */
/**
 * cloche.h - run commands in a sandbox, from your own program
 *
 * A sandbox is a policy; a run is one command under it. Each run has a process
 * of its own, which supervises the command: your process is not forked, its
 * signals, threads, standard streams and environment are left alone, and if it
 * ends, however it ends, the command and all it started end too.
 *
 *	cloche_sandbox *box;
 *	cloche_run *run;
 *	struct cloche_result how = { sizeof(how) };
 *	const char *argv[] = { "npm", "test", NULL };
 *	struct cloche_run_options options = {
 *		.size = sizeof(options), .argv = argv,
 *	};
 *
 *	if (cloche_sandbox_new(NULL, &box, why, sizeof(why)) == 0) {
 *		cloche_sandbox_set(box, "allow", "registry.example.org");
 *		if (cloche_start(box, &options, &run) == 0) {
 *			cloche_run_wait(run, &how);
 *			cloche_run_free(run);
 *		}
 *		cloche_sandbox_free(box);
 *	}
 *
 * Structs begin with their size, as you know it: set it to sizeof and the rest
 * to zero, and a later library will understand. Strings are UTF-8 or whatever
 * bytes the system uses, end with a NUL, and are copied if they are kept.
 *
 * Results are 0 or more, or a negative errno; cloche_sandbox_message() and
 * cloche_run_message() have the words. Nothing is printed, nothing exits, and
 * there is no global state. Without memory, the process is aborted.
 *
 * Threads: a sandbox or a run belongs to one thread at a time; different ones
 * may be used at the same time. After a fork() the child may only free what it
 * inherited; that does not end the runs of its parent.
 *
 * libcloche(3) has the details.
 */

#ifndef CLOCHE_H
#define CLOCHE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cloche_sandbox cloche_sandbox;
typedef struct cloche_run cloche_run;

/* "0.1.0", of the library */
const char *cloche_version(void);

/**
 * struct cloche_sandbox_options - How to make a sandbox
 * @program:	The cloche(1) that supervises; NULL: the one that was installed
 *		with the library. It has to go with the library: -EPROTO.
 * @policy:	A JSON object in the shape of cloche-settings(5), or NULL. It
 *		counts as the file of --settings does.
 */
struct cloche_sandbox_options {
	size_t size;
	const char *program;
	const char *policy;
};

/* @options may be NULL. 0, or a negative errno with one line in @why, which
 * may be NULL.
 */
int cloche_sandbox_new(const struct cloche_sandbox_options *options,
		       cloche_sandbox **ret, char *why, size_t why_size);
/* Runs go on without it. NULL is fine. */
void cloche_sandbox_free(cloche_sandbox *sandbox);

/* One option of cloche-run(1), without its dashes: "write", "/srv/data". NULL
 * as the value of those that take none. Lists grow; for others the last one
 * counts. -EINVAL if there is no such option or the value is not of its kind (a
 * number, a duration); names and paths are looked at when a run starts.
 */
int cloche_sandbox_set(cloche_sandbox *sandbox, const char *name,
		       const char *value);

/* Another policy, for the runs that start from now on; those that are under
 * way take cloche_run_update(). NULL: none.
 */
int cloche_sandbox_policy(cloche_sandbox *sandbox, const char *policy);

/* A line for a shell that runs @argv as cloche_start() would, but by itself:
 * without events. To be freed with cloche_free(); NULL without a command.
 */
char *cloche_wrap(cloche_sandbox *sandbox, const char *const *argv);

/* What the last function had to say about its failure; "" for nothing */
const char *cloche_sandbox_message(const cloche_sandbox *sandbox);

/**
 * struct cloche_violation - Something that was refused
 * @kind:	"fs-write", "net-connect", ...: cloche-violations(1) lists them
 * @operation:	The call or the step of a protocol
 * @target:	A path inside, "host:port", or a limit's name
 * @program:	Who tried, or ""
 * @reason:	Why not
 * @rule:	The rule that refused it, or ""
 * @suggestion:	The edit that would allow it, or ""
 * @count:	How often so far; the same one may come again with a larger
 *		count
 * @json:	All of it, as `cloche run --events` writes it
 */
struct cloche_violation {
	size_t size;
	const char *kind, *operation, *target, *program;
	const char *reason, *rule, *suggestion;
	unsigned long long count;
	const char *json;
};

/**
 * struct cloche_question - A host that no rule mentions
 * @id:		For cloche_run_answer()
 * @program:	The command
 */
struct cloche_question {
	size_t size;
	unsigned int id;
	const char *host;
	unsigned int port;
	const char *program;
};

/**
 * struct cloche_result - How a run ended
 * @error:	0, or a negative errno if nothing ran
 * @status:	If @error is 0: the command's exit status, 128+N if signal N
 *		ended it, 124 after the time limit, 126 not executable, 127
 *		not found. Otherwise 125.
 * @sandboxed:	0 if the settings switch the sandbox off and the option
 *		"allow-unsandboxed" obeyed them
 * @message:	Why nothing ran, or ""
 */
struct cloche_result {
	size_t size;
	int error;
	int status;
	int sandboxed;
	const char *message;
};

/**
 * struct cloche_events - What you want to hear; each may be NULL
 *
 * They are called from cloche_run_turn() and cloche_run_wait(), and what they
 * are given lasts until they return. They may use the run, but not free it.
 *
 * @started:	The command runs now
 * @violation:	Something was refused
 * @ask:	May it reach this host? Answer with cloche_run_answer(), now or
 *		later; after a minute it is a no. Without this function nobody
 *		is asked, and hosts that no rule mentions are refused.
 * @updated:	cloche_run_update() number @id took effect (@error is 0), or
 *		was refused as a whole: a negative errno, and why
 * @message:	A line for a person: a limit that was hit, a weaker tier
 * @report:	With the options "annotate" and "debug": the text that
 *		cloche(1) would write to standard error
 * @ended:	The last one: the command and all it started are gone
 */
struct cloche_events {
	size_t size;
	void (*started)(void *arg, cloche_run *run);
	void (*violation)(void *arg, cloche_run *run,
			  const struct cloche_violation *violation);
	void (*ask)(void *arg, cloche_run *run,
		    const struct cloche_question *question);
	void (*updated)(void *arg, cloche_run *run, unsigned int id,
			int error, const char *why);
	void (*message)(void *arg, cloche_run *run, const char *line);
	void (*report)(void *arg, cloche_run *run, const char *text);
	void (*ended)(void *arg, cloche_run *run,
		      const struct cloche_result *result);
};

/**
 * struct cloche_run_options - One command
 * @argv:	The command and its arguments, NULL at the end; or the words of
 *		the shell string that the option "command" sets
 * @env:	Its environment, "NAME=value", NULL at the end; what of it gets
 *		inside is the policy's to say. NULL: this process's. Where settings
 *		and state are is decided by this process's own HOME, XDG_* and
 *		CLAUDE_CONFIG_DIR, whatever stands here.
 * @directory:	Where it starts; NULL: the current directory
 * @stdio:	Three descriptors for standard input, output and error, -1 for
 *		/dev/null; they stay yours. NULL: this process's 0, 1 and 2, or
 *		/dev/null for those that are closed
 * @events:	Copied; or NULL
 * @arg:	For the events
 */
struct cloche_run_options {
	size_t size;
	const char *const *argv;
	const char *const *env;
	const char *directory;
	const int *stdio;
	const struct cloche_events *events;
	void *arg;
};

/* Start a command. 0, or a negative errno; the words are the sandbox's. That
 * the sandbox cannot be built is known later: as the result.
 */
int cloche_start(cloche_sandbox *sandbox,
		 const struct cloche_run_options *options, cloche_run **ret);

/* Ends it if it has not ended, and waits for that. NULL is fine. */
void cloche_run_free(cloche_run *run);

/* For an event loop: watch the descriptor for reading, with poll(2) or
 * anything like it, and call ..._turn() when it is ready; that never waits for
 * anything but a process that is ending. 1 while the run goes on, 0 when it has
 * ended, -ECHILD after a fork.
 */
int cloche_run_fd(const cloche_run *run);
int cloche_run_turn(cloche_run *run);

/* Or wait for the end, with the events on the way. 0 and *@result, which may be
 * NULL, or a negative errno: that of the result, if nothing ran.
 */
int cloche_run_wait(cloche_run *run, struct cloche_result *result);

/* Send a signal to the command. What it started gets none; all of that ends
 * with the command. -ESRCH if it has ended.
 */
int cloche_run_signal(cloche_run *run, int number);

/* @allow is 1 or 0; @remember: do not ask about this host again in this run */
int cloche_run_answer(cloche_run *run, unsigned int id, int allow,
		      int remember);

/* From now on @policy decides, in the place of the one that the sandbox had:
 * hosts at once, also for connections that are open; paths for every access
 * from now on. Returns a number for the event "updated", or a negative errno.
 * A policy with a mistake in it changes nothing.
 */
int cloche_run_update(cloche_run *run, const char *policy);

/* What went wrong, or why nothing ran; "" for nothing */
const char *cloche_run_message(const cloche_run *run);

/* Memory from this library. NULL is fine. */
void cloche_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif /* CLOCHE_H */
