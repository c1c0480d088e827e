/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/wire.c - messages between a run's supervisor and the library */

#include "ipc/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/own.h"

enum { CHUNK = 4 << 10 };	/* On the stack of the embedding program */

/**
 * struct head - What precedes the words
 * @length:	Bytes of the words
 */
struct head {
	uint32_t length, verb;
};

static const unsigned char counts[WIRE_VERBS] = {
#define WIRE(id, words) [WIRE_##id] = (words),
#include "ipc/wire.def"
#undef WIRE
};

static int on_ready(void *arg);

void wire_init(struct wire *wire, int fd)
{
	*wire = (struct wire){ 0 };
	wire->source = (struct loop_source){ fd, on_ready, wire };
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
}

void wire_detach(struct wire *wire)
{
	if (wire->loop)
		loop_remove(wire->loop, &wire->source);
	wire->loop = NULL;
}

void wire_done(struct wire *wire)
{
	wire_detach(wire);
	close_fd(&wire->source.fd);
	buf_done(&wire->in);
	buf_done(&wire->out);
}

static uint32_t wanted(const struct wire *wire)
{
	return wire->out.len ? EPOLLIN | EPOLLOUT : EPOLLIN;
}

int wire_attach(struct wire *wire, struct loop *loop)
{
	const int r = loop_add(loop, &wire->source, wanted(wire));

	if (r == 0)
		wire->loop = loop;
	return r;
}

/* What the socket takes; the rest stays */
static int push(struct wire *wire)
{
	size_t sent = 0;
	int r = 0;

	while (sent < wire->out.len) {
		const ssize_t n = send(wire->source.fd, wire->out.p + sent,
				       wire->out.len - sent,
				       MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r = errno == EAGAIN ? 0 : -EPIPE;
			break;
		}
		sent += (size_t)n;
	}
	wire->out.len -= sent;
	if (sent)
		memmove(wire->out.p, wire->out.p + sent, wire->out.len);
	if (r < 0)
		wire->out.len = 0;	/* The reader is gone */
	if (wire->loop)
		(void)loop_change(wire->loop, &wire->source, wanted(wire));
	return r;
}

/* True if the peer waits for the message: it cannot be left out. There is one for each
 * run, or for each request of the peer.
 */
static bool is_awaited(enum wire_verb verb)
{
	return verb == WIRE_HELLO || verb == WIRE_STARTED ||
	       verb == WIRE_UPDATED || verb == WIRE_BARE ||
	       verb == WIRE_ENDED || verb == WIRE_FAILED;
}

int wire_send(struct wire *wire, enum wire_verb verb, const char *const *words)
{
	struct head head = { .verb = (uint32_t)verb };
	size_t length = 0;

	if (wire->source.fd < 0)
		return -EPIPE;
	for (size_t i = 0; i < counts[verb]; i++)
		length += strlen(words[i] ? words[i] : "") + 1;
	if (length > WIRE_FRAME_MAX)
		return -EMSGSIZE;
	if (wire->out.len + length > WIRE_QUEUE_MAX && !is_awaited(verb))
		return -ENOBUFS;
	head.length = (uint32_t)length;
	buf_add(&wire->out, &head, sizeof(head));
	for (size_t i = 0; i < counts[verb]; i++) {
		const char *word = words[i] ? words[i] : "";

		buf_add(&wire->out, word, strlen(word) + 1);
	}
	return push(wire);
}

void wire_flush(struct wire *wire, int until)
{
	struct pollfd p[2] = {
		{ .fd = wire->source.fd, .events = POLLOUT },
		{ .fd = until, .events = POLLIN },
	};

	while (wire->source.fd >= 0 && wire->out.len && push(wire) == 0 &&
	       wire->out.len) {
		(void)poll(p, 2, -1);
		if (p[1].revents)
			return;
	}
}

static void lose(struct wire *wire)
{
	wire_detach(wire);
	close_fd(&wire->source.fd);
	wire->in.len = 0;
	if (wire->gone)
		wire->gone(wire->arg);
}

/* Split @n bytes into exactly @count words. False if they are not. */
static bool split(const char *bytes, size_t n, size_t count,
		  const char **words)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		const char *end = at < n ? memchr(bytes + at, 0, n - at) : NULL;

		if (!end)
			return false;
		words[i] = bytes + at;
		at = (size_t)(end - bytes) + 1;
	}
	return at == n;
}

/* Hand out the first message: 1, 0 if it is not complete yet, or -EPROTO */
static int take_first(struct wire *wire)
{
	const char *words[WIRE_WORDS_MAX];
	struct buf frame;
	struct head head;
	size_t size;

	if (wire->in.len < sizeof(head))
		return 0;
	memcpy(&head, wire->in.p, sizeof(head));
	if (head.length > WIRE_FRAME_MAX || head.verb >= WIRE_VERBS)
		return -EPROTO;
	size = sizeof(head) + head.length;
	if (wire->in.len < size)
		return 0;
	/* The handler may read on, or end it all: what it sees is its own */
	frame = (struct buf){ 0 };
	buf_add(&frame, wire->in.p + sizeof(head), head.length);
	wire->in.len -= size;
	memmove(wire->in.p, wire->in.p + size, wire->in.len);
	if (!split(buf_str(&frame), head.length, counts[head.verb], words)) {
		buf_done(&frame);
		return -EPROTO;
	}
	wire->take(wire->arg, (enum wire_verb)head.verb, words);
	buf_done(&frame);
	return 1;
}

static int on_ready(void *arg)
{
	struct wire *wire = arg;
	char chunk[CHUNK];
	ssize_t n;
	int r;

	if (wire->source.events & EPOLLOUT)
		(void)push(wire);
	if (!(wire->source.events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return 0;
	n = recv(wire->source.fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		lose(wire);
		return 0;
	}
	buf_add(&wire->in, chunk, (size_t)n);
	while ((r = take_first(wire)) > 0)
		;
	if (r < 0)
		lose(wire);
	return 0;
}
