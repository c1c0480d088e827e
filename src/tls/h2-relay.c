/* SPDX-License-Identifier: Apache-2.0 */
/* tls/h2-relay.c - HTTP/2 between a client and a server, requests decided one by one
 *
 * Theory of operation: nghttp2 is a server to the client and a client to the server. A
 * request that is allowed becomes a request on the other side; from then on both
 * streams are one here. Bodies are credited to a sender's window when they are sent on,
 * so that a side that does not read stops the other, and no more than the windows waits
 * here. The end of a stream, however it came, ends its other side.
 */

#include "tls/h2-relay.h"

#include <malloc.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"
#include "base/own.h"
#include "gate/http-answer.h"
#include "gate/proto/http.h"
#include "tls/h2-head.h"
#include "tls/scrub.h"

enum { STATUS_LEN = 3, STATUS_AT = 9 }; /* In "HTTP/1.1 200 OK" */

/**
 * struct body - One direction of a stream
 * @data:	Received and not yet sent on; the first @at bytes were
 * @ended:	Nothing follows but @trailers, which are header lines
 */
struct body {
	struct buf data, trailers;
	size_t at;
	bool ended;
};

/**
 * struct stream - A request and its response
 * @client, @server: Its numbers on both sides; 0 when it is closed there
 * @request, @response: Heads, or trailers, on their way in
 * @answered:	The head of the response was sent on
 * @local:	The response is one of ours
 * @head_only:	It has no body, because of the method
 * @scrub:	What the response is searched for, or NULL
 */
struct stream {
	struct h2_relay *relay;
	LIST_ENTRY(stream) link;
	int32_t client, server;
	struct h2_head request, response;
	struct body up, down;
	bool answered, local, head_only;
	struct scrub *scrub;
};

/**
 * struct h2_relay - A connection
 * @next, @next_n: A frame to the server that waits for the one before
 * @leaving:	The server takes no new requests
 * @ended:	It is gone
 * @memory:	Bytes that nghttp2 has of H2_MEMORY_MAX; @full: it wanted more
 */
struct h2_relay {
	nghttp2_session *client, *server;
	h2_decide decide;
	void *arg;
	LIST_HEAD(, stream) streams;
	const uint8_t *next;
	ssize_t next_n;
	size_t n_streams, memory;
	bool leaving, ended, full;
};

/* Requests have values in them, and nghttp2 copies them: its memory is wiped. It queues an
 * answer to each wrong frame, also for a peer that reads none: its memory has a limit.
 */
static void *allocate(size_t n, void *arg)
{
	struct h2_relay *relay = arg;
	void *p;

	if (n > H2_MEMORY_MAX || relay->memory > H2_MEMORY_MAX - n) {
		relay->full = true;
		return NULL;
	}
	p = malloc(n);
	relay->memory += malloc_usable_size(p);
	return p;
}

static void *allocate_zeros(size_t n, size_t size, void *arg)
{
	const size_t sum = n < H2_MEMORY_MAX ? n * size : SIZE_MAX;
	void *p = allocate(sum, arg);

	if (p)
		memset(p, 0, sum);
	return p;
}

static void release(void *p, void *arg)
{
	struct h2_relay *relay = arg;

	relay->memory -= malloc_usable_size(p);
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

static void *reallocate(void *p, size_t n, void *arg)
{
	const size_t old = p ? malloc_usable_size(p) : 0;
	void *fresh;

	if (n <= old && p)
		return p;
	fresh = allocate(n, arg);
	if (fresh && p) {
		memcpy(fresh, p, old);
		release(p, arg);
	}
	return fresh;
}

/* Let the sender of @n bytes send more; also of those that are dropped, or the
 * connection's window shrinks with each stream that is reset
 */
static void credit(nghttp2_session *session, int32_t id, size_t n)
{
	if (id)
		(void)nghttp2_session_consume(session, id, n);
	else
		(void)nghttp2_session_consume_connection(session, n);
}

static void body_drop(struct body *body, nghttp2_session *from, int32_t id)
{
	credit(from, id, body->data.len - body->at);
	buf_done(&body->data);
	buf_done(&body->trailers);
	body->at = 0;
}

static void body_add(struct body *body, const char *p, size_t n,
		     struct scrub *scrub)
{
	struct buf *data = &body->data;

	if (body->at > data->len / 2) {
		memmove(data->p, data->p + body->at, data->len - body->at);
		data->len -= body->at;
		body->at = 0;
	}
	if (scrub)
		scrub_step(scrub, p, n, !p, data);
	else
		buf_add(data, p, n);
}

static void stream_free(struct stream *s)
{
	struct h2_relay *relay = s->relay;

	if (!s->local) {
		if (s->scrub)
			credit(relay->server, 0, s->scrub->held.len);
		body_drop(&s->down, relay->server, 0);
	}
	buf_done(&s->down.data);
	body_drop(&s->up, relay->client, 0);
	LIST_REMOVE(s, link);
	relay->n_streams--;
	h2_head_done(&s->request);
	h2_head_done(&s->response);
	if (s->scrub)
		scrub_done(s->scrub);
	free(s->scrub);
	free(s);
}

static void reset(nghttp2_session *session, int32_t id, uint32_t code)
{
	(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, code);
}

/* Callback of nghttp2: at most @max bytes of the body of stream @id */
static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *p,
			 size_t max, uint32_t *flags,
			 nghttp2_data_source *source, void *arg)
{
	struct h2_relay *relay = arg;
	struct stream *s = source->ptr;
	const bool up = session == relay->server;
	struct body *body = up ? &s->up : &s->down;
	const size_t left = body->data.len - body->at;
	const size_t n = left < max ? left : max;

	if (!left && !body->ended)
		return NGHTTP2_ERR_DEFERRED;
	if (n)
		memcpy(p, body->data.p + body->at, n);
	body->at += n;
	if (up)
		credit(relay->client, s->client, n);
	else if (!s->local)
		credit(relay->server, s->server, n);
	if (n < left)
		return (ssize_t)n;
	buf_done(&body->data);
	body->at = 0;
	if (!body->ended)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (body->trailers.len) {
		struct h2_fields fields = { 0 };

		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		h2_fields_add_lines(&fields, body->trailers.p,
				    body->trailers.len, NULL, 0);
		(void)nghttp2_submit_trailer(session, id, fields.v, fields.len);
		free(fields.v);
	}
	return (ssize_t)n;
}

/* Send the client a response of our own, which is one of HTTP/1.1 */
static void answer_locally(struct stream *s, struct buf *text)
{
	struct h2_relay *relay = s->relay;
	const nghttp2_data_provider body = { { .ptr = s }, read_body };
	char *line = strstr(buf_str(text), "\r\n");
	char *end = strstr(buf_str(text), "\r\n\r\n");
	struct h2_fields fields = { 0 };

	if (!end)
		return;
	if (s->server)
		reset(relay->server, s->server, NGHTTP2_CANCEL);
	s->local = s->answered = s->down.ended = true;
	body_drop(&s->up, relay->client, s->client);
	if (!s->head_only)
		buf_adds(&s->down.data, end + 4);
	h2_fields_add(&fields, ":status", text->p + STATUS_AT, STATUS_LEN);
	h2_fields_add_lines(&fields, line + 2, (size_t)(end - line), NULL, 0);
	(void)nghttp2_submit_response(relay->client, s->client, fields.v,
				      fields.len,
				      s->down.data.len ? &body : NULL);
	free(fields.v);
}

static void answer_as(struct stream *s, enum http_answer what,
		      const char *reason)
{
	const struct http_answer_text text = { .reason = reason };
	auto_buf struct buf out = { 0 };

	http_answer_write(what, &text, &out);
	answer_locally(s, &out);
}

/* Send the request on: @head is what was decided about, @sent what came of it */
static void send_request(struct stream *s, const struct buf *head,
			 struct bytes *sent)
{
	struct h2_relay *relay = s->relay;
	const struct h2_head *q = &s->request;
	const nghttp2_data_provider body = { { .ptr = s }, read_body };
	char *lines = strstr(bytes_str(sent), "\r\n") + 2;
	const char *before = strstr(buf_str(head), "\r\n") + 2;
	struct h2_fields fields = { 0 };

	h2_fields_add(&fields, ":method", q->method.p, q->method.len);
	h2_fields_add(&fields, ":scheme", q->scheme.p, q->scheme.len);
	h2_fields_add(&fields, ":authority", q->authority.p, q->authority.len);
	h2_fields_add(&fields, ":path", q->path.p, q->path.len);
	h2_fields_add_lines(&fields, lines,
			    (size_t)(sent->p + sent->len - lines), before,
			    (size_t)(head->p + head->len - before));
	s->server = nghttp2_submit_request(relay->server, NULL, fields.v,
					   fields.len,
					   s->up.ended ? NULL : &body, s);
	free(fields.v);
	if (s->server < 0) {
		s->server = 0;
		answer_as(s, HTTP_ANSWER_INTERNAL, NULL);
	}
}

static void take_request(struct stream *s)
{
	struct h2_relay *relay = s->relay;
	auto_buf struct buf head = { 0 }, text = { 0 };
	auto_bytes struct bytes sent = { 0 };

	s->head_only = !strcmp(buf_str(&s->request.method), "HEAD");
	if (relay->leaving) {
		reset(relay->client, s->client, NGHTTP2_REFUSED_STREAM);
		return;
	}
	if (!h2_head_write(&s->request, &head)) {
		answer_as(s, HTTP_ANSWER_BAD_REQUEST, NULL);
		return;
	}
	s->scrub = mem_zalloc(sizeof(*s->scrub));
	if (!relay->decide(relay->arg, head.p, head.len, s->scrub, &sent, &text))
		answer_locally(s, &text);
	else
		send_request(s, &head, &sent);
	if (!s->scrub->len) {
		free(s->scrub);
		s->scrub = NULL;
	}
	h2_head_done(&s->request);
}

/* A head, or trailers, of the client's */
static void take_from_client(struct stream *s, const nghttp2_frame *frame)
{
	s->up.ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		take_request(s);
		return;
	}
	if (s->request.malformed ||
	    s->request.fields.len > HTTP_HEAD_LONG_MAX) {
		reset(s->relay->client, s->client, NGHTTP2_PROTOCOL_ERROR);
	} else if (s->server) {
		s->up.trailers = s->request.fields;
		s->request.fields = (struct buf){ 0 };
		(void)nghttp2_session_resume_data(s->relay->server, s->server);
	}
	h2_head_done(&s->request);
}

static void end_response(struct stream *s)
{
	if (s->scrub)
		body_add(&s->down, NULL, 0, s->scrub);
	s->down.ended = true;
	(void)nghttp2_session_resume_data(s->relay->client, s->client);
}

static void send_response(struct stream *s, const struct buf *status,
			  struct buf *lines)
{
	nghttp2_session *client = s->relay->client;
	const nghttp2_data_provider body = { { .ptr = s }, read_body };
	struct h2_fields fields = { 0 };

	h2_fields_add(&fields, ":status", status->p, status->len);
	h2_fields_add_lines(&fields, lines->p, lines->len, NULL, 0);
	if (*status->p == '1') {
		(void)nghttp2_submit_headers(client, NGHTTP2_FLAG_NONE,
					     s->client, NULL, fields.v,
					     fields.len, NULL);
	} else {
		s->answered = true;
		(void)nghttp2_submit_response(client, s->client, fields.v,
					      fields.len,
					      s->down.ended ? NULL : &body);
	}
	free(fields.v);
}

/* A head, or trailers, of the server's */
static void take_from_server(struct stream *s, const nghttp2_frame *frame)
{
	const bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	struct h2_head *head = &s->response;
	auto_buf struct buf lines = { 0 };

	if (!s->client || s->local)
		return;
	if (head->malformed || head->fields.len > HTTP_HEAD_LONG_MAX) {
		if (s->answered)
			reset(s->relay->server, s->server, NGHTTP2_CANCEL);
		else
			answer_as(s, HTTP_ANSWER_UNREACHABLE,
				  "the host's answer could not be read");
		return;
	}
	if (!head->status.len)
		end_response(s);
	if (s->scrub)
		scrub_step(s->scrub, head->fields.p, head->fields.len, true,
			   &lines);
	else
		buf_add(&lines, head->fields.p, head->fields.len);
	if (head->status.len) {
		s->down.ended = end;
		send_response(s, &head->status, &lines);
	} else {
		s->down.trailers = lines;
		lines = (struct buf){ 0 };
	}
}

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame,
		    void *arg)
{
	struct h2_relay *relay = arg;
	struct stream *s;

	if (session != relay->client || frame->hd.type != NGHTTP2_HEADERS ||
	    frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	/* Those that are closed at one side count as well */
	if (relay->n_streams >= 2 * H2_STREAMS_MAX)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	s = mem_zalloc(sizeof(*s));
	s->relay = relay;
	s->client = frame->hd.stream_id;
	LIST_INSERT_HEAD(&relay->streams, s, link);
	relay->n_streams++;
	(void)nghttp2_session_set_stream_user_data(session, s->client, s);
	return 0;
}

static int on_field(nghttp2_session *session, const nghttp2_frame *frame,
		    const uint8_t *name, size_t n, const uint8_t *value,
		    size_t len, uint8_t flags, void *arg)
{
	struct h2_relay *relay = arg;
	struct stream *s = nghttp2_session_get_stream_user_data(
		session, frame->hd.stream_id);

	(void)flags;
	if (s)
		h2_head_add(session == relay->client ? &s->request
						     : &s->response,
			    name, n, value, len);
	return 0;
}

static int on_chunk(nghttp2_session *session, uint8_t flags, int32_t id,
		    const uint8_t *data, size_t n, void *arg)
{
	struct h2_relay *relay = arg;
	struct stream *s = nghttp2_session_get_stream_user_data(session, id);
	const bool up = session == relay->client;
	const int32_t to = s ? up ? s->server : s->client : 0;

	(void)flags;
	if (!to || s->local) {
		credit(session, id, n);
		return 0;
	}
	body_add(up ? &s->up : &s->down, (const char *)data, n,
		 up ? NULL : s->scrub);
	(void)nghttp2_session_resume_data(up ? relay->server : relay->client,
					  to);
	return 0;
}

/* The server takes no new requests: neither do we, and the client connects again */
static void leave(struct h2_relay *relay)
{
	if (relay->leaving)
		return;
	relay->leaving = true;
	(void)nghttp2_submit_goaway(relay->client, NGHTTP2_FLAG_NONE,
		nghttp2_session_get_last_proc_stream_id(relay->client),
		NGHTTP2_NO_ERROR, NULL, 0);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame,
		    void *arg)
{
	struct h2_relay *relay = arg;
	const bool up = session == relay->client;
	struct stream *s = frame->hd.stream_id
				   ? nghttp2_session_get_stream_user_data(
					     session, frame->hd.stream_id)
				   : NULL;

	if (!up && frame->hd.type == NGHTTP2_GOAWAY)
		leave(relay);
	if (!s)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS) {
		if (up) {
			take_from_client(s, frame);
		} else {
			take_from_server(s, frame);
			h2_head_done(&s->response);
		}
	} else if (frame->hd.type == NGHTTP2_DATA &&
		   frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		if (!up && !s->local) {
			end_response(s);
		} else if (up) {
			s->up.ended = true;
			(void)nghttp2_session_resume_data(relay->server,
							  s->server);
		}
	}
	return 0;
}

/* The stream is over at one side */
static void end_stream(struct h2_relay *relay, const nghttp2_session *session,
		       int32_t id, uint32_t code)
{
	const bool client = session == relay->client;
	struct stream *s;

	LIST_FOREACH(s, &relay->streams, link)
	{
		if ((client ? s->client : s->server) == id)
			break;
	}
	if (!s)
		return;
	if (client) {
		s->client = 0;
		if (s->server)
			reset(relay->server, s->server,
			      code ? code : NGHTTP2_CANCEL);
	} else {
		s->server = 0;
		if (s->client && !s->down.ended)
			reset(relay->client, s->client,
			      code ? code : NGHTTP2_INTERNAL_ERROR);
		body_drop(&s->up, relay->client, s->client);
	}
	if (!s->client && !s->server)
		stream_free(s);
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code,
		    void *arg)
{
	end_stream(arg, session, id, code);
	return 0;
}

/* A request that cannot be sent opens no stream, and closes none */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame,
		       int error, void *arg)
{
	const struct h2_relay *relay = arg;

	(void)error;
	if (session == relay->server && frame->hd.type == NGHTTP2_HEADERS)
		end_stream(arg, session, frame->hd.stream_id,
			   NGHTTP2_REFUSED_STREAM);
	return 0;
}

static bool make_sessions(struct h2_relay *relay,
			  nghttp2_session_callbacks *callbacks,
			  nghttp2_option *option)
{
	nghttp2_mem memory = { relay, allocate, release, allocate_zeros,
			       reallocate };
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_MAX },
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
	};

	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks,
								on_begin);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_field);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks,
								  on_chunk);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks,
							     on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks,
							       on_close);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks,
								 on_not_sent);
	nghttp2_option_set_no_auto_window_update(option, 1);
	nghttp2_option_set_no_closed_streams(option, 1);
	/* As nghttp2 bounds it, which is more than it will be */
	nghttp2_option_set_max_send_header_block_length(option,
							2 * HTTP_HEAD_LONG_MAX);
	return !nghttp2_session_server_new3(&relay->client, callbacks, relay,
					    option, &memory) &&
	       !nghttp2_session_client_new3(&relay->server, callbacks, relay,
					    option, &memory) &&
	       !nghttp2_submit_settings(relay->client, NGHTTP2_FLAG_NONE,
					settings, 2) &&
	       !nghttp2_submit_settings(relay->server, NGHTTP2_FLAG_NONE,
					settings, 3) &&
	       !nghttp2_session_set_local_window_size(
		       relay->client, NGHTTP2_FLAG_NONE, 0, H2_WINDOW) &&
	       !nghttp2_session_set_local_window_size(
		       relay->server, NGHTTP2_FLAG_NONE, 0, H2_WINDOW);
}

struct h2_relay *h2_relay_new(h2_decide decide, void *arg)
{
	struct h2_relay *relay = mem_zalloc(sizeof(*relay));
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *option = NULL;

	relay->decide = decide;
	relay->arg = arg;
	if (nghttp2_session_callbacks_new(&callbacks) ||
	    nghttp2_option_new(&option) ||
	    !make_sessions(relay, callbacks, option)) {
		h2_relay_free(relay);
		relay = NULL;
	}
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	return relay;
}

void h2_relay_free(struct h2_relay *relay)
{
	if (!relay)
		return;
	while (!LIST_EMPTY(&relay->streams))
		stream_free(LIST_FIRST(&relay->streams));
	nghttp2_session_del(relay->client);
	nghttp2_session_del(relay->server);
	free(relay);
}

bool h2_relay_from_client(struct h2_relay *relay, const char *p, size_t n)
{
	return nghttp2_session_mem_recv(relay->client, (const uint8_t *)p, n) ==
	       (ssize_t)n && !relay->full;
}

bool h2_relay_from_server(struct h2_relay *relay, const char *p, size_t n)
{
	/* Its streams are freed, and nghttp2 has pointers to them */
	if (relay->ended)
		return true;
	if (nghttp2_session_mem_recv(relay->server, (const uint8_t *)p, n) !=
		    (ssize_t)n || relay->full)
		return false;
	if (!nghttp2_session_want_read(relay->server))
		h2_relay_server_ended(relay);
	return true;
}

void h2_relay_server_ended(struct h2_relay *relay)
{
	if (relay->ended)
		return;
	relay->ended = true;
	for (struct stream *s = LIST_FIRST(&relay->streams), *next; s;
	     s = next) {
		const bool open = s->server;

		next = LIST_NEXT(s, link);
		s->server = 0;
		if (!s->client)
			stream_free(s);
		else if (open && !s->answered)
			answer_as(s, HTTP_ANSWER_UNREACHABLE,
				  "the host closed the connection");
		else if (open && !s->down.ended)
			reset(relay->client, s->client, NGHTTP2_INTERNAL_ERROR);
	}
	leave(relay);
}

bool h2_relay_to_client(struct h2_relay *relay, struct buf *out, size_t max)
{
	const size_t before = out->len;
	const uint8_t *p;
	ssize_t n;

	while (out->len < max &&
	       (n = nghttp2_session_mem_send(relay->client, &p)) > 0)
		buf_add(out, p, (size_t)n);
	return out->len > before;
}

bool h2_relay_to_server(struct h2_relay *relay, struct bytes *head,
			struct buf *out, size_t max)
{
	const size_t before = head->len + out->len;

	while (!relay->ended && head->len + out->len < max) {
		if (!relay->next_n)
			relay->next_n = nghttp2_session_mem_send(relay->server,
								 &relay->next);
		if (relay->next_n <= 0) {
			relay->next_n = 0;
			break;
		}
		if (relay->next[3] == NGHTTP2_DATA)
			buf_add(out, relay->next, (size_t)relay->next_n);
		else if (!out->len)
			bytes_add(head, relay->next, (size_t)relay->next_n);
		else
			break;
		relay->next_n = 0;
	}
	return head->len + out->len > before;
}

bool h2_relay_holds(const struct h2_relay *relay)
{
	const struct stream *s;

	LIST_FOREACH(s, &relay->streams, link)
	{
		if (s->scrub && s->scrub->held.len)
			return true;
	}
	return false;
}

void h2_relay_release(struct h2_relay *relay)
{
	struct stream *s;

	LIST_FOREACH(s, &relay->streams, link)
	{
		if (!s->scrub || !s->scrub->held.len)
			continue;
		body_add(&s->down, NULL, 0, s->scrub);
		(void)nghttp2_session_resume_data(relay->client, s->client);
	}
}

bool h2_relay_is_done(const struct h2_relay *relay)
{
	return !nghttp2_session_want_write(relay->client) &&
	       (!nghttp2_session_want_read(relay->client) ||
		(relay->leaving && LIST_EMPTY(&relay->streams)));
}
