/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/test-http-response.c - HTTP responses as clients get them */

#include <errno.h>

#include "base/buf.h"
#include "base/own.h"
#include "gate/proto/http.h"
#include "test.h"

static const struct http_request get = {
	.kind = HTTP_METHOD_GET, .minor = 1, .keep_alive = true,
};

static int parse(const char *text, const struct http_request *request,
		 struct http_response *ret)
{
	const char *why = NULL;
	const int r = http_response_parse(text, strlen(text), request, ret,
					  &why);

	CHECK_INT(r < 0, why != NULL);
	return r;
}

static enum http_framing framing(const char *text,
				 const struct http_request *request)
{
	struct http_response r;

	CHECK_INT(parse(text, request, &r), 0);
	return r.framing;
}

static const char *forwarded(const char *text,
			     const struct http_request *request, bool close)
{
	static struct buf b;
	struct http_response r;

	buf_done(&b);
	CHECK_INT(parse(text, request, &r), 0);
	http_response_write(&r, request, close, &b);
	return buf_str(&b);
}

TEST(response_framing_follows_RFC_9112)
{
	const struct http_request head = {
		.kind = HTTP_METHOD_HEAD, .minor = 1, .keep_alive = true,
	};

	CHECK_INT(framing("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", &get),
		  HTTP_BODY_LENGTH);
	CHECK_INT(framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
			  "\r\n", &get), HTTP_BODY_CHUNKED);
	CHECK_INT(framing("HTTP/1.1 200 OK\r\n\r\n", &get),
		  HTTP_BODY_UNTIL_CLOSE);
	CHECK_INT(framing("HTTP/1.0 200 OK\r\n\r\n", &get),
		  HTTP_BODY_UNTIL_CLOSE);
	CHECK_INT(framing("HTTP/1.1 204 No Content\r\n\r\n", &get),
		  HTTP_BODY_NONE);
	CHECK_INT(framing("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n"
			  "\r\n", &get), HTTP_BODY_NONE);
	CHECK_INT(framing("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n"
			  "\r\n", &get), HTTP_BODY_NONE);
	CHECK_INT(framing("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
			  &head), HTTP_BODY_NONE);
	CHECK_INT(framing("HTTP/1.1 200 OK\r\n\r\n", &head), HTTP_BODY_NONE);
}

TEST(malformed_responses_are_refused)
{
	static const char *const bad[] = {
		"", "\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 \r\n\r\n",
		"HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000\r\n\r\n",
		"HTTP/1.1 099 x\r\n\r\n", "HTTP/1.1 600 x\r\n\r\n",
		"HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
		"HTTP/1.1 200OK\r\n\r\n", "HTTP/1.1 1:0 x\r\n\r\n",
		"HTTP/1.1 2/9 x\r\n\r\n", "HTTP/2 200 OK\r\n\r\n",
		"HTTP/2.0 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n",
		"http/1.1 200 OK\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
			"Transfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
			"Content-Length: 5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX : a\r\n\r\n", "HTTP/1.1 200 OK\n\n",
		"HTTP/1.1 200 O\rK\r\n\r\n", "HTTP/1.1 200 \x1b[2J\r\n\r\n",
		"HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 100 x\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct http_response r = { .status = 42 };

		if (parse(bad[i], &get, &r) != -EBADMSG)
			test_fail(__FILE__, __LINE__, "accepted: %s", bad[i]);
		CHECK_INT(r.status, 42);
	}
}

TEST(a_response_without_a_reason_phrase_is_accepted)
{
	CHECK_STR(forwarded("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", &get,
			    false),
		  "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n");
	CHECK_STR(forwarded("HTTP/1.1 599 x\r\nContent-Length: 0\r\n\r\n",
			    &get, false),
		  "HTTP/1.1 599 x\r\nContent-Length: 0\r\n\r\n");
	CHECK_STR(forwarded("HTTP/1.1 404 Not \303\251\r\n"
			    "Content-Length: 0\r\n\r\n", &get, true),
		  "HTTP/1.1 404 Not \303\251\r\nContent-Length: 0\r\n"
		  "Connection: close\r\n\r\n");
}

TEST(responses_are_forwarded_with_end_to_end_headers_and_own_framing)
{
	CHECK_STR(forwarded("HTTP/1.1 200 OK\r\nServer: x\r\n"
			    "Connection: keep-alive, X-Hop\r\nKeep-Alive: 5\r\n"
			    "X-Hop: 1\r\nProxy-Authenticate: Basic\r\n"
			    "Upgrade: h2c\r\nTrailer: x\r\n"
			    "transfer-encoding: CHUNKED\r\n"
			    "Set-Cookie: a\r\nSet-Cookie: b\r\n\r\n", &get,
			    false),
		  "HTTP/1.1 200 OK\r\nServer: x\r\nSet-Cookie: a\r\n"
		  "Set-Cookie: b\r\nTransfer-Encoding: chunked\r\n\r\n");
	CHECK_STR(forwarded("HTTP/1.0 200 OK\r\n\r\n", &get, false),
		  "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
}

TEST(the_first_response_header_is_parsed)
{
	struct http_response r;

	CHECK_INT(parse("HTTP/1.1 200 OK\r\nConnection: close\r\n"
			"Content-Length: 0\r\n\r\n", &get, &r), 0);
	CHECK(!r.keep_alive);
	CHECK_INT(parse("HTTP/1.1 200 OK\r\nConnection: a b\r\n\r\n", &get,
			&r), -EBADMSG);
	CHECK_STR(forwarded("HTTP/1.1 200 OK\r\nClose: 1\r\nZ09-z: 1\r\n"
			    "Content-Length: 0\r\n\r\n", &get, false),
		  "HTTP/1.1 200 OK\r\nZ09-z: 1\r\nContent-Length: 0\r\n\r\n");
}

TEST(HEAD_and_304_keep_their_content_length)
{
	const struct http_request head = {
		.kind = HTTP_METHOD_HEAD, .minor = 1, .keep_alive = true,
	};

	CHECK_STR(forwarded("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
			    &head, false),
		  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
	CHECK_STR(forwarded("HTTP/1.1 204 x\r\nContent-Length: 0\r\n\r\n",
			    &get, false), "HTTP/1.1 204 x\r\n\r\n");
}

TEST(an_http_1_0_client_gets_no_chunks)
{
	const struct http_request old = { .kind = HTTP_METHOD_GET };
	struct http_response r;
	auto_buf struct buf b = { 0 };

	CHECK_INT(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
			&old, &r), -EBADMSG);
	CHECK_INT(parse("HTTP/1.1 100 Continue\r\n\r\n", &old, &r), 0);
	http_response_write(&r, &old, false, &b);
	CHECK_INT(b.len, 0);
	CHECK_STR(forwarded("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
			    &old, false),
		  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
		  "Connection: close\r\n\r\n");
}

TEST(interim_responses_are_forwarded_before_the_final_one)
{
	struct http_response r;

	CHECK_INT(parse("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", &get,
			&r), 0);
	CHECK(r.interim && !r.tunnel);
	CHECK_STR(forwarded("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n",
			    &get, true),
		  "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
}

TEST(a_response_opens_a_tunnel_only_for_connect_or_upgrade)
{
	const struct http_request ws = {
		.kind = HTTP_METHOD_GET, .minor = 1, .websocket = true,
	};
	const struct http_request connect = {
		.kind = HTTP_METHOD_CONNECT, .minor = 1,
	};
	struct http_response r;

	CHECK_INT(parse("HTTP/1.1 101 Switching\r\nUpgrade: WebSocket\r\n"
			"Connection: upgrade\r\n\r\n", &ws, &r), 0);
	CHECK(r.tunnel && !r.interim && !r.keep_alive);
	CHECK_STR(forwarded("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n"
			    "Connection: upgrade\r\n\r\n", &ws, false),
		  "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n"
		  "Upgrade: websocket\r\n\r\n");
	CHECK_INT(parse("HTTP/1.1 101 x\r\nUpgrade: h2c\r\n\r\n", &ws, &r),
		  -EBADMSG);
	CHECK_INT(parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &ws,
			&r), 0);
	CHECK(!r.tunnel);
	CHECK_INT(parse("HTTP/1.0 200 Connection established\r\n\r\n", &connect,
			&r), 0);
	CHECK(r.tunnel && r.framing == HTTP_BODY_NONE);
	CHECK_INT(parse("HTTP/1.1 407 x\r\nContent-Length: 9\r\n\r\n", &connect,
			&r), 0);
	CHECK(!r.tunnel && r.framing == HTTP_BODY_LENGTH);
}

TEST(keep_alive_is_read_from_the_response)
{
	struct http_response r;

	CHECK_INT(parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &get,
			&r), 0);
	CHECK(r.keep_alive);
	CHECK_INT(parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
			"Connection: close\r\n\r\n", &get, &r), 0);
	CHECK(!r.keep_alive);
	CHECK_INT(parse("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", &get,
			&r), 0);
	CHECK(!r.keep_alive);
	CHECK_INT(parse("HTTP/1.1 200 OK\r\n\r\n", &get, &r), 0);
	CHECK(!r.keep_alive);
}
