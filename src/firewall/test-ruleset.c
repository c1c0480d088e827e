/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firewall/test-ruleset.c - the text for nft, against what stands in
 * tests/cases/firewall; CASES_WRITE=1 writes it anew
 */

#include "firewall/firewall.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/own.h"
#include "test.h"

static struct host host(const char *text)
{
	struct host h;

	if (host_parse(text, strlen(text), 0, &h) < 0)
		test_fail(__FILE__, __LINE__, "'%s' is no host", text);
	return h;
}

static void add(struct range_list *list, const char *text)
{
	struct host_range range;

	if (host_range_parse(text, strlen(text), &range) < 0)
		test_fail(__FILE__, __LINE__, "'%s' is no range", text);
	CHECK_INT(range_list_add(list, &range), 0);
}

static void name(struct ruleset *r, const char *n, const char *address)
{
	const struct host h = host(address);

	CHECK_INT(range_list_note(&r->sets[SET_NAMES], n, &h, 0), 1);
}

static void same(const char *file, const struct buf *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", CASES, file);
	if (getenv("CASES_WRITE"))
		test_write(path, buf_str(text));
	CHECK_STR(buf_str(text), test_read(path));
}

static void full(struct ruleset *r)
{
	snprintf(r->id, sizeof(r->id), RULESET_MARK "1000_42");
	name(r, "api.test", "192.0.2.10");
	name(r, "api.test", "2001:db8::10");
	name(r, "git.test", "192.0.2.11");
	add(&r->sets[SET_RANGES], "198.51.100.0/24");
	add(&r->sets[SET_RANGES], "2001:db8:1::/48");
	add(&r->sets[SET_LAN], "10.0.0.0/24");
	add(&r->sets[SET_RESOLVERS], "10.0.0.1");
}

TEST(a_full_ruleset_matches_full_nft)
{
	auto_buf struct buf out = { 0 };
	struct ruleset r = { 0 };

	full(&r);
	ruleset_write(&r, &out);
	same("full.nft", &out);
	ruleset_done(&r);
}

TEST(a_ruleset_with_empty_sets_is_valid)
{
	auto_buf struct buf out = { 0 };
	struct ruleset r = { .id = RULESET_MARK "1_1" };

	add(&r.sets[SET_RANGES], "2001:db8::/32");
	ruleset_write(&r, &out);
	same("one-range.nft", &out);
	ruleset_done(&r);
}

TEST(a_deny_all_ruleset_has_no_accept_rule)
{
	auto_buf struct buf out = { 0 };
	struct ruleset r = { 0 };

	full(&r);
	r.deny_all = true;
	ruleset_write(&r, &out);
	same("deny-all.nft", &out);
	CHECK(!strstr(buf_str(&out), "192.0.2.10"));
	CHECK(!strstr(buf_str(&out), RULESET_OPEN));
	ruleset_done(&r);
}

TEST(an_update_in_place_replaces_the_sets)
{
	auto_buf struct buf out = { 0 };
	struct ruleset r = { .id = RULESET_MARK "1_2" };

	add(&r.sets[SET_RANGES], "2001:db8::/32");
	ruleset_write_over(&r, RULESET_MARK "1_1", &out);
	same("over.nft", &out);
	CHECK(!strstr(buf_str(&out), "delete table"));
	ruleset_done(&r);
}

TEST(an_update_names_its_table)
{
	auto_buf struct buf out = { 0 };
	struct ruleset r = { 0 };

	full(&r);
	ruleset_write_names(&r, &out);
	same("update.nft", &out);
	ruleset_done(&r);
}

TEST(removal_deletes_the_table)
{
	auto_buf struct buf out = { 0 };

	ruleset_write(NULL, &out);
	CHECK_STR(buf_str(&out), "table inet cloche\ndelete table inet cloche\n");
}

TEST(overlapping_ranges_are_merged)
{
	static const char *const given[] = {
		"10.0.1.0/24", "2001:db8::/32", "10.0.0.0/8", "10.0.0.0/8",
		"11.0.0.0/8", "10.255.255.255", "2001:db8:5::1", "9.0.0.1",
		"::/0",
	};
	struct range_list list = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		add(&list, given[i]);
	range_list_tidy(&list);
	CHECK_INT(list.len, 4);
	CHECK_INT(list.v[0].range.address[0], 9);
	CHECK_INT(list.v[1].range.bits, 8);
	CHECK_INT(list.v[2].range.address[0], 11);
	CHECK_INT(list.v[3].range.kind, HOST_IPV6);
	CHECK_INT(list.v[3].range.bits, 0);
	range_list_done(&list);
	range_list_tidy(&list);
	CHECK_INT(list.len, 0);
}

TEST(a_range_list_stops_at_its_limit)
{
	struct range_list ranges = { 0 };
	struct range_list names = { 0 };
	struct host h = host("10.0.0.0");

	for (int i = 0; i < RULESET_RANGES_MAX; i++)
		CHECK_INT(range_list_add_host(&ranges, &h), 0);
	CHECK_INT(range_list_add_host(&ranges, &h), -E2BIG);
	for (int i = 0; i < RULESET_ADDRESSES_MAX; i++) {
		h.address[2] = (uint8_t)(i >> 8);
		h.address[3] = (uint8_t)i;
		CHECK_INT(range_list_note(&names, "a", &h, i), 1);
	}
	CHECK_INT(range_list_note(&names, "a", &h, 0), 0);
	h.address[1] = 1;
	CHECK_INT(range_list_note(&names, "a", &h, 0), -E2BIG);
	range_list_done(&ranges);
	range_list_done(&names);
}

TEST(expired_addresses_of_a_name_are_removed)
{
	struct range_list names = { 0 };
	const struct host a = host("192.0.2.1"), b = host("192.0.2.2");

	CHECK_INT(range_list_note(&names, "a", &a, 10), 1);
	CHECK_INT(range_list_note(&names, "a", &b, 10), 1);
	CHECK_INT(range_list_note(&names, "b", &b, 20), 0);
	CHECK_INT(range_list_expire(&names, 10), 0);
	CHECK_INT(range_list_expire(&names, 11), 1);
	CHECK(!range_list_has(&names, &a));
	CHECK(range_list_has(&names, &b));
	range_list_done(&names);
}
