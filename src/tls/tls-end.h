/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-end.h - one side of an opened connection: TLS over a socket of the gate's */

#ifndef TLS_TLS_END_H
#define TLS_TLS_END_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/loop.h"
#include "secret/locked-memory.h"

struct err;
struct host;
struct tls_bytes;

enum { TLS_RECORD_MAX = 16 << 10 }; /* Bytes of one TLS record */

/**
 * struct tls_end - One side
 * @ssl:	NULL for a client that speaks plain HTTP
 * @hello:	The client's first bytes, which the gate has read; @hello_at of them
 *		were used
 * @peer:	The other side, for tls_alpn_follow(); @asked: the hello was read
 * @open:	The handshake is complete
 * @failed:	The handshake failed: nothing can be read or written
 * @broken:	Nothing more can be written; what came before may still be read
 * @eof:	The last byte was read; @clean: its peer said so; @cut: the client's
 *		socket ended
 * @in:		Read and not yet forwarded
 * @head:	To be written first; has real credentials in it
 * @out:	To be written; the first @sent bytes were
 */
struct tls_end {
	struct loop_source source;
	SSL *ssl;
	char *hello;
	size_t hello_at, hello_n;
	struct tls_end *peer;
	bool asked, open, failed, broken, eof, clean, cut, shut;
	struct buf in, out;
	struct bytes head;
	size_t sent;
};

/* What was moved over the socket so far */
struct tls_bytes tls_end_bytes(const struct tls_end *end);

/* What servers are verified and spoken to with; @cas are files of the user's, @n of
 * them. NULL with a message on failure.
 */
SSL_CTX *tls_upstream_context(char *const *cas, size_t n, struct err *err);

/* Begin as the server @host, which @context has a certificate for. False without
 * memory.
 */
bool tls_end_accept(struct tls_end *end, SSL_CTX *context, struct host *host);

/* Begin as a client of @host, whose certificate will be verified */
bool tls_end_connect(struct tls_end *end, SSL_CTX *context, const char *host);

/* Have @client wait for the protocol that @server chooses; before its handshake. The
 * server is offered HTTP/2 if the client offers it, and the client gets what the server
 * has chosen: there is no translation between the two. @client->asked becomes true when its
 * hello was read: only then may @server connect.
 */
void tls_alpn_follow(struct tls_end *client, struct tls_end *server);

/* True if @end has agreed on HTTP/2 */
bool tls_alpn_is_h2(const struct tls_end *end);

/* After a call of OpenSSL's that returned @r: true if it is to be called again */
bool tls_end_waits(struct tls_end *end, int r);

/* Write @head and @out as far as the socket takes it: true if something was written */
bool tls_end_flush(struct tls_end *end);
bool tls_end_is_sent(const struct tls_end *end);

/* Read one record to the end of @in, if that has less than @max bytes: true if
 * something came, which may have no data, or the end
 */
bool tls_end_fill(struct tls_end *end, size_t max);

/* Forget the first @n bytes of @in */
void tls_end_drop(struct tls_end *end, size_t n);

/* Tell the peer that nothing more comes, where TLS has a message for that */
void tls_end_shutdown(struct tls_end *end);

/* Take the socket out of @loop and close everything */
void tls_end_close(struct loop *loop, struct tls_end *end);

#endif /* TLS_TLS_END_H */
