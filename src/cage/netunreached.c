/* SPDX-License-Identifier: Apache-2.0 */
/* cage/netunreached.c - sockets that hear of datagrams that nobody takes */

#include <linux/icmp.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>

#include "base/own.h"
#include "cage/netns.h"
#include "plan/listener.h"

int netns_add_unreached(struct listener_set *set)
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
