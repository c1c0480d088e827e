/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/test-http-request.c - HTTP requests and their destination */

#include <errno.h>

#include "base/buf.h"
#include "base/own.h"
#include "gate/proto/http.h"
#include "test.h"

static int parse(const char *text, const struct host *captured,
		 struct http_request *ret)
{
	const char *why = NULL;
	const int r = http_request_parse(text, strlen(text), captured, ret,
					 &why);

	CHECK_INT(r < 0, why != NULL);
	return r;
}

static struct host host(const char *text)
{
	struct host h;

	CHECK_INT(host_parse_authority(text, strlen(text), 80, &h), 0);
	return h;
}

static void check_refused(const char *text, const struct host *captured,
			  int want)
{
	struct http_request q = { .minor = 42 };

	if (parse(text, captured, &q) != want)
		test_fail(__FILE__, __LINE__, "accepted: %s", text);
	CHECK_INT(q.minor, 42);
}

/* As the origin gets it, or "" if it is refused */
static const char *forwarded(const char *text, const struct host *captured)
{
	static struct buf b;
	struct http_request q;

	buf_done(&b);
	if (!parse(text, captured, &q))
		http_request_write(&q, false, NULL, &b);
	return buf_str(&b);
}

TEST(an_absolute_form_names_the_destination)
{
	struct http_request q;

	CHECK_INT(parse("GET http://A.Test:8080/x?y=1 HTTP/1.1\r\n"
			"Host: a.test:8080\r\n\r\n", NULL, &q), 0);
	CHECK_STR(q.host.name, "a.test");
	CHECK_INT(q.host.port, 8080);
	CHECK_INT(q.kind, HTTP_METHOD_GET);
	CHECK(q.keep_alive && !q.websocket && !q.expects);
	CHECK_STR(forwarded("GET http://A.Test:8080/x?y=1 HTTP/1.1\r\n"
			    "Host: a.test:8080\r\nAccept: */*\r\n\r\n", NULL),
		  "GET /x?y=1 HTTP/1.1\r\nHost: a.test:8080\r\n"
		  "Accept: */*\r\n\r\n");
	CHECK_STR(forwarded("GET http://a.test HTTP/1.1\r\nHost: A.TEST.\r\n"
			    "\r\n", NULL),
		  "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
	CHECK_STR(forwarded("GET http://a.test?q HTTP/1.1\r\nHost: a.test:80"
			    "\r\n\r\n", NULL),
		  "GET /?q HTTP/1.1\r\nHost: a.test\r\n\r\n");
	CHECK_STR(forwarded("OPTIONS http://a.test HTTP/1.1\r\nHost: a.test"
			    "\r\n\r\n", NULL),
		  "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n");
	CHECK_STR(forwarded("OPTIONS http://a.test/ HTTP/1.1\r\nHost: a.test"
			    "\r\n\r\n", NULL),
		  "OPTIONS / HTTP/1.1\r\nHost: a.test\r\n\r\n");
	CHECK_STR(forwarded("GET http://[::1]:81/ HTTP/1.1\r\nHost: [::1]:81"
			    "\r\n\r\n", NULL),
		  "GET / HTTP/1.1\r\nHost: [::1]:81\r\n\r\n");
	CHECK_STR(forwarded("GET http://a.test/ HTTP/1.0\r\n\r\n", NULL),
		  "GET / HTTP/1.0\r\nHost: a.test\r\n\r\n");
}

/* P151, P153, P155: targets that mean different hosts to different readers */
TEST(ambiguous_request_targets_are_refused)
{
	static const char *const targets[] = {
		"/", "*", "a.test", "a.test:80", "http:a.test", "http:/a.test/",
		"http:///a.test/", "http://", "http:///", "//a.test/",
		"https://", "https://a.test@b.test/", "HTTPS://a.test/",
		"HTTP://a.test/", "Http://a.test/",
		"ftp://a.test/", "file:///etc/passwd", "gopher://a.test/",
		"ws://a.test/", "http//a.test/", "http://a.test@b.test/",
		"http://a.test:80@b.test/", "http://u:p@a.test/",
		"http://b.test#@a.test/", "http://b.test/#a.test",
		"http://b.test\\@a.test/", "http://a.test\\b.test/",
		"http://a.test\\/", "http://a.test%00.b.test/",
		"http://a%2etest/", "http://a.test:/", "http://a.test:0/",
		"http://a.test:65536/", "http://a.test:4294967376/",
		"http://a.test:+80/", "http://a.test:080/", "http://a.test:80x/",
		"http://a.test,b.test/", "http://a.test;b.test/", "http://a..test/",
		"http://.a.test/", "http://127.1/", "http://2130706433/",
		"http://0x7f.1/", "http://0177.0.0.1/", "http://::1/",
		"http://[::1/", "http://[::1%25lo]/", "http://[a.test]/",
		"http://caf\303\251.test/", "http://127\343\200\202" "0.0.1/",
		"http://a.test\t/", "http://\ta.test/", "http://*/",
		"http://*.a.test/", "http://a.test|b/", "http://a_b.test:x/",
	};

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		auto_buf struct buf b = { 0 };

		buf_addf(&b, "GET %s HTTP/1.0\r\n\r\n", targets[i]);
		check_refused(buf_str(&b), NULL, -EBADMSG);
	}
}

TEST(an_https_target_without_connect_is_refused_by_name)
{
	struct http_request q = { 0 };
	static const char head[] =
		"GET https://a.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n";
	const char *why = NULL;

	CHECK_INT(http_request_parse(head, sizeof(head) - 1, NULL, &q, &why),
		  -EPROTONOSUPPORT);
	CHECK_STR(q.host.name, "a.test");
	CHECK_INT(q.host.port, 443);
	CHECK(host_is_same(&q.host, &q.vhost));
	CHECK_CONTAINS(why, "CONNECT");
}

TEST(every_invalid_byte_in_a_target_host_is_refused)
{
	static const char plain[] =
		"GET http://evil.test.allowed.test/ HTTP/1.0\r\n\r\n";
	static const char connect[] =
		"CONNECT evil.test.allowed.test:443 HTTP/1.0\r\n\r\n";
	struct http_request q;
	const char *why;

	CHECK_INT(parse(plain, NULL, &q), 0);
	CHECK_INT(parse(connect, NULL, &q), 0);
	for (unsigned int byte = 0; byte < 256; byte++) {
		char a[sizeof(plain)], b[sizeof(connect)];

		if (byte == '/' || byte == '?' || byte == ':' ||
		    byte == '-' || byte == '_' || byte == '.' ||
		    (byte >= '0' && byte <= '9') ||
		    (byte >= 'a' && byte <= 'z') ||
		    (byte >= 'A' && byte <= 'Z'))
			continue;
		memcpy(a, plain, sizeof(a));
		memcpy(b, connect, sizeof(b));
		a[20] = b[17] = (char)byte;
		CHECK_INT(http_request_parse(a, sizeof(a) - 1, NULL, &q, &why),
			  -EBADMSG);
		CHECK_INT(http_request_parse(b, sizeof(b) - 1, NULL, &q, &why),
			  -EBADMSG);
	}
}

TEST(malformed_request_lines_are_refused)
{
	static const char *const bad[] = {
		"GET http://a.test/\r\n\r\n", "GET\r\n\r\n",
		" GET http://a.test/ HTTP/1.0\r\n\r\n",
		"GET  http://a.test/ HTTP/1.0\r\n\r\n",
		"GET http://a.test/  HTTP/1.0\r\n\r\n",
		"GET http://a.test/ HTTP/1.0 \r\n\r\n",
		"GET\thttp://a.test/ HTTP/1.0\r\n\r\n",
		"GET http://a.test/\tHTTP/1.0\r\n\r\n",
		"GET http://a.test/ b HTTP/1.0\r\n\r\n",
		"GET http://a.test/ HTTP/0.9\r\n\r\n",
		"GET http://a.test/ HTTP/1.2\r\n\r\n",
		"GET http://a.test/ HTTP/2.0\r\n\r\n",
		"GET http://a.test/ http/1.0\r\n\r\n",
		"GET http://a.test/ HTTP/1.1.\r\n\r\n",
		"GET http://a.test/ HTTP/01.0\r\n\r\n",
		"GET http://a.test/ HTTPS/1.0\r\n\r\n",
		"G(T http://a.test/ HTTP/1.0\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\n",
		"\026\003\001 http://a.test/ HTTP/1.0\r\n\r\n",
		"GET http://a.test/ HTTP/1.0\r\n",
		"GET http://a.test/ HTTP/1.0\r\n\r\nmore",
		"connect a.test:443 HTTP/1.0\r\n\r\n",
		"", "\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check_refused(bad[i], NULL, -EBADMSG);
	check_refused("TRACE http://a.test/ HTTP/1.0\r\n\r\n", NULL,
		      -EOPNOTSUPP);
	check_refused("TRACK http://a.test/ HTTP/1.0\r\n\r\n", NULL,
		      -EOPNOTSUPP);
	CHECK_CONTAINS(forwarded("PROPFIND http://a.test/ HTTP/1.0\r\n\r\n",
				 NULL), "PROPFIND / HTTP/1.0\r\n");
}

/* P154 */
TEST(host_header_must_name_the_destination_once)
{
	static const char *const bad[] = {
		"", "Host:\r\n",
		"Host: a.test\r\nHost: a.test\r\n",
		"Host: a.test\r\nHost: b.test\r\n",
		"Host: b.test\r\nHost: a.test\r\n", "Host: a.test, b.test\r\n",
		"Host: a.test b.test\r\n", "Host: u@a.test\r\n",
		"Host: a.test:\r\n", "Host: a.test:0\r\n", "Host: a.test:080\r\n",
		"Host: a.test/\r\n", "Host: http://a.test\r\n",
		"Host: a.test%00\r\n", "Host : a.test\r\n", " Host: a.test\r\n",
		"X: y\r\n Host: a.test\r\n", "Host: a.test\r\n :b.test\r\n",
		"Host: a.test\r\nhOST: b.test\r\n", "Host: [a.test]\r\n",
	};
	static const char *const other[] = {
		"Host: b.test\r\n", "Host: a.test:81\r\n",
		"Host: a.test.evil\r\n", "Host: x.a.test\r\n",
	};
	static const char *const good[] = {
		"Host: a.test\r\n", "host:a.test:80\r\n", "HOST: A.TEST.\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_buf struct buf b = { 0 };

		buf_addf(&b, "GET http://a.test/ HTTP/1.1\r\n%s\r\n", bad[i]);
		check_refused(buf_str(&b), NULL, -EBADMSG);
	}
	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		auto_buf struct buf b = { 0 };

		buf_addf(&b, "GET http://a.test/ HTTP/1.1\r\n%s\r\n", other[i]);
		check_refused(buf_str(&b), NULL, -EACCES);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		auto_buf struct buf b = { 0 };

		buf_addf(&b, "GET http://a.test/ HTTP/1.1\r\n%s\r\n", good[i]);
		CHECK_STR(forwarded(buf_str(&b), NULL),
			  "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
	}
}

TEST(connect_requires_a_host_and_port)
{
	static const char *const bad[] = {
		"a.test", "a.test:", "a.test:0", "a.test:65536",
		"a.test:4294967739", "a.test:0443", "a.test:+443", "/", "*",
		"http://a.test/", "http://a.test:443", "u@a.test:443",
		"a.test:443/", "a.test:443?x", "a.test:443#", "::1:443",
		"[::1]", "a.test,b.test:443", "a.test:443,b.test:443",
		"127.1:443", "0x7f.1:443", "a.test:https", ":443",
		"a.test\\:443", "a.test%20:443",
	};
	struct http_request q;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_buf struct buf b = { 0 };

		buf_addf(&b, "CONNECT %s HTTP/1.0\r\n\r\n", bad[i]);
		check_refused(buf_str(&b), NULL, -EBADMSG);
	}
	CHECK_INT(parse("CONNECT A.Test.:443 HTTP/1.1\r\nHost: a.test:443\r\n"
			"Proxy-Connection: keep-alive\r\n\r\n", NULL, &q), 0);
	CHECK_INT(q.kind, HTTP_METHOD_CONNECT);
	CHECK_STR(q.host.name, "a.test");
	CHECK_INT(q.host.port, 443);
	CHECK_INT(q.framing, HTTP_BODY_NONE);
	CHECK_INT(parse("CONNECT [::1]:22 HTTP/1.1\r\n\r\n", NULL, &q), 0);
	CHECK_STR(q.host.name, "::1");
	CHECK_INT(parse("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n"
			"Content-Length: 0\r\n\r\n", NULL, &q), 0);
	check_refused("CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n",
		      NULL, -EACCES);
	check_refused("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:80\r\n\r\n",
		      NULL, -EACCES);
	check_refused("CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
		      NULL, -EBADMSG);
	check_refused("CONNECT a.test:443 HTTP/1.1\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n", NULL, -EBADMSG);
}

TEST(requests_on_a_captured_connection_must_name_its_host)
{
	const struct host a = host("a.test:80"), alt = host("a.test:8080");

	CHECK_STR(forwarded("GET /x HTTP/1.1\r\nHost: A.test\r\n\r\n", &a),
		  "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n");
	CHECK_STR(forwarded("GET /x HTTP/1.1\r\nHost: a.test:8080\r\n\r\n",
			    &alt),
		  "GET /x HTTP/1.1\r\nHost: a.test:8080\r\n\r\n");
	CHECK_STR(forwarded("GET http://a.test/x HTTP/1.1\r\nHost: a.test\r\n"
			    "\r\n", &a),
		  "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n");
	CHECK_STR(forwarded("OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n", &a),
		  "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n");
	CHECK_STR(forwarded("GET / HTTP/1.0\r\n\r\n", &a),
		  "GET / HTTP/1.0\r\nHost: a.test\r\n\r\n");
	check_refused("GET /x HTTP/1.1\r\nHost: b.test\r\n\r\n", &a, -EACCES);
	check_refused("GET /x HTTP/1.1\r\nHost: a.test:81\r\n\r\n", &a,
		      -EACCES);
	check_refused("GET /x HTTP/1.1\r\n\r\n", &a, -EBADMSG);
	check_refused("GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n", &a,
		      -EACCES);
	check_refused("GET http://a.test:81/ HTTP/1.1\r\nHost: a.test:81\r\n"
		      "\r\n", &a, -EACCES);
	check_refused("GET * HTTP/1.1\r\nHost: a.test\r\n\r\n", &a, -EBADMSG);
	check_refused("CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n", &a,
		      -EBADMSG);
}

TEST(a_captured_address_may_be_named_by_the_host_header)
{
	const struct host h = host("10.0.0.5:80");
	struct http_request q;

	CHECK_INT(parse("GET / HTTP/1.1\r\nHost: db.corp\r\n\r\n", &h, &q), 0);
	CHECK_STR(q.host.name, "10.0.0.5");
	CHECK_STR(q.vhost.name, "db.corp");
	CHECK(!host_is_same(&q.host, &q.vhost));
	CHECK_INT(parse("GET / HTTP/1.1\r\nHost: 10.0.0.5\r\n\r\n", &h, &q), 0);
	CHECK(host_is_same(&q.host, &q.vhost));
	check_refused("GET / HTTP/1.1\r\nHost: db.corp:81\r\n\r\n", &h,
		      -EACCES);
}

TEST(an_error_names_both_hosts_of_a_request)
{
	const struct host a = host("a.test:80");
	static const char *const other[] = {
		"GET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
		"GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
		"GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		struct http_request q = { 0 };

		CHECK_INT(parse(other[i], &a, &q), -EACCES);
		CHECK_STR(q.host.name, "a.test");
		CHECK_STR(q.vhost.name, "b.test");
	}
}

/* P168, P169, P191, P210 */
TEST(hop_by_hop_headers_are_not_forwarded)
{
	CHECK_STR(forwarded("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
			    "Proxy-Authorization: Basic c2VjcmV0\r\n"
			    "Proxy-Connection: keep-alive\r\nKeep-Alive: 5\r\n"
			    "TE: trailers\r\nTrailer: x\r\n"
			    "Connection: keep-alive, X-Mine, Connection\r\n"
			    "x-mine: 1\r\nX-Mine-Not: 2\r\n"
			    "Upgrade: h2c\r\nHTTP2-Settings: AAA\r\n"
			    "Expect: 100-continue\r\n"
			    "X-Forwarded-For: 127.0.0.1\r\nForwarded: for=x\r\n"
			    "Transfer-Encoding: chunked\r\nCookie: a=b\r\n\r\n",
			    NULL),
		  "POST / HTTP/1.1\r\nHost: a.test\r\nX-Mine-Not: 2\r\n"
		  "Cookie: a=b\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(only_websocket_upgrades_are_forwarded)
{
	struct http_request q;

	CHECK_STR(forwarded("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
			    "Connection: keep-alive, Upgrade\r\n"
			    "Upgrade: WebSocket\r\nSec-WebSocket-Key: x\r\n\r\n",
			    NULL),
		  "GET / HTTP/1.1\r\nHost: a.test\r\nSec-WebSocket-Key: x\r\n"
		  "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
#define UPGRADE(line, rest) \
	parse(line " HTTP/1.1\r\nHost: a.test\r\n" rest "\r\n", NULL, &q)
	CHECK_INT(UPGRADE("GET http://a.test/", "Connection: upgrade\r\n"
			  "Upgrade: websocket\r\n"), 0);
	CHECK(q.websocket);
	CHECK_INT(UPGRADE("GET http://a.test/", "Upgrade: websocket\r\n"), 0);
	CHECK(!q.websocket);
	CHECK_INT(UPGRADE("GET http://a.test/", "Connection: upgrade\r\n"
			  "Upgrade: websocket, h2c\r\n"), 0);
	CHECK(!q.websocket);
	CHECK_INT(UPGRADE("GET http://a.test/", "Connection: upgrade\r\n"
			  "Upgrade: h2c\r\nUpgrade: websocket\r\n"), 0);
	CHECK(!q.websocket);
	CHECK_INT(UPGRADE("POST http://a.test/", "Connection: upgrade\r\n"
			  "Upgrade: websocket\r\nContent-Length: 5\r\n"), 0);
	CHECK(!q.websocket);
#undef UPGRADE
}

TEST(keep_alive_and_expect_are_read_from_the_request)
{
	struct http_request q;

	CHECK_INT(parse("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
			"Connection: Close\r\nExpect: 100-continue\r\n\r\n",
			NULL, &q), 0);
	CHECK(!q.keep_alive && q.expects);
	CHECK_INT(parse("GET http://a.test/ HTTP/1.0\r\n"
			"Connection: keep-alive\r\n\r\n", NULL, &q), 0);
	CHECK(!q.keep_alive);
}

TEST(a_parent_proxy_gets_absolute_form_targets)
{
	auto_buf struct buf b = { 0 };
	struct http_request q;

	CHECK_INT(parse("GET http://a.test:81/x HTTP/1.1\r\nHost: a.test:81\r\n"
			"\r\n", NULL, &q), 0);
	http_request_write(&q, true, NULL, &b);
	CHECK_STR(buf_str(&b), "GET http://a.test:81/x HTTP/1.1\r\n"
		  "Host: a.test:81\r\n\r\n");
	buf_done(&b);
	http_request_write(&q, true, "Basic eDp5", &b);
	CHECK_STR(buf_str(&b), "GET http://a.test:81/x HTTP/1.1\r\n"
		  "Host: a.test:81\r\nProxy-Authorization: Basic eDp5\r\n\r\n");
	buf_done(&b);
	http_connect_write(&q.host, "Basic eDp5", &b);
	CHECK_STR(buf_str(&b), "CONNECT a.test:81 HTTP/1.1\r\n"
		  "Host: a.test:81\r\nProxy-Authorization: Basic eDp5\r\n\r\n");
}
