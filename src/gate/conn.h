/* SPDX-License-Identifier: Apache-2.0 */
/* gate/conn.h - one connection of a sandboxed program
 *
 * The step function is its kind: it is called whenever something may have changed, does
 * what can be done and returns. It is never entered twice, and a closed connection stays in
 * memory until the current events are handled.
 */

#ifndef GATE_CONN_H
#define GATE_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gate/conn-timer.h"
#include "gate/destination.h"
#include "gate/gate-state.h"
#include "gate/splice.h"

struct exchange;

enum { CONN_INPUT_MAX = 16 << 10 };	/* A head, a ClientHello */

/**
 * struct input - Bytes that were read and are looked at before they move on
 */
struct input {
	char *p;
	size_t off, len;
};

/**
 * struct conn - One connection
 * @step:	What to do when something happened
 * @expired:	What to do when it took too long
 * @state:	The step function's own
 * @counted:	Counts for the limit; else it only gets an answer
 * @running, @again, @closed: See conn_run()
 * @active:	Something moved since the idle timer was started
 * @inspect:	The client's first bytes are still to be looked at
 * @published:	The server is inside, the client is not
 * @client, @server: Both sides
 * @up, @down:	To the server, and back
 * @in:		From the client
 * @seen:	Waits until its refusal was looked at
 * @reach:	The way to the server; reach.host is its destination
 * @named:	The client's name for it, where it is an address; or NULL
 * @http:	Requests and responses, for connections that have them
 * @tls:	Number of a connection that cloche-tls serves, or 0
 * @local:	Of its client, plain HTTP (gate/local-url.h)
 */
struct conn {
	struct gate *gate;
	LIST_ENTRY(conn) link;
	void (*step)(struct conn *conn);
	void (*expired)(struct conn *conn);
	int state;
	bool counted, running, again, closed, active, inspect, published, local;
	struct splice_end client, server;
	struct splice up, down;
	struct input in;
	struct timer timer;
	struct loop_task task;
	struct seen_wait seen;
	struct gate_destination reach;
	struct host *named;
	struct exchange *http;
	uint32_t tls;
};

/* Make a connection of the accepted @fd, which is taken. The caller sets it going
 * with a conn_start_*() function.
 */
struct conn *conn_new(struct gate *gate, int fd, bool counted);

/* The ways to begin; @meant is the address that the client connected to */
void conn_start_http(struct conn *conn);
void conn_start_socks(struct conn *conn);
void conn_start_dns(struct conn *conn);
void conn_start_captured(struct conn *conn, const struct host *meant);
void conn_start_fixed(struct conn *conn, uint16_t port);
void conn_start_published(struct conn *conn, uint16_t port);

/* HTTP on a captured connection for @host */
void conn_start_origin(struct conn *conn, const struct host *host);

/* Forward bytes both ways between the client and the connected server, @in first; with
 * @inspect only after the client's first bytes were examined
 */
void conn_tunnel(struct conn *conn, bool inspect);

/* True if a secret is bound to the destination; then cloche-tls serves it, from the
 * client's first bytes on, which are in @in
 */
bool conn_needs_tls(const struct conn *conn);
void conn_hand_over(struct conn *conn);
/* A message of cloche-tls's: for the loop, @gate */
int conn_tls_message(void *gate);

/* Let the step function run until it has nothing to do; when called from
 * within it, once more.
 */
void conn_run(struct conn *conn);
/* The callback of struct gate_destination and struct dial: the server is connected, or
 * cannot be
 */
void conn_wake(void *conn);

/* Run again after other connections had their turn */
void conn_later(struct conn *conn);

/* Read into conn->in: true if there is something new */
bool conn_read(struct conn *conn);
void input_read(struct input *in, struct splice_end *from);
void input_take(struct input *in, size_t n);
void input_done(struct input *in);

/* Start to connect to conn->reach.host; the step function sees the outcome.
 * @plain as in struct gate_destination.
 */
void conn_reach(struct conn *conn, const struct host *host, const char *op,
		bool plain);

/* The client calls the address that it is connected to @name, which is allowed, or
 * by no name (NULL)
 */
void conn_set_name(struct conn *conn, const struct host *name);

/* Report a refusal of this connection, which then waits (@seen) */
void conn_report(struct conn *conn, struct refusal refusal);

/* Wait at most this long for the next thing */
void conn_wait(struct conn *conn, enum timer_kind kind);

/* Close: in order, after the client took the answer @p or a while has passed;
 * or at once, the client seeing a reset
 */
void conn_close_with(struct conn *conn, const void *p, size_t n);
void conn_close(struct conn *conn);
void conn_reset(struct conn *conn);

/* The same reset, once the supervisor has looked up the process that was refused */
void conn_refuse(struct conn *conn);

/* Close what the policy no longer allows */
void conn_decide_again(struct conn *conn);

void exchange_free(struct exchange *exchange);
/* True if nothing of a request is left to be passed on */
bool exchange_is_sent(const struct exchange *exchange);
/* True if the request is a CONNECT, and nothing was sent through it yet */
bool exchange_is_empty(const struct conn *conn);

#endif /* GATE_CONN_H */
