/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-conn.h - one opened connection: TLS to the client, TLS to the server
 *
 * Requests are decided and rewritten one by one; bodies, and a WebSocket after its
 * handshake, pass as they are.
 */

#ifndef TLS_TLS_CONN_H
#define TLS_TLS_CONN_H

#include <stdint.h>

struct tls_serve;
struct tls_server;

enum { TLS_CONNS_MAX = 1024 };

/* Serve a connection of the gate's, number @id. Both descriptors are taken. */
void tls_conn_start(struct tls_server *server, uint32_t id,
		    const struct tls_serve *serve, int client, int upstream);

/* Let those go on that have waited for a value */
void tls_conns_wake(struct tls_server *server);

/* Close all of them */
void tls_conns_close(struct tls_server *server);

#endif /* TLS_TLS_CONN_H */
