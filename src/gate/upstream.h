/* SPDX-License-Identifier: Apache-2.0 */
/* gate/upstream.h - the proxy behind ours: a company's, or the host's own */

#ifndef GATE_UPSTREAM_H
#define GATE_UPSTREAM_H

#include <stdbool.h>

#include "policy/host.h"

struct err;
struct policy;

enum { UPSTREAM_NO_PROXY_MAX = 256 };	/* Entries of noProxy */

/* What a 407 of its own means to the client */
#define UPSTREAM_CREDENTIALS "the parent proxy wants other credentials"

/**
 * struct upstream - One proxy
 * @host:	Where it is; port 0 if there is none
 * @authorization: Value of Proxy-Authorization, or NULL
 */
struct upstream {
	struct host host;
	char *authorization;
};

/**
 * struct upstreams - Proxies for web pages and for everything else
 * @no_proxy:	Hosts that are reached without one, as they were written
 */
struct upstreams {
	struct upstream http, https;
	char *no_proxy;
};

/* From network.parentProxy. 0, or -EINVAL with a message and *@ret empty. */
int upstreams_init(struct upstreams *ret, const struct policy *policy,
		 struct err *err);
void upstreams_done(struct upstreams *parents);

/* The proxy on the way to @host, or NULL: dial it ourselves. @plain: for HTTP
 * requests, which it gets as they are instead of a CONNECT.
 */
const struct upstream *upstreams_for(const struct upstreams *parents,
				 const struct host *host, bool plain);

#endif /* GATE_UPSTREAM_H */
