/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/listener.c - sets of listeners, and their way between processes */

#include "ipc/listener.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/own.h"
#include "ipc/socket.h"

static_assert((int)LISTENERS_MAX <= (int)SOCKET_FDS_MAX, "a set is one message");

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

int listener_send(int sock, const struct listener_set *set)
{
	return socket_send(sock, set->v, set->len * sizeof(*set->v), set->fds,
			   set->len);
}

int listener_recv(int sock, struct listener_set *ret)
{
	struct listener_set set = { .len = LISTENERS_MAX };
	const ssize_t got = socket_recv(sock, set.v, sizeof(set.v), set.fds,
					&set.len);
	bool sane;

	if (got < 0)
		return (int)got;
	sane = set.len && (size_t)got == set.len * sizeof(*set.v);
	for (size_t i = 0; sane && i < set.len; i++)
		sane = set.v[i].role < LISTENER_ROLES;
	if (!sane) {
		listener_done(&set);
		return -EPROTO;
	}
	memcpy(ret, &set, sizeof(set));
	return 0;
}
