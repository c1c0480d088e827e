/* SPDX-License-Identifier: Apache-2.0 */
/* net/gate-state.h - what the parts of the gate share
 *
 * Only for the files of the gate itself.
 */

#ifndef NET_GATE_STATE_H
#define NET_GATE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "net/gate.h"
#include "net/parent.h"
#include "policy/violation.h"

struct asks;
struct conn;
struct gate_message;
struct host;
struct host_rule;
struct pool;
struct lookup;
struct seed;
struct timers;

/**
 * struct gate - One sandbox's network
 * @conns:	All connections, and how many of them count for the limit
 * @shed:	Connections that only get a last word
 * @spare:	A descriptor kept for the day when there is none left
 * @control:	To and from the supervisor
 * @lost:	Reports that found no room on their way
 * @listeners:	Where connections come from
 * @peers:	See struct gate_config
 * @pause:	Runs while nothing is accepted, for want of descriptors
 */
struct gate {
	struct loop *loop;
	struct timers *timers;
	struct lookup *resolver;
	struct policy *policy;
	struct pool *pool;
	struct asks *asks;
	struct seed *seed;
	struct parents parents;
	bool may_ask;
	uint16_t http_proxy_port, socks_proxy_port;
	size_t conns_max;

	struct conn *first;
	size_t conns, shed;
	int spare;
	struct loop_source control;
	uint64_t lost;
	struct gate_listener *listeners;
	uint8_t *peers;
	struct timer pause;
};

/* Take what the supervisor has said so far: 0 or a negative errno */
int gate_hear(struct gate *gate);

/**
 * struct refusal - What to say about one
 * @kind:	Of the record
 * @op:		What the client did
 * @host:	Where to
 * @reason:	Words
 * @rule:	Who refused, or NULL
 */
struct refusal {
	enum violation_kind kind;
	const char *op;
	const struct host *host;
	const char *reason;
	const struct host_rule *rule;
};

/* Send a record to the supervisor; what finds no room is counted */
void gate_report(struct gate *gate, const struct refusal *refusal);

/* Send a message with @n bytes of text to the supervisor, or -errno at once */
int gate_send(struct gate *gate, const struct gate_message *message,
	      const char *text, size_t n);

/* A verdict with session answers taken into account: see host_decide() */
struct host_verdict gate_decide(const struct gate *gate,
				const struct host *host);

#endif /* NET_GATE_STATE_H */
