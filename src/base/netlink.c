/* SPDX-License-Identifier: Apache-2.0 */
/* base/netlink.c - requests to the kernel by netlink, and its replies */

#include "base/netlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/own.h"

enum { REPLY_MAX = 32768 };	/* Bytes of one message of the kernel */

void *netlink_add(struct netlink *q, uint16_t type, uint16_t flags, size_t body)
{
	struct nlmsghdr *head = (struct nlmsghdr *)(void *)(q->bytes + q->len);

	if (q->len + NLMSG_SPACE(body) > sizeof(q->bytes))
		abort();	/* All requests are our own */
	*head = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)NLMSG_LENGTH(body),
		.nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = q->n++,
	};
	q->last = q->len;
	q->len += NLMSG_SPACE(body);
	return memset(NLMSG_DATA(head), 0, body);
}

void netlink_add_attribute(struct netlink *q, uint16_t type, const void *data,
			   size_t n)
{
	struct rtattr *a = (struct rtattr *)(void *)(q->bytes + q->len);

	if (q->len + RTA_SPACE(n) > sizeof(q->bytes))
		abort();
	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(n);
	memcpy(RTA_DATA(a), data, n);
	q->len += RTA_SPACE(n);
	((struct nlmsghdr *)(void *)(q->bytes + q->last))->nlmsg_len =
		(uint32_t)(q->len - q->last);
}

int netlink_send(int protocol, const struct netlink *q)
{
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   protocol);

	return fd < 0 || send(fd, q->bytes, q->len, 0) < 0 ? -errno
							  : take_fd(&fd);
}

int netlink_ask(int fd, const struct netlink *q,
		int (*each)(const struct nlmsghdr *head, void *data), void *data)
{
	auto_free struct nlmsghdr *in = mem_alloc(REPLY_MAX);
	ssize_t n = fd < 0 ? fd : send(fd, q->bytes, q->len, 0);

	while (n > 0) {
		ssize_t left = n = recv(fd, in, REPLY_MAX, 0);

		for (struct nlmsghdr *h = in; NLMSG_OK(h, left);
		     h = NLMSG_NEXT(h, left)) {
			const struct nlmsgerr *e = NLMSG_DATA(h);
			int r;

			if (h->nlmsg_type == NLMSG_DONE)
				return 0;
			if (h->nlmsg_type == NLMSG_ERROR)
				return h->nlmsg_len < NLMSG_LENGTH(sizeof(*e)) ?
				       -EPROTO : e->error;
			r = each ? each(h, data) : 0;
			if (r || !(h->nlmsg_flags & NLM_F_MULTI))
				return r;
		}
	}
	return n < 0 ? -errno : -EPROTO;
}
