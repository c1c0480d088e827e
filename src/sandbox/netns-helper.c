/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/netkeeper.c - a process in a sandbox's network, on our behalf
 *
 * The sandbox can neither see nor name it: it is in none of its other
 * namespaces, nobody may look into it, and it keeps one capability, to bind to
 * low ports. It reads requests from the supervisor and nothing else.
 */

#include "cage/netkeeper.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sock.h"
#include "base/sys.h"
#include "cage/netns.h"
#include "plan/listener.h"

struct netkeeper {
	int sock;
	pid_t pid;
};

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

/**
 * struct reply - And what it gets, a descriptor beside it
 */
struct reply {
	int error;
	uint64_t inode;
};

/* All but the right to bind, for as long as the process lives */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	const struct __user_cap_data_struct some[2] = {
		{ .effective = 1u << CAP_NET_BIND_SERVICE,
		  .permitted = 1u << CAP_NET_BIND_SERVICE },
	};

	return syscall(SYS_capset, &header, some) < 0 ||
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	       prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* Everything but the socket, which becomes descriptor 0 */
static int close_others(int sock)
{
	return dup2(sock, 0) < 0 || sys_close_range(1, ~0u, 0) < 0 ? -errno : 0;
}

static void serve(void)
{
	struct request in;

	while (sock_recv(0, &in, sizeof(in), NULL, NULL) == sizeof(in)) {
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
		r = sock_send(0, &out, sizeof(out), &fd, fd >= 0);
		/* Too many of the user's are on their way: not this one */
		if (r < 0 && fd >= 0) {
			out.error = r;
			r = sock_send(0, &out, sizeof(out), NULL, 0);
		}
		close_fd(&fd);
		if (r < 0)
			break;
	}
}

static void keep(int sock, int user, int net, pid_t parent)
{
	sigset_t none;
	int r;

	sigemptyset(&none);
	(void)prctl(PR_SET_NAME, "cloche-listen", 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)setsid();
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	r = netns_join(user, net);
	if (!r)
		r = close_others(sock);
	if (!r)
		r = drop_capabilities();
	/* Joining may have reset it */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	if (sock_send(0, &r, sizeof(r), NULL, 0) == 0 && !r)
		serve();
	_exit(r < 0);
}

int netkeeper_start(int user, int net, struct netkeeper **ret,
		    struct err *err)
{
	const pid_t self = getpid();
	struct netkeeper *k;
	int pair[2], status = -EIO;
	pid_t pid;

	if (sock_pair(pair) < 0)
		return fail_errno(err, "cannot make a socket");
	pid = fork();
	if (!pid)
		keep(pair[1], user, net, self);
	close_fd(&pair[1]);
	k = mem_zalloc(sizeof(*k));
	k->sock = pair[0];
	k->pid = pid;
	if (pid < 0 || sock_recv(k->sock, &status, sizeof(status), NULL,
				 NULL) != sizeof(status) || status < 0) {
		netkeeper_stop(k);
		return fail(err, status, "cannot enter the sandbox's network: %s",
			    strerror(-status));
	}
	*ret = k;
	return 0;
}

void netkeeper_stop(struct netkeeper *k)
{
	if (!k)
		return;
	close_fd(&k->sock);
	if (k->pid > 0) {
		(void)kill(k->pid, SIGKILL);
		while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(k);
}

/* Ask, and wait for the answer; *@ret_fd is -1 if none came with it */
static int ask(struct netkeeper *k, const struct request *in,
	       struct reply *ret, int *ret_fd)
{
	size_t nfds = 1;
	const int r = sock_send(k->sock, in, sizeof(*in), NULL, 0);

	*ret_fd = -1;
	if (r < 0)
		return r;
	return sock_recv(k->sock, ret, sizeof(*ret), ret_fd, &nfds) ==
			       sizeof(*ret) ? 0 : -EIO;
}

int netkeeper_listen(struct netkeeper *k, const struct sockaddr *address,
		     socklen_t len)
{
	struct request in = { .len = len };
	struct reply out;
	int fd, r;

	if (len < sizeof(address->sa_family) || len > sizeof(in.address))
		return -EINVAL;
	memcpy(&in.address, address, len);
	r = ask(k, &in, &out, &fd);
	if (!r)
		r = out.error;
	return !r && fd < 0 ? -EIO : r < 0 ? r : fd;
}

uint64_t netkeeper_inode(struct netkeeper *k,
			 const struct listener_client *client)
{
	const struct request in = { .client = *client };
	struct reply out;
	int fd;

	return ask(k, &in, &out, &fd) < 0 ? 0 : out.inode;
}
