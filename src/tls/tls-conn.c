/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-conn.c - one opened connection: TLS to the client, TLS to the server
 *
 * Theory of operation: both handshakes begin at once, and nothing of the client's is
 * sent on before the server's certificate was verified for the name that the gate has
 * checked. One connection to the client is one connection to the server, so heads and
 * bodies pass as they are, hop by hop headers included; where a message ends is
 * found by the gate's own parsers, which refuse what could be read in two ways. The
 * next request is read when the response to the one before is complete. Where both
 * sides speak HTTP/2, tls/h2-relay.c does all of that, with the same rules.
 *
 * Both sockets are in the loop edge-triggered: advance() goes on until OpenSSL would
 * block on both sides.
 */

#include "tls/tls-conn.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "gate/conn-timer.h"
#include "gate/http-answer.h"
#include "gate/local-url.h"
#include "gate/proto/http-body.h"
#include "gate/tls-wire.h"
#include "tls/authority.h"
#include "tls/h2-relay.h"
#include "tls/refresh.h"
#include "tls/scrub.h"
#include "tls/tls-end.h"
#include "tls/tls-report.h"

enum {
	WAITING_MAX = 64 << 10, /* Bytes that wait for the other side */
	TURNS_MAX = 64, /* Before other connections have theirs */
};

static const struct http_scan long_head = { .max = HTTP_HEAD_LONG_MAX };

enum up_state { UP_HEAD, UP_BODY, UP_WAIT, UP_TUNNEL };
enum down_state { DOWN_IDLE, DOWN_HEAD, DOWN_BODY, DOWN_TUNNEL };

/**
 * struct exchange - What a request needs until its response is complete
 * @scrub:	What the response is searched for
 */
struct exchange {
	struct http_request request;
	struct scrub scrub;
};

/**
 * struct tls_conn - One connection
 * @exchange:	NULL between requests, when a thousand connections may wait
 * @h2:		Speaks HTTP/2 with both sides; NULL for HTTP/1.1
 * @served:	Requests that were answered
 * @last:	The connection ends with this response
 * @closing:	Only what is in @client.out is still to be sent
 * @closed:	It is freed after the current events
 * @cut:	The server's end was not announced: neither is the client's
 * @active:	Something moved since the idle timer was started
 * @fetching:	It waits for values
 * @needs:	Bytes of head and body that must be here before the head is decided about, or 0
 * @hold:	Ends the wait for the rest of what @scrub has kept back
 */
struct tls_conn {
	struct tls_server *server;
	LIST_ENTRY(tls_conn) link;
	uint32_t id;
	struct host host;
	struct tls_end client, upstream;
	enum up_state up;
	enum down_state down;
	struct http_scan scan, response_scan;
	struct exchange *exchange;
	struct http_body up_body, down_body;
	struct h2_relay *h2;
	unsigned int served;
	size_t needs;
	bool last, closing, closed, cut, active, fetching;
	struct timer timer, hold;
	struct loop_task task;
};

static void end_exchange(struct tls_conn *conn)
{
	if (conn->exchange)
		scrub_done(&conn->exchange->scrub);
	free(conn->exchange);
	conn->exchange = NULL;
}

static void conn_close(struct tls_conn *conn)
{
	const struct tls_bytes bytes = tls_end_bytes(&conn->upstream);
	struct tls_server *server = conn->server;

	if (conn->closed)
		return;
	conn->closed = true;
	timer_stop(server->timers, &conn->timer);
	timer_stop(server->timers, &conn->hold);
	tls_end_close(server->loop, &conn->client);
	tls_end_close(server->loop, &conn->upstream);
	end_exchange(conn);
	h2_relay_free(conn->h2);
	conn->h2 = NULL;
	LIST_REMOVE(conn, link);
	server->n_conns--;
	tls_report_done(server, conn->id, bytes);
	loop_cancel(&conn->task);
	conn->task.fn = free;
	loop_defer(server->loop, &conn->task);
}

/* The client must not take a cut response for a whole one: no close_notify */
static void conn_abort(struct tls_conn *conn)
{
	const struct linger now = { .l_onoff = 1 };

	if (!conn->closed)
		(void)setsockopt(conn->client.source.fd, SOL_SOCKET, SO_LINGER,
				 &now, sizeof(now));
	conn_close(conn);
}

/* Send what waits for the client, then end */
static void conn_finish(struct tls_conn *conn)
{
	conn->closing = conn->active = true;
	timer_start(conn->server->timers, &conn->timer, TIMER_IDLE);
}

static void answer_client(struct tls_conn *conn, enum http_answer what,
			  const char *reason)
{
	const struct http_answer_text text = {
		.reason = reason,
		.host = &conn->host,
		.head_only = conn->exchange &&
			     conn->exchange->request.kind == HTTP_METHOD_HEAD,
	};

	http_answer_write(what, &text, &conn->client.out);
	conn_finish(conn);
}

/* True if that is over now */
static bool handshake_upstream(struct tls_conn *conn)
{
	struct tls_end *end = &conn->upstream;
	int r;

	if (!conn->client.asked || end->open || end->failed)
		return false;
	ERR_clear_error();
	r = SSL_connect(end->ssl);
	if (r == 1)
		end->open = true;
	else if (!tls_end_waits(end, r))
		end->failed = true;
	return end->open || end->failed;
}

static void to_client(struct tls_conn *conn, const char *p, size_t n, bool end)
{
	struct timers *timers = conn->server->timers;
	struct scrub *scrub = &conn->exchange->scrub;

	if (!scrub->len) {
		buf_add(&conn->client.out, p, n);
		return;
	}
	scrub_step(scrub, p, n, end, &conn->client.out);
	if (scrub->held.len)
		timer_start(timers, &conn->hold, TIMER_SCRUB);
	else
		timer_stop(timers, &conn->hold);
}

static bool shares_client(const struct tls_conn *conn)
{
	return !conn->client.ssl && conn->server->n_urls > 1;
}

/* Once for each wait: a value that is good for a moment only must do for this request */
static bool has_values(struct tls_conn *conn)
{
	const bool done = refresh_is_done(conn->server->refresh, &conn->host,
					  !conn->fetching);

	conn->fetching = !done;
	return done;
}

/* Decide about the head of @n bytes in @client.in and send it on */
static void take_head(struct tls_conn *conn, size_t n)
{
	const struct bound_secrets *secrets = conn->server->secrets;
	const char *head = conn->client.in.p;
	auto_buf struct buf local = { 0 };
	struct rewrite *w;
	int r;

	if (!conn->client.ssl &&
	    !local_url_write(secrets, &conn->host, head, n, &local)) {
		answer_client(conn, HTTP_ANSWER_MISDIRECTED, NULL);
		return;
	}
	w = mem_zalloc(sizeof(*w));
	w->body = head + n;
	w->n_body = conn->client.in.len - n;
	w->waits = true;
	r = rewrite_head(local.p ? local.p : head, local.p ? local.len : n,
			 &conn->host, secrets, conn->server->values, w,
			 &conn->upstream.head);
	if (r == -EAGAIN) {
		/* A body that is signed must be here first */
		if (w->request.expects && !conn->needs)
			buf_adds(&conn->client.out,
				 "HTTP/1.1 100 Continue\r\n\r\n");
		conn->needs = n + w->needs;
	} else if (r < 0) {
		tls_refusal_request(conn->server, conn->id, &conn->host, w, r,
				    &conn->client.out);
		conn_finish(conn);
	} else {
		conn->needs = 0;
		conn->exchange = mem_zalloc(sizeof(*conn->exchange));
		tls_report_uses(conn->server, conn->id, &conn->host, w,
				&conn->exchange->scrub);
		conn->exchange->request = (struct http_request){
			.kind = w->request.kind,
			.minor = w->request.minor,
			.websocket = w->request.websocket,
		};
		conn->last = !w->request.keep_alive || shares_client(conn);
		http_body_init(&conn->up_body, w->request.framing,
			       w->request.length);
		tls_end_drop(&conn->client, n);
		conn->scan = conn->response_scan = long_head;
		conn->up = http_body_is_done(&conn->up_body) ? UP_WAIT
							     : UP_BODY;
		conn->down = DOWN_HEAD;
		timer_start(conn->server->timers, &conn->timer, TIMER_IDLE);
	}
	free(w);
}

/* Decide about a request of HTTP/2, which is in the form of HTTP/1.1 */
static bool decide_h2(void *arg, const char *head, size_t n, struct scrub *scrub,
		     struct bytes *out, struct buf *answer)
{
	struct tls_conn *conn = arg;
	struct rewrite *w;
	int r;

	if (!conn->upstream.open) {
		tls_refusal_host(conn->server, conn->id, &conn->host,
				 conn->upstream.ssl, answer);
		return false;
	}
	w = mem_zalloc(sizeof(*w));
	r = rewrite_head(head, n, &conn->host, conn->server->secrets,
			 conn->server->values, w, out);
	if (r < 0)
		tls_refusal_request(conn->server, conn->id, &conn->host, w, r,
				    answer);
	else
		tls_report_uses(conn->server, conn->id, &conn->host, w, scrub);
	free(w);
	return !r;
}

static void handshake_client(struct tls_conn *conn)
{
	struct tls_end *end = &conn->client;
	int r;

	if (end->open || end->failed)
		return;
	ERR_clear_error();
	r = SSL_accept(end->ssl);
	if (r == 1) {
		end->open = true;
		if (tls_alpn_is_h2(end))
			conn->h2 = h2_relay_new(decide_h2, conn);
		timer_start(conn->server->timers, &conn->timer,
			    conn->h2 ? TIMER_IDLE : TIMER_KEEP);
		free(end->hello);
		end->hello = NULL;
		end->hello_n = end->hello_at = 0;
		if (tls_alpn_is_h2(end) && !conn->h2)
			conn_abort(conn);
	} else if (!tls_end_waits(end, r)) {
		tls_refusal_client(conn->server, conn->id);
		end->failed = true;
		conn_close(conn);
	}
}

static bool step_head(struct tls_conn *conn)
{
	const bool moved = tls_end_fill(
		&conn->client, conn->needs ? conn->needs : HTTP_HEAD_LONG_MAX);
	const struct buf *in = &conn->client.in;
	ssize_t n;

	if (!in->len) {
		if (conn->client.eof || conn->client.failed ||
		    conn->upstream.eof)
			conn_close(conn);
		return moved;
	}
	if (conn->timer.kind != TIMER_HEAD)
		timer_start(conn->server->timers, &conn->timer, TIMER_HEAD);
	n = http_head_scan(&conn->scan, in->p, in->len);
	if (n < 0) {
		answer_client(conn, http_answer_of((int)n), NULL);
		return true;
	}
	if (!n) {
		if (conn->client.eof)
			conn_abort(conn);
		return moved;
	}
	if (conn->upstream.failed && !conn->upstream.open) {
		/* As a response of HTTP, which programs show */
		tls_refusal_host(conn->server, conn->id, &conn->host,
				 conn->upstream.ssl, &conn->client.out);
		conn_finish(conn);
		return true;
	}
	if (!conn->upstream.open)
		return moved;
	if (conn->needs > in->len) {
		if (conn->client.eof)
			conn_abort(conn);
		return moved;
	}
	if (!has_values(conn)) {
		timer_start(conn->server->timers, &conn->timer, TIMER_IDLE);
		return moved;
	}
	take_head(conn, (size_t)n);
	return true;
}

/* While the server works on its answer a client may say that it sends no more, as on a
 * connection without us: the server decides what that means
 */
static bool step_client_end(struct tls_conn *conn)
{
	struct tls_end *from = &conn->client, *to = &conn->upstream;
	const bool moved = tls_end_fill(from, 1);

	if (!from->eof || to->shut || !tls_end_is_sent(to))
		return moved;
	to->shut = conn->last = true;
	if (from->clean)
		tls_end_shutdown(to);
	(void)shutdown(to->source.fd, SHUT_WR);
	return true;
}

static bool step_up(struct tls_conn *conn)
{
	struct tls_end *from = &conn->client, *to = &conn->upstream;
	bool moved;
	ssize_t n;

	if (conn->up == UP_HEAD)
		return step_head(conn);
	if (conn->up == UP_WAIT)
		return step_client_end(conn);
	if (to->broken || to->out.len >= WAITING_MAX)
		return false;
	moved = tls_end_fill(from, TLS_RECORD_MAX);
	n = conn->up == UP_TUNNEL ? (ssize_t)from->in.len
				  : http_body_span(&conn->up_body, from->in.p, from->in.len);
	if (n < 0 || (conn->up == UP_BODY && from->eof && !from->in.len)) {
		conn_abort(conn);
		return true;
	}
	buf_add(&to->out, from->in.p, (size_t)n);
	tls_end_drop(from, (size_t)n);
	if (conn->up == UP_BODY && http_body_is_done(&conn->up_body))
		conn->up = UP_WAIT;
	if (conn->up == UP_TUNNEL && from->eof && !to->shut &&
	    tls_end_is_sent(to)) {
		to->shut = true;
		tls_end_shutdown(to);
	}
	return moved || n > 0;
}

static void end_response(struct tls_conn *conn)
{
	const struct tls_end *upstream = &conn->upstream;

	to_client(conn, NULL, 0, true);
	end_exchange(conn);
	conn->served++;
	conn->down = DOWN_IDLE;
	/* A request that is not sent to its end when the answer is complete, and bytes
	 * after an answer, leave the connection undefined
	 */
	if (conn->last || conn->up != UP_WAIT || !tls_end_is_sent(upstream) ||
	    upstream->broken || upstream->in.len) {
		conn_finish(conn);
		return;
	}
	conn->up = UP_HEAD;
	timer_start(conn->server->timers, &conn->timer, TIMER_KEEP);
}

/* The next request of a plain client may be for another host: with @last it learns that
 * it needs another connection, by the first field of that name
 */
static void pass_head(struct tls_conn *conn, size_t n, bool last)
{
	static const char ends[] = "Connection: close\r\n";
	const char *p = conn->upstream.in.p;
	const char *feed = last ? memchr(p, '\n', n) : NULL;
	const size_t line = feed ? (size_t)(feed + 1 - p) : 0;

	if (line) {
		to_client(conn, p, line, false);
		to_client(conn, ends, sizeof(ends) - 1, false);
	}
	to_client(conn, p + line, n - line, false);
}

static bool take_response(struct tls_conn *conn, size_t n)
{
	struct http_response *response = mem_zalloc(sizeof(*response));
	const char *why = NULL;
	bool ok = !http_response_parse(conn->upstream.in.p, n,
				       &conn->exchange->request, response,
				       &why);

	if (ok) {
		pass_head(conn, n, !response->interim && shares_client(conn));
		tls_end_drop(&conn->upstream, n);
		conn->response_scan = long_head;
		http_body_init(&conn->down_body, response->framing,
			       response->length);
		if (response->tunnel) {
			conn->up = UP_TUNNEL;
			conn->down = DOWN_TUNNEL;
		} else if (!response->interim) {
			conn->down = DOWN_BODY;
			conn->last |= !response->keep_alive;
		}
	}
	free(response);
	return ok;
}

static bool step_response_head(struct tls_conn *conn)
{
	const bool moved = tls_end_fill(&conn->upstream, HTTP_HEAD_LONG_MAX);
	const struct buf *in = &conn->upstream.in;
	ssize_t n =
		in->len ? http_head_scan(&conn->response_scan, in->p, in->len)
			: 0;

	if (n > 0 && take_response(conn, (size_t)n))
		return true;
	if (n || conn->upstream.eof || conn->upstream.failed) {
		/* On a connection that was kept the client expects this, and tries
		 * again by itself
		 */
		if (!n && !in->len && conn->served)
			conn_close(conn);
		else
			answer_client(conn, HTTP_ANSWER_UNREACHABLE,
				      n ? "the host's answer could not be read"
					: "the host closed the connection");
		return true;
	}
	return moved;
}

static bool step_down(struct tls_conn *conn)
{
	struct tls_end *from = &conn->upstream, *to = &conn->client;
	bool moved;
	ssize_t n;

	if (to->out.len >= WAITING_MAX)
		return false;
	if (conn->down == DOWN_HEAD)
		return step_response_head(conn);
	if (conn->down == DOWN_IDLE) {
		/* Between requests a server sends nothing but its end */
		moved = from->open && tls_end_fill(from, 1);
		if ((from->in.len || from->eof) && moved && !conn->client.in.len)
			conn_close(conn);
		return moved;
	}
	moved = tls_end_fill(from, TLS_RECORD_MAX);
	n = conn->down == DOWN_TUNNEL ? (ssize_t)from->in.len
				      : http_body_span(&conn->down_body, from->in.p, from->in.len);
	if (n < 0) {
		conn_abort(conn);
		return true;
	}
	if (n)
		to_client(conn, from->in.p, (size_t)n, false);
	tls_end_drop(from, (size_t)n);
	if (conn->down == DOWN_BODY && http_body_is_done(&conn->down_body)) {
		end_response(conn);
		return true;
	}
	if ((from->eof || from->failed) && !from->in.len) {
		if (conn->down == DOWN_TUNNEL ||
		    http_body_may_end(&conn->down_body)) {
			conn->last = true;
			conn->cut = !from->clean;
			end_response(conn);
		} else {
			conn_abort(conn);
		}
		return true;
	}
	return moved || n > 0;
}

/* The last bytes to the client; what it sends meanwhile is dropped, so that no reset
 * overtakes them
 */
static bool step_closing(struct tls_conn *conn)
{
	struct tls_end *end = &conn->client;

	if (end->failed || end->broken || !end->open) {
		conn_close(conn);
		return true;
	}
	if (!tls_end_is_sent(end))
		return false;
	if (!end->shut) {
		end->shut = true;
		/* Else a cut response would be a whole one to the client */
		if (!conn->cut)
			tls_end_shutdown(end);
		(void)shutdown(end->source.fd, SHUT_WR);
		timer_start(conn->server->timers, &conn->timer, TIMER_LINGER);
	}
	end->in.len = 0;
	if (tls_end_fill(end, TLS_RECORD_MAX) && !end->eof)
		return true;
	if (end->eof || end->failed)
		conn_close(conn);
	return false;
}

/* HTTP/2: the relay takes what came and says what is to be sent */
static bool step_h2(struct tls_conn *conn)
{
	struct tls_end *client = &conn->client, *server = &conn->upstream;
	struct timers *timers = conn->server->timers;
	bool moved = false, ok = true;

	if (server->head.len + server->out.len < WAITING_MAX &&
	    has_values(conn) && tls_end_fill(client, 1)) {
		moved = true;
		ok = h2_relay_from_client(conn->h2, client->in.p,
					  client->in.len);
		buf_done(&client->in);
	}
	if (ok && client->out.len < WAITING_MAX && tls_end_fill(server, 1)) {
		moved = true;
		ok = h2_relay_from_server(conn->h2, server->in.p,
					  server->in.len);
		buf_done(&server->in);
	}
	if (!ok || client->eof) {
		conn_close(conn);
		return true;
	}
	/* Not when it reads no more: it may have answered before */
	if (server->eof)
		h2_relay_server_ended(conn->h2);
	moved |= h2_relay_to_server(conn->h2, &server->head, &server->out,
				    WAITING_MAX);
	moved |= h2_relay_to_client(conn->h2, &client->out, WAITING_MAX);
	if (!h2_relay_holds(conn->h2))
		timer_stop(timers, &conn->hold);
	else if (moved)
		timer_start(timers, &conn->hold, TIMER_SCRUB);
	if (h2_relay_is_done(conn->h2))
		conn_finish(conn);
	return moved;
}

static bool step_once(struct tls_conn *conn)
{
	bool moved = false;

	handshake_client(conn);
	if (conn->closed)
		return false;
	moved = handshake_upstream(conn);
	if (conn->closing) {
		moved |= tls_end_flush(&conn->client);
		conn->active |= moved;
		return step_closing(conn) || moved;
	}
	if (!conn->client.open)
		return moved;
	if (conn->h2) {
		moved |= step_h2(conn);
	} else {
		moved |= step_up(conn);
		if (!conn->closed && !conn->closing)
			moved |= step_down(conn);
	}
	if (conn->closed)
		return false;
	/* A head goes out with what follows, in one record */
	if (!moved || conn->client.out.len >= TLS_RECORD_MAX ||
	    conn->upstream.out.len >= TLS_RECORD_MAX) {
		moved |= tls_end_flush(&conn->upstream);
		moved |= tls_end_flush(&conn->client);
	}
	conn->active |= moved;
	if (conn->client.broken)
		conn_close(conn);
	return moved;
}

static void advance(void *arg)
{
	struct tls_conn *conn = arg;

	for (int i = 0; !conn->closed; i++) {
		if (i == TURNS_MAX) {
			loop_defer(conn->server->loop, &conn->task);
			return;
		}
		if (!step_once(conn))
			return;
	}
}

static int on_event(void *arg)
{
	advance(arg);
	return 0;
}

static int on_client(void *arg)
{
	struct tls_conn *conn = arg;

	/* A reset: what waits for the client will not be read */
	if (conn->client.source.events & EPOLLERR)
		conn_close(conn);
	else
		advance(conn);
	return 0;
}

static void on_timer(void *arg)
{
	struct tls_conn *conn = arg;

	if (conn->timer.kind == TIMER_IDLE && conn->active) {
		conn->active = false;
		timer_start(conn->server->timers, &conn->timer, TIMER_IDLE);
		return;
	}
	if (conn->timer.kind == TIMER_PARENT && !conn->client.open &&
	    !conn->upstream.open && !conn->upstream.failed) {
		/* A client of HTTP/2 waits for the server, and can be answered now */
		conn->upstream.failed = true;
		timer_start(conn->server->timers, &conn->timer, TIMER_PARENT);
		advance(conn);
		return;
	}
	if (conn->timer.kind == TIMER_LINGER) {
		/* Sent to the end; the kernel delivers it to a slow client */
		conn_close(conn);
	} else if (conn->timer.kind == TIMER_HEAD && conn->client.open &&
		   conn->client.in.len && !conn->closing) {
		answer_client(conn,
			      conn->upstream.open ? HTTP_ANSWER_DEADLINE
						  : HTTP_ANSWER_TIMEOUT,
			      NULL);
		advance(conn);
	} else {
		conn_abort(conn);
	}
}

/* Nothing came after what may be the beginning of a value: a message that ends so must
 * not wait for the next one
 */
static void on_hold(void *arg)
{
	struct tls_conn *conn = arg;

	if (conn->h2)
		h2_relay_release(conn->h2);
	else
		to_client(conn, NULL, 0, true);
	advance(conn);
}

static bool set_up_client(struct tls_conn *conn, bool plain)
{
	struct tls_end *end = &conn->client;
	SSL_CTX *context;

	if (plain) {
		end->asked = end->open = true;
		return true;
	}
	context = authority_context(conn->server->authority, conn->host.name,
				    NULL);
	if (!context || !tls_end_accept(end, context, &conn->host))
		return false;
	tls_alpn_follow(end, &conn->upstream);
	return true;
}

void tls_conn_start(struct tls_server *server, uint32_t id,
		    const struct tls_serve *serve, int client, int upstream)
{
	struct tls_conn *conn = mem_zalloc(sizeof(*conn));
	static const uint32_t events = EPOLLIN | EPOLLOUT | EPOLLRDHUP |
				       EPOLLET;

	conn->server = server;
	conn->id = id;
	conn->host = serve->host;
	conn->scan = long_head;
	conn->client.source = (struct loop_source){ client, on_client, conn };
	conn->upstream.source = (struct loop_source){ upstream, on_event, conn };
	conn->client.hello = mem_alloc(serve->n + 1);
	memcpy(conn->client.hello, serve->hello, serve->n);
	conn->client.hello_n = serve->n;
	conn->timer = (struct timer){ .fn = on_timer, .arg = conn };
	conn->hold = (struct timer){ .fn = on_hold, .arg = conn };
	conn->task = (struct loop_task){ .fn = advance, .arg = conn };
	LIST_INSERT_HEAD(&server->conns, conn, link);
	server->n_conns++;
	if (server->n_conns > TLS_CONNS_MAX)
		tls_report_refused(server, id,
				   "too many connections to hosts of secrets",
				   NULL, "let the program open fewer at a time");
	if (server->n_conns > TLS_CONNS_MAX || !set_up_client(conn, serve->plain) ||
	    !tls_end_connect(&conn->upstream, server->upstream,
			     conn->host.name) ||
	    loop_add(server->loop, &conn->client.source, events) < 0 ||
	    loop_add(server->loop, &conn->upstream.source, events) < 0) {
		conn_abort(conn);
		return;
	}
	timer_start(server->timers, &conn->timer, TIMER_PARENT);
	advance(conn);
}

void tls_conns_wake(struct tls_server *server)
{
	struct tls_conn *conn;

	LIST_FOREACH(conn, &server->conns, link)
		loop_defer(server->loop, &conn->task);
}

void tls_conns_close(struct tls_server *server)
{
	while (!LIST_EMPTY(&server->conns))
		conn_close(LIST_FIRST(&server->conns));
}
