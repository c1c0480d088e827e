/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/socket.c - messages and descriptors over a socket pair */

#include "ipc/socket.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/netlink.h"
#include "base/own.h"

/* Room for the descriptors of one message, aligned */
union control {
	struct cmsghdr header;
	char buffer[CMSG_SPACE(SOCKET_FDS_MAX * sizeof(int))];
};

int socket_pair(int ret[2])
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ret[0] = pair[0];
	ret[1] = pair[1];
	return 0;
}

int socket_send(int fd, const void *data, size_t n, const int *fds, size_t nfds)
{
	/* sendmsg() does not write through this */
	struct iovec iov = { .iov_base = (void *)(size_t)data, .iov_len = n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };
	ssize_t sent;

	if (nfds > SOCKET_FDS_MAX)
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

/* The kernel counts descriptors that all programs of a user have sent and that were not
 * received yet, and compares that with the sender's limit
 */
int socket_fail(int r, const char *what, struct err *err)
{
	if (r == -ETOOMANYREFS)
		return fail(err, r, "%s: this user's programs have more descriptors on the way to each other than we may have open (ulimit -n); raise that, or try again",
			    what);
	return fail(err, r, "%s: %s", what, strerror(-r));
}

/* All descriptors of the message; those past @max are closed and counted */
static size_t collect(struct msghdr *msg, int *fds, size_t max)
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
			if (count < max)
				fds[count] = got;
			else
				(void)close(got);
		}
	}
	return count;
}

ssize_t socket_recv(int fd, void *data, size_t n, int *fds, size_t *nfds)
{
	struct iovec iov = { .iov_base = data, .iov_len = n };
	union control control;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	const size_t max = nfds ? *nfds : 0;
	size_t count;
	ssize_t got;

	do {
		got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;

	count = collect(&msg, fds, max);
	if (count > max || (msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC))) {
		for (size_t i = 0; i < count && i < max; i++)
			(void)close(fds[i]);
		return -EMSGSIZE;
	}
	if (nfds)
		*nfds = count;
	return got;
}

enum { STATE_LISTEN = 10 };	/* TCP_LISTEN, which Unix sockets have too */

/**
 * struct bound - What is looked for
 * @listening:	The inode that some socket is to be bound to, or 0: the one socket's
 * @ino:	That one's, or -ENOENT: it is bound to none
 */
struct bound {
	uint32_t listening;
	int64_t ino;
};

static int take_bound(const struct nlmsghdr *head, void *data)
{
	const struct unix_diag_msg *msg = NLMSG_DATA(head);
	size_t len = head->nlmsg_len - NLMSG_LENGTH(sizeof(*msg));
	struct bound *bound = data;

	if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	for (const struct rtattr *at = (const void *)(msg + 1); RTA_OK(at, len);
	     at = RTA_NEXT(at, len)) {
		const struct unix_diag_vfs *vfs = RTA_DATA(at);

		if (at->rta_type == UNIX_DIAG_VFS)
			bound->ino = vfs->udiag_vfs_ino;
	}
	return bound->listening && bound->ino == bound->listening;
}

/* Ask about the one socket @ino, or all that listen */
static int ask_unix(uint32_t ino, struct bound *bound)
{
	struct netlink q = { .len = 0 };
	struct unix_diag_req *body = netlink_add(&q, SOCK_DIAG_BY_FAMILY,
						 ino ? 0 : NLM_F_DUMP,
						 sizeof(*body));
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   NETLINK_SOCK_DIAG);

	*body = (struct unix_diag_req){
		.sdiag_family = AF_UNIX,
		.udiag_states = ino ? ~0U : 1 << STATE_LISTEN,
		.udiag_ino = ino, .udiag_show = UDIAG_SHOW_VFS,
		.udiag_cookie = { ~0U, ~0U },
	};
	return netlink_ask(fd, &q, take_bound, bound);
}

int socket_unix_listens(ino_t ino)
{
	struct bound bound = { .listening = (uint32_t)ino };

	return ask_unix(0, &bound);
}

int64_t socket_unix_bound(int sock)
{
	struct bound bound = { .ino = -ENOENT };
	struct stat st;
	int r;

	if (fstat(sock, &st) < 0)
		return -errno;
	r = ask_unix((uint32_t)st.st_ino, &bound);
	return r < 0 ? r : bound.ino;
}
