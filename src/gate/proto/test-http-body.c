/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/test-http-body.c - HTTP bodies and chunks */

#include "gate/proto/http-body.h"

#include <errno.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/own.h"
#include "test.h"

/* Feed @n bytes in pieces of at most @piece; returns the bytes consumed until
 * the body is done or all is gone, or the error
 */
static ssize_t feed(struct http_body *body, const char *p, size_t n,
		    size_t piece, struct buf *out)
{
	size_t at = 0;

	while (at < n && !http_body_is_done(body)) {
		const size_t left = n - at;
		struct http_span span;
		const ssize_t r = http_body_step(body, p + at,
						 left < piece ? left : piece,
						 &span);

		if (r < 0)
			return r;
		CHECK(r > 0);
		buf_add(out, span.p, span.n);
		at += (size_t)r;
	}
	return (ssize_t)at;
}

static ssize_t feed_chunks(const char *p, size_t n, size_t piece,
			   struct buf *out, bool *done)
{
	struct http_body body;
	ssize_t r;

	http_body_init(&body, HTTP_BODY_CHUNKED, 0);
	r = feed(&body, p, n, piece, out);
	*done = http_body_is_done(&body);
	return r;
}

/* The forwarded form of @text, the same in every cut */
static void check_chunks(const char *text, const char *want, size_t rest)
{
	const size_t n = strlen(text);

	for (size_t piece = 1; piece <= n; piece++) {
		auto_buf struct buf out = { 0 };
		bool done;

		CHECK_INT(feed_chunks(text, n, piece, &out, &done), n - rest);
		CHECK(done);
		CHECK_STR(buf_str(&out), want);
	}
}

TEST(chunk_headers_are_normalised)
{
	check_chunks("0\r\n\r\n", "0\r\n\r\n", 0);
	check_chunks("5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", 0);
	check_chunks("00A\r\n0123456789\r\n000\r\n\r\nGET /",
		     "a\r\n0123456789\r\n0\r\n\r\n", 5);
	check_chunks("1;a=b;c=\"d\"\r\nx\r\n0;last\r\nX-T: 1\r\nY: 2\r\n\r\n",
		     "1\r\nx\r\n0\r\n\r\n", 0);
	check_chunks("2\r\n\r\n\r\n0\r\n\r\n", "2\r\n\r\n\r\n0\r\n\r\n", 0);
}

/* P167, P209 */
TEST(malformed_chunks_are_refused_at_every_split)
{
	static const char *const bad[] = {
		"\r\n", "x\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\n",
		"1\t\r\n", "1\n", "1\r\r\n", "1\rx", ";a\r\n", "1,\r\nx\r\n",
		"1\r\nxx\r\n", "1\r\nx\n0\r\n\r\n", "1\r\nx\r\r\n", "1\r\nx0\r\n",
		"0\r\n\n", "0\r\n\rx", "0\r\n X: 1\r\n", "0\r\n\tX: 1\r\n",
		"0\r\nX\r\n", "0\r\n\x7f: 1\r\n", "g\r\n", "G\r\n", "1;\x7f\r\n",
		"@\r\n", "`\r\n", "/\r\n", ":\r\n", "0\r\nX : 1\r\n", "0\r\n: 1\r\n", "0\r\nX: 1\n",
		"0\r\nX: 1\rY", "0\r\nX: \x01\r\n", "1;a\n", "1;\x01\r\n",
		"1;a\rb", "1000000000000000\r\n", "ffffffffffffffff\r\n",
		"10000000000000005\r\n", "fffffffffffffffffffff\r\n",
		"1\r\nx\r\nx\r\n", "0\r\nX: 1\r\n Y\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const size_t n = strlen(bad[i]);

		for (size_t piece = 1; piece <= n; piece++) {
			auto_buf struct buf out = { 0 };
			bool done;

			if (feed_chunks(bad[i], n, piece, &out, &done) !=
			    -EBADMSG)
				test_fail(__FILE__, __LINE__, "accepted: %s",
					  bad[i]);
			CHECK(!done);
		}
	}
}

TEST(chunk_sizes_are_hexadecimal)
{
	static const char digits[] = "0123456789abcdef", big[] = "ABCDEF";

	for (unsigned int i = 1; i < 16; i++) {
		struct http_body body;
		struct http_span span;
		char text[4] = { digits[i], '\r', '\n' };

		http_body_init(&body, HTTP_BODY_CHUNKED, 0);
		CHECK_INT(http_body_step(&body, text, 3, &span), 3);
		CHECK_INT(http_body_raw(&body), i);
		CHECK(span.n == 3 && *span.p == digits[i]);
		if (i < 10)
			continue;
		text[0] = big[i - 10];
		http_body_init(&body, HTTP_BODY_CHUNKED, 0);
		CHECK_INT(http_body_step(&body, text, 3, &span), 3);
		CHECK_INT(http_body_raw(&body), i);
		CHECK(span.n == 3 && *span.p == digits[i]);
	}
}

TEST(a_body_fails_again_after_an_error)
{
	struct http_body body;
	struct http_span span;

	http_body_init(&body, HTTP_BODY_CHUNKED, 0);
	CHECK_INT(http_body_step(&body, "x", 1, &span), -EBADMSG);
	CHECK_INT(http_body_step(&body, "0\r\n\r\n", 5, &span),
		  -EBADMSG);
	CHECK_INT(http_body_step(&body, "", 0, &span), -EBADMSG);
	CHECK_INT(span.n, 0);
	CHECK(!http_body_is_done(&body) && !http_body_may_end(&body));
	CHECK_INT(http_body_raw(&body), 0);
}

static ssize_t feed_made(const char *before, size_t count, const char *after)
{
	auto_buf struct buf in = { 0 }, out = { 0 };
	bool done;
	ssize_t r;

	buf_adds(&in, before);
	for (size_t i = 0; i < count; i++)
		buf_addc(&in, '1');
	buf_adds(&in, after);
	r = feed_chunks(in.p, in.len, in.len, &out, &done);
	return r < 0 ? r : done;
}

TEST(chunk_limits_are_enforced_to_the_byte)
{
	struct http_body body;
	struct http_span span;

	CHECK_INT(feed_made("1;", HTTP_CHUNK_EXT_MAX - 1, "\r\nx\r\n0\r\n\r\n"),
		  1);
	CHECK_INT(feed_made("1;", HTTP_CHUNK_EXT_MAX, "\r\nx\r\n0\r\n\r\n"),
		  -EBADMSG);
	/* "X:", the value, CRLF */
	CHECK_INT(feed_made("0\r\nX:", HTTP_TRAILER_MAX - 4, "\r\n\r\n"), 1);
	CHECK_INT(feed_made("0\r\nX:", HTTP_TRAILER_MAX - 3, "\r\n\r\n"),
		  -EBADMSG);

	http_body_init(&body, HTTP_BODY_CHUNKED, 0);
	CHECK_INT(http_body_step(&body, "fffffffffffffff\r\n", 17, &span),
		  17);
	CHECK(http_body_raw(&body) == 0xfffffffffffffffULL);
	CHECK_INT(span.n, 17);
}

TEST(a_content_length_body_counts_down)
{
	auto_buf struct buf out = { 0 };
	struct http_body body;

	http_body_init(&body, HTTP_BODY_LENGTH, 5);
	CHECK(!http_body_is_done(&body) && !http_body_may_end(&body));
	CHECK_INT(http_body_raw(&body), 5);
	CHECK_INT(feed(&body, "helloGET /", 10, 2, &out), 5);
	CHECK_STR(buf_str(&out), "hello");
	CHECK(http_body_is_done(&body) && http_body_may_end(&body));
	CHECK_INT(http_body_step(&body, "GET /", 5, &(struct http_span){ 0 }), 0);
	http_body_init(&body, HTTP_BODY_LENGTH, 0);
	CHECK(http_body_is_done(&body));
	http_body_init(&body, HTTP_BODY_NONE, 0);
	CHECK(http_body_is_done(&body));
}

TEST(an_until_close_body_has_no_end)
{
	auto_buf struct buf out = { 0 };
	struct http_body body;

	http_body_init(&body, HTTP_BODY_UNTIL_CLOSE, 0);
	CHECK(http_body_raw(&body) == UINT64_MAX);
	http_body_skip(&body, 1 << 30);
	CHECK_INT(feed(&body, "abc", 3, 3, &out), 3);
	CHECK(!http_body_is_done(&body) && http_body_may_end(&body));
	CHECK(http_body_raw(&body) == UINT64_MAX);
}

TEST(raw_body_data_can_be_skipped)
{
	struct http_body body;
	struct http_span span;

	http_body_init(&body, HTTP_BODY_CHUNKED, 0);
	CHECK_INT(http_body_raw(&body), 0);
	CHECK_INT(http_body_step(&body, "1000\r\nab", 8, &span), 6);
	CHECK_INT(http_body_raw(&body), 0x1000);
	http_body_skip(&body, 0xfff);
	CHECK_INT(http_body_raw(&body), 1);
	http_body_skip(&body, 1);
	CHECK_INT(http_body_raw(&body), 0);
	CHECK_INT(http_body_step(&body, "\r\n", 2, &span), 2);
	CHECK_INT(http_body_step(&body, "0\r\n\r\n", 5, &span), 5);
	CHECK(http_body_is_done(&body));

	http_body_init(&body, HTTP_BODY_LENGTH, 10);
	http_body_skip(&body, 10);
	CHECK(http_body_is_done(&body));
}
