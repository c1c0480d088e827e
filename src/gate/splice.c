/* SPDX-License-Identifier: Apache-2.0 */
/* net/flow.c - bytes from one socket to another, with back-pressure
 *
 * A pipe is only filled when it is empty, so "try again" from splice() into it
 * always means that the socket has nothing: a full pipe can't be mistaken for
 * an empty socket, which edge-triggered events would never forgive.
 */

#include "net/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"

/* One for the whole process, which has one thread */
static char shared[FLOW_HELD_MAX];
static unsigned int n_wide;

int end_watch(struct loop *loop, struct end *end)
{
	int r;

	if (end->watched || end->source.fd < 0)
		return 0;
	r = loop_add(loop, &end->source,
		     EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	end->watched = r == 0;
	return r;
}

void end_note(struct end *end, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		end->readable = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		end->hung_up = true;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		end->writable = true;
	if (events & EPOLLERR)
		end->reset = true;
}

void end_close(struct loop *loop, struct end *end)
{
	if (end->source.fd >= 0)
		loop_close(loop, &end->source);
	end->watched = false;
}

/* What the result of a call tells about @end. A short count means "empty" or
 * "full" for recv() and send(); splice() has other reasons too, so there
 * @asked is 1 and only EAGAIN counts.
 */
static ssize_t note_read(struct end *end, ssize_t got, size_t asked)
{
	if (got > 0) {
		/* A short read emptied the socket; new bytes are a new edge */
		if ((size_t)got < asked && !end->hung_up)
			end->readable = false;
		return got;
	}
	if (!got && asked) {
		end->eof = true;
		end->readable = false;
		return 0;
	}
	if (errno == EAGAIN || errno == EINTR) {
		end->readable = errno == EINTR;
		return 0;
	}
	end->failed = true;
	return -errno;
}

static ssize_t note_write(struct end *end, ssize_t put, size_t asked)
{
	if (put >= 0) {
		if ((size_t)put < asked)
			end->writable = false;
		return put;
	}
	if (errno == EAGAIN || errno == EINTR) {
		end->writable = errno == EINTR;
		return 0;
	}
	end->failed = true;
	return -errno;
}

ssize_t end_read(struct end *end, void *p, size_t n)
{
	if (!end->readable || end->eof || !n)
		return 0;
	return note_read(end, recv(end->source.fd, p, n, 0), n);
}

ssize_t end_write(struct end *end, const void *p, size_t n)
{
	if (!end->writable || !n)
		return 0;
	return note_write(end, send(end->source.fd, p, n, MSG_NOSIGNAL), n);
}

void end_shut(struct end *end)
{
	if (!end->shut && end->source.fd >= 0)
		(void)shutdown(end->source.fd, SHUT_WR);
	end->shut = true;
}

void flow_init(struct flow *f, struct end *from, struct end *to)
{
	*f = (struct flow){
		.from = from, .to = to, .pipe = { -1, -1 },
		.limit = UINT64_MAX,
	};
}

void flow_done(struct flow *f)
{
	free(f->held);
	close_fd(&f->pipe[0]);
	close_fd(&f->pipe[1]);
	n_wide -= f->wide;
	flow_init(f, f->from, f->to);
}

void flow_hold(struct flow *f, const void *p, size_t n)
{
	if (f->off && f->off + f->len + n > f->room) {
		memmove(f->held, f->held + f->off, f->len);
		f->off = 0;
	}
	if (f->len + n > f->room) {
		char *grown;

		f->room = (f->len + n + 4095) & ~(size_t)4095;
		grown = mem_alloc(f->room);
		if (f->len)
			memcpy(grown, f->held, f->len);
		free(f->held);
		f->held = grown;
	}
	memcpy(f->held + f->off + f->len, p, n);
	f->len += n;
}

size_t flow_waiting(const struct flow *f)
{
	return f->len + f->piped;
}

static int flush_held(struct flow *f)
{
	while (f->len && f->to->writable) {
		const ssize_t put = end_write(f->to, f->held + f->off, f->len);

		if (put < 0)
			return (int)put;
		f->off += (size_t)put;
		f->len -= (size_t)put;
		f->total += (uint64_t)put;
	}
	if (!f->len && f->held) {
		free(f->held);
		f->held = NULL;
		f->off = f->room = 0;
	}
	return 0;
}

static int flush_pipe(struct flow *f)
{
	while (f->piped && f->to->writable) {
		const ssize_t put = note_write(f->to,
			splice(f->pipe[0], NULL, f->to->source.fd, NULL,
			       f->piped, SPLICE_F_MOVE | SPLICE_F_NONBLOCK),
			1);

		if (put < 0)
			return (int)put;
		f->piped -= (size_t)put;
		f->total += (uint64_t)put;
	}
	return 0;
}

int flow_flush(struct flow *f)
{
	const int r = flush_held(f);

	return r < 0 || f->len ? r : flush_pipe(f);
}

/* Worth a pipe now? Without descriptors to spare we go on copying. */
static bool has_pipe(struct flow *f)
{
	if (f->pipe[0] >= 0)
		return true;
	if (f->total < FLOW_PIPE_AFTER || f->limit < FLOW_PIPE_AFTER)
		return false;
	return !pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK);
}

/* How much goes into the pipe at once */
static size_t width(struct flow *f)
{
	if (!f->tried && f->total >= FLOW_WIDE_AFTER &&
	    n_wide < FLOW_WIDE_MAX) {
		f->tried = true;
		f->wide = fcntl(f->pipe[1], F_SETPIPE_SZ, FLOW_WIDE) >=
			  FLOW_WIDE;
		n_wide += f->wide;
	}
	return f->wide ? FLOW_WIDE : FLOW_HELD_MAX;
}

static ssize_t fill_pipe(struct flow *f)
{
	const size_t room = width(f);
	const size_t n = room < f->limit ? room : (size_t)f->limit;
	const ssize_t got = note_read(f->from,
		splice(f->from->source.fd, NULL, f->pipe[1], NULL, n,
		       SPLICE_F_MOVE | SPLICE_F_NONBLOCK), 1);

	if (got > 0)
		f->piped += (size_t)got;
	return got;
}

static ssize_t copy(struct flow *f)
{
	const size_t n = f->limit < FLOW_HELD_MAX ? (size_t)f->limit
						  : FLOW_HELD_MAX;
	const ssize_t got = end_read(f->from, shared, n);
	ssize_t put;

	if (got <= 0)
		return got;
	put = end_write(f->to, shared, (size_t)got);
	if (put < 0)
		return put;
	f->total += (uint64_t)put;
	if (put < got)
		flow_hold(f, shared + put, (size_t)(got - put));
	return got;
}

ssize_t flow_pump(struct flow *f)
{
	size_t moved = 0;

	while (moved < FLOW_TURN_MAX) {
		ssize_t got;

		if (flow_flush(f) < 0)
			return -EPIPE;
		if (flow_waiting(f) || !f->limit || !f->from->readable ||
		    f->from->eof)
			break;
		got = has_pipe(f) ? fill_pipe(f) : copy(f);
		if (got < 0)
			return got;
		f->limit -= f->limit == UINT64_MAX ? 0 : (uint64_t)got;
		moved += (size_t)got;
	}
	return (ssize_t)moved;
}
