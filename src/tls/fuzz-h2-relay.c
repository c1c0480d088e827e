/* SPDX-License-Identifier: Apache-2.0 */
/* tls/fuzz-h2-relay.c - frames of both sides: values go to their host, and nowhere else
 *
 * The input is a list of messages: a byte whose lowest bit says which side sends, two
 * bytes of length, the bytes. A server of nghttp2's reads what is sent on, and must find
 * no value out of place.
 */

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "fuzz.h"
#include "policy/host.h"
#include "tls/config.h"
#include "tls/h2-relay.h"
#include "tls/rewrite.h"
#include "tls/scrub.h"

enum { WAITING_MAX = 64 << 10, MESSAGE_HEAD = 3 };

static const char text[] =
	"{\"project\": \"/p\", \"key\": \""
	"0000000000000000000000000000000000000000000000000000000000000000"
	"\", \"secrets\": ["
	"{\"name\": \"ONE\", \"hosts\": [\"a.test\"]},"
	"{\"name\": \"TWO\", \"hosts\": [\"b.test\"]}]}";
static const char *const placeholders[] = { "PLACE-01", "PLACE-02" };
static const char *const values[] = { "real+v/1", "real+v/2" };

static struct tls_config config;
static struct secret_values secrets;
static struct host host;

static bool has(const void *p, size_t n, const char *what)
{
	return n && memmem(p, n, what, strlen(what)) != NULL;
}

static bool decide(void *arg, const char *head, size_t n, struct scrub *scrub,
		  struct bytes *out, struct buf *answer)
{
	struct rewrite *w = mem_zalloc(sizeof(*w));
	const int error =
		rewrite_head(head, n, &host, &config.secrets, &secrets, w, out);

	(void)arg;
	for (size_t i = 0; !error && i < w->n_used; i++)
		scrub_add(scrub, values[0], placeholders[0], strlen(values[0]));
	if (error)
		buf_adds(answer, "HTTP/1.1 403 No\r\nContent-Length: 2\r\n"
				 "Connection: close\r\n\r\nno");
	free(w);
	return !error;
}

static bool is_field(const uint8_t *name, size_t n)
{
	static const char *const fields[] = {
		"authorization", "x-api-key", "x-goog-api-key",
		"private-token", "api-key",   "x-auth-token",
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strlen(fields[i]) == n && !memcmp(fields[i], name, n))
			return true;
	}
	return false;
}

/* In what the server gets */
static int on_field(nghttp2_session *s, const nghttp2_frame *frame,
		    const uint8_t *name, size_t n, const uint8_t *v, size_t len,
		    uint8_t flags, void *arg)
{
	(void)s;
	(void)frame;
	(void)arg;
	fuzz_want(!has(v, len, values[1]));
	fuzz_want(!has(v, len, values[0]) ||
		  (is_field(name, n) && flags & NGHTTP2_NV_FLAG_NO_INDEX));
	if (n == 10 && !memcmp(name, ":authority", n))
		fuzz_want((len == 6 &&
			   !strncasecmp((const char *)v, "a.test", 6)) ||
			  (len == 10 &&
			   !strncasecmp((const char *)v, "a.test:443", 10)) ||
			  (len && v[len - 1] == '.'));
	return 0;
}

static int on_chunk(nghttp2_session *s, uint8_t flags, int32_t id,
		    const uint8_t *p, size_t n, void *arg)
{
	(void)s;
	(void)flags;
	(void)id;
	(void)arg;
	fuzz_want(!has(p, n, values[0]) && !has(p, n, values[1]));
	return 0;
}

static nghttp2_session *new_server(void)
{
	nghttp2_session_callbacks *c;
	nghttp2_session *s;

	fuzz_want(!nghttp2_session_callbacks_new(&c));
	nghttp2_session_callbacks_set_on_header_callback(c, on_field);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_chunk);
	fuzz_want(!nghttp2_session_server_new(&s, c, NULL));
	nghttp2_session_callbacks_del(c);
	return s;
}

static void set_up(void)
{
	struct err err = { 0 };

	if (config.secrets.len)
		return;
	fuzz_want(!tls_config_read(text, sizeof(text) - 1, &config, &err));
	fuzz_want(!host_parse("a.test", 6, 443, &host));
	for (size_t i = 0; i < 2; i++) {
		config.secrets.v[i].placeholder = mem_strdup(placeholders[i]);
		bytes_adds(&secrets.v[i], values[i]);
	}
}

/* True while both sides are there */
static bool drain(struct h2_relay *relay, nghttp2_session *server)
{
	auto_bytes struct bytes head = { 0 };
	auto_buf struct buf out = { 0 }, back = { 0 };

	/* It stops at what the settings of the input's server allow, and its own do not */
	(void)h2_relay_to_server(relay, &head, &out, WAITING_MAX);
	if (head.len)
		(void)nghttp2_session_mem_recv(server, (const uint8_t *)head.p,
					       head.len);
	if (out.len)
		(void)nghttp2_session_mem_recv(server, (const uint8_t *)out.p,
					       out.len);
	(void)h2_relay_to_client(relay, &back, WAITING_MAX);
	fuzz_want(!has(back.p, back.len, values[0]));
	if (h2_relay_holds(relay))
		h2_relay_release(relay);
	return !h2_relay_is_done(relay);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char magic[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	struct h2_relay *relay;
	nghttp2_session *server;
	bool ok = true;

	set_up();
	/* A value that the client itself sends is not one of ours */
	if (has(data, size, values[0]) || has(data, size, values[1]))
		return 0;
	relay = h2_relay_new(decide, NULL);
	server = new_server();
	ok = h2_relay_from_client(relay, magic, sizeof(magic) - 1);
	while (ok && size >= MESSAGE_HEAD) {
		size_t n = data[1] | (size_t)data[2] << 8;
		const bool down = data[0] & 1;
		const char *p = (const char *)data + MESSAGE_HEAD;

		size -= MESSAGE_HEAD;
		n = n < size ? n : size;
		ok = down ? h2_relay_from_server(relay, p, n)
			  : h2_relay_from_client(relay, p, n);
		data += MESSAGE_HEAD + n;
		size -= n;
		ok = ok && drain(relay, server);
	}
	if (ok) {
		h2_relay_server_ended(relay);
		(void)drain(relay, server);
	}
	h2_relay_free(relay);
	nghttp2_session_del(server);
	return 0;
}
