/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/jail-routes.c - the routes of an egress jail
 *
 * Theory of operation: of what pasta made, only the default routes stay. Every
 * other route of the interface is the way to a network that the machine is in:
 * it is taken out, and its range blocked like those of the plan. So are the
 * networks that the host reaches by other interfaces, of which pasta knows
 * nothing, and the host's own addresses: to pasta, an ordinary process, they
 * are open; so are the gateways, which the default routes go by without a
 * route to them. Then the plan's open ranges are put back; the longest prefix wins. In the end the kernel is asked for the way to an address
 * of each blocked range, and there must be none.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/own.h"
#include "cage/jail.h"
#include "cage/routes.h"
#include "plan/jail.h"

enum {
	MULTICAST_PRIORITY = 1,	/* Before the kernel's own, which is 256 */
};

struct request {
	struct nlmsghdr header;
	struct rtmsg body;
	char room[128];
};

static uint8_t family_of(const struct host_range *range)
{
	return range->kind == HOST_IPV4 ? AF_INET : AF_INET6;
}

static size_t bytes_of(const struct host_range *range)
{
	return range->kind == HOST_IPV4 ? 4 : 16;
}

static void add(struct request *q, uint16_t type, const void *data, size_t n)
{
	struct rtattr *a = (struct rtattr *)(void *)
		((char *)q + NLMSG_ALIGN(q->header.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(n);
	memcpy(RTA_DATA(a), data, n);
	q->header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(q->header.nlmsg_len) +
					 RTA_SPACE(n));
}

static void init(struct request *q, uint16_t type, uint16_t flags,
		 const struct route *route)
{
	*q = (struct request){
		.header = {
			.nlmsg_len = NLMSG_LENGTH(sizeof(q->body)),
			.nlmsg_type = type,
			.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		},
		.body = {
			.rtm_family = family_of(&route->to),
			.rtm_dst_len = route->to.bits,
			.rtm_table = route->table,
			.rtm_type = route->type,
			.rtm_scope = route->scope,
		},
	};
	if (type == RTM_NEWROUTE)
		q->body.rtm_protocol = RTPROT_STATIC;
	if (type == RTM_NEWROUTE && route->via)
		q->body.rtm_flags = RTNH_F_ONLINK;	/* Blocked as a host */
	if (route->to.bits)
		add(q, RTA_DST, route->to.address, bytes_of(&route->to));
	if (route->via)
		add(q, RTA_GATEWAY, route->gateway, bytes_of(&route->to));
	if (route->oif)
		add(q, RTA_OIF, &route->oif, sizeof(route->oif));
	if (route->priority)
		add(q, RTA_PRIORITY, &route->priority,
		    sizeof(route->priority));
}

/* Send, and hear what became of it: 0 or -errno */
static int change(int fd, uint16_t type, uint16_t flags,
		  const struct route *route)
{
	union {
		struct nlmsghdr header;
		char bytes[1024];
	} in;
	struct request q;
	ssize_t n;

	init(&q, type, (uint16_t)(flags | NLM_F_ACK), route);
	if (send(fd, &q, q.header.nlmsg_len, 0) < 0)
		return -errno;
	n = recv(fd, &in, sizeof(in), 0);
	if (n < (ssize_t)sizeof(in.header) ||
	    in.header.nlmsg_type != NLMSG_ERROR)
		return n < 0 ? -errno : -EPROTO;
	return ((struct nlmsgerr *)NLMSG_DATA(&in.header))->error;
}

static int bring_up_loopback(int fd)
{
	const struct {
		struct nlmsghdr header;
		struct ifinfomsg body;
	} q = {
		.header = { .nlmsg_len = sizeof(q), .nlmsg_type = RTM_NEWLINK,
			    .nlmsg_flags = NLM_F_REQUEST },
		.body = { .ifi_index = ROUTES_LOOPBACK, .ifi_flags = IFF_UP,
			  .ifi_change = IFF_UP },
	};

	return send(fd, &q, sizeof(q), 0) < 0 ? -errno : 0;
}

static bool is_multicast6(const struct host_range *range)
{
	return range->kind == HOST_IPV6 && range->address[0] == 0xff;
}

/* The kernel's own way to multicast is in the table that it looks at first */
static int block(int fd, const struct host_range *range)
{
	const bool first = is_multicast6(range);
	const struct route route = {
		.to = *range, .type = RTN_BLACKHOLE,
		.table = first ? RT_TABLE_LOCAL : RT_TABLE_MAIN,
		.priority = first ? MULTICAST_PRIORITY : 0,
		.scope = RT_SCOPE_UNIVERSE,
	};
	const int r = change(fd, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE,
			     &route);

	return r == -EEXIST ? 0 : r;
}

/* By way of @out, a default route */
static int open_range(int fd, const struct host_range *range,
		      const struct route *out)
{
	struct route route = *out;

	route.to = *range;
	route.via = out->via && memcmp(out->gateway, range->address,
				       bytes_of(range)) != 0;
	route.priority = 0;
	route.type = RTN_UNICAST;
	route.scope = route.via || range->kind == HOST_IPV6 ?
		      RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
	return change(fd, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &route);
}

/**
 * struct ways - Where traffic goes, by family
 */
struct ways {
	const struct route *v4, *v6;
};

static const struct route *way_to(const struct ways *ways,
				  const struct host_range *range)
{
	return range->kind == HOST_IPV4 ? ways->v4 : ways->v6;
}

static struct ways find_ways(const struct routes *routes)
{
	struct ways ways = { NULL, NULL };

	for (size_t i = 0; i < routes->len; i++) {
		const struct route *r = &routes->v[i];

		if (r->to.bits || r->type != RTN_UNICAST)
			continue;
		if (r->to.kind == HOST_IPV4 && !ways.v4)
			ways.v4 = r;
		if (r->to.kind == HOST_IPV6 && !ways.v6)
			ways.v6 = r;
	}
	return ways;
}

static bool is_allowed(const struct jail *jail, const struct host_range *range)
{
	struct host first;

	host_of_address(range->address, bytes_of(range), 0, &first);
	for (size_t i = 0; i < jail->len; i++) {
		if (jail->v[i].open && jail->v[i].range.bits <= range->bits &&
		    host_range_has(&jail->v[i].range, &first))
			return true;
	}
	return false;
}

/* What pasta made but for the defaults, out; and its ranges blocked */
static int close_near(int fd, const struct jail *jail,
		      const struct routes *routes)
{
	int r = 0;

	for (size_t i = 0; !r && i < routes->len; i++) {
		const struct route *route = &routes->v[i];

		if (!route->to.bits)
			continue;
		r = change(fd, RTM_DELROUTE, 0, route);
		if (!r && route->type == RTN_UNICAST &&
		    !is_allowed(jail, &route->to))
			r = block(fd, &route->to);
	}
	return r;
}

/* IPv6 may be missing from the kernel, or switched off: then there is nothing
 * to block
 */
static bool is_without(const struct host_range *range,
		       const struct ways *ways, int error)
{
	return range->kind == HOST_IPV6 && !ways->v6 &&
	       (error == -EAFNOSUPPORT || error == -EOPNOTSUPP ||
		error == -EACCES || error == -ENODEV);
}

static int close_others(int fd, const struct jail *jail,
			const struct jail_near *near, const struct ways *ways)
{
	int r = 0;

	for (size_t i = 0; !r && i < near->len; i++) {
		if (is_allowed(jail, &near->v[i]))
			continue;
		r = block(fd, &near->v[i]);
		if (is_without(&near->v[i], ways, r))
			r = 0;
	}
	return r;
}

/* A router has services of its own: a web page, a resolver, a metadata proxy.
 * Traffic goes by way of it all the same: the neighbour is looked up, no route.
 */
static int block_gateway(int fd, const struct jail *jail,
			 const struct route *way)
{
	struct host_range range = { .kind = HOST_IPV4 };

	if (!way || !way->via)
		return 0;
	range.kind = way->to.kind;
	range.bits = (uint8_t)(bytes_of(&range) * 8);
	memcpy(range.address, way->gateway, sizeof(range.address));
	return is_allowed(jail, &range) ? 0 : block(fd, &range);
}

static int set_all(int fd, const struct jail *jail, const struct ways *ways)
{
	int r = block_gateway(fd, jail, ways->v4);

	if (!r)
		r = block_gateway(fd, jail, ways->v6);
	for (size_t i = 0; !r && i < jail->len; i++) {
		const struct host_range *range = &jail->v[i].range;
		const struct route *way = way_to(ways, range);

		if (!jail->v[i].open)
			r = block(fd, range);
		else if (way)
			r = open_range(fd, range, way);
		if (is_without(range, ways, r))
			r = 0;
	}
	return r;
}

/* The last address but one of a range; false if something in there is open */
static bool sample(const struct jail *jail, const struct host_range *range,
		   struct route *ret)
{
	const size_t n = bytes_of(range);
	struct host host;

	*ret = (struct route){ .to = *range };
	ret->to.bits = (uint8_t)(n * 8);
	for (size_t bit = range->bits; bit < n * 8 - 1; bit++)
		ret->to.address[bit / 8] |= (uint8_t)(0x80 >> (bit % 8));
	host_of_address(ret->to.address, n, 0, &host);
	for (size_t i = 0; i < jail->len; i++) {
		if (jail->v[i].open && host_range_has(&jail->v[i].range, &host))
			return false;
	}
	return true;
}

/* True if the kernel knows no way to @route's address */
static bool is_blocked(int fd, const struct route *route)
{
	union {
		struct nlmsghdr header;
		char bytes[4096];
	} in;
	const struct rtmsg *m = NLMSG_DATA(&in.header);
	struct request q;
	ssize_t n;

	init(&q, RTM_GETROUTE, 0, route);
	if (send(fd, &q, q.header.nlmsg_len, 0) < 0)
		return false;
	n = recv(fd, &in, sizeof(in), 0);
	if (n < (ssize_t)sizeof(in.header))
		return false;
	if (in.header.nlmsg_type == NLMSG_ERROR)
		return ((struct nlmsgerr *)NLMSG_DATA(&in.header))->error < 0;
	return in.header.nlmsg_type == RTM_NEWROUTE &&
	       (m->rtm_type == RTN_BLACKHOLE ||
		m->rtm_type == RTN_UNREACHABLE);
}

static int check(int fd, const struct jail *jail, struct err *err)
{
	for (size_t i = 0; i < jail->len; i++) {
		struct route route;
		char text[INET6_ADDRSTRLEN] = "";

		if (jail->v[i].open ||
		    !sample(jail, &jail->v[i].range, &route) ||
		    is_blocked(fd, &route))
			continue;
		(void)inet_ntop(family_of(&route.to), route.to.address, text,
				sizeof(text));
		return fail(err, -EPERM, "--net jail: there is a way to %s; nothing was run",
			    text);
	}
	return 0;
}

static int lock_routes(int fd, const struct jail *jail,
		       const struct jail_near *near,
		       const struct routes *routes, struct err *err)
{
	const struct ways ways = find_ways(routes);
	int r;

	if (!ways.v4 && !ways.v6)
		return fail(err, -ENETUNREACH, "--net jail: this machine has no default route, so there is nothing to reach");
	r = close_near(fd, jail, routes);
	if (!r)
		r = close_others(fd, jail, near, &ways);
	if (!r)
		r = set_all(fd, jail, &ways);
	if (r < 0)
		return fail(err, r, "--net jail: cannot lock the routes: %s",
			    strerror(-r));
	return check(fd, jail, err);
}

int jail_lock(const struct jail *jail, const struct jail_near *near,
	      struct err *err)
{
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   NETLINK_ROUTE);
	struct routes routes = { 0 };
	int r = fd < 0 ? -errno : bring_up_loopback(fd);

	if (r < 0)
		return fail(err, r, "--net jail: cannot set up the loopback: %s",
			    strerror(-r));
	r = routes_read(fd, &routes, err);
	if (!r)
		r = lock_routes(fd, jail, near, &routes, err);
	free(routes.v);
	return r;
}
