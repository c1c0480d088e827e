/* SPDX-License-Identifier: Apache-2.0 */
/* net/gatekeeper.c - the supervisor's side of a sandbox's network */

#include "net/gatekeeper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/own.h"
#include "base/sock.h"
#include "net/gate-policy.h"
#include "net/gate-process.h"
#include "net/gate-wire.h"
#include "net/gate.h"
#include "plan/listener.h"
#include "policy/policy.h"

enum {
	MESSAGES_MAX = 64,	/* Taken before others have their turn */
	DRAIN_MAX = 4096,	/* More than there is room for on the way */
	EARLY_MS = 2,		/* A command that runs for longer may connect */
	FINISH_MS = 2500,	/* Longer than the gate gives itself */
};

/**
 * struct gatekeeper - What the supervisor holds
 * @set:	The sockets, until the gate has them
 * @waiting:	One for each of @set
 * @gate:	Its process
 * @control:	To the gate; -1 without one
 * @early:	Starts it before somebody connects; -1 if not
 * @peers:	Clients that will come, until the gate has them; or NULL
 * @over:	It was there and is gone: there will be no other
 * @finishing:	It is meant to end
 */
struct gatekeeper {
	struct loop *loop;
	struct gatekeeper_config config;
	struct listener_set set;
	struct loop_source waiting[LISTENERS_MAX];
	struct gate_process gate;
	struct loop_source control, early;
	uint8_t *peers;
	bool over, finishing;
};

static void stop_waiting(struct gatekeeper *k)
{
	for (size_t i = 0; i < k->set.len; i++)
		loop_remove(k->loop, &k->waiting[i]);
}

static void not_early(struct gatekeeper *k)
{
	if (k->early.fd >= 0)
		loop_close(k->loop, &k->early);
}

static void finish(struct gatekeeper *k)
{
	not_early(k);
	stop_waiting(k);
	listener_done(&k->set);
	if (k->control.fd >= 0)
		loop_remove(k->loop, &k->control);
	k->control.fd = -1;
	gate_process_end(&k->gate, !k->finishing);
	k->over = true;
}

static void tell_gone(struct gatekeeper *k)
{
	if (k->over)
		return;
	finish(k);
	if (k->config.gone && !k->finishing)
		k->config.gone(k->config.arg, "the network gate ended: "
			       "connections are refused from now on");
}

/* Say something that must be heard, @n bytes that begin with a message: to a
 * gate that takes no messages any more, whoever sees to that, there is nothing
 * left to say
 */
static int tell_all(struct gatekeeper *k, const void *p, size_t n)
{
	const int r = sock_send(k->control.fd, p, n, NULL, 0);

	if (r < 0)
		tell_gone(k);
	return r;
}

static int tell(struct gatekeeper *k, const struct gate_message *m)
{
	return tell_all(k, m, sizeof(*m));
}

/* All that a user's programs have sent and nobody has taken yet, counts
 * together: what is one too many is refused, and the rest goes on
 */
static int hand_over(struct gatekeeper *k, const struct gate_message *m,
		     int fd)
{
	const int r = sock_send(k->control.fd, m, sizeof(*m), &fd, 1);

	if (r < 0 && r != -ETOOMANYREFS)
		tell_gone(k);
	return r;
}

/* Its client may go now: we have seen it */
static void tell_seen(struct gatekeeper *k, uint32_t id)
{
	const struct gate_message m = { .kind = GATE_SEEN, .id = id };

	/* A gate that is behind goes on by its own clock */
	if (id)
		(void)send(k->control.fd, &m, sizeof(m),
			   MSG_DONTWAIT | MSG_NOSIGNAL);
}

static pid_t who_is(struct gatekeeper *k, const struct gate_message *m)
{
	return k->config.who && m->client.family
		       ? k->config.who(k->config.arg, &m->client) : 0;
}

static void take_violation(struct gatekeeper *k, const struct gate_message *m,
			   const char *text, size_t n)
{
	struct violation v;

	if (violation_from_json(text, n, &v, NULL) < 0)
		return;
	v.pid = who_is(k, m);
	violation_report(&k->config.sink, &v);
	violation_done(&v);
	tell_seen(k, m->id);
}

static void take_question(struct gatekeeper *k, const struct gate_message *m,
			  const char *text, size_t n)
{
	struct host host;

	if (!k->config.ask || host_parse(text, n, m->port, &host) < 0)
		gatekeeper_answer(k, m->id, false, ASK_ONCE);
	else
		k->config.ask(k->config.arg, m->id, &host, who_is(k, m));
}

static void take_lost(struct gatekeeper *k, uint32_t count)
{
	struct violation v = { .kind = VIOLATION_LIMIT, .count = count };

	v.op = mem_strdup("report");
	v.target = mem_strdup("network reports");
	v.reason = mem_strdup("more refusals than could be reported");
	violation_report(&k->config.sink, &v);
	violation_done(&v);
}

static void start_resolver(struct gatekeeper *k)
{
	const struct gate_config *limits = k->config.limits;
	struct gate_message m = { .kind = GATE_RESOLVER };
	auto_close int theirs = -1;
	int r = gate_process_resolve(&k->gate, limits ? limits->lookup : NULL,
				     &theirs);

	m.allow = r == 0;
	if (theirs >= 0 && m.allow)
		m.allow = hand_over(k, &m, theirs) == 0;
	if (theirs < 0 || !m.allow)
		(void)tell(k, &m);
	if (!m.allow && !k->over && !k->finishing && k->config.gone)
		k->config.gone(k->config.arg, "who looks up names has ended: no name is found from now on");
}

/* The gate is confined because it might be taken over: what it says is data */
static bool take_message(struct gatekeeper *k)
{
	struct {
		struct gate_message m;
		char text[GATE_TEXT_MAX];
	} in;
	const ssize_t got = recv(k->control.fd, &in, sizeof(in), MSG_DONTWAIT);
	const size_t n = (size_t)got - sizeof(in.m);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got < (ssize_t)sizeof(in.m)) {
		tell_gone(k);
		return false;
	}
	if (in.m.kind == GATE_VIOLATION)
		take_violation(k, &in.m, in.text, n);
	else if (in.m.kind == GATE_ASK)
		take_question(k, &in.m, in.text, n);
	else if (in.m.kind == GATE_LOST)
		take_lost(k, in.m.id);
	else if (in.m.kind == GATE_NAMES)
		start_resolver(k);
	return true;
}

static void take_messages(struct gatekeeper *k, int max)
{
	while (max-- && k->control.fd >= 0 && take_message(k))
		;
}

static int on_control(void *arg, uint32_t events)
{
	(void)events;
	take_messages(arg, MESSAGES_MAX);
	return 0;
}

void gatekeeper_drain(struct gatekeeper *k)
{
	/* A gate that was taken over could go on talking */
	if (k)
		take_messages(k, DRAIN_MAX);
}

void gatekeeper_finish(struct gatekeeper *k)
{
	const struct gate_message m = { .kind = GATE_FINISH };
	const int64_t until = now_ms(CLOCK_MONOTONIC) + FINISH_MS;

	if (!k || !k->gate.pid)
		return;
	k->finishing = true;
	if (gate_process_is_idle(&k->gate)) {
		gatekeeper_drain(k);
		return;
	}
	/* A gate that has no room for this hears it by the end of all words */
	if (send(k->control.fd, &m, sizeof(m),
		 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		(void)shutdown(k->control.fd, SHUT_WR);
	while (k->control.fd >= 0) {
		struct pollfd p = { .fd = k->control.fd, .events = POLLIN };
		const int64_t left = until - now_ms(CLOCK_MONOTONIC);

		if (left <= 0 || poll(&p, 1, (int)left) != 1 ||
		    !take_message(k))
			break;
	}
}

int gatekeeper_start(struct gatekeeper *k, struct err *err)
{
	struct gate_config config = { 0 };
	int r;

	if (k->over)
		return fail(err, -EOWNERDEAD, "the network gate has ended");
	if (k->gate.pid)
		return 0;
	not_early(k);
	if (k->config.limits)
		config = *k->config.limits;
	config.listeners = &k->set;
	config.jail = k->config.jail;
	config.policy = k->config.policy;
	config.may_ask = k->config.ask != NULL;
	config.looked_at = k->config.who != NULL;
	config.peers = k->peers;
	r = gate_process_start(&k->gate, &config, err);
	if (r < 0)
		return r;
	stop_waiting(k);
	listener_done(&k->set);
	k->control.fd = k->gate.control;
	r = loop_add(k->loop, &k->control, EPOLLIN);
	if (r < 0)
		finish(k);
	return r;
}

static int on_listener(void *arg, uint32_t events)
{
	struct gatekeeper *k = arg;
	struct err err = { 0 };

	(void)events;
	if (gatekeeper_start(k, &err) == 0)
		return 0;
	finish(k);
	if (k->config.gone)
		k->config.gone(k->config.arg, err.msg);
	return 0;
}

/* If this fails, it is tried again when somebody connects */
static int on_early(void *arg, uint32_t events)
{
	(void)events;
	(void)gatekeeper_start(arg, NULL);
	return 0;
}

void gatekeeper_start_early(struct gatekeeper *k)
{
	static const struct itimerspec when = {
		.it_value.tv_nsec = EARLY_MS * 1000000L,
	};

	if (k->gate.pid || k->over || k->early.fd >= 0)
		return;
	k->early.fd = timerfd_create(CLOCK_MONOTONIC,
				     TFD_CLOEXEC | TFD_NONBLOCK);
	if (k->early.fd >= 0 &&
	    (timerfd_settime(k->early.fd, 0, &when, NULL) < 0 ||
	     loop_add(k->loop, &k->early, EPOLLIN) < 0))
		close_fd(&k->early.fd);
}

/* Seeds and datagram sockets too: whatever becomes ready needs the gate */
static int wait_on(struct gatekeeper *k, size_t i)
{
	k->waiting[i] = (struct loop_source){ k->set.fds[i], on_listener, k };
	if (k->set.v[i].role == LISTENER_SEED ||
	    k->set.v[i].role == LISTENER_SEED_SOCKET)
		return 0;
	return loop_add(k->loop, &k->waiting[i], EPOLLIN);
}

int gatekeeper_new(struct loop *loop, const struct gatekeeper_config *config,
		   struct listener_set *listeners, struct gatekeeper **ret,
		   struct err *err)
{
	struct gatekeeper *k = mem_zalloc(sizeof(*k));
	int r = 0;

	k->loop = loop;
	k->config = *config;
	k->config.policy = policy_ref(config->policy);
	k->control = (struct loop_source){ -1, on_control, k };
	k->early = (struct loop_source){ -1, on_early, k };
	k->gate.control = k->gate.names = -1;
	if (config->known_peers)
		k->peers = mem_zalloc(GATE_PEERS_SIZE);
	k->set = *listeners;
	listeners->len = 0;
	for (size_t i = 0; !r && i < k->set.len; i++)
		r = wait_on(k, i);
	if (r < 0) {
		gatekeeper_free(k);
		return fail(err, r, "cannot wait for connections: %s",
			    strerror(-r));
	}
	*ret = k;
	return 0;
}

void gatekeeper_free(struct gatekeeper *k)
{
	if (!k)
		return;
	finish(k);
	policy_unref(k->config.policy);
	free(k->peers);
	free(k);
}

int gatekeeper_add(struct gatekeeper *k,
		   const struct gatekeeper_listener *row, int fd)
{
	const struct gate_message m = {
		.kind = GATE_LISTENER, .role = row->role, .port = row->port,
		.id = row->id,
	};
	struct err err = { 0 };
	int r = 0;

	if (k->over) {
		close_fd(&fd);
		return -EOWNERDEAD;
	}
	/* Who is to be removed again must be known by its name from the start,
	 * and somebody is about to connect to it anyway
	 */
	if (!k->gate.pid && row->id)
		r = gatekeeper_start(k, &err);
	if (r < 0) {
		close_fd(&fd);
		return r;
	}
	if (k->gate.pid) {
		r = hand_over(k, &m, fd);
		close_fd(&fd);
		return r;
	}
	r = listener_add(&k->set, row->role, row->port, fd);
	return r < 0 ? r : wait_on(k, k->set.len - 1);
}

void gatekeeper_remove(struct gatekeeper *k, uint32_t id)
{
	const struct gate_message m = { .kind = GATE_UNLISTEN, .id = id };

	if (k->gate.pid)
		(void)tell(k, &m);
}

/* In parts: none of them needs a descriptor, of which there might be none */
static int send_policy(struct gatekeeper *k, const struct policy *policy)
{
	auto_buf struct buf text = { 0 };
	int r = 0;

	gate_policy_write(policy, &text);
	/* Never go on with what was just forbidden */
	if (text.len > GATE_POLICY_MAX) {
		tell_gone(k);
		return -EFBIG;
	}
	for (size_t at = 0; !r && at < text.len; ) {
		const size_t left = text.len - at;
		const size_t n = left < GATE_PART_MAX ? left : GATE_PART_MAX;
		const struct gate_message m = {
			.kind = GATE_POLICY, .id = (uint32_t)(left - n),
		};
		auto_buf struct buf out = { 0 };

		buf_add(&out, &m, sizeof(m));
		buf_add(&out, text.p + at, n);
		r = tell_all(k, out.p, out.len);
		at += n;
	}
	return r;
}

int gatekeeper_reload(struct gatekeeper *k, struct policy *policy,
		      struct err *err)
{
	/* Of a gate that ended, which was said, nothing is open */
	const int r = k->gate.pid ? send_policy(k, policy) : 0;

	if (r < 0)
		return fail(err, r, "cannot give the gate its policy: %s",
			    strerror(-r));
	policy_ref(policy);
	policy_unref(k->config.policy);
	k->config.policy = policy;
	return 0;
}

void gatekeeper_answer(struct gatekeeper *k, uint32_t id, bool allow,
		       enum ask_scope scope)
{
	const struct gate_message m = {
		.kind = GATE_ANSWER, .id = id, .allow = allow,
		.scope = (uint8_t)scope,
	};

	if (k->gate.pid)
		(void)tell(k, &m);
}

int gatekeeper_expect(struct gatekeeper *k, uint16_t port)
{
	const struct gate_message m = { .kind = GATE_PEER, .port = port };

	if (k->over)
		return -EOWNERDEAD;
	if (k->gate.pid)
		return tell(k, &m);
	if (k->peers)
		k->peers[port / 8] |= (uint8_t)(1 << port % 8);
	return 0;
}
