/* SPDX-License-Identifier: Apache-2.0 */
/* tls/authority.h - certificates for bound hosts, from an authority of one run
 *
 * The authority's key exists in this process only. Its certificate is good for the
 * bound hosts and no others (a critical name constraint), so that even a thief
 * of the key could not impersonate another host.
 */

#ifndef TLS_AUTHORITY_H
#define TLS_AUTHORITY_H

#include <openssl/ssl.h>

struct authority;
struct bound_secrets;
struct buf;
struct err;

enum { AUTHORITY_LEAVES_MAX = 256 }; /* Certificates kept, one a host */

int authority_new(const struct bound_secrets *secrets, struct authority **ret,
		  struct err *err);
void authority_free(struct authority *authority);

/* Append its certificate as PEM */
int authority_write(const struct authority *authority, struct buf *out,
		    struct err *err);

/* What to accept a connection for @host with; owned by the authority, which keeps it.
 * NULL with a message on failure.
 */
SSL_CTX *authority_context(struct authority *authority, const char *host,
			   struct err *err);

/* Append the system's key store for Java to @out, with its certificate in it; nothing if
 * there is none, or one of another format or with another password than Java's own
 */
void authority_write_java(const struct authority *authority, struct buf *out);

#endif /* TLS_AUTHORITY_H */
