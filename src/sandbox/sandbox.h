/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/sandbox.h - carry out a plan: the sandbox's first process, and its messages
 *
 * sandbox_begin() forks the sandbox's init into new namespaces, which takes about as
 * long as making a plan: so it comes first, and init meanwhile does all that is
 * the same in every sandbox. sandbox_start() hands it the plan. Init confines itself
 * stage by stage (child.c has the order), then runs the command. It reports
 * over one socket with struct sandbox_message; closing that socket ends
 * the sandbox.
 */

#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "plan/fuse-mask.h"
#include "plan/tier.h"
#include "policy/policy.h"

struct err;
struct plan;

enum sandbox_event {
	SANDBOX_FAILED,	/* Nothing ran: @value is an exit status, @text says why */
	SANDBOX_MASKS,	/* Before that: the masks talk; descriptors: the
			 * sandbox's pid namespace, their FUSE connection, the
			 * directories that they show (plan/fuse-mask.h)
			 */
	SANDBOX_READY,	/* All stands; descriptors: its user, mount and
			 * network namespaces and its mountinfo, twice (in tier
			 * full), then the seccomp listener if @value has
			 * SANDBOX_HAS_OBSERVER. With SANDBOX_HAS_NETWORK the
			 * listeners follow (ipc/listener.h).
			 */
	SANDBOX_STARTED, /* The command runs; descriptor: its pidfd. Without
				 * @member, of a sandbox that @serves: it waits
				 * for sandbox_join(); descriptor: its /dev/pts
				 */
	SANDBOX_STOPPED,	/* The command was stopped by signal @value */
	SANDBOX_CONTINUED,	/* It runs again */
	SANDBOX_EXITED,	/* The command ended, and so did all others but init:
			 * @value is its wait status
			 */
};

enum {
	SANDBOX_TEXT_MAX = 1024,
	SANDBOX_HAS_OBSERVER = 1,
	SANDBOX_HAS_NETWORK = 2,
	SANDBOX_HOST_PROC = 4,	/* /proc is the host's: plan->weak_proc */
	SANDBOX_ANNOUNCED = 8,	/* A sandbox around takes the command to the proxies */
	SANDBOX_NO_LAYER = 16,	/* Shared directories are read-only (MOUNT_LAYER) */
	SANDBOX_OWN_FDS = 5,	/* Those that tier full hands over */
	SANDBOX_READY_FDS = SANDBOX_OWN_FDS + 1,
	SANDBOX_MASKS_FDS = 2 + FUSE_MASK_WAYS_MAX,
	SANDBOX_FDS_MAX = SANDBOX_MASKS_FDS,	/* With any message */
};

/**
 * struct sandbox_message - One message from init
 * @event:	What happened
 * @member:	To which command of a sandbox that serves several; else 0
 * @value:	See enum sandbox_event
 * @read_to:	With SANDBOX_EXITED: how far standard input was read, if it was opened
 *		again, or -1
 * @code:	With SANDBOX_FAILED: a negative errno; SANDBOX_HAD_BEGUN if the command
 *		ran for a moment all the same
 * @text:	With SANDBOX_FAILED one line; with SANDBOX_EXITED the names of the
 *		background jobs that ended with the command, each behind a newline
 */
struct sandbox_message {
	enum sandbox_event event;
	uint32_t member;
	int value, code;
	int64_t read_to;
	char text[SANDBOX_TEXT_MAX];
};

enum { SANDBOX_LIMITS_MAX = 8, SANDBOX_HAD_BEGUN = -EALREADY };

/* One resource limit to set before the command starts */
struct sandbox_limit {
	int resource;
	uint64_t value;
};

/**
 * struct sandbox_kind - What init must know before there is a plan
 * @net:	As the plan has it: NET_NONE and NET_FILTERED get a network of
 *		their own, NET_JAIL is in that of @jail
 * @jail:	Namespaces (user, network) to be in, of an egress jail; or -1
 * @masks:	The plan will probably have FUSE masks
 */
struct sandbox_kind {
	enum tier tier;
	enum net_mode net;
	int jail[2];
	bool masks;
};

/**
 * struct sandbox_request - What the plan does not know
 * @plan:	What to do
 * @tmp_path:	The directory kept as /tmp, or NULL
 * @staged:	Where changes are staged (--ephemeral), or NULL
 * @stdio:	Descriptors that become 0, 1 and 2; -1 is closed
 * @stdin_path:	Where @stdio[0] is opened again (reopen.c), or NULL
 * @jail:	See struct sandbox_kind
 * @limits:	Resource limits
 * @wait:	Start the command only after a byte on the socket
 * @serves:	Start no command but those that sandbox_join() sends
 * @mask:	The command's signal mask
 */
struct sandbox_request {
	const struct plan *plan;
	const char *tmp_path, *staged;
	int stdio[3];
	const char *stdin_path;
	int jail[2];
	struct sandbox_limit limits[SANDBOX_LIMITS_MAX];
	size_t nlimits;
	bool wait, serves;
	sigset_t mask;
};

enum {
	SANDBOX_MEMBERS_MAX = 1024, /* Commands of one sandbox at a time */
	SANDBOX_JOIN_MAX = 8 << 20, /* Bytes of their words */
};

/**
 * struct sandbox_join - A message to an init that @serves
 * @member:	A number of the sender's, not 0
 * @signal:	For a member that runs, if not 0: then nothing else counts
 * @group:	Send it to the member's process group
 * @argc, @envc: How many of the strings are arguments and variables
 * @open:	Which standard descriptors come with it
 * @terminal:	Which are the last descriptor instead: the command's controlling terminal
 * @umask, @mask, @ignored: The command's
 * @limits:	Resource limits
 *
 * The first descriptor has NUL-ended strings: the start directory, the path at which
 * standard input is opened again or "", the arguments, the variables.
 */
struct sandbox_join {
	uint32_t member;
	int signal;
	bool group;
	uint32_t argc, envc;
	bool open[3], terminal[3];
	mode_t umask;
	sigset_t mask, ignored;
	struct sandbox_limit limits[SANDBOX_LIMITS_MAX];
	size_t nlimits;
};

/**
 * struct sandbox - A sandbox that is being built or runs
 * @tier, @net:	As it was begun
 * @memory:	Shared with init, which only reads it
 * @pid:	Init, as seen from here
 * @pidfd:	Init; readable when it and all else in there is gone
 * @socket:	Messages from init; closing it ends the sandbox
 * @sweeps:	Init itself ends the others, so it must not be killed
 * @two_cpus:	There is no third processor: init's is busy with its network
 * @over:	SANDBOX_EXITED has come: only init is left, and leaves by itself
 */
struct sandbox {
	enum tier tier;
	enum net_mode net;
	struct arena memory;
	pid_t pid;
	int pidfd, socket;
	bool sweeps, two_cpus, over;
};

#define SANDBOX_NONE { .pidfd = -1, .socket = -1 }

/* main() only: init must not keep its arguments and environment */
void sandbox_set_image(char **argv);

/* Fork init, which waits for its plan. 0 and *@ret, or a negative errno with
 * words: then nothing was started. It can be given up with sandbox_stop().
 */
int sandbox_begin(const struct sandbox_kind *kind, struct sandbox *ret,
	       struct err *err);

/* Build as @request says, in the sandbox that was begun if that is of the same kind,
 * else in a new one. 0, or a negative errno with a message: then nothing runs.
 * Signals should be blocked by the caller beforehand.
 */
int sandbox_start(struct sandbox *sandbox, const struct sandbox_request *request,
	       struct err *err);

/* The command has started: unmap the plan now, so that there is less to do at the
 * end
 */
void sandbox_forget_plan(struct sandbox *sandbox);

/* The byte that a request with @wait waits for. 0 or a negative errno. */
int sandbox_go(const struct sandbox *sandbox);

/* To an init that serves: start a command, or signal one. @fds are copied. 0, -EAGAIN if
 * init has too much to read yet, or another negative errno.
 */
int sandbox_join(const struct sandbox *sandbox, const struct sandbox_join *join,
		 const int *fds, size_t nfds);

/* Open a terminal in @pts, the /dev/pts of a sandbox that serves: our end, not blocking, and
 * the command's end in *@ret_inside; or a negative errno. Init is not dumpable, and the
 * observer would refuse its open() of a path.
 */
int sandbox_open_terminal(int pts, int *ret_inside);

/* Leave a copy of @fd with init, so that the last one is not closed here: to close
 * an inotify descriptor takes milliseconds, and seconds on a loaded machine
 */
void sandbox_close_later(const struct sandbox *sandbox, int fd);

/* Kill whatever is left, wait for the end, close everything; safe on a sandbox
 * that was never started (SANDBOX_NONE)
 */
void sandbox_stop(struct sandbox *sandbox);

/* The same for one that is @over, without waiting for init: what it holds takes
 * time to go, and nothing in there can act any more
 */
void sandbox_leave(struct sandbox *sandbox);

#endif /* SANDBOX_SANDBOX_H */
