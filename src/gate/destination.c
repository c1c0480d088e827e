/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate/destination.c - from a host to a connection: decide, ask, resolve, dial
 *
 * Theory of operation: each step either goes on to the next or ends with an
 * outcome. No name is resolved and no address dialled before the verdict; what
 * is dialled (dial.c) are the very addresses that were checked. With a parent proxy
 * the name goes to it unresolved, so the guard can only look at literals.
 */

#include "gate/destination.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "gate/address.h"
#include "gate/gate-state.h"
#include "gate/proto/http.h"
#include "gate/splice.h"
#include "policy/policy.h"

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

static int on_parent(void *arg)
{
	struct gate_destination *r = arg;
	int e;

	splice_end_note(r->end, r->end->source.events);
	e = read_answer(r);
	if (e == -EAGAIN)
		return 0;
	if (e == -EPERM)
		fail_with(r, -EHOSTUNREACH, "the parent proxy refused");
	else if (e == -EACCES)
		fail_with(r, -EHOSTUNREACH, PARENT_CREDENTIALS);
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
	const struct parent_proxy *p = parent_proxies_for(&r->gate->parents, &r->host, false);
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
	const struct policy *policy = r->gate->policy;

	/* An address that the user was asked about counts as named */
	if (r->granted && r->host.kind != HOST_NAME)
		return host_address_is_denied(policy, address)
			       ? "address is on the deny list" : NULL;
	return address_guard(policy, &r->host, address, own);
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
static void go_to_parent(struct gate_destination *r, const struct parent_proxy *parent)
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
	const struct parent_proxy *parent = parent_proxies_for(&r->gate->parents, &r->host,
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
	/* Allowed by no rule: the user allowed it for the session */
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
