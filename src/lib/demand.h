/* SPDX-License-Identifier: Apache-2.0 */
/* lib/demand.h - ports that are captured when somebody connects to them
 *
 * A connect() to a port that nobody captures yet gets its listener just before it
 * goes on. Nothing is granted by that: the gate decides about the connection as
 * about any other.
 */

#ifndef LIB_DEMAND_H
#define LIB_DEMAND_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct destination;
struct gatekeeper;
struct netkeeper;

/**
 * struct demand - Zero-initialise it
 * @count:	How many there are, for other threads
 */
struct demand {
	struct destination *v;
	size_t len, cap;
	uint32_t last_id;
	_Atomic size_t count;
};

void demand_done(struct demand *demand);

/* True if @address is captured, which counts as a use */
bool demand_has(struct demand *demand, const struct sockaddr_in6 *address);

/* Capture @address, if that can be done: a server inside may have it */
void demand_add(struct demand *demand, struct gatekeeper *gate,
		struct netkeeper *keeper, const struct sockaddr_in6 *address);

/* True if a server that binds to @address may find it taken; from any thread */
bool demand_is_in_the_way(const struct demand *demand,
			  const struct sockaddr_in6 *address);

/* Let go of the port of @address, at once */
void demand_yield(struct demand *demand, struct gatekeeper *gate,
		  const struct sockaddr_in6 *address);

#endif /* LIB_DEMAND_H */
