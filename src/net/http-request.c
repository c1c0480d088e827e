/* SPDX-License-Identifier: Apache-2.0 */
/* net/http-request.c - which host a request is for, and how its body ends */

#include <errno.h>
#include <string.h>

#include "net/http-parse.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

static const struct {
	const char *name;
	enum http_method kind;
} methods[] = {
	{ "GET", HTTP_METHOD_GET },
	{ "HEAD", HTTP_METHOD_HEAD },
	{ "OPTIONS", HTTP_METHOD_OPTIONS },
	{ "CONNECT", HTTP_METHOD_CONNECT },
};

/* These echo a request, credentials and all, to whoever made it */
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
		return http_refuse(why, -EBADMSG, "the method is malformed");
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		if (span_equals(method, methods[i].name))
			*ret = methods[i].kind;
	}
	for (size_t i = 0;
	     i < sizeof(refused_methods) / sizeof(*refused_methods); i++) {
		if (span_equals(method, refused_methods[i]))
			return http_refuse(why, -EOPNOTSUPP,
					   "the method is not forwarded");
	}
	return 0;
}

/* METHOD SP target SP HTTP/1.x, one blank each */
static int line_parse(struct http_span line, struct http_request *ret,
		      const char **why)
{
	const char *const end = line.p + line.n;
	const char *a = memchr(line.p, ' ', line.n);
	const char *b = a ? memchr(a + 1, ' ', (size_t)(end - a - 1)) : NULL;

	if (!b)
		return http_refuse(why, -EBADMSG,
				   "the request line is malformed");
	ret->method = http_span(line.p, (size_t)(a - line.p));
	ret->target = http_span(a + 1, (size_t)(b - a - 1));
	if (http_version_parse(b + 1, (size_t)(end - b - 1), &ret->minor) < 0)
		return http_refuse(why, -EBADMSG,
				   "the version is not HTTP/1.0 or HTTP/1.1");
	if (!ret->target.n || memchr(ret->target.p, '#', ret->target.n) ||
	    memchr(ret->target.p, '\t', ret->target.n))
		return http_refuse(why, -EBADMSG,
				   "the request target is malformed");
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
		return http_refuse(why, -EBADMSG,
				   "the request target is not an http:// address");
	while (n < t.n && t.p[n] != '/' && t.p[n] != '?')
		n++;
	if (host_parse_authority(t.p, n, tls ? PORT_HTTPS : PORT_HTTP,
				 &ret->host) < 0)
		return http_refuse(why, -EBADMSG,
				   "the request target's host is malformed");
	ret->vhost = ret->host;
	if (tls)	/* As old versions of axios want it */
		return http_refuse(why, -EPROTONOSUPPORT,
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
			return http_refuse(why, -EBADMSG,
					   "CONNECT is for the proxy port");
		if (host_parse_authority(t.p, t.n, 0, &ret->host) < 0)
			return http_refuse(why, -EBADMSG,
					   "CONNECT needs a host and a port");
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
		return http_refuse(why, -EACCES,
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
	struct http_span value = { 0 };
	struct host h;
	size_t count = 0;

	for (size_t i = 0; i < ret->headers.len; i++) {
		if (http_span_is(ret->headers.v[i].name, "host")) {
			value = ret->headers.v[i].value;
			count++;
		}
	}
	ret->vhost = ret->host;
	if (count > 1)
		return http_refuse(why, -EBADMSG, "there are two Host headers");
	if (!count) {
		/* Old tools CONNECT without one, and nothing depends on it */
		if (ret->minor && ret->kind != HTTP_METHOD_CONNECT)
			return http_refuse(why, -EBADMSG,
					   "there is no Host header");
		return 0;
	}
	if (host_parse_authority(value.p, value.n, ret->host.port, &h) < 0)
		return http_refuse(why, -EBADMSG,
				   "the Host header is malformed");
	ret->vhost = h;
	if (h.port != ret->host.port ||
	    (!by_address && !host_is_same(&h, &ret->host)))
		return http_refuse(why, -EACCES,
				   "the Host header names another host");
	return 0;
}

static int check_body(const struct http_request *ret, const char **why)
{
	/* What follows a CONNECT is the tunnel's */
	if (ret->kind == HTTP_METHOD_CONNECT &&
	    (ret->framing == HTTP_BODY_CHUNKED || ret->length))
		return http_refuse(why, -EBADMSG, "a CONNECT has no body");
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
		r = line_parse(line, &q, why);
	if (!r)
		r = target_parse(&q, captured, why);
	if (!r)
		r = check_host(&q, captured, why);
	if (!r)
		r = http_framing_parse(&q.headers, q.minor, &q.framing,
				       &q.length, why);
	if (!r)
		r = check_body(&q, why);
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
