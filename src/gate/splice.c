/* SPDX-License-Identifier: Apache-2.0 */
/* gate/splice.c - bytes from one socket to another, with back-pressure
 *
 * A pipe is filled only when it is empty, so EAGAIN of splice() into it always means that
 * the socket has no data. A full pipe that was taken for an empty socket would stall the
 * flow, because no further edge-triggered event comes.
 */

#include "gate/splice.h"

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
static char shared[SPLICE_PENDING_MAX];
static unsigned int n_wide;

int splice_end_watch(struct loop *loop, struct splice_end *end)
{
	int r;

	if (end->watched || end->source.fd < 0)
		return 0;
	r = loop_add(loop, &end->source,
		     EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	end->watched = r == 0;
	return r;
}

void splice_end_note(struct splice_end *end, uint32_t events)
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

void splice_end_close(struct loop *loop, struct splice_end *end)
{
	if (end->source.fd >= 0)
		loop_close(loop, &end->source);
	end->watched = false;
}

/* What the result of a call tells about @end. A short count means "empty" or
 * "full" for recv() and send(); splice() has other reasons too, so there
 * @asked is 1 and only EAGAIN counts.
 */
static ssize_t note_read(struct splice_end *end, ssize_t got, size_t asked)
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

static ssize_t note_write(struct splice_end *end, ssize_t put, size_t asked)
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

ssize_t splice_end_read(struct splice_end *end, void *p, size_t n)
{
	if (!end->readable || end->eof || !n)
		return 0;
	return note_read(end, recv(end->source.fd, p, n, 0), n);
}

ssize_t splice_end_write(struct splice_end *end, const void *p, size_t n)
{
	if (!end->writable || !n)
		return 0;
	return note_write(end, send(end->source.fd, p, n, MSG_NOSIGNAL), n);
}

void splice_end_shut(struct splice_end *end)
{
	if (!end->shut && end->source.fd >= 0)
		(void)shutdown(end->source.fd, SHUT_WR);
	end->shut = true;
}

void splice_init(struct splice *f, struct splice_end *from, struct splice_end *to)
{
	*f = (struct splice){
		.from = from, .to = to, .pipe = { -1, -1 },
		.limit = UINT64_MAX,
	};
}

void splice_done(struct splice *f)
{
	free(f->pending);
	close_fd(&f->pipe[0]);
	close_fd(&f->pipe[1]);
	n_wide -= f->wide;
	splice_init(f, f->from, f->to);
}

void splice_queue(struct splice *f, const void *p, size_t n)
{
	if (f->off && f->off + f->len + n > f->cap) {
		memmove(f->pending, f->pending + f->off, f->len);
		f->off = 0;
	}
	if (f->len + n > f->cap) {
		char *grown;

		f->cap = (f->len + n + 4095) & ~(size_t)4095;
		grown = mem_alloc(f->cap);
		if (f->len)
			memcpy(grown, f->pending, f->len);
		free(f->pending);
		f->pending = grown;
	}
	memcpy(f->pending + f->off + f->len, p, n);
	f->len += n;
}

size_t splice_waiting(const struct splice *f)
{
	return f->len + f->piped;
}

static int flush_pending(struct splice *f)
{
	while (f->len && f->to->writable) {
		const ssize_t put = splice_end_write(f->to, f->pending + f->off, f->len);

		if (put < 0)
			return (int)put;
		f->off += (size_t)put;
		f->len -= (size_t)put;
		f->total += (uint64_t)put;
	}
	if (!f->len && f->pending) {
		free(f->pending);
		f->pending = NULL;
		f->off = f->cap = 0;
	}
	return 0;
}

static int flush_pipe(struct splice *f)
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

int splice_flush(struct splice *f)
{
	const int r = flush_pending(f);

	return r < 0 || f->len ? r : flush_pipe(f);
}

/* Worth a pipe now? Without descriptors to spare we go on copying. */
static bool has_pipe(struct splice *f)
{
	if (f->pipe[0] >= 0)
		return true;
	if (f->total < SPLICE_PIPE_AFTER || f->limit < SPLICE_PIPE_AFTER)
		return false;
	return !pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK);
}

/* How much goes into the pipe at once */
static size_t width(struct splice *f)
{
	if (!f->tried && f->total >= SPLICE_WIDE_AFTER &&
	    n_wide < SPLICE_WIDE_MAX) {
		f->tried = true;
		f->wide = fcntl(f->pipe[1], F_SETPIPE_SZ, SPLICE_WIDE) >=
			  SPLICE_WIDE;
		n_wide += f->wide;
	}
	return f->wide ? SPLICE_WIDE : SPLICE_PENDING_MAX;
}

static ssize_t fill_pipe(struct splice *f)
{
	const size_t most = width(f);
	const size_t n = most < f->limit ? most : (size_t)f->limit;
	const ssize_t got = note_read(f->from,
		splice(f->from->source.fd, NULL, f->pipe[1], NULL, n,
		       SPLICE_F_MOVE | SPLICE_F_NONBLOCK), 1);

	if (got > 0)
		f->piped += (size_t)got;
	return got;
}

static ssize_t copy(struct splice *f)
{
	const size_t n = f->limit < SPLICE_PENDING_MAX ? (size_t)f->limit
						  : SPLICE_PENDING_MAX;
	const ssize_t got = splice_end_read(f->from, shared, n);
	ssize_t put;

	if (got <= 0)
		return got;
	put = splice_end_write(f->to, shared, (size_t)got);
	if (put < 0)
		return put;
	f->total += (uint64_t)put;
	if (put < got)
		splice_queue(f, shared + put, (size_t)(got - put));
	return got;
}

ssize_t splice_pump(struct splice *f)
{
	size_t moved = 0;

	while (moved < SPLICE_TURN_MAX) {
		ssize_t got;

		if (splice_flush(f) < 0)
			return -EPIPE;
		if (splice_waiting(f) || !f->limit || !f->from->readable ||
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
