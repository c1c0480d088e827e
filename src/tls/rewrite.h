/* SPDX-License-Identifier: Apache-2.0 */
/* tls/rewrite.h - the head of a request with real credentials in it
 *
 * Pure. What is not a credential is forwarded byte for byte.
 */

#ifndef TLS_REWRITE_H
#define TLS_REWRITE_H

#include <stddef.h>

#include "gate/bound-secret.h"
#include "gate/proto/http.h"
#include "secret/locked-memory.h"

enum {
	REWRITE_USES_MAX = 8, /* Credentials in one head */
	REWRITE_BODY_MAX = 8 << 20, /* Bytes of a body that is signed */
};

/**
 * struct secret_values - The values behind placeholders
 * @v:		In the order of the struct bound_secrets
 */
struct secret_values {
	struct bytes v[BOUND_VALUES_MAX];
};

/**
 * struct rewrite - What became of a head
 * @body:	Set by the caller: what came behind the head, @n_body bytes
 * @waits:	Set by the caller: it can call again with more of the body
 * @needs:	With -EAGAIN: how many bytes of the body
 * @request:	The head; its spans point into the caller's buffer
 * @why:	Why it is refused; a literal, or NULL
 * @fix:	What would help, where no other binding would; a literal, or NULL
 * @misplaced:	The secret whose placeholder may not go to this host, or NULL
 * @used:	Secrets that were put in, @n_used of them
 */
struct rewrite {
	const char *body;
	size_t n_body, needs;
	bool waits;
	struct http_request request;
	const char *why, *fix;
	const struct bound_secret *misplaced;
	const struct bound_secret *used[REWRITE_USES_MAX];
	size_t n_used;
};

/* Check the head of @n bytes at @p, as http_head_scan() measured it, which came on a
 * connection to @host, and append it to @out with values where bound placeholders
 * were. 0; or a negative errno with ret->why, and @out is as it was: -EACCES for a
 * placeholder that is not bound to @host, or another host's name; -E2BIG for too many
 * credentials; -EPERM for a signature that cannot be made again; -EAGAIN if
 * the body is signed and not there yet; others as
 * http_request_parse().
 */
int rewrite_head(const char *p, size_t n, const struct host *host,
		 const struct bound_secrets *secrets,
		 const struct secret_values *values, struct rewrite *ret,
		 struct bytes *out);

#endif /* TLS_REWRITE_H */
