/* SPDX-License-Identifier: Apache-2.0 */
/* tls/refresh.h - values that are read when they are needed, and again after a time
 *
 * The supervisor is asked, and answers with a pipe. Meanwhile the requests to hosts of that
 * secret wait.
 */

#ifndef TLS_REFRESH_H
#define TLS_REFRESH_H

#include <stdbool.h>

struct host;
struct tls_config;
struct tls_server;

/* Have @server ask for values over @control, which is taken; @wake is called when one has
 * come, or will not. NULL if none of @config's needs that; @control is closed then.
 */
struct refresh *refresh_new(struct tls_server *server,
			    const struct tls_config *config, int control,
			    void (*wake)(struct tls_server *server));

/* True if a request to @host may be decided; else values are on their way. With @ask, those
 * that are too old are asked for. True for @refresh NULL.
 */
bool refresh_is_done(struct refresh *refresh, const struct host *host, bool ask);

#endif /* TLS_REFRESH_H */
