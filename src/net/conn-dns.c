/* SPDX-License-Identifier: Apache-2.0 */
/* net/conn-dns.c - DNS over TCP: questions one after the other */

#include "net/conn.h"

#include "net/dns-server.h"

static bool serve_one(struct conn *conn)
{
	const uint8_t *p = (const uint8_t *)conn->in.p + conn->in.off;
	uint8_t out[2 + DNS_ANSWER_MAX];
	const ssize_t n = dns_tcp_scan(p, conn->in.len);
	size_t len;

	if (n < 0) {
		conn_close(conn);
		return false;
	}
	if (!n)
		return false;
	len = dns_serve(conn->gate, &(struct dns_client){
				.conn = conn, .wait = &conn->seen },
			p + 2, (size_t)n - 2, out + 2);
	if (!len) {
		conn_close(conn);
		return false;
	}
	out[0] = (uint8_t)(len >> 8);
	out[1] = (uint8_t)len;
	flow_hold(&conn->down, out, len + 2);
	input_take(&conn->in, (size_t)n);
	conn_wait(conn, TIMER_HEAD);
	return true;
}

static void step_dns(struct conn *conn)
{
	/* A refusal is looked at before the client hears of it */
	if (conn->seen.id)
		return;
	conn_read(conn);
	while (!conn->closed && conn->in.len && !conn->seen.id &&
	       flow_waiting(&conn->down) < FLOW_HELD_MAX && serve_one(conn))
		;
	if (conn->closed || conn->seen.id)
		return;
	if (flow_flush(&conn->down) < 0)
		conn_close(conn);
	else if (!flow_waiting(&conn->down) &&
		 (conn->client.eof || conn->client.failed))
		conn_close(conn);
	else if (conn->client.readable && !flow_waiting(&conn->down))
		conn->again = true;
}

void conn_start_dns(struct conn *conn)
{
	conn->step = step_dns;
	conn_wait(conn, TIMER_HEAD);
}
