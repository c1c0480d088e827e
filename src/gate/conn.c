/* SPDX-License-Identifier: Apache-2.0 */
/* gate/conn.c - one connection: from accept to close */

#include "gate/conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

enum {			/* Before other connections have their turn */
	STEPS_MAX = 64,
	TRASH_MAX = 64,		/* Reads of what is thrown away */
};

static void free_later(void *arg)
{
	struct conn *conn = arg;
	struct loop *loop = conn->gate->loop;

	splice_end_close(loop, &conn->client);
	splice_end_close(loop, &conn->server);
	free(conn);
}

static void run_later(void *arg)
{
	conn_run(arg);
}

static int on_client(void *arg)
{
	struct conn *conn = arg;

	splice_end_note(&conn->client, conn->client.source.events);
	conn_run(conn);
	return 0;
}

static int on_server(void *arg)
{
	struct conn *conn = arg;

	splice_end_note(&conn->server, conn->server.source.events);
	conn_run(conn);
	return 0;
}

static void take_server(struct conn *conn)
{
	conn->server.source.fn = on_server;
	conn->server.source.arg = conn;
}

static void on_timer(void *arg)
{
	struct conn *conn = arg;

	if (conn->timer.kind == TIMER_IDLE && conn->active) {
		conn_wait(conn, TIMER_IDLE);
		return;
	}
	if (conn->expired)
		conn->expired(conn);
	else
		conn_close(conn);
}

struct conn *conn_new(struct gate *gate, int fd, bool counted)
{
	struct conn *conn = mem_zalloc(sizeof(*conn));

	conn->gate = gate;
	conn->counted = counted;
	conn->client.source = (struct loop_source){ fd, on_client, conn };
	/* Most have sent something by now; if not, the first call tells */
	conn->client.readable = conn->client.writable = true;
	conn->server.source.fd = -1;
	take_server(conn);
	conn->timer = (struct timer){ .fn = on_timer, .arg = conn };
	conn->task = (struct loop_task){ .fn = run_later, .arg = conn };
	conn->seen = (struct seen_wait){ .fn = run_later, .arg = conn };
	splice_init(&conn->up, &conn->client, &conn->server);
	splice_init(&conn->down, &conn->server, &conn->client);
	LIST_INSERT_HEAD(&gate->conns, conn, link);
	*(counted ? &gate->n_conns : &gate->shed) += 1;
	return conn;
}

/* Add a connection to the server that has ended to the traffic of its host */
static void count_traffic(struct conn *conn)
{
	if (conn->reach.gate && conn->reach.outcome == DESTINATION_OK)
		gate_count(conn->gate, &conn->reach.host, 1, conn->up.total,
			   conn->down.total);
	conn->up.total = conn->down.total = 0;
}

void conn_close(struct conn *conn)
{
	struct gate *gate = conn->gate;

	if (conn->closed)
		return;
	conn->closed = true;
	if (conn->tls)		/* cloche-tls has it open as well */
		(void)shutdown(conn->client.source.fd, SHUT_RDWR);
	timer_stop(gate->timers, &conn->timer);
	seen_forget(&conn->seen);
	destination_stop(&conn->reach);
	take_server(conn);
	count_traffic(conn);
	splice_done(&conn->up);
	splice_done(&conn->down);
	input_done(&conn->in);
	exchange_free(conn->http);
	conn->http = NULL;
	conn_set_name(conn, NULL);
	LIST_REMOVE(conn, link);
	*(conn->counted ? &gate->n_conns : &gate->shed) -= 1;
	if (gate->finishing && LIST_EMPTY(&gate->conns))
		loop_stop(gate->loop, 0);
	loop_cancel(&conn->task);
	conn->task.fn = free_later;
	loop_defer(gate->loop, &conn->task);
}

void conn_reset(struct conn *conn)
{
	const struct linger now = { .l_onoff = 1 };

	if (conn->closed)
		return;
	(void)setsockopt(conn->client.source.fd, SOL_SOCKET, SO_LINGER, &now,
			 sizeof(now));
	conn_close(conn);
}

/* The command has ended, and nothing was sent on this connection */
static bool is_pointless(const struct conn *conn)
{
	char c;

	if (conn->published ||
	    recv(conn->client.source.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
		return false;
	return conn->reach.ask.asked || !conn->in.len ||
	       (conn->http && exchange_is_empty(conn));
}

/* True if all that the sandbox sent on it was passed on: the sandbox's end is closed,
 * or was reset after a request
 */
static bool is_over(const struct conn *conn)
{
	const struct splice_end *from = conn->published ? &conn->server
						 : &conn->client;
	const struct splice *flow = conn->published ? &conn->down : &conn->up;

	if (conn->reach.gate && conn->reach.outcome == DESTINATION_PENDING)
		return is_pointless(conn);
	if (conn->tls)
		return false;
	if (splice_waiting(flow) || conn->in.len)
		return false;
	if (conn->http)
		return from->hung_up && exchange_is_sent(conn->http);
	return from->eof || from->failed;
}

void conn_run(struct conn *conn)
{
	conn->again = true;
	if (conn->running || conn->closed)
		return;
	conn->running = true;
	for (int i = 0; conn->again && !conn->closed; i++) {
		if (i == STEPS_MAX) {
			conn_later(conn);
			break;
		}
		conn->again = false;
		conn->step(conn);
	}
	conn->running = false;
	/* Only when there is nothing left to do: most connections need no event */
	if (!conn->closed && (splice_end_watch(conn->gate->loop, &conn->client) < 0 ||
			      splice_end_watch(conn->gate->loop, &conn->server) < 0))
		conn_close(conn);
	if (conn->gate->finishing && !conn->closed && is_over(conn))
		conn_close(conn);
}

void conn_wake(void *arg)
{
	struct conn *conn = arg;

	take_server(conn);
	conn_run(conn);
}

void conn_later(struct conn *conn)
{
	if (!conn->closed)
		loop_defer(conn->gate->loop, &conn->task);
}

void conn_wait(struct conn *conn, enum timer_kind kind)
{
	conn->active = false;
	timer_start(conn->gate->timers, &conn->timer, kind);
}

void conn_reach(struct conn *conn, const struct host *host, const char *op,
		bool plain)
{
	struct gate_destination *r = &conn->reach;
	char what[sizeof(r->op)];

	snprintf(what, sizeof(what), "%s", op);	/* May be its own */
	count_traffic(conn);
	destination_stop(r);
	*r = (struct gate_destination){
		.gate = conn->gate, .end = &conn->server,
		.fn = conn_wake, .arg = conn, .client = conn->client.source.fd,
		.seen = &conn->seen, .host = *host, .plain = plain,
	};
	memcpy(r->op, what, sizeof(what));
	timer_stop(conn->gate->timers, &conn->timer);
	destination_start(r);
}

static void step_refused(struct conn *conn)
{
	if (!conn->seen.id)
		conn_reset(conn);
}

void conn_refuse(struct conn *conn)
{
	if (conn->closed)
		return;
	/* Nothing moves from now on */
	destination_stop(&conn->reach);
	splice_end_close(conn->gate->loop, &conn->server);
	timer_stop(conn->gate->timers, &conn->timer);
	conn->step = step_refused;
	conn_run(conn);
}

/* Write what is left, then read and drop what the client sends, so that no reset
 * overtakes our answer
 */
static void step_last_answer(struct conn *conn)
{
	char trash[16 << 10];
	ssize_t got = 1;

	if (conn->seen.id)
		return;
	if (splice_flush(&conn->down) < 0) {
		conn_close(conn);
		return;
	}
	if (splice_waiting(&conn->down))
		return;
	splice_end_shut(&conn->client);
	for (int i = 0; i < TRASH_MAX && got > 0; i++)
		got = splice_end_read(&conn->client, trash, sizeof(trash));
	if (conn->client.eof || conn->client.failed)
		conn_close(conn);
	else if (got > 0)
		conn_later(conn);
}

void conn_close_with(struct conn *conn, const void *p, size_t n)
{
	if (conn->closed)
		return;
	destination_stop(&conn->reach);
	splice_end_close(conn->gate->loop, &conn->server);
	if (n)
		splice_queue(&conn->down, p, n);
	conn->step = step_last_answer;
	conn->expired = NULL;
	conn_wait(conn, TIMER_LINGER);
	conn_run(conn);
}

void conn_set_name(struct conn *conn, const struct host *name)
{
	free(conn->named);
	conn->named = NULL;
	if (name) {
		conn->named = mem_alloc(sizeof(*name));
		*conn->named = *name;
	}
}

void conn_report(struct conn *conn, struct refusal refusal)
{
	refusal.client = conn->client.source.fd;
	gate_report(conn->gate, &refusal, &conn->seen);
}

static bool name_is_allowed(struct conn *conn)
{
	struct host_verdict v;

	if (!conn->named)
		return true;
	v = gate_decide(conn->gate, conn->named);
	if (v.decision != HOST_DENIED)
		return true;
	conn_report(conn, (struct refusal){
		.kind = VIOLATION_NET_CONNECT, .op = conn->reach.op,
		.host = conn->named, .reason = v.reason, .rule = v.rule,
	});
	return false;
}

void conn_decide_again(struct conn *conn)
{
	if (conn->closed || !conn->reach.gate)
		return;
	if (conn->reach.outcome == DESTINATION_PENDING)
		destination_decide_again(&conn->reach);
	else if (conn->reach.outcome == DESTINATION_OK &&
		 !(destination_is_allowed(&conn->reach) && name_is_allowed(conn)))
		conn_refuse(conn);
}

void input_read(struct input *in, struct splice_end *from)
{
	ssize_t got;

	if (in->len == CONN_INPUT_MAX || !from->readable || from->eof)
		return;
	if (!in->p)
		in->p = mem_alloc(CONN_INPUT_MAX);
	if (in->off) {
		memmove(in->p, in->p + in->off, in->len);
		in->off = 0;
	}
	got = splice_end_read(from, in->p + in->len, CONN_INPUT_MAX - in->len);
	if (got > 0)
		in->len += (size_t)got;
	if (!in->len)
		input_done(in);
}

bool conn_read(struct conn *conn)
{
	const size_t had = conn->in.len;

	input_read(&conn->in, &conn->client);
	conn->active |= conn->in.len > had;
	return conn->in.len > had;
}

void input_take(struct input *in, size_t n)
{
	in->off += n;
	in->len -= n;
	if (!in->len)
		input_done(in);
}

void input_done(struct input *in)
{
	free(in->p);
	*in = (struct input){ 0 };
}
