/* SPDX-License-Identifier: Apache-2.0 */
/* gate/tls-wire.h - the messages between a gate, its supervisor and cloche-tls
 *
 * Over SOCK_SEQPACKET. A message is one struct tls_message and the text that its
 * kind says; descriptors come beside it.
 */

#ifndef GATE_TLS_WIRE_H
#define GATE_TLS_WIRE_H

#include <stdint.h>

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
	/* To the supervisor, once: text: {"ca": PEM, "placeholders": [...]}; or why
	 * not
	 */
	TLS_READY,
	TLS_FAILED,
	/* From the gate: serve the connection @id to @port of the host whose name is the
	 * first @n bytes of the text, after which come the client's first bytes.
	 * Descriptors: the client, the server.
	 */
	TLS_SERVE,
	/* To the gate: @id is over; nothing of it is open any more */
	TLS_DONE,
	/* To the gate: something on @id was refused. Text, each with a NUL: the reason,
	 * the name of the secret or "", what would help or "".
	 */
	TLS_REFUSED,
	/* To the gate: text: the name of a secret that was put into a request */
	TLS_USED,
};

struct tls_message {
	uint32_t kind;
	uint32_t id;
	uint16_t port, n;
};

#endif /* GATE_TLS_WIRE_H */
