/* SPDX-License-Identifier: Apache-2.0 */
/* net/parent.h - the proxy behind ours: a company's, or the host's own */

#ifndef NET_PARENT_H
#define NET_PARENT_H

#include <stdbool.h>

#include "policy/host.h"

struct err;
struct policy;

enum { PARENT_NO_PROXY_MAX = 256 };	/* Entries of noProxy */

/* What a 407 of its own means to the client */
#define PARENT_CREDENTIALS "the parent proxy wants other credentials"

/**
 * struct parent - One proxy
 * @host:	Where it is; port 0 if there is none
 * @authorization: Value of Proxy-Authorization, or NULL
 */
struct parent {
	struct host host;
	char *authorization;
};

/**
 * struct parents - Proxies for web pages and for everything else
 * @no_proxy:	Hosts that are reached without one, as they were written
 */
struct parents {
	struct parent http, https;
	char *no_proxy;
};

/* From network.parentProxy. 0, or -EINVAL with words and *@ret empty. */
int parents_init(struct parents *ret, const struct policy *policy,
		 struct err *err);
void parents_done(struct parents *parents);

/* The proxy on the way to @host, or NULL: dial it ourselves. @plain: for HTTP
 * requests, which it gets as they are instead of a CONNECT.
 */
const struct parent *parents_for(const struct parents *parents,
				 const struct host *host, bool plain);

#endif /* NET_PARENT_H */
