/* SPDX-License-Identifier: Apache-2.0 */
/* gate/conn-socks.c - a SOCKS5 connection until it is a tunnel */

#include "gate/conn.h"

#include <errno.h>

#include "gate/fake-ip.h"
#include "gate/proto/socks5.h"

enum { SOCKS_GREETING, SOCKS_REQUEST, SOCKS_REACH };

static const uint8_t *bytes(const struct conn *conn)
{
	return (const uint8_t *)conn->in.p + conn->in.off;
}

static void reply(struct conn *conn, enum socks5_rep rep)
{
	uint8_t out[SOCKS5_REPLY_LEN];

	socks5_reply(rep, out);
	if (rep == SOCKS5_OK)
		splice_queue(&conn->down, out, sizeof(out));
	else
		conn_close_with(conn, out, sizeof(out));
}

static void greet(struct conn *conn)
{
	uint8_t out[SOCKS5_METHOD_REPLY_LEN];
	bool acceptable;
	ssize_t n;

	/* $RSYNC_PROXY names this port, and rsync speaks only HTTP CONNECT. The same policy
	 * decides, and no version of SOCKS begins with this byte.
	 */
	if (*bytes(conn) == 'C') {
		conn_start_http(conn);
		conn->again = true;
		return;
	}
	n = socks5_greeting_parse(bytes(conn), conn->in.len, &acceptable);
	if (n < 0) {
		conn_close(conn);
		return;
	}
	if (!n)
		return;
	input_take(&conn->in, (size_t)n);
	socks5_method_reply(acceptable, out);
	if (!acceptable) {
		conn_close_with(conn, out, sizeof(out));
		return;
	}
	splice_queue(&conn->down, out, sizeof(out));
	conn->state = SOCKS_REQUEST;
	conn->again = true;
}

static void request(struct conn *conn)
{
	struct host host;
	const ssize_t n = socks5_request_parse(bytes(conn), conn->in.len,
					       &host);

	if (n == -EPROTONOSUPPORT) {
		conn_close(conn);
	} else if (n < 0) {
		reply(conn, socks5_rep_of((int)n));
	} else if (n) {
		input_take(&conn->in, (size_t)n);
		fake_ip_resolve(conn->gate->pool, &host);
		conn->state = SOCKS_REACH;
		conn_reach(conn, &host, "SOCKS5", false);
	}
}

static enum socks5_rep rep_of(enum destination_outcome outcome)
{
	switch (outcome) {
	case DESTINATION_OK:
		return SOCKS5_OK;
	case DESTINATION_DENIED:
	case DESTINATION_GUARDED:
		return SOCKS5_NOT_ALLOWED;
	case DESTINATION_REFUSED:
		return SOCKS5_REFUSED;
	case DESTINATION_NO_NAME:
	case DESTINATION_UNREACHABLE:
	case DESTINATION_TIMEOUT:
		return SOCKS5_UNREACHABLE;
	default:
		return SOCKS5_FAILURE;
	}
}

static void reached(struct conn *conn)
{
	const enum destination_outcome outcome = conn->reach.outcome;

	if (outcome == DESTINATION_PENDING)
		return;
	reply(conn, rep_of(outcome));
	if (outcome == DESTINATION_OK)
		conn_tunnel(conn, true);
}

static void step_socks(struct conn *conn)
{
	if (splice_flush(&conn->down) < 0) {
		conn_close(conn);
		return;
	}
	if (conn->state == SOCKS_REACH) {
		if (conn->client.reset)
			conn_close(conn);
		else
			reached(conn);
		return;
	}
	conn_read(conn);
	if (conn->in.len && conn->state == SOCKS_GREETING)
		greet(conn);
	else if (conn->in.len)
		request(conn);
	if (!conn->closed && conn->step == step_socks &&
	    conn->state != SOCKS_REACH && !conn->again &&
	    (conn->client.eof || conn->client.failed))
		conn_close(conn);
	if (!conn->closed && splice_flush(&conn->down) < 0)
		conn_close(conn);
}

void conn_start_socks(struct conn *conn)
{
	conn->step = step_socks;
	conn->state = SOCKS_GREETING;
	conn_wait(conn, TIMER_HEAD);
}
