/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/local.c - the networks of this machine, and its resolvers */

#include "firewall/firewall.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/netlink.h"
#include "base/own.h"
#include "gate/address.h"

enum { FILE_MAX = 1 << 20 };

/* An address, maybe with a zone behind it or a bracket around */
static void add_resolver(const char *word, struct range_list *list)
{
	struct host host;
	size_t n;

	word += *word == '[';
	n = strcspn(word, "%]");
	if (host_parse(word, n, 0, &host) == 0 && host.kind != HOST_NAME &&
	    !address_is_loopback(&host))
		(void)range_list_add_host(list, &host);
}

/* Docker's own resolver, on loopback, sends queries to others from within the container,
 * and leaves a comment about them: "# ExtServers: [10.0.0.2 host(127.0.0.53)]". Those in
 * host(...) get theirs from outside of it.
 */
void local_parse_resolvers(const char *text, struct range_list *list)
{
	static const char blanks[] = " \t\r";
	auto_free char *copy = mem_strdup(text);
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		char *at, *first = strtok_r(line, blanks, &at);
		char *word = first ? strtok_r(NULL, blanks, &at) : NULL;

		if (word && !strcmp(first, "nameserver"))
			add_resolver(word, list);
		if (!word || strcmp(first, "#") != 0 || strcmp(word, "ExtServers:") != 0)
			continue;
		while ((word = strtok_r(NULL, blanks, &at)) != NULL)
			add_resolver(word, list);
	}
}

int local_take_route(const struct nlmsghdr *head, void *list)
{
	const struct rtmsg *route = NLMSG_DATA(head);
	int left = (int)RTM_PAYLOAD(head);

	if (head->nlmsg_type != RTM_NEWROUTE || left < 0 ||
	    route->rtm_dst_len || route->rtm_table != RT_TABLE_MAIN)
		return 0;
	for (const struct rtattr *a = RTM_RTA(route); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		const size_t n = RTA_PAYLOAD(a);
		struct host host;

		if (a->rta_type != RTA_GATEWAY || (n != 4 && n != 16))
			continue;
		host_of_address(RTA_DATA(a), n, 0, &host);
		(void)range_list_add_host(list, &host);
	}
	return 0;
}

void local_resolvers(struct range_list *list)
{
	auto_close int fd = open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);
	auto_buf struct buf text = { 0 };

	if (fd >= 0 && fs_read_fd(fd, FILE_MAX, &text, NULL) == 0)
		local_parse_resolvers(buf_str(&text), list);
	range_list_tidy(list);
}

static socklen_t size_of(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					: sizeof(struct sockaddr_in6);
}

static void add_network(const struct ifaddrs *i, struct range_list *list)
{
	struct host address, mask;
	struct host_range range = { 0 };

	if (!i->ifa_addr || !i->ifa_netmask || !(i->ifa_flags & IFF_UP) ||
	    (i->ifa_flags & IFF_LOOPBACK) ||
	    address_from_sockaddr(i->ifa_addr, size_of(i->ifa_addr),
				  &address) < 0)
		return;
	/* The mask's own family is not always set */
	i->ifa_netmask->sa_family = i->ifa_addr->sa_family;
	if (address_from_sockaddr(i->ifa_netmask, size_of(i->ifa_netmask),
				  &mask) < 0)
		return;
	range.kind = address.kind;
	for (size_t k = 0; k < sizeof(range.address); k++) {
		range.address[k] = address.address[k] & mask.address[k];
		range.bits += (uint8_t)__builtin_popcount(mask.address[k]);
	}
	(void)range_list_add(list, &range);
}

int local_lan(struct range_list *list, struct err *err)
{
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   NETLINK_ROUTE);
	struct netlink routes = { 0 };
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) < 0)
		return fail_errno(err, "cannot list the interfaces");
	for (const struct ifaddrs *i = all; i; i = i->ifa_next)
		add_network(i, list);
	freeifaddrs(all);
	(void)netlink_add(&routes, RTM_GETROUTE, NLM_F_REQUEST | NLM_F_DUMP,
			  sizeof(struct rtmsg));
	(void)netlink_ask(fd, &routes, local_take_route, list);
	range_list_tidy(list);
	return 0;
}
