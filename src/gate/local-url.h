/* SPDX-License-Identifier: Apache-2.0 */
/* gate/local-url.h - URLs on the proxy's own port that lead to the host of a secret
 *
 * A program that brings its own authorities, or pins a certificate, cannot be given one of
 * ours. It is given http://localhost:3128/.cloche/NAME instead of its service's URL: plain
 * HTTP inside, TLS from cloche-tls to the host.
 */

#ifndef GATE_LOCAL_URL_H
#define GATE_LOCAL_URL_H

#include <stdbool.h>
#include <stddef.h>

struct bound_secret;
struct bound_secrets;
struct buf;
struct host;

#define LOCAL_URL_PREFIX "/.cloche/"

/**
 * struct local_url - Such a URL in the first line of a request
 * @at, @n:	The bytes of the line that the host's own path follows
 */
struct local_url {
	const struct bound_secret *secret;
	size_t at, n;
};

/* Look for one in the first @n bytes of a request: false if there is none, or not yet */
bool local_url_find(const struct bound_secrets *secrets, const char *p,
		    size_t n, struct local_url *ret);

/* Where the requests for @secret's URL go */
bool local_url_host(const struct bound_secret *secret, struct host *ret);

/* Append the head of @n bytes at @p to @out as @host gets it: its own path, its own
 * name. False if it is for another host.
 */
bool local_url_write(const struct bound_secrets *secrets,
		     const struct host *host, const char *p, size_t n,
		     struct buf *out);

#endif /* GATE_LOCAL_URL_H */
