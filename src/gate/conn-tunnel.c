/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate/conn-tunnel.c - captured connections, and bytes both ways
 *
 * Theory of operation: programs that know nothing of a proxy connect to an
 * address that our DNS gave out for a name, or that stands for itself. A
 * connection for a name that begins with a TLS ClientHello must say that name in
 * it, or the address behind an allowed name would serve as a front for others.
 * The server may speak first, so its bytes flow while the client's are held back,
 * until it is clear what they are. On port 443 nothing but TLS is expected,
 * unless a rule names the port. On port 80 what is not TLS is HTTP, whose Host is
 * such a name too: it is served as if the connection had been captured there.
 */

#include "gate/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "gate/address.h"
#include "gate/fake-ip.h"
#include "gate/proto/sni.h"

enum { HTTP_PORT = 80, TLS_PORT = 443 };

/* A fatal "access denied" that a TLS client can show to its user */
static const uint8_t tls_alert[] = { 21, 3, 1, 0, 2, 2, 49 };

static const char not_tls[] = "not TLS on port 443";
static const char no_name[] = "let the program send the host's name in TLS (SNI), or connect to an allowed address";

/* For @why; @sni is what a ClientHello names instead, for SNI_NAME */
static void refuse_hello(struct conn *conn, const char *why,
			 enum sni_result result, const struct host *sni)
{
	conn_report(conn, (struct refusal){
		.kind = VIOLATION_NET_SNI, .op = "ClientHello",
		.host = &conn->reach.host, .reason = why,
		.named = result == SNI_NAME ? sni : NULL,
		.fix = result == SNI_NONE ? no_name : NULL,
		.by_port = result == SNI_NOT_TLS,
	});
	input_done(&conn->in);
	conn_close_with(conn, tls_alert, sizeof(tls_alert));
}

/* A connection to an address may say a name, if that is allowed as well */
static bool names_another(struct conn *conn, const struct host *sni)
{
	struct host h = *sni;

	h.port = conn->reach.host.port;
	if (conn->reach.host.kind == HOST_NAME ||
	    gate_decide(conn->gate, &h).decision != HOST_ALLOWED)
		return false;
	conn_set_name(conn, &h);
	return true;
}

/* Look at the client's first bytes. True when they may pass. */
static bool inspect(struct conn *conn)
{
	const struct host *host = &conn->reach.host;
	const char *why;
	struct host sni;
	enum sni_result result;

	if (!conn_read(conn) && conn->client.failed) {
		/* There won't be another event */
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
	if (result == SNI_NAME && conn_needs_tls(conn)) {
		/* The answer to a CONNECT comes first */
		if (splice_flush(&conn->down) < 0)
			conn_reset(conn);
		else if (!splice_waiting(&conn->down))
			conn_hand_over(conn);
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
static bool pump(struct conn *conn, struct splice *flow)
{
	const ssize_t moved = splice_pump(flow);

	if (moved < 0) {
		conn_reset(conn);
		return false;
	}
	conn->active |= moved > 0;
	if (flow->from->eof && !splice_waiting(flow)) {
		/* When both are through, closing says it */
		if (flow->from->shut)
			flow->to->shut = true;
		else
			splice_end_shut(flow->to);
	}
	return moved >= SPLICE_TURN_MAX;
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
		splice_queue(&conn->up, conn->in.p + conn->in.off, conn->in.len);
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

static void step_captured(struct conn *conn)
{
	if (conn->reach.outcome == DESTINATION_OK)
		conn_tunnel(conn, true);
	else if (conn->reach.outcome == DESTINATION_DENIED &&
		 conn->reach.host.port == TLS_PORT)
		conn_close_with(conn, tls_alert, sizeof(tls_alert));
	else if (conn->reach.outcome != DESTINATION_PENDING)
		conn_refuse(conn);
	else if (conn->client.reset)
		conn_close(conn);
}

void conn_start_captured(struct conn *conn, const struct host *meant)
{
	struct host host = *meant;

	/* An address of the pool that no name has leads nowhere */
	if (fake_ip_covers(meant) && fake_ip_name(conn->gate->pool, meant, &host) < 0) {
		conn_reset(conn);
		return;
	}
	if (host.port == HTTP_PORT) {
		conn_start_origin(conn, &host);
		return;
	}
	conn->step = step_captured;
	conn_reach(conn, &host, "connect", false);
}

/* A fixed port on this machine's loopback, or inside: no policy, no inspection */
static void step_fixed(struct conn *conn)
{
	if (conn->reach.outcome == DESTINATION_OK)
		conn_tunnel(conn, false);
	else if (conn->reach.outcome != DESTINATION_PENDING)
		conn_reset(conn);
	else if (conn->client.reset)
		conn_close(conn);
}

static void on_dialled(void *arg, int error)
{
	struct conn *conn = arg;

	conn->reach.outcome = error ? DESTINATION_REFUSED : DESTINATION_OK;
	conn_wake(conn);
}

static struct dial *prepare_dial(struct conn *conn, uint16_t port)
{
	struct dial *d = &conn->reach.dial;

	conn->step = step_fixed;
	d->loop = conn->gate->loop;
	d->timers = conn->gate->timers;
	d->end = &conn->server;
	d->fn = on_dialled;
	d->arg = conn;
	address_loopback(HOST_IPV4, port, &d->v[0]);
	address_loopback(HOST_IPV6, port, &d->v[1]);
	d->count = 2;
	return d;
}

void conn_start_fixed(struct conn *conn, uint16_t port)
{
	dial_start(prepare_dial(conn, port));
}

enum {
	STRANGERS_MAX = 64,	/* Connections of others to the seed */
	WAIT_MS = 1000,		/* Loopback mostly answers within the call */
	LISTENER = 0, SOCKET = 1,	/* Of the seeds */
};

static int disconnect(int fd)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };

	return connect(fd, &none, sizeof(none)) < 0 ? -errno : 0;
}

/* The listener is bound to all addresses; the sandbox's own will do */
static int connect_to_listener(const int seeds[2])
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);
	struct pollfd p = { .fd = seeds[LISTENER], .events = POLLIN };

	if (getsockname(seeds[LISTENER], (struct sockaddr *)&sa, &len) < 0)
		return -errno;
	if (sa.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&sa)->sin6_addr = in6addr_loopback;
	else
		((struct sockaddr_in *)&sa)->sin_addr.s_addr =
			htonl(INADDR_LOOPBACK);
	if (connect(seeds[SOCKET], (const struct sockaddr *)&sa, len) < 0 &&
	    errno != EINPROGRESS)
		return -errno;
	return poll(&p, 1, WAIT_MS) == 1 ? 0 : -ETIMEDOUT;
}

static bool is_ours(const int seeds[2], int fd)
{
	struct sockaddr_storage a = { 0 }, b = { 0 };
	socklen_t a_len = sizeof(a), b_len = sizeof(b);

	return !getsockname(seeds[SOCKET], (struct sockaddr *)&a, &a_len) &&
	       !getpeername(fd, (struct sockaddr *)&b, &b_len) &&
	       a_len == b_len && !memcmp(&a, &b, a_len);
}

static int accept_ours(const int seeds[2])
{
	for (int i = 0; i < STRANGERS_MAX; i++) {
		int fd = accept4(seeds[LISTENER], NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return -errno;
		if (is_ours(seeds, fd))
			return fd;
		close_fd(&fd);
	}
	return -EAGAIN;
}

/* A fresh TCP socket, non-blocking, that can connect inside; or a negative errno.
 *
 * A socket belongs to the namespace it was made in, and the gate may not enter
 * another one. But accept() makes a socket in the namespace of its listener: the
 * one socket from there (@seeds) connects to the one listener from there, and
 * both ends are then disconnected (connect() to AF_UNSPEC). One is handed out, one
 * stays for the next time.
 */
static int open_inside(const int seeds[2])
{
	auto_close int fd = -1;
	int r;

	if (seeds[LISTENER] < 0 || seeds[SOCKET] < 0)
		return -EOPNOTSUPP;
	r = connect_to_listener(seeds);
	if (!r) {
		r = fd = accept_ours(seeds);
		if (r >= 0)
			r = disconnect(fd);
	}
	(void)disconnect(seeds[SOCKET]);
	return r < 0 ? r : take_fd(&fd);
}

/* Servers listen on either address of localhost: IPv4 first, then IPv6 */
static void dial_inside(struct conn *conn, size_t which)
{
	struct dial *d = &conn->reach.dial;
	const int fd = open_inside(conn->gate->seeds);

	conn->state = (int)which;
	d->v[0] = d->v[which];
	d->count = 1;
	if (fd < 0)
		on_dialled(conn, fd);
	else
		dial_start_with(d, fd);
}

static void on_dialled_inside(void *arg, int error)
{
	struct conn *conn = arg;

	if (error == -ECONNREFUSED && !conn->state)
		dial_inside(conn, 1);
	else
		on_dialled(conn, error);
}

void conn_start_published(struct conn *conn, uint16_t port)
{
	conn->published = true;
	prepare_dial(conn, port)->fn = on_dialled_inside;
	dial_inside(conn, 0);
}
