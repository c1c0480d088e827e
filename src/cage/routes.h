/* SPDX-License-Identifier: Apache-2.0 */
/* cage/routes.h - the routes of the network namespace that we are in */

#ifndef CAGE_ROUTES_H
#define CAGE_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/host.h"

struct err;

enum {
	ROUTES_MAX = 4096,	/* Of a machine, or that pasta may have made */
	ROUTES_LOOPBACK = 1,	/* The loopback's number, in every namespace */
};

/**
 * struct route - One route, as far as we care
 * @via:	There is a gateway
 */
struct route {
	struct host_range to;
	bool via;
	uint8_t gateway[16];
	uint32_t oif, priority;
	uint8_t type, table, scope;
};

/**
 * struct routes - As many as were looked for
 * @all:	Of all tables; else what leads out by the main one
 */
struct routes {
	struct route *v;
	size_t len, cap;
	bool all, full;
};

/* Add the routes of both families, by a netlink socket. 0, or a negative errno
 * with words. The caller frees @routes->v.
 */
int routes_read(int fd, struct routes *routes, struct err *err);

#endif /* CAGE_ROUTES_H */
