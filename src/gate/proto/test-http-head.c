/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/test-http-head.c - HTTP heads: their end, limits and framing */

#include <errno.h>

#include "base/buf.h"
#include "base/own.h"
#include "gate/proto/http.h"
#include "test.h"

static ssize_t scan(const char *p, size_t n)
{
	struct http_scan s = { 0 };

	return http_head_scan(&s, p, n);
}

static ssize_t scan_text(const char *text)
{
	return scan(text, strlen(text));
}

TEST(a_head_ends_with_a_blank_line)
{
	CHECK_INT(scan_text(""), 0);
	CHECK_INT(scan_text("GET / HTTP/1.1"), 0);
	CHECK_INT(scan_text("GET / HTTP/1.1\r"), 0);
	CHECK_INT(scan_text("GET / HTTP/1.1\r\n"), 0);
	CHECK_INT(scan_text("GET / HTTP/1.1\r\n\r"), 0);
	CHECK_INT(scan_text("GET / HTTP/1.1\r\n\r\n"), 18);
	CHECK_INT(scan_text("GET / HTTP/1.1\r\n\r\nmore"), 18);
	CHECK_INT(scan_text("GET / HTTP/1.1\r\na: b\r\n\r\nmore\r\n\r\n"), 24);
}

TEST(line_ends_other_than_CRLF_are_refused)
{
	static const char *const bad[] = {
		"\r\n", "\n", "\r\r\n", "GET / HTTP/1.1\n", "a\rb", "a\r\r\n",
		"GET / HTTP/1.1\r\nHost: a\n\r\n", "GET / HTTP/1.1\r\n\n",
		"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", "a\r\n\r\r\n",
		"GET / HTTP/1.1\r\nHost:\va\r\n\r\n", "a\x7f", "a\x1b[2J", "\r",
	};

	/* The last is only half of a mistake */
	for (size_t i = 0; i < ARRAY_SIZE(bad) - 1; i++)
		CHECK_INT(scan_text(bad[i]), -EBADMSG);
	CHECK_INT(scan_text(bad[ARRAY_SIZE(bad) - 1]), 0);
	CHECK_INT(scan("a\0b", 3), -EBADMSG);
}

TEST(a_head_is_scanned_byte_by_byte)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
	struct http_scan s = { 0 };
	const size_t want = sizeof(text) - 1 - 4;

	for (size_t n = 0; n < want; n++)
		CHECK_INT(http_head_scan(&s, text, n), 0);
	CHECK_INT(http_head_scan(&s, text, want), want);
}

/* A head whose first line has @line bytes, with @headers headers, filled up to
 * @total bytes by the last of them
 */
static void make_head(struct buf *b, size_t line, size_t headers, size_t total)
{
	for (size_t i = 0; i < line; i++)
		buf_addc(b, 'a');
	buf_adds(b, "\r\n");
	for (size_t i = 0; i < headers; i++) {
		buf_adds(b, "x: y");
		while (i + 1 == headers && b->len + 4 < total)
			buf_addc(b, 'z');
		buf_adds(b, "\r\n");
	}
	buf_adds(b, "\r\n");
}

static ssize_t scan_made(size_t line, size_t headers, size_t total)
{
	auto_buf struct buf b = { 0 };
	ssize_t r;

	make_head(&b, line, headers, total);
	r = scan(b.p, b.len);
	return r == (ssize_t)b.len ? 1 : r;
}

TEST(head_limits_are_enforced_to_the_byte)
{
	CHECK_INT(scan_made(HTTP_LINE_MAX, 1, 0), 1);
	CHECK_INT(scan_made(HTTP_LINE_MAX + 1, 1, 0), -EMSGSIZE);
	CHECK_INT(scan_made(10, HTTP_HEADERS_MAX, 0), 1);
	CHECK_INT(scan_made(10, HTTP_HEADERS_MAX + 1, 0), -EMSGSIZE);
	CHECK_INT(scan_made(10, 2, HTTP_HEAD_MAX), 1);
	CHECK_INT(scan_made(10, 2, HTTP_HEAD_MAX + 1), -EMSGSIZE);
}

/* A head that fills a buffer of the allowed size must be refused */
TEST(a_full_buffer_without_an_end_is_too_large)
{
	auto_buf struct buf b = { 0 };

	make_head(&b, 10, 2, HTTP_HEAD_MAX + 10);
	CHECK_INT(scan(b.p, HTTP_HEAD_MAX - 1), 0);
	CHECK_INT(scan(b.p, HTTP_HEAD_MAX), -EMSGSIZE);
}

static int framing(const char *headers, struct http_request *ret)
{
	auto_buf struct buf b = { 0 };
	const char *why = NULL;
	int r;

	buf_addf(&b, "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n%s\r\n",
		 headers);
	r = http_request_parse(b.p, b.len, NULL, ret, &why);
	if (r < 0)
		CHECK(why);
	return r;
}

TEST(content_length_or_chunked_sets_the_framing)
{
	struct http_request q;

	CHECK_INT(framing("", &q), 0);
	CHECK_INT(q.framing, HTTP_BODY_NONE);
	CHECK_INT(framing("Content-Length: 0\r\n", &q), 0);
	CHECK_INT(q.framing, HTTP_BODY_LENGTH);
	CHECK_INT(q.length, 0);
	CHECK_INT(framing("content-LENGTH:\t 5 \t\r\n", &q), 0);
	CHECK_INT(q.length, 5);
	CHECK_INT(framing("Content-Length: 999999999999999999\r\n", &q), 0);
	CHECK(q.length == 999999999999999999ULL);
	CHECK_INT(framing("Transfer-Encoding: chunked\r\n", &q), 0);
	CHECK_INT(q.framing, HTTP_BODY_CHUNKED);
	CHECK_INT(framing("Transfer-Encoding:  Chunked \t\r\n", &q), 0);
	CHECK_INT(q.framing, HTTP_BODY_CHUNKED);
}

/* P167: what some parser somewhere reads in another way than its neighbour */
TEST(ambiguous_framing_is_refused)
{
	static const char *const bad[] = {
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
		"Content-Length: 5\r\nContent-Length: 5\r\n",
		"Content-Length: 5\r\nContent-Length: 6\r\n",
		"Content-Length: 5\r\ncontent-length: 5\r\n",
		"Content-Length: 5,5\r\n", "Content-Length: 5, 5\r\n",
		"Content-Length: 5;\r\n", "Content-Length: +5\r\n",
		"Content-Length: -5\r\n", "Content-Length: 0x5\r\n",
		"Content-Length: 05\r\n", "Content-Length: 5.0\r\n",
		"Content-Length: 5e1\r\n", "Content-Length: 5 5\r\n",
		"Content-Length: \"5\"\r\n", "Content-Length:\r\n",
		"Content-Length: five\r\n", "Content-Length: 5\302\240\r\n",
		"Content-Length: 1000000000000000000\r\n",
		"Content-Length: 9223372036854775808\r\n",
		"Content-Length: 18446744073709551617\r\n",
		"Content-Length: 4294967296000000000000005\r\n",
		"Content-Length : 5\r\n", "Content-Length\t: 5\r\n",
		" Content-Length: 5\r\n", "\tContent-Length: 5\r\n",
		"X: y\r\n Content-Length: 5\r\n", "X: y\r\n\tz\r\n",
		"Content-Length\r\n", ": 5\r\n", "Content Length: 5\r\n",
		"Content-Length:5\r\n Transfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"Transfer-Encoding: identity\r\n", "Transfer-Encoding: gzip\r\n",
		"Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunkedx\r\n",
		"Transfer-Encoding: chunked, identity\r\n",
		"Transfer-Encoding: identity, chunked\r\n",
		"Transfer-Encoding: gzip, chunked\r\n",
		"Transfer-Encoding: chunked,\r\n", "Transfer-Encoding: ,chunked\r\n",
		"Transfer-Encoding: chunked;q=1\r\n",
		"Transfer-Encoding: \"chunked\"\r\n", "Transfer-Encoding:\r\n",
		"Transfer-Encoding: chun\tked\r\n",
		"Transfer-Encoding: chunked\302\205\r\n",
		"Transfer-Encoding : chunked\r\n", "Transfer_Encoding\"x: chunked\r\n",
		"Transfer-Encoding\r\n: chunked\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
		"(X: y\r\n", "X\302\240: y\r\n", "X(: y\r\n", "X/: y\r\n", "X@: y\r\n",
		"Content-Length: 5\n", "Content-Length: 5\rX: y\r\n",
		"Content-Length: 5\r\n\nX: y\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct http_request q = { .length = 42 };

		if (framing(bad[i], &q) != -EBADMSG)
			test_fail(__FILE__, __LINE__, "accepted: %s", bad[i]);
		CHECK_INT(q.length, 42);
	}
}

TEST(chunked_framing_requires_http_1_1)
{
	static const char text[] = "POST http://a.test/ HTTP/1.0\r\n"
		"Host: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
	struct http_request q;
	const char *why;

	CHECK_INT(http_request_parse(text, sizeof(text) - 1, NULL, &q, &why),
		  -EBADMSG);
}

TEST(connection_options_are_tokens_up_to_a_limit)
{
	auto_buf struct buf b = { 0 };
	struct http_request q;

	CHECK_INT(framing("Connection: Connection\r\n", &q), 0);
	CHECK_INT(framing("Connection: close, x-y\r\nConnection: z\r\n", &q), 0);
	CHECK_INT(framing("Connection: a b\r\n", &q), -EBADMSG);
	CHECK_INT(framing("Connection: ,\r\n", &q), -EBADMSG);
	CHECK_INT(framing("Connection: a,,b\r\n", &q), -EBADMSG);
	CHECK_INT(framing("Connection: \"close\"\r\n", &q), -EBADMSG);

	buf_adds(&b, "Connection: a");
	for (int i = 1; i < HTTP_CONNECTION_MAX; i++)
		buf_adds(&b, ",a");
	CHECK_INT(framing((buf_adds(&b, "\r\n"), b.p), &q), 0);
	b.len -= 2;
	CHECK_INT(framing((buf_adds(&b, ",a\r\n"), b.p), &q), -EBADMSG);
}
