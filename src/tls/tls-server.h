/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-server.h - what all connections share */

#ifndef TLS_TLS_SERVER_H
#define TLS_TLS_SERVER_H

#include <openssl/ssl.h>
#include <stdint.h>
#include <sys/queue.h>

#include "tls/rewrite.h"

struct authority;
struct loop;
struct refresh;
struct timers;
struct tls_conn;

enum {
	TLS_USES_MAX =
		64, /* Secrets and hosts that are recorded; later ones are not */
};

/**
 * struct tls_server - What all connections share
 * @refresh:	Reads values again; NULL if none is
 * @upstream:	To connect to servers with
 * @n_urls:	How many secrets have a local URL
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

#endif /* TLS_TLS_SERVER_H */
