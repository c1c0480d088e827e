/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/test-ranges.c - files of networks, good and bad */

#include "firewall/firewall.h"

#include <errno.h>

#include "base/err.h"
#include "base/own.h"
#include "test.h"

static int parse(const char *text, struct range_list *list, struct err *err)
{
	*err = (struct err){ 0 };
	return ranges_parse(text, strlen(text), "file", list, err);
}

TEST(github_metadata_yields_the_lists_a_client_needs)
{
	struct range_list list = { 0 };
	struct err err;

	CHECK_INT(parse("{\"verifiable_password_authentication\": false,"
			"\"ssh_keys\": [\"ssh-ed25519 AAAA\"],"
			"\"hooks\": [\"192.0.2.0/24\"],"
			"\"web\": [\"198.51.100.0/24\", \"2001:db8::/32\"],"
			"\"api\": [\"203.0.113.5/32\"], \"git\": [],"
			"\"actions\": [\"4.0.0.0/8\"]}", &list, &err), 0);
	CHECK_INT(list.len, 3);
	range_list_done(&list);
}

TEST(an_unknown_document_yields_all_its_lists)
{
	struct range_list list = { 0 };
	struct err err;

	CHECK_INT(parse("{\"name\": \"us\", \"a\": [\"10.0.0.0/8\"], \"b\": [\"10.1.1.1\"]}",
			&list, &err), 0);
	CHECK_INT(list.len, 2);
	range_list_done(&list);
}

TEST(errors_in_range_documents_name_the_entry)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "", "file: is empty" },
		{ "[]", "not an object" },
		{ "{}", "no networks" },
		{ "{\"web\": []}", "no networks" },
		{ "{\"web\": \"10.0.0.0/8\"}", "'web' is not a list" },
		{ "{\"web\": [\n\"10.0.0.0/8\",\n \"10.0.0.1/8\"]}", "file:3:2: not a network" },
		{ "{\"web\": [\"10.0.0.0/33\"]}", "file:1:10: not a network" },
		{ "{\"web\": [7]}", "not a network" },
		{ "{\"keys\": [\"a b\"]}", "not a network" },
		{ "{\"web\": [\"10.0.0.0/8\"], \"web\": []}", "file:1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct range_list list = { 0 };
		struct err err;

		CHECK_INT(parse(rows[i].text, &list, &err), -EINVAL);
		CHECK_CONTAINS(err.msg, rows[i].words);
		range_list_done(&list);
	}
}

TEST(a_missing_file_is_named)
{
	struct firewall f = { 0 };
	struct err err = { 0 };

	CHECK_INT(firewall_allow_file(&f, "/nowhere/ranges.json", &err), -ENOENT);
	CHECK_CONTAINS(err.msg, "/nowhere/ranges.json");
}
