/* SPDX-License-Identifier: Apache-2.0 */
/* run/landlock-proxies.h - the landlock tier's network: the gate's ports on the host
 *
 * Without a network namespace the proxies listen on the host's loopback, where
 * every user of the machine can reach them, and Landlock, which knows ports
 * but no addresses, lets the command connect nowhere at all. So the supervisor
 * connects for it, to the proxies only, and announces the client's port
 * to the gate, which refuses every other client.
 */

#ifndef RUN_LANDLOCK_PROXIES_H
#define RUN_LANDLOCK_PROXIES_H

#include <sys/socket.h>

#include "plan/network.h"

struct err;
struct gate_client;
struct listener_set;

/* Listen on two free ports of 127.0.0.1. 0, or a negative errno with a message. */
int landlock_proxies_open(struct listener_set *set, struct network_proxies *ret,
		 struct err *err);

/* Connect @sock, which the command wants connected to @address, if that is one
 * of @proxies; @gate (NULL: none) gets the client's port first. 1 if it is connected,
 * -EACCES for any other address, or what connect() says.
 */
int landlock_proxies_connect(const struct network_proxies *proxies,
			     const struct sockaddr *address, socklen_t len,
			     int sock, struct gate_client *gate);

#endif /* RUN_LANDLOCK_PROXIES_H */
