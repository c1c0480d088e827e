/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-http-answer.c - the gate's own HTTP responses */

#include "gate/http-answer.h"

#include <errno.h>

#include "base/buf.h"
#include "base/own.h"
#include "gate/proto/http.h"
#include "test.h"

TEST(a_refusal_names_host_rule_and_the_allowing_command)
{
	auto_buf struct buf b = { 0 };
	struct host h;

	CHECK_INT(host_parse("evil.test", 9, 443, &h), 0);
	http_answer_write(HTTP_ANSWER_BLOCKED, &(struct http_answer_text){
		.reason = "host is on the deny list", .host = &h,
		.rule = "settings.json:3: network.deniedDomains[0]",
		.fix = "remove that entry",
	}, &b);
	CHECK_STR(buf_str(&b),
		  "HTTP/1.1 403 host is on the deny list\r\n"
		  "Content-Type: text/plain\r\n"
		  "X-Proxy-Error: blocked-by-allowlist\r\n"
		  "Content-Length: 172\r\nConnection: close\r\n\r\n"
		  "Connection blocked by network allowlist\n"
		  "host: evil.test:443\n"
		  "reason: host is on the deny list\n"
		  "rule: settings.json:3: network.deniedDomains[0]\n"
		  "to allow it: remove that entry\n");
}

TEST(every_own_response_is_complete_and_closes)
{
	static const struct http_request get = {
		.kind = HTTP_METHOD_GET, .minor = 1,
	};
	static const int status[] = {
		400, 403, 403, 405, 408, 421, 431, 500, 502, 503, 504,
	};

	CHECK_INT(ARRAY_SIZE(status), HTTP_ANSWERS);
	for (unsigned int i = 0; i < HTTP_ANSWERS; i++) {
		auto_buf struct buf b = { 0 };
		struct http_scan scan = { 0 };
		struct http_response r;
		const char *why;
		ssize_t n;

		http_answer_write((enum http_answer)i, NULL, &b);
		n = http_head_scan(&scan, b.p, b.len);
		CHECK(n > 0);
		CHECK_INT(http_response_parse(b.p, (size_t)n, &get, &r, &why),
			  0);
		CHECK_INT(r.status, status[i]);
		CHECK_INT(r.framing, HTTP_BODY_LENGTH);
		CHECK_INT(r.length, b.len - (size_t)n);
		CHECK(!r.keep_alive);
		CHECK(http_header_find(&r.headers, "x-proxy-error").n > 0);
	}
}

/* P100, P176 */
TEST(control_characters_in_a_reason_are_escaped)
{
	auto_buf struct buf b = { 0 }, big = { 0 };
	size_t lines = 0;

	http_answer_write(HTTP_ANSWER_BLOCKED, &(struct http_answer_text){
		.reason = "no\r\nX-Evil: 1\r\n\r\n\x1b[2J\302\233\177\tz",
		.rule = "a\nb", .fix = "\x1b]0;x\a",
	}, &b);
	CHECK_CONTAINS(buf_str(&b), "HTTP/1.1 403 no??X-Evil: 1?????[2J????z\r\n");
	CHECK(!strstr(buf_str(&b), "\nX-Evil"));
	CHECK_CONTAINS(buf_str(&b), "rule: a?b\n");
	CHECK(!strchr(buf_str(&b), '\x1b'));
	for (size_t i = 0; i < b.len; i++)
		lines += b.p[i] == '\n';
	CHECK_INT(lines, 6 + 4);

	buf_done(&b);
	for (int i = 0; i < HTTP_REASON_MAX + 100; i++)
		buf_addc(&big, 'r');
	http_answer_write(HTTP_ANSWER_BLOCKED, &(struct http_answer_text){
		.reason = buf_str(&big) }, &b);
	CHECK_INT(strcspn(buf_str(&b), "\r"), 13 + HTTP_REASON_MAX);
}

TEST(a_HEAD_request_gets_no_body)
{
	auto_buf struct buf b = { 0 };

	http_answer_write(HTTP_ANSWER_UNREACHABLE, &(struct http_answer_text){
		.head_only = true }, &b);
	CHECK(b.len > 4 && !strcmp(b.p + b.len - 4, "\r\n\r\n"));
	CHECK_CONTAINS(buf_str(&b), "HTTP/1.1 502 Bad Gateway\r\n");
	CHECK(!strstr(buf_str(&b), "Content-Length: 0"));
}

TEST(parser_errors_map_to_status_codes)
{
	CHECK_INT(http_answer_of(-EBADMSG), HTTP_ANSWER_BAD_REQUEST);
	CHECK_INT(http_answer_of(-EMSGSIZE), HTTP_ANSWER_TOO_LARGE);
	CHECK_INT(http_answer_of(-EOPNOTSUPP), HTTP_ANSWER_METHOD);
	CHECK_INT(http_answer_of(-EINVAL), HTTP_ANSWER_BAD_REQUEST);
}
