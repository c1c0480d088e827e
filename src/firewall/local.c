/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/local.c - what this machine is connected to, and whom it asks */

#include "firewall/firewall.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "gate/address.h"

enum {
	FILE_MAX = 1 << 20,
	WORDS_MAX = 10,		/* Of a line that we look at */
	WORD_MAX = 64,
	ROUTE_UP_GATEWAY = 3,	/* RTF_UP and RTF_GATEWAY */
};

/* The @n words of the line at *@text, which moves on; how many there were */
static size_t next_line(const char **text, char words[][WORD_MAX])
{
	const char *p = *text;
	const char *end = p + strcspn(p, "\n");
	size_t count = 0;

	while (p < end && count < WORDS_MAX) {
		size_t n;

		p += strspn(p, " \t\r");
		n = strcspn(p, " \t\r\n");
		if (!n || p >= end)
			break;
		if (n >= WORD_MAX)
			n = 0;	/* Nothing that we know is that long */
		memcpy(words[count], p, n);
		words[count++][n] = '\0';
		p += strcspn(p, " \t\r\n");
	}
	*text = end + (*end == '\n');
	return count;
}

static bool is_loopback(const struct host *h)
{
	return h->kind == HOST_IPV4 ? h->address[0] == 127
				    : !strcmp(h->name, "::1");
}

/* An address, maybe with a zone behind it or a bracket around */
static void add_resolver(const char *word, struct range_list *list)
{
	struct host host;
	size_t n;

	word += *word == '[';
	n = strcspn(word, "%]");
	if (host_parse(word, n, 0, &host) == 0 && host.kind != HOST_NAME &&
	    !is_loopback(&host))
		(void)range_list_add_host(list, &host);
}

/* Docker's own resolver, on loopback, asks others from within the container,
 * and leaves a comment about them: "# ExtServers: [10.0.0.2 host(127.0.0.53)]".
 * host(...) is asked elsewhere.
 */
void local_parse_resolvers(const char *text, struct range_list *list)
{
	char words[WORDS_MAX][WORD_MAX];

	while (*text) {
		const size_t n = next_line(&text, words);

		if (n > 1 && !strcmp(words[0], "nameserver"))
			add_resolver(words[1], list);
		if (n < 3 || strcmp(words[0], "#") != 0 ||
		    strcmp(words[1], "ExtServers:") != 0)
			continue;
		for (size_t i = 2; i < n; i++)
			add_resolver(words[i], list);
	}
}

/* "0102A8C0": the bytes of a word of this machine, as the kernel prints it */
void local_parse_route4(const char *text, struct range_list *list)
{
	char words[WORDS_MAX][WORD_MAX];

	while (*text) {
		uint32_t gateway;
		struct host host;

		if (next_line(&text, words) < 8 ||
		    strcmp(words[1], "00000000") != 0 ||
		    strcmp(words[7], "00000000") != 0 ||
		    (strtoul(words[3], NULL, 16) & ROUTE_UP_GATEWAY) !=
			    ROUTE_UP_GATEWAY)
			continue;
		gateway = (uint32_t)strtoul(words[2], NULL, 16);
		host_of_address((const uint8_t *)&gateway, 4, 0, &host);
		(void)range_list_add_host(list, &host);
	}
}

void local_parse_route6(const char *text, struct range_list *list)
{
	char words[WORDS_MAX][WORD_MAX];

	while (*text) {
		uint8_t address[16];
		struct host host;

		if (next_line(&text, words) < 9 ||
		    strcmp(words[1], "00") != 0 || strlen(words[4]) != 32 ||
		    (strtoul(words[8], NULL, 16) & ROUTE_UP_GATEWAY) !=
			    ROUTE_UP_GATEWAY)
			continue;
		for (size_t i = 0; i < sizeof(address); i++) {
			const char pair[] = {
				words[4][2 * i], words[4][2 * i + 1], 0,
			};

			address[i] = (uint8_t)strtoul(pair, NULL, 16);
		}
		host_of_address(address, sizeof(address), 0, &host);
		(void)range_list_add_host(list, &host);
	}
}

static void from_file(const char *path,
		      void (*parse)(const char *, struct range_list *),
		      struct range_list *list)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_buf struct buf text = { 0 };

	if (fd >= 0 && fs_read_fd(fd, FILE_MAX, &text, NULL) == 0)
		parse(buf_str(&text), list);
}

void local_resolvers(struct range_list *list)
{
	from_file("/etc/resolv.conf", local_parse_resolvers, list);
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
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) < 0)
		return fail_errno(err, "cannot list the interfaces");
	for (const struct ifaddrs *i = all; i; i = i->ifa_next)
		add_network(i, list);
	freeifaddrs(all);
	from_file("/proc/net/route", local_parse_route4, list);
	from_file("/proc/net/ipv6_route", local_parse_route6, list);
	range_list_tidy(list);
	return 0;
}
