/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/jail-holder.h - a network namespace that reaches the internet and nothing near
 *
 * jail_start() returns when the routes are locked, or fails: a jail
 * without its routes is never returned. Closing it ends pasta.
 */

#ifndef SANDBOX_JAIL_HOLDER_H
#define SANDBOX_JAIL_HOLDER_H

#include "base/proc.h"
#include "policy/host.h"

struct err;
struct jail;
struct plan;

/**
 * struct jail_run - A jail that is ready
 * @user, @net:	Its namespaces; the first owns the second
 * @holder:	Its process; the socket is readable when the network has ended
 */
struct jail_run {
	int user, net;
	struct proc holder;
};

#define JAIL_NONE	((struct jail_run){ -1, -1, PROC_NONE })

int jail_start(const struct plan *plan, struct jail_run *ret,
	       struct err *err);

/* Safe on JAIL_NONE */
void jail_stop(struct jail_run *run);

/* Networks that the machine has routes to, and its addresses */
struct jail_near {
	struct host_range *v;
	size_t len, cap;
};

/* jail-routes.c: the host's, while we are still in its network. 0, or a negative
 * errno with a message. The caller frees @ret->v.
 */
int jail_look(struct jail_near *ret, struct err *err);

/* Lock the routes of the namespace that we are in. 0, or a
 * negative errno with a message.
 */
int jail_lock(const struct jail *jail, const struct jail_near *near,
	      struct err *err);

#endif /* SANDBOX_JAIL_HOLDER_H */
