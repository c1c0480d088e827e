/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/netns.c - a network namespace in which every destination is our own
 *
 * Theory of operation: a route of type "local" for 0.0.0.0/0 and ::/0 makes
 * every address one of this machine, so a listener bound to all addresses
 * accepts what is sent to any of them, and getsockname() tells the address
 * that was meant. Nothing leaves the namespace: it has no other interface.
 *
 * The interface also gets an address that is not 127.0.0.1, because
 * getaddrinfo() with AI_ADDRCONFIG does not count loopback as connectivity.
 *
 * All of it is one netlink message batch and one socket per port: an IPv6
 * socket with IPV6_V6ONLY off serves both families.
 *
 * Nothing is lost on a loopback interface, so the routes ask for the plainest
 * congestion control: a host's own choice may pace and measure what needs
 * neither, for nearly half of the time that a byte takes.
 */

#include "cage/netns.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "plan/listener.h"

enum {
	LOOPBACK_INDEX = 1,	/* `lo` is born first in each namespace */
	BATCH_MAX = 512,	/* Bytes of all requests together */
	BACKLOG = 4096,
};

/* The requests of a batch; the sequence number of each is its place here */
enum step {
	STEP_LINK, STEP_ADDR4, STEP_ROUTE4,
	/* The sandbox does without these */
	STEP_OWN4, STEP_ADDR6, STEP_ROUTE6,
};

static const char *const step_words[] = {
	[STEP_LINK] = "bring the loopback interface up",
	[STEP_ADDR4] = "give the loopback interface an address",
	[STEP_ROUTE4] = "make all addresses local",
};

/**
 * struct batch - Netlink requests, one after the other
 */
struct batch {
	union {
		struct nlmsghdr align;
		char bytes[BATCH_MAX];
	} room;
	size_t len;
	struct nlmsghdr *last;
};

static void *request(struct batch *b, enum step step, uint16_t type,
		     uint16_t flags, size_t body)
{
	b->last = (struct nlmsghdr *)(void *)(b->room.bytes + b->len);
	*b->last = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)NLMSG_LENGTH(body),
		.nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = step,
	};
	b->len += NLMSG_SPACE(body);
	return NLMSG_DATA(b->last);
}

static void attribute(struct batch *b, uint16_t type, const void *data,
		      size_t n)
{
	struct rtattr *a = (struct rtattr *)(void *)(b->room.bytes + b->len);

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(n);
	memcpy(RTA_DATA(a), data, n);
	b->len += RTA_SPACE(n);
	b->last->nlmsg_len += (uint32_t)RTA_SPACE(n);
}

static void add_link(struct batch *b)
{
	struct ifinfomsg *m = request(b, STEP_LINK, RTM_NEWLINK, 0,
				      sizeof(*m));

	*m = (struct ifinfomsg){
		.ifi_family = AF_UNSPEC,
		.ifi_index = LOOPBACK_INDEX,
		.ifi_flags = IFF_UP,
		.ifi_change = IFF_UP,
	};
}

static void add_address(struct batch *b, enum step step, uint8_t family,
			const void *address, uint8_t bytes)
{
	struct ifaddrmsg *m = request(b, step, RTM_NEWADDR, NLM_F_CREATE,
				      sizeof(*m));

	*m = (struct ifaddrmsg){
		.ifa_family = family,
		.ifa_prefixlen = (uint8_t)(bytes * 8),
		.ifa_flags = IFA_F_PERMANENT | IFA_F_NODAD,
		.ifa_index = LOOPBACK_INDEX,
	};
	attribute(b, IFA_LOCAL, address, bytes);
	attribute(b, IFA_ADDRESS, address, bytes);
}

/* One attribute inside another */
static void add_plain_control(struct batch *b)
{
	static const char name[] = "reno";
	struct {
		struct rtattr head;
		char name[sizeof(name) + 3];
	} inner = { .head = { RTA_LENGTH(sizeof(name)), RTAX_CC_ALGO } };

	memcpy(inner.name, name, sizeof(name));
	attribute(b, RTA_METRICS, &inner, RTA_SPACE(sizeof(name)));
}

/* To everywhere, or to 127.0.0.1 in place of the kernel's own */
static void add_route(struct batch *b, enum step step, uint8_t family)
{
	const uint32_t oif = LOOPBACK_INDEX, one = htonl(INADDR_LOOPBACK);
	struct rtmsg *m = request(b, step, RTM_NEWROUTE,
				  NLM_F_CREATE | NLM_F_REPLACE, sizeof(*m));

	*m = (struct rtmsg){
		.rtm_family = family,
		.rtm_table = RT_TABLE_LOCAL,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_scope = RT_SCOPE_HOST,
		.rtm_type = RTN_LOCAL,
	};
	attribute(b, RTA_OIF, &oif, sizeof(oif));
	if (step == STEP_OWN4) {
		m->rtm_dst_len = 32;
		attribute(b, RTA_DST, &one, sizeof(one));
		attribute(b, RTA_PREFSRC, &one, sizeof(one));
	}
	add_plain_control(b);
}

/* Requests are done before send() returns and only failures are answered.
 * A failure of the IPv6 half is a kernel without IPv6; the one of our own
 * address only costs time.
 */
static int send_batch(const struct batch *b, struct err *err)
{
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   NETLINK_ROUTE);
	union {
		struct nlmsghdr header;
		char bytes[BATCH_MAX * 2];
	} in;

	if (fd < 0 || send(fd, b->room.bytes, b->len, 0) < 0)
		return fail_errno(err, "cannot configure the sandbox's network");
	while (recv(fd, &in, sizeof(in), MSG_DONTWAIT) > 0) {
		const struct nlmsgerr *e = NLMSG_DATA(&in.header);

		if (in.header.nlmsg_type != NLMSG_ERROR || !e->error ||
		    in.header.nlmsg_seq >= STEP_OWN4)
			continue;
		return fail(err, e->error, "cannot %s: %s",
			    step_words[in.header.nlmsg_seq],
			    strerror(-e->error));
	}
	return 0;
}

int netns_up(bool filtered, struct err *err)
{
	static const uint8_t own4[4] = LISTENER_OWN_IPV4;
	static const uint8_t own6[16] = LISTENER_OWN_IPV6;
	struct batch b = { 0 };

	add_link(&b);
	if (filtered) {
		add_address(&b, STEP_ADDR4, AF_INET, own4, sizeof(own4));
		add_route(&b, STEP_ROUTE4, AF_INET);
		add_route(&b, STEP_OWN4, AF_INET);
		add_address(&b, STEP_ADDR6, AF_INET6, own6, sizeof(own6));
		add_route(&b, STEP_ROUTE6, AF_INET6);
	}
	return send_batch(&b, err);
}

/* A socket for both families, or for IPv4 where there is no other */
static int any_socket(int type, bool *ipv6)
{
	static const int off;
	int fd = socket(AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*ipv6 = fd >= 0;
	if (fd < 0)
		return socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
		close_fd(&fd);
	return fd;
}

static int bind_any(int fd, bool ipv6, uint16_t port)
{
	const struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_port = htons(port),
	};
	const struct sockaddr_in four = {
		.sin_family = AF_INET, .sin_port = htons(port),
	};

	return ipv6 ? bind(fd, (const struct sockaddr *)&six, sizeof(six))
		    : bind(fd, (const struct sockaddr *)&four, sizeof(four));
}

/* Accepted sockets inherit TCP_NODELAY: one call here saves one for each */
static int start_listening(int fd)
{
	static const int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		return -1;
	return listen(fd, BACKLOG);
}

static int add_stream(struct listener_set *set, enum listener_role role,
		      uint16_t port, struct err *err)
{
	static const int on = 1;
	bool ipv6;
	auto_close int fd = any_socket(SOCK_STREAM, &ipv6);

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind_any(fd, ipv6, port) < 0 || start_listening(fd) < 0)
		return fail_errno(err, "cannot listen on port %u inside", port);
	if (listener_add(set, role, port, take_fd(&fd)) < 0)
		return fail(err, -ENOSPC, "more than %d ports to listen on inside",
			    LISTENERS_MAX);
	return 0;
}

/* IPv4 takes the route's word that an address is ours; IPv6 wants to see it on
 * an interface, unless the socket says otherwise
 */
static int be_anybody(int fd)
{
	static const int on = 1;

	return setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on));
}

/* The datagram socket must learn which server was asked, to answer as it */
static int add_dns(struct listener_set *set, struct err *err)
{
	static const int on = 1;
	bool ipv6;
	auto_close int fd = any_socket(SOCK_DGRAM, &ipv6);

	if (fd < 0 || bind_any(fd, ipv6, LISTENER_DNS_PORT) < 0 ||
	    (ipv6 && be_anybody(fd) < 0) ||
	    setsockopt(fd, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP,
		       ipv6 ? IPV6_RECVPKTINFO : IP_PKTINFO, &on,
		       sizeof(on)) < 0)
		return fail_errno(err, "cannot answer DNS inside");
	return listener_add(set, LISTENER_DNS_UDP, LISTENER_DNS_PORT,
			    take_fd(&fd));
}

static int add_seed(struct listener_set *set, struct err *err)
{
	bool ipv6;
	auto_close int fd = any_socket(SOCK_STREAM, &ipv6);
	const int r = add_stream(set, LISTENER_SEED, 0, err);

	if (r < 0)
		return r;
	if (fd < 0)
		return fail_errno(err, "cannot make a socket inside");
	return listener_add(set, LISTENER_SEED_SOCKET, 0, take_fd(&fd));
}

static bool has_port(const struct listener_set *set, uint16_t port)
{
	for (size_t i = 0; i < set->len; i++) {
		if (set->v[i].port == port)
			return true;
	}
	return false;
}

static int add_ports(struct listener_set *set, enum listener_role role,
		     const uint16_t *ports, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		int r = 0;

		if (!has_port(set, ports[i]))
			r = add_stream(set, role, ports[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_all(const struct netns_config *config, struct listener_set *set,
		   struct err *err)
{
	static const uint16_t captured[] = { 443, 80, 22 };
	static const uint16_t http[] = { LISTENER_HTTP_PORT };
	static const uint16_t socks[] = { LISTENER_SOCKS_PORT };
	static const uint16_t dns[] = { LISTENER_DNS_PORT };
	/* A port of the host goes before our own use of that number */
	const struct {
		enum listener_role role;
		const uint16_t *ports;
		size_t n;
	} rows[] = {
		{ LISTENER_HTTP, http, 1 },
		{ LISTENER_SOCKS, socks, 1 },
		{ LISTENER_DNS_TCP, dns, 1 },
		{ LISTENER_HOST_PORT, config->host_ports, config->n_host_ports },
		{ LISTENER_CAPTURE, captured, ARRAY_SIZE(captured) },
		{ LISTENER_CAPTURE, config->capture, config->n_capture },
	};
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(rows); i++)
		r = add_ports(set, rows[i].role, rows[i].ports, rows[i].n, err);
	if (!r)
		r = add_dns(set, err);
	if (!r)
		r = netns_add_unreached(set);
	if (!r && config->publish)
		r = add_seed(set, err);
	return r;
}

int netns_open(const struct netns_config *config, struct listener_set *ret,
	       struct err *err)
{
	int r;

	ret->len = 0;
	r = config->filtered ? add_all(config, ret, err) : 0;
	if (r < 0)
		listener_done(ret);
	return r;
}

int netns_setup(const struct netns_config *config, struct listener_set *ret,
		struct err *err)
{
	const int r = netns_up(config->filtered, err);

	return r < 0 ? r : netns_open(config, ret, err);
}

int netns_listen(const struct sockaddr *address, socklen_t len)
{
	static const int on = 1;
	auto_close int fd = -1;

	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	fd = socket(address->sa_family,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    (address->sa_family == AF_INET6 && be_anybody(fd) < 0) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    /* One that was given up may still be on its way to be closed */
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
	    bind(fd, address, len) < 0 || start_listening(fd) < 0)
		return -errno;
	return take_fd(&fd);
}

int netns_join(int user, int net)
{
	return setns(user, CLONE_NEWUSER) < 0 ||
	       setns(net, CLONE_NEWNET) < 0 ? -errno : 0;
}
