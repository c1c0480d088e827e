/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/test-icmp.c - ICMP errors for refused datagrams */

#include "gate/proto/icmp.h"

#include <string.h>

#include "ipc/listener.h"
#include "test.h"

enum { LEN = 20 + 8 + 20 + 4 };	/* And 8 + 40 + 4 */

/* From 198.18.0.1:40000 to 192.0.2.7:443 */
static void make_v4(uint8_t p[LEN])
{
	static const uint8_t ends[] = { 198, 18, 0, 1, 192, 0, 2, 7,
					0x9c, 0x40, 0x01, 0xbb };

	memset(p, 0, LEN);
	p[0] = p[28] = 0x45;
	p[20] = p[21] = 3;
	p[28 + 9] = 17;
	memcpy(p + 28 + 12, ends, sizeof(ends));
}

/* From fd00::1:40000 to 2001:db8::7:443 */
static void make_v6(uint8_t p[LEN])
{
	static const uint8_t ports[] = { 0x9c, 0x40, 0x01, 0xbb };

	memset(p, 0, LEN);
	p[0] = 1;
	p[1] = 4;
	p[8] = 0x60;
	p[8 + 6] = 17;
	memcpy(p + 8 + 8, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	memcpy(p + 8 + 24, "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\7", 16);
	memcpy(p + 8 + 40, ports, sizeof(ports));
}

TEST(a_port_unreachable_message_yields_both_addresses)
{
	struct listener_client c = { 0 };
	uint8_t four[LEN], six[LEN];

	make_v4(four);
	CHECK(icmp_refused(four, LEN, &c));
	CHECK_INT(c.family, 4);
	CHECK_INT(c.udp, 1);
	CHECK_INT(c.port, 40000);
	CHECK_INT(c.to_port, 443);
	CHECK(!memcmp(c.address, "\306\22\0\1", 4));
	CHECK(!memcmp(c.to, "\300\0\2\7", 4));
	make_v6(six);
	CHECK(icmp_refused(six, LEN, &c));
	CHECK_INT(c.family, 6);
	CHECK_INT(c.port, 40000);
	CHECK_INT(c.to_port, 443);
	CHECK(!memcmp(c.address, six + 16, 16));
	CHECK(!memcmp(c.to, six + 32, 16));
}

TEST(options_in_both_headers_are_stepped_over)
{
	struct listener_client c = { 0 };
	uint8_t plain[LEN], p[LEN + 8] = { 0 };

	make_v4(plain);
	memcpy(p, plain, 20);
	memcpy(p + 24, plain + 20, 28);
	memcpy(p + 56, plain + 48, 4);
	p[0] = p[32] = 0x46;
	CHECK(icmp_refused(p, sizeof(p), &c));
	CHECK_INT(c.port, 40000);
	CHECK_INT(c.to_port, 443);
}

TEST(truncated_and_other_icmp_messages_are_ignored)
{
	static const struct { int v6, at; uint8_t to; } other[] = {
		{ 0, 0, 0x44 }, { 0, 0, 0x4f }, { 0, 20, 11 }, { 0, 21, 1 },
		{ 0, 28, 0x65 }, { 0, 28, 0x4f }, { 0, 28, 0x44 },
		{ 0, 37, 6 }, { 1, 0, 128 }, { 1, 1, 1 }, { 1, 8, 0x45 },
		{ 1, 14, 6 },
	};
	struct listener_client c = { .port = 7 };
	uint8_t p[LEN];

	make_v4(p);
	for (size_t n = 0; n < LEN; n++)
		CHECK(!icmp_refused(p, n, &c));
	make_v6(p);
	for (size_t n = 0; n < LEN; n++)
		CHECK(!icmp_refused(p, n, &c));
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		(other[i].v6 ? make_v6 : make_v4)(p);
		p[other[i].at] = other[i].to;
		CHECK(!icmp_refused(p, LEN, &c));
	}
	CHECK_INT(c.port, 7);
}
