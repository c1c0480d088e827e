/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-conn.h - one opened connection: TLS to the client, TLS to the server
 *
 * Requests are judged and rewritten one by one; bodies, and a WebSocket after its
 * handshake, pass as they are.
 */

#ifndef TLS_TLS_CONN_H
#define TLS_TLS_CONN_H

#include <openssl/ssl.h>
#include <stdint.h>
#include <sys/queue.h>

#include "policy/host.h"
#include "tls/rewrite.h"

struct authority;
struct loop;
struct timers;
struct tls_conn;

enum {
	TLS_CONNS_MAX = 1024,
	TLS_USES_MAX =
		64, /* Secrets and hosts that are recorded; later ones are not */
};

/**
 * struct tls_server - What all connections share
 * @upstream:	To connect to servers with
 * @channel:	To the gate
 * @lost:	Messages that the gate had no space for
 * @used:	Which secrets the gate knows to be used, and for which hosts
 */
struct tls_server {
	struct loop *loop;
	struct timers *timers;
	struct authority *authority;
	const struct bound_secrets *secrets;
	struct secret_values *values;
	SSL_CTX *upstream;
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

/* Serve a connection of the gate's, number @id. Both descriptors are taken; @hello
 * are the client's first @n bytes.
 */
void tls_conn_start(struct tls_server *server, uint32_t id,
		    const struct host *host, int client, int upstream,
		    const void *hello, size_t n);

/* Tell the gate that its connection @id is over */
void tls_conn_done(struct tls_server *server, uint32_t id);

/* Close all of them */
void tls_conns_close(struct tls_server *server);

#endif /* TLS_TLS_CONN_H */
