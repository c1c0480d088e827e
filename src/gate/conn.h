/* SPDX-License-Identifier: Apache-2.0 */
/* net/conn.h - one connection of a sandboxed program
 *
 * What kind of connection it is, is its step function: called whenever
 * something may have changed, it does what can be done and returns. Nothing in
 * it is ever called from within itself, and a connection that was closed stays
 * in memory until nobody can be looking at it.
 */

#ifndef NET_CONN_H
#define NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/flow.h"
#include "net/gate-state.h"
#include "net/http-answer.h"
#include "net/http.h"
#include "net/reach.h"
#include "net/timer.h"
#include "plan/listener.h"

struct buf;
struct exchange;
struct http_body;

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
 * @counted:	Counts for the limit; else it only gets a last word
 * @running, @again, @closed: See conn_run()
 * @active:	Something moved since the idle timer was started
 * @inspect:	The client's first bytes are still to be looked at
 * @published:	The server is inside, the client is not
 * @client, @server: Both sides
 * @up, @down:	To the server, and back
 * @in:		From the client
 * @seen:	Waits until its refusal was looked at
 * @reach:	The way to the server; reach.host is whom this is about
 * @named:	Whom the client calls that, where it is an address; or NULL
 * @http:	Requests and responses, for connections that have them
 */
struct conn {
	struct gate *gate;
	struct conn *prev, *next;
	void (*step)(struct conn *conn);
	void (*expired)(struct conn *conn);
	int state;
	bool counted, running, again, closed, active, inspect, published;
	struct end client, server;
	struct flow up, down;
	struct input in;
	struct timer timer;
	struct loop_task task;
	struct seen_wait seen;
	struct reach reach;
	struct host *named;
	struct exchange *http;
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

/* From here on bytes both ways, between a client and a server that is there;
 * with @inspect only after a look at how the client begins. What is in @in
 * goes first.
 */
void conn_tunnel(struct conn *conn, bool inspect);

/* Let the step function run until it has nothing to do; when called from
 * within it, once more.
 */
void conn_run(struct conn *conn);
/* For a struct reach */
void conn_wake(void *conn);

/* Come back after others had their turn */
void conn_later(struct conn *conn);

/* Read into conn->in: true if there is something new */
bool conn_read(struct conn *conn);
void input_read(struct input *in, struct end *from);
void input_take(struct input *in, size_t n);
void input_done(struct input *in);

/* Go on to where conn->reach.host is: the step function sees the outcome.
 * @plain as in struct reach.
 */
void conn_reach(struct conn *conn, const struct host *host, const char *op,
		bool plain);

/* The client calls the address that it is connected to @name, which is allowed, or
 * by no name (NULL)
 */
void conn_call(struct conn *conn, const struct host *name);

/* Wait at most this long for the next thing */
void conn_wait(struct conn *conn, enum timer_kind kind);

/* Close: in order, after the last words @p were taken or a while has passed;
 * or at once, the client seeing a reset
 */
void conn_say(struct conn *conn, const void *p, size_t n);
void conn_close(struct conn *conn);
void conn_reset(struct conn *conn);

/* The same reset for one that was just reported: when that was looked at */
void conn_refuse(struct conn *conn);

/* Close with an answer of our own to an HTTP request: @words may be NULL; or
 * only why; or what became of conn->reach
 */
void conn_answer(struct conn *conn, enum http_answer what,
		 const struct http_answer_words *words);
void conn_answer_why(struct conn *conn, enum http_answer what,
		     const char *why);
void conn_answer_outcome(struct conn *conn, bool head_only);

/* True if what Host names, or the target of a request that goes no further, is
 * allowed; else it was reported and answered
 */
bool conn_allows(struct conn *conn, const struct http_request *request);

/* Close what the policy no longer allows */
void conn_judge_again(struct conn *conn);

/* One step for a body: what was read goes through the framing check into the
 * flow; if nothing was, and much is to come that needs no look, it is pumped.
 * Bytes that moved; or a negative errno, -EBADMSG for the framing.
 */
ssize_t conn_move_body(struct http_body *body, struct input *in,
		       struct flow *flow);

void exchange_free(struct exchange *exchange);
/* True if nothing of a request is left to be passed on */
bool exchange_is_sent(const struct exchange *exchange);
/* True if all that was asked for is a tunnel, and nothing sent through it yet */
bool exchange_is_bare(const struct conn *conn);

#endif /* NET_CONN_H */
