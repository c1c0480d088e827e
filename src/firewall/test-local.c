/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/test-local.c - parsing of resolv.conf and of the kernel's routes */

#include "firewall/firewall.h"

#include <linux/rtnetlink.h>

#include "base/netlink.h"
#include "test.h"

static struct host host(const char *text)
{
	struct host h;

	if (host_parse(text, strlen(text), 0, &h) < 0)
		test_fail(__FILE__, __LINE__, "'%s' is no host", text);
	return h;
}

static bool has(const struct range_list *list, const char *text)
{
	const struct host h = host(text);

	return range_list_has(list, &h);
}

TEST(resolv_conf_lists_name_servers_except_loopback)
{
	struct range_list list = { 0 };

	local_parse_resolvers("# nameserver 9.9.9.9\nsearch a b\n"
			      "nameserver 10.0.0.1\nnameserver\t127.0.0.53\n"
			      "  nameserver fe80::1%eth0 \nnameserver ::1\n"
			      "nameserver dns.test\nnameserver\nnameserver 1.2.3\n"
			      "nameserver 10.0.0.2", &list);
	CHECK_INT(list.len, 3);
	CHECK(has(&list, "10.0.0.1"));
	CHECK(has(&list, "10.0.0.2"));
	CHECK(has(&list, "fe80::1"));
	range_list_done(&list);
}

TEST(upstream_servers_of_dockers_resolver_are_listed)
{
	struct range_list list = { 0 };

	local_parse_resolvers("nameserver 127.0.0.11\noptions ndots:0\n\n"
			      "# Based on host file: '/etc/resolv.conf' (internal resolver)\n"
			      "# ExtServers: [10.0.0.1 host(127.0.0.53) fd00::1 host(10.0.0.2)]\n"
			      "# Overrides: [10.0.0.3]\n# ExtServers: []\n"
			      "# ExtServers: [10.0.0.4]\n", &list);
	CHECK_INT(list.len, 3);
	CHECK(has(&list, "10.0.0.1"));
	CHECK(has(&list, "fd00::1"));
	CHECK(has(&list, "10.0.0.4"));
	range_list_done(&list);
}

/* What the kernel says of a route */
static void take_route(uint8_t bits, uint8_t table, const char *gateway,
		       struct range_list *list)
{
	struct netlink q = { 0 };
	struct rtmsg *route = netlink_add(&q, RTM_NEWROUTE, 0, sizeof(*route));
	const uint32_t priority = 100;

	route->rtm_dst_len = bits;
	route->rtm_table = table;
	netlink_add_attribute(&q, RTA_PRIORITY, &priority, sizeof(priority));
	if (gateway) {
		const struct host h = host(gateway);

		netlink_add_attribute(&q, RTA_GATEWAY, h.address,
				      h.kind == HOST_IPV4 ? 4 : 16);
	}
	CHECK_INT(local_take_route(&q.head, list), 0);
}

TEST(gateways_of_default_routes_are_listed)
{
	struct range_list list = { 0 };

	take_route(0, RT_TABLE_MAIN, "10.1.2.3", &list);
	take_route(8, RT_TABLE_MAIN, "10.1.1.1", &list);
	take_route(0, RT_TABLE_LOCAL, "10.1.1.2", &list);
	take_route(0, RT_TABLE_MAIN, NULL, &list);
	CHECK_INT(list.len, 1);
	CHECK(has(&list, "10.1.2.3"));
	take_route(0, RT_TABLE_MAIN, "fd00::1", &list);
	take_route(64, RT_TABLE_MAIN, NULL, &list);
	CHECK_INT(list.len, 2);
	CHECK(has(&list, "fd00::1"));
	range_list_done(&list);
}

TEST(a_name_never_allows_link_local_and_metadata_addresses)
{
	static const char *const never[] = {
		"169.254.169.254", "169.254.1.1", "100.100.100.200", "0.0.0.0",
		"224.0.0.1", "255.255.255.255", "fe80::1", "fd00:ec2::254",
		"ff02::1", "::", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
	};
	static const char *const fine[] = {
		"8.8.8.8", "127.0.0.1", "192.0.2.1", "2001:db8::1",
		"64:ff9b::808:808",
	};
	static const char *const private[] = {
		"10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1",
		"fd00::1", "64:ff9b::a00:1",
	};
	const struct host public = host("api.example.org");
	const struct host own = host("nas.local"), single = host("redis");

	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++) {
		const struct host h = host(never[i]);

		if (!names_guard(&public, &h) || !names_guard(&own, &h))
			test_fail(__FILE__, __LINE__, "%s passes", never[i]);
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
		const struct host h = host(fine[i]);

		if (names_guard(&public, &h))
			test_fail(__FILE__, __LINE__, "%s is stopped", fine[i]);
	}
	for (size_t i = 0; i < sizeof(private) / sizeof(*private); i++) {
		const struct host h = host(private[i]);

		CHECK(names_guard(&public, &h));
		CHECK(!names_guard(&own, &h) && !names_guard(&single, &h));
	}
}
