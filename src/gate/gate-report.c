/* SPDX-License-Identifier: Apache-2.0 */
/* gate/gate-report.c - decisions, and reports of them to the supervisor */

#include "gate/gate-state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sys.h"
#include "base/text.h"
#include "gate/address.h"
#include "gate/ask.h"
#include "gate/gate-wire.h"
#include "policy/host.h"
#include "policy/policy.h"

/* Never waits: a supervisor that is behind loses reports, not connections */
int gate_send(struct gate *gate, const struct gate_message *message,
	      const char *text, size_t n)
{
	/* sendmsg() does not write through these */
	struct iovec iov[] = {
		{ (void *)(size_t)message, sizeof(*message) },
		{ (void *)(size_t)text, n },
	};
	const struct msghdr msg = { .msg_iov = iov, .msg_iovlen = n ? 2 : 1 };

	if (n > GATE_TEXT_MAX)
		return -EMSGSIZE;
	return sendmsg(gate->control.fd, &msg,
		       MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Send a record, after how many were lost before it. 0 or a negative errno. */
static int send_record(struct gate *gate, struct violation *v,
		       const struct gate_message *message)
{
	const struct gate_message lost = {
		.kind = GATE_LOST, .id = (uint32_t)gate->lost,
	};
	auto_buf struct buf line = { 0 };
	int r;

	violation_to_json(v, &line);
	violation_done(v);
	if (gate->lost && !gate_send(gate, &lost, NULL, 0))
		gate->lost = 0;
	r = gate_send(gate, message, line.p, line.len);
	gate->lost += r < 0;
	return r;
}

static void set_rule(struct violation *v, const struct list_rule *rule)
{
	const struct origin *origin = &rule->origin;
	const unsigned int line = origin_line(origin);

	v->rule_key = mem_strdup(origin->key ? origin->key : rule->text);
	if (!origin->source)
		return;
	v->rule_file = line ? mem_printf("%s:%u", origin->source->name, line)
			    : mem_strdup(origin->source->name);
}

void seen_forget(struct seen_wait *w)
{
	if (!w->id)
		return;
	timer_stop(w->gate->timers, &w->timer);
	LIST_REMOVE(w, link);
	w->id = 0;
}

static void go_on(void *arg)
{
	struct seen_wait *w = arg;

	seen_forget(w);
	w->fn(w->arg);
}

void gate_seen(struct gate *gate, uint32_t id)
{
	struct seen_wait *w;

	LIST_FOREACH(w, &gate->unseen, link) {
		if (w->id == id)
			break;
	}
	if (w)
		go_on(w);
}

/* Where a name is allowed, its address must be named too, or the reverse */
static void suggest_host(struct violation *v, const struct host *host,
			 bool by_port)
{
	const bool web = host->port == 80 || host->port == 443;
	struct host named = *host;
	auto_buf struct buf text = { 0 }, command = { 0 };

	if (web && !by_port)
		named.port = 0;
	host_format(&named, 0, &text);
	v->suggest_edit = mem_printf("sandbox.network.allowedDomains += \"%s\"",
				     buf_str(&text));
	buf_adds(&command, "cloche policy allow host ");
	text_shell_quote(&command, buf_str(&text));
	v->suggest_command = buf_take(&command);
}

/* A range denies it, whatever host is allowed */
static void suggest_range(struct violation *v, const struct host *address)
{
	static const char key[] = "sandbox.network.deniedResolvedAddresses";
	auto_buf struct buf text = { 0 };
	struct host plain = *address;

	plain.port = 0;
	host_format(&plain, 0, &text);
	free(v->rule_key);
	v->rule_key = mem_strdup(key);
	v->suggest_edit = mem_printf("remove what covers %s from %s",
				     buf_str(&text), key);
}

/* The client named a different host. If it connected to a name, only that name is
 * valid; if to an address, any allowed name is.
 */
static void explain_name(struct violation *v, const struct refusal *refusal)
{
	struct host named = *refusal->named;
	auto_buf struct buf reason = { 0 };

	buf_addf(&reason, "%s: ", v->reason);
	host_format(&named, 0, &reason);
	free(v->reason);
	v->reason = buf_take(&reason);
	named.port = refusal->host->port;
	if (refusal->host->kind != HOST_NAME)
		suggest_host(v, &named, false);
	else
		v->suggest_edit = mem_strdup("let the program connect to the host that it names");
}

static void suggest(const struct gate *gate, const struct refusal *refusal,
		    struct violation *v)
{
	const struct host *address = refusal->rule ? NULL : refusal->address;

	if (refusal->named)
		explain_name(v, refusal);
	else if (refusal->fix && !strncmp(refusal->fix, "cloche ", 7))
		v->suggest_command = mem_strdup(refusal->fix);
	else if (refusal->fix)
		v->suggest_edit = mem_strdup(refusal->fix);
	else if (address && host_address_is_denied(gate->policy, address))
		suggest_range(v, address);
	else if (!refusal->rule &&
		 policy_flag(gate->policy, FLAG_MANAGED_DOMAINS_ONLY, false))
		v->suggest_edit = mem_printf("sandbox.network.allowedDomains += \"%s\" in a managed file",
					     v->target);
	else if (address)
		suggest_host(v, address, false);
	else if (refusal->by_port)
		suggest_host(v, refusal->host, true);
}

void gate_report(struct gate *gate, const struct refusal *refusal,
		 struct seen_wait *wait)
{
	struct gate_message message = { .kind = GATE_VIOLATION };
	struct violation v = {
		.kind = refusal->kind, .count = 1,
		.time_ms = now_ms(CLOCK_REALTIME),
		.error = refusal->kind == VIOLATION_NET_DNS ? 0 : EACCES,
		.op = mem_strdup(refusal->op),
		.reason = mem_strdup(refusal->reason),
	};
	auto_buf struct buf target = { 0 };

	host_format(refusal->host, 0, &target);
	v.target = buf_take(&target);
	if (refusal->rule)
		set_rule(&v, refusal->rule);
	else
		v.rule_key = mem_strdup(refusal->key ? refusal->key :
					"sandbox.network.allowedDomains");
	suggest(gate, refusal, &v);
	if (refusal->datagram)
		message.client = *refusal->datagram;
	else
		address_of_client(refusal->client, &message.client);
	if (wait && gate->wait_for_lookup && message.client.family)
		message.id = ++gate->last_report ? gate->last_report
						 : ++gate->last_report;
	if (send_record(gate, &v, &message) < 0 || !message.id)
		return;
	seen_forget(wait);
	wait->id = message.id;
	wait->gate = gate;
	LIST_INSERT_HEAD(&gate->unseen, wait, link);
	wait->timer = (struct timer){ .fn = go_on, .arg = wait };
	timer_start(gate->timers, &wait->timer, TIMER_SEEN);
}

void gate_report_crowd(struct gate *gate)
{
	struct violation v;

	if (gate->crowded)
		return;
	gate->crowded = true;
	v = (struct violation){
		.kind = VIOLATION_LIMIT, .count = 1,
		.time_ms = now_ms(CLOCK_REALTIME),
		.error = ECONNRESET,
		.op = mem_strdup("connect"),
		.target = mem_strdup("connections"),
		.reason = mem_printf("a sandbox has %zu at a time",
				     gate->conns_max),
	};
	(void)send_record(gate, &v, &(struct gate_message){
		.kind = GATE_VIOLATION });
}

void gate_count(struct gate *gate, const struct host *host, uint64_t conns,
		uint64_t sent, uint64_t received)
{
	struct gate_traffic *t = gate->traffic;

	while (t < gate->traffic + gate->n_traffic &&
	       !(host_is_same(&t->host, host) && t->host.port == host->port))
		t++;
	if (t == gate->traffic + GATE_TRAFFIC_MAX)
		(--t)->host = (struct host){ 0 };
	else if (t == gate->traffic + gate->n_traffic)
		gate->traffic[gate->n_traffic++].host = *host;
	t->conns += conns;
	t->sent += sent;
	t->received += received;
}

static void add_traffic(struct buf *out, const char *name, const struct gate_traffic *t)
{
	if (t->conns)
		buf_addf(out, "%s%s=%" PRIu64 "/%" PRIu64 "/%" PRIu64,
			 out->len ? " " : "", name, t->conns, t->sent, t->received);
}

void gate_hosts_text(const struct gate *gate, struct buf *out)
{
	struct gate_traffic others = { 0 };

	for (const struct gate_traffic *t = gate->traffic;
	     t < gate->traffic + gate->n_traffic; t++) {
		auto_buf struct buf name = { 0 };

		host_format(&t->host, 0, &name);
		if (*t->host.name && out->len + name.len < GATE_HOSTS_MAX) {
			add_traffic(out, buf_str(&name), t);
		} else {
			others.conns += t->conns;
			others.sent += t->sent;
			others.received += t->received;
		}
	}
	add_traffic(out, "others", &others);
}

struct host_verdict gate_decide(const struct gate *gate,
				const struct host *host)
{
	struct host_verdict v = host_decide(gate->policy, host, gate->may_ask);

	if (v.decision == HOST_ASK && ask_is_allowed(gate->asks, host))
		v.decision = HOST_ALLOWED;
	return v;
}
