/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/reach.h - is somebody there? Connections that carry nothing */

#ifndef FIREWALL_REACH_H
#define FIREWALL_REACH_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/host.h"

enum {
	REACH_HOSTS_MAX = 16,	/* Tried at the same time */
	REACH_MS = 5000,	/* Enough for two lost packets */
};

/* Try to connect to each of @hosts, which have ports: the index of the first
 * that answers. Otherwise the error of the last: -ECONNREFUSED if somebody
 * said no, -ENETUNREACH if there is no way, -ETIMEDOUT.
 */
int reach_any(const struct host *hosts, size_t n, int timeout_ms);

/* Whether packets to @host would be sent at all; none is */
bool reach_has_route(const struct host *host);

#endif /* FIREWALL_REACH_H */
