/* SPDX-License-Identifier: Apache-2.0 */
/* gate/parent-proxy.h - the proxy that the gate connects through: a company's, or the host's */

#ifndef GATE_PARENT_PROXY_H
#define GATE_PARENT_PROXY_H

#include <stdbool.h>

#include "policy/host.h"

struct err;
struct policy;

enum { PARENT_NO_PROXY_MAX = 256 };	/* Entries of noProxy */

/* What a 407 of its own means to the client */
#define PARENT_CREDENTIALS "the parent proxy wants other credentials"

/**
 * struct parent_proxy - One proxy
 * @host:	Where it is; port 0 if there is none
 * @authorization: Value of Proxy-Authorization, or NULL
 */
struct parent_proxy {
	struct host host;
	char *authorization;
};

/**
 * struct parent_proxies - Proxies for web pages and for everything else
 * @no_proxy:	Hosts that are reached without one, as they were written
 */
struct parent_proxies {
	struct parent_proxy http, https;
	char *no_proxy;
};

/* From network.parentProxy. 0, or -EINVAL with a message and *@ret empty. */
int parent_proxies_init(struct parent_proxies *ret, const struct policy *policy,
			struct err *err);
void parent_proxies_done(struct parent_proxies *parents);

/* The proxy on the way to @host, or NULL: dial it ourselves. @plain: for HTTP
 * requests, which it gets as they are instead of a CONNECT.
 */
const struct parent_proxy *parent_proxies_for(const struct parent_proxies *parents,
					      const struct host *host, bool plain);

#endif /* GATE_PARENT_PROXY_H */
