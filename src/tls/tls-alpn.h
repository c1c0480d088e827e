/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-alpn.h - which protocol both sides of a connection speak
 *
 * The server is offered HTTP/2 if the client offers it, and the client gets what the
 * server has chosen: there is no translation between the two.
 */

#ifndef TLS_TLS_ALPN_H
#define TLS_TLS_ALPN_H

#include <stdbool.h>

#include "tls/tls-end.h"

/* Have @client wait for the choice of @server; before its handshake. @client->asked
 * becomes true when its hello was read: only then may @server connect.
 */
void tls_alpn_follow(struct tls_end *client, struct tls_end *server);

/* True if @end has agreed on HTTP/2 */
bool tls_alpn_is_h2(const struct tls_end *end);

#endif /* TLS_TLS_ALPN_H */
