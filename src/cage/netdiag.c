/* SPDX-License-Identifier: Apache-2.0 */
/* cage/netdiag.c - which socket of a network namespace is at an address */

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "cage/netns.h"
#include "plan/listener.h"

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

static void put_end(__be16 *port, __be32 address[4], uint16_t from_port,
		    const uint8_t *from, size_t n)
{
	*port = htons(from_port);
	memcpy(address, from, n);
}

/* One exact socket. For a datagram the kernel looks from the other side: the
 * source is where the packet came from.
 */
static struct question question_for(const struct listener_client *c)
{
	const size_t n = c->family == 6 ? 16 : 4;
	struct question q = {
		.head = { .nlmsg_len = sizeof(q),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.body = {
			.sdiag_family = c->family == 6 ? AF_INET6 : AF_INET,
			.sdiag_protocol = c->udp ? IPPROTO_UDP : IPPROTO_TCP,
			.idiag_states = ~0U,
			.id.idiag_cookie = { INET_DIAG_NOCOOKIE,
					     INET_DIAG_NOCOOKIE },
		},
	};
	struct inet_diag_sockid *id = &q.body.id;

	put_end(c->udp ? &id->idiag_dport : &id->idiag_sport,
		c->udp ? id->idiag_dst : id->idiag_src, c->port, c->address, n);
	put_end(c->udp ? &id->idiag_sport : &id->idiag_dport,
		c->udp ? id->idiag_src : id->idiag_dst, c->to_port, c->to, n);
	return q;
}

uint64_t netns_inode(const struct listener_client *client)
{
	const struct question q = question_for(client);
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   NETLINK_SOCK_DIAG);
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	struct inet_diag_msg msg;
	ssize_t got;

	if (fd < 0 || send(fd, &q, sizeof(q), 0) != sizeof(q))
		return 0;
	got = recv(fd, &answer, sizeof(answer), 0);
	if (got < (ssize_t)NLMSG_LENGTH(sizeof(msg)) ||
	    answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	memcpy(&msg, NLMSG_DATA(&answer.head), sizeof(msg));
	return msg.idiag_inode;
}
