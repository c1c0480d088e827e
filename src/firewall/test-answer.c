/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/test-answer.c - DNS questions of ours, and answers of all kinds */

#include "firewall/answer.h"

#include <errno.h>

#include "test.h"

enum { ID = 0x1234 };

static const uint8_t head[] = {
	0x12, 0x34, 0x81, 0x80, 0, 1, 0, 2, 0, 0, 0, 0,
	1, 'a', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1,
};
/* An alias, then an address under another name */
static const uint8_t records[] = {
	0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0, 4, 1, 'b', 0xc0, 14,
	1, 'b', 0xc0, 14, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7,
};

static size_t message(uint8_t *p)
{
	memcpy(p, head, sizeof(head));
	memcpy(p + sizeof(head), records, sizeof(records));
	return sizeof(head) + sizeof(records);
}

TEST(a_question_is_what_it_must_be)
{
	uint8_t out[ANSWER_QUESTION_MAX];
	uint8_t want[sizeof(head)];

	memcpy(want, head, sizeof(head));
	want[2] = 1;
	want[3] = 0;
	want[7] = 0;
	CHECK_INT(answer_question("a.test", HOST_IPV4, ID, out),
		  sizeof(head));
	CHECK(!memcmp(out, want, sizeof(want)));
	CHECK_INT(answer_question("a.test", HOST_IPV6, ID, out),
		  sizeof(head));
	CHECK_INT(out[sizeof(head) - 3], 28);
}

TEST(the_longest_name_fits)
{
	uint8_t out[ANSWER_QUESTION_MAX];
	char name[HOST_NAME_MAX_LEN + 1];
	struct host h;

	memset(name, 'a', sizeof(name));
	name[63] = name[127] = name[191] = '.';
	name[HOST_NAME_MAX_LEN] = '\0';
	CHECK_INT(host_parse(name, HOST_NAME_MAX_LEN, 0, &h), 0);
	CHECK_INT(answer_question(h.name, HOST_IPV4, ID, out), sizeof(out));
}

TEST(addresses_behind_an_alias_count)
{
	uint8_t p[sizeof(head) + sizeof(records)];
	struct resolver_answer a = { .len = 0 };

	CHECK_INT(answer_read(p, message(p), HOST_IPV4, ID, &a), 0);
	CHECK_INT(a.len, 1);
	CHECK_STR(a.v[0].name, "192.0.2.7");
}

TEST(records_of_the_other_family_do_not)
{
	uint8_t p[sizeof(head) + sizeof(records)];
	struct resolver_answer a = { .len = 0 };

	CHECK_INT(answer_read(p, message(p), HOST_IPV6, ID, &a), 0);
	CHECK_INT(a.len, 0);
}

TEST(what_is_cut_short_is_refused_everywhere)
{
	uint8_t p[sizeof(head) + sizeof(records)];
	const size_t n = message(p);

	for (size_t i = 0; i < n; i++) {
		struct resolver_answer a = { .len = 0 };

		CHECK_INT(answer_read(p, i, HOST_IPV4, ID, &a), -EBADMSG);
	}
}

TEST(codes_and_flags)
{
	static const struct {
		size_t at;
		uint8_t value;
		int want;
	} rows[] = {
		{ 3, 0x83, -ENOENT }, { 3, 0x82, -EAGAIN }, { 3, 0x85, -EAGAIN },
		{ 2, 0x83, -EMSGSIZE }, { 2, 0x01, -EBADMSG },
		{ 1, 0x35, -EBADMSG }, { 5, 2, -EBADMSG },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t p[sizeof(head) + sizeof(records)];
		const size_t n = message(p);
		struct resolver_answer a = { .len = 0 };

		p[rows[i].at] = rows[i].value;
		CHECK_INT(answer_read(p, n, HOST_IPV4, ID, &a), rows[i].want);
	}
}

TEST(the_room_has_an_end)
{
	uint8_t p[sizeof(head) + 70 * 16];
	struct resolver_answer a = { .len = 0 };

	memcpy(p, head, sizeof(head));
	p[7] = 70;
	for (size_t i = 0; i < 70; i++)
		memcpy(p + sizeof(head) + i * 16, (const uint8_t[]){
			0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 10, 0, 0,
			(uint8_t)i }, 16);
	CHECK_INT(answer_read(p, sizeof(p), HOST_IPV4, ID, &a), 0);
	CHECK_INT(a.len, ANSWER_ADDRESSES_MAX);
}
