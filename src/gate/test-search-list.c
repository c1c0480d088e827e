/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-search-list.c - names that a C library makes from its search list */

#include "test.h"

#include <string.h>

#include "gate/dns-server.h"
#include "policy/host.h"

static const char *stem(const char *conf, const char *hostname,
			const char *name)
{
	static struct host ret;
	struct search_list search;
	struct host host;
	size_t at = 0;

	CHECK_INT(host_parse(name, strlen(name), 0, &host), 0);
	search_list_parse(&search, conf, hostname);
	return search_list_next(&search, &at, &host, &ret) ? ret.name : "";
}

TEST(a_name_below_a_search_domain_yields_its_stem)
{
	const char *conf = "nameserver 192.0.2.1\nsearch a.test Corp.Test.\t\n"
			   "options ndots:5\n";

	CHECK_STR(stem(conf, "x", "good.test.corp.test"), "good.test");
	CHECK_STR(stem(conf, "x", "app.a.test"), "app");
	CHECK_STR(stem(conf, "x", "corp.test"), "");
	CHECK_STR(stem(conf, "x", "good.xcorp.test"), "");
	CHECK_STR(stem(conf, "x", "good.test"), "");
}

TEST(the_last_search_line_applies_or_else_the_machines_domain)
{
	CHECK_STR(stem("search a.test\ndomain b.test", "x", "n.a.test"), "");
	CHECK_STR(stem("search a.test\ndomain b.test", "x", "n.b.test"), "n");
	CHECK_STR(stem("searching a.test\n", "x", "n.a.test"), "");
	CHECK_STR(stem("", "me.own.test", "n.own.test"), "n");
	CHECK_STR(stem("search a.test\n", "me.own.test", "n.own.test"), "");
	CHECK_STR(stem("search\n", "x", "n.a.test"), "");
}

TEST(all_search_domains_are_tried_unless_the_list_is_too_long)
{
	char conf[SEARCH_LIST_TEXT_MAX + 16] = "search ";
	struct search_list search;
	struct host host, found;
	size_t at = 0;

	CHECK_INT(host_parse("n.a.b.test", 10, 0, &host), 0);
	search_list_parse(&search, "search b.test a.b.test\n", "x");
	CHECK(search_list_next(&search, &at, &host, &found));
	CHECK_STR(found.name, "n.a");
	CHECK(search_list_next(&search, &at, &host, &found));
	CHECK_STR(found.name, "n");
	CHECK(!search_list_next(&search, &at, &host, &found));
	memset(conf + 7, 'a', SEARCH_LIST_TEXT_MAX);
	search_list_parse(&search, conf, "x");
	CHECK_STR(search.text, "");
}
