/* SPDX-License-Identifier: Apache-2.0 */
/* verify/listen.c - listeners of the host that no attempt may reach */

#include "verify/verify.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "base/path.h"

enum { BACKLOG = 128, LATE_MS = 20 };

static bool is_datagram(int kind)
{
	return kind == LISTENER_DGRAM || kind == LISTENER_LOCAL_DGRAM ||
	       kind == LISTENER_UDP;
}

static int bound(int family, int kind, const void *address, socklen_t n)
{
	const int type = is_datagram(kind) ? SOCK_DGRAM : SOCK_STREAM;
	auto_close int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK,
				   0);

	if (fd < 0 || bind(fd, address, n) < 0 ||
	    (type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
		return -errno;
	return take_fd(&fd);
}

/* An address has 107 bytes: by way of the directory's descriptor */
static int on_path(const struct target *t, const char *text, int kind)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_free char *path = target_path(t, text);
	auto_free char *dir = path_parent(path);
	auto_close int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path),
		 "/proc/self/fd/%d/%.64s", fd, path_base(path));
	return bound(AF_UNIX, kind, &address, sizeof(address));
}

static int on_abstract(const struct target *t)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t n = strlen(t->w.name);

	memcpy(address.sun_path + 1, t->w.name, n);
	return bound(AF_UNIX, LISTENER_ABSTRACT, &address, (socklen_t)(
		offsetof(struct sockaddr_un, sun_path) + 1 + n));
}

static int on_fifo(const struct target *t)
{
	auto_free char *path = target_path(t, "A/fifo");

	if (mkfifo(path, 0600) < 0)
		return -errno;
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static int on_address(int kind, struct in_addr at, int *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = at };
	socklen_t n = sizeof(address);
	const int fd = bound(AF_INET, kind, &address, n);

	if (fd >= 0 && getsockname(fd, (struct sockaddr *)&address, &n) == 0)
		*ret_port = ntohs(address.sin_port);
	return fd;
}

/* An address of this machine that is not the loopback; false if it has none */
static bool own_address(struct in_addr *ret)
{
	struct ifaddrs *all = NULL;
	bool found = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
		    i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP))
			continue;
		*ret = ((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr;
		found = true;
	}
	freeifaddrs(all);
	return found;
}

void listen_open(struct target *t)
{
	const struct in_addr loopback = { htonl(INADDR_LOOPBACK) };
	struct in_addr own;
	int *l = t->listeners;

	l[LISTENER_STREAM] = on_path(t, "A/stream", LISTENER_STREAM);
	l[LISTENER_DGRAM] = on_path(t, "A/dgram", LISTENER_DGRAM);
	l[LISTENER_LOCAL] = on_path(t, "P/stream", LISTENER_LOCAL);
	l[LISTENER_LOCAL_DGRAM] = on_path(t, "P/dgram", LISTENER_LOCAL_DGRAM);
	l[LISTENER_ABSTRACT] = on_abstract(t);
	l[LISTENER_FIFO] = on_fifo(t);
	l[LISTENER_TCP4] = on_address(LISTENER_TCP4, loopback, &t->w.tcp4);
	l[LISTENER_UDP] = on_address(LISTENER_UDP, loopback, &t->w.udp);
	if (own_address(&own)) {
		l[LISTENER_OWN] = on_address(LISTENER_OWN, own, &t->w.own_port);
		(void)inet_ntop(AF_INET, &own, t->w.own, sizeof(t->w.own));
	}
	/* Where one is missing the control fails, and says so */
	for (size_t i = 0; i < LISTENERS; i++)
		l[i] = l[i] < 0 ? -1 : l[i];
}

/* Every "row-N;" in what was received */
static void take_text(struct target *t, const char *text, size_t n)
{
	const char *at = text, *end = text + n;
	const bool canary = memmem(text, n, t->canary, NEEDLE);
	bool any = false;

	while ((at = memmem(at, (size_t)(end - at), "row-", 4)) != NULL) {
		const unsigned long row = strtoul(at + 4, NULL, 10);

		if (row < ROWS_MAX) {
			any = t->heard[row] = true;
			t->sent[row] |= canary;
		}
		at += 4;
	}
	if (!any && !(t->lenient && !n))
		t->nameless = true;
}

static void take_stream(struct target *t, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[1024];
	size_t n = 0;
	ssize_t got;

	/* An attempt sends its word at once */
	while (n < sizeof(text) - 1 && poll(&p, 1, LATE_MS) == 1 &&
	       (got = recv(fd, text + n, sizeof(text) - 1 - n, 0)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	take_text(t, text, n);
}

void target_listen(struct target *t)
{
	char text[4096];
	ssize_t n;

	for (int i = 0; i < LISTENERS; i++) {
		const int fd = t->listeners[i];
		int conn;

		if (fd < 0)
			continue;
		if (is_datagram(i) || i == LISTENER_FIFO) {
			while ((n = read(fd, text, sizeof(text) - 1)) > 0) {
				text[n] = '\0';
				take_text(t, text, (size_t)n);
			}
			continue;
		}
		while ((conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
			take_stream(t, conn);
			(void)close(conn);
		}
	}
}

void listen_answer(int listener)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	struct pollfd p = { .fd = listener, .events = POLLIN };
	char text[1024];
	int fd;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Only the first message: the next is for another listener */
	while (poll(&p, 1, -1) < 0 || (fd = accept(listener, NULL, NULL)) < 0)
		;
	p.fd = fd;
	while (poll(&p, 1, -1) == 1) {
		const ssize_t n = recv(fd, text, sizeof(text), 0);

		if (n <= 0)
			break;
		if (memmem(text, (size_t)n, "row-", 4)) {
			/* Passed on after all: say so where it is heard */
			const int back = socket(AF_INET, SOCK_STREAM, 0);
			struct sockaddr_in a;
			socklen_t len = sizeof(a);

			if (getsockname(listener, (struct sockaddr *)&a,
					&len) == 0 &&
			    connect(back, (struct sockaddr *)&a, len) == 0)
				(void)!send(back, text, (size_t)n,
					    MSG_NOSIGNAL);
		}
		(void)!send(fd, ok, sizeof(ok) - 1, MSG_NOSIGNAL);
	}
	for (;;)
		(void)pause();
}
