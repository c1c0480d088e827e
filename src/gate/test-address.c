/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-address.c - where an allowed name may lead (P159 to P162) */

#include "gate/address.h"

#include <errno.h>
#include <netinet/in.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/policy.h"
#include "test.h"

static const char *const ranges[] = {
#define RANGE(range, use, what) range,
#define WRAPPED(range, byte, mask)
#include "policy/address-ranges.def"
#undef RANGE
#undef WRAPPED
};

static struct host host(const char *text)
{
	struct host h;

	if (host_parse(text, strlen(text), 443, &h) < 0)
		test_fail(__FILE__, __LINE__, "'%s' is no host", text);
	return h;
}

static void add(struct policy *p, enum string_list list, const char *text)
{
	struct err err = { 0 };

	if (policy_add_host(p, list, text, NULL, (struct origin){ 0 }, &err) <
	    0)
		test_fail(__FILE__, __LINE__, "%s", err.msg);
}

static const char *guard(const struct policy *p, const char *name,
			 const char *address)
{
	const struct host h = host(name), a = host(address);

	return address_guard(p, &h, &a, false);
}

TEST(public_addresses_are_allowed)
{
	static const char *const good[] = {
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255",
		"100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
		"169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0",
		"192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255",
		"192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255",
		"198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
		"2606:4700::1111", "2001:4860:4860::8888", "2001:db7:ffff::1",
		"2001:db9::1", "fbff::1", "2003::1", "64:ff9a::1", "101::1",
		/* Wrapped, but what is wrapped is public */
		"64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8",
		"2001:0:808:808::f7f7:f7f7", "::ffff:0:8.8.8.8",
	};
	auto_policy struct policy *p = policy_new("/", NULL);

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		const char *why = guard(p, "a.example", good[i]);

		if (why)
			test_fail(__FILE__, __LINE__, "%s %s", good[i], why);
	}
}

TEST(a_refused_address_is_named_by_its_kind)
{
	static const struct {
		const char *address, *word;
	} bad[] = {
		{ "127.0.0.1", "loopback" }, { "127.255.255.255", "loopback" },
		{ "::1", "loopback" }, { "0.0.0.0", "unspecified" },
		{ "0.1.2.3", "unspecified" }, { "::", "unspecified" },
		{ "10.0.0.1", "private" }, { "172.31.255.255", "private" },
		{ "192.168.0.1", "private" }, { "fd00::1", "private" },
		{ "fec0::1", "private" }, { "100.64.0.1", "shared" },
		{ "100.127.255.255", "shared" }, { "169.254.1.1", "link-local" },
		{ "fe80::1", "link-local" }, { "febf::1", "link-local" },
		{ "169.254.169.254", "metadata" }, { "100.100.100.200", "metadata" },
		{ "168.63.129.16", "metadata" }, { "192.0.0.192", "metadata" },
		{ "fd00:ec2::254", "metadata" }, { "169.254.170.2", "metadata" },
		{ "198.18.0.1", "benchmark" }, { "198.19.255.255", "benchmark" },
		{ "192.0.2.1", "documentation" }, { "2001:db8::1", "documentation" },
		{ "198.51.100.7", "documentation" },
		{ "203.0.113.255", "documentation" }, { "3fff::1", "documentation" },
		{ "192.88.99.1", "relay" }, { "192.0.0.8", "reserved" },
		{ "240.0.0.1", "reserved" }, { "224.0.0.251", "multicast" },
		{ "239.255.255.255", "multicast" }, { "ff02::1", "multicast" },
		{ "255.255.255.255", "broadcast" }, { "100::1", "discard" },
		{ "5f00::1", "segment" }, { "64:ff9b:1::1", "translation" },
		/* IPv4 in IPv6 clothes */
		{ "::ffff:127.0.0.1", "loopback" }, { "::ffff:10.0.0.1", "private" },
		{ "::127.0.0.1", "compatible" }, { "::8.8.8.8", "compatible" },
		{ "64:ff9b::7f00:1", "loopback" }, { "64:ff9b::a00:1", "private" },
		{ "64:ff9b::a9fe:a9fe", "metadata" }, { "2002:7f00:1::", "loopback" },
		{ "2002:c0a8:101::1", "private" }, { "2002:a9fe:a9fe::", "metadata" },
		{ "::ffff:0:127.0.0.1", "loopback" },
		/* Teredo: the client's address is stored inverted */
		{ "2001:0:808:808::80ff:fffe", "loopback" },
		{ "2001:0:808:808::f5ff:fffe", "private" },
		{ "2001:0:7f00:1::f7f7:f7f7", "loopback" },
	};
	auto_policy struct policy *p = policy_new("/", NULL);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *why = guard(p, "a.example", bad[i].address);

		if (!why || !strstr(why, bad[i].word))
			test_fail(__FILE__, __LINE__, "%s: %s", bad[i].address,
				  why ? why : "passed");
	}
}

/* Every row holds both of its edges, and opens to a rule that names it */
TEST(each_reserved_range_is_refused_at_its_edges)
{
	auto_policy struct policy *p = policy_new("/", NULL);

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct host_range r;
		struct host h = host("a.example"), first, last;
		uint8_t top[16];
		size_t n;

		if (host_range_parse(ranges[i], strlen(ranges[i]), &r) < 0)
			test_fail(__FILE__, __LINE__, "%s", ranges[i]);
		n = r.kind == HOST_IPV4 ? 4 : 16;
		memcpy(top, r.address, 16);
		for (size_t bit = r.bits; bit < n * 8; bit++)
			top[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
		host_of_address(r.address, n, 443, &first);
		host_of_address(top, n, 443, &last);
		if (!address_guard(p, &h, &first, false) ||
		    !address_guard(p, &h, &last, false))
			test_fail(__FILE__, __LINE__, "%s", ranges[i]);
	}
}

TEST(a_rule_that_names_the_address_allows_it)
{
	auto_policy struct policy *p = policy_new("/", NULL);

	add(p, HOST_ALLOW, "a.example");
	CHECK(guard(p, "a.example", "127.0.0.1"));
	add(p, HOST_ALLOW, "127.0.0.1");
	CHECK(!guard(p, "a.example", "127.0.0.1"));
	CHECK(!guard(p, "a.example", "::ffff:127.0.0.1"));
	CHECK(guard(p, "a.example", "127.0.0.2"));
	add(p, HOST_ALLOW, "10.0.0.0/8:443");
	CHECK(!guard(p, "a.example", "10.1.2.3"));
	add(p, HOST_ALLOW, "192.168.0.0/16:80");
	CHECK(guard(p, "a.example", "192.168.1.1"));
	add(p, HOST_ALLOW, "[fd00::1]");
	CHECK(!guard(p, "a.example", "fd00::1"));
	CHECK(guard(p, "a.example", "fd00::2"));
	add(p, HOST_ALLOW, "[64:ff9b::7f00:9]");
	CHECK(!guard(p, "a.example", "64:ff9b::7f00:9"));
	CHECK(guard(p, "a.example", "64:ff9b::7f00:8"));
}

TEST(denied_addresses_are_refused_despite_allow_rules)
{
	auto_policy struct policy *p = policy_new("/", NULL);

	add(p, HOST_ALLOW, "10.0.0.0/8");
	add(p, HOST_DENY, "10.9.0.0/16");
	add(p, HOST_DENY, "8.8.8.8");
	policy_add_string(p, LIST_DENIED_ADDRESSES, "1.1.1.0/24",
			  (struct origin){ 0 }, NULL);
	CHECK(!guard(p, "a.example", "10.1.1.1"));
	CHECK_CONTAINS(guard(p, "a.example", "10.9.1.1"), "deny list");
	CHECK_CONTAINS(guard(p, "a.example", "8.8.8.8"), "deny list");
	CHECK_CONTAINS(guard(p, "a.example", "1.1.1.1"), "deny list");
	CHECK_CONTAINS(guard(p, "a.example", "64:ff9b::808:808"), "deny list");
	CHECK(!guard(p, "a.example", "9.9.9.9"));
}

TEST(private_names_may_resolve_to_private_addresses)
{
	auto_policy struct policy *p = policy_new("/", NULL);
	static const char *const names[] = {
		"redis", "a.corp", "nas.local", "db.internal", "x.y.lan", "pi.home.arpa",
	};
	static const char *const publics[] = {
		"a.example", "local.example", "a.notlocal", "internal.com",
		"a.homearpa.net", "xlan.com", "a.test",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK(!guard(p, names[i], "10.0.0.1"));
		CHECK(!guard(p, names[i], "192.168.1.1"));
		CHECK(!guard(p, names[i], "fd12::1"));
		CHECK(guard(p, names[i], "127.0.0.1"));
		CHECK(guard(p, names[i], "169.254.169.254"));
		CHECK(guard(p, names[i], "fd00:ec2::254"));
		CHECK(guard(p, names[i], "0.0.0.0"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(publics); i++)
		CHECK(guard(p, publics[i], "10.0.0.1"));
	/* A literal is no name */
	CHECK(guard(p, "10.0.0.1", "10.0.0.1"));
}

TEST(localhost_resolves_to_loopback_only)
{
	auto_policy struct policy *p = policy_new("/", NULL);

	add(p, HOST_ALLOW, "localhost");
	CHECK(!guard(p, "localhost", "127.0.0.1"));
	CHECK(!guard(p, "localhost", "::1"));
	CHECK(!guard(p, "app.localhost", "127.0.0.2"));
	CHECK(guard(p, "localhost", "8.8.8.8"));
	CHECK(guard(p, "localhost", "10.0.0.1"));
	CHECK(guard(p, "localhost", "64:ff9b::7f00:1"));
	CHECK(guard(p, "localhost.example", "127.0.0.1"));
	add(p, HOST_DENY, "127.0.0.1");
	CHECK(guard(p, "localhost", "127.0.0.1"));
}

TEST(own_addresses_of_the_machine_are_refused)
{
	auto_policy struct policy *p = policy_new("/", NULL);
	const struct host mine[] = { host("8.8.4.4"), host("2606:4700::9"),
				     host("192.168.7.7") };
	const struct host name = host("a.example"), nas = host("nas");
	struct host other = host("8.8.4.5");

	CHECK(!address_guard(p, &name, &other, false));
	CHECK_CONTAINS(address_guard(p, &name, &mine[0], true), "this machine");
	CHECK_CONTAINS(address_guard(p, &name, &mine[1], true), "this machine");
	CHECK_CONTAINS(address_guard(p, &nas, &mine[2], true), "this machine");
	other = host("64:ff9b::808:404");
	CHECK_CONTAINS(address_guard(p, &name, &other, true), "this machine");
	add(p, HOST_ALLOW, "8.8.4.4");
	CHECK(!address_guard(p, &name, &mine[0], true));
}

TEST(a_resolved_value_that_is_not_an_address_is_refused)
{
	auto_policy struct policy *p = policy_new("/", NULL);

	CHECK(guard(p, "a.example", "b.example"));
}

static void check_round_trip(const char *text, socklen_t want)
{
	const struct host h = host(text);
	struct sockaddr_storage ss;
	struct host again;
	socklen_t len;

	CHECK_INT(address_to_sockaddr(&h, &ss, &len), 0);
	CHECK_INT(len, want);
	CHECK_INT(address_from_sockaddr((struct sockaddr *)&ss, len, &again),
		  0);
	CHECK(host_is_same(&h, &again) && again.port == 443);
}

TEST(socket_addresses_convert_to_hosts_and_back)
{
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6 };
	struct sockaddr_storage ss = { .ss_family = AF_UNIX };
	struct host h = host("a.example");
	socklen_t len;

	check_round_trip("1.2.3.4", sizeof(struct sockaddr_in));
	check_round_trip("2001:db8::1", sizeof(struct sockaddr_in6));
	CHECK_INT(address_to_sockaddr(&h, &ss, &len), -EAFNOSUPPORT);
	CHECK_INT(address_from_sockaddr((struct sockaddr *)&ss, sizeof(ss), &h),
		  -EAFNOSUPPORT);
	ss.ss_family = AF_INET6;
	CHECK_INT(address_from_sockaddr((struct sockaddr *)&ss,
					sizeof(struct sockaddr_in), &h),
		  -EAFNOSUPPORT);
	mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
	mapped.sin6_addr.s6_addr[12] = 10;
	CHECK_INT(address_from_sockaddr((struct sockaddr *)&mapped,
					sizeof(mapped), &h), 0);
	CHECK_STR(h.name, "10.0.0.0");
}
