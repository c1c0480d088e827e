/* SPDX-License-Identifier: Apache-2.0 */
/* gate/gate.h - the process that serves a sandbox's network
 *
 * The only process that parses bytes from the network. The supervisor forks it
 * (gate/gate-client.h); it confines itself before its first byte and ends with
 * the supervisor. Without it no process accepts on the listeners.
 */

#ifndef GATE_GATE_H
#define GATE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gate/conn-timer.h"
#include "gate/resolver.h"

struct listener_set;
struct policy;

enum { GATE_PEERS_SIZE = 65536 / 8 };	/* Bytes of a bit for each port */

/**
 * struct gate_config - What a gate starts with
 * @listeners:	Taken over: the descriptors are closed when the gate ends
 * @policy:	What is allowed
 * @control:	SOCK_SEQPACKET to the supervisor (gate/gate-wire.h)
 * @names:	To the resolver, once there is one
 * @may_ask:	Unknown hosts are a question, not a refusal
 * @wait_for_lookup: The supervisor looks which process is refused, and answers
 *		GATE_SEEN
 * @lookup:	What the resolver calls; NULL for the C library
 * @peers:	A bit for each port that a client may come from, cleared when it
 *		has; GATE_PEER sets more. NULL: any client.
 * @jail:	Namespaces (user, network) to dial from, or NULL: our own
 * @conns_max:	Fewer connections than GATE_CONNS_MAX; 0 for that
 * @ms:		Shorter times than gate/conn-timers.def; 0 for those
 */
struct gate_config {
	struct listener_set *listeners;
	struct policy *policy;
	int control, names;
	bool may_ask, wait_for_lookup;
	resolve_fn lookup;
	uint8_t *peers;
	const int *jail;
	size_t conns_max;
	unsigned int ms[TIMER_KINDS];
};

/* In the forked process: confines itself, serves until @control ends, and never
 * returns
 */
void gate_main(const struct gate_config *config) __attribute__((noreturn));

#endif /* GATE_GATE_H */
