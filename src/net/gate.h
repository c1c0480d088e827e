/* SPDX-License-Identifier: Apache-2.0 */
/* net/gate.h - the process that serves a sandbox's network
 *
 * The only one that parses bytes from the network. It is forked by the
 * supervisor (net/gatekeeper.h), confines itself before its first byte, and
 * ends with the supervisor. Without it nobody accepts on the listeners.
 */

#ifndef NET_GATE_H
#define NET_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/resolve.h"
#include "net/timer.h"

struct listener_set;
struct loop;
struct policy;

enum {
	GATE_CONNS_MAX = 512,	/* Beyond: 503 */
	GATE_SHED_MAX = 128,	/* Of those, who get to hear it */
	GATE_PEERS_SIZE = 65536 / 8,	/* Bytes of a bit for each port */
};

/**
 * struct gate_shared - What a gate shows its supervisor (net/gate-process.h)
 * @waits:	It has dealt with all that came
 * @conns:	Connections that are open
 */
struct gate_shared {
	atomic_bool waits;
	atomic_size_t conns;
};

/**
 * struct gate_config - What a gate is told at its start
 * @listeners:	Taken over: the descriptors are closed when the gate ends
 * @policy:	What is allowed
 * @control:	SOCK_SEQPACKET to the supervisor (net/gate-wire.h)
 * @names:	To whoever will resolve names
 * @loop:	To run; nothing is in it yet
 * @shared:	To be kept up to date
 * @may_ask:	Unknown hosts are a question, not a refusal
 * @looked_at:	The supervisor looks who is refused, and says so (GATE_SEEN)
 * @lookup:	How the supervisor's resolver does it; NULL for the C library
 * @peers:	A bit for each port that a client may come from, cleared when it
 *		has; GATE_PEER sets more. NULL: whoever reaches a listener.
 * @jail:	Namespaces (user, network) to dial from, or NULL: our own
 * @conns_max:	Fewer connections than GATE_CONNS_MAX; 0 for that
 * @ms:		Shorter times than net/timers.def; 0 for those
 */
struct gate_config {
	struct listener_set *listeners;
	struct policy *policy;
	int control, names;
	struct loop *loop;
	struct gate_shared *shared;
	bool may_ask, looked_at;
	resolve_fn lookup;
	uint8_t *peers;
	const int *jail;
	size_t conns_max;
	unsigned int ms[TIMER_KINDS];
};

/* In the forked process: forgets everything but @config, confines itself,
 * serves until @control ends, and never returns.
 */
void gate_main(const struct gate_config *config) __attribute__((noreturn));

#endif /* NET_GATE_H */
