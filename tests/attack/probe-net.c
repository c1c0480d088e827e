/* SPDX-License-Identifier: Apache-2.0 */
/* tests/attack/probe-net.c - attempts on sockets */

#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { FAMILIES = 256, NETLINKS = 32 };

/* The kernel looks at 32 bits of the family; so must the filter */
int net_socket_hi(char **argv)
{
	static const int bits[] = { 32, 33, 63 };
	int last = 0;

	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
		const unsigned long family =
			(unsigned long)probe_number(argv[0]) | 1UL << bits[i];
		const long r = syscall(SYS_socket, family,
				       probe_number(argv[1]), 0L);

		if (r >= 0)
			return 0;
		last = -errno;
	}
	return last;
}

int net_pair(char **argv)
{
	int fds[2];

	return probe_result(socketpair((int)probe_number(argv[0]), SOCK_STREAM,
				       0, fds));
}

int net_families(char **argv)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW,
				     SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP,
				     SOCK_PACKET };

	(void)argv;
	for (int family = 0; family < FAMILIES; family++) {
		for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
			const int fd = socket(family, types[i], 0);

			if (fd < 0)
				continue;
			printf("%d %d\n", family, types[i]);
			close(fd);
		}
	}
	return 0;
}

int net_netlinks(char **argv)
{
	(void)argv;
	for (int protocol = 0; protocol < NETLINKS; protocol++) {
		const int fd = socket(AF_NETLINK, SOCK_RAW, protocol);

		if (fd < 0)
			continue;
		printf("%d\n", protocol);
		close(fd);
	}
	return 0;
}

/* A server and its client, both ours: loopback inside must work */
int net_listen(char **argv)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t n = sizeof(address);
	const int server = socket(AF_INET, SOCK_STREAM, 0);
	const int client = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr *const a = (struct sockaddr *)&address;

	(void)argv;
	if (server < 0 || client < 0 || bind(server, a, n) < 0 ||
	    listen(server, 1) < 0 || getsockname(server, a, &n) < 0 ||
	    connect(client, a, n) < 0)
		return -errno;
	return probe_result(accept(server, NULL, NULL));
}

/* Without bind() the kernel chooses a port, of every address */
int net_listen_any(char **argv)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)argv;
	return fd < 0 ? -errno : probe_result(listen(fd, 1));
}

