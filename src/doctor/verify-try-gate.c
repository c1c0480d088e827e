/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-try-gate.c - attempts to confuse the gate
 *
 * Where the gate's answer itself is the evidence there is nobody to ask
 * outside. The control is then part of the attempt: the gate must answer a
 * plain request as it should, or there is no result.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/own.h"
#include "doctor/verify-row.h"
#include "doctor/verify-try.h"

enum { REPLY_MAX = 512, DNS_PORT = 53, DNS_HEADER = 12, DNS_RCODE = 3,
       RELAYED_MAX = 4096 };

/* One exchange with a proxy: bytes received, or -1 with errno */
static ssize_t exchange(const struct world *w, int proxy, const void *bytes,
			size_t n, char *reply)
{
	auto_close int fd = try_dial_proxy(w, proxy, "127.0.0.1");

	if (fd < 0 || send(fd, bytes, n, MSG_NOSIGNAL) < 0)
		return -1;
	return recv(fd, reply, REPLY_MAX, 0);
}

static bool says(const char *reply, ssize_t n, const char *words)
{
	return n > 0 && memmem(reply, (size_t)n, words, strlen(words));
}

/* The answer to a plain request for a host that is not allowed */
static bool gate_answers(const struct world *w)
{
	static const char plain[] = "GET http://not-allowed.invalid/ HTTP/1.1\r\nHost: not-allowed.invalid\r\n\r\n";
	char reply[REPLY_MAX];

	return says(reply, exchange(w, HTTP_PROXY, plain, sizeof(plain) - 1,
				    reply), " 403 ");
}

/* A tunnel is promised before anybody has decided */
void attempt_status_line(const struct world *w, const char *argument,
			 struct found *f)
{
	char text[256], reply[REPLY_MAX];
	ssize_t n;

	snprintf(text, sizeof(text), "CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n",
		 argument, w->tcp4, argument, w->tcp4);
	if (!w->inside) {
		f->error = 0;
		return;
	}
	n = exchange(w, HTTP_PROXY, text, strlen(text), reply);
	if (n < 0)
		found_result(f, -1);
	else if (says(reply, n, "HTTP/1.1 2") || says(reply, n, " 403 "))
		f->error = says(reply, n, " 403 ") ? EACCES : 0;
}

/* "\xx" stands for a byte */
static size_t unescape(const char *text, char *ret, size_t size)
{
	size_t n = 0;

	while (*text && n < size) {
		const char pair[3] = { text[0] == '\\' ? text[1] : '\0',
				       text[0] == '\\' ? text[2] : '\0', '\0' };

		ret[n++] = *pair ? (char)strtoul(pair, NULL, 16) : *text;
		text += *pair ? 3 : 1;
	}
	return n;
}

/* A host name with bytes that some would stop at, and others skip */
void attempt_odd_name(const struct world *w, const char *argument,
		      struct found *f)
{
	char text[512], name[128];
	const size_t n = unescape(argument, name, sizeof(name));
	size_t len = 0;

	for (int i = 0; i < 2; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
					i ? "\r\nHost: " : "CONNECT ");
		memcpy(text + len, name, n);
		len += n;
		len += (size_t)snprintf(text + len, sizeof(text) - len, ":%d%s",
					w->tcp4, i ? "\r\n\r\n" : " HTTP/1.1");
	}
	try_proxy(w, HTTP_PROXY, "127.0.0.1", text, len, f);
}

/* Requests that two readers would end at different places */
void attempt_smuggle(const struct world *w, const char *argument,
		     struct found *f)
{
	static const char *const headers[] = {
		"Content-Length: 5\r\nTransfer-Encoding: chunked",
		"Content-Length: 5\r\nContent-Length: 6",
		"Content-Length: 5, 5", "Content-Length: +5",
		"Content-Length: 0x5", "Content-Length: 5 5",
		"Transfer-Encoding: xchunked", "Transfer-Encoding : chunked",
		"Transfer-Encoding: chunked, identity",
		"Content-Length: 5\n", "X: a\r\n folded", "X: a\rb",
	};
	char text[512], reply[REPLY_MAX];

	(void)argument;
	if (w->inside && !gate_answers(w))
		return;
	f->error = w->inside ? EACCES : 0;
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		ssize_t n;

		snprintf(text, sizeof(text), "POST http://localhost:%d/ HTTP/1.1\r\nHost: localhost:%d\r\n%s\r\n\r\n0\r\n\r\n",
			 w->tcp4, w->tcp4, headers[i]);
		n = w->inside ? exchange(w, HTTP_PROXY, text, strlen(text),
					 reply) : 0;
		if (n > 0 && !says(reply, n, " 400 "))
			f->error = 0;
	}
}

/* Allowed, then something else on the same connection: straight after it, and
 * when the answer is there
 */
void attempt_pipeline(const struct world *w, const char *argument,
		      struct found *f)
{
	auto_close int fd = try_dial_proxy(w, HTTP_PROXY, "127.0.0.1");
	char text[1024], word[64], reply[REPLY_MAX];
	int n;

	found_word(f, word, sizeof(word));
	n = snprintf(text, sizeof(text), "GET http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\n\r\n",
		     argument, w->tcp4, argument, w->tcp4);
	if (!w->inside)
		n = 0;
	snprintf(text + n, sizeof(text) - (size_t)n, "GET http://127.0.0.1:%d/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
		 w->tcp4, word, w->tcp4);
	if (fd < 0 || send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
		found_result(f, -1);
		return;
	}
	f->error = EACCES;
	while (w->inside && recv(fd, reply, sizeof(reply), 0) > 0)
		(void)!send(fd, text + n, strlen(text + n), MSG_NOSIGNAL);
}

/* Between a client and the proxy, both in the sandbox */
static void relay(int listener, int to)
{
	char room[RELAYED_MAX];
	const int from = accept(listener, NULL, NULL);
	struct pollfd p[2] = {
		{ .fd = from, .events = POLLIN }, { .fd = to, .events = POLLIN },
	};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (poll(p, 2, -1) > 0) {
		const int ready = p[0].revents ? 0 : 1;
		const ssize_t n = recv(p[ready].fd, room, sizeof(room), 0);

		if (n <= 0 || send(p[!ready].fd, room, (size_t)n,
				   MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

void attempt_relay(const struct world *w, const char *argument,
		   struct found *f)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t n = sizeof(a);
	auto_close int to = try_dial_proxy(w, HTTP_PROXY, "127.0.0.1");
	auto_close int listener = socket(AF_INET, SOCK_STREAM, 0);
	auto_close int fd = -1;
	char text[256], reply[REPLY_MAX];

	if (to < 0 || bind(listener, (struct sockaddr *)&a, n) < 0 ||
	    listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&a, &n) < 0) {
		found_result(f, -1);
		return;
	}
	if (fork() == 0)
		relay(listener, to);
	fd = try_dial("127.0.0.1", ntohs(a.sin_port), SOCK_STREAM);
	snprintf(text, sizeof(text), "CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n",
		 argument, w->tcp4, argument, w->tcp4);
	if (fd < 0 || (w->inside &&
		       (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 ||
			recv(fd, reply, sizeof(reply), 0) <= 0))) {
		found_result(f, -1);
		return;
	}
	try_word(f, fd);
	if (!w->inside)
		(void)shutdown(fd, SHUT_WR);
	while (recv(fd, reply, sizeof(reply), 0) > 0)
		;
	if (w->inside)
		f->error = EACCES;
}

/* BIND, UDP ASSOCIATE, an unknown command; and version 4 */
void attempt_socks_command(const struct world *w, const char *argument,
			   struct found *f)
{
	char text[16] = "\5\1\0\5\0\0\1\177\0\0\1", reply[REPLY_MAX];
	const char command = (char)strtol(argument, NULL, 10);
	size_t n = 11;
	ssize_t got;

	text[4] = command;
	text[n++] = (char)(w->tcp4 >> 8);
	text[n++] = (char)w->tcp4;
	if (!command) {		/* SOCKS4 */
		memcpy(text, "\4\1\0\0\177\0\0\1", 9);
		text[2] = (char)(w->tcp4 >> 8);
		text[3] = (char)w->tcp4;
		n = 9;
	}
	if (!w->inside) {
		f->error = 0;
		return;
	}
	if (exchange(w, SOCKS_PROXY, "\5\1\0", 3, reply) != 2 || reply[1])
		return;
	got = exchange(w, SOCKS_PROXY, text, n, reply);
	f->error = command ? got >= 4 && reply[3] == 0 ? 0 : EACCES
			   : got >= 2 && reply[1] == 90 ? 0 : EACCES;
}

/* A question to our DNS about a name that nobody allowed; a control asks a
 * server of ours, and hears nothing either
 */
void attempt_dns(const struct world *w, const char *argument, struct found *f)
{
	unsigned char text[64] = { 7, 7, 1, 0, 0, 1 }, reply[REPLY_MAX];
	size_t n = DNS_HEADER;
	auto_close int fd = try_dial("127.0.0.1", w->inside ? DNS_PORT : w->udp,
				     SOCK_DGRAM);
	ssize_t got;

	for (const char *p = argument; *p; p += strcspn(p, ".")) {
		p += *p == '.';
		text[n++] = (unsigned char)strcspn(p, ".");
		memcpy(text + n, p, strcspn(p, "."));
		n += strcspn(p, ".");
	}
	memcpy(text + n, "\0\0\1\0\1", 5);
	if (fd < 0 || send(fd, text, n + 5, MSG_NOSIGNAL) < 0) {
		found_result(f, -1);
		return;
	}
	f->error = w->inside ? EACCES : 0;
	got = w->inside ? recv(fd, reply, sizeof(reply), 0) : 0;
	if (got >= DNS_HEADER && (reply[DNS_RCODE] & 15) == 0)
		f->error = 0;
}
