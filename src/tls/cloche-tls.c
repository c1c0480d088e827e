/* SPDX-License-Identifier: Apache-2.0 */
/* tls/cloche-tls.c - put secrets, which the command never sees, into its requests
 *
 * cloche-tls FD: FD is a socket to the supervisor, which sends one message with the
 * configuration, a channel to the gate and a pipe for each value. The program answers
 * with a certificate and the placeholders, gives up everything else, and serves the
 * connections that the gate hands over. It opens no socket and resolves no name: where
 * a connection leads was decided, and dialled, by the gate.
 */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "base/text.h"
#include "gate/conn-timer.h"
#include "gate/gate-confine.h"
#include "gate/tls-wire.h"
#include "ipc/socket.h"
#include "secret/harden.h"
#include "tls/authority.h"
#include "tls/config.h"
#include "tls/refresh.h"
#include "tls/tls-conn.h"
#include "tls/tls-end.h"
#include "tls/tls-report.h"
#include "tls/values.h"

/**
 * struct setup - What there is before the first connection
 */
struct setup {
	struct tls_config config;
	struct source_values values;
	struct tls_server server;
	struct buf java;
};

static int receive(int control, struct setup *s, struct err *err)
{
	struct {
		struct tls_message m;
		char text[TLS_TEXT_MAX];
	} *in = mem_zalloc(sizeof(*in));
	int fds[SOCKET_FDS_MAX];
	size_t n_fds = SOCKET_FDS_MAX;
	const ssize_t got = socket_recv(control, in, sizeof(*in), fds, &n_fds);
	int r = 0;

	if (got < (ssize_t)sizeof(in->m) || in->m.kind != TLS_CONFIG || !n_fds)
		r = fail(err, -EBADMSG, "no configuration was received");
	if (!r)
		r = tls_config_read(in->text, (size_t)got - sizeof(in->m),
				    &s->config, err);
	if (!r && n_fds != s->config.secrets.len + 1)
		r = fail(err, -EBADMSG, "received %zu pipes for %zu secrets",
			 n_fds - 1, s->config.secrets.len);
	if (!r) {
		s->server.channel = fds[0];
		r = values_read(&s->config, fds + 1, &s->values, err);
	}
	for (size_t i = 1; got >= 0 && i < n_fds; i++)
		close_fd(&fds[i]);
	free(in);
	return r;
}

static int prepare(int control, struct setup *s, struct err *err)
{
	struct tls_server *server = &s->server;
	int r = receive(control, s, err);

	if (!r)
		r = authority_new(&s->config.secrets, &server->authority, err);
	if (!r)
		authority_write_java(server->authority, &s->java);
	/* Files of the user's are read before the seal; else nothing waits for it */
	if (!r && s->config.n_cas &&
	    !(server->upstream = tls_upstream_context(s->config.cas, s->config.n_cas, err)))
		r = err->code;
	if (!r)
		r = loop_new(&server->loop, err);
	if (!r && timers_new(server->loop, NULL, &server->timers) < 0)
		r = fail(err, -ENOMEM, "cannot make a timer");
	return r < 0 ? r : confine_seal(CONFINED_TLS, err);
}

/* What is shown in the place of masked texts and of Java's key store */
static int send_shown(int control, const struct setup *s)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < BOUND_SECRETS_MAX; i++) {
		const struct buf *shown = &s->values.shown[i];

		if (shown->p)
			r = tls_wire_send(control, TLS_SHOWN, i, shown->p,
				      shown->len);
	}
	for (size_t at = 0, n; r >= 0 && at < s->java.len; at += n) {
		n = s->java.len - at;
		n = n < TLS_TEXT_MAX ? n : TLS_TEXT_MAX;
		r = tls_wire_send(control, TLS_JAVA, 0, s->java.p + at, n);
	}
	return r < 0 ? r : 0;
}

static int send_ready(int control, const struct setup *s, struct err *err)
{
	auto_buf struct buf pem = { 0 };
	json_t *placeholders = json_array(), *parts = json_array();
	json_t *notes = json_array(), *root;
	auto_free char *text = NULL;
	int r = authority_write(s->server.authority, &pem, err);

	for (size_t i = 0; i < s->config.secrets.len; i++)
		json_array_append_new(placeholders,
			s->config.secrets.v[i].placeholder
				? json_string(s->config.secrets.v[i].placeholder)
				: json_null());
	for (size_t i = s->values.rows; i < s->config.secrets.len; i++)
		json_array_append_new(parts,
			json_integer((json_int_t)s->values.part_of[i]));
	for (size_t i = 0; i < s->values.rows; i++) {
		if (s->values.notes[i])
			json_array_append_new(notes,
					      json_text(s->values.notes[i]));
	}
	root = json_pack("{s:s, s:o, s:o, s:o}", "ca", buf_str(&pem),
			 "placeholders", placeholders, "parts", parts, "notes",
			 notes);
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	if (!r && (!text || strlen(text) > TLS_TEXT_MAX))
		r = fail(err, -E2BIG, "the values are too long, or not UTF-8");
	if (!r)
		r = send_shown(control, s);
	return r < 0 ? r : tls_wire_send(control, TLS_READY, 0, text, strlen(text));
}

/* One connection of the gate's */
static int on_channel(void *arg)
{
	static struct {
		struct tls_message m;
		char text[HOST_NAME_MAX_LEN + TLS_HELLO_MAX];
	} in;
	struct tls_server *server = arg;
	int fds[SOCKET_FDS_MAX];
	size_t n_fds = SOCKET_FDS_MAX;
	const ssize_t got = socket_recv(server->channel, &in, sizeof(in), fds, &n_fds);
	const size_t n = got < (ssize_t)sizeof(in.m) ? 0 : (size_t)got - sizeof(in.m);
	struct tls_serve serve;

	if (got <= 0)
		return got < 0 && got != -EPIPE && got != -ECONNRESET
			       ? 0
			       : -ESHUTDOWN;
	if (n_fds != 2 || !tls_wire_serve(&in.m, in.text, n, &serve)) {
		for (size_t i = 0; i < n_fds; i++)
			close_fd(&fds[i]);
		/* Without its descriptors, when there was no space for them */
		if (in.m.kind == TLS_SERVE || in.m.kind == TLS_SERVE_PLAIN)
			tls_report_done(server, in.m.id, (struct tls_bytes){ 0 });
		return 0;
	}
	tls_conn_start(server, in.m.id, &serve, fds[0], fds[1]);
	return 0;
}

static void serve(struct setup *s, int control)
{
	struct tls_server *server = &s->server;
	struct loop_source source = { server->channel, on_channel, server };

	server->secrets = &s->config.secrets;
	server->values = &s->values.secrets;
	server->refresh = refresh_new(server, &s->config, control, tls_conns_wake);
	for (size_t i = 0; i < s->config.secrets.len; i++)
		server->n_urls += s->config.secrets.v[i].url != NULL;
	if (!loop_add(server->loop, &source, EPOLLIN))
		(void)loop_run(server->loop);
	tls_conns_close(server);
}

int main(int argc, char **argv)
{
	struct setup setup = { .server.channel = -1 };
	struct err err = { 0 };
	uint64_t number = 0;
	int control;

	if (getauxval(AT_SECURE) || argc != 2 ||
	    text_to_u64(argv[1], INT_MAX, &number) < 0 || number < 3) {
		fprintf(stderr,
			"cloche-tls: only cloche itself can call this\n");
		return 2;
	}
	control = (int)number;
	if (harden_process(&err) < 0 ||
	    confine_inherit(&control, 1, "cloche-tls", &err) < 0 ||
	    prepare(control, &setup, &err) < 0 ||
	    send_ready(control, &setup, &err) < 0) {
		(void)tls_wire_send(control, TLS_FAILED, 0, err.msg,
				strlen(err.msg));
		return 1;
	}
	buf_done(&setup.java);
	if (!setup.server.upstream)
		setup.server.upstream = tls_upstream_context(NULL, 0, &err);
	if (!setup.server.upstream)
		return 1;
	serve(&setup, control);
	return 0;
}
