/* SPDX-License-Identifier: Apache-2.0 */
/* gate/tls-wire.h - the messages between a gate, its supervisor and cloche-tls
 *
 * Over SOCK_SEQPACKET. A message is one struct tls_message and the text that its
 * kind says; descriptors come beside it.
 */

#ifndef GATE_TLS_WIRE_H
#define GATE_TLS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/host.h"

enum {
	TLS_HELLO_MAX = 16 << 10, /* Bytes that the gate has read already */
	TLS_TEXT_MAX = 64 << 10, /* Of any message */
};

enum tls_message_kind {
	/* From the supervisor, once: text: JSON without any value (tls/config.h);
	 * descriptors: the gate's channel, then a pipe for each secret, which has its
	 * value
	 */
	TLS_CONFIG,
	/* To the supervisor, before TLS_READY: text: what is shown inside in the place
	 * of the masked text number @id
	 */
	TLS_SHOWN,
	/* To the supervisor, once: text: {"ca": PEM, "placeholders": [...], "parts":
	 * [...], "notes": [...]}; or why not. Behind the placeholders of the
	 * configuration's secrets come those of parts of masked texts, and "parts" has
	 * the number of the text for each.
	 */
	TLS_READY,
	TLS_FAILED,
	/* From the gate: serve the connection @id to @port of the host whose name is the
	 * first @n bytes of the text, after which come the client's first bytes.
	 * Descriptors: the client, the server.
	 */
	TLS_SERVE,
	/* The same for a client that speaks plain HTTP, to a local URL */
	TLS_SERVE_PLAIN,
	/* To the gate: @id is over; nothing of it is open any more. Text: a struct
	 * tls_bytes.
	 */
	TLS_DONE,
	/* To the gate: something on @id was refused. Text, each with a NUL: the reason,
	 * the name of the secret or "", what would help or "".
	 */
	TLS_REFUSED,
	/* To the gate: text: the name of a secret that was put into a request on @id;
	 * once for each host
	 */
	TLS_USED,
	/* To the supervisor: text: a text in the form of the stored secret @id, as none
	 * or another one was known
	 */
	TLS_SHAPE,
	/* To the supervisor: the value of @id is needed; the answer has a pipe with it, or
	 * nothing if that cannot be had
	 */
	TLS_FETCH,
	TLS_VALUE,
	/* To the supervisor, before TLS_READY: text: a piece of Java's key store for the
	 * sandbox
	 */
	TLS_JAVA,
};

/* Bytes to the host and from it, encrypted */
struct tls_bytes {
	uint64_t sent, received;
};

struct tls_message {
	uint32_t kind;
	uint32_t id;
	uint16_t port, n;
};

/* Send a message with the @n bytes at @text: 0 or a negative errno */
int tls_wire_send(int fd, enum tls_message_kind kind, uint32_t id,
		  const void *text, size_t n);

/**
 * struct tls_serve - A TLS_SERVE or TLS_SERVE_PLAIN message, read
 * @hello:	The client's first bytes, in the message; @n of them
 */
struct tls_serve {
	struct host host;
	const char *hello;
	size_t n;
	bool plain;
};

/* Read the @n bytes at @text behind @m: false if it is another message */
bool tls_wire_serve(const struct tls_message *m, const char *text, size_t n,
		    struct tls_serve *ret);

/**
 * struct tls_refused - A TLS_REFUSED message, read; strings in the message
 * @secret, @fix:	NULL where there is none
 */
struct tls_refused {
	const char *reason, *secret, *fix;
};

/* Read the @n bytes at @text of a TLS_REFUSED message: false if they are not three
 * strings
 */
bool tls_wire_refused(const char *text, size_t n, struct tls_refused *ret);

#endif /* GATE_TLS_WIRE_H */
