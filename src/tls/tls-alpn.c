/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-alpn.c - which protocol both sides of a connection speak */

#include "tls/tls-alpn.h"

#include <string.h>

#include "tls/h2-relay.h"

/* As both extensions have them: a length, a name. OpenSSL prefers our first. */
static const unsigned char only_http1[] = "\x08http/1.1";
static const unsigned char both[] = "\x02h2\x08http/1.1";

/* True if the client's list has HTTP/2: two bytes of length, then names */
static bool offers_h2(SSL *ssl)
{
	const unsigned char *p;
	size_t n;

	if (!SSL_client_hello_get0_ext(
		    ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &p,
		    &n))
		return false;
	for (size_t at = 2; at < n && at + p[at] < n; at += p[at] + 1U) {
		if (p[at] == 2 && !memcmp(p + at + 1, "h2", 2))
			return true;
	}
	return false;
}

static int on_hello(SSL *ssl, int *alert, void *arg)
{
	struct tls_end *client = BIO_get_data(SSL_get_rbio(ssl));
	struct tls_end *server = client->peer;
	const bool h2 = offers_h2(ssl);

	(void)arg;
	if (!client->asked && h2 &&
	    SSL_set_alpn_protos(server->ssl, both, sizeof(both) - 1)) {
		*alert = SSL_AD_INTERNAL_ERROR;
		return SSL_CLIENT_HELLO_ERROR;
	}
	client->asked = true;
	return h2 && !server->open && !server->failed
		       ? SSL_CLIENT_HELLO_RETRY
		       : SSL_CLIENT_HELLO_SUCCESS;
}

/* A server without an answer will be answered for, in whatever the client speaks */
static int choose(SSL *ssl, const unsigned char **ret, unsigned char *ret_n,
		  const unsigned char *offered, unsigned int n, void *arg)
{
	const struct tls_end *client = BIO_get_data(SSL_get_rbio(ssl));
	const struct tls_end *server = client->peer;
	const unsigned char *ours = only_http1;
	unsigned int ours_n = sizeof(only_http1) - 1;
	unsigned char *chosen;

	(void)arg;
	if (tls_alpn_is_h2(server)) {
		ours = both;
		ours_n = 3;
	} else if (server->failed) {
		/* HTTP/1.1 first, as most read that */
		ours = (const unsigned char *)"\x08http/1.1\x02h2";
		ours_n = sizeof(both) - 1;
	}
	if (SSL_select_next_proto(&chosen, ret_n, ours, ours_n, offered, n) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

void tls_alpn_follow(struct tls_end *client, struct tls_end *server)
{
	SSL_CTX *context = SSL_get_SSL_CTX(client->ssl);

	client->peer = server;
	SSL_CTX_set_client_hello_cb(context, on_hello, NULL);
	SSL_CTX_set_alpn_select_cb(context, choose, NULL);
}

bool tls_alpn_is_h2(const struct tls_end *end)
{
	const unsigned char *p = NULL;
	unsigned int n = 0;

	if (end->ssl)
		SSL_get0_alpn_selected(end->ssl, &p, &n);
	return n == 2 && !memcmp(p, "h2", 2);
}
