/* SPDX-License-Identifier: Apache-2.0 */
/* net/gate-process.h - the gate as its supervisor has it: a process, and a few
 * words of memory that both can see
 */

#ifndef NET_GATE_PROCESS_H
#define NET_GATE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "net/resolve.h"

enum { GATE_RESOLVERS_MAX = 8 };	/* One after the other: who ends so often
					 * will end again */

struct err;
struct gate_config;
struct gate_shared;
struct loop;

/**
 * struct gate_process - Zero-initialise it, but for the descriptors, which are -1
 * @pid:	Of the gate, or 0
 * @control:	To it; -1 without one
 * @names:	The other end of where it asks for names; -1 once somebody has it
 * @resolver:	Pid of who does, or 0
 * @resolvers:	How many there have been
 * @loop:	The loop that it runs, of which we only see whether anything is
 *		ready
 * @shared:	What it says about itself
 */
struct gate_process {
	pid_t pid;
	int control, names;
	pid_t resolver;
	int resolvers;
	struct loop *loop;
	struct gate_shared *shared;
};

/* Fork a gate, which gets @config with what is ours to add. The listeners stay
 * open here as well, for the caller to close. 0 or a negative errno with words.
 */
int gate_process_start(struct gate_process *process,
		       const struct gate_config *config, struct err *err);

/* True if whatever was sent to it so far, by anybody, has been dealt with, and
 * no connection is open
 */
bool gate_process_is_idle(const struct gate_process *process);

/* Fork somebody who looks up names, with @fn (see resolve_main()), in the place of
 * the one before, which has ended if it is missed. *@theirs is the gate's end of a
 * new way to it, for the caller to close, or -1: the gate has it already. 0 or a
 * negative errno.
 */
int gate_process_resolve(struct gate_process *process, resolve_fn fn,
			 int *theirs);

/* End both, if there are any; and @wait for that, unless we are about to end as
 * well
 */
void gate_process_end(struct gate_process *process, bool wait);

#endif /* NET_GATE_PROCESS_H */
