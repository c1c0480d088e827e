/* SPDX-License-Identifier: Apache-2.0 */
/* plan/test-jail.c - the addresses that a jail reaches */

#include "plan/jail.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "policy/policy.h"
#include "test.h"

static struct policy *make(enum net_mode mode, const char *const *open)
{
	struct policy *p = policy_new("/p", "/h");
	const struct source *flag = policy_add_source(p, SCOPE_FLAG,
		"--allow-ip", NULL, 0, "/");

	policy_set_net(p, mode, origin_make(flag, NULL, NULL));
	for (; open && *open; open++)
		policy_add_string(p, LIST_ALLOW_IPS, *open,
				  origin_make(flag, NULL, NULL), NULL);
	return p;
}

static bool reaches(const struct jail *jail, const char *text)
{
	struct host host;

	CHECK_INT(host_parse(text, strlen(text), 443, &host), 0);
	return !jail_find(jail, &host);
}

TEST(private_addresses_are_unreachable_in_a_jail)
{
	static const char *const near[] = {
		"10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255",
		"192.168.0.1", "100.64.0.1", "100.127.255.255",
		"169.254.169.254", "224.0.0.251", "255.255.255.255",
		"fc00::1", "fdff::1", "fe80::1", "ff02::fb",
		"64:ff9b::a01:203", "64:ff9b::a9fe:a9fe", "168.63.129.16",
		"192.0.0.192", "2002:a01:203::1", "2002:c0a8:101::1",
	};
	static const char *const far[] = {
		"9.255.255.255", "11.0.0.0", "172.15.0.1", "172.32.0.1",
		"192.167.1.1", "100.128.0.1", "1.1.1.1", "2001:db8::1",
		"64:ff9b::808:808", "fbff::1",
	};
	auto_policy struct policy *p = make(NET_JAIL, NULL);
	struct jail jail = { 0 };

	CHECK_INT(jail_plan(p, "nameserver 1.1.1.1\n", &jail, NULL), 0);
	CHECK(jail.on && jail.forward4 && !jail.forward6);
	for (size_t i = 0; i < sizeof(near) / sizeof(*near); i++)
		CHECK(!reaches(&jail, near[i]));
	for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++)
		CHECK(reaches(&jail, far[i]));
	jail_done(&jail);
}

TEST(only_allowed_private_addresses_are_reachable)
{
	static const char *const open[] = {
		"10.1.2.3", "10.1.0.0/16", "10.1.2.3", "192.168.0.0/16",
		"fd00::/8", NULL,
	};
	auto_policy struct policy *p = make(NET_JAIL, open);
	struct jail jail = { 0 };

	CHECK_INT(jail_plan(p, "", &jail, NULL), 0);
	CHECK(reaches(&jail, "10.1.2.3") && reaches(&jail, "10.1.255.1"));
	CHECK(!reaches(&jail, "10.2.0.1"));
	CHECK(reaches(&jail, "192.168.1.1"));
	CHECK(reaches(&jail, "fd00::1") && !reaches(&jail, "fc00::1"));
	jail_done(&jail);
}

TEST(a_wider_allowed_range_includes_narrower_reserved_ones)
{
	static const char *const open[] = { "172.0.0.0/8", NULL };
	auto_policy struct policy *p = make(NET_JAIL_FILTERED, open);
	struct jail jail = { 0 };

	CHECK_INT(jail_plan(p, "", &jail, NULL), 0);
	CHECK(reaches(&jail, "172.16.0.1") && !reaches(&jail, "10.0.0.1"));
	jail_done(&jail);
}

TEST(resolvers_are_reached_through_pasta_only)
{
	static const struct {
		const char *text;
		bool v4, v6;
	} rows[] = {
		{ "", true, false },
		{ "nameserver 127.0.0.53\n", true, false },
		{ "nameserver ::1\noptions x\n", false, true },
		{ "# x\nsearch a\nnameserver\t10.0.0.2 \nnameserver nonsense\n"
		  "nameserver fd00::5", true, true },
		{ "nameserver fe80::1%eth0\n", true, false },
		{ "nameserver 169.254.169.254\n", true, false },
	};
	static const char *const near[] = {
		"10.0.0.2", "fd00::5", "169.254.169.254", "fe80::1",
	};
	auto_policy struct policy *p = make(NET_JAIL, NULL);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jail jail = { 0 };

		CHECK_INT(jail_plan(p, rows[i].text, &jail, NULL), 0);
		CHECK_INT(jail.forward4, rows[i].v4);
		CHECK_INT(jail.forward6, rows[i].v6);
		CHECK_INT(reaches(&jail, JAIL_FORWARD4), rows[i].v4);
		CHECK_INT(reaches(&jail, JAIL_FORWARD6), rows[i].v6);
		for (size_t k = 0; k < sizeof(near) / sizeof(*near); k++)
			CHECK(!reaches(&jail, near[k]));
		jail_done(&jail);
	}
}

TEST(an_allowed_resolver_address_is_reachable)
{
	static const char *const open[] = { "10.0.0.2", NULL };
	auto_policy struct policy *p = make(NET_JAIL, open);
	struct jail jail = { 0 };

	CHECK_INT(jail_plan(p, "nameserver 10.0.0.2\n", &jail, NULL), 0);
	CHECK(reaches(&jail, "10.0.0.2") && !reaches(&jail, "10.0.0.3"));
	jail_done(&jail);
}

TEST(invalid_ranges_are_refused_in_every_mode)
{
	static const char *const bad[] = {
		"10.0.0.0/33", "10.0.0.1/8", "0.0.0.0/0", "::/0", "host.name",
		"10.0.0", "",
	};
	static const enum net_mode modes[] = { NET_JAIL, NET_FILTERED };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		for (size_t j = 0; j < 2; j++) {
			const char *const open[] = { bad[i], NULL };
			auto_policy struct policy *p = make(modes[j], open);
			struct jail jail = { 0 };
			struct err err = { 0 };

			CHECK_INT(jail_plan(p, "", &jail, &err), -EINVAL);
			CHECK(strstr(err.msg, "--allow-ip"));
			jail_done(&jail);
		}
	}
}

TEST(other_network_modes_have_no_jail)
{
	auto_policy struct policy *p = make(NET_FILTERED, NULL);
	struct jail jail = { 0 };

	CHECK_INT(jail_plan(p, "", &jail, NULL), 0);
	CHECK(!jail.on && !jail.len);
	jail_done(&jail);
}
