/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate/destination.c - from a host to a connection: decide, ask, resolve, dial
 *
 * Theory of operation: each step either goes on to the next or ends with an
 * outcome. No name is resolved and no address dialled before the verdict; what
 * is dialled are the very addresses that were checked. With a parent proxy the
 * name goes to it unresolved, so the guard can only look at literals.
 *
 * Where the way to one family of addresses swallows what is sent (IPv6 behind
 * some routers and tunnels), each connection would wait for it in vain. So a
 * family that did not answer where the other one did comes second for a while.
 */

#include "gate/destination.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "gate/address.h"
#include "gate/gate-state.h"
#include "gate/proto/http.h"
#include "gate/splice.h"
#include "policy/policy.h"

enum { SILENT_MS = 60000 };	/* Until a family is tried first again */

/* The gate has one thread */
static enum host_kind silent;
static int64_t silent_until;

static void try_next(struct dial *d);

void dial_stop(struct dial *d)
{
	timer_stop(d->timers, &d->total);
	timer_stop(d->timers, &d->attempt);
}

static void end_dial(struct dial *d, int error)
{
	dial_stop(d);
	if (!error && d->silent &&
	    d->silent != d->v[d->next - 1].kind) {
		silent = d->silent;
		silent_until = timer_now() + SILENT_MS;
	}
	if (error)
		splice_end_close(d->loop, d->end);
	d->fn(d->arg, error);
}

static void skip_address(struct dial *d, int error)
{
	if (error != -ECONNREFUSED)
		d->silent = d->v[d->next - 1].kind;
	d->error = error;
	splice_end_close(d->loop, d->end);
	try_next(d);
}

static int on_event(void *arg, uint32_t events)
{
	struct dial *d = arg;
	int error = 0;

	splice_end_note(d->end, events);
	if (!d->end->writable)
		return 0;
	if (d->end->hung_up)
		error = sys_socket_option(d->end->source.fd, SO_ERROR);
	if (error)
		skip_address(d, error < 0 ? error : -error);
	else
		end_dial(d, 0);
	return 0;
}

/* A server on this machine has answered by now. The bits of poll() are those of
 * epoll.
 */
static void check_now(struct dial *d)
{
	struct pollfd p = {
		.fd = d->end->source.fd, .events = POLLIN | POLLOUT,
	};
	int r;

	if (poll(&p, 1, 0) == 1) {
		(void)on_event(d, (uint32_t)p.revents);
		return;
	}
	r = splice_end_watch(d->loop, d->end);
	if (r < 0)
		skip_address(d, r);
}

static void on_attempt_over(void *arg)
{
	skip_address(arg, -ETIMEDOUT);
}

static void on_total_over(void *arg)
{
	end_dial(arg, -ETIMEDOUT);
}

enum { KEEP_ALIVE_S = 60 };	/* Routers forget a connection that is silent longer */

/* The command's own wish to keep a silent connection alive ends at the gate */
static void set_up(int fd)
{
	static const int on = 1, idle = KEEP_ALIVE_S;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof(idle));
}

static int new_socket(int family)
{
	const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC |
			      SOCK_NONBLOCK, 0);

	if (fd >= 0)
		set_up(fd);
	return fd;
}

/* The same address, for a socket that serves both families */
static socklen_t map(struct sockaddr_storage *sa)
{
	const struct sockaddr_in four = *(const struct sockaddr_in *)sa;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)sa;

	if (sa->ss_family == AF_INET) {
		*six = (struct sockaddr_in6){
			.sin6_family = AF_INET6, .sin6_port = four.sin_port,
			.sin6_addr.s6_addr = { [10] = 0xff, [11] = 0xff },
		};
		memcpy(six->sin6_addr.s6_addr + 12, &four.sin_addr, 4);
	}
	return sizeof(*six);
}

/* Start connecting @fd. 0, or a negative errno and @fd is closed. */
static int connect_to(struct dial *d, int fd, const struct host *address,
		      bool as_ipv6)
{
	struct sockaddr_storage sa;
	socklen_t len;
	int r = address_to_sockaddr(address, &sa, &len);

	if (!r && as_ipv6)
		len = map(&sa);
	*d->end = (struct splice_end){ .source = { fd, on_event, d } };
	if (!r && connect(fd, (const struct sockaddr *)&sa, len) < 0 &&
	    errno != EINPROGRESS)
		r = -errno;
	if (r < 0)
		close_fd(&d->end->source.fd);
	return r;
}

static void try_next(struct dial *d)
{
	while (d->next < d->count) {
		const struct host *address = &d->v[d->next++];
		const int family = address->kind == HOST_IPV6 ? AF_INET6
							      : AF_INET;
		const int fd = new_socket(family);
		const int r = fd < 0 ? -errno
				 : connect_to(d, fd, address, false);

		if (!r) {
			/* The last one may use up what is left of the total */
			if (d->next < d->count)
				timer_start(d->timers, &d->attempt,
					    TIMER_ATTEMPT);
			else
				timer_stop(d->timers, &d->attempt);
			check_now(d);
			return;
		}
		d->error = r;
	}
	end_dial(d, d->error);
}

void dial_add(struct dial *d, const struct host *address)
{
	bool other = d->count > 0;
	size_t at = d->count;

	for (size_t i = 0; i < d->count; i++)
		other &= d->v[i].kind != address->kind;
	if (other)
		at = 1;
	else if (d->count == DIAL_ADDRESSES_MAX)
		return;
	if (d->count < DIAL_ADDRESSES_MAX)
		d->count++;
	memmove(&d->v[at + 1], &d->v[at],
		(d->count - 1 - at) * sizeof(*d->v));
	d->v[at] = *address;
}

static void prefer_answering(struct dial *d)
{
	const struct host first = d->v[0];

	if (d->count < 2 || first.kind != silent || d->v[1].kind == silent ||
	    timer_now() >= silent_until)
		return;
	d->v[0] = d->v[1];
	d->v[1] = first;
}

static void prepare_attempt(struct dial *d)
{
	d->next = 0;
	d->silent = HOST_NAME;
	d->error = -EHOSTUNREACH;
	d->total.fn = on_total_over;
	d->attempt.fn = on_attempt_over;
	d->total.arg = d->attempt.arg = d;
	timer_start(d->timers, &d->total, TIMER_DIAL);
}

void dial_start(struct dial *d)
{
	prepare_attempt(d);
	prefer_answering(d);
	try_next(d);
}

void dial_start_with(struct dial *d, int fd)
{
	int r;

	prepare_attempt(d);
	d->next = d->count;
	set_up(fd);
	r = connect_to(d, fd, &d->v[0],
		       sys_socket_option(fd, SO_DOMAIN) == AF_INET6);
	if (r < 0)
		end_dial(d, r);
	else
		check_now(d);
}

enum { INTERIMS_MAX = 16 };	/* Heads before the answer to a CONNECT */

static void end_destination(struct gate_destination *r, enum destination_outcome outcome)
{
	destination_stop(r);
	if (outcome != DESTINATION_OK)
		splice_end_close(r->gate->loop, r->end);
	r->outcome = outcome;
	r->fn(r->arg);
}

void destination_stop(struct gate_destination *r)
{
	/* A dial may be all there is of it */
	if (r->dial.timers)
		dial_stop(&r->dial);
	if (!r->gate)
		return;
	ask_forget(&r->ask);
	lookup_forget(&r->resolve);
	timer_stop(r->gate->timers, &r->parent_timer);
	free(r->parent_in);
	r->parent_in = NULL;
}

static void set_reason(struct gate_destination *r, const char *reason,
		      const struct list_rule *rule)
{
	auto_buf struct buf text = { 0 };

	snprintf(r->reason, sizeof(r->reason), "%.*s",
		 DESTINATION_REASON_MAX - 1, reason);
	r->rule[0] = '\0';
	if (rule) {
		origin_describe(&rule->origin, &text);
		snprintf(r->rule, sizeof(r->rule), "%.*s", DESTINATION_RULE_MAX - 1,
			 buf_str(&text));
	}
}

static void report_refusal(struct gate_destination *r, const char *reason,
			   const struct list_rule *rule,
			   const struct host *address)
{
	set_reason(r, reason, rule);
	gate_report(r->gate, &(struct refusal){
		.kind = VIOLATION_NET_CONNECT, .op = r->op, .host = &r->host,
		.address = address, .reason = reason, .rule = rule,
		.client = r->client,
	}, r->seen);
}

static void refuse_address(struct gate_destination *r, enum destination_outcome outcome,
			   const char *reason, const struct list_rule *rule,
			   const struct host *address)
{
	report_refusal(r, reason, rule, address);
	end_destination(r, outcome);
}

static void refuse(struct gate_destination *r, enum destination_outcome outcome,
		   const char *reason, const struct list_rule *rule)
{
	refuse_address(r, outcome, reason, rule, NULL);
}

/* The rule that denies an address; NULL if a range does, or none */
static const struct list_rule *denier(const struct gate_destination *r,
				      const struct host *address)
{
	const struct host_verdict v = host_decide(r->gate->policy, address,
						  false);

	return v.decision == HOST_DENIED ? v.rule : NULL;
}

static enum destination_outcome outcome_of(int error)
{
	switch (error) {
	case 0:
		return DESTINATION_OK;
	case -ECONNREFUSED:
	case -ECONNRESET:
		return DESTINATION_REFUSED;
	case -ETIMEDOUT:
		return DESTINATION_TIMEOUT;
	case -ENOENT:
		return DESTINATION_NO_NAME;
	case -EMFILE:
	case -ENFILE:
	case -EBUSY:
		return DESTINATION_BUSY;
	default:
		return DESTINATION_UNREACHABLE;
	}
}

static void fail_with(struct gate_destination *r, int error, const char *what)
{
	const enum destination_outcome outcome = outcome_of(error);

	set_reason(r, what, NULL);
	end_destination(r, outcome);
}

/* What was looked up or dialled may be the parent proxy, and not the host */
static void fail_to_dial(struct gate_destination *r, int error, const char *what)
{
	char reason[DESTINATION_REASON_MAX];

	snprintf(reason, sizeof(reason), "%s%s",
		 r->via_parent ? "the parent proxy: " : "", what);
	fail_with(r, error, reason);
}

/* One head of the parent proxy's, and not a byte more: what the server may have
 * sent already stays in the socket. 0 or a negative errno.
 */
static int read_head(struct gate_destination *r, struct http_response *ret)
{
	static const struct http_request connect = {
		.kind = HTTP_METHOD_CONNECT, .minor = 1,
	};
	struct http_scan scan = { 0 };
	const char *why;
	ssize_t got, n;

	if (!r->parent_in)
		r->parent_in = mem_zalloc(HTTP_HEAD_MAX);
	got = recv(r->end->source.fd, r->parent_in, HTTP_HEAD_MAX, MSG_PEEK);
	if (got <= 0)
		return !got ? -ECONNRESET : -errno;
	n = http_head_scan(&scan, r->parent_in, (size_t)got);
	if (n <= 0)
		return n ? (int)n : -EAGAIN;
	if (recv(r->end->source.fd, r->parent_in, (size_t)n, 0) != n)
		return -ECONNRESET;
	return http_response_parse(r->parent_in, (size_t)n, &connect, ret,
				   &why) < 0 ? -EPROTO : 0;
}

/* 0 for a 2xx, after which there are bytes, or a negative errno */
static int read_answer(struct gate_destination *r)
{
	struct http_response response;

	do {
		const int e = r->interims > INTERIMS_MAX
				      ? -EPROTO : read_head(r, &response);

		if (e < 0)
			return e;
		r->interims += response.interim;
	} while (response.interim);
	if (response.status == 407)
		return -EACCES;
	return response.tunnel ? 0 : -EPERM;
}

static int on_parent(void *arg, uint32_t events)
{
	struct gate_destination *r = arg;
	int e;

	splice_end_note(r->end, events);
	e = read_answer(r);
	if (e == -EAGAIN)
		return 0;
	if (e == -EPERM)
		fail_with(r, -EHOSTUNREACH, "the parent proxy refused");
	else if (e == -EACCES)
		fail_with(r, -EHOSTUNREACH, UPSTREAM_CREDENTIALS);
	else if (e < 0)
		fail_with(r, -EHOSTUNREACH,
			  "the parent proxy's answer could not be read");
	else
		end_destination(r, DESTINATION_OK);
	return 0;
}

static void on_parent_deadline(void *arg)
{
	fail_with(arg, -ETIMEDOUT, "the parent proxy did not answer in time");
}

static void ask_parent(struct gate_destination *r)
{
	const struct upstream *p = upstreams_for(&r->gate->parents, &r->host,
					     false);
	auto_buf struct buf out = { 0 };

	if (!p) {	/* Reloaded meanwhile */
		fail_with(r, -EHOSTUNREACH, "the parent proxy is gone");
		return;
	}
	http_connect_write(&r->host, p->authorization, &out);
	if (splice_end_write(r->end, out.p, out.len) != (ssize_t)out.len ||
	    splice_end_watch(r->gate->loop, r->end) < 0) {
		fail_with(r, -EHOSTUNREACH, "the parent proxy takes nothing");
		return;
	}
	r->end->source.fn = on_parent;
	r->end->source.arg = r;
	r->interims = 0;
	r->parent_timer.fn = on_parent_deadline;
	r->parent_timer.arg = r;
	timer_start(r->gate->timers, &r->parent_timer, TIMER_PARENT);
}

static void on_dialled(void *arg, int error)
{
	struct gate_destination *r = arg;

	if (error)
		fail_to_dial(r, error, strerror(-error));
	else if (r->via_parent && !r->plain)
		ask_parent(r);
	else
		end_destination(r, DESTINATION_OK);
}

static void dial(struct gate_destination *r)
{
	r->dial.loop = r->gate->loop;
	r->dial.timers = r->gate->timers;
	r->dial.end = r->end;
	r->dial.fn = on_dialled;
	r->dial.arg = r;
	dial_start(&r->dial);
}

/* Why @address, which may be our @own, may not be dialled; or NULL */
static const char *object(const struct gate_destination *r, const struct host *address,
			  bool own)
{
	const struct address_own mine = { address, own };
	const struct policy *policy = r->gate->policy;

	/* An address that the user was asked about counts as named */
	if (r->granted && r->host.kind != HOST_NAME)
		return host_address_is_denied(policy, address)
			       ? "address is on the deny list" : NULL;
	return address_guard(policy, &mine, &r->host, address);
}

/* Check one address; those that pass are dialled. NULL, or the objection. */
static const char *guard(struct gate_destination *r, const struct host *address, bool own)
{
	const char *why = object(r, address, own);

	if (!why)
		dial_add(&r->dial, address);
	return why;
}

static void on_resolved(void *arg, const struct resolve_answer *answer)
{
	struct gate_destination *r = arg;
	const char *why = NULL;
	struct host last;

	if (answer->error) {
		fail_to_dial(r, answer->error == -EAGAIN ||
					answer->error == -EIO
					? -ENOENT : answer->error,
			     "the name could not be resolved");
		return;
	}
	for (uint32_t i = 0; i < answer->count; i++) {
		struct host address;
		const char *objection = NULL;

		host_of_address(answer->v[i].bytes, answer->v[i].len,
				r->port, &address);
		if (!r->via_parent)
			objection = guard(r, &address, answer->v[i].own);
		else
			dial_add(&r->dial, &address);
		if (objection) {
			why = objection;
			last = address;
		}
	}
	if (r->dial.count)
		dial(r);
	else
		refuse_address(r, DESTINATION_GUARDED, why ? why : "no address",
			       why ? denier(r, &last) : NULL,
			       why ? &last : NULL);
}

static void resolve(struct gate_destination *r, const struct host *host)
{
	struct resolve_answer answer;
	int got;

	r->resolve.fn = on_resolved;
	r->resolve.arg = r;
	got = lookup_ask(r->gate->resolver, host, &r->resolve, &answer);
	if (got < 0)
		fail_with(r, got, got == -EBUSY ? "too many names at once"
						: "the resolver is gone");
	else if (got)
		on_resolved(r, &answer);
}

/* The user's own proxy is where the user says: no guard on its address */
static void go_to_parent(struct gate_destination *r, const struct upstream *parent)
{
	r->via_parent = true;
	r->port = parent->host.port;
	if (parent->host.kind == HOST_NAME) {
		resolve(r, &parent->host);
		return;
	}
	dial_add(&r->dial, &parent->host);
	dial(r);
}

static void go(struct gate_destination *r)
{
	const struct upstream *parent = upstreams_for(&r->gate->parents, &r->host,
						  r->plain);
	const char *why;

	r->dial.count = 0;
	r->via_parent = false;
	r->port = r->host.port;
	if (parent && r->host.kind == HOST_NAME) {
		go_to_parent(r, parent);
		return;
	}
	if (r->host.kind == HOST_NAME) {
		resolve(r, &r->host);
		return;
	}
	why = guard(r, &r->host, false);
	if (why) {
		refuse_address(r, DESTINATION_GUARDED, why, NULL, &r->host);
	} else if (parent) {
		r->dial.count = 0;
		go_to_parent(r, parent);
	} else {
		dial(r);
	}
}

static void on_answer(void *arg, bool allow)
{
	struct gate_destination *r = arg;

	r->granted = allow;
	if (allow)
		go(r);
	else
		refuse(r, DESTINATION_DENIED, "the answer was no", NULL);
}

static void ask(struct gate_destination *r, const struct host_verdict *verdict)
{
	int got;

	r->ask.fn = on_answer;
	r->ask.arg = r;
	r->ask.client = r->client;
	got = ask_start(r->gate->asks, &r->host, &r->ask);
	if (got == 1)
		on_answer(r, true);
	else if (got)
		refuse(r, DESTINATION_DENIED, got == 2 ? "the answer was no"
						 : verdict->reason, NULL);
}

void destination_start(struct gate_destination *r)
{
	const struct host_verdict v = gate_decide(r->gate, &r->host);

	r->outcome = DESTINATION_PENDING;
	/* Allowed by no rule: the user said yes for the session */
	r->granted = v.decision == HOST_ALLOWED && !v.rule;
	if (v.decision == HOST_ALLOWED)
		go(r);
	else if (v.decision == HOST_ASK)
		ask(r, &v);
	else
		refuse(r, DESTINATION_DENIED, v.reason, v.rule);
}

/* Whether what was begun may go on, now that the decision is @v */
static bool may_go_on(const struct gate_destination *r, const struct host_verdict *v)
{
	return v->decision == HOST_ALLOWED ||
	       (v->decision == HOST_ASK && (r->granted || r->ask.asked));
}

bool destination_is_allowed(struct gate_destination *r)
{
	struct host_verdict v = gate_decide(r->gate, &r->host);
	const struct host *address = NULL;

	if (may_go_on(r, &v)) {
		const char *why = NULL;

		if (!r->via_parent && r->dial.next)
			address = &r->dial.v[r->dial.next - 1];
		if (address)
			why = object(r, address, false);
		if (!why)
			return true;
		v.reason = why;
		v.rule = denier(r, address);
	}
	report_refusal(r, v.reason, v.rule, address);
	r->outcome = DESTINATION_DENIED;
	return false;
}

void destination_decide_again(struct gate_destination *r)
{
	const struct host_verdict v = gate_decide(r->gate, &r->host);

	if (!may_go_on(r, &v)) {
		refuse(r, DESTINATION_DENIED, v.reason, v.rule);
	} else if (v.decision == HOST_ALLOWED || !r->ask.asked) {
		/* Which addresses it may lead to, and by which proxy, is for
		 * this policy to say
		 */
		destination_stop(r);
		splice_end_close(r->gate->loop, r->end);
		go(r);
	}
}
