/* SPDX-License-Identifier: Apache-2.0 */
/* observe/nested-sandbox.c - connections of sandboxes inside this one */

#include "observe/nested-sandbox.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"

void nested_sandboxes_done(struct nested_sandboxes *n)
{
	for (size_t i = 0; i < n->len; i++)
		close_fd(&n->v[i].pidfd);
	free(n->v);
	*n = (struct nested_sandboxes){ 0 };
}

bool nested_is_announcement(const struct sockaddr *address, socklen_t len)
{
	const struct nested_address *a = (const struct nested_address *)address;

	return len == sizeof(*a) && a->family == AF_UNIX &&
	       !memcmp(a->name, NESTED_NAME, sizeof(NESTED_NAME));
}

static void drop_ended(struct nested_sandboxes *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->len; i++) {
		struct pollfd p = { .fd = n->v[i].pidfd, .events = POLLIN };

		if (poll(&p, 1, 0) == 0)
			n->v[kept++] = n->v[i];
		else
			close_fd(&n->v[i].pidfd);
	}
	n->len = kept;
}

int nested_announce(struct nested_sandboxes *n, pid_t pid,
		    const struct sockaddr *address)
{
	const struct nested_address *a = (const struct nested_address *)address;
	struct nested_sandbox new = { .pid = pid };

	drop_ended(n);
	if (n->len >= NESTED_SANDBOXES_MAX)
		return EAGAIN;
	new.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (new.pidfd < 0)
		return errno;
	memcpy(new.ports, a->ports, sizeof(new.ports));
	*vec_push(n) = new;
	return 0;
}

/* The sandbox that @tid is in, in *@ret, or NULL there. False if that is unknown: a
 * process on the way ended meanwhile, and its children have another parent now.
 */
static bool look_up(const struct nested_sandboxes *n, pid_t tid,
		    const struct nested_sandbox **ret)
{
	*ret = NULL;
	for (int i = 0; i < NESTED_DEPTH_MAX; i++) {
		const pid_t parent = proc_parent(tid);
		const bool last = parent == 1 || parent == getpid();

		/* The parent is there, and is still the parent */
		if (!parent || (!last && !proc_parent(parent)) ||
		    proc_parent(tid) != parent)
			return false;
		for (size_t k = 0; k < n->len && !*ret; k++)
			*ret = n->v[k].pid == parent ? &n->v[k] : NULL;
		if (*ret || last)
			return true;
		tid = parent;
	}
	return false;
}

static bool is_proxy(const struct nested_sandbox *s,
		     const struct sockaddr *address, socklen_t len)
{
	struct sockaddr_in a = { 0 };

	if (address->sa_family != AF_INET || len < sizeof(a))
		return false;
	memcpy(&a, address, sizeof(a));
	if (a.sin_addr.s_addr != htonl(INADDR_LOOPBACK))
		return false;
	for (int i = 0; i < NESTED_PORTS; i++) {
		if (s->ports[i] && ntohs(a.sin_port) == s->ports[i])
			return true;
	}
	return false;
}

int nested_check(struct nested_sandboxes *n, pid_t tid,
		 const struct sockaddr *address, socklen_t len)
{
	enum { TRIES = 64 }; /* Each fails only if a process ended during it */
	const struct nested_sandbox *in = NULL;
	int i = 0;

	if (n->len)
		drop_ended(n);
	if (!n->len)
		return 0;
	while (i < TRIES && !look_up(n, tid, &in))
		i++;
	if (i == TRIES)
		return EACCES;
	return !in || is_proxy(in, address, len) ? 0 : EACCES;
}
