/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/http.h - HTTP/1.x heads: strict in, canonical out
 *
 * A request passes http_head_scan() until the end of its head is found,
 * http_request_parse() once, a verdict on request->host, then
 * http_request_write() to the origin and its body through gate/proto/http-body.h.
 * Responses go the same way back. Nothing is ever forwarded as it came.
 *
 * Errors are -EBADMSG (answer 400, or 502 for a response), -EMSGSIZE (431),
 * -EOPNOTSUPP (405): http_answer_of() in gate/http-answer.h. After an
 * error the connection is closed: where the next message starts is unknown.
 */

#ifndef GATE_PROTO_HTTP_H
#define GATE_PROTO_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/host.h"

struct buf;

enum {
	HTTP_LINE_MAX = 8 << 10,	/* Request or status line, without CRLF */
	HTTP_HEAD_MAX = 16 << 10,	/* All of the head, blank line included */
	HTTP_HEAD_LONG_MAX = 64 << 10,	/* The same, to a host that a secret is bound to */
	HTTP_HEADERS_MAX = 100,
	HTTP_CONNECTION_MAX = 32,	/* Names in all Connection headers */
};

/**
 * struct http_span - Some bytes of the caller's buffer; not NUL-terminated
 */
struct http_span {
	const char *p;
	size_t n;
};

/**
 * struct http_scan - How far a head has been looked at; zero-initialise it
 * @max:	Bytes that a head may have; 0 is HTTP_HEAD_MAX
 * @at:		Bytes that need no second look
 * @line:	Where the current line starts
 * @lines:	Complete lines so far
 */
struct http_scan {
	size_t max, at, line;
	unsigned int lines;
};

/* Look for the end of a head in the @n bytes received so far at @p, each byte
 * once however often this is called. Returns the head's length with its blank
 * line, 0 if more is needed, or -EBADMSG / -EMSGSIZE as soon as that is known.
 */
ssize_t http_head_scan(struct http_scan *scan, const char *p, size_t n);

struct http_header {
	struct http_span name, value;	/* @value without blanks around it */
};

struct http_headers {
	struct http_header v[HTTP_HEADERS_MAX];
	size_t len;
};

enum http_framing {
	HTTP_BODY_NONE,
	HTTP_BODY_LENGTH,
	HTTP_BODY_CHUNKED,
	HTTP_BODY_UNTIL_CLOSE,	/* Responses only */
};

enum http_method {
	HTTP_METHOD_OTHER, HTTP_METHOD_GET, HTTP_METHOD_HEAD,
	HTTP_METHOD_OPTIONS, HTTP_METHOD_CONNECT,
};

/**
 * struct http_request - A request that can be read in one way only
 * @kind:	The methods that we treat specially; @method has the text
 * @method:	As received: a token
 * @target:	Path and query as received, or "*"; may be empty, or start with
 *		"?": the writer adds what is missing; for CONNECT empty
 * @host:	The destination, with its port: decide on this
 * @vhost:	What the origin's Host will be. The same as @host, except on a
 *		connection captured by address, where a client may know a name
 *		for it: where host_is_same() says no, decide on this one too
 * @minor:	HTTP/1.@minor, 0 or 1
 * @framing:	How the body is delimited
 * @length:	For HTTP_BODY_LENGTH
 * @keep_alive:	The client may send another request on this connection
 * @websocket:	Asks for an upgrade to a WebSocket; other upgrades are dropped
 * @expects:	"Expect: 100-continue": the client waits for our 100, and
 *		the origin does not get it
 * @headers:	All of them, as received
 */
struct http_request {
	enum http_method kind;
	struct http_span method, target;
	struct host host, vhost;
	unsigned int minor;
	enum http_framing framing;
	uint64_t length;
	bool keep_alive, websocket, expects;
	struct http_headers headers;
};

/* Parse a whole head, @n as returned by http_head_scan(). On a proxy port
 * @captured is NULL: absolute-form with "http" or CONNECT. On a captured
 * connection it is the connection's host and port: origin-form, "*", or an
 * absolute-form that names @captured. Host must name the destination; its
 * port, where it has one, must be the same too. Spans point into @p.
 * 0, or an error with *@why (a literal) and *@ret untouched; but of what is well
 * formed and names another host, -EACCES, and both hosts are in *@ret; and of one
 * that is to be made in TLS by us, -EPROTONOSUPPORT, and they are the same.
 */
int http_request_parse(const char *p, size_t n, const struct host *captured,
		       struct http_request *ret, const char **why);

/* Append the request as the origin gets it: our Host and framing, no
 * hop-by-hop headers nor those that Connection names. @to_proxy: as a parent
 * proxy gets it, with the target in absolute-form. @authorization is the value
 * of Proxy-Authorization, or NULL. Not for CONNECT.
 */
void http_request_write(const struct http_request *request, bool to_proxy,
			const char *authorization, struct buf *out);

/* Append a CONNECT for @host to a parent proxy; @authorization is the value
 * of Proxy-Authorization, or NULL
 */
void http_connect_write(const struct host *host, const char *authorization,
			struct buf *out);

/**
 * struct http_response - A response that can be read in one way only
 * @status:	100 to 599
 * @reason:	Phrase of the status line; may be empty
 * @declared:	How the headers say that a body would be delimited
 * @framing:	How it is, the request taken into account
 * @length:	For HTTP_BODY_LENGTH
 * @keep_alive:	The origin will take another request
 * @interim:	A 1xx: forward it, the real response follows
 * @tunnel:	From here on bytes: 101 to a WebSocket, 2xx to CONNECT
 */
struct http_response {
	int status;
	struct http_span reason;
	unsigned int minor;
	enum http_framing declared, framing;
	uint64_t length;
	bool keep_alive, interim, tunnel;
	struct http_headers headers;
};

/* As http_request_parse(), for the response to @request. -EBADMSG and
 * -EMSGSIZE are both the origin's fault: 502.
 */
int http_response_parse(const char *p, size_t n,
			const struct http_request *request,
			struct http_response *ret, const char **why);

/* Append the response as the client gets it. @close: the connection will not be
 * used again, which is also said where the body ends with the connection. An interim response is nothing to
 * an HTTP/1.0 client: nothing is appended.
 */
void http_response_write(const struct http_response *response,
			 const struct http_request *request, bool close,
			 struct buf *out);

/* The value of the first header called @name, any case; p is NULL if none */
struct http_span http_header_find(const struct http_headers *headers,
				  const char *name);

/* True of a byte that names of methods and headers are made of */
bool http_is_token_byte(unsigned char c);

/* True if @span is @text, any case */
bool http_span_is(struct http_span span, const char *text);

#endif /* GATE_PROTO_HTTP_H */
