/* SPDX-License-Identifier: Apache-2.0 */
/* run/localhost-hint.h - explain a connect() to a server that only the host has
 *
 * A sandbox has a loopback interface of its own: what listens at the host's
 * localhost is not there, and a program that looks for it gets "connection
 * refused" from the kernel. Which ports were tried is noted, and which a server
 * inside has; in the end that, and what the host has, gives the reason.
 */

#ifndef RUN_LOCALHOST_HINT_H
#define RUN_LOCALHOST_HINT_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct violation_sink;

enum { LOCALHOST_HINT_MAX = 16 };	/* Ports that are noted of each kind: the first */

/**
 * struct localhost_hint - Zero-initialise it
 * @tried:	Ports that a process inside has connected to
 * @served:	Ports that a process inside listens on
 */
struct localhost_hint {
	_Atomic uint16_t tried[LOCALHOST_HINT_MAX], served[LOCALHOST_HINT_MAX];
};

/* The destination in one form for both families. False if it
 * cannot be another machine: loopback, unspecified, or not an address; then @ret has the
 * port all the same, or 0.
 */
bool localhost_hint_is_away(const struct sockaddr *address, socklen_t len,
		   struct sockaddr_in6 *ret);

/* @port, in network order, was tried, or is served; from any thread */
void localhost_hint_tried(struct localhost_hint *local, in_port_t port);
void localhost_hint_served(struct localhost_hint *local, in_port_t port);

/* Report ports to @sink that were tried and are not served inside, while the host
 * or another sandbox of @project (NULL: none) does
 */
void localhost_hint_report(const struct localhost_hint *local, const char *project,
		  const struct violation_sink *sink);

#endif /* RUN_LOCALHOST_HINT_H */
