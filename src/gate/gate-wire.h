/* SPDX-License-Identifier: Apache-2.0 */
/* net/gate-wire.h - the messages between a gate and its supervisor
 *
 * One message is one struct gate_message and what its kind says: text after
 * it, or one descriptor beside it. Descriptors on their way count for all that
 * a user runs, and there is a limit: who needs one must be able to do without.
 */

#ifndef NET_GATE_WIRE_H
#define NET_GATE_WIRE_H

#include <stdint.h>

#include "plan/listener.h"

enum {
	GATE_TEXT_MAX = 8 << 10,	/* Bytes of text in a message of the gate's */
	GATE_PART_MAX = 32 << 10,	/* In one to it */
};

enum gate_message_kind {
	/* From the gate */
	GATE_VIOLATION,		/* @id, or 0; @client; text: one JSON line
				 * (policy/violation.h) */
	GATE_LOST,		/* @id: that many of them were dropped */
	GATE_ASK,		/* @id, @port, @client; text: the host */
	GATE_NAMES,		/* There is a name to resolve, and nobody who does:
				 * answer GATE_RESOLVER */
	/* To the gate */
	GATE_POLICY,		/* Text: part of the JSON (net/gate-policy.h);
				 * @id: that many bytes are still to come */
	GATE_LISTENER,		/* @role, @port, @id; descriptor: the socket */
	GATE_UNLISTEN,		/* @id of a listener */
	GATE_ANSWER,		/* @id, @allow, @scope */
	GATE_SEEN,		/* @id of a violation: it was taken */
	GATE_PEER,		/* @port: a client will come from there */
	GATE_RESOLVER,		/* @allow: somebody is at the other end of the
				 * descriptor, or, without one, of @names of
				 * struct gate_config; or nobody */
	GATE_FINISH,		/* The command has ended */
};

struct gate_message {
	uint32_t kind;
	uint32_t id;
	uint16_t role, port;
	uint8_t allow, scope;
	uint8_t pad[2];
	struct listener_client client;
};

#endif /* NET_GATE_WIRE_H */
