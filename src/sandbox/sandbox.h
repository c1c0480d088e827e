/* SPDX-License-Identifier: Apache-2.0 */
/* cage/cage.h - carry out a plan: the sandbox's first process, and its messages
 *
 * cage_begin() forks the sandbox's init into new namespaces, which takes about as
 * long as making a plan: so it comes first, and init meanwhile does all that is
 * the same in every sandbox. cage_start() hands it the plan. Init builds the
 * cage stage by stage (child.c has the order), then runs the command. All that
 * it has to say comes over one socket as struct cage_message; when that socket
 * ends, so does the sandbox.
 */

#ifndef CAGE_CAGE_H
#define CAGE_CAGE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "plan/mask.h"
#include "plan/tier.h"
#include "policy/policy.h"

struct err;
struct plan;

enum cage_event {
	CAGE_FAILED,	/* Nothing ran: @value is an exit status, @text says why */
	CAGE_MASKS,	/* Before that: the masks talk; descriptors: the
			 * sandbox's pid namespace, their FUSE connection, the
			 * directories that they show (plan/mask.h)
			 */
	CAGE_READY,	/* The cage stands; descriptors: its user, mount and
			 * network namespaces and its mountinfo, twice (in tier
			 * full), then the seccomp listener if @value has
			 * CAGE_HAS_OBSERVER. With CAGE_HAS_NETWORK the
			 * listeners follow (plan/listener.h).
			 */
	CAGE_STARTED,	/* The command runs; descriptor: its pidfd */
	CAGE_STOPPED,	/* The command was stopped by signal @value */
	CAGE_CONTINUED,	/* It runs again */
	CAGE_EXITED,	/* The command ended, and so did all others but init:
			 * @value is its wait status
			 */
};

enum {
	CAGE_TEXT_MAX = 1024,
	CAGE_HAS_OBSERVER = 1,
	CAGE_HAS_NETWORK = 2,
	CAGE_HOST_PROC = 4,	/* /proc is the host's: plan->weak_proc */
	CAGE_NO_LAYER = 16,	/* Shared directories are read-only (MOUNT_LAYER) */
	CAGE_OWN_FDS = 5,	/* Those that tier full hands over */
	CAGE_READY_FDS = CAGE_OWN_FDS + 1,
	CAGE_MASKS_FDS = 2 + MASK_WAYS_MAX,
	CAGE_FDS_MAX = CAGE_MASKS_FDS,	/* With any message */
};

/**
 * struct cage_message - One message from init
 * @event:	What happened
 * @value:	See enum cage_event
 * @read_to:	With CAGE_EXITED: how far standard input was read, if it was opened
 *		again, or -1
 * @code:	With CAGE_FAILED: a negative errno; @text: one line
 */
struct cage_message {
	enum cage_event event;
	int value, code;
	int64_t read_to;
	char text[CAGE_TEXT_MAX];
};

enum { CAGE_LIMITS_MAX = 8 };

/**
 * struct cage_limit - One resource limit to set before the command starts
 */
struct cage_limit {
	int resource;
	uint64_t value;
};

/**
 * struct cage_birth - What init must know before there is a plan
 * @net:	As the plan has it: NET_NONE and NET_FILTERED get a network of
 *		their own, NET_JAIL is in that of @jail
 * @jail:	Namespaces (user, network) to be in, of an egress jail; or -1
 */
struct cage_birth {
	enum tier tier;
	enum net_mode net;
	int jail[2];
};

/**
 * struct cage_request - What the plan does not know
 * @plan:	What to do
 * @tmp_path:	The directory kept as /tmp, or NULL
 * @aside:	Where changes are kept (--ephemeral), or NULL
 * @stdio:	Descriptors that become 0, 1 and 2; -1 is closed
 * @stdin_path:	Where @stdio[0] is opened again (reopen.c), or NULL
 * @jail:	See struct cage_birth
 * @limits:	Resource limits
 * @wait:	Start the command only after a byte on the socket
 * @mask:	The command's signal mask
 */
struct cage_request {
	const struct plan *plan;
	const char *tmp_path, *aside;
	int stdio[3];
	const char *stdin_path;
	int jail[2];
	struct cage_limit limits[CAGE_LIMITS_MAX];
	size_t nlimits;
	bool wait;
	sigset_t mask;
};

/**
 * struct cage - A sandbox that is being built or runs
 * @tier, @net:	As it was born
 * @room:	Shared with init, which only reads it
 * @pid:	Init, as seen from here
 * @pidfd:	Init; readable when it and all else in there is gone
 * @socket:	Messages from init; closing it ends the sandbox
 * @sweeps:	Init itself ends the others, so it must not be killed
 * @crowded:	Init's processor is busy with its network; ours is the other
 * @over:	CAGE_EXITED has come: only init is left, and leaves by itself
 */
struct cage {
	enum tier tier;
	enum net_mode net;
	struct arena room;
	pid_t pid;
	int pidfd, socket;
	bool sweeps, crowded, over;
};

#define CAGE_NONE { .pidfd = -1, .socket = -1 }

/* main() only: its own arguments and environment, which init must not keep */
void cage_set_image(char **argv, char **envp);

/* Fork init, which waits for its plan. 0 and *@ret, or a negative errno with
 * words: then nothing was started. It can be given up with cage_stop().
 */
int cage_begin(const struct cage_birth *birth, struct cage *ret,
	       struct err *err);

/* Build as @request says, in the sandbox that was begun if it was born for that,
 * else in a new one. 0, or a negative errno with words: then nothing runs.
 * Signals should be blocked by the caller beforehand.
 */
int cage_start(struct cage *cage, const struct cage_request *request,
	       struct err *err);

/* The command has started: nobody needs the plan any more, and at the end there
 * is less to do
 */
void cage_forget_plan(struct cage *cage);

/* The byte that a request with @wait waits for. 0 or a negative errno. */
int cage_go(const struct cage *cage);

/* Leave a copy of @fd with init, so that it is not here that the last one is
 * closed: some descriptors (inotify) take milliseconds for that, and seconds on
 * a machine that has no time
 */
void cage_bury(const struct cage *cage, int fd);

/* Kill whatever is left, wait for the end, close everything; safe on a cage
 * that was never started (CAGE_NONE)
 */
void cage_stop(struct cage *cage);

/* The same for one that is @over, without waiting for init: what it holds takes
 * time to go, and nothing in there can act any more
 */
void cage_leave(struct cage *cage);

#endif /* CAGE_CAGE_H */
