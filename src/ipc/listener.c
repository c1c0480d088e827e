/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/listener.c - sets of listeners, and their way between processes
 *
 * A message holds at most SOCKET_FDS_MAX descriptors, so a set is a count, then
 * as many messages as it takes.
 */

#include "ipc/listener.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "ipc/socket.h"

int listener_add(struct listener_set *set, enum listener_role role,
		 uint16_t port, int fd)
{
	if (set->len == LISTENERS_MAX) {
		close_fd(&fd);
		return -ENOSPC;
	}
	set->v[set->len] = (struct listener){ (uint16_t)role, port };
	set->fds[set->len++] = fd;
	return 0;
}

void listener_yield(struct listener_set *set)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->len; i++) {
		if (set->v[i].role == LISTENER_CAPTURE &&
		    set->v[i].port >= LISTENER_FREE_PORT) {
			close_fd(&set->fds[i]);
			continue;
		}
		set->v[kept] = set->v[i];
		set->fds[kept++] = set->fds[i];
	}
	set->len = kept;
}

void listener_done(struct listener_set *set)
{
	for (size_t i = 0; i < set->len; i++)
		close_fd(&set->fds[i]);
	set->len = 0;
}

static size_t batch(size_t left)
{
	return left < SOCKET_FDS_MAX ? left : SOCKET_FDS_MAX;
}

int listener_send(int sock, const struct listener_set *set)
{
	const uint32_t total = (uint32_t)set->len;
	int r = socket_send(sock, &total, sizeof(total), NULL, 0);

	for (size_t i = 0, n; !r && i < set->len; i += n) {
		n = batch(set->len - i);
		r = socket_send(sock, set->v + i, n * sizeof(*set->v),
			      set->fds + i, n);
	}
	return r;
}

/* One message of exactly @n rows */
static int recv_rows(int sock, struct listener_set *set, size_t n)
{
	size_t nfds = n;
	const ssize_t got = socket_recv(sock, set->v + set->len,
				      n * sizeof(*set->v),
				      set->fds + set->len, &nfds);

	if (got < 0)
		return (int)got;
	set->len += nfds;
	if ((size_t)got != n * sizeof(*set->v) || nfds != n)
		return -EPROTO;
	for (size_t i = set->len - n; i < set->len; i++) {
		if (set->v[i].role >= LISTENER_ROLES)
			return -EPROTO;
	}
	return 0;
}

int listener_recv(int sock, struct listener_set *ret)
{
	struct listener_set set = { 0 };
	uint32_t total;
	const ssize_t got = socket_recv(sock, &total, sizeof(total), NULL, NULL);
	int r = 0;

	if (got < 0)
		return (int)got;
	if (got != sizeof(total) || total > LISTENERS_MAX)
		return -EPROTO;
	while (!r && set.len < total)
		r = recv_rows(sock, &set, batch(total - set.len));
	if (r < 0) {
		listener_done(&set);
		return r;
	}
	memcpy(ret, &set, sizeof(set));
	return 0;
}
