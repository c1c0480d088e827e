/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net/conn-tunnel.c - bytes both ways, after a look at how they begin
 *
 * Theory of operation: a connection for a name that begins with a TLS
 * ClientHello must say that name in it, or the address behind an allowed name
 * would serve as a front for others. The server may speak first, so its bytes
 * flow while the client's are held back; they are held only until it is clear
 * what they are. On port 443 nothing but TLS is expected, unless a rule names
 * the port. On port 80 what is not TLS is HTTP, whose Host is such a name too: it
 * is served as if the connection had been captured there.
 */

#include "net/conn.h"

#include "net/sni.h"
#include "policy/policy.h"

enum { HTTP_PORT = 80, TLS_PORT = 443 };

static const char not_tls[] = "not TLS on port 443";
static const char no_name[] = "let the program send the host's name in TLS (SNI), or connect to an allowed address";

/* For @why: what was found, and for SNI_NAME whom it names instead */
static void refuse_hello(struct conn *conn, const char *why,
			 enum sni_result result, const struct sni *sni)
{
	/* A fatal "access denied" that a TLS client can show to its user */
	static const uint8_t alert[] = { 21, 3, 1, 0, 2, 2, 49 };

	gate_report(conn->gate, &(struct refusal){
		.kind = VIOLATION_NET_SNI, .op = "ClientHello",
		.host = &conn->reach.host, .reason = why, .conn = conn,
		.named = result == SNI_NAME ? &sni->host : NULL,
		.fix = result == SNI_NONE ? no_name : NULL,
		.by_port = result == SNI_NOT_TLS,
	}, &conn->seen);
	input_done(&conn->in);
	conn_say(conn, alert, sizeof(alert));
}

/* A connection to an address may say a name, if that is allowed as well */
static bool names_another(struct conn *conn, const struct sni *sni)
{
	struct host h = sni->host;

	h.port = conn->reach.host.port;
	if (conn->reach.host.kind == HOST_NAME ||
	    gate_decide(conn->gate, &h).decision != HOST_ALLOWED)
		return false;
	conn_call(conn, &h);
	return true;
}

/* Look at the client's first bytes. True when they may pass. */
static bool inspect(struct conn *conn)
{
	const struct host *host = &conn->reach.host;
	const char *why;
	struct sni sni;
	enum sni_result result;

	if (!conn_read(conn) && conn->client.failed) {
		/* Nobody is left to be looked at: the error was told just now,
		 * and there won't be another event
		 */
		conn_reset(conn);
		return false;
	}
	if (!conn->in.len)
		return conn->client.eof;
	result = sni_parse((const uint8_t *)conn->in.p + conn->in.off,
			   conn->in.len, &sni);
	if (result == SNI_MORE) {
		if (conn->client.eof)
			refuse_hello(conn, "TLS ClientHello is not complete",
				     SNI_MORE, NULL);
		else if (!conn->timer.deadline ||
			 conn->timer.kind != TIMER_HELLO)
			conn_wait(conn, TIMER_HELLO);
		return false;
	}
	why = sni_objection(result, &sni, host);
	if (result == SNI_NAME && names_another(conn, &sni))
		why = NULL;
	if (!why && result == SNI_NOT_TLS && host->port == TLS_PORT &&
	    host->kind == HOST_NAME &&
	    !host_port_is_named(conn->gate->policy, host))
		why = not_tls;
	if (why) {
		refuse_hello(conn, why, result, &sni);
		return false;
	}
	if (result == SNI_NOT_TLS && host->port == HTTP_PORT) {
		conn_start_origin(conn, host);
		conn->again = true;
		return false;
	}
	return true;
}

static void hello_expired(struct conn *conn)
{
	if (conn->timer.kind != TIMER_HELLO)
		conn_close(conn);
	else
		refuse_hello(conn, conn->in.len ?
			     "TLS ClientHello took too long" :
			     "no TLS ClientHello came", SNI_MORE, NULL);
}

/* One direction; true if it moved and may move more */
static bool pump(struct conn *conn, struct flow *flow)
{
	const ssize_t moved = flow_pump(flow);

	if (moved < 0) {
		conn_reset(conn);
		return false;
	}
	conn->active |= moved > 0;
	if (flow->from->eof && !flow_waiting(flow)) {
		/* When both are through, closing says it */
		if (flow->from->shut)
			flow->to->shut = true;
		else
			end_shut(flow->to);
	}
	return moved >= FLOW_TURN_MAX;
}

static void step_tunnel(struct conn *conn)
{
	bool more = false;

	if (conn->inspect) {
		if (inspect(conn)) {
			conn->inspect = false;
			conn->expired = NULL;
			conn_wait(conn, TIMER_IDLE);
		}
		if (conn->closed || conn->step != step_tunnel)
			return;
	}
	if (!conn->inspect && conn->in.len) {
		flow_hold(&conn->up, conn->in.p + conn->in.off, conn->in.len);
		input_take(&conn->in, conn->in.len);
	}
	if (!conn->inspect)
		more = pump(conn, &conn->up);
	if (!conn->closed)
		more |= pump(conn, &conn->down);
	if (!conn->closed && conn->client.shut && conn->server.shut)
		conn_close(conn);
	else if (more)
		conn_later(conn);
}

void conn_tunnel(struct conn *conn, bool look)
{
	const struct host *host = &conn->reach.host;
	const bool tls = look && host->port == TLS_PORT &&
			 !host_port_is_named(conn->gate->policy, host);

	/* Bodies of requests before may have left one */
	conn->up.limit = conn->down.limit = UINT64_MAX;
	conn->inspect = look;
	conn->step = step_tunnel;
	conn->expired = look ? hello_expired : NULL;
	conn_wait(conn, tls ? TIMER_HELLO : TIMER_IDLE);
	conn->again = true;
}
