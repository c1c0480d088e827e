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

#include "base/buf.h"
#include "base/loop.h"
#include "net/gate.h"
#include "net/parent.h"
#include "net/search.h"
#include "net/timer.h"
#include "policy/violation.h"

struct asks;
struct conn;
struct dns_held;
struct gate_message;
struct host;
struct host_rule;
struct listener_client;
struct pool;
struct lookup;
struct seed;
struct timers;

/**
 * struct seen_wait - Somebody who waits until a report was taken
 *
 * The supervisor looks who it was that is refused. Until it has, or a moment
 * has passed, the client does not hear of the refusal: it might be gone then.
 * Zero-initialise it.
 * @fn:		Called with @arg when the wait is over; nobody waits any more
 * @id:		Of the report, or 0
 */
struct seen_wait {
	void (*fn)(void *arg);
	void *arg;
	uint32_t id;
	struct seen_wait *prev, *next;
	struct timer timer;
	struct gate *gate;
};

enum { GATE_SPARES = 2 };	/* For who connects; for what the supervisor sends */

/**
 * struct gate - One sandbox's network
 * @shared:	Where the supervisor sees whether we have anything to do
 * @edition:	How often @policy was replaced
 * @conns:	All connections, and how many of them count for the limit
 * @shed:	Connections that only get a last word
 * @crowded:	There was no room, which was told, and has been none since
 * @spares:	Descriptors kept for the day when there is none left: see
 *		net/accept.h
 * @control:	To and from the supervisor
 * @names:	For the resolver, once there is one
 * @coming:	A policy of which not all parts are there
 * @lost:	Reports that found no room on their way
 * @last_report, @unseen: Number of the last one, and who waits
 * @looked_at:	The supervisor looks, and says when it has
 * @held, @n_held: Answers of the DNS that wait for that
 * @unreached:	Datagrams that nobody takes: see net/unreached.h
 * @listeners:	Where connections come from
 * @peers:	See struct gate_config
 * @last:	The supervisor has no more to say: the command has ended. Whoever
 *		hears it, it is for later: a listener may be at work.
 * @finishing:	What it sent is still passed on, until @end is over
 * @pause:	Runs while nothing is accepted, for want of descriptors
 */
struct gate {
	struct loop *loop;
	struct gate_shared *shared;
	struct timers *timers;
	struct lookup *resolver;
	struct policy *policy;
	unsigned int edition;
	struct pool *pool;
	struct asks *asks;
	struct seed *seed;
	struct parents parents;
	bool may_ask;
	uint16_t http_proxy_port, socks_proxy_port;
	size_t conns_max;

	struct conn *first;
	size_t conns, shed;
	bool crowded;
	int spares[GATE_SPARES];
	struct loop_source control;
	int names;
	struct buf coming;
	uint64_t lost;
	uint32_t last_report;
	struct seen_wait *unseen;
	bool looked_at;
	struct dns_held *held;
	size_t n_held;
	struct search search;
	struct host refused;
	struct unreached *unreached;
	struct gate_listener *listeners;
	uint8_t *peers;
	struct timer pause, end;
	struct loop_task last;
	bool finishing;
};

/* Take what the supervisor has said so far: 0 or a negative errno */
int gate_hear(struct gate *gate);

/**
 * struct refusal - What to say about one
 * @kind:	Of the record
 * @op:		What the client did
 * @host:	Where to
 * @address:	What it stands for, if that was refused; or NULL
 * @named:	What the client called it, if that is why; or NULL
 * @fix:	What to do, where no rule of the user's would help; or NULL
 * @by_port:	A rule that names the port as well would allow it
 * @reason:	Words
 * @rule:	Who refused, or NULL
 * @conn:	Whose, or NULL
 * @datagram:	Without a connection: where it came from, or NULL
 */
struct refusal {
	enum violation_kind kind;
	const char *op;
	const struct host *host, *address, *named;
	const char *fix;
	bool by_port;
	const char *reason;
	const struct host_rule *rule;
	struct conn *conn;
	const struct listener_client *datagram;
};

/* Send a record to the supervisor; what finds no room is counted. If @wait is
 * not NULL and there is something to wait for, it waits (@id is not 0).
 */
void gate_report(struct gate *gate, const struct refusal *refusal,
		 struct seen_wait *wait);

/* Tell that there was no room for one more connection */
void gate_report_crowd(struct gate *gate);

/* Both ends of a client's socket */
void gate_look_at(const struct conn *conn, struct listener_client *ret);

/* The report @id was taken: whoever waits goes on */
void gate_seen(struct gate *gate, uint32_t id);
/* Wait no more; safe at any time */
void seen_forget(struct seen_wait *wait);

/* Send a message with @n bytes of text to the supervisor, or -errno at once */
int gate_send(struct gate *gate, const struct gate_message *message,
	      const char *text, size_t n);

/* A verdict with session answers taken into account: see host_decide() */
struct host_verdict gate_decide(const struct gate *gate,
				const struct host *host);

#endif /* NET_GATE_STATE_H */
