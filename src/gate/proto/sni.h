/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/sni.h - the server name in a TLS ClientHello, without taking part */

#ifndef GATE_PROTO_SNI_H
#define GATE_PROTO_SNI_H

#include <stddef.h>
#include <stdint.h>

#include "policy/host.h"

enum { SNI_PEEK_MAX = 16 << 10 };	/* Bytes, record headers included */

enum sni_result {
	SNI_MORE,	/* A ClientHello so far; call again with more bytes */
	SNI_NOT_TLS,	/* Something else, seen from its first bytes */
	SNI_MALFORMED,	/* TLS, but broken, ambiguous or over SNI_PEEK_MAX */
	SNI_NONE,	/* A ClientHello that names no host */
	SNI_NAME,	/* A ClientHello that names a host */
};

/* Look at all @n bytes that the connection began with. Fragments of one
 * ClientHello over several records are put together. *@ret is written for
 * SNI_NONE and SNI_NAME only; it has no port. Of an Encrypted ClientHello, real
 * or for show, it is the outer name: our DNS gives no client the keys to hide
 * another one (gate/proto/dns.h).
 */
enum sni_result sni_parse(const uint8_t *p, size_t n, struct host *ret);

/* NULL if a connection for @host may go on after @result; else why not. A
 * name must be repeated by the SNI; an address needs none, and if it has one
 * it must be that address (a caller may decide on such a name by the policy
 * instead). SNI_MORE is for a client that fell silent. SNI_NOT_TLS passes: not
 * everything is TLS, and ports that must be are the caller's business.
 */
const char *sni_objection(enum sni_result result, const struct host *sni,
			  const struct host *host);

#endif /* GATE_PROTO_SNI_H */
