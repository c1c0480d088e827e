/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/netns-helper.h - a process in a sandbox's network namespace that serves the
 * supervisor: it opens listeners and finds the inode of a client's socket
 */

#ifndef SANDBOX_NETNS_HELPER_H
#define SANDBOX_NETNS_HELPER_H

#include <stdint.h>
#include <sys/socket.h>

struct err;
struct listener_client;
struct proc;

/* Fork a process that joins the namespaces @user and @net (descriptors, which
 * stay the caller's). It can listen there, and find the inode of a socket. The caller
 * ends it (proc_end()). 0 or a negative errno with a message.
 */
int netns_helper_start(int user, int net, struct proc *ret, struct err *err);

/* netns_listen() in there: the descriptor or a negative errno */
int netns_helper_listen(const struct proc *helper, const struct sockaddr *address,
		     socklen_t len);

/* The inode of the socket inside that is @client, as /proc shows it; 0 if there
 * is none (any more), or the kernel does not tell
 */
uint64_t netns_helper_inode(const struct proc *helper,
			 const struct listener_client *client);

#endif /* SANDBOX_NETNS_HELPER_H */
