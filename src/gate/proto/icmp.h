/* SPDX-License-Identifier: Apache-2.0 */
/* net/icmp.h - what the kernel says of a datagram that nobody takes */

#ifndef NET_ICMP_H
#define NET_ICMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listener_client;

enum { ICMP_READ_MAX = 256 };	/* Bytes that are looked at: all headers */

/* Read one message of a raw ICMP socket (with its IPv4 header) or ICMPv6 socket
 * (without one). True if a UDP datagram found nobody at its port: *@ret is who
 * sent it, and where to. Else *@ret is untouched.
 */
bool icmp_refused(const uint8_t *p, size_t n, struct listener_client *ret);

#endif /* NET_ICMP_H */
