/* SPDX-License-Identifier: Apache-2.0 */
/* tls/test-tls-end.c - a closed end leaves the event loop; records are read one by one */

#include "tls/tls-end.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "gate/bound-secret.h"
#include "gate/tls-wire.h"
#include "policy/host.h"
#include "test.h"
#include "tls/authority.h"
#include "tls/config.h"

enum {
	FLOOD = 64, /* Records without data */
	RECORD_BYTES = 5 + TLS_RECORD_MAX + 256, /* Of one, at most */
};

#define HOST "api.example.org"

static int called;

static int on_event(void *arg)
{
	(void)arg;
	called++;
	return 0;
}

/* The gate has the client's socket open as well, so that closing it is not enough */
TEST(a_closed_end_leaves_the_event_loop_while_its_socket_is_open)
{
	struct tls_end end = { .source.fn = on_event };
	struct err err = { 0 };
	struct loop *loop;
	int pair[2], gate;

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	gate = dup(pair[0]);
	CHECK(gate >= 0);
	end.source.fd = pair[0];
	CHECK_INT(loop_new(&loop, &err), 0);
	CHECK_INT(loop_add(loop, &end.source, EPOLLIN | EPOLLET), 0);
	CHECK_INT(write(pair[1], "x", 1), 1);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(called, 1);
	tls_end_close(loop, &end);
	CHECK_INT(end.source.fd, -1);
	CHECK_INT(write(pair[1], "x", 1), 1);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(called, 1);
	loop_free(loop);
}

/**
 * struct pair - An end of ours as a client, and a server that the test plays
 */
struct pair {
	struct authority *authority;
	struct tls_end end;
	SSL *server;
};

static void pair_open(struct pair *p)
{
	static const char text[] =
		"{\"project\": \"/p\", \"key\": \""
		"0000000000000000000000000000000000000000000000000000000000000000"
		"\", \"secrets\": [{\"name\": \"ONE\", \"hosts\": [\"" HOST
		"\"]}]}";
	static struct tls_config config;
	auto_buf struct buf pem = { 0 };
	char *ca = mem_strdup(test_path("ca.pem"));
	struct err err = { 0 };
	SSL_CTX *context;
	int fds[2];

	*p = (struct pair){ 0 };
	CHECK_INT(tls_config_read(text, sizeof(text) - 1, &config, &err), 0);
	CHECK_INT(authority_new(&config.secrets, &p->authority, &err), 0);
	CHECK_INT(authority_write(p->authority, &pem, &err), 0);
	test_write(ca, buf_str(&pem));
	context = tls_upstream_context(&ca, 1, &err);
	free(ca);
	CHECK(context);
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	p->end.source.fd = fds[0];
	CHECK(tls_end_connect(&p->end, context, HOST));
	SSL_CTX_free(context);
	p->server = SSL_new(authority_context(p->authority, HOST, &err));
	SSL_set_fd(p->server, fds[1]);
	SSL_set_accept_state(p->server);
	while (SSL_connect(p->end.ssl) != 1)
		(void)SSL_do_handshake(p->server);
	CHECK_INT(SSL_do_handshake(p->server), 1);
	p->end.open = true;
	tls_config_done(&config);
}

static void pair_close(struct pair *p)
{
	(void)close(SSL_get_fd(p->server));
	(void)close(p->end.source.fd);
	SSL_free(p->server);
	SSL_free(p->end.ssl);
	buf_done(&p->end.in);
	authority_free(p->authority);
}

/* Tickets, or new keys, and a letter after them: each record has its call */
static void flood(bool keys)
{
	struct pair p;
	int calls = 0;

	pair_open(&p);
	for (int i = 0; i < FLOOD; i++) {
		CHECK_INT(keys ? SSL_key_update(p.server,
						SSL_KEY_UPDATE_NOT_REQUESTED)
			       : SSL_new_session_ticket(p.server),
			  1);
		CHECK_INT(SSL_do_handshake(p.server), 1);
	}
	CHECK_INT(SSL_write(p.server, "x", 1), 1);
	while (!p.end.in.len) {
		const uint64_t before = tls_end_bytes(&p.end).received;

		CHECK(tls_end_fill(&p.end, 1));
		CHECK(tls_end_bytes(&p.end).received - before <= RECORD_BYTES);
		calls++;
	}
	CHECK_INT(calls, FLOOD + 1);
	CHECK_STR(buf_str(&p.end.in), "x");
	CHECK(!tls_end_fill(&p.end, 2));
	pair_close(&p);
}

TEST(records_without_data_are_read_one_by_one)
{
	flood(false);
	flood(true);
}
