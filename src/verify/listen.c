/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-listen.c - listeners of the host that nobody inside may reach
 */

#include "doctor/verify-listen.h"

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
#include "doctor/verify-world.h"

enum { BACKLOG = 128, LATE_MS = 20 };

static bool is_datagram(int place)
{
	return place == HEARD_DGRAM || place == HEARD_LOCAL_DGRAM ||
	       place == HEARD_UDP;
}

static int bound(int family, int place, const void *address, socklen_t n)
{
	const int type = is_datagram(place) ? SOCK_DGRAM : SOCK_STREAM;
	auto_close int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK,
				   0);

	if (fd < 0 || bind(fd, address, n) < 0 ||
	    (type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
		return -errno;
	return take_fd(&fd);
}

/* An address has room for 107 bytes: by way of the directory's descriptor */
static int on_path(const struct target *t, const char *text, int place)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char path[PATH_MAX], dir[PATH_MAX];
	auto_close int fd = -1;

	world_path(&t->w, text, NULL, path, sizeof(path));
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path),
		 path);
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path),
		 "/proc/self/fd/%d%.64s", fd, strrchr(path, '/'));
	return bound(AF_UNIX, place, &address, sizeof(address));
}

static int on_abstract(const struct target *t)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t n = strlen(t->w.name);

	memcpy(address.sun_path + 1, t->w.name, n);
	return bound(AF_UNIX, HEARD_ABSTRACT, &address, (socklen_t)(
		offsetof(struct sockaddr_un, sun_path) + 1 + n));
}

static int on_fifo(const struct target *t)
{
	char path[PATH_MAX];
	int fd;

	world_path(&t->w, "A/fifo", NULL, path, sizeof(path));
	if (mkfifo(path, 0600) < 0)
		return -errno;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int on_address(int place, struct in_addr at, int *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = at };
	socklen_t n = sizeof(address);
	const int fd = bound(AF_INET, place, &address, n);

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

int listen_open(struct target *t)
{
	const struct in_addr loopback = { htonl(INADDR_LOOPBACK) };
	struct in_addr own;
	int *l = t->listeners;

	l[HEARD_STREAM] = on_path(t, "A/stream", HEARD_STREAM);
	l[HEARD_DGRAM] = on_path(t, "A/dgram", HEARD_DGRAM);
	l[HEARD_LOCAL] = on_path(t, "P/stream", HEARD_LOCAL);
	l[HEARD_LOCAL_DGRAM] = on_path(t, "P/dgram", HEARD_LOCAL_DGRAM);
	l[HEARD_ABSTRACT] = on_abstract(t);
	l[HEARD_FIFO] = on_fifo(t);
	l[HEARD_TCP4] = on_address(HEARD_TCP4, loopback, &t->w.tcp4);
	l[HEARD_UDP] = on_address(HEARD_UDP, loopback, &t->w.udp);
	if (own_address(&own)) {
		l[HEARD_OWN] = on_address(HEARD_OWN, own, &t->w.own_port);
		(void)inet_ntop(AF_INET, &own, t->w.own, sizeof(t->w.own));
	}
	/* What cannot be had has no control that succeeds, and is told so */
	for (size_t i = 0; i < HEARD_PLACES; i++)
		l[i] = l[i] < 0 ? -1 : l[i];
	return 0;
}

/* Every "row-N;" in what was received */
static void take_words(struct target *t, const char *text, size_t n)
{
	const char *at = text, *end = text + n;
	bool any = false;

	while ((at = memmem(at, (size_t)(end - at), "row-", 4)) != NULL) {
		const unsigned long row = strtoul(at + 4, NULL, 10);

		if (row < HEARD_ROWS)
			any = t->heard[row] = true;
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

	/* Somebody who has connected says who in the same breath */
	while (n < sizeof(text) - 1 && poll(&p, 1, LATE_MS) == 1 &&
	       (got = recv(fd, text + n, sizeof(text) - 1 - n, 0)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	take_words(t, text, n);
}

void target_listen(struct target *t)
{
	char text[4096];
	ssize_t n;

	for (int i = 0; i < HEARD_PLACES; i++) {
		const int fd = t->listeners[i];
		int conn;

		if (fd < 0)
			continue;
		if (is_datagram(i) || i == HEARD_FIFO) {
			while ((n = read(fd, text, sizeof(text) - 1)) > 0) {
				text[n] = '\0';
				take_words(t, text, (size_t)n);
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
	/* Only the first: whatever comes after it is for the others to hear */
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
