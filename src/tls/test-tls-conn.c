/* SPDX-License-Identifier: Apache-2.0 */
/* tls/test-tls-conn.c - one opened connection between a client and a server that do odd
 * things
 *
 * A child serves the connection. The test itself is both the client and the server,
 * with blocking sockets, so each step of one side is over when the next begins.
 */

#include "tls/tls-conn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "gate/conn-timer.h"
#include "gate/tls-wire.h"
#include "ipc/socket.h"
#include "test.h"
#include "tls/authority.h"
#include "tls/config.h"
#include "tls/tls-end.h"
#include "tls/tls-report.h"

enum {
	PATIENCE_S = 10, /* For anything that must come */
	QUIET_MS = 500, /* Until a side that takes no more is said to be full */
	SMALL = 4096, /* Bytes that a socket holds */
	STALLED_MAX =
		1
		<< 20, /* Bytes that may be kept for a client that does not read */
};

#define HOST "api.example.org"
#define REQUEST(line, more) \
	line " HTTP/1.1\r\nHost: " HOST \
	     "\r\nAuthorization: Bearer placeholder-no-1\r\n" more "\r\n"

static const char value[] = "the-real-value-1";
static const char placeholder[] = "placeholder-no-1";

/**
 * struct rig - A connection and its two peers
 */
struct rig {
	pid_t pid;
	int channel;
	SSL_CTX *context;
	SSL *client, *origin;
};

static void read_config(struct tls_config *config)
{
	static const char text[] =
		"{\"project\": \"/p\", \"key\": \""
		"0000000000000000000000000000000000000000000000000000000000000000"
		"\", \"secrets\": [{\"name\": \"ONE\", \"hosts\": [\"" HOST
		"\"]}]}";
	struct err err = { 0 };

	CHECK_INT(tls_config_read(text, sizeof(text) - 1, config, &err), 0);
	config->secrets.v[0].placeholder = mem_strdup(placeholder);
}

/* In the child */
static void serve(const struct bound_secrets *secrets, char *ca, int channel,
		  int client, int upstream)
{
	static struct secret_values values;
	struct tls_server server = { .secrets = secrets,
				     .values = &values,
				     .channel = channel };
	struct tls_serve what = { .hello = "" };
	struct err err = { 0 };

	bytes_adds(&values.v[0], value);
	if (loop_new(&server.loop, &err) < 0 ||
	    timers_new(server.loop, NULL, &server.timers) < 0 ||
	    authority_new(secrets, &server.authority, &err) < 0 ||
	    !(server.upstream = tls_upstream_context(&ca, 1, &err)) ||
	    host_parse(HOST, strlen(HOST), 443, &what.host) < 0)
		_exit(1);
	tls_conn_start(&server, 7, &what, client, upstream);
	_exit(loop_run(server.loop) < 0);
}

static void pair_up(int ends[2])
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	const int small = SMALL;

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	CHECK_INT(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	CHECK_INT(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience,
			     sizeof(patience)),
		  0);
	CHECK_INT(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &small,
			     sizeof(small)),
		  0);
}

static void rig_start(struct rig *r)
{
	static struct tls_config config;
	struct authority *authority;
	auto_buf struct buf pem = { 0 };
	struct err err = { 0 };
	char *ca = mem_strdup(test_path("ca.pem"));
	int client[2], upstream[2], channel[2];

	(void)signal(SIGPIPE, SIG_IGN);
	read_config(&config);
	CHECK_INT(authority_new(&config.secrets, &authority, &err), 0);
	CHECK_INT(authority_write(authority, &pem, &err), 0);
	test_write(ca, buf_str(&pem));
	pair_up(client);
	pair_up(upstream);
	CHECK_INT(socket_pair(channel), 0);
	r->pid = fork();
	if (!r->pid) {
		(void)close(client[0]);
		(void)close(upstream[0]);
		(void)close(channel[0]);
		serve(&config.secrets, ca, channel[1], client[1], upstream[1]);
	}
	free(ca);
	(void)close(client[1]);
	(void)close(upstream[1]);
	(void)close(channel[1]);
	r->channel = channel[0];
	r->context = SSL_CTX_new(TLS_client_method());
	r->client = SSL_new(r->context);
	SSL_set_tlsext_host_name(r->client, HOST);
	SSL_set_fd(r->client, client[0]);
	CHECK_INT(SSL_connect(r->client), 1);
	r->origin = SSL_new(authority_context(authority, HOST, &err));
	SSL_set_fd(r->origin, upstream[0]);
	CHECK_INT(SSL_accept(r->origin), 1);
	authority_free(authority);
	tls_config_done(&config);
}

static void hang_up(SSL **ssl)
{
	if (*ssl)
		(void)close(SSL_get_fd(*ssl));
	SSL_free(*ssl);
	*ssl = NULL;
}

/* Returns how it ended: everything must be over when both sides are */
static void rig_end(struct rig *r)
{
	struct tls_message m = { 0 };
	ssize_t n;

	hang_up(&r->client);
	hang_up(&r->origin);
	while ((n = recv(r->channel, &m, sizeof(m), 0)) > 0 &&
	       m.kind != TLS_DONE) {
	}
	CHECK(n > 0 && m.id == 7);
	(void)close(r->channel);
	(void)kill(r->pid, SIGKILL);
	CHECK_INT(waitpid(r->pid, NULL, 0), r->pid);
	SSL_CTX_free(r->context);
}

static void say(SSL *ssl, const char *text)
{
	CHECK_INT(SSL_write(ssl, text, (int)strlen(text)), (int)strlen(text));
}

static struct buf all; /* What hear() heard */

/* Read until @needle has come, or the end if that is NULL; all that came */
static const char *hear(SSL *ssl, const char *needle)
{
	char piece[16 << 10];

	buf_done(&all);
	while (!needle || !strstr(buf_str(&all), needle)) {
		const int n = SSL_read(ssl, piece, sizeof(piece));

		if (n <= 0 && !needle)
			break;
		if (n <= 0)
			test_fail(__FILE__, __LINE__,
				  "'%s' did not come after: %s", needle,
				  buf_str(&all));
		buf_add(&all, piece, (size_t)n);
	}
	return buf_str(&all);
}

TEST(responses_without_a_body_keep_the_connection)
{
	static const struct {
		const char *request, *answer;
	} rounds[] = {
		{ REQUEST("HEAD /0", ""),
		  "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" },
		{ REQUEST("GET /1", ""), "HTTP/1.1 204 None\r\n\r\n" },
		{ REQUEST("GET /2", ""),
		  "HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n" },
		{ REQUEST("POST /3", "Content-Length: 0\r\n"),
		  "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" },
		{ REQUEST("GET /4", ""),
		  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-T: y\r\n\r\n" },
		{ REQUEST("GET /5", ""),
		  "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nend" },
	};
	struct rig r;

	rig_start(&r);
	for (size_t i = 0; i < ARRAY_SIZE(rounds); i++) {
		say(r.client, rounds[i].request);
		CHECK(strstr(hear(r.origin, "\r\n\r\n"), value));
		say(r.origin, rounds[i].answer);
		CHECK_STR(hear(r.client, rounds[i].answer), rounds[i].answer);
	}
	rig_end(&r);
}

TEST(pipelined_requests_are_answered_in_order)
{
	struct rig r;

	rig_start(&r);
	say(r.client, REQUEST("GET /1", "") REQUEST("GET /2", ""));
	CHECK(!strstr(hear(r.origin, "\r\n\r\n"), "/2"));
	say(r.origin, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none");
	(void)hear(r.client, "one");
	CHECK(strstr(hear(r.origin, "\r\n\r\n"), "GET /2"));
	say(r.origin, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo");
	(void)hear(r.client, "two");
	rig_end(&r);
}

/* The next head would overtake what is left of the body */
TEST(an_early_response_closes_the_connection)
{
	static const char answer[] =
		"HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n";
	auto_buf struct buf request = { 0 };
	const char *rest;
	struct rig r;
	size_t n;

	buf_adds(&request, REQUEST("POST /1", "Content-Length: 49152\r\n"));
	for (int i = 0; i < 49152; i++)
		buf_addc(&request, 'b');
	buf_adds(&request, REQUEST("GET /2", ""));
	rig_start(&r);
	say(r.client, buf_str(&request));
	(void)hear(r.origin, "\r\n\r\n");
	(void)hear(r.origin, "b");
	n = all.len; /* One record; the next is on its way */
	say(r.origin, answer);
	CHECK_STR(hear(r.client, NULL), answer);
	hang_up(&r.client);
	rest = hear(r.origin, NULL);
	CHECK_INT(strspn(rest, "b"), all.len);
	CHECK(n + all.len <= 49152);
	rig_end(&r);
}

TEST(a_response_is_forwarded_when_the_server_closes_during_the_body)
{
	static const char head[] =
		"HTTP/1.1 413 Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\n";
	auto_buf struct buf request = { 0 };
	struct rig r;

	buf_adds(&request, REQUEST("POST /1", "Content-Length: 32768\r\n"));
	for (int i = 0; i < 32768; i++)
		buf_addc(&request, 'b');
	rig_start(&r);
	say(r.client, buf_str(&request));
	(void)hear(r.origin, "\r\n\r\n");
	CHECK_INT(kill(r.pid, SIGSTOP), 0); /* It sees both at once */
	say(r.origin, head);
	say(r.origin, "no");
	hang_up(&r.origin);
	CHECK_INT(kill(r.pid, SIGCONT), 0);
	CHECK(strstr(hear(r.client, NULL), "\r\n\r\nno"));
	rig_end(&r);
}

TEST(bytes_after_a_response_are_not_taken_for_the_next)
{
	struct rig r;

	rig_start(&r);
	say(r.client, REQUEST("GET /1", ""));
	(void)hear(r.origin, "\r\n\r\n");
	say(r.origin, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
		      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong");
	(void)hear(r.client, "ok");
	say(r.client, REQUEST("GET /2", ""));
	CHECK_STR(hear(r.client, NULL), "");
	rig_end(&r);
}

/* A response until the end of the connection is whole if the server says so */
TEST(a_truncated_response_is_forwarded_as_truncated)
{
	for (int whole = 0; whole < 2; whole++) {
		struct rig r;

		rig_start(&r);
		say(r.client, REQUEST("GET /", ""));
		(void)hear(r.origin, "\r\n\r\n");
		say(r.origin, "HTTP/1.1 200 OK\r\n\r\nsome of it");
		if (whole)
			(void)SSL_shutdown(r.origin);
		hang_up(&r.origin);
		CHECK(strstr(hear(r.client, NULL), "some of it"));
		CHECK_INT(!!(SSL_get_shutdown(r.client) &
			     SSL_RECEIVED_SHUTDOWN),
			  whole);
		rig_end(&r);
	}
}

TEST(a_clients_close_is_forwarded_to_the_server)
{
	for (int clean = 0; clean < 2; clean++) {
		struct rig r;
		char byte;

		rig_start(&r);
		say(r.client, REQUEST("GET /", ""));
		(void)hear(r.origin, "\r\n\r\n");
		if (clean)
			(void)SSL_shutdown(r.client);
		CHECK_INT(shutdown(SSL_get_fd(r.client), SHUT_WR), 0);
		/* An alert of TLS comes before the end of the socket, or none */
		CHECK_INT(recv(SSL_get_fd(r.origin), &byte, 1, MSG_PEEK),
			  clean);
		CHECK_STR(clean ? hear(r.origin, NULL) : "", "");
		say(r.origin, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		(void)hear(r.client, "ok");
		rig_end(&r);
	}
}

TEST(a_placeholder_split_over_writes_is_replaced)
{
	static const char text[] = REQUEST("GET /", "");
	struct rig r;

	rig_start(&r);
	/* Each a TLS record of its own */
	for (size_t i = 0; i + 1 < sizeof(text); i++)
		CHECK_INT(SSL_write(r.client, text + i, 1), 1);
	CHECK(strstr(hear(r.origin, "\r\n\r\n"),
		     "Bearer the-real-value-1\r\n"));
	rig_end(&r);
}

TEST(heads_larger_than_the_limit_are_refused)
{
	for (int more = 0; more < 2; more++) {
		static const char begin[] = "GET / HTTP/1.1\r\nHost: " HOST
					    "\r\nX-Api-Key: "
					    "placeholder-no-1\r\nX: ";
		auto_buf struct buf head = { 0 };
		struct rig r;

		rig_start(&r);
		buf_adds(&head, begin);
		while (head.len < HTTP_HEAD_LONG_MAX - 4 + (size_t)more)
			buf_addc(&head, 'x');
		buf_adds(&head, "\r\n\r\n");
		say(r.client, buf_str(&head));
		if (more)
			(void)hear(r.client, "HTTP/1.1 431 ");
		else
			CHECK(strstr(hear(r.origin, "\r\n\r\n"), value));
		rig_end(&r);
	}
}

TEST(a_message_ending_in_a_prefix_of_a_value_is_sent_at_once)
{
	struct rig r;

	rig_start(&r);
	say(r.client,
	    REQUEST("GET /",
		    "Upgrade: websocket\r\nConnection: Upgrade\r\n"
		    "Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n"));
	(void)hear(r.origin, "\r\n\r\n");
	say(r.origin,
	    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
	    "Connection: Upgrade\r\n\r\n");
	(void)hear(r.client, "\r\n\r\n");
	say(r.origin, "this is the-re");
	CHECK_STR(hear(r.client, "the-re"), "this is the-re");
	/* The control: a value that comes in two pieces */
	CHECK_INT(kill(r.pid, SIGSTOP), 0);
	say(r.origin, "<the-real-");
	say(r.origin, "value-1>");
	CHECK_INT(kill(r.pid, SIGCONT), 0);
	CHECK_STR(hear(r.client, ">"), "<placeholder-no-1>");
	say(r.client, "and back");
	(void)hear(r.origin, "and back");
	rig_end(&r);
}

/* Bytes that the server's side takes while the client reads nothing */
static size_t taken_of(SSL *origin, const char *text)
{
	struct pollfd p = { .fd = SSL_get_fd(origin), .events = POLLOUT };
	size_t sum = 0;

	CHECK_INT(fcntl(p.fd, F_SETFL, O_NONBLOCK), 0);
	while (sum < 2 * (size_t)STALLED_MAX && poll(&p, 1, QUIET_MS) == 1) {
		const int n = SSL_write(origin, text, (int)strlen(text));

		sum += n > 0 ? (size_t)n : 0;
		if (n <= 0 && SSL_get_error(origin, n) != SSL_ERROR_WANT_WRITE)
			break;
	}
	return sum;
}

TEST(a_stalled_client_stops_the_server)
{
	auto_buf struct buf piece = { 0 };
	struct rig r;

	for (int i = 0; i < 8000; i++)
		buf_addc(&piece, 'x');
	rig_start(&r);
	say(r.client, REQUEST("GET /", ""));
	(void)hear(r.origin, "\r\n\r\n");
	say(r.origin, "HTTP/1.1 200 OK\r\n\r\n");
	CHECK(taken_of(r.origin, buf_str(&piece)) < STALLED_MAX);
	rig_end(&r);
}

TEST(interim_responses_stop_at_a_stalled_client)
{
	auto_buf struct buf piece = { 0 };
	struct rig r;

	buf_adds(&piece, "HTTP/1.1 103 Early\r\nLink: ");
	for (int i = 0; i < 4000; i++)
		buf_addc(&piece, 'x');
	buf_adds(&piece, "\r\n\r\n");
	rig_start(&r);
	say(r.client, REQUEST("GET /", ""));
	(void)hear(r.origin, "\r\n\r\n");
	CHECK(taken_of(r.origin, buf_str(&piece)) < STALLED_MAX);
	rig_end(&r);
}
