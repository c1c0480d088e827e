/* SPDX-License-Identifier: Apache-2.0 */
/* cage/netkeeper.h - a process that listens inside a sandbox on our behalf */

#ifndef CAGE_NETKEEPER_H
#define CAGE_NETKEEPER_H

#include <sys/socket.h>

struct err;
struct netkeeper;

/* Fork a process that joins the namespaces @user and @net (descriptors, which
 * stay the caller's). It can do one thing there: listen.
 */
int netkeeper_start(int user, int net, struct netkeeper **ret,
		    struct err *err);
void netkeeper_stop(struct netkeeper *keeper);

/* netns_listen() in there: the descriptor or a negative errno */
int netkeeper_listen(struct netkeeper *keeper, const struct sockaddr *address,
		     socklen_t len);

#endif /* CAGE_NETKEEPER_H */
