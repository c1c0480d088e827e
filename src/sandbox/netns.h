/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/netns.h - a network namespace in which every destination is our own */

#ifndef SANDBOX_NETNS_H
#define SANDBOX_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct err;
struct listener_client;
struct listener_set;

/**
 * struct netns_config - What the namespace is for
 * @filtered:	Capture and proxies; else only the loopback interface comes up
 * @capture:	More TCP ports to capture than the built-in ones
 * @n_capture:	How many
 * @host_ports:	TCP ports whose connections are for the host's loopback
 * @n_host_ports: How many
 * @publish:	Connections from the host will come in: sockets are needed that
 *		can dial inside
 */
struct netns_config {
	bool filtered;
	const uint16_t *capture;
	size_t n_capture;
	const uint16_t *host_ports;
	size_t n_host_ports;
	bool publish;
};

/* Set up the caller's network namespace, which has no other member yet:
 * `lo` up and, if filtered, every address of both families local, and the
 * listeners (ipc/listener.h) in *@ret. Needs CAP_NET_ADMIN and
 * CAP_NET_BIND_SERVICE over the namespace. Without IPv6 in the kernel the
 * sockets are IPv4. 0, or a negative errno with a message and nothing left open.
 */
int netns_setup(const struct netns_config *config, struct listener_set *ret,
		struct err *err);

/* The two halves of it: what needs no ports, and the listeners */
int netns_up(bool filtered, struct err *err);
int netns_open(const struct netns_config *config, struct listener_set *ret,
	       struct err *err);

/* Capture one more destination: a listener for exactly @address (AF_INET or
 * AF_INET6, with its port), to be called by a process that is in the sandbox's
 * user and network namespaces. The descriptor; -EADDRINUSE if another socket listens
 * there already, which is no failure of the capture; or a negative errno.
 */
int netns_listen(const struct sockaddr *address, socklen_t len);

/* The inode of the socket in the caller's network namespace that is @client, or
 * 0 if there is none or the kernel does not tell
 */
uint64_t netns_inode(const struct listener_client *client);

/* Move the caller, which must have one thread, into namespaces: descriptors of
 * the user and of the network namespace. 0 or a negative errno.
 */
int netns_join(int user, int net);

#endif /* SANDBOX_NETNS_H */
