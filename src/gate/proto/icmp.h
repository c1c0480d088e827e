/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/icmp.h - ICMP errors for datagrams that no socket takes */

#ifndef GATE_PROTO_ICMP_H
#define GATE_PROTO_ICMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listener_client;

enum { ICMP_READ_MAX = 256 };	/* Bytes that are looked at: all headers */

/* Read one message of a raw ICMP socket (with its IPv4 header) or ICMPv6 socket
 * (without one). True if a UDP datagram found no socket at its port: *@ret is its
 * source and destination. Else *@ret is untouched.
 */
bool icmp_refused(const uint8_t *p, size_t n, struct listener_client *ret);

#endif /* GATE_PROTO_ICMP_H */
