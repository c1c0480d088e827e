/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/netns-helper.h - a process in a sandbox's network, on our behalf: it listens,
 * and knows which socket is whose
 */

#ifndef SANDBOX_NETNS_HELPER_H
#define SANDBOX_NETNS_HELPER_H

#include <stdint.h>
#include <sys/socket.h>

struct err;
struct listener_client;
struct netns_helper;

/* Fork a process that joins the namespaces @user and @net (descriptors, which
 * stay the caller's). It can do two things there: listen, and look.
 */
int netns_helper_start(int user, int net, struct netns_helper **ret,
		    struct err *err);
void netns_helper_stop(struct netns_helper *keeper);

/* netns_listen() in there: the descriptor or a negative errno */
int netns_helper_listen(struct netns_helper *keeper, const struct sockaddr *address,
		     socklen_t len);

/* The inode of the socket inside that is @client, as /proc shows it; 0 if there
 * is none (any more), or the kernel does not tell
 */
uint64_t netns_helper_inode(struct netns_helper *keeper,
			 const struct listener_client *client);

#endif /* SANDBOX_NETNS_HELPER_H */
