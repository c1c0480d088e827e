/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/test-socks5.c - SOCKS in every cut, and what is refused (P179 to P187) */

#include "gate/proto/socks5.h"

#include <errno.h>

#include "base/own.h"
#include "test.h"

#define BYTES(s)	(const uint8_t *)(s), sizeof(s) - 1

static int greeting(const uint8_t *p, size_t n)
{
	bool plain = false;
	const ssize_t r = socks5_greeting_parse(p, n, &plain);

	return r > 0 ? (r == (ssize_t)n ? plain : -1) : (int)r - 100;
}

TEST(a_greeting_must_offer_no_authentication)
{
	CHECK_INT(greeting(BYTES("\5\1\0")), 1);
	CHECK_INT(greeting(BYTES("\5\2\0\2")), 1);
	CHECK_INT(greeting(BYTES("\5\2\2\0")), 1);
	CHECK_INT(greeting(BYTES("\5\1\2")), 0);
	CHECK_INT(greeting(BYTES("\5\0")), 0);
	CHECK_INT(greeting(BYTES("")), -100);
	CHECK_INT(greeting(BYTES("\5")), -100);
	CHECK_INT(greeting(BYTES("\5\2\0")), -100);
}

/* SOCKS4, TLS and HTTP on this port */
TEST(other_versions_are_refused_at_the_first_byte)
{
	static const uint8_t first[] = { 0, 1, 4, 6, 'C', 'G', 0x16, 0xff };

	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		bool plain = true;

		CHECK_INT(socks5_greeting_parse(&first[i], 1, &plain),
			  -EPROTONOSUPPORT);
		CHECK(plain);
	}
	CHECK_INT(greeting(BYTES("\4\1\0\120\0\0\0\1x\0a.test\0")),
		  -EPROTONOSUPPORT - 100);
}

TEST(a_greeting_with_255_methods_is_parsed)
{
	uint8_t p[SOCKS5_GREETING_MAX];
	bool plain;

	memset(p, 7, sizeof(p));
	p[0] = 5;
	p[1] = 255;
	CHECK_INT(socks5_greeting_parse(p, sizeof(p) - 1, &plain), 0);
	CHECK_INT(socks5_greeting_parse(p, sizeof(p), &plain), sizeof(p));
	CHECK(!plain);
	p[256] = 0;
	CHECK_INT(socks5_greeting_parse(p, sizeof(p), &plain), sizeof(p));
	CHECK(plain);
}

static void check_request(const uint8_t *p, size_t n, const char *name,
			  uint16_t port)
{
	struct host h = { .port = 42 };

	for (size_t cut = 0; cut < n; cut++) {
		CHECK_INT(socks5_request_parse(p, cut, &h), 0);
		CHECK_INT(h.port, 42);
	}
	CHECK_INT(socks5_request_parse(p, n, &h), n);
	CHECK_STR(h.name, name);
	CHECK_INT(h.port, port);
}

TEST(a_request_is_parsed_at_every_split)
{
	check_request(BYTES("\5\1\0\3\6a.test\1\273"), "a.test", 443);
	check_request(BYTES("\5\1\0\3\7A.Test.\0\26"), "a.test", 22);
	check_request(BYTES("\5\1\0\1\12\0\0\1\0\120"), "10.0.0.1", 80);
	check_request(BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\1"),
		      "::1", 1);
	check_request(BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\377\377\177\0\0\1"
			    "\377\377"), "127.0.0.1", 65535);
	check_request(BYTES("\5\1\0\3\11" "127.0.0.1\0\120"), "127.0.0.1", 80);
	check_request(BYTES("\5\1\0\3\3::1\0\120"), "::1", 80);
	check_request(BYTES("\5\1\0\3\1a\0\120"), "a", 80);
}

TEST(payload_after_a_request_is_not_consumed)
{
	struct host h;

	CHECK_INT(socks5_request_parse(BYTES("\5\1\0\3\6a.test\1\273hello"),
				       &h), 13);
}

static void check_error(const uint8_t *p, size_t n, int want)
{
	struct host h = { .port = 42 };

	CHECK_INT(socks5_request_parse(p, n, &h), want);
	CHECK_INT(h.port, 42);
}

TEST(malformed_requests_are_refused)
{
	check_error(BYTES("\4"), -EPROTONOSUPPORT);
	check_error(BYTES("\4\1\0\3\6a.test\1\273"), -EPROTONOSUPPORT);
	check_error(BYTES("\5\1\1\3\6a.test\1\273"), -EPROTONOSUPPORT);
	check_error(BYTES("\5\2\0\3\6a.test\1\273"), -EOPNOTSUPP);
	check_error(BYTES("\5\3\0\3\6a.test\1\273"), -EOPNOTSUPP);
	check_error(BYTES("\5\0\0\3\6a.test\1\273"), -EOPNOTSUPP);
	check_error(BYTES("\5\377\0\3\6a.test\1\273"), -EOPNOTSUPP);
	check_error(BYTES("\5\1\0\0\6a.test\1\273"), -EAFNOSUPPORT);
	check_error(BYTES("\5\1\0\2\6a.test\1\273"), -EAFNOSUPPORT);
	check_error(BYTES("\5\1\0\5\6a.test\1\273"), -EAFNOSUPPORT);
	check_error(BYTES("\5\1\0\3\6a.test\0\0"), -EINVAL);
	check_error(BYTES("\5\1\0\1\12\0\0\1\0\0"), -EINVAL);
}

/* The bypass that the field remembers: the matcher sees the end of the name,
 * the resolver its beginning
 */
TEST(invalid_host_names_are_refused)
{
	check_error(BYTES("\5\1\0\3\0\1\273"), -EINVAL);
	check_error(BYTES("\5\1\0\3\24evil.test\0.a.example\1\273"), -EINVAL);
	check_error(BYTES("\5\1\0\3\7a.test\0\1\273"), -EINVAL);
	check_error(BYTES("\5\1\0\3\1.\1\273"), -EINVAL);
	check_error(BYTES("\5\1\0\3\3...\1\273"), -EINVAL);
	check_error(BYTES("\5\1\0\3\5" "127.1\1\273"), -EINVAL);
	check_error(BYTES("\5\1\0\3\0122130706433\1\273"), -EINVAL);
	check_error(BYTES("\5\1\0\3\6a test\1\273"), -EINVAL);
	check_error(BYTES("\5\1\0\3\7a\303\251.test\1\273"), -EINVAL);
	check_error(BYTES("\5\1\0\3\5[::1]\1\273"), -EINVAL);
	check_error(BYTES("\5\1\0\3\012a.test:443\1\273"), -EINVAL);
	check_error(BYTES("\5\1\0\3\6u@test\1\273"), -EINVAL);
}

TEST(a_host_name_longer_than_253_bytes_is_refused)
{
	uint8_t p[SOCKS5_REQUEST_MAX] = { 5, 1, 0, 3, 253 };
	struct host h;

	memset(p + 5, 'a', sizeof(p) - 5);
	for (size_t i = 5 + 49; i < sizeof(p); i += 50)
		p[i] = '.';
	CHECK_INT(socks5_request_parse(p, sizeof(p), &h), 4 + 1 + 253 + 2);
	CHECK_INT(strlen(h.name), 253);
	p[4] = 255;
	CHECK_INT(socks5_request_parse(p, sizeof(p), &h), -EINVAL);
	CHECK_INT(socks5_request_parse(p, sizeof(p) - 1, &h), 0);
}

TEST(replies_contain_no_address_of_the_host)
{
	uint8_t method[SOCKS5_METHOD_REPLY_LEN], reply[SOCKS5_REPLY_LEN];

	socks5_method_reply(true, method);
	CHECK(!memcmp(method, "\5\0", 2));
	socks5_method_reply(false, method);
	CHECK(!memcmp(method, "\5\377", 2));
	socks5_reply(SOCKS5_NOT_ALLOWED, reply);
	CHECK(!memcmp(reply, "\5\2\0\1\0\0\0\0\0\0", sizeof(reply)));
}

TEST(reply_codes_follow_the_errno)
{
	CHECK_INT(socks5_rep_of(-EINVAL), 1);
	CHECK_INT(socks5_rep_of(-EOPNOTSUPP), 7);
	CHECK_INT(socks5_rep_of(-EAFNOSUPPORT), 8);
}
