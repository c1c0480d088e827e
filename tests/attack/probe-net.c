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

int net_socket(char **argv)
{
	return probe_result(socket((int)probe_number(argv[0]),
				   (int)probe_number(argv[1]),
				   (int)probe_number(argv[2])));
}

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

static int unix_address(struct sockaddr_un *address, const char *path)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	memcpy(address->sun_path, path, strlen(path));
	return 0;
}

int net_unix(char **argv)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address;
	const int r = unix_address(&address, argv[0]);

	if (fd < 0 || r < 0)
		return r < 0 ? r : -errno;
	return probe_result(connect(fd, (struct sockaddr *)&address,
				    sizeof(address)));
}

int net_unix_send(char **argv)
{
	const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct sockaddr_un address;
	const int r = unix_address(&address, argv[0]);

	if (fd < 0 || r < 0)
		return r < 0 ? r : -errno;
	return probe_result(sendto(fd, "x", 1, 0, (struct sockaddr *)&address,
				   sizeof(address)));
}

int net_abstract(char **argv)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t n = strlen(argv[0]);

	if (fd < 0)
		return -errno;
	if (n > sizeof(address.sun_path) - 1)
		return -ENAMETOOLONG;
	memcpy(address.sun_path + 1, argv[0], n);
	return probe_result(connect(fd, (struct sockaddr *)&address,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				    1 + n)));
}

static int inet(char **argv, int type)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((unsigned short)probe_number(argv[1])),
	};
	const int fd = socket(AF_INET, type, 0);

	if (fd < 0)
		return -errno;
	if (inet_pton(AF_INET, argv[0], &address.sin_addr) != 1)
		return -EINVAL;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return type == SOCK_DGRAM ? probe_result(send(fd, "x", 1, 0)) : 0;
}

int net_tcp(char **argv)
{
	return inet(argv, SOCK_STREAM);
}

int net_udp(char **argv)
{
	return inet(argv, SOCK_DGRAM);
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

/* A connection that is opened by sending, HOW: sendto, sendmsg, sendmmsg */
int net_fast_open(char **argv)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((unsigned short)probe_number(argv[1])),
	};
	char byte = 'x';
	struct iovec bytes = { &byte, 1 };
	struct mmsghdr m = { .msg_hdr = {
		.msg_name = &address, .msg_namelen = sizeof(address),
		.msg_iov = &bytes, .msg_iovlen = 1,
	} };
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || inet_pton(AF_INET, argv[0], &address.sin_addr) != 1)
		return -errno;
	if (!strcmp(argv[2], "sendmsg"))
		return probe_result(sendmsg(fd, &m.msg_hdr, MSG_FASTOPEN));
	if (!strcmp(argv[2], "sendmmsg"))
		return probe_result(sendmmsg(fd, &m, 1, MSG_FASTOPEN));
	return probe_result(sendto(fd, "x", 1, MSG_FASTOPEN,
				   (struct sockaddr *)&address,
				   sizeof(address)));
}

/* Without bind() the kernel chooses a port, of every address */
int net_listen_any(char **argv)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)argv;
	return fd < 0 ? -errno : probe_result(listen(fd, 1));
}

int net_interfaces(char **argv)
{
	struct if_nameindex *names = if_nameindex();

	(void)argv;
	if (!names)
		return -errno;
	for (const struct if_nameindex *i = names; i->if_index; i++)
		printf("%s\n", i->if_name);
	if_freenameindex(names);
	return 0;
}
