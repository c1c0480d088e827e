/* SPDX-License-Identifier: Apache-2.0 */
/* report/test-ring.c - the ring of records and the rate limit */

#include "report/ring.h"

#include "test.h"

static struct violation record(char *target, char *exe)
{
	return (struct violation) { .kind = VIOLATION_FS_WRITE,
				    .target = target, .exe = exe };
}

TEST(repeats_of_kind_target_and_program_are_counted)
{
	char etc[] = "/etc/x", node[] = "node", sh[] = "sh";
	struct ring ring = { 0 };
	struct ring_entry *first, *out;
	struct violation v = record(etc, node);

	first = ring_add(&ring, &v, &out);
	CHECK_INT(first->v.count, 1);
	CHECK(ring_add(&ring, &v, &out) == first);
	CHECK_INT(first->v.count, 2);

	v.exe = sh;
	CHECK(ring_add(&ring, &v, &out) != first);
	v.exe = NULL;
	CHECK(ring_add(&ring, &v, &out) != first);
	v = record(etc, node);
	v.kind = VIOLATION_FS_READ;
	CHECK(ring_add(&ring, &v, &out) != first);
	v = record(node, node);
	CHECK(ring_add(&ring, &v, &out) != first);
	CHECK_INT(ring.len, 5);
	ring_done(&ring);
}

TEST(record_101_evicts_the_oldest)
{
	struct ring ring = { 0 };
	struct ring_entry *out;
	char name[16];

	for (int i = 0; i < RING_MAX; i++) {
		struct violation v = record(name, NULL);

		snprintf(name, sizeof(name), "%d", i);
		ring_add(&ring, &v, &out);
		CHECK(!out);
	}
	struct violation v = record(name, NULL);

	snprintf(name, sizeof(name), "more");
	ring_add(&ring, &v, &out);
	CHECK(out);
	CHECK_STR(out->v.target, "0");
	ring_entry_free(out);
	CHECK_INT(ring.len, RING_MAX);
	CHECK_STR(ring.v[0]->v.target, "1");
	CHECK_STR(ring.v[RING_MAX - 1]->v.target, "more");
	ring_done(&ring);
}

TEST(at_most_50_lines_a_second_pass)
{
	struct rate rate = { 0 };

	for (int i = 0; i < RATE_LINES; i++)
		CHECK(rate_take(&rate, 1000 + i));
	CHECK(!rate_take(&rate, 1999));
	CHECK(rate_take(&rate, 2000));
}
