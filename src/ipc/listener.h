/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/listener.h - the sockets made in the sandbox's namespace, and their roles
 *
 * The sandbox makes them (sandbox/netns.h), the gate serves them (gate/gate-state.h); a
 * set travels between the two as one message of rows and descriptors.
 */

#ifndef IPC_LISTENER_H
#define IPC_LISTENER_H

#include <stddef.h>
#include <stdint.h>

enum {
	LISTENERS_MAX = 128,	/* Sockets of one sandbox, at the start */
	LISTENER_HTTP_PORT = 3128,
	LISTENER_SOCKS_PORT = 1080,
	LISTENER_DNS_PORT = 53,
	LISTENER_FREE_PORT = 1024,	/* The first that needs no capability */
};

/* The sandbox's own addresses, beside loopback; never given to a name */
#define LISTENER_OWN_IPV4	{ 198, 18, 0, 1 }
#define LISTENER_OWN_IPV6	{ 0xfd, 'c', 'l', 'o', 'c', 'h', 'e', 0,	\
				  0, 0, 0, 0, 0, 0, 0, 1 }

/* What a connection to the socket means. All of them are bound to every
 * address, so the part below is for the loopback address only; to any other
 * address a TCP connection is a captured one, whatever the port.
 */
enum listener_role {
	LISTENER_HTTP,		/* HTTP proxy */
	LISTENER_SOCKS,		/* SOCKS5 proxy */
	LISTENER_DNS_TCP,	/* DNS, for every address */
	LISTENER_DNS_UDP,	/* The same, a datagram socket */
	LISTENER_CAPTURE,	/* Nothing at loopback */
	LISTENER_HOST_PORT,	/* The same port at the host's loopback */
	LISTENER_PUBLISH,	/* On the host: connections go to a port inside */
	LISTENER_SEED,		/* A listener that only makes other sockets */
	LISTENER_SEED_SOCKET,	/* Not listening: the first of those sockets */
	LISTENER_UNREACHED,	/* A raw socket: datagrams that no socket takes */
	LISTENER_ROLES,
};

/**
 * struct listener - One row
 * @role:	What a connection to it means
 * @port:	Its port, or the port inside for LISTENER_PUBLISH
 */
struct listener {
	uint16_t role;
	uint16_t port;
};

/* Rows, and the descriptor of each */
struct listener_set {
	size_t len;
	struct listener v[LISTENERS_MAX];
	int fds[LISTENERS_MAX];
};

/**
 * struct listener_client - The other end of a connection, or of a datagram
 * @family:	4, 6, or 0 if unknown
 * @udp:	A datagram; else TCP
 * @port, @address: Its own
 * @to_port, @to: Where it connected to
 */
struct listener_client {
	uint8_t family, udp;
	uint16_t port, to_port;
	uint8_t address[16], to[16];
};

/* Add a row and take over @fd: 0, or -ENOSPC and @fd is closed */
int listener_add(struct listener_set *set, enum listener_role role,
		 uint16_t port, int fd);

/* Close and forget captured ports that a program may listen on itself, which are
 * those that take no capability: for a sandbox where they can be had on demand
 */
void listener_yield(struct listener_set *set);

/* Close what is left in it */
void listener_done(struct listener_set *set);

/* Hand all of it, one at least, over a SOCK_SEQPACKET socket as one message; the
 * descriptors stay open here. 0 or a negative errno.
 */
int listener_send(int sock, const struct listener_set *set);

/* The other end: 0 with *@ret filled, or a negative errno and nothing kept */
int listener_recv(int sock, struct listener_set *ret);

#endif /* IPC_LISTENER_H */
