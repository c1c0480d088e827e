/* SPDX-License-Identifier: Apache-2.0 */
/* cage/routes.c - routes, read from the kernel; which of them lead near */

#include "cage/routes.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "cage/jail.h"

enum {
	ANSWER_MAX = 32768,	/* Bytes of one message of the kernel */
	NEAR_BITS4 = 8,		/* A shorter prefix is a way to the world: */
	NEAR_BITS6 = 16,	/* VPNs take 0.0.0.0/1 and 128.0.0.0/1 */
};

/* Take down a route of the dump, if it is one that is looked for */
static void take(struct routes *routes, const struct nlmsghdr *h)
{
	const struct rtmsg *m = NLMSG_DATA(h);
	size_t left = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	struct route r = {
		.to = { .kind = m->rtm_family == AF_INET ? HOST_IPV4 : HOST_IPV6,
			.bits = m->rtm_dst_len },
		.type = m->rtm_type, .table = m->rtm_table,
		.scope = m->rtm_scope,
	};

	if ((!routes->all && m->rtm_table != RT_TABLE_MAIN) ||
	    m->rtm_flags & RTM_F_CLONED)
		return;
	for (struct rtattr *a = RTM_RTA(m); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		const size_t n = RTA_PAYLOAD(a);

		if (a->rta_type == RTA_DST && n <= 16)
			memcpy(r.to.address, RTA_DATA(a), n);
		else if (a->rta_type == RTA_GATEWAY && n <= 16)
			memcpy(r.gateway, RTA_DATA(a), n);
		else if (a->rta_type == RTA_OIF && n == 4)
			memcpy(&r.oif, RTA_DATA(a), n);
		else if (a->rta_type == RTA_PRIORITY && n == 4)
			memcpy(&r.priority, RTA_DATA(a), n);
		r.via |= a->rta_type == RTA_GATEWAY;
	}
	if (!routes->all && r.oif == ROUTES_LOOPBACK)
		return;
	routes->full |= routes->len == ROUTES_MAX;
	if (!routes->full)
		*vec_push(routes) = r;
}

/* All routes of a family that are looked for */
static int dump(int fd, uint8_t family, struct routes *routes)
{
	const struct {
		struct nlmsghdr header;
		struct rtmsg body;
	} q = {
		.header = { .nlmsg_len = sizeof(q),
			    .nlmsg_type = RTM_GETROUTE,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.body = { .rtm_family = family },
	};
	static union {
		struct nlmsghdr header;
		char bytes[ANSWER_MAX];
	} in;

	if (send(fd, &q, sizeof(q), 0) < 0)
		return -errno;
	for (;;) {
		ssize_t n = recv(fd, &in, sizeof(in), 0);

		if (n <= 0)
			return n < 0 ? -errno : -EPROTO;
		for (struct nlmsghdr *h = &in.header; NLMSG_OK(h, n);
		     h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return routes->full ? -E2BIG : 0;
			if (h->nlmsg_type == NLMSG_ERROR)
				return -EIO;
			if (h->nlmsg_type == RTM_NEWROUTE)
				take(routes, h);
		}
	}
}

int routes_read(int fd, struct routes *routes, struct err *err)
{
	int r = fd < 0 ? -errno : dump(fd, AF_INET, routes);

	if (!r)
		r = dump(fd, AF_INET6, routes);
	return r < 0 ? fail(err, r, "--net jail: cannot read the routes: %s",
			    strerror(-r)) : 0;
}

static bool is_near(const struct route *route)
{
	const struct host_range *to = &route->to;
	static const uint8_t one[16] = { [15] = 1 };

	if (to->kind == HOST_IPV4 ? to->address[0] == 127
				  : !memcmp(to->address, one, sizeof(one)))
		return false;
	return route->type == RTN_LOCAL ||
	       (route->type == RTN_UNICAST &&
		to->bits >= (to->kind == HOST_IPV4 ? NEAR_BITS4 : NEAR_BITS6));
}

int jail_look(struct jail_near *ret, struct err *err)
{
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   NETLINK_ROUTE);
	struct routes routes = { .all = true };
	const int r = routes_read(fd, &routes, err);

	for (size_t i = 0; r == 0 && i < routes.len; i++) {
		if (is_near(&routes.v[i]))
			*vec_push(ret) = routes.v[i].to;
	}
	free(routes.v);
	return r;
}
