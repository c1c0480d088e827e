/* SPDX-License-Identifier: Apache-2.0 */
/* gate/splice.h - bytes from one socket to another, with back-pressure
 *
 * An end is a socket in the loop, edge-triggered: it remembers what the kernel
 * said until a call finds otherwise. A flow is one direction between two ends.
 * Short transfers are copied through one buffer that all flows share; a flow
 * that turns out to be long gets a pipe and its bytes never come up to us. The
 * few that are longest get a wide one: fewer calls for the same bytes, but all
 * pipes of a user count together, so there are not many of them.
 */

#ifndef GATE_SPLICE_H
#define GATE_SPLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"

enum {
	SPLICE_PENDING_MAX = 64 << 10,	/* Bytes waiting in one direction */
	SPLICE_PIPE_AFTER = 128 << 10,	/* Copied before a pipe is worth it */
	SPLICE_TURN_MAX = 1 << 20,	/* Moved before others have their turn */
	SPLICE_WIDE = 1 << 20,		/* Bytes in a wide pipe, the kernel's */
	SPLICE_WIDE_AFTER = 8 << 20,	/* Moved before a pipe is made wide */
	SPLICE_WIDE_MAX = 8,		/* Wide pipes at a time, of all flows */
};

/**
 * struct splice_end - One socket
 * @source:	Its descriptor (-1 if none) and handler
 * @readable, @writable: As far as we know
 * @hung_up:	The kernel reported that the peer will send no more
 * @eof:	We have read the last byte
 * @shut:	We have sent our last byte
 * @reset:	The kernel reported an error; what had arrived can be read
 * @failed:	A call failed: nothing moves any more
 * @watched:	It is in the loop
 */
struct splice_end {
	struct loop_source source;
	bool readable, writable, hung_up, eof, shut, reset, failed, watched;
};

/* Put it into the loop, if there is one and it is not there yet: not before
 * there is something to wait for. What is ready then is an event. 0 or a negative
 * errno.
 */
int splice_end_watch(struct loop *loop, struct splice_end *end);

/* A handler's first step: note what the kernel says */
void splice_end_note(struct splice_end *end, uint32_t events);

void splice_end_close(struct loop *loop, struct splice_end *end);

/* Read at most @n bytes: the count, 0 if there are none now or at the end
 * (@eof tells), or a negative errno with @failed set
 */
ssize_t splice_end_read(struct splice_end *end, void *p, size_t n);
/* Write: the count, 0 if the socket takes nothing now, or a negative errno */
ssize_t splice_end_write(struct splice_end *end, const void *p, size_t n);
/* Send no more */
void splice_end_shut(struct splice_end *end);

/**
 * struct splice - One direction; zero-initialise it, then splice_init()
 * @from, @to:	The ends
 * @pending:	Bytes read but not written yet: @len from @off; else NULL
 * @pipe:	Or they are in here, @piped bytes; -1 without one
 * @wide, @tried: It is a wide one; it was tried, and won't be again
 * @limit:	How many bytes may still be read; UINT64_MAX for a tunnel
 * @total:	Bytes that were written
 */
struct splice {
	struct splice_end *from, *to;
	char *pending;
	size_t off, len, cap;
	int pipe[2];
	size_t piped;
	bool wide, tried;
	uint64_t limit, total;
};

void splice_init(struct splice *flow, struct splice_end *from, struct splice_end *to);
void splice_done(struct splice *flow);

/* Append to what waits; the caller keeps it around SPLICE_PENDING_MAX. It is written
 * before what is in the pipe: not while @piped.
 */
void splice_queue(struct splice *flow, const void *p, size_t n);
/* Bytes that wait to be written */
size_t splice_waiting(const struct splice *flow);

/* Write what waits, as far as the socket takes it. 0 or a negative errno. */
int splice_flush(struct splice *flow);

/* Move what can be moved, @limit and SPLICE_TURN_MAX allowing. Returns the bytes
 * that were read (SPLICE_TURN_MAX or more: there may be more, come back), or a
 * negative errno when the connection is broken. The end of @from is for the
 * caller to pass on.
 */
ssize_t splice_pump(struct splice *flow);

#endif /* GATE_SPLICE_H */
