/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net/accept.c - where connections come from, and what they are meant to be
 *
 * Theory of operation: a listener waits level-triggered, so whatever is left
 * in its queue is offered again. Over the limit, the connection that has been
 * silent for longest makes room: one that never got to say what it wants, or
 * one between two requests; if there is none, the new one hears that it is one
 * too many. Without descriptors, a spare one is given up for the moment it
 * takes to accept and close: the queue gets shorter and the loop never spins.
 */

#include "net/accept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "net/address.h"
#include "net/conn.h"
#include "net/dns-server.h"
#include "net/http-answer.h"
#include "net/unreached.h"

enum {
	ACCEPTS_MAX = 64,	/* When a listener goes; SOMAXCONN may wait there */
	SILENCE_MS = 20,	/* Before it may cost a connection, at the limit */
};

/**
 * struct gate_listener - One socket that is served
 * @id:		The supervisor's name for one that may go; else 0
 */
struct gate_listener {
	struct gate *gate;
	struct gate_listener *next;
	struct loop_source source;
	struct listener row;
	uint32_t id;
};

static bool is_loopback(const struct host *host)
{
	static const uint8_t one[16] = { [15] = 1 };

	return host->kind == HOST_IPV4 ? host->address[0] == 127
				       : !memcmp(host->address, one, 16);
}

static void start_local(struct conn *conn, const struct listener *row)
{
	const struct gate *gate = conn->gate;

	switch (row->role) {
	case LISTENER_HTTP:
		if (gate->http_proxy_port)
			conn_start_fixed(conn, gate->http_proxy_port);
		else
			conn_start_http(conn);
		break;
	case LISTENER_SOCKS:
		if (gate->socks_proxy_port)
			conn_start_fixed(conn, gate->socks_proxy_port);
		else
			conn_start_socks(conn);
		break;
	case LISTENER_HOST_PORT:
		conn_start_fixed(conn, row->port);
		break;
	default:
		conn_reset(conn);
	}
}

static void start(struct conn *conn, const struct listener *row)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct host meant;

	if (row->role == LISTENER_DNS_TCP) {
		conn_start_dns(conn);
	} else if (row->role == LISTENER_PUBLISH) {
		conn_start_published(conn, row->port);
	} else if (getsockname(conn->client.source.fd, (struct sockaddr *)&sa,
			       &len) < 0 ||
		   address_from_sockaddr((struct sockaddr *)&sa, len,
					 &meant) < 0) {
		conn_reset(conn);
	} else if (is_loopback(&meant)) {
		start_local(conn, row);
	} else {
		conn_start_captured(conn, &meant);
	}
	if (!conn->closed && conn->step)
		conn_run(conn);
}

/* Somebody goes without, the new one or another: told once for all of them that
 * come together
 */
static void tell_crowd(struct gate *gate)
{
	if (!gate->crowded)
		gate_report_crowd(gate);
	gate->crowded = true;
}

static bool has_room(struct gate *gate)
{
	struct timer *oldest;

	if (gate->conns < gate->conns_max) {
		gate->crowded = false;
		return true;
	}
	oldest = timers_oldest(gate->timers, TIMER_HEAD, SILENCE_MS);
	if (oldest)
		tell_crowd(gate);
	else	/* Between two requests nobody misses it */
		oldest = timers_oldest(gate->timers, TIMER_KEEP, SILENCE_MS);
	if (!oldest) {
		tell_crowd(gate);
		return false;
	}
	conn_reset(oldest->arg);
	return true;
}

static void shed(struct gate *gate, const struct listener *row, int fd)
{
	auto_buf struct buf out = { 0 };

	if (row->role != LISTENER_HTTP || gate->shed == GATE_SHED_MAX) {
		close_fd(&fd);
		return;
	}
	http_answer_write(HTTP_ANSWER_LIMIT, NULL, &out);
	conn_say(conn_new(gate, fd, false), out.p, out.len);
}

void accept_take_spares(struct gate *gate)
{
	for (int i = 0; i < GATE_SPARES; i++) {
		if (gate->spares[i] < 0)
			gate->spares[i] = fcntl(gate->control.fd,
						F_DUPFD_CLOEXEC, 0);
	}
}

void accept_give_spare(struct gate *gate)
{
	int i = GATE_SPARES - 1;

	while (i && gate->spares[i] < 0)
		i--;
	close_fd(&gate->spares[i]);
}

static void on_pause_over(void *arg)
{
	struct gate *gate = arg;

	accept_take_spares(gate);
	for (struct gate_listener *l = gate->listeners; l; l = l->next)
		(void)loop_change(gate->loop, &l->source, EPOLLIN);
}

static void pause_all(struct gate *gate)
{
	for (struct gate_listener *l = gate->listeners; l; l = l->next)
		(void)loop_change(gate->loop, &l->source, 0);
	gate->pause.fn = on_pause_over;
	gate->pause.arg = gate;
	timer_start(gate->timers, &gate->pause, TIMER_PAUSE);
}

/* No descriptors: turn the connection away with the one we kept */
static void turn_away(struct gate *gate, int listener)
{
	int fd;

	accept_give_spare(gate);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	/* The kernel looks for a descriptor before it looks into the queue:
	 * often nobody waits at all
	 */
	if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED)
		pause_all(gate);
	close_fd(&fd);
	accept_take_spares(gate);
}

/* Announced before it connected: what was said since is heard first */
static bool is_expected(struct gate *gate, int fd)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct host peer;
	uint8_t bit;

	if (!gate->peers)
		return true;
	if (gate_hear(gate) < 0 ||
	    getpeername(fd, (struct sockaddr *)&sa, &len) < 0 ||
	    address_from_sockaddr((struct sockaddr *)&sa, len, &peer) < 0 ||
	    !is_loopback(&peer))
		return false;
	bit = (uint8_t)(1 << peer.port % 8);
	if (!(gate->peers[peer.port / 8] & bit))
		return false;
	gate->peers[peer.port / 8] &= (uint8_t)~bit;
	return true;
}

/* Take one that waits: false if there is none */
static bool accept_one(struct gate_listener *l)
{
	struct gate *gate = l->gate;
	const int fd = accept4(l->source.fd, NULL, NULL,
			       SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && errno != EINTR && errno != ECONNABORTED) {
		/* Some may only wait to be closed: it is offered again then */
		if (errno == EMFILE && loop_hurry(gate->loop))
			return true;
		if (errno != EAGAIN)
			turn_away(gate, l->source.fd);
		return false;
	}
	if (fd < 0)
		return true;
	if (!is_expected(gate, fd)) {
		(void)close(fd);
	} else if (!has_room(gate)) {
		shed(gate, &l->row, fd);
	} else {
		start(conn_new(gate, fd, true), &l->row);
	}
	return true;
}

/* Whether more wait, the kernel says without being asked */
static int on_stream(void *arg, uint32_t events)
{
	(void)events;
	(void)accept_one(arg);
	return 0;
}

static void accept_rest(struct gate_listener *l)
{
	for (int i = 0; i < ACCEPTS_MAX && accept_one(l); i++)
		;
}

static int on_datagram(void *arg, uint32_t events)
{
	struct gate_listener *l = arg;

	(void)events;
	dns_serve_datagrams(l->gate, l->source.fd);
	return 0;
}

static int on_unreached(void *arg, uint32_t events)
{
	struct gate_listener *l = arg;

	(void)events;
	unreached_tell(l->gate, l->source.fd);
	return 0;
}

static int (*served_by(uint16_t role))(void *arg, uint32_t events)
{
	return role == LISTENER_DNS_UDP ? on_datagram
	       : role == LISTENER_UNREACHED ? on_unreached : on_stream;
}

int accept_add(struct gate *gate, struct listener row, uint32_t id, int fd)
{
	struct gate_listener *l = mem_zalloc(sizeof(*l));
	int r;

	l->gate = gate;
	l->row = row;
	l->id = id;
	l->source = (struct loop_source){
		fd, served_by(row.role), l,
	};
	r = loop_add(gate->loop, &l->source, EPOLLIN);
	if (r < 0) {
		close_fd(&fd);
		free(l);
		return r;
	}
	l->next = gate->listeners;
	gate->listeners = l;
	return 0;
}

/* The first of a list, or of what is left of it */
static void drop(struct gate *gate, struct gate_listener **at)
{
	struct gate_listener *l = *at;

	*at = l->next;
	loop_remove(gate->loop, &l->source);
	close_fd(&l->source.fd);
	free(l);
}

void accept_remove(struct gate *gate, uint32_t id)
{
	for (struct gate_listener **at = &gate->listeners; *at;
	     at = &(*at)->next) {
		if (!id || (*at)->id != id)
			continue;
		accept_rest(*at);
		drop(gate, at);
		return;
	}
}

void accept_finish(struct gate *gate)
{
	while (gate->listeners) {
		struct gate_listener *l = gate->listeners;

		if (l->row.role == LISTENER_UNREACHED)
			unreached_tell(gate, l->source.fd);
		else if (l->row.role != LISTENER_DNS_UDP)
			accept_rest(l);
		drop(gate, &gate->listeners);
	}
}
