/* SPDX-License-Identifier: Apache-2.0 */
/* tls/h2-relay.h - HTTP/2 between a client and a server, requests decided one by one
 *
 * Knows no sockets: what a side has sent goes in, what it is to be sent comes out.
 */

#ifndef TLS_H2_RELAY_H
#define TLS_H2_RELAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "secret/locked-memory.h"

struct h2_relay;
struct scrub;

enum {
	H2_STREAMS_MAX = 100, /* Requests of one client at a time */
	H2_STREAM_WINDOW = 256 << 10, /* Bytes of a body that wait here */
	H2_WINDOW = 1 << 20, /* Of all bodies in one direction */
	H2_MEMORY_MAX = 4 << 20, /* Heads and frames that wait, for both sides */
};

/* Decide about a request, as HTTP/1.1 has it: @n bytes at @head. True, with what the server is
 * to be sent in @out, and what is to be searched for in the response in @scrub; or
 * false, with a whole response of HTTP/1.1 in @answer.
 */
typedef bool (*h2_decide)(void *arg, const char *head, size_t n,
			 struct scrub *scrub, struct bytes *out,
			 struct buf *answer);

/* NULL without memory */
struct h2_relay *h2_relay_new(h2_decide decide, void *arg);
void h2_relay_free(struct h2_relay *relay);

/* @n bytes came: false if the connection cannot go on */
bool h2_relay_from_client(struct h2_relay *relay, const char *p, size_t n);
bool h2_relay_from_server(struct h2_relay *relay, const char *p, size_t n);

/* The server will send no more */
void h2_relay_server_ended(struct h2_relay *relay);

/* Append what a side is to be sent, until @max bytes wait: true if there was anything.
 * To the server, frames that may have values in them go to @head, bodies to @out, and
 * all of @head comes first.
 */
bool h2_relay_to_client(struct h2_relay *relay, struct buf *out, size_t max);
bool h2_relay_to_server(struct h2_relay *relay, struct bytes *head,
			struct buf *out, size_t max);

/* True while the beginning of what may be a value is kept back; send it nevertheless */
bool h2_relay_holds(const struct h2_relay *relay);
void h2_relay_release(struct h2_relay *relay);

/* Nothing is to be read from the client or sent to it any more */
bool h2_relay_is_done(const struct h2_relay *relay);

#endif /* TLS_H2_RELAY_H */
