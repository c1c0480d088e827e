/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/netns-helper.c - a process in a sandbox's network namespace that serves the supervisor
 *
 * The sandbox can neither see nor name it: it is in none of its other
 * namespaces, it cannot be traced, and it keeps one capability, to bind to
 * low ports. It reads requests from the supervisor and nothing else.
 */

#include "sandbox/netns-helper.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "ipc/listener.h"
#include "ipc/socket.h"
#include "sandbox/netns.h"

/**
 * struct request - What the supervisor wants
 * @len:	Of @address, to listen there; 0 to find @client
 */
struct request {
	socklen_t len;
	union {
		struct sockaddr_storage address;
		struct listener_client client;
	};
};

/* And what it gets, a descriptor beside it */
struct reply {
	int error;
	uint64_t inode;
};

/* All but the right to bind, for as long as the process lives */
static int drop_capabilities(void)
{
	const struct sys_caps some = {
		.effective = 1 << CAP_NET_BIND_SERVICE,
		.permitted = 1 << CAP_NET_BIND_SERVICE,
	};

	return sys_capset(&some) < 0 ||
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	       prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static void serve_requests(int sock)
{
	struct request in;

	while (socket_recv(sock, &in, sizeof(in), NULL, NULL) == sizeof(in)) {
		struct reply out = { 0 };
		int fd = -1, r;

		if (in.len > sizeof(in.address))
			break;
		if (in.len)
			out.error = fd = netns_listen(
				(const struct sockaddr *)&in.address, in.len);
		else
			out.inode = netns_inode(&in.client);
		if (out.error > 0)
			out.error = 0;
		r = socket_send(sock, &out, sizeof(out), &fd, fd >= 0);
		/* Too many of the user's are on their way: not this one */
		if (r < 0 && fd >= 0) {
			out.error = r;
			r = socket_send(sock, &out, sizeof(out), NULL, 0);
		}
		close_fd(&fd);
		if (r < 0)
			break;
	}
}

static void helper_main(int sock, const void *arg)
{
	const int *namespaces = arg;
	const pid_t parent = getppid();
	int r = netns_join(namespaces[0], namespaces[1]);

	if (r == 0 && (r = proc_leave_streams()) == 0 &&
	    (r = proc_close_others(&sock, 1)) == 0)
		r = drop_capabilities();
	if (proc_die_with_parent(parent) == 0 &&
	    socket_send(sock, &r, sizeof(r), NULL, 0) == 0 && !r)
		serve_requests(sock);
}

int netns_helper_start(int user, int net, struct proc *ret, struct err *err)
{
	int status = -EIO;
	int r = proc_spawn("cloche-listen", 0, helper_main,
			   (const int[]){ user, net }, ret);

	if (r == 0 && socket_recv(ret->socket, &status, sizeof(status), NULL,
				  NULL) == sizeof(status))
		r = status;
	else if (r == 0)
		r = -EIO;
	if (r == 0)
		return 0;
	proc_end(ret, true);
	return fail(err, r, "cannot enter the sandbox's network: %s",
		    strerror(-r));
}

/* Ask, and wait for the answer; *@ret_fd is -1 if none came with it */
static int ask_helper(const struct proc *k, const struct request *in,
	       struct reply *ret, int *ret_fd)
{
	size_t nfds = 1;
	const int r = socket_send(k->socket, in, sizeof(*in), NULL, 0);

	*ret_fd = -1;
	if (r < 0)
		return r;
	return socket_recv(k->socket, ret, sizeof(*ret), ret_fd, &nfds) ==
			       sizeof(*ret) ? 0 : -EIO;
}

int netns_helper_listen(const struct proc *k, const struct sockaddr *address,
		     socklen_t len)
{
	struct request in = { .len = len };
	struct reply out;
	int fd, r;

	if (len < sizeof(address->sa_family) || len > sizeof(in.address))
		return -EINVAL;
	memcpy(&in.address, address, len);
	r = ask_helper(k, &in, &out, &fd);
	if (!r)
		r = out.error;
	return !r && fd < 0 ? -EIO : r < 0 ? r : fd;
}

uint64_t netns_helper_inode(const struct proc *k,
			 const struct listener_client *client)
{
	const struct request in = { .client = *client };
	struct reply out;
	int fd;

	return ask_helper(k, &in, &out, &fd) < 0 ? 0 : out.inode;
}
