/* SPDX-License-Identifier: Apache-2.0 */
/* plan/jail.h - the egress jail: which addresses can be reached */

#ifndef PLAN_JAIL_H
#define PLAN_JAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/host.h"

struct err;
struct policy;

enum {
	JAIL_ROUTES_MAX = 512,	/* Ranges of one jail */
};

/* Where DNS goes: pasta forwards it to the host's resolvers. A route to these
 * would open every port of a router that is one of them.
 */
#define JAIL_FORWARD4 "169.254.1.53"
#define JAIL_FORWARD6 "fdc1:c4e::53"

/**
 * struct jail_route - What becomes of a range
 * @open:	Reachable, in spite of a range around it
 * @why:	Words; a literal, or the policy's
 */
struct jail_route {
	struct host_range range;
	bool open;
	const char *why;
};

/**
 * struct jail - The routes of a jail
 * @on:		There is one
 * @forward4, @forward6: DNS goes to JAIL_FORWARD4, JAIL_FORWARD6; resolv.conf
 *		inside names them
 */
struct jail {
	bool on, forward4, forward6;
	struct jail_route *v;
	size_t len, cap;
};

/* From the policy and @resolv, the text of resolv.conf. A range that an open
 * one holds is not blocked. 0, or a negative errno with a message.
 */
int jail_plan(const struct policy *policy, const char *resolv,
	      struct jail *ret, struct err *err);
void jail_done(struct jail *jail);

/* True if an open range holds all of @range */
bool jail_opens(const struct jail *jail, const struct host_range *range);

/* The range that keeps @host from being reached, or NULL */
const struct jail_route *jail_find(const struct jail *jail,
				   const struct host *host);

#endif /* PLAN_JAIL_H */
