/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-host.c - names and addresses in every spelling */

#include "policy/host.h"

#include <errno.h>

#include "base/buf.h"
#include "base/own.h"
#include "test.h"

static int parse(const char *text, struct host *ret)
{
	return host_parse(text, strlen(text), 443, ret);
}

static void check_refused(const char *text, size_t n)
{
	struct host h = { .port = 42 };

	if (host_parse(text, n, 443, &h) != -EINVAL)
		test_fail(__FILE__, __LINE__, "'%s' was accepted as '%s'",
			  text, h.name);
	CHECK_INT(h.port, 42);
}

TEST(names_are_lowercased_and_lose_one_final_dot)
{
	static const struct {
		const char *text, *name;
	} good[] = {
		{ "example.com", "example.com" },
		{ "EXAMPLE.Com", "example.com" },
		{ "example.com.", "example.com" },
		{ "redis", "redis" },
		{ "localhost", "localhost" },
		{ "localhost.", "localhost" },
		{ "_dmarc.example.com", "_dmarc.example.com" },
		{ "my_service", "my_service" },
		{ "xn--caf-dma.fr", "xn--caf-dma.fr" },
		{ "1.example.com", "1.example.com" },
		{ "127.0.0.1.example", "127.0.0.1.example" },
		{ "0x7f.example", "0x7f.example" },
		{ "1e100.net", "1e100.net" },
		{ "AZaz09.Zz", "azaz09.zz" },
		{ "a.b1", "a.b1" },
		{ "a.1b", "a.1b" },
		{ "r3---sn-x.example", "r3---sn-x.example" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct host h;

		CHECK_INT(parse(good[i].text, &h), 0);
		CHECK_INT(h.kind, HOST_NAME);
		CHECK_INT(h.port, 443);
		CHECK_STR(h.name, good[i].name);
	}
}

TEST(malformed_host_names_are_refused)
{
	static const char *const bad[] = {
		"", ".", "..", "a..b", ".a", "a..", "-a.b", "a-.b", "a.-b",
		"a.b-", "a b", "a/b", "a\\b", "a@b", "a?b", "a#b", "a;b", "a,b",
		"a|b", "a%00b", "a%2eb", "a*b", "*.a.b", "*", "[a]", "a]", "a:b",
		"http://a", "caf\303\251.fr", "127\343\200\202" "0.0.1",
		"a\357\274\216b", "a\302\255b", "a\tb", "a\r\nb", "a\n", " a",
		"a ", "'a'", "\"a\"", "$a", "~", "a+b", "a=b", "a!b", "(a)",
		"<a>", "{a}", "a&b", "a`b", "a^b",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check_refused(bad[i], strlen(bad[i]));
}

/* The bypass that others had for months: a NUL ends it for the resolver */
TEST(every_invalid_byte_is_refused_in_every_position)
{
	static const char plain[] = "evil.test.allowed.test";

	for (unsigned int byte = 0; byte < 256; byte++) {
		const bool fine = (byte >= '0' && byte <= '9') ||
				  (byte >= 'a' && byte <= 'z') ||
				  (byte >= 'A' && byte <= 'Z') ||
				  byte == '-' || byte == '_' || byte == '.';

		for (size_t at = 0; at < sizeof(plain) - 1 && !fine; at++) {
			char text[sizeof(plain)];

			memcpy(text, plain, sizeof(plain));
			text[at] = (char)byte;
			check_refused(text, sizeof(plain) - 1);
		}
	}
}

TEST(host_name_lengths_are_limited)
{
	char text[300];
	struct host h;

	memset(text, 'a', sizeof(text));
	CHECK_INT(host_parse(text, 63, 1, &h), 0);
	check_refused(text, 64);

	for (size_t i = 49; i < sizeof(text); i += 50)
		text[i] = '.';
	CHECK_INT(host_parse(text, HOST_NAME_MAX_LEN, 1, &h), 0);
	CHECK_INT(strlen(h.name), HOST_NAME_MAX_LEN);
	check_refused(text, HOST_NAME_MAX_LEN + 1);
	text[HOST_NAME_MAX_LEN] = '.';
	CHECK_INT(host_parse(text, HOST_NAME_MAX_LEN + 1, 1, &h), 0);
	CHECK_INT(strlen(h.name), HOST_NAME_MAX_LEN);
}

TEST(addresses_are_canonicalised)
{
	static const struct {
		const char *text, *name;
		enum host_kind kind;
	} good[] = {
		{ "127.0.0.1", "127.0.0.1", HOST_IPV4 },
		{ "127.0.0.1.", "127.0.0.1", HOST_IPV4 },
		{ "0.0.0.0", "0.0.0.0", HOST_IPV4 },
		{ "255.255.255.255", "255.255.255.255", HOST_IPV4 },
		{ "::1", "::1", HOST_IPV6 },
		{ "::", "::", HOST_IPV6 },
		{ "0:0:0:0:0:0:0:1", "::1", HOST_IPV6 },
		{ "2001:DB8::1", "2001:db8::1", HOST_IPV6 },
		{ "1111:2222:3333:4444:5555:6666:255.255.255.255",
		  "1111:2222:3333:4444:5555:6666:ffff:ffff", HOST_IPV6 },
		{ "::ffff:127.0.0.1", "127.0.0.1", HOST_IPV4 },
		{ "::ffff:7f00:1", "127.0.0.1", HOST_IPV4 },
		{ "::FFFF:7F00:0001", "127.0.0.1", HOST_IPV4 },
		{ "0:0:0:0:0:ffff:7f00:1", "127.0.0.1", HOST_IPV4 },
		/* Other wrappers stay what they are: no rule names them */
		{ "::127.0.0.1", "::127.0.0.1", HOST_IPV6 },
		{ "::ffff:0:127.0.0.1", "::ffff:0:7f00:1", HOST_IPV6 },
		{ "64:ff9b::7f00:1", "64:ff9b::7f00:1", HOST_IPV6 },
		{ "2002:7f00:1::", "2002:7f00:1::", HOST_IPV6 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct host h;

		CHECK_INT(parse(good[i].text, &h), 0);
		CHECK_STR(h.name, good[i].name);
		CHECK_INT(h.kind, good[i].kind);
	}
}

/* 127.0.0.1, 169.254.169.254 and 10.0.0.1 as the C library would read them */
TEST(other_spellings_of_addresses_are_refused)
{
	static const char *const bad[] = {
		"2130706433", "0x7f000001", "0X7F000001", "017700000001",
		"0177.0.0.1", "0177.0.0.01", "127.1", "127.0.1", "0x7f.1",
		"0x7f.0.0.1", "127.0x0.0.1", "127.0.0.0x1", "127.0.0.01",
		"127.0.0.001", "0127.0.0.1", "127.000.000.001", "127.0.0.1.1",
		"127.0.0", "127", "0", "00", "0.0", "0x0", "0x", "0x7f.0x0.0x1",
		"0x17f000001", "4294967297", "6425673729", "127.0.0.256",
		"256.0.0.1", "127.0.0.4294967297", "127..0.1", "1.2.3.4.5",
		"a.0", "a.1", "example.0x1", "example.123", "example.0xzz",
		"2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.16689662",
		"169.254.43518", "0xa9.0xfe.0xa9.0xfe", "169.254.169.0xfe",
		"167772161", "0xa000001", "012.0.0.1", "10.1", "10.0.1",
		"127.0.0.1:80", "127.0.0.1%lo", "127.0.0.1/8", "+127.0.0.1",
		"127.0.0.-1", "127.0.0.1 ", "127.0.0.1..",
		"[::1]", "::1%lo", "::1%25lo", "fe80::1%eth0", "::1/128", ":::",
		"1::2::3", "::g", "::ffff:127.1", "::ffff:0177.0.0.1",
		"::ffff:127.0.0.256", "1:2:3:4:5:6:7:8:9", "12345::", ":1", "1:",
		"::1.", "0:0:0:0:0:0:0:0:0000:0000:0000:0000:0000:0000:1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check_refused(bad[i], strlen(bad[i]));
	check_refused("::1\0", 4);
	check_refused("127.0.0.1\0", 10);
}

TEST(authorities_split_into_host_and_port)
{
	static const struct {
		const char *text;
		uint16_t otherwise;
		const char *name;
		uint16_t port;
	} good[] = {
		{ "a.b:443", 0, "a.b", 443 },
		{ "a.b", 80, "a.b", 80 },
		{ "A.B.:1", 80, "a.b", 1 },
		{ "a.b:65535", 0, "a.b", 65535 },
		{ "127.0.0.1:22", 0, "127.0.0.1", 22 },
		{ "[::1]:443", 0, "::1", 443 },
		{ "[::1]", 80, "::1", 80 },
		{ "[::ffff:10.0.0.1]:5", 0, "10.0.0.1", 5 },
	};
	static const char *const bad[] = {
		"", ":", ":443", "a.b:", "a.b:0", "a.b:00", "a.b:0443",
		"a.b:+443", "a.b:-1", "a.b: 443", "a.b:443 ", "a.b:65536",
		"a.b:4294967739", "a.b:99999", "a.b:443x", "a.b:0x1bb",
		"a.b:443:443", "::1:443", "::1", "[::1", "[::1]443", "[::1]:",
		"[a.b]:443", "[127.0.0.1]:443", "[]:443", "[::1]]:443",
		"[[::1]]:443", "]:443", "[:443", "u@a.b:443", "u:p@a.b:443",
		"a.b:443/", "a.b:443#", "a.b/:443", "a b:443", "[::1%lo]:443",
	};
	struct host h;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		CHECK_INT(host_parse_authority(good[i].text,
					       strlen(good[i].text),
					       good[i].otherwise, &h), 0);
		CHECK_STR(h.name, good[i].name);
		CHECK_INT(h.port, good[i].port);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		h.port = 42;
		if (!host_parse_authority(bad[i], strlen(bad[i]), 80, &h))
			test_fail(__FILE__, __LINE__, "'%s' was accepted",
				  bad[i]);
		CHECK_INT(h.port, 42);
	}
	CHECK_INT(host_parse_authority("a.b", 3, 0, &h), -EINVAL);
	CHECK_INT(host_parse_authority("a.b\0:443", 8, 0, &h), -EINVAL);
	CHECK_INT(host_parse_authority("a.b:44\0" "3", 8, 0, &h), -EINVAL);
}

static void check_formatted(const char *text, uint16_t without,
			    const char *want)
{
	auto_buf struct buf b = { 0 };
	struct host h;

	CHECK_INT(parse(text, &h), 0);
	host_format(&h, without, &b);
	CHECK_STR(buf_str(&b), want);
}

TEST(hosts_are_written_back_as_authorities)
{
	check_formatted("a.b.", 0, "a.b:443");
	check_formatted("a.b", 443, "a.b");
	check_formatted("::1", 80, "[::1]:443");
	check_formatted("::1", 443, "[::1]");
	check_formatted("::ffff:1.2.3.4", 0, "1.2.3.4:443");
}

TEST(names_below_localhost_are_localhost)
{
	struct host h;

	CHECK(!parse("localhost", &h) && host_is_localhost(&h));
	CHECK(!parse("App.LocalHost.", &h) && host_is_localhost(&h));
	CHECK(!parse("notlocalhost", &h) && !host_is_localhost(&h));
	CHECK(!parse("localhost.example", &h) && !host_is_localhost(&h));
	CHECK(!parse("127.0.0.1", &h) && !host_is_localhost(&h));
}

TEST(hosts_are_equal_by_name_or_address)
{
	struct host a, b;

	CHECK(!parse("A.b.", &a) && !parse("a.b", &b) && host_is_same(&a, &b));
	b.port = 1;
	CHECK(host_is_same(&a, &b));
	CHECK(!parse("a.c", &b) && !host_is_same(&a, &b));
	CHECK(!parse("::1", &a) && !parse("0::1", &b) && host_is_same(&a, &b));
	CHECK(!parse("::2", &b) && !host_is_same(&a, &b));
	CHECK(!parse("1.2.3.4", &a) && !parse("102:304::", &b));
	CHECK(!host_is_same(&a, &b));
}

static bool range_has(const char *range, const char *address)
{
	struct host_range r;
	struct host h;

	CHECK_INT(host_range_parse(range, strlen(range), &r), 0);
	CHECK_INT(parse(address, &h), 0);
	return host_range_has(&r, &h);
}

TEST(ranges_contain_their_first_and_last_address)
{
	CHECK(range_has("10.0.0.0/8", "10.0.0.0"));
	CHECK(range_has("10.0.0.0/8", "10.255.255.255"));
	CHECK(!range_has("10.0.0.0/8", "9.255.255.255"));
	CHECK(!range_has("10.0.0.0/8", "11.0.0.0"));
	CHECK(range_has("172.16.0.0/12", "172.31.255.255"));
	CHECK(!range_has("172.16.0.0/12", "172.32.0.0"));
	CHECK(range_has("1.2.3.4", "1.2.3.4"));
	CHECK(!range_has("1.2.3.4/32", "1.2.3.5"));
	CHECK(range_has("0.0.0.0/0", "1.2.3.5"));
	CHECK(!range_has("0.0.0.0/0", "::1"));
	CHECK(!range_has("::/0", "1.2.3.4"));
	CHECK(range_has("fd00::/8", "fdff::1"));
	CHECK(range_has("[fc00::]/7", "fdff::1"));
	CHECK(!range_has("fc00::/7", "fe00::"));
	CHECK(range_has("[::1]", "::1"));
	CHECK(range_has("::1/128", "::1"));
	CHECK(!range_has("::1/128", "::"));
	CHECK(range_has("10.0.0.0/8", "::ffff:10.1.2.3"));
	CHECK(!range_has("10.0.0.0/8", "a00::"));
	CHECK(!range_has("10.0.0.0/8", "example.com"));
}

TEST(malformed_ranges_are_refused)
{
	static const char *const bad[] = {
		"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08",
		"10.0.0.1/8", "10/8", "10.0.0.0/8/8", "10.0.0.0/ 8", "fd00::/129",
		"fd00::1/8", "[fd00::/8]", "[fd00::", "[10.0.0.0]/33", "a.b",
		"a.b/8", "10.0.0.0/1000", "10.0.0.0/-1", "::ffff:0:0/96",
		"::ffff:10.0.0.0/104", "10.0.0.0/4294967304", "10.0.0.0/1:",
		"110.0.0.0]/8", "[10.0.0.0/8", "[]/8", "[]", "]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct host_range r = { .bits = 42 };

		if (host_range_parse(bad[i], strlen(bad[i]), &r) != -EINVAL)
			test_fail(__FILE__, __LINE__, "'%s' was accepted",
				  bad[i]);
		CHECK_INT(r.bits, 42);
	}
}
