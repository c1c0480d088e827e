/* SPDX-License-Identifier: Apache-2.0 */
/* run/landlock-proxies.c - the landlock tier's network: the gate's ports on the host */

#include "run/landlock-proxies.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "gate/gate-client.h"
#include "ipc/listener.h"

enum {
	CONNECT_SECONDS = 2,	/* At most; it is a loopback away */
	BACKLOG = 4096,
};

static int open_one(struct listener_set *set, enum listener_role role,
		    uint16_t *ret, struct err *err)
{
	static const int on = 1;
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(a);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC |
				   SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return fail_errno(err, "cannot listen on the loopback for the proxies");
	*ret = ntohs(a.sin_port);
	return listener_add(set, role, *ret, take_fd(&fd));
}

int landlock_proxies_open(struct listener_set *set, struct network_proxies *ret,
		 struct err *err)
{
	const int r = open_one(set, LISTENER_HTTP, &ret->http, err);

	return r < 0 ? r : open_one(set, LISTENER_SOCKS, &ret->socks, err);
}

/* 127.0.0.1, in the family of a socket */
struct loopback {
	union {
		struct sockaddr sa;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	};
	socklen_t len;
};

static struct loopback loopback_of(sa_family_t family, uint16_t port)
{
	struct loopback a = { 0 };

	a.sa.sa_family = family;
	if (family == AF_INET) {
		a.len = sizeof(a.four);
		a.four.sin_port = htons(port);
		a.four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	} else {
		static const uint8_t mapped[16] = {
			[10] = 0xff, 0xff, 127, 0, 0, 1,
		};

		a.len = sizeof(a.six);
		a.six.sin6_port = htons(port);
		memcpy(&a.six.sin6_addr, mapped, sizeof(mapped));
	}
	return a;
}

/* The port of @address, if it is 127.0.0.1 in either form; else 0 */
static uint16_t loopback_port(const struct sockaddr *address, socklen_t len)
{
	const struct loopback meant = loopback_of(address->sa_family, 0);
	struct loopback a = { 0 };

	if (len < meant.len)
		return 0;
	memcpy(&a.six, address, meant.len);
	if (address->sa_family == AF_INET)
		return a.four.sin_addr.s_addr == meant.four.sin_addr.s_addr
		       ? ntohs(a.four.sin_port) : 0;
	return address->sa_family == AF_INET6 &&
	       !memcmp(&a.six.sin6_addr, &meant.six.sin6_addr,
		       sizeof(a.six.sin6_addr)) ? ntohs(a.six.sin6_port) : 0;
}

static bool is_tcp(int sock, sa_family_t family)
{
	return sock >= 0 && sys_socket_option(sock, SO_DOMAIN) == family &&
	       sys_socket_option(sock, SO_TYPE) == SOCK_STREAM &&
	       sys_socket_option(sock, SO_PROTOCOL) == IPPROTO_TCP;
}

/* Not connected, nor on the way */
static bool is_idle(int sock)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	return getsockopt(sock, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	       info.tcpi_state == TCP_CLOSE;
}

/* The client's port, before the gate can see it. A source on the loopback
 * also keeps whatever else the command did to the socket on this machine.
 */
static int announce(int sock, sa_family_t family, struct gate_client *gate)
{
	static const int off;
	struct loopback a = loopback_of(family, 0);
	uint16_t port;

	if (setsockopt(sock, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &off,
		       sizeof(off)) < 0 ||
	    (bind(sock, &a.sa, a.len) < 0 && errno != EINVAL) ||
	    getsockname(sock, &a.sa, &a.len) < 0)
		return -errno;
	port = loopback_port(&a.sa, a.len);
	if (!gate)
		return -ECONNREFUSED;
	return port ? gate_client_expect(gate, port) : -EACCES;
}

/* With a time limit: the gate's backlog may be full */
static int connect_soon(int sock, const struct loopback *to)
{
	const struct timeval limit = { .tv_sec = CONNECT_SECONDS };
	struct timeval before;
	socklen_t len = sizeof(before);
	int r;

	if (getsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &before, &len) < 0 ||
	    setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit,
		       sizeof(limit)) < 0)
		return -errno;
	r = connect(sock, &to->sa, to->len) < 0 ? -errno : 1;
	(void)setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &before,
			 sizeof(before));
	return r;
}

int landlock_proxies_connect(const struct network_proxies *proxies,
			     const struct sockaddr *address, socklen_t len,
			     int sock, struct gate_client *gate)
{
	const sa_family_t family = address->sa_family;
	const uint16_t port = loopback_port(address, len);
	const struct loopback to = loopback_of(family, port);
	int r = 0;

	if (!port || (port != proxies->http && port != proxies->socks) ||
	    !is_tcp(sock, family))
		return -EACCES;
	if (is_idle(sock))
		r = announce(sock, family, gate);
	return r < 0 ? r : connect_soon(sock, &to);
}
