/* SPDX-License-Identifier: Apache-2.0 */
/* net/conn-answer.c - the gate's own answers to HTTP requests: last words */

#include "net/conn.h"

#include "base/buf.h"
#include "base/text.h"
#include "net/http-answer.h"
#include "policy/policy.h"

void conn_answer(struct conn *conn, enum http_answer what,
		   const struct http_answer_words *words)
{
	auto_buf struct buf out = { 0 };

	http_answer_write(what, words, &out);
	conn_say(conn, out.p, out.len);
}

void conn_answer_why(struct conn *conn, enum http_answer what,
		       const char *why)
{
	conn_answer(conn, what, &(struct http_answer_words){ .reason = why });
}

static enum http_answer answer_of(enum reach_outcome outcome)
{
	switch (outcome) {
	case REACH_DENIED:
		return HTTP_ANSWER_BLOCKED;
	case REACH_GUARDED:
		return HTTP_ANSWER_BLOCKED_ADDRESS;
	case REACH_TIMEOUT:
		return HTTP_ANSWER_TIMEOUT;
	case REACH_BUSY:
		return HTTP_ANSWER_LIMIT;
	default:
		return HTTP_ANSWER_UNREACHABLE;
	}
}

bool conn_allows(struct conn *conn, const struct http_request *q)
{
	const struct host_verdict v = gate_decide(conn->gate, &q->vhost);

	if (v.decision == HOST_ALLOWED)
		return true;
	gate_report(conn->gate, &(struct refusal){
		.kind = VIOLATION_NET_HTTP, .op = "Host", .host = &q->vhost,
		.reason = v.reason, .rule = v.rule, .conn = conn,
	}, &conn->seen);
	conn_answer(conn, HTTP_ANSWER_BLOCKED, &(struct http_answer_words){
		.reason = v.reason, .host = &q->vhost,
		.head_only = q->kind == HTTP_METHOD_HEAD,
	});
	return false;
}

void conn_answer_outcome(struct conn *conn, bool head_only)
{
	const struct reach *r = &conn->reach;
	const bool refused = r->outcome == REACH_DENIED ||
			     r->outcome == REACH_GUARDED;
	auto_buf struct buf fix = { 0 }, host = { 0 };

	if (r->outcome == REACH_DENIED && !*r->rule &&
	    !policy_flag(conn->gate->policy, FLAG_MANAGED_DOMAINS_ONLY,
			 false)) {
		buf_adds(&fix, "cloche policy allow host ");
		host_format(&r->host, r->host.port == 80 ? 80 : 443, &host);
		text_shell_quote(&fix, buf_str(&host));
	}
	conn_answer(conn, answer_of(r->outcome), &(struct http_answer_words){
		.reason = r->reason, .host = &r->host,
		.rule = refused && *r->rule ? r->rule : NULL,
		.fix = fix.len ? fix.p : NULL,
		.head_only = head_only,
	});
}
