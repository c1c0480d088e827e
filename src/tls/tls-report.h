/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-report.h - messages to the gate about its connections */

#ifndef TLS_TLS_REPORT_H
#define TLS_TLS_REPORT_H

#include <stdint.h>

#include "gate/tls-wire.h"

struct bound_secret;
struct host;
struct rewrite;
struct scrub;
struct tls_server;

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

#endif /* TLS_TLS_REPORT_H */
