/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-try-net.c - attempts to reach somebody outside */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "doctor/verify-row.h"
#include "doctor/verify-try.h"

enum { REPLY_SECONDS = 2 };

void try_word(struct found *f, int fd)
{
	char word[64];

	found_word(f, word, sizeof(word));
	found_result(f, send(fd, word, strlen(word), MSG_NOSIGNAL));
}

static void to_unix(const struct world *w, const char *path, int type,
		    struct found *f)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	const size_t n = strlen(path);

	(void)w;
	if (fd < 0 || n >= sizeof(address.sun_path)) {
		found_result(f, -1);
		return;
	}
	memcpy(address.sun_path, path, n);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		found_result(f, -1);
	else
		try_word(f, fd);
}

/* Relative to the scratch place: an address has room for 107 bytes only */
static void enter(const struct world *w, const char *argument, char *ret,
		  size_t size)
{
	char path[PATH_MAX];
	const char *slash;

	world_path(w, argument, NULL, path, sizeof(path));
	slash = strrchr(path, '/');
	snprintf(ret, size, "./%s", slash + 1);
	path[slash - path] = '\0';
	(void)!chdir(path);
}

void attempt_unix_stream(const struct world *w, const char *argument,
			 struct found *f)
{
	char path[NAME_MAX + 3];

	enter(w, argument, path, sizeof(path));
	to_unix(w, path, SOCK_STREAM, f);
}

void attempt_unix_dgram(const struct world *w, const char *argument,
			struct found *f)
{
	char path[NAME_MAX + 3];

	enter(w, argument, path, sizeof(path));
	to_unix(w, path, SOCK_DGRAM, f);
}

/* Without connect() */
void attempt_unix_sendto(const struct world *w, const char *argument,
			 struct found *f)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char path[NAME_MAX + 3], word[64];

	enter(w, argument, path, sizeof(path));
	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", path);
	found_word(f, word, sizeof(word));
	found_result(f, fd < 0 ? -1 :
		     sendto(fd, word, strlen(word), MSG_NOSIGNAL,
			    (struct sockaddr *)&address, sizeof(address)));
}

void attempt_abstract(const struct world *w, const char *argument,
		      struct found *f)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const size_t n = strlen(w->name);

	(void)argument;
	memcpy(address.sun_path + 1, w->name, n);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				    1 + n)) < 0)
		found_result(f, -1);
	else
		try_word(f, fd);
}

void attempt_fifo(const struct world *w, const char *argument,
		  struct found *f)
{
	char path[PATH_MAX], word[64];
	auto_close int fd = -1;

	world_path(w, argument, NULL, path, sizeof(path));
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	found_word(f, word, sizeof(word));
	found_result(f, fd < 0 ? -1 : write(fd, word, strlen(word)));
}

/* Connected, with a time limit on what follows; or -1 */
int try_dial(const char *host, int port, int type)
{
	const struct addrinfo hints = { .ai_socktype = type };
	const struct timeval limit = { .tv_sec = REPLY_SECONDS };
	struct addrinfo *list = NULL;
	char service[16];
	int fd = -1;

	snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(host, service, &hints, &list) != 0) {
		errno = EHOSTUNREACH;
		return -1;
	}
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, type | SOCK_CLOEXEC, 0);
		if (fd >= 0)
			(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit,
					 sizeof(limit));
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0)
			close_fd(&fd);
	}
	freeaddrinfo(list);
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit,
				 sizeof(limit));
	return fd;
}

void attempt_tcp(const struct world *w, const char *argument, struct found *f)
{
	const bool own = !strcmp(argument, "OWN");
	auto_close int fd = try_dial(own ? w->own : argument,
				 own ? w->own_port : w->tcp4, SOCK_STREAM);

	if (fd < 0)
		found_result(f, -1);
	else
		try_word(f, fd);
}

/* A connection that is no connect() */
void attempt_tcp_fast(const struct world *w, const char *argument,
		      struct found *f)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)w->tcp4),
	};
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char word[64];

	(void)inet_pton(AF_INET, argument, &to.sin_addr);
	found_word(f, word, sizeof(word));
	found_result(f, sendto(fd, word, strlen(word),
			       MSG_FASTOPEN | MSG_NOSIGNAL,
			       (struct sockaddr *)&to, sizeof(to)));
}

/* Sockets of services, those that are there: "U/" is the user's own directory
 * of them. One that answers is enough.
 */
void attempt_services(const struct world *w, const char *argument,
		      struct found *f)
{
	const char *own = getenv("XDG_RUNTIME_DIR");
	char path[PATH_MAX], list[1024], *save = NULL;

	snprintf(list, sizeof(list), "%s", argument);
	f->error = ENOENT;
	for (const char *name = strtok_r(list, " ", &save); name;
	     name = strtok_r(NULL, " ", &save)) {
		struct sockaddr_un to = { .sun_family = AF_UNIX };
		auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					   0);

		snprintf(path, sizeof(path), "%s%s",
			 *name == 'U' ? own ?: "/nonexistent" : "",
			 *name == 'U' ? name + 1 : name);
		(void)w;
		if (strlen(path) >= sizeof(to.sun_path))
			continue;
		memcpy(to.sun_path, path, strlen(path));
		if (fd >= 0 && connect(fd, (struct sockaddr *)&to,
				       sizeof(to)) == 0) {
			f->error = 0;
			return;
		}
		if (errno != ENOENT)
			f->error = EACCES;
	}
}

void attempt_udp(const struct world *w, const char *argument, struct found *f)
{
	auto_close int fd = try_dial(argument, w->udp, SOCK_DGRAM);

	if (fd < 0)
		found_result(f, -1);
	else
		try_word(f, fd);
}

void attempt_interfaces(const struct world *w, const char *argument,
			struct found *f)
{
	struct if_nameindex *names = if_nameindex();

	(void)w, (void)argument;
	f->error = ENOENT;
	for (const struct if_nameindex *i = names; i && i->if_index; i++) {
		if (strcmp(i->if_name, "lo") != 0) {
			f->error = 0;
			found_bytes(f, i->if_name, strlen(i->if_name));
		}
	}
	if (names)
		if_freenameindex(names);
}

int try_dial_proxy(const struct world *w, int proxy, const char *host)
{
	/* The one that names SOCKS in every profile */
	const char *url = getenv(proxy == HTTP_PROXY ? "HTTP_PROXY"
						     : "FTP_PROXY");
	const char *colon = url ? strrchr(url, ':') : NULL;

	if (!w->inside)
		return try_dial(host, w->tcp4, SOCK_STREAM);
	return try_dial("127.0.0.1",
			colon ? (int)strtol(colon + 1, NULL, 10) : proxy,
			SOCK_STREAM);
}

/* Send @n bytes to a proxy, take the answer, then say our word. The control
 * has no proxy: it goes to the host in question itself.
 */
void try_proxy(const struct world *w, int proxy, const char *host,
		    const void *bytes, size_t n, struct found *f)
{
	auto_close int fd = try_dial_proxy(w, proxy, host);
	char reply[512];
	ssize_t got;

	if (fd < 0 || send(fd, bytes, n, MSG_NOSIGNAL) < 0) {
		found_result(f, -1);
		return;
	}
	got = w->inside ? recv(fd, reply, sizeof(reply), 0) : 0;
	if (got > 0)
		found_bytes(f, reply, (size_t)got);
	try_word(f, fd);
	if (w->inside && (got <= 0 || memmem(reply, (size_t)got, " 403 ", 5) ||
			  memmem(reply, (size_t)got, " 400 ", 5)))
		f->error = EACCES;
}

/* The address to dial for a control: without brackets and user */
static const char *bare(const char *host, char *room, size_t size)
{
	const char *at = strchr(host, '@');

	snprintf(room, size, "%s", at ? at + 1 : host);
	if (room[0] != '[')
		return room;
	room[strcspn(room, "]")] = '\0';
	return room + 1;
}

void attempt_connect(const struct world *w, const char *argument,
		     struct found *f)
{
	char text[256], room[64];

	snprintf(text, sizeof(text), "CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n",
		 argument, w->tcp4, argument, w->tcp4);
	try_proxy(w, HTTP_PROXY, bare(argument, room, sizeof(room)), text,
		strlen(text), f);
}

static void get(const struct world *w, const char *uri_host,
		const char *header, const char *host, struct found *f)
{
	char text[512], word[64], room[64];

	found_word(f, word, sizeof(word));
	snprintf(text, sizeof(text), "GET http://%s:%d/%s HTTP/1.1\r\n%s\r\nConnection: close\r\n\r\n",
		 uri_host, w->tcp4, word, header);
	try_proxy(w, HTTP_PROXY, bare(host, room, sizeof(room)), text,
		strlen(text), f);
}

void attempt_fetch(const struct world *w, const char *argument,
		   struct found *f)
{
	char header[128];

	snprintf(header, sizeof(header), "Host: %s:%d", argument, w->tcp4);
	get(w, argument, header, argument, f);
}

void attempt_fetch_host(const struct world *w, const char *argument,
			struct found *f)
{
	char header[128];

	snprintf(header, sizeof(header), "Host: %s:%d", argument, w->tcp4);
	get(w, "example.com", header, argument, f);
}

void attempt_fetch_unix(const struct world *w, const char *argument,
			struct found *f)
{
	char header[PATH_MAX + 64], path[PATH_MAX];

	world_path(w, argument, NULL, path, sizeof(path));
	snprintf(header, sizeof(header), "Host: localhost\r\nX-Unix-Socket: %.300s",
		 path);
	get(w, "localhost", header, "localhost", f);
}

/* Greeting and request in one go; the proxy answers both */
static void socks(const struct world *w, const char *type, size_t type_len,
		  const char *host, struct found *f)
{
	char text[300];
	size_t n = 0;

	memcpy(text, "\5\1\0\5\1\0", 6);
	n = 6;
	memcpy(text + n, type, type_len);
	n += type_len;
	text[n++] = (char)(w->tcp4 >> 8);
	text[n++] = (char)w->tcp4;
	try_proxy(w, SOCKS_PROXY, host, text, n, f);
	if (w->inside && f->len >= 4 && f->bytes[3] != 0)
		f->error = EACCES;
}

void attempt_socks_ip(const struct world *w, const char *argument,
		      struct found *f)
{
	char type[5] = { 1 };

	(void)inet_pton(AF_INET, argument, type + 1);
	socks(w, type, sizeof(type), argument, f);
}

void attempt_socks_name(const struct world *w, const char *argument,
			struct found *f)
{
	char type[64] = { 3 };
	const size_t n = strlen(argument);

	type[1] = (char)n;
	memcpy(type + 2, argument, n);
	socks(w, type, n + 2, argument, f);
}

void attempt_socks_nul(const struct world *w, const char *argument,
		       struct found *f)
{
	static const char tail[] = ".example.com";
	char type[64] = { 3 };
	const size_t n = strlen(argument);

	type[1] = (char)(n + sizeof(tail));
	memcpy(type + 2, argument, n + 1);
	memcpy(type + 3 + n, tail, sizeof(tail) - 1);
	socks(w, type, n + 2 + sizeof(tail), argument, f);
}
