/* SPDX-License-Identifier: Apache-2.0 */
/* tls/test-h2-relay.c - HTTP/2 through the relay, between two peers in this process
 *
 * Both peers are nghttp2's. What they hear is kept as text: "field: value" lines, bodies
 * as counts, and how each stream ended.
 */

#include "tls/h2-relay.h"

#include <malloc.h>
#include <nghttp2/nghttp2.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "gate/proto/http.h"
#include "policy/host.h"
#include "test.h"
#include "tls/config.h"
#include "tls/h2-head.h"
#include "tls/scrub.h"
#include "tls/tls-end.h"
#include "tls/tls-report.h"

enum {
	SEND_MAX = 64 << 10, /* Bytes that wait for a peer, as in tls-conn.c */
	FLOOD_FRAMES = 200000, /* More than H2_MEMORY_MAX has answers to */
};

#define HOST "api.example.org"

static const char value[] = "the-real-value-1";
static const char placeholder[] = "placeholder-no-1";

/**
 * struct peer - One end
 * @log:	What it heard
 * @body:	What it sends on each stream, @left bytes of 'b' unless NULL
 * @got:	Bytes of bodies that came
 * @open:	@body is not the end; the rest does not come
 * @unread:	Bodies are not credited, as by a peer that does not read
 */
struct peer {
	nghttp2_session *s;
	struct buf log;
	const char *body;
	size_t left, got;
	bool open, unread, indexed;
};

/**
 * struct rig - The relay between them
 */
struct rig {
	struct h2_relay *relay;
	struct peer client, server;
	struct tls_server shared;
	struct tls_config config;
	struct secret_values values;
	struct host host;
};

static int on_field(nghttp2_session *s, const nghttp2_frame *frame,
		    const uint8_t *name, size_t n, const uint8_t *v, size_t len,
		    uint8_t flags, void *arg)
{
	struct peer *peer = arg;

	(void)s;
	(void)frame;
	if (memmem(v, len, value, strlen(value)) &&
	    !(flags & NGHTTP2_NV_FLAG_NO_INDEX))
		peer->indexed = true;
	buf_addf(&peer->log, "%.*s: %.*s\n", (int)n, (const char *)name,
		 (int)len, (const char *)v);
	return 0;
}

static int on_chunk(nghttp2_session *s, uint8_t flags, int32_t id,
		    const uint8_t *p, size_t n, void *arg)
{
	struct peer *peer = arg;

	(void)flags;
	peer->got += n;
	if (n < 1000)
		buf_addf(&peer->log, "%.*s", (int)n, (const char *)p);
	if (!peer->unread)
		(void)nghttp2_session_consume(s, id, n);
	return 0;
}

static int on_close(nghttp2_session *s, int32_t id, uint32_t code, void *arg)
{
	struct peer *peer = arg;

	(void)s;
	buf_addf(&peer->log, "\n[%d closed %s]\n", id,
		 nghttp2_http2_strerror(code));
	return 0;
}

static ssize_t give(nghttp2_session *s, int32_t id, uint8_t *p, size_t max,
		    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct peer *peer = arg;
	size_t n = peer->body ? strlen(peer->body) : peer->left;

	(void)s;
	(void)id;
	(void)source;
	if (peer->open && !peer->body)
		return NGHTTP2_ERR_DEFERRED;
	n = n < max ? n : max;
	if (peer->body) {
		memcpy(p, peer->body, n);
	} else {
		memset(p, 'b', n);
		peer->left -= n;
	}
	if (peer->open)
		peer->body = NULL;
	else if (peer->body || !peer->left)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static const nghttp2_data_provider body = { .read_callback = give };

static int on_frame(nghttp2_session *s, const nghttp2_frame *frame, void *arg)
{
	struct peer *peer = arg;

	(void)s;
	if (frame->hd.type == NGHTTP2_GOAWAY)
		buf_adds(&peer->log, "[goaway]\n");
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM &&
	    (frame->hd.type == NGHTTP2_DATA ||
	     frame->hd.type == NGHTTP2_HEADERS))
		buf_addf(&peer->log, "\n[%d ended]\n", frame->hd.stream_id);
	return 0;
}

static void peer_start(struct peer *peer, bool client)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100 },
	};
	nghttp2_session_callbacks *c;
	nghttp2_option *option;

	CHECK_INT(nghttp2_session_callbacks_new(&c), 0);
	CHECK_INT(nghttp2_option_new(&option), 0);
	nghttp2_session_callbacks_set_on_header_callback(c, on_field);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_chunk);
	nghttp2_session_callbacks_set_on_stream_close_callback(c, on_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
	nghttp2_option_set_no_auto_window_update(option, 1);
	nghttp2_option_set_max_send_header_block_length(option, 1 << 20);
	/* What it is made to send may be malformed */
	nghttp2_option_set_no_http_messaging(option, 1);
	CHECK_INT((client ? nghttp2_session_client_new2
			  : nghttp2_session_server_new2)(&peer->s, c, peer,
							 option),
		  0);
	CHECK_INT(nghttp2_submit_settings(peer->s, 0, settings, 1), 0);
	nghttp2_session_callbacks_del(c);
	nghttp2_option_del(option);
}

static bool decide(void *arg, const char *head, size_t n, struct scrub *scrub,
		  struct bytes *out, struct buf *answer)
{
	struct rig *r = arg;
	struct rewrite *w = mem_zalloc(sizeof(*w));
	const int error = rewrite_head(head, n, &r->host, &r->config.secrets,
				       &r->values, w, out);

	for (size_t i = 0; !error && i < w->n_used; i++)
		scrub_add(scrub, value, placeholder, strlen(value));
	if (error)
		tls_refusal_request(&r->shared, 7, &r->host, w, error, answer);
	free(w);
	return !error;
}

static void rig_start(struct rig *r)
{
	static const char text[] =
		"{\"project\": \"/p\", \"key\": \""
		"0000000000000000000000000000000000000000000000000000000000000000"
		"\", \"secrets\": [{\"name\": \"ONE\", \"hosts\": [\"" HOST
		"\"]}, {\"name\": \"TWO\", \"hosts\": [\"b.example.org\"]}]}";
	struct err err = { 0 };

	*r = (struct rig){ .shared = { .channel = -1 } };
	CHECK_INT(tls_config_read(text, sizeof(text) - 1, &r->config, &err), 0);
	r->config.secrets.v[0].placeholder = mem_strdup(placeholder);
	r->config.secrets.v[1].placeholder = mem_strdup("placeholder-no-2");
	bytes_adds(&r->values.v[0], value);
	bytes_adds(&r->values.v[1], "the-other-value");
	CHECK_INT(host_parse(HOST, strlen(HOST), 443, &r->host), 0);
	r->relay = h2_relay_new(decide, r);
	peer_start(&r->client, true);
	peer_start(&r->server, false);
}

static void rig_end(struct rig *r)
{
	h2_relay_free(r->relay);
	nghttp2_session_del(r->client.s);
	nghttp2_session_del(r->server.s);
	buf_done(&r->client.log);
	buf_done(&r->server.log);
	for (size_t i = 0; i < 2; i++)
		bytes_done(&r->values.v[i]);
	tls_config_done(&r->config);
}

static bool from_peer(struct rig *r, struct peer *peer)
{
	const uint8_t *p;
	const ssize_t n = nghttp2_session_mem_send(peer->s, &p);

	if (n <= 0)
		return false;
	CHECK((peer == &r->client ? h2_relay_from_client
				  : h2_relay_from_server)(
		r->relay, (const char *)p, (size_t)n));
	return true;
}

static void take(struct peer *peer, const char *p, size_t n)
{
	if (n)
		CHECK_INT(nghttp2_session_mem_recv(peer->s, (const uint8_t *)p,
						   n),
			  (ssize_t)n);
}

/* Until everything that can move has moved */
static void pump(struct rig *r)
{
	bool moved = true;

	while (moved) {
		auto_buf struct buf out = { 0 }, back = { 0 };
		auto_bytes struct bytes head = { 0 };

		moved = from_peer(r, &r->client);
		moved |= from_peer(r, &r->server);
		moved |= h2_relay_to_server(r->relay, &head, &out, SEND_MAX);
		moved |= h2_relay_to_client(r->relay, &back, SEND_MAX);
		take(&r->server, head.p, head.len);
		take(&r->server, out.p, out.len);
		take(&r->client, back.p, back.len);
	}
}

#define NV(name, v) \
	{ \
		(uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(v), \
			strlen(name), strlen(v), NGHTTP2_NV_FLAG_NONE \
	}

/* A request with @name: @v as well */
static int32_t ask_as(struct rig *r, const char *authority, const char *scheme,
		      const char *name, const char *v, bool with_body)
{
	const nghttp2_nv fields[] = {
		NV(":method", with_body ? "POST" : "GET"),
		NV(":scheme", scheme),
		NV(":path", "/a?b"),
		NV(":authority", authority),
		NV(name, v),
		NV("x-other", placeholder),
	};
	/* Without an authority there is another field in its place */
	const size_t skip = *authority ? 0 : 1;
	nghttp2_nv sent[6];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!(skip && i == 3))
			sent[n++] = fields[i];
	}
	return nghttp2_submit_request(r->client.s, NULL, sent, n,
				      with_body ? &body : NULL, NULL);
}

static int32_t ask(struct rig *r, bool with_body)
{
	return ask_as(r, HOST, "https", "authorization",
		      "Bearer placeholder-no-1", with_body);
}

static void answer(struct rig *r, int32_t id, bool with_body)
{
	const nghttp2_nv fields[] = { NV(":status", "200"),
				      NV("x-echo", "<the-real-value-1>") };

	CHECK_INT(nghttp2_submit_response(r->server.s, id, fields, 2,
					  with_body ? &body : NULL),
		  0);
}

static bool heard(struct peer *peer, const char *what)
{
	return strstr(buf_str(&peer->log), what);
}

TEST(a_request_gets_the_value_and_its_response_the_placeholder)
{
	struct rig r;

	rig_start(&r);
	r.client.body = "body with placeholder-no-1";
	r.server.body = "you sent the-real-value-1 to me";
	(void)ask(&r, true);
	pump(&r);
	CHECK(heard(&r.server, ":authority: " HOST "\n"));
	CHECK(heard(&r.server, ":path: /a?b\n"));
	CHECK(heard(&r.server, "authorization: Bearer the-real-value-1\n"));
	CHECK(heard(&r.server, "x-other: placeholder-no-1\n"));
	CHECK(heard(&r.server, r.client.body));
	answer(&r, 1, true);
	pump(&r);
	CHECK(heard(&r.client, "x-echo: <placeholder-no-1>\n"));
	CHECK(heard(&r.client, "you sent placeholder-no-1 to me"));
	CHECK(!heard(&r.client, value));
	CHECK(heard(&r.client, "[1 closed NO_ERROR]"));
	rig_end(&r);
}

/* A table that both ends of a connection keep would show by its size what is in it, and
 * keeps the value in memory
 */
TEST(secret_values_are_never_indexed_by_HPACK)
{
	struct rig r;

	rig_start(&r);
	/* Of Authorization nghttp2 knows by itself */
	for (int i = 0; i < 2; i++)
		(void)ask_as(&r, HOST, "https", "x-api-key", placeholder,
			     false);
	pump(&r);
	CHECK(heard(&r.server, value));
	CHECK(!r.server.indexed);
	rig_end(&r);
}

TEST(requests_for_another_host_and_ambiguous_ones_are_refused)
{
	static const struct {
		const char *authority, *scheme, *name, *v, *status;
	} cases[] = {
		{ "b.example.org", "https", "x-api-key", "placeholder-no-1",
		  ":status: 421" },
		{ HOST ":444", "https", "x-api-key", "placeholder-no-1",
		  ":status: 421" },
		{ HOST, "http", "x-api-key", "placeholder-no-1",
		  ":status: 400" },
		{ HOST, "https", "host", "b.example.org", ":status: 400" },
		{ "", "https", "host", "b.example.org", ":status: 421" },
		{ "", "https", "x-api-key", "placeholder-no-1", "" },
		{ HOST, "https", "authorization", "Bearer placeholder-no-2",
		  ":status: 403" },
		{ HOST, "https", ":protocol", "websocket", "" },
		{ HOST, "https", "transfer-encoding", "chunked", "" },
		{ HOST, "https", "x-a", "b\r\nx-api-key: placeholder-no-1",
		  "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig r;

		rig_start(&r);
		(void)ask_as(&r, cases[i].authority, cases[i].scheme,
			     cases[i].name, cases[i].v, false);
		pump(&r);
		if (!heard(&r.client, cases[i].status) ||
		    !heard(&r.client, "[1 closed "))
			test_fail(__FILE__, __LINE__, "case %zu: %s", i,
				  buf_str(&r.client.log));
		CHECK(!heard(&r.server, ":path"));
		/* The control: the connection goes on */
		(void)ask(&r, false);
		pump(&r);
		CHECK(heard(&r.server, value));
		rig_end(&r);
	}
}

/* nghttp2 refuses these before we see them */
TEST(fields_with_line_breaks_are_refused)
{
	static const char *const bad[] = { "b\r\nx-api-key: y", "a\nb", "\r",
					   "\x7f" };

	for (size_t i = 0; i <= ARRAY_SIZE(bad); i++) {
		const char *v = i < ARRAY_SIZE(bad) ? bad[i] : "good\t\xff";
		struct h2_head head = { 0 };
		auto_buf struct buf out = { 0 };

		h2_head_add(&head, (const uint8_t *)":scheme", 7,
			    (const uint8_t *)"https", 5);
		h2_head_add(&head, (const uint8_t *)"x", 1, (const uint8_t *)v,
			    strlen(v));
		CHECK_INT(h2_head_write(&head, &out), i == ARRAY_SIZE(bad));
		h2_head_done(&head);
	}
}

TEST(requests_pending_at_the_server_are_limited)
{
	struct rig r;
	auto_buf struct buf back = { 0 };
	int32_t id = 0;

	rig_start(&r);
	pump(&r);
	for (int i = 0; i <= 2 * H2_STREAMS_MAX; i++) {
		id = ask(&r, false);
		while (from_peer(&r, &r.client)) {
		}
		if (i == 2 * H2_STREAMS_MAX)
			break;
		CHECK_INT(nghttp2_submit_rst_stream(r.client.s, 0, id,
						    NGHTTP2_CANCEL),
			  0);
		while (from_peer(&r, &r.client)) {
		}
	}
	CHECK(h2_relay_to_client(r.relay, &back, SEND_MAX));
	take(&r.client, back.p, back.len);
	CHECK(heard(&r.client, "[401 closed INTERNAL_ERROR]"));
	/* The server takes them, and there is space again */
	pump(&r);
	(void)ask(&r, false);
	pump(&r);
	CHECK(heard(&r.server, value));
	rig_end(&r);
}

TEST(a_refusal_prints_the_binding_command)
{
	struct rig r;

	rig_start(&r);
	(void)ask_as(&r, HOST, "https", "authorization",
		     "Bearer placeholder-no-2", true);
	r.client.left = 100000;
	pump(&r);
	CHECK(heard(&r.client, "cloche secret bind TWO " HOST));
	CHECK(heard(&r.client, "[1 closed NO_ERROR]"));
	for (int i = 0; i < 2; i++)
		(void)ask_as(&r, i ? HOST : "", "https", "host", HOST, false);
	pump(&r);
	CHECK(heard(&r.server, "[3 ended]"));
	CHECK(heard(&r.server, "[1 ended]"));
	rig_end(&r);
}

TEST(trailers_and_interim_responses_are_forwarded)
{
	const nghttp2_nv hint[] = { NV(":status", "103"), NV("link", "x") };
	const nghttp2_nv only[] = { NV(":status", "200"),
				    NV("grpc-status", "5") };
	const nghttp2_nv last[] = { NV("grpc-message", "the-real-value-1") };
	struct rig r;

	rig_start(&r);
	(void)ask(&r, false);
	(void)ask(&r, false);
	pump(&r);
	CHECK_INT(nghttp2_submit_headers(r.server.s, 0, 1, NULL, hint, 2, NULL),
		  0);
	CHECK_INT(nghttp2_submit_headers(r.server.s, 0, 1, NULL, only, 2, NULL),
		  0);
	CHECK_INT(nghttp2_submit_trailer(r.server.s, 1, last, 1), 0);
	CHECK_INT(nghttp2_submit_response(r.server.s, 3, only, 2, NULL), 0);
	pump(&r);
	CHECK(heard(&r.client, ":status: 103\nlink: x\n:status: 200\n"));
	CHECK(heard(&r.client, "grpc-message: placeholder-no-1\n"));
	CHECK(heard(&r.client, "[1 closed NO_ERROR]"));
	CHECK(heard(&r.client, "[3 closed NO_ERROR]"));
	rig_end(&r);
}

TEST(heads_larger_than_64_KiB_are_refused)
{
	for (int more = 0; more < 2; more++) {
		/* As HTTP/1.1 has it: what ask_as() sends besides, and "x: " */
		static const char rest[] =
			"GET /a?b HTTP/1.1\r\nhost: " HOST
			"\r\nx: \r\nx-other: placeholder-no-1\r\n\r\n";
		const size_t n =
			HTTP_HEAD_LONG_MAX - strlen(rest) + (size_t)more;
		auto_free char *text = mem_zalloc(n + 1);
		struct rig r;

		memset(text, 'v', n);
		rig_start(&r);
		(void)ask_as(&r, HOST, "https", "x", text, false);
		pump(&r);
		CHECK_INT(heard(&r.server, "[1 ended]"), !more);
		CHECK_INT(heard(&r.client, ":status: 431"), more);
		rig_end(&r);
	}
}

/* A frame of HTTP/2 without the library, which would refuse to send it */
static void add_frame(struct buf *out, uint8_t type, uint8_t flags, uint32_t id,
		      const char *p, size_t n)
{
	const char head[] = { 0, (char)(n >> 8), (char)n, (char)type, (char)flags,
			      0, (char)(id >> 16), (char)(id >> 8), (char)id };

	buf_add(out, head, sizeof(head));
	buf_add(out, p, n);
}

/* Frames that are each answered, from a client that reads no answer and confirms no
 * settings: true if they end the connection
 */
static bool is_ended_by(uint8_t type, const char *p, size_t n)
{
	const bool stream = type == NGHTTP2_HEADERS;
	auto_buf struct buf back = { 0 }, in = { 0 };
	const size_t before = mallinfo2().uordblks;
	struct rig r;
	bool open = true;

	rig_start(&r);
	buf_adds(&in, NGHTTP2_CLIENT_MAGIC);
	add_frame(&in, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
	for (uint32_t id = 1; open && id < FLOOD_FRAMES; id += 2) {
		add_frame(&in, type, stream ? 5 : 0, stream ? id : 0, p, n);
		open = h2_relay_from_client(r.relay, in.p, in.len);
		in.len = 0;
		(void)h2_relay_to_client(r.relay, &back, SEND_MAX);
		CHECK(mallinfo2().uordblks - before < 2 * H2_MEMORY_MAX);
	}
	rig_end(&r);
	return !open;
}

TEST(floods_of_answered_frames_end_the_connection)
{
	CHECK(is_ended_by(NGHTTP2_PING, "12345678", 8));
	CHECK(is_ended_by(NGHTTP2_SETTINGS, NULL, 0));
	CHECK(is_ended_by(NGHTTP2_HEADERS, "\x82\x82", 2)); /* A method twice: reset */
	CHECK(!is_ended_by(100, "12345678", 8)); /* The control: has no answer */
}

/* One long field in the table of HPACK, and frames of a few bytes that have it many times */
TEST(interim_responses_from_a_compressed_table_are_limited)
{
	const size_t before = mallinfo2().uordblks;
	auto_buf struct buf in = { 0 }, field = { 0 }, again = { 0 };
	struct rig r;

	buf_adds(&field, "\x48\x03" "103\x40\x01x\x7f\xa1\x1e");
	for (int i = 0; i < 127 + 33 + (30 << 7); i++)
		buf_addc(&field, 'v');
	buf_adds(&again, "\xbf\xbe\xbe\xbe\xbe\xbe\xbe\xbe\xbe\xbe\xbe\xbe\xbe\xbe\xbe\xbe");
	rig_start(&r);
	CHECK_INT(ask(&r, false), 1);
	pump(&r);
	add_frame(&in, NGHTTP2_HEADERS, 4, 1, field.p, field.len);
	CHECK(h2_relay_from_server(r.relay, in.p, in.len));
	pump(&r);
	CHECK(heard(&r.client, "x: vvv"));	/* The control */
	in.len = 0;
	while (in.len < TLS_RECORD_MAX)
		add_frame(&in, NGHTTP2_HEADERS, 4, 1, again.p, again.len);
	CHECK(!h2_relay_from_server(r.relay, in.p, in.len));
	CHECK(mallinfo2().uordblks - before < 2 * H2_MEMORY_MAX);
	rig_end(&r);
}

TEST(a_stalled_peer_stops_the_other_side)
{
	struct rig r;

	rig_start(&r);
	for (int i = 0; i < 8; i++)
		(void)ask(&r, false);
	pump(&r);
	r.client.unread = true;
	r.server.left = 64 << 20;
	for (int i = 0; i < 8; i++)
		answer(&r, 2 * i + 1, true);
	pump(&r);
	/* The windows of both connections */
	CHECK(64 * (1 << 20) - r.server.left <= H2_WINDOW + 65535);
	CHECK(64 * (1 << 20) - r.server.left >= H2_WINDOW);
	rig_end(&r);

	rig_start(&r);
	r.server.unread = true;
	r.client.left = 64 << 20;
	(void)ask(&r, true);
	pump(&r);
	CHECK(64 * (1 << 20) - r.client.left <= H2_STREAM_WINDOW + 2 * 65535);
	rig_end(&r);
}

TEST(reset_streams_return_their_flow_control_window)
{
	struct rig r;

	rig_start(&r);
	r.client.unread = true;
	for (int i = 0; i < 20; i++) {
		const int32_t id = ask(&r, false);

		pump(&r);
		r.server.left = 1 << 20;
		answer(&r, id, true);
		pump(&r);
		CHECK_INT(nghttp2_submit_rst_stream(r.client.s, 0, id,
						    NGHTTP2_CANCEL),
			  0);
		/* What it has not read is its own to give back */
		(void)nghttp2_session_consume_connection(r.client.s,
							 r.client.got);
		r.client.got = 0;
		pump(&r);
	}
	CHECK(heard(&r.server, "[39 closed CANCEL]"));
	r.client.unread = false;
	r.server.left = 4 << 20;
	(void)ask(&r, false);
	pump(&r);
	answer(&r, 41, true);
	pump(&r);
	CHECK_INT(r.client.got, 4 << 20);
	rig_end(&r);
}

TEST(closing_a_stream_closes_its_counterpart)
{
	struct rig r;

	rig_start(&r);
	r.client.left = 1 << 20;
	(void)ask(&r, true);
	(void)ask(&r, false);
	pump(&r);
	CHECK_INT(nghttp2_submit_rst_stream(r.server.s, 0, 1,
					    NGHTTP2_ENHANCE_YOUR_CALM),
		  0);
	CHECK_INT(nghttp2_submit_rst_stream(r.client.s, 0, 3, NGHTTP2_CANCEL),
		  0);
	pump(&r);
	CHECK(heard(&r.client, "[1 closed ENHANCE_YOUR_CALM]"));
	CHECK(heard(&r.server, "[3 closed CANCEL]"));
	rig_end(&r);
}

TEST(a_goaway_ends_the_connection_after_open_streams)
{
	struct rig r;

	rig_start(&r);
	(void)ask(&r, false);
	(void)ask(&r, false);
	pump(&r);
	CHECK_INT(nghttp2_submit_goaway(r.server.s, 0, 1, NGHTTP2_NO_ERROR,
					NULL, 0),
		  0);
	pump(&r);
	CHECK(heard(&r.client, "[goaway]"));
	CHECK(heard(&r.client, "[3 closed REFUSED_STREAM]"));
	CHECK(!h2_relay_is_done(r.relay));
	answer(&r, 1, false);
	pump(&r);
	CHECK(heard(&r.client, "[1 closed NO_ERROR]"));
	CHECK(h2_relay_is_done(r.relay));
	rig_end(&r);
}

TEST(requests_to_a_closed_server_get_an_error_response)
{
	const nghttp2_nv begun[] = { NV(":status", "200") };
	struct rig r;

	rig_start(&r);
	(void)ask(&r, false);
	(void)ask(&r, false);
	pump(&r);
	CHECK_INT(nghttp2_submit_headers(r.server.s, 0, 1, NULL, begun, 1,
					 NULL),
		  0);
	pump(&r);
	h2_relay_server_ended(r.relay);
	pump(&r);
	CHECK(heard(&r.client, "[1 closed INTERNAL_ERROR]"));
	CHECK(heard(&r.client, ":status: 502"));
	CHECK(heard(&r.client, "[3 closed NO_ERROR]"));
	CHECK(h2_relay_is_done(r.relay));
	rig_end(&r);
}

TEST(frames_of_a_closed_server_are_ignored)
{
	struct rig r;

	rig_start(&r);
	(void)ask(&r, false);
	pump(&r);
	h2_relay_server_ended(r.relay);
	pump(&r);
	CHECK(heard(&r.client, "[1 closed NO_ERROR]"));
	/* The stream is freed: an answer to it would be put there */
	answer(&r, 1, true);
	pump(&r);
	rig_end(&r);
}

TEST(a_prefix_of_a_value_is_buffered_until_it_is_decided)
{
	struct rig r;

	rig_start(&r);
	(void)ask(&r, false);
	pump(&r);
	r.server.body = "this is the-re";
	r.server.open = true;
	answer(&r, 1, true);
	pump(&r);
	CHECK(heard(&r.client, "this is "));
	CHECK(!heard(&r.client, "the-re"));
	CHECK(h2_relay_holds(r.relay));
	/* The rest comes: it was the value */
	r.server.body = "al-value-1, th";
	CHECK_INT(nghttp2_session_resume_data(r.server.s, 1), 0);
	pump(&r);
	CHECK(heard(&r.client, "placeholder-no-1, "));
	CHECK(h2_relay_holds(r.relay));
	/* It does not come */
	h2_relay_release(r.relay);
	pump(&r);
	CHECK(heard(&r.client, ", th"));
	CHECK(!h2_relay_holds(r.relay));
	rig_end(&r);
}

/* The heap of a sanitizer is elsewhere */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#endif

#ifndef SANITIZED
/* What nghttp2 has copied is wiped when it is freed */
static size_t copies_in_heap(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	size_t copies = 0;

	while (fgets(line, sizeof(line), maps)) {
		const char *p = (const char *)strtoul(line, NULL, 16);
		const char *dash = strchr(line, '-');
		const char *end =
			(const char *)strtoul(dash ? dash + 1 : "", NULL, 16);

		if (!strstr(line, "[heap]"))
			continue;
		for (; (p = memmem(p, (size_t)(end - p), value, strlen(value)));
		     p++)
			copies++;
	}
	(void)fclose(maps);
	return copies;
}

TEST(no_copy_of_a_value_is_left_in_freed_memory)
{
	auto_bytes struct bytes head = { 0 };
	auto_buf struct buf out = { 0 };
	struct rig r;

	rig_start(&r);
	(void)ask(&r, false);
	CHECK(from_peer(&r, &r.client));
	while (from_peer(&r, &r.client)) {
	}
	CHECK(copies_in_heap() > 0);
	CHECK(h2_relay_to_server(r.relay, &head, &out, SEND_MAX));
	rig_end(&r);
	CHECK_INT(copies_in_heap(), 0);
}
#endif
