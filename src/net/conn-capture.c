/* SPDX-License-Identifier: Apache-2.0 */
/* net/conn-capture.c - connections of programs that know nothing of a proxy
 *
 * The address that was connected to is one that our DNS gave out for a name,
 * or it stands for itself. On port 80 the client will speak HTTP, so it can
 * also be told why it is refused.
 */

#include "net/conn.h"

#include <errno.h>

#include "net/pool.h"
#include "net/seed.h"

enum { HTTP_PORT = 80, TLS_PORT = 443 };

static void refuse(struct conn *conn)
{
	/* A fatal "access denied" that a TLS client can show to its user */
	static const uint8_t alert[] = { 21, 3, 1, 0, 2, 2, 49 };

	if (conn->reach.outcome == REACH_DENIED &&
	    conn->reach.host.port == TLS_PORT)
		conn_say(conn, alert, sizeof(alert));
	else
		conn_refuse(conn);
}

static void step_captured(struct conn *conn)
{
	if (conn->reach.outcome == REACH_OK)
		conn_tunnel(conn, true);
	else if (conn->reach.outcome != REACH_PENDING)
		refuse(conn);
	else if (conn->client.reset)
		conn_close(conn);
}

void conn_start_captured(struct conn *conn, const struct host *meant)
{
	struct host host = *meant;

	/* An address of the pool that nobody was given leads nowhere */
	if (pool_covers(meant) && pool_name(conn->gate->pool, meant, &host) < 0) {
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

/* A fixed place on this machine's loopback, or inside: no policy, no look */
static void step_fixed(struct conn *conn)
{
	if (conn->reach.outcome == REACH_OK)
		conn_tunnel(conn, false);
	else if (conn->reach.outcome != REACH_PENDING)
		conn_reset(conn);
	else if (conn->client.reset)
		conn_close(conn);
}

static void on_dialled(void *arg, int error)
{
	struct conn *conn = arg;

	conn->reach.outcome = error ? REACH_REFUSED : REACH_OK;
	conn_wake(conn);
}

static struct dial *prepare(struct conn *conn, uint16_t port)
{
	static const uint8_t four[4] = { 127, 0, 0, 1 };
	static const uint8_t six[16] = { [15] = 1 };
	struct dial *d = &conn->reach.dial;

	conn->step = step_fixed;
	d->loop = conn->gate->loop;
	d->timers = conn->gate->timers;
	d->end = &conn->server;
	d->fn = on_dialled;
	d->arg = conn;
	host_of_address(four, sizeof(four), port, &d->v[0]);
	host_of_address(six, sizeof(six), port, &d->v[1]);
	d->count = 2;
	return d;
}

void conn_start_fixed(struct conn *conn, uint16_t port)
{
	dial_start(prepare(conn, port));
}

/* Servers listen on either address of localhost: IPv4 first, then IPv6 */
static void dial_inside(struct conn *conn, size_t which)
{
	struct dial *d = &conn->reach.dial;
	const int fd = seed_socket(conn->gate->seed);

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
	prepare(conn, port)->fn = on_dialled_inside;
	dial_inside(conn, 0);
}
