/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/test-firewall-request.c - arguments of cloche firewall up */

#include "firewall/firewall.h"

#include <errno.h>

#include "base/err.h"
#include "base/own.h"
#include "test.h"

TEST(names_addresses_and_networks_are_accepted)
{
	static const char *const good[] = {
		"example.com", "EXAMPLE.com.", "10.0.0.0/8", "192.0.2.1",
		"2001:db8::/32", "::1", "0.0.0.0/0", "gateway",
	};
	struct firewall f = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		if (firewall_allow(&f, good[i], &err) < 0)
			test_fail(__FILE__, __LINE__, "%s: %s", good[i],
				  err.msg);
	}
	CHECK_INT(f.names.len, 2);
	CHECK_STR(f.names.v[0], "example.com");
	CHECK_INT(f.ranges.len, 5);
	firewall_done(&f);
}

TEST(bad_arguments_are_refused_and_change_nothing)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "10.0.0.1/8", "bits beyond" }, { "10.0.0.0/33", "network" },
		{ "10.0.0.0/", "network" }, { "/8", "network" },
		{ "*.example.com", "pattern" }, { "example.com:443", "ports" },
		{ "10.1.1.1:80", "ports" }, { "", "not a host name" },
		{ "a b", "not a host name" }, { "300.1.1.1", "not a host name" },
		{ "http://example.com", "network" }, { "a\"b", "not a host name" },
	};
	struct firewall f = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		CHECK_INT(firewall_allow(&f, rows[i].text, &err), -EINVAL);
		CHECK_CONTAINS(err.msg, rows[i].words);
	}
	CHECK_INT(f.names.len + f.ranges.len, 0);
	firewall_done(&f);
}

TEST(a_preset_stands_for_its_hosts)
{
	static const char *const names[] = { "anthropic", "npm", "github", "debian" };
	struct firewall f = { 0 };
	struct err err = { 0 };
	size_t before = 0;

	CHECK_INT(firewall_preset(&f, "npn", &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "anthropic, npm, github, debian");
	CHECK_INT(f.names.len, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_INT(firewall_preset(&f, names[i], &err), 0);
		CHECK(f.names.len > before);
		before = f.names.len;
	}
	/* Once more changes nothing */
	CHECK_INT(firewall_preset(&f, "github", &err), 0);
	CHECK_STR(f.fetch, "https://api.github.com/meta");
	CHECK_INT(f.names.len, before);
	CHECK_INT(f.ranges.len, 0);
	firewall_done(&f);
}

TEST(a_resolver_must_be_an_address)
{
	struct firewall f = { 0 };
	struct err err = { 0 };

	CHECK_INT(firewall_resolver(&f, "9.9.9.9", &err), 0);
	CHECK_INT(firewall_resolver(&f, "2620:fe::fe", &err), 0);
	CHECK_INT(firewall_resolver(&f, "dns.test", &err), -EINVAL);
	CHECK_INT(firewall_resolver(&f, "10.0.0.0/8", &err), -EINVAL);
	CHECK_INT(f.resolvers.len, 2);
	firewall_done(&f);
}

TEST(targets_have_ports_and_a_limit)
{
	struct firewall f = { 0 };
	struct err err = { 0 };

	CHECK_INT(firewall_target(&f.must, "example.com", &err), -EINVAL);
	CHECK_INT(firewall_target(&f.must, "[::1]:0", &err), -EINVAL);
	for (int i = 0; i < FIREWALL_TARGETS_MAX; i++)
		CHECK_INT(firewall_target(&f.must, "[2001:db8::1]:443", &err),
			  0);
	CHECK_INT(firewall_target(&f.must, "a:1", &err), -E2BIG);
	CHECK_INT(f.must.v[0].host.port, 443);
	firewall_done(&f);
}

TEST(a_plan_without_allow_is_refused)
{
	struct firewall f = { 0 };
	struct ruleset r = { 0 };
	struct err err = { 0 };

	CHECK_INT(firewall_plan(&f, &r, &err), -EINVAL);
	CHECK_CONTAINS(err.msg, "--allow");
	ruleset_done(&r);
}
