/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate/gate.c - the process that serves a sandbox's network
 *
 * Theory of operation: a listener waits level-triggered, so whatever is left
 * in its queue is offered again. Over the limit, the connection that has been
 * silent for longest is closed: one without a complete request, or one between
 * two requests; if there is none, the new one is refused (503). Without
 * descriptors, a spare one is closed for the moment it takes to accept and close a
 * connection: otherwise epoll would report the full queue again and again.
 */

#include "gate/gate-state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "gate/address.h"
#include "gate/conn.h"
#include "gate/dns-server.h"
#include "gate/fake-ip.h"
#include "gate/gate-confine.h"
#include "gate/gate-wire.h"
#include "gate/http-answer.h"
#include "ipc/socket.h"
#include "policy/policy.h"

enum {
	ACCEPTS_MAX = 64,	/* Of a listener that is removed; its queue may be longer */
	SILENCE_MS = 20,	/* After which a connection may be closed for a new one */
};

/**
 * struct gate_listener - One socket that is served
 * @id:		The supervisor's name for one that may go; else 0
 */
struct gate_listener {
	struct gate *gate;
	LIST_ENTRY(gate_listener) link;
	struct loop_source source;
	struct listener row;
	uint32_t id;
};

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

static void start_conn(struct conn *conn, const struct listener *row)
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
	} else if (address_is_loopback(&meant)) {
		start_local(conn, row);
	} else {
		conn_start_captured(conn, &meant);
	}
	if (!conn->closed && conn->step)
		conn_run(conn);
}

static bool make_way(struct gate *gate)
{
	struct timer *oldest;

	if (gate->n_conns < gate->conns_max) {
		gate->crowded = false;
		return true;
	}
	oldest = timers_oldest(gate->timers, TIMER_HEAD, SILENCE_MS);
	if (oldest)
		gate_report_crowd(gate);
	else	/* A connection between two requests is not missed */
		oldest = timers_oldest(gate->timers, TIMER_KEEP, SILENCE_MS);
	if (!oldest) {
		gate_report_crowd(gate);
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
	conn_close_with(conn_new(gate, fd, false), out.p, out.len);
}

/* Spare descriptors, for when none is left: one is given up before a call that
 * needs one, and taken back after it
 */
static void accept_take_spares(struct gate *gate)
{
	for (int i = 0; i < GATE_SPARES; i++) {
		if (gate->spares[i] < 0)
			gate->spares[i] = fcntl(gate->control.fd,
						F_DUPFD_CLOEXEC, 0);
	}
}

static void accept_give_spare(struct gate *gate)
{
	int i = GATE_SPARES - 1;

	while (i && gate->spares[i] < 0)
		i--;
	close_fd(&gate->spares[i]);
}

static void on_pause_over(void *arg)
{
	struct gate *gate = arg;
	struct gate_listener *l;

	accept_take_spares(gate);
	LIST_FOREACH(l, &gate->listeners, link)
		(void)loop_change(gate->loop, &l->source, EPOLLIN);
}

static void pause_all(struct gate *gate)
{
	struct gate_listener *l;

	LIST_FOREACH(l, &gate->listeners, link)
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
	 * often no connection waits at all
	 */
	if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED)
		pause_all(gate);
	close_fd(&fd);
	accept_take_spares(gate);
}

/* Announced before it connected: messages that came since are handled first */
static bool is_expected(struct gate *gate, int fd)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct host peer;
	uint8_t bit;

	if (!gate->peers)
		return true;
	if (gate_take_messages(gate) < 0 ||
	    getpeername(fd, (struct sockaddr *)&sa, &len) < 0 ||
	    address_from_sockaddr((struct sockaddr *)&sa, len, &peer) < 0 ||
	    !address_is_loopback(&peer))
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
		if (errno != EAGAIN)
			turn_away(gate, l->source.fd);
		return false;
	}
	if (fd < 0)
		return true;
	if (!is_expected(gate, fd)) {
		(void)close(fd);
	} else if (!make_way(gate)) {
		shed(gate, &l->row, fd);
	} else {
		start_conn(conn_new(gate, fd, true), &l->row);
	}
	return true;
}

/* epoll reports the listener again if more connections wait */
static int on_listener(void *arg)
{
	struct gate_listener *l = arg;

	if (l->row.role == LISTENER_DNS_UDP)
		dns_serve_datagrams(l->gate, l->source.fd);
	else if (l->row.role == LISTENER_UNREACHED)
		udp_refusal_report(l->gate, l->source.fd);
	else
		(void)accept_one(l);
	return 0;
}

static void accept_rest(struct gate_listener *l)
{
	for (int i = 0; i < ACCEPTS_MAX && accept_one(l); i++)
		;
}

/* Serve one more socket, which is taken; @id is for accept_remove(), or 0 */
static int accept_add(struct gate *gate, struct listener row, uint32_t id,
		      int fd)
{
	struct gate_listener *l = mem_zalloc(sizeof(*l));
	int r;

	l->gate = gate;
	l->row = row;
	l->id = id;
	l->source = (struct loop_source){ fd, on_listener, l };
	r = loop_add(gate->loop, &l->source, EPOLLIN);
	if (r < 0) {
		close_fd(&fd);
		free(l);
		return r;
	}
	LIST_INSERT_HEAD(&gate->listeners, l, link);
	return 0;
}

static void close_listener(struct gate_listener *l)
{
	LIST_REMOVE(l, link);
	loop_remove(l->gate->loop, &l->source);
	close_fd(&l->source.fd);
	free(l);
}

static void accept_remove(struct gate *gate, uint32_t id)
{
	struct gate_listener *l;

	LIST_FOREACH(l, &gate->listeners, link) {
		if (id && l->id == id) {
			accept_rest(l);
			close_listener(l);
			return;
		}
	}
}

static void accept_finish(struct gate *gate)
{
	while (!LIST_EMPTY(&gate->listeners)) {
		struct gate_listener *l = LIST_FIRST(&gate->listeners);

		if (l->row.role == LISTENER_UNREACHED)
			udp_refusal_report(gate, l->source.fd);
		else if (l->row.role != LISTENER_DNS_UDP)
			accept_rest(l);
		close_listener(l);
	}
}

static uint16_t port_of(const struct policy *policy, enum policy_number number)
{
	const struct number *n = &policy->numbers[number];

	return n->set && n->value <= UINT16_MAX ? (uint16_t)n->value : 0;
}

/* From here on @policy decides; connections that it forbids are closed */
static int use_policy(struct gate *gate, struct policy *policy)
{
	struct parent_proxies parents;
	const int r = parent_proxies_init(&parents, policy, NULL);

	if (r < 0)
		return r;
	parent_proxies_done(&gate->parents);
	gate->parents = parents;
	gate->http_proxy_port = port_of(policy, NUMBER_HTTP_PROXY_PORT);
	gate->socks_proxy_port = port_of(policy, NUMBER_SOCKS_PROXY_PORT);
	policy_unref(gate->policy);
	gate->policy = policy_ref(policy);
	gate->edition++;
	for (struct conn *c = LIST_FIRST(&gate->conns), *next; c; c = next) {
		next = LIST_NEXT(c, link);
		conn_decide_again(c);
	}
	return 0;
}

/* A policy that can't be read is the end: going on with the old one could
 * let through what was just forbidden.
 */
static int take_policy(struct gate *gate, const char *part, size_t n,
		       uint32_t left)
{
	auto_policy struct policy *policy = NULL;

	if (!n || gate->partial_policy.len + n > GATE_POLICY_MAX)
		return -EINVAL;
	buf_add(&gate->partial_policy, part, n);
	if (left)
		return 0;
	policy = gate_policy_read(buf_str(&gate->partial_policy),
				  gate->partial_policy.len);
	buf_done(&gate->partial_policy);
	return policy ? use_policy(gate, policy) : -EINVAL;
}

static int take_listener(struct gate *gate, const struct gate_message *m,
			 int *fd)
{
	const struct listener row = { m->role, m->port };

	if (row.role >= LISTENER_ROLES)
		return -EPROTO;
	/* The last spare descriptor is not for one more listener: its clients are
	 * refused, the others are served
	 */
	if (gate->spares[0] >= 0)
		(void)accept_add(gate, row, m->id, take_fd(fd));
	return 0;
}

static int take_message(struct gate *gate, const struct gate_message *m,
			const char *text, size_t n, int *fd)
{
	switch (m->kind) {
	case GATE_POLICY:
		return take_policy(gate, text, n, m->id);
	case GATE_LISTENER:
		return *fd < 0 ? -EPROTO : take_listener(gate, m, fd);
	case GATE_SEEN:
		gate_seen(gate, m->id);
		return 0;
	case GATE_UNLISTEN:
		accept_remove(gate, m->id);
		return 0;
	case GATE_ANSWER:
		ask_answer(gate->asks, m->id, m->allow,
			   m->scope == ASK_SESSION ? ASK_SESSION : ASK_ONCE);
		return 0;
	case GATE_RESOLVER:
		lookup_attach(gate->resolver,
			      !m->allow ? -1 : *fd >= 0 ? take_fd(fd)
						: take_fd(&gate->names));
		return 0;
	case GATE_FINISH:
		loop_defer(gate->loop, &gate->last);
		return 0;
	case GATE_PEER:
		if (gate->peers)
			gate->peers[m->port / 8] |=
				(uint8_t)(1 << m->port % 8);
		return 0;
	default:
		return -EPROTO;
	}
}

/* One message: 1, 0 if there is none, or a negative errno */
static int take_one_message(struct gate *gate)
{
	static struct {
		struct gate_message m;
		char text[GATE_PART_MAX];
	} in;
	auto_close int fd = -1;
	size_t nfds = 1;
	ssize_t got;
	int r;

	/* Without a free descriptor the kernel would drop the one that comes */
	accept_give_spare(gate);
	got = socket_recv(gate->control.fd, &in, sizeof(in), &fd, &nfds);
	accept_take_spares(gate);
	if (!got) {
		loop_defer(gate->loop, &gate->last);
		loop_remove(gate->loop, &gate->control);
	}
	if (got <= 0)
		return got == -EAGAIN ? 0 : (int)got;
	if ((size_t)got < sizeof(in.m))
		return -EPROTO;
	r = take_message(gate, &in.m, in.text, (size_t)got - sizeof(in.m),
			 &fd);
	close_fd(&fd);
	accept_take_spares(gate);
	return r < 0 ? r : 1;
}

static void on_end(void *arg)
{
	struct gate *gate = arg;

	loop_stop(gate->loop, 0);
}

/* The command has ended. Accept the connections that wait, pass on what it sent
 * before, and end when that is done.
 */
static void finish_all(void *arg)
{
	struct gate *gate = arg;

	if (gate->finishing)
		return;
	gate->finishing = true;
	gate->wait_for_lookup = false;
	dns_send_pending(gate);
	accept_finish(gate);
	gate->end.fn = on_end;
	gate->end.arg = gate;
	timer_start(gate->timers, &gate->end, TIMER_FINISH);
	for (struct conn *c = LIST_FIRST(&gate->conns), *next; c; c = next) {
		next = LIST_NEXT(c, link);
		conn_run(c);
	}
	if (LIST_EMPTY(&gate->conns))
		loop_stop(gate->loop, 0);
}

static int on_control(void *arg)
{
	struct gate *gate = arg;
	int r = take_one_message(gate);

	/* Half a policy forbids nothing yet */
	if (r > 0 && gate->partial_policy.len)
		r = gate_take_messages(gate);
	return r < 0 ? r : 0;
}

int gate_take_messages(struct gate *gate)
{
	struct pollfd p = { .fd = gate->control.fd, .events = POLLIN };
	int r = 1;

	while (r > 0 && poll(&p, 1, 0) == 1)
		r = take_one_message(gate);
	if (r < 0)
		loop_stop(gate->loop, r);
	return r < 0 ? r : 0;
}

static int send_question(void *arg, uint32_t id, const struct host *host,
			 int client)
{
	struct gate_message m = {
		.kind = GATE_ASK, .id = id, .port = host->port,
	};

	address_of_client(client, &m.client);
	return gate_send(arg, &m, host->name, strlen(host->name));
}

/* To start a resolver takes as long as to start the gate: not before there is a
 * name to look up
 */
static int need_resolver(void *arg)
{
	const struct gate_message m = { .kind = GATE_NAMES };

	return gate_send(arg, &m, NULL, 0);
}

static int add_listeners(struct gate *gate, struct listener_set *set)
{
	int r = 0;

	for (size_t i = 0; i < set->len; i++) {
		const int fd = take_fd(&set->fds[i]);

		if (set->v[i].role == LISTENER_SEED)
			gate->seeds[0] = fd;
		else if (set->v[i].role == LISTENER_SEED_SOCKET)
			gate->seeds[1] = fd;
		else if (!r)
			r = accept_add(gate, set->v[i], 0, fd);
	}
	set->len = 0;
	return r;
}

static int set_up(struct gate *gate, const struct gate_config *config)
{
	int r;

	gate->last = (struct loop_task){ .fn = finish_all, .arg = gate };
	r = timers_new(gate->loop, config->ms, &gate->timers);
	if (r < 0)
		return r;
	gate->resolver = lookup_new(gate->loop, gate->timers, need_resolver,
				    gate);
	gate->pool = fake_ip_new();
	gate->asks = asks_new(gate->timers, send_question, gate);
	gate->may_ask = config->may_ask;
	gate->wait_for_lookup = config->wait_for_lookup;
	gate->names = config->names;
	gate->peers = config->peers;
	gate->secrets = config->secrets;
	gate->tls = (struct loop_source){ config->secrets ? config->tls : -1,
					  conn_tls_message, gate };
	gate->conns_max = config->conns_max &&
			  config->conns_max < GATE_CONNS_MAX
				  ? config->conns_max : GATE_CONNS_MAX;
	gate->control = (struct loop_source){ config->control, on_control,
					      gate };
	/* A new policy is in force for whatever comes after it */
	loop_prefer(gate->loop, &gate->control);
	r = use_policy(gate, config->policy);
	if (!r)
		r = loop_add(gate->loop, &gate->control, EPOLLIN);
	if (!r && gate->tls.fd >= 0)
		r = loop_add(gate->loop, &gate->tls, EPOLLIN);
	accept_take_spares(gate);
	return r < 0 ? r : add_listeners(gate, config->listeners);
}

/* What is left at the end, the kernel takes back with the process */
void gate_main(const struct gate_config *config)
{
	struct search_list search;
	struct gate gate = {
		.spares = { -1, -1 }, .seeds = { -1, -1 }, .search = &search,
	};
	const struct gate_message hosts = { .kind = GATE_HOSTS };
	auto_buf struct buf text = { 0 };
	int keep[LISTENERS_MAX + 4], r;
	size_t n = 0;

	search_list_read(&search);
	if (loop_new(&gate.loop, NULL) < 0)
		_exit(1);
	for (size_t i = 0; i < config->listeners->len; i++)
		keep[n++] = config->listeners->fds[i];
	keep[n++] = config->control;
	keep[n++] = config->names;
	keep[n++] = config->secrets ? config->tls : -1;
	keep[n++] = loop_fd(gate.loop);
	if (config->jail && (setns(config->jail[0], CLONE_NEWUSER) < 0 ||
			     setns(config->jail[1], CLONE_NEWNET) < 0))
		_exit(1);
	if (confine_inherit(keep, n, "cloche-gate", NULL) < 0 ||
	    confine_seal(CONFINED_GATE, NULL) < 0 ||
	    set_up(&gate, config) < 0)
		_exit(1);
	r = loop_run(gate.loop);
	while (gate.finishing && !LIST_EMPTY(&gate.conns))
		conn_close(LIST_FIRST(&gate.conns));
	gate_hosts_text(&gate, &text);
	if (gate.finishing && text.len)
		(void)gate_send(&gate, &hosts, text.p, text.len);
	_exit(r < 0);
}
