/* SPDX-License-Identifier: Apache-2.0 */
/* gate/gate-wire.h - the messages between a gate and its supervisor
 *
 * One message is one struct gate_message and what its kind says: text after
 * it, or one descriptor beside it. Descriptors in flight have a limit for all
 * that a user runs, so each may fail to arrive.
 */

#ifndef GATE_GATE_WIRE_H
#define GATE_GATE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/listener.h"
#include "policy/policy.h"

struct buf;

enum {
	GATE_TEXT_MAX = 8 << 10,	/* Bytes of text in a message of the gate's */
	GATE_PART_MAX = 32 << 10,	/* In one to it */
	GATE_POLICY_MAX = 32 << 20,	/* Of a policy, in parts */
};

enum gate_message_kind {
	/* From the gate */
	GATE_VIOLATION,		/* @id, or 0; @client; text: one JSON line
				 * (report/violation.h) */
	GATE_LOST,		/* @id: that many of them were dropped */
	GATE_ASK,		/* @id, @port, @client; text: the host */
	GATE_NAMES,		/* There is a name to resolve and no resolver: answer
				 * GATE_RESOLVER */
	GATE_USED,		/* Text: NAME@HOST, a secret that was put into a
				 * request */
	GATE_HOSTS,		/* The last message. Text: gate_hosts_text() */
	/* To the gate */
	GATE_POLICY,		/* Text: part of the JSON of gate_policy_write();
				 * @id: that many bytes are still to come */
	GATE_LISTENER,		/* @role, @port, @id; descriptor: the socket */
	GATE_UNLISTEN,		/* @id of a listener */
	GATE_ANSWER,		/* @id, @allow, @scope */
	GATE_SEEN,		/* @id of a violation: it was taken */
	GATE_PEER,		/* @port: a client will come from there */
	GATE_RESOLVER,		/* @allow: a resolver is at the other end of the
				 * descriptor, or, without one, of @names of
				 * struct gate_config; else there is none */
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

typedef bool (*gate_policy_fn)(const struct policy *policy, enum string_list list,
			       const struct list_rule *rule);

/* Append what the network needs of @policy, with those rules about hosts for which @keep
 * is true, or all (NULL)
 */
void gate_policy_write(const struct policy *policy, gate_policy_fn keep,
		       struct buf *out);
/* The reverse: a new policy, or NULL if it can't be read */
struct policy *gate_policy_read(const char *text, size_t n);

/* Both at once: a copy of what the network needs */
struct policy *gate_policy_copy(const struct policy *policy, gate_policy_fn keep);

#endif /* GATE_GATE_WIRE_H */
