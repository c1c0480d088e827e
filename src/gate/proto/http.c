/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate/proto/http.c - HTTP/1.x heads: strict in, canonical out
 *
 * Theory of operation: two parsers that disagree on where a message ends can
 * be made to disagree on what is asked for. So whatever RFC 9112 lets a lenient
 * parser repair is refused here: bare CR and LF, folded lines, blanks before a
 * colon, two lengths, a length and a coding, unknown codings. What is left has
 * one reading, and is written anew for the other side anyway.
 */

#include "gate/proto/http.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/own.h"

enum {
	PORT_HTTP = 80, PORT_HTTPS = 443,
	LENGTH_DIGITS_MAX = 18,	/* Fits in 63 bits */
	STATUS_SWITCHING = 101, STATUS_NO_CONTENT = 204,
	STATUS_NOT_MODIFIED = 304,
	VERSION_LEN = 8,	/* "HTTP/1.1" */
	STATUS_END = 12,	/* "HTTP/1.1 200" */
};

static struct http_span http_span(const char *p, size_t n)
{
	return (struct http_span){ p, n };
}

/* Say why a message can't be forwarded, and return @code */
static int refuse_as(int code, const char **why, const char *reason)
{
	if (why)
		*why = reason;
	return code;
}

static int malformed(const char **why, const char *reason)
{
	return refuse_as(-EBADMSG, why, reason);
}

/* The byte at scan->at ends a line: 0, or the head's length if it was the
 * blank one, or an error
 */
static ssize_t scan_line_end(struct http_scan *scan, const char *p)
{
	const size_t end = scan->at + 1;

	if (scan->at == scan->line || p[scan->at - 1] != '\r')
		return -EBADMSG;
	if (scan->at - 1 == scan->line)		/* The blank line */
		return scan->lines ? (ssize_t)end : -EBADMSG;
	if (scan->lines++ > HTTP_HEADERS_MAX)
		return -EMSGSIZE;
	scan->line = end;
	return 0;
}

ssize_t http_head_scan(struct http_scan *scan, const char *p, size_t n)
{
	const size_t max = scan->max ? scan->max : HTTP_HEAD_MAX;

	for (; scan->at < n; scan->at++) {
		const unsigned char c = (unsigned char)p[scan->at];
		const bool after_cr = scan->at > scan->line &&
				      p[scan->at - 1] == '\r';

		if (scan->at >= max)
			return -EMSGSIZE;
		if (c == '\n') {
			const ssize_t r = scan_line_end(scan, p);

			if (r)
				return r;
			continue;
		}
		if (after_cr || c == 0x7f ||
		    (c < 0x20 && c != '\t' && c != '\r'))
			return -EBADMSG;
		if (!scan->lines && c != '\r' && scan->at >= HTTP_LINE_MAX)
			return -EMSGSIZE;
	}
	return n < max ? 0 : -EMSGSIZE;
}

bool http_is_token_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool http_is_token(struct http_span span)
{
	for (size_t i = 0; i < span.n; i++) {
		if (!http_is_token_byte((unsigned char)span.p[i]))
			return false;
	}
	return span.n > 0;
}

static struct http_span trim(struct http_span s)
{
	while (s.n && (*s.p == ' ' || *s.p == '\t')) {
		s.p++;
		s.n--;
	}
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

bool http_span_is(struct http_span span, const char *text)
{
	return span.n == strlen(text) && !strncasecmp(span.p, text, span.n);
}

static bool span_same(struct http_span a, struct http_span b)
{
	return a.n == b.n && !strncasecmp(a.p, b.p, a.n);
}

static int field_parse(struct http_span line, struct http_header *ret,
		       const char **why)
{
	const char *colon = memchr(line.p, ':', line.n);

	if (*line.p == ' ' || *line.p == '\t')
		return malformed(why, "a header line is folded");
	if (!colon)
		return malformed(why, "a header line has no colon");
	ret->name = http_span(line.p, (size_t)(colon - line.p));
	if (!http_is_token(ret->name))
		return malformed(why, "a header name is malformed");
	ret->value = trim(http_span(colon + 1,
				    line.n - ret->name.n - 1));
	return 0;
}

/* "HTTP/1.0" or "HTTP/1.1", @n bytes; -EBADMSG for anything else */
static int http_version_parse(const char *p, size_t n, unsigned int *minor)
{
	if (n != 8 || memcmp(p, "HTTP/1.", 7) != 0 ||
	    (p[7] != '0' && p[7] != '1'))
		return -EBADMSG;
	*minor = (unsigned int)(p[7] - '0');
	return 0;
}

struct http_span http_header_find(const struct http_headers *headers,
				  const char *name)
{
	for (size_t i = 0; i < headers->len; i++) {
		if (http_span_is(headers->v[i].name, name))
			return headers->v[i].value;
	}
	return http_span(NULL, 0);
}

static size_t header_count(const struct http_headers *headers,
			   const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < headers->len; i++)
		count += http_span_is(headers->v[i].name, name);
	return count;
}

/* True if there is one header @name and its value is @value, any case */
static bool http_header_is(const struct http_headers *headers, const char *name,
			   const char *value)
{
	return header_count(headers, name) == 1 &&
	       http_span_is(http_header_find(headers, name), value);
}

/* The next element of a comma-separated list, which is moved past it */
static struct http_span list_next(struct http_span *list)
{
	const char *comma = memchr(list->p, ',', list->n);
	const size_t n = comma ? (size_t)(comma - list->p) : list->n;
	const struct http_span element = http_span(list->p, n);

	*list = http_span(list->p + n + (comma ? 1 : 0),
			  list->n - n - (comma ? 1 : 0));
	return trim(element);
}

/* True if a Connection header names @token, any case */
static bool http_connection_has(const struct http_headers *headers,
				struct http_span token)
{
	for (size_t i = 0; i < headers->len; i++) {
		struct http_span list = headers->v[i].value;

		if (!http_span_is(headers->v[i].name, "connection"))
			continue;
		while (list.n) {
			if (span_same(list_next(&list), token))
				return true;
		}
	}
	return false;
}

/* Every header is compared with every name in Connection: keep them few */
static int check_connection(const struct http_headers *headers,
			    const char **why)
{
	unsigned int count = 0;

	for (size_t i = 0; i < headers->len; i++) {
		struct http_span list = headers->v[i].value;

		if (!http_span_is(headers->v[i].name, "connection"))
			continue;
		while (list.n) {
			if (!http_is_token(list_next(&list)) ||
			    ++count > HTTP_CONNECTION_MAX)
				return malformed(why, "the Connection header is malformed");
		}
	}
	return 0;
}

/* Split a whole head into its first line and its headers. 0, -EBADMSG or
 * -EMSGSIZE with *@why.
 */
static int http_head_parse(const char *p, size_t n, struct http_span *line,
			   struct http_headers *ret, const char **why)
{
	/* The caller has found its end, and so decided how long it may be */
	struct http_scan scan = { .max = HTTP_HEAD_LONG_MAX };
	const ssize_t len = http_head_scan(&scan, p, n);
	const char *end, *eol;

	if (len == -EMSGSIZE)
		return refuse_as(-EMSGSIZE, why, "the head is too large");
	if (len <= 0 || (size_t)len != n)
		return malformed(why, "the head is malformed");

	/* Every line ends in CRLF, and no CR is elsewhere */
	end = p + n - 2;
	eol = memchr(p, '\r', n);
	*line = http_span(p, (size_t)(eol - p));
	ret->len = 0;
	for (p = eol + 2; p < end; p = eol + 2) {
		int r;

		eol = memchr(p, '\r', (size_t)(end - p));
		r = field_parse(http_span(p, (size_t)(eol - p)),
				&ret->v[ret->len], why);
		if (r < 0)
			return r;
		ret->len++;
	}
	return check_connection(ret, why);
}

/* Plain decimal without leading zeros; other forms that servers accept ("+5", "0x5",
 * "5,5", "05") are refused
 */
static int length_parse(struct http_span s, uint64_t *ret)
{
	uint64_t value = 0;

	if (!s.n || s.n > LENGTH_DIGITS_MAX || (s.n > 1 && *s.p == '0'))
		return -EBADMSG;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -EBADMSG;
		value = value * 10 + (uint64_t)(s.p[i] - '0');
	}
	*ret = value;
	return 0;
}

/* What Content-Length and Transfer-Encoding say: at most one of them, once.
 * HTTP_BODY_NONE if there is neither.
 */
static int http_framing_parse(const struct http_headers *headers,
			      unsigned int minor, enum http_framing *ret,
			      uint64_t *length, const char **why)
{
	const size_t lengths = header_count(headers, "content-length");
	const size_t codings = header_count(headers, "transfer-encoding");

	*ret = HTTP_BODY_NONE;
	*length = 0;
	if (lengths + codings > 1)
		return malformed(why, "the body's length is given twice");
	if (codings) {
		if (!minor || !http_header_is(headers, "transfer-encoding",
					      "chunked"))
			return malformed(why, "the transfer coding is not plain chunked");
		*ret = HTTP_BODY_CHUNKED;
	}
	if (lengths) {
		if (length_parse(http_header_find(headers, "content-length"),
				 length) < 0)
			return malformed(why, "the body's length is malformed");
		*ret = HTTP_BODY_LENGTH;
	}
	return 0;
}

static const struct {
	const char *name;
	enum http_method kind;
} methods[] = {
	{ "GET", HTTP_METHOD_GET },
	{ "HEAD", HTTP_METHOD_HEAD },
	{ "OPTIONS", HTTP_METHOD_OPTIONS },
	{ "CONNECT", HTTP_METHOD_CONNECT },
};

/* These echo a request, credentials and all, to its sender */
static const char *const refused_methods[] = { "TRACE", "TRACK" };

static bool span_equals(struct http_span s, const char *text)
{
	return s.n == strlen(text) && !memcmp(s.p, text, s.n);
}

static int method_parse(struct http_span method, enum http_method *ret,
			const char **why)
{
	*ret = HTTP_METHOD_OTHER;
	if (!http_is_token(method))
		return malformed(why, "the method is malformed");
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (span_equals(method, methods[i].name))
			*ret = methods[i].kind;
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused_methods); i++) {
		if (span_equals(method, refused_methods[i]))
			return refuse_as(-EOPNOTSUPP, why,
					   "the method is not forwarded");
	}
	return 0;
}

/* METHOD SP target SP HTTP/1.x, one blank each */
static int request_line_parse(struct http_span line, struct http_request *ret,
			      const char **why)
{
	const char *const end = line.p + line.n;
	const char *a = memchr(line.p, ' ', line.n);
	const char *b = a ? memchr(a + 1, ' ', (size_t)(end - a - 1)) : NULL;

	if (!b)
		return malformed(why, "the request line is malformed");
	ret->method = http_span(line.p, (size_t)(a - line.p));
	ret->target = http_span(a + 1, (size_t)(b - a - 1));
	if (http_version_parse(b + 1, (size_t)(end - b - 1), &ret->minor) < 0)
		return malformed(why, "the version is not HTTP/1.0 or HTTP/1.1");
	if (!ret->target.n || memchr(ret->target.p, '#', ret->target.n) ||
	    memchr(ret->target.p, '\t', ret->target.n))
		return malformed(why, "the request target is malformed");
	return method_parse(ret->method, &ret->kind, why);
}

/* Cut @scheme off, if @span has it and more */
static bool skip_scheme(struct http_span *span, const char *scheme)
{
	const size_t n = strlen(scheme);

	if (span->n <= n || memcmp(span->p, scheme, n) != 0)
		return false;
	*span = http_span(span->p + n, span->n - n);
	return true;
}

/* http://authority[path]: cut it into ret->host and ret->target */
static int absolute_parse(struct http_request *ret, const char **why)
{
	struct http_span t = ret->target;
	const bool tls = skip_scheme(&t, "https://");
	size_t n = 0;

	if (!tls && !skip_scheme(&t, "http://"))
		return malformed(why, "the request target is not an http:// address");
	while (n < t.n && t.p[n] != '/' && t.p[n] != '?')
		n++;
	if (host_parse_authority(t.p, n, tls ? PORT_HTTPS : PORT_HTTP,
				 &ret->host) < 0)
		return malformed(why, "the request target's host is malformed");
	ret->vhost = ret->host;
	if (tls)	/* As old versions of axios want it */
		return refuse_as(-EPROTONOSUPPORT, why,
				   "the proxy speaks no TLS for a program, which must CONNECT or use none (NO_PROXY=*)");
	ret->target = http_span(t.p + n, t.n - n);
	return 0;
}

static int target_parse(struct http_request *ret, const struct host *captured,
			const char **why)
{
	const struct http_span t = ret->target;
	int r;

	if (ret->kind == HTTP_METHOD_CONNECT) {
		if (captured)
			return malformed(why, "CONNECT is for the proxy port");
		if (host_parse_authority(t.p, t.n, 0, &ret->host) < 0)
			return malformed(why, "CONNECT needs a host and a port");
		ret->target = http_span(t.p + t.n, 0);
		return 0;
	}
	if (captured && (*t.p == '/' || (ret->kind == HTTP_METHOD_OPTIONS &&
					 span_equals(t, "*")))) {
		ret->host = *captured;
		return 0;
	}
	r = absolute_parse(ret, why);
	if (r < 0)
		return r;
	if (captured && (!host_is_same(&ret->host, captured) ||
			 ret->host.port != captured->port)) {
		ret->vhost = ret->host;
		ret->host = *captured;
		return refuse_as(-EACCES, why,
				   "the request is for another host than the connection");
	}
	return 0;
}

/* Host names the destination, once; its port may be left out. A connection to
 * an address may have a name for it.
 */
static int check_host(struct http_request *ret, const struct host *captured,
		      const char **why)
{
	const bool by_address = captured && captured->kind != HOST_NAME;
	const struct http_span value = http_header_find(&ret->headers, "host");
	const size_t count = header_count(&ret->headers, "host");
	struct host h;

	ret->vhost = ret->host;
	if (count > 1)
		return malformed(why, "there are two Host headers");
	if (!count) {
		/* Old tools CONNECT without one, and nothing depends on it */
		if (ret->minor && ret->kind != HTTP_METHOD_CONNECT)
			return malformed(why, "there is no Host header");
		return 0;
	}
	if (host_parse_authority(value.p, value.n, ret->host.port, &h) < 0)
		return malformed(why, "the Host header is malformed");
	ret->vhost = h;
	if (h.port != ret->host.port ||
	    (!by_address && !host_is_same(&h, &ret->host)))
		return refuse_as(-EACCES, why,
				   "the Host header names another host");
	return 0;
}

static void read_options(struct http_request *ret)
{
	const struct http_headers *h = &ret->headers;

	/* HTTP/1.0 persistence was never specified well enough to rely on */
	ret->keep_alive = ret->minor &&
			  !http_connection_has(h, http_span("close", 5));
	ret->websocket = ret->minor && ret->kind == HTTP_METHOD_GET &&
			 ret->framing == HTTP_BODY_NONE &&
			 http_header_is(h, "upgrade", "websocket") &&
			 http_connection_has(h, http_span("upgrade", 7));
	ret->expects = ret->minor &&
		       http_header_is(h, "expect", "100-continue");
}

int http_request_parse(const char *p, size_t n, const struct host *captured,
		       struct http_request *ret, const char **why)
{
	struct http_request q = { 0 };
	struct http_span line;
	int r;

	r = http_head_parse(p, n, &line, &q.headers, why);
	if (!r)
		r = request_line_parse(line, &q, why);
	if (!r)
		r = target_parse(&q, captured, why);
	if (!r)
		r = check_host(&q, captured, why);
	if (!r)
		r = http_framing_parse(&q.headers, q.minor, &q.framing,
				       &q.length, why);
	/* What follows a CONNECT is the tunnel's */
	if (!r && q.kind == HTTP_METHOD_CONNECT &&
	    (q.framing == HTTP_BODY_CHUNKED || q.length))
		r = malformed(why, "a CONNECT has no body");
	if (r == -EACCES || r == -EPROTONOSUPPORT) {
		ret->host = q.host;
		ret->vhost = q.vhost;
	}
	if (r < 0)
		return r;
	read_options(&q);
	*ret = q;
	return 0;
}

/* HTTP/1.x SP 3 digits, and perhaps SP and a reason phrase */
static int status_line_parse(struct http_span line, struct http_response *ret,
			     const char **why)
{
	const char *p = line.p;
	int status = 0;

	if (line.n < STATUS_END || p[VERSION_LEN] != ' ' ||
	    http_version_parse(p, VERSION_LEN, &ret->minor) < 0)
		return malformed(why, "the status line is malformed");
	for (size_t i = VERSION_LEN + 1; i < STATUS_END; i++) {
		if (p[i] < '0' || p[i] > '9')
			return malformed(why, "the status is not a number");
		status = status * 10 + (p[i] - '0');
	}
	if (status < 100 || status > 599 ||
	    (line.n > STATUS_END && p[STATUS_END] != ' '))
		return malformed(why, "the status is malformed");
	ret->status = status;
	ret->reason = line.n > STATUS_END ?
		http_span(p + STATUS_END + 1, line.n - STATUS_END - 1) :
		http_span(p + STATUS_END, 0);
	return 0;
}

/* RFC 9112 6.3: status and method come before what the headers declare */
static int decide_framing(struct http_response *r,
			  const struct http_request *request, const char **why)
{
	r->framing = HTTP_BODY_NONE;
	r->interim = r->status < 200 && r->status != STATUS_SWITCHING;
	r->tunnel = r->status == STATUS_SWITCHING ||
		    (request->kind == HTTP_METHOD_CONNECT &&
		     r->status / 100 == 2);

	if (r->status == STATUS_SWITCHING &&
	    (!request->websocket ||
	     !http_header_is(&r->headers, "upgrade", "websocket")))
		return malformed(why, "the protocol was switched without a request");
	if ((r->status < 200 || r->status == STATUS_NO_CONTENT) &&
	    (r->declared == HTTP_BODY_CHUNKED || r->length))
		return malformed(why, "a response that has no body declares one");
	if (r->status < 200 || r->tunnel || r->status == STATUS_NO_CONTENT) {
		r->declared = HTTP_BODY_NONE;
		r->length = 0;
		return 0;
	}
	if (r->status == STATUS_NOT_MODIFIED ||
	    request->kind == HTTP_METHOD_HEAD)
		return 0;
	r->framing = r->declared == HTTP_BODY_NONE ? HTTP_BODY_UNTIL_CLOSE
						   : r->declared;
	return 0;
}

int http_response_parse(const char *p, size_t n,
			const struct http_request *request,
			struct http_response *ret, const char **why)
{
	struct http_response q = { 0 };
	struct http_span line;
	int r;

	r = http_head_parse(p, n, &line, &q.headers, why);
	if (!r)
		r = status_line_parse(line, &q, why);
	/* An HTTP/1.0 client can't read chunks, and was not to get any */
	if (!r)
		r = http_framing_parse(&q.headers, q.minor && request->minor,
				       &q.declared, &q.length, why);
	if (!r)
		r = decide_framing(&q, request, why);
	if (r < 0)
		return r;
	q.keep_alive = q.minor && q.framing != HTTP_BODY_UNTIL_CLOSE &&
		       !q.tunnel &&
		       !http_connection_has(&q.headers, http_span("close", 5));
	*ret = q;
	return 0;
}

/* Headers between two neighbours, which are never passed on, as are those that
 * Connection names; and those that the gate writes itself
 */
static const char *const dropped[] = {
	"close",	/* Our own Connection may name it */
	"connection", "content-length",
	"expect",	/* The gate sends the 100 itself */
	"host", "http2-settings", "keep-alive", "proxy-authenticate",
	"proxy-authentication-info", "proxy-authorization", "proxy-connection",
	"te", "trailer", "transfer-encoding", "upgrade",
	/* An origin may believe what a proxy says of a client */
	"forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port",
	"x-forwarded-proto", "x-real-ip",
};

static void add_span(struct buf *out, struct http_span s)
{
	buf_add(out, s.p, s.n);
}

static bool is_dropped(const struct http_headers *headers,
		       struct http_span name)
{
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++) {
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

static void add_authorization(const char *value, struct buf *out)
{
	if (value)
		buf_addf(out, "Proxy-Authorization: %s\r\n", value);
}

void http_request_write(const struct http_request *request, bool to_proxy,
			const char *authorization, struct buf *out)
{
	add_span(out, request->method);
	buf_addc(out, ' ');
	add_target(request, to_proxy, out);
	buf_adds(out, request->minor ? " HTTP/1.1\r\nHost: "
				     : " HTTP/1.0\r\nHost: ");
	host_format(&request->vhost, PORT_HTTP, out);
	buf_adds(out, "\r\n");
	add_authorization(authorization, out);
	add_headers(&request->headers, out);
	add_framing(request->framing, request->length, out);
	add_connection(request->websocket && !to_proxy, false, out);
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
