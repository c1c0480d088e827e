/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/reach.c - is somebody there? Connections that carry nothing */

#include "firewall/reach.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/now.h"
#include "base/own.h"
#include "net/address.h"

/* 0 if it stands already, -EINPROGRESS with *@fd set, or why not */
static int start(const struct host *host, int *fd)
{
	struct sockaddr_storage sa;
	socklen_t len;
	int r = address_to_sockaddr(host, &sa, &len);

	if (r < 0)
		return r;
	*fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		     0);
	if (*fd < 0)
		return -errno;
	if (connect(*fd, (const struct sockaddr *)&sa, len) == 0)
		return 0;
	r = -errno;
	if (r != -EINPROGRESS)
		close_fd(fd);
	return r;
}

/* A refusal by the other end says more than silence or no way at all */
static int worse(int before, int now)
{
	if (before == -ECONNREFUSED || now == -ECONNREFUSED)
		return -ECONNREFUSED;
	return before == 0 || before == -ENETUNREACH ? now : before;
}

static int collect(struct pollfd *p, size_t n, int *error)
{
	for (size_t i = 0; i < n; i++) {
		int code = 0;
		socklen_t len = sizeof(code);

		if (p[i].fd < 0 || !p[i].revents)
			continue;
		if (getsockopt(p[i].fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0)
			code = errno;
		if (!code)
			return (int)i;
		*error = worse(*error, -code);
		close_fd(&p[i].fd);
	}
	return -1;
}

static bool is_waiting(const struct pollfd *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i].fd >= 0)
			return true;
	}
	return false;
}

bool reach_has_route(const struct host *host)
{
	struct sockaddr_storage sa;
	socklen_t len;
	auto_close int fd = -1;

	if (address_to_sockaddr(host, &sa, &len) < 0)
		return false;
	fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 &&
	       connect(fd, (const struct sockaddr *)&sa, len) == 0;
}

int reach_any(const struct host *hosts, size_t n, int timeout_ms)
{
	struct pollfd p[REACH_HOSTS_MAX];
	const int64_t end = now_ms(CLOCK_MONOTONIC) + timeout_ms;
	int found = -1, error = 0;

	if (n > REACH_HOSTS_MAX)
		n = REACH_HOSTS_MAX;
	for (size_t i = 0; i < n; i++) {
		int r;

		p[i] = (struct pollfd){ .fd = -1, .events = POLLOUT };
		r = start(&hosts[i], &p[i].fd);
		if (r == 0)
			found = (int)i;
		else if (r != -EINPROGRESS)
			error = worse(error, r);
	}
	while (found < 0 && is_waiting(p, n)) {
		const int64_t left = end - now_ms(CLOCK_MONOTONIC);

		if (left <= 0 || poll(p, n, (int)left) == 0) {
			error = worse(error, -ETIMEDOUT);
			break;
		}
		found = collect(p, n, &error);
	}
	for (size_t i = 0; i < n; i++)
		close_fd(&p[i].fd);
	return found >= 0 ? found : error ? error : -ENETUNREACH;
}
