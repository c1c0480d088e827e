/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net/seed.c - new sockets in the sandbox's network namespace, from outside
 *
 * Theory of operation: a socket belongs to the namespace it was made in, and
 * the gate may neither enter another one nor ask for it. But accept() makes a
 * socket in the namespace of its listener: the one socket we were given
 * connects to the one listener we were given, and there are two. Both are
 * disconnected again (connect() to AF_UNSPEC) and are as good as new: one is
 * handed out, one stays for the next time.
 */

#include "net/seed.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/own.h"

enum {
	STRANGERS_MAX = 64,	/* Others who may have connected to it */
	WAIT_MS = 1000,		/* Loopback mostly answers within the call */
};

struct seed {
	int listener, socket;
};

struct seed *seed_new(int listener, int sock)
{
	struct seed *seed = mem_zalloc(sizeof(*seed));

	seed->listener = listener;
	seed->socket = sock;
	return seed;
}

static int disconnect(int fd)
{
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };

	return connect(fd, &nobody, sizeof(nobody)) < 0 ? -errno : 0;
}

/* The listener is bound to all addresses; the sandbox's own will do */
static int connect_to_listener(const struct seed *seed)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);
	struct pollfd p = { .fd = seed->listener, .events = POLLIN };

	if (getsockname(seed->listener, (struct sockaddr *)&sa, &len) < 0)
		return -errno;
	if (sa.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&sa)->sin6_addr = in6addr_loopback;
	else
		((struct sockaddr_in *)&sa)->sin_addr.s_addr =
			htonl(INADDR_LOOPBACK);
	if (connect(seed->socket, (const struct sockaddr *)&sa, len) < 0 &&
	    errno != EINPROGRESS)
		return -errno;
	return poll(&p, 1, WAIT_MS) == 1 ? 0 : -ETIMEDOUT;
}

static bool is_ours(const struct seed *seed, int fd)
{
	struct sockaddr_storage a = { 0 }, b = { 0 };
	socklen_t a_len = sizeof(a), b_len = sizeof(b);

	return !getsockname(seed->socket, (struct sockaddr *)&a, &a_len) &&
	       !getpeername(fd, (struct sockaddr *)&b, &b_len) &&
	       a_len == b_len && !memcmp(&a, &b, a_len);
}

static int accept_ours(const struct seed *seed)
{
	for (int i = 0; i < STRANGERS_MAX; i++) {
		int fd = accept4(seed->listener, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return -errno;
		if (is_ours(seed, fd))
			return fd;
		close_fd(&fd);
	}
	return -EAGAIN;
}

int seed_socket(struct seed *seed)
{
	auto_close int fd = -1;
	int r;

	if (!seed || seed->listener < 0 || seed->socket < 0)
		return -EOPNOTSUPP;
	r = connect_to_listener(seed);
	if (!r) {
		r = fd = accept_ours(seed);
		if (r >= 0)
			r = disconnect(fd);
	}
	(void)disconnect(seed->socket);
	return r < 0 ? r : take_fd(&fd);
}
