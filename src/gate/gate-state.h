/* SPDX-License-Identifier: Apache-2.0 */
/* gate/gate-state.h - state of the gate, the process that serves a sandbox's network
 *
 * The gate is the only process that parses data from the network. The supervisor forks
 * it (gate/gate-client.h); it confines itself before it reads any, and ends with the
 * supervisor. No other process accepts connections on the listeners.
 */

#ifndef GATE_GATE_STATE_H
#define GATE_GATE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/loop.h"
#include "gate/conn-timer.h"
#include "gate/parent-proxy.h"
#include "gate/resolver.h"
#include "report/violation.h"

struct asks;
struct bound_secrets;
struct fake_ip;
struct gate_message;
struct list_rule;
struct listener_client;
struct listener_set;
struct lookup;
struct search_list;
struct udp_refusals;

enum {
	GATE_CONNS_MAX = 512,	/* Further ones are answered with 503 */
	GATE_SHED_MAX = 128,	/* Connections that wait for that answer */
	GATE_TLS_TEXT_MAX = 2048,	/* Bytes of a message from cloche-tls */
	GATE_SPARES = 2,	/* For a new connection; for a message with one */
	GATE_TRAFFIC_MAX = 64,	/* Rows of traffic: 63 hosts, and the sum of the others */
	GATE_HOSTS_MAX = 3 << 10,	/* Bytes of their text */
};

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
 * @secrets, @tls: Which hosts cloche-tls serves, and a socket to it; or NULL and -1
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
	const struct bound_secrets *secrets;
	int tls;
	size_t conns_max;
	unsigned int ms[TIMER_KINDS];
};

/* In the forked process: confines itself, serves until @control ends, and never
 * returns
 */
void gate_main(const struct gate_config *config) __attribute__((noreturn));

/**
 * struct seen_wait - A client whose refusal is delayed
 *
 * The supervisor looks up the process behind the connection in /proc. The client
 * might exit when it is refused, so it gets its answer after that, or after a timeout.
 * Zero-initialise it.
 * @fn:		Called with @arg when the wait is over
 * @id:		Of the report; 0 while it does not wait
 */
struct seen_wait {
	void (*fn)(void *arg);
	void *arg;
	uint32_t id;
	LIST_ENTRY(seen_wait) link;
	struct timer timer;
	struct gate *gate;
};

/**
 * struct gate_traffic - What was moved between the sandbox and one host
 * @host:	With its port; without a name it is all that had no row of its own
 * @conns:	Connections to it that were made
 */
struct gate_traffic {
	struct host host;
	uint64_t conns, sent, received;
};

/**
 * struct gate - One sandbox's network
 * @edition:	How often @policy was replaced
 * @seeds:	Listener and socket to make others inside
 * @conns, @n_conns: Connections, and how many count for the limit
 * @shed:	Connections beyond the limit, which are answered with 503
 * @crowded:	The limit was reported, and has been reached ever since
 * @spares:	Descriptors to give up when none is left
 * @control:	To and from the supervisor
 * @names:	For the resolver, once there is one
 * @partial_policy: Parts of a policy that is not complete
 * @lost:	Reports that the socket to the supervisor had no space for
 * @last_report, @unseen: Number of the last one, and clients that wait for one
 * @wait_for_lookup: See struct gate_config
 * @pending, @n_pending: DNS answers that wait for that
 * @refused:	The last name that the DNS refused
 * @peers:	See struct gate_config
 * @last:	Runs once the command has ended
 * @finishing:	What the command sent is still passed on, until @end fires
 * @secrets:	Which hosts cloche-tls serves, or NULL
 * @tls, @last_tls: To cloche-tls, and the last number of a connection there
 * @pause:	Runs while nothing is accepted for want of descriptors
 * @traffic, @n_traffic: The hosts that were reached
 */
struct gate {
	struct loop *loop;
	struct timers *timers;
	struct lookup *resolver;
	struct policy *policy;
	unsigned int edition;
	struct fake_ip *pool;
	struct asks *asks;
	int seeds[2];
	struct parent_proxies parents;
	bool may_ask;
	uint16_t http_proxy_port, socks_proxy_port;
	size_t conns_max;

	LIST_HEAD(, conn) conns;
	size_t n_conns, shed;
	bool crowded;
	int spares[GATE_SPARES];
	struct loop_source control;
	int names;
	struct buf partial_policy;
	uint64_t lost;
	uint32_t last_report;
	LIST_HEAD(, seen_wait) unseen;
	bool wait_for_lookup;
	LIST_HEAD(, dns_pending) pending;
	size_t n_pending;
	struct search_list *search;
	struct host refused;
	struct udp_refusals *udp;
	LIST_HEAD(, gate_listener) listeners;
	uint8_t *peers;
	struct timer pause, end;
	struct loop_task last;
	bool finishing;
	const struct bound_secrets *secrets;
	struct loop_source tls;
	uint32_t last_tls;
	struct gate_traffic traffic[GATE_TRAFFIC_MAX];
	size_t n_traffic;
};

/* Take all messages that the supervisor has sent: 0 or a negative errno */
int gate_take_messages(struct gate *gate);

/**
 * struct refusal - What to report
 * @op:		What the client did
 * @host:	Where to
 * @address:	What it resolved to, if that was refused; or NULL
 * @named:	What the client called it, if that is why; or NULL
 * @fix:	What to do, where no rule of the user's would help, or the command that
 *		helps; or NULL
 * @key:	The setting that decided, if that is not the list of hosts
 * @by_port:	A rule that names the port as well would allow it
 * @reason:	One line
 * @rule:	What refused it, or NULL
 * @client:	Socket of the client's connection, or 0
 * @datagram:	Without a connection: where it came from, or NULL
 */
struct refusal {
	enum violation_kind kind;
	const char *op;
	const struct host *host, *address, *named;
	const char *fix, *key;
	bool by_port;
	const char *reason;
	const struct list_rule *rule;
	int client;
	const struct listener_client *datagram;
};

/* Send a record to the supervisor; one that the socket has no space for is
 * counted. @wait, if not NULL, waits (its @id is not 0) if the supervisor looks
 * up clients.
 */
void gate_report(struct gate *gate, const struct refusal *refusal,
		 struct seen_wait *wait);

/* Report that the limit of connections is reached, and that one of them is closed; once until
 * there is space again
 */
void gate_report_crowd(struct gate *gate);

/* A connection to @host is over, or a part of it: add to its row */
void gate_count(struct gate *gate, const struct host *host, uint64_t conns,
		uint64_t sent, uint64_t received);
/* "HOST:PORT=CONNECTIONS/SENT/RECEIVED", blanks between them; what there is no space for
 * is added up as "others"
 */
void gate_hosts_text(const struct gate *gate, struct buf *out);

/* The report @id was taken: the client that waits for it goes on */
void gate_seen(struct gate *gate, uint32_t id);
/* Wait no more; safe at any time */
void seen_forget(struct seen_wait *wait);

/* Send a message with @n bytes of text to the supervisor: 0 or -errno, at once */
int gate_send(struct gate *gate, const struct gate_message *message,
	      const char *text, size_t n);

/* host_decide(), with answers for the session taken into account */
struct host_verdict gate_decide(const struct gate *gate,
				const struct host *host);

/* Report datagrams that the kernel refused, as the ICMP socket @fd tells; each
 * destination once, as far as can be remembered
 */
void udp_refusal_report(struct gate *gate, int fd);
/* One datagram, once for each destination */
void udp_refusal_report_one(struct gate *gate, const struct listener_client *c,
			    const char *reason);

#endif /* GATE_GATE_STATE_H */
