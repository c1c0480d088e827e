/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/netns.c - a network namespace in which every destination is our own
 *
 * Theory of operation: a route of type "local" for 0.0.0.0/0 and ::/0 makes
 * every address one of this machine, so a listener bound to all addresses
 * accepts what is sent to any of them, and getsockname() tells the address
 * that was meant. Nothing leaves the namespace: it has no other interface.
 *
 * The interface also gets an address that is not 127.0.0.1, because
 * getaddrinfo() with AI_ADDRCONFIG does not count loopback as connectivity.
 *
 * All of it is one send() by netlink and one socket per port: an IPv6
 * socket with IPV6_V6ONLY off serves both families.
 *
 * Nothing is lost on a loopback interface, so the routes ask for the plainest
 * congestion control: a host's own choice may pace and measure what needs
 * neither, for nearly half of the time that a byte takes.
 */

#include "sandbox/netns.h"

#include <errno.h>
#include <linux/icmp.h>
#include <linux/if.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>

#include "base/err.h"
#include "base/netlink.h"
#include "base/own.h"
#include "ipc/listener.h"

enum {
	LOOPBACK_INDEX = 1,	/* `lo` is made first in each namespace */
	BACKLOG = 4096,
};

/* The requests that must not fail, in the order of netns_up() */
static const char *const step_words[] = {
	"bring the loopback interface up",
	"give the loopback interface an address",
	"make all addresses local",
};

static void add_link(struct netlink *q)
{
	struct ifinfomsg *m = netlink_add(q, RTM_NEWLINK, 0, sizeof(*m));

	*m = (struct ifinfomsg){
		.ifi_family = AF_UNSPEC,
		.ifi_index = LOOPBACK_INDEX,
		.ifi_flags = IFF_UP,
		.ifi_change = IFF_UP,
	};
}

static void add_address(struct netlink *q, uint8_t family, const void *address,
			uint8_t bytes)
{
	struct ifaddrmsg *m = netlink_add(q, RTM_NEWADDR, NLM_F_CREATE,
					  sizeof(*m));

	*m = (struct ifaddrmsg){
		.ifa_family = family,
		.ifa_prefixlen = (uint8_t)(bytes * 8),
		.ifa_flags = IFA_F_PERMANENT | IFA_F_NODAD,
		.ifa_index = LOOPBACK_INDEX,
	};
	netlink_add_attribute(q, IFA_LOCAL, address, bytes);
	netlink_add_attribute(q, IFA_ADDRESS, address, bytes);
}

/* One attribute inside another */
static void add_plain_control(struct netlink *q)
{
	static const char name[] = "reno";
	struct {
		struct rtattr head;
		char name[sizeof(name) + 3];
	} inner = { .head = { RTA_LENGTH(sizeof(name)), RTAX_CC_ALGO } };

	memcpy(inner.name, name, sizeof(name));
	netlink_add_attribute(q, RTA_METRICS, &inner, RTA_SPACE(sizeof(name)));
}

/* To everywhere, or to 127.0.0.1 in place of the kernel's own */
static void add_route(struct netlink *q, uint8_t family, bool own)
{
	const uint32_t oif = LOOPBACK_INDEX, one = htonl(INADDR_LOOPBACK);
	struct rtmsg *m = netlink_add(q, RTM_NEWROUTE,
				      NLM_F_CREATE | NLM_F_REPLACE, sizeof(*m));

	*m = (struct rtmsg){
		.rtm_family = family,
		.rtm_table = RT_TABLE_LOCAL,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_scope = RT_SCOPE_HOST,
		.rtm_type = RTN_LOCAL,
	};
	netlink_add_attribute(q, RTA_OIF, &oif, sizeof(oif));
	if (own) {
		m->rtm_dst_len = 32;
		netlink_add_attribute(q, RTA_DST, &one, sizeof(one));
		netlink_add_attribute(q, RTA_PREFSRC, &one, sizeof(one));
	}
	add_plain_control(q);
}

/* Requests are done before send() returns and only failures are answered.
 * A failure of the IPv6 half is a kernel without IPv6; the one of our own
 * address only costs time.
 */
static int send_steps(const struct netlink *q, struct err *err)
{
	auto_close int fd = netlink_send(NETLINK_ROUTE, q);
	union {
		struct nlmsghdr header;
		char bytes[NETLINK_MAX * 2];
	} in;

	if (fd < 0)
		return fail(err, fd, "cannot configure the sandbox's network: %s",
			    strerror(-fd));
	while (recv(fd, &in, sizeof(in), MSG_DONTWAIT) > 0) {
		const struct nlmsgerr *e = NLMSG_DATA(&in.header);

		if (in.header.nlmsg_type != NLMSG_ERROR || !e->error ||
		    in.header.nlmsg_seq >= ARRAY_SIZE(step_words))
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
	struct netlink q = { .len = 0 };

	add_link(&q);
	if (filtered) {
		add_address(&q, AF_INET, own4, sizeof(own4));
		add_route(&q, AF_INET, false);
		/* The sandbox does without these */
		add_route(&q, AF_INET, true);
		add_address(&q, AF_INET6, own6, sizeof(own6));
		add_route(&q, AF_INET6, false);
	}
	return send_steps(&q, err);
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

/* A datagram that no socket takes leaves no trace but the kernel's message to its
 * sender, of which these sockets get a copy. Without them only the record is
 * missing.
 */
static int add_unreached(struct listener_set *set)
{
	const struct icmp_filter four = {
		.data = ~(1U << ICMP_DEST_UNREACH),
	};
	struct icmp6_filter six;
	auto_close int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC |
				   SOCK_NONBLOCK, IPPROTO_ICMP);
	auto_close int fd6 = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC |
				    SOCK_NONBLOCK, IPPROTO_ICMPV6);
	int r = 0;

	ICMP6_FILTER_SETBLOCKALL(&six);
	ICMP6_FILTER_SETPASS(ICMP6_DST_UNREACH, &six);
	if (fd >= 0 && !setsockopt(fd, SOL_RAW, ICMP_FILTER, &four,
				   sizeof(four)))
		r = listener_add(set, LISTENER_UNREACHED, 0, take_fd(&fd));
	if (!r && fd6 >= 0 && !setsockopt(fd6, IPPROTO_ICMPV6, ICMP6_FILTER,
					  &six, sizeof(six)))
		r = listener_add(set, LISTENER_UNREACHED, 0, take_fd(&fd6));
	return r;
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
		r = add_unreached(set);
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

static void put_end(__be16 *port, __be32 address[4], uint16_t from_port,
		    const uint8_t *from, size_t n)
{
	*port = htons(from_port);
	memcpy(address, from, n);
}

static int take_inode(const struct nlmsghdr *head, void *data)
{
	const struct inet_diag_msg *msg = NLMSG_DATA(head);

	if (head->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
	    head->nlmsg_len >= NLMSG_LENGTH(sizeof(*msg)))
		*(uint64_t *)data = msg->idiag_inode;
	return 0;
}

/* One exact socket. For a datagram the kernel looks from the other side: the
 * source is where the packet came from.
 */
uint64_t netns_inode(const struct listener_client *c)
{
	const size_t n = c->family == 6 ? 16 : 4;
	struct netlink q = { .len = 0 };
	struct inet_diag_req_v2 *body = netlink_add(&q, SOCK_DIAG_BY_FAMILY, 0,
						    sizeof(*body));
	struct inet_diag_sockid *id = &body->id;
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   NETLINK_SOCK_DIAG);
	uint64_t inode = 0;

	*body = (struct inet_diag_req_v2){
		.sdiag_family = c->family == 6 ? AF_INET6 : AF_INET,
		.sdiag_protocol = c->udp ? IPPROTO_UDP : IPPROTO_TCP,
		.idiag_states = ~0U,
		.id.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
	};
	put_end(c->udp ? &id->idiag_dport : &id->idiag_sport,
		c->udp ? id->idiag_dst : id->idiag_src, c->port, c->address, n);
	put_end(c->udp ? &id->idiag_sport : &id->idiag_dport,
		c->udp ? id->idiag_src : id->idiag_dst, c->to_port, c->to, n);
	return netlink_ask(fd, &q, take_inode, &inode) < 0 ? 0 : inode;
}
