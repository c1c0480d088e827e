/* SPDX-License-Identifier: Apache-2.0 */
/* cli/http-post.c - send one document to a collector over HTTP */

#include "cli/http-post.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"

static const char SCHEME[] = "http://";

/**
 * struct address - Where to
 * @name:	As it stands in the URL, for Host:
 */
struct address {
	char *name, *host, *port, *path;
};

static void address_done(struct address *a)
{
	free(a->name);
	free(a->host);
	free(a->port);
	free(a->path);
}

/* A URL without user, query or anything that is not printable */
static int read_url(const char *url, struct address *ret, struct err *err)
{
	const char *name = url + strlen(SCHEME), *slash, *colon;
	size_t n;

	if (!strncmp(url, "https://", strlen("https://")))
		return fail(err, -EINVAL, "'%s': https is not supported; let a collector on this machine forward the records", url);
	if (strncmp(url, SCHEME, strlen(SCHEME)) != 0)
		return fail(err, -EINVAL, "'%s' is not an address like http://localhost:4318", url);
	slash = strchrnul(name, '/');
	n = (size_t)(slash - name);
	for (const char *c = url; *c; c++) {
		if (*c <= ' ' || *c == 0x7f || *c == '@' || *c == '?' || *c == '#')
			return fail(err, -EINVAL, "the collector's address must not have a user name, a query or blanks");
	}
	ret->name = mem_strndup(name, n);
	ret->path = mem_strdup(*slash ? slash : "/");
	colon = strchr(*name == '[' ? ret->name + strcspn(ret->name, "]") : ret->name, ':');
	ret->host = mem_strndup(ret->name, colon ? (size_t)(colon - ret->name) : n);
	n = strlen(ret->host);
	if (n > 2 && *ret->host == '[' && ret->host[n - 1] == ']') {	/* IPv6 */
		memmove(ret->host, ret->host + 1, n - 2);
		ret->host[n - 2] = '\0';
	}
	ret->port = mem_strdup(colon ? colon + 1 : "80");
	return *ret->host ? 0 : fail(err, -EINVAL, "'%s' names no host", url);
}

/* 0 when @fd is ready, -ETIMEDOUT at @end_ms */
static int wait_ready(int fd, short events, int64_t end_ms)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = events };
		const int64_t left = end_ms - now_ms(CLOCK_MONOTONIC);
		const int n = left <= 0 ? 0 : poll(&p, 1, left > INT32_MAX ? INT32_MAX : (int)left);

		if (n > 0)
			return 0;
		if (n == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

static int connect_to(const struct addrinfo *a, int64_t end_ms)
{
	auto_close int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int code = 0, r;

	if (fd < 0)
		return -errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0 && errno != EINPROGRESS)
		return -errno;
	r = wait_ready(fd, POLLOUT, end_ms);
	if (r == 0)
		code = sys_socket_option(fd, SO_ERROR);
	return r < 0 ? r : code < 0 ? code : code ? -code : take_fd(&fd);
}

static int open_connection(const struct address *to, int64_t end_ms, struct err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int code = getaddrinfo(to->host, to->port, &hints, &list), r = -ENOENT;

	if (code)
		return fail(err, -EHOSTUNREACH, "the collector's name '%s' is not known: %s", to->host,
			    gai_strerror(code));
	for (const struct addrinfo *a = list; a && r < 0; a = a->ai_next)
		r = connect_to(a, end_ms);
	freeaddrinfo(list);
	return r < 0 ? fail(err, r, "the collector at %s cannot be reached: %s", to->name,
			    strerror(-r)) : r;
}

static int send_all(int fd, const struct buf *data, int64_t end_ms)
{
	for (size_t done = 0; done < data->len;) {
		const ssize_t n = send(fd, data->p + done, data->len - done, MSG_NOSIGNAL);
		int r = 0;

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			r = wait_ready(fd, POLLOUT, end_ms);
		else if (errno != EINTR)
			r = -errno;
		if (r < 0)
			return r;
	}
	return 0;
}

/* To its end, or to HTTP_POST_ANSWER_MAX */
static int receive_all(int fd, struct buf *text, int64_t end_ms)
{
	char chunk[4096];

	while (text->len < HTTP_POST_ANSWER_MAX) {
		const ssize_t n = recv(fd, chunk, sizeof(chunk), 0);
		int r = 0;

		if (n == 0)
			break;
		if (n > 0)
			buf_add(text, chunk, (size_t)n);
		else if (errno == EAGAIN)
			r = wait_ready(fd, POLLIN, end_ms);
		else if (errno != EINTR)
			r = -errno;
		if (r < 0)
			return r;
	}
	return 0;
}

/* "HTTP/1.1 200 ..." and, among the lines of the head, Retry-After in seconds */
static int read_answer(struct http_answer_text *ret, struct err *err)
{
	const char *text = buf_str(ret->text), *end = strstr(text, "\r\n\r\n");
	const char *code = text + strlen("HTTP/1.x ");

	if (!end || strncmp(text, "HTTP/1.", strlen("HTTP/1.")) != 0 || code[-1] != ' ' ||
	    *code < '2' || *code > '5')
		return fail(err, -EPROTO, "the collector's answer is not HTTP");
	ret->status = (int)strtol(code, NULL, 10);
	if (ret->status < 200 || ret->status > 599)
		return fail(err, -EPROTO, "the collector's answer is not HTTP");
	for (const char *line = strstr(text, "\r\n"); line && line < end;
	     line = strstr(line + 2, "\r\n")) {
		static const char name[] = "\r\nRetry-After:";

		if (!strncasecmp(line, name, strlen(name))) {
			const long seconds = strtol(line + strlen(name), NULL, 10);

			ret->retry_after = seconds < 0 ? 0 :
				seconds > HTTP_POST_RETRY_MAX ? HTTP_POST_RETRY_MAX :
				(unsigned int)seconds;
		}
	}
	return 0;
}

static int exchange(const struct http_post *post, const struct address *to,
		    struct http_answer_text *ret, struct err *err)
{
	const int64_t end_ms = now_ms(CLOCK_MONOTONIC) + (int64_t)post->timeout_ms;
	auto_close int fd = open_connection(to, end_ms, err);
	auto_buf struct buf request = { 0 };
	int r;

	if (fd < 0)
		return fd;
	buf_addf(&request, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
		 "User-Agent: cloche/" CLOCHE_VERSION "\r\nConnection: close\r\n"
		 "Content-Length: %zu\r\n%s\r\n", to->path, to->name, post->n, post->headers);
	buf_add(&request, post->body, post->n);
	/* A collector may answer, and close, before it has read everything */
	r = send_all(fd, &request, end_ms);
	if (r == 0 || r == -EPIPE || r == -ECONNRESET) {
		const int received = receive_all(fd, ret->text, end_ms);

		r = received < 0 && !ret->text->len ? received : 0;
	}
	explicit_bzero(request.p, request.len);
	if (r < 0)
		return fail(err, r, "the collector at %s does not answer: %s", to->name, strerror(-r));
	return read_answer(ret, err);
}

int http_post_send(const struct http_post *post, struct http_answer_text *ret, struct err *err)
{
	struct address to = { 0 };
	int r = read_url(post->url, &to, err);

	if (r == 0)
		r = exchange(post, &to, ret, err);
	address_done(&to);
	return r;
}
