/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/icmp.c - ICMP errors for datagrams that no socket takes
 *
 * The message is the kernel's, but what it quotes was written by the sender, who
 * may have chosen the length of its header.
 */

#include "gate/proto/icmp.h"

#include <string.h>

#include "ipc/listener.h"

enum {
	ICMP_BYTES = 8,		/* Of either kind, before what it quotes */
	IPV4_BYTES = 20, IPV6_BYTES = 40,	/* At least; exactly */
	PORTS_BYTES = 4,
	PROTOCOL_UDP = 17,
	V4_UNREACHABLE = 3, V4_PORT = 3,	/* Type and code */
	V6_UNREACHABLE = 1, V6_PORT = 4,
};

/* The length of an IPv4 header, or 0 if @p holds none */
static size_t ipv4_header(const uint8_t *p, size_t n)
{
	const size_t len = n ? (size_t)(*p & 15) * 4 : 0;

	return n < IPV4_BYTES || *p >> 4 != 4 || len < IPV4_BYTES || len > n
		       ? 0 : len;
}

static void set_ports(const uint8_t *p, struct listener_client *ret)
{
	ret->udp = 1;
	ret->port = (uint16_t)(p[0] << 8 | p[1]);
	ret->to_port = (uint16_t)(p[2] << 8 | p[3]);
}

static bool quoted_v4(const uint8_t *p, size_t n, struct listener_client *ret)
{
	const size_t len = ipv4_header(p, n);

	if (!len || n - len < PORTS_BYTES || p[9] != PROTOCOL_UDP)
		return false;
	*ret = (struct listener_client){ .family = 4 };
	memcpy(ret->address, p + 12, 4);
	memcpy(ret->to, p + 16, 4);
	set_ports(p + len, ret);
	return true;
}

static bool quoted_v6(const uint8_t *p, size_t n, struct listener_client *ret)
{
	if (n < IPV6_BYTES + PORTS_BYTES || *p >> 4 != 6 ||
	    p[6] != PROTOCOL_UDP)
		return false;
	*ret = (struct listener_client){ .family = 6 };
	memcpy(ret->address, p + 8, 16);
	memcpy(ret->to, p + 24, 16);
	set_ports(p + IPV6_BYTES, ret);
	return true;
}

static bool is_message(const uint8_t *p, size_t n, uint8_t type, uint8_t code)
{
	return n > ICMP_BYTES && p[0] == type && p[1] == code;
}

bool icmp_refused(const uint8_t *p, size_t n, struct listener_client *ret)
{
	const size_t len = ipv4_header(p, n);

	if (is_message(p + len, n - len, V4_UNREACHABLE, V4_PORT) && len)
		return quoted_v4(p + len + ICMP_BYTES, n - len - ICMP_BYTES,
				 ret);
	if (is_message(p, n, V6_UNREACHABLE, V6_PORT))
		return quoted_v6(p + ICMP_BYTES, n - ICMP_BYTES, ret);
	return false;
}
