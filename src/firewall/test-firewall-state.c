/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/test-firewall-state.c - the state of a table from the output of nft */

#include "firewall/firewall.h"

#include "base/err.h"
#include "base/json.h"
#include "test.h"

static struct state read_state(const char *text)
{
	struct err err = { 0 };
	json_t *list = json_parse(text, strlen(text), "nft", &err);
	struct state s;

	if (!list)
		test_fail(__FILE__, __LINE__, "%s", err.msg);
	state_parse(list, &s);
	json_decref(list);
	return s;
}

TEST(our_table_is_recognised_with_its_counters)
{
	struct state s = read_state("[{\"metainfo\": {}}, {\"table\": {\"name\": \"cloche\"}},"
		"{\"chain\": {\"name\": \"allowed\"}},"
		"{\"chain\": {\"name\": \"since_1000_42\"}},"
		"{\"counter\": {\"name\": \"refused_dns\", \"packets\": 2, \"bytes\": 90}},"
		"{\"counter\": {\"name\": \"refused_ipv6\", \"packets\": 3, \"bytes\": 240}},"
		"{\"counter\": {\"name\": \"other\", \"packets\": 7}},"
		"{\"set\": {\"name\": \"names4\", \"elem\": [\"192.0.2.1\","
		"  {\"elem\": {\"val\": \"192.0.2.2\", \"comment\": \"a\"}}]}},"
		"{\"set\": {\"name\": \"resolvers4\", \"elem\": [\"10.0.0.1\"]}},"
		"{\"set\": {\"name\": \"ranges6\", \"elem\": [{\"prefix\":"
		"  {\"addr\": \"2001:db8::\", \"len\": 32}}]}}]");

	CHECK_INT(s.mode, FIREWALL_UP);
	CHECK_STR(s.ruleset.id, "since_1000_42");
	CHECK_INT(s.since, 1000);
	CHECK_INT(s.sets, 3);
	CHECK_INT(s.elements, 4);
	CHECK_INT(state_refused(&s), 5);
	CHECK_INT(s.bytes[2], 240);
	CHECK_INT(s.ruleset.sets[SET_NAMES].len, 2);
	CHECK_INT(s.ruleset.sets[SET_RANGES].len, 1);
	CHECK_INT(s.ruleset.sets[SET_RANGES].v[0].range.bits, 32);
	state_done(&s);
}

TEST(deny_all_and_foreign_tables_are_recognised)
{
	struct state s = read_state("[{\"chain\": {\"name\": \"since_5_1\"}}]");

	CHECK_INT(s.mode, FIREWALL_DENY_ALL);
	s = read_state("[{\"chain\": {\"name\": \"allowed\"}}]");
	CHECK_INT(s.mode, FIREWALL_FOREIGN);
	s = read_state("[]");
	CHECK_INT(s.mode, FIREWALL_FOREIGN);
	s = read_state("[{\"chain\": 7}, {\"set\": []}, {\"set\": {\"elem\": {}}}, 4]");
	CHECK_INT(s.mode, FIREWALL_FOREIGN);
}

TEST(state_time_prints_ISO_8601)
{
	char text[32];

	state_time(1767323045, text);
	CHECK_STR(text, "2026-01-02T03:04:05Z");
}
