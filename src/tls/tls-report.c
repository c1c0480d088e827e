/* SPDX-License-Identifier: Apache-2.0 */
/* tls/tls-report.c - messages to the gate about its connections */

#include "tls/tls-report.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "gate/tls-wire.h"
#include "tls/rewrite.h"
#include "tls/scrub.h"
#include "tls/tls-server.h"

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
