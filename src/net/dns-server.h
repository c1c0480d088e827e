/* SPDX-License-Identifier: Apache-2.0 */
/* net/dns-server.h - the sandbox's DNS: policy in, pool addresses out */

#ifndef NET_DNS_SERVER_H
#define NET_DNS_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "net/dns.h"

struct conn;
struct gate;
struct listener_client;
struct seen_wait;

/**
 * struct dns_client - Who asks: a connection, or a datagram
 * @wait:	Who waits until a refusal was looked at, or NULL
 */
struct dns_client {
	struct conn *conn;
	const struct listener_client *datagram;
	struct seen_wait *wait;
};

/* Answer the @n bytes of one message. The answer's length, or 0: say nothing.
 * Nothing is ever asked of anybody else.
 */
size_t dns_serve(struct gate *gate, const struct dns_client *client,
		 const uint8_t *p, size_t n, uint8_t ret[DNS_ANSWER_MAX]);

/* Answer the datagrams that wait on @fd, each from the address it was sent to */
void dns_serve_datagrams(struct gate *gate, int fd);

/* Whatever answer still waits goes now, before its socket does */
void dns_send_held(struct gate *gate);

#endif /* NET_DNS_SERVER_H */
