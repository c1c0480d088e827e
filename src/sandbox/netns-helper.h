/* SPDX-License-Identifier: Apache-2.0 */
/* cage/netkeeper.h - a process in a sandbox's network, on our behalf: it listens,
 * and knows which socket is whose
 */

#ifndef CAGE_NETKEEPER_H
#define CAGE_NETKEEPER_H

#include <stdint.h>
#include <sys/socket.h>

struct err;
struct listener_client;
struct netkeeper;

/* Fork a process that joins the namespaces @user and @net (descriptors, which
 * stay the caller's). It can do two things there: listen, and look.
 */
int netkeeper_start(int user, int net, struct netkeeper **ret,
		    struct err *err);
void netkeeper_stop(struct netkeeper *keeper);

/* netns_listen() in there: the descriptor or a negative errno */
int netkeeper_listen(struct netkeeper *keeper, const struct sockaddr *address,
		     socklen_t len);

/* The inode of the socket inside that is @client, as /proc shows it; 0 if there
 * is none (any more), or the kernel does not tell
 */
uint64_t netkeeper_inode(struct netkeeper *keeper,
			 const struct listener_client *client);

#endif /* CAGE_NETKEEPER_H */
