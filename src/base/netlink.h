/* SPDX-License-Identifier: Apache-2.0 */
/* base/netlink.h - requests to the kernel by netlink, and its replies */

#ifndef BASE_NETLINK_H
#define BASE_NETLINK_H

#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>

enum { NETLINK_MAX = 512 };	/* Bytes of all requests together */

/**
 * struct netlink - Requests, one after the other; begins as all zero
 * @last:	Where the last one begins
 * @n:		How many; the sequence number of each is its place
 */
struct netlink {
	union {
		struct nlmsghdr head;
		char bytes[NETLINK_MAX];
	};
	size_t len, last;
	uint32_t n;
};

/* Add a request with a @body of that many bytes, which is returned, zeroed */
void *netlink_add(struct netlink *q, uint16_t type, uint16_t flags, size_t body);

/* Add an attribute to the last one */
void netlink_add_attribute(struct netlink *q, uint16_t type, const void *data,
			   size_t n);

/* A netlink socket with the requests sent, or a negative errno */
int netlink_send(int protocol, const struct netlink *q);

/* Send one request by @fd and take what comes: each message of a list, the one
 * reply, or nothing but an acknowledgement. 0, what @each returned if that is not
 * 0, or a negative errno: -EPROTO, or the kernel's.
 */
int netlink_ask(int fd, const struct netlink *q,
		int (*each)(const struct nlmsghdr *head, void *data), void *data);

#endif /* BASE_NETLINK_H */
