/* SPDX-License-Identifier: Apache-2.0 */
/* lib/local.h - the sandbox's own localhost, and who misses the host's
 *
 * A sandbox has a loopback interface of its own: what listens at the host's
 * localhost is not there, and a program that looks for it is told "connection
 * refused", by the kernel. Which ports were tried is noted, and which a server
 * inside has; in the end that, and what the host has, gives the reason.
 */

#ifndef LIB_LOCAL_H
#define LIB_LOCAL_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct violation_sink;

enum { LOCAL_MAX = 16 };	/* Ports that are noted of each kind: the first */

/**
 * struct local - Zero-initialise it
 * @tried:	Ports that somebody inside has connected to
 * @served:	Ports that somebody inside listens on
 */
struct local {
	_Atomic uint16_t tried[LOCAL_MAX], served[LOCAL_MAX];
};

/* The destination in one form for both families. False if it is none that
 * could be elsewhere: loopback, unspecified, or not an address; then @ret has the
 * port all the same, or 0.
 */
bool local_is_away(const struct sockaddr *address, socklen_t len,
		   struct sockaddr_in6 *ret);

/* @port, in network order, was tried, or is served; from any thread */
void local_tried(struct local *local, in_port_t port);
void local_served(struct local *local, in_port_t port);

/* Tell @sink of ports that were tried, and that nobody inside serves, but the host
 * or another sandbox of @project (NULL: none) does
 */
void local_report(const struct local *local, const char *project,
		  const struct violation_sink *sink);

#endif /* LIB_LOCAL_H */
