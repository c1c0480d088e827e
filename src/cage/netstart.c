/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/netstart.c - the network namespace, made while init does all else
 *
 * The kernel takes as long for it as for all mounts together, and the two have
 * nothing to do with each other: so a thread makes it, on another processor.
 * A namespace belongs to the thread that made it: init enters it when the
 * thread has ended, and still has its capabilities then. Where there is no
 * thread to be had, init makes it itself.
 */

#include "cage/netstart.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "cage/netns.h"

enum { LIBRARY_SIGNAL = 33 };	/* SIGSETXID */

/* A jail's network is its holder's to set up */
static bool is_own(enum net_mode net)
{
	return net == NET_NONE || net == NET_FILTERED;
}

static int make(enum net_mode net, struct err *err)
{
	if (unshare(CLONE_NEWNET) < 0)
		return fail_errno(err, "cannot make a network namespace");
	return netns_up(net == NET_FILTERED, err);
}

/* By a socket in it, not by a name: a rule may hide that in /proc just now */
static void *make_beside(void *arg)
{
	struct netstart *n = arg;
	auto_close int in_it = -1;

	n->code = make(n->net, &n->err);
	if (n->code < 0)
		return NULL;
	in_it = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	n->fd = in_it < 0 ? -1 : ioctl(in_it, SIOCGSKNS);
	if (n->fd < 0)
		n->code = fail_errno(&n->err, "cannot open the network namespace");
	return NULL;
}

/* With the first thread the C library handles a signal of its own, which it lets
 * nobody at. Who ignores it (by way of a parent who does) must find it so.
 */
static void library_signal(const unsigned long *set, unsigned long *before)
{
	(void)syscall(SYS_rt_sigaction, LIBRARY_SIGNAL, set, before,
		      sizeof(uint64_t));
}

void netstart_begin(struct netstart *n, enum net_mode net, bool beside)
{
	*n = (struct netstart){ .net = net, .fd = -1 };
	library_signal(NULL, n->signal);
	n->beside = beside && is_own(net) &&
		    pthread_create(&n->thread, NULL, make_beside, n) == 0;
}

int netstart_end(struct netstart *n, struct err *err)
{
	auto_close int fd = -1;

	if (!is_own(n->net))
		return 0;
	if (!n->beside)
		return make(n->net, err);
	if (pthread_join(n->thread, NULL) != 0)
		return fail(err, -EDEADLK, "cannot wait for the network namespace");
	library_signal(n->signal, NULL);
	fd = take_fd(&n->fd);
	if (n->code < 0) {
		*err = n->err;
		return n->code;
	}
	if (setns(fd, CLONE_NEWNET) < 0)
		return fail_errno(err, "cannot enter the network namespace");
	return 0;
}
