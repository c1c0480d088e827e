/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-refusal.h - responses and reports for refused connections and requests
 *
 * Each reports to the gate, for the records, where someone has to do something about
 * it. @out gets a response of HTTP/1.1, for the client.
 */

#ifndef TLS_TLS_REFUSAL_H
#define TLS_TLS_REFUSAL_H

#include <openssl/ssl.h>
#include <stdint.h>

struct buf;
struct host;
struct rewrite;
struct tls_server;

/* The client ended the handshake; OpenSSL's queue has the reason */
void tls_refusal_client(struct tls_server *server, uint32_t id);

/* The handshake with @host failed */
void tls_refusal_host(struct tls_server *server, uint32_t id,
		      const struct host *host, const SSL *ssl, struct buf *out);

/* rewrite_head() has returned @error and @rewrite */
void tls_refusal_request(struct tls_server *server, uint32_t id,
			 const struct host *host, const struct rewrite *rewrite,
			 int error, struct buf *out);

#endif /* TLS_TLS_REFUSAL_H */
