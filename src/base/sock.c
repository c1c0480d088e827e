/* SPDX-License-Identifier: Apache-2.0 */
/* base/sock.c - messages and descriptors over a socket pair */

#include "base/sock.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"

/**
 * union control - Room for the descriptors of one message, aligned
 */
union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(SOCK_FDS_MAX * sizeof(int))];
};

int sock_pair(int ret[2])
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ret[0] = pair[0];
	ret[1] = pair[1];
	return 0;
}

int sock_send(int fd, const void *data, size_t n, const int *fds, size_t nfds)
{
	/* sendmsg() does not write through this */
	struct iovec iov = { .iov_base = (void *)(size_t)data, .iov_len = n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };
	ssize_t sent;

	if (nfds > SOCK_FDS_MAX)
		return -EMSGSIZE;
	if (nfds) {
		struct cmsghdr *c = &control.header;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	do {
		sent = sendmsg(fd, &msg, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	return (size_t)sent == n ? 0 : -EMSGSIZE;
}

/* The kernel counts what all of a user's programs have sent and nobody has taken
 * yet, and holds that against the limit of whoever sends
 */
int sock_fail(int r, const char *what, struct err *err)
{
	if (r == -ETOOMANYREFS)
		return fail(err, r, "%s: this user's programs have more descriptors on the way to each other than we may have open (ulimit -n); raise that, or try again",
			    what);
	return fail(err, r, "%s: %s", what, strerror(-r));
}

/* All descriptors of the message; those past @room are closed and counted */
static size_t collect(struct msghdr *msg, int *fds, size_t room)
{
	size_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c;
	     c = CMSG_NXTHDR(msg, c)) {
		const size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++, count++) {
			int got;

			memcpy(&got, CMSG_DATA(c) + i * sizeof(int),
			       sizeof(got));
			if (count < room)
				fds[count] = got;
			else
				(void)close(got);
		}
	}
	return count;
}

ssize_t sock_recv(int fd, void *data, size_t n, int *fds, size_t *nfds)
{
	struct iovec iov = { .iov_base = data, .iov_len = n };
	union control control;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	const size_t room = nfds ? *nfds : 0;
	size_t count;
	ssize_t got;

	do {
		got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;

	count = collect(&msg, fds, room);
	if (count > room || (msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC))) {
		for (size_t i = 0; i < count && i < room; i++)
			(void)close(fds[i]);
		return -EMSGSIZE;
	}
	if (nfds)
		*nfds = count;
	return got;
}
