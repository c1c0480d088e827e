/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/socks5.h - SOCKS version 5 (RFC 1928), CONNECT without authentication
 *
 * Each parser looks at the bytes received so far and returns how many it
 * consumed, 0 if more are needed, or a negative errno; then *@ret is as it was.
 */

#ifndef GATE_PROTO_SOCKS5_H
#define GATE_PROTO_SOCKS5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/host.h"

enum socks5_rep {
	SOCKS5_OK = 0,
	SOCKS5_FAILURE = 1,		/* Malformed host, internal */
	SOCKS5_NOT_ALLOWED = 2,		/* Policy */
	SOCKS5_UNREACHABLE = 4,		/* Host: also a name without address */
	SOCKS5_REFUSED = 5,
	SOCKS5_NO_COMMAND = 7,		/* Only CONNECT is there */
	SOCKS5_NO_ADDRESS_TYPE = 8,
};

enum {
	SOCKS5_GREETING_MAX = 2 + 255,
	SOCKS5_REQUEST_MAX = 4 + 1 + 255 + 2,
	SOCKS5_METHOD_REPLY_LEN = 2,
	SOCKS5_REPLY_LEN = 10,
};

/* The greeting. *@ret: the client can do without authentication.
 * -EPROTONOSUPPORT for another version (SOCKS4 too): close without a word.
 */
ssize_t socks5_greeting_parse(const uint8_t *p, size_t n, bool *ret);

/* The answer to it: "no authentication", or "no acceptable method", after
 * which the connection is closed
 */
void socks5_method_reply(bool acceptable,
			 uint8_t ret[SOCKS5_METHOD_REPLY_LEN]);

/* The request: the destination of a CONNECT, with a port that is not 0.
 * -EPROTONOSUPPORT: not version 5, or a reserved byte is set: close.
 * -EOPNOTSUPP, -EAFNOSUPPORT, -EINVAL: send socks5_rep_of() that, and close.
 */
ssize_t socks5_request_parse(const uint8_t *p, size_t n, struct host *ret);

/* The reply code for a negative errno of socks5_request_parse() */
enum socks5_rep socks5_rep_of(int error);

/* A reply; the bound address in it is always 0.0.0.0:0 */
void socks5_reply(enum socks5_rep rep, uint8_t ret[SOCKS5_REPLY_LEN]);

#endif /* GATE_PROTO_SOCKS5_H */
