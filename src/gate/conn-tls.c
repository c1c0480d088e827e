/* SPDX-License-Identifier: Apache-2.0 */
/* gate/conn-tls.c - connections that cloche-tls serves
 *
 * Theory of operation: a connection to a host that a secret is bound to is decided and
 * dialled like any other. When its ClientHello has named that host, both sockets go to
 * cloche-tls. The connection stays here without them in the loop: it counts for the
 * limit, a new policy can end it, and a refusal that cloche-tls reports is reported
 * with its client. Without cloche-tls such a connection is refused.
 */

#include "gate/conn.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "gate/bound-secret.h"
#include "gate/gate-wire.h"
#include "gate/tls-wire.h"
#include "ipc/socket.h"

bool conn_needs_tls(const struct conn *conn)
{
	return conn->gate->secrets &&
	       bound_secrets_cover(conn->gate->secrets, &conn->reach.host);
}

static void step_handed_over(struct conn *conn)
{
	(void)conn;
}

static int send_sockets(struct conn *conn)
{
	const struct host *host = &conn->reach.host;
	const struct tls_message m = {
		.kind = conn->local ? TLS_SERVE_PLAIN : TLS_SERVE,
		.id = conn->tls,
		.port = host->port,
		.n = (uint16_t)strlen(host->name),
	};
	const int fds[] = { conn->client.source.fd, conn->server.source.fd };
	auto_buf struct buf out = { 0 };

	if (conn->gate->tls.fd < 0)
		return -EPIPE;
	buf_add(&out, &m, sizeof(m));
	buf_add(&out, host->name, m.n);
	buf_add(&out, conn->in.p + conn->in.off, conn->in.len);
	return socket_send(conn->gate->tls.fd, out.p, out.len, fds, 2);
}

void conn_hand_over(struct conn *conn)
{
	struct loop *loop = conn->gate->loop;
	int r;

	conn->tls = ++conn->gate->last_tls;
	r = send_sockets(conn);
	if (r == -EAGAIN || r == -ETOOMANYREFS) {
		/* Many at once: cloche-tls takes them one by one */
		conn->tls = 0;
		conn->expired = conn_hand_over;
		conn_wait(conn, TIMER_PAUSE);
		return;
	}
	if (r < 0) {
		conn->tls = 0;
		conn_report(conn, (struct refusal){
			.kind = VIOLATION_NET_HTTP, .op = "ClientHello",
			.key = "secrets", .host = &conn->reach.host,
			.reason = "a secret is bound to this host, and cloche-tls does not run",
			.fix = "start the command again",
		});
		conn_refuse(conn);
		return;
	}
	if (conn->client.watched)
		loop_remove(loop, &conn->client.source);
	conn->client.watched = true; /* Not to be put into the loop again */
	splice_end_close(loop, &conn->server);
	input_done(&conn->in);
	timer_stop(conn->gate->timers, &conn->timer);
	conn->step = step_handed_over;
}

static void report_refusal(struct conn *conn, const char *text, size_t n)
{
	struct tls_refused refused;

	if (!tls_wire_refused(text, n, &refused))
		return;
	conn_report(conn, (struct refusal){
		.kind = VIOLATION_NET_HTTP,
		.op = refused.secret ? "credential" : "TLS", .key = "secrets",
		.host = &conn->reach.host, .reason = refused.reason, .fix = refused.fix,
	});
}

/* Its name and the host, for the record of the run */
static void report_use(struct conn *conn, const char *name, size_t n)
{
	const struct gate_message m = { .kind = GATE_USED };
	auto_buf struct buf text = { 0 };

	buf_add(&text, name, n);
	buf_addc(&text, '@');
	buf_adds(&text, conn->reach.host.name);
	(void)gate_send(conn->gate, &m, text.p, text.len);
}

/* cloche-tls has ended: its connections have, too */
static void lose_tls(struct gate *gate)
{
	loop_close(gate->loop, &gate->tls);
	for (struct conn *c = LIST_FIRST(&gate->conns), *next; c; c = next) {
		next = LIST_NEXT(c, link);
		if (c->tls)
			conn_reset(c);
	}
}

int conn_tls_message(void *arg)
{
	static struct {
		struct tls_message m;
		char text[GATE_TLS_TEXT_MAX];
	} in;
	struct gate *gate = arg;
	struct tls_bytes bytes = { 0 };
	const ssize_t got = recv(gate->tls.fd, &in, sizeof(in), MSG_DONTWAIT);
	struct conn *conn;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got < (ssize_t)sizeof(in.m)) {
		lose_tls(gate);
		return 0;
	}
	LIST_FOREACH(conn, &gate->conns, link) {
		if (in.m.id && conn->tls == in.m.id)
			break;
	}
	if (conn && in.m.kind == TLS_DONE) {
		if ((size_t)got - sizeof(in.m) == sizeof(bytes))
			memcpy(&bytes, in.text, sizeof(bytes));
		/* The connection itself is counted when it is closed */
		gate_count(gate, &conn->reach.host, 0, bytes.sent, bytes.received);
		conn_close(conn);
	}
	if (conn && in.m.kind == TLS_REFUSED)
		report_refusal(conn, in.text, (size_t)got - sizeof(in.m));
	else if (conn && in.m.kind == TLS_USED)
		report_use(conn, in.text, (size_t)got - sizeof(in.m));
	return 0;
}
