/* SPDX-License-Identifier: Apache-2.0 */
/* watch/later.c - connections made for somebody who waits for them */

#include "watch/later.h"

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
#include "watch/address.h"

enum { BATCH = 16, QUESTIONS = LATER_MAX, TRY_EVERY_MS = 5 };

/**
 * struct wait - One who waits
 * @fd:		Its socket; -1 where there is nobody
 * @inode:	What that is to be connected to, or -1; @timer: when to try
 */
struct wait {
	uint64_t id;
	int fd, inode, timer;
};

/**
 * struct later - An epoll instance, and who waits for what
 * @v:		By number
 */
struct later {
	int epoll, listener;
	struct wait v[LATER_MAX];
};

static int add(const struct later *l, int fd, uint32_t events, uint32_t number)
{
	struct epoll_event e = { .events = events, .data.u32 = number };

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

int later_new(int questions, int listener, struct later **ret)
{
	struct later *l = mem_zalloc(sizeof(*l));
	int r;

	for (int i = 0; i < LATER_MAX; i++)
		l->v[i].fd = l->v[i].inode = l->v[i].timer = -1;
	l->listener = listener;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	r = l->epoll < 0 ? -errno : add(l, questions, EPOLLIN, QUESTIONS);
	if (r < 0) {
		later_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

/* The socket is its owner's as well: closing alone would leave it here */
static void drop(struct later *l, uint32_t i)
{
	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->v[i].fd, NULL);
	close_fd(&l->v[i].fd);
	close_fd(&l->v[i].inode);
	close_fd(&l->v[i].timer);
}

void later_free(struct later *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < LATER_MAX; i++)
		drop(l, i);
	close_fd(&l->epoll);
	free(l);
}

int later_fd(const struct later *l)
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

int later_try(struct later *l, uint64_t id, int fd, int inode)
{
	struct wait wait = { .id = id, .fd = fd, .inode = inode, .timer = -1 };
	uint32_t i = 0;
	int r = -EBUSY;

	while (i < LATER_MAX && l->v[i].fd >= 0)
		i++;
	if (i < LATER_MAX && inode >= 0)
		r = wait.timer = start_timer();
	if (i < LATER_MAX && (inode < 0 || r >= 0))
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

int later_add(struct later *l, uint64_t id, int fd)
{
	return later_try(l, id, fd, -1);
}

static int error_of(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno
								      : error;
}

/* -EAGAIN if @w has to wait on; else the error of its call, or 0 */
static int result_of(const struct later *l, const struct wait *w)
{
	uint64_t expired;
	int error;

	if (w->inode < 0)
		return error_of(w->fd);
	(void)!read(w->timer, &expired, sizeof(expired));
	/* Only for the one who asked */
	if (ioctl(l->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &w->id) < 0)
		return EINTR;
	error = address_connect(w->fd, w->inode);
	return error == EAGAIN ? -EAGAIN : error;
}

uint32_t later_turn(struct later *l,
		    void (*answer)(void *arg, uint64_t id, int error),
		    void *arg)
{
	struct epoll_event e[BATCH];
	const int n = epoll_wait(l->epoll, e, BATCH, 0);
	uint32_t questions = 0;

	for (int i = 0; i < n; i++) {
		const uint32_t number = e[i].data.u32;
		int error;

		if (number == QUESTIONS) {
			questions = e[i].events;
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
	return questions;
}
