/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-spellings.c - one destination, every protocol, one verdict
 *
 * Each spelling goes through every parser that can carry it, and through the
 * policy. What one protocol refuses, another must not let pass: the holes that
 * others had were between two of them (P151 to P187).
 */

#include <errno.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "gate/proto/dns.h"
#include "gate/proto/http.h"
#include "gate/proto/sni.h"
#include "gate/proto/socks5.h"
#include "policy/policy.h"
#include "test.h"

enum { PORT = 443 };

/* Each form: 0 and the host that @n bytes of @text lead to, or an error */

static int parse(const struct buf *b, const struct host *captured,
		 struct host *ret)
{
	struct http_request q;
	const char *why;
	const int r = http_request_parse(b->p, b->len, captured, &q, &why);

	if (!r)
		*ret = captured ? q.vhost : q.host;
	return r;
}

static int by_connect(const char *text, size_t n, struct host *ret)
{
	auto_buf struct buf b = { 0 };

	buf_adds(&b, "CONNECT ");
	buf_add(&b, text, n);
	buf_addf(&b, ":%d HTTP/1.1\r\n\r\n", PORT);
	return parse(&b, NULL, ret);
}

static int by_target(const char *text, size_t n, struct host *ret)
{
	auto_buf struct buf b = { 0 };

	buf_adds(&b, "GET http://");
	buf_add(&b, text, n);
	buf_addf(&b, ":%d/ HTTP/1.0\r\n\r\n", PORT);
	return parse(&b, NULL, ret);
}

/* Host on a connection that was captured by address */
static int by_header(const char *text, size_t n, struct host *ret)
{
	static const struct host captured = {
		.kind = HOST_IPV4, .name = "10.0.0.1", .address = { 10, 0, 0, 1 },
		.port = PORT,
	};
	auto_buf struct buf b = { 0 };

	buf_adds(&b, "GET / HTTP/1.1\r\nHost: ");
	buf_add(&b, text, n);
	buf_addf(&b, ":%d\r\n\r\n", PORT);
	return parse(&b, &captured, ret);
}

static int by_socks(const char *text, size_t n, struct host *ret)
{
	auto_buf struct buf b = { 0 };
	ssize_t r;

	if (n > 255)
		return -EINVAL;
	buf_add(&b, "\5\1\0\3", 4);
	buf_addc(&b, (char)n);
	buf_add(&b, text, n);
	buf_add(&b, "\1\273", 2);
	r = socks5_request_parse((const uint8_t *)b.p, b.len, ret);
	return r > 0 ? 0 : -EINVAL;
}

static int by_dns(const char *text, size_t n, struct host *ret)
{
	static const char tail[] = "\0\0\1\0\1";
	auto_buf struct buf b = { 0 };
	struct dns_query q;

	buf_add(&b, "\0\1\1\0\0\1\0\0\0\0\0\0", 12);
	if (n && text[n - 1] == '.')
		n--;
	for (size_t at = 0, len; n && at <= n; at += len + 1) {
		const char *dot = memchr(text + at, '.', n - at);

		len = dot ? (size_t)(dot - text) - at : n - at;
		if (len > 255)
			return -EINVAL;
		buf_addc(&b, (char)len);
		buf_add(&b, text + at, len);
	}
	buf_add(&b, tail, sizeof(tail) - 1);
	if (dns_query_parse((const uint8_t *)b.p, b.len, &q) || !q.named)
		return -EINVAL;
	*ret = q.host;
	ret->port = PORT;
	return 0;
}

static void put16(struct buf *b, size_t value)
{
	buf_addc(b, (char)(value >> 8));
	buf_addc(b, (char)value);
}

static int by_sni(const char *text, size_t n, struct host *ret)
{
	static const char zeros[32];
	auto_buf struct buf b = { 0 };
	struct host sni;

	buf_add(&b, "\26\3\1", 3);
	put16(&b, n + 56);
	buf_add(&b, "\1\0", 2);
	put16(&b, n + 52);
	buf_add(&b, "\3\3", 2);
	buf_add(&b, zeros, 32);
	buf_add(&b, "\0\0\2\23\1\1\0", 7);
	put16(&b, n + 9);
	put16(&b, 0);
	put16(&b, n + 5);
	put16(&b, n + 3);
	buf_addc(&b, 0);
	put16(&b, n);
	buf_add(&b, text, n);
	if (sni_parse((const uint8_t *)b.p, b.len, &sni) != SNI_NAME)
		return -EINVAL;
	*ret = sni;
	ret->port = PORT;
	return 0;
}

static const struct form {
	const char *name;
	int (*parse)(const char *text, size_t n, struct host *ret);
	bool addresses;		/* Can carry one */
} forms[] = {
	{ "CONNECT", by_connect, true }, { "target", by_target, true },
	{ "Host", by_header, true }, { "SOCKS5", by_socks, true },
	{ "DNS", by_dns, false }, { "SNI", by_sni, true },
};

static struct policy *make_policy(void)
{
	static const struct {
		enum string_list list;
		const char *text;
	} rules[] = {
		{ HOST_ALLOW, "allowed.test" }, { HOST_ALLOW, "*.wild.test" },
		{ HOST_ALLOW, "redis" }, { HOST_ALLOW, "192.0.2.1" },
		{ HOST_DENY, "denied.test" }, { HOST_DENY, "denied.wild.test" },
		{ HOST_DENY, "127.0.0.1" },
	};
	struct policy *p = policy_new("/", NULL);
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		CHECK_INT(policy_add_host(p, rules[i].list, rules[i].text, NULL,
					  (struct origin){ 0 }, &err), 0);
	return p;
}

static bool passes(const struct policy *p, const struct form *form,
		   const char *text, size_t n)
{
	struct host h;

	return !form->parse(text, n, &h) &&
	       host_decide(p, &h, false).decision == HOST_ALLOWED;
}

/* The positive control: without it, refusing everything would do */
TEST(every_spelling_of_an_allowed_host_passes_in_every_protocol)
{
	static const char *const good[] = {
		"allowed.test", "ALLOWED.Test", "allowed.test.", "a.wild.test",
		"a.b.wild.test", "redis", "x_y.wild.test", "1.2.3.4.wild.test",
	};
	auto_policy struct policy *p = make_policy();

	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
			if (!passes(p, &forms[f], good[i], strlen(good[i])))
				test_fail(__FILE__, __LINE__, "%s by %s",
					  good[i], forms[f].name);
		}
		CHECK_INT(passes(p, &forms[f], "192.0.2.1", 9),
			  forms[f].addresses);
	}
}

static void check_refused(const struct policy *p, const char *text, size_t n)
{
	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		if (passes(p, &forms[f], text, n))
			test_fail(__FILE__, __LINE__, "%s by %s", text,
				  forms[f].name);
	}
}

TEST(other_hosts_are_refused_in_every_protocol)
{
	static const char *const bad[] = {
		"denied.test", "DENIED.test", "denied.test.", "denied.wild.test",
		"Denied.Wild.Test.", "wild.test", "wild.test.", "evilwild.test",
		"wild.test.evil.test", ".wild.test", "a..wild.test",
		"a.wild.test..", "-.wild.test", "a.wild.test-", "*.wild.test",
		"other.test", "allowed.test.evil.test", "xallowed.test",
		"allowed.tes", "allowed", "test", "", ".", "*", "localhost",
		"localhost.", "evil.test@allowed.test", "allowed.test@evil.test",
		"evil.test#.wild.test", "evil.test?.wild.test",
		"evil.test/.wild.test", "evil.test\\.wild.test",
		"evil.test:443@a.wild.test", "evil.test%00.wild.test",
		"evil.test%2ewild.test", "evil.test .wild.test",
		"evil.test\t.wild.test", "evil.test\r\n.wild.test",
		"evil.test\n.wild.test", "evil.test,a.wild.test",
		"evil.test;a.wild.test", "evil.test|a.wild.test",
		"[evil.test].wild.test", "evil\303\251.wild.test",
		"evil.test\343\200\202wild.test", "evil.test\357\274\216wild.test",
		"evil.test\357\275\241wild.test", "evil\302\255.wild.test",
		"allowed\342\200\215.test", "\357\274\241llowed.test",
	};
	auto_policy struct policy *p = make_policy();

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check_refused(p, bad[i], strlen(bad[i]));
}

TEST(an_embedded_byte_never_disguises_a_host)
{
	static const char plain[] = "evil.testx.wild.test";
	auto_policy struct policy *p = make_policy();

	for (unsigned int byte = 0; byte < 256; byte++) {
		char text[sizeof(plain)];

		memcpy(text, plain, sizeof(plain));
		text[9] = (char)byte;
		if ((byte >= '0' && byte <= '9') || byte == '_' ||
		    (byte >= 'A' && byte <= 'Z') ||
		    (byte >= 'a' && byte <= 'z'))
			continue;	/* Another name below wild.test */
		check_refused(p, text, sizeof(plain) - 1);
	}
}

/* 127.0.0.1 is denied, 169.254.169.254 and 10.0.0.1 are not allowed */
TEST(spellings_of_addresses_are_refused_in_every_protocol)
{
	static const char *const bad[] = {
		"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433",
		"0x7f000001", "0x7f.1", "0x7f.0.0.1", "0177.0.0.1", "017700000001",
		"127.0.0.01", "127.0.0.0x1", "0", "0.0.0.0", "00.0.0.0", "4294967297",
		"0x17f000001", "127.0.0.1.1", "[::1]", "[::]", "::1", "::",
		"[::ffff:127.0.0.1]", "::ffff:127.0.0.1", "[::ffff:7f00:1]",
		"[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"[2001:0:808:808::80ff:fffe]", "[::ffff:0:127.0.0.1]", "[::1%lo]",
		"[::1%25lo]", "[fe80::1]", "169.254.169.254", "2852039166",
		"0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:a9fe:a9fe]",
		"[fd00:ec2::254]", "10.0.0.2", "167772162", "10.2", "012.0.0.2",
		"[::ffff:10.0.0.2]", "255.255.255.255", "192.0.2.1.evil",
		"3221225985", "0xc0000201", "192.0.513", "0300.0.2.1", "192.0.2.01",
	};
	auto_policy struct policy *p = make_policy();

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check_refused(p, bad[i], strlen(bad[i]));
}

/* What two protocols both take for a name, they take for the same one */
TEST(all_protocols_parse_a_host_name_alike)
{
	static const char *const any[] = {
		"A.B", "a.b.", "x-y.z", "_a.b", "a", "xn--a.b", "1a.b", "a.b1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(any); i++) {
		struct host first, other;

		CHECK_INT(forms[0].parse(any[i], strlen(any[i]), &first), 0);
		for (size_t f = 1; f < ARRAY_SIZE(forms); f++) {
			CHECK_INT(forms[f].parse(any[i], strlen(any[i]),
						 &other), 0);
			CHECK(host_is_same(&first, &other));
			CHECK_INT(other.port, PORT);
		}
	}
}
