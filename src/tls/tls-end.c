/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-end.c - one side of an opened connection: TLS over a socket of the gate's */

#include "tls/tls-end.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/own.h"
#include "gate/tls-wire.h"
#include "policy/host.h"

/* As recv(), first of what the gate has read */
static ssize_t take_bytes(struct tls_end *end, char *p, size_t n)
{
	if (end->hello_at == end->hello_n)
		return recv(end->source.fd, p, n, 0);
	if (n > end->hello_n - end->hello_at)
		n = end->hello_n - end->hello_at;
	memcpy(p, end->hello + end->hello_at, n);
	end->hello_at += n;
	return (ssize_t)n;
}

/* A BIO that gives out what the gate has read before it reads the socket */
static int hello_read(BIO *bio, char *p, size_t n, size_t *ret)
{
	struct tls_end *end = BIO_get_data(bio);
	const ssize_t got = take_bytes(end, p, n);

	BIO_clear_retry_flags(bio);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(bio);
	end->cut |= !got;
	*ret = got > 0 ? (size_t)got : 0;
	return got > 0;
}

static int hello_write(BIO *bio, const char *p, size_t n, size_t *ret)
{
	struct tls_end *end = BIO_get_data(bio);
	const ssize_t put = send(end->source.fd, p, n, MSG_NOSIGNAL);

	BIO_clear_retry_flags(bio);
	if (put < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_write(bio);
	*ret = put > 0 ? (size_t)put : 0;
	return put > 0;
}

static long hello_control(BIO *bio, int command, long n, void *p)
{
	const struct tls_end *end = BIO_get_data(bio);

	(void)n;
	(void)p;
	return command == BIO_CTRL_FLUSH ||
	       (command == BIO_CTRL_EOF && end->cut);
}

static BIO *new_bio(struct tls_end *end)
{
	static BIO_METHOD *method;
	BIO *bio;

	if (!method) {
		method =
			BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
				     "gate's socket");
		BIO_meth_set_read_ex(method, hello_read);
		BIO_meth_set_write_ex(method, hello_write);
		BIO_meth_set_ctrl(method, hello_control);
	}
	bio = BIO_new(method);
	if (bio) {
		BIO_set_data(bio, end);
		BIO_set_init(bio, 1);
	}
	return bio;
}

SSL_CTX *tls_upstream_context(char *const *cas, size_t n, struct err *err)
{
	SSL_CTX *c = SSL_CTX_new(TLS_client_method());

	if (!c || !SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) ||
	    SSL_CTX_set_alpn_protos(c, (const unsigned char *)"\x08http/1.1",
				    9)) {
		(void)fail(err, -EIO, "cannot set up TLS");
		SSL_CTX_free(c);
		return NULL;
	}
	/* By directory, which is read when a certificate is looked for: reading the
	 * bundle takes 30 ms
	 */
	(void)SSL_CTX_load_verify_dir(c, "/etc/ssl/certs");
	for (size_t i = 0; i < n; i++) {
		if (SSL_CTX_load_verify_file(c, cas[i]) == 1)
			continue;
		(void)fail(err, -EINVAL,
			   "'%s' has no certificate authority that can be read",
			   cas[i]);
		ERR_clear_error();
		SSL_CTX_free(c);
		return NULL;
	}
	SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
				       SSL_OP_NO_TICKET);
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE |
				    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				    SSL_MODE_RELEASE_BUFFERS);
	return c;
}

/* The gate has compared the names already */
static int check_name(SSL *ssl, int *alert, void *arg)
{
	const struct host *host = SSL_get_app_data(ssl);
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	struct host named;

	(void)arg;
	if (name && !host_parse(name, strlen(name), 0, &named) &&
	    host_is_same(&named, host))
		return SSL_TLSEXT_ERR_OK;
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* One record at a time, whatever is in it: else SSL_read() goes on while the peer sends
 * tickets or new keys, and no other connection has its turn
 */
static void read_records(SSL *ssl)
{
	(void)SSL_clear_mode(ssl, SSL_MODE_AUTO_RETRY);
}

bool tls_end_accept(struct tls_end *end, SSL_CTX *context, struct host *host)
{
	BIO *bio = new_bio(end);

	end->ssl = bio ? SSL_new(context) : NULL;
	if (!end->ssl) {
		BIO_free(bio);
		return false;
	}
	SSL_set_bio(end->ssl, bio, bio);
	SSL_CTX_set_tlsext_servername_callback(context, check_name);
	SSL_set_app_data(end->ssl, host);
	read_records(end->ssl);
	return true;
}

bool tls_end_connect(struct tls_end *end, SSL_CTX *context, const char *host)
{
	end->ssl = SSL_new(context);
	if (!end->ssl || !SSL_set_fd(end->ssl, end->source.fd) ||
	    !SSL_set_tlsext_host_name(end->ssl, host) ||
	    !SSL_set1_host(end->ssl, host))
		return false;
	SSL_set_hostflags(end->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	read_records(end->ssl);
	return true;
}

bool tls_end_waits(struct tls_end *end, int r)
{
	int why;

	if (!end->ssl)
		return r < 0 && (errno == EAGAIN || errno == EINTR);
	why = SSL_get_error(end->ssl, r);
	return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ||
	       why == SSL_ERROR_WANT_CLIENT_HELLO_CB;
}

/* As SSL_read() and SSL_write(), also without TLS */
static int read_some(struct tls_end *end, char *p, size_t n)
{
	ERR_clear_error();
	return end->ssl ? SSL_read(end->ssl, p, (int)n)
			: (int)take_bytes(end, p, n);
}

static int write_some(struct tls_end *end, const char *p, size_t n)
{
	ERR_clear_error();
	return end->ssl ? SSL_write(end->ssl, p, (int)n)
			: (int)send(end->source.fd, p, n, MSG_NOSIGNAL);
}

bool tls_end_flush(struct tls_end *end)
{
	bool moved = false;

	while (end->open && !end->failed && !end->broken) {
		const bool head = end->head.len;
		const char *p = (head ? end->head.p : end->out.p) + end->sent;
		const size_t n = (head ? end->head.len : end->out.len) - end->sent;
		int r;

		if (!n)
			break;
		r = write_some(end, p, n > TLS_RECORD_MAX ? TLS_RECORD_MAX : n);
		if (r <= 0) {
			if (tls_end_waits(end, r))
				break;
			/* The peer reads no more. It may have answered before it hung up. */
			end->broken = true;
			bytes_done(&end->head);
			end->out.len = end->sent = 0;
			break;
		}
		moved = true;
		end->sent += (size_t)r;
		if (end->sent < (head ? end->head.len : end->out.len))
			continue;
		if (head)
			bytes_done(&end->head);
		else
			buf_done(&end->out);
		end->sent = 0;
	}
	return moved;
}

bool tls_end_is_sent(const struct tls_end *end)
{
	return !end->head.len && !end->out.len;
}

bool tls_end_fill(struct tls_end *end, size_t max)
{
	const uint64_t before = tls_end_bytes(end).received;
	char chunk[TLS_RECORD_MAX];
	int r;

	if (!end->open || end->failed || end->eof || end->in.len >= max)
		return false;
	r = read_some(end, chunk, sizeof(chunk));
	if (r > 0) {
		buf_add(&end->in, chunk, (size_t)r);
		return true;
	}
	/* After a record without data, too */
	if (tls_end_waits(end, r))
		return tls_end_bytes(end).received != before;
	end->eof = true;
	end->clean = end->ssl ? !end->cut && SSL_get_shutdown(end->ssl) &
						     SSL_RECEIVED_SHUTDOWN
			      : !r;
	return true;
}

struct tls_bytes tls_end_bytes(const struct tls_end *end)
{
	if (!end->ssl)
		return (struct tls_bytes){ 0 };
	return (struct tls_bytes){ BIO_number_written(SSL_get_wbio(end->ssl)),
				   BIO_number_read(SSL_get_rbio(end->ssl)) };
}

/* The buffer goes with its last byte: most connections wait most of the time */
void tls_end_drop(struct tls_end *end, size_t n)
{
	struct buf *in = &end->in;

	if (n == in->len) {
		buf_done(in);
		return;
	}
	memmove(in->p, in->p + n, in->len - n);
	in->len -= n;
}

void tls_end_shutdown(struct tls_end *end)
{
	if (end->ssl)
		(void)SSL_shutdown(end->ssl);
}

void tls_end_close(struct loop *loop, struct tls_end *end)
{
	SSL_free(end->ssl);
	end->ssl = NULL;
	/* The gate has the client's socket open as well: closing ours would leave it
	 * in the loop
	 */
	if (end->source.fd >= 0)
		loop_remove(loop, &end->source);
	close_fd(&end->source.fd);
	free(end->hello);
	end->hello = NULL;
	buf_done(&end->in);
	buf_done(&end->out);
	bytes_done(&end->head);
}

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
