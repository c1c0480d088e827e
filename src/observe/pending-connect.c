/* SPDX-License-Identifier: Apache-2.0 */
/* observe/pending-connect.c - emulated connect() calls that are not complete yet */

#include "observe/pending-connect.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "observe/sockets.h"

enum { BATCH = 16, NOTIFICATIONS = PENDING_CONNECT_MAX, TRY_EVERY_MS = 5 };

/**
 * struct wait - A tracee that waits
 * @fd:		Its socket; -1 if the slot is free
 * @inode:	What that is to be connected to, or -1; @timer: when to try
 */
struct wait {
	uint64_t id;
	int fd, inode, timer;
};

/**
 * struct pending_connect - An epoll instance, and the tracees that wait
 * @v:		By number
 */
struct pending_connect {
	int epoll, listener;
	struct wait v[PENDING_CONNECT_MAX];
};

static int add(const struct pending_connect *l, int fd, uint32_t events, uint32_t number)
{
	struct epoll_event e = { .events = events, .data.u32 = number };

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

int pending_connect_new(int notifications, int listener, struct pending_connect **ret)
{
	struct pending_connect *l = mem_zalloc(sizeof(*l));
	int r;

	for (int i = 0; i < PENDING_CONNECT_MAX; i++)
		l->v[i].fd = l->v[i].inode = l->v[i].timer = -1;
	l->listener = listener;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	r = l->epoll < 0 ? -errno : add(l, notifications, EPOLLIN, NOTIFICATIONS);
	if (r < 0) {
		pending_connect_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

/* The socket is its owner's as well: closing alone would leave it here */
static void drop(struct pending_connect *l, uint32_t i)
{
	if (l->v[i].fd < 0)
		return;
	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->v[i].fd, NULL);
	close_fd(&l->v[i].fd);
	close_fd(&l->v[i].inode);
	close_fd(&l->v[i].timer);
}

void pending_connect_free(struct pending_connect *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < PENDING_CONNECT_MAX; i++)
		drop(l, i);
	close_fd(&l->epoll);
	free(l);
}

int pending_connect_fd(const struct pending_connect *l)
{
	return l->epoll;
}

static int start_timer(void)
{
	const struct timespec every = { .tv_nsec = TRY_EVERY_MS * 1000000L };
	const struct itimerspec times = { every, every };
	auto_close int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
					   TFD_NONBLOCK);

	return fd < 0 || timerfd_settime(fd, 0, &times, NULL) < 0
		       ? -errno : take_fd(&fd);
}

int pending_connect_add(struct pending_connect *l, uint64_t id, int fd, int inode)
{
	struct wait wait = { .id = id, .fd = fd, .inode = inode, .timer = -1 };
	uint32_t i = 0;
	int r = -EBUSY;

	while (i < PENDING_CONNECT_MAX && l->v[i].fd >= 0)
		i++;
	if (i < PENDING_CONNECT_MAX && inode >= 0)
		r = wait.timer = start_timer();
	if (i < PENDING_CONNECT_MAX && (inode < 0 || r >= 0))
		r = add(l, inode < 0 ? fd : wait.timer,
			inode < 0 ? EPOLLOUT : EPOLLIN, i);
	if (r < 0) {
		close_fd(&wait.fd);
		close_fd(&wait.inode);
		close_fd(&wait.timer);
		return r;
	}
	l->v[i] = wait;
	return 0;
}

/* -EAGAIN if @w has to wait on; else the error of its call, or 0 */
static int result_of(const struct pending_connect *l, const struct wait *w)
{
	uint64_t expired;
	int error;

	if (w->inode < 0)
		return address_error(w->fd);
	(void)!read(w->timer, &expired, sizeof(expired));
	/* Only while the tracee waits */
	if (ioctl(l->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &w->id) < 0)
		return EINTR;
	error = address_connect(w->fd, w->inode);
	return error == EAGAIN ? -EAGAIN : error;
}

uint32_t pending_connect_turn(struct pending_connect *l,
		    void (*answer)(void *arg, uint64_t id, int error),
		    void *arg)
{
	struct epoll_event e[BATCH];
	const int n = epoll_wait(l->epoll, e, BATCH, 0);
	uint32_t notifications = 0;

	for (int i = 0; i < n; i++) {
		const uint32_t number = e[i].data.u32;
		int error;

		if (number == NOTIFICATIONS) {
			notifications = e[i].events;
			continue;
		}
		if (l->v[number].fd < 0)
			continue;
		error = result_of(l, &l->v[number]);
		if (error == -EAGAIN)
			continue;
		answer(arg, l->v[number].id, error);
		drop(l, number);
	}
	return notifications;
}
