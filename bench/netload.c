/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/netload.c - a quick server and a quick client for bench/network
 *
 * netload serve			prints its port; HTTP and echo
 * netload MODE AMOUNT HOST PORT [proxy HOST PORT]
 *
 *   down BYTES, up BYTES		GiB/s over one connection
 *   connect N			connect (CONNECT) and one byte there and back:
 *				median and 99th percentile in microseconds
 *   keep N, close N		N requests for 1 KiB, 16 at once: on kept
 *				connections, or a new one for each; per second
 *   parallel N			how many of N connections at once are served
 *   hold N			one connection, a line on stdin, then all N
 *
 * With a proxy, down, up, connect and parallel are tunnels (CONNECT); keep and
 * close are plain requests that the proxy has to parse. One line of JSON.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 1024, AT_ONCE = 16, BUFFER = 256 << 10, FDS = 4096 };

static char buffer[BUFFER];
static struct sockaddr_in target, proxy;
static bool has_proxy;
static char authority[64];

static void die(const char *what)
{
	fprintf(stderr, "netload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The server: what a connection still has to get, or to give */
struct peer {
	uint64_t out, in;
	bool echo;
	char head[4096];
	size_t len;
};

static struct peer *peers[FDS];

static bool flush(int fd, struct peer *p)
{
	while (p->out) {
		const size_t n = p->out < BUFFER ? (size_t)p->out : BUFFER;
		const ssize_t put = send(fd, buffer, n, MSG_NOSIGNAL);

		if (put < 0)
			return errno == EAGAIN;
		p->out -= (uint64_t)put;
	}
	return true;
}

/* One request: "GET /N" gets N bytes, "POST" with a Content-Length gives */
static void answer(int fd, struct peer *p, char *end)
{
	char out[128];
	const char *length;
	int n;

	*end = '\0';
	length = strcasestr(p->head, "content-length: ");
	p->in = length ? strtoull(length + 16, NULL, 10) : 0;
	p->out = p->head[0] == 'G' ? strtoull(p->head + 5, NULL, 10) : 0;
	n = snprintf(out, sizeof(out),
		     "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\n\r\n",
		     (unsigned long long)p->out);
	if (!p->in && send(fd, out, (size_t)n, MSG_NOSIGNAL | MSG_MORE) < 0)
		p->out = 0;
}

static bool take_head(int fd, struct peer *p, const char *data, size_t n);

static bool take(int fd, struct peer *p, const char *data, size_t n)
{
	if (p->echo)
		return send(fd, data, n, MSG_NOSIGNAL) == (ssize_t)n;
	if (!p->len && !p->in && *data == 'E') {
		p->echo = true;
		return take(fd, p, data, n);
	}
	if (p->in) {
		static const char done[] =
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

		p->in -= n < p->in ? n : p->in;
		return p->in || send(fd, done, sizeof(done) - 1,
				     MSG_NOSIGNAL) > 0;
	}
	return take_head(fd, p, data, n);
}

/* Bytes of a head; what follows it is a body */
static bool take_head(int fd, struct peer *p, const char *data, size_t n)
{
	const size_t had = p->len, room = sizeof(p->head) - 1 - had;
	char *end;

	p->len += n < room ? n : room;
	memcpy(p->head + had, data, p->len - had);
	p->head[p->len] = '\0';
	end = strstr(p->head, "\r\n\r\n");
	if (!end)
		return p->len < sizeof(p->head) - 1;
	n -= (size_t)(end + 4 - p->head) - had;
	data += (size_t)(end + 4 - p->head) - had;
	p->len = 0;
	answer(fd, p, end);
	return n && p->in ? take(fd, p, data, n) : flush(fd, p);
}

static void serve_one(int fd, uint32_t events)
{
	static char in[BUFFER];
	struct peer *p = peers[fd];
	ssize_t n = 1;

	if (events & EPOLLOUT && !flush(fd, p))
		n = 0;
	while (n > 0) {
		n = recv(fd, in, sizeof(in), 0);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n > 0 && !take(fd, p, in, (size_t)n))
			n = 0;
	}
	free(p);
	peers[fd] = NULL;
	close(fd);
}

static void serve(void)
{
	static const int on = 1;
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	const int listener = socket(AF_INET, SOCK_STREAM, 0);
	const int ep = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = listener };
	struct epoll_event got[64];

	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(listener, 4096) < 0 ||
	    getsockname(listener, (struct sockaddr *)&a, &len) < 0)
		die("listen");
	(void)setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev);
	printf("%d\n", ntohs(a.sin_port));
	fflush(stdout);
	for (;;) {
		const int n = epoll_wait(ep, got, 64, -1);

		for (int i = 0; i < n; i++) {
			int fd = got[i].data.fd;

			if (fd != listener) {
				serve_one(fd, got[i].events);
				continue;
			}
			fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
			if (fd < 0 || fd >= FDS) {
				close(fd);
				continue;
			}
			peers[fd] = calloc(1, sizeof(**peers));
			ev.events = EPOLLIN | EPOLLOUT | EPOLLET;
			ev.data.fd = fd;
			(void)epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
		}
	}
}

/* srt's proxy wants the credentials that it put into the environment */
static char authorization[512];

static void read_credentials(void)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789+/";
	const char *url = getenv("http_proxy"), *at = url ? strchr(url, '@')
							  : NULL;
	uint8_t plain[256] = { 0 };
	size_t n = 0, len;

	if (!at || strncmp(url, "http://", 7) != 0)
		return;
	for (const char *p = url + 7; p < at && n < sizeof(plain) - 3; p++) {
		if (*p == '%') {
			plain[n++] = (uint8_t)strtoul((char[]){ p[1], p[2], 0 },
						      NULL, 16);
			p += 2;
		} else {
			plain[n++] = (uint8_t)*p;
		}
	}
	len = (size_t)snprintf(authorization, sizeof(authorization),
			       "Proxy-Authorization: Basic ");
	for (size_t i = 0; i < n; i += 3) {
		const uint32_t v = (uint32_t)plain[i] << 16 |
				   (uint32_t)plain[i + 1] << 8 | plain[i + 2];

		authorization[len++] = digits[v >> 18 & 63];
		authorization[len++] = digits[v >> 12 & 63];
		authorization[len++] = i + 1 < n ? digits[v >> 6 & 63] : '=';
		authorization[len++] = i + 2 < n ? digits[v & 63] : '=';
	}
	snprintf(authorization + len, sizeof(authorization) - len, "\r\n");
}

static int dial(bool tunnel)
{
	static const int on = 1;
	const struct sockaddr_in *to = has_proxy ? &proxy : &target;
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	char head[1024];
	size_t len = 0;

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
		return -1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (!has_proxy || !tunnel)
		return fd;
	len = (size_t)snprintf(head, sizeof(head),
			       "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n",
			       authority, authority, authorization);
	if (send(fd, head, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("send");
	/* No peer sends after it before this side does */
	for (len = 0; len < 4 || memcmp(head + len - 4, "\r\n\r\n", 4) != 0;) {
		const ssize_t n = recv(fd, head + len, sizeof(head) - len, 0);

		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (len < 12 || memcmp(head + 9, "200", 3) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static size_t request(char *out, size_t size, const char *method,
		      const char *more, uint64_t n, bool absolute)
{
	return (size_t)snprintf(out, size, "%s %s%s/%llu HTTP/1.1\r\n"
				"Host: %s\r\n%s%s\r\n", method,
				absolute ? "http://" : "",
				absolute ? authority : "",
				(unsigned long long)n, authority, more,
				absolute ? authorization : "");
}

static void bulk(bool down, uint64_t bytes)
{
	const int fd = dial(true);
	char head[512], more[64] = "";
	uint64_t left = bytes;
	double start;
	size_t n;

	if (fd < 0)
		die("connect");
	if (!down)
		snprintf(more, sizeof(more), "Content-Length: %llu\r\n",
			 (unsigned long long)bytes);
	n = request(head, sizeof(head), down ? "GET" : "POST", more,
		    down ? bytes : 0, false);
	start = now();
	if (send(fd, head, n, MSG_NOSIGNAL) != (ssize_t)n)
		die("send");
	while (left) {
		const size_t want = left < BUFFER ? (size_t)left : BUFFER;
		const ssize_t got = down ? recv(fd, buffer, BUFFER, 0)
					 : send(fd, buffer, want, MSG_NOSIGNAL);

		if (got <= 0)
			die("short");
		left -= (uint64_t)got < left ? (uint64_t)got : left;
	}
	if (!down && recv(fd, buffer, BUFFER, 0) <= 0)
		die("no answer");
	printf("{\"gib\": %.4f}\n", (double)bytes / (now() - start) / (1 << 30));
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void connects(size_t n)
{
	double *us = calloc(n, sizeof(*us));

	for (size_t i = 0; us && i < n; i++) {
		const double start = now();
		const int fd = dial(true);
		char c = 'E';

		if (fd < 0 || send(fd, &c, 1, MSG_NOSIGNAL) != 1 ||
		    recv(fd, &c, 1, 0) != 1)
			die("echo");
		us[i] = (now() - start) * 1e6;
		close(fd);
	}
	qsort(us, n, sizeof(*us), compare);
	printf("{\"p50\": %.1f, \"p99\": %.1f, \"min\": %.1f}\n", us[n / 2],
	       us[n * 99 / 100], us[0]);
	free(us);
}

/* Requests in turn on AT_ONCE connections, by epoll */
static void requests(unsigned long count, bool keep)
{
	const int ep = epoll_create1(0);
	const double start = now();
	struct epoll_event ev = { .events = EPOLLIN }, got[AT_ONCE];
	size_t have[FDS] = { 0 };
	unsigned long done = 0;
	char head[1024];
	const size_t n = request(head, sizeof(head), "GET",
				 keep ? "" : "Connection: close\r\n", SMALL,
				 has_proxy);

	for (int i = 0; i < AT_ONCE; i++) {
		ev.data.fd = dial(false);
		if (ev.data.fd < 0 ||
		    send(ev.data.fd, head, n, MSG_NOSIGNAL) < 0)
			die("connect");
		(void)epoll_ctl(ep, EPOLL_CTL_ADD, ev.data.fd, &ev);
	}
	while (done < count) {
		const int ready = epoll_wait(ep, got, AT_ONCE, 1000);

		for (int i = 0; i < ready; i++) {
			int fd = got[i].data.fd;
			const ssize_t r = recv(fd, buffer, BUFFER, 0);

			if (r <= 0)
				die("lost");
			have[fd] += (size_t)r;
			if (have[fd] < SMALL + 30)
				continue;
			have[fd] = 0;
			done++;
			if (!keep) {
				close(fd);
				fd = dial(false);
				ev.data.fd = fd;
				have[fd] = 0;
				(void)epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
			}
			if (send(fd, head, n, MSG_NOSIGNAL) < 0)
				die("send");
		}
	}
	printf("{\"rps\": %.0f}\n", (double)done / (now() - start));
}

static void parallel(int n)
{
	int *fds = calloc((size_t)n, sizeof(*fds)), served = 0;

	for (int i = 0; i < n; i++)
		fds[i] = dial(true);
	for (int i = 0; i < n; i++) {
		char c = 'E';

		served += fds[i] >= 0 && send(fds[i], &c, 1, MSG_NOSIGNAL) == 1 &&
			  recv(fds[i], &c, 1, 0) == 1;
	}
	printf("{\"served\": %d}\n", served);
	free(fds);
}

/* Idle connections, while the other side is measured */
static void hold(int n)
{
	for (int i = 0; i < n; i++) {
		if (dial(true) < 0)
			die("connect");
		if (i && i < n - 1)
			continue;
		printf("%d\n", i + 1);
		fflush(stdout);
		(void)getchar();
	}
}

static struct sockaddr_in address(const char *host, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	a.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	if (inet_pton(AF_INET, host, &a.sin_addr) != 1)
		die(host);
	return a;
}

int main(int argc, char **argv)
{
	const struct rlimit fds = { FDS, FDS };

	(void)setrlimit(RLIMIT_NOFILE, &fds);
	signal(SIGPIPE, SIG_IGN);
	if (argc == 2)
		serve();
	if (argc != 5 && argc != 8) {
		fprintf(stderr, "usage: netload MODE AMOUNT HOST PORT [proxy HOST PORT]\n");
		return 2;
	}
	target = address(argv[3], argv[4]);
	snprintf(authority, sizeof(authority), "%s:%s", argv[3], argv[4]);
	has_proxy = argc == 8;
	read_credentials();
	if (has_proxy)
		proxy = address(argv[6], argv[7]);
	if (!strcmp(argv[1], "down") || !strcmp(argv[1], "up"))
		bulk(argv[1][0] == 'd', strtoull(argv[2], NULL, 10));
	else if (!strcmp(argv[1], "connect"))
		connects((size_t)strtoull(argv[2], NULL, 10));
	else if (!strcmp(argv[1], "hold"))
		hold((int)strtol(argv[2], NULL, 10));
	else if (!strcmp(argv[1], "parallel"))
		parallel((int)strtol(argv[2], NULL, 10));
	else
		requests(strtoul(argv[2], NULL, 10), argv[1][0] == 'k');
	return 0;
}
