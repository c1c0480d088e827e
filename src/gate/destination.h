/* SPDX-License-Identifier: Apache-2.0 */
/* gate/destination.h - from a host to a connection: decide, ask, resolve, dial
 *
 * All connections to hosts begin here, with one validated host for every step.
 */

#ifndef GATE_DESTINATION_H
#define GATE_DESTINATION_H

#include <stdbool.h>

#include "gate/ask.h"
#include "gate/conn-timer.h"
#include "gate/dial.h"
#include "gate/resolver.h"
#include "policy/host.h"

struct splice_end;
struct gate;
struct seen_wait;

enum {
	DESTINATION_REASON_MAX = 200,
	DESTINATION_RULE_MAX = 300,
};

enum destination_outcome {
	DESTINATION_PENDING,
	DESTINATION_OK,
	DESTINATION_DENIED,		/* By the policy, or by the user */
	DESTINATION_GUARDED,		/* All its addresses are refused */
	DESTINATION_NO_NAME,		/* It has no address */
	DESTINATION_REFUSED,		/* It has, but nothing listens there */
	DESTINATION_UNREACHABLE,
	DESTINATION_TIMEOUT,
	DESTINATION_BUSY,		/* Too many at once */
};

/**
 * struct gate_destination - One connection to a host; zero-initialise it, fill in the first part
 * @gate, @end:	@end becomes the connected socket
 * @fn:		Called when @outcome is no longer DESTINATION_PENDING, maybe from
 *		within destination_start()
 * @arg:	Handed to @fn
 * @client, @seen: The client's socket, and what waits when it is refused
 * @op:		What the client did, for reports: "CONNECT", "GET", "connect"
 * @host:	Where to
 * @plain:	HTTP requests will follow: a parent proxy gets them as they
 *		are, without a CONNECT
 * @outcome:	What became of it
 * @reason:	Why it was refused, one line
 * @rule:	"FILE:LINE: KEY" of the rule that refused, or ""
 * @via_parent:	@end leads to a proxy that connects to @host
 * @granted:	The user was asked and allowed it
 * @port:	Of the addresses to dial
 * @parent_timer, @parent_in, @interims: For the answer of a proxy
 */
struct gate_destination {
	struct gate *gate;
	struct splice_end *end;
	void (*fn)(void *arg);
	void *arg;
	int client;
	struct seen_wait *seen;
	char op[24];
	struct host host;
	bool plain;
	enum destination_outcome outcome;
	char reason[DESTINATION_REASON_MAX];
	char rule[DESTINATION_RULE_MAX];

	bool via_parent, granted;
	uint16_t port;
	struct ask_wait ask;
	struct resolve_wait resolve;
	struct dial dial;
	struct timer parent_timer;
	char *parent_in;
	unsigned int interims;
};

void destination_start(struct gate_destination *reach);

/* There is another policy, and @outcome is DESTINATION_OK: true if the connection may go
 * on; else @outcome and @reason are set, and it was reported. An answer to a
 * question holds for the connection it was for.
 */
bool destination_is_allowed(struct gate_destination *reach);

/* The policy was replaced while @outcome is DESTINATION_PENDING: refuse what the new one
 * does not allow; start the rest again, unless the user is being asked
 */
void destination_decide_again(struct gate_destination *reach);

/* Give up without calling @fn; safe at any time */
void destination_stop(struct gate_destination *reach);

#endif /* GATE_DESTINATION_H */
