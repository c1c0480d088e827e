/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-fake-ip.c - the pool of addresses that stand for names */

#include "gate/fake-ip.h"

#include <errno.h>

#include "base/own.h"
#include "ipc/listener.h"
#include "test.h"

/* Of the sandbox's own interface */
#define SELF_V4	"198.18.0.1"
#define SELF_V6	"fd63:6c6f:6368:6500::1"

/* It is never given back: reachable to the end, so that nothing leaks */
static struct fake_ip *new_pool(void)
{
	static struct fake_ip *pool;

	return pool = fake_ip_new();
}

static struct host host(const char *text)
{
	struct host h;

	CHECK_INT(host_parse(text, strlen(text), 443, &h), 0);
	return h;
}

static struct host v4(int number)
{
	uint8_t p[4];
	struct host h;

	fake_ip_v4(number, p);
	host_of_address(p, 4, 443, &h);
	return h;
}

static struct host v6(int number)
{
	uint8_t p[16];
	struct host h;

	fake_ip_v6(number, p);
	host_of_address(p, 16, 443, &h);
	return h;
}

TEST(a_name_has_one_address_of_each_family)
{
	struct fake_ip *pool = new_pool();
	const struct host a = host("a.test"), b = host("b.test");
	struct host address, name;

	CHECK_INT(fake_ip_number(pool, &b), 0);
	CHECK_INT(fake_ip_number(pool, &a), 1);
	CHECK_INT(fake_ip_number(pool, &b), 0);
	address = v4(1);
	CHECK_STR(address.name, "198.18.1.1");
	CHECK_INT(fake_ip_name(pool, &address, &name), 0);
	CHECK_STR(name.name, "a.test");
	CHECK_INT(name.port, 443);
	CHECK_INT(name.kind, HOST_NAME);
	address = v6(0);
	CHECK_STR(address.name, "fd63:6c6f:6368:6500::100");
	CHECK_INT(fake_ip_name(pool, &address, &name), 0);
	CHECK_STR(name.name, "b.test");
}

TEST(the_interfaces_own_addresses_are_never_assigned_to_a_name)
{
	static const uint8_t own4[4] = LISTENER_OWN_IPV4;
	static const uint8_t own6[16] = LISTENER_OWN_IPV6;
	struct host h;

	host_of_address(own4, sizeof(own4), 443, &h);
	CHECK_STR(h.name, SELF_V4);
	host_of_address(own6, sizeof(own6), 443, &h);
	CHECK_STR(h.name, SELF_V6);
}

TEST(unassigned_addresses_have_no_name)
{
	static const char *const none[] = {
		"198.18.1.1", "198.18.0.0", SELF_V4, "198.18.0.255",
		"198.19.1.0", "198.17.1.0", "198.20.1.0", "10.0.1.0", "1.1.1.1",
		SELF_V6, "fd63:6c6f:6368:6500::101",
		"fd63:6c6f:6368:6500:1::100", "fd63:6c6f:6368:6501::100",
		"fd63:6c6f:6368:6500::1:100", "::100", "a.test",
	};
	struct fake_ip *pool = new_pool();
	const struct host a = host("a.test");
	struct host name = { .port = 42 }, address;

	CHECK_INT(fake_ip_number(pool, &a), 0);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		address = host(none[i]);
		CHECK_INT(fake_ip_name(pool, &address, &name), -ENOENT);
		CHECK_INT(name.port, 42);
	}
	address = v4(0);
	CHECK_INT(fake_ip_name(pool, &address, &name), 0);
}

TEST(every_address_of_the_pool_ranges_is_recognised)
{
	static const struct {
		const char *address;
		bool covered;
	} rows[] = {
		{ "198.18.0.0", true }, { "198.19.255.255", true },
		{ "198.17.255.255", false }, { "198.20.0.0", false },
		{ SELF_V4, true }, { SELF_V6, true },
		{ "fd63:6c6f:6368:6500:ffff:ffff:ffff:ffff", true },
		{ "fd63:6c6f:6368:6501::", false }, { "fd63::", false },
		{ "a.test", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct host h = host(rows[i].address);

		CHECK_INT(fake_ip_covers(&h), rows[i].covered);
	}
}

TEST(only_host_names_get_a_pool_address)
{
	struct fake_ip *pool = new_pool();
	const struct host h = host("1.2.3.4");

	CHECK_INT(fake_ip_number(pool, &h), -EINVAL);
}

/* In an order that is neither sorted nor reversed; all survive the last one */
TEST(a_full_pool_keeps_its_assignments)
{
	struct fake_ip *pool = new_pool();
	struct host h, address, name;
	char text[32];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < FAKE_IP_NAMES_MAX; i++) {
			snprintf(text, sizeof(text), "n%d.wild.test",
				 i * 2731 % FAKE_IP_NAMES_MAX);
			h = host(text);
			CHECK_INT(fake_ip_number(pool, &h), i);
			address = i % 2 ? v4(i) : v6(i);
			CHECK_INT(fake_ip_name(pool, &address, &name), 0);
			CHECK_STR(name.name, text);
		}
	}
	h = host("one.more.test");
	CHECK_INT(fake_ip_number(pool, &h), -ENOSPC);
	h = host("n0.wild.test");
	CHECK_INT(fake_ip_number(pool, &h), 0);
}
