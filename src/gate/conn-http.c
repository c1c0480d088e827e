/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net/conn-http.c - requests and responses, one pair after the other
 *
 * Theory of operation: the same machine serves the proxy port, where each
 * request names its host, and captured connections, where the connection does.
 * A request is judged by itself; the connection to the origin is kept as long
 * as requests go to the same host, and the policy is the same. Heads are parsed
 * and written anew, bodies pass a framing check, and what is long and needs none
 * is spliced.
 *
 * A kept connection may be closed by the origin just when we use it again. If
 * nothing came back for a request that only asks, it goes once more over a
 * new connection: the client could not know that there was an old one. What
 * may change something is not done twice.
 */

#include "net/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "net/http-answer.h"
#include "net/http-body.h"
#include "net/pool.h"

enum { HTTP_HEAD, HTTP_REACH, HTTP_EXCHANGE };

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
 *		of whom, and with which credentials
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

bool exchange_is_bare(const struct conn *conn)
{
	return conn->http->request.kind == HTTP_METHOD_CONNECT &&
	       conn->in.len == conn->http->scan.at;
}

static bool is_up_to_date(const struct conn *conn)
{
	return conn->http->edition == conn->gate->edition;
}

static bool is_head(const struct conn *conn)
{
	return conn->http->request.kind == HTTP_METHOD_HEAD;
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

static const char *parent_words(const struct conn *conn)
{
	const struct parent *p = parents_for(&conn->gate->parents,
					     &conn->reach.host, true);

	return p ? p->authorization : NULL;
}

/* Through a proxy only a tunnel is sure to take an upgrade */
static bool is_plain(const struct http_request *q)
{
	return q->kind != HTTP_METHOD_CONNECT && !q->websocket;
}

/* The request as the origin gets it */
static void send_request(struct conn *conn, size_t head)
{
	struct exchange *x = conn->http;
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

	x->sent.len = 0;
	if (is_to_parent(conn))
		http_request_write_absolute(&x->request, parent_words(conn),
					    &x->sent);
	else
		http_request_write(&x->request, false, &x->sent);
	flow_hold(&conn->up, x->sent.p, x->sent.len);
	http_body_init(&x->up, x->request.framing, x->request.length);
	x->headed = x->server_stays = x->last = false;
	x->response_scan = (struct http_scan){ 0 };
	if (x->request.expects)
		flow_hold(&conn->down, go_on, sizeof(go_on) - 1);
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
	flow_hold(&conn->up, x->sent.p, x->sent.len);
	conn->state = HTTP_EXCHANGE;
	conn_wait(conn, TIMER_IDLE);
	conn->again = true;
}

static void reached(struct conn *conn)
{
	static const char established[] =
		"HTTP/1.1 200 Connection Established\r\n\r\n";
	struct exchange *x = conn->http;

	if (conn->reach.outcome == REACH_PENDING) {
		if (conn->client.reset)
			conn_close(conn);
		return;
	}
	if (conn->reach.outcome != REACH_OK) {
		conn_answer_outcome(conn, is_head(conn));
		return;
	}
	x->served = 0;
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
	flow_hold(&conn->down, established, sizeof(established) - 1);
	conn_tunnel(conn, true);
}

/* Somebody to talk to already? It was judged by the policy of now. */
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
	end_close(conn->gate->loop, &conn->server);
	input_done(&x->in);
	if (x->request.method.n < sizeof(op))
		memcpy(op, x->request.method.p, x->request.method.n);
	conn_reach(conn, host, *op ? op : "HTTP", is_plain(&x->request));
	conn->again = true;
}

/* What is well formed and not served: told, that somebody may mend it */
static void report_request(struct conn *conn, int error, const char *why)
{
	static const char alone[] = "let the program connect by itself: --env NO_PROXY=* --env no_proxy=*";
	const struct http_request *q = &conn->http->request;
	const bool other = error == -EACCES;

	gate_report(conn->gate, &(struct refusal){
		.kind = VIOLATION_NET_HTTP, .op = other ? "Host" : "https://",
		.host = &q->host, .named = other ? &q->vhost : NULL,
		.fix = other ? NULL : alone, .reason = why, .conn = conn,
	}, &conn->seen);
}

static void read_head(struct conn *conn)
{
	struct exchange *x = conn->http;
	const char *why = NULL;
	ssize_t n;
	int r;

	/* Between requests a server has nothing to say but goodbye */
	if (conn->server.readable || conn->server.hung_up)
		end_close(conn->gate->loop, &conn->server);
	conn_read(conn);
	if (!conn->in.len) {
		if (conn->client.eof || conn->client.failed)
			conn_close(conn);
		return;
	}
	if (conn->timer.kind != TIMER_HEAD || !conn->timer.deadline)
		conn_wait(conn, TIMER_HEAD);
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
	if (r == -EPROTONOSUPPORT && !conn_allows(conn, &x->request))
		return;
	if (r == -EACCES || r == -EPROTONOSUPPORT)
		report_request(conn, r, why);
	if (r < 0) {
		conn_answer_why(conn, http_answer_of(r), why);
		return;
	}
	x->scan = (struct http_scan){ .at = (size_t)n };
	/* On a connection captured by address, Host may be a name for it. It
	 * must be allowed as a name as well, or the address would be a front
	 * for others.
	 */
	conn_call(conn, NULL);
	if (!host_is_same(&x->request.host, &x->request.vhost)) {
		if (!conn_allows(conn, &x->request))
			return;
		conn_call(conn, &x->request.vhost);
	}
	if (x->request.kind == HTTP_METHOD_CONNECT)
		pool_resolve(conn->gate->pool, &x->request.host);
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
	end_close(conn->gate->loop, &conn->server);
	flow_done(&conn->up);
	conn->state = HTTP_REACH;
	conn_reach(conn, &x->request.host, conn->reach.op, conn->reach.plain);
	conn->again = true;
}

/* A response to a request for a WebSocket: from here on bytes */
static void start_tunnel(struct conn *conn)
{
	struct exchange *x = conn->http;

	if (x->in.len)
		flow_hold(&conn->down, x->in.p + x->in.off, x->in.len);
	input_done(&x->in);
	conn_tunnel(conn, false);
}

static void pass_head(struct conn *conn, const struct http_response *response)
{
	struct exchange *x = conn->http;
	auto_buf struct buf out = { 0 };

	x->last = !x->request.keep_alive ||
		  response->framing == HTTP_BODY_UNTIL_CLOSE;
	http_response_write(response, &x->request, x->last, &out);
	flow_hold(&conn->down, out.p, out.len);
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
	if (response.tunnel)
		start_tunnel(conn);
	conn->active = conn->again = true;
}

/* Both are through: the next request, or the end */
static void next_request(struct conn *conn)
{
	struct exchange *x = conn->http;

	if (x->last || !http_body_is_done(&x->up) || flow_waiting(&conn->up)) {
		conn_say(conn, NULL, 0);
		return;
	}
	if (!x->server_stays || x->in.len)
		end_close(conn->gate->loop, &conn->server);
	input_done(&x->in);
	x->served++;
	x->scan = (struct http_scan){ 0 };
	conn->state = HTTP_HEAD;
	conn_wait(conn, TIMER_KEEP);
	conn->again = true;
}

/* @n bytes moved: there may be more, now or after others had their turn */
static void go_on(struct conn *conn, ssize_t n)
{
	if (n >= FLOW_TURN_MAX)
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
	const ssize_t n = conn_move_body(&x->up, &conn->in, &conn->up);

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
	go_on(conn, n);
	(void)flow_flush(&conn->up);
	return true;
}

static void pull_response(struct conn *conn)
{
	struct exchange *x = conn->http;
	const ssize_t n = conn_move_body(&x->down, &x->in, &conn->down);
	const bool over = conn->server.eof && !x->in.len;

	if (n < 0 || flow_flush(&conn->down) < 0) {
		conn_reset(conn);
		return;
	}
	conn->active |= n > 0;
	go_on(conn, n);
	if (flow_waiting(&conn->down))
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
		else if (flow_flush(&conn->down) < 0)
			conn_close(conn);
		else if (flow_waiting(&conn->down) < FLOW_HELD_MAX)
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
