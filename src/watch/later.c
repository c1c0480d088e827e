/* SPDX-License-Identifier: Apache-2.0 */
/* watch/later.c - connections made for somebody who waits for them */

#include "watch/later.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/own.h"

enum { BATCH = 16, QUESTIONS = LATER_MAX };

/**
 * struct later - An epoll instance, and who waits for what
 * @v:		By number; @fd is -1 where there is nobody
 */
struct later {
	int epoll;
	struct { uint64_t id; int fd; } v[LATER_MAX];
};

static int add(const struct later *l, int fd, uint32_t events, uint32_t number)
{
	struct epoll_event e = { .events = events, .data.u32 = number };

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

int later_new(int questions, struct later **ret)
{
	struct later *l = mem_zalloc(sizeof(*l));
	int r;

	for (int i = 0; i < LATER_MAX; i++)
		l->v[i].fd = -1;
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
}

void later_free(struct later *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < LATER_MAX; i++)
		close_fd(&l->v[i].fd);
	close_fd(&l->epoll);
	free(l);
}

int later_fd(const struct later *l)
{
	return l->epoll;
}

int later_add(struct later *l, uint64_t id, int fd)
{
	uint32_t i = 0;
	int r = -EBUSY;

	while (i < LATER_MAX && l->v[i].fd >= 0)
		i++;
	if (i < LATER_MAX)
		r = add(l, fd, EPOLLOUT, i);
	if (r < 0) {
		close_fd(&fd);
		return r;
	}
	l->v[i].id = id;
	l->v[i].fd = fd;
	return 0;
}

static int error_of(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno
								      : error;
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

		if (number == QUESTIONS) {
			questions = e[i].events;
			continue;
		}
		if (l->v[number].fd < 0)
			continue;
		answer(arg, l->v[number].id, error_of(l->v[number].fd));
		drop(l, number);
	}
	return questions;
}
