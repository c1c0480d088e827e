/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-report.h - what all connections share; their reports and responses of refusal */

#ifndef TLS_TLS_REPORT_H
#define TLS_TLS_REPORT_H

#include <openssl/ssl.h>
#include <stdint.h>
#include <sys/queue.h>

#include "gate/tls-wire.h"
#include "tls/rewrite.h"

struct authority;
struct buf;
struct loop;
struct refresh;
struct scrub;
struct timers;
struct tls_conn;

enum { TLS_USES_MAX = 64 }; /* Secrets and hosts that are recorded; later ones are not */

/**
 * struct tls_server - What all connections share
 * @refresh:	Reads values again; NULL if none is
 * @upstream:	To connect to servers with
 * @n_urls:	How many secrets have a local URL
 * @channel:	To the gate
 * @lost:	Messages that the gate had no space for
 * @used:	Secrets and hosts that were reported to the gate
 */
struct tls_server {
	struct loop *loop;
	struct timers *timers;
	struct authority *authority;
	const struct bound_secrets *secrets;
	struct secret_values *values;
	struct refresh *refresh;
	SSL_CTX *upstream;
	size_t n_urls;
	int channel;
	uint64_t lost;
	struct tls_use {
		const struct bound_secret *secret;
		char *host;
	} used[TLS_USES_MAX];
	size_t n_used;
	LIST_HEAD(, tls_conn) conns;
	size_t n_conns;
};

/* The gate's connection @id is over, after so many @bytes */
void tls_report_done(struct tls_server *server, uint32_t id, struct tls_bytes bytes);

/* Something on @id was refused. @secret and @fix may be NULL. */
void tls_report_refused(struct tls_server *server, uint32_t id,
			 const char *reason, const struct bound_secret *secret,
			 const char *fix);

/* Secrets were put into a request to @host: @scrub is to search its answer for them. Each
 * pair is reported once: a message per request would wake the gate each time.
 */
void tls_report_uses(struct tls_server *server, uint32_t id,
		     const struct host *host, const struct rewrite *rewrite,
		     struct scrub *scrub);

/* The following report to the gate, for the records, what a user can do something about.
 * @out gets a response of HTTP/1.1 for the client.
 */

/* The client ended the handshake; OpenSSL's queue has the reason */
void tls_refusal_client(struct tls_server *server, uint32_t id);

/* The handshake with @host failed */
void tls_refusal_host(struct tls_server *server, uint32_t id,
		      const struct host *host, const SSL *ssl, struct buf *out);

/* rewrite_head() has returned @error and @rewrite */
void tls_refusal_request(struct tls_server *server, uint32_t id,
			 const struct host *host, const struct rewrite *rewrite,
			 int error, struct buf *out);

#endif /* TLS_TLS_REPORT_H */
