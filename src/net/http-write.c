/* SPDX-License-Identifier: Apache-2.0 */
/* net/http-write.c - heads as the other side gets them: written, not copied */

#include "base/buf.h"
#include "net/http-parse.h"

enum { PORT_HTTP = 80 };

static const char *const dropped[] = {
#define DROP(name) name,
#include "net/http-drop.def"
#undef DROP
};

static void add_span(struct buf *out, struct http_span s)
{
	buf_add(out, s.p, s.n);
}

static bool is_dropped(const struct http_headers *headers,
		       struct http_span name)
{
	for (size_t i = 0; i < sizeof(dropped) / sizeof(*dropped); i++) {
		if (http_span_is(name, dropped[i]))
			return true;
	}
	return http_connection_has(headers, name);
}

static void add_headers(const struct http_headers *headers, struct buf *out)
{
	for (size_t i = 0; i < headers->len; i++) {
		const struct http_header *h = &headers->v[i];

		if (is_dropped(headers, h->name))
			continue;
		add_span(out, h->name);
		buf_adds(out, ": ");
		add_span(out, h->value);
		buf_adds(out, "\r\n");
	}
}

static void add_framing(enum http_framing framing, uint64_t length,
			struct buf *out)
{
	if (framing == HTTP_BODY_LENGTH) {
		buf_adds(out, "Content-Length: ");
		buf_addu(out, length);
		buf_adds(out, "\r\n");
	}
	if (framing == HTTP_BODY_CHUNKED)
		buf_adds(out, "Transfer-Encoding: chunked\r\n");
}

static void add_connection(bool upgrade, bool close, struct buf *out)
{
	if (upgrade)
		buf_adds(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (close)
		buf_adds(out, "Connection: close\r\n");
}

/* "OPTIONS *" is about the server itself: an absolute-form without a path */
static void add_target(const struct http_request *request, bool absolute,
		       struct buf *out)
{
	const struct http_span t = request->target;
	const bool itself = request->kind == HTTP_METHOD_OPTIONS &&
			    (!t.n || *t.p == '*');

	if (absolute) {
		buf_adds(out, "http://");
		host_format(&request->host, PORT_HTTP, out);
	}
	if (itself) {
		buf_adds(out, absolute ? "" : "*");
		return;
	}
	if (!t.n || *t.p == '?')
		buf_addc(out, '/');
	add_span(out, t);
}

static void add_first(const struct http_request *request, bool absolute,
		      struct buf *out)
{
	add_span(out, request->method);
	buf_addc(out, ' ');
	add_target(request, absolute, out);
	buf_adds(out, request->minor ? " HTTP/1.1\r\nHost: "
				     : " HTTP/1.0\r\nHost: ");
	host_format(&request->vhost, PORT_HTTP, out);
	buf_adds(out, "\r\n");
}

void http_request_write(const struct http_request *request, bool close,
			struct buf *out)
{
	add_first(request, false, out);
	add_headers(&request->headers, out);
	add_framing(request->framing, request->length, out);
	add_connection(request->websocket, close, out);
	buf_adds(out, "\r\n");
}

static void add_authorization(const char *value, struct buf *out)
{
	if (value)
		buf_addf(out, "Proxy-Authorization: %s\r\n", value);
}

void http_request_write_absolute(const struct http_request *request,
				 const char *authorization, struct buf *out)
{
	add_first(request, true, out);
	add_authorization(authorization, out);
	add_headers(&request->headers, out);
	add_framing(request->framing, request->length, out);
	buf_adds(out, "\r\n");
}

void http_connect_write(const struct host *host, const char *authorization,
			struct buf *out)
{
	buf_adds(out, "CONNECT ");
	host_format(host, 0, out);
	buf_adds(out, " HTTP/1.1\r\nHost: ");
	host_format(host, 0, out);
	buf_adds(out, "\r\n");
	add_authorization(authorization, out);
	buf_adds(out, "\r\n");
}

void http_response_write(const struct http_response *response,
			 const struct http_request *request, bool close,
			 struct buf *out)
{
	if (response->interim && !request->minor)
		return;
	buf_adds(out, "HTTP/1.1 ");
	buf_addu(out, (uint64_t)response->status);
	buf_addc(out, ' ');
	add_span(out, response->reason);
	buf_adds(out, "\r\n");
	add_headers(&response->headers, out);
	if (!response->interim) {
		add_framing(response->declared, response->length, out);
		add_connection(response->status == 101,
			       close || !request->keep_alive ||
			       response->framing == HTTP_BODY_UNTIL_CLOSE, out);
	}
	buf_adds(out, "\r\n");
}
