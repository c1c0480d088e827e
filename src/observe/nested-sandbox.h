/* SPDX-License-Identifier: Apache-2.0 */
/* observe/nested-sandbox.h - connections of sandboxes inside this one
 *
 * A process tree has one seccomp listener: a sandbox inside has no observer, and the
 * connect() calls of its processes are made here, where its Landlock rules do not
 * apply. Its init therefore announces the ports of its proxies (ipc/nested-address.h).
 * From then on its descendants are connected to these ports of the loopback only.
 *
 * An announcement only takes rights away, so any process may make one. Its effect does
 * not end before the process that made it: that process is a subreaper, so orphans
 * stay its descendants.
 */

#ifndef OBSERVE_NESTED_SANDBOX_H
#define OBSERVE_NESTED_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "ipc/nested-address.h"

enum {
	NESTED_SANDBOXES_MAX = 256, /* At one time */
	NESTED_DEPTH_MAX = 256, /* Generations between a process and its init */
};

/**
 * struct nested_sandboxes - Those that announced themselves
 */
struct nested_sandboxes {
	struct nested_sandbox {
		pid_t pid;
		int pidfd;
		uint16_t ports[NESTED_PORTS];
	} * v;
	size_t len, cap;
};

void nested_sandboxes_done(struct nested_sandboxes *n);

/* True if @address is an announcement */
bool nested_is_announcement(const struct sockaddr *address, socklen_t len);

/* Note what @pid announced: 0 or an errno */
int nested_announce(struct nested_sandboxes *n, pid_t pid,
		    const struct sockaddr *address);

/* Whether the thread @tid may be connected to @address, of IPv4 or IPv6: 0, or EACCES
 * also where its descent cannot be found out
 */
int nested_check(struct nested_sandboxes *n, pid_t tid,
		 const struct sockaddr *address, socklen_t len);

#endif /* OBSERVE_NESTED_SANDBOX_H */
