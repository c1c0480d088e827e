/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate/conn-http.c - requests and responses, one pair after the other
 *
 * Theory of operation: the same machine serves the proxy port, where each
 * request names its host, and captured connections, where the connection does.
 * Each request is decided by itself; the connection to the origin is kept as long
 * as requests go to the same host, and the policy is the same. Heads are parsed
 * and written anew, bodies pass a framing check, and what is long and needs none
 * is spliced.
 *
 * The origin may close a kept connection just when it is used again. A GET, HEAD or
 * OPTIONS that got no answer is then sent once more over a new connection, because the
 * client does not see which one is used. Other requests are not sent twice.
 */

#include "gate/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/bound-secret.h"
#include "gate/fake-ip.h"
#include "gate/http-answer.h"
#include "gate/local-url.h"
#include "gate/proto/http-body.h"
#include "gate/proto/http.h"
#include "policy/policy.h"

enum { HTTP_HEAD, HTTP_REACH, HTTP_EXCHANGE };
enum { RAW_MIN = 32 << 10 };	/* Fewer bytes are not worth a pump */

/**
 * struct exchange - A request on its way, and the response to it
 * @captured:	The connection's own host; port 0 on the proxy port
 * @scan:	Of the head that is being read from the client
 * @request:	Its headers point into the input only until it is sent
 * @sent:	The head as it was sent, while it may have to be sent again
 * @up, @down:	The bodies
 * @response_scan: Of the head that is being read from the server
 * @in:		From the server
 * @headed:	The response's head was passed on
 * @server_stays: The origin will take another request
 * @last:	The client connection ends with this response
 * @resend:	@sent goes out again when the server is reached
 * @served:	Requests that were answered over this server connection
 * @edition:	Of the policy that it was made under, and @sent written: by way
 *		of which proxy, and with which credentials
 */
struct exchange {
	struct host captured;
	struct http_scan scan, response_scan;
	struct http_request request;
	struct buf sent;
	struct http_body up, down;
	struct input in;
	bool headed, server_stays, last, resend;
	unsigned int served, edition;
};

void exchange_free(struct exchange *x)
{
	if (!x)
		return;
	input_done(&x->in);
	buf_done(&x->sent);
	free(x);
}

bool exchange_is_sent(const struct exchange *x)
{
	return http_body_is_done(&x->up);
}

bool exchange_is_empty(const struct conn *conn)
{
	return conn->http->request.kind == HTTP_METHOD_CONNECT &&
	       conn->in.len == conn->http->scan.at;
}

static bool is_up_to_date(const struct conn *conn)
{
	return conn->http->edition == conn->gate->edition;
}

/* Close with an answer of our own; @text may be NULL */
static void conn_answer(struct conn *conn, enum http_answer what,
			const struct http_answer_text *text)
{
	auto_buf struct buf out = { 0 };

	http_answer_write(what, text, &out);
	conn_close_with(conn, out.p, out.len);
}

static void conn_answer_why(struct conn *conn, enum http_answer what,
			    const char *why)
{
	conn_answer(conn, what, &(struct http_answer_text){ .reason = why });
}

static enum http_answer answer_of(enum destination_outcome outcome)
{
	switch (outcome) {
	case DESTINATION_DENIED:
		return HTTP_ANSWER_BLOCKED;
	case DESTINATION_GUARDED:
		return HTTP_ANSWER_BLOCKED_ADDRESS;
	case DESTINATION_TIMEOUT:
		return HTTP_ANSWER_TIMEOUT;
	case DESTINATION_BUSY:
		return HTTP_ANSWER_LIMIT;
	default:
		return HTTP_ANSWER_UNREACHABLE;
	}
}

/* True if what Host names, or the target of a request that goes no further, is
 * allowed; else it was reported and answered
 */
static bool is_vhost_allowed(struct conn *conn, const struct http_request *q)
{
	const struct host_verdict v = gate_decide(conn->gate, &q->vhost);

	if (v.decision == HOST_ALLOWED)
		return true;
	conn_report(conn, (struct refusal){
		.kind = VIOLATION_NET_HTTP, .op = "Host", .host = &q->vhost,
		.reason = v.reason, .rule = v.rule,
	});
	conn_answer(conn, HTTP_ANSWER_BLOCKED, &(struct http_answer_text){
		.reason = v.reason, .host = &q->vhost,
		.head_only = q->kind == HTTP_METHOD_HEAD,
	});
	return false;
}

/* Close with what became of conn->reach */
static void conn_answer_outcome(struct conn *conn, bool head_only)
{
	const struct gate_destination *r = &conn->reach;
	const bool refused = r->outcome == DESTINATION_DENIED ||
			     r->outcome == DESTINATION_GUARDED;
	auto_buf struct buf fix = { 0 }, host = { 0 };

	if (r->outcome == DESTINATION_DENIED && !*r->rule &&
	    !policy_flag(conn->gate->policy, FLAG_MANAGED_DOMAINS_ONLY,
			 false)) {
		buf_adds(&fix, "cloche policy allow host ");
		host_format(&r->host, r->host.port == 80 ? 80 : 443, &host);
		text_shell_quote(&fix, buf_str(&host));
	}
	conn_answer(conn, answer_of(r->outcome), &(struct http_answer_text){
		.reason = r->reason, .host = &r->host,
		.rule = refused && *r->rule ? r->rule : NULL,
		.fix = fix.len ? fix.p : NULL,
		.head_only = head_only,
	});
}

static void http_expired(struct conn *conn)
{
	const struct exchange *x = conn->http;

	if (conn->state == HTTP_HEAD && conn->in.len)
		conn_answer(conn, HTTP_ANSWER_DEADLINE, NULL);
	else if (conn->state == HTTP_EXCHANGE && !x->headed)
		conn_answer(conn, HTTP_ANSWER_TIMEOUT, NULL);
	else
		conn_close(conn);
}

/* Requests go to a parent proxy as they are; in a tunnel through it, and to
 * an origin, they go without its name
 */
static bool is_to_parent(const struct conn *conn)
{
	return conn->reach.via_parent && conn->reach.plain;
}

/* The request as the origin gets it */
static void send_request(struct conn *conn, size_t head)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const struct parent_proxy *parent = is_to_parent(conn) ?
		parent_proxies_for(&conn->gate->parents, &conn->reach.host, true) : NULL;
	struct exchange *x = conn->http;

	x->sent.len = 0;
	http_request_write(&x->request, is_to_parent(conn),
			   parent ? parent->authorization : NULL, &x->sent);
	splice_queue(&conn->up, x->sent.p, x->sent.len);
	http_body_init(&x->up, x->request.framing, x->request.length);
	x->headed = x->server_stays = x->last = false;
	x->response_scan = (struct http_scan){ 0 };
	if (x->request.expects)
		splice_queue(&conn->down, go_on, sizeof(go_on) - 1);
	input_take(&conn->in, head);
	x->request.headers.len = 0;
	x->request.method = x->request.target = (struct http_span){ 0 };
	conn->state = HTTP_EXCHANGE;
	conn_wait(conn, TIMER_IDLE);
	conn->again = true;
}

static void say_gone(struct conn *conn)
{
	conn_answer_why(conn, HTTP_ANSWER_UNREACHABLE,
			"the host closed the connection");
}

static void send_again(struct conn *conn)
{
	struct exchange *x = conn->http;

	x->resend = false;
	if (!is_up_to_date(conn)) {
		say_gone(conn);
		return;
	}
	splice_queue(&conn->up, x->sent.p, x->sent.len);
	conn->state = HTTP_EXCHANGE;
	conn_wait(conn, TIMER_IDLE);
	conn->again = true;
}

static void reached(struct conn *conn)
{
	static const char established[] =
		"HTTP/1.1 200 Connection Established\r\n\r\n";
	struct exchange *x = conn->http;

	if (conn->reach.outcome == DESTINATION_PENDING) {
		if (conn->client.reset)
			conn_close(conn);
		return;
	}
	if (conn->reach.outcome != DESTINATION_OK) {
		conn_answer_outcome(conn, x->request.kind == HTTP_METHOD_HEAD);
		return;
	}
	x->served = 0;
	if (conn->local) {
		conn_hand_over(conn);
		return;
	}
	if (x->resend) {
		send_again(conn);
		return;
	}
	x->edition = conn->gate->edition;
	if (x->request.kind != HTTP_METHOD_CONNECT) {
		send_request(conn, x->scan.at);
		return;
	}
	input_take(&conn->in, x->scan.at);
	splice_queue(&conn->down, established, sizeof(established) - 1);
	conn_tunnel(conn, true);
}

/* Use the connection that is there, or make one */
static void find_server(struct conn *conn)
{
	struct exchange *x = conn->http;
	const struct host *host = &x->request.host;
	const bool usable = conn->server.source.fd >= 0 &&
		x->request.kind != HTTP_METHOD_CONNECT &&
		!(is_to_parent(conn) && x->request.websocket) &&
		!conn->server.hung_up && !conn->server.readable &&
		is_up_to_date(conn) &&
		conn->reach.host.port == host->port &&
		host_is_same(&conn->reach.host, host);
	char op[24] = "";

	conn->state = HTTP_REACH;
	if (usable) {
		send_request(conn, x->scan.at);
		return;
	}
	splice_end_close(conn->gate->loop, &conn->server);
	input_done(&x->in);
	if (x->request.method.n < sizeof(op))
		memcpy(op, x->request.method.p, x->request.method.n);
	/* Through a proxy only a tunnel is sure to take an upgrade */
	conn_reach(conn, host, *op ? op : "HTTP",
		   x->request.kind != HTTP_METHOD_CONNECT && !x->request.websocket);
	conn->again = true;
}

/* Well formed and not served: reported, so that it can be fixed */
static void report_request(struct conn *conn, int error, const char *why)
{
	static const char alone[] = "let the program connect by itself: --env NO_PROXY=* --env no_proxy=*";
	const struct http_request *q = &conn->http->request;
	const bool other = error == -EACCES;

	conn_report(conn, (struct refusal){
		.kind = VIOLATION_NET_HTTP, .op = other ? "Host" : "https://",
		.host = &q->host, .named = other ? &q->vhost : NULL,
		.fix = other ? NULL : alone, .reason = why,
	});
}

/* Plain HTTP could be read on the way, so no secret is put in. The
 * placeholder would only be refused by the server: say so here, and why. True if the
 * request has one, which was reported and answered.
 */
static bool has_placeholder(struct conn *conn)
{
	static const char why[] = "a secret's placeholder in a request without TLS; secrets go out over https only";
	const struct http_request *q = &conn->http->request;
	struct credential_use use;

	for (size_t i = 0; conn->gate->secrets && i < q->headers.len; i++) {
		if (!credential_find(conn->gate->secrets, &q->headers.v[i], &use))
			continue;
		conn_report(conn, (struct refusal){
			.kind = VIOLATION_NET_HTTP, .op = "credential",
			.key = "secrets", .host = &q->host, .reason = why,
			.fix = "let the program use https",
		});
		conn_answer(conn, HTTP_ANSWER_BLOCKED, &(struct http_answer_text){
			.reason = why, .host = &q->host,
			.head_only = q->kind == HTTP_METHOD_HEAD,
		});
		return true;
	}
	return false;
}

/* A request for a local URL: from here on all of them are cloche-tls's. What the first
 * one carries is checked there.
 */
static bool start_local(struct conn *conn)
{
	struct local_url url;
	struct host host;

	if (conn->http->captured.port || !conn->gate->secrets ||
	    !local_url_find(conn->gate->secrets, conn->in.p + conn->in.off,
			    conn->in.len, &url) ||
	    !local_url_host(url.secret, &host))
		return false;
	conn->local = true;
	conn->state = HTTP_REACH;
	splice_end_close(conn->gate->loop, &conn->server);
	conn_reach(conn, &host, "HTTP", false);
	conn->again = true;
	return true;
}

static void read_head(struct conn *conn)
{
	struct exchange *x = conn->http;
	const char *why = NULL;
	ssize_t n;
	int r;

	/* Between requests a server sends nothing but its end */
	if (conn->server.readable || conn->server.hung_up)
		splice_end_close(conn->gate->loop, &conn->server);
	conn_read(conn);
	if (!conn->in.len) {
		if (conn->client.eof || conn->client.failed)
			conn_close(conn);
		return;
	}
	if (conn->timer.kind != TIMER_HEAD || !conn->timer.deadline)
		conn_wait(conn, TIMER_HEAD);
	if (start_local(conn))
		return;
	n = http_head_scan(&x->scan, conn->in.p + conn->in.off, conn->in.len);
	if (n < 0) {
		conn_answer(conn, http_answer_of((int)n), NULL);
		return;
	}
	if (!n) {
		if (conn->client.eof || conn->client.failed)
			conn_close(conn);
		return;
	}
	r = http_request_parse(conn->in.p + conn->in.off, (size_t)n,
			       x->captured.port ? &x->captured : NULL,
			       &x->request, &why);
	if (r == -EPROTONOSUPPORT && !is_vhost_allowed(conn, &x->request))
		return;
	if (r == -EACCES || r == -EPROTONOSUPPORT)
		report_request(conn, r, why);
	if (r < 0) {
		conn_answer_why(conn, http_answer_of(r), why);
		return;
	}
	if (has_placeholder(conn))
		return;
	x->scan = (struct http_scan){ .at = (size_t)n };
	/* On a connection captured by address, Host may be a name for it. It
	 * must be allowed as a name as well, or the address would be a front
	 * for others.
	 */
	conn_set_name(conn, NULL);
	if (!host_is_same(&x->request.host, &x->request.vhost)) {
		if (!is_vhost_allowed(conn, &x->request))
			return;
		conn_set_name(conn, &x->request.vhost);
	}
	if (x->request.kind == HTTP_METHOD_CONNECT)
		fake_ip_resolve(conn->gate->pool, &x->request.host);
	find_server(conn);
}

/* The origin ended, or broke, before its response did */
static void server_gone(struct conn *conn)
{
	struct exchange *x = conn->http;

	if (x->headed) {
		conn_reset(conn);
		return;
	}
	if (!x->served || x->in.len || x->up.framing != HTTP_BODY_NONE ||
	    x->request.kind == HTTP_METHOD_OTHER || !is_up_to_date(conn)) {
		say_gone(conn);
		return;
	}
	x->resend = true;
	splice_end_close(conn->gate->loop, &conn->server);
	splice_done(&conn->up);
	conn->state = HTTP_REACH;
	conn_reach(conn, &x->request.host, conn->reach.op, conn->reach.plain);
	conn->again = true;
}

static void pass_head(struct conn *conn, const struct http_response *response)
{
	struct exchange *x = conn->http;
	auto_buf struct buf out = { 0 };

	x->last = !x->request.keep_alive ||
		  response->framing == HTTP_BODY_UNTIL_CLOSE;
	http_response_write(response, &x->request, x->last, &out);
	splice_queue(&conn->down, out.p, out.len);
	if (response->interim && !response->tunnel)
		return;
	x->headed = true;
	x->server_stays = response->keep_alive;
	http_body_init(&x->down, response->framing, response->length);
}

static void read_response_head(struct conn *conn)
{
	struct exchange *x = conn->http;
	struct http_response response;
	const char *why = NULL;
	ssize_t n = 0;

	input_read(&x->in, &conn->server);
	if (x->in.len)
		n = http_head_scan(&x->response_scan, x->in.p + x->in.off,
				   x->in.len);
	if (!n) {
		if (conn->server.eof || conn->server.failed)
			server_gone(conn);
		return;
	}
	if (n < 0 || http_response_parse(x->in.p + x->in.off, (size_t)n,
					 &x->request, &response, &why) < 0) {
		conn_answer_why(conn, HTTP_ANSWER_UNREACHABLE,
			   why ? why : n == -EMSGSIZE
			       ? "the head of the host's answer is too large"
			       : "the host's answer is malformed");
		return;
	}
	x->response_scan = (struct http_scan){ 0 };
	if (response.status == 407 && is_to_parent(conn)) {
		conn_answer_why(conn, HTTP_ANSWER_UNREACHABLE,
			   PARENT_CREDENTIALS);
		return;
	}
	pass_head(conn, &response);
	input_take(&x->in, (size_t)n);
	if (response.tunnel) {	/* A WebSocket: from here on bytes */
		if (x->in.len)
			splice_queue(&conn->down, x->in.p + x->in.off, x->in.len);
		input_done(&x->in);
		conn_tunnel(conn, false);
	}
	conn->active = conn->again = true;
}

/* Both are through: the next request, or the end */
static void next_request(struct conn *conn)
{
	struct exchange *x = conn->http;

	if (x->last || !http_body_is_done(&x->up) || splice_waiting(&conn->up)) {
		conn_close_with(conn, NULL, 0);
		return;
	}
	if (!x->server_stays || x->in.len)
		splice_end_close(conn->gate->loop, &conn->server);
	input_done(&x->in);
	x->served++;
	x->scan = (struct http_scan){ 0 };
	conn->state = HTTP_HEAD;
	conn_wait(conn, TIMER_KEEP);
	conn->again = true;
}

/* One step for a body: what was read goes through the framing check into the
 * flow; if nothing was, and many bytes need no look, they are spliced. Bytes that
 * moved; or a negative errno, -EBADMSG for the framing.
 *
 * What is held in a flow is written before what is in its pipe. A chunk's data
 * may be piped, what is written around it is held: so nothing is held while the
 * pipe has bytes. What is held waits for what follows it, a head for its body:
 * one packet instead of two.
 */
static ssize_t move_body(struct http_body *body, struct input *in,
			 struct splice *flow)
{
	const uint64_t raw = http_body_raw(body);
	struct http_span out;
	ssize_t n = 0;

	if (flow->piped || splice_waiting(flow) >= SPLICE_PENDING_MAX)
		n = splice_flush(flow);
	if (n < 0 || http_body_is_done(body) || flow->piped ||
	    splice_waiting(flow) >= SPLICE_PENDING_MAX)
		return n;
	if (in->len) {
		n = http_body_step(body, in->p + in->off, in->len, &out);
		if (n > 0 && out.n)
			splice_queue(flow, out.p, out.n);
		if (n > 0)
			input_take(in, (size_t)n);
	} else if (raw >= RAW_MIN) {
		flow->limit = raw;
		n = splice_pump(flow);
		if (n > 0)
			http_body_skip(body, (uint64_t)n);
	} else {
		input_read(in, flow->from);
		n = (ssize_t)in->len;
	}
	return n;
}

/* @n bytes moved: there may be more, now or after others had their turn */
static void continue_after(struct conn *conn, ssize_t n)
{
	if (n >= SPLICE_TURN_MAX)
		conn_later(conn);
	else
		conn->again |= n > 0;
}

/* The request's body. False if that was the end of the connection. An origin
 * may answer without reading all of it: only the response tells.
 */
static bool push_request(struct conn *conn)
{
	struct exchange *x = conn->http;
	const ssize_t n = move_body(&x->up, &conn->in, &conn->up);

	if (n == -EBADMSG && !x->headed) {
		conn_answer_why(conn, HTTP_ANSWER_BAD_REQUEST,
			   "the request body is malformed");
		return false;
	}
	if (conn->client.reset || conn->client.failed || n == -EBADMSG ||
	    (conn->client.eof && !conn->in.len && !http_body_is_done(&x->up))) {
		conn_close(conn);
		return false;
	}
	continue_after(conn, n);
	(void)splice_flush(&conn->up);
	return true;
}

static void pull_response(struct conn *conn)
{
	struct exchange *x = conn->http;
	const ssize_t n = move_body(&x->down, &x->in, &conn->down);
	const bool over = conn->server.eof && !x->in.len;

	if (n < 0 || splice_flush(&conn->down) < 0) {
		conn_reset(conn);
		return;
	}
	conn->active |= n > 0;
	continue_after(conn, n);
	if (splice_waiting(&conn->down))
		return;
	if (http_body_is_done(&x->down)) {
		next_request(conn);
	} else if (over && http_body_may_end(&x->down)) {
		x->last = true;
		next_request(conn);
	} else if (over || conn->server.failed) {
		server_gone(conn);
	}
}

static void step_http(struct conn *conn)
{
	switch (conn->state) {
	case HTTP_HEAD:
		read_head(conn);
		break;
	case HTTP_REACH:
		reached(conn);
		break;
	case HTTP_EXCHANGE:
		if (!push_request(conn))
			break;
		if (conn->http->headed)
			pull_response(conn);
		else if (splice_flush(&conn->down) < 0)
			conn_close(conn);
		else if (splice_waiting(&conn->down) < SPLICE_PENDING_MAX)
			read_response_head(conn);
		break;
	}
}

void conn_start_http(struct conn *conn)
{
	exchange_free(conn->http);
	conn->http = mem_zalloc(sizeof(*conn->http));
	conn->http->edition = conn->gate->edition;
	conn->step = step_http;
	conn->expired = http_expired;
	conn->state = HTTP_HEAD;
	conn_wait(conn, TIMER_HEAD);
}

void conn_start_origin(struct conn *conn, const struct host *host)
{
	conn_start_http(conn);
	conn->http->captured = *host;
}
