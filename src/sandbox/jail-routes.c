/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/jail-routes.c - the routes of an egress jail
 *
 * Theory of operation: of what pasta made, only the default routes stay. Every
 * other route of the interface is the way to a network that the machine is in:
 * it is taken out, and its range blocked like those of the plan. So are the
 * networks that the host reaches by other interfaces, of which pasta knows
 * nothing, and the host's own addresses: to pasta, an ordinary process, they
 * are open; so are the gateways, which the default routes go by without a
 * route to them. Then the plan's open ranges are put back; the longest prefix
 * wins. In the end the kernel is asked for the way to an address of each blocked
 * range, and there must be none.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/netlink.h"
#include "base/own.h"
#include "plan/jail.h"
#include "sandbox/jail-holder.h"
#include "sandbox/netns.h"

enum {
	ROUTES_MAX = 4096,	/* Of a machine, or that pasta may have made */
	LOOPBACK_INDEX = 1,	/* In every namespace */
	MULTICAST_PRIORITY = 1,	/* Before the kernel's own, which is 256 */
	NEAR_BITS4 = 8,		/* A shorter prefix is a way to the world: */
	NEAR_BITS6 = 16,	/* VPNs take 0.0.0.0/1 and 128.0.0.0/1 */
};

/**
 * struct route - One route, as far as we care
 * @via:	There is a gateway
 */
struct route {
	struct host_range to;
	bool via;
	uint8_t gateway[16];
	uint32_t oif, priority;
	uint8_t type, table, scope;
};

/**
 * struct routes - Those that were looked for
 * @all:	Of all tables; else what leads out by the main one
 */
struct routes {
	struct route *v;
	size_t len, cap;
	bool all;
};

/* Take down a route of the dump, if it is one that is looked for */
static int take_route(const struct nlmsghdr *h, void *data)
{
	struct routes *routes = data;
	const struct rtmsg *m = NLMSG_DATA(h);
	size_t left = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	struct route r = {
		.to = { .kind = m->rtm_family == AF_INET ? HOST_IPV4 : HOST_IPV6,
			.bits = m->rtm_dst_len },
		.type = m->rtm_type, .table = m->rtm_table,
		.scope = m->rtm_scope,
	};

	if (h->nlmsg_type != RTM_NEWROUTE ||
	    (!routes->all && m->rtm_table != RT_TABLE_MAIN) ||
	    m->rtm_flags & RTM_F_CLONED)
		return 0;
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
	if (!routes->all && r.oif == LOOPBACK_INDEX)
		return 0;
	if (routes->len == ROUTES_MAX)
		return -E2BIG;
	*vec_push(routes) = r;
	return 0;
}

/* Add the routes of both families. The caller frees @routes->v. */
static int read_routes(int fd, struct routes *routes, struct err *err)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(families); i++) {
		struct netlink q = { .len = 0 };
		struct rtmsg *m = netlink_add(&q, RTM_GETROUTE, NLM_F_DUMP,
					      sizeof(*m));

		m->rtm_family = families[i];
		r = netlink_ask(fd, &q, take_route, routes);
	}
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
	const int r = read_routes(fd, &routes, err);

	for (size_t i = 0; r == 0 && i < routes.len; i++) {
		if (is_near(&routes.v[i]))
			*vec_push(ret) = routes.v[i].to;
	}
	free(routes.v);
	return r;
}

static uint8_t family_of(const struct host_range *range)
{
	return range->kind == HOST_IPV4 ? AF_INET : AF_INET6;
}

static size_t bytes_of(const struct host_range *range)
{
	return range->kind == HOST_IPV4 ? 4 : 16;
}

static void add_request(struct netlink *q, uint16_t type, uint16_t flags,
			const struct route *route)
{
	struct rtmsg *m = netlink_add(q, type, flags, sizeof(*m));

	*m = (struct rtmsg){
		.rtm_family = family_of(&route->to),
		.rtm_dst_len = route->to.bits,
		.rtm_table = route->table,
		.rtm_type = route->type,
		.rtm_scope = route->scope,
	};
	if (type == RTM_NEWROUTE)
		m->rtm_protocol = RTPROT_STATIC;
	if (type == RTM_NEWROUTE && route->via)
		m->rtm_flags = RTNH_F_ONLINK;	/* Blocked as a host */
	if (route->to.bits)
		netlink_add_attribute(q, RTA_DST, route->to.address,
				      bytes_of(&route->to));
	if (route->via)
		netlink_add_attribute(q, RTA_GATEWAY, route->gateway,
				      bytes_of(&route->to));
	if (route->oif)
		netlink_add_attribute(q, RTA_OIF, &route->oif,
				      sizeof(route->oif));
	if (route->priority)
		netlink_add_attribute(q, RTA_PRIORITY, &route->priority,
				      sizeof(route->priority));
}

static int change(int fd, uint16_t type, uint16_t flags,
		  const struct route *route)
{
	struct netlink q = { .len = 0 };

	add_request(&q, type, (uint16_t)(flags | NLM_F_ACK), route);
	return netlink_ask(fd, &q, NULL, NULL);
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

/* The default route of a family, or NULL */
static const struct route *find_way(const struct routes *routes,
				    enum host_kind kind)
{
	for (size_t i = 0; i < routes->len; i++) {
		const struct route *r = &routes->v[i];

		if (!r->to.bits && r->type == RTN_UNICAST && r->to.kind == kind)
			return r;
	}
	return NULL;
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
		    !jail_opens(jail, &route->to))
			r = block(fd, &route->to);
	}
	return r;
}

/* IPv6 may be missing from the kernel, or switched off: then there is nothing
 * to block
 */
static bool is_without(const struct host_range *range,
		       const struct routes *routes, int error)
{
	return range->kind == HOST_IPV6 && !find_way(routes, HOST_IPV6) &&
	       (error == -EAFNOSUPPORT || error == -EOPNOTSUPP ||
		error == -EACCES || error == -ENODEV);
}

static int close_others(int fd, const struct jail *jail,
			const struct jail_near *near,
			const struct routes *routes)
{
	int r = 0;

	for (size_t i = 0; !r && i < near->len; i++) {
		if (jail_opens(jail, &near->v[i]))
			continue;
		r = block(fd, &near->v[i]);
		if (is_without(&near->v[i], routes, r))
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
	return jail_opens(jail, &range) ? 0 : block(fd, &range);
}

static int set_all(int fd, const struct jail *jail, const struct routes *routes)
{
	int r = block_gateway(fd, jail, find_way(routes, HOST_IPV4));

	if (!r)
		r = block_gateway(fd, jail, find_way(routes, HOST_IPV6));
	for (size_t i = 0; !r && i < jail->len; i++) {
		const struct host_range *range = &jail->v[i].range;
		const struct route *way = find_way(routes, range->kind);

		if (!jail->v[i].open)
			r = block(fd, range);
		else if (way)
			r = open_range(fd, range, way);
		if (is_without(range, routes, r))
			r = 0;
	}
	return r;
}

/* The last address but one of a range; false if something in there is open */
static bool sample(const struct jail *jail, const struct host_range *range,
		   struct route *ret)
{
	const size_t n = bytes_of(range);

	*ret = (struct route){ .to = *range };
	ret->to.bits = (uint8_t)(n * 8);
	for (size_t bit = range->bits; bit < n * 8 - 1; bit++)
		ret->to.address[bit / 8] |= (uint8_t)(0x80 >> (bit % 8));
	return !jail_opens(jail, &ret->to);
}

static int take_type(const struct nlmsghdr *head, void *data)
{
	*(uint8_t *)data = ((const struct rtmsg *)NLMSG_DATA(head))->rtm_type;
	return head->nlmsg_type == RTM_NEWROUTE ? 0 : -EPROTO;
}

/* True if the kernel says that there is no way to @route's address */
static bool is_blocked(int fd, const struct route *route)
{
	static const int refusals[] = {
		-EINVAL, -EHOSTUNREACH, -ENETUNREACH, -EACCES, -EAFNOSUPPORT,
		-EOPNOTSUPP,
	};
	struct netlink q = { .len = 0 };
	uint8_t type = RTN_UNICAST;
	int r;

	add_request(&q, RTM_GETROUTE, 0, route);
	r = netlink_ask(fd, &q, take_type, &type);
	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(refusals); i++) {
		if (r == refusals[i])
			return true;
	}
	return r == 0 && (type == RTN_BLACKHOLE || type == RTN_UNREACHABLE);
}

static int check_blocked(int fd, const struct jail *jail, struct err *err)
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
		return fail(err, -EPERM, "--net jail: %s can be reached; nothing was run",
			    text);
	}
	return 0;
}

static int lock_routes(int fd, const struct jail *jail,
		       const struct jail_near *near,
		       const struct routes *routes, struct err *err)
{
	int r;

	if (!find_way(routes, HOST_IPV4) && !find_way(routes, HOST_IPV6))
		return fail(err, -ENETUNREACH, "--net jail: this machine has no default route, so there is nothing to reach");
	if ((r = close_near(fd, jail, routes)) == 0 &&
	    (r = close_others(fd, jail, near, routes)) == 0)
		r = set_all(fd, jail, routes);
	if (r < 0)
		return fail(err, r, "--net jail: cannot lock the routes: %s",
			    strerror(-r));
	return check_blocked(fd, jail, err);
}

int jail_lock(const struct jail *jail, const struct jail_near *near,
	      struct err *err)
{
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   NETLINK_ROUTE);
	struct routes routes = { 0 };
	int r = fd < 0 ? -errno : netns_up(false, NULL);

	if (r < 0)
		return fail(err, r, "--net jail: cannot set up the loopback: %s",
			    strerror(-r));
	r = read_routes(fd, &routes, err);
	if (!r)
		r = lock_routes(fd, jail, near, &routes, err);
	free(routes.v);
	return r;
}
