/* SPDX-License-Identifier: Apache-2.0 */
/* net/gate.c - the process that serves a sandbox's network */

#include "net/gate.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/sock.h"
#include "net/accept.h"
#include "net/confine.h"
#include "net/conn.h"
#include "net/dns-server.h"
#include "net/gate-policy.h"
#include "net/gate-wire.h"
#include "net/pool.h"
#include "net/seed.h"
#include "policy/policy.h"

static uint16_t port_of(const struct policy *policy, enum policy_number number)
{
	const struct number *n = &policy->numbers[number];

	return n->set && n->value <= UINT16_MAX ? (uint16_t)n->value : 0;
}

/* From here on @policy decides; connections that it forbids are closed */
static int use_policy(struct gate *gate, struct policy *policy)
{
	struct parents parents;
	const int r = parents_init(&parents, policy, NULL);

	if (r < 0)
		return r;
	parents_done(&gate->parents);
	gate->parents = parents;
	gate->http_proxy_port = port_of(policy, NUMBER_HTTP_PROXY_PORT);
	gate->socks_proxy_port = port_of(policy, NUMBER_SOCKS_PROXY_PORT);
	policy_unref(gate->policy);
	gate->policy = policy_ref(policy);
	gate->edition++;
	for (struct conn *c = gate->first, *next; c; c = next) {
		next = c->next;
		conn_judge_again(c);
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

	if (!n || gate->coming.len + n > GATE_POLICY_MAX)
		return -EINVAL;
	buf_add(&gate->coming, part, n);
	if (left)
		return 0;
	policy = gate_policy_read(buf_str(&gate->coming), gate->coming.len,
				  NULL);
	buf_done(&gate->coming);
	return policy ? use_policy(gate, policy) : -EINVAL;
}

static int take_listener(struct gate *gate, const struct gate_message *m,
			 int *fd)
{
	const struct listener row = { m->role, m->port };

	if (row.role >= LISTENER_ROLES)
		return -EPROTO;
	/* The last descriptor is not for one more listener. Whom we can't
	 * serve finds nobody there; the others are served.
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
static int hear_one(struct gate *gate)
{
	static struct {
		struct gate_message m;
		char text[GATE_PART_MAX];
	} in;
	auto_close int fd = -1;
	size_t nfds = 1;
	ssize_t got;
	int r;

	/* A descriptor that finds no room would be the end of us */
	accept_give_spare(gate);
	got = sock_recv(gate->control.fd, &in, sizeof(in), &fd, &nfds);
	accept_take_spares(gate);
	if (!got) {
		/* Nobody will say anything any more */
		loop_defer(gate->loop, &gate->last);
		loop_remove(gate->loop, &gate->control);
	}
	if (got <= 0)
		return got == -EAGAIN ? 0 : (int)got;
	if ((size_t)got < sizeof(in.m))
		return -EPROTO;
	r = take_message(gate, &in.m, in.text, (size_t)got - sizeof(in.m),
			 &fd);
	/* What was read and is not kept makes room for the next one */
	close_fd(&fd);
	accept_take_spares(gate);
	return r < 0 ? r : 1;
}

static void on_end(void *arg)
{
	struct gate *gate = arg;

	loop_stop(gate->loop, 0);
}

/* The command has ended. What it sent before is on its way all the same: take
 * who still waits, and go when nothing is left to be passed on.
 */
static void finish(void *arg)
{
	struct gate *gate = arg;

	if (gate->finishing)
		return;
	gate->finishing = true;
	gate->looked_at = false;
	dns_send_held(gate);
	accept_finish(gate);
	gate->end.fn = on_end;
	gate->end.arg = gate;
	timer_start(gate->timers, &gate->end, TIMER_FINISH);
	for (struct conn *c = gate->first, *next; c; c = next) {
		next = c->next;
		conn_run(c);
	}
	if (!gate->first)
		loop_stop(gate->loop, 0);
}

static int on_control(void *arg, uint32_t events)
{
	struct gate *gate = arg;
	int r = hear_one(gate);

	(void)events;
	/* Half a policy forbids nothing yet */
	if (r > 0 && gate->coming.len)
		r = gate_hear(gate);
	return r < 0 ? r : 0;
}

int gate_hear(struct gate *gate)
{
	struct pollfd p = { .fd = gate->control.fd, .events = POLLIN };
	int r = 1;

	while (r > 0 && poll(&p, 1, 0) == 1)
		r = hear_one(gate);
	if (r < 0)
		loop_stop(gate->loop, r);
	return r < 0 ? r : 0;
}

static int send_question(void *arg, uint32_t id, const struct host *host,
			 const struct conn *client)
{
	struct gate_message m = {
		.kind = GATE_ASK, .id = id, .port = host->port,
	};

	gate_look_at(client, &m.client);

	return gate_send(arg, &m, host->name, strlen(host->name));
}

/* Most commands talk to names, but to start a resolver takes as long as to
 * start the gate: not before there is something to ask
 */
static int need_resolver(void *arg)
{
	const struct gate_message m = { .kind = GATE_NAMES };

	return gate_send(arg, &m, NULL, 0);
}

static int add_listeners(struct gate *gate, struct listener_set *set)
{
	int seeds[2] = { -1, -1 }, r = 0;

	for (size_t i = 0; i < set->len; i++) {
		const int fd = take_fd(&set->fds[i]);

		if (set->v[i].role == LISTENER_SEED)
			seeds[0] = fd;
		else if (set->v[i].role == LISTENER_SEED_SOCKET)
			seeds[1] = fd;
		else if (!r)
			r = accept_add(gate, set->v[i], 0, fd);
	}
	set->len = 0;
	gate->seed = seed_new(seeds[0], seeds[1]);
	return r;
}

static int set_up(struct gate *gate, const struct gate_config *config)
{
	int r;

	gate->loop = config->loop;
	gate->last = (struct loop_task){ .fn = finish, .arg = gate };
	gate->shared = config->shared;
	loop_show(gate->loop, &gate->shared->waits);
	r = timers_new(gate->loop, config->ms, &gate->timers);
	if (r < 0)
		return r;
	gate->resolver = lookup_new(gate->loop, gate->timers, need_resolver,
				    gate);
	gate->pool = pool_new();
	gate->asks = asks_new(gate->timers, send_question, gate);
	gate->may_ask = config->may_ask;
	gate->looked_at = config->looked_at;
	gate->names = config->names;
	gate->peers = config->peers;
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
	accept_take_spares(gate);
	return r < 0 ? r : add_listeners(gate, config->listeners);
}

/* What is left at the end, the kernel takes back with the process */
static int serve(const struct gate_config *config, const struct search *search)
{
	struct gate gate = { .spares = { -1, -1 }, .search = *search };
	const int r = set_up(&gate, config);

	return r < 0 ? r : loop_run(gate.loop);
}

void gate_main(const struct gate_config *config)
{
	int keep[LISTENERS_MAX + 3];
	struct search search;
	size_t n = 0;

	search_read(&search);
	for (size_t i = 0; i < config->listeners->len; i++)
		keep[n++] = config->listeners->fds[i];
	keep[n++] = config->control;
	keep[n++] = config->names;
	keep[n++] = loop_fd(config->loop);
	if (config->jail && (setns(config->jail[0], CLONE_NEWUSER) < 0 ||
			     setns(config->jail[1], CLONE_NEWNET) < 0))
		_exit(1);
	if (confine_inherit(keep, n, "cloche-gate", NULL) < 0 ||
	    confine_seal(CONFINED_GATE, NULL) < 0)
		_exit(1);
	_exit(serve(config, &search) < 0);
}
