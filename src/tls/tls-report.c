/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-report.c - reports to the gate, and responses to refused requests */

#include "tls/tls-report.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/http-answer.h"
#include "gate/tls-wire.h"
#include "tls/scrub.h"

enum { REASON_MAX = 300 }; /* Bytes of a reason */

static void send_message(struct tls_server *server, uint32_t id,
			 enum tls_message_kind kind, const char *text, size_t n)
{
	if (tls_wire_send(server->channel, kind, id, text, n) < 0)
		server->lost++;
}

void tls_report_done(struct tls_server *server, uint32_t id, struct tls_bytes bytes)
{
	send_message(server, id, TLS_DONE, (const char *)&bytes, sizeof(bytes));
}

void tls_report_refused(struct tls_server *server, uint32_t id,
			 const char *reason, const struct bound_secret *secret,
			 const char *fix)
{
	auto_buf struct buf text = { 0 };

	buf_add(&text, reason, strlen(reason) + 1);
	buf_adds(&text, secret ? secret->name : "");
	buf_addc(&text, '\0');
	buf_add(&text, fix ? fix : "", fix ? strlen(fix) + 1 : 1);
	send_message(server, id, TLS_REFUSED, text.p, text.len);
}

static void report_use(struct tls_server *server, uint32_t id,
		       const struct host *host,
		       const struct bound_secret *secret)
{
	for (size_t i = 0; i < server->n_used; i++) {
		const struct tls_use *use = &server->used[i];

		if (use->secret == secret && !strcmp(use->host, host->name))
			return;
	}
	if (server->n_used == TLS_USES_MAX)
		return;
	server->used[server->n_used++] = (struct tls_use){
		.secret = secret,
		.host = mem_strdup(host->name),
	};
	send_message(server, id, TLS_USED, secret->name, strlen(secret->name));
}

void tls_report_uses(struct tls_server *server, uint32_t id,
		     const struct host *host, const struct rewrite *w,
		     struct scrub *scrub)
{
	for (size_t i = 0; i < w->n_used; i++) {
		const struct bound_secret *s = w->used[i];
		const struct bytes *value = &server->values->v[s - server->secrets->v];

		scrub_add(scrub, value->p, s->placeholder, value->len);
		report_use(server, id, host, s);
	}
}

void tls_refusal_client(struct tls_server *server, uint32_t id)
{
	const int reason = ERR_GET_REASON(ERR_peek_last_error());

	switch (reason) {
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
		tls_report_refused(server, id,
			"the program does not trust the run's certificate authority: it has its own list, or pins a certificate",
			NULL,
			"point the program at $SSL_CERT_FILE, or leave the host unbound");
		break;
	case SSL_R_NO_APPLICATION_PROTOCOL:
		tls_report_refused(server, id,
			"the program offers no HTTP/1.1, and the host no HTTP/2",
			NULL, "let the program speak HTTP/1.1 to this host");
		break;
	case SSL_R_UNSUPPORTED_PROTOCOL:
		tls_report_refused(server, id,
				   "the program offers no TLS 1.2 or later",
				   NULL, "let the program speak TLS 1.2");
		break;
	default:
		break;
	}
}

void tls_refusal_host(struct tls_server *server, uint32_t id,
		      const struct host *host, const SSL *ssl, struct buf *out)
{
	const long verify = SSL_get_verify_result(ssl);
	char reason[REASON_MAX] = "the TLS handshake with the host failed";
	const struct http_answer_text text = { .reason = reason, .host = host };

	if (verify != X509_V_OK) {
		snprintf(reason, sizeof(reason),
			 "the host's certificate does not verify: %s",
			 X509_verify_cert_error_string(verify));
		tls_report_refused(server, id, reason, NULL,
			"name the authority in network.tlsTerminate.extraCaCertPaths, if the host is right");
	}
	http_answer_write(HTTP_ANSWER_UNREACHABLE, &text, out);
}

void tls_refusal_request(struct tls_server *server, uint32_t id,
			 const struct host *host, const struct rewrite *rewrite,
			 int error, struct buf *out)
{
	const struct bound_secret *misplaced = rewrite->misplaced;
	enum http_answer what = http_answer_of(error);
	auto_buf struct buf fix = { 0 };

	if (misplaced && misplaced->masked) {
		buf_adds(&fix, "add the host to injectHosts of the mask of ");
		text_shell_quote(&fix, misplaced->name);
		what = HTTP_ANSWER_BLOCKED;
	} else if (misplaced) {
		buf_adds(&fix, "cloche secret bind ");
		text_shell_quote(&fix, misplaced->name);
		buf_addc(&fix, ' ');
		host_format(host, 443, &fix);
		what = HTTP_ANSWER_BLOCKED;
	} else if (error == -EACCES) {
		what = HTTP_ANSWER_MISDIRECTED;
	} else if (error == -EPERM) {
		if (rewrite->fix)
			buf_adds(&fix, rewrite->fix);
		what = HTTP_ANSWER_BLOCKED;
	}
	if (error == -EACCES || error == -EPERM)
		tls_report_refused(server, id, rewrite->why, misplaced, fix.p);
	http_answer_write(what,
			  &(struct http_answer_text){
				  .reason = rewrite->why,
				  .host = host,
				  .fix = fix.p,
				  .head_only = rewrite->request.kind ==
					       HTTP_METHOD_HEAD,
			  },
			  out);
}
